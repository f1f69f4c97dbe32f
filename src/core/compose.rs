//! One composition: from what the model sees and what was touched to the message it gets next.
//!
//! 1. Fold the visible sources and those of the claimed batch: the authority.
//! 2. Take what a previous composition settled: groups of candidates that the disk agreed with
//!    and that the model sees unchanged. One batch of peeks tells whether they still agree.
//! 3. Find the project root and survey every other group; read what is not known.
//! 4. Without a compatible baseline in sight, render a complete one. After a resume the
//!    rendering is made once, unseen, to learn which files it would not retain.
//! 5. Reconcile the remaining groups, touch by touch, each touch seeing the pending message of
//!    the one before, as if they had been composed one after another.
//! 6. Remember what was learnt; settle what was silent.

use std::cell::RefCell;
use std::collections::HashSet;

use indexmap::IndexMap;

use super::config::Config;
use super::discovery::{Candidate, Group, RootWalk, Survey, Wanted, directory_chain, touched_directories};
use super::loader::{LoadedFile, Loader, without_duplicates};
use super::operation::Answerer;
use super::reconcile::{Comparison, GroupOutcome, Transition};
use super::render::{BaselineItem, RenderedBaseline, render_baseline, render_changes};
use super::scope::{ScopeKey, USER_GLOBAL};
use super::settled::Settled;
use super::state::{Action, BaselineMark, Change, Memory, PeekTrust, Source, Visible};
use super::text::JsText;

/// What a composition starts from.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Absolute working directory of the session.
    pub cwd: String,
    /// Sources of the visible messages and, behind them, of the claimed batch, in order.
    pub authority: Vec<Source>,
    /// Source of the message that waits in the inbox.
    pub pending: Option<Source>,
    /// Touched paths, absolute or relative to `cwd`, in order.
    pub touched: Vec<String>,
}

/// The message that a composition calls for.
#[derive(Debug, PartialEq)]
pub struct Message {
    /// Text blocks: the baseline's, the batch's, or both.
    pub blocks: Vec<JsText>,
    /// The typed source.
    pub source: Source,
}

/// Compose what `request` calls for; `None` when the model already sees everything, or loading is off.
///
/// The memory is borrowed between questions only, never while an answer is awaited.
pub async fn compose<A: Answerer>(files: &A, config: &Config, memory: &RefCell<Memory>, request: Request) -> Option<Message> {
    if !config.budget.is_enabled() {
        return None;
    }
    let settled = memory.borrow_mut().settled.take();
    let survey = Survey::new(files, config.style, memory.borrow().peeks);
    let composition = Composition {
        config,
        memory,
        loader: Loader::new(files, config.max_source_bytes),
        survey,
        visible: Visible::of(&request.authority),
        baseline: request.authority.iter().rev().find(|source| source.baseline.is_some()),
        request: &request,
    };
    let standing = match settled {
        Some(settled) => settled.still_stands(&composition.survey, &request.cwd, composition.baseline_identity()).await,
        None => None,
    };
    composition.run(standing).await
}

/// The parts of one composition.
struct Composition<'a, A> {
    config: &'a Config,
    memory: &'a RefCell<Memory>,
    survey: Survey<'a, A>,
    loader: Loader<'a, A>,
    visible: Visible,
    /// The latest complete baseline in the authority.
    baseline: Option<&'a Source>,
    request: &'a Request,
}

/// Under which root, and against what, a composition reconciles.
struct Plan {
    root: String,
    /// The groups from user-global and the root down to the session's directory.
    chain: Vec<Group>,
    /// Whether the model sees a baseline that the chain can be reconciled with; otherwise the chain is
    /// rendered as a whole, or there is nothing of it to say.
    compatible: bool,
}

impl Plan {
    /// Scopes that the complete composition left out stay out while its baseline stands.
    fn leaves_out(&self, scope: &ScopeKey, memory: &Memory) -> bool {
        self.compatible && memory.excludes(scope)
    }
}

/// A complete baseline rendering.
struct Baseline {
    text: JsText,
    changes: Vec<Change>,
    identity: String,
}

