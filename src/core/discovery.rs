//! Where instructions may be: the project root, the directories that count, and
//! what stands at each candidate's path.
//!
//! The root walk, in order (README, "Lifecycle"; ARCHITECTURE.md, "Fewer operations"):
//! 1. Peek at the markers of the session's directory; at the same time the caller
//!    looks at that directory's candidates, which count whatever the root is.
//! 2. Without a marker there, peek at those of the next three ancestors together, then at those of all others.
//! 3. Probe the nearest marker found, as the published plugin would, while the
//!    candidates below it are looked at. If the probe disagrees, go on upwards.
//!
//! Where an earlier session has walked from the same directory, all of this is asked at once, on the
//! assumption that its root still stands; if it does not, the walk starts anew.
//!
//! A peek that finds nothing is believed only once a peek has found something.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use futures_lite::future::zip;

use super::config::Config;
use super::loader::Loader;
use super::operation::{Answer, Answerer, Bounds, Entry, EntryKind, Operation};
use super::path::PathStyle;
use super::scope::{ROOT_DIRECTORY, ScopeKey, USER_GLOBAL, USER_GLOBAL_FILE};
use super::settled::Expected;
use super::state::PeekTrust;

/// What is known of one path, a final link followed.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// An entry is there.
    Present(Entry),
    /// Nothing is there.
    Absent,
    /// A file is there, and is not to be loaded from there.
    Refused,
    /// The provider failed; nothing may be concluded.
    Unavailable,
}

impl Standing {
    fn of(answer: Answer) -> Self {
        match answer {
            Answer::Present(entry) => Self::Present(entry),
            Answer::Absent => Self::Absent,
            _ => Self::Unavailable,
        }
    }

    /// The entry, when it is a regular file.
    #[must_use]
    pub fn file(&self) -> Option<&Entry> {
        match self {
            Self::Present(entry) if entry.kind == EntryKind::File => Some(entry),
            _ => None,
        }
    }
}

/// One candidate file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its scope.
    pub scope: ScopeKey,
    /// Absolute path.
    pub path: String,
    /// Model-facing path.
    pub display: String,
}

/// The candidates of one directory: they are trusted, and lost, together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Directory part of its scopes.
    pub directory: String,
    /// Its candidates, in configured order.
    pub candidates: Vec<Candidate>,
}

/// A candidate's path, and whether it is worth a peek before a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Absolute path.
    pub path: String,
    /// A peek first: most directories have no such file.
    pub unlikely: bool,
}

/// How many levels of markers are peeked at together, one batch after another: most roots are near, and the peeks
/// beyond one are in vain.
const REACHES: [usize; 3] = [1, 3, usize::MAX];

/// What marks a root, and whether a marker that cannot be probed ends the walk.
#[derive(Clone, Copy, Debug)]
pub struct Markers<'a> {
    /// Entry names.
    pub names: &'a [String],
    /// Whether every probe must be answered; otherwise one that fails finds nothing.
    pub insist: bool,
}

/// A root marker that could not be probed, where it had to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnprobedMarker {
    /// Its absolute path.
    pub path: String,
}

impl fmt::Display for UnprobedMarker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the project root marker {} cannot be probed", self.path)
    }
}

/// Where the root walk ended, and what it found on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootWalk {
    /// The project root; the session's directory when no marker was found.
    pub root: String,
    /// The marker that was found.
    pub marker: Option<String>,
    /// Nearer marker paths, at all of which nothing is.
    pub empty: Vec<String>,
    /// Whether nothing on the way was doubtful: a marker that is there but cannot be probed, say.
    pub conclusive: bool,
}

/// Asks each question once and keeps the answers for one composition.
pub struct Survey<'a, A> {
    files: &'a A,
    style: PathStyle,
    /// Whether peeks may be believed; written back to the session's memory.
    pub trust: Cell<PeekTrust>,
    standings: RefCell<HashMap<String, Standing>>,
    peeked: RefCell<HashMap<String, Answer>>,
    /// Paths of which the provider said something that cannot be understood.
    unintelligible: RefCell<HashSet<String>>,
    /// Paths of files that lie within bounds.
    admitted: RefCell<HashSet<String>>,
    ahead: Option<ReadAhead<'a, A>>,
}

/// Who reads, and which paths, as soon as a look has found a file there.
struct ReadAhead<'a, A> {
    loader: &'a Loader<'a, A>,
    wants: Box<dyn Fn(&str) -> bool + 'a>,
}

