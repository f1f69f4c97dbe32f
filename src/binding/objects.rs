//! The objects that cross the boundary, named after what they become in TypeScript.

use napi_derive::napi;

use crate::core::budget::ByteBudget;
use crate::core::compose::Message;
use crate::core::config::{Config, valid_candidates};
use crate::core::discovery::Candidate;
use crate::core::path::PathStyle;
use crate::core::state::{Change, Source};

use super::text::CrossingText;

/// Resolved options; every default has been applied by the TypeScript side.
#[napi(object, object_to_js = false)]
pub struct NativeConfig {
    /// Absolute harness home.
    pub dsh_home: String,
    /// `~/.dsh` or `$DSH_HOME`.
    pub dsh_home_display: String,
    /// Entry names that mark a project root.
    pub project_root_markers: Vec<String>,
    /// UTF-8 bytes of one message.
    pub max_bytes: f64,
    /// `String(maxBytes)`.
    pub max_bytes_spelling: String,
    /// UTF-8 bytes of one source file.
    pub max_source_bytes: f64,
    /// `String(maxSourceBytes)`.
    pub max_source_spelling: String,
    /// Base candidates as configured.
    pub instruction_file_candidates: Vec<String>,
    /// Overlay candidates as configured.
    pub local_instruction_file_candidates: Vec<String>,
    /// Whether Windows path rules apply.
    pub windows: bool,
}

impl From<NativeConfig> for Config {
    fn from(config: NativeConfig) -> Self {
        Self {
            style: if config.windows { PathStyle::Windows } else { PathStyle::Posix },
            dsh_home: config.dsh_home,
            dsh_home_display: config.dsh_home_display,
            project_root_markers: config.project_root_markers,
            budget: ByteBudget::new(config.max_bytes, config.max_bytes_spelling),
            max_source_bytes: config.max_source_bytes,
            max_source_spelling: config.max_source_spelling,
            instruction_file_candidates: valid_candidates(config.instruction_file_candidates),
            local_instruction_file_candidates: valid_candidates(config.local_instruction_file_candidates),
        }
    }
}

/// What a composition starts from.
#[napi(object, object_to_js = false)]
pub struct NativeRequest {
    /// Absolute working directory of the session.
    pub cwd: String,
    /// JSON array of the claimed messages' sources.
    pub claimed: String,
    /// JSON array of the pending message's source, or an empty one.
    pub pending: String,
    /// Touched paths, in order.
    pub touched: Vec<String>,
}

/// One instruction file.
#[napi(object, object_from_js = false)]
pub struct NativeFile {
    /// Absolute path.
    pub absolute_path: String,
    /// Model-facing path.
    pub display_path: String,
}

impl From<Candidate> for NativeFile {
    fn from(candidate: Candidate) -> Self {
        Self { absolute_path: candidate.path, display_path: candidate.display }
    }
}

/// One state transition, in the persisted shape.
#[napi(object, object_from_js = false)]
pub struct NativeChange {
    /// `set`, `replace` or `remove`.
    pub action: &'static str,
    /// Scope key.
    pub scope: String,
    /// Model-facing path.
    pub path: String,
    /// SHA-1 of the content; absent for a removal.
    pub digest: Option<String>,
}

impl From<Change> for NativeChange {
    fn from(change: Change) -> Self {
        Self {
            action: change.action.as_str(),
            scope: change.scope.as_str().to_owned(),
            path: change.path,
            digest: change.digest,
        }
    }
}

/// A message that the core calls for.
#[napi(object, object_from_js = false)]
pub struct NativeMessage {
    /// Text blocks, in order.
    pub blocks: Vec<CrossingText>,
    /// Present on a complete baseline.
    pub baseline_identity: Option<String>,
    /// The transitions it carries.
    pub changes: Vec<NativeChange>,
}

impl From<Message> for NativeMessage {
    fn from(message: Message) -> Self {
        let Source { baseline, changes } = message.source;
        Self {
            blocks: message.blocks.into_iter().map(CrossingText).collect(),
            baseline_identity: baseline.and_then(|mark| mark.identity),
            changes: changes.into_iter().map(NativeChange::from).collect(),
        }
    }
}

/// The byte account of a cut file.
#[napi(object, object_from_js = false)]
pub struct NativeTruncation {
    /// Model-facing path.
    pub display_path: String,
    /// Content bytes before the cut.
    pub original_bytes: f64,
    /// Content bytes that stayed.
    pub included_bytes: f64,
}

/// A rendered baseline.
#[napi(object, object_from_js = false)]
pub struct NativeBaseline {
    /// The message text.
    pub text: CrossingText,
    /// Files that the budget dropped.
    pub omitted: Vec<NativeFile>,
    /// The file that it cut, if any.
    pub truncated: Vec<NativeTruncation>,
}
