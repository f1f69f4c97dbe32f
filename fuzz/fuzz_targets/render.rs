//! Truncation and escaping: whatever a repository holds, a message stays within the budget,
//! opens and closes one frame, and commits only what it shows.
#![no_main]

use arbitrary::Arbitrary;
use dsh_agent_instructions::core::budget::ByteBudget;
use dsh_agent_instructions::core::escape::{CLOSING_TAG, Escaping};
use dsh_agent_instructions::core::render::{BaselineItem, ChangeItem, render_baseline, render_changes};
use dsh_agent_instructions::core::scope::ScopeKey;
use dsh_agent_instructions::core::state::{Action, Change};
use dsh_agent_instructions::core::text::JsText;
use libfuzzer_sys::fuzz_target;

const OPENING: &str = "<system-reminder>\n";
const LIMITLESS: f64 = 1e12;
const SPELLINGS: [&str; 4] =
    ["</System-Reminder>", "<SYSTEM-REMINDER>", "< / system-reminder >", "<\n/\tsystem-reminder"];

#[derive(Arbitrary, Debug)]
enum Piece {
    Text(String),
    ClosingTag,
    Opening,
    /// A tag as a model, and strict escaping, may take it.
    Spelled(u8),
    /// Part of a closing tag.
    Cut(u8),
    Units(Vec<u16>),
    Repeated(char, u8),
}

#[derive(Arbitrary, Debug)]
enum Kind {
    Set,
    Replace,
    Remove,
}

#[derive(Arbitrary, Debug)]
struct File {
    kind: Kind,
    path: Vec<Piece>,
    content: Vec<Piece>,
}

#[derive(Arbitrary, Debug)]
struct Input {
    files: Vec<File>,
    limit: u16,
    fraction: u8,
    supersedes: bool,
}

fn text(pieces: &[Piece]) -> JsText {
    let mut text = JsText::new();
    for piece in pieces {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::ClosingTag => text.push_str(CLOSING_TAG),
            Piece::Opening => text.push_str(OPENING),
            Piece::Spelled(which) => text.push_str(SPELLINGS[usize::from(*which) % SPELLINGS.len()]),
            Piece::Cut(at) => text.push_str(&CLOSING_TAG[..usize::from(*at) % CLOSING_TAG.len()]),
            Piece::Units(units) => text.push_utf16(units),
            Piece::Repeated(character, count) => text.push_str(&character.to_string().repeat(usize::from(*count))),
        }
    }
    text
}

fn escaped(text: &JsText) -> Vec<u8> {
    let tag = CLOSING_TAG.as_bytes();
    let mut bytes = text.as_bytes();
    let mut escaped = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        if bytes.starts_with(tag) {
            escaped.extend_from_slice(br"<\/system-reminder>");
            bytes = &bytes[tag.len()..];
        } else {
            escaped.push(*first);
            bytes = rest;
        }
    }
    escaped
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
}

fn check_text(text: &JsText, budget: &ByteBudget) -> bool {
    assert!(budget.admits(text.len()), "{} bytes of {}", text.len(), budget.limit());
    assert_eq!(JsText::from_utf16(&text.to_utf16()), *text, "no text");
    let framed = text.as_bytes().starts_with(OPENING.as_bytes());
    let tags = text.as_bytes().windows(CLOSING_TAG.len()).filter(|window| *window == CLOSING_TAG.as_bytes()).count();
    assert_eq!(tags, usize::from(framed), "not one closing tag for each frame: {text:?}");
    assert!(!framed || text.as_bytes().ends_with(CLOSING_TAG.as_bytes()), "text behind the frame: {text:?}");
    framed
}

/// Strictly, no spelling of either tag is left but the frame's own two.
fn check_strictly(text: &JsText, budget: &ByteBudget) {
    let framed = check_text(text, budget);
    let spelled = String::from_utf8_lossy(text.as_bytes()).to_ascii_lowercase();
    let tags = spelled.split('<').skip(1).filter(|rest| {
        rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}', '/']).starts_with("system-reminder")
    });
    assert_eq!(tags.count(), if framed { 2 } else { 0 }, "{text:?}");
}

