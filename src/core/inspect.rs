//! The answer to "which files are in, and why not that one?", without changing anything.
//!
//! Every candidate from the harness home and the project root down to a directory, and on to
//! a touched path, is probed and read; what the model would be told is rendered as a fresh
//! session would hear it: the baseline, then what the touch adds.

use std::rc::Rc;

use foldhash::{HashMap, HashSet};

use super::baseline::{complete, render_files};
use super::candidates::{Candidate, Group};
use super::config::Config;
use super::digest::HexDigest;
use super::discovery::{Standing, Survey, UnprobedMarker};
use super::loader::{Loader, Reading};
use super::operation::Answerer;
use super::plan::Plan;
use super::reconcile::{Comparison, Transition};
use super::render::{
    BaselineItem, ChangeItem, Truncation, baseline_section_bytes, change_section_bytes, render_changes,
};
use super::state::{Memory, PeekTrust, Visible};
use super::text::JsText;

/// What became of one candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Its whole content is in the message.
    Loaded,
    /// This many of its content bytes are.
    Truncated(usize),
    /// The budget left no room for it.
    Omitted,
    /// It is the same file, or has the same trimmed content, as the file at this model-facing path.
    Duplicate(Rc<str>),
    /// No regular file is there.
    Absent,
    /// The provider failed.
    Unavailable,
    /// It exceeds `maxSourceBytes`.
    Oversized,
    /// The option `symlinks` does not admit it.
    Refused,
    /// Loading is off.
    Disabled,
}

/// One candidate, inspected.
#[derive(Clone, Debug)]
pub struct InspectedFile {
    /// The candidate.
    pub candidate: Candidate,
    /// What became of it.
    pub state: FileState,
    /// Content bytes, where they were read, or the size that the provider reports.
    pub bytes: Option<f64>,
    /// Bytes of the message that it takes, heading included; zero when it is not in.
    pub message_bytes: usize,
    /// SHA-1 of its content, where it was read.
    pub digest: Option<HexDigest>,
}

/// An inspection.
#[derive(Debug)]
pub struct Inspection {
    /// The project root.
    pub root: String,
    /// Every candidate, from broadest to most specific.
    pub files: Vec<InspectedFile>,
    /// The baseline's text and the touch's, where there is any.
    pub blocks: Vec<JsText>,
}

/// Inspect a session's directory, and `touched` below it. `root` overrides discovery.
///
/// # Errors
/// A root marker that cannot be probed, where the configuration wants an error of it.
pub async fn inspect<A: Answerer>(
    files: &A,
    config: &Config,
    cwd: &str,
    root: Option<String>,
    touched: &[String],
) -> Result<Inspection, UnprobedMarker> {
    // Peeks are for speed; here every candidate gets its own probe and its own reason.
    let survey = Survey::new(files, config.style, PeekTrust::Broken);
    let root = match root {
        Some(root) => root,
        None => survey.find_root(cwd, config.markers(config.throws()), None, |_| Vec::new()).await?.root,
    };
    let nothing = Visible::default();
    let plan = Plan::new(config, cwd, &root, &nothing, false);
    let memory = Memory::default();
    let nested = plan.groups_of(None, touched);
    let candidates = plan.rendered.iter().chain(&nested).flat_map(|group| &group.candidates);
    survey.probe(candidates.map(|candidate| candidate.path.clone())).await;
    let nested = plan.each_file_once(nested, &memory, |path| survey.is_file(path));
    let groups: Vec<Group> = plan.rendered.iter().chain(&nested).cloned().collect();
    let loader = Loader::new(files, config.read_limits());
    if let Some(bounds) = config.bounds(&root) {
        survey.confine(&bounds).await;
        loader.confine(bounds);
    }
    for message in [&plan.rendered, &nested] {
        loader.begin_message();
        loader.read(Loader::requests(message, &survey)).await;
    }

    let mut verdicts = Verdicts::default();
    let mut blocks = Vec::new();
    let observed = loader.loaded(&plan.rendered, &survey);
    if config.budget.is_enabled() {
        let (kept, rendered) = render_files(config, &observed, false);
        let share = Share { omitted: rendered.omitted, included_from: rendered.included_from, cut: rendered.truncated };
        for (index, file) in kept.iter().enumerate() {
            let content = &file.content.text;
            let bytes = |content: &JsText| {
                baseline_section_bytes(BaselineItem { display_path: &file.candidate.display, content }, config.escaping)
            };
            verdicts.of.insert(file.candidate.path.clone(), share.verdict(index, content, bytes));
        }
        let mut visible = Visible::default();
        // A budget of less than a byte leaves nothing to say.
        if !observed.is_empty() && !rendered.text.is_empty() {
            blocks.push(rendered.text);
            visible.apply(&complete(config, &observed, None).changes);
        }
        let comparison = Comparison { visible: &visible, excluded: &|_| false };
        let transitions: Vec<Transition> = nested
            .iter()
            .flat_map(|group| comparison.reconcile(group, &survey, &loader, &memory).transitions)
            .collect();
        let items: Vec<_> = transitions.iter().map(Transition::item).collect();
        let batch = render_changes(&items, &config.budget, config.escaping);
        let (from, cut) = batch.as_ref().map_or((items.len(), None), |batch| (batch.included_from, batch.truncated));
        let share = Share { omitted: from, included_from: from, cut };
        for (index, transition) in transitions.iter().enumerate() {
            let candidate = nested
                .iter()
                .flat_map(|group| &group.candidates)
                .find(|candidate| candidate.scope == transition.change.scope);
            if let (Some(candidate), Some(content)) = (candidate, &transition.content) {
                let bytes = |content: &JsText| {
                    change_section_bytes(
                        &ChangeItem { change: transition.change.clone(), content: Some(content) },
                        config.escaping,
                    )
                };
                verdicts.of.insert(candidate.path.clone(), share.verdict(index, &content.text, bytes));
            }
        }
        blocks.extend(batch.map(|batch| batch.text));
    }
    let files = groups.iter().flat_map(|group| &group.candidates).collect::<Vec<_>>();
    let files = verdicts.inspect(&files, config, &survey, &loader);
    Ok(Inspection { root, files, blocks })
}

