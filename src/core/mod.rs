//! The pure core: every decision about files, scopes, budgets and text.
//!
//! It names neither Node-API nor tokio nor the host's file system: it asks batches
//! of [`operation::Operation`]s and goes on with the answers.

pub mod baseline;
pub mod budget;
pub mod candidates;
pub mod compose;
pub mod config;
pub mod digest;
pub mod discovery;
pub mod escape;
pub mod inspect;
pub mod landmarks;
pub mod loader;
pub mod operation;
pub mod path;
pub mod plan;
pub mod reconcile;
pub mod render;
pub mod scope;
pub mod settled;
pub mod standalone;
pub mod state;
pub mod text;

#[cfg(test)]
mod test_support;
