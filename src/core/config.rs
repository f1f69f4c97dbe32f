//! Resolved options, and the identity that a visible baseline is checked against.

use std::rc::Rc;

use serde::Serialize;

use super::budget::ByteBudget;
use super::discovery::Markers;
use super::escape::Escaping;
use super::loader::ReadLimits;
use super::operation::Bounds;
use super::path::PathStyle;
use super::scope::USER_GLOBAL_FILE;

/// Everything discovery, loading and reconciliation are configured with. Defaults
/// and validation are the host side's; this is what came out of them.
#[derive(Clone, Debug)]
pub struct Config {
    /// The platform's path rules.
    pub style: PathStyle,
    /// Absolute harness home that holds the user-global file.
    pub dsh_home: String,
    /// The home as a model reads it: `~/.dsh` or `$DSH_HOME`.
    pub dsh_home_display: String,
    /// Entry names that mark a project root.
    pub project_root_markers: Vec<String>,
    /// Cap of one rendered baseline or batch.
    pub budget: ByteBudget,
    /// Cap of one source file, in UTF-8 bytes.
    pub max_source_bytes: f64,
    /// JavaScript's spelling of that cap.
    pub max_source_spelling: String,
    /// Base candidates, in order.
    pub instruction_file_candidates: Vec<String>,
    /// Local-overlay candidates, in order.
    pub local_instruction_file_candidates: Vec<String>,
    /// Cap of all source files of one baseline or batch, where there is one.
    pub max_total_source: Option<ByteBudget>,
    /// Which links are followed.
    pub symlinks: Symlinks,
    /// What a root marker that cannot be probed comes to.
    pub root_marker_errors: MarkerErrors,
    /// How much of repository text is escaped.
    pub escaping: Escaping,
}

impl Config {
    /// Absolute path of the user-global file.
    #[must_use]
    pub fn user_global_path(&self) -> String {
        self.style.join(&self.dsh_home, USER_GLOBAL_FILE)
    }

    /// The user-global file as a model reads it.
    #[must_use]
    pub fn user_global_display(&self) -> String {
        format!("{}/{USER_GLOBAL_FILE}", self.dsh_home_display)
    }

    /// Candidate names of one directory, base before local; a name listed twice counts once.
    #[must_use]
    pub fn candidate_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.instruction_file_candidates.iter().chain(&self.local_instruction_file_candidates) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// Whether `name` is only ever an overlay: one that most directories do not have.
    #[must_use]
    pub fn is_overlay(&self, name: &str) -> bool {
        !self.instruction_file_candidates.iter().any(|candidate| candidate == name)
    }

    /// Where files must lie to be loaded under project root `root`; anywhere while all links are followed.
    #[must_use]
    pub fn bounds(&self, root: &str) -> Option<Rc<Bounds>> {
        let links = match self.symlinks {
            Symlinks::Follow => return None,
            Symlinks::Contained => true,
            Symlinks::Ignore => false,
        };
        Some(Rc::new(Bounds { within: [root.to_owned(), self.dsh_home.clone()], links }))
    }

    /// How much of the source files is read.
    #[must_use]
    pub fn read_limits(&self) -> ReadLimits {
        ReadLimits {
            each: self.max_source_bytes,
            total: self.max_total_source.as_ref().map_or(f64::INFINITY, ByteBudget::limit),
        }
    }

    /// Whether a root marker that cannot be probed is an error.
    #[must_use]
    pub fn throws(&self) -> bool {
        self.root_marker_errors == MarkerErrors::Throw
    }

