//! What `docs/tools.md` says is what holds.

use harness_tools::{Limits, Workspace, default_tools};

fn document() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tools.md");
    std::fs::read_to_string(path).expect("the document")
}

/// `1234567` as `1,234,567`; other texts as they are.
fn grouped(value: &str) -> String {
    if !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.to_owned();
    }
    let mut out = String::new();
    for (index, digit) in value.chars().enumerate() {
        if index > 0 && (value.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[test]
fn every_bound_is_documented_with_its_default() {
    let document = document();
    let limits = format!("{:#?}", Limits::default());
    let mut fields = 0;
    for line in limits.lines() {
        let Some((name, value)) = line.trim().trim_end_matches(',').split_once(": ") else {
            continue;
        };
        let row = format!("\n| `{name}` | {} | ", grouped(value));
        assert!(document.contains(&row), "{row:?}");
        fields += 1;
    }
    assert!(fields > 20, "{limits}");
}

#[test]
fn every_parameter_is_documented() {
    let document = document();
    for tool in default_tools(&Workspace::new("/ws")) {
        let spec = tool.spec();
        let row = format!("\n| {} | ", spec.name);
        let row = document
            .split(&row)
            .nth(1)
            .and_then(|rest| rest.lines().next())
            .unwrap_or_else(|| panic!("a row for {}", spec.name));
        let required = spec.parameters["required"].as_array();
        let parameters = spec.parameters["properties"].as_object().expect("some");
        for name in parameters.keys() {
            let needed = required.is_some_and(|all| all.iter().any(|one| one == name));
            let optional = if needed { "" } else { "?" };
            let word = format!("`{name}{optional}`");
            let in_row = row.contains(&word) || row.contains(&format!("`{name}{optional}` ("));
            assert!(in_row, "{word} of {} in {row:?}", spec.name);
        }
    }
}
