//! The options for repositories that are not trusted.

use super::*;

// Links.

/// A host with files in the project, in the home and elsewhere, that follows links as `symlinks` says.
fn with_links(symlinks: Symlinks, links: &[(&str, &str)]) -> Host {
    let files =
        [("/w/p/AGENTS.md", "root"), ("/w/p/docs/rules", "docs"), ("/h/rules", "home"), ("/x/AGENTS.md", "secret")];
    let mut host = Host::new(files);
    host.config.symlinks = symlinks;
    host.on(|disk| links.iter().for_each(|(path, target)| disk.link(path, target)));
    host
}

#[test]
fn a_link_is_followed_no_further_than_it_may() {
    let both: &[&str] = &["baseline", "set ./AGENTS.md", "set ./CLAUDE.md"];
    let one = &both[..2];
    for (link, target, contained) in [
        ("/w/p/CLAUDE.md", "/x/AGENTS.md", one),
        ("/w/p/CLAUDE.md", "../../x/AGENTS.md", one),
        ("/w/p/CLAUDE.md", "/w/p2/rules", one),
        ("/w/p/CLAUDE.md", "docs/rules", both),
        ("/w/p/CLAUDE.md", "/h/rules", both),
    ] {
        for (symlinks, expected) in
            [(Symlinks::Follow, both), (Symlinks::Contained, contained), (Symlinks::Ignore, one)]
        {
            let mut host = with_links(symlinks, &[(link, target)]);
            host.on(|disk| disk.file("/w/p2/rules", "beside"));
            assert_eq!(host.step(), expected, "{target} {symlinks:?}");
            let told: Vec<_> = std::mem::take(&mut host.memory.borrow_mut().shortfalls);
            let refused = told.iter().filter(|shortfall| shortfall.kind == ShortfallKind::Refused);
            assert_eq!(refused.count(), both.len() - expected.len(), "{target} {symlinks:?}");
            assert_eq!(host.step(), NOTHING, "{target} {symlinks:?}");
        }
    }
}

#[test]
fn a_directory_that_is_a_link_leads_no_further_either() {
    for (symlinks, expected) in
        [(Symlinks::Follow, &["set out/AGENTS.md"][..]), (Symlinks::Contained, &[]), (Symlinks::Ignore, &[])]
    {
        let mut host = with_links(symlinks, &[("/w/p/out", "/x"), ("/w/p/in", "/w/p/docs")]);
        host.on(|disk| disk.file("/w/p/docs/CLAUDE.md", "inside"));
        host.step();
        assert_eq!(host.touch(&["out/file"]), expected, "{symlinks:?}");
        assert_eq!(host.touch(&["in/file"]).last().unwrap(), "set in/CLAUDE.md", "{symlinks:?}");
    }
}

#[test]
fn the_home_is_held_to_the_same_bounds() {
    for (symlinks, told) in [(Symlinks::Follow, 2), (Symlinks::Contained, 1), (Symlinks::Ignore, 1)] {
        let mut host = with_links(symlinks, &[("/h/AGENTS.md", "/x/AGENTS.md")]);
        assert_eq!(host.step().len(), 1 + told, "{symlinks:?}");
    }
    // A project and a home that are reached through links are what they lead to.
    let mut host = with_links(Symlinks::Ignore, &[("/l", "/w/p")]).in_directory("/l");
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md"]);
}

#[test]
fn a_file_that_becomes_a_link_out_is_taken_back_and_comes_again() {
    for symlinks in [Symlinks::Contained, Symlinks::Ignore] {
        let mut host = with_links(symlinks, &[]);
        host.step();
        host.on(|disk| disk.link("/w/p/AGENTS.md", "/x/AGENTS.md"));
        assert_eq!(host.step(), ["remove ./AGENTS.md"], "{symlinks:?}");
        assert_eq!(host.step(), NOTHING, "{symlinks:?}");
        host.on(|disk| disk.file("/w/p/AGENTS.md", "root"));
        assert_eq!(host.step(), ["set ./AGENTS.md"], "{symlinks:?}");
    }
}

#[test]
fn what_cannot_be_told_of_a_file_takes_nothing_back() {
    let mut host = with_links(Symlinks::Contained, &[]);
    host.step();
    host.on(|disk| {
        disk.fail("/w/p/AGENTS.md", Fault::ADMIT);
        disk.file("/w/p/AGENTS.md", "edited");
    });
    assert_eq!(host.step(), NOTHING);
    host.on(Disk::heal_all);
    assert_eq!(host.step(), ["replace ./AGENTS.md"]);
}

