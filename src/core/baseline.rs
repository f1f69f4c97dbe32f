//! The complete baseline: rendered from a chain's files, and what becomes of each.

use std::rc::Rc;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashSet};
use indexmap::IndexMap;

use super::config::Config;
use super::loader::{LoadedFile, without_duplicates};
use super::render::{BaselineItem, RenderedBaseline, render_baseline};
use super::scope::ScopeKey;
use super::state::{Action, Change, KnownFile, Shortfall, ShortfallKind, Source};
use super::text::JsText;

/// A complete baseline.
#[derive(Debug)]
pub struct Baseline {
    /// The message text; empty when the budget admits nothing.
    pub text: JsText,
    /// What it changes: removals of what its predecessor had and it has not, then what it sets.
    pub changes: Vec<Change>,
    /// Scopes that were read but not retained, by duplication or budget, with their paths.
    pub excluded: HashMap<ScopeKey, Rc<str>>,
    /// What is known of the retained files.
    pub known: Vec<(ScopeKey, KnownFile)>,
    /// Whether there is something to say: a file was read, or a predecessor is superseded.
    pub is_due: bool,
    /// Files that the budget dropped or cut.
    pub shortfalls: Vec<Shortfall>,
}

/// Compose the baseline of the files in `observed`, broadest first. `previous` is a visible baseline
/// that it supersedes.
#[must_use]
pub fn complete(config: &Config, observed: &[LoadedFile], previous: Option<&Source>) -> Baseline {
    let (files, rendered) = render_files(config, observed, previous.is_some());
    let included = files.get(rendered.included_from..).unwrap_or_default();
    let retained: HashSet<ScopeKey> = included.iter().map(scope_of).collect();
    // JavaScript's Map order: a scope that two files share keeps its first place and its last value.
    let mut changes: IndexMap<ScopeKey, Change, RandomState> = IndexMap::default();
    for change in previous.iter().flat_map(|source| &source.changes) {
        if change.action != Action::Remove && !retained.contains(&change.scope) {
            let removal = Change { action: Action::Remove, digest: None, ..change.clone() };
            changes.insert(change.scope.clone(), removal);
        }
    }
    for file in included {
        let scope = scope_of(file);
        let digest = Some(file.content.digests.full.clone());
        let change = Change { action: Action::Set, scope: scope.clone(), path: file.candidate.display.clone(), digest };
        changes.insert(scope, change);
    }
    let shortfall = |file: &LoadedFile, kind| Shortfall {
        path: file.candidate.path.clone(),
        display: file.candidate.display.clone(),
        kind,
    };
    let dropped = files.iter().take(rendered.omitted).map(|file| shortfall(file, ShortfallKind::Omitted));
    let cut = rendered.truncated.and_then(|cut| files.get(cut.index));
    Baseline {
        shortfalls: dropped.chain(cut.map(|file| shortfall(file, ShortfallKind::Truncated))).collect(),
        text: rendered.text,
        changes: changes.into_values().collect(),
        excluded: observed
            .iter()
            .map(|file| (scope_of(file), file.candidate.path.clone()))
            .filter(|(scope, _)| !retained.contains(scope))
            .collect(),
        known: included
            .iter()
            .map(|file| (scope_of(file), KnownFile::of(&file.candidate, &file.version, &file.content)))
            .collect(),
        is_due: !observed.is_empty() || previous.is_some(),
    }
}

/// Render the files of a chain, duplicates left out; also the files that were rendered.
#[must_use]
pub fn render_files(config: &Config, observed: &[LoadedFile], supersedes: bool) -> (Vec<LoadedFile>, RenderedBaseline) {
    let files = without_duplicates(observed);
    let items: Vec<BaselineItem<'_>> = files
        .iter()
        .map(|file| BaselineItem { display_path: &file.candidate.display, content: &file.content.text })
        .collect();
    let rendered = render_baseline(&items, &config.budget, config.escaping, supersedes);
    (files, rendered)
}

/// A baseline derives scopes from what the model reads, so that a project path that spells the
/// user-global one shares its scope.
fn scope_of(file: &LoadedFile) -> ScopeKey {
    ScopeKey::of_display_path(&file.candidate.display)
}