/// What a reconciliation came to.
struct Outcome {
    message: Option<Message>,
    /// Groups that were understood completely and are fully represented.
    silent: Vec<Group>,
    /// What the model will see once the message has entered.
    visible: Visible,
}

impl<A: Answerer> Composition<'_, A> {
    async fn run(&self, standing: Option<Settled>) -> Option<Message> {
        let (cwd, config) = (&self.request.cwd, self.config);
        let walk = match &standing {
            Some(settled) => settled.walk.clone(),
            None => self.survey.find_root(cwd, &config.project_root_markers, |directories| self.wanted_at(directories)).await,
        };
        let identity = config.baseline_identity(cwd, &walk.root);
        let compatible = self.baseline_identity() == Some(Some(identity.as_str()));
        let chain = self.chain_groups(&walk.root);
        let plan = Plan { root: walk.root.clone(), chain: self.reconciled(&walk.root, &chain), compatible };
        let is_settled = |group: &Group| standing.as_ref().is_some_and(|settled| settled.covers(group, &self.visible));
        // Without a baseline in sight, a settled chain means that there was nothing to compose one from.
        let renders = (!compatible || self.memory.borrow().excluded.is_none()) && !plan.chain.iter().all(is_settled);
        let mut surveyed = self.every_group(&plan);
        surveyed.retain(|group| !is_settled(group));
        if renders {
            surveyed.extend(chain.iter().cloned());
        }

        self.survey.look(self.wanted(&surveyed, renders)).await;
        self.survey.probe(self.seen_paths(&surveyed)).await;
        self.survey.settle(cwd).await;
        self.loader.read(self.unread(&plan, &chain, &surveyed, renders)).await;

        let rendered = if renders { self.render(&chain, identity.clone(), !compatible && self.baseline.is_some()) } else { None };
        let baseline = rendered.filter(|_| !compatible);
        let outcome = self.reconcile(&plan, &surveyed, baseline);
        let identity = if compatible || outcome.message.as_ref().is_some_and(|message| message.source.baseline.is_some()) {
            Some(identity)
        } else {
            self.baseline_identity().flatten().map(str::to_owned)
        };
        // Where a directory spells a reserved name, what is rendered and what is reconciled are different files.
        if same_paths(&chain, &plan.chain) {
            self.remember(walk, identity, standing, &outcome);
        }
        outcome.message
    }

    /// `None` without a visible baseline; inside, the identity it was composed under.
    fn baseline_identity(&self) -> Option<Option<&str>> {
        let mark = self.baseline?.baseline.as_ref()?;
        Some(mark.identity.as_deref())
    }

    fn chain_groups(&self, root: &str) -> Vec<Group> {
        let directories = directory_chain(self.config.style, root, &self.request.cwd);
        let mut groups = vec![self.config.user_global_group()];
        groups.extend(directories.iter().map(|directory| self.config.group_at(root, directory)));
        groups
    }

    /// The chain as it is reconciled: by scope, where a directory that spells a reserved name has another path.
    fn reconciled(&self, root: &str, chain: &[Group]) -> Vec<Group> {
        chain
            .iter()
            .skip(1)
            .map(|group| self.config.group(root, &group.directory))
            .fold(ScopeList::starting(self.config.user_global_group()), |mut list, group| {
                list.add(group);
                list
            })
            .into_groups()
    }

    /// All groups that any touch of this composition reconciles.
    fn every_group(&self, plan: &Plan) -> Vec<Group> {
        let root = &plan.root;
        let mut scopes = ScopeList::outside(&plan.chain).including(&plan.chain);
        self.add_pending(root, self.request.pending.as_ref(), &mut scopes);
        self.add_visible(root, &mut scopes);
        for touched in &self.request.touched {
            self.add_touched(root, touched, &mut scopes);
        }
        let memory = self.memory.borrow();
        scopes.into_disjoint_groups(|scope| plan.leaves_out(scope, &memory))
    }

    fn add_pending(&self, root: &str, pending: Option<&Source>, scopes: &mut ScopeList) {
        for change in pending.iter().flat_map(|source| &source.changes) {
            if scopes.is_outside(&change.scope) {
                let (directory, name) = change.scope.parts();
                let candidate = self.config.candidate(root, directory, name);
                scopes.add(Group { directory: directory.to_owned(), candidates: vec![candidate] });
            }
        }
    }

    /// A visible scope outside the chain brings in its whole directory: even one of the chain, which a
    /// change of the configured names can leave behind.
    fn add_visible(&self, root: &str, scopes: &mut ScopeList) {
        for scope in self.visible.scopes().filter(|scope| scopes.is_outside(scope)).collect::<Vec<_>>() {
            match scope.parts().0 {
                USER_GLOBAL => scopes.add(self.config.user_global_group()),
                directory => scopes.add(self.config.group(root, directory)),
            }
        }
    }

    fn add_touched(&self, root: &str, touched: &str, scopes: &mut ScopeList) {
        for directory in touched_directories(self.config.style, &self.request.cwd, touched) {
            scopes.add(self.config.group(root, &self.config.scope_directory(root, &directory)));
        }
    }

    /// What is worth looking at in directories that count before the root is known.
    fn wanted_at(&self, directories: &[String]) -> Vec<Wanted> {
        let memory = self.memory.borrow();
        let names = self.config.candidate_names();
        let project = directories.iter().flat_map(|directory| {
            names.iter().map(|name| (self.config.style.join(directory, name), self.config.is_overlay(name)))
        });
        std::iter::once((self.config.user_global_path(), false))
            .chain(project)
            .filter(|(path, _)| !memory.excludes_path(path))
            .map(|(path, overlay)| Wanted { unlikely: overlay && !memory.knows_path(&path), path })
            .collect()
    }

    fn wanted(&self, groups: &[Group], renders: bool) -> Vec<Wanted> {
        let memory = self.memory.borrow();
        groups
            .iter()
            .flat_map(|group| &group.candidates)
            .filter(|candidate| renders || !memory.excludes(&candidate.scope))
            .map(|candidate| Wanted {
                unlikely: self.config.is_unlikely(candidate) && self.visible.standing(&candidate.scope).is_none(),
                path: candidate.path.clone(),
            })
            .collect()
    }

    /// The candidates that the model sees: no peek decides about them.
    fn seen_paths(&self, groups: &[Group]) -> Vec<String> {
        let memory = self.memory.borrow();
        groups
            .iter()
            .flat_map(|group| &group.candidates)
            .filter(|candidate| self.visible.standing(&candidate.scope).is_some() && !memory.excludes(&candidate.scope))
            .map(|candidate| candidate.path.clone())
            .collect()
    }

    fn unread(&self, plan: &Plan, chain: &[Group], surveyed: &[Group], renders: bool) -> Vec<(String, super::operation::Entry)> {
        let memory = self.memory.borrow();
        let excluded = |scope: &ScopeKey| plan.leaves_out(scope, &memory);
        let comparison = Comparison { visible: &self.visible, excluded: &excluded };
        let mut requests = if renders { Loader::requests(chain, &self.survey) } else { Vec::new() };
        requests.extend(surveyed.iter().flat_map(|group| comparison.unread(group, &self.survey, &memory)));
        requests
    }

    /// Render the complete baseline and remember what it does not retain.
    fn render(&self, chain: &[Group], identity: String, supersedes: bool) -> Option<Baseline> {
        let observed = self.loader.loaded(chain, &self.survey);
        let (files, rendered) = render_chain(self.config, &observed, supersedes);
        let included = files.get(rendered.included_from..).unwrap_or_default();
        self.retain(&observed, included);
        if observed.is_empty() && !supersedes {
            return None;
        }
        let mut changes: IndexMap<ScopeKey, Change> = IndexMap::new();
        let retained: HashSet<ScopeKey> = included.iter().map(|file| ScopeKey::of_display_path(&file.candidate.display)).collect();
        for change in self.baseline.iter().flat_map(|source| &source.changes) {
            if change.action != Action::Remove && !retained.contains(&change.scope) {
                let removal = Change { action: Action::Remove, digest: None, ..change.clone() };
                changes.insert(change.scope.clone(), removal);
            }
        }
        for file in included {
            let scope = ScopeKey::of_display_path(&file.candidate.display);
            let digest = Some(file.content.digests.full.clone());
            let change = Change { action: Action::Set, scope: scope.clone(), path: file.candidate.display.clone(), digest };
            changes.insert(scope, change);
        }
        Some(Baseline { text: rendered.text, changes: changes.into_values().collect(), identity })
    }

    fn retain(&self, observed: &[LoadedFile], included: &[LoadedFile]) {
        let scope_of = |file: &LoadedFile| ScopeKey::of_display_path(&file.candidate.display);
        let retained: HashSet<ScopeKey> = included.iter().map(scope_of).collect();
        let mut memory = self.memory.borrow_mut();
        memory.excluded = Some(
            observed
                .iter()
                .filter(|file| !retained.contains(&scope_of(file)))
                .map(|file| (scope_of(file), file.candidate.path.clone()))
                .collect(),
        );
        for file in included {
            let known = super::state::KnownFile {
                path: file.candidate.path.clone(),
                version: file.version.clone(),
                digest: file.content.digests.full.clone(),
                trimmed: file.content.digests.trimmed.clone(),
            };
            memory.versions.insert(scope_of(file), known);
        }
    }

    /// Reconcile touch by touch; the last touch's message is the one that stays.
    fn reconcile(&self, plan: &Plan, surveyed: &[Group], baseline: Option<Baseline>) -> Outcome {
        let root = &plan.root;
        let mut visible = self.visible.clone();
        if let Some(baseline) = &baseline {
            visible.apply(&baseline.changes);
        }
        let open: HashSet<&str> = surveyed.iter().map(|group| group.directory.as_str()).collect();
        let mut pending = self.request.pending.clone();
        let mut outcome = Outcome { message: None, silent: Vec::new(), visible: Visible::default() };
        let touches: Vec<Option<&String>> =
            if self.request.touched.is_empty() { vec![None] } else { self.request.touched.iter().map(Some).collect() };
        for touched in touches {
            let mut scopes = ScopeList::outside(&plan.chain);
            if plan.compatible {
                scopes = scopes.including(&plan.chain);
            }
            self.add_pending(root, pending.as_ref(), &mut scopes);
            self.add_visible(root, &mut scopes);
            if let Some(touched) = touched {
                self.add_touched(root, touched, &mut scopes);
            }
            let groups = {
                let memory = self.memory.borrow();
                scopes.into_disjoint_groups(|scope| plan.leaves_out(scope, &memory))
            };
            let groups: Vec<Group> = groups.into_iter().filter(|group| open.contains(group.directory.as_str())).collect();
            let transitions = self.transitions(plan, &groups, &visible);
            let items: Vec<_> = transitions.iter().map(Transition::item).collect();
            let rendered = render_changes(&items, &self.config.budget);
            let included_from = rendered.as_ref().map_or(items.len(), |rendered| rendered.included_from);
            let changes: Vec<Change> = transitions.iter().skip(included_from).map(|transition| transition.change.clone()).collect();
            let mut after = visible.clone();
            after.apply(&changes);
            let message = assemble(baseline.as_ref(), rendered.map(|rendered| rendered.text), changes);
            pending = message.as_ref().map(|message| message.source.clone());
            outcome = Outcome { message, silent: groups, visible: after };
        }
        outcome.silent.extend(plan.chain.iter().filter(|group| open.contains(group.directory.as_str())).cloned());
        outcome.silent.retain(|group| self.is_silent(group, &outcome.visible));
        outcome
    }

    /// All transitions of `groups`; what their files taught is remembered.
    fn transitions(&self, plan: &Plan, groups: &[Group], visible: &Visible) -> Vec<Transition> {
        let mut memory = self.memory.borrow_mut();
        let mut transitions = Vec::new();
        for group in groups {
            let outcome = self.outcome_of(group, visible, &memory, |scope| plan.leaves_out(scope, &memory));
            transitions.extend(outcome.transitions);
            memory.versions.extend(outcome.known);
        }
        transitions
    }

    /// Whether reconciling `group` once more, for a model that sees `visible`, would be silent for good.
    fn is_silent(&self, group: &Group, visible: &Visible) -> bool {
        let memory = self.memory.borrow();
        let outcome = self.outcome_of(group, visible, &memory, |scope| memory.excludes(scope));
        outcome.conclusive && outcome.transitions.is_empty()
    }

    fn outcome_of(
        &self,
        group: &Group,
        visible: &Visible,
        memory: &Memory,
        excluded: impl Fn(&ScopeKey) -> bool,
    ) -> GroupOutcome {
        Comparison { visible, excluded: &excluded }.reconcile(group, &self.survey, &self.loader, memory)
    }

    fn remember(&self, walk: RootWalk, identity: Option<String>, standing: Option<Settled>, outcome: &Outcome) {
        let mut memory = self.memory.borrow_mut();
        memory.peeks = self.survey.trust.get();
        if standing.as_ref().is_some_and(|settled| settled.is_disputed(&self.survey)) {
            memory.peeks = PeekTrust::Broken;
        }
        if memory.peeks != PeekTrust::Proven || !walk.conclusive {
            return;
        }
        let mut settled = Settled::new(self.request.cwd.clone(), identity, walk);
        if let Some(before) = standing {
            settled.inherit(before);
        }
        for group in &outcome.silent {
            settled.add(group, &self.survey, &outcome.visible, |scope| memory.excludes(scope));
        }
        memory.settled = Some(settled);
    }
}

