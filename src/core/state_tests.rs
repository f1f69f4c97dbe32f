#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn set(scope: &str, path: &str, digest: &str) -> Change {
    Change { action: Action::Set, scope: ScopeKey::persisted(scope), path: path.into(), digest: Some(digest.into()) }
}

fn remove(scope: &str) -> Change {
    Change { action: Action::Remove, scope: ScopeKey::persisted(scope), path: scope.into(), digest: None }
}

fn source(changes: Vec<Change>) -> Source {
    Source { baseline: None, changes }
}

fn fold(sources: &[Source]) -> Visible {
    let mut visible = Visible::default();
    for source in sources {
        visible.apply(&source.changes);
    }
    visible
}

fn decode(value: &Value) -> Vec<Source> {
    decode_sources(&value.to_string())
}

#[test]
fn an_action_is_persisted_under_its_lowercase_name() {
    for (action, name) in [(Action::Set, "set"), (Action::Replace, "replace"), (Action::Remove, "remove")] {
        assert_eq!(action.as_str(), name);
        let decoded = decode(&json!([{ "changes": [{ "action": name, "scope": "s", "path": "p" }] }]));
        assert_eq!(decoded[0].changes[0].action, action);
    }
}

#[test]
fn a_dynamic_source_is_decoded_in_full() {
    let decoded = decode(&json!([{
        "kind": "agent-instructions",
        "changes": [
            { "action": "set", "scope": "a\u{0}AGENTS.md", "path": "a/AGENTS.md", "digest": "d1" },
            { "action": "replace", "scope": "b\u{0}AGENTS.md", "path": "b/AGENTS.md", "digest": "d2", "other": [1] },
            { "action": "remove", "scope": "c\u{0}AGENTS.md", "path": "c/AGENTS.md" },
        ],
    }]));
    let expected = source(vec![
        set("a\0AGENTS.md", "a/AGENTS.md", "d1"),
        Change { action: Action::Replace, ..set("b\0AGENTS.md", "b/AGENTS.md", "d2") },
        Change { path: "c/AGENTS.md".into(), ..remove("c\0AGENTS.md") },
    ]);
    assert_eq!(decoded, [expected]);
}

#[test]
fn only_a_true_baseline_flag_makes_a_baseline() {
    let mark = |identity: Option<&str>| Some(BaselineMark { identity: identity.map(str::to_owned) });
    let table = [
        (json!({ "baseline": true, "baselineIdentity": "{}", "changes": [] }), mark(Some("{}"))),
        (json!({ "baseline": true, "baselineIdentity": "" }), mark(Some(""))),
        (json!({ "baseline": true }), mark(None)),
        (json!({ "baseline": true, "baselineIdentity": { "a": 1 } }), mark(None)),
        (json!({ "baseline": false, "baselineIdentity": "{}" }), None),
        (json!({ "baseline": "true", "baselineIdentity": "{}" }), None),
        (json!({ "baseline": 1 }), None),
        (json!({ "baselineIdentity": "{}" }), None),
    ];
    for (value, baseline) in table {
        assert_eq!(decode(&json!([value])), [Source { baseline, changes: vec![] }], "{value}");
    }
}

#[test]
fn what_is_not_a_change_is_passed_over_and_its_neighbours_stay() {
    let table = [
        json!(null),
        json!("set"),
        json!([]),
        json!({}),
        json!({ "action": "set", "scope": "s" }),
        json!({ "action": "set", "path": "p" }),
        json!({ "scope": "s", "path": "p" }),
        json!({ "action": "Set", "scope": "s", "path": "p" }),
        json!({ "action": "delete", "scope": "s", "path": "p" }),
        json!({ "action": null, "scope": "s", "path": "p" }),
        json!({ "action": ["set"], "scope": "s", "path": "p" }),
        json!({ "action": "set", "scope": 1, "path": "p" }),
        json!({ "action": "set", "scope": "s", "path": null }),
    ];
    for garbage in table {
        let good = json!({ "action": "set", "scope": "s", "path": "p", "digest": "d" });
        let decoded = decode(&json!([{ "changes": [garbage, good, garbage] }]));
        assert_eq!(decoded, [source(vec![set("s", "p", "d")])], "{garbage}");
    }
}

#[test]
fn a_digest_that_is_no_text_is_no_digest() {
    for digest in [json!(null), json!(1), json!(["d"]), json!({})] {
        let decoded =
            decode(&json!([{ "changes": [{ "action": "set", "scope": "s", "path": "p", "digest": digest }] }]));
        assert_eq!(decoded[0].changes[0].digest, None, "{digest}");
    }
}

