//! The byte budget of one message: what fits, decided from lengths alone.
//!
//! 1. Whole sections go first: the broadest are dropped, one by one, until the
//!    rest fits together with a notice that names what was dropped.
//! 2. When not even the most specific section fits whole, its content is cut at
//!    a character boundary, as late as the budget allows.
//! 3. A size is that of the final text in UTF-8 bytes, escaping included
//!    (README, "Budgeting And Bounded Reads").

use super::escape::Escaped;
use super::text::floor_boundary;

/// `maxBytes`: a number of UTF-8 bytes as JavaScript holds it, fractions included.
#[derive(Clone, Debug, PartialEq)]
pub struct ByteBudget {
    limit: f64,
    spelling: String,
}

impl ByteBudget {
    /// A budget of `limit` bytes, which JavaScript spells `spelling`.
    #[must_use]
    pub fn new(limit: f64, spelling: impl Into<String>) -> Self {
        Self { limit, spelling: spelling.into() }
    }

    /// The configured number of bytes.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// How JavaScript writes the number.
    #[must_use]
    pub fn spelling(&self) -> &str {
        &self.spelling
    }

    /// A non-positive or non-finite budget turns loading off.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.limit > 0.0 && self.limit.is_finite()
    }

    /// Whether a text of `bytes` bytes is within the budget.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // no text comes near 2^53 bytes
    pub fn admits(&self, bytes: usize) -> bool {
        bytes as f64 <= self.limit
    }
}

/// The lengths that decide whether a section fits.
pub trait Measured {
    /// Escaped model-facing path, in bytes.
    fn path_bytes(&self) -> usize;
    /// The whole section as it will be written, in bytes.
    fn section_bytes(&self) -> usize;
}

/// The lengths of the text around the sections.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Frame and introduction when every kept section is whole, separators included.
    pub whole: usize,
    /// The same when the last section is cut and the introduction has to be short.
    pub cut: usize,
}

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Every section from `first` on, whole.
    Whole {
        /// Index of the broadest section that stays.
        first: usize,
    },
    /// The last section alone, with this many content bytes.
    Cut {
        /// Bytes of its content that stay, before escaping.
        included: usize,
        /// Whether the introduction still fits whole.
        introduced: bool,
    },
    /// Not even the last section without content.
    Nothing,
}

/// Bytes between a section and what stands before it.
const SEPARATOR: usize = "\n\n".len();

/// Decide what fits. `cuttable` is the last section's content, where it has one.
pub fn fit<S: Measured>(
    sections: &[S],
    around: Surroundings,
    cuttable: Option<&Escaped<'_>>,
    budget: &ByteBudget,
) -> Fit {
    let mut kept: usize = sections.iter().map(|section| SEPARATOR + section.section_bytes()).sum();
    let mut dropped = 0;
    for (first, section) in sections.iter().enumerate() {
        let notice = if first == 0 { 0 } else { notice_bytes(budget, first, dropped, None) + SEPARATOR };
        if budget.admits(around.whole + notice + kept) {
            return Fit::Whole { first };
        }
        kept -= SEPARATOR + section.section_bytes();
        dropped += section.path_bytes();
    }
    let (Some(last), Some(content)) = (sections.last(), cuttable) else { return Fit::Nothing };
    let bare = last.section_bytes() - content.bytes();
    let others = dropped - last.path_bytes();
    let size = |around: usize, included: usize| {
        let cut = CutLengths { path: last.path_bytes(), original: content.text.len(), included };
        around
            + notice_bytes(budget, sections.len() - 1, others, Some(cut))
            + 2 * SEPARATOR
            + bare
            + content.bytes_up_to(included)
    };
    // The whole introduction goes before content: it stays if it fits with no content at all.
    let Some(surrounding) = [around.whole, around.cut].into_iter().find(|around| budget.admits(size(*around, 0)))
    else {
        return Fit::Nothing;
    };
    // The size never shrinks as content is added, so the largest admissible prefix can be bisected.
    let (mut admitted, mut refused) = (0, content.text.len() + 1);
    while refused - admitted > 1 {
        let middle = admitted.midpoint(refused);
        if budget.admits(size(surrounding, floor_boundary(content.text.as_bytes(), middle))) {
            admitted = middle;
        } else {
            refused = middle;
        }
    }
    Fit::Cut { included: floor_boundary(content.text.as_bytes(), admitted), introduced: surrounding == around.whole }
}

/// Lengths in the notice's account of a cut section.
#[derive(Clone, Copy)]
struct CutLengths {
    path: usize,
    original: usize,
    included: usize,
}

/// Bytes of [`super::render`]'s budget notice, without building it.
fn notice_bytes(budget: &ByteBudget, omitted: usize, omitted_paths: usize, cut: Option<CutLengths>) -> usize {
    let mut bytes = "Workspace instruction budget  bytes: ".len() + budget.spelling().len();
    if omitted > 0 {
        bytes += "omitted ".len() + omitted_paths + (omitted - 1) * ", ".len();
    }
    if let Some(cut) = cut {
        bytes += if omitted > 0 { "; ".len() } else { 0 };
        bytes += "truncated  from  to  bytes".len() + cut.path + digits(cut.original) + digits(cut.included);
    }
    bytes
}

fn digits(number: usize) -> usize {
    number.checked_ilog10().map_or(1, |exponent| exponent as usize + 1)
}

#[cfg(test)]
#[path = "budget_tests.rs"]
mod tests;
