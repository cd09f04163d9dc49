//! The tests of harness-frontmatter, in one binary.
#![cfg(test)]

mod any_input;
mod conformance;
mod corpus;
mod diagnostics;
mod fences;
mod fields;
mod hostile;
mod recover;

use harness_frontmatter::{Document, Mapping, Node};

/// What a text is read as, in short: `fields | body`, or the error.
fn read(text: &str) -> String {
    match Document::parse(text) {
        Ok(document) => format!(
            "{}{} | {:?} from {}{}",
            if document.has_frontmatter {
                ""
            } else {
                "none "
            },
            mapping(&document.fields),
            document.body,
            document.body_line,
            if document.oddities.is_empty() {
                String::new()
            } else {
                let odd = document.oddities.iter();
                let odd: Vec<_> = odd.map(|o| format!("{:?}@{}", o.kind, o.line)).collect();
                format!(" [{}]", odd.join(", "))
            },
        ),
        Err(error) => format!("error: {error}"),
    }
}

fn mapping(mapping: &Mapping) -> String {
    let fields = mapping.entries.iter();
    let fields: Vec<_> = fields
        .map(|entry| format!("{}: {}", entry.key.text, node(&entry.value)))
        .collect();
    format!("{{{}}}", fields.join(", "))
}

fn node(value: &Node) -> String {
    match value {
        Node::Scalar(scalar) => format!("{:?}", scalar.text),
        Node::List(list) => {
            let items: Vec<_> = list.items.iter().map(node).collect();
            format!("[{}]", items.join(", "))
        }
        Node::Mapping(inner) => mapping(inner),
    }
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<_> = cases
        .iter()
        .filter(|(text, expected)| read(text) != *expected)
        .map(|(text, expected)| format!("{text:?}\n  is  {}\n  not {expected}", read(text)))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