impl<'a, A: Answerer> Survey<'a, A> {
    /// A survey that has asked nothing yet.
    pub fn new(files: &'a A, style: PathStyle, trust: PeekTrust) -> Self {
        Self {
            files,
            style,
            trust: Cell::new(trust),
            standings: RefCell::default(),
            peeked: RefCell::default(),
            unintelligible: RefCell::default(),
            admitted: RefCell::default(),
            ahead: None,
        }
    }

    /// Let `loader` read every file that a look finds and `wants` names, without waiting for the rest of the survey.
    #[must_use]
    pub fn reading_ahead(mut self, loader: &'a Loader<'a, A>, wants: impl Fn(&str) -> bool + 'a) -> Self {
        self.ahead = Some(ReadAhead { loader, wants: Box::new(wants) });
        self
    }

    /// What stands at `path`; a path that was never asked about is unavailable.
    #[must_use]
    pub fn standing(&self, path: &str) -> Standing {
        self.standings.borrow().get(path).cloned().unwrap_or(Standing::Unavailable)
    }

    /// The regular file at `path`, if one is known to be there.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<Entry> {
        self.standing(path).file().cloned()
    }

    /// What a peek at `path` must find for this survey's result to stand.
    #[must_use]
    pub fn expectation(&self, path: &str) -> Option<Expected> {
        match (self.standing(path), self.peeked.borrow().get(path)) {
            (Standing::Unavailable, _) => None,
            (standing, Some(Answer::Present(entry))) if entry.kind == EntryKind::Link => {
                Some(Expected::Behind(standing.file().map(|file| file.version.clone())))
            }
            (standing, _) => {
                Some(standing.file().map_or(Expected::NoFile, |file| Expected::File(file.version.clone())))
            }
        }
    }

    /// Probe every path that was not probed yet, all together.
    pub async fn probe(&self, paths: impl IntoIterator<Item = String>) {
        let mut asked: Vec<String> = Vec::new();
        for path in paths {
            if !self.standings.borrow().contains_key(&path) && !asked.contains(&path) {
                asked.push(path);
            }
        }
        self.ask(asked, Vec::new()).await;
    }

    /// Peek at every path that was not peeked at yet, all together; an entry proves the provider's peeks.
    pub async fn peek(&self, paths: impl IntoIterator<Item = String>) {
        let asked = paths.into_iter().filter(|path| !self.peeked.borrow().contains_key(path)).collect();
        self.ask(Vec::new(), asked).await;
    }

    /// Ask for `probes` and `peeks` in one batch, unless there are none.
    pub async fn ask(&self, probes: Vec<String>, peeks: Vec<String>) {
        if probes.is_empty() && peeks.is_empty() {
            return;
        }
        let batch = probes
            .iter()
            .map(|path| Operation::Probe { path: path.clone() })
            .chain(peeks.iter().map(|path| Operation::Peek { path: path.clone() }))
            .collect();
        let mut answers = self.files.answer(batch).await.into_iter();
        for (path, answer) in probes.into_iter().zip(answers.by_ref()) {
            if answer == Answer::Unintelligible {
                self.unintelligible.borrow_mut().insert(path.clone());
            }
            self.standings.borrow_mut().insert(path, Standing::of(answer));
        }
        for (path, answer) in peeks.into_iter().zip(answers) {
            if matches!(answer, Answer::Present(_)) && self.trust.get() == PeekTrust::Unproven {
                self.trust.set(PeekTrust::Proven);
            }
            self.peeked.borrow_mut().insert(path, answer);
        }
    }

    /// What a peek at `path` found; one that was never made is unavailable.
    #[must_use]
    pub fn peeked(&self, path: &str) -> Answer {
        self.peeked.borrow().get(path).cloned().unwrap_or(Answer::Unavailable)
    }

    /// Learn what stands at every wanted path: unlikely ones are peeked at first and probed
    /// only when something is there, the others are probed at once.
    pub async fn look(&self, wanted: Vec<Wanted>) {
        if self.trust.get() == PeekTrust::Broken {
            self.probe_and_read(wanted.into_iter().map(|wanted| wanted.path).collect()).await;
            return;
        }
        let (unlikely, likely): (Vec<Wanted>, Vec<Wanted>) = wanted.into_iter().partition(|wanted| wanted.unlikely);
        let second_look = async {
            let mut paths: Vec<String> = unlikely.into_iter().map(|wanted| wanted.path).collect();
            paths.retain(|path| !self.standings.borrow().contains_key(path));
            self.peek(paths.clone()).await;
            self.probe_and_read(paths.into_iter().filter(|path| !self.seems_empty(path)).collect()).await;
        };
        zip(self.probe_and_read(likely.into_iter().map(|wanted| wanted.path).collect()), second_look).await;
    }

    async fn probe_and_read(&self, paths: Vec<String>) {
        self.probe(paths.iter().cloned()).await;
        let Some(ahead) = &self.ahead else { return };
        let found = paths.into_iter().filter(|path| (ahead.wants)(path)).filter_map(|path| {
            let entry = self.file(&path)?;
            Some((path, entry))
        });
        ahead.loader.read(found.collect()).await;
    }

    /// Decide whether the peeks that found nothing can be believed, and probe what they cannot vouch for.
    pub async fn settle(&self, cwd: &str) {
        self.prove(cwd).await;
        let doubtful: Vec<String> = if self.trust.get() == PeekTrust::Broken {
            self.peeked.borrow().keys().cloned().collect()
        } else {
            Vec::new()
        };
        self.probe(doubtful).await;
        let mut standings = self.standings.borrow_mut();
        for (path, answer) in self.peeked.borrow().iter() {
            if matches!(answer, Answer::Absent) {
                standings.entry(path.clone()).or_insert(Standing::Absent);
            }
        }
    }

    /// Refuse every file that was found and does not lie within `bounds`.
    pub async fn confine(&self, bounds: &Rc<Bounds>) {
        let found: Vec<(String, Entry)> = {
            let standings = self.standings.borrow();
            let files = standings.iter().filter_map(|(path, standing)| Some((path.clone(), standing.file()?.clone())));
            files.filter(|(path, _)| !self.admitted.borrow().contains(path)).collect()
        };
        if found.is_empty() {
            return;
        }
        let batch = found
            .iter()
            .map(|(_, entry)| Operation::Admit { target: entry.target, bounds: Rc::clone(bounds) })
            .collect();
        for ((path, _), answer) in found.into_iter().zip(self.files.answer(batch).await) {
            let refused = match answer {
                Answer::Admitted => {
                    self.admitted.borrow_mut().insert(path);
                    continue;
                }
                Answer::Refused => Standing::Refused,
                _ => Standing::Unavailable,
            };
            self.standings.borrow_mut().insert(path, refused);
        }
    }

    /// The session's directory exists, so a provider whose peeks work can see it.
    async fn prove(&self, cwd: &str) {
        let unproven = self.trust.get() == PeekTrust::Unproven && !self.peeked.borrow().is_empty();
        if unproven {
            self.peek([cwd.to_owned()]).await;
            if self.trust.get() == PeekTrust::Unproven {
                self.trust.set(PeekTrust::Broken);
            }
        }
    }

    /// Whether a probe found anything at `path`, be it understood or not: enough for a marker.
    fn is_there(&self, path: &str) -> bool {
        matches!(self.standing(path), Standing::Present(_)) || self.unintelligible.borrow().contains(path)
    }

    /// Whether a peek at `path` found what may be a file.
    #[must_use]
    pub fn sees(&self, path: &str) -> bool {
        matches!(self.peeked(path), Answer::Present(entry) if matches!(entry.kind, EntryKind::File | EntryKind::Link))
    }

    fn seems_empty(&self, path: &str) -> bool {
        matches!(self.peeked.borrow().get(path), Some(Answer::Absent))
    }

    /// Whether a peek at `path` found an entry that is no link: the probe will most likely agree.
    fn seems_solid(&self, path: &str) -> bool {
        matches!(self.peeked.borrow().get(path), Some(Answer::Present(entry)) if entry.kind != EntryKind::Link)
    }

    /// Whether the answers that are in confirm that `walk` ends where it did.
    #[must_use]
    pub fn confirms(&self, walk: &RootWalk) -> bool {
        walk.marker.iter().all(|path| self.is_there(path))
            && walk.empty.iter().all(|path| self.peeked(path) == Answer::Absent)
    }

    /// Find the project root of `cwd` and, meanwhile, look at the candidates that `wanted` names for
    /// each directory that counts: `cwd` at once, those above it as soon as the root is as good as found.
    /// Where an earlier walk is at hand, everything is asked on the assumption that it still ends there.
    ///
    /// # Errors
    /// A marker that cannot be probed, if `markers` insist.
    pub async fn find_root(
        &self,
        cwd: &str,
        markers: Markers<'_>,
        earlier: Option<&RootWalk>,
        wanted: impl Fn(&[String]) -> Vec<Wanted>,
    ) -> Result<RootWalk, UnprobedMarker> {
        if let Some(walk) = earlier {
            let chain = directory_chain(self.style, &walk.root, cwd);
            let confirmation = self.ask(walk.marker.iter().cloned().collect(), walk.empty.clone());
            zip(confirmation, self.look(wanted(&chain))).await;
            if self.confirms(walk) {
                return Ok(walk.clone());
            }
        }
        let ancestors: Vec<String> = ancestors(self.style, cwd).collect();
        let (here, above) = ancestors.split_at(1);
        let look_above = |depth: usize| self.look(wanted(above.get(..depth).unwrap_or_default()));
        let (walk, ()) = zip(self.walk(&ancestors, markers, look_above), self.look(wanted(here))).await;
        walk
    }

    /// Walk upwards; `look_above` looks at the candidates of that many directories above the first.
    async fn walk<F: Future<Output = ()>>(
        &self,
        ancestors: &[String],
        markers: Markers<'_>,
        look_above: impl Fn(usize) -> F,
    ) -> Result<RootWalk, UnprobedMarker> {
        let cwd = ancestors.first().cloned().unwrap_or_default();
        let mut walk = RootWalk { root: cwd.clone(), marker: None, empty: Vec::new(), conclusive: true };
        let spots: Vec<(usize, String)> = ancestors
            .iter()
            .enumerate()
            .flat_map(|(depth, directory)| {
                markers.names.iter().map(move |marker| (depth, self.style.join(directory, marker)))
            })
            .collect();
        let paths = |spots: &[(usize, String)]| -> Vec<String> { spots.iter().map(|(_, path)| path.clone()).collect() };
        let mut peeked = 0;
        for reach in REACHES {
            let (near, far) = spots.split_at(peeked);
            if near.iter().any(|(_, path)| !self.seems_empty(path)) {
                break;
            }
            let next: Vec<String> = paths(far).into_iter().take(reach.saturating_mul(markers.names.len())).collect();
            peeked += next.len();
            self.peek_or_probe(next).await;
        }
        self.prove(&cwd).await;
        if self.trust.get() == PeekTrust::Broken {
            self.probe(paths(&spots)).await;
        }
        for (depth, path) in &spots {
            // The markers further up are peeked at late when those at hand turn out not to count.
            self.peek_or_probe(vec![path.clone()]).await;
            if self.seems_empty(path) && self.trust.get() != PeekTrust::Broken {
                walk.empty.push(path.clone());
                continue;
            }
            if self.seems_solid(path) {
                zip(self.probe([path.clone()]), look_above(*depth)).await;
            } else {
                self.probe([path.clone()]).await;
            }
            if self.is_there(path) {
                look_above(*depth).await;
                walk.root = ancestors.get(*depth).cloned().unwrap_or(cwd);
                walk.marker = Some(path.clone());
                return Ok(walk);
            }
            if markers.insist && self.standing(path) == Standing::Unavailable {
                return Err(UnprobedMarker { path: path.clone() });
            }
            walk.conclusive = false;
        }
        Ok(walk)
    }

    async fn peek_or_probe(&self, paths: Vec<String>) {
        if self.trust.get() == PeekTrust::Broken {
            self.probe(paths).await;
        } else {
            self.peek(paths).await;
        }
    }
}

