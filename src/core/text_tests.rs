use proptest::prelude::*;

use super::*;

/// The code units that `String.prototype.trim` strips, as Node reports them one by one.
const STRIPPED: [u16; 25] = [
    0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0xA0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007,
    0x2008, 0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF,
];

/// Any code units, with surrogates in and out of order far more often than chance has them.
fn units() -> impl Strategy<Value = Vec<u16>> {
    let unit = prop_oneof![
        3 => 0xD7FE_u16..=0xE001,
        3 => prop::sample::select(vec![0xD800_u16, 0xDBFF, 0xDC00, 0xDFFF]),
        2 => any::<u16>(),
        2 => 0_u16..=0x7F,
        1 => 0x80_u16..=0x7FF,
    ];
    prop::collection::vec(unit, 0..24)
}

/// The same with white space, and what only looks like it, at every place.
fn spaced_units() -> impl Strategy<Value = Vec<u16>> {
    let space = || prop::collection::vec(prop::sample::select([&STRIPPED[..], &[0x85, 0x180E, 0x200B]].concat()), 0..5);
    (space(), units(), space(), units(), space())
        .prop_map(|parts| [parts.0, parts.1, parts.2, parts.3, parts.4].concat())
}

/// `units` as characters: a pair, or one unit.
fn characters(units: &[u16]) -> Vec<&[u16]> {
    let mut characters = Vec::new();
    let mut rest = units;
    while let Some(first) = rest.first() {
        let paired =
            (0xD800..0xDC00).contains(first) && rest.get(1).is_some_and(|second| (0xDC00..0xE000).contains(second));
        let (character, behind) = rest.split_at(if paired { 2 } else { 1 });
        characters.push(character);
        rest = behind;
    }
    characters
}

/// `Buffer.byteLength`.
fn byte_length(units: &[u16]) -> usize {
    characters(units)
        .into_iter()
        .map(|character| match character {
            [0..=0x7F] => 1,
            [0x80..=0x7FF] => 2,
            [_] => 3,
            _ => 4,
        })
        .sum()
}

/// `String.prototype.trim`.
fn trimmed(units: &[u16]) -> &[u16] {
    let start = units.iter().position(|unit| !STRIPPED.contains(unit)).unwrap_or(units.len());
    let end = units.iter().rposition(|unit| !STRIPPED.contains(unit)).map_or(start, |last| last + 1);
    &units[start..end]
}

fn trim(units: &[u16]) -> Vec<u16> {
    let text = JsText::from_utf16(units);
    let kept = text.trim_range();
    JsText { bytes: text.as_bytes()[kept].to_vec() }.to_utf16()
}

#[test]
fn every_single_code_unit_survives_the_round_trip_and_counts_what_javascript_counts() {
    for unit in 0..=u16::MAX {
        let text = JsText::from_utf16(&[unit]);
        assert_eq!(text.to_utf16(), [unit]);
        assert_eq!(text.len(), byte_length(&[unit]), "U+{unit:04X}");
        assert_eq!(text.as_str().is_none(), (0xD800..0xE000).contains(&unit), "U+{unit:04X}");
    }
}

#[test]
fn a_character_takes_its_utf_8_form_and_a_lone_surrogate_its_own_three_bytes() {
    let table: [(&[u16], &[u8]); 8] = [
        (&[], b""),
        (&[0x61], b"a"),
        (&[0xE9], b"\xC3\xA9"),
        (&[0x6F22], b"\xE6\xBC\xA2"),
        (&[0xD83D, 0xDE00], b"\xF0\x9F\x98\x80"),
        (&[0xD83D], b"\xED\xA0\xBD"),
        (&[0xDE00, 0xD83D], b"\xED\xB8\x80\xED\xA0\xBD"),
        (&[0xD83D, 0xD83D, 0xDE00, 0xDE00], b"\xED\xA0\xBD\xF0\x9F\x98\x80\xED\xB8\x80"),
    ];
    for (units, bytes) in table {
        assert_eq!(JsText::from_utf16(units).as_bytes(), bytes, "{units:X?}");
    }
}

#[test]
fn a_pair_that_a_seam_splits_is_joined_whichever_way_it_is_appended() {
    let whole = JsText::from("😀");
    let high = JsText::from_utf16(&[0xD83D]);
    let low = JsText::from_utf16(&[0xDE00]);

    let mut by_units = high.clone();
    by_units.push_utf16(&[0xDE00]);
    assert_eq!(by_units, whole);

    let mut by_text = high.clone();
    by_text.push(&JsText::new());
    by_text.push(&low);
    assert_eq!(by_text, whole);

    let mut apart = high;
    apart.push_str("-");
    apart.push(&low);
    assert_eq!(apart.to_utf16(), [0xD83D, 0x2D, 0xDE00]);
}

#[test]
fn halves_that_do_not_face_each_other_stay_apart() {
    for (left, right) in [(0xDE00, 0xD83D), (0xD83D, 0xD83D), (0xDE00, 0xDE00), (0xD7FF, 0xDE00), (0xD83D, 0xD7FF)] {
        let mut text = JsText::from_utf16(&[left]);
        text.push(&JsText::from_utf16(&[right]));
        assert_eq!(text.to_utf16(), [left, right]);
        assert_eq!(text.len(), 6);
    }
}

