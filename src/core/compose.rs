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

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use foldhash::HashSet;
use foldhash::fast::RandomState;
use futures_lite::future::zip;
use indexmap::{IndexMap, IndexSet};

use super::baseline::{Baseline, complete};
use super::candidates::{Group, Wanted};
use super::config::{Config, MarkerErrors, Symlinks};
use super::discovery::{RootWalk, Survey, UnprobedMarker};
use super::landmarks::Landmark;
use super::loader::Loader;
use super::operation::{Answer, Answerer, Entry};
use super::plan::Plan;
use super::reconcile::{Comparison, GroupOutcome, Transition};
use super::render::{render_changes, represented_from};
use super::scope::ScopeKey;
use super::settled::Settled;
use super::state::{Action, Authority, BaselineMark, Change, Memory, PeekTrust, Source, Visible};
use super::text::JsText;

/// What a composition starts from.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Absolute working directory of the session.
    pub cwd: String,
    /// What the model sees and, behind it, what the claimed batch says.
    pub authority: Authority,
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
///
/// # Errors
/// A root marker that cannot be probed, where the configuration wants an error of it.
pub async fn compose<A: Answerer>(
    files: &A,
    config: &Config,
    memory: &RefCell<Memory>,
    request: Request,
) -> Result<Option<Message>, UnprobedMarker> {
    if !config.budget.is_enabled() {
        return Ok(None);
    }
    let mut request = request;
    let postponed = memory.borrow().postponed.clone();
    request.touched.splice(0..0, postponed);
    let settled = memory.borrow_mut().settled.take();
    let loader = Loader::new(files, config.read_limits());
    // A chain that will be rendered is read as a whole; beside a baseline that stands, only what is new is.
    let reads_all = request.authority.baseline().is_none() || memory.borrow().excluded.is_none();
    // Under a total, what is read depends on everything that is there; within bounds, on the root.
    let at_once = config.max_total_source.is_none() && config.symlinks == Symlinks::Follow;
    let survey = Survey::new(files, config.style, memory.borrow().peeks)
        .reading_ahead(&loader, |path| at_once && (reads_all || !memory.borrow().knows_path(path)));
    let composition = Composition {
        config,
        memory,
        loader: &loader,
        survey,
        visible: request.authority.visible(),
        baseline: request.authority.baseline(),
        request: &request,
    };
    let standing = match settled {
        Some(mut settled) => {
            let reached = composition.reached(&settled.walk.root);
            settled.wake(config, &reached);
            // Where a touch leads for the first time is looked at meanwhile, as if the root stood.
            let unknown = reached.into_iter().filter(|directory| !settled.knows(directory)).collect();
            let touched = composition.survey.look(composition.wanted_in(unknown, &settled.walk.root));
            zip(settled.still_stands(&composition.survey, &request.cwd, composition.baseline_identity()), touched)
                .await
                .0
        }
        None => None,
    };
    // The usual case: everything stands, and nothing is new.
    let is_idle = request.pending.is_none() && request.touched.is_empty();
    if is_idle && standing.as_ref().is_some_and(|settled| settled.is_whole(&request.authority)) {
        memory.borrow_mut().settled = standing;
        return Ok(None);
    }
    composition.run(standing).await
}

/// The parts of one composition.
struct Composition<'a, A> {
    config: &'a Config,
    memory: &'a RefCell<Memory>,
    survey: Survey<'a, A>,
    loader: &'a Loader<'a, A>,
    visible: &'a Visible,
    /// The latest complete baseline in the authority.
    baseline: Option<&'a Source>,
    request: &'a Request,
}

/// What a reconciliation came to.
struct Outcome {
    message: Option<Message>,
    /// Groups that would be silent if they were reconciled once more.
    silent: Vec<Group>,
    /// What the model will see once the message has entered.
    visible: Visible,
}

