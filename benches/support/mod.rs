//! A disk in memory and what stands on it.

use std::collections::HashMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dsh_agent_instructions::core::budget::ByteBudget;
use dsh_agent_instructions::core::config::{Config, MarkerErrors, Symlinks};
use dsh_agent_instructions::core::escape::Escaping;
use dsh_agent_instructions::core::operation::{Answer, Answerer, Entry, EntryKind, Operation};
use dsh_agent_instructions::core::path::PathStyle;
use dsh_agent_instructions::core::text::JsText;

const PROJECT: &str = "/work/project";
const SMALL_FILE: usize = 800;

/// Poll a future that waits for nothing.
pub fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("every question is answered on the spot"),
    }
}

/// The published defaults under a 64 KiB budget.
pub fn config() -> Config {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Config {
        style: PathStyle::Posix,
        dsh_home: "/home/.dsh".to_owned(),
        dsh_home_display: "~/.dsh".to_owned(),
        project_root_markers: names(&[".git"]),
        budget: ByteBudget::new(65_536.0, "65536"),
        max_source_bytes: 1_048_576.0,
        max_source_spelling: "1048576".to_owned(),
        instruction_file_candidates: names(&["AGENTS.md", "CLAUDE.md"]),
        local_instruction_file_candidates: names(&["AGENTS.local.md", "CLAUDE.local.md"]),
        symlinks: Symlinks::Follow,
        max_total_source: None,
        root_marker_errors: MarkerErrors::Absent,
        escaping: Escaping::Plain,
    }
}

/// Text of `bytes` bytes that no other index gets.
pub fn prose(index: usize, bytes: usize) -> JsText {
    let mut text = format!("rule: {index}\n");
    while text.len() < bytes {
        text.push_str("Prefer small functions. Test what you change.\n");
    }
    text.truncate(bytes);
    JsText::from(text)
}

/// A persisted baseline source of so many changes.
pub fn sources_json(changes: usize) -> String {
    let changes: Vec<String> = (0..changes)
        .map(|index| format!(r#"{{"action":"set","scope":"level-{index}\u0000AGENTS.md","path":"level-{index}/AGENTS.md","digest":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}}"#))
        .collect();
    format!(
        r#"[{{"kind":"agent-instructions","form":"instructions","baseline":true,"baselineIdentity":"{{}}","changes":[{}]}}]"#,
        changes.join(",")
    )
}

/// What stands where; a file's index is its target.
pub struct Disk {
    entries: HashMap<String, Entry>,
    contents: Vec<JsText>,
}

impl Disk {
    fn new() -> Self {
        let mut disk = Self { entries: HashMap::new(), contents: Vec::new() };
        disk.file("/home/.dsh/AGENTS.md");
        disk.directory(PROJECT);
        disk.directory(&format!("{PROJECT}/.git"));
        disk.file(&format!("{PROJECT}/AGENTS.md"));
        disk
    }

    /// A project with an AGENTS.md in each of `depth` directories, one in the other, and the innermost of them.
    pub fn chain(depth: usize) -> (Self, String) {
        let mut disk = Self::new();
        let mut cwd = PROJECT.to_owned();
        for level in 1..=depth {
            cwd = format!("{cwd}/level-{level}");
            disk.directory(&cwd);
            disk.file(&format!("{cwd}/AGENTS.md"));
        }
        (disk, cwd)
    }

    /// A project with an AGENTS.md in each of `count` directories side by side, and a file in each of them.
    pub fn nested(count: usize) -> (Self, String, Vec<String>) {
        let mut disk = Self::new();
        let directories: Vec<String> = (0..count).map(|index| format!("{PROJECT}/packages/package-{index}")).collect();
        for directory in &directories {
            disk.directory(directory);
            disk.file(&format!("{directory}/AGENTS.md"));
        }
        let touched = directories.iter().map(|directory| format!("{directory}/index.ts")).collect();
        (disk, PROJECT.to_owned(), touched)
    }

    fn file(&mut self, path: &str) {
        let content = prose(self.contents.len(), SMALL_FILE);
        self.contents.push(content);
        self.add(path, EntryKind::File);
    }

    fn directory(&mut self, path: &str) {
        self.add(path, EntryKind::Directory);
    }

    fn add(&mut self, path: &str, kind: EntryKind) {
        let target = u32::try_from(self.contents.len().saturating_sub(1)).unwrap_or_default();
        let version: Vec<u16> = format!("64768:{}:800:1764569000000000000:1764569000000000000", self.entries.len())
            .encode_utf16()
            .collect();
        self.entries.insert(path.to_owned(), Entry { target, kind, version: version.into(), size: Some(800.0) });
    }
}

impl Answerer for Disk {
    async fn answer(&self, batch: Vec<Operation>) -> Vec<Answer> {
        batch
            .iter()
            .map(|operation| match operation {
                Operation::Probe { path } | Operation::Peek { path } => {
                    self.entries.get(&**path).cloned().map_or(Answer::Absent, Answer::Present)
                }
                Operation::Admit { .. } => Answer::Admitted,
                Operation::Read { target, .. } => {
                    self.contents.get(*target as usize).cloned().map_or(Answer::Unavailable, Answer::Content)
                }
            })
            .collect()
    }
}
