//! Repository text inside the frame, written so that it cannot speak as the host.
//!
//! Plainly, as the published package does, a literal closing tag is escaped and nothing else.
//! Strictly (option `strictEscaping`; SECURITY.md), so is every opening or closing tag of that name,
//! whatever its case and whatever white space or invisible characters are strewn into it, and a path's
//! control characters, line separators and invisible characters are spelled out, lest a file name
//! forge a heading. What both escape looks the same in both.
//!
//! Escaping only ever adds bytes, each at a known place: lengths are known before anything is written.

use std::borrow::Cow;
use std::fmt::Write as _;

use memchr::{memchr_iter, memmem};

use super::text::JsText;

/// The tag that closes the plugin's frame, which no repository text may spell.
pub const CLOSING_TAG: &str = "</system-reminder>";
/// The frame's name.
const NAME: &[u8] = b"system-reminder";
/// What stands behind the bracket of a tag that is to be none.
const ESCAPE: u8 = b'\\';

/// How much is escaped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Escaping {
    /// The literal closing tag.
    #[default]
    Plain,
    /// Every spelling of either tag, and what breaks a line in a path.
    Strict,
}

impl Escaping {
    /// A model-facing path or directory, escaped.
    #[must_use]
    pub fn path(self, path: &str) -> String {
        let spelled = match self {
            Self::Plain => Cow::Borrowed(path),
            Self::Strict => spell_out(path),
        };
        let mut escaped = Vec::with_capacity(spelled.len());
        write_escaped(spelled.as_bytes(), &self.tags(spelled.as_bytes()), |piece| escaped.extend_from_slice(piece));
        String::from_utf8(escaped).unwrap_or_default()
    }

    fn tags(self, bytes: &[u8]) -> Vec<Tag> {
        match self {
            Self::Plain => memmem::find_iter(bytes, CLOSING_TAG)
                .map(|start| Tag { at: start + 1, end: start + CLOSING_TAG.len() })
                .collect(),
            Self::Strict => memchr_iter(b'<', bytes).filter_map(|start| any_tag(bytes, start)).collect(),
        }
    }
}

/// A tag that is to be none: where the escape goes, and where the tag is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag {
    at: usize,
    end: usize,
}

/// The tag that starts at the bracket at `start`, however it is spelled: what cannot be seen may stand anywhere in it.
fn any_tag(bytes: &[u8], start: usize) -> Option<Tag> {
    let at = start + 1;
    let mut end = at;
    for (index, letter) in NAME.iter().enumerate() {
        loop {
            match bytes.get(end)? {
                byte if byte.eq_ignore_ascii_case(letter) => break,
                b'/' if index == 0 => end += 1,
                _ => end += unseen_length(bytes.get(end..)?)?,
            }
        }
        end += 1;
    }
    Some(Tag { at, end })
}

/// Bytes of the first character, if it cannot be seen.
fn unseen_length(bytes: &[u8]) -> Option<usize> {
    let length = match bytes.first()? {
        0..=0x7F => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    };
    let character = std::str::from_utf8(bytes.get(..length)?).ok()?.chars().next()?;
    (character.is_whitespace() || is_invisible(character)).then_some(length)
}

/// Whether a character leaves no mark of its own: controls, and what Unicode calls ignorable by default.
fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{AD}'
                | '\u{34F}'
                | '\u{61C}'
                | '\u{115F}'..='\u{1160}'
                | '\u{17B4}'..='\u{17B5}'
                | '\u{180B}'..='\u{180F}'
                | '\u{200B}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{3164}'
                | '\u{FE00}'..='\u{FE0F}'
                | '\u{FEFF}'
                | '\u{FFA0}'
                | '\u{FFF0}'..='\u{FFF8}'
                | '\u{1BCA0}'..='\u{1BCA3}'
                | '\u{1D173}'..='\u{1D17A}'
                | '\u{E0000}'..='\u{E0FFF}'
        )
}

/// A path on one line, all of it to be seen: controls, separators and invisible characters as a programmer writes them.
fn spell_out(path: &str) -> Cow<'_, str> {
    if !path.contains(is_invisible) {
        return Cow::Borrowed(path);
    }
    let mut spelled = String::with_capacity(path.len());
    for character in path.chars() {
        match character {
            '\n' => spelled.push_str("\\n"),
            '\r' => spelled.push_str("\\r"),
            '\t' => spelled.push_str("\\t"),
            character if is_invisible(character) => {
                let _ = write!(spelled, "\\u{{{:x}}}", u32::from(character));
            }
            character => spelled.push(character),
        }
    }
    Cow::Owned(spelled)
}

/// Content together with the places where it is escaped.
#[derive(Debug)]
pub struct Escaped<'a> {
    /// The content as read.
    pub text: &'a JsText,
    escaping: Escaping,
    tags: Vec<Tag>,
}

impl<'a> Escaped<'a> {
    /// Find what is to be escaped in `text`.
    #[must_use]
    pub fn new(text: &'a JsText, escaping: Escaping) -> Self {
        Self { text, escaping, tags: escaping.tags(text.as_bytes()) }
    }

    /// Length once escaped.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.text.len() + self.tags.len()
    }

    /// Escaped length of the first `included` bytes; only a complete tag is escaped.
    #[must_use]
    pub fn bytes_up_to(&self, included: usize) -> usize {
        included + self.tags.partition_point(|tag| tag.end <= included)
    }

    /// Append the first `included` bytes, escaped. Cut content has been through bytes, so a lone surrogate in
    /// it is lost as the published package loses it; whole content keeps it.
    pub fn write(&self, included: usize, to: &mut JsText) {
        if included >= self.text.len() {
            write_escaped(self.text.as_bytes(), &self.tags, |piece| to.push_bytes(piece));
        } else {
            let cut = self.text.prefix(included).to_well_formed();
            write_escaped(cut.as_bytes(), &self.escaping.tags(cut.as_bytes()), |piece| to.push_bytes(piece));
        }
    }
}

fn write_escaped(bytes: &[u8], tags: &[Tag], mut push: impl FnMut(&[u8])) {
    let mut written = 0;
    for tag in tags {
        push(bytes.get(written..tag.at).unwrap_or_default());
        push(&[ESCAPE]);
        written = tag.at;
    }
    push(bytes.get(written..).unwrap_or_default());
}

#[cfg(test)]
#[path = "escape_tests.rs"]
mod tests;
