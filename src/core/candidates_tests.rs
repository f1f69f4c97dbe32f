#![allow(clippy::unwrap_used, clippy::panic)]

use super::super::test_support::{config, owned};
use super::PathStyle::{Posix, Windows};
use super::*;

#[test]
fn a_chain_leads_from_the_root_down_to_the_session_directory() {
    let table: [(PathStyle, &str, &str, &[&str]); 9] = [
        (Posix, "/w/p", "/w/p/a/b", &["/w/p", "/w/p/a", "/w/p/a/b"]),
        (Posix, "/w/p", "/w/p", &["/w/p"]),
        (Posix, "/", "/w/p", &["/", "/w", "/w/p"]),
        (Posix, "/", "/", &["/"]),
        // A root that is no ancestor: from the top.
        (Posix, "/w/q", "/w/p", &["/", "/w", "/w/p"]),
        (Posix, "/w/p/a", "/w/p", &["/", "/w", "/w/p"]),
        (Posix, "/w/pp", "/w/p/a", &["/", "/w", "/w/p", "/w/p/a"]),
        (Windows, r"C:\w", r"C:\w\p", &[r"C:\w", r"C:\w\p"]),
        (Windows, r"D:\", r"C:\w", &[r"C:\", r"C:\w"]),
    ];
    for (style, root, cwd, chain) in table {
        assert_eq!(directory_chain(style, root, cwd), chain, "{root} {cwd}");
    }
}

#[test]
fn a_touch_reaches_the_directories_strictly_below_the_session_directory() {
    let table: [(PathStyle, &str, &str, &[&str]); 24] = [
        (Posix, "/p", "/p/a/b/f", &["/p/a", "/p/a/b"]),
        (Posix, "/p", "/p/a/f", &["/p/a"]),
        (Posix, "/p", "/p/f", &[]),
        (Posix, "/p", "/p", &[]),
        // Relative to the session directory, and in any spelling.
        (Posix, "/p", "a/f", &["/p/a"]),
        (Posix, "/p", "./a/../b/f", &["/p/b"]),
        (Posix, "/p", "/p//a/./f/", &["/p/a"]),
        (Posix, "/p", "f", &[]),
        (Posix, "/p", "", &[]),
        // Outside of it.
        (Posix, "/p", "/q/a/f", &[]),
        (Posix, "/p", "../f", &[]),
        (Posix, "/p", "/f", &[]),
        (Posix, "/p", "/pp/a/f", &[]),
        (Posix, "/p/a", "/p/b/c/f", &[]),
        // A name that merely begins with two dots is taken for the way out; deeper down it is not.
        (Posix, "/p", "/p/..foo/f", &[]),
        (Posix, "/p", "/p/..foo/a/f", &[]),
        (Posix, "/p", "/p/...", &[]),
        (Posix, "/p", "/p/a/..foo/f", &["/p/a", "/p/a/..foo"]),
        // Odd names are names.
        (Posix, "/", "/a b/[c]\n/f", &["/a b", "/a b/[c]\n"]),
        (Posix, "/p", r"a\b\f", &[]),
        (Windows, r"C:\p", r"C:\p\a\b\f", &[r"C:\p\a", r"C:\p\a\b"]),
        (Windows, r"C:\p", "a/b/f", &[r"C:\p\a", r"C:\p\a\b"]),
        (Windows, r"C:\p", r"D:\p\a\f", &[]),
        (Windows, r"C:\P", r"c:\p\A\f", &[r"C:\P\A"]),
    ];
    for (style, cwd, touched, directories) in table {
        assert_eq!(touched_directories(style, cwd, touched), directories, "{cwd} {touched:?}");
    }
}

fn spell(group: &Group) -> Vec<(&str, &str, &str)> {
    let candidates = group.candidates.iter();
    candidates.map(|candidate| (candidate.scope.as_str(), &*candidate.path, &*candidate.display)).collect()
}

#[test]
fn a_directory_has_its_base_candidates_then_its_overlays_in_configured_order_each_once() {
    let mut config = config();
    config.instruction_file_candidates = owned(&["B", "A", "B"]);
    config.local_instruction_file_candidates = owned(&["L", "A"]);
    let group = config.group_at("/w/p", "/w/p/a");
    assert_eq!(&*group.directory, "a");
    assert_eq!(spell(&group), [("a\0B", "/w/p/a/B", "a/B"), ("a\0A", "/w/p/a/A", "a/A"), ("a\0L", "/w/p/a/L", "a/L")]);
    assert_eq!(config.group("/w/p", "a"), group);
}

#[test]
fn the_root_directory_is_a_dot_and_its_files_have_bare_names() {
    let mut config = config();
    config.instruction_file_candidates = owned(&["A"]);
    config.local_instruction_file_candidates = vec![];
    let group = config.group_at("/w/p", "/w/p");
    assert_eq!(spell(&group), [(".\0A", "/w/p/A", "A")]);
    assert_eq!(config.group("/w/p", "."), group);
    // A root that is no ancestor leads out of it.
    assert_eq!(spell(&config.group_at("/w/q", "/w/p")), [("../p\0A", "/w/p/A", "../p/A")]);
}

#[test]
fn the_home_has_one_candidate_and_no_overlay() {
    let group = config().user_global_group();
    assert_eq!(&*group.directory, "user-global");
    assert_eq!(spell(&group), [("user-global\0AGENTS.md", "/h/AGENTS.md", "~/.dsh/AGENTS.md")]);
}

#[test]
fn a_project_directory_that_spells_the_reserved_name_is_found_where_it_is_and_reconciled_as_the_home() {
    let config = config();
    let (found, reconciled) = (config.group_at("/p", "/p/user-global"), config.group("/p", "user-global"));
    assert_eq!(spell(&found)[0], ("user-global\0AGENTS.md", "/p/user-global/AGENTS.md", "user-global/AGENTS.md"));
    assert_eq!(spell(&reconciled)[0], ("user-global\0AGENTS.md", "/h/AGENTS.md", "~/.dsh/AGENTS.md"));
    // One that is further down spells nothing reserved.
    assert_eq!(config.group_at("/p", "/p/a/user-global"), config.group("/p", "a/user-global"));
}

#[test]
fn overlays_are_unlikely_and_everything_else_is_not() {
    let config = config();
    let groups = [config.user_global_group(), config.group_at("/p", "/p")];
    let unlikely: Vec<(Rc<str>, bool)> =
        config.wanted(groups).into_iter().map(|wanted| (wanted.path, wanted.unlikely)).collect();
    let expected = [
        ("/h/AGENTS.md", false),
        ("/p/AGENTS.md", false),
        ("/p/CLAUDE.md", false),
        ("/p/AGENTS.local.md", true),
        ("/p/CLAUDE.local.md", true),
    ];
    assert_eq!(unlikely, expected.map(|(path, unlikely)| (path.into(), unlikely)));
}

#[test]
fn the_home_file_is_likely_even_where_its_name_is_an_overlay() {
    let mut config = config();
    config.instruction_file_candidates = vec![];
    config.local_instruction_file_candidates = owned(&["AGENTS.md"]);
    assert!(!config.wanted([config.user_global_group()])[0].unlikely);
    assert!(config.wanted([config.group_at("/p", "/p")])[0].unlikely);
}