/// Behind its heading, a committed content shows its first character at least; whole, it shows all.
fn check_shown(text: &JsText, path: &str, content: &JsText, cut: bool) {
    let heading = format!("from: {}\n\n", path.replace(CLOSING_TAG, r"<\/system-reminder>"));
    assert!(contains(text.as_bytes(), heading.as_bytes()), "{heading:?} is not in {text:?}");
    if !cut {
        assert!(contains(text.as_bytes(), &escaped(content)), "{content:?} is not in {text:?}");
    }
}

fuzz_target!(|input: Input| {
    let limit = f64::from(input.limit) % 2048.0 + f64::from(input.fraction % 4) / 4.0;
    let budget = ByteBudget::new(limit, limit.to_string());
    let files: Vec<(String, JsText, Action)> = input
        .files
        .iter()
        .take(8)
        .map(|file| {
            let path = String::from_utf8_lossy(&text(&file.path).to_node_utf8()).into_owned();
            let action = match file.kind {
                Kind::Set => Action::Set,
                Kind::Replace => Action::Replace,
                Kind::Remove => Action::Remove,
            };
            (path, text(&file.content), action)
        })
        .collect();

    let items: Vec<BaselineItem<'_>> =
        files.iter().map(|(display_path, content, _)| BaselineItem { display_path, content }).collect();
    let rendered = render_baseline(&items, &budget, Escaping::Plain, input.supersedes);
    check_strictly(&render_baseline(&items, &budget, Escaping::Strict, input.supersedes).text, &budget);
    check_text(&rendered.text, &budget);
    assert!(rendered.omitted <= items.len());
    for (index, (path, content, _)) in files.iter().enumerate().skip(rendered.included_from) {
        let cut = rendered.truncated.filter(|truncation| truncation.index == index);
        assert!(cut.is_none_or(|cut| cut.included_bytes > 0 || content.is_empty()), "committed, and not shown");
        check_shown(&rendered.text, path, content, cut.is_some());
    }
    if let Some(cut) = rendered.truncated {
        let content = &files[cut.index].1;
        assert_eq!((cut.index, cut.original_bytes), (files.len() - 1, content.len()));
        assert!(cut.included_bytes <= cut.original_bytes);
        assert_eq!(content.prefix(cut.included_bytes).len(), cut.included_bytes, "a character is split");
    }
    // More room never shows fewer files, and without a bound everything is shown.
    let roomier = ByteBudget::new(limit + 1.0, budget.spelling());
    assert!(render_baseline(&items, &roomier, Escaping::Plain, input.supersedes).omitted <= rendered.omitted);
    let limitless = ByteBudget::new(LIMITLESS, "1e12");
    let whole = render_baseline(&items, &limitless, Escaping::Plain, input.supersedes);
    assert!(check_text(&whole.text, &limitless));
    assert_eq!((whole.omitted, whole.truncated, whole.included_from), (0, None, 0));

    let items: Vec<ChangeItem<'_>> = files
        .iter()
        .map(|(path, content, action)| {
            let scope = ScopeKey::of_display_path(path);
            let removed = *action == Action::Remove;
            let change = Change { action: *action, scope, path: path.as_str().into(), digest: None };
            ChangeItem { change, content: (!removed).then_some(content) }
        })
        .collect();
    if let Some(strictly) = render_changes(&items, &budget, Escaping::Strict) {
        check_strictly(&strictly.text, &budget);
    }
    let Some(rendered) = render_changes(&items, &budget, Escaping::Plain) else { return };
    assert!(check_text(&rendered.text, &budget), "a batch without a frame: {:?}", rendered.text);
    assert!(rendered.included_from < items.len(), "a batch that commits nothing");
    let last = items.len() - 1;
    for (index, (path, content, action)) in files.iter().enumerate().skip(rendered.included_from) {
        if *action == Action::Remove {
            let heading = format!("removed: {}\n\n", path.replace(CLOSING_TAG, r"<\/system-reminder>"));
            assert!(
                contains(rendered.text.as_bytes(), heading.as_bytes()),
                "{heading:?} is not in {:?}",
                rendered.text
            );
        } else {
            check_shown(&rendered.text, path, content, index == last && rendered.included_from == last);
        }
    }
});
