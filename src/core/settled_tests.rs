#![allow(clippy::unwrap_used)]

use super::super::operation::Bounds;
use super::super::path::PathStyle::Posix;
use super::super::state::{Action, Change, PeekTrust};
use super::super::test_support::{Disk, Fault, Files, Lstat, config, owned};
use super::*;

const CWD: &str = "/w/p/a";

/// One candidate in each directory keeps the tables short.
fn options() -> Config {
    let mut config = config();
    config.instruction_file_candidates = vec!["AGENTS.md".to_owned()];
    config.local_instruction_file_candidates = vec!["LOCAL.md".to_owned()];
    config
}

fn groups() -> [Group; 2] {
    ["/w/p", "/w/p/a"].map(|directory| options().group_at("/w/p", directory))
}

fn walk() -> RootWalk {
    let (marker, empty) = (Some("/w/p/.git".into()), vec!["/w/p/a/.git".into()]);
    RootWalk { root: "/w/p".to_owned(), marker, empty, conclusive: true }
}

/// The root holds a file and no overlay; the session's directory a link to a file, and a directory in an overlay's place.
fn disk() -> Disk {
    let mut disk = Disk::with_files([("/w/p/AGENTS.md", "root"), ("/w/p/behind", "linked")]);
    disk.directory("/w/p/.git");
    disk.link("/w/p/a/AGENTS.md", "../behind");
    disk.directory("/w/p/a/LOCAL.md");
    disk
}

fn seen(scope: &ScopeKey, digest: &str) -> Change {
    Change { action: Action::Set, scope: scope.clone(), path: "any".into(), digest: Some(digest.into()) }
}

/// The model sees what the root's file holds.
fn visible() -> Visible {
    let mut visible = Visible::default();
    visible.apply(&[seen(&ScopeKey::new(".", "AGENTS.md"), "d1")]);
    visible
}

/// Both groups, settled as `files` shows them.
fn settled(files: &Files, excluded: fn(&ScopeKey) -> bool) -> Settled {
    let survey = Survey::new(files, Posix, PeekTrust::Proven);
    let paths: Vec<_> =
        groups().iter().flat_map(|group| &group.candidates).map(|candidate| candidate.path.clone()).collect();
    files.run(survey.peek(paths.clone()));
    files.run(survey.probe(paths));
    let mut settled = Settled::new(CWD.to_owned(), Some("identity".to_owned()), walk());
    for group in groups() {
        settled.add(&group, &survey, &visible(), excluded);
    }
    files.tally();
    settled
}

const NONE: fn(&ScopeKey) -> bool = |_| false;

/// Whether the root's group and the session directory's still stand; `None` when nothing does.
fn standing(files: &Files, settled: Settled) -> Option<[bool; 2]> {
    let survey = Survey::new(files, Posix, PeekTrust::Proven);
    let still = files.run(settled.still_stands(&survey, CWD, Some(Some("identity"))))?;
    Some(groups().map(|group| still.covers(&group, &visible())))
}

fn standing_after(happens: impl FnOnce(&mut Disk)) -> Option<[bool; 2]> {
    let files = Files::new(disk());
    let settled = settled(&files, NONE);
    happens(&mut files.disk.borrow_mut());
    standing(&files, settled)
}

#[test]
fn an_unchanged_disk_stands_and_one_batch_tells() {
    let files = Files::new(disk());
    let settled = settled(&files, NONE);
    assert_eq!(standing(&files, settled), Some([true, true]));
    let [mut operations] = <[Vec<String>; 1]>::try_from(files.rounds()).unwrap();
    operations.sort();
    // Only the marker and what is behind a link take a resolve and a stat.
    let expected = [
        "peek /w/p/AGENTS.md",
        "peek /w/p/LOCAL.md",
        "peek /w/p/a/.git",
        "peek /w/p/a/LOCAL.md",
        "probe /w/p/.git",
        "probe /w/p/a/AGENTS.md",
    ];
    assert_eq!(operations, expected);
}

