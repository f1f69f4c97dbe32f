#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::rc::Rc;

use proptest::prelude::*;

use super::super::budget::ByteBudget;
use super::super::digest::digest;
use super::super::operation::{Answer, Operation};
use super::super::state::ShortfallKind;
use super::super::test_support::session::Session;
use super::super::test_support::{Disk, EVERY_LSTAT, Fault, Files, Lstat, Tally, config, owned};
use super::*;

#[path = "compose_tests/operations.rs"]
mod operations;
#[path = "compose_tests/options.rs"]
mod options;

/// A host with one session in `/w/p`, whose root it is unless a test says otherwise.
struct Host {
    files: Files,
    config: Config,
    memory: RefCell<Memory>,
    cwd: &'static str,
    visible: Vec<Source>,
    authority: Authority,
    pending: Option<Source>,
}

impl Host {
    fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut disk = Disk::with_files(files);
        disk.directory("/w/p/.git");
        Self {
            files: Files::new(disk),
            config: config(),
            memory: RefCell::default(),
            cwd: "/w/p",
            visible: vec![],
            authority: Authority::default(),
            pending: None,
        }
    }

    /// A host whose session has heard of these files.
    fn told<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut host = Self::new(files);
        host.step();
        host.files.tally();
        host
    }

    fn with_budget(mut self, bytes: f64) -> Self {
        self.config.budget = ByteBudget::new(bytes, bytes.to_string());
        self
    }

    fn in_directory(mut self, cwd: &'static str) -> Self {
        self.cwd = cwd;
        self
    }

    fn on(&self, change: impl FnOnce(&mut Disk)) {
        change(&mut self.files.disk.borrow_mut());
    }

    fn compose(&self, touched: &[&str]) -> Option<Message> {
        self.try_compose(touched).unwrap()
    }

    fn try_compose(&self, touched: &[&str]) -> Result<Option<Message>, UnprobedMarker> {
        let request = Request {
            cwd: self.cwd.to_owned(),
            authority: self.authority.clone(),
            pending: self.pending.clone(),
            touched: touched.iter().map(|path| (*path).to_owned()).collect(),
        };
        self.files.run(compose(&self.files, &self.config, &self.memory, request))
    }

    /// A step is entered, with what has to be said.
    fn step(&mut self) -> Vec<String> {
        let message = self.compose(&[]);
        self.pending = None;
        let said = spell(message.as_ref());
        self.visible.extend(message.map(|message| message.source));
        self.see();
        said
    }

    /// Files are touched; what has to be said waits.
    fn touch(&mut self, touched: &[&str]) -> Vec<String> {
        let message = self.compose(touched);
        let said = spell(message.as_ref());
        self.pending = message.map(|message| message.source);
        said
    }

    fn compact(&mut self, messages: usize) {
        self.visible.drain(..messages);
        self.see();
    }

    fn see(&mut self) {
        self.authority = self.visible.clone().into();
    }

    /// A new session of the same provider starts, in the same directory.
    fn start_another(&mut self) {
        let landmarks = Rc::clone(&self.memory.borrow().landmarks);
        self.memory = RefCell::new(Memory::beside(landmarks));
        self.visible.clear();
        self.pending = None;
        self.see();
        self.files.tally();
    }

    /// Another process goes on with the session.
    fn resume(&mut self) {
        self.memory.take();
    }
}

/// `baseline`, if it is one, and every change: action, directory and name.
fn spell(message: Option<&Message>) -> Vec<String> {
    let Some(message) = message else { return vec![] };
    let changes = message.source.changes.iter().map(|change| {
        let (directory, name) = change.scope.parts();
        format!("{} {directory}/{name}", change.action.as_str())
    });
    message.source.baseline.iter().map(|_| "baseline".to_owned()).chain(changes).collect()
}

fn text(message: &Message) -> Vec<&str> {
    message.blocks.iter().map(|block| block.as_str().unwrap()).collect()
}

const NOTHING: [&str; 0] = [];

// The baseline.