/// Render the files of a chain, duplicates left out; also the files that were rendered.
pub(super) fn render_chain(config: &Config, observed: &[LoadedFile], supersedes: bool) -> (Vec<LoadedFile>, RenderedBaseline) {
    let files = without_duplicates(observed);
    let items: Vec<BaselineItem<'_>> = files
        .iter()
        .map(|file| BaselineItem { display_path: &file.candidate.display, content: &file.content.text })
        .collect();
    let rendered = render_baseline(&items, &config.budget, supersedes);
    (files, rendered)
}

fn same_paths(left: &[Group], right: &[Group]) -> bool {
    let paths = |groups: &[Group]| -> HashSet<String> {
        groups.iter().flat_map(|group| &group.candidates).map(|candidate| candidate.path.clone()).collect()
    };
    paths(left) == paths(right)
}

fn assemble(baseline: Option<&Baseline>, batch: Option<JsText>, changes: Vec<Change>) -> Option<Message> {
    let mut blocks = Vec::new();
    let mut source = Source::default();
    if let Some(baseline) = baseline.filter(|baseline| !baseline.text.is_empty()) {
        blocks.push(baseline.text.clone());
        source.baseline = Some(BaselineMark { identity: Some(baseline.identity.clone()) });
        source.changes.clone_from(&baseline.changes);
    }
    blocks.extend(batch);
    source.changes.extend(changes);
    (!blocks.is_empty()).then_some(Message { blocks, source })
}

