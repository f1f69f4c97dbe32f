//! Sessions at random: disk edits, faults, touches, compaction and resume between compositions.
//! Three bytes make the world, and each further three an action; the rules that every message is
//! held against are those of `test_support/session.rs`.
#![no_main]

use dsh_agent_instructions::core::*;
use libfuzzer_sys::fuzz_target;

#[allow(dead_code)] // the unit tests use the rest
#[path = "../../src/core/test_support.rs"]
mod test_support;

/// Longer sessions cost more time than they find.
const MAX_ACTIONS: usize = 48;

fuzz_target!(|bytes: &[u8]| {
    let (triples, _) = bytes.as_chunks::<3>();
    if let Some((world, actions)) = triples.split_first() {
        test_support::session::Session::play(*world, &actions[..actions.len().min(MAX_ACTIONS)]);
    }
});
