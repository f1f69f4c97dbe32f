#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use super::super::candidates::Wanted;
use super::super::operation::EntryKind;
use super::super::path::PathStyle::Posix;
use super::super::scope::ScopeKey;
use super::super::state::PeekTrust;
use super::super::test_support::{Disk, Fault, Files, config};
use super::*;

fn each(bytes: f64) -> ReadLimits {
    ReadLimits { each: bytes, total: f64::INFINITY }
}

/// Read `paths`, broadest first, under a total; what became of each.
fn within(files: &Files, paths: &[&str], limits: ReadLimits) -> Vec<String> {
    let loader = Loader::new(files, limits);
    files.run(loader.read(requests(files, paths)));
    paths.iter().map(|path| became(&loader, path)).collect()
}

/// Probe `paths` and ask for all files among them to be read under `limit`.
fn read<'a>(files: &'a Files, paths: &[&str], limit: f64) -> Loader<'a, Files> {
    let loader = Loader::new(files, each(limit));
    files.run(loader.read(requests(files, paths)));
    loader
}

fn requests(files: &Files, paths: &[&str]) -> Vec<(Rc<str>, Entry)> {
    let survey = Survey::new(files, Posix, PeekTrust::Broken);
    files.run(survey.probe(paths.iter().map(|path| (*path).into())));
    let found = paths.iter().filter_map(|path| Some(((*path).into(), survey.standing(path).file()?.clone())));
    found.collect()
}

/// What became of a file, in one word.
fn became(loader: &Loader<'_, Files>, path: &str) -> String {
    match loader.reading(path) {
        Reading::Content(content) => format!("{:?}", content.text),
        Reading::Oversized => "oversized".to_owned(),
        Reading::ReportedOversized => "reported".to_owned(),
        Reading::LeftOut => "left out".to_owned(),
        Reading::Unreadable => "unreadable".to_owned(),
    }
}

fn group(directory: &str, displays: &[&str]) -> Group {
    let candidates = displays.iter().map(|display| Candidate {
        scope: ScopeKey::of_display_path(display),
        path: format!("/p/{display}").into(),
        display: (*display).into(),
    });
    Group { directory: directory.into(), candidates: candidates.collect() }
}

#[test]
fn a_total_is_spent_from_the_most_specific_file_on() {
    let files = Files::new(Disk::with_files([("/a", "1234"), ("/b", "1"), ("/c", "123"), ("/d", "12345")]));
    let paths = ["/a", "/b", "/c", "/d"];
    let table = [
        (13.0, ["\"1234\"", "\"1\"", "\"123\"", "\"12345\""]),
        (12.0, ["left out", "\"1\"", "\"123\"", "\"12345\""]),
        (9.0, ["left out", "\"1\"", "\"123\"", "\"12345\""]),
        (8.0, ["left out", "left out", "\"123\"", "\"12345\""]),
        // What does not fit leaves out all that is broader, whether it would fit or not.
        (7.0, ["left out", "left out", "left out", "\"12345\""]),
        // What does not fit by itself stands in nobody's way.
        (4.0, ["left out", "\"1\"", "\"123\"", "too large"]),
        (2.0, ["too large", "\"1\"", "too large", "too large"]),
    ];
    for (total, expected) in table {
        for sizes in ["reported", "missing", "mixed", "nonsense"] {
            for (index, path) in paths.iter().enumerate() {
                let size = match sizes {
                    "missing" => Some(None),
                    "mixed" if index % 2 == 0 => Some(None),
                    "nonsense" => Some(Some(-1.0)),
                    _ => None,
                };
                let mut disk = files.disk.borrow_mut();
                disk.heal_all();
                if let Some(size) = size {
                    paths.iter().take(index + 1).for_each(|_| disk.report_size(path, size));
                }
            }
            let read = within(&files, &paths, ReadLimits { each: 100.0, total });
            let read = read.iter().map(|word| word.replace("oversized", "too large").replace("reported", "too large"));
            assert_eq!(read.collect::<Vec<_>>(), expected, "{total} {sizes}");
        }
    }
}