/// What the budget left of the sections of one message.
struct Share {
    /// Sections before this index were dropped.
    omitted: usize,
    /// Sections from this index on are represented.
    included_from: usize,
    /// The section that was cut.
    cut: Option<Truncation>,
}

impl Share {
    /// The state of the section at `index`, and the bytes of the message that it takes; `bytes` measures it with
    /// some of its content.
    fn verdict(&self, index: usize, content: &JsText, bytes: impl Fn(&JsText) -> usize) -> (FileState, usize) {
        match self.cut {
            _ if index < self.omitted => (FileState::Omitted, 0),
            Some(cut) if cut.index == index && cut.included_bytes < cut.original_bytes => {
                // A heading without a byte of content tells the model nothing of the file.
                let bytes = if index < self.included_from { 0 } else { bytes(&content.prefix(cut.included_bytes)) };
                (FileState::Truncated(cut.included_bytes), bytes)
            }
            // An empty file has nothing to cut; its very heading found no room.
            _ if index < self.included_from => (FileState::Omitted, 0),
            _ => (FileState::Loaded, bytes(content)),
        }
    }
}

/// What rendering decided about a path.
#[derive(Default)]
struct Verdicts {
    of: HashMap<Rc<str>, (FileState, usize)>,
}

impl Verdicts {
    fn inspect<A: Answerer>(
        self,
        candidates: &[&Candidate],
        config: &Config,
        survey: &Survey<'_, A>,
        loader: &Loader<'_, A>,
    ) -> Vec<InspectedFile> {
        let mut paths: HashMap<&str, &str> = HashMap::default();
        let mut contents: HashMap<(&str, HexDigest), &str> = HashMap::default();
        let mut scopes = HashSet::default();
        let mut files = Vec::new();
        for &candidate in candidates {
            if !scopes.insert((&candidate.scope, &candidate.path)) {
                continue;
            }
            let standing = survey.standing(&candidate.path);
            let reading = loader.reading(&candidate.path);
            let content = if let Reading::Content(content) = &reading { Some(content) } else { None };
            let directory = candidate.scope.parts().0;
            let same_path = paths.get(&*candidate.path).copied();
            let same_content = content
                .and_then(|content| contents.get(&(directory, content.digests.trimmed.clone())).copied())
                .filter(|_| !self.of.contains_key(&candidate.path));
            let (state, message_bytes) = match (&standing, &reading) {
                (Standing::Unavailable, _) => (FileState::Unavailable, 0),
                (Standing::Refused, _) => (FileState::Refused, 0),
                (standing, _) if standing.file().is_none() => (FileState::Absent, 0),
                _ if !config.budget.is_enabled() => (FileState::Disabled, 0),
                (_, Reading::Unreadable) => (FileState::Unavailable, 0),
                (_, Reading::Oversized | Reading::ReportedOversized) => (FileState::Oversized, 0),
                _ => match (same_path.or(same_content), self.of.get(&candidate.path)) {
                    (Some(other), _) => (FileState::Duplicate(other.into()), 0),
                    (None, Some((state, bytes))) => (state.clone(), *bytes),
                    (None, None) => (FileState::Omitted, 0),
                },
            };
            if let Some(content) = content {
                paths.entry(&candidate.path).or_insert(&candidate.display);
                contents.entry((directory, content.digests.trimmed.clone())).or_insert(&candidate.display);
            }
            #[allow(clippy::cast_precision_loss)] // no content comes near 2^53 bytes
            let bytes = content.map(|content| content.text.len() as f64).or(standing.file().and_then(|file| file.size));
            let digest = content.map(|content| content.digests.full.clone());
            files.push(InspectedFile { candidate: candidate.clone(), state, bytes, message_bytes, digest });
        }
        files
    }
}

#[cfg(test)]
#[path = "inspect_tests.rs"]
mod tests;
