//! What the model can see, and what the core remembers between steps.
//!
//! The visible state of a session is the fold of every visible message's changes,
//! in order. It comes from persisted sources, never from prose. What is remembered
//! beside it only selects and accelerates probes: losing it costs reads, not truth.

use std::cell::RefCell;
use std::rc::Rc;

use foldhash::HashMap;
use foldhash::fast::RandomState;
use indexmap::IndexMap;
use serde_json::Value;
use serde_json::value::RawValue;

use super::digest::HexDigest;
use super::landmarks::Landmarks;
use super::operation::Version;
use super::scope::ScopeKey;
use super::settled::Settled;

/// What a change does to its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The scope's instructions become known.
    Set,
    /// New content supersedes the scope's earlier content.
    Replace,
    /// The scope's instructions no longer apply; the tombstone stays.
    Remove,
}

impl Action {
    /// The persisted spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Replace => "replace",
            Self::Remove => "remove",
        }
    }

    fn persisted(name: &str) -> Option<Self> {
        [Self::Set, Self::Replace, Self::Remove].into_iter().find(|action| action.as_str() == name)
    }
}

/// One persisted state transition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// What happened.
    pub action: Action,
    /// The candidate it happened to.
    pub scope: ScopeKey,
    /// Its model-facing path at the time.
    pub path: Rc<str>,
    /// SHA-1 of the content; absent for a removal.
    pub digest: Option<HexDigest>,
}

/// The typed source of one message, as far as the core reads it back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Source {
    /// The identity, when the message is a complete baseline.
    pub baseline: Option<BaselineMark>,
    /// The transitions it carries.
    pub changes: Vec<Change>,
}

/// Marks a source as a complete baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BaselineMark {
    /// What the baseline was composed under; a source without one is compatible with nothing.
    pub identity: Option<String>,
}

/// Decode a JSON array of persisted sources. History may come from another version or
/// another hand: whatever is not a change is passed over, nothing is an error.
#[must_use]
pub fn decode_sources(json: &str) -> Vec<Source> {
    // Taken apart first: a source that a `Value` cannot hold (half a surrogate pair, nesting without end) costs no other.
    let sources: Vec<&RawValue> = serde_json::from_str(json).unwrap_or_default();
    let decoded =
        sources.into_iter().map(|source| serde_json::from_str(source.get()).map(|value| decode_source(&value)));
    decoded.map(Result::unwrap_or_default).collect()
}

fn decode_source(source: &Value) -> Source {
    let baseline = (source.get("baseline") == Some(&Value::Bool(true)))
        .then(|| BaselineMark { identity: source.get("baselineIdentity").and_then(Value::as_str).map(str::to_owned) });
    let changes = source.get("changes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Source { baseline, changes: changes.iter().filter_map(decode_change).collect() }
}

fn decode_change(change: &Value) -> Option<Change> {
    Some(Change {
        action: Action::persisted(change.get("action")?.as_str()?)?,
        scope: ScopeKey::persisted(change.get("scope")?.as_str()?),
        path: change.get("path")?.as_str()?.into(),
        digest: change.get("digest").and_then(Value::as_str).map(Rc::from),
    })
}

/// The fold of visible changes: the latest change of every scope, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct Visible {
    scopes: IndexMap<ScopeKey, Change, RandomState>,
}

impl Visible {
    /// Fold further changes, in order.
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            self.scopes.insert(change.scope.clone(), change.clone());
        }
    }

    /// The standing instruction of `scope`; a tombstone is none.
    #[must_use]
    pub fn standing(&self, scope: &ScopeKey) -> Option<&Change> {
        self.scopes.get(scope).filter(|change| change.action != Action::Remove)
    }

    /// Every scope ever seen, tombstones included.
    pub fn scopes(&self) -> impl Iterator<Item = &ScopeKey> {
        self.scopes.keys()
    }
}

/// What the model sees: the fold of its instruction messages' sources and the latest baseline among them.
/// Cheap to clone; two clones are known to be equal without looking.
#[derive(Clone, Debug, Default)]
pub struct Authority(Rc<Seen>);

