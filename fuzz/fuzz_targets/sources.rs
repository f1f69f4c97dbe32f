//! Persisted sources: history may come from another version or another hand.
#![no_main]

use arbitrary::Arbitrary;
use dsh_agent_instructions::core::scope::ScopeKey;
use dsh_agent_instructions::core::state::{Action, Authority, BaselineMark, Change, Source, decode_sources};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

#[derive(Arbitrary, Debug)]
struct Written {
    baseline: Option<Option<String>>,
    changes: Vec<(u8, String, String, Option<String>)>,
}

#[derive(Arbitrary, Debug)]
enum Garbage {
    Null,
    Flag(bool),
    Number(i64),
    Text(String),
    List(Vec<Garbage>),
    Map(Vec<(u8, Garbage)>),
}

#[derive(Arbitrary, Debug)]
struct Input {
    written: Vec<Written>,
    garbage: Vec<Garbage>,
    cut: u16,
    text: String,
}

const KEYS: [&str; 8] = ["baseline", "baselineIdentity", "changes", "action", "scope", "path", "digest", "kind"];

impl Garbage {
    fn value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Flag(flag) => json!(flag),
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::List(values) => values.iter().map(Self::value).collect(),
            Self::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (KEYS[usize::from(*key) % KEYS.len()].to_owned(), value.value()))
                    .collect(),
            ),
        }
    }
}

impl Written {
    fn source(&self) -> Source {
        let changes = self.changes.iter().map(|(action, scope, path, digest)| Change {
            action: [Action::Set, Action::Replace, Action::Remove][usize::from(*action) % 3],
            scope: ScopeKey::persisted(scope),
            path: path.as_str().into(),
            digest: digest.as_deref().map(Into::into),
        });
        let baseline = self.baseline.clone().map(|identity| BaselineMark { identity });
        Source { baseline, changes: changes.collect() }
    }
}

fn spell(source: &Source) -> Value {
    let changes = source.changes.iter().map(|change| {
        let mut value =
            json!({ "action": change.action.as_str(), "scope": change.scope.as_str(), "path": &*change.path });
        if let Some(digest) = &change.digest {
            value["digest"] = json!(&**digest);
        }
        value
    });
    let mut value = json!({ "kind": "agent-instructions", "changes": changes.collect::<Vec<_>>() });
    if let Some(mark) = &source.baseline {
        value["baseline"] = json!(true);
        if let Some(identity) = &mark.identity {
            value["baselineIdentity"] = json!(identity);
        }
    }
    value
}

fuzz_target!(|input: Input| {
    let _ = decode_sources(&input.text);
    let written: Vec<Source> = input.written.iter().map(Written::source).collect();
    let mut values: Vec<Value> = written.iter().map(spell).collect();
    assert_eq!(decode_sources(&json!(values).to_string()), written, "what was written is read back");

    // Garbage has a place of its own, and costs its neighbours nothing.
    values.extend(input.garbage.iter().map(Garbage::value));
    let json = json!(values).to_string();
    let decoded = decode_sources(&json);
    assert_eq!(decoded.len(), values.len());
    assert_eq!(decoded[..written.len()], written);
    let cut = json.floor_char_boundary(usize::from(input.cut) % (json.len() + 1));
    let _ = decode_sources(&json[..cut]);

    // The fold of all is the fold of the last change of each scope.
    let authority = Authority::from(decoded.clone());
    let visible = authority.visible();
    let mut seen: Vec<&ScopeKey> = Vec::new();
    for change in decoded.iter().flat_map(|source| &source.changes).rev() {
        if !seen.contains(&&change.scope) {
            seen.push(&change.scope);
            let standing = (change.action != Action::Remove).then_some(change);
            assert_eq!(visible.standing(&change.scope), standing);
        }
    }
    assert_eq!(visible.scopes().count(), seen.len());
    assert_eq!(authority.baseline(), decoded.iter().rev().find(|source| source.baseline.is_some()));
});
