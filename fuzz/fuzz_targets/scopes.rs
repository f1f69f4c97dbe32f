//! Scope keys: what reconciliation derives from a directory, a baseline derives from what the model reads.
#![no_main]

use arbitrary::Arbitrary;
use dsh_agent_instructions::core::budget::ByteBudget;
use dsh_agent_instructions::core::config::{Config, MarkerErrors, Symlinks, valid_candidates};
use dsh_agent_instructions::core::escape::Escaping;
use dsh_agent_instructions::core::path::PathStyle;
use dsh_agent_instructions::core::scope::{ScopeKey, USER_GLOBAL, directory_of_display_path};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    windows: bool,
    root: Vec<String>,
    below: Vec<String>,
    names: Vec<String>,
    overlays: Vec<String>,
    key: String,
}

fuzz_target!(|input: Input| {
    let persisted = ScopeKey::persisted(&input.key);
    assert_eq!(persisted.as_str(), input.key);
    let (directory, name) = persisted.parts();
    assert_eq!(input.key.contains('\0'), ScopeKey::new(directory, name) == persisted);
    assert!(!ScopeKey::of_display_path(&input.key).parts().0.contains('\0'));

    let (style, top) = if input.windows { (PathStyle::Windows, r"C:\") } else { (PathStyle::Posix, "/") };
    // A path holds no NUL, and no name of a directory that was listed is a path.
    let names =
        |names: Vec<String>| valid_candidates(names.into_iter().map(|name| name.replace(['\0', ':'], "")).collect());
    let descend = |from: String, down: Vec<String>| {
        names(down).iter().take(6).fold(from, |directory, name| style.join(&directory, name))
    };
    let root = descend(top.to_owned(), input.root);
    let directory = descend(root.clone(), input.below);
    let config = Config {
        style,
        dsh_home: style.join(top, "home"),
        dsh_home_display: "~/.dsh".to_owned(),
        project_root_markers: vec![],
        budget: ByteBudget::new(1000.0, "1000"),
        max_source_bytes: 1000.0,
        max_source_spelling: "1000".to_owned(),
        instruction_file_candidates: names(input.names),
        local_instruction_file_candidates: names(input.overlays),
        symlinks: Symlinks::Follow,
        max_total_source: None,
        root_marker_errors: MarkerErrors::Absent,
        escaping: Escaping::Plain,
    };
    let scope_directory = config.scope_directory(&root, &directory);
    let found = config.group_at(&root, &directory);
    let reconciled = config.group(&root, &scope_directory);
    assert_eq!(*found.directory, *scope_directory);
    if scope_directory == USER_GLOBAL {
        return;
    }
    assert_eq!(found, reconciled, "discovery and reconciliation mean the same files");
    for (index, candidate) in found.candidates.iter().enumerate() {
        assert!(!found.candidates[..index].iter().any(|other| other.scope == candidate.scope), "a scope twice");
        assert_eq!(style.dirname(&candidate.path), directory);
        let reserved = directory_of_display_path(&candidate.display) == USER_GLOBAL;
        assert!(reserved || ScopeKey::of_display_path(&candidate.display) == candidate.scope, "{candidate:?}");
    }
});
