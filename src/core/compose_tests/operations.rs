//! What a composition asks, and how often.

use super::*;

fn operations(host: &Host) -> usize {
    host.files.rounds().concat().len()
}

#[test]
fn directories_that_were_touched_and_had_nothing_to_say_are_not_asked_after_for_ever() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root"), ("/w/p/said/AGENTS.md", "said")]);
    host.files.tally();
    host.step();
    let before = operations(&host);
    for directory in ["one", "two", "three"] {
        assert_eq!(host.touch(&[&format!("/w/p/{directory}/file")]), NOTHING);
        host.files.tally();
        host.step();
        assert_eq!(operations(&host), before);
    }
    // What the model was told there is another matter.
    host.touch(&["/w/p/said/file"]);
    host.step();
    host.step();
    host.files.tally();
    host.step();
    assert_eq!(operations(&host), before + 4);
}

#[test]
fn a_directory_that_held_nothing_when_it_was_touched_takes_one_batch_of_peeks_at_the_next_touch() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root"), ("/w/p/src/AGENTS.txt", "no candidate")]);
    for _ in 0..2 {
        host.step();
    }
    assert_eq!(host.touch(&["/w/p/src/one"]), NOTHING);
    host.step();
    for _ in 0..2 {
        host.files.tally();
        assert_eq!(host.touch(&["/w/p/src/another"]), NOTHING);
        let [mut asked] = <[Vec<String>; 1]>::try_from(host.files.rounds()).unwrap();
        asked.retain(|operation| operation.contains("/w/p/src/"));
        asked.sort();
        let names = ["AGENTS.local.md", "AGENTS.md", "CLAUDE.local.md", "CLAUDE.md"];
        assert_eq!(asked, names.map(|name| format!("peek /w/p/src/{name}")));
    }
    host.on(|disk| disk.file("/w/p/src/CLAUDE.md", "has come"));
    // Nothing calls for it until a touch leads there again.
    assert_eq!(host.step(), NOTHING);
    assert_eq!(host.touch(&["/w/p/src/one"]), ["set src/CLAUDE.md"]);
}

#[test]
fn directories_that_are_touched_together_are_remembered_together_and_asked_after_at_touches_only() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root"), ("/w/p/said/AGENTS.md", "said")]);
    host.step();
    host.files.tally();
    host.step();
    let idle = operations(&host);
    let hollow = ["/w/p/a/f", "/w/p/b/f", "/w/p/c/d/f"];
    assert_eq!(host.touch(&hollow), NOTHING);
    host.files.tally();
    for _ in 0..2 {
        assert_eq!(host.touch(&hollow), NOTHING);
        let [asked] = <[Vec<String>; 1]>::try_from(host.files.rounds()).unwrap();
        assert_eq!(asked.len(), idle + 4 * 4);
        host.step();
        assert_eq!(operations(&host), idle);
    }
    // Also beside a touch that has something to say, and while that waits.
    assert_eq!(host.touch(&[hollow[0], "said/f", hollow[1]]), ["set said/AGENTS.md"]);
    host.files.tally();
    host.step();
    let asked = host.files.rounds().concat();
    for directory in ["/w/p/a/", "/w/p/b/"] {
        assert!(!asked.iter().any(|operation| operation.contains(directory)), "{asked:#?}");
    }
}

#[test]
fn a_file_that_comes_to_a_directory_that_held_nothing_is_said_after_three_rounds() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root")]);
    host.step();
    assert_eq!(host.touch(&["d/f"]), NOTHING);
    host.files.tally();
    host.on(|disk| disk.file("/w/p/d/AGENTS.md", "new"));
    assert_eq!(host.touch(&["d/AGENTS.md"]), ["set d/AGENTS.md"]);
    let rounds = host.files.rounds();
    assert_eq!(rounds[1..], [["probe /w/p/d/AGENTS.md"], ["read /w/p/d/AGENTS.md"]]);
}

#[test]
fn a_first_touch_is_looked_at_while_everything_else_is_confirmed() {
    let files = [("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a"), ("/w/p/a/b/AGENTS.md", "b")];
    let mut host = Host::told(files);
    host.step();
    host.files.tally();
    assert_eq!(host.touch(&["a/b/f", "a/f"]), ["set a/AGENTS.md", "set a/b/AGENTS.md"]);
    let [mut asked, read] = <[Vec<String>; 2]>::try_from(host.files.rounds()).unwrap();
    asked.retain(|operation| operation.contains("/w/p/a"));
    asked.sort();
    let expected = [
        "peek /w/p/a/AGENTS.local.md",
        "peek /w/p/a/CLAUDE.local.md",
        "peek /w/p/a/CLAUDE.md",
        "peek /w/p/a/b/AGENTS.local.md",
        "peek /w/p/a/b/CLAUDE.local.md",
        "peek /w/p/a/b/CLAUDE.md",
        "probe /w/p/a/AGENTS.md",
        "probe /w/p/a/b/AGENTS.md",
    ];
    assert_eq!(asked, expected);
    assert_eq!(read, ["read /w/p/a/AGENTS.md", "read /w/p/a/b/AGENTS.md"]);
}