/// `directory` and everything above it, upwards.
fn ancestors(style: PathStyle, directory: &str) -> impl Iterator<Item = String> {
    std::iter::successors(Some(directory.to_owned()), move |current| {
        let parent = style.dirname(current);
        (parent != *current).then_some(parent)
    })
}

/// The directories from `root` down to `cwd`; from the file system's root when `root` is no ancestor.
#[must_use]
pub fn directory_chain(style: PathStyle, root: &str, cwd: &str) -> Vec<String> {
    let mut chain = Vec::new();
    for directory in ancestors(style, cwd) {
        let is_root = directory == root;
        chain.push(directory);
        if is_root {
            break;
        }
    }
    chain.reverse();
    chain
}

/// The directories strictly below `cwd` through which a touched file is reached, shallowest first.
/// A path that leaves `cwd`, or whose relative parent merely begins with `..`, reaches none.
#[must_use]
pub fn touched_directories(style: PathStyle, cwd: &str, touched: &str) -> Vec<String> {
    let parent = style.dirname(&style.resolve(cwd, touched));
    let relative = style.relative(cwd, &parent);
    if relative.is_empty() || relative.starts_with("..") || style.is_absolute(&relative) {
        return Vec::new();
    }
    let mut directory = cwd.to_owned();
    relative
        .split(style.separator())
        .map(|name| {
            directory = style.join(&directory, name);
            directory.clone()
        })
        .collect()
}

