#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::RefCell;

use proptest::prelude::*;

use super::super::standalone;
use super::super::test_support::{Disk, EVERY_LSTAT, Fault, Files, Lstat, config, owned};
use super::PathStyle::{Posix, Windows};
use super::*;

/// Walk up from `cwd` with nothing else to look at.
fn walk(files: &Files, cwd: &str, markers: &[&str]) -> RootWalk {
    let survey = Survey::new(files, Posix, PeekTrust::Unproven);
    let markers: Vec<String> = markers.iter().map(|marker| (*marker).to_owned()).collect();
    files.run(survey.find_root(cwd, names(&markers), None, |_| vec![])).unwrap()
}

/// A disk on which the session's directory exists.
fn place(cwd: &str) -> Disk {
    let mut disk = Disk::default();
    disk.directory(cwd);
    disk
}

fn wanted(paths: &[(&str, bool)]) -> Vec<Wanted> {
    paths.iter().map(|(path, unlikely)| Wanted { path: (*path).into(), unlikely: *unlikely }).collect()
}

/// Markers that need not answer.
fn names(names: &[String]) -> Markers<'_> {
    Markers { names, insist: false }
}

#[test]
fn the_root_is_the_nearest_directory_with_any_marker_whatever_lstat_does() {
    type Found = (&'static str, Option<&'static str>);
    let table: [(&[&str], &[&str], Found); 9] = [
        (&["/w/p/a/.git"], &[".git"], ("/w/p/a", Some("/w/p/a/.git"))),
        (&["/w/p/.git"], &[".git"], ("/w/p", Some("/w/p/.git"))),
        (&["/.git"], &[".git"], ("/", Some("/.git"))),
        (&["/w/.git", "/w/p/.git"], &[".git"], ("/w/p", Some("/w/p/.git"))),
        (&["/w/p/go.mod", "/w/.git"], &[".git", "go.mod"], ("/w/p", Some("/w/p/go.mod"))),
        (&["/w/p/go.mod", "/w/p/.git"], &[".git", "go.mod"], ("/w/p", Some("/w/p/.git"))),
        (&["/w/p/.git"], &["go.mod"], ("/w/p/a", None)),
        (&["/w/p/a/b/.git", "/w/q/.git"], &[".git"], ("/w/p/a", None)),
        (&[], &[".git", "go.mod"], ("/w/p/a", None)),
    ];
    for (marked, markers, expected) in table {
        for lstat in EVERY_LSTAT {
            let mut disk = place("/w/p/a");
            marked.iter().for_each(|path| disk.directory(path));
            let files = Files::new(disk);
            files.lstat.set(lstat);
            let found = walk(&files, "/w/p/a", markers);
            assert_eq!((found.root.as_str(), found.marker.as_deref()), expected, "{marked:?} {lstat:?}");
        }
    }
}

#[test]
fn an_entry_of_any_kind_is_a_marker() {
    let kinds: [fn(&mut Disk); 6] = [
        |disk| disk.file("/w/p/.git", "gitdir: elsewhere"),
        |disk| disk.file("/w/p/.git", ""),
        |disk| disk.directory("/w/p/.git"),
        |disk| disk.other("/w/p/.git"),
        |disk| disk.link("/w/p/.git", "/w"),
        |disk| {
            disk.file("/elsewhere", "");
            disk.link("/w/p/.git", "../../elsewhere");
        },
    ];
    for (index, kind) in kinds.iter().enumerate() {
        for lstat in EVERY_LSTAT {
            let mut disk = place("/w/p/a");
            kind(&mut disk);
            let files = Files::new(disk);
            files.lstat.set(lstat);
            assert_eq!(walk(&files, "/w/p/a", &[".git"]).root, "/w/p", "kind {index} {lstat:?}");
        }
    }
}