#[test]
fn what_is_known_to_fit_is_read_together_and_what_is_left_out_is_not_read() {
    let files = Files::new(Disk::with_files([("/a", "1234"), ("/b", "1"), ("/c", "123"), ("/d", "12345")]));
    let paths = ["/a", "/b", "/c", "/d"];
    files.rounds();
    within(&files, &paths, ReadLimits { each: 100.0, total: 9.0 });
    assert_eq!(files.rounds()[1..], [vec!["read /d", "read /c", "read /b"]]);
}

#[test]
fn a_total_bounds_what_is_read_whatever_was_reported() {
    let files = Files::new(Disk::with_files([("/a", "1"), ("/b", "123456789"), ("/c", "12")]));
    let limits = ReadLimits { each: 8.0, total: 20.0 };
    // Longer than it says, beyond the cap of one file, and within both.
    files.disk.borrow_mut().report_size("/b", Some(3.0));
    assert_eq!(within(&files, &["/a", "/b", "/c"], limits), ["\"1\"", "oversized", "\"12\""]);
    // There is room for what is a little longer than it says, and no more than there is.
    let roomy = ReadLimits { each: 100.0, total: 24.0 };
    assert_eq!(within(&files, &["/a", "/b", "/c"], roomy), ["\"1\"", "\"123456789\"", "\"12\""]);
    let tight = ReadLimits { each: 100.0, total: 12.0 };
    assert_eq!(within(&files, &["/a", "/b", "/c"], tight), ["\"1\"", "oversized", "\"12\""]);
    files.disk.borrow_mut().report_size("/b", None);
    assert_eq!(within(&files, &["/a", "/b", "/c"], limits), ["\"1\"", "oversized", "\"12\""]);
    files.disk.borrow_mut().heal_all();
    assert_eq!(within(&files, &["/a", "/b", "/c"], limits), ["\"1\"", "reported", "\"12\""]);
    files.disk.borrow_mut().fail("/b", Fault::READ);
    files.disk.borrow_mut().report_size("/b", None);
    assert_eq!(
        within(&files, &["/a", "/b", "/c"], ReadLimits { each: 8.0, total: 3.0 }),
        ["\"1\"", "unreadable", "\"12\""]
    );
}

#[test]
fn another_message_has_the_whole_total_for_itself() {
    let files = Files::new(Disk::with_files([("/a", "1234"), ("/b", "1234")]));
    let loader = Loader::new(&files, ReadLimits { each: 10.0, total: 5.0 });
    files.run(loader.read(requests(&files, &["/a"])));
    loader.begin_message();
    files.run(loader.read(requests(&files, &["/b"])));
    assert_eq!([became(&loader, "/a"), became(&loader, "/b")], ["\"1234\"", "\"1234\""]);
}

#[test]
fn content_counts_by_its_utf_8_bytes_up_to_and_including_the_cap() {
    let table = [
        ("", 1.0, true),
        ("12345", 5.0, true),
        ("12345", 4.0, false),
        ("\u{E9}\u{E9}", 4.0, true),
        ("\u{E9}\u{E9}", 3.0, false),
        ("\u{1D11E}", 4.0, true),
        ("\u{1D11E}", 3.0, false),
        ("\u{FEFF}a", 4.0, true),
        ("\u{FEFF}a", 3.0, false),
    ];
    for (text, limit, fits) in table {
        // No size is reported, so that the read itself decides.
        let mut disk = Disk::with_files([("/p/f", text)]);
        disk.report_size("/p/f", None);
        let files = Files::new(disk);
        let expected = if fits { format!("{text:?}") } else { "oversized".to_owned() };
        assert_eq!(became(&read(&files, &["/p/f"], limit), "/p/f"), expected, "{text:?} {limit}");
    }
}

#[test]
fn a_reported_size_only_ever_spares_a_read() {
    let table = [
        // (reported, content, cap, outcome, reads)
        (Some(11.0), "1234567890", 10.0, "reported", 0),
        (Some(f64::INFINITY), "", 10.0, "reported", 0),
        (Some(10.0), "1234567890", 10.0, "\"1234567890\"", 1),
        (None, "1234567890", 10.0, "\"1234567890\"", 1),
        // One that is no size, or too small, admits nothing beyond the cap.
        (Some(f64::NAN), "x", 10.0, "\"x\"", 1),
        (Some(-1.0), "x", 10.0, "\"x\"", 1),
        (Some(0.0), "12345678901", 10.0, "oversized", 1),
        (Some(f64::NAN), "12345678901", 10.0, "oversized", 1),
        (None, "12345678901", 10.0, "oversized", 1),
    ];
    for (reported, text, limit, outcome, reads) in table {
        let mut disk = Disk::with_files([("/p/f", text)]);
        disk.report_size("/p/f", reported);
        let files = Files::new(disk);
        let requests = requests(&files, &["/p/f"]);
        files.tally();
        let loader = Loader::new(&files, each(limit));
        files.run(loader.read(requests));
        assert_eq!(became(&loader, "/p/f"), outcome, "{reported:?} {text:?}");
        assert_eq!(files.tally().reads, reads, "{reported:?} {text:?}");
    }
}

