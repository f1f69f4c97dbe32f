//! Instruction files for DeepSeek Harness, reconciled natively.
//!
//! Three layers, one direction:
//!
//! - [`core`] decides: which files count, what the model sees already, what it is told next.
//! - `binding` (feature `napi`) carries: it converts, drives the core on the JavaScript thread,
//!   and brings its questions to the host's `ctx.fs`, or to the disk.
//! - `src-js` (TypeScript) lives with the host: sessions, events, order, cancellation.

pub mod core;

// Under `cargo test` napi registers no export, so nothing would use them.
#[cfg(feature = "napi")]
#[cfg_attr(test, allow(dead_code))]
mod binding;
