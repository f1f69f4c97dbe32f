//! Where things stood when a session last looked: what the next session of the same provider asks first.
//!
//! A landmark is a hint. It decides in which order a new session asks, and whether by a peek or by a
//! probe; every answer still comes from the provider, and a root that is not confirmed is walked to
//! anew. A wrong landmark costs calls, never truth.

use std::rc::Rc;

use foldhash::HashMap;
use indexmap::IndexMap;

use super::discovery::RootWalk;

/// Working directories that are remembered, the latest ones.
const CAPACITY: usize = 64;

/// What was found from one working directory.
#[derive(Debug)]
pub struct Landmark {
    /// The root walk.
    pub walk: RootWalk,
    /// The candidates of the chain by absolute path, and whether a file was there.
    pub files: HashMap<Rc<str>, bool>,
}

/// What sessions have found through one provider. Holds nothing of a provider whose peeks were never seen to work.
#[derive(Debug, Default)]
pub struct Landmarks {
    by_cwd: IndexMap<String, Rc<Landmark>>,
}

impl Landmarks {
    /// What was last found from `cwd`.
    #[must_use]
    pub fn at(&self, cwd: &str) -> Option<Rc<Landmark>> {
        self.by_cwd.get(cwd).cloned()
    }

    /// Note what was found from `cwd`, by peeks that work.
    pub fn note(&mut self, cwd: &str, landmark: Landmark) {
        self.by_cwd.shift_remove(cwd);
        self.by_cwd.insert(cwd.to_owned(), Rc::new(landmark));
        if self.by_cwd.len() > CAPACITY {
            self.by_cwd.shift_remove_index(0);
        }
    }

    /// Forget everything: the provider's peeks have turned out to be of no use.
    pub fn forget(&mut self) {
        self.by_cwd.clear();
    }
}

#[cfg(test)]
#[path = "landmarks_tests.rs"]
mod tests;
