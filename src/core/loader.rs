//! Bounded reads of instruction files, and the duplicates among them.
//!
//! Content is read under `maxSourceBytes` whatever size was reported, each file
//! once for one composition, all files of a round together. It is dropped when
//! the composition ends.

use foldhash::{HashMap, HashSet};
use std::cell::RefCell;
use std::rc::Rc;

use super::digest::{ContentDigests, digest};
use super::discovery::{Candidate, Group, Standing, Survey};
use super::operation::{Answer, Answerer, Entry, Operation, Version};
use super::state::{Shortfall, ShortfallKind};
use super::text::JsText;

/// What became of reading one file.
#[derive(Clone, Debug)]
pub enum Reading {
    /// The whole content.
    Content(Rc<Content>),
    /// The content exceeds `maxSourceBytes`.
    Oversized,
    /// The provider reports a size beyond `maxSourceBytes`: enough not to read now, not enough to rely on.
    ReportedOversized,
    /// The provider failed.
    Unreadable,
}

/// Content and its identities.
#[derive(Debug)]
pub struct Content {
    /// The text as streamed.
    pub text: JsText,
    /// Its digests.
    pub digests: ContentDigests,
}

/// One file that was read.
#[derive(Clone, Debug)]
pub struct LoadedFile {
    /// Which candidate it is.
    pub candidate: Candidate,
    /// Its content.
    pub content: Rc<Content>,
    /// The provider's token when it was probed.
    pub version: Version,
}

/// Reads every file at most once for one composition.
pub struct Loader<'a, A> {
    files: &'a A,
    limit: f64,
    readings: RefCell<HashMap<String, Reading>>,
}

impl<'a, A: Answerer> Loader<'a, A> {
    /// A loader that has read nothing yet; `limit` is `maxSourceBytes`.
    pub fn new(files: &'a A, limit: f64) -> Self {
        Self { files, limit, readings: RefCell::default() }
    }

    /// Read every requested file that was not read yet, all together.
    pub async fn read(&self, requests: Vec<(String, Entry)>) {
        let mut asked: Vec<(String, Entry)> = Vec::new();
        for (path, entry) in requests {
            if self.readings.borrow().contains_key(&path) || asked.iter().any(|(other, _)| *other == path) {
                continue;
            }
            // A reported size only ever spares a read; it never admits one beyond the cap.
            if entry.size.is_some_and(|size| size > self.limit) {
                self.readings.borrow_mut().insert(path, Reading::ReportedOversized);
            } else {
                asked.push((path, entry));
            }
        }
        if asked.is_empty() {
            return;
        }
        let batch =
            asked.iter().map(|(_, entry)| Operation::Read { target: entry.target, limit: self.limit }).collect();
        let answers = self.files.answer(batch).await;
        let mut readings = self.readings.borrow_mut();
        for ((path, _), answer) in asked.into_iter().zip(answers) {
            let reading = match answer {
                Answer::Content(text) => Reading::Content(Rc::new(Content { digests: digest(&text), text })),
                Answer::Oversized => Reading::Oversized,
                _ => Reading::Unreadable,
            };
            readings.insert(path, reading);
        }
    }

    /// What became of the file at `path`; one that was never asked for is unreadable.
    #[must_use]
    pub fn reading(&self, path: &str) -> Reading {
        self.readings.borrow().get(path).cloned().unwrap_or(Reading::Unreadable)
    }

    /// Every present file of `groups`, as read requests.
    pub fn requests(groups: &[Group], survey: &Survey<'_, A>) -> Vec<(String, Entry)> {
        groups
            .iter()
            .flat_map(|group| &group.candidates)
            .filter_map(|candidate| survey.file(&candidate.path).map(|file| (candidate.path.clone(), file)))
            .collect()
    }

    /// The files of `groups` that are there, or may be, and were not read in full.
    pub fn shortfalls(&self, groups: &[Group], survey: &Survey<'_, A>) -> Vec<Shortfall> {
        let candidates = groups.iter().flat_map(|group| &group.candidates);
        candidates
            .filter_map(|candidate| {
                let standing = survey.standing(&candidate.path);
                let kind = match (&standing, self.reading(&candidate.path)) {
                    (Standing::Unavailable, _) => ShortfallKind::Unavailable,
                    (standing, _) if standing.file().is_none() => return None,
                    (_, Reading::Content(_)) => return None,
                    (_, Reading::Unreadable) => ShortfallKind::Unavailable,
                    (_, Reading::Oversized | Reading::ReportedOversized) => ShortfallKind::Oversized,
                };
                Some(Shortfall { path: candidate.path.clone(), display: candidate.display.clone(), kind })
            })
            .collect()
    }

    /// The files of `groups` that were read successfully, each path once, in order.
    pub fn loaded(&self, groups: &[Group], survey: &Survey<'_, A>) -> Vec<LoadedFile> {
        let mut paths = HashSet::default();
        let mut files = Vec::new();
        for candidate in groups.iter().flat_map(|group| &group.candidates) {
            let standing = survey.standing(&candidate.path);
            if let (Some(entry), Reading::Content(content)) = (standing.file(), self.reading(&candidate.path))
                && paths.insert(candidate.path.clone())
            {
                files.push(LoadedFile { candidate: candidate.clone(), content, version: entry.version.clone() });
            }
        }
        files
    }
}

/// Drop later files whose trimmed content equals an earlier one's in the same directory, as a model reads it.
#[must_use]
pub fn without_duplicates(files: &[LoadedFile]) -> Vec<LoadedFile> {
    fn directory(file: &LoadedFile) -> &str {
        file.candidate.display.rsplit_once('/').map_or("", |(directory, _)| directory)
    }
    let mut seen = HashSet::default();
    files.iter().filter(|file| seen.insert((directory(file), &file.content.digests.trimmed))).cloned().collect()
}

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;