impl<A: Answerer> Composition<'_, A> {
    async fn run(&self, standing: Option<Settled>) -> Result<Option<Message>, UnprobedMarker> {
        let (cwd, config) = (&self.request.cwd, self.config);
        let walk = match &standing {
            Some(settled) => settled.walk.clone(),
            None => {
                let landmark = self.memory.borrow().landmarks.borrow().at(cwd);
                let earlier = landmark.as_deref().map(|landmark| &landmark.walk);
                let wanted = |directories: &[String]| self.wanted_at(directories, landmark.as_deref());
                // Without a baseline in sight there is nothing to keep.
                let kept = (config.root_marker_errors == MarkerErrors::Keep).then(|| self.kept_root()).flatten();
                let insist = kept.is_some() || config.throws();
                match (self.survey.find_root(cwd, config.markers(insist), earlier, wanted).await, kept) {
                    (Ok(walk), _) => walk,
                    (Err(_), Some(root)) => RootWalk { root, marker: None, empty: Vec::new(), conclusive: false },
                    (Err(unprobed), None) => return Err(unprobed),
                }
            }
        };
        let identity = config.baseline_identity(cwd, &walk.root);
        let compatible = self.baseline_identity() == Some(Some(identity.as_str()));
        let plan = Plan::new(config, cwd, &walk.root, self.visible, compatible);
        let is_settled = |group: &Group| standing.as_ref().is_some_and(|settled| settled.covers(group, self.visible));
        // Without a baseline in sight, a settled chain means that there was nothing to compose one from.
        let renders = (!compatible || self.memory.borrow().excluded.is_none()) && !plan.chain.iter().all(is_settled);
        let Request { pending, touched, .. } = self.request;
        let superseded = self.baseline.filter(|_| !compatible && touched.len() > 1);
        let every = plan.every_group(pending.as_ref(), superseded, touched);
        let open: HashSet<Rc<str>> = {
            let groups = self.each_file_once(&plan, every.clone(), &self.memory.borrow());
            groups.into_iter().filter(|group| !is_settled(group)).map(|group| group.directory).collect()
        };
        self.survey(&plan, every.iter().filter(|group| open.contains(&group.directory)), renders).await;
        // Who is the first to reach a file shows only among all groups.
        let mut open_groups = self.each_file_once(&plan, every, &self.memory.borrow());
        open_groups.retain(|group| open.contains(&group.directory));
        if renders && config.max_total_source.is_some() {
            // The baseline and the batch each have the total for themselves.
            self.loader.read(Loader::requests(&plan.rendered, &self.survey)).await;
            self.loader.begin_message();
        }
        self.loader.read(self.unread(&plan, &open_groups, renders)).await;
        let falls_short = self.loader.left_out(&open_groups).next().is_some();
        self.memory.borrow_mut().postponed = if falls_short { touched.clone() } else { Vec::new() };

        let baseline = if renders { self.complete(&plan) } else { None };
        let outcome =
            self.reconcile(&plan, &open, open_groups, baseline.as_ref().map(|baseline| (baseline, &identity)));
        let seen_identity = match &outcome.message {
            Some(Message { source: Source { baseline: Some(_), .. }, .. }) => Some(identity),
            _ => self.baseline_identity().flatten().map(str::to_owned),
        };
        self.remember(&plan, walk, seen_identity, standing, &outcome);
        Ok(outcome.message)
    }

    /// The project root of the baseline that the model sees.
    fn kept_root(&self) -> Option<String> {
        self.config.root_of_identity(self.baseline_identity()??, &self.request.cwd)
    }

    /// `None` without a visible baseline; inside, the identity it was composed under.
    fn baseline_identity(&self) -> Option<Option<&str>> {
        let mark = self.baseline?.baseline.as_ref()?;
        Some(mark.identity.as_deref())
    }

    /// What is worth looking at in directories that count before the root is known: the harness home comes with
    /// the session's own directory. Unlikely is what was not there before; of what nobody has looked for, an
    /// overlay that the session's directory does not have.
    fn wanted_at(&self, directories: &[String], landmark: Option<&Landmark>) -> Vec<Wanted> {
        let memory = self.memory.borrow();
        let cwd = &self.request.cwd;
        let names: Vec<(&str, bool)> = self
            .config
            .candidate_names()
            .into_iter()
            .map(|name| (name, self.config.is_overlay(name) && !self.survey.sees(&self.config.style.join(cwd, name))))
            .collect();
        let project = directories.iter().flat_map(|directory| {
            names.iter().map(|(name, unlikely)| (self.config.style.join(directory, name), *unlikely))
        });
        let global = directories.contains(cwd).then(|| (self.config.user_global_path(), false));
        let was_there = |path: &str| landmark.and_then(|landmark| landmark.files.get(path)).copied();
        global
            .into_iter()
            .chain(project)
            .filter(|(path, _)| !memory.excludes_path(path))
            .map(|(path, unlikely)| {
                let unlikely = was_there(&path).map_or(unlikely, |there| !there);
                Wanted { unlikely: unlikely && !memory.knows_path(&path), path: path.into() }
            })
            .collect()
    }

    /// The scope directories that the touches lead to, each once.
    fn reached(&self, root: &str) -> IndexSet<String, RandomState> {
        self.config.touched_scopes(root, &self.request.cwd, &self.request.touched).collect()
    }

    /// What is worth looking at in scope directories that touches lead to and that have nothing settled.
    fn wanted_in(&self, directories: Vec<String>, root: &str) -> Vec<Wanted> {
        if directories.is_empty() {
            // As at every step without a touch: there is nothing to know the names for.
            return Vec::new();
        }
        let names = self.likely_names();
        let memory = self.memory.borrow();
        directories
            .iter()
            .flat_map(|directory| self.config.group(root, directory).candidates)
            .filter(|candidate| self.visible.standing(&candidate.scope).is_none() && !memory.excludes(&candidate.scope))
            .map(|candidate| Wanted { unlikely: !names.contains(candidate.scope.parts().1), path: candidate.path })
            .collect()
    }

    /// Learn what stands at every candidate of the open groups, and of the whole chain if it is rendered.
    async fn survey<'g>(&self, plan: &'g Plan<'_>, open: impl Iterator<Item = &'g Group>, renders: bool) {
        // Two scopes may reach one file: what one of them needs a probe for is probed.
        let mut wanted: IndexMap<Rc<str>, bool, RandomState> = IndexMap::default();
        {
            let memory = self.memory.borrow();
            let names = self.likely_names();
            let rendered: &[Group] = if renders { &plan.rendered } else { &[] };
            for candidate in open.chain(rendered).flat_map(|group| &group.candidates) {
                if renders || !memory.excludes(&candidate.scope) {
                    // Of what the model sees, no peek decides: one may have been made before the root was known.
                    let is_seen = self.visible.standing(&candidate.scope).is_some();
                    let unlikely = !is_seen
                        && match self.survey.peeked(&candidate.path) {
                            Answer::Unavailable => !names.contains(candidate.scope.parts().1),
                            answer => answer == Answer::Absent,
                        };
                    *wanted.entry(candidate.path.clone()).or_insert(true) &= unlikely;
                }
            }
        }
        self.survey.look(wanted.into_iter().map(|(path, unlikely)| Wanted { path, unlikely }).collect()).await;
        self.survey.settle(&self.request.cwd).await;
        if let Some(bounds) = self.config.bounds(&plan.root) {
            self.survey.confine(&bounds).await;
            self.loader.confine(bounds);
        }
    }

    /// Names that a directory can be expected to have: those that the model sees elsewhere and the first choice;
    /// where it sees nothing yet, all but overlays.
    fn likely_names(&self) -> HashSet<&str> {
        let seen = self.visible.scopes().filter(|scope| self.visible.standing(scope).is_some());
        let names: HashSet<&str> = seen.map(|scope| scope.parts().1).collect();
        let choices = &self.config.instruction_file_candidates;
        let expected = if names.is_empty() { choices.len() } else { 1 };
        names.into_iter().chain(choices.iter().take(expected).map(String::as_str)).collect()
    }

    fn unread(&self, plan: &Plan<'_>, open: &[Group], renders: bool) -> Vec<(Rc<str>, Entry)> {
        let memory = self.memory.borrow();
        let excluded = |scope: &ScopeKey| plan.leaves_out(scope, &memory);
        // A superseding baseline takes back all that its predecessor said: what is to be said again is to be read again.
        let superseded = self.baseline.filter(|_| renders && !plan.compatible);
        let mut visible = Cow::Borrowed(self.visible);
        for change in superseded.iter().flat_map(|source| &source.changes) {
            visible.to_mut().apply(&[Change { action: Action::Remove, digest: None, ..change.clone() }]);
        }
        let comparison = Comparison { visible: &visible, excluded: &excluded };
        let mut requests = if renders { Loader::requests(&plan.rendered, &self.survey) } else { Vec::new() };
        // In the order of the plan a waiting message and what the model has seen come before what was touched.
        let mut open: Vec<&Group> = open.iter().collect();
        open.sort_by_key(|group| group.specificity());
        requests.extend(open.into_iter().flat_map(|group| comparison.unread(group, &self.survey, &memory)));
        requests
    }

    /// The groups with every file in one of them, as far as the survey has come.
    fn each_file_once(&self, plan: &Plan<'_>, groups: Vec<Group>, memory: &Memory) -> Vec<Group> {
        plan.each_file_once(groups, memory, |path| self.survey.is_file(path))
    }

    /// Render the complete baseline and remember what it does not retain. It is to be said unless the model
    /// sees a compatible one, or there is nothing to say, or no room to say it.
    fn complete(&self, plan: &Plan<'_>) -> Option<Baseline> {
        let observed = self.loader.loaded(&plan.rendered, &self.survey);
        let baseline = complete(self.config, &observed, self.baseline.filter(|_| !plan.compatible));
        let mut memory = self.memory.borrow_mut();
        let left_out = self.loader.left_out(&plan.rendered);
        let mut excluded = baseline.excluded.clone();
        excluded.extend(left_out.map(|file| (ScopeKey::of_display_path(&file.display), file.path.clone())));
        memory.excluded = Some(excluded);
        memory.versions.extend(baseline.known.iter().cloned());
        memory.shortfalls = self.loader.shortfalls(&plan.rendered, &self.survey);
        memory.shortfalls.extend(baseline.shortfalls.iter().cloned());
        (!plan.compatible && baseline.is_due && !baseline.text.is_empty()).then_some(baseline)
    }

    /// Reconcile touch by touch; the last touch's message is the one that stays.
    fn reconcile(
        &self,
        plan: &Plan<'_>,
        open: &HashSet<Rc<str>>,
        open_groups: Vec<Group>,
        baseline: Option<(&Baseline, &String)>,
    ) -> Outcome {
        let mut visible = self.visible.clone();
        if let Some((baseline, _)) = baseline {
            visible.apply(&baseline.changes);
        }
        let is_open = |group: &Group| open.contains(&group.directory);
        let touches: Vec<&[String]> =
            if self.request.touched.is_empty() { vec![&[]] } else { self.request.touched.chunks(1).collect() };
        let mut pending = self.request.pending.clone();
        let mut transitions = Vec::new();
        for touched in touches {
            let mut groups =
                self.each_file_once(plan, plan.groups_of(pending.as_ref(), touched), &self.memory.borrow());
            groups.retain(is_open);
            transitions = self.transitions(plan, &groups, &visible);
            // Of a message that the next touch will replace, what it would have said is enough.
            let items: Vec<_> = transitions.iter().map(Transition::item).collect();
            let said =
                items.get(represented_from(&items, &self.config.budget, self.config.escaping)..).unwrap_or_default();
            let changes: Vec<Change> = said.iter().map(|item| item.change.clone()).collect();
            pending = (baseline.is_some() || !changes.is_empty()).then(|| source_of(baseline, changes));
        }
        let items: Vec<_> = transitions.iter().map(Transition::item).collect();
        let batch = render_changes(&items, &self.config.budget, self.config.escaping).map(|rendered| rendered.text);
        if let Some(source) = &pending {
            visible.apply(&source.changes);
        }
        let message = pending.map(|source| {
            let blocks = baseline.map(|(baseline, _)| baseline.text.clone()).into_iter().chain(batch).collect();
            Message { blocks, source }
        });
        // The chain is among them, where nothing else has had a part in its groups.
        let whole: Vec<Group> =
            plan.chain.iter().filter(|group| is_open(group) && !open_groups.contains(group)).cloned().collect();
        let mut outcome = Outcome { message, silent: open_groups, visible };
        outcome.silent.extend(whole);
        outcome.silent.retain(|group| self.is_silent(group, &outcome.visible));
        outcome
    }

    /// All transitions of `groups`; what their files taught is remembered.
    fn transitions(&self, plan: &Plan<'_>, groups: &[Group], visible: &Visible) -> Vec<Transition> {
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
        let excluded = |scope: &ScopeKey| memory.excludes(scope);
        let outcome = self.outcome_of(group, visible, &memory, excluded);
        outcome.conclusive && outcome.transitions.is_empty()
    }

    fn outcome_of(
        &self,
        group: &Group,
        visible: &Visible,
        memory: &Memory,
        excluded: impl Fn(&ScopeKey) -> bool,
    ) -> GroupOutcome {
        Comparison { visible, excluded: &excluded }.reconcile(group, &self.survey, self.loader, memory)
    }

    fn remember(
        &self,
        plan: &Plan<'_>,
        walk: RootWalk,
        identity: Option<String>,
        standing: Option<Settled>,
        outcome: &Outcome,
    ) {
        let mut memory = self.memory.borrow_mut();
        memory.peeks = self.survey.trust.get();
        if standing.as_ref().is_some_and(|settled| settled.is_disputed(&self.survey)) {
            memory.peeks = PeekTrust::Broken;
        }
        if memory.peeks == PeekTrust::Broken {
            memory.landmarks.borrow_mut().forget();
        }
        if memory.peeks != PeekTrust::Proven || !walk.conclusive || !plan.is_regular() {
            return;
        }
        if standing.is_none() {
            let candidates = plan.rendered.iter().flat_map(|group| &group.candidates);
            let files =
                candidates.map(|candidate| (candidate.path.clone(), self.survey.file(&candidate.path).is_some()));
            let landmark = Landmark { walk: walk.clone(), files: files.collect() };
            memory.landmarks.borrow_mut().note(&self.request.cwd, landmark);
        }
        let mut settled = Settled::new(self.request.cwd.clone(), identity, walk);
        if let Some(before) = standing {
            settled.inherit(before);
        }
        for group in &outcome.silent {
            settled.add(group, &self.survey, &outcome.visible, |scope| memory.excludes(scope));
        }
        let seen = outcome.visible.scopes().map(|scope| scope.parts().0);
        let called_for: HashSet<&str> = plan.chain.iter().map(|group| &*group.directory).chain(seen).collect();
        settled.keep(|directory| called_for.contains(directory));
        if outcome.message.is_none() {
            let groups = self.each_file_once(plan, plan.groups_of(None, &[]), &memory);
            settled.complete(&self.request.authority, groups.iter().chain(&plan.chain), self.visible);
        }
        memory.settled = Some(settled);
    }
}

fn source_of(baseline: Option<(&Baseline, &String)>, changes: Vec<Change>) -> Source {
    let mut source = Source::default();
    if let Some((baseline, identity)) = baseline {
        source.baseline = Some(BaselineMark { identity: Some(identity.clone()) });
        source.changes.clone_from(&baseline.changes);
    }
    source.changes.extend(changes);
    source
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;