#[test]
fn a_marker_that_no_probe_finds_counts_for_nothing_and_the_walk_goes_on_upwards() {
    let doubtful: [fn(&mut Disk); 4] = [
        |disk| disk.link("/w/p/.git", "nowhere"),
        |disk| disk.link("/w/p/.git", ".git"),
        |disk| {
            disk.directory("/w/p/.git");
            disk.fail("/w/p/.git", Fault::PROBE);
        },
        |disk| disk.fail("/w/p/.git", Fault::ALL),
    ];
    for (index, doubt) in doubtful.iter().enumerate() {
        for lstat in EVERY_LSTAT {
            for above in [Some("/w/.git"), None] {
                let mut disk = place("/w/p/a");
                doubt(&mut disk);
                above.iter().for_each(|path| disk.directory(path));
                let files = Files::new(disk);
                files.lstat.set(lstat);
                let found = walk(&files, "/w/p/a", &[".git"]);
                let root = if above.is_some() { "/w" } else { "/w/p/a" };
                assert_eq!((found.root.as_str(), found.marker.as_deref()), (root, above), "doubt {index} {lstat:?}");
                assert!(!found.conclusive, "doubt {index} {lstat:?}");
            }
        }
    }
}

#[test]
fn a_walk_without_doubt_is_conclusive_and_names_the_nearer_markers_that_are_not_there() {
    let mut disk = place("/w/p/a");
    disk.directory("/w/.git");
    let found = walk(&Files::new(disk), "/w/p/a", &[".git", "go.mod"]);
    assert!(found.conclusive);
    assert_eq!(found.empty, owned::<Rc<str>>(&["/w/p/a/.git", "/w/p/a/go.mod", "/w/p/.git", "/w/p/go.mod"]));

    let found = walk(&Files::new(place("/w/p")), "/w/p", &[".git"]);
    assert!(found.conclusive);
    assert_eq!(found.empty, owned::<Rc<str>>(&["/w/p/.git", "/w/.git", "/.git"]));
}

#[test]
fn without_configured_markers_the_session_directory_is_the_root_and_no_question_is_asked() {
    let mut disk = place("/w/p/a");
    disk.directory("/w/p/a/.git");
    disk.directory("/w/.git");
    let files = Files::new(disk);
    assert_eq!(
        walk(&files, "/w/p/a", &[]),
        RootWalk { root: "/w/p/a".to_owned(), marker: None, empty: vec![], conclusive: true }
    );
    assert!(files.rounds().is_empty());
}

#[test]
fn the_file_system_root_is_a_session_directory_too() {
    let mut disk = Disk::default();
    disk.directory("/.git");
    assert_eq!(walk(&Files::new(disk), "/", &[".git"]).marker.as_deref(), Some("/.git"));
    assert_eq!(walk(&Files::new(Disk::default()), "/", &[".git"]).root, "/");
}

#[test]
fn a_walk_on_windows_ends_at_the_drive() {
    let mut disk = place(r"C:\w\p");
    disk.directory(r"C:\w\.git");
    let files = Files::new(disk);
    let survey = Survey::new(&files, Windows, PeekTrust::Unproven);
    let found = files.run(survey.find_root(r"C:\w\p", names(&owned(&[".git"])), None, |_| vec![])).unwrap();
    assert_eq!((found.root.as_str(), found.marker.as_deref()), (r"C:\w", Some(r"C:\w\.git")));
    assert_eq!(
        files.rounds(),
        [vec![r"peek C:\w\p\.git"], vec![r"peek C:\w\.git", r"peek C:\.git"], vec![r"probe C:\w\.git"]]
    );
}

#[test]
fn a_marker_at_hand_ends_the_walk_before_any_ancestor_is_asked_about() {
    let mut disk = place("/w/p/a");
    disk.directory("/w/p/a/.git");
    disk.directory("/w/.git");
    let files = Files::new(disk);
    walk(&files, "/w/p/a", &[".git", "go.mod"]);
    assert_eq!(files.rounds(), [vec!["peek /w/p/a/.git", "peek /w/p/a/go.mod"], vec!["probe /w/p/a/.git"]]);
}