#[test]
fn every_source_keeps_its_place_however_odd_it_is() {
    let odd = [
        json!(null),
        json!(1),
        json!("x"),
        json!([]),
        json!({}),
        json!({ "changes": {} }),
        json!({ "changes": "set" }),
    ];
    for value in odd {
        let last = json!({ "changes": [{ "action": "remove", "scope": "s", "path": "s" }] });
        assert_eq!(decode(&json!([value, last])), [Source::default(), source(vec![remove("s")])], "{value}");
    }
}

#[test]
fn what_is_no_array_of_sources_holds_none() {
    for text in
        ["", " ", "null", "{}", "1", "\"[]\"", "[", "[{}", "[{}]]", "[{},]", "{\"changes\":[]}", "\u{FEFF}[{}]", "\0"]
    {
        assert_eq!(decode_sources(text), [], "{text:?}");
    }
    assert_eq!(decode_sources(&"[".repeat(100_000)), []);
    assert_eq!(decode_sources(" [ ] "), []);
}

#[test]
fn the_latest_change_of_a_scope_counts() {
    let visible = fold(&[
        source(vec![set("a", "a", "1"), set("b", "b", "1")]),
        source(vec![Change { action: Action::Replace, ..set("a", "a2", "2") }]),
    ]);
    let standing = visible.standing(&ScopeKey::persisted("a")).unwrap();
    assert_eq!((standing.action, &*standing.path, standing.digest.as_deref()), (Action::Replace, "a2", Some("2")));
    assert_eq!(visible.standing(&ScopeKey::persisted("b")), Some(&set("b", "b", "1")));
    assert_eq!(visible.standing(&ScopeKey::persisted("c")), None);
}

#[test]
fn a_tombstone_is_known_but_stands_for_nothing_until_the_scope_returns() {
    let scope = ScopeKey::persisted("a");
    let mut visible = fold(&[source(vec![set("a", "a", "1")]), source(vec![remove("a")])]);
    assert_eq!(visible.standing(&scope), None);
    assert_eq!(visible.scopes().collect::<Vec<_>>(), [&scope]);
    visible.apply(&[set("a", "a", "1")]);
    assert_eq!(visible.standing(&scope), Some(&set("a", "a", "1")));
}

#[test]
fn scopes_stay_in_the_order_in_which_they_first_appeared() {
    let visible = fold(&[
        source(vec![set("b", "b", "1"), set("a", "a", "1")]),
        source(vec![remove("b"), set("c", "c", "1")]),
        source(vec![set("b", "b", "2")]),
    ]);
    assert_eq!(visible.scopes().map(ScopeKey::as_str).collect::<Vec<_>>(), ["b", "a", "c"]);
}

#[test]
fn nothing_is_visible_before_anything_was_said() {
    let visible = fold(&[]);
    assert_eq!(visible.scopes().count(), 0);
    assert_eq!(visible.standing(&ScopeKey::user_global()), None);
}

#[test]
fn memory_excludes_nothing_before_a_complete_composition() {
    let scope = ScopeKey::persisted("a");
    let mut memory = Memory::default();
    assert!(!memory.excludes(&scope));
    assert!(!memory.excludes_path("/a"));
    memory.excluded = Some([(scope.clone(), "/a".into())].into_iter().collect());
    assert!(memory.excludes(&scope));
    assert!(memory.excludes_path("/a"));
    assert!(!memory.excludes(&ScopeKey::persisted("b")));
    assert!(!memory.excludes_path("a"));
}

#[test]
fn memory_knows_the_paths_that_were_read() {
    let mut memory = Memory::default();
    assert!(!memory.knows_path("/a"));
    let known = KnownFile { path: "/a".into(), version: Version::default(), digest: "".into(), trimmed: "".into() };
    memory.versions.insert(ScopeKey::persisted("s"), known);
    assert!(memory.knows_path("/a"));
    assert!(!memory.knows_path("s"));
}

/// Any JSON, with the words of a source at every place.
fn garbage() -> impl Strategy<Value = Value> {
    let word = || {
        prop::sample::select(vec![
            "action",
            "scope",
            "path",
            "digest",
            "changes",
            "baseline",
            "baselineIdentity",
            "set",
            "replace",
            "remove",
            "a\0b",
            "é",
        ])
        .prop_map(str::to_owned)
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..6).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let action = prop::sample::select(vec![Action::Set, Action::Replace, Action::Remove]);
    let change = (action, "[a-d]", "[xy]", prop::option::of("[12]")).prop_map(|(action, scope, path, digest)| Change {
        action,
        scope: ScopeKey::persisted(&scope),
        path: path.into(),
        digest: digest.map(Rc::from),
    });
    prop::collection::vec(change, 0..12)
}

