//! A disk in memory and a provider over it, for tests and fuzz targets.
//!
//! Whatever a host's provider may do to the core is a switch here: links, faults by
//! path and operation, sizes that lie, an `lstat` that is blind, broken or of another
//! mind. Every operation is recorded with the round in which it went out: operations
//! of one round were all asked before any of them was answered.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "test_support/action.rs"]
pub mod action;
#[path = "test_support/session.rs"]
pub mod session;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::budget::ByteBudget;
use super::config::{Config, MarkerErrors, Symlinks};
use super::escape::Escaping;
use super::operation::{Answer, Answerer, Bounds, Entry, EntryKind, Operation, Version};
use super::path::PathStyle;
use super::text::JsText;

/// The default options, on POSIX, with the harness home at `/h`.
pub fn config() -> Config {
    let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    Config {
        style: PathStyle::Posix,
        dsh_home: "/h".to_owned(),
        dsh_home_display: "~/.dsh".to_owned(),
        project_root_markers: vec![".git".to_owned()],
        budget: ByteBudget::new(65_536.0, "65536"),
        max_source_bytes: 1_048_576.0,
        max_source_spelling: "1048576".to_owned(),
        instruction_file_candidates: names(["AGENTS.md", "CLAUDE.md"]),
        local_instruction_file_candidates: names(["AGENTS.local.md", "CLAUDE.local.md"]),
        symlinks: Symlinks::Follow,
        max_total_source: None,
        root_marker_errors: MarkerErrors::Absent,
        escaping: Escaping::Plain,
    }
}

/// Names or paths as the configuration holds them.
#[cfg(test)]
pub fn owned<'a, T: From<&'a str>>(names: &[&'a str]) -> Vec<T> {
    names.iter().map(|name| T::from(name)).collect()
}

/// Links that one look-up follows before it gives up.
const MAX_HOPS: usize = 8;

#[derive(Clone, Debug)]
enum Node {
    File(JsText),
    Directory,
    Link(String),
    Other,
}

/// Which operations on a path fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    pub probe: bool,
    pub peek: bool,
    pub admit: bool,
    pub read: bool,
}

impl Fault {
    pub const NONE: Self = Self { probe: false, peek: false, admit: false, read: false };
    pub const PROBE: Self = Self { probe: true, ..Self::NONE };
    pub const PEEK: Self = Self { peek: true, ..Self::NONE };
    pub const ADMIT: Self = Self { admit: true, ..Self::NONE };
    pub const READ: Self = Self { read: true, ..Self::NONE };
    /// Nothing can be learnt of the path at all.
    pub const ALL: Self = Self { probe: true, peek: true, admit: true, read: true };
}

/// Where a look-up ended.
enum Found {
    Entry(String),
    Nothing,
    /// A component on the way is no directory, or links lead in a circle.
    Obstructed,
}

/// Entries by absolute path, in forward slashes; `C:\p` is found at `/C:/p`.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    nodes: BTreeMap<String, (Node, u64)>,
    faults: BTreeMap<String, Fault>,
    sizes: BTreeMap<String, Option<f64>>,
    clock: u64,
}

