//! Set, replace, remove: one directory's candidates against what the model sees.
//!
//! The rules of one group (README, "Lifecycle" and "State And Refresh"; contract):
//! 1. While a candidate that the model sees cannot be probed, the whole group keeps its state.
//! 2. A failed probe or read concludes nothing; only a probe that finds no file removes.
//! 3. A file whose trimmed content equals an earlier sibling's is a duplicate: it is not
//!    loaded, and removed if the model sees it.
//! 4. The same digest under the same path is silence; another one replaces; an unseen file is set.
//! 5. A scope that the last complete composition did not retain stays out; if the model still
//!    sees it, it is removed.

use std::rc::Rc;

use foldhash::HashSet;

use super::candidates::{Candidate, Group};
use super::discovery::{Standing, Survey};
use super::loader::{Content, Loader, Reading};
use super::operation::{Answerer, Entry, Version};
use super::render::ChangeItem;
use super::scope::ScopeKey;
use super::state::{Action, Change, KnownFile, Memory, Visible};

/// A transition that the disk asks for.
#[derive(Clone, Debug)]
pub struct Transition {
    /// What is to be said.
    pub change: Change,
    /// The new content, unless it is a removal.
    pub content: Option<Rc<Content>>,
}

impl Transition {
    /// The removal of what the model sees, under the path by which it came to know it.
    fn removal(seen: &Change) -> Self {
        Self { change: Change { action: Action::Remove, digest: None, ..seen.clone() }, content: None }
    }

    /// The transition as rendering takes it.
    #[must_use]
    pub fn item(&self) -> ChangeItem<'_> {
        ChangeItem { change: self.change.clone(), content: self.content.as_ref().map(|content| &content.text) }
    }
}

/// What a group is compared with.
pub struct Comparison<'a> {
    /// What the model sees.
    pub visible: &'a Visible,
    /// Scopes that the last complete composition did not retain.
    pub excluded: &'a dyn Fn(&ScopeKey) -> bool,
}

/// The outcome for one group.
#[derive(Debug, Default)]
pub struct GroupOutcome {
    /// Transitions, in candidate order.
    pub transitions: Vec<Transition>,
    /// Whether every candidate was understood, so that the same disk will say the same again.
    pub conclusive: bool,
    /// What was learnt of each readable file.
    pub known: Vec<(ScopeKey, KnownFile)>,
}

impl Comparison<'_> {
    /// The present files of `group` whose content is needed: those that are not already
    /// known, at this very version, to be what the model sees.
    pub fn unread<A: Answerer>(&self, group: &Group, survey: &Survey<'_, A>, memory: &Memory) -> Vec<(Rc<str>, Entry)> {
        if self.is_locked(group, survey) {
            return Vec::new();
        }
        let pending = group.candidates.iter().filter(|candidate| !(self.excluded)(&candidate.scope));
        pending
            .filter_map(|candidate| {
                let entry = survey.file(&candidate.path)?;
                self.remembered(candidate, &entry, memory).is_none().then(|| (candidate.path.clone(), entry))
            })
            .collect()
    }

    /// Compare one group with the disk.
    pub fn reconcile<A: Answerer>(
        &self,
        group: &Group,
        survey: &Survey<'_, A>,
        loader: &Loader<'_, A>,
        memory: &Memory,
    ) -> GroupOutcome {
        let mut outcome = GroupOutcome { conclusive: true, ..GroupOutcome::default() };
        // Rule 5 comes first, and whatever the disk says.
        let left_out = group.candidates.iter().filter(|candidate| (self.excluded)(&candidate.scope));
        outcome.transitions =
            left_out.filter_map(|candidate| self.visible.standing(&candidate.scope).map(Transition::removal)).collect();
        if self.is_locked(group, survey) {
            outcome.conclusive = false;
            return outcome;
        }
        let mut seen = HashSet::default();
        for candidate in &group.candidates {
            let standing_change = self.visible.standing(&candidate.scope);
            let removal = standing_change.map(Transition::removal);
            if (self.excluded)(&candidate.scope) {
                continue;
            }
            let standing = survey.standing(&candidate.path);
            if standing == Standing::Unavailable {
                outcome.conclusive = false;
                continue;
            }
            let Some(entry) = standing.file() else {
                outcome.transitions.extend(removal);
                continue;
            };
            let (known, content) = match self.remembered(candidate, entry, memory) {
                Some(known) => (known.clone(), None),
                None => match loader.reading(&candidate.path) {
                    Reading::Content(content) => (KnownFile::of(candidate, &entry.version, &content), Some(content)),
                    Reading::Oversized => continue,
                    Reading::ReportedOversized | Reading::LeftOut | Reading::Unreadable => {
                        outcome.conclusive = false;
                        continue;
                    }
                },
            };
            let digest = known.digest.clone();
            let duplicate = !seen.insert(known.trimmed.clone());
            outcome.known.push((candidate.scope.clone(), known));
            if duplicate {
                outcome.transitions.extend(removal);
                continue;
            }
            let action = match standing_change {
                Some(change) if change.digest.as_ref() == Some(&digest) && change.path == candidate.display => continue,
                Some(_) => Action::Replace,
                None => Action::Set,
            };
            let change = Change {
                action,
                scope: candidate.scope.clone(),
                path: candidate.display.clone(),
                digest: Some(digest),
            };
            outcome.transitions.push(Transition { change, content });
        }
        outcome
    }

    /// Rule 1.
    fn is_locked<A: Answerer>(&self, group: &Group, survey: &Survey<'_, A>) -> bool {
        group.candidates.iter().any(|candidate| {
            !(self.excluded)(&candidate.scope)
                && self.visible.standing(&candidate.scope).is_some()
                && survey.standing(&candidate.path) == Standing::Unavailable
        })
    }

    /// What is known of the file without reading it: the provider's token and the model's digest both match.
    fn remembered<'m>(&self, candidate: &Candidate, entry: &Entry, memory: &'m Memory) -> Option<&'m KnownFile> {
        let change = self.visible.standing(&candidate.scope).filter(|change| change.path == candidate.display)?;
        memory.versions.get(&candidate.scope).filter(|known| {
            known.path == candidate.path
                && known.version == entry.version
                && change.digest.as_ref() == Some(&known.digest)
        })
    }
}

impl KnownFile {
    /// What a read taught about a file.
    #[must_use]
    pub fn of(candidate: &Candidate, version: &Version, content: &Content) -> Self {
        Self {
            path: candidate.path.clone(),
            version: version.clone(),
            digest: content.digests.full.clone(),
            trimmed: content.digests.trimmed.clone(),
        }
    }
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