#[test]
fn the_first_composition_is_the_chain_from_the_home_down_to_the_session_directory() {
    let host = Host::new([
        ("/h/AGENTS.md", "home"),
        ("/h/AGENTS.local.md", "no overlay there"),
        ("/w/AGENTS.md", "above the root"),
        ("/w/p/AGENTS.md", "root"),
        ("/w/p/CLAUDE.local.md", "overlay"),
        ("/w/p/a/CLAUDE.md", "a"),
        ("/w/p/a/b/AGENTS.md", "below"),
    ])
    .in_directory("/w/p/a");
    let message = host.compose(&[]).unwrap();
    assert_eq!(
        text(&message),
        ["<system-reminder>\n\
          The following workspace instructions may be relevant to your work. Use them as guidance when applicable. \
          More specific instructions take precedence over broader ones. They do not override system, developer, or \
          direct user instructions.\n\n\
          Instructions from: ~/.dsh/AGENTS.md\n\nhome\n\n\
          Instructions from: AGENTS.md\n\nroot\n\n\
          Instructions from: CLAUDE.local.md\n\noverlay\n\n\
          Instructions from: a/CLAUDE.md\n\na\n\
          </system-reminder>"]
    );
    let identity = host.config.baseline_identity("/w/p/a", "/w/p");
    assert_eq!(message.source.baseline, Some(BaselineMark { identity: Some(identity) }));
    let changes: Vec<_> = message.source.changes.iter().map(|change| (&*change.path, change.digest.clone())).collect();
    let sha = |text: &str| Some(digest(&text.into()).full);
    let expected = [
        ("~/.dsh/AGENTS.md", sha("home")),
        ("AGENTS.md", sha("root")),
        ("CLAUDE.local.md", sha("overlay")),
        ("a/CLAUDE.md", sha("a")),
    ];
    assert_eq!(changes, expected);
    assert_eq!(spell(Some(&message))[1], "set user-global/AGENTS.md");
}

#[test]
fn without_any_file_there_is_nothing_to_say() {
    assert_eq!(Host::new([]).step(), NOTHING);
}

#[test]
fn a_file_in_a_project_that_had_none_becomes_a_baseline() {
    let mut host = Host::told([]);
    assert_eq!(host.step(), NOTHING);
    host.on(|disk| disk.file("/w/p/AGENTS.md", "new"));
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn a_budget_that_is_off_asks_nothing() {
    for limit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let host = Host::new([("/w/p/AGENTS.md", "root")]).with_budget(limit);
        assert_eq!(host.compose(&["/w/p/a/f"]), None);
        assert_eq!(host.files.tally(), Tally::default(), "{limit}");
    }
}