/// Scopes to reconcile, each once, in order of first appearance, by directory.
#[derive(Default)]
struct ScopeList {
    /// The chain's own scopes, which are not added one by one.
    chain: HashSet<ScopeKey>,
    groups: IndexMap<String, Vec<Candidate>>,
}

impl ScopeList {
    fn outside(chain: &[Group]) -> Self {
        let chain = chain.iter().flat_map(|group| &group.candidates).map(|candidate| candidate.scope.clone()).collect();
        Self { chain, groups: IndexMap::new() }
    }

    fn is_outside(&self, scope: &ScopeKey) -> bool {
        !self.chain.contains(scope)
    }

    fn starting(group: Group) -> Self {
        let mut list = Self::default();
        list.add(group);
        list
    }

    fn including(mut self, groups: &[Group]) -> Self {
        for group in groups {
            self.add(group.clone());
        }
        self
    }

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

    /// The groups with every file in one of them: one that two scopes reach is the business of the
    /// first that does not stay out.
    fn into_disjoint_groups(self, excluded: impl Fn(&ScopeKey) -> bool) -> Vec<Group> {
        let mut paths = HashSet::new();
        let mut groups = self.into_groups();
        for group in &mut groups {
            group.candidates.retain(|candidate| excluded(&candidate.scope) || paths.insert(candidate.path.clone()));
        }
        groups
    }
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;
