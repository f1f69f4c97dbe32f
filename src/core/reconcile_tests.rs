#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::super::digest::digest;
use super::super::loader::ReadLimits;
use super::super::operation::Answer;
use super::super::path::PathStyle::Posix;
use super::super::state::PeekTrust;
use super::super::test_support::{Disk, Fault, Files, config};
use super::*;

/// The directory `/p/d` of a project at `/p`: a disk, what the model sees of it, and what is remembered.
#[derive(Default)]
struct Bench {
    disk: Disk,
    visible: Visible,
    memory: Memory,
    excluded: Vec<ScopeKey>,
}

/// What reconciling it came to.
#[derive(Debug, PartialEq)]
struct Came {
    /// `set A`, `replace A` or `remove A`, by name.
    to: Vec<String>,
    conclusive: bool,
    /// Names of the files that were read.
    reads: Vec<String>,
}

fn scope(name: &str) -> ScopeKey {
    ScopeKey::new("d", name)
}

fn path(name: &str) -> String {
    format!("/p/d/{name}")
}

fn seen(name: &str, text: &str) -> Change {
    let digest = Some(digest(&text.into()).full);
    Change { action: Action::Set, scope: scope(name), path: format!("d/{name}").into(), digest }
}

impl Bench {
    /// Files by name, and what the model sees: content by name.
    fn new(files: &[(&str, &str)], visible: &[(&str, &str)]) -> Self {
        let mut bench = Self::default();
        bench.disk.directory("/p/d");
        files.iter().for_each(|(name, text)| bench.disk.file(&path(name), *text));
        bench.visible.apply(&visible.iter().map(|(name, text)| seen(name, text)).collect::<Vec<_>>());
        bench
    }

    fn on(mut self, change: impl FnOnce(&mut Disk)) -> Self {
        change(&mut self.disk);
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.excluded.push(scope(name));
        self
    }

    /// Remember every file as it is now.
    fn remembered(mut self) -> Self {
        for name in config().candidate_names() {
            if let (Answer::Present(entry), Some(text)) = (self.disk.probe(&path(name), 0), self.disk.text(&path(name)))
            {
                let digests = digest(text);
                let known = KnownFile {
                    path: path(name).into(),
                    version: entry.version,
                    digest: digests.full,
                    trimmed: digests.trimmed,
                };
                self.memory.versions.insert(scope(name), known);
            }
        }
        self
    }

    /// Reconcile under a cap of 100 bytes.
    fn reconcile(&self) -> (GroupOutcome, Vec<String>) {
        let files = Files::new(self.disk.clone());
        let group = config().group("/p", "d");
        let excluded = |scope: &ScopeKey| self.excluded.contains(scope);
        let comparison = Comparison { visible: &self.visible, excluded: &excluded };
        let survey = Survey::new(&files, Posix, PeekTrust::Broken);
        files.run(survey.probe(group.candidates.iter().map(|candidate| candidate.path.clone())));
        let loader = Loader::new(&files, ReadLimits { each: 100.0, total: f64::INFINITY });
        let unread = comparison.unread(&group, &survey, &self.memory);
        let reads = unread.iter().map(|(path, _)| path.rsplit('/').next().unwrap().to_owned()).collect();
        files.run(loader.read(unread));
        (comparison.reconcile(&group, &survey, &loader, &self.memory), reads)
    }

    fn comes(&self) -> Came {
        let (outcome, reads) = self.reconcile();
        let to = outcome.transitions.iter().map(|transition| spell(&transition.change)).collect();
        Came { to, conclusive: outcome.conclusive, reads }
    }

    /// Assert the transitions, and whether the same disk is sure to say the same again.
    fn comes_to(&self, to: &[&str], conclusive: bool) {
        let came = self.comes();
        assert_eq!((came.to, came.conclusive), (to.iter().map(|line| (*line).to_owned()).collect(), conclusive));
    }
}

fn spell(change: &Change) -> String {
    format!("{} {}", change.action.as_str(), change.scope.parts().1)
}

// Rule 1.

#[test]
fn while_a_seen_candidate_cannot_be_probed_the_whole_group_keeps_its_state() {
    // An addition, an edit, a removal and a duplicate: all wait.
    let files = [("CLAUDE.md", "edited"), ("AGENTS.local.md", "new"), ("AGENTS.md", "x")];
    let visible = [("AGENTS.md", "x"), ("CLAUDE.md", "old"), ("CLAUDE.local.md", "gone")];
    let bench = Bench::new(&files, &visible);
    bench.comes_to(&["replace CLAUDE.md", "set AGENTS.local.md", "remove CLAUDE.local.md"], true);

    let locked = bench.on(|disk| disk.fail("/p/d/AGENTS.md", Fault::PROBE));
    assert_eq!(locked.comes(), Came { to: vec![], conclusive: false, reads: vec![] });
    assert!(locked.reconcile().0.known.is_empty());
    locked.on(Disk::heal_all).comes_to(&["replace CLAUDE.md", "set AGENTS.local.md", "remove CLAUDE.local.md"], true);
}