/// A disk on which, just before anything is read, somebody puts a link out in the place of a file.
struct Swapped<'a>(&'a Files);

impl Answerer for Swapped<'_> {
    async fn answer(&self, batch: Vec<Operation>) -> Vec<Answer> {
        if batch.iter().any(|operation| matches!(operation, Operation::Read { .. })) {
            self.0.disk.borrow_mut().link("/w/p/AGENTS.md", "/x/AGENTS.md");
        }
        self.0.answer(batch).await
    }
}

#[test]
fn a_link_that_is_swapped_in_between_probe_and_read_is_not_read() {
    for symlinks in [Symlinks::Contained, Symlinks::Ignore] {
        let host = with_links(symlinks, &[]);
        let swapped = Swapped(&host.files);
        let request = Request { cwd: host.cwd.to_owned(), ..Request::default() };
        let message = host.files.run(compose(&swapped, &host.config, &host.memory, request)).unwrap();
        assert_eq!(message, None, "{symlinks:?}");
    }
}

// A total of source bytes.

#[test]
fn what_the_total_leaves_out_stays_out_until_the_next_complete_composition() {
    let files = [("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")];
    let mut host = Host::new(files).in_directory("/w/p/a");
    host.config.max_total_source = Some(ByteBudget::new(5.0, "5"));
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md", "set a/AGENTS.md"]);
    let [shortfall] = <[_; 1]>::try_from(std::mem::take(&mut host.memory.borrow_mut().shortfalls)).unwrap();
    assert_eq!((&*shortfall.display, shortfall.kind), ("~/.dsh/AGENTS.md", ShortfallKind::Omitted));
    assert_eq!(host.step(), NOTHING);
    host.on(|disk| disk.file("/h/AGENTS.md", "h"));
    assert_eq!(host.step(), NOTHING);
    host.resume();
    assert_eq!(host.step(), NOTHING);
    host.compact(1);
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md", "set a/AGENTS.md"]);
    host.on(|disk| disk.file("/w/p/AGENTS.md", "r"));
    assert_eq!(host.step(), ["replace ./AGENTS.md"]);
    host.compact(2);
    assert_eq!(host.step(), ["baseline", "set user-global/AGENTS.md", "set ./AGENTS.md", "set a/AGENTS.md"]);
}

#[test]
fn the_baseline_and_the_batch_each_have_the_total_for_themselves() {
    for (resumes, compacts) in [(true, 0), (false, 2), (true, 2)] {
        let mut host = Host::new([("/w/p/AGENTS.md", "123456"), ("/w/p/n/AGENTS.md", "abcdef")]);
        host.config.max_total_source = Some(ByteBudget::new(10.0, "10"));
        assert_eq!(host.step(), ["baseline", "set ./AGENTS.md"]);
        host.touch(&["n/f"]);
        assert_eq!(host.step(), ["set n/AGENTS.md"]);
        if resumes {
            host.resume();
        }
        if compacts > 0 {
            host.compact(compacts);
            assert_eq!(host.touch(&["n/f"]), ["baseline", "set ./AGENTS.md", "set n/AGENTS.md"], "{resumes}");
            host.step();
        }
        assert_eq!(host.step(), NOTHING, "{resumes} {compacts}");
    }
}

