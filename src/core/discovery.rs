//! What stands where: the project root, and what is at each candidate's path.
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

use super::candidates::{Wanted, ancestors, directory_chain};
use super::loader::Loader;
use super::operation::{Answer, Answerer, Bounds, Entry, EntryKind, Operation};
use super::path::PathStyle;
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
    pub path: Rc<str>,
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
    pub marker: Option<Rc<str>>,
    /// Nearer marker paths, at all of which nothing is.
    pub empty: Vec<Rc<str>>,
    /// Whether nothing on the way was doubtful: a marker that is there but cannot be probed, say.
    pub conclusive: bool,
}

/// Asks each question once and keeps the answers for one composition.
pub struct Survey<'a, A> {
    files: &'a A,
    style: PathStyle,
    /// Whether peeks may be believed; written back to the session's memory.
    pub trust: Cell<PeekTrust>,
    standings: RefCell<HashMap<Rc<str>, Standing>>,
    peeked: RefCell<HashMap<Rc<str>, Answer>>,
    /// Paths of which the provider said something that cannot be understood.
    unintelligible: RefCell<HashSet<Rc<str>>>,
    /// Paths of files that lie within bounds.
    admitted: RefCell<HashSet<Rc<str>>>,
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

    /// Whether a regular file is at `path`, be it by the word of a peek alone.
    #[must_use]
    pub fn is_file(&self, path: &str) -> bool {
        match self.standings.borrow().get(path) {
            Some(standing) => standing.file().is_some(),
            None => {
                matches!(self.peeked.borrow().get(path), Some(Answer::Present(entry)) if entry.kind == EntryKind::File)
            }
        }
    }

    /// What a peek at `path` must find for this survey's result to stand.
    #[must_use]
    pub fn expectation(&self, path: &str) -> Option<Expected> {
        match (self.standing(path), self.peeked.borrow().get(path)) {
            // Of a refused file no peek can tell whether it still is one.
            (Standing::Unavailable | Standing::Refused, _) => None,
            (standing, Some(Answer::Present(entry))) if entry.kind == EntryKind::Link => {
                Some(Expected::Behind(standing.file().map(|file| file.version.clone())))
            }
            (standing, _) => {
                Some(standing.file().map_or(Expected::NoFile, |file| Expected::File(file.version.clone())))
            }
        }
    }

    /// Probe every path that was not probed yet, all together.
    pub async fn probe(&self, paths: impl IntoIterator<Item = Rc<str>>) {
        let mut asked: Vec<Rc<str>> = Vec::new();
        for path in paths {
            if !self.standings.borrow().contains_key(&path) && !asked.contains(&path) {
                asked.push(path);
            }
        }
        self.ask(asked, Vec::new()).await;
    }

    /// Peek at every path that was not peeked at yet, all together; an entry proves the provider's peeks.
    pub async fn peek(&self, paths: impl IntoIterator<Item = Rc<str>>) {
        let asked = paths.into_iter().filter(|path| !self.peeked.borrow().contains_key(path)).collect();
        self.ask(Vec::new(), asked).await;
    }

    /// Ask for `probes` and `peeks` in one batch, unless there are none.
    pub async fn ask(&self, probes: Vec<Rc<str>>, peeks: Vec<Rc<str>>) {
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
            let mut paths: Vec<Rc<str>> = unlikely.into_iter().map(|wanted| wanted.path).collect();
            paths.retain(|path| !self.standings.borrow().contains_key(path));
            self.peek(paths.clone()).await;
            self.probe_and_read(paths.into_iter().filter(|path| !self.seems_empty(path)).collect()).await;
        };
        zip(self.probe_and_read(likely.into_iter().map(|wanted| wanted.path).collect()), second_look).await;
    }

    async fn probe_and_read(&self, paths: Vec<Rc<str>>) {
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
        let doubtful: Vec<Rc<str>> = if self.trust.get() == PeekTrust::Broken {
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
        let found: Vec<(Rc<str>, Entry)> = {
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
            self.peek([cwd.into()]).await;
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
            let wanted = wanted(&chain);
            // The session's directory is there to be seen: other sessions' peeks prove nothing for this one.
            let peeks_at_nothing = !walk.empty.is_empty() || wanted.iter().any(|wanted| wanted.unlikely);
            let proof = peeks_at_nothing.then(|| cwd.into());
            let peeks = walk.empty.iter().cloned().chain(proof).collect();
            zip(self.ask(walk.marker.iter().cloned().collect(), peeks), self.look(wanted)).await;
            self.prove(cwd).await;
            if self.trust.get() != PeekTrust::Broken && self.confirms(walk) {
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
        let spots: Vec<(usize, Rc<str>)> = ancestors
            .iter()
            .enumerate()
            .flat_map(|(depth, directory)| {
                markers.names.iter().map(move |marker| (depth, self.style.join(directory, marker).into()))
            })
            .collect();
        let paths =
            |spots: &[(usize, Rc<str>)]| -> Vec<Rc<str>> { spots.iter().map(|(_, path)| path.clone()).collect() };
        let mut peeked = 0;
        for reach in REACHES {
            let (near, far) = spots.split_at(peeked);
            if near.iter().any(|(_, path)| !self.seems_empty(path)) {
                break;
            }
            let next: Vec<Rc<str>> = paths(far).into_iter().take(reach.saturating_mul(markers.names.len())).collect();
            peeked += next.len();
            self.peek_or_probe(next).await;
        }
        self.prove(&cwd).await;
        if self.trust.get() == PeekTrust::Broken {
            self.probe(paths(&spots)).await;
        }
        let mut unprobed: Option<(usize, &Rc<str>)> = None;
        for (depth, path) in &spots {
            // Another marker of the same directory is as good.
            if let Some((_, path)) = unprobed.filter(|(unprobed, _)| unprobed < depth) {
                return Err(UnprobedMarker { path: path.clone() });
            }
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
                unprobed.get_or_insert((*depth, path));
            }
            walk.conclusive = false;
        }
        match unprobed {
            Some((_, path)) => Err(UnprobedMarker { path: path.clone() }),
            None => Ok(walk),
        }
    }

    async fn peek_or_probe(&self, paths: Vec<Rc<str>>) {
        if self.trust.get() == PeekTrust::Broken {
            self.probe(paths).await;
        } else {
            self.peek(paths).await;
        }
    }
}

#[cfg(test)]
#[path = "discovery_tests.rs"]
mod tests;