#[test]
fn an_unprobed_candidate_that_the_model_does_not_see_locks_nothing() {
    let files = [("AGENTS.md", "x"), ("CLAUDE.md", "edited")];
    let bench = Bench::new(&files, &[("CLAUDE.md", "old")]).on(|disk| disk.fail("/p/d/AGENTS.md", Fault::PROBE));
    bench.comes_to(&["replace CLAUDE.md"], false);
}

#[test]
fn a_tombstone_locks_nothing() {
    let mut bench = Bench::new(&[("AGENTS.md", "x"), ("CLAUDE.md", "y")], &[("AGENTS.md", "x")]);
    bench.visible.apply(&[Change { action: Action::Remove, digest: None, ..seen("AGENTS.md", "x") }]);
    bench.on(|disk| disk.fail("/p/d/AGENTS.md", Fault::PROBE)).comes_to(&["set CLAUDE.md"], false);
}

#[test]
fn what_stays_out_locks_nothing() {
    let bench = Bench::new(&[("CLAUDE.md", "new")], &[("AGENTS.md", "x")]).without("AGENTS.md");
    bench.on(|disk| disk.fail("/p/d/AGENTS.md", Fault::PROBE)).comes_to(&["remove AGENTS.md", "set CLAUDE.md"], true);
}

#[test]
fn a_failed_read_does_not_lock_its_siblings() {
    let files = [("AGENTS.md", "edited"), ("CLAUDE.md", "edited too")];
    let bench = Bench::new(&files, &[("AGENTS.md", "a"), ("CLAUDE.md", "b")]);
    bench.on(|disk| disk.fail("/p/d/AGENTS.md", Fault::READ)).comes_to(&["replace CLAUDE.md"], false);
}

// Rule 2.

#[test]
fn only_a_probe_that_finds_no_file_removes() {
    type Happens = fn(&mut Disk);
    let table: [(&str, Happens, &[&str], bool); 12] = [
        ("is gone", |disk| disk.remove("/p/d/AGENTS.md"), &["remove AGENTS.md"], true),
        ("is a directory", |disk| disk.directory("/p/d/AGENTS.md"), &["remove AGENTS.md"], true),
        ("is a FIFO", |disk| disk.other("/p/d/AGENTS.md"), &["remove AGENTS.md"], true),
        ("dangles", |disk| disk.link("/p/d/AGENTS.md", "nowhere"), &["remove AGENTS.md"], true),
        ("links to a directory", |disk| disk.link("/p/d/AGENTS.md", "/p"), &["remove AGENTS.md"], true),
        ("has no directory", |disk| disk.remove("/p/d"), &["remove AGENTS.md"], true),
        ("cannot be probed", |disk| disk.fail("/p/d/AGENTS.md", Fault::PROBE), &[], false),
        ("links in a circle", |disk| disk.link("/p/d/AGENTS.md", "AGENTS.md"), &[], false),
        ("is below a file", |disk| disk.file("/p/d", "no directory"), &[], false),
        (
            "was edited and cannot be read",
            |disk| {
                disk.file("/p/d/AGENTS.md", "edited");
                disk.fail("/p/d/AGENTS.md", Fault::READ);
            },
            &[],
            false,
        ),
        (
            "exceeds the cap",
            |disk| {
                disk.file("/p/d/AGENTS.md", "0123456789".repeat(11));
                disk.report_size("/p/d/AGENTS.md", None);
            },
            &[],
            true,
        ),
        // What was only reported may be reported otherwise under the same version.
        (
            "is said to exceed the cap",
            |disk| {
                disk.file("/p/d/AGENTS.md", "edited");
                disk.report_size("/p/d/AGENTS.md", Some(101.0));
            },
            &[],
            false,
        ),
    ];
    for (what, happens, to, conclusive) in table {
        let came = Bench::new(&[("AGENTS.md", "x")], &[("AGENTS.md", "x")]).on(happens).comes();
        assert_eq!(
            (came.to, came.conclusive),
            (to.iter().map(|line| (*line).to_owned()).collect(), conclusive),
            "{what}"
        );
    }
}

