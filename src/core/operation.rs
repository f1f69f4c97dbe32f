//! What the core asks for, and what it gets. Who answers is not its business:
//! the host's provider, the native host disk, or a test's memory.
//!
//! Operations go out in batches of independent questions; an answer stands at
//! the index of its question, whatever order the answers were found in.

use std::future::Future;
use std::rc::Rc;

use super::text::JsText;

/// Names a resolved target that the answerer keeps; opaque to the core.
pub type TargetId = u32;

/// An opaque freshness token; equal tokens mean unchanged content.
pub type Version = Rc<[u16]>;

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// What is at `path`, following a final link? (resolve, then stat)
    Probe {
        /// Absolute path.
        path: Rc<str>,
    },
    /// What is the entry at `path` itself? (lstat: one operation instead of two)
    Peek {
        /// Absolute path.
        path: Rc<str>,
    },
    /// Does a target that a probe reported lie within bounds?
    Admit {
        /// The probe's target.
        target: TargetId,
        /// Where it must lie.
        bounds: Rc<Bounds>,
    },
    /// The content of a target that a probe reported, at most `limit` UTF-8 bytes of it.
    Read {
        /// The probe's target.
        target: TargetId,
        /// Inclusive cap in UTF-8 bytes.
        limit: f64,
        /// Where it must lie before and after, the path still leading to it; anywhere without bounds.
        bounds: Option<Rc<Bounds>>,
    },
}

/// Where files must lie to be loaded (options `symlinks: 'contained'` and `'ignore'`; SECURITY.md).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Absolute directories in one of which a target must lie, every link resolved: the project root and the harness home.
    pub within: [String; 2],
    /// Whether a candidate may itself be a link.
    pub links: bool,
}

/// What kind of entry a probe or a peek found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, which only a peek can report.
    Link,
    /// Anything else: a FIFO, a device, a socket.
    Other,
}

/// What a probe or a peek knows about an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The resolved target to read; meaningless after a peek.
    pub target: TargetId,
    /// The entry's kind.
    pub kind: EntryKind,
    /// The provider's freshness token.
    pub version: Version,
    /// Size in bytes, where the provider reports a usable one.
    pub size: Option<f64>,
}

/// One answer, at its question's index.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The entry exists.
    Present(Entry),
    /// The provider knows that nothing is there.
    Absent,
    /// The provider failed: nothing is known, and nothing may be concluded.
    Unavailable,
    /// The provider said something of it that cannot be understood: something is there, and no more is known.
    Unintelligible,
    /// The target lies within bounds.
    Admitted,
    /// It does not.
    Refused,
    /// The content of a file, read to its end within the cap.
    Content(JsText),
    /// The content exceeds the cap.
    Oversized,
}

/// Answers batches of operations.
pub trait Answerer {
    /// Answer every operation of `batch`, in its order.
    fn answer(&self, batch: Vec<Operation>) -> impl Future<Output = Vec<Answer>>;
}
