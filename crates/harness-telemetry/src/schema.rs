//! What a schema declares: spans, their attributes and events, metrics.
//!
//! All of it is static data that the macro [`schema!`](crate::schema) writes. It serialises to JSON.

use serde::Serialize;

/// A set of spans and metrics that belong together, such as [`AI`](crate::AI).
#[derive(Debug, PartialEq, Serialize)]
pub struct Schema {
    /// The name. Also the target of its spans and events, so that a filter of `tracing` can name it.
    pub name: &'static str,
    /// Counts up when a span, an attribute or its meaning changes.
    pub version: u32,
    /// What it is about.
    #[serde(serialize_with = "trimmed")]
    pub description: &'static str,
    /// The spans.
    pub spans: &'static [SpanSchema],
    /// The metrics.
    pub metrics: &'static [MetricSchema],
}

/// One kind of span.
#[derive(Debug, PartialEq, Serialize)]
pub struct SpanSchema {
    /// The short name, the one of the starter.
    pub name: &'static str,
    /// The name in `tracing`: schema and short name, with a dot between.
    pub id: &'static str,
    /// The name of the exported span, with the fields of the starter in braces: `chat {model}`.
    pub title: &'static str,
    /// What it stands for.
    #[serde(serialize_with = "trimmed")]
    pub description: &'static str,
    /// Whether it is about somebody else's work.
    pub kind: SpanKind,
    /// The level in `tracing`: `info` or `debug`.
    pub level: SpanLevel,
    /// The short names of the spans that it may be a child of. `root`: of none, or of a span of another
    /// schema. `any`: of every one.
    pub parents: &'static [&'static str],
    /// The attributes that have always the same value.
    pub always: &'static [FixedAttribute],
    /// The attributes that it starts with.
    pub start: &'static [AttributeSchema],
    /// The attributes that it ends with.
    pub end: &'static [AttributeSchema],
    /// The attributes that it may get before its end.
    pub end_optional: &'static [AttributeSchema],
    /// What may happen meanwhile.
    pub events: &'static [EventSchema],
    /// When it counts as failed, beside [being told so](crate::Active::fail) and being dropped.
    pub error_when: Option<ErrorRule>,
}

/// Something that happens within a span.
#[derive(Debug, PartialEq, Serialize)]
pub struct EventSchema {
    /// The name, that of the schema with a dot in front.
    pub name: &'static str,
    /// What it tells.
    #[serde(serialize_with = "trimmed")]
    pub description: &'static str,
    /// Its attributes.
    pub attributes: &'static [AttributeSchema],
}

/// One attribute.
#[derive(Debug, PartialEq, Serialize)]
pub struct AttributeSchema {
    /// The key, as it is exported.
    pub key: &'static str,
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: ValueType,
    /// Whether it is always there.
    pub required: bool,
    /// How many values there may be: of few, a collector can make groups.
    pub cardinality: Cardinality,
    /// Whether it is content (prompts, arguments, results), which is exported only when that is
    /// [switched on](crate#privacy).
    pub sensitive: bool,
    /// What it says.
    #[serde(serialize_with = "trimmed")]
    pub description: &'static str,
}

/// An attribute that has always the same value.
#[derive(Debug, PartialEq, Serialize)]
pub struct FixedAttribute {
    /// The key, as it is exported.
    pub key: &'static str,
    /// The value.
    pub value: &'static str,
    /// What it says.
    #[serde(serialize_with = "trimmed")]
    pub description: &'static str,
}

/// Something that is counted or measured.
#[derive(Debug, PartialEq, Serialize)]
pub struct MetricSchema {
    /// The name, as it is exported.
    pub name: &'static str,
    /// What is measured.
    #[serde(serialize_with = "trimmed")]
    pub description: &'static str,
    /// The unit, as in UCUM: `s`, `{token}`.
    pub unit: &'static str,
    /// How values are put together.
    pub instrument: Instrument,
    /// The upper bounds of a histogram's buckets.
    pub buckets: &'static [f64],
    /// Its attributes.
    pub attributes: &'static [AttributeSchema],
}

/// How the values of a metric are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Instrument {
    /// A sum that only grows.
    Counter,
    /// Buckets.
    Histogram,
}

/// Whether a span is about somebody else's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// Work of this process.
    Internal,
    /// Waiting for another one.
    Client,
}

/// The level of a span in `tracing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanLevel {
    /// For every trace.
    Info,
    /// For those who look closely.
    Debug,
}

/// The type of an attribute's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueType {
    /// A text.
    String,
    /// A whole number.
    Int,
    /// A number.
    Double,
    /// Yes or no.
    Bool,
    /// A list of texts. In `tracing`, which has no lists, it is a text: the list as JSON.
    Strings,
}

/// How many values an attribute may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cardinality {
    /// Few.
    Low,
    /// Any number.
    High,
}

/// A span that ends with one of these values counts as failed, and the value is its `error.type`.
#[derive(Debug, PartialEq, Serialize)]
pub struct ErrorRule {
    /// The key of the end attribute.
    pub key: &'static str,
    /// Its values that mean failure.
    pub values: &'static [&'static str],
}

impl SpanSchema {
    /// Its attribute of this key, at the start or at the end.
    pub fn attribute(&self, key: &str) -> Option<&'static AttributeSchema> {
        let mut all = self.start.iter().chain(self.end).chain(self.end_optional);
        all.find(|attribute| attribute.key == key)
    }

    /// Its event of this name.
    pub fn event(&self, name: &str) -> Option<&'static EventSchema> {
        self.events.iter().find(|event| event.name == name)
    }
}

impl SpanKind {
    /// The word for it in `otel.kind`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Client => "client",
        }
    }
}

impl ValueType {
    /// The type's name in the conventions: `string`, `int`, `double`, `boolean`, `string[]`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Int => "int",
            Self::Double => "double",
            Self::Bool => "boolean",
            Self::Strings => "string[]",
        }
    }
}

/// Text of a doc comment begins with a space.
fn trimmed<S: serde::Serializer>(text: &&'static str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.trim())
}
