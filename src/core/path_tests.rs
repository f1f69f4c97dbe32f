use proptest::prelude::*;

use super::PathStyle::{Posix, Windows};
use super::*;

// The expected values of the tables are those of node:path (path.posix and path.win32, Node 20 and 24).

type Row = (&'static str, &'static str, &'static str);

fn check(operation: impl Fn(&str, &str) -> String, table: &[Row]) {
    for (left, right, expected) in table {
        assert_eq!(operation(left, right), *expected, "{left:?}, {right:?}");
    }
}

#[test]
fn posix_resolves_against_an_absolute_base() {
    let table = [
        ("/p", "", "/p"),
        ("/p", ".", "/p"),
        ("/p", "a", "/p/a"),
        ("/p", "a/b/", "/p/a/b"),
        ("/p", "./a//b", "/p/a/b"),
        ("/p", "..", "/"),
        ("/p", "../q", "/q"),
        ("/p", "../../../q", "/q"),
        ("/p", "/q", "/q"),
        ("/p", "/", "/"),
        ("/p", "//q/.//r/", "/q/r"),
        ("/", "a", "/a"),
        ("/", "..", "/"),
        ("/p/", "a", "/p/a"),
        ("//p//q", "a/../b", "/p/q/b"),
        ("/p", "..foo", "/p/..foo"),
        ("/p", "...", "/p/..."),
        ("/p", r"a\b", r"/p/a\b"),
        ("/p", r"C:\a", r"/p/C:\a"),
        ("/p", "a b/[x]/é", "/p/a b/[x]/é"),
        ("/p", "a\nb", "/p/a\nb"),
        ("/p/a/..", "./b/.", "/p/b"),
    ];
    check(|base, path| Posix.resolve(base, path), &table);
}

#[test]
fn windows_resolves_on_drives_and_shares() {
    let table = [
        (r"C:\p", "", r"C:\p"),
        (r"C:\p", "a", r"C:\p\a"),
        (r"C:\p", r"a/b\c\", r"C:\p\a\b\c"),
        ("C:/p/", r".\a\\b", r"C:\p\a\b"),
        (r"C:\p", r"..\q", r"C:\q"),
        (r"C:\p", r"..\..\..\q", r"C:\q"),
        (r"C:\p", r"D:\q", r"D:\q"),
        (r"C:\p", "d:/q", r"d:\q"),
        (r"C:\p", "D:q", r"D:\q"),
        (r"C:\p", "C:q", r"C:\p\q"),
        (r"C:\p", "c:q", r"c:\p\q"),
        (r"C:\p", "C:", r"C:\p"),
        (r"C:\p", r"\q", r"C:\q"),
        (r"C:\p", "/q", r"C:\q"),
        (r"C:\", "..", r"C:\"),
        (r"C:\p", r"\\srv\share", r"\\srv\share\"),
        (r"C:\p", "//srv//share//a", r"\\srv\share\a"),
        (r"C:\p", r"\\srv", r"C:\srv"),
        (r"C:\p", r"\\srv\", r"C:\srv"),
        (r"C:\p", r"\\\srv\share", r"C:\srv\share"),
        (r"\\srv\share", "a", r"\\srv\share\a"),
        (r"\\srv\share\p", r"\q", r"\\srv\share\q"),
        (r"\\srv\share\p", r"..\..\q", r"\\srv\share\q"),
        (r"\\srv\share\p", r"C:\q", r"C:\q"),
        (r"\\srv\share\p", "C:q", r"C:\q"),
        ("//srv/share", "/q/r", r"\\srv\share\q\r"),
        (r"C:\p", r"é:\q", r"C:\p\é:\q"),
        (r"C:\p", "1:q", r"C:\p\1:q"),
        (r"C:\p", "..foo", r"C:\p\..foo"),
        (r"C:\p", r"a b\[x]", r"C:\p\a b\[x]"),
    ];
    check(|base, path| Windows.resolve(base, path), &table);
}

#[test]
fn a_relative_base_stays_relative_for_nothing_here_knows_a_working_directory() {
    check(|base, path| Posix.resolve(base, path), &[("p", "a", "p/a"), ("p", "/q", "/q"), ("", "a", "a")]);
    check(
        |base, path| Windows.resolve(base, path),
        &[("p", "a", r"p\a"), ("p", "D:q", r"D:\q"), ("C:p", "a", r"C:p\a")],
    );
}

#[test]
fn normalizing_is_resolving_a_path_alone() {
    let posix = [("/", "/"), ("/p/", "/p"), ("/p//a/./b/../c//", "/p/a/c"), ("//p", "/p"), ("/../..", "/")];
    for (path, expected) in posix {
        assert_eq!(Posix.normalize(path), expected);
    }
    let windows = [
        (r"C:\", r"C:\"),
        ("C:/p/", r"C:\p"),
        (r"c:\p\..\..", r"c:\"),
        (r"\\srv\share", r"\\srv\share\"),
        ("//srv//share//a/", r"\\srv\share\a"),
    ];
    for (path, expected) in windows {
        assert_eq!(Windows.normalize(path), expected);
    }
}

#[test]
fn joining_never_leaves_for_another_root() {
    let posix = [
        ("/p", "AGENTS.md", "/p/AGENTS.md"),
        ("/", "AGENTS.md", "/AGENTS.md"),
        ("/p", "/etc/mark", "/p/etc/mark"),
        ("/p", "sub/mark", "/p/sub/mark"),
        ("/p", "../mark", "/mark"),
        ("/p", r"a\b", r"/p/a\b"),
        ("/p", "", "/p"),
    ];
    check(|directory, name| Posix.join(directory, name), &posix);
    let windows = [
        (r"C:\p", "AGENTS.md", r"C:\p\AGENTS.md"),
        (r"C:\", "AGENTS.md", r"C:\AGENTS.md"),
        (r"\\srv\share\", "AGENTS.md", r"\\srv\share\AGENTS.md"),
        (r"C:\p", "/etc/mark", r"C:\p\etc\mark"),
        (r"C:\p", "sub/mark", r"C:\p\sub\mark"),
        (r"C:\p", r"..\mark", r"C:\mark"),
        (r"C:\p", "D:x", r"C:\p\D:x"),
    ];
    check(|directory, name| Windows.join(directory, name), &windows);
}

#[test]
fn the_directory_of_a_posix_path_is_what_stands_before_its_last_name() {
    let table = [
        ("/", "/"),
        ("/a", "/"),
        ("/a/b", "/a"),
        ("/a/b/", "/a"),
        ("/a/b//", "/a"),
        ("/a//b", "/a/"),
        (r"/a\b/c", r"/a\b"),
        ("/a/..", "/a"),
        ("a", "."),
        ("a/b", "a"),
        ("", "."),
    ];
    for (path, expected) in table {
        assert_eq!(Posix.dirname(path), expected, "{path:?}");
    }
}

#[test]
fn the_directory_of_a_windows_path_stays_on_its_drive_or_share() {
    let table = [
        (r"C:\", r"C:\"),
        (r"C:\a", r"C:\"),
        (r"C:\a\b", r"C:\a"),
        ("C:/a/b", "C:/a"),
        (r"C:\a\b\", r"C:\a"),
        (r"C:\a\\b", r"C:\a\"),
        ("C:a", "C:"),
        ("C:", "C:"),
        (r"C:a\b", "C:a"),
        (r"\a", r"\"),
        (r"\", r"\"),
        (r"\\srv\share", r"\\srv\share"),
        (r"\\srv\share\", r"\\srv\share\"),
        (r"\\srv\share\a", r"\\srv\share\"),
        (r"\\srv\share\a\b", r"\\srv\share\a"),
        ("//srv/share/a", "//srv/share/"),
        (r"\\srv\a", r"\\srv\a"),
        ("a", "."),
        (r"a\b", "a"),
        ("", "."),
    ];
    for (path, expected) in table {
        assert_eq!(Windows.dirname(path), expected, "{path:?}");
    }
}

#[test]
fn posix_paths_relate_by_their_names() {
    let table = [
        ("/p", "/p", ""),
        ("/p", "/p/a/b", "a/b"),
        ("/p/a", "/p", ".."),
        ("/p/a/b", "/p/c", "../../c"),
        ("/", "/a", "a"),
        ("/a", "/", ".."),
        ("/a", "/b", "../b"),
        ("/a/b", "/ab", "../../ab"),
        ("/ab", "/a", "../a"),
        ("/p", "/p/..foo", "..foo"),
        ("/p", "/P", "../P"),
        ("/p/", "/p/a/", "a"),
        ("/p/./a", "/p/a/../b", "../b"),
        ("/p", r"/p/a\b", r"a\b"),
    ];
    check(|from, to| Posix.relative(from, to), &table);
}

#[test]
fn windows_paths_relate_without_case_and_not_across_volumes() {
    let table = [
        (r"C:\p", r"C:\p", ""),
        (r"C:\p", r"c:\P", ""),
        (r"C:\p", r"C:\p\a\b", r"a\b"),
        (r"C:\P", r"c:\p\Äb", "Äb"),
        (r"C:\Äb", r"c:\äB\c", "c"),
        (r"C:\p\a", r"C:\p", ".."),
        (r"C:\p\a", r"C:\p\B\c", r"..\B\c"),
        (r"C:\", r"C:\a", "a"),
        (r"C:\a", r"C:\", ".."),
        ("C:/p", r"C:\p/a", "a"),
        (r"C:\p", r"D:\p", r"D:\p"),
        (r"C:\p", "D:/q/", r"D:\q"),
        (r"\\srv\share\a", r"\\SRV\Share\a\b", "b"),
        (r"\\srv\share\a", r"\\srv\other\b", r"..\..\other\b"),
        (r"\\srv\share\a", r"\\srw\share\b", r"\\srw\share\b"),
        (r"C:\p", r"\\srv\share", r"\\srv\share\"),
        (r"\\srv\share", r"\\srv\share\a", "a"),
        (r"C:\ab", r"C:\a", r"..\a"),
    ];
    check(|from, to| Windows.relative(from, to), &table);
}

#[test]
fn a_posix_path_is_absolute_when_it_begins_with_a_slash() {
    let table = [
        ("/", true),
        ("/a", true),
        ("//", true),
        ("a", false),
        ("", false),
        (".", false),
        ("~", false),
        (r"\a", false),
        (r"C:\a", false),
    ];
    for (path, expected) in table {
        assert_eq!(Posix.is_absolute(path), expected, "{path:?}");
    }
}

#[test]
fn a_windows_path_is_absolute_at_a_separator_or_behind_a_drive() {
    let table = [
        (r"C:\", true),
        ("C:/a", true),
        (r"c:\a", true),
        ("C:", false),
        ("C:a", false),
        (r"\", true),
        ("/a", true),
        (r"\\", true),
        (r"\\srv", true),
        (r"\\srv\share", true),
        ("//srv/share/a", true),
        ("a", false),
        ("", false),
        (".", false),
        (r"1:\a", false),
        (r"é:\a", false),
    ];
    for (path, expected) in table {
        assert_eq!(Windows.is_absolute(path), expected, "{path:?}");
    }
}

#[test]
fn a_model_reads_forward_slashes_and_a_posix_name_keeps_its_backslash() {
    let posix = [("/p", "/p", ""), ("/p", "/p/a/b.md", "a/b.md"), ("/p", r"/p/a\b", r"a\b"), ("/p/a", "/q", "../../q")];
    check(|root, path| Posix.display(root, path), &posix);
    let windows = [
        (r"C:\p", r"C:\p", ""),
        (r"C:\p", r"c:\P\a\b.md", "a/b.md"),
        (r"C:\p\a", r"C:\q", "../../q"),
        (r"C:\p", r"D:\q\b.md", "D:/q/b.md"),
        (r"C:\p", r"\\srv\share\b.md", "//srv/share/b.md"),
    ];
    check(|root, path| Windows.display(root, path), &windows);
}

#[test]
fn results_are_written_with_the_platforms_separator() {
    assert_eq!((Posix.separator(), Windows.separator()), ('/', '\\'));
}

fn style() -> impl Strategy<Value = PathStyle> {
    prop::sample::select(vec![Posix, Windows])
}

/// Names, dots and separators in any order.
fn tail() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "/",
        "/",
        "\\",
        "//",
        "a",
        "B",
        "b",
        "..",
        ".",
        "..foo",
        "é",
        "É",
        "😀",
        "a b",
        "C:",
        "\n",
        "AGENTS.md",
    ]);
    prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat())
}

fn absolute(style: PathStyle) -> impl Strategy<Value = String> {
    let roots = match style {
        Posix => vec!["/", "//"],
        Windows => vec![r"C:\", "C:/", r"c:\", r"D:\", r"\\srv\share\", "//srv/share/", r"\\SRV\other\"],
    };
    (prop::sample::select(roots), tail()).prop_map(|(root, tail)| format!("{root}{tail}"))
}

/// A style with two of its absolute paths and any text.
fn paths() -> impl Strategy<Value = (PathStyle, String, String, String)> {
    style().prop_flat_map(|style| (Just(style), absolute(style), absolute(style), tail()))
}

proptest! {
    #[test]
    fn a_resolved_path_is_absolute_and_stays_as_it_is((style, base, path, tail) in paths()) {
        for resolved in [style.resolve(&base, &path), style.resolve(&base, &tail), style.join(&base, &tail)] {
            prop_assert!(style.is_absolute(&resolved));
            prop_assert_eq!(style.normalize(&resolved), resolved.as_str());
            prop_assert_eq!(style.resolve(&base, &resolved), resolved);
        }
    }

    #[test]
    fn an_absolute_path_ignores_the_base((style, base, path, _) in paths()) {
        prop_assert_eq!(style.resolve(&base, &path), style.normalize(&path));
    }

    #[test]
    fn a_relative_path_leads_from_one_place_to_the_other((style, from, to, _) in paths()) {
        let relative = style.relative(&from, &to);
        let reached = style.resolve(&from, &relative);
        let fold = |path: &str| if style == Windows { path.to_lowercase() } else { path.to_owned() };
        // Across two shares of one server, node:path climbs out of the share, which nothing can do;
        // and no Windows name spells a drive.
        let shares = [&from, &to].iter().all(|path| fold(&style.normalize(path)).starts_with(r"\\srv\"));
        let drive_name = style == Windows && to.rfind(':').is_some_and(|at| at > 1);
        if !shares && !drive_name {
            prop_assert_eq!(fold(&reached), fold(&style.normalize(&to)));
        }
        prop_assert_eq!(style.relative(&style.normalize(&from), &style.normalize(&to)), relative);
    }

    #[test]
    fn climbing_ends_at_the_root_and_each_step_drops_one_name((style, path, _, _) in paths()) {
        let mut path = style.normalize(&path);
        loop {
            let parent = style.dirname(&path);
            prop_assert_eq!(style.normalize(&parent), parent.as_str());
            if parent == path {
                break;
            }
            prop_assert!(parent.len() < path.len());
            prop_assert!(style.relative(&parent, &path).find(style.separator()).is_none());
            prop_assert_eq!(style.relative(&path, &parent), "..");
            path = parent;
        }
        prop_assert!(path.ends_with(style.separator()));
    }

    #[test]
    fn any_text_is_handled(
        style in style(),
        left in prop::collection::vec(any::<char>(), 0..8),
        right in prop::collection::vec(any::<char>(), 0..8),
    ) {
        let (left, right) = (String::from_iter(left), String::from_iter(right));
        let resolved = [style.resolve(&left, &right), style.join(&left, &right), style.normalize(&left)];
        let related = [style.relative(&left, &right), style.display(&left, &right), style.dirname(&left)];
        for result in resolved.iter().chain(&related) {
            prop_assert!(result.len() <= 3 * (left.len() + right.len()) + 3);
        }
        prop_assert!(!style.is_absolute(&left) || style.is_absolute(&resolved[2]));
    }
}