#[test]
fn a_baseline_that_waits_is_composed_again_until_it_is_seen() {
    let mut host = Host::new([("/w/p/AGENTS.md", "root")]);
    for _ in 0..3 {
        assert_eq!(host.touch(&[]), ["baseline", "set ./AGENTS.md"]);
    }
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn a_claimed_batch_is_seen_behind_what_is_visible() {
    let mut host = Host::new([("/w/p/AGENTS.md", "root")]);
    host.touch(&[]);
    let claimed = host.pending.take().unwrap();
    host.authority = host.authority.with(vec![claimed]);
    assert_eq!(host.compose(&[]), None);
}

#[test]
fn duplicates_and_what_the_budget_drops_stay_out_until_the_next_complete_composition() {
    // Published behaviour: a duplicate that diverges is not told while its baseline stands.
    let mut host = Host::told([("/w/p/AGENTS.md", "x"), ("/w/p/CLAUDE.md", "x\n")]);
    host.on(|disk| disk.file("/w/p/CLAUDE.md", "diverged"));
    assert_eq!(host.step(), NOTHING);
    host.compact(1);
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md", "set ./CLAUDE.md"]);

    let long = "home ".repeat(100);
    let mut host = Host::new([("/h/AGENTS.md", long.as_str()), ("/w/p/AGENTS.md", "root")]).with_budget(600.0);
    let message = host.compose(&[]).unwrap();
    assert!(text(&message)[0].contains("Workspace instruction budget 600 bytes: omitted ~/.dsh/AGENTS.md\n"));
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md"]);
    host.on(|disk| disk.file("/h/AGENTS.md", "short"));
    assert_eq!(host.step(), NOTHING);
    host.compact(1);
    assert_eq!(host.step(), ["baseline", "set user-global/AGENTS.md", "set ./AGENTS.md"]);
}

#[test]
fn a_baseline_without_room_for_a_byte_of_content_commits_nothing_and_is_said_once() {
    let mut host = Host::new([("/w/p/AGENTS.md", "root")]).with_budget(20.0);
    let message = host.compose(&[]).unwrap();
    assert_eq!(text(&message), ["Workspace instructio"]);
    assert_eq!(host.step(), ["baseline"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn what_cannot_be_read_is_left_out_of_the_baseline_and_told_once_it_can() {
    for fault in [Fault::PROBE, Fault::READ, Fault::ALL] {
        let mut host = Host::new([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root")]);
        host.on(|disk| disk.fail("/h/AGENTS.md", fault));
        assert_eq!(host.step(), ["baseline", "set ./AGENTS.md"], "{fault:?}");
        assert_eq!(host.step(), NOTHING, "{fault:?}");
        host.on(Disk::heal_all);
        assert_eq!(host.step(), ["set user-global/AGENTS.md"], "{fault:?}");
    }
}

// Compaction and resume.

#[test]
fn compaction_of_the_baseline_calls_for_a_new_one_even_though_no_version_has_changed() {
    let mut host = Host::told([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root")]);
    host.compact(1);
    assert_eq!(host.step(), ["baseline", "set user-global/AGENTS.md", "set ./AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn compaction_of_a_nested_scope_arms_it_for_the_next_touch() {
    let mut host = Host::told([("/w/p/a/AGENTS.md", "a")]);
    host.touch(&["/w/p/a/f"]);
    assert_eq!(host.step(), ["set a/AGENTS.md"]);
    host.compact(1);
    assert_eq!(host.step(), NOTHING);
    assert_eq!(host.touch(&["/w/p/a/f"]), ["set a/AGENTS.md"]);
}

#[test]
fn a_compacted_baseline_leaves_what_a_later_message_said() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")]);
    host.touch(&["/w/p/a/f"]);
    host.step();
    host.compact(1);
    host.on(|disk| disk.file("/w/p/a/AGENTS.md", "edited"));
    let message = host.compose(&[]).unwrap();
    assert_eq!(spell(Some(&message)), ["baseline", "set ./AGENTS.md", "replace a/AGENTS.md"]);
    assert_eq!(message.blocks.len(), 2);
}

#[test]
fn a_resumed_session_keeps_a_compatible_baseline_and_hears_what_has_changed_meanwhile() {
    let mut host = Host::told([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root"), ("/w/p/CLAUDE.md", "c")]);
    host.resume();
    assert_eq!(host.step(), NOTHING);
    host.resume();
    host.on(|disk| {
        disk.remove("/h/AGENTS.md");
        disk.file("/w/p/AGENTS.md", "edited");
        disk.file("/w/p/AGENTS.local.md", "new");
    });
    assert_eq!(host.step(), ["remove user-global/AGENTS.md", "replace ./AGENTS.md", "set ./AGENTS.local.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn a_resumed_session_is_told_to_forget_what_a_complete_rendering_would_no_longer_retain() {
    let mut host = Host::new([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root")]).with_budget(700.0);
    host.step();
    host.on(|disk| disk.file("/w/p/AGENTS.md", "long ".repeat(80)));
    // While the session lives, the edit is all there is to say.
    assert_eq!(spell(host.compose(&[]).as_ref()), ["replace ./AGENTS.md"]);
    host.resume();
    // The home's file has to make room; its removal, being the broader, waits for a message with room for it.
    assert_eq!(host.step(), ["replace ./AGENTS.md"]);
    assert_eq!(host.step(), ["remove user-global/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn an_incompatible_baseline_is_superseded_by_a_complete_one() {
    type Changes = fn(&mut Host);
    let table: [(&str, Changes); 7] = [
        ("budget", |host| host.config.budget = ByteBudget::new(60_000.0, "60000")),
        ("source cap", |host| host.config.max_source_spelling = "99".to_owned()),
        ("markers", |host| host.config.project_root_markers.push("go.mod".to_owned())),
        ("candidates", |host| host.config.instruction_file_candidates.reverse()),
        ("overlays", |host| host.config.local_instruction_file_candidates.clear()),
        ("no identity", |host| host.visible[0].baseline = Some(BaselineMark { identity: None })),
        ("root", |host| {
            host.on(|disk| {
                disk.remove("/w/p/.git");
                disk.directory("/w/.git");
            });
        }),
    ];
    for (what, changes) in table {
        let mut host = Host::told([("/h/AGENTS.md", "home")]);
        host.resume();
        changes(&mut host);
        host.see();
        let message = host.compose(&[]).unwrap();
        let supersedes =
            "This complete workspace instruction baseline replaces all earlier workspace instruction baselines. The";
        assert!(text(&message)[0].contains(supersedes), "{what}");
        assert_eq!(host.step(), ["baseline", "set user-global/AGENTS.md"], "{what}");
        assert_eq!(host.step(), NOTHING, "{what}");
    }
}

#[test]
fn a_superseding_baseline_removes_what_its_predecessor_had_and_it_has_not() {
    let mut host = Host::told([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root")]);
    host.resume();
    host.config.max_source_spelling = "99".to_owned();
    host.on(|disk| disk.remove("/h/AGENTS.md"));
    assert_eq!(host.step(), ["baseline", "remove user-global/AGENTS.md", "set ./AGENTS.md"]);
    host.resume();
    host.config.max_source_spelling = "98".to_owned();
    host.on(|disk| disk.remove("/w/p/AGENTS.md"));
    let message = host.compose(&[]).unwrap();
    assert!(text(&message)[0].ends_with("No workspace instructions are currently active.\n</system-reminder>"));
    assert_eq!(host.step(), ["baseline", "remove ./AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn what_a_superseding_baseline_takes_back_is_said_again_however_often_it_is_composed() {
    // The predecessor had a nested scope in the same message; the second composition knows its file already.
    let mut host = Host::new([("/h/AGENTS.md", "home"), ("/w/p/a/AGENTS.md", "a")]);
    host.touch(&["a/f"]);
    assert_eq!(host.step(), ["baseline", "set user-global/AGENTS.md", "set a/AGENTS.md"]);
    host.resume();
    host.config.max_source_spelling = "99".to_owned();
    for _ in 0..3 {
        let message = host.compose(&["f"]).unwrap();
        let said = ["baseline", "remove a/AGENTS.md", "set user-global/AGENTS.md", "set a/AGENTS.md"];
        assert_eq!(spell(Some(&message)), said);
        assert!(text(&message)[1].contains("Additional instructions from: a/AGENTS.md\n"));
        host.pending = Some(message.source);
    }
    host.step();
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn a_marker_that_appears_in_a_running_session_moves_the_root_and_supersedes_the_baseline() {
    let mut host = Host::new([("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")]).in_directory("/w/p/a");
    assert_eq!(host.step(), ["baseline", "set ./AGENTS.md", "set a/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
    host.on(|disk| disk.directory("/w/p/a/.git"));
    let message = host.compose(&[]).unwrap();
    assert!(text(&message)[0].contains("Instructions from: AGENTS.md\n\na\n"));
    assert_eq!(host.step()[..3], ["baseline", "remove a/AGENTS.md", "set ./AGENTS.md"]);
}

#[test]
fn a_marker_that_was_in_doubt_is_followed_again_at_every_step() {
    let mut host = Host::new([("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")]).in_directory("/w/p/a");
    host.on(|disk| disk.link("/w/p/a/.git", "nowhere"));
    host.step();
    assert_eq!(host.step(), NOTHING);
    host.on(|disk| disk.file("/w/p/a/nowhere", ""));
    assert_eq!(host.step()[..3], ["baseline", "remove a/AGENTS.md", "set ./AGENTS.md"]);
}

// Touches.

#[test]
fn a_touch_tells_of_every_directory_that_it_is_reached_through() {
    let mut host = Host::told([("/w/p/a/AGENTS.md", "a"), ("/w/p/a/b/CLAUDE.md", "b"), ("/w/p/a/b/c/AGENTS.md", "c")]);
    assert_eq!(host.touch(&["/w/p/a/b/f"]), ["set a/AGENTS.md", "set a/b/CLAUDE.md"]);
    let message = host.compose(&["a/b/f"]).unwrap();
    assert_eq!(
        text(&message),
        ["<system-reminder>\n\
          Additional instructions from: a/AGENTS.md\n\n\
          These instructions apply to work under `a`. Use them as guidance when relevant; more specific instructions \
          take precedence. They do not override system, developer, or direct user instructions.\n\na\n\n\
          Additional instructions from: a/b/CLAUDE.md\n\n\
          These instructions apply to work under `a/b`. Use them as guidance when relevant; more specific instructions \
          take precedence. They do not override system, developer, or direct user instructions.\n\nb\n\
          </system-reminder>"]
    );
    host.step();
    assert_eq!(host.touch(&["/w/p/a/b/f"]), NOTHING);
    assert_eq!(host.touch(&["a/b/c/f"]), ["set a/b/c/AGENTS.md"]);
}

#[test]
fn a_touch_outside_the_session_directory_or_below_two_dots_and_more_tells_nothing() {
    let files =
        [("/w/AGENTS.md", "w"), ("/w/q/AGENTS.md", "q"), ("/w/p/b/AGENTS.md", "b"), ("/w/p/a/..foo/AGENTS.md", "dots")];
    let mut host = Host::new(files).in_directory("/w/p/a");
    for touched in ["/w/f", "/w/q/f", "/w/p/b/f", "../b/f", "..foo/f", "/w/p/a/f", "f", ""] {
        assert_eq!(host.touch(&[touched]), NOTHING, "{touched}");
    }
}

#[test]
fn a_touch_looks_at_every_known_scope_again() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")]);
    host.touch(&["a/f"]);
    host.step();
    host.on(|disk| {
        disk.file("/w/p/AGENTS.md", "edited");
        disk.remove("/w/p/a/AGENTS.md");
        disk.file("/w/p/a/CLAUDE.md", "new");
    });
    assert_eq!(host.touch(&["elsewhere/f"]), ["replace ./AGENTS.md", "remove a/AGENTS.md", "set a/CLAUDE.md"]);
}

#[test]
fn every_pre_step_looks_at_every_known_scope_touched_or_not() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")]);
    host.touch(&["a/f"]);
    host.step();
    host.on(|disk| disk.file("/w/p/a/AGENTS.md", "edited"));
    assert_eq!(host.step(), ["replace a/AGENTS.md"]);
    host.on(|disk| disk.remove("/w/p/a"));
    assert_eq!(host.step(), ["remove a/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
    host.on(|disk| disk.file("/w/p/a/AGENTS.md", "edited"));
    assert_eq!(host.step(), ["set a/AGENTS.md"]);
}

#[test]
fn the_scopes_of_a_waiting_message_are_reconciled_again_and_it_gathers_what_comes() {
    let mut host = Host::told([("/w/p/a/AGENTS.md", "a"), ("/w/p/b/AGENTS.md", "b"), ("/w/p/c/AGENTS.md", "c")]);
    assert_eq!(host.touch(&["a/f"]), ["set a/AGENTS.md"]);
    assert_eq!(host.touch(&["b/f"]), ["set a/AGENTS.md", "set b/AGENTS.md"]);
    host.on(|disk| disk.remove("/w/p/a/AGENTS.md"));
    // What the model has not seen needs no removal.
    assert_eq!(host.touch(&["c/f"]), ["set b/AGENTS.md", "set c/AGENTS.md"]);
    host.on(|disk| disk.file("/w/p/b/AGENTS.md", "edited"));
    let message = host.compose(&[]).unwrap();
    assert!(text(&message)[0].contains("\n\nedited\n"));
    assert_eq!(host.step(), ["set b/AGENTS.md", "set c/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn a_waiting_message_is_composed_again_even_when_everything_else_stands() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root"), ("/w/p/a/AGENTS.md", "a")]);
    host.step();
    host.step();
    let change = Change { scope: ScopeKey::new("a", "AGENTS.md"), ..host.visible[0].changes[0].clone() };
    host.pending = Some(Source { baseline: None, changes: vec![change] });
    assert_eq!(host.step(), ["set a/AGENTS.md"]);
}

#[test]
fn a_waiting_message_brings_in_its_very_scopes_and_not_their_siblings() {
    let mut host = Host::told([("/w/p/a/AGENTS.md", "a")]);
    host.touch(&["a/f"]);
    host.on(|disk| disk.file("/w/p/a/CLAUDE.md", "sibling"));
    assert_eq!(spell(host.compose(&[]).as_ref()), ["set a/AGENTS.md"]);
    assert_eq!(host.touch(&["a/f"]), ["set a/AGENTS.md", "set a/CLAUDE.md"]);
}

/// Each touch by itself, each seeing the message of the one before as the one that waits.
fn one_by_one(host: &mut Host, touched: &[&str]) -> Option<Message> {
    let mut message = None;
    for path in touched {
        message = host.compose(&[path]);
        host.pending = message.as_ref().map(|message| message.source.clone());
    }
    message
}

#[test]
fn a_batch_of_touches_comes_to_what_they_come_to_one_after_another() {
    let files = || {
        let long = "long ".repeat(40);
        let mut files: Vec<(String, String)> = vec![("/h/AGENTS.md".to_owned(), "home".to_owned())];
        for directory in ["a", "b", "c", "a/d"] {
            files.push((format!("/w/p/{directory}/AGENTS.md"), format!("{directory} {long}")));
            files.push((format!("/w/p/{directory}/CLAUDE.local.md"), directory.to_owned()));
        }
        files
    };
    let batches: [&[&str]; 6] = [
        &["a/f", "b/f", "c/f"],
        &["c/f", "b/f", "a/f"],
        &["a/d/f", "a/f", "b/f"],
        &["b/f", "b/g", "nothing/f", "b/f"],
        &["nothing/f", "../f"],
        &["a/f", "a/d/f", "c/f", "b/f"],
    ];
    // What the session has heard before: nothing, a baseline, or one with a touch in the same message that
    // is now to be superseded, of names that are no longer configured.
    let before: [fn(&mut Host); 3] = [
        |_| {},
        |host| {
            host.step();
        },
        |host| {
            host.touch(&["a/d/f"]);
            host.step();
            host.resume();
            host.config.local_instruction_file_candidates.clear();
        },
    ];
    for budget in [65_536.0, 1200.0, 900.0, 700.0, 520.0, 300.0, 250.0, 20.0] {
        for (index, before) in before.iter().enumerate() {
            for touched in batches {
                let host = || {
                    let files = files();
                    let files = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
                    let mut host = Host::new(files).with_budget(budget);
                    before(&mut host);
                    host
                };
                let (mut alone, together) = (host(), host());
                assert_eq!(together.compose(touched), one_by_one(&mut alone, touched), "{budget} {index} {touched:?}");
            }
        }
    }
}

#[test]
fn under_budget_pressure_a_later_touch_drops_what_an_earlier_one_found_and_a_still_later_one_finds_it_again() {
    let long = "long ".repeat(40);
    let files = ["a", "b"].map(|directory| (format!("/w/p/{directory}/AGENTS.md"), format!("{directory} {long}")));
    let files = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let mut host = Host::new(files).with_budget(600.0);
    assert_eq!(host.touch(&["a/f"]), ["set a/AGENTS.md"]);
    assert_eq!(host.touch(&["b/f"]), ["set b/AGENTS.md"]);
    assert_eq!(host.step(), ["set b/AGENTS.md"]);
    assert_eq!(host.touch(&["a/f"]), ["set a/AGENTS.md"]);
}

#[test]
fn a_batch_without_room_for_a_byte_of_content_is_not_said_and_a_later_touch_tries_again() {
    let mut host = Host::told([("/w/p/a/AGENTS.md", "a")]).with_budget(100.0);
    assert_eq!(host.touch(&["a/f"]), NOTHING);
    assert_eq!(host.touch(&["a/f"]), NOTHING);
    host.on(|disk| disk.file("/w/p/a/AGENTS.md", ""));
    assert_eq!(host.touch(&["a/f"]), NOTHING);
    let mut host = host.with_budget(400.0);
    assert_eq!(host.touch(&["a/f"]), ["set a/AGENTS.md"]);
}

#[test]
fn a_truncated_file_is_committed_in_full_and_not_told_again() {
    let long = "long ".repeat(200);
    let mut host = Host::told([("/w/p/a/AGENTS.md", long.as_str())]).with_budget(500.0);
    let message = host.compose(&["a/f"]).unwrap();
    assert!(text(&message)[0].contains("truncated a/AGENTS.md from 1000 to "));
    assert_eq!(message.source.changes[0].digest, Some(digest(&long.as_str().into()).full));
    host.touch(&["a/f"]);
    host.step();
    assert_eq!(host.touch(&["a/f"]), NOTHING);
}

// Faults.

#[test]
fn unknown_never_removes_and_once_it_is_known_again_the_truth_is_told() {
    for lstat in EVERY_LSTAT {
        for fault in [Fault::ALL, Fault::PROBE] {
            let mut host = Host::new([("/w/p/AGENTS.md", "root"), ("/w/p/CLAUDE.md", "c"), ("/w/p/a/AGENTS.md", "a")]);
            host.files.lstat.set(lstat);
            host.step();
            host.touch(&["a/f"]);
            host.step();
            host.on(|disk| {
                disk.remove("/w/p/AGENTS.md");
                disk.fail("/w/p/AGENTS.md", fault);
                disk.file("/w/p/CLAUDE.md", "edited");
                disk.file("/w/p/a", "no directory any more");
            });
            assert_eq!(host.step(), NOTHING, "{lstat:?} {fault:?}");
            assert_eq!(host.touch(&["a/f"]), NOTHING, "{lstat:?} {fault:?}");
            host.on(|disk| {
                disk.heal_all();
                disk.directory("/w/p/a");
            });
            let truth = ["remove ./AGENTS.md", "replace ./CLAUDE.md", "remove a/AGENTS.md"];
            assert_eq!(host.step(), truth, "{lstat:?} {fault:?}");
        }
    }
}

#[test]
fn no_removal_is_concluded_from_a_peek() {
    // A provider whose lstat was right, and from now on sees nothing.
    for file in ["/h/AGENTS.md", "/w/p/AGENTS.md", "/w/p/AGENTS.local.md", "/w/p/a/AGENTS.local.md"] {
        for lstat in [Lstat::Blind, Lstat::Failing, Lstat::OtherVersions] {
            let mut host = Host::told([("/w/p/CLAUDE.md", "c"), (file, "x")]);
            host.touch(&["a/f"]);
            host.step();
            assert_eq!(host.step(), NOTHING);
            host.files.lstat.set(lstat);
            for _ in 0..3 {
                assert_eq!(host.step(), NOTHING, "{file} {lstat:?}");
                assert_eq!(host.touch(&["a/f"]), NOTHING, "{file} {lstat:?}");
            }
        }
    }
}

#[test]
fn of_what_the_model_sees_no_peek_decides_even_before_the_root_is_known() {
    for file in ["/h/AGENTS.md", "/w/p/AGENTS.md", "/w/p/AGENTS.local.md", "/w/p/a/CLAUDE.local.md"] {
        let mut host = Host::new([(file, "x"), ("/w/p/CLAUDE.md", "c")]);
        host.touch(&["a/f"]);
        host.step();
        host.resume();
        host.files.lstat.set(Lstat::BlindToFiles);
        for _ in 0..3 {
            assert_eq!(host.step(), NOTHING, "{file}");
        }
    }
}

#[test]
fn peeks_that_deny_what_probes_find_are_given_up() {
    for lstat in [Lstat::Blind, Lstat::Failing, Lstat::OtherVersions] {
        let mut host = Host::told([("/w/p/AGENTS.md", "root")]);
        host.step();
        host.files.lstat.set(lstat);
        host.step();
        host.step();
        host.files.tally();
        host.step();
        assert_eq!(host.files.tally().peeks, 0, "{lstat:?}");
    }
}

#[test]
fn a_file_that_grows_beyond_the_cap_keeps_its_last_state() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root")]);
    host.config.max_source_bytes = 10.0;
    for reported in [Some(11.0), None] {
        host.on(|disk| {
            disk.file("/w/p/AGENTS.md", "0123456789a");
            disk.report_size("/w/p/AGENTS.md", reported);
        });
        assert_eq!(host.step(), NOTHING, "{reported:?}");
    }
    host.on(|disk| disk.file("/w/p/AGENTS.md", "0123456789"));
    assert_eq!(host.step(), ["replace ./AGENTS.md"]);
}

#[test]
fn a_size_that_was_wrong_is_not_held_against_the_same_version() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root")]);
    host.on(|disk| {
        disk.file("/w/p/AGENTS.md", "edited");
        disk.report_size("/w/p/AGENTS.md", Some(1e9));
    });
    assert_eq!(host.step(), NOTHING);
    host.on(Disk::heal_all);
    assert_eq!(host.step(), ["replace ./AGENTS.md"]);
}

// What else differs from what one would think.

#[test]
fn a_directory_that_spells_the_reserved_scope_shares_it_with_the_home() {
    // Rendered, it is itself; reconciled, it is the home: the two never come to rest, and nothing is settled.
    let mut host = Host::new([("/h/AGENTS.md", "home"), ("/w/p/user-global/AGENTS.md", "project")])
        .in_directory("/w/p/user-global");
    let message = host.compose(&[]).unwrap();
    assert!(text(&message)[0].contains("Instructions from: user-global/AGENTS.md\n\nproject"));
    let scopes: Vec<&str> = message.source.changes.iter().map(|change| change.scope.as_str()).collect();
    assert_eq!(scopes, ["user-global\0AGENTS.md"]);
    host.step();
    assert_eq!(host.step(), ["replace user-global/AGENTS.md"]);
    assert!(host.memory.borrow().settled.is_none());
}

#[test]
fn a_directory_that_is_displayed_as_the_home_shares_its_scope() {
    for (directory, display) in [("/w/p/~/.dsh", "~/.dsh"), ("/w/p/$DSH_HOME", "$DSH_HOME")] {
        let file = format!("{directory}/AGENTS.md");
        let mut host = Host::new([("/h/AGENTS.md", "home"), (file.as_str(), "project")]).in_directory(directory);
        host.config.dsh_home_display = display.to_owned();
        let message = host.compose(&[]).unwrap();
        assert_eq!(text(&message)[0].matches(&format!("Instructions from: {display}/AGENTS.md\n")).count(), 2);
        let digests: Vec<_> =
            message.source.changes.iter().map(|change| (change.scope.as_str(), change.digest.clone())).collect();
        // One scope for the two, and the later one's content.
        assert_eq!(digests, [("user-global\0AGENTS.md", Some(digest(&"project".into()).full))]);
    }
}

#[test]
fn a_home_that_is_the_project_root_is_told_once() {
    let mut host = Host::new([("/w/p/AGENTS.md", "both")]);
    host.config.dsh_home = "/w/p".to_owned();
    assert_eq!(host.step(), ["baseline", "set user-global/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
    host.on(|disk| disk.file("/w/p/AGENTS.md", "edited"));
    assert_eq!(host.step(), ["replace user-global/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn a_file_that_two_scopes_reach_is_the_business_of_one_and_its_absence_of_both() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root"), ("/w/p/CLAUDE.md", "other")]);
    // The plugin is mounted anew, and the home has become the project root.
    host.config.dsh_home = "/w/p".to_owned();
    host.memory = RefCell::default();
    assert_eq!(host.step(), ["set user-global/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
    host.files.tally();
    assert_eq!(host.step(), NOTHING);
    assert_eq!(host.files.rounds().len(), 1, "what is settled is settled here, too");
    host.on(|disk| disk.file("/w/p/AGENTS.md", "edited"));
    assert_eq!(host.step(), ["replace user-global/AGENTS.md"]);
    // Neither scope concludes anything while nothing is known, nor loses its siblings' place.
    host.on(|disk| {
        disk.fail("/w/p/AGENTS.md", Fault::ALL);
        disk.file("/w/p/CLAUDE.md", "edited");
    });
    assert_eq!(host.step(), NOTHING);
    host.on(|disk| disk.heal("/w/p/AGENTS.md"));
    assert_eq!(host.step(), ["replace ./CLAUDE.md"]);
    host.on(|disk| disk.remove("/w/p/AGENTS.md"));
    assert_eq!(host.step(), ["remove user-global/AGENTS.md", "remove ./AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

#[test]
fn a_candidate_that_is_no_longer_configured_is_still_reconciled_where_the_model_sees_it() {
    let mut host = Host::told([("/w/p/AGENTS.md", "root")]);
    let seen = host.visible[0].changes[0].clone();
    let old = Change { scope: ScopeKey::new("a", "OLD.md"), path: "a/OLD.md".into(), ..seen };
    host.visible[0].changes.push(old);
    host.see();
    host.on(|disk| disk.file("/w/p/a/AGENTS.md", "a"));
    // Its directory is looked at with today's names.
    assert_eq!(host.step(), ["set a/AGENTS.md"]);
    assert_eq!(host.step(), NOTHING);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The rules that every message is held against are in `test_support/session.rs`; `fuzz/` plays on.
    #[test]
    fn what_is_remembered_and_how_the_disk_is_asked_never_shows_and_no_message_breaks_a_rule(
        world: [u8; 3],
        actions in prop::collection::vec(any::<[u8; 3]>(), 0..40),
    ) {
        Session::play(world, &actions);
    }
}
