//! Bounded reads of instruction files, and the duplicates among them.
//!
//! Content is read under `maxSourceBytes` whatever size was reported, each file
//! once for one composition, all files of a round together. It is dropped when
//! the composition ends.
//!
//! Under `maxTotalSourceBytes` the most specific files are read first, and never more than that together:
//! 1. A file that exceeds the total by itself is oversized, whatever else is read.
//! 2. From the most specific on, files whose reported sizes fit together are read together, each under its
//!    reported size and a share of the room beside them; one without a reported size is read alone, under all
//!    that is left.
//! 3. What was read is taken off.
//! 4. The first file that does not fit, and every broader one, is left out.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use foldhash::{HashMap, HashSet};

use super::candidates::{Candidate, Group};
use super::digest::{ContentDigests, digest};
use super::discovery::{Standing, Survey};
use super::operation::{Answer, Answerer, Bounds, Entry, Operation, Version};
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
    /// `maxTotalSourceBytes` has no room for it beside the more specific files.
    LeftOut,
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

/// How much is read, in UTF-8 bytes.
#[derive(Clone, Copy, Debug)]
pub struct ReadLimits {
    /// Of one file: `maxSourceBytes`.
    pub each: f64,
    /// Of all files of one message: `maxTotalSourceBytes`; infinite where that is off.
    pub total: f64,
}

/// Reads every file at most once for one composition.
pub struct Loader<'a, A> {
    files: &'a A,
    limits: ReadLimits,
    /// What is left of the total.
    left: Cell<f64>,
    bounds: RefCell<Option<Rc<Bounds>>>,
    readings: RefCell<HashMap<Rc<str>, Reading>>,
}

impl<'a, A: Answerer> Loader<'a, A> {
    /// A loader that has read nothing yet.
    pub fn new(files: &'a A, limits: ReadLimits) -> Self {
        Self { files, limits, left: Cell::new(limits.total), bounds: RefCell::default(), readings: RefCell::default() }
    }

    /// Read nothing from now on but what lies within `bounds`.
    pub fn confine(&self, bounds: Rc<Bounds>) {
        self.bounds.replace(Some(bounds));
    }

    /// Begin another message: it has the whole total for itself.
    pub fn begin_message(&self) {
        self.left.set(self.limits.total);
    }

    /// Read every requested file that was not read yet. Requests are in order, broadest first; without a total they are
    /// read all together.
    pub async fn read(&self, requests: Vec<(Rc<str>, Entry)>) {
        let mut asked: Vec<(Rc<str>, Entry)> = Vec::new();
        for (path, entry) in requests {
            if self.readings.borrow().contains_key(&path) || asked.iter().any(|(other, _)| *other == path) {
                continue;
            }
            // A reported size only ever spares a read; it never admits one beyond the cap.
            if entry.size.is_some_and(|size| size > self.limits.each.min(self.limits.total)) {
                self.readings.borrow_mut().insert(path, Reading::ReportedOversized);
            } else {
                asked.push((path, entry));
            }
        }
        if self.limits.total.is_infinite() {
            self.read_together(asked, |_| self.limits.each).await;
        } else {
            self.read_within_total(asked).await;
        }
    }

    /// Read `asked`, the most specific last, under the total.
    async fn read_within_total(&self, mut asked: Vec<(Rc<str>, Entry)>) {
        while let Some(last) = asked.pop() {
            let left = self.left.get();
            let Some(size) = reported_size(&last.1) else {
                let limit = left.min(self.limits.each);
                let path = last.0.clone();
                self.read_together(vec![last], |_| limit).await;
                if matches!(self.reading(&path), Reading::Oversized) && limit < self.limits.each.min(self.limits.total)
                {
                    self.leave_out(asked.into_iter().map(|(path, _)| path).chain([path]));
                    return;
                }
                continue;
            };
            let mut room = left - size;
            if room < 0.0 {
                self.leave_out(asked.into_iter().chain([last]).map(|(path, _)| path));
                return;
            }
            let mut together = vec![last];
            while let Some(next) = asked.pop_if(|(_, entry)| reported_size(entry).is_some_and(|size| size <= room)) {
                room -= reported_size(&next.1).unwrap_or_default();
                together.push(next);
            }
            // Bytes that are no text become longer, and not every provider counts in UTF-8.
            #[allow(clippy::cast_precision_loss)] // a composition has few files
            let share = room / together.len() as f64;
            let limit = |entry: &Entry| (reported_size(entry).unwrap_or_default() + share).min(self.limits.each);
            self.read_together(together, limit).await;
        }
    }

    fn leave_out(&self, paths: impl IntoIterator<Item = Rc<str>>) {
        self.readings.borrow_mut().extend(paths.into_iter().map(|path| (path, Reading::LeftOut)));
    }

    /// Read `asked` at once, each file under its `limit`.
    async fn read_together(&self, asked: Vec<(Rc<str>, Entry)>, limit: impl Fn(&Entry) -> f64) {
        if asked.is_empty() {
            return;
        }
        let read = |(_, entry): &(Rc<str>, Entry)| Operation::Read {
            target: entry.target,
            limit: limit(entry),
            bounds: self.bounds.borrow().clone(),
        };
        let batch = asked.iter().map(read).collect();
        let answers = self.files.answer(batch).await;
        let mut readings = self.readings.borrow_mut();
        for ((path, _), answer) in asked.into_iter().zip(answers) {
            let reading = match answer {
                Answer::Content(text) => {
                    self.left.set(self.left.get() - in_bytes(&text));
                    Reading::Content(Rc::new(Content { digests: digest(&text), text }))
                }
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
    pub fn requests(groups: &[Group], survey: &Survey<'_, A>) -> Vec<(Rc<str>, Entry)> {
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
                    (Standing::Refused, _) => ShortfallKind::Refused,
                    (standing, _) if standing.file().is_none() => return None,
                    (_, Reading::Content(_)) => return None,
                    (_, Reading::Unreadable) => ShortfallKind::Unavailable,
                    (_, Reading::Oversized | Reading::ReportedOversized) => ShortfallKind::Oversized,
                    (_, Reading::LeftOut) => ShortfallKind::Omitted,
                };
                Some(Shortfall { path: candidate.path.clone(), display: candidate.display.clone(), kind })
            })
            .collect()
    }

    /// The files of `groups` that the total left out.
    pub fn left_out<'g>(&self, groups: &'g [Group]) -> impl Iterator<Item = &'g Candidate> {
        let candidates = groups.iter().flat_map(|group| &group.candidates);
        candidates.filter(|candidate| matches!(self.reading(&candidate.path), Reading::LeftOut))
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

/// The size that the provider reports, if it can be one.
fn reported_size(entry: &Entry) -> Option<f64> {
    entry.size.filter(|size| *size >= 0.0)
}

#[allow(clippy::cast_precision_loss)] // no content comes near 2^53 bytes
fn in_bytes(text: &JsText) -> f64 {
    text.len() as f64
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
