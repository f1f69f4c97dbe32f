use proptest::prelude::*;

use super::*;

const EMPTY: &str = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
const ABC: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";

/// What JavaScript's `trim` strips.
const STRIPPED: &[char] = &[
    '\t', '\n', '\u{B}', '\u{C}', '\r', ' ', '\u{A0}', '\u{1680}', '\u{2000}', '\u{2001}', '\u{2002}', '\u{2003}',
    '\u{2004}', '\u{2005}', '\u{2006}', '\u{2007}', '\u{2008}', '\u{2009}', '\u{200A}', '\u{2028}', '\u{2029}',
    '\u{202F}', '\u{205F}', '\u{3000}', '\u{FEFF}',
];

fn digests(full: &str, trimmed: &str) -> ContentDigests {
    ContentDigests { full: full.into(), trimmed: trimmed.into() }
}

fn sha1(text: &str) -> String {
    Sha1::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn digests_are_those_of_node_crypto_over_content_and_trimmed_content() {
    // createHash('sha1').update(text).digest('hex') and the same of text.trim()
    let table = [
        ("", EMPTY, EMPTY),
        ("abc", ABC, ABC),
        (" abc\n", "da61bfb538f8787d1af15ca8268a49a540d41041", ABC),
        ("\r\nabc\r\n", "aa990a2b25f4cc74e739481ede7a95bf09e21f80", ABC),
        ("\u{FEFF}abc", "0bd332e7dbe318a5f1258e1eae113b2b0e69dbef", ABC),
        ("abc\u{85}", "cdcb56a68c206127ddf7ed5457c7ac4093350c51", "cdcb56a68c206127ddf7ed5457c7ac4093350c51"),
        (" \u{2028}\t", "571bb79dc985e9a251978fd570c4fc810d0340ef", EMPTY),
        ("é漢😀", "71b826e24f58e72f518fa6dcc94aed6afaa8af5f", "71b826e24f58e72f518fa6dcc94aed6afaa8af5f"),
    ];
    for (text, full, trimmed) in table {
        assert_eq!(digest(&JsText::from(text)), digests(full, trimmed), "{text:?}");
    }
}

#[test]
fn a_lone_surrogate_is_hashed_as_the_replacement_character_that_node_writes() {
    let replacement = "9bdb77276c1852e1fb067820472812fcf6084024";
    let swapped = "8750ec9ddfe293cd1dc39b4245c21c270f8f52b7";
    let table: [(&[u16], &str, &str); 4] = [
        (&[0xFFFD], replacement, replacement),
        (&[0xD83D], replacement, replacement),
        (&[0xDE00, 0xD83D], swapped, swapped),
        (&[0x61, 0xD800, 0x20], "9242e516009c6b08b7776c37a02c152dfaef9447", "ff570a76da46e07de99c8cccab5d872ac960f33d"),
    ];
    for (units, full, trimmed) in table {
        assert_eq!(digest(&JsText::from_utf16(units)), digests(full, trimmed), "{units:X?}");
    }
}

#[test]
fn line_endings_and_inner_white_space_make_other_content() {
    let of = |text: &str| digest(&JsText::from(text));
    assert_ne!(of("a\r\nb").trimmed, of("a\nb").trimmed);
    assert_ne!(of("a  b").trimmed, of("a b").trimmed);
    assert_eq!(of("\u{FEFF}a\r\nb\r\n").trimmed, of("a\r\nb").trimmed);
}

proptest! {
    #[test]
    fn any_content_has_the_digests_of_nodes_utf_8(
        lead in prop::collection::vec(prop::sample::select(STRIPPED), 0..3),
        units in prop::collection::vec(prop_oneof![any::<u16>(), 0xD7FE_u16..=0xE001, 0x80_u16..=0xA1, 0_u16..=0x7F], 0..90),
        tail in prop::collection::vec(prop::sample::select(STRIPPED), 0..3),
    ) {
        let mut content = JsText::from(String::from_iter(lead));
        content.push_utf16(&units);
        content.push_str(&String::from_iter(tail));
        let node = String::from_utf16_lossy(&content.to_utf16());
        prop_assert_eq!(digest(&content), digests(&sha1(&node), &sha1(node.trim_matches(STRIPPED))));
    }
}