proptest! {
    #[test]
    fn what_was_written_is_read_back(sources in prop::collection::vec((changes(), prop::option::of(prop::option::of(".{0,5}"))), 0..4)) {
        let sources: Vec<Source> = sources
            .into_iter()
            .map(|(changes, baseline)| Source { baseline: baseline.map(|identity| BaselineMark { identity }), changes })
            .collect();
        let json = sources.iter().map(|source| {
            let changes = source.changes.iter().map(|change| {
                let mut value = json!({ "action": change.action.as_str(), "scope": change.scope.as_str(), "path": &*change.path });
                if let Some(digest) = &change.digest {
                    value["digest"] = json!(&**digest);
                }
                value
            });
            let mut value = json!({ "changes": changes.collect::<Vec<_>>() });
            if let Some(mark) = &source.baseline {
                value["baseline"] = json!(true);
                if let Some(identity) = &mark.identity {
                    value["baselineIdentity"] = json!(identity);
                }
            }
            value
        });
        prop_assert_eq!(decode(&Value::Array(json.collect())), sources);
    }

    #[test]
    fn garbage_is_decoded_to_something_and_never_panics(sources in prop::collection::vec(garbage(), 0..6)) {
        let decoded = decode(&json!(sources));
        prop_assert_eq!(decoded.len(), sources.len());
    }

    #[test]
    fn broken_json_is_decoded_to_something_and_never_panics(
        source in garbage(),
        at in any::<prop::sample::Index>(),
        noise in ".{0,4}",
        cut in 0_usize..8,
    ) {
        let mut characters: Vec<char> = json!([{ "changes": [source] }]).to_string().chars().collect();
        let at = at.index(characters.len());
        characters.splice(at..(at + cut).min(characters.len()), noise.chars());
        prop_assert!(decode_sources(&String::from_iter(characters)).len() <= 32);
    }

    #[test]
    fn any_text_is_decoded_to_something_and_never_panics(text in prop::collection::vec(any::<char>(), 0..24)) {
        prop_assert!(decode_sources(&String::from_iter(text)).len() <= 24);
    }

    #[test]
    fn visible_is_the_fold_of_all_changes_in_order(sources in prop::collection::vec(changes(), 0..5)) {
        let sources: Vec<Source> = sources.into_iter().map(source).collect();
        let all: Vec<&Change> = sources.iter().flat_map(|source| &source.changes).collect();
        let visible = fold(&sources);

        let mut scopes: Vec<&ScopeKey> = Vec::new();
        for change in &all {
            if !scopes.contains(&&change.scope) {
                scopes.push(&change.scope);
            }
        }
        prop_assert_eq!(visible.scopes().collect::<Vec<_>>(), scopes);
        for name in ["a", "b", "c", "d", "e"] {
            let scope = ScopeKey::persisted(name);
            let latest = all.iter().rev().find(|change| change.scope == scope).copied();
            prop_assert_eq!(visible.standing(&scope), latest.filter(|change| change.action != Action::Remove));
        }

        let mut step_by_step = Visible::default();
        for change in all {
            step_by_step.apply(std::slice::from_ref(change));
        }
        prop_assert!(step_by_step.scopes().eq(visible.scopes()));
    }

    #[test]
    fn what_is_told_piece_by_piece_is_seen_as_if_it_were_told_at_once(
        sources in prop::collection::vec((changes(), prop::option::of(prop::option::of("[a-c]"))), 0..6),
        split in 0_usize..7,
    ) {
        let sources: Vec<Source> = sources
            .into_iter()
            .map(|(changes, mark)| Source { baseline: mark.map(|identity| BaselineMark { identity }), changes })
            .collect();
        let (first, further) = sources.split_at(split.min(sources.len()));
        let told = Authority::from(first.to_vec());
        let all = told.with(further.to_vec());
        prop_assert_eq!(all.baseline(), sources.iter().rev().find(|source| source.baseline.is_some()));
        prop_assert!(all.visible().scopes.iter().eq(&fold(&sources).scopes));
        // The earlier one is not changed by it.
        prop_assert!(told.visible().scopes.iter().eq(&fold(first).scopes));
        prop_assert_eq!(all.is(&told), further.is_empty());
    }
}

#[test]
fn a_source_that_cannot_be_decoded_costs_no_other() {
    let good = r#"{"changes":[{"action":"set","scope":"s","path":"p","digest":"d"}]}"#;
    let deep = format!("{}1{}", r#"{"changes":["#.repeat(200), "]}".repeat(200));
    for odd in [r#"{"x":"\ud800"}"#, r#"{"x":1e999}"#, deep.as_str()] {
        let decoded = decode_sources(&format!("[{good},{odd},{good}]"));
        assert_eq!(
            decoded,
            [source(vec![set("s", "p", "d")]), Source::default(), source(vec![set("s", "p", "d")])],
            "{odd:.40}"
        );
    }
}

#[test]
fn an_action_is_text() {
    let decoded = decode(&json!([{ "changes": [{ "action": { "set": null }, "scope": "s", "path": "p" }] }]));
    assert_eq!(decoded, [Source::default()]);
}