#[test]
fn each_kind_of_disagreement_reopens_just_its_group() {
    type Happens = fn(&mut Disk);
    let table: [(&str, Happens, [bool; 2]); 24] = [
        ("a file is edited", |disk| disk.file("/w/p/AGENTS.md", "edited"), [false, true]),
        ("a file is rewritten as it was", |disk| disk.file("/w/p/AGENTS.md", "root"), [false, true]),
        ("a file is removed", |disk| disk.remove("/w/p/AGENTS.md"), [false, true]),
        ("a file becomes a directory", |disk| disk.directory("/w/p/AGENTS.md"), [false, true]),
        ("a file becomes a FIFO", |disk| disk.other("/w/p/AGENTS.md"), [false, true]),
        ("a file becomes a link", |disk| disk.link("/w/p/AGENTS.md", "behind"), [false, true]),
        ("a file cannot be peeked at", |disk| disk.fail("/w/p/AGENTS.md", Fault::PEEK), [false, true]),
        ("a file cannot be probed", |disk| disk.fail("/w/p/AGENTS.md", Fault::PROBE), [true, true]),
        ("a file appears", |disk| disk.file("/w/p/LOCAL.md", ""), [false, true]),
        ("a link appears", |disk| disk.link("/w/p/LOCAL.md", "nowhere"), [false, true]),
        ("a directory appears", |disk| disk.directory("/w/p/LOCAL.md"), [true, true]),
        ("a FIFO appears", |disk| disk.other("/w/p/LOCAL.md"), [true, true]),
        ("nothing cannot be peeked at", |disk| disk.fail("/w/p/LOCAL.md", Fault::PEEK), [false, true]),
        ("what is no file becomes one", |disk| disk.file("/w/p/a/LOCAL.md", ""), [true, false]),
        ("what is no file is gone", |disk| disk.remove("/w/p/a/LOCAL.md"), [true, true]),
        ("a link's target is edited", |disk| disk.file("/w/p/behind", "edited"), [true, false]),
        ("a link's target is gone", |disk| disk.remove("/w/p/behind"), [true, false]),
        ("a link's target becomes a directory", |disk| disk.directory("/w/p/behind"), [true, false]),
        ("a link leads elsewhere", |disk| disk.link("/w/p/a/AGENTS.md", "../AGENTS.md"), [true, false]),
        ("a link leads in a circle", |disk| disk.link("/w/p/a/AGENTS.md", "AGENTS.md"), [true, false]),
        ("a link cannot be probed", |disk| disk.fail("/w/p/a/AGENTS.md", Fault::PROBE), [true, false]),
        ("a link is relinked to the same", |disk| disk.link("/w/p/a/AGENTS.md", "/w/p/behind"), [true, true]),
        ("a directory is gone", |disk| disk.remove("/w/p/a"), [true, false]),
        ("something else is new", |disk| disk.file("/w/p/other", ""), [true, true]),
    ];
    for (what, happens, stands) in table {
        assert_eq!(standing_after(happens), Some(stands), "{what}");
    }
}

#[test]
fn a_link_that_leads_to_no_file_stands_until_it_leads_to_one() {
    type Happens = fn(&mut Disk);
    let table: [(Happens, bool); 4] = [
        (|_| {}, true),
        (|disk| disk.directory("/w/p/nowhere"), true),
        (|disk| disk.file("/w/p/nowhere", ""), false),
        (|disk| disk.fail("/w/p/LOCAL.md", Fault::PROBE), false),
    ];
    for (index, (happens, stands)) in table.into_iter().enumerate() {
        let mut disk = disk();
        disk.link("/w/p/LOCAL.md", "nowhere");
        let files = Files::new(disk);
        let settled = settled(&files, NONE);
        happens(&mut files.disk.borrow_mut());
        assert_eq!(standing(&files, settled), Some([stands, true]), "{index}");
    }
}

#[test]
fn nothing_stands_when_the_root_may_be_another_one() {
    type Happens = fn(&mut Disk);
    let table: [(&str, Happens, bool); 9] = [
        ("its marker is gone", |disk| disk.remove("/w/p/.git"), false),
        ("its marker cannot be probed", |disk| disk.fail("/w/p/.git", Fault::PROBE), false),
        ("its marker dangles", |disk| disk.link("/w/p/.git", "nowhere"), false),
        ("its marker is of another kind", |disk| disk.file("/w/p/.git", "gitdir: elsewhere"), true),
        ("a nearer marker appears", |disk| disk.file("/w/p/a/.git", ""), false),
        ("a nearer marker appears and dangles", |disk| disk.link("/w/p/a/.git", "nowhere"), false),
        ("a nearer marker cannot be peeked at", |disk| disk.fail("/w/p/a/.git", Fault::PEEK), false),
        ("a nearer marker cannot be probed", |disk| disk.fail("/w/p/a/.git", Fault::PROBE), true),
        ("a marker appears above", |disk| disk.directory("/w/.git"), true),
    ];
    for (what, happens, stands) in table {
        assert_eq!(standing_after(happens).is_some(), stands, "{what}");
    }
}