/// The scope directory of a directory that a model reads as `display`, which is empty for the root.
fn directory_of_display(display: &str) -> &str {
    if display.is_empty() { ROOT_DIRECTORY } else { display }
}

impl Config {
    /// What a complete baseline is made of: the harness home, then every directory from `root` down to `cwd`.
    #[must_use]
    pub fn chain(&self, root: &str, cwd: &str) -> Vec<Group> {
        let directories = directory_chain(self.style, root, cwd);
        let project = directories.iter().map(|directory| self.group_at(root, directory));
        std::iter::once(self.user_global_group()).chain(project).collect()
    }

    /// The single candidate of the harness home.
    #[must_use]
    pub fn user_global_group(&self) -> Group {
        let candidate = Candidate {
            scope: ScopeKey::user_global(),
            path: self.user_global_path(),
            display: self.user_global_display(),
        };
        Group { directory: USER_GLOBAL.to_owned(), candidates: vec![candidate] }
    }

    /// The candidates in `directory`, an absolute path, under project root `root`: what discovery looks at.
    #[must_use]
    pub fn group_at(&self, root: &str, directory: &str) -> Group {
        let display = self.style.display(root, directory);
        self.group_of(directory_of_display(&display), &self.candidate_names(), directory, &display)
    }

    /// The candidates that a scope directory is reconciled with. `user-global` names the harness home,
    /// even where a project directory spells it.
    #[must_use]
    pub fn group(&self, root: &str, directory: &str) -> Group {
        self.candidates(root, directory, &self.candidate_names())
    }

