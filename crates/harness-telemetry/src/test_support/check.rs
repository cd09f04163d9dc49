//! Whether spans keep to their schemas.

use serde_json::Value;

use super::recording::RecordedSpan;
use crate::schema::{AttributeSchema, SpanSchema, ValueType};
use crate::semconv::ERROR_TYPE;
use crate::{DROPPED, Schemas};

pub(super) fn problems(spans: &[RecordedSpan], schemas: &Schemas) -> Vec<String> {
    let mut problems = Vec::new();
    for span in spans {
        if let Some(schema) = schemas.span(&span.id) {
            let parent = span.parent.map(|parent| &spans[parent]);
            let found = check(span, schema, parent, schemas);
            let named = found
                .into_iter()
                .map(|problem| format!("{}: {problem}", span.name));
            problems.extend(named);
        }
    }
    problems
}

fn check(
    span: &RecordedSpan,
    schema: &SpanSchema,
    parent: Option<&RecordedSpan>,
    schemas: &Schemas,
) -> Vec<String> {
    let mut problems = Vec::new();
    if !span.closed {
        problems.push("has not ended".to_owned());
    }
    let parent = parent.and_then(|parent| schemas.span(&parent.id));
    let same = |parent: &&SpanSchema| parent.id.split('.').next() == schema.id.split('.').next();
    let allowed = match parent {
        None => schema
            .parents
            .iter()
            .any(|name| ["any", "root"].contains(name)),
        Some(parent) => schema.parents.iter().any(|name| {
            *name == "any" || *name == parent.name || (*name == "root" && !same(&parent))
        }),
    };
    if !allowed {
        let parent = parent.map_or("none", |parent| parent.id);
        problems.push(format!("its parent is {parent}"));
    }
    let error = span.attributes.get(ERROR_TYPE).and_then(Value::as_str);
    let at_the_end = schema.end.iter().filter(|_| error != Some(DROPPED));
    // One that failed may have had nothing else to say.
    let at_the_end = at_the_end.filter(|_| error.is_none());
    for attribute in schema.start.iter().chain(at_the_end) {
        if attribute.required && !span.attributes.contains_key(attribute.key) {
            problems.push(format!("lacks {}", attribute.key));
        }
    }
    for (key, value) in &span.attributes {
        let fixed = schema.always.iter().any(|fixed| fixed.key == key);
        if fixed || key == ERROR_TYPE || key.starts_with("otel.") {
            continue;
        }
        match schema.attribute(key) {
            None => problems.push(format!("has {key}, which is not declared")),
            Some(attribute) if !is_of(value, attribute) => {
                problems.push(format!("has {key} of another type: {value}"));
            }
            Some(_) => {}
        }
    }
    for event in &span.events {
        if schema.event(&event.name).is_none() {
            problems.push(format!(
                "has the event {}, which is not declared",
                event.name
            ));
        }
    }
    problems
}

fn is_of(value: &Value, attribute: &AttributeSchema) -> bool {
    match attribute.kind {
        ValueType::String => value.is_string(),
        ValueType::Int => value.is_i64() || value.is_u64(),
        ValueType::Double => value.is_number(),
        ValueType::Bool => value.is_boolean(),
        ValueType::Strings => value.is_array(),
    }
}