#[test]
fn the_markers_of_near_ancestors_go_out_together() {
    let mut disk = place("/w/p/a");
    disk.directory("/w/.git");
    let files = Files::new(disk);
    walk(&files, "/w/p/a", &[".git"]);
    assert_eq!(
        files.rounds(),
        [vec!["peek /w/p/a/.git"], vec!["peek /w/p/.git", "peek /w/.git", "peek /.git"], vec!["probe /w/.git"]]
    );
}

#[test]
fn markers_far_above_are_asked_about_when_the_near_ones_are_not_there() {
    let mut disk = place("/a/b/c/d/e/f");
    disk.directory("/a/.git");
    let files = Files::new(disk);
    assert_eq!(walk(&files, "/a/b/c/d/e/f", &[".git"]).root, "/a");
    assert_eq!(
        files.rounds(),
        [
            vec!["peek /a/b/c/d/e/f/.git"],
            vec!["peek /a/b/c/d/e/.git", "peek /a/b/c/d/.git", "peek /a/b/c/.git"],
            vec!["peek /a/b/.git", "peek /a/.git", "peek /.git"],
            vec!["probe /a/.git"],
        ]
    );
}

/// Walk up from `/w/p/a`, looking at an `A` and an unlikely `L` in each directory that is told to count.
fn walk_looking(files: &Files) -> (String, Vec<Vec<String>>) {
    let survey = Survey::new(files, Posix, PeekTrust::Unproven);
    let told = RefCell::new(Vec::new());
    let found = files.run(survey.find_root("/w/p/a", names(&owned(&[".git"])), None, |directories| {
        told.borrow_mut().push(directories.to_vec());
        let paths = directories
            .iter()
            .flat_map(|directory| [(format!("{directory}/A"), false), (format!("{directory}/L"), true)]);
        paths.map(|(path, unlikely)| Wanted { path: path.into(), unlikely }).collect()
    }));
    (found.unwrap().root, told.take())
}

#[test]
fn candidates_are_looked_at_while_the_walk_is_on_its_way() {
    let mut disk = place("/w/p/a");
    disk.directory("/w/p/.git");
    let files = Files::new(disk);
    walk_looking(&files);
    // Those of the session's directory count whatever the root is; those above it as soon as a marker is seen.
    assert_eq!(
        files.rounds(),
        [
            vec!["peek /w/p/a/.git", "probe /w/p/a/A", "peek /w/p/a/L"],
            vec!["peek /w/p/.git", "peek /w/.git", "peek /.git"],
            vec!["probe /w/p/.git", "probe /w/p/A", "peek /w/p/L"],
        ]
    );
}

#[test]
fn only_directories_from_the_root_down_are_told_to_count() {
    type Marks = fn(&mut Disk);
    let table: [(Marks, &str, &[&str]); 5] = [
        (|_| {}, "/w/p/a", &["/w/p/a"]),
        (|disk| disk.directory("/w/p/a/.git"), "/w/p/a", &["/w/p/a"]),
        (|disk| disk.directory("/w/p/.git"), "/w/p", &["/w/p", "/w/p/a"]),
        (|disk| disk.directory("/w/.git"), "/w", &["/w", "/w/p", "/w/p/a"]),
        // A link may lead to nothing, so that nothing counts before it has been followed.
        (|disk| disk.link("/w/.git", "nowhere"), "/w/p/a", &["/w/p/a"]),
    ];
    for (index, (marks, root, counting)) in table.into_iter().enumerate() {
        for lstat in EVERY_LSTAT {
            let mut disk = place("/w/p/a");
            marks(&mut disk);
            let files = Files::new(disk);
            files.lstat.set(lstat);
            let (found, told) = walk_looking(&files);
            let mut told = told.concat();
            told.sort();
            told.dedup();
            assert_eq!((found.as_str(), told), (root, owned(counting)), "{index} {lstat:?}");
        }
    }
}

