//! What need not be asked again: groups that the disk was seen to agree with.
//!
//! A settled group says: while a peek at each of its paths finds what is expected
//! here, and the model sees the same of each scope, reconciling it would be silent.
//! One batch of peeks then stands in for a resolve and a stat of every candidate.
//! A directory without any file that only a touch leads to is settled, too, but lies dormant: it
//! is not asked after until a touch leads there again.
//! A peek that finds anything else settles nothing: the group is surveyed anew, so a
//! provider whose peeks differ from its probes costs time, never truth
//! (ARCHITECTURE.md, "Fewer operations").

use std::rc::Rc;

use foldhash::HashMap;
use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::candidates::{Candidate, Group};
use super::config::Config;
use super::digest::HexDigest;
use super::discovery::{RootWalk, Standing, Survey};
use super::operation::{Answer, Answerer, EntryKind, Version};
use super::scope::ScopeKey;
use super::state::{Authority, Visible};

/// Dormant directories that are remembered, the latest ones.
const DORMANT: usize = 64;

/// What a peek must find.
#[derive(Clone, Debug, PartialEq)]
pub enum Expected {
    /// The same file as before.
    File(Version),
    /// No file, and no link that could lead to one.
    NoFile,
    /// A link, so that only a probe can tell: the same file behind it, or none.
    Behind(Option<Version>),
}

#[derive(Clone, Debug, PartialEq)]
struct SettledCandidate {
    scope: ScopeKey,
    path: Rc<str>,
    /// Digest that the model sees, if it sees one.
    seen: Option<HexDigest>,
    /// `None` for a scope that stays out unasked.
    expected: Option<Expected>,
}

/// The groups that stand, under one root and one baseline identity.
#[derive(Debug)]
pub struct Settled {
    cwd: String,
    identity: Option<String>,
    /// The root walk, to be confirmed by the same batch.
    pub walk: RootWalk,
    groups: HashMap<Rc<str>, Vec<SettledCandidate>>,
    /// Scope directories without any file that nothing but a touch calls for, the latest last.
    dormant: IndexSet<Rc<str>, RandomState>,
    /// Those of them that are asked after again.
    woken: Vec<Rc<str>>,
    /// Files whose peek told another version than their probe had.
    disputed: Vec<(Rc<str>, Version)>,
    /// What the model saw when every group that it calls for stood; then all of them together are silent.
    whole: Option<Authority>,
}

impl Settled {
    /// Nothing settled yet.
    #[must_use]
    pub fn new(cwd: String, identity: Option<String>, walk: RootWalk) -> Self {
        let (groups, dormant) = (HashMap::default(), IndexSet::default());
        Self { cwd, identity, walk, groups, dormant, woken: Vec::new(), disputed: Vec::new(), whole: None }
    }

    /// Keep what stood before.
    pub fn inherit(&mut self, before: Self) {
        self.groups = before.groups;
        self.dormant = before.dormant;
    }

    /// Settle `group` as surveyed, for a model that sees `visible`.
    pub fn add<A: Answerer>(
        &mut self,
        group: &Group,
        survey: &Survey<'_, A>,
        visible: &Visible,
        excluded: impl Fn(&ScopeKey) -> bool,
    ) {
        let settled: Option<Vec<SettledCandidate>> = group
            .candidates
            .iter()
            .map(|candidate| {
                let expected =
                    if excluded(&candidate.scope) { None } else { Some(survey.expectation(&candidate.path)?) };
                let seen = visible.standing(&candidate.scope).and_then(|change| change.digest.clone());
                Some(SettledCandidate { scope: candidate.scope.clone(), path: candidate.path.clone(), seen, expected })
            })
            .collect();
        match settled {
            Some(settled) => self.groups.insert(group.directory.clone(), settled),
            None => self.groups.remove(&group.directory),
        };
    }

    /// Let go of directories that nothing but a touch calls for: they are not asked after for ever. Those that hold
    /// nothing lie dormant.
    pub fn keep(&mut self, is_called_for: impl Fn(&str) -> bool) {
        let others = self.groups.extract_if(|directory, _| !is_called_for(directory));
        let vacant = others.filter(|(_, group)| group.iter().all(SettledCandidate::is_vacant));
        self.dormant.extend(vacant.map(|(directory, _)| directory));
        self.dormant.drain(..self.dormant.len().saturating_sub(DORMANT));
    }