#[test]
fn without_a_marker_every_place_where_one_could_be_is_looked_at() {
    let files = Files::new(disk());
    let mut settled = settled(&files, NONE);
    settled.walk.marker = None;
    settled.walk.empty = ["/w/p/a/.hg", "/w/p/.hg", "/w/.hg", "/.hg"].map(Rc::from).to_vec();
    files.disk.borrow_mut().directory("/.hg");
    assert_eq!(standing(&files, settled), None);
}

#[test]
fn nothing_stands_in_another_directory_or_under_another_identity_and_nothing_is_asked() {
    let table = [
        (CWD, Some(Some("identity")), Some("identity"), true),
        ("/w/p", Some(Some("identity")), Some("identity"), false),
        (CWD, Some(Some("other")), Some("identity"), false),
        (CWD, Some(None), Some("identity"), false),
        (CWD, None, Some("identity"), false),
        // Settled without a baseline in sight.
        (CWD, None, None, true),
        (CWD, Some(None), None, false),
        (CWD, Some(Some("identity")), None, false),
    ];
    for (cwd, identity, before, stands) in table {
        let files = Files::new(disk());
        let mut settled = settled(&files, NONE);
        settled.identity = before.map(str::to_owned);
        let survey = Survey::new(&files, Posix, PeekTrust::Proven);
        let still = files.run(settled.still_stands(&survey, cwd, identity));
        assert_eq!(still.is_some(), stands, "{cwd} {identity:?} {before:?}");
        assert_eq!(files.tally().batches, usize::from(stands), "{cwd} {identity:?} {before:?}");
    }
}

#[test]
fn a_group_stands_only_for_the_same_candidates_and_a_model_that_sees_the_same_of_them() {
    let files = Files::new(disk());
    let settled = settled(&files, NONE);
    let [root, _] = groups();
    let (first, second) = (root.candidates[0].clone(), root.candidates[1].clone());
    let with = |changes: &[Change]| {
        let mut visible = visible();
        visible.apply(changes);
        visible
    };
    let same = |candidates: Vec<_>| Group { directory: ".".into(), candidates };
    let tombstone = Change { action: Action::Remove, digest: None, ..seen(&first.scope, "d1") };
    let moved = super::super::candidates::Candidate { path: "/elsewhere".into(), ..first.clone() };
    let renamed = super::super::candidates::Candidate { scope: ScopeKey::new(".", "B"), ..first.clone() };
    let table = [
        ("the same", root.clone(), visible(), true),
        ("news of another directory", root.clone(), with(&[seen(&ScopeKey::new("a", "AGENTS.md"), "d")]), true),
        ("another digest", root.clone(), with(&[seen(&first.scope, "d2")]), false),
        ("a tombstone", root.clone(), with(&[tombstone]), false),
        ("nothing seen", root.clone(), Visible::default(), false),
        ("one more seen", root.clone(), with(&[seen(&second.scope, "d3")]), false),
        ("one candidate less", same(vec![first.clone()]), visible(), false),
        ("another order", same(vec![second.clone(), first.clone()]), visible(), false),
        ("another path", same(vec![moved, second.clone()]), visible(), false),
        ("another scope", same(vec![renamed, second.clone()]), visible(), false),
        ("another directory", Group { directory: "b".into(), ..root.clone() }, visible(), false),
    ];
    for (what, group, visible, covered) in table {
        assert_eq!(settled.covers(&group, &visible), covered, "{what}");
    }
}

#[test]
fn what_stays_out_is_not_asked_about_and_stands_whatever_happens_to_it() {
    let files = Files::new(disk());
    let settled = settled(&files, |scope| scope.parts().1 == "AGENTS.md");
    files.disk.borrow_mut().file("/w/p/AGENTS.md", "edited");
    files.disk.borrow_mut().fail("/w/p/a/AGENTS.md", Fault::ALL);
    assert_eq!(standing(&files, settled), Some([true, true]));
    assert!(!files.rounds().concat().iter().any(|operation| operation.ends_with("AGENTS.md")));
}

#[test]
fn a_group_of_which_something_is_unknown_is_not_settled_and_no_longer_if_it_was() {
    let files = Files::new(disk());
    let mut settled = settled(&files, NONE);
    files.disk.borrow_mut().fail("/w/p/LOCAL.md", Fault::PROBE);
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    let [root, below] = groups();
    files.run(survey.probe(root.candidates.iter().chain(&below.candidates).map(|candidate| candidate.path.clone())));
    settled.add(&root, &survey, &visible(), NONE);
    assert!(!settled.covers(&root, &visible()));
    assert!(settled.covers(&below, &visible()));
}

