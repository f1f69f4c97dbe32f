#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::super::escape::{CLOSING_TAG, Escaping};
use super::super::render::{BaselineItem, ChangeItem, render_baseline, render_changes};
use super::super::scope::ScopeKey;
use super::super::state::{Action, Change};
use super::super::text::JsText;
use super::*;

const ESCAPED_TAG: &str = r"<\/system-reminder>";

fn budget(limit: f64) -> ByteBudget {
    ByteBudget::new(limit, limit.to_string())
}

/// The notice as it reads.
fn notice(budget: &ByteBudget, omitted: &[&str], cut: Option<(&str, usize, usize)>) -> String {
    let omitted = (!omitted.is_empty()).then(|| format!("omitted {}", omitted.join(", ")));
    let cut = cut.map(|(path, original, included)| format!("truncated {path} from {original} to {included} bytes"));
    let parts: Vec<String> = omitted.into_iter().chain(cut).collect();
    format!("Workspace instruction budget {} bytes: {}", budget.spelling(), parts.join("; "))
}

/// A section of which only lengths are known.
#[derive(Clone, Debug)]
struct Lengths {
    path: usize,
    section: usize,
}

impl Measured for Lengths {
    fn path_bytes(&self) -> usize {
        self.path
    }

    fn section_bytes(&self) -> usize {
        self.section
    }
}

#[test]
fn a_budget_remembers_the_number_and_its_javascript_spelling() {
    let budget = ByteBudget::new(1e21, "1e+21");
    assert_eq!((budget.limit(), budget.spelling()), (1e21, "1e+21"));
}

#[test]
fn a_non_positive_or_non_finite_budget_is_off() {
    let table = [
        (1.0, true),
        (0.5, true),
        (f64::MIN_POSITIVE, true),
        (f64::MAX, true),
        (0.0, false),
        (-0.0, false),
        (-1.0, false),
        (f64::INFINITY, false),
        (f64::NEG_INFINITY, false),
        (f64::NAN, false),
    ];
    for (limit, enabled) in table {
        assert_eq!(budget(limit).is_enabled(), enabled, "{limit}");
    }
}

#[test]
fn a_budget_admits_up_to_its_last_whole_byte() {
    let table = [
        (10.0, 10, true),
        (10.0, 11, false),
        (10.9, 10, true),
        (10.9, 11, false),
        (0.5, 0, true),
        (0.5, 1, false),
        (1e21, usize::MAX, true),
        (f64::NAN, 0, false),
    ];
    for (limit, bytes, admitted) in table {
        assert_eq!(budget(limit).admits(bytes), admitted, "{bytes} of {limit}");
    }
}

#[test]
fn a_number_takes_the_digits_that_it_is_written_with() {
    for number in [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 65_535, 1_048_576, usize::MAX] {
        assert_eq!(digits(number), number.to_string().len(), "{number}");
    }
}

#[test]
fn without_sections_nothing_fits() {
    let around = Surroundings { whole: 1, cut: 1 };
    assert_eq!(fit::<Lengths>(&[], around, None, &budget(1000.0)), Fit::Nothing);
}

#[test]
fn a_section_that_cannot_be_cut_is_whole_or_nothing() {
    let sections = [Lengths { path: 5, section: 40 }];
    let around = Surroundings { whole: 10, cut: 10 };
    assert_eq!(fit(&sections, around, None, &budget(52.0)), Fit::Whole { first: 0 });
    assert_eq!(fit(&sections, around, None, &budget(51.9)), Fit::Nothing);
}

#[test]
fn the_broadest_sections_go_first_and_the_notice_counts() {
    // Frame 10, and 2 before each section.
    let sections =
        [Lengths { path: 7, section: 500 }, Lengths { path: 9, section: 300 }, Lengths { path: 4, section: 100 }];
    let around = Surroundings { whole: 10, cut: 10 };
    let one = notice(&budget(999.0), &[&"p".repeat(7)], None).len();
    let two = notice(&budget(999.0), &[&"p".repeat(7), &"p".repeat(9)], None).len();
    let first = |limit: usize| fit(&sections, around, None, &ByteBudget::new(limit as f64, "999"));
    assert_eq!(first(10 + 502 + 302 + 102), Fit::Whole { first: 0 });
    assert_eq!(first(10 + 502 + 302 + 102 - 1), Fit::Whole { first: 1 });
    assert_eq!(first(10 + one + 2 + 302 + 102), Fit::Whole { first: 1 });
    assert_eq!(first(10 + one + 2 + 302 + 102 - 1), Fit::Whole { first: 2 });
    assert_eq!(first(10 + two + 2 + 102), Fit::Whole { first: 2 });
    assert_eq!(first(10 + two + 2 + 102 - 1), Fit::Nothing);
}

