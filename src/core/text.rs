//! JavaScript text without loss: content as generalized UTF-8.
//!
//! A JavaScript string may hold lone surrogates, and a stream chunk may end
//! between the halves of a pair. [`JsText`] keeps such text exactly: it is UTF-8
//! in which a lone surrogate takes its own three-byte form (WTF-8), and a pair
//! that meets across an append becomes the four-byte character that it spells.
//! Its length in bytes is therefore what `Buffer.byteLength` counts.

use std::borrow::Cow;
use std::fmt;

/// First byte of every surrogate's three-byte form, and of U+D000..U+D7FF.
const SURROGATE_LEAD: u8 = 0xED;

/// Text as JavaScript sees it; see the module documentation.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct JsText {
    bytes: Vec<u8>,
}

impl JsText {
    /// Empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Text decoded from JavaScript's own UTF-16 code units.
    #[must_use]
    pub fn from_utf16(units: &[u16]) -> Self {
        let mut text = Self { bytes: Vec::with_capacity(units.len()) };
        text.push_utf16(units);
        text
    }

    /// Text over bytes that are already valid UTF-8.
    #[must_use]
    pub fn from_utf8(bytes: Vec<u8>) -> Option<Self> {
        std::str::from_utf8(&bytes).is_ok().then_some(Self { bytes })
    }

    /// Length in UTF-8 bytes, a lone surrogate counting three.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is no text at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The generalized UTF-8 itself.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Append valid UTF-8 text.
    pub fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Append generalized UTF-8 taken from another text at a character boundary.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Append UTF-16 code units, joining a surrogate pair that the seam splits.
    pub fn push_utf16(&mut self, units: &[u16]) {
        let mut rest = units;
        if let (Some(high), Some(&low @ 0xDC00..=0xDFFF)) = (self.trailing_high_surrogate(), rest.first()) {
            self.bytes.truncate(self.bytes.len() - 3);
            self.push_scalar(0x10000 + ((u32::from(high) - 0xD800) << 10) + (u32::from(low) - 0xDC00));
            rest = rest.get(1..).unwrap_or_default();
        }
        for unit in char::decode_utf16(rest.iter().copied()) {
            match unit {
                Ok(character) => self.push_str(character.encode_utf8(&mut [0; 4])),
                Err(lone) => self.push_scalar(u32::from(lone.unpaired_surrogate())),
            }
        }
    }

    /// Append other text, joining a surrogate pair that the seam splits.
    pub fn push(&mut self, other: &JsText) {
        if self.trailing_high_surrogate().is_some() && other.bytes.first() == Some(&SURROGATE_LEAD) {
            self.push_utf16(&other.to_utf16());
        } else {
            self.bytes.extend_from_slice(&other.bytes);
        }
    }

    /// The UTF-16 code units that JavaScript would hold.
    #[must_use]
    pub fn to_utf16(&self) -> Vec<u16> {
        if let Ok(text) = std::str::from_utf8(&self.bytes) {
            return text.encode_utf16().collect();
        }
        let mut units = Vec::with_capacity(self.bytes.len());
        for chunk in self.pieces() {
            match chunk {
                Piece::Text(text) => units.extend(text.encode_utf16()),
                Piece::Surrogate(unit) => units.push(unit),
            }
        }
        units
    }