#[derive(Clone, Debug, Default)]
struct Seen {
    visible: Visible,
    baseline: Option<Rc<Source>>,
}

impl From<Vec<Source>> for Authority {
    fn from(sources: Vec<Source>) -> Self {
        Self::default().with(sources)
    }
}

impl Authority {
    /// The same, and behind it `further` sources; what they cost does not grow with the sources before them.
    #[must_use]
    pub fn with(&self, further: Vec<Source>) -> Self {
        if further.is_empty() {
            return self.clone();
        }
        let mut seen = Seen::clone(&self.0);
        for source in further {
            seen.visible.apply(&source.changes);
            if source.baseline.is_some() {
                seen.baseline = Some(Rc::new(source));
            }
        }
        Self(Rc::new(seen))
    }

    /// The fold of all changes.
    #[must_use]
    pub fn visible(&self) -> &Visible {
        &self.0.visible
    }

    /// The latest complete baseline.
    #[must_use]
    pub fn baseline(&self) -> Option<&Source> {
        self.0.baseline.as_deref()
    }

    /// Whether `other` is a clone of this.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// What is known of one scope's file without its prose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// Absolute path.
    pub path: Rc<str>,
    /// The provider's token when the content was read.
    pub version: Version,
    /// SHA-1 of that content.
    pub digest: HexDigest,
    /// SHA-1 of that content, trimmed: the per-directory duplicate key.
    pub trimmed: HexDigest,
}

/// What the core remembers of one session under one mount and one provider.
#[derive(Debug, Default)]
pub struct Memory {
    /// Last known file of every scope.
    pub versions: HashMap<ScopeKey, KnownFile>,
    /// Baseline scopes that were not retained, by duplication, budget or `maxTotalSourceBytes`: they stay
    /// out until the next complete composition. `None` until one has been made.
    /// Each with its absolute path.
    pub excluded: Option<HashMap<ScopeKey, Rc<str>>>,
    /// Whether the provider's `lstat` can be believed.
    pub peeks: PeekTrust,
    /// Files of the last complete composition that the model was not told in full, for a person to be told.
    pub shortfalls: Vec<Shortfall>,
    /// What the last composition found to agree with the disk.
    pub settled: Option<Settled>,
    /// Touches of which `maxTotalSourceBytes` has left something out: the next composition takes them over.
    pub postponed: Vec<String>,
    /// What other sessions of the same provider have found.
    pub landmarks: Rc<RefCell<Landmarks>>,
}

/// A file that the model was not told in full, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// Absolute path, by which the host knows what went wrong.
    pub path: Rc<str>,
    /// Model-facing path.
    pub display: Rc<str>,
    /// What happened to it.
    pub kind: ShortfallKind,
}

/// Why a file was not told in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortfallKind {
    /// The budget left no room for it.
    Omitted,
    /// The budget cut it.
    Truncated,
    /// It exceeds `maxSourceBytes`.
    Oversized,
    /// The option `symlinks` does not admit it.
    Refused,
    /// The provider failed.
    Unavailable,
}

impl Memory {
    /// What is remembered of a session whose provider other sessions have got to know.
    #[must_use]
    pub fn beside(landmarks: Rc<RefCell<Landmarks>>) -> Self {
        Self { landmarks, ..Self::default() }
    }

    /// Whether the last complete composition found `scope` and did not retain it.
    #[must_use]
    pub fn excludes(&self, scope: &ScopeKey) -> bool {
        self.excluded.as_ref().is_some_and(|excluded| excluded.contains_key(scope))
    }

    /// The same for an absolute path.
    #[must_use]
    pub fn excludes_path(&self, path: &str) -> bool {
        self.excluded.as_ref().is_some_and(|excluded| excluded.values().any(|other| **other == *path))
    }

    /// Whether a file was ever read at `path`.
    #[must_use]
    pub fn knows_path(&self, path: &str) -> bool {
        self.versions.values().any(|known| *known.path == *path)
    }
}

/// Whether a peek that finds nothing proves that nothing is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeekTrust {
    /// No peek has found anything yet.
    #[default]
    Unproven,
    /// A peek has found an entry.
    Proven,
    /// The provider's peeks find nothing where something is: they are not used.
    Broken,
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