#[test]
fn a_touch_that_the_total_has_no_room_for_is_told_step_by_step() {
    let mut host =
        Host::new([("/w/p/a/AGENTS.md", "123456"), ("/w/p/a/b/AGENTS.md", "abcdef"), ("/w/p/AGENTS.md", "root")]);
    host.config.max_total_source = Some(ByteBudget::new(10.0, "10"));
    host.step();
    host.step();
    assert_eq!(host.touch(&["a/b/f"]), ["set a/b/AGENTS.md"]);
    // Until it has entered it is composed again.
    assert_eq!(host.touch(&[]), ["set a/b/AGENTS.md"]);
    assert_eq!(host.step(), ["set a/b/AGENTS.md"]);
    assert_eq!(host.step(), ["set a/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
    // What outgrows the total by itself holds nothing up.
    host.on(|disk| {
        disk.file("/w/p/a/b/AGENTS.md", "far too long");
        disk.file("/w/p/AGENTS.md", "edited");
    });
    assert_eq!(host.step(), ["replace ./AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn a_batch_that_the_total_has_no_room_for_is_told_step_by_step_and_keeps_what_was_told() {
    let mut host = Host::new([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root")]);
    host.config.max_total_source = Some(ByteBudget::new(8.0, "8"));
    host.step();
    host.on(|disk| {
        disk.file("/h/AGENTS.md", "a home");
        disk.file("/w/p/AGENTS.md", "a root");
    });
    assert_eq!(host.step(), ["replace ./AGENTS.md"]);
    assert_eq!(host.step(), ["replace user-global/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
    host.on(|disk| disk.file("/w/p/AGENTS.md", "far too long"));
    assert_eq!(host.step(), NOTHING);
    host.on(|disk| disk.remove("/w/p/AGENTS.md"));
    assert_eq!(host.step(), ["remove ./AGENTS.md"]);
}

// Root markers that cannot be probed.

#[test]
fn a_marker_that_cannot_be_probed_is_no_matter_beside_another_one() {
    for markers in [[".git", ".hg"], [".hg", ".git"]] {
        let mut host = below_a_marker(MarkerErrors::Throw);
        host.config.project_root_markers = owned(&markers);
        host.on(|disk| {
            disk.fail("/w/p/.git", Fault::ALL);
            disk.file("/w/p/.hg", "");
        });
        assert_eq!(host.step()[0], "baseline", "{markers:?}");
        assert_eq!(host.step(), NOTHING, "{markers:?}");
        // Above it, it is one.
        host.on(|disk| disk.remove("/w/p/.hg"));
        assert!(host.try_compose(&[]).is_err(), "{markers:?}");
    }
}

/// A session in `/w/p/a` that has heard of its root, `/w/p`, and of itself; above it is another marker.
fn below_a_marker(errors: MarkerErrors) -> Host {
    let files = [("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a"), ("/w/AGENTS.md", "above"), ("/w/.git", "")];
    let mut host = Host::new(files).in_directory("/w/p/a");
    host.config.root_marker_errors = errors;
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md", "set a/AGENTS.md"]);
    host
}

#[test]
fn a_marker_that_cannot_be_probed_moves_the_root_by_default() {
    for fault in [Fault::PROBE, Fault::ALL] {
        let mut host = below_a_marker(MarkerErrors::Absent);
        host.on(|disk| disk.fail("/w/p/.git", fault));
        assert_eq!(host.step()[..2], ["baseline", "remove a/AGENTS.md"], "{fault:?}");
    }
}

#[test]
fn a_root_that_is_kept_is_that_of_the_visible_baseline_and_everything_else_goes_on() {
    for (fault, resumed) in [(Fault::PROBE, false), (Fault::ALL, false), (Fault::ALL, true)] {
        let mut host = below_a_marker(MarkerErrors::Keep);
        host.on(|disk| disk.fail("/w/p/.git", fault));
        if resumed {
            host.resume();
        }
        assert_eq!(host.step(), NOTHING, "{fault:?}");
        host.on(|disk| disk.file("/w/p/AGENTS.md", "edited"));
        assert_eq!(host.step(), ["replace ./AGENTS.md"], "{fault:?}");
        assert_eq!(host.touch(&["b/f"]), NOTHING, "{fault:?}");
        host.on(Disk::heal_all);
        assert_eq!(host.step(), NOTHING, "{fault:?}");
        // A marker that is gone is another matter.
        host.on(|disk| disk.remove("/w/p/.git"));
        assert_eq!(host.step()[0], "baseline", "{fault:?}");
    }
}

#[test]
fn where_there_is_no_root_to_keep_a_marker_that_cannot_be_probed_is_none() {
    let mut host = Host::new([("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")]).in_directory("/w/p/a");
    host.config.root_marker_errors = MarkerErrors::Keep;
    host.on(|disk| disk.fail("/w/p/.git", Fault::ALL));
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md"]);
    host.on(Disk::heal_all);
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md", "set a/AGENTS.md"]);
}

#[test]
fn a_marker_that_cannot_be_probed_can_be_an_error_and_costs_nothing_but_that_step() {
    for fault in [Fault::PROBE, Fault::ALL] {
        let mut host = below_a_marker(MarkerErrors::Throw);
        host.on(|disk| {
            disk.fail("/w/p/.git", fault);
            disk.file("/w/p/AGENTS.md", "edited");
        });
        for touched in [&[][..], &["b/f"]] {
            assert_eq!(host.try_compose(touched), Err(UnprobedMarker { path: "/w/p/.git".into() }), "{fault:?}");
        }
        host.on(Disk::heal_all);
        assert_eq!(host.step(), ["replace ./AGENTS.md"], "{fault:?}");
        // One that is not there, and one whose lstat alone fails, are no errors.
        host.on(|disk| disk.fail("/w/p/a/.git", Fault::PEEK));
        assert_eq!(host.step(), NOTHING, "{fault:?}");
    }
}