    /// The text as `&str` when it holds no lone surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.bytes).ok()
    }

    /// UTF-8 bytes as Node encodes them: a lone surrogate becomes U+FFFD.
    #[must_use]
    pub fn to_node_utf8(&self) -> Cow<'_, [u8]> {
        if self.as_str().is_some() {
            return Cow::Borrowed(&self.bytes);
        }
        let mut encoded = Vec::with_capacity(self.bytes.len());
        for piece in self.pieces() {
            match piece {
                Piece::Text(text) => encoded.extend_from_slice(text.as_bytes()),
                Piece::Surrogate(_) => encoded.extend_from_slice("\u{FFFD}".as_bytes()),
            }
        }
        Cow::Owned(encoded)
    }

    /// The longest prefix of at most `limit` bytes that splits no character.
    #[must_use]
    pub fn prefix(&self, limit: usize) -> JsText {
        JsText { bytes: self.bytes.get(..floor_boundary(&self.bytes, limit)).unwrap_or_default().to_vec() }
    }

    /// The same text with every lone surrogate replaced, as a round trip through Node's UTF-8 leaves it.
    #[must_use]
    pub fn to_well_formed(&self) -> JsText {
        JsText { bytes: self.to_node_utf8().into_owned() }
    }

    /// The byte range that `String.prototype.trim` would keep.
    ///
    /// JavaScript strips `WhiteSpace` and `LineTerminator`: U+FEFF, U+2028 and
    /// U+2029 among them, U+0085 not. Rust's own `trim` does the reverse.
    #[must_use]
    pub fn trim_range(&self) -> std::ops::Range<usize> {
        let mut start = 0;
        while let Some(length) = self.bytes.get(start..).and_then(leading_whitespace) {
            start += length;
        }
        let mut end = self.bytes.len();
        while let Some(length) = self.bytes.get(start..end).and_then(trailing_whitespace) {
            end -= length;
        }
        start..end
    }

    fn trailing_high_surrogate(&self) -> Option<u16> {
        match self.bytes.last_chunk::<3>() {
            Some(&[SURROGATE_LEAD, second @ 0xA0..=0xAF, third]) => Some(decode_surrogate(second, third)),
            _ => None,
        }
    }

    fn push_scalar(&mut self, value: u32) {
        match char::from_u32(value) {
            Some(character) => self.push_str(character.encode_utf8(&mut [0; 4])),
            None => self.bytes.extend_from_slice(&[
                SURROGATE_LEAD,
                0x80 | (value >> 6 & 0x3F) as u8,
                0x80 | (value & 0x3F) as u8,
            ]),
        }
    }

    fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            match std::str::from_utf8(rest) {
                Ok(text) => {
                    rest = &[];
                    Some(Piece::Text(text))
                }
                Err(error) if error.valid_up_to() > 0 => {
                    let (valid, tail) = rest.split_at(error.valid_up_to());
                    rest = tail;
                    Some(Piece::Text(std::str::from_utf8(valid).unwrap_or_default()))
                }
                Err(_) => {
                    let unit =
                        decode_surrogate(rest.get(1).copied().unwrap_or(0xA0), rest.get(2).copied().unwrap_or(0x80));
                    rest = rest.get(3..).unwrap_or_default();
                    Some(Piece::Surrogate(unit))
                }
            }
        })
    }
}

enum Piece<'a> {
    Text(&'a str),
    Surrogate(u16),
}

impl From<&str> for JsText {
    fn from(text: &str) -> Self {
        Self { bytes: text.as_bytes().to_vec() }
    }
}

impl From<String> for JsText {
    fn from(text: String) -> Self {
        Self { bytes: text.into_bytes() }
    }
}

impl fmt::Debug for JsText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.bytes), formatter)
    }
}

fn decode_surrogate(second: u8, third: u8) -> u16 {
    0xD000 | (u16::from(second & 0x3F) << 6) | u16::from(third & 0x3F)
}

/// The largest character boundary of `bytes` that is at most `limit`.
pub(crate) fn floor_boundary(bytes: &[u8], limit: usize) -> usize {
    if limit >= bytes.len() {
        return bytes.len();
    }
    let mut boundary = limit;
    while boundary > 0 && bytes.get(boundary).is_some_and(|byte| byte & 0xC0 == 0x80) {
        boundary -= 1;
    }
    boundary
}

/// The characters beyond ASCII that JavaScript's `trim` strips.
const WIDE_WHITESPACE: [&str; 19] = [
    "\u{1680}", "\u{2000}", "\u{2001}", "\u{2002}", "\u{2003}", "\u{2004}", "\u{2005}", "\u{2006}", "\u{2007}",
    "\u{2008}", "\u{2009}", "\u{200A}", "\u{2028}", "\u{2029}", "\u{202F}", "\u{205F}", "\u{3000}", "\u{FEFF}",
    "\u{00A0}",
];

fn leading_whitespace(bytes: &[u8]) -> Option<usize> {
    match bytes.first()? {
        b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => Some(1),
        0..=0x7F => None,
        _ => WIDE_WHITESPACE.iter().find(|space| bytes.starts_with(space.as_bytes())).map(|space| space.len()),
    }
}

fn trailing_whitespace(bytes: &[u8]) -> Option<usize> {
    match bytes.last()? {
        b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C => Some(1),
        0..=0x7F => None,
        _ => WIDE_WHITESPACE.iter().find(|space| bytes.ends_with(space.as_bytes())).map(|space| space.len()),
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