#[test]
fn a_cut_keeps_the_long_surroundings_where_they_fit_without_content() {
    let text = JsText::from("x".repeat(400));
    let content = Escaped::new(&text, Escaping::Plain);
    let sections = [Lengths { path: 3, section: 30 + content.bytes() }];
    let around = Surroundings { whole: 200, cut: 100 };
    let account = |included: usize| notice(&budget(999.0), &[], Some(("A.m", 400, included))).len() + 4 + 30;
    let cut = |limit: usize| fit(&sections, around, Some(&content), &ByteBudget::new(limit as f64, "999"));
    assert_eq!(cut(200 + account(0)), Fit::Cut { included: 0, introduced: true });
    assert_eq!(cut(200 + account(0) + 1), Fit::Cut { included: 1, introduced: true });
    assert_eq!(cut(200 + account(0) - 1), Fit::Cut { included: 98, introduced: false });
    assert_eq!(cut(100 + account(0)), Fit::Cut { included: 0, introduced: false });
    assert_eq!(cut(100 + account(0) - 1), Fit::Nothing);
}

#[test]
fn only_complete_closing_tags_grow_a_text() {
    let table = [
        ("", 0),
        ("</system-reminder>", 1),
        ("</system-reminder", 0),
        ("</system-reminder></system-reminder>", 2),
        ("</system-</system-reminder>reminder>", 1),
        ("<<//system-reminder>", 0),
        ("</SYSTEM-REMINDER></system-reminder >", 0),
        (ESCAPED_TAG, 0),
    ];
    for (text, tags) in table {
        let text = JsText::from(text);
        assert_eq!(Escaped::new(&text, Escaping::Plain).bytes(), text.len() + tags, "{text:?}");
    }
}

#[test]
fn a_tag_grows_the_text_from_its_last_byte_on() {
    let text = JsText::from(format!("ab{CLOSING_TAG}cd"));
    let escaped = Escaped::new(&text, Escaping::Plain);
    let end = 2 + CLOSING_TAG.len();
    assert_eq!(escaped.bytes_up_to(end - 1), end - 1);
    assert_eq!(escaped.bytes_up_to(end), end + 1);
    assert_eq!(escaped.bytes_up_to(text.len()), escaped.bytes());
}

/// Content in which closing tags, whole and in pieces, meet characters of every width.
fn content() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        CLOSING_TAG,
        CLOSING_TAG,
        "</system-",
        "reminder>",
        "<",
        ">",
        ESCAPED_TAG,
        "a",
        "é",
        "漢",
        "😀",
        "\n\n",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

fn path() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "AGENTS.md",
        "~/.dsh/AGENTS.md",
        "a b/é/CLAUDE.md",
        "</system-reminder>/AGENTS.md",
        "x\ny/A",
        "",
    ])
    .prop_map(str::to_owned)
}

/// The notice in a rendered message: its first paragraph, where that is one.
fn written_notice(text: &str) -> Option<&str> {
    let text = text.strip_prefix("<system-reminder>\n").unwrap_or(text);
    let (first, _) = text.split_once("\n\n")?;
    first.starts_with("Workspace instruction budget ").then_some(first)
}

/// What `notice_bytes` says about `paths`, the last of them cut where that is given.
fn counted(budget: &ByteBudget, paths: &[String], omitted: usize, cut: Option<(usize, usize)>) -> usize {
    let escaped: Vec<usize> = paths.iter().map(|path| path.replace(CLOSING_TAG, ESCAPED_TAG).len()).collect();
    let cut = cut.map(|(original, included)| CutLengths { path: *escaped.last().unwrap(), original, included });
    notice_bytes(budget, omitted, escaped.iter().take(omitted).sum(), cut)
}

