//! The schemas that are in use.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;

use crate::schema::{AttributeSchema, Cardinality, EventSchema, MetricSchema, Schema, SpanSchema};
use crate::semconv::ERROR_TYPE;
use crate::{AI, HARNESS};

/// The schemas that are in use: what an exporter lets through, and what can be listed. Cheap to clone.
///
/// As JSON, a list of schemas.
#[derive(Clone, Debug)]
pub struct Schemas {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    all: Vec<&'static Schema>,
    spans: HashMap<&'static str, &'static SpanSchema>,
    metrics: HashMap<&'static str, &'static MetricSchema>,
}

/// Why schemas do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// Two schemas, spans of one schema, or metrics have the same name.
    #[error("there are two of the name `{0}`")]
    Twice(String),
    /// A span has two attributes of the same key, or one that each span has anyway.
    #[error("the span `{span}` has two attributes `{key}`")]
    AttributeTwice {
        /// The span.
        span: String,
        /// The key.
        key: String,
    },
    /// A span names a parent that is not in its schema.
    #[error("the span `{span}` names a parent `{parent}` that the schema does not have")]
    NoSuchParent {
        /// The span.
        span: String,
        /// The parent.
        parent: String,
    },
}

impl Schemas {
    /// [`AI`] and [`HARNESS`].
    pub fn built_in() -> Self {
        match Self::new([&AI, &HARNESS]) {
            Ok(schemas) => schemas,
            Err(_) => Self::none(),
        }
    }

    /// None at all.
    pub fn none() -> Self {
        Self {
            inner: Arc::new(Inner {
                all: Vec::new(),
                spans: HashMap::new(),
                metrics: HashMap::new(),
            }),
        }
    }

    /// These and no others.
    pub fn new(all: impl IntoIterator<Item = &'static Schema>) -> Result<Self, SchemaError> {
        let all: Vec<&'static Schema> = all.into_iter().collect();
        let mut names = HashSet::new();
        let mut spans = HashMap::new();
        let mut metrics = HashMap::new();
        for schema in &all {
            if !names.insert(schema.name) {
                return Err(SchemaError::Twice(schema.name.to_owned()));
            }
            for span in schema.spans {
                check(span, &all)?;
                if spans.insert(span.id, span).is_some() {
                    return Err(SchemaError::Twice(span.id.to_owned()));
                }
            }
            for metric in schema.metrics {
                if metrics.insert(metric.name, metric).is_some() {
                    return Err(SchemaError::Twice(metric.name.to_owned()));
                }
            }
        }
        Ok(Self {
            inner: Arc::new(Inner {
                all,
                spans,
                metrics,
            }),
        })
    }

    /// These and one more.
    pub fn with(&self, schema: &'static Schema) -> Result<Self, SchemaError> {
        Self::new(self.iter().chain([schema]))
    }

    /// All of them, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &'static Schema> + '_ {
        self.inner.all.iter().copied()
    }

    /// The span of this [id](SpanSchema::id).
    pub fn span(&self, id: &str) -> Option<&'static SpanSchema> {
        self.inner.spans.get(id).copied()
    }

    /// The metric of this name.
    pub fn metric(&self, name: &str) -> Option<&'static MetricSchema> {
        self.inner.metrics.get(name).copied()
    }

    /// All of it as tables in Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        for schema in self.iter() {
            // Writing to a text does not fail.
            let _ = write_schema(&mut text, schema);
        }
        text
    }
}

impl Default for Schemas {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Serialize for Schemas {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.all.serialize(serializer)
    }
}