#[test]
fn a_file_that_grows_after_its_probe_is_held_to_the_cap() {
    let files = Files::new(Disk::with_files([("/p/f", "small")]));
    let requests = requests(&files, &["/p/f"]);
    files.disk.borrow_mut().file("/p/f", "has grown");
    let loader = Loader::new(&files, each(5.0));
    files.run(loader.read(requests));
    assert_eq!(became(&loader, "/p/f"), "oversized");
}

#[test]
fn all_files_of_a_round_are_read_together_and_each_once() {
    let files = Files::new(Disk::with_files([("/p/a", "A"), ("/p/b", "B"), ("/p/c", "C")]));
    let requests = requests(&files, &["/p/a", "/p/b", "/p/a", "/p/c"]);
    files.tally();
    let loader = Loader::new(&files, each(10.0));
    files.run(loader.read(requests.clone()));
    assert_eq!(files.rounds(), [["read /p/a", "read /p/b", "read /p/c"]]);
    files.run(loader.read(requests));
    files.run(loader.read(vec![]));
    assert!(files.rounds().is_empty());
}

#[test]
fn a_read_that_failed_is_not_repeated_within_one_composition() {
    let mut disk = Disk::with_files([("/p/f", "text")]);
    disk.fail("/p/f", Fault::READ);
    let files = Files::new(disk);
    let loader = read(&files, &["/p/f"], 10.0);
    files.disk.borrow_mut().heal("/p/f");
    files.run(loader.read(requests(&files, &["/p/f"])));
    assert_eq!(became(&loader, "/p/f"), "unreadable");
}

#[test]
fn a_file_that_cannot_be_read_costs_its_neighbours_nothing() {
    let mut disk = Disk::with_files([("/p/a", "A"), ("/p/b", "B"), ("/p/c", "0123456789")]);
    disk.fail("/p/a", Fault::READ);
    disk.report_size("/p/c", None);
    let files = Files::new(disk);
    let loader = read(&files, &["/p/a", "/p/c", "/p/b"], 5.0);
    assert_eq!(["/p/a", "/p/c", "/p/b"].map(|path| became(&loader, path)), ["unreadable", "oversized", "\"B\""]);
}

#[test]
fn what_was_never_asked_for_is_unreadable() {
    let files = Files::new(Disk::with_files([("/p/f", "text")]));
    assert_eq!(became(&read(&files, &[], 10.0), "/p/f"), "unreadable");
}

#[test]
fn an_answer_that_is_no_content_and_one_that_is_missing_are_failures() {
    struct Fixed(Vec<Answer>);
    impl Answerer for Fixed {
        async fn answer(&self, _: Vec<Operation>) -> Vec<Answer> {
            self.0.clone()
        }
    }
    let entry = Entry { target: 0, kind: EntryKind::File, version: Version::default(), size: None };
    let runner = Files::default();
    for answers in [vec![Answer::Present(entry.clone())], vec![Answer::Absent], vec![Answer::Unavailable], vec![]] {
        let files = Fixed(answers.clone());
        let loader = Loader::new(&files, each(10.0));
        runner.run(loader.read(vec![("/p/f".into(), entry.clone())]));
        assert!(matches!(loader.reading("/p/f"), Reading::Unreadable), "{answers:?}");
    }
}