impl Disk {
    /// A disk with these files.
    pub fn with_files<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut disk = Self::default();
        for (path, text) in files {
            disk.file(path, text);
        }
        disk
    }

    /// Write a file, under a new version even if its content stays.
    pub fn file(&mut self, path: &str, text: impl Into<JsText>) {
        self.put(path, Node::File(text.into()));
    }

    pub fn directory(&mut self, path: &str) {
        if !matches!(self.nodes.get(&key(path)), Some((Node::Directory, _))) {
            self.put(path, Node::Directory);
        }
    }

    pub fn link(&mut self, path: &str, target: &str) {
        self.put(path, Node::Link(target.to_owned()));
    }

    /// A FIFO, a socket, a device.
    pub fn other(&mut self, path: &str) {
        self.put(path, Node::Other);
    }

    /// Remove an entry and all that is below it.
    pub fn remove(&mut self, path: &str) {
        let path = key(path);
        let below = format!("{path}/");
        self.nodes.retain(|other, _| *other != path && !other.starts_with(&below));
    }

    /// Let operations on this very path fail until it heals.
    pub fn fail(&mut self, path: &str, fault: Fault) {
        self.faults.insert(key(path), fault);
    }

    pub fn heal(&mut self, path: &str) {
        self.faults.remove(&key(path));
    }

    /// Heal every fault, and let every size be told truly.
    pub fn heal_all(&mut self) {
        self.faults.clear();
        self.sizes.clear();
    }

    /// Report this size for the file, whatever it holds.
    pub fn report_size(&mut self, path: &str, size: Option<f64>) {
        self.sizes.insert(key(path), size);
    }

    /// Whether nothing fails and nothing lies.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty() && self.sizes.is_empty()
    }

    /// The content behind `path`, a final link followed, where it is a file that the disk would give away.
    pub fn text(&self, path: &str) -> Option<&JsText> {
        match self.find(path, true) {
            Found::Entry(real) if !self.fault(path).read => match self.nodes.get(&real) {
                Some((Node::File(text), _)) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether what is behind `path` lies within `bounds`.
    pub fn admit(&self, path: &str, bounds: &Bounds) -> Answer {
        if self.fault(path).admit {
            return Answer::Unavailable;
        }
        let is_link = matches!(self.nodes.get(&key(path)), Some((Node::Link(_), _)));
        let Found::Entry(real) = self.find(path, true) else { return Answer::Unavailable };
        let lies_in = |directory: &String| {
            let Found::Entry(directory) = self.find(directory, true) else { return false };
            real == directory || real.starts_with(&format!("{directory}/"))
        };
        let admitted = (bounds.links || !is_link) && bounds.within.iter().any(lies_in);
        if admitted { Answer::Admitted } else { Answer::Refused }
    }

    /// What a probe finds; `target` is the caller's.
    pub fn probe(&self, path: &str, target: u32) -> Answer {
        if self.fault(path).probe {
            return Answer::Unavailable;
        }
        match self.find(path, true) {
            Found::Entry(real) => Answer::Present(self.entry(&real, target)),
            Found::Nothing => Answer::Absent,
            Found::Obstructed => Answer::Unavailable,
        }
    }

    /// What a faithful peek finds. Below a regular file it sees nothing, where a probe fails.
    fn peek(&self, path: &str) -> Answer {
        if self.fault(path).peek {
            return Answer::Unavailable;
        }
        match self.find(path, false) {
            Found::Entry(real) => Answer::Present(self.entry(&real, 0)),
            Found::Nothing | Found::Obstructed => Answer::Absent,
        }
    }

    fn entry(&self, real: &str, target: u32) -> Entry {
        let (node, version) = self.nodes.get(real).unwrap_or(&(Node::Directory, 0));
        let kind = match node {
            Node::File(_) => EntryKind::File,
            Node::Directory => EntryKind::Directory,
            Node::Link(_) => EntryKind::Link,
            Node::Other => EntryKind::Other,
        };
        let size = match node {
            Node::File(text) => self.sizes.get(real).copied().unwrap_or(Some(text.len() as f64)),
            _ => None,
        };
        Entry { target, kind, version: token(&version.to_string()), size }
    }

    fn fault(&self, path: &str) -> Fault {
        self.faults.get(&key(path)).copied().unwrap_or_default()
    }

    fn put(&mut self, path: &str, node: Node) {
        let path = key(path);
        self.remove(&path);
        for (at, _) in path.match_indices('/').skip(1) {
            if !matches!(self.nodes.get(&path[..at]), Some((Node::Directory | Node::Link(_), _))) {
                self.clock += 1;
                self.nodes.insert(path[..at].to_owned(), (Node::Directory, self.clock));
            }
        }
        self.clock += 1;
        self.nodes.insert(path, (node, self.clock));
    }

    fn find(&self, path: &str, follow: bool) -> Found {
        let names = |path: &str| path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let mut rest: VecDeque<String> = names(&key(path)).into();
        let mut current = String::new();
        let mut hops = 0;
        while let Some(name) = rest.pop_front() {
            if !current.is_empty() && !matches!(self.nodes.get(&current), Some((Node::Directory, _))) {
                return Found::Obstructed;
            }
            if name == ".." {
                current.truncate(current.rfind('/').unwrap_or(0));
                continue;
            }
            let next = format!("{current}/{name}");
            match self.nodes.get(&next) {
                None => return Found::Nothing,
                Some((Node::Link(target), _)) if follow || !rest.is_empty() => {
                    hops += 1;
                    if hops > MAX_HOPS {
                        return Found::Obstructed;
                    }
                    if target.starts_with('/') {
                        current.clear();
                    }
                    for name in names(target).into_iter().rev() {
                        rest.push_front(name);
                    }
                }
                Some(_) => current = next,
            }
        }
        Found::Entry(if current.is_empty() { "/".to_owned() } else { current })
    }
}

fn key(path: &str) -> String {
    match path.as_bytes() {
        [b'A'..=b'Z', b':', ..] => format!("/{}", path.replace('\\', "/")).trim_end_matches('/').to_owned(),
        _ => path.to_owned(),
    }
}

fn token(text: &str) -> Version {
    text.encode_utf16().collect()
}

/// How a provider's `lstat` behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lstat {
    /// It sees the entry itself, with the version that `stat` tells of it.
    #[default]
    Faithful,
    /// It sees nothing, ever.
    Blind,
    /// It fails.
    Failing,
    /// It sees the entry, and tells another version than `stat`.
    OtherVersions,
    /// It sees everything but regular files, so that it looks trustworthy and is not.
    BlindToFiles,
}

/// Every behaviour that must not show.
pub const EVERY_LSTAT: [Lstat; 4] = [Lstat::Faithful, Lstat::Blind, Lstat::Failing, Lstat::OtherVersions];

/// A provider over a disk that others may change meanwhile.
#[derive(Debug, Default)]
pub struct Files {
    pub disk: Rc<RefCell<Disk>>,
    pub lstat: Cell<Lstat>,
    targets: RefCell<Vec<Rc<str>>>,
    round: Cell<usize>,
    log: RefCell<Vec<(usize, Vec<Operation>)>>,
}

/// How many of each operation went out, in how many rounds and batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub rounds: usize,
    pub batches: usize,
    pub probes: usize,
    pub peeks: usize,
    pub admissions: usize,
    pub reads: usize,
}