    /// Note that `groups` are all that a model with this authority calls for, if all of them stand.
    pub fn complete<'g>(
        &mut self,
        authority: &Authority,
        mut groups: impl Iterator<Item = &'g Group>,
        visible: &Visible,
    ) {
        self.whole = groups.all(|group| self.covers(group, visible)).then(|| authority.clone());
    }

    /// Ask after those of `directories` again that lie dormant: a touch leads there.
    pub fn wake<'d>(&mut self, config: &Config, directories: impl IntoIterator<Item = &'d String>) {
        for directory in directories {
            if self.dormant.shift_remove(directory.as_str()) {
                let Group { directory, candidates } = config.group(&self.walk.root, directory);
                self.woken.push(Rc::clone(&directory));
                self.groups.insert(directory, candidates.into_iter().map(SettledCandidate::vacant).collect());
            }
        }
    }

    /// Whether a directory's group was settled and is asked after.
    #[must_use]
    pub fn knows(&self, directory: &str) -> bool {
        self.groups.contains_key(directory)
    }

    /// Whether everything that a model with this very authority calls for stands.
    #[must_use]
    pub fn is_whole(&self, authority: &Authority) -> bool {
        self.whole.as_ref().is_some_and(|whole| whole.is(authority))
    }

    /// Whether reconciling `group` for a model that sees `visible` would be silent.
    #[must_use]
    pub fn covers(&self, group: &Group, visible: &Visible) -> bool {
        self.groups.get(&group.directory).is_some_and(|settled| {
            settled.len() == group.candidates.len()
                && settled.iter().zip(&group.candidates).all(|(settled, candidate)| {
                    settled.scope == candidate.scope
                        && settled.path == candidate.path
                        && visible.standing(&candidate.scope).and_then(|change| change.digest.as_ref())
                            == settled.seen.as_ref()
                })
        })
    }

    /// Ask, in one batch, whether everything still stands. `None` when the root may be another one
    /// or the baseline is; otherwise the groups that do not stand are gone from the answer.
    pub async fn still_stands<A: Answerer>(
        mut self,
        survey: &Survey<'_, A>,
        cwd: &str,
        identity: Option<Option<&str>>,
    ) -> Option<Self> {
        if self.cwd != cwd || identity != self.identity.as_deref().map(Some) {
            return None;
        }
        let candidates = || self.groups.values().flatten();
        let behind = |candidate: &&SettledCandidate| matches!(candidate.expected, Some(Expected::Behind(_)));
        let probes =
            self.walk.marker.iter().cloned().chain(candidates().filter(behind).map(|candidate| candidate.path.clone()));
        let peeks = self.walk.empty.iter().cloned().chain(
            candidates()
                .filter(|candidate| candidate.expected.is_some() && !behind(candidate))
                .map(|candidate| candidate.path.clone()),
        );
        survey.ask(probes.collect(), peeks.collect()).await;
        if !survey.confirms(&self.walk) {
            return None;
        }
        let mut disputed = Vec::new();
        let before = self.groups.len();
        self.groups.retain(|_, settled| {
            let mut stands = true;
            for candidate in settled {
                stands &= candidate.agrees(survey, &mut disputed);
            }
            stands
        });
        // The first word on a new file must not depend on peeks that no longer see an old one.
        if self.groups.len() < before && disputed.iter().any(|(path, _)| !survey.is_file(path)) {
            for directory in &self.woken {
                self.groups.remove(directory);
            }
        }
        if self.groups.len() < before {
            self.whole = None;
        }
        self.disputed = disputed;
        Some(self)
    }

    /// Whether a probe has since found the very file that a peek had denied: such peeks are of no use.
    pub fn is_disputed<A: Answerer>(&self, survey: &Survey<'_, A>) -> bool {
        self.disputed
            .iter()
            .any(|(path, version)| survey.standing(path).file().is_some_and(|file| file.version == *version))
    }
}

impl SettledCandidate {
    /// A candidate that is no file, and that the model sees none of.
    fn vacant(Candidate { scope, path, .. }: Candidate) -> Self {
        Self { scope, path, seen: None, expected: Some(Expected::NoFile) }
    }

    fn is_vacant(&self) -> bool {
        self.expected == Some(Expected::NoFile)
    }

    fn agrees<A: Answerer>(&self, survey: &Survey<'_, A>, disputed: &mut Vec<(Rc<str>, Version)>) -> bool {
        match &self.expected {
            None => true,
            Some(Expected::NoFile) => match survey.peeked(&self.path) {
                Answer::Absent => true,
                Answer::Present(entry) => matches!(entry.kind, EntryKind::Directory | EntryKind::Other),
                _ => false,
            },
            Some(Expected::Behind(version)) => match survey.standing(&self.path) {
                Standing::Unavailable => false,
                standing => standing.file().map(|file| &file.version) == version.as_ref(),
            },
            Some(Expected::File(version)) => match survey.peeked(&self.path) {
                Answer::Present(entry) if entry.kind == EntryKind::File && entry.version == *version => true,
                Answer::Present(entry) if entry.kind == EntryKind::Link => false,
                _ => {
                    disputed.push((self.path.clone(), version.clone()));
                    false
                }
            },
        }
    }
}

#[cfg(test)]
#[path = "settled_tests.rs"]
mod tests;
