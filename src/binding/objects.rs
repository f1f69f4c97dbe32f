//! The objects that cross the boundary, named after what they become in TypeScript.

use napi_derive::napi;

use crate::core::budget::ByteBudget;
use crate::core::candidates::Candidate;
use crate::core::compose::Message;
use crate::core::config::{Config, MarkerErrors, Symlinks, valid_candidates};
use crate::core::escape::Escaping;
use crate::core::inspect::{FileState, InspectedFile, Inspection};
use crate::core::path::PathStyle;
use crate::core::state::{Change, Shortfall, ShortfallKind, Source};

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
    /// Which links are followed: `follow` (all), `contained` or `ignore`.
    pub symlinks: String,
    /// UTF-8 bytes of all source files of one message, where they are bounded.
    pub max_total_source_bytes: Option<f64>,
    /// What a root marker that cannot be probed comes to: `absent`, `keep` or `throw`.
    pub root_marker_errors: String,
    /// Whether every spelling of the frame's tags is escaped, and paths are kept on one line.
    pub strict_escaping: bool,
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
            symlinks: Symlinks::named(&config.symlinks),
            max_total_source: config.max_total_source_bytes.map(|bytes| ByteBudget::new(bytes, bytes.to_string())),
            root_marker_errors: MarkerErrors::named(&config.root_marker_errors),
            escaping: escaping(config.strict_escaping),
        }
    }
}

/// The escaping that `strictEscaping` names.
pub fn escaping(strict: bool) -> Escaping {
    if strict { Escaping::Strict } else { Escaping::Plain }
}

/// Text that the core shares, for napi to convert.
pub fn owned(text: &str) -> String {
    text.to_owned()
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
        Self { absolute_path: owned(&candidate.path), display_path: owned(&candidate.display) }
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
            scope: owned(change.scope.as_str()),
            path: owned(&change.path),
            digest: change.digest.as_deref().map(owned),
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

/// One inspected candidate.
#[napi(object, object_from_js = false)]
pub struct NativeInspectedFile {
    /// Absolute path.
    pub absolute_path: String,
    /// Model-facing path.
    pub display_path: String,
    /// Scope key.
    pub scope: String,
    /// What became of it: one of the states that `inspect.ts` names.
    pub state: &'static str,
    /// The file that a duplicate repeats.
    pub duplicate_of: Option<String>,
    /// Content bytes that stayed of a truncated file.
    pub included_bytes: Option<f64>,
    /// Content bytes, or the reported size.
    pub bytes: Option<f64>,
    /// Bytes of the message that it takes.
    pub message_bytes: f64,
    /// SHA-1 of the content.
    pub digest: Option<String>,
    /// Why it is unavailable or refused, where the disk told.
    pub reason: Option<String>,
}

#[allow(clippy::cast_precision_loss)] // contents come nowhere near 2^53 bytes
impl From<InspectedFile> for NativeInspectedFile {
    fn from(file: InspectedFile) -> Self {
        let (state, duplicate_of, included_bytes) = match file.state {
            FileState::Loaded => ("loaded", None, None),
            FileState::Truncated(included) => ("truncated", None, Some(included as f64)),
            FileState::Omitted => ("omitted", None, None),
            FileState::Duplicate(of) => ("duplicate", Some(of), None),
            FileState::Absent => ("absent", None, None),
            FileState::Unavailable => ("unavailable", None, None),
            FileState::Oversized => ("oversized", None, None),
            FileState::Refused => ("refused", None, None),
            FileState::Disabled => ("disabled", None, None),
        };
        Self {
            absolute_path: owned(&file.candidate.path),
            display_path: owned(&file.candidate.display),
            scope: owned(file.candidate.scope.as_str()),
            state,
            duplicate_of: duplicate_of.as_deref().map(owned),
            included_bytes,
            bytes: file.bytes,
            message_bytes: file.message_bytes as f64,
            digest: file.digest.as_deref().map(owned),
            reason: None,
        }
    }
}

/// An inspection.
#[napi(object, object_from_js = false)]
pub struct NativeInspection {
    /// The project root.
    pub project_root: String,
    /// Every candidate, from broadest to most specific.
    pub files: Vec<NativeInspectedFile>,
    /// What the model would be told: the baseline, then what the touch adds.
    pub blocks: Vec<CrossingText>,
}

impl From<Inspection> for NativeInspection {
    fn from(inspection: Inspection) -> Self {
        Self {
            project_root: inspection.root,
            files: inspection.files.into_iter().map(NativeInspectedFile::from).collect(),
            blocks: inspection.blocks.into_iter().map(CrossingText).collect(),
        }
    }
}

/// A file that the model was not told in full.
#[napi(object, object_from_js = false)]
pub struct NativeShortfall {
    /// Absolute path.
    pub absolute_path: String,
    /// Model-facing path.
    pub display_path: String,
    /// `omitted`, `truncated`, `oversized`, `refused` or `unavailable`.
    pub kind: &'static str,
}

impl From<Shortfall> for NativeShortfall {
    fn from(shortfall: Shortfall) -> Self {
        let kind = match shortfall.kind {
            ShortfallKind::Omitted => "omitted",
            ShortfallKind::Truncated => "truncated",
            ShortfallKind::Oversized => "oversized",
            ShortfallKind::Refused => "refused",
            ShortfallKind::Unavailable => "unavailable",
        };
        Self { absolute_path: owned(&shortfall.path), display_path: owned(&shortfall.display), kind }
    }
}
