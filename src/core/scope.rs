//! Scope keys: the identity under which one instruction candidate is tracked.
//!
//! A scope pairs a directory with a candidate name, so that two candidates of
//! one directory never share state. The directory is `.` for the project root,
//! a root-relative path below it, or the reserved `user-global`. A project
//! directory that spells a reserved name collides with it; that is the published
//! behaviour (contract, "Behaviour the README leaves open").

use std::rc::Rc;

/// Directory part of the single user-global scope.
pub const USER_GLOBAL: &str = "user-global";
/// File name of the single user-global instruction file under the harness home.
pub const USER_GLOBAL_FILE: &str = "AGENTS.md";
/// Directory part of the project root's scopes.
pub const ROOT_DIRECTORY: &str = ".";
/// Stands between directory and name; no path can hold it.
const SEPARATOR: &str = "\0";

/// The model-facing spellings of the user-global file, for the default and for a configured home.
const USER_GLOBAL_PATHS: [&str; 2] = ["~/.dsh/AGENTS.md", "$DSH_HOME/AGENTS.md"];

/// One candidate's scope, in the persisted spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeKey(Rc<str>);

impl ScopeKey {
    /// The scope of candidate `name` in `directory`.
    #[must_use]
    pub fn new(directory: &str, name: &str) -> Self {
        Self([directory, SEPARATOR, name].concat().into())
    }

    /// The scope of the user-global file.
    #[must_use]
    pub fn user_global() -> Self {
        Self::new(USER_GLOBAL, USER_GLOBAL_FILE)
    }

    /// The scope that a model-facing path names.
    #[must_use]
    pub fn of_display_path(display_path: &str) -> Self {
        let name = display_path.rsplit('/').next().unwrap_or(display_path);
        Self::new(directory_of_display_path(display_path), name)
    }

    /// A key as it was persisted; any text is a key, if perhaps not one of ours.
    #[must_use]
    pub fn persisted(key: &str) -> Self {
        Self(key.into())
    }

    /// The persisted spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Directory and candidate name; a key without a separator is all directory.
    #[must_use]
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_once(SEPARATOR).unwrap_or((&self.0, ""))
    }
}

/// The directory that a model-facing path's instructions apply to: `user-global`, `.` or the parent.
#[must_use]
pub fn directory_of_display_path(display_path: &str) -> &str {
    if USER_GLOBAL_PATHS.contains(&display_path) {
        return USER_GLOBAL;
    }
    match display_path.rsplit_once('/') {
        Some((directory, _)) => directory,
        None => ROOT_DIRECTORY,
    }
}

#[cfg(test)]
#[path = "scope_tests.rs"]
mod tests;