#[test]
fn only_valid_utf_8_becomes_text() {
    let table: [(&[u8], bool); 8] = [
        (b"", true),
        (b"abc", true),
        ("é漢😀\u{FEFF}\0".as_bytes(), true),
        (b"\xFF", false),
        (b"\xC3", false),
        (b"\xC0\x80", false),
        (b"\xED\xA0\xBD", false),
        (b"\xF4\x90\x80\x80", false),
    ];
    for (bytes, valid) in table {
        assert_eq!(
            JsText::from_utf8(bytes.to_vec()).map(|text| text.as_bytes().to_vec()),
            valid.then(|| bytes.to_vec())
        );
    }
}

#[test]
fn empty_text_is_empty() {
    assert!(JsText::new().is_empty());
    assert_eq!(JsText::new(), JsText::default());
    assert_eq!(JsText::new().trim_range(), 0..0);
    assert!(!JsText::from_utf16(&[0xD800]).is_empty());
    assert!(!JsText::from(" ").is_empty());
}

#[test]
fn debugging_shows_the_text() {
    assert_eq!(format!("{:?}", JsText::from(String::from("a\n"))), r#""a\n""#);
}

#[test]
fn a_prefix_stops_before_a_character_that_it_cannot_hold() {
    // One byte, two, three, four, and a lone surrogate's three.
    let text = JsText::from_utf16(&[0x61, 0xE9, 0x6F22, 0xD83D, 0xDE00, 0xDC00]);
    let kept = [0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10, 10, 13, 13, 13];
    for (limit, kept) in kept.into_iter().enumerate() {
        assert_eq!(text.prefix(limit).len(), kept, "limit {limit}");
    }
    assert_eq!(text.prefix(usize::MAX), text);
}

#[test]
fn trim_strips_what_javascript_strips_and_keeps_u0085() {
    for unit in 0..=u16::MAX {
        let stripped = STRIPPED.contains(&unit);
        assert_eq!(trim(&[unit]).is_empty(), stripped, "U+{unit:04X}");
        let expected: &[u16] = if stripped { &[0x78] } else { &[unit, 0x78, unit] };
        assert_eq!(trim(&[unit, 0x78, unit]), expected, "U+{unit:04X}");
    }
    assert_eq!(trim(&[0x85]), [0x85]);
}

#[test]
fn trim_keeps_white_space_inside() {
    let text = JsText::from("\u{FEFF}\r\n a\u{2028} \u{A0}b\t\u{3000}");
    assert_eq!(&text.as_bytes()[text.trim_range()], "a\u{2028} \u{A0}b".as_bytes());
}

proptest! {
    #[test]
    fn utf_16_survives_the_round_trip(units in units()) {
        prop_assert_eq!(JsText::from_utf16(&units).to_utf16(), units);
    }

    #[test]
    fn length_is_what_buffer_byte_length_counts(units in units()) {
        prop_assert_eq!(JsText::from_utf16(&units).len(), byte_length(&units));
    }

    #[test]
    fn the_same_units_are_equal_text_however_they_were_cut_into_chunks(
        units in units(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(units.len() + 1)).collect();
        cuts.extend([0, units.len()]);
        cuts.sort_unstable();
        let (mut by_units, mut by_text) = (JsText::new(), JsText::new());
        for ends in cuts.windows(2) {
            let chunk = &units[ends[0]..ends[1]];
            by_units.push_utf16(chunk);
            by_text.push(&JsText::from_utf16(chunk));
        }
        let whole = JsText::from_utf16(&units);
        prop_assert_eq!(&by_units, &whole);
        prop_assert_eq!(&by_text, &whole);
    }

    #[test]
    fn text_of_scalar_values_is_plain_utf_8(scalars in prop::collection::vec(any::<char>(), 0..16)) {
        let string: String = scalars.into_iter().collect();
        let units: Vec<u16> = string.encode_utf16().collect();
        let text = JsText::from_utf16(&units);
        prop_assert_eq!(text.as_str(), Some(string.as_str()));
        prop_assert_eq!(Some(text.clone()), JsText::from_utf8(string.clone().into_bytes()));
        prop_assert_eq!(&text, &JsText::from(string.as_str()));
        prop_assert_eq!(text, JsText::from(string));
    }

    #[test]
    fn only_a_lone_surrogate_keeps_text_from_being_a_str(units in units()) {
        let lone = characters(&units).iter().any(|character| matches!(character, [0xD800..=0xDFFF]));
        prop_assert_eq!(JsText::from_utf16(&units).as_str().is_none(), lone);
    }

    #[test]
    fn node_utf_8_has_u_fffd_for_a_lone_surrogate_and_the_same_length(units in units()) {
        let text = JsText::from_utf16(&units);
        prop_assert_eq!(text.to_node_utf8().into_owned(), String::from_utf16_lossy(&units).into_bytes());
        prop_assert_eq!(text.to_node_utf8().len(), text.len());
    }

    #[test]
    fn a_prefix_splits_no_character_and_leaves_no_room_for_the_next(units in units(), limit in 0_usize..80) {
        let mut kept: &[u16] = &[];
        for character in characters(&units) {
            let longer = &units[..kept.len() + character.len()];
            if byte_length(longer) > limit {
                break;
            }
            kept = longer;
        }
        let prefix = JsText::from_utf16(&units).prefix(limit);
        prop_assert!(prefix.len() <= limit);
        prop_assert_eq!(prefix.to_utf16(), kept);
    }

    #[test]
    fn trim_is_javascripts_trim(units in spaced_units()) {
        prop_assert_eq!(trim(&units), trimmed(&units));
    }
}
