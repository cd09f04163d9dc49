//! The built-in templates.

use harness_prompt::{Parameter, ParameterKind, Templates};
use serde_json::{Map, Value, json};

/// Text that stands for what was given, and cannot be mistaken for a placeholder.
fn example(parameter: &Parameter) -> Value {
    let name = &parameter.name;
    match (parameter.kind, name.as_str()) {
        (ParameterKind::Text, _) => json!(format!("<<{name}>>")),
        (ParameterKind::Boolean, _) => json!(true),
        (ParameterKind::List, "hints") => json!([{ "name": "a", "hint": "<<hint>>" }]),
        (ParameterKind::List, "files") => {
            json!([{ "path": "<<path>>", "from": "<<from>>", "text": "<<text>>" }])
        }
        (ParameterKind::List, _) => json!([format!("<<{name} 1>>"), format!("<<{name} 2>>")]),
        (kind, _) => panic!("no example of {kind:?}"),
    }
}

/// Whether something in `text` looks like a placeholder that nobody filled in.
fn unresolved(text: &str) -> bool {
    text.contains("{{")
        || text.contains("}}")
        || text.split('{').skip(1).any(|after| {
            let name = after.split('}').next().unwrap_or_default();
            after.len() > name.len()
                && !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_ .".contains(c))
        })
}

#[test]
fn prompt_14_no_placeholder_is_left_in_a_built_in_template() {
    let templates = Templates::new();
    for name in templates.names() {
        let template = templates.get(name).unwrap();
        assert!(!template.description().is_empty(), "{name}");
        let (required, optional): (Vec<_>, Vec<_>) = template
            .parameters()
            .iter()
            .partition(|parameter| parameter.required);
        for given in 0..1_u32 << optional.len() {
            let mut values = Map::new();
            let chosen = optional
                .iter()
                .enumerate()
                .filter(|(index, _)| given & (1 << index) != 0)
                .map(|(_, parameter)| parameter);
            for parameter in required.iter().chain(chosen) {
                values.insert(parameter.name.clone(), example(parameter));
            }
            // What `system-prompt` includes is not among its own parameters.
            for extra in ["working_dir", "platform"] {
                values.entry(extra).or_insert_with(|| json!("here"));
            }
            let rendered = templates.render(name, &values).unwrap();
            assert!(!unresolved(&rendered), "{name}, {given:b}: {rendered}");
            assert!(
                !rendered.contains("\n\n\n"),
                "{name}, {given:b}: {rendered}"
            );
        }
    }
    assert!(unresolved("a {name} b") && unresolved("{{x}}") && !unresolved("{ \"a\": 1 } {}"));
}

#[test]
fn what_is_given_is_in_the_prompt() {
    let templates = Templates::new();
    for name in [
        "compact-summary",
        "compact-turn-summary",
        "branch-summary",
        "session-title",
    ] {
        let parameters = templates.get(name).unwrap().parameters();
        let values: Map<String, Value> = parameters
            .iter()
            .map(|parameter| (parameter.name.clone(), example(parameter)))
            .collect();
        let rendered = templates.render(name, &values).unwrap();
        for parameter in parameters {
            let name = &parameter.name;
            assert!(
                rendered.contains(&format!("<<{name}")),
                "{name}: {rendered}"
            );
        }
        insta::assert_snapshot!(name, rendered);
    }
}
