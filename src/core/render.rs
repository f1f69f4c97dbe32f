//! The model-facing text (README, "Prompt Shape"), built once, from decided lengths.
//!
//! A message is one frame around sections. Repository-controlled text — content,
//! paths, scopes, the paths in a notice — is escaped wherever it is written, so
//! that it cannot close the frame.

use super::budget::{ByteBudget, Fit, Measured, Surroundings, fit};
use super::escape::{Escaped, Escaping};
use super::scope::directory_of_display_path;
use super::state::{Action, Change};
use super::text::JsText;

const OPEN: &str = "<system-reminder>\n";
const CLOSE: &str = "\n</system-reminder>";
const SUPERSEDES: &str =
    "This complete workspace instruction baseline replaces all earlier workspace instruction baselines.";
const NONE_ACTIVE: &str = "No workspace instructions are currently active.";
const INTRODUCTION: &str = "The following workspace instructions may be relevant to your work. Use them as guidance when \
     applicable. More specific instructions take precedence over broader ones. They do not override system, developer, \
     or direct user instructions.";
const CUT_INTRODUCTION: &str = "Workspace instructions were omitted or truncated to fit the configured byte budget.";
const SEPARATOR: &str = "\n\n";

/// One loaded file, as rendering needs it.
#[derive(Clone, Copy, Debug)]
pub struct BaselineItem<'a> {
    /// Model-facing path.
    pub display_path: &'a str,
    /// Content as read.
    pub content: &'a JsText,
}

/// One state transition and, unless it is a removal, the content it announces.
#[derive(Clone, Debug)]
pub struct ChangeItem<'a> {
    /// The transition.
    pub change: Change,
    /// The current content; absent for a removal.
    pub content: Option<&'a JsText>,
}

/// The byte account of a cut file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// Index of the file among those rendered.
    pub index: usize,
    /// Content bytes before the cut.
    pub original_bytes: usize,
    /// Content bytes that stayed, before escaping.
    pub included_bytes: usize,
}

/// A rendered baseline and what became of its files.
#[derive(Debug, PartialEq)]
pub struct RenderedBaseline {
    /// The message text; empty when the budget is off or admits nothing.
    pub text: JsText,
    /// Files before this index were dropped.
    pub omitted: usize,
    /// The last file's cut, where it was cut.
    pub truncated: Option<Truncation>,
    /// Files from this index on are represented: whole, with a content byte, or genuinely empty.
    pub included_from: usize,
}

