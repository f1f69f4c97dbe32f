//! The baseline outside a session: what `discoverBaselineInstructionFiles` and
//! `loadBaselineInstructions` return.

use std::rc::Rc;

use super::baseline::render_files;
use super::candidates::{Candidate, Group};
use super::config::Config;
use super::discovery::{Survey, UnprobedMarker};
use super::loader::Loader;
use super::operation::{Answerer, Bounds};
use super::render::{RenderedBaseline, Truncation};
use super::state::PeekTrust;
use super::text::JsText;

/// A baseline rendered for whoever asked.
#[derive(Debug)]
pub struct LoadedBaseline {
    /// The message text.
    pub text: JsText,
    /// Files that the budget dropped, broadest first.
    pub omitted: Vec<Candidate>,
    /// The file that the budget cut, and its byte account.
    pub truncated: Option<(Candidate, Truncation)>,
}

/// The candidates that exist, each path once, from broadest to most specific. `root` overrides discovery.
///
/// # Errors
/// A root marker that cannot be probed, where the configuration wants an error of it.
pub async fn discover<A: Answerer>(
    files: &A,
    config: &Config,
    cwd: &str,
    root: Option<String>,
) -> Result<Vec<Candidate>, UnprobedMarker> {
    let survey = Survey::new(files, config.style, PeekTrust::Unproven);
    let Chain { groups, .. } = survey_chain(&survey, config, cwd, root).await?;
    let mut found: Vec<Candidate> = Vec::new();
    for candidate in groups.into_iter().flat_map(|group| group.candidates) {
        if survey.standing(&candidate.path).file().is_some() && !found.iter().any(|other| other.path == candidate.path)
        {
            found.push(candidate);
        }
    }
    Ok(found)
}

/// Discover, read and render; `None` when loading is off, or nothing was read and nothing is superseded.
///
/// # Errors
/// As [`discover`].
pub async fn load<A: Answerer>(
    files: &A,
    config: &Config,
    cwd: &str,
    root: Option<String>,
    supersedes: bool,
) -> Result<Option<LoadedBaseline>, UnprobedMarker> {
    if !config.budget.is_enabled() {
        return Ok(None);
    }
    let survey = Survey::new(files, config.style, PeekTrust::Unproven);
    let Chain { groups, bounds } = survey_chain(&survey, config, cwd, root).await?;
    let loader = Loader::new(files, config.read_limits());
    bounds.into_iter().for_each(|bounds| loader.confine(bounds));
    loader.read(Loader::requests(&groups, &survey)).await;
    let observed = loader.loaded(&groups, &survey);
    if observed.is_empty() && !supersedes {
        return Ok(None);
    }
    let (files, rendered) = render_files(config, &observed, supersedes);
    let RenderedBaseline { text, omitted, truncated, .. } = rendered;
    let candidate = |index: usize| files.get(index).map(|file| file.candidate.clone());
    Ok(Some(LoadedBaseline {
        text,
        omitted: (0..omitted).filter_map(candidate).collect(),
        truncated: truncated
            .and_then(|truncation| candidate(truncation.index).map(|candidate| (candidate, truncation))),
    }))
}

/// The candidates from the harness home down to a directory, and where their files must lie.
struct Chain {
    groups: Vec<Group>,
    bounds: Option<Rc<Bounds>>,
}

async fn survey_chain<A: Answerer>(
    survey: &Survey<'_, A>,
    config: &Config,
    cwd: &str,
    root: Option<String>,
) -> Result<Chain, UnprobedMarker> {
    let root = match root {
        Some(root) => root,
        None => {
            survey
                .find_root(cwd, config.markers(config.throws()), None, |directories| {
                    let groups = directories.iter().map(|directory| config.group_at(directory, directory));
                    let global =
                        directories.iter().any(|directory| directory == cwd).then(|| config.user_global_group());
                    config.wanted(global.into_iter().chain(groups))
                })
                .await?
                .root
        }
    };
    let groups = config.chain(&root, cwd);
    survey.look(config.wanted(groups.iter().cloned())).await;
    survey.settle(cwd).await;
    let bounds = config.bounds(&root);
    if let Some(bounds) = &bounds {
        survey.confine(bounds).await;
    }
    Ok(Chain { groups, bounds })
}