#[test]
fn only_regular_files_are_worth_a_read() {
    let mut disk = Disk::with_files([("/p/file", "x"), ("/p/target", "y")]);
    disk.directory("/p/directory");
    disk.other("/p/fifo");
    disk.link("/p/link", "target");
    disk.link("/p/dangling", "nowhere");
    disk.file("/p/failing", "z");
    disk.fail("/p/failing", Fault::PROBE);
    let files = Files::new(disk);
    let group = group(".", &["file", "directory", "fifo", "link", "dangling", "failing", "nothing"]);
    let survey = Survey::new(&files, Posix, PeekTrust::Broken);
    files.run(survey.probe(group.candidates.iter().map(|candidate| candidate.path.clone())));
    let requested: Vec<_> = Loader::requests(&[group], &survey).into_iter().map(|(path, _)| path).collect();
    assert_eq!(requested, ["/p/file", "/p/link"].map(Rc::from));
}

/// Survey and read `groups`; what was loaded.
fn load(files: &Files, groups: &[Group]) -> Vec<LoadedFile> {
    let survey = Survey::new(files, Posix, PeekTrust::Broken);
    files.run(survey.probe(groups.iter().flat_map(|group| &group.candidates).map(|candidate| candidate.path.clone())));
    let loader = Loader::new(files, each(1000.0));
    files.run(loader.read(Loader::requests(groups, &survey)));
    loader.loaded(groups, &survey)
}

fn displays(files: &[LoadedFile]) -> Vec<&str> {
    files.iter().map(|file| &*file.candidate.display).collect()
}

#[test]
fn what_was_read_is_loaded_in_order_each_path_once_under_the_version_of_its_probe() {
    let mut disk = Disk::with_files([("/p/A", "1"), ("/p/a/A", "2"), ("/p/a/B", "3"), ("/p/C", "4")]);
    disk.fail("/p/C", Fault::READ);
    let Answer::Present(probed) = disk.probe("/p/a/B", 0) else { panic!("there is a file") };
    let files = Files::new(disk);
    let again = Group { directory: "again".into(), ..group(".", &["a/A"]) };
    let loaded = load(&files, &[group(".", &["C", "A", "nothing"]), group("a", &["a/B", "a/A"]), again]);
    assert_eq!(displays(&loaded), ["A", "a/B", "a/A"]);
    assert_eq!(loaded[1].version, probed.version);
    assert_eq!(loaded[1].content.text, "3".into());
}

#[test]
fn a_file_is_a_duplicate_of_an_earlier_one_in_its_directory_with_the_same_trimmed_content() {
    type Texts = &'static [(&'static str, &'static str)];
    let table: [(Texts, &[&str]); 12] = [
        (&[("A", "x"), ("B", "x")], &["A"]),
        (&[("A", " x\n"), ("B", "\u{FEFF}x\u{2028}")], &["A"]),
        (&[("A", "x\u{85}"), ("B", "x")], &["A", "B"]),
        (&[("A", "x y"), ("B", "x  y")], &["A", "B"]),
        (&[("A", "x\r\ny"), ("B", "x\ny")], &["A", "B"]),
        (&[("A", ""), ("B", " \t\n")], &["A"]),
        (&[("A", "x"), ("B", "y"), ("C", "x"), ("D", "y")], &["A", "B"]),
        (&[("A", "x"), ("B", "y"), ("C", "z")], &["A", "B", "C"]),
        // Other directories are other directories, above and below.
        (&[("A", "x"), ("a/A", "x"), ("a/b/A", "x")], &["A", "a/A", "a/b/A"]),
        (&[("a/A", "x"), ("a/B", "x"), ("b/B", "x")], &["a/A", "b/B"]),
        (&[("~/.dsh/AGENTS.md", "x"), ("AGENTS.md", "x")], &["~/.dsh/AGENTS.md", "AGENTS.md"]),
        // As a model reads it: a project directory can spell the home.
        (&[("~/.dsh/AGENTS.md", "x"), ("~/.dsh/CLAUDE.md", "x")], &["~/.dsh/AGENTS.md"]),
    ];
    for (files, kept) in table {
        let mut disk = Disk::default();
        files.iter().for_each(|(display, text)| disk.file(&format!("/p/{display}"), *text));
        let names: Vec<&str> = files.iter().map(|(display, _)| *display).collect();
        let loaded = load(&Files::new(disk), &[group("any", &names)]);
        assert_eq!(displays(&without_duplicates(&loaded)), kept, "{files:?}");
    }
}