fn check(span: &SpanSchema, all: &[&'static Schema]) -> Result<(), SchemaError> {
    let mut keys = vec![ERROR_TYPE];
    let fixed = span.always.iter().map(|fixed| fixed.key);
    let others = [span.start, span.end, span.end_optional];
    let others = others.into_iter().flatten().map(|attribute| attribute.key);
    for key in fixed.chain(others) {
        if keys.contains(&key) {
            return Err(SchemaError::AttributeTwice {
                span: span.id.to_owned(),
                key: key.to_owned(),
            });
        }
        keys.push(key);
    }
    for parent in span.parents {
        let special = ["any", "root"].contains(parent);
        let known = || {
            let mut spans = all.iter().flat_map(|schema| schema.spans);
            spans.any(|span| span.name == *parent)
        };
        if !special && !known() {
            return Err(SchemaError::NoSuchParent {
                span: span.id.to_owned(),
                parent: (*parent).to_owned(),
            });
        }
    }
    Ok(())
}

fn write_schema(text: &mut String, schema: &Schema) -> std::fmt::Result {
    writeln!(
        text,
        "### Schema `{}`, version {}\n\n{}\n",
        schema.name,
        schema.version,
        schema.description.trim()
    )?;
    for span in schema.spans {
        write_span(text, span)?;
    }
    for metric in schema.metrics {
        writeln!(
            text,
            "#### Metric `{}`\n\n{} {} in `{}`.\n",
            metric.name,
            metric.description.trim(),
            match metric.instrument {
                crate::Instrument::Counter => "A counter",
                crate::Instrument::Histogram => "A histogram",
            },
            metric.unit
        )?;
        write_table(text, &[("", metric.attributes)], &[])?;
    }
    Ok(())
}

fn write_span(text: &mut String, span: &SpanSchema) -> std::fmt::Result {
    let parents: Vec<String> = span
        .parents
        .iter()
        .map(|parent| match *parent {
            "any" => "any span, or none".to_owned(),
            "root" => "none, or a span of another schema".to_owned(),
            name => format!("`{name}`"),
        })
        .collect();
    writeln!(
        text,
        "#### Span `{}`\n\n{} Kind {}, level {}. Parent: {}.",
        span.title,
        span.description.trim(),
        span.kind.word(),
        match span.level {
            crate::SpanLevel::Info => "info",
            crate::SpanLevel::Debug => "debug",
        },
        parents.join(", ")
    )?;
    if let Some(rule) = &span.error_when {
        let values: Vec<String> = rule
            .values
            .iter()
            .map(|value| format!("`{value}`"))
            .collect();
        writeln!(
            text,
            "An error when `{}` is {}.",
            rule.key,
            values.join(", ")
        )?;
    }
    writeln!(text)?;
    let groups = [
        ("start", span.start),
        ("end", span.end),
        ("end", span.end_optional),
    ];
    write_table(text, &groups, span.always)?;
    for event in span.events {
        write_event(text, event)?;
    }
    Ok(())
}

fn write_event(text: &mut String, event: &EventSchema) -> std::fmt::Result {
    writeln!(
        text,
        "Event `{}`: {}\n",
        event.name,
        event.description.trim()
    )?;
    write_table(text, &[("", event.attributes)], &[])
}

fn write_table(
    text: &mut String,
    groups: &[(&str, &[AttributeSchema])],
    always: &[crate::FixedAttribute],
) -> std::fmt::Result {
    if always.is_empty() && groups.iter().all(|(_, attributes)| attributes.is_empty()) {
        return Ok(());
    }
    writeln!(text, "| attribute | type | when | |\n|---|---|---|---|")?;
    for fixed in always {
        writeln!(
            text,
            "| `{}` | `\"{}\"` | always | {} |",
            fixed.key,
            fixed.value,
            fixed.description.trim()
        )?;
    }
    for (when, attributes) in groups {
        for attribute in *attributes {
            let mut notes = Vec::new();
            if !when.is_empty() {
                notes.push(*when);
            }
            notes.push(if attribute.required {
                "required"
            } else {
                "if known"
            });
            if attribute.cardinality == Cardinality::High {
                notes.push("many values");
            }
            if attribute.sensitive {
                notes.push("**content**");
            }
            writeln!(
                text,
                "| `{}` | {} | {} | {} |",
                attribute.key,
                attribute.kind.word(),
                notes.join(", "),
                attribute.description.trim()
            )?;
        }
    }
    writeln!(text)
}