#[test]
fn what_stood_before_is_inherited_and_settled_anew_where_it_was_surveyed() {
    let files = Files::new(disk());
    let before = settled(&files, NONE);
    files.disk.borrow_mut().file("/w/p/AGENTS.md", "edited");
    let mut after = Settled::new(CWD.to_owned(), Some("identity".to_owned()), walk());
    after.inherit(before);
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    let [root, _] = groups();
    files.run(survey.probe(root.candidates.iter().map(|candidate| candidate.path.clone())));
    after.add(&root, &survey, &visible(), NONE);
    assert_eq!(standing(&files, after), Some([true, true]));
}

#[test]
fn a_peek_that_denies_what_a_probe_then_finds_is_disputed() {
    type Happens = fn(&Files);
    let table: [(&str, Happens, bool); 7] = [
        ("nothing happens", |_| {}, false),
        ("lstat tells other versions", |files| files.lstat.set(Lstat::OtherVersions), true),
        ("lstat has gone blind", |files| files.lstat.set(Lstat::Blind), true),
        ("lstat fails", |files| files.lstat.set(Lstat::Failing), true),
        // A peek that is right, or is a link's, is no reason to distrust peeks.
        ("the file is edited", |files| files.disk.borrow_mut().file("/w/p/AGENTS.md", "edited"), false),
        ("the file is gone", |files| files.disk.borrow_mut().remove("/w/p/AGENTS.md"), false),
        ("the file is linked", |files| files.disk.borrow_mut().link("/w/p/AGENTS.md", "behind"), false),
    ];
    for (what, happens, disputed) in table {
        let files = Files::new(disk());
        let mut settled = settled(&files, NONE);
        // The root is not what this is about.
        settled.walk.empty.clear();
        happens(&files);
        let survey = Survey::new(&files, Posix, PeekTrust::Proven);
        let still = files.run(settled.still_stands(&survey, CWD, Some(Some("identity")))).unwrap();
        assert!(!still.is_disputed(&survey), "{what}, before the probe");
        files.run(survey.probe(["/w/p/AGENTS.md".into()]));
        assert_eq!(still.is_disputed(&survey), disputed, "{what}");
    }
}

#[test]
fn all_that_a_model_calls_for_is_whole_while_every_group_of_it_stands_and_for_that_model_alone() {
    let authority = Authority::from(vec![]);
    let others = [Authority::from(vec![]), authority.with(vec![super::super::state::Source::default()])];
    type Happens = fn(&mut Disk);
    let table: [(Happens, bool); 3] =
        [(|_| {}, true), (|disk| disk.file("/w/p/LOCAL.md", ""), false), (|disk| disk.file("/w/p/behind", ""), false)];
    for (index, (happens, whole)) in table.into_iter().enumerate() {
        let files = Files::new(disk());
        let mut settled = settled(&files, NONE);
        assert!(!settled.is_whole(&authority), "nobody has said so");
        settled.complete(&authority, groups().iter(), &visible());
        assert!(settled.is_whole(&authority) && settled.is_whole(&authority.clone()));
        assert!(!others.iter().any(|other| settled.is_whole(other)));
        happens(&mut files.disk.borrow_mut());
        let survey = Survey::new(&files, Posix, PeekTrust::Proven);
        let still = files.run(settled.still_stands(&survey, CWD, Some(Some("identity")))).unwrap();
        assert_eq!(still.is_whole(&authority), whole, "{index}");
    }
    // A group that does not stand, or was never settled, keeps it from being whole.
    let files = Files::new(disk());
    let mut settled = settled(&files, NONE);
    let unsettled = Group { directory: "b".into(), candidates: vec![] };
    settled.complete(&authority, groups().iter().chain([&unsettled]), &visible());
    assert!(!settled.is_whole(&authority));
    settled.complete(&authority, groups().iter(), &Visible::default());
    assert!(!settled.is_whole(&authority));
}

#[test]
fn what_a_model_does_not_call_for_is_kept_no_longer() {
    let files = Files::new(disk());
    let mut settled = settled(&files, NONE);
    let [root, below] = groups();
    settled.keep(|directory| directory == ".");
    assert!(settled.covers(&root, &visible()));
    assert!(!settled.covers(&below, &visible()));
}

fn nothing_settled() -> Settled {
    Settled::new(CWD.to_owned(), Some("identity".to_owned()), walk())
}

