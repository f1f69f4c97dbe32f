//! Which files may hold instructions: the candidates of a directory, of the chain down to it, and of
//! where a touch leads.

use std::rc::Rc;

use super::config::Config;
use super::path::PathStyle;
use super::scope::{ROOT_DIRECTORY, ScopeKey, USER_GLOBAL, USER_GLOBAL_FILE};

/// One candidate file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its scope.
    pub scope: ScopeKey,
    /// Absolute path.
    pub path: Rc<str>,
    /// Model-facing path.
    pub display: Rc<str>,
}

/// The candidates of one directory: they are trusted, and lost, together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Directory part of its scopes.
    pub directory: Rc<str>,
    /// Its candidates, in configured order.
    pub candidates: Vec<Candidate>,
}

impl Group {
    /// How specific its instructions are: those of the harness home least, then the deeper the more.
    #[must_use]
    pub fn specificity(&self) -> usize {
        match &*self.directory {
            USER_GLOBAL => 0,
            ROOT_DIRECTORY => 1,
            directory => 2 + directory.matches('/').count(),
        }
    }
}

/// A candidate's path, and whether it is worth a peek before a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Absolute path.
    pub path: Rc<str>,
    /// A peek first: most directories have no such file.
    pub unlikely: bool,
}

/// `directory` and everything above it, upwards.
pub(super) fn ancestors(style: PathStyle, directory: &str) -> impl Iterator<Item = String> {
    std::iter::successors(Some(directory.to_owned()), move |current| {
        let parent = style.dirname(current);
        (parent != *current).then_some(parent)
    })
}

/// The directories from `root` down to `cwd`; from the file system's root when `root` is no ancestor.
#[must_use]
pub fn directory_chain(style: PathStyle, root: &str, cwd: &str) -> Vec<String> {
    let mut chain = Vec::new();
    for directory in ancestors(style, cwd) {
        let is_root = directory == root;
        chain.push(directory);
        if is_root {
            break;
        }
    }
    chain.reverse();
    chain
}

/// The directories strictly below `cwd` through which a touched file is reached, shallowest first.
/// A path that leaves `cwd`, or whose relative parent merely begins with `..`, reaches none.
#[must_use]
pub fn touched_directories(style: PathStyle, cwd: &str, touched: &str) -> Vec<String> {
    let parent = style.dirname(&style.resolve(cwd, touched));
    let relative = style.relative(cwd, &parent);
    if relative.is_empty() || relative.starts_with("..") || style.is_absolute(&relative) {
        return Vec::new();
    }
    let mut directory = cwd.to_owned();
    relative
        .split(style.separator())
        .map(|name| {
            directory = style.join(&directory, name);
            directory.clone()
        })
        .collect()
}

/// The scope directory of a directory that a model reads as `display`, which is empty for the root.
fn directory_of_display(display: &str) -> &str {
    if display.is_empty() { ROOT_DIRECTORY } else { display }
}

impl Config {
    /// What a complete baseline is made of: the harness home, then every directory from `root` down to `cwd`.
    #[must_use]
    pub fn chain(&self, root: &str, cwd: &str) -> Vec<Group> {
        let directories = directory_chain(self.style, root, cwd);
        let project = directories.iter().map(|directory| self.group_at(root, directory));
        std::iter::once(self.user_global_group()).chain(project).collect()
    }

    /// The single candidate of the harness home.
    #[must_use]
    pub fn user_global_group(&self) -> Group {
        let candidate = Candidate {
            scope: ScopeKey::user_global(),
            path: self.user_global_path().into(),
            display: self.user_global_display().into(),
        };
        Group { directory: USER_GLOBAL.into(), candidates: vec![candidate] }
    }

    /// The candidates in `directory`, an absolute path, under project root `root`: what discovery looks at.
    #[must_use]
    pub fn group_at(&self, root: &str, directory: &str) -> Group {
        let display = self.style.display(root, directory);
        self.group_of(directory_of_display(&display), &self.candidate_names(), directory, &display)
    }

    /// The candidates that a scope directory is reconciled with. `user-global` names the harness home,
    /// even where a project directory spells it.
    #[must_use]
    pub fn group(&self, root: &str, directory: &str) -> Group {
        self.candidates(root, directory, &self.candidate_names())
    }

    /// One candidate of a scope directory.
    #[must_use]
    pub fn candidate(&self, root: &str, directory: &str, name: &str) -> Candidate {
        self.candidates(root, directory, &[name]).candidates.swap_remove(0)
    }

    fn candidates(&self, root: &str, directory: &str, names: &[&str]) -> Group {
        if directory == USER_GLOBAL {
            let mut group = self.group_of(directory, names, &self.dsh_home, "");
            let display: Rc<str> = self.user_global_display().into();
            for candidate in &mut group.candidates {
                candidate.display = Rc::clone(&display);
            }
            return group;
        }
        let at = self.style.resolve(root, directory);
        self.group_of(directory, names, &at, &self.style.display(root, &at))
    }

    /// Candidates in `directory`, an absolute path that a model reads as `display`.
    fn group_of(&self, scopes: &str, names: &[&str], directory: &str, display: &str) -> Group {
        let candidate = |name: &&str| Candidate {
            scope: ScopeKey::new(scopes, name),
            path: self.style.join(directory, name).into(),
            display: if display.is_empty() { (*name).into() } else { [display, "/", name].concat().into() },
        };
        Group { directory: scopes.into(), candidates: names.iter().map(candidate).collect() }
    }

    /// The scope directory of an absolute directory.
    #[must_use]
    pub fn scope_directory(&self, root: &str, directory: &str) -> String {
        directory_of_display(&self.style.display(root, directory)).to_owned()
    }

    /// The scope directories through which touched files are reached from `cwd`, touch by touch.
    pub fn touched_scopes(&self, root: &str, cwd: &str, touched: &[String]) -> impl Iterator<Item = String> {
        let directories = touched.iter().flat_map(move |path| touched_directories(self.style, cwd, path));
        directories.map(move |directory| self.scope_directory(root, &directory))
    }

    /// The candidates of `groups`, as things to look at.
    #[must_use]
    pub fn wanted(&self, groups: impl IntoIterator<Item = Group>) -> Vec<Wanted> {
        groups
            .into_iter()
            .flat_map(|group| group.candidates)
            .map(|candidate| Wanted { unlikely: self.is_unlikely(&candidate), path: candidate.path })
            .collect()
    }

    /// Whether a directory rarely has a file of this name.
    #[must_use]
    pub fn is_unlikely(&self, candidate: &Candidate) -> bool {
        let (directory, name) = candidate.scope.parts();
        !(directory == USER_GLOBAL && name == USER_GLOBAL_FILE) && self.is_overlay(name)
    }
}

#[cfg(test)]
#[path = "candidates_tests.rs"]
mod tests;