#[test]
fn the_second_step_is_silent_and_takes_one_batch_of_peeks_and_a_probe_of_the_marker() {
    let mut host = Host::told([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")])
        .in_directory("/w/p/a");
    host.resume();
    host.visible.clear();
    host.see();
    host.step();
    for _ in 0..3 {
        host.files.tally();
        assert_eq!(host.step(), NOTHING);
        let [mut operations] = <[Vec<String>; 1]>::try_from(host.files.rounds()).unwrap();
        operations.sort();
        let expected = [
            "peek /h/AGENTS.md",
            "peek /w/p/AGENTS.local.md",
            "peek /w/p/AGENTS.md",
            "peek /w/p/CLAUDE.local.md",
            "peek /w/p/CLAUDE.md",
            "peek /w/p/a/.git",
            "peek /w/p/a/AGENTS.local.md",
            "peek /w/p/a/AGENTS.md",
            "peek /w/p/a/CLAUDE.local.md",
            "peek /w/p/a/CLAUDE.md",
            "probe /w/p/.git",
        ];
        assert_eq!(operations, expected);
    }
}

#[test]
fn a_first_composition_takes_few_rounds_and_asks_each_question_once() {
    let files = [
        ("/h/AGENTS.md", "home"),
        ("/w/AGENTS.md", "w"),
        ("/w/p/AGENTS.md", "p"),
        ("/w/p/a/AGENTS.md", "a"),
        ("/w/p/a/AGENTS.local.md", "overlay"),
        ("/w/p/a/b/AGENTS.md", "touched"),
    ];
    for (root, told) in [("/w/p/a", 3), ("/w/p", 4), ("/w", 5)] {
        for lstat in EVERY_LSTAT {
            let host = Host::new(files).in_directory("/w/p/a");
            host.on(|disk| {
                disk.remove("/w/p/.git");
                disk.file(&format!("{root}/.git"), "");
            });
            host.files.lstat.set(lstat);
            let message = host.compose(&["b/f"]).unwrap();
            assert_eq!(message.source.changes.len(), told + 1, "{root} {lstat:?}");
            let rounds = host.files.rounds();
            let bound = if matches!(lstat, Lstat::Blind | Lstat::Failing) { 9 } else { 6 };
            assert!(rounds.len() <= bound, "{rounds:#?}");
            let mut operations = rounds.concat();
            let asked = operations.len();
            operations.sort();
            operations.dedup();
            assert_eq!(operations.len(), asked, "a question was asked twice: {rounds:#?}");
            let reads = operations.iter().filter(|operation| operation.starts_with("read "));
            assert_eq!(reads.count(), told + 1, "{root} {lstat:?}");
            if lstat == Lstat::Faithful {
                // Overlays that are not there cost a peek and no probe.
                assert!(!operations.contains(&"probe /w/p/a/CLAUDE.local.md".to_owned()));
            }
        }
    }
}

/// A host whose first session has found `/w/p` from `/w/p/a/b`, and whose second is about to start.
fn known_place() -> Host {
    let files = [("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "p"), ("/w/p/a/AGENTS.local.md", "overlay")];
    let mut host = Host::told(files).in_directory("/w/p/a/b");
    host.on(|disk| disk.directory("/w/p/a/b"));
    host.resume();
    host.visible.clear();
    host.see();
    host.step();
    host.start_another();
    host
}

#[test]
fn a_session_where_another_was_asks_everything_at_once_and_nothing_that_is_not_there_twice() {
    let mut host = known_place();
    assert_eq!(host.step(), ["baseline", "set user-global/AGENTS.md", "set ./AGENTS.md", "set a/AGENTS.local.md"]);
    let [mut asked, read] = <[Vec<String>; 2]>::try_from(host.files.rounds()).unwrap();
    asked.sort();
    let expected = [
        "peek /w/p/AGENTS.local.md",
        "peek /w/p/CLAUDE.local.md",
        "peek /w/p/CLAUDE.md",
        "peek /w/p/a/.git",
        "peek /w/p/a/AGENTS.md",
        "peek /w/p/a/CLAUDE.local.md",
        "peek /w/p/a/CLAUDE.md",
        "peek /w/p/a/b",
        "peek /w/p/a/b/.git",
        "peek /w/p/a/b/AGENTS.local.md",
        "peek /w/p/a/b/AGENTS.md",
        "peek /w/p/a/b/CLAUDE.local.md",
        "peek /w/p/a/b/CLAUDE.md",
        "probe /h/AGENTS.md",
        "probe /w/p/.git",
        "probe /w/p/AGENTS.md",
        "probe /w/p/a/AGENTS.local.md",
    ];
    assert_eq!(asked, expected);
    assert_eq!(read, ["read /h/AGENTS.md", "read /w/p/AGENTS.md", "read /w/p/a/AGENTS.local.md"]);
}

#[test]
fn whatever_has_changed_since_another_session_was_here_is_found() {
    type Change = fn(&mut Disk);
    let changes: [(Change, &[&str]); 5] = [
        (|disk| disk.file("/w/p/a/.git", ""), &["user-global/AGENTS.md", "./AGENTS.local.md"]),
        (|disk| disk.remove("/w/p/.git"), &["user-global/AGENTS.md"]),
        (|disk| disk.fail("/w/p/.git", Fault::ALL), &["user-global/AGENTS.md"]),
        (
            |disk| {
                disk.remove("/w/p/AGENTS.md");
                disk.file("/w/p/CLAUDE.md", "new");
                disk.file("/w/p/a/b/CLAUDE.local.md", "new");
            },
            &["user-global/AGENTS.md", "./CLAUDE.md", "a/AGENTS.local.md", "a/b/CLAUDE.local.md"],
        ),
        (
            |disk| {
                disk.remove("/h/AGENTS.md");
                disk.link("/w/p/a/CLAUDE.md", "/w/p/AGENTS.md");
            },
            &["./AGENTS.md", "a/CLAUDE.md", "a/AGENTS.local.md"],
        ),
    ];
    for (index, (change, found)) in changes.into_iter().enumerate() {
        let mut host = known_place();
        host.on(change);
        let expected: Vec<String> = found.iter().map(|scope| format!("set {scope}")).collect();
        assert_eq!(host.step().split_first(), Some((&"baseline".to_owned(), expected.as_slice())), "{index}");
        assert_eq!(host.step(), NOTHING, "{index}");
    }
}

#[test]
fn peeks_that_work_for_one_session_prove_nothing_for_another() {
    for lstat in [Lstat::Blind, Lstat::Failing] {
        let mut host = known_place();
        host.on(|disk| {
            disk.file("/w/p/a/b/.git", "");
            disk.file("/w/p/a/b/CLAUDE.local.md", "new");
        });
        host.files.lstat.set(lstat);
        assert_eq!(host.step(), ["baseline", "set user-global/AGENTS.md", "set ./CLAUDE.local.md"], "{lstat:?}");
    }
}

#[test]
fn peeks_that_have_turned_out_to_be_of_no_use_are_not_believed_by_the_next_session_either() {
    let mut host = known_place();
    host.step();
    host.files.lstat.set(Lstat::Blind);
    host.step();
    assert_eq!(host.memory.borrow().peeks, PeekTrust::Broken);
    host.start_another();
    assert_eq!(host.memory.borrow().peeks, PeekTrust::Unproven);
    assert_eq!(host.step(), ["baseline", "set user-global/AGENTS.md", "set ./AGENTS.md", "set a/AGENTS.local.md"]);
}

#[test]
fn a_link_among_the_candidates_is_probed_in_the_same_batch() {
    let mut host = Host::new([("/w/p/AGENTS.md", "root")]);
    host.on(|disk| disk.link("/w/p/CLAUDE.md", "/w/elsewhere"));
    host.step();
    host.step();
    host.step();
    host.files.tally();
    assert_eq!(host.step(), NOTHING);
    let [operations] = <[Vec<String>; 1]>::try_from(host.files.rounds()).unwrap();
    let mut probes: Vec<&String> = operations.iter().filter(|operation| operation.starts_with("probe ")).collect();
    probes.sort();
    assert_eq!(probes, ["probe /w/p/.git", "probe /w/p/CLAUDE.md"]);
    host.on(|disk| disk.file("/w/elsewhere", "told"));
    assert_eq!(host.step(), ["set ./CLAUDE.md"]);
}

#[test]
fn an_edit_costs_a_probe_of_its_directory_and_a_read_of_its_file() {
    let mut host = Host::told([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root"), ("/w/p/CLAUDE.md", "c")]);
    host.step();
    host.on(|disk| disk.file("/w/p/CLAUDE.md", "edited"));
    host.files.tally();
    assert_eq!(host.step(), ["replace ./CLAUDE.md"]);
    let rounds = host.files.rounds();
    let later = rounds[1..].concat();
    let reads: Vec<&String> = later.iter().filter(|operation| operation.starts_with("read ")).collect();
    assert_eq!(reads, ["read /w/p/CLAUDE.md"]);
    assert!(later.iter().all(|operation| operation.contains(" /w/p/")), "{rounds:#?}");
    assert_eq!(host.step(), NOTHING);
    assert_eq!(host.files.tally().rounds, 1);
}

#[test]
fn a_rewrite_with_the_same_content_costs_one_confirming_read_and_no_word() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root")]);
    host.step();
    host.on(|disk| disk.file("/w/p/AGENTS.md", "root"));
    host.files.tally();
    assert_eq!(host.step(), NOTHING);
    assert_eq!(host.files.tally().reads, 1);
    assert_eq!(host.step(), NOTHING);
    assert_eq!(host.files.tally(), Tally { rounds: 1, batches: 1, probes: 1, peeks: 5, ..Tally::default() });
}

#[test]
fn a_touch_that_reaches_a_new_directory_asks_only_for_its_candidates_beyond_the_usual_batch() {
    let mut host = Host::told([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")]);
    host.step();
    host.files.tally();
    host.touch(&["a/f"]);
    let rounds = host.files.rounds();
    assert!(rounds[1..].concat().iter().all(|operation| operation.contains(" /w/p/a/")), "{rounds:#?}");
    host.step();
    host.touch(&["a/f"]);
    host.files.tally();
    host.touch(&["a/f"]);
    assert_eq!(host.files.tally().rounds, 1);
}

#[test]
fn without_a_usable_lstat_every_candidate_is_probed_and_only_what_is_new_is_read() {
    for lstat in [Lstat::Blind, Lstat::Failing] {
        let mut host = Host::new([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root")]);
        host.files.lstat.set(lstat);
        host.step();
        host.files.tally();
        assert_eq!(host.step(), NOTHING);
        let tally = host.files.tally();
        assert_eq!((tally.peeks, tally.reads), (0, 0), "{lstat:?}");
        host.on(|disk| disk.file("/w/p/AGENTS.md", "edited"));
        assert_eq!(host.step(), ["replace ./AGENTS.md"]);
        assert_eq!(host.files.tally().reads, 1, "{lstat:?}");
        assert_eq!(host.step(), NOTHING);
        assert_eq!(host.files.tally().reads, 0, "{lstat:?}");
    }
}

#[test]
fn what_stays_out_is_not_asked_about_while_its_baseline_stands() {
    let mut host = Host::told([("/w/p/AGENTS.md", "x"), ("/w/p/CLAUDE.md", "x")]);
    host.step();
    host.files.tally();
    host.step();
    host.touch(&["a/f"]);
    assert!(!host.files.rounds().concat().iter().any(|operation| operation.ends_with("/w/p/CLAUDE.md")));
}

#[test]
fn the_memory_is_never_held_while_an_answer_is_awaited() {
    struct Watching<'a> {
        files: Files,
        memory: &'a RefCell<Memory>,
    }
    impl Answerer for Watching<'_> {
        async fn answer(&self, batch: Vec<Operation>) -> Vec<Answer> {
            assert!(self.memory.try_borrow_mut().is_ok(), "held when asking {batch:?}");
            let answers = self.files.answer(batch).await;
            assert!(self.memory.try_borrow_mut().is_ok(), "held while waiting");
            answers
        }
    }
    let host = Host::new([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.local.md", "root"), ("/w/p/a/AGENTS.md", "a")]);
    let memory = RefCell::default();
    let watching = Watching { files: Files::over(host.files.disk.clone(), Lstat::Faithful), memory: &memory };
    let mut request = Request { cwd: "/w/p".to_owned(), touched: vec!["a/f".to_owned()], ..Request::default() };
    for _ in 0..3 {
        let message = watching.files.run(compose(&watching, &host.config, &memory, request.clone())).unwrap();
        request.authority = request.authority.with(message.into_iter().map(|message| message.source).collect());
        host.on(|disk| disk.file("/w/p/AGENTS.md", "edited"));
    }
}
