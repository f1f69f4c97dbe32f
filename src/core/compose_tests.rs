#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;

use super::super::test_support::session::Session;
use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn what_is_remembered_and_how_the_disk_is_asked_never_shows(
        world: [u8; 3],
        actions in prop::collection::vec(any::<[u8; 3]>(), 0..40),
    ) {
        Session::play(world, &actions);
    }
}