/// Render a complete baseline, the files ordered from broadest to most specific.
#[must_use]
pub fn render_baseline(
    items: &[BaselineItem<'_>],
    budget: &ByteBudget,
    escaping: Escaping,
    supersedes: bool,
) -> RenderedBaseline {
    if !budget.is_enabled() {
        return RenderedBaseline {
            text: JsText::new(),
            omitted: items.len(),
            truncated: None,
            included_from: items.len(),
        };
    }
    let sections: Vec<Section<'_>> = items.iter().map(|item| baseline_section(*item, escaping)).collect();
    let mut introduction = if supersedes { format!("{SUPERSEDES} ") } else { String::new() };
    introduction.push_str(if supersedes && items.is_empty() { NONE_ACTIVE } else { INTRODUCTION });
    let frame = OPEN.len() + CLOSE.len();
    let around = Surroundings { whole: frame + introduction.len(), cut: frame + CUT_INTRODUCTION.len() };
    if sections.is_empty() {
        let mut writer = Writer::default();
        if budget.admits(around.whole) {
            writer.text(OPEN).text(&introduction).text(CLOSE);
        }
        return RenderedBaseline { text: writer.finish(), omitted: 0, truncated: None, included_from: 0 };
    }
    let last = sections.len() - 1;
    let mut writer = Writer::default();
    match fit(&sections, around, sections.last().and_then(|section| section.content.as_ref()), budget) {
        Fit::Whole { first } => {
            writer.text(OPEN);
            if first > 0 {
                writer.text(&notice(budget, &sections[..first], None)).text(SEPARATOR);
            }
            writer.text(&introduction);
            for section in &sections[first..] {
                writer.text(SEPARATOR).section(section, None);
            }
            writer.text(CLOSE);
            RenderedBaseline { text: writer.finish(), omitted: first, truncated: None, included_from: first }
        }
        Fit::Cut { included, introduced } => {
            let original = items[last].content.len();
            let introduction = if introduced { introduction.as_str() } else { CUT_INTRODUCTION };
            writer.text(OPEN).text(&notice(budget, &sections[..last], Some((&sections[last], included))));
            writer
                .text(SEPARATOR)
                .text(introduction)
                .text(SEPARATOR)
                .section(&sections[last], Some(included))
                .text(CLOSE);
            let included_from = if included > 0 || original == 0 { last } else { items.len() };
            let truncated = Some(Truncation { index: last, original_bytes: original, included_bytes: included });
            RenderedBaseline { text: writer.finish(), omitted: last, truncated, included_from }
        }
        Fit::Nothing => {
            let account = notice(budget, &sections[..last], Some((&sections[last], 0)));
            let heading = format!("{account}{SEPARATOR}{}", sections[last].head());
            // Without room for the frame, the notice alone tells what is missing, as far as it goes.
            let headed = budget.admits(heading.len());
            let text = if headed { JsText::from(heading) } else { clip(account, budget) };
            let original = items[last].content.len();
            let truncated = Some(Truncation { index: last, original_bytes: original, included_bytes: 0 });
            let included_from = if headed && original == 0 { last } else { items.len() };
            RenderedBaseline { text, omitted: last, truncated, included_from }
        }
    }
}

/// A rendered batch of transitions.
#[derive(Debug, PartialEq)]
pub struct RenderedChanges {
    /// The message text.
    pub text: JsText,
    /// Transitions from this index on are represented.
    pub included_from: usize,
    /// The last transition's cut, where it was cut.
    pub truncated: Option<Truncation>,
}

/// Index of the first transition that a rendered batch would represent, from lengths alone; `items.len()` if none would.
#[must_use]
pub fn represented_from(items: &[ChangeItem<'_>], budget: &ByteBudget, escaping: Escaping) -> usize {
    if items.is_empty() || !budget.is_enabled() {
        return items.len();
    }
    let sections: Vec<Section<'_>> = items.iter().map(|item| change_section(item, escaping)).collect();
    match fit_changes(&sections, budget) {
        Fit::Whole { first } => first,
        Fit::Cut { included, .. } if included > 0 || is_empty(items.last()) => items.len() - 1,
        Fit::Cut { .. } | Fit::Nothing => items.len(),
    }
}

fn fit_changes(sections: &[Section<'_>], budget: &ByteBudget) -> Fit {
    // The first section needs no separator before it; `fit` counts one for each.
    let frame = (OPEN.len() + CLOSE.len()).saturating_sub(SEPARATOR.len());
    let around = Surroundings { whole: frame, cut: frame };
    fit(sections, around, sections.last().and_then(|section| section.content.as_ref()), budget)
}

fn is_empty(item: Option<&ChangeItem<'_>>) -> bool {
    item.and_then(|item| item.content).is_none_or(JsText::is_empty)
}

/// Render one reconciliation batch; `None` when no transition would be represented.
#[must_use]
pub fn render_changes(items: &[ChangeItem<'_>], budget: &ByteBudget, escaping: Escaping) -> Option<RenderedChanges> {
    if items.is_empty() || !budget.is_enabled() {
        return None;
    }
    let sections: Vec<Section<'_>> = items.iter().map(|item| change_section(item, escaping)).collect();
    let last = sections.len() - 1;
    let mut writer = Writer::default();
    writer.text(OPEN);
    let mut truncated = None;
    let included_from = match fit_changes(&sections, budget) {
        Fit::Whole { first } => {
            if first > 0 {
                writer.text(&notice(budget, &sections[..first], None)).text(SEPARATOR);
            }
            for (index, section) in sections[first..].iter().enumerate() {
                writer.text(if index == 0 { "" } else { SEPARATOR }).section(section, None);
            }
            first
        }
        Fit::Cut { included, .. } => {
            if included == 0 && !is_empty(items.last()) {
                return None;
            }
            writer.text(&notice(budget, &sections[..last], Some((&sections[last], included))));
            writer.text(SEPARATOR).section(&sections[last], Some(included));
            let original_bytes = items[last].content.map_or(0, JsText::len);
            truncated = Some(Truncation { index: last, original_bytes, included_bytes: included });
            last
        }
        Fit::Nothing => return None,
    };
    writer.text(CLOSE);
    Some(RenderedChanges { text: writer.finish(), included_from, truncated })
}

/// Bytes of a message that a file's section takes in a baseline.
#[must_use]
pub fn baseline_section_bytes(item: BaselineItem<'_>, escaping: Escaping) -> usize {
    baseline_section(item, escaping).section_bytes()
}

/// Bytes of a message that a transition's section takes in a batch.
#[must_use]
pub fn change_section_bytes(item: &ChangeItem<'_>, escaping: Escaping) -> usize {
    change_section(item, escaping).section_bytes()
}

fn baseline_section(item: BaselineItem<'_>, escaping: Escaping) -> Section<'_> {
    Section::new(item.display_path, vec![], Some(item.content), "Instructions from: ", escaping)
}

fn change_section<'a>(item: &'a ChangeItem<'a>, escaping: Escaping) -> Section<'a> {
    let path = &*item.change.path;
    match item.change.action {
        Action::Set => {
            let directory = escaping.path(directory_of_display_path(path));
            let application = format!(
                "These instructions apply to work under `{directory}`. Use them as guidance when relevant; more specific \
                 instructions take precedence. They do not override system, developer, or direct user instructions."
            );
            Section::new(path, vec![application], item.content, "Additional instructions from: ", escaping)
        }
        Action::Replace => {
            let explanation = "This file changed after it was loaded. Use the following content instead of the previously \
                 loaded instructions from this file.";
            Section::new(path, vec![explanation.to_owned()], item.content, "Updated instructions from: ", escaping)
        }
        Action::Remove => {
            let explanation = "The previously loaded instructions from this file no longer apply.";
            Section::new(path, vec![explanation.to_owned()], None, "Instructions removed: ", escaping)
        }
    }
}

/// One file's part of a message.
struct Section<'a> {
    path: String,
    heading: &'static str,
    paragraphs: Vec<String>,
    content: Option<Escaped<'a>>,
}

impl<'a> Section<'a> {
    fn new(
        path: &str,
        paragraphs: Vec<String>,
        content: Option<&'a JsText>,
        heading: &'static str,
        escaping: Escaping,
    ) -> Self {
        let content = content.map(|content| Escaped::new(content, escaping));
        Self { path: escaping.path(path), heading, paragraphs, content }
    }

    /// Everything before the content.
    fn head(&self) -> String {
        let mut head = format!("{}{}", self.heading, self.path);
        for paragraph in &self.paragraphs {
            head.push_str(SEPARATOR);
            head.push_str(paragraph);
        }
        if self.content.is_some() {
            head.push_str(SEPARATOR);
        }
        head
    }
}

impl Measured for Section<'_> {
    fn path_bytes(&self) -> usize {
        self.path.len()
    }

    fn section_bytes(&self) -> usize {
        let paragraphs: usize = self.paragraphs.iter().map(|paragraph| SEPARATOR.len() + paragraph.len()).sum();
        let content = self.content.as_ref().map_or(0, |content| SEPARATOR.len() + content.bytes());
        self.heading.len() + self.path.len() + paragraphs + content
    }
}

/// The visible account of what the budget dropped or cut.
fn notice(budget: &ByteBudget, omitted: &[Section<'_>], cut: Option<(&Section<'_>, usize)>) -> String {
    let mut parts = Vec::new();
    if !omitted.is_empty() {
        let paths: Vec<&str> = omitted.iter().map(|section| section.path.as_str()).collect();
        parts.push(format!("omitted {}", paths.join(", ")));
    }
    if let Some((section, included)) = cut {
        let original = section.content.as_ref().map_or(0, |content| content.text.len());
        parts.push(format!("truncated {} from {original} to {included} bytes", section.path));
    }
    format!("Workspace instruction budget {} bytes: {}", budget.spelling(), parts.join("; "))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // the budget is positive and the text is longer
fn clip(text: String, budget: &ByteBudget) -> JsText {
    let text = JsText::from(text);
    if budget.admits(text.len()) { text } else { text.prefix(budget.limit() as usize) }
}

#[derive(Default)]
struct Writer {
    text: JsText,
}

impl Writer {
    fn text(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Write a section, its content cut to `included` bytes where that is given.
    fn section(&mut self, section: &Section<'_>, included: Option<usize>) -> &mut Self {
        self.text.push_str(&section.head());
        if let Some(content) = &section.content {
            content.write(included.unwrap_or(content.text.len()), &mut self.text);
        }
        self
    }

    fn finish(self) -> JsText {
        self.text
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