    /// One candidate of a scope directory.
    #[must_use]
    pub fn candidate(&self, root: &str, directory: &str, name: &str) -> Candidate {
        self.candidates(root, directory, &[name]).candidates.swap_remove(0)
    }

    fn candidates(&self, root: &str, directory: &str, names: &[&str]) -> Group {
        if directory == USER_GLOBAL {
            let mut group = self.group_of(directory, names, &self.dsh_home, "");
            for candidate in &mut group.candidates {
                candidate.display = self.user_global_display();
            }
            return group;
        }
        let at = self.style.resolve(root, directory);
        self.group_of(directory, names, &at, &self.style.display(root, &at))
    }

    /// Candidates in `directory`, an absolute path that a model reads as `display`.
    fn group_of(&self, scopes: &str, names: &[&str], directory: &str, display: &str) -> Group {
        let candidate = |name: &&str| Candidate {
            scope: ScopeKey::new(scopes, name),
            path: self.style.join(directory, name),
            display: if display.is_empty() { (*name).to_owned() } else { format!("{display}/{name}") },
        };
        Group { directory: scopes.to_owned(), candidates: names.iter().map(candidate).collect() }
    }

    /// The scope directory of an absolute directory.
    #[must_use]
    pub fn scope_directory(&self, root: &str, directory: &str) -> String {
        directory_of_display(&self.style.display(root, directory)).to_owned()
    }

    /// The candidates of `groups`, as things to look at.
    #[must_use]
    pub fn wanted(&self, groups: impl IntoIterator<Item = Group>) -> Vec<Wanted> {
        groups
            .into_iter()
            .flat_map(|group| group.candidates)
            .map(|candidate| Wanted { unlikely: self.is_unlikely(&candidate), path: candidate.path })
            .collect()
    }

    /// Whether a directory rarely has a file of this name.
    #[must_use]
    pub fn is_unlikely(&self, candidate: &Candidate) -> bool {
        let (directory, name) = candidate.scope.parts();
        !(directory == USER_GLOBAL && name == USER_GLOBAL_FILE) && self.is_overlay(name)
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