#[test]
fn a_link_to_a_sibling_is_a_duplicate_of_it_and_which_stays_is_a_matter_of_order() {
    let mut disk = Disk::with_files([("/p/A", "x")]);
    disk.link("/p/B", "A");
    let files = Files::new(disk);
    assert_eq!(displays(&without_duplicates(&load(&files, &[group(".", &["A", "B"])]))), ["A"]);
    assert_eq!(displays(&without_duplicates(&load(&files, &[group(".", &["B", "A"])]))), ["B"]);
}

#[test]
fn a_file_that_a_look_finds_is_read_while_the_rest_is_still_looked_at() {
    let files = Files::new(Disk::with_files([("/p/A", "1"), ("/p/L", "2"), ("/p/known", "3")]));
    let loader = Loader::new(&files, each(10.0));
    let survey = Survey::new(&files, Posix, PeekTrust::Proven).reading_ahead(&loader, |path| path != "/p/known");
    let likely = ["/p/A", "/p/known", "/p/nothing"].map(|path| Wanted { path: path.into(), unlikely: false });
    let unlikely = Wanted { path: "/p/L".into(), unlikely: true };
    files.run(survey.look(likely.into_iter().chain([unlikely]).collect()));
    assert_eq!(
        files.rounds(),
        [
            vec!["probe /p/A", "probe /p/known", "probe /p/nothing", "peek /p/L"],
            vec!["read /p/A", "probe /p/L"],
            vec!["read /p/L"],
        ]
    );
    assert_eq!(became(&loader, "/p/L"), "\"2\"");
    assert_eq!(became(&loader, "/p/known"), "unreadable");
}

#[test]
fn what_is_there_or_may_be_and_was_not_read_in_full_is_a_shortfall() {
    let mut disk =
        Disk::with_files([("/p/AGENTS.md", "ok"), ("/p/CLAUDE.md", "far too long"), ("/p/a/AGENTS.md", "x")]);
    disk.directory("/p/AGENTS.local.md");
    disk.fail("/p/CLAUDE.local.md", Fault::ALL);
    disk.fail("/p/a/AGENTS.md", Fault::READ);
    disk.file("/p/a/CLAUDE.md", "far too long");
    disk.report_size("/p/a/CLAUDE.md", None);
    let files = Files::new(disk);
    let groups = ["/p", "/p/a"].map(|directory| config().group_at("/p", directory));
    let survey = Survey::new(&files, Posix, PeekTrust::Broken);
    files.run(survey.probe(groups.iter().flat_map(|group| &group.candidates).map(|candidate| candidate.path.clone())));
    let loader = Loader::new(&files, each(5.0));
    files.run(loader.read(Loader::requests(&groups, &survey)));
    let told: Vec<(Rc<str>, ShortfallKind)> =
        loader.shortfalls(&groups, &survey).into_iter().map(|shortfall| (shortfall.display, shortfall.kind)).collect();
    let expected = [
        ("CLAUDE.md", ShortfallKind::Oversized),
        ("CLAUDE.local.md", ShortfallKind::Unavailable),
        ("a/AGENTS.md", ShortfallKind::Unavailable),
        ("a/CLAUDE.md", ShortfallKind::Oversized),
    ];
    assert_eq!(told, expected.map(|(display, kind)| (display.into(), kind)));
}

proptest! {
    #[test]
    fn no_two_files_of_a_directory_keep_the_same_trimmed_content_and_no_content_is_lost(
        files in prop::collection::vec(("[ab]/[A-D]", "[ \n\u{FEFF}]{0,2}[xy]?[ \n\u{2028}]{0,2}"), 0..8),
    ) {
        let mut disk = Disk::default();
        let mut names: Vec<&str> = Vec::new();
        for (name, text) in &files {
            disk.file(&format!("/p/{name}"), text.as_str());
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let loaded = load(&Files::new(disk), &[group("any", &names)]);
        prop_assert_eq!(loaded.len(), names.len());
        let kept = without_duplicates(&loaded);
        let identity = |file: &LoadedFile| {
            let directory = file.candidate.display.split('/').next().unwrap().to_owned();
            (directory, String::from_utf8_lossy(file.content.text.as_bytes()).trim_matches([' ', '\n', '\u{FEFF}', '\u{2028}']).to_owned())
        };
        let identities: Vec<_> = kept.iter().map(identity).collect();
        let mut expected = Vec::new();
        for file in &loaded {
            if !expected.contains(&identity(file)) {
                expected.push(identity(file));
            }
        }
        prop_assert_eq!(identities, expected);
    }
}
