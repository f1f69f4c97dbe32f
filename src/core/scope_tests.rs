use proptest::prelude::*;

use super::*;

#[test]
fn a_display_path_names_its_directory_and_its_candidate() {
    let table = [
        ("AGENTS.md", "AGENTS.md", "."),
        ("CLAUDE.local.md", "CLAUDE.local.md", "."),
        ("packages/app/AGENTS.md", "AGENTS.md", "packages/app"),
        ("../AGENTS.md", "AGENTS.md", ".."),
        ("a b/[x]/\u{301}/é.md", "é.md", "a b/[x]/\u{301}"),
        ("a\nb/AGENTS.md", "AGENTS.md", "a\nb"),
        (r"a\b\AGENTS.md", r"a\b\AGENTS.md", "."),
        ("C:/x/AGENTS.md", "AGENTS.md", "C:/x"),
        ("", "", "."),
    ];
    for (path, name, directory) in table {
        assert_eq!(directory_of_display_path(path), directory, "{path:?}");
        assert_eq!(ScopeKey::of_display_path(path).parts(), (directory, name), "{path:?}");
        assert_eq!(ScopeKey::of_display_path(path), ScopeKey::new(directory, name), "{path:?}");
    }
}

#[test]
fn both_spellings_of_the_harness_home_are_the_one_user_global_scope() {
    for path in ["~/.dsh/AGENTS.md", "$DSH_HOME/AGENTS.md"] {
        assert_eq!(directory_of_display_path(path), "user-global");
        assert_eq!(ScopeKey::of_display_path(path), ScopeKey::user_global());
    }
    assert_eq!(ScopeKey::user_global().as_str(), "user-global\0AGENTS.md");
}

#[test]
fn no_other_path_under_the_harness_home_is_user_global() {
    let table = [
        ("~/.dsh/CLAUDE.md", "~/.dsh"),
        ("~/.dsh/sub/AGENTS.md", "~/.dsh/sub"),
        ("x/~/.dsh/AGENTS.md", "x/~/.dsh"),
        ("$DSH_HOME/agents.md", "$DSH_HOME"),
        ("~/AGENTS.md", "~"),
    ];
    for (path, directory) in table {
        assert_eq!(directory_of_display_path(path), directory);
        assert_ne!(ScopeKey::of_display_path(path), ScopeKey::user_global());
    }
}

#[test]
fn a_project_directory_named_user_global_collides_with_the_reserved_scope() {
    assert_eq!(ScopeKey::of_display_path("user-global/AGENTS.md"), ScopeKey::user_global());
    assert_ne!(ScopeKey::of_display_path("a/user-global/AGENTS.md"), ScopeKey::user_global());
    assert_ne!(ScopeKey::of_display_path("user-global/CLAUDE.md"), ScopeKey::user_global());
}

#[test]
fn a_persisted_key_is_kept_as_it_is() {
    let table = [
        (".\0AGENTS.md", (".", "AGENTS.md")),
        ("packages/app\0CLAUDE.md", ("packages/app", "CLAUDE.md")),
        ("", ("", "")),
        ("packages/app", ("packages/app", "")),
        ("\0", ("", "")),
        ("a\0b\0c", ("a", "b\0c")),
    ];
    for (key, parts) in table {
        assert_eq!(ScopeKey::persisted(key).as_str(), key);
        assert_eq!(ScopeKey::persisted(key).parts(), parts, "{key:?}");
    }
    assert_eq!(ScopeKey::persisted(".\0AGENTS.md"), ScopeKey::of_display_path("AGENTS.md"));
}

proptest! {
    #[test]
    fn a_key_gives_back_the_directory_and_the_name_that_it_was_made_of(
        directory in prop::collection::vec(any::<char>(), 0..8),
        name in prop::collection::vec(any::<char>(), 0..8),
    ) {
        let directory: String = directory.into_iter().filter(|character| *character != '\0').collect();
        let name: String = name.into_iter().collect();
        let key = ScopeKey::new(&directory, &name);
        prop_assert_eq!(key.parts(), (directory.as_str(), name.as_str()));
        prop_assert_eq!(ScopeKey::persisted(key.as_str()), key);
    }

    #[test]
    fn candidates_and_directories_never_share_a_scope(
        left in ("[./a-b]{0,3}", "[a-b.]{0,2}"),
        right in ("[./a-b]{0,3}", "[a-b.]{0,2}"),
    ) {
        let same = left == right;
        prop_assert_eq!(ScopeKey::new(&left.0, &left.1) == ScopeKey::new(&right.0, &right.1), same);
    }
}
