//! Content identity: SHA-1 over the exact content, and over the trimmed content
//! that decides per-directory duplicates (README, "State And Refresh").

use std::rc::Rc;

use sha1::{Digest, Sha1};

use super::text::JsText;

/// Lowercase hexadecimal SHA-1.
pub type HexDigest = Rc<str>;

/// Both identities of one file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentDigests {
    /// SHA-1 over the whole content.
    pub full: HexDigest,
    /// SHA-1 over the content that JavaScript's `trim` leaves.
    pub trimmed: HexDigest,
}

/// Digest `content` once where it can: the trimmed content is a prefix of the
/// whole unless white space leads, so the two hashes share their work.
#[must_use]
pub fn digest(content: &JsText) -> ContentDigests {
    let kept = content.trim_range();
    let bytes = content.to_node_utf8();
    // A surrogate and its replacement are both three bytes long, so the range holds for both spellings.
    let trimmed = bytes.get(kept.clone()).unwrap_or_default();
    if kept.start > 0 {
        return ContentDigests { full: hex(Sha1::digest(&bytes)), trimmed: hex(Sha1::digest(trimmed)) };
    }
    let mut hasher = Sha1::new();
    hasher.update(trimmed);
    let prefix = hasher.clone();
    hasher.update(bytes.get(kept.end..).unwrap_or_default());
    ContentDigests { full: hex(hasher.finalize()), trimmed: hex(prefix.finalize()) }
}

fn hex(digest: impl AsRef<[u8]>) -> HexDigest {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    digest
        .as_ref()
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 0x0F)]])
        .map(char::from)
        .collect::<String>()
        .into()
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