impl Files {
    pub fn new(disk: Disk) -> Self {
        Self::over(Rc::new(RefCell::new(disk)), Lstat::Faithful)
    }

    pub fn over(disk: Rc<RefCell<Disk>>, lstat: Lstat) -> Self {
        Self { disk, lstat: Cell::new(lstat), ..Self::default() }
    }

    /// Drive `future` to its end; each time it waits, a round of answers arrives.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return output;
            }
            self.round.set(self.round.get() + 1);
        }
    }

    /// What went out since this was last asked: by round, `probe`, `peek` or `read` and the path.
    pub fn rounds(&self) -> Vec<Vec<String>> {
        let mut rounds: Vec<(usize, Vec<String>)> = Vec::new();
        for (round, batch) in self.log.take() {
            let lines = batch.iter().map(|operation| self.line(operation));
            match rounds.last_mut() {
                Some((last, operations)) if *last == round => operations.extend(lines),
                _ => rounds.push((round, lines.collect())),
            }
        }
        rounds.into_iter().map(|(_, operations)| operations).collect()
    }

    /// The same, counted.
    pub fn tally(&self) -> Tally {
        let log = self.log.take();
        let mut rounds: Vec<usize> = log.iter().map(|(round, _)| *round).collect();
        rounds.dedup();
        let mut tally = Tally { rounds: rounds.len(), batches: log.len(), ..Tally::default() };
        for operation in log.iter().flat_map(|(_, batch)| batch) {
            match operation {
                Operation::Probe { .. } => tally.probes += 1,
                Operation::Peek { .. } => tally.peeks += 1,
                Operation::Admit { .. } => tally.admissions += 1,
                Operation::Read { .. } => tally.reads += 1,
            }
        }
        tally
    }

    fn line(&self, operation: &Operation) -> String {
        match operation {
            Operation::Probe { path } => format!("probe {path}"),
            Operation::Peek { path } => format!("peek {path}"),
            Operation::Admit { target, .. } => format!("admit {}", self.targets.borrow()[*target as usize]),
            Operation::Read { target, .. } => format!("read {}", self.targets.borrow()[*target as usize]),
        }
    }

    fn answer_one(&self, operation: &Operation) -> Answer {
        let disk = self.disk.borrow();
        match operation {
            Operation::Probe { path } => {
                let mut targets = self.targets.borrow_mut();
                targets.push(path.clone());
                disk.probe(path, targets.len() as u32 - 1)
            }
            Operation::Peek { path } => match (self.lstat.get(), disk.peek(path)) {
                (Lstat::Failing, _) => Answer::Unavailable,
                (Lstat::Blind, _) => Answer::Absent,
                (Lstat::BlindToFiles, Answer::Present(entry)) if entry.kind == EntryKind::File => Answer::Absent,
                (Lstat::OtherVersions, Answer::Present(mut entry)) => {
                    entry.version = entry.version.iter().copied().chain("+".encode_utf16()).collect();
                    Answer::Present(entry)
                }
                (_, answer) => answer,
            },
            Operation::Admit { target, bounds } => disk.admit(&self.targets.borrow()[*target as usize], bounds),
            Operation::Read { target, bounds: Some(bounds), .. }
                if disk.admit(&self.targets.borrow()[*target as usize], bounds) != Answer::Admitted =>
            {
                Answer::Unavailable
            }
            Operation::Read { target, limit, .. } => {
                let targets = self.targets.borrow();
                match targets.get(*target as usize).and_then(|path| disk.text(path)) {
                    Some(text) if text.len() as f64 > *limit => Answer::Oversized,
                    Some(text) => Answer::Content(text.clone()),
                    None => Answer::Unavailable,
                }
            }
        }
    }
}

impl Answerer for Files {
    async fn answer(&self, batch: Vec<Operation>) -> Vec<Answer> {
        self.log.borrow_mut().push((self.round.get(), batch.clone()));
        let mut asked = false;
        poll_fn(|_| if std::mem::replace(&mut asked, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        batch.iter().map(|operation| self.answer_one(operation)).collect()
    }
}