#[test]
fn what_the_model_does_not_see_is_never_removed() {
    Bench::new(&[], &[]).comes_to(&[], true);
    let mut bench = Bench::new(&[], &[("AGENTS.md", "x")]);
    bench.visible.apply(&[Change { action: Action::Remove, digest: None, ..seen("AGENTS.md", "x") }]);
    bench.comes_to(&[], true);
}

#[test]
fn a_removal_names_the_path_under_which_the_model_came_to_know_the_file() {
    let mut bench = Bench::new(&[], &[]);
    bench.visible.apply(&[Change { path: "old/AGENTS.md".into(), ..seen("AGENTS.md", "x") }]);
    let (outcome, _) = bench.reconcile();
    let [Transition { change, content: None }] = &outcome.transitions[..] else { unreachable!() };
    assert_eq!((&*change.path, &change.digest), ("old/AGENTS.md", &None));
}

// Rule 3.

#[test]
fn a_duplicate_is_not_loaded_and_removed_if_the_model_sees_it() {
    let files = [("AGENTS.md", "x"), ("CLAUDE.md", " x\n")];
    Bench::new(&files, &[]).comes_to(&["set AGENTS.md"], true);
    Bench::new(&files, &[("AGENTS.md", "x")]).comes_to(&[], true);
    Bench::new(&files, &[("AGENTS.md", "x"), ("CLAUDE.md", "y")]).comes_to(&["remove CLAUDE.md"], true);
    // Even under its own digest: an earlier candidate has converged on it.
    Bench::new(&files, &[("AGENTS.md", "old"), ("CLAUDE.md", " x\n")])
        .comes_to(&["replace AGENTS.md", "remove CLAUDE.md"], true);
}

#[test]
fn a_duplicate_becomes_an_addition_when_it_diverges_or_when_the_earlier_file_goes() {
    Bench::new(&[("AGENTS.md", "x"), ("CLAUDE.md", "y")], &[("AGENTS.md", "x")]).comes_to(&["set CLAUDE.md"], true);
    Bench::new(&[("CLAUDE.md", "x")], &[("AGENTS.md", "x")]).comes_to(&["remove AGENTS.md", "set CLAUDE.md"], true);
}

#[test]
fn a_file_that_is_known_without_a_read_makes_duplicates_too() {
    let files = [("AGENTS.md", "x"), ("CLAUDE.md", "x ")];
    let came = Bench::new(&files, &[("AGENTS.md", "x"), ("CLAUDE.md", "x ")]).remembered().comes();
    assert_eq!(came, Came { to: vec!["remove CLAUDE.md".to_owned()], conclusive: true, reads: vec![] });
}

#[test]
fn a_file_of_which_nothing_is_known_makes_no_duplicates() {
    let files = [("AGENTS.md", "x"), ("CLAUDE.md", "x")];
    let unreadable = Bench::new(&files, &[]).on(|disk| disk.fail("/p/d/AGENTS.md", Fault::READ));
    unreadable.comes_to(&["set CLAUDE.md"], false);
    Bench::new(&files, &[]).without("AGENTS.md").comes_to(&["set CLAUDE.md"], true);
}

// Rule 4.

#[test]
fn the_same_digest_under_the_same_path_is_silence_another_replaces_and_an_unseen_file_is_set() {
    let table: [(&str, Option<&str>, &[&str]); 6] = [
        ("x", Some("x"), &[]),
        ("", Some(""), &[]),
        ("x", Some("y"), &["replace AGENTS.md"]),
        // Identity is the exact content, white space included.
        ("x", Some("x\n"), &["replace AGENTS.md"]),
        ("x", None, &["set AGENTS.md"]),
        ("", None, &["set AGENTS.md"]),
    ];
    for (text, visible, to) in table {
        let visible: Vec<(&str, &str)> = visible.iter().map(|visible| ("AGENTS.md", *visible)).collect();
        Bench::new(&[("AGENTS.md", text)], &visible).comes_to(to, true);
    }
}

#[test]
fn a_file_that_the_model_knows_under_another_path_is_told_anew() {
    for remembered in [false, true] {
        let mut bench = Bench::new(&[("AGENTS.md", "x")], &[]);
        bench.visible.apply(&[Change { path: "old/AGENTS.md".into(), ..seen("AGENTS.md", "x") }]);
        let bench = if remembered { bench.remembered() } else { bench };
        let (outcome, _) = bench.reconcile();
        let [Transition { change, content: Some(content) }] = &outcome.transitions[..] else { unreachable!() };
        assert_eq!((change.action, &*change.path, &content.text), (Action::Replace, "d/AGENTS.md", &"x".into()));
    }
}