#[test]
fn above_the_root_nothing_but_markers_is_ever_asked_about() {
    for lstat in EVERY_LSTAT {
        let mut disk = place("/w/p/a/b");
        disk.link("/w/p/a/.git", "nowhere");
        disk.directory("/w/p/.git");
        for directory in ["/", "/w/", "/w/p/", "/w/p/a/", "/w/p/a/b/"] {
            disk.file(&format!("{directory}AGENTS.md"), directory);
        }
        let files = Files::new(disk);
        files.lstat.set(lstat);
        let found = files.run(standalone::discover(&files, &config(), "/w/p/a/b", None)).unwrap();
        let displays: Vec<&str> = found.iter().map(|candidate| &*candidate.display).collect();
        assert_eq!(displays, ["AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.md"]);
        for operation in files.rounds().concat() {
            let path = operation.split_once(' ').unwrap().1;
            let allowed = path.starts_with("/w/p/") || path.starts_with("/h/") || path.ends_with("/.git");
            assert!(allowed, "{operation} {lstat:?}");
        }
    }
}

#[test]
fn a_peek_that_finds_anything_proves_the_provider() {
    let files = Files::new(Disk::with_files([("/p/f", "")]));
    let survey = Survey::new(&files, Posix, PeekTrust::Unproven);
    files.run(survey.peek(owned(&["/p/nothing"])));
    assert_eq!(survey.trust.get(), PeekTrust::Unproven);
    files.run(survey.peek(owned(&["/p/f"])));
    assert_eq!(survey.trust.get(), PeekTrust::Proven);
}

#[test]
fn a_provider_that_does_not_see_the_session_directory_is_broken_and_its_peeks_are_made_good_by_probes() {
    for (lstat, trust) in
        EVERY_LSTAT.into_iter().zip([PeekTrust::Proven, PeekTrust::Broken, PeekTrust::Broken, PeekTrust::Proven])
    {
        let mut disk = Disk::with_files([("/p/there", "")]);
        disk.link("/p/link", "there");
        let files = Files::new(disk);
        files.lstat.set(lstat);
        let survey = Survey::new(&files, Posix, PeekTrust::Unproven);
        files.run(survey.look(wanted(&[("/p/nothing", true)])));
        files.run(survey.look(wanted(&[("/p/there", true), ("/p/link", true)])));
        files.run(survey.settle("/p"));
        assert_eq!(survey.trust.get(), trust, "{lstat:?}");
        assert_eq!(survey.standing("/p/nothing"), Standing::Absent, "{lstat:?}");
        assert!(survey.standing("/p/there").file().is_some(), "{lstat:?}");
        assert!(survey.standing("/p/link").file().is_some(), "{lstat:?}");
    }
}

#[test]
fn a_proven_provider_is_not_put_to_the_test_again() {
    let files = Files::new(place("/p"));
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    files.run(survey.look(wanted(&[("/p/nothing", true)])));
    files.run(survey.settle("/p"));
    assert_eq!(files.rounds(), [["peek /p/nothing"]]);
    assert_eq!(survey.standing("/p/nothing"), Standing::Absent);
}

#[test]
fn a_broken_provider_is_never_asked_to_peek() {
    let mut disk = place("/w/p");
    disk.file("/w/p/there", "");
    let files = Files::new(disk);
    let survey = Survey::new(&files, Posix, PeekTrust::Broken);
    let found = files.run(survey.find_root("/w/p", names(&owned(&[".git"])), None, |_| {
        wanted(&[("/w/p/there", true), ("/w/p/nothing", true)])
    }));
    files.run(survey.settle("/w/p"));
    assert_eq!(found.unwrap().root, "/w/p");
    assert!(survey.standing("/w/p/there").file().is_some());
    assert_eq!(survey.standing("/w/p/nothing"), Standing::Absent);
    assert!(files.rounds().concat().iter().all(|operation| operation.starts_with("probe ")));
}