    /// The configured root markers; they insist on an answer if `insist` says so.
    #[must_use]
    pub fn markers(&self, insist: bool) -> Markers<'_> {
        Markers { names: &self.project_root_markers, insist }
    }

    /// The project root that a baseline of this identity was composed under, for a session in `cwd`.
    #[must_use]
    pub fn root_of_identity(&self, identity: &str, cwd: &str) -> Option<String> {
        let identity: serde_json::Value = serde_json::from_str(identity).ok()?;
        Some(self.style.resolve(cwd, identity.get("projectRoot")?.as_str()?))
    }

    /// The identity of a baseline under this configuration: JSON with a fixed key order,
    /// so that a resumed session compares it as text (contract, `baselineIdentity`).
    #[must_use]
    pub fn baseline_identity(&self, cwd: &str, project_root: &str) -> String {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Identity<'a> {
            project_root: &'a str,
            project_root_markers: &'a [String],
            max_bytes: &'a serde_json::value::RawValue,
            max_source_bytes: &'a serde_json::value::RawValue,
            instruction_file_candidates: &'a [String],
            local_instruction_file_candidates: &'a [String],
            // What the published package does not know enters only where it is not at its default: a session that
            // is resumed under the defaults keeps its baseline.
            #[serde(skip_serializing_if = "Option::is_none")]
            symlinks: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            max_total_source_bytes: Option<&'a serde_json::value::RawValue>,
            #[serde(skip_serializing_if = "Option::is_none")]
            root_marker_errors: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            strict_escaping: Option<bool>,
        }
        let relative = self.style.display(cwd, project_root);
        let number = |spelling: &str| serde_json::value::RawValue::from_string(spelling.to_owned()).unwrap_or_default();
        let total = self.max_total_source.as_ref().map(|total| number(total.spelling()));
        serde_json::to_string(&Identity {
            project_root: &relative,
            project_root_markers: &self.project_root_markers,
            max_bytes: &number(self.budget.spelling()),
            max_source_bytes: &number(&self.max_source_spelling),
            instruction_file_candidates: &self.instruction_file_candidates,
            local_instruction_file_candidates: &self.local_instruction_file_candidates,
            symlinks: self.symlinks.spelling(),
            max_total_source_bytes: total.as_deref(),
            root_marker_errors: self.root_marker_errors.spelling(),
            strict_escaping: (self.escaping == Escaping::Strict).then_some(true),
        })
        .unwrap_or_default()
    }
}

/// Which links are followed (option `symlinks`; SECURITY.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// All, as the published package does.
    #[default]
    Follow,
    /// Those that lead into the project root or the harness home.
    Contained,
    /// No candidate may be a link, nor be reached through one that leads out of the two.
    Ignore,
}

impl Symlinks {
    /// What a word of the option means; the host side has refused all others.
    #[must_use]
    pub fn named(word: &str) -> Self {
        [Self::Contained, Self::Ignore].into_iter().find(|links| links.spelling() == Some(word)).unwrap_or_default()
    }

    /// The option's spelling; `None` for the default.
    const fn spelling(self) -> Option<&'static str> {
        match self {
            Self::Follow => None,
            Self::Contained => Some("contained"),
            Self::Ignore => Some("ignore"),
        }
    }
}

/// What a root marker that cannot be probed comes to (option `rootMarkerErrors`; SECURITY.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MarkerErrors {
    /// It is none, as the published package has it: the root may move.
    #[default]
    Absent,
    /// The root that the visible baseline was composed under stays; without one, it is none.
    Keep,
    /// Nothing is composed.
    Throw,
}

impl MarkerErrors {
    /// What a word of the option means; the host side has refused all others.
    #[must_use]
    pub fn named(word: &str) -> Self {
        [Self::Keep, Self::Throw].into_iter().find(|errors| errors.spelling() == Some(word)).unwrap_or_default()
    }

    /// The option's spelling; `None` for the default.
    const fn spelling(self) -> Option<&'static str> {
        match self {
            Self::Absent => None,
            Self::Keep => Some("keep"),
            Self::Throw => Some("throw"),
        }
    }
}

/// Keep the entries that name a file in the same directory: not empty, not `.` or `..`, no separator.
#[must_use]
pub fn valid_candidates(names: Vec<String>) -> Vec<String> {
    names.into_iter().filter(|name| !matches!(name.as_str(), "" | "." | "..") && !name.contains(['/', '\\'])).collect()
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
