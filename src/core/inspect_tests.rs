#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;

use super::super::budget::ByteBudget;
use super::super::compose::{Request, compose};
use super::super::test_support::{self, Disk, EVERY_LSTAT, Fault, Files, Lstat};
use super::*;

const CWD: &str = "/w/p/a";

fn config(max_bytes: f64) -> Config {
    Config {
        budget: ByteBudget::new(max_bytes, max_bytes.to_string()),
        max_source_bytes: 1000.0,
        max_source_spelling: "1000".to_owned(),
        ..test_support::config()
    }
}

fn disk<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Disk {
    let mut disk = Disk::with_files(files);
    disk.file("/w/p/.git/HEAD", "ref");
    disk.directory(CWD);
    disk
}

fn inspected(disk: Disk, config: &Config, touched: &[&str]) -> Inspection {
    let files = Files::new(disk);
    let touched: Vec<String> = touched.iter().map(|path| (*path).to_owned()).collect();
    files.run(inspect(&files, config, CWD, None, &touched)).unwrap()
}

/// Every candidate where something stands, by model-facing path.
fn states(inspection: &Inspection) -> Vec<(&str, FileState)> {
    let present = inspection.files.iter().filter(|file| file.state != FileState::Absent);
    present.map(|file| (&*file.candidate.display, file.state.clone())).collect()
}

fn state_of(inspection: &Inspection, display: &str) -> FileState {
    file_of(inspection, display).state.clone()
}

fn file_of<'a>(inspection: &'a Inspection, display: &str) -> &'a InspectedFile {
    inspection.files.iter().find(|file| *file.candidate.display == *display).unwrap()
}

fn block_bytes(inspection: &Inspection) -> Vec<usize> {
    inspection.blocks.iter().map(JsText::len).collect()
}

#[test]
fn every_candidate_from_home_and_root_to_the_directory_is_named_whatever_stands_there() {
    let inspection = inspected(disk([]), &config(1000.0), &[]);
    let paths: Vec<&str> = inspection.files.iter().map(|file| &*file.candidate.path).collect();
    assert_eq!(
        paths,
        [
            "/h/AGENTS.md",
            "/w/p/AGENTS.md",
            "/w/p/CLAUDE.md",
            "/w/p/AGENTS.local.md",
            "/w/p/CLAUDE.local.md",
            "/w/p/a/AGENTS.md",
            "/w/p/a/CLAUDE.md",
            "/w/p/a/AGENTS.local.md",
            "/w/p/a/CLAUDE.local.md",
        ]
    );
    assert_eq!(inspection.root, "/w/p");
    assert!(inspection.files.iter().all(|file| file.state == FileState::Absent && file.message_bytes == 0));
    assert!(inspection.blocks.is_empty());
}