#[test]
fn an_unlikely_file_is_probed_only_when_a_peek_finds_something_or_fails() {
    let mut disk = Disk::with_files([("/p/there", "")]);
    disk.fail("/p/failing", Fault::PEEK);
    let files = Files::new(disk);
    let survey = Survey::new(&files, Posix, PeekTrust::Unproven);
    files.run(survey.look(wanted(&[
        ("/p/likely", false),
        ("/p/there", true),
        ("/p/nothing", true),
        ("/p/failing", true),
    ])));
    assert_eq!(
        files.rounds(),
        [
            vec!["probe /p/likely", "peek /p/there", "peek /p/nothing", "peek /p/failing"],
            vec!["probe /p/there", "probe /p/failing"]
        ]
    );
}

#[test]
fn a_peek_that_found_nothing_says_nothing_until_it_is_settled() {
    let files = Files::new(place("/p"));
    let survey = Survey::new(&files, Posix, PeekTrust::Unproven);
    files.run(survey.look(wanted(&[("/p/nothing", true)])));
    assert_eq!(survey.standing("/p/nothing"), Standing::Unavailable);
    files.run(survey.settle("/p"));
    assert_eq!(survey.standing("/p/nothing"), Standing::Absent);
}

#[test]
fn a_peek_never_overrules_a_probe() {
    let mut disk = Disk::with_files([("/p/there", "")]);
    disk.fail("/p/failing", Fault::PROBE);
    let files = Files::new(disk);
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    files.run(survey.probe(owned(&["/p/there", "/p/failing"])));
    files.lstat.set(Lstat::Blind);
    files.run(survey.peek(owned(&["/p/there", "/p/failing"])));
    files.run(survey.settle("/p"));
    assert!(survey.standing("/p/there").file().is_some());
    assert_eq!(survey.standing("/p/failing"), Standing::Unavailable);
}

#[test]
fn a_question_goes_out_once_however_often_it_is_asked() {
    let files = Files::new(Disk::with_files([("/p/there", "")]));
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    files.run(survey.probe(owned(&["/p/there", "/p/nothing", "/p/there"])));
    files.run(survey.probe(owned(&["/p/nothing"])));
    files.run(survey.peek(owned(&["/p/there"])));
    files.run(survey.peek(owned(&["/p/there"])));
    files.run(survey.look(wanted(&[("/p/there", true), ("/p/nothing", false)])));
    files.run(survey.settle("/p"));
    assert_eq!(files.rounds(), [vec!["probe /p/there", "probe /p/nothing"], vec!["peek /p/there"]]);
}

#[test]
fn probes_and_peeks_that_are_asked_together_are_one_batch() {
    let files = Files::new(Disk::with_files([("/p/there", "")]));
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    files.run(survey.ask(owned(&["/p/there", "/p/nothing"]), owned(&["/p/nothing", "/p/there"])));
    assert!(survey.standing("/p/there").file().is_some());
    assert_eq!(survey.standing("/p/nothing"), Standing::Absent);
    assert_eq!(survey.peeked("/p/nothing"), Answer::Absent);
    assert!(matches!(survey.peeked("/p/there"), Answer::Present(_)));
    assert_eq!(files.tally().batches, 1);
}

#[test]
fn nothing_is_known_of_a_path_that_was_never_asked_about() {
    let files = Files::new(Disk::default());
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    assert_eq!(survey.standing("/p"), Standing::Unavailable);
    assert_eq!(survey.peeked("/p"), Answer::Unavailable);
    assert_eq!(survey.expectation("/p"), None);
}