proptest! {
    #[test]
    fn escaped_lengths_are_those_of_the_escaped_text(content in content()) {
        let text = JsText::from(content.as_str());
        let escaped = Escaped::new(&text, Escaping::Plain);
        prop_assert_eq!(escaped.bytes(), content.replace(CLOSING_TAG, ESCAPED_TAG).len());
        for included in (0..=content.len()).filter(|at| content.is_char_boundary(*at)) {
            let prefix = content[..included].replace(CLOSING_TAG, ESCAPED_TAG);
            prop_assert_eq!(escaped.bytes_up_to(included), prefix.len());
        }
    }

    #[test]
    fn notice_bytes_counts_the_notice_as_it_reads(
        spelling in prop::sample::select(vec!["1", "0.5", "65536", "1e+21"]),
        omitted in prop::collection::vec(path(), 0..4),
        cut in prop::option::of((path(), 0_usize..2000, 0_usize..2000)),
    ) {
        let budget = ByteBudget::new(1.0, spelling);
        let omitted: Vec<&str> = omitted.iter().map(String::as_str).collect();
        let text = notice(&budget, &omitted, cut.as_ref().map(|(path, original, included)| (path.as_str(), *original, *included)));
        let cut = cut.map(|(path, original, included)| CutLengths { path: path.len(), original, included });
        let paths = omitted.iter().map(|path| path.len()).sum();
        prop_assert_eq!(notice_bytes(&budget, omitted.len(), paths, cut), text.len());
    }

    #[test]
    fn notice_bytes_counts_the_notice_that_a_baseline_writes(
        files in prop::collection::vec((path(), content()), 1..4),
        limit in 100_u32..900,
    ) {
        let texts: Vec<JsText> = files.iter().map(|(_, content)| JsText::from(content.as_str())).collect();
        let items: Vec<BaselineItem<'_>> =
            files.iter().zip(&texts).map(|((path, _), content)| BaselineItem { display_path: path, content }).collect();
        let budget = budget(f64::from(limit));
        let rendered = render_baseline(&items, &budget, Escaping::Plain, false);
        let paths: Vec<String> = files.into_iter().map(|(path, _)| path).collect();
        let cut = rendered.truncated.map(|cut| (cut.original_bytes, cut.included_bytes));
        let counted = counted(&budget, &paths, rendered.omitted, cut);
        match written_notice(rendered.text.as_str().unwrap()) {
            Some(written) => prop_assert_eq!(written.len(), counted),
            // Everything is there, or nothing but the notice, as far as it goes.
            None if (rendered.omitted, cut) == (0, None) => {}
            None if budget.admits(counted) => prop_assert_eq!(rendered.text.len(), counted),
            None => prop_assert!(rendered.text.len() < counted),
        }
    }

    #[test]
    fn notice_bytes_counts_the_notice_that_a_batch_writes(
        files in prop::collection::vec((path(), content()), 1..4),
        limit in 100_u32..900,
    ) {
        let texts: Vec<JsText> = files.iter().map(|(_, content)| JsText::from(content.as_str())).collect();
        let items: Vec<ChangeItem<'_>> = files
            .iter()
            .zip(&texts)
            .map(|((path, _), content)| {
                let change = Change { action: Action::Replace, scope: ScopeKey::of_display_path(path), path: path.as_str().into(), digest: None };
                ChangeItem { change, content: Some(content) }
            })
            .collect();
        let budget = budget(f64::from(limit));
        let Some(rendered) = render_changes(&items, &budget, Escaping::Plain) else { return Ok(()) };
        let paths: Vec<String> = files.into_iter().map(|(path, _)| path).collect();
        let text = rendered.text.as_str().unwrap();
        match written_notice(text) {
            Some(written) => {
                let last = texts.last().unwrap();
                let included = written.split_once(" to ").map(|(_, rest)| rest.trim_end_matches(" bytes").parse());
                let cut = match included {
                    Some(included) => Some((last.len(), included?)),
                    None => None,
                };
                prop_assert_eq!(written.len(), counted(&budget, &paths, rendered.included_from, cut));
            }
            None => prop_assert_eq!(rendered.included_from, 0),
        }
    }

    #[test]
    fn the_fit_is_what_trying_every_possibility_finds(
        broad in prop::collection::vec((path(), 0_usize..120), 0..3),
        last in (path(), content(), 0_usize..60),
        whole in 0_usize..200,
        cut in prop::option::of(0_usize..80),
        limit in prop_oneof![0_u32..400, 0_u32..1200],
    ) {
        let (path, content, bare) = last;
        let around = Surroundings { whole, cut: cut.unwrap_or(whole) };
        let text = JsText::from(content.as_str());
        let cuttable = Escaped::new(&text, Escaping::Plain);
        let mut sections: Vec<Lengths> =
            broad.iter().map(|(path, section)| Lengths { path: path.len(), section: *section }).collect();
        sections.push(Lengths { path: path.len(), section: bare + cuttable.bytes() });
        let budget = budget(f64::from(limit));

        let names: Vec<&str> = broad.iter().map(|(path, _)| path.as_str()).chain([path.as_str()]).collect();
        let first = (0..sections.len()).find(|first| {
            let account = if *first == 0 { 0 } else { notice(&budget, &names[..*first], None).len() + 2 };
            let kept: usize = sections[*first..].iter().map(|section| 2 + section.section).sum();
            budget.admits(around.whole + account + kept)
        });
        let prefix = |around: usize| {
            (0..=content.len()).rev().filter(|at| content.is_char_boundary(*at)).find(|included| {
                let account = notice(&budget, &names[..broad.len()], Some((&path, content.len(), *included)));
                let prefix = content[..*included].replace(CLOSING_TAG, ESCAPED_TAG);
                budget.admits(around + account.len() + 2 + 2 + bare + prefix.len())
            })
        };
        let expected = match (first, prefix(around.whole), prefix(around.cut)) {
            (Some(first), ..) => Fit::Whole { first },
            (None, Some(included), _) => Fit::Cut { included, introduced: true },
            (None, None, Some(included)) => Fit::Cut { included, introduced: false },
            (None, None, None) => Fit::Nothing,
        };
        prop_assert_eq!(fit(&sections, around, Some(&cuttable), &budget), expected);
    }
}