fn spelled(directory: &str) -> Group {
    options().group("/w/p", directory)
}

/// Settle the groups of `directories` as `files` shows them, and let go of them: nothing calls for them.
fn let_go(settled: &mut Settled, files: &Files, directories: &[String]) {
    let survey = Survey::new(files, Posix, PeekTrust::Proven);
    for directory in directories {
        let group = spelled(directory);
        files.run(survey.probe(group.candidates.iter().map(|candidate| candidate.path.clone())));
        settled.add(&group, &survey, &visible(), NONE);
    }
    settled.keep(|_| false);
    files.tally();
}

#[test]
fn a_directory_that_holds_nothing_is_asked_after_again_once_it_is_woken() {
    let files = Files::new(disk());
    let mut settled = nothing_settled();
    let directories = owned(&["hollow", "b"]);
    files.disk.borrow_mut().file("/w/p/b/LOCAL.md", "says something");
    let_go(&mut settled, &files, &directories);
    assert!(directories.iter().all(|directory| !settled.knows(directory)));

    settled.wake(&options(), &directories);
    assert!(settled.knows("hollow"));
    assert!(!settled.knows("b"), "what holds a file is looked at anew");
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    let mut still = files.run(settled.still_stands(&survey, CWD, Some(Some("identity")))).unwrap();
    assert!(still.covers(&spelled("hollow"), &Visible::default()));
    assert_eq!(
        files.rounds().concat()[2..],
        ["peek /w/p/hollow/AGENTS.md", "peek /w/p/hollow/LOCAL.md"],
        "beside the root's marker and the place of a nearer one"
    );

    // It goes back to sleep, is inherited, and wakes up to what has come to be there meanwhile.
    let_go(&mut still, &files, &[]);
    let mut after = nothing_settled();
    after.inherit(still);
    files.disk.borrow_mut().file("/w/p/hollow/AGENTS.md", "new");
    after.wake(&options(), &directories);
    assert!(after.knows("hollow"));
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    let after = files.run(after.still_stands(&survey, CWD, Some(Some("identity")))).unwrap();
    assert!(!after.knows("hollow"));
}

#[test]
fn what_was_woken_does_not_stand_on_peeks_that_no_longer_see_a_file() {
    for (lstat, stands) in [(Lstat::Faithful, true), (Lstat::BlindToFiles, false)] {
        let files = Files::new(disk());
        let mut settled = settled(&files, NONE);
        let mut hollow = nothing_settled();
        let_go(&mut hollow, &files, &owned(&["hollow"]));
        settled.dormant = hollow.dormant;
        settled.wake(&options(), &owned(&["hollow"]));
        files.lstat.set(lstat);
        let survey = Survey::new(&files, Posix, PeekTrust::Proven);
        let still = files.run(settled.still_stands(&survey, CWD, Some(Some("identity")))).unwrap();
        assert_eq!(still.knows("hollow"), stands, "{lstat:?}");
    }
}

#[test]
fn a_directory_with_a_refused_file_is_not_settled() {
    let files = Files::new(disk());
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    let [root, _] = groups();
    files.run(survey.probe(root.candidates.iter().map(|candidate| candidate.path.clone())));
    let elsewhere = Bounds { within: ["/elsewhere".to_owned(), "/h".to_owned()], links: true };
    files.run(survey.confine(&Rc::new(elsewhere)));
    assert_eq!(survey.standing("/w/p/AGENTS.md"), Standing::Refused);
    let mut settled = nothing_settled();
    settled.add(&root, &survey, &visible(), NONE);
    assert!(!settled.knows("."));
}

#[test]
fn the_64_directories_that_hold_nothing_and_were_touched_last_are_remembered() {
    let files = Files::new(disk());
    let mut settled = nothing_settled();
    let directories: Vec<String> = (0..70).map(|index| format!("hollow-{index}")).collect();
    for directory in &directories[..60] {
        let_go(&mut settled, &files, std::slice::from_ref(directory));
    }
    // The first one is touched once more.
    settled.wake(&options(), &directories[..1]);
    assert!(settled.knows("hollow-0"));
    settled.keep(|_| false);
    for directory in &directories[60..] {
        let_go(&mut settled, &files, std::slice::from_ref(directory));
    }
    settled.wake(&options(), &directories);
    let forgotten: Vec<&String> = directories.iter().filter(|directory| !settled.knows(directory)).collect();
    assert_eq!(forgotten, ["hollow-1", "hollow-2", "hollow-3", "hollow-4", "hollow-5", "hollow-6"]);
}
