//! Answers the core from the host's own disk, for callers without a provider.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::FileType;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokio::io::AsyncReadExt;

use crate::core::operation::{Answer, Answerer, Bounds, Entry, EntryKind, Operation, TargetId};
use crate::core::text::JsText;

// In the words of `provider-calls.ts`.
const IS_A_LINK: &str = "it is a link";
const LEADS_OUT: &str = "it leads out of the project root and the harness home";
const LEADS_ELSEWHERE: &str = "it no longer leads where it led when it was looked at";

/// The disk, the paths behind the targets it has named, and what went wrong.
#[derive(Default)]
pub struct HostDisk {
    targets: RefCell<Vec<PathBuf>>,
    failures: RefCell<HashMap<PathBuf, String>>,
}

impl Answerer for HostDisk {
    async fn answer(&self, batch: Vec<Operation>) -> Vec<Answer> {
        let mut answers = Vec::with_capacity(batch.len());
        for operation in batch {
            answers.push(match operation {
                Operation::Probe { path } => self.describe(&path, tokio::fs::metadata(&*path).await),
                Operation::Peek { path } => self.describe(&path, tokio::fs::symlink_metadata(&*path).await),
                Operation::Admit { target, bounds } => match self.path_of(target) {
                    Some(path) => self.admit(&path, &bounds).await.map_or_else(|answer| answer, |_| Answer::Admitted),
                    None => Answer::Unavailable,
                },
                Operation::Read { target, limit, bounds } => match self.path_of(target) {
                    Some(path) => self.read(path, limit, bounds.as_deref()).await,
                    None => Answer::Unavailable,
                },
            });
        }
        answers
    }
}

impl HostDisk {
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // few targets; file sizes below 2^53
    fn describe(&self, path: &str, metadata: std::io::Result<std::fs::Metadata>) -> Answer {
        match metadata {
            Ok(metadata) => {
                let mut targets = self.targets.borrow_mut();
                targets.push(PathBuf::from(path));
                let size = metadata.is_file().then_some(metadata.len() as f64);
                Answer::Present(Entry {
                    target: (targets.len() - 1) as u32,
                    kind: kind_of(metadata.file_type()),
                    version: Rc::default(),
                    size,
                })
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Answer::Absent,
            Err(error) => self.fail(PathBuf::from(path), &error),
        }
    }

    fn path_of(&self, target: TargetId) -> Option<PathBuf> {
        self.targets.borrow().get(target as usize).cloned()
    }

    /// Where `path` leads, if it leads into bounds; the answer otherwise.
    async fn admit(&self, path: &Path, bounds: &Bounds) -> Result<PathBuf, Answer> {
        let unknown = |error: &Error| self.fail(path.to_owned(), error);
        let entry = tokio::fs::symlink_metadata(path).await.map_err(|error| unknown(&error))?;
        if entry.is_symlink() && !bounds.links {
            return Err(self.refuse(path, IS_A_LINK));
        }
        let real = tokio::fs::canonicalize(path).await.map_err(|error| unknown(&error))?;
        for directory in &bounds.within {
            match tokio::fs::canonicalize(directory).await {
                Ok(directory) if real.starts_with(&directory) => return Ok(real),
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(unknown(&error)),
                // Nothing lies in a directory that does not exist.
                _ => {}
            }
        }
        Err(self.refuse(path, LEADS_OUT))
    }

    fn refuse(&self, path: &Path, reason: &str) -> Answer {
        self.failures.borrow_mut().insert(path.to_owned(), reason.to_owned());
        Answer::Refused
    }

    /// Read what `path` leads to, which must lie within bounds before and after.
    async fn read(&self, path: PathBuf, limit: f64, bounds: Option<&Bounds>) -> Answer {
        let Some(bounds) = bounds else { return self.read_from(&path, path.clone(), limit).await };
        let Ok(real) = self.admit(&path, bounds).await else { return Answer::Unavailable };
        let answer = self.read_from(&real, path.clone(), limit).await;
        match self.admit(&path, bounds).await {
            Ok(after) if after == real => answer,
            _ => {
                self.failures.borrow_mut().insert(path, LEADS_ELSEWHERE.to_owned());
                Answer::Unavailable
            }
        }
    }

    /// Read at most one byte more than the cap. Invalid UTF-8 becomes U+FFFD, as Node decodes it.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)] // clamped to the range
    async fn read_from(&self, real: &Path, path: PathBuf, limit: f64) -> Answer {
        let cap = limit.clamp(0.0, 9_007_199_254_740_991.0) as u64;
        let mut bytes = Vec::new();
        let result =
            async { tokio::fs::File::open(real).await?.take(cap.saturating_add(1)).read_to_end(&mut bytes).await }
                .await;
        if let Err(error) = result {
            return self.fail(path, &error);
        }
        let text = JsText::from(String::from_utf8_lossy(&bytes).into_owned());
        if bytes.len() as f64 > limit || text.len() as f64 > limit { Answer::Oversized } else { Answer::Content(text) }
    }

    /// Why the path could not be answered for, if it could not.
    pub fn failure(&self, path: &str) -> Option<String> {
        self.failures.borrow().get(Path::new(path)).cloned()
    }

    fn fail(&self, path: PathBuf, error: &Error) -> Answer {
        self.failures.borrow_mut().insert(path, error.to_string());
        Answer::Unavailable
    }
}

fn kind_of(file_type: FileType) -> EntryKind {
    if file_type.is_file() {
        EntryKind::File
    } else if file_type.is_dir() {
        EntryKind::Directory
    } else if file_type.is_symlink() {
        EntryKind::Link
    } else {
        EntryKind::Other
    }
}
