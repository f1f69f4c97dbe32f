use proptest::prelude::*;

use super::super::test_support::config;
use super::*;

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The published defaults under a 64 KiB budget.
fn defaults() -> Config {
    Config { dsh_home: "/home/.dsh".to_owned(), ..config() }
}

#[test]
fn the_user_global_file_is_agents_md_under_the_harness_home() {
    let posix = defaults();
    assert_eq!(posix.user_global_path(), "/home/.dsh/AGENTS.md");
    assert_eq!(posix.user_global_display(), "~/.dsh/AGENTS.md");
    let windows = Config {
        style: PathStyle::Windows,
        dsh_home: r"C:\Users\x\.dsh".to_owned(),
        dsh_home_display: "$DSH_HOME".to_owned(),
        ..defaults()
    };
    assert_eq!(windows.user_global_path(), r"C:\Users\x\.dsh\AGENTS.md");
    assert_eq!(windows.user_global_display(), "$DSH_HOME/AGENTS.md");
}

#[test]
fn candidates_stand_base_before_local_and_a_name_listed_twice_counts_once() {
    assert_eq!(defaults().candidate_names(), ["AGENTS.md", "CLAUDE.md", "AGENTS.local.md", "CLAUDE.local.md"]);
    let table: [(&[&str], &[&str], &[&str]); 5] = [
        (&[], &[], &[]),
        (&["b", "a", "b"], &[], &["b", "a"]),
        (&[], &["x", "x"], &["x"]),
        (&["a", "b"], &["b", "c", "a"], &["a", "b", "c"]),
        (&["A"], &["a"], &["A", "a"]),
    ];
    for (base, local, names) in table {
        let config = Config {
            instruction_file_candidates: strings(base),
            local_instruction_file_candidates: strings(local),
            ..defaults()
        };
        assert_eq!(config.candidate_names(), names, "{base:?} {local:?}");
    }
}

#[test]
fn an_overlay_is_a_name_that_is_no_base_candidate() {
    let config = Config { local_instruction_file_candidates: strings(&["AGENTS.md", "AGENTS.local.md"]), ..defaults() };
    let table = [("AGENTS.md", false), ("CLAUDE.md", false), ("AGENTS.local.md", true), ("agents.md", true)];
    for (name, overlay) in table {
        assert_eq!(config.is_overlay(name), overlay, "{name}");
    }
}

#[test]
fn the_identity_of_the_defaults_is_the_published_text() {
    let rest = r#","projectRootMarkers":[".git"],"maxBytes":65536,"maxSourceBytes":1048576,"instructionFileCandidates":["AGENTS.md","CLAUDE.md"],"localInstructionFileCandidates":["AGENTS.local.md","CLAUDE.local.md"]}"#;
    // The root is told from the working directory, so that a moved checkout keeps its identity.
    for (cwd, root, relative) in [("/p", "/p", ""), ("/p/a/b", "/p", "../.."), ("/q/a/b", "/q", "../..")] {
        assert_eq!(defaults().baseline_identity(cwd, root), format!(r#"{{"projectRoot":"{relative}"{rest}"#));
    }
}

#[test]
fn the_identity_of_a_windows_project_has_forward_slashes() {
    let config = Config { style: PathStyle::Windows, ..defaults() };
    assert!(config.baseline_identity(r"C:\p\a\b", r"c:\P").starts_with(r#"{"projectRoot":"../..","#));
}

#[test]
fn the_identity_escapes_as_json_stringify_does() {
    let config = Config {
        project_root_markers: strings(&[".git", "x\"\\\u{7}\u{8}\t\n\u{C}\r\u{1F}\u{7F}\u{2028}é😀</"]),
        budget: ByteBudget::new(1234.5, "1234.5"),
        max_source_bytes: 2_097_152.0,
        max_source_spelling: "2097152".to_owned(),
        instruction_file_candidates: strings(&["AGENTS.md", "AGENTS.md", " ", "...", "é"]),
        local_instruction_file_candidates: vec![],
        ..defaults()
    };
    let published = concat!(
        r#"{"projectRoot":"","projectRootMarkers":[".git","x\"\\\u0007\b\t\n\f\r\u001f"#,
        "\u{7F}\u{2028}é😀</",
        r#""],"maxBytes":1234.5,"maxSourceBytes":2097152,"#,
        r#""instructionFileCandidates":["AGENTS.md","AGENTS.md"," ","...","é"],"localInstructionFileCandidates":[]}"#,
    );
    assert_eq!(config.baseline_identity("/p", "/p"), published);
}

#[test]
fn the_identity_spells_numbers_as_javascript_does() {
    for (limit, spelling) in
        [(1e21, "1e+21"), (0.1, "0.1"), (1e-7, "1e-7"), (9_007_199_254_740_992.0, "9007199254740992")]
    {
        let config =
            Config { budget: ByteBudget::new(limit, spelling), max_source_spelling: spelling.to_owned(), ..defaults() };
        let numbers = format!(r#""maxBytes":{spelling},"maxSourceBytes":{spelling},"#);
        assert!(config.baseline_identity("/p", "/p").contains(&numbers), "{spelling}");
    }
}

#[test]
fn a_number_that_json_cannot_spell_is_null_as_json_stringify_has_it() {
    for (limit, spelling) in [(f64::INFINITY, "Infinity"), (f64::NAN, "NaN")] {
        let config = Config { budget: ByteBudget::new(limit, spelling), ..defaults() };
        assert!(config.baseline_identity("/p", "/p").contains(r#""maxBytes":null,"#), "{spelling}");
    }
}

#[test]
fn a_candidate_names_a_file_of_the_same_directory() {
    let names =
        strings(&["AGENTS.md", "", ".", "..", "a/b", r"a\b", "/", r"\", "...", ".x", " ", "a b", "é", "AGENTS.md"]);
    assert_eq!(valid_candidates(names), ["AGENTS.md", "...", ".x", " ", "a b", "é", "AGENTS.md"]);
}

proptest! {
    #[test]
    fn the_identity_is_json_that_tells_every_option_apart(
        markers in prop::collection::vec(".{0,6}", 0..3),
        base in prop::collection::vec(".{0,6}", 0..3),
        local in prop::collection::vec(".{0,6}", 0..3),
        bytes in 1_u32..,
    ) {
        let config = Config {
            project_root_markers: markers.clone(),
            instruction_file_candidates: base.clone(),
            local_instruction_file_candidates: local.clone(),
            budget: ByteBudget::new(f64::from(bytes), bytes.to_string()),
            ..defaults()
        };
        let identity: serde_json::Value = serde_json::from_str(&config.baseline_identity("/p/a", "/p"))?;
        prop_assert_eq!(identity, serde_json::json!({
            "projectRoot": "..",
            "projectRootMarkers": markers,
            "maxBytes": bytes,
            "maxSourceBytes": 1_048_576,
            "instructionFileCandidates": base,
            "localInstructionFileCandidates": local,
        }));
    }
}
