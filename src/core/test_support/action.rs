//! What can happen to a random session, and the worlds it happens in: all decoded from bytes, so
//! that a fuzzer's input and a property's are the same.

use super::super::budget::ByteBudget;
use super::super::config::{Config, Symlinks};
use super::super::escape::{CLOSING_TAG, Escaping};
use super::super::text::JsText;
use super::{Fault, config};

pub const HOME: &str = "/h";
pub const DIRECTORIES: [&str; 8] =
    [HOME, "/w", "/w/p", "/w/p/a", "/w/p/a/s", "/w/p/a/s/t", "/w/p/a/user-global", "/w/p/a/..foo"];
/// The last is the directory itself.
const NAMES: [&str; 6] = ["AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md", ".git", ""];
/// A budget that drops nothing.
pub const AMPLE: f64 = 65_536.0;
const BUDGETS: [f64; 8] = [AMPLE, AMPLE, AMPLE, 900.5, 560.0, 330.0, 60.0, 0.5];
const SOURCE_CAPS: [f64; 3] = [1_048_576.0, 1_048_576.0, 40.0];

/// One thing that happens to a session, decoded from any three bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Write {
        path: String,
        text: JsText,
    },
    Remove {
        path: String,
    },
    Directory {
        path: String,
    },
    Link {
        path: String,
        target: String,
    },
    Other {
        path: String,
    },
    Fail {
        path: String,
        fault: Fault,
    },
    ReportSize {
        path: String,
        size: Option<f64>,
    },
    Heal,
    /// A step is entered with whatever has to be said.
    Step,
    /// A step is rejected: what has to be said waits.
    Reject,
    /// The host claims the waiting message; a step enters with it and with what has to be said beside it.
    Claim,
    Touch {
        paths: Vec<String>,
    },
    /// Compaction: the oldest visible messages are gone.
    Compact {
        messages: usize,
    },
    /// Another process goes on with the session, perhaps under other options.
    Resume {
        options: u8,
    },
    /// Steps on an unchanged disk until nothing is left to say.
    Replay,
}

impl From<[u8; 3]> for Action {
    fn from([kind, a, b]: [u8; 3]) -> Self {
        let touched = |at: u8| {
            let directory = DIRECTORIES[usize::from(at) % DIRECTORIES.len()];
            let relative = directory.strip_prefix("/w/p/a/").filter(|_| at.is_multiple_of(3));
            format!("{}/f", relative.unwrap_or(directory))
        };
        let path = path(a);
        match kind % 24 {
            0..=4 => Self::Write { path, text: content(b) },
            5..=6 => Self::Remove { path },
            7 => Self::Directory { path },
            8 => Self::Link { path, target: target(b) },
            9 => Self::Other { path },
            10..=11 => {
                let faults = [Fault::ALL, Fault::PROBE, Fault::READ, Fault::ADMIT];
                Self::Fail { path, fault: faults[usize::from(b) % faults.len()] }
            }
            12 => Self::ReportSize { path, size: [None, Some(0.0), Some(1e9)][usize::from(b) % 3] },
            13 => Self::Heal,
            14..=16 => Self::Step,
            17 => Self::Reject,
            18 => Self::Claim,
            19 => Self::Touch { paths: vec![touched(a)] },
            20 => Self::Touch { paths: vec![touched(a), touched(b), touched(a.wrapping_add(b))] },
            21 => Self::Compact { messages: usize::from(a) % 4 + 1 },
            22 => Self::Resume { options: if b % 2 == 0 { 0 } else { a } },
            _ => Self::Replay,
        }
    }
}

fn path(at: u8) -> String {
    let (directory, name) = (usize::from(at) % DIRECTORIES.len(), usize::from(at) / DIRECTORIES.len() % NAMES.len());
    match NAMES[name] {
        "" => DIRECTORIES[directory].to_owned(),
        name => format!("{}/{name}", DIRECTORIES[directory]),
    }
}

fn target(at: u8) -> String {
    match at % 4 {
        0 => "AGENTS.md".to_owned(),
        1 => "nowhere".to_owned(),
        _ => path(at / 4),
    }
}

fn content(at: u8) -> JsText {
    match at % 14 {
        0 => "".into(),
        1 => " \n".into(),
        2 => "alpha".into(),
        3 => "alpha\n".into(),
        4 => "\u{FEFF} alpha \u{2028}".into(),
        5 => "beta".into(),
        6 => "gamma\u{85}".into(),
        7 => format!("x{CLOSING_TAG}y{CLOSING_TAG}").into(),
        8 => "long ".repeat(60).into(),
        9 => format!("cut {}", "\u{E9}".repeat(150)).into(),
        10 => format!("astral {}", "\u{1D11E}".repeat(80)).into(),
        11 => JsText::from_utf16(&[0x61, 0xD834, 0x62, 0xDD1E]),
        12 => CLOSING_TAG.repeat(12).into(),
        _ => format!("unique {at}").into(),
    }
}

/// The options that a session runs under, decoded from any byte.
pub fn options(at: u8, odd_home: bool) -> Config {
    let limit = BUDGETS[usize::from(at) % BUDGETS.len()];
    let cap = SOURCE_CAPS[usize::from(at) / 8 % SOURCE_CAPS.len()];
    let mut config = config();
    config.budget = ByteBudget::new(limit, limit.to_string());
    config.max_source_bytes = cap;
    config.max_source_spelling = cap.to_string();
    if odd_home {
        config.dsh_home = "/w/p".to_owned();
    }
    if at >= 240 {
        config.project_root_markers.clear();
    }
    match at % 7 {
        5 => config.instruction_file_candidates.reverse(),
        6 => config.local_instruction_file_candidates.clear(),
        _ => {}
    }
    match at % 5 {
        3 => config.symlinks = Symlinks::Contained,
        4 => config.symlinks = Symlinks::Ignore,
        _ => {}
    }
    if at % 3 == 2 {
        config.escaping = Escaping::Strict;
    }
    config
}