#[test]
fn only_a_regular_file_is_a_file() {
    let mut disk = Disk::with_files([("/file", "")]);
    disk.directory("/directory");
    disk.other("/fifo");
    disk.link("/to-file", "file");
    disk.link("/to-directory", "directory");
    disk.link("/dangling", "nowhere");
    disk.link("/loop", "loop");
    let table = [
        ("/file", true),
        ("/directory", false),
        ("/fifo", false),
        ("/to-file", true),
        ("/to-directory", false),
        ("/dangling", false),
        ("/loop", false),
    ];
    let files = Files::new(disk);
    let survey = Survey::new(&files, Posix, PeekTrust::Proven);
    files.run(survey.probe(table.iter().map(|(path, _)| (*path).into())));
    for (path, is_file) in table {
        assert_eq!(survey.standing(path).file().is_some(), is_file, "{path}");
    }
    // What a link leads to is unknown when it leads in a circle, and known to be nothing when it dangles.
    assert_eq!(survey.standing("/loop"), Standing::Unavailable);
    assert_eq!(survey.standing("/dangling"), Standing::Absent);
}

#[test]
fn a_later_peek_is_to_find_the_file_or_none_and_behind_a_link_only_a_probe_can_tell() {
    let mut disk = Disk::with_files([("/file", "")]);
    disk.directory("/directory");
    disk.link("/to-file", "file");
    disk.link("/to-directory", "directory");
    disk.link("/dangling", "nowhere");
    disk.fail("/failing", Fault::PROBE);
    let version = disk.probe("/file", 0);
    let Answer::Present(Entry { version, .. }) = version else { panic!("there is a file") };
    let files = Files::new(disk);
    let paths = ["/file", "/directory", "/nothing", "/to-file", "/to-directory", "/dangling", "/failing"];
    let table = [
        ("/file", true, Some(Expected::File(version.clone()))),
        ("/directory", true, Some(Expected::NoFile)),
        ("/nothing", true, Some(Expected::NoFile)),
        ("/to-file", true, Some(Expected::Behind(Some(version.clone())))),
        ("/to-directory", true, Some(Expected::Behind(None))),
        ("/dangling", true, Some(Expected::Behind(None))),
        ("/failing", true, None),
        // Without a peek, a link is taken for what is behind it, until a peek tells.
        ("/to-file", false, Some(Expected::File(version))),
        ("/dangling", false, Some(Expected::NoFile)),
        ("/failing", false, None),
    ];
    for (path, peeked, expected) in table {
        let survey = Survey::new(&files, Posix, PeekTrust::Proven);
        files.run(survey.probe(owned(&paths)));
        if peeked {
            files.run(survey.peek(owned(&paths)));
        }
        assert_eq!(survey.expectation(path), expected, "{path} {peeked}");
    }
}

proptest! {
    #[test]
    fn every_lstat_leads_to_the_same_root_and_the_same_files(
        markers in prop::collection::vec((0_usize..4, 0_u8..5), 0..6),
        candidates in prop::collection::vec((0_usize..4, 0_usize..4, 0_u8..5), 0..8),
    ) {
        let directories = ["/", "/w/", "/w/p/", "/w/p/a/"];
        let names = config().candidate_names().into_iter().map(str::to_owned).collect::<Vec<_>>();
        let mut disk = place("/w/p/a");
        let entries = markers.into_iter().map(|(at, kind)| (format!("{}.git", directories[at]), kind));
        let entries = entries.chain(candidates.into_iter().map(|(at, name, kind)| (format!("{}{}", directories[at], names[name]), kind)));
        for (path, kind) in entries {
            match kind {
                0 => disk.file(&path, "x"),
                1 => disk.directory(&path),
                2 => disk.link(&path, "AGENTS.md"),
                3 => disk.link(&path, "nowhere"),
                _ => disk.fail(&path, Fault::ALL),
            }
        }
        let found = EVERY_LSTAT.map(|lstat| {
            let files = Files::new(disk.clone());
            files.lstat.set(lstat);
            files.run(standalone::discover(&files, &config(), "/w/p/a", None)).unwrap()
        });
        for other in &found[1..] {
            prop_assert_eq!(other, &found[0]);
        }
    }
}