#[test]
fn a_tombstone_that_reappears_is_an_addition() {
    let mut bench = Bench::new(&[("AGENTS.md", "x")], &[("AGENTS.md", "x")]).remembered();
    bench.visible.apply(&[Change { action: Action::Remove, digest: None, ..seen("AGENTS.md", "x") }]);
    bench.comes_to(&["set AGENTS.md"], true);
}

#[test]
fn a_seen_change_without_a_digest_matches_no_content() {
    let mut bench = Bench::new(&[("AGENTS.md", "")], &[]);
    bench.visible.apply(&[Change { digest: None, ..seen("AGENTS.md", "") }]);
    bench.comes_to(&["replace AGENTS.md"], true);
}

#[test]
fn transitions_stand_in_candidate_order_with_their_content_and_its_digest() {
    let files = [("CLAUDE.local.md", "4"), ("AGENTS.local.md", "3"), ("CLAUDE.md", "2"), ("AGENTS.md", "1")];
    let bench = Bench::new(&files, &[("CLAUDE.md", "old")]);
    let (outcome, _) = bench.reconcile();
    let told: Vec<(String, String)> = outcome
        .transitions
        .iter()
        .map(|transition| {
            (spell(&transition.change), transition.content.as_ref().unwrap().text.as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [
        ("set AGENTS.md", "1"),
        ("replace CLAUDE.md", "2"),
        ("set AGENTS.local.md", "3"),
        ("set CLAUDE.local.md", "4"),
    ];
    assert_eq!(told, expected.map(|(line, text)| (line.to_owned(), text.to_owned())));
    for transition in &outcome.transitions {
        let item = transition.item();
        assert_eq!(item.change.digest, Some(digest(item.content.unwrap()).full));
        assert_eq!(*item.change.path, format!("d/{}", item.change.scope.parts().1));
    }
}

#[test]
fn what_a_read_taught_is_told_for_every_readable_file() {
    let files = [("AGENTS.md", "x"), ("CLAUDE.md", "x "), ("AGENTS.local.md", "y")];
    let (outcome, _) = Bench::new(&files, &[("AGENTS.local.md", "y")]).reconcile();
    let known: Vec<(&str, bool)> =
        outcome.known.iter().map(|(scope, known)| (scope.parts().1, known.digest == known.trimmed)).collect();
    assert_eq!(known, [("AGENTS.md", true), ("CLAUDE.md", false), ("AGENTS.local.md", true)]);
    for (scope, known) in &outcome.known {
        assert_eq!(*known.path, *path(scope.parts().1));
    }
}

#[test]
fn a_known_version_of_what_the_model_sees_is_not_read_again() {
    let files = [("AGENTS.md", "x"), ("CLAUDE.md", "y")];
    let visible = files;
    assert_eq!(Bench::new(&files, &visible).comes().reads, ["AGENTS.md", "CLAUDE.md"]);
    assert!(Bench::new(&files, &visible).remembered().comes().reads.is_empty());
    // A new version is read, and found to be the same.
    let touched = Bench::new(&files, &visible).remembered().on(|disk| disk.file("/p/d/CLAUDE.md", "y"));
    assert_eq!(touched.comes(), Came { to: vec![], conclusive: true, reads: vec!["CLAUDE.md".to_owned()] });
}

#[test]
fn a_known_version_is_read_when_the_model_sees_something_else_or_nothing() {
    let files = [("AGENTS.md", "x")];
    assert_eq!(Bench::new(&files, &[("AGENTS.md", "y")]).remembered().comes().reads, ["AGENTS.md"]);
    assert_eq!(Bench::new(&files, &[]).remembered().comes().reads, ["AGENTS.md"]);
    // And when what is known is known of another path.
    let mut moved = Bench::new(&files, &files).remembered();
    moved.memory.versions.get_mut(&scope("AGENTS.md")).unwrap().path = "/elsewhere/AGENTS.md".into();
    assert_eq!(moved.comes().reads, ["AGENTS.md"]);
}

#[test]
fn a_known_file_needs_no_read_to_be_believed() {
    let files = [("AGENTS.md", "x")];
    let bench = Bench::new(&files, &files).remembered().on(|disk| disk.fail("/p/d/AGENTS.md", Fault::READ));
    assert_eq!(bench.comes(), Came { to: vec![], conclusive: true, reads: vec![] });
}

#[test]
fn nothing_is_read_of_what_stays_out() {
    assert_eq!(
        Bench::new(&[("AGENTS.md", "x"), ("CLAUDE.md", "y")], &[]).without("AGENTS.md").comes().reads,
        ["CLAUDE.md"]
    );
}

// Rule 5.

#[test]
fn what_stays_out_says_nothing_but_its_removal_whatever_the_disk_does() {
    type Happens = fn(&mut Disk);
    let table: [Happens; 4] = [
        |_| {},
        |disk| disk.file("/p/d/AGENTS.md", "edited"),
        |disk| disk.remove("/p/d/AGENTS.md"),
        |disk| disk.fail("/p/d/AGENTS.md", Fault::ALL),
    ];
    for happens in table {
        Bench::new(&[("AGENTS.md", "x")], &[]).without("AGENTS.md").on(happens).comes_to(&[], true);
        let seen = Bench::new(&[("AGENTS.md", "x")], &[("AGENTS.md", "x")]).without("AGENTS.md").on(happens);
        seen.comes_to(&["remove AGENTS.md"], true);
    }
}

#[test]
fn what_stays_out_is_removed_once() {
    let mut bench = Bench::new(&[], &[("AGENTS.md", "x")]).without("AGENTS.md");
    bench.visible.apply(&[Change { action: Action::Remove, digest: None, ..seen("AGENTS.md", "x") }]);
    bench.comes_to(&[], true);
}

#[test]
fn removals_of_what_stays_out_go_before_everything_else_of_the_group() {
    let files = [("AGENTS.md", "edited"), ("AGENTS.local.md", "new")];
    let visible = [("AGENTS.md", "x"), ("CLAUDE.md", "y"), ("CLAUDE.local.md", "z")];
    let bench = Bench::new(&files, &visible).without("CLAUDE.local.md").without("CLAUDE.md");
    bench.comes_to(&["remove CLAUDE.md", "remove CLAUDE.local.md", "replace AGENTS.md", "set AGENTS.local.md"], true);
    // They come from what is known already, so that no lock holds them back.
    bench
        .on(|disk| disk.fail("/p/d/AGENTS.md", Fault::PROBE))
        .comes_to(&["remove CLAUDE.md", "remove CLAUDE.local.md"], false);
}

proptest! {
    /// Any directory, any view of it, any faults.
    #[test]
    fn unknown_never_changes_anything_and_what_was_told_is_not_told_again(
        files in prop::collection::vec((0_usize..4, 0_usize..5), 0..4),
        visible in prop::collection::vec((0_usize..4, 0_usize..5, prop::bool::weighted(0.2)), 0..5),
        faults in prop::collection::vec((0_usize..4, 0_usize..3), 0..3),
        excluded in prop::collection::vec(0_usize..4, 0..2),
        remembered: bool,
    ) {
        let names = ["AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md"];
        let texts = ["x", "x\n", "y", "", " "];
        let mut bench = Bench::new(&[], &[]);
        for (name, text) in files {
            bench.disk.file(&path(names[name]), texts[text]);
        }
        for (name, text, gone) in visible {
            let change = seen(names[name], texts[text]);
            let gone = gone.then(|| Change { action: Action::Remove, digest: None, ..change.clone() });
            bench.visible.apply(&[gone.unwrap_or(change)]);
        }
        let sound = bench.disk.clone();
        for (name, fault) in faults {
            bench.disk.fail(&path(names[name]), [Fault::ALL, Fault::PROBE, Fault::READ][fault]);
        }
        bench.excluded = excluded.into_iter().map(|name| scope(names[name])).collect();
        let mut bench = if remembered { bench.remembered() } else { bench };

        // Whatever is said is true of the disk, faults aside.
        let (outcome, _) = bench.reconcile();
        for Transition { change, .. } in &outcome.transitions {
            let name = change.scope.parts().1;
            if bench.excluded.contains(&change.scope) {
                prop_assert_eq!(change.action, Action::Remove);
                continue;
            }
            prop_assert_ne!(bench.disk.probe(&path(name), 0), Answer::Unavailable);
            let text = sound.text(&path(name));
            let trimmed = |text: &super::super::text::JsText| digest(text).trimmed;
            let earlier = names.iter().take_while(|other| **other != name).filter_map(|other| sound.text(&path(other)));
            let duplicate = text.is_some_and(|text| earlier.into_iter().any(|other| trimmed(other) == trimmed(text)));
            match change.action {
                Action::Remove => prop_assert!(text.is_none() || duplicate, "{:?}", change),
                _ => prop_assert_eq!(text.map(|text| digest(text).full), change.digest.clone()),
            }
        }
        // Once it has been said, the same disk is silent.
        let changes: Vec<Change> = outcome.transitions.iter().map(|transition| transition.change.clone()).collect();
        bench.visible.apply(&changes);
        bench.memory.versions.extend(outcome.known);
        prop_assert_eq!(bench.comes().to, Vec::<String>::new());
    }
}
