//! Which candidates a composition reconciles, in which order.
//!
//! The order is that of the published package, and shows in every message: the chain from
//! user-global and the project root down to the session's directory, then the scopes of the
//! pending message, then the directories that the model has seen instructions of, then the
//! directories that a touch has reached.

use std::cell::RefCell;
use std::rc::Rc;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashSet};
use indexmap::IndexMap;

use super::candidates::{Candidate, Group};
use super::config::Config;
use super::scope::{ScopeKey, USER_GLOBAL};
use super::state::{Memory, Source, Visible};

/// The groups of one composition.
pub struct Plan<'a> {
    config: &'a Config,
    cwd: &'a str,
    /// The project root.
    pub root: String,
    visible: &'a Visible,
    /// The chain as it is rendered: by directory.
    pub rendered: Vec<Group>,
    /// The chain as it is reconciled: by scope, where a directory that spells a reserved name has another path.
    pub chain: Vec<Group>,
    /// What was spelled out already: every touch plans the same scopes again.
    spelled_candidates: RefCell<HashMap<ScopeKey, Candidate>>,
    spelled_groups: RefCell<HashMap<Rc<str>, Group>>,
    /// Whether the model sees a baseline that the chain can be reconciled with; otherwise the chain is
    /// rendered as a whole, or there is nothing of it to say.
    pub compatible: bool,
}

impl<'a> Plan<'a> {
    /// Plan for a session in `cwd` under project root `root`, whose model sees `visible`.
    #[must_use]
    pub fn new(config: &'a Config, cwd: &'a str, root: &str, visible: &'a Visible, compatible: bool) -> Self {
        let rendered = config.chain(root, cwd);
        let mut chain = ScopeList::default();
        chain.add(config.user_global_group());
        for group in rendered.iter().skip(1) {
            let is_reserved = &*group.directory == USER_GLOBAL;
            chain.add(if is_reserved { config.group(root, &group.directory) } else { group.clone() });
        }
        Self {
            config,
            cwd,
            root: root.to_owned(),
            visible,
            rendered,
            chain: chain.into_groups(),
            spelled_candidates: RefCell::default(),
            spelled_groups: RefCell::default(),
            compatible,
        }
    }

    /// One candidate of a scope directory.
    fn candidate(&self, scope: &ScopeKey) -> Candidate {
        if let Some(candidate) = self.spelled_candidates.borrow().get(scope) {
            return candidate.clone();
        }
        let (directory, name) = scope.parts();
        let candidate = self.config.candidate(&self.root, directory, name);
        self.spelled_candidates.borrow_mut().insert(scope.clone(), candidate.clone());
        candidate
    }

    /// All candidates of a scope directory.
    fn group(&self, directory: &str) -> Group {
        if let Some(group) = self.spelled_groups.borrow().get(directory) {
            return group.clone();
        }
        let group = self.config.group(&self.root, directory);
        self.spelled_groups.borrow_mut().insert(Rc::clone(&group.directory), group.clone());
        group
    }

    /// Scopes that the complete composition left out stay out while its baseline stands.
    #[must_use]
    pub fn leaves_out(&self, scope: &ScopeKey, memory: &Memory) -> bool {
        self.compatible && memory.excludes(scope)
    }

    /// Whether what is rendered and what is reconciled are the same files, as they are unless a directory
    /// spells a reserved name.
    #[must_use]
    pub fn is_regular(&self) -> bool {
        self.rendered.iter().skip(1).all(|group| &*group.directory != USER_GLOBAL)
    }

    /// All groups that any of `touched` reconciles, the chain among them. A touch sees the message of the one
    /// before as pending, which may remove whatever `previous`, a superseded baseline, had set.
    #[must_use]
    pub fn every_group(&self, pending: Option<&Source>, previous: Option<&Source>, touched: &[String]) -> Vec<Group> {
        self.groups(true, &[pending, previous], touched)
    }

    /// The groups that `touched` reconciles: one path, or none at a pre-step.
    #[must_use]
    pub fn groups_of(&self, pending: Option<&Source>, touched: &[String]) -> Vec<Group> {
        self.groups(self.compatible, &[pending], touched)
    }

    /// `groups`, which are all that a touch reconciles, with every file in one of them: one that two scopes reach is the
    /// business of the first that does not stay out. Where there is no file, each learns that for itself.
    #[must_use]
    pub fn each_file_once(
        &self,
        mut groups: Vec<Group>,
        memory: &Memory,
        is_file: impl Fn(&str) -> bool,
    ) -> Vec<Group> {
        let mut files = HashSet::default();
        for group in &mut groups {
            group.candidates.retain(|Candidate { scope, path, .. }| {
                self.leaves_out(scope, memory) || !is_file(path) || files.insert(Rc::clone(path))
            });
        }
        groups
    }

    fn groups(&self, with_chain: bool, pending: &[Option<&Source>], touched: &[String]) -> Vec<Group> {
        let chain: HashSet<&ScopeKey> =
            self.chain.iter().flat_map(|group| &group.candidates).map(|candidate| &candidate.scope).collect();
        let mut scopes = ScopeList::default();
        if with_chain {
            self.chain.iter().cloned().for_each(|group| scopes.add(group));
        }
        // A pending message brings in its very scopes.
        for change in pending.iter().flatten().flat_map(|source| &source.changes) {
            if !chain.contains(&change.scope) {
                let directory = change.scope.parts().0.into();
                scopes.add(Group { directory, candidates: vec![self.candidate(&change.scope)] });
            }
        }
        // A visible scope outside the chain brings in its whole directory: even one of the chain, which a
        // change of the configured names can leave behind.
        let mut whole = HashSet::default();
        for scope in self.visible.scopes().filter(|scope| !chain.contains(scope)) {
            let (directory, _) = scope.parts();
            if whole.insert(directory) {
                scopes.add(match directory {
                    USER_GLOBAL => self.config.user_global_group(),
                    directory => self.group(directory),
                });
            }
        }
        for directory in self.config.touched_scopes(&self.root, self.cwd, touched) {
            scopes.add(self.group(&directory));
        }
        scopes.into_groups()
    }
}

/// Scopes, each once, in order of first appearance, by directory.
#[derive(Default)]
struct ScopeList {
    groups: IndexMap<Rc<str>, Vec<Candidate>, RandomState>,
}

impl ScopeList {
    /// Add a group, each scope once.
    fn add(&mut self, group: Group) {
        let candidates = self.groups.entry(group.directory).or_default();
        for candidate in group.candidates {
            if !candidates.iter().any(|other| other.scope == candidate.scope) {
                candidates.push(candidate);
            }
        }
    }

    fn into_groups(self) -> Vec<Group> {
        self.groups.into_iter().map(|(directory, candidates)| Group { directory, candidates }).collect()
    }
}