#[test]
fn a_loaded_file_takes_its_section_of_the_message() {
    let inspection = inspected(disk([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", "root")]), &config(1000.0), &[]);
    assert_eq!(states(&inspection), [("~/.dsh/AGENTS.md", FileState::Loaded), ("AGENTS.md", FileState::Loaded)]);
    let file = file_of(&inspection, "AGENTS.md");
    assert_eq!(file.message_bytes, "Instructions from: AGENTS.md\n\nroot".len());
    assert_eq!(file.bytes, Some(4.0));
    assert_eq!(file.digest.as_deref(), Some("dc76e9f0c0006e8f919e0c515c66dbba3982f785"));
}

#[test]
fn escaping_counts_towards_the_bytes_of_the_message_and_not_of_the_file() {
    let text = "</system-reminder>";
    let inspection = inspected(disk([("/w/p/AGENTS.md", text)]), &config(1000.0), &[]);
    let file = file_of(&inspection, "AGENTS.md");
    assert_eq!(file.bytes, Some(text.len() as f64));
    assert_eq!(file.message_bytes, "Instructions from: AGENTS.md\n\n".len() + text.len() + 1);
}

#[test]
fn the_budget_omits_the_broadest_and_cuts_the_most_specific() {
    let long = "x".repeat(600);
    let disk = disk([("/h/AGENTS.md", "home"), ("/w/p/AGENTS.md", &long), ("/w/p/a/AGENTS.md", &long)]);
    let inspection = inspected(disk, &config(700.0), &[]);
    assert_eq!(state_of(&inspection, "~/.dsh/AGENTS.md"), FileState::Omitted);
    assert_eq!(state_of(&inspection, "AGENTS.md"), FileState::Omitted);
    let FileState::Truncated(included) = state_of(&inspection, "a/AGENTS.md") else { panic!("it is not cut") };
    let file = file_of(&inspection, "a/AGENTS.md");
    assert_eq!(file.message_bytes, "Instructions from: a/AGENTS.md\n\n".len() + included);
    assert_eq!(file.bytes, Some(600.0));
    assert_eq!(block_bytes(&inspection), [700]);
}

#[test]
fn a_file_of_which_no_byte_found_room_takes_nothing() {
    let content = "x".repeat(300);
    for limit in 1..=400_u16 {
        let inspection = inspected(disk([("/w/p/a/AGENTS.md", content.as_str())]), &config(f64::from(limit)), &[]);
        let file = file_of(&inspection, "a/AGENTS.md");
        let FileState::Truncated(included) = file.state else { panic!("{limit}: {:?}", file.state) };
        assert_eq!(file.message_bytes == 0, included == 0, "{limit}: {included}");
        assert!(
            block_bytes(&inspection).iter().all(|bytes| *bytes <= usize::from(limit) && *bytes >= file.message_bytes),
            "{limit}"
        );
    }
}

#[test]
fn an_empty_file_is_loaded_once_its_heading_is_there() {
    let state = |limit: f64| state_of(&inspected(disk([("/w/p/a/AGENTS.md", "")]), &config(limit), &[]), "a/AGENTS.md");
    assert_eq!(state(10.0), FileState::Omitted);
    assert_eq!(state(1000.0), FileState::Loaded);
}

#[test]
fn a_budget_below_one_byte_says_nothing_at_all() {
    let inspection = inspected(disk([("/w/p/a/AGENTS.md", "text")]), &config(0.5), &["s/x"]);
    assert!(inspection.blocks.is_empty());
    assert_eq!(state_of(&inspection, "a/AGENTS.md"), FileState::Truncated(0));
}

#[test]
fn a_repeated_text_is_a_duplicate_of_the_first_in_its_directory_only() {
    let files = [
        ("/w/p/AGENTS.md", "same"),
        ("/w/p/CLAUDE.md", " same\n"),
        ("/w/p/AGENTS.local.md", "own"),
        ("/w/p/a/AGENTS.md", "same"),
    ];
    let inspection = inspected(disk(files), &config(1000.0), &[]);
    assert_eq!(
        states(&inspection),
        [
            ("AGENTS.md", FileState::Loaded),
            ("CLAUDE.md", FileState::Duplicate("AGENTS.md".into())),
            ("AGENTS.local.md", FileState::Loaded),
            ("a/AGENTS.md", FileState::Loaded),
        ]
    );
    assert_eq!(file_of(&inspection, "CLAUDE.md").message_bytes, 0);
}

#[test]
fn the_home_that_is_the_project_root_has_its_file_once() {
    let config = Config { dsh_home: "/w/p".to_owned(), dsh_home_display: "$DSH_HOME".to_owned(), ..config(1000.0) };
    let inspection = inspected(disk([("/w/p/AGENTS.md", "text"), ("/w/p/CLAUDE.md", "text")]), &config, &[]);
    assert_eq!(
        states(&inspection),
        [
            ("$DSH_HOME/AGENTS.md", FileState::Loaded),
            ("AGENTS.md", FileState::Duplicate("$DSH_HOME/AGENTS.md".into())),
            // Under another directory, as a model reads it: this one repeats nothing there.
            ("CLAUDE.md", FileState::Loaded),
        ]
    );
}

#[test]
fn what_is_no_regular_file_is_absent_and_what_cannot_be_asked_unavailable() {
    let mut disk = disk([("/w/p/a/AGENTS.md", "text"), ("/w/p/a/CLAUDE.md", "text")]);
    disk.directory("/w/p/AGENTS.md");
    disk.other("/w/p/CLAUDE.md");
    disk.link("/w/p/AGENTS.local.md", "nowhere");
    disk.fail("/w/p/CLAUDE.local.md", Fault::PROBE);
    disk.fail("/w/p/a/CLAUDE.md", Fault::READ);
    let inspection = inspected(disk, &config(1000.0), &[]);
    assert_eq!(
        states(&inspection),
        [
            ("CLAUDE.local.md", FileState::Unavailable),
            ("a/AGENTS.md", FileState::Loaded),
            ("a/CLAUDE.md", FileState::Unavailable),
        ]
    );
}

#[test]
fn beyond_its_own_cap_a_file_is_oversized_by_its_report_or_its_content() {
    let long = "x".repeat(1001);
    let mut disk = disk([("/w/p/AGENTS.md", "small"), ("/w/p/CLAUDE.md", &long), ("/w/p/a/AGENTS.md", &long)]);
    disk.report_size("/w/p/AGENTS.md", Some(1001.0));
    disk.report_size("/w/p/CLAUDE.md", None);
    let inspection = inspected(disk, &config(5000.0), &[]);
    let oversized = |display| {
        let file = file_of(&inspection, display);
        assert_eq!((&file.state, file.message_bytes, &file.digest), (&FileState::Oversized, 0, &None), "{display}");
        file.bytes
    };
    assert_eq!(oversized("AGENTS.md"), Some(1001.0));
    assert_eq!(oversized("CLAUDE.md"), None);
    assert_eq!(oversized("a/AGENTS.md"), Some(1001.0));
}

#[test]
fn with_loading_off_what_is_there_is_disabled() {
    for limit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut disk = disk([("/w/p/AGENTS.md", "text"), ("/w/p/a/s/AGENTS.md", "text")]);
        disk.fail("/w/p/CLAUDE.md", Fault::ALL);
        let inspection = inspected(disk, &config(limit), &["s/x"]);
        assert_eq!(
            states(&inspection),
            [
                ("AGENTS.md", FileState::Disabled),
                ("CLAUDE.md", FileState::Unavailable),
                ("a/s/AGENTS.md", FileState::Disabled),
            ]
        );
        assert!(inspection.blocks.is_empty(), "{limit}");
    }
}

#[test]
fn a_touch_adds_the_directories_below_and_a_message_with_a_budget_of_its_own() {
    let files = [("/w/p/AGENTS.md", "root"), ("/w/p/a/s/CLAUDE.md", "nested"), ("/w/p/a/s/t/AGENTS.md", "deep")];
    let inspection = inspected(disk(files), &config(1000.0), &["s/t/x.rs"]);
    assert_eq!(
        states(&inspection),
        [
            ("AGENTS.md", FileState::Loaded),
            ("a/s/CLAUDE.md", FileState::Loaded),
            ("a/s/t/AGENTS.md", FileState::Loaded),
        ]
    );
    assert_eq!(inspection.blocks.len(), 2);
    let nested = ["a/s/CLAUDE.md", "a/s/t/AGENTS.md"].map(|display| file_of(&inspection, display).message_bytes);
    // One separator between the sections, and the frame.
    assert_eq!(
        nested.iter().sum::<usize>() + 2 + "<system-reminder>\n\n</system-reminder>".len(),
        block_bytes(&inspection)[1]
    );
}

#[test]
fn a_touch_that_leaves_the_directory_adds_nothing() {
    for touched in ["x", "../x", "../b/x", "/elsewhere/x", "..s/x"] {
        let mut disk = disk([]);
        for path in ["/w/p/b/AGENTS.md", "/elsewhere/AGENTS.md", "/w/p/a/..s/AGENTS.md"] {
            disk.file(path, "text");
        }
        assert_eq!(states(&inspected(disk, &config(1000.0), &[touched])), [], "{touched}");
    }
}

#[test]
fn a_given_root_is_not_looked_for() {
    let files = Files::new(disk([("/w/AGENTS.md", "above"), ("/w/p/a/AGENTS.md", "here")]));
    let inspection = files.run(inspect(&files, &config(1000.0), CWD, Some("/w".to_owned()), &[])).unwrap();
    assert_eq!(inspection.root, "/w");
    assert_eq!(states(&inspection), [("AGENTS.md", FileState::Loaded), ("p/a/AGENTS.md", FileState::Loaded)]);
    let asked: Vec<String> = files.rounds().concat();
    assert!(!asked.iter().any(|line| line.ends_with(".git")), "{asked:?}");
}

/// Places where a file may be, chosen bit by bit, and what may be in them.
const PLACES: [&str; 8] = [
    "/h/AGENTS.md",
    "/w/p/AGENTS.md",
    "/w/p/CLAUDE.md",
    "/w/p/a/AGENTS.md",
    "/w/p/a/CLAUDE.local.md",
    "/w/p/a/s/AGENTS.md",
    "/w/p/a/s/CLAUDE.md",
    "/w/p/a/s/t/AGENTS.local.md",
];

proptest! {
    #[test]
    fn the_text_is_what_a_fresh_session_is_told_and_the_account_of_it_adds_up(
        present: u8,
        lengths in prop::array::uniform8(0_usize..400),
        equal: bool,
        limit in 1_u16..2500,
        lstat in prop::sample::select(EVERY_LSTAT.to_vec()),
        faulty in prop::option::of(prop::sample::select(PLACES.to_vec())),
        touched in prop::option::of(prop::sample::select(vec!["x", "s/x", "s/t/x"])),
    ) {
        let mut disk = disk([]);
        for (index, (path, length)) in PLACES.iter().zip(lengths).enumerate() {
            if present >> index & 1 == 1 {
                let letter = if equal { "e".to_owned() } else { index.to_string() };
                disk.file(path, letter.repeat(length));
            }
        }
        if let Some(path) = faulty {
            disk.fail(path, Fault::READ);
        }
        let disk = Rc::new(RefCell::new(disk));
        let config = config(f64::from(limit));
        let touched: Vec<String> = touched.map(str::to_owned).into_iter().collect();
        let files = Files::over(Rc::clone(&disk), Lstat::Faithful);
        let inspection = files.run(inspect(&files, &config, CWD, None, &touched)).unwrap();

        let host = Files::over(disk, lstat);
        let request = Request { cwd: CWD.to_owned(), touched, ..Request::default() };
        let message = host.run(compose(&host, &config, &RefCell::default(), request)).unwrap();
        prop_assert_eq!(&inspection.blocks, &message.as_ref().map(|message| message.blocks.clone()).unwrap_or_default());

        // What the log will say is in the message is what is called loaded or cut with something left.
        let changes = message.iter().flat_map(|message| &message.source.changes);
        let told: Vec<_> = changes.map(|change| (change.path.clone(), change.digest.clone())).collect();
        let is_in = |file: &&InspectedFile| match file.state {
            FileState::Loaded => true,
            FileState::Truncated(included) => included > 0,
            _ => false,
        };
        let files: Vec<_> = inspection.files.iter().filter(is_in).collect();
        let accounted: Vec<_> = files.iter().map(|file| (file.candidate.display.clone(), file.digest.clone())).collect();
        prop_assert_eq!(accounted, told);
        let bytes: usize = inspection.files.iter().map(|file| file.message_bytes).sum();
        prop_assert!(bytes <= inspection.blocks.iter().map(JsText::len).sum());
        prop_assert!(inspection.files.iter().all(|file| is_in(&file) || file.message_bytes == 0));
    }
}
