//! A trace that was read: spans, and who is whose child.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use serde::ser::{SerializeMap, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

/// Spans that were recorded, of one trace or of several.
///
/// It serialises to one JSON object: `torn`, `spans`, and of each span `trace_id`, `span_id`, `parent`, `name`,
/// `kind`, `start_unix_nano`, `end_unix_nano` (as texts), `error`, `attributes` (an object) and `events`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trace {
    /// Whether the end was cut off, so that something may be missing.
    pub torn: bool,
    /// The spans, in the order in which they were found.
    pub spans: Vec<TraceSpan>,
}

/// One span. What it says was written by whoever wrote the file: a name can hold anything, so that it has to be
/// made harmless before a terminal gets it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSpan {
    /// The trace it belongs to: 32 hexadecimal digits, or what else the writer took for an id.
    pub trace_id: String,
    /// Its id: 16 hexadecimal digits, or what else the writer took for an id. Empty if it has none.
    pub span_id: String,
    /// The id of the span that it is a child of, whether that one is there or not. [`Trace::tree`] knows.
    pub parent: Option<String>,
    /// The name.
    pub name: String,
    /// Whose work it is about.
    pub kind: TraceKind,
    /// When it began, since the Unix epoch. Zero if that is not known.
    pub start: Duration,
    /// When it ended, since the Unix epoch. Never before `start`.
    pub end: Duration,
    /// Why it failed: the status's text, or `error.type`. `None` if it did not.
    pub error: Option<String>,
    /// The attributes, with the keys that the writer gave them.
    pub attributes: Vec<(String, TraceValue)>,
    /// What happened meanwhile.
    pub events: Vec<TraceEvent>,
}

/// Whose work a span is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TraceKind {
    /// The process's own.
    #[default]
    Internal,
    /// Answering somebody.
    Server,
    /// Waiting for somebody.
    Client,
    /// Sending something to a queue.
    Producer,
    /// Taking something from a queue.
    Consumer,
}

/// Something that happened within a span.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceEvent {
    /// The name.
    pub name: String,
    /// When, since the Unix epoch.
    pub time: Duration,
    /// The attributes.
    pub attributes: Vec<(String, TraceValue)>,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TraceValue {
    /// A text. Bytes are a text, too: in base64.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// Yes or no.
    Bool(bool),
    /// A list.
    List(Vec<TraceValue>),
    /// Values with names.
    Map(Vec<(String, TraceValue)>),
}

/// Who is whose child in a [`Trace`], as indexes into its spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceTree {
    /// The spans that are nobody's child, or whose parent is not there, by their start. Of spans that are each
    /// other's parents, one is here.
    pub roots: Vec<usize>,
    /// The children of each span, by their start.
    pub children: Vec<Vec<usize>>,
}

impl Trace {
    /// Who is whose child. Each span is there once, whatever the parents say: one whose parent is missing is a root,
    /// and a circle of parents is cut where it would close.
    pub fn tree(&self) -> TraceTree {
        let mut by_id: HashMap<(&str, &str), usize> = HashMap::with_capacity(self.spans.len());
        for (index, span) in self.spans.iter().enumerate() {
            if !span.span_id.is_empty() {
                // Of several with the same id, the first.
                by_id
                    .entry((&span.trace_id, &span.span_id))
                    .or_insert(index);
            }
        }
        let mut parents: Vec<Option<usize>> = self
            .spans
            .iter()
            .map(|span| {
                let parent = span.parent.as_deref()?;
                by_id.get(&(span.trace_id.as_str(), parent)).copied()
            })
            .collect();
        cut_circles(&mut parents);
        let mut tree = TraceTree {
            roots: Vec::new(),
            children: vec![Vec::new(); self.spans.len()],
        };
        for (index, parent) in parents.iter().enumerate() {
            match parent.and_then(|parent| tree.children.get_mut(parent)) {
                Some(children) => children.push(index),
                None => tree.roots.push(index),
            }
        }
        let key = |index: &usize| {
            let span = self.spans.get(*index);
            // What ends last first: of two that begin together, the longer one is the outer one.
            span.map(|span| (span.start, std::cmp::Reverse(span.end), *index))
        };
        tree.roots.sort_by_key(key);
        for children in &mut tree.children {
            children.sort_by_key(key);
        }
        tree
    }

    /// When the first span began and the last one ended, of those whose times are known.
    pub fn range(&self) -> Option<(Duration, Duration)> {
        let timed = || self.spans.iter().filter(|span| !span.start.is_zero());
        let start = timed().map(|span| span.start).min()?;
        let end = timed().map(|span| span.end).max()?;
        Some((start, end))
    }
}

/// Takes the parent away from one span of each circle, so that following parents ends.
fn cut_circles(parents: &mut [Option<usize>]) {
    // The walk that came by: 0 for none. Walks are numbered from 1.
    let mut seen = vec![0_usize; parents.len()];
    for start in 0..parents.len() {
        let walk = start + 1;
        let mut at = start;
        while let Some(mark) = seen.get_mut(at) {
            if *mark != 0 {
                break;
            }
            *mark = walk;
            let Some(next) = parents.get(at).copied().flatten() else {
                break;
            };
            if seen.get(next) == Some(&walk) {
                if let Some(parent) = parents.get_mut(at) {
                    *parent = None;
                }
                break;
            }
            at = next;
        }
    }
}

impl TraceSpan {
    /// How long it took.
    pub fn duration(&self) -> Duration {
        self.end.saturating_sub(self.start)
    }

    /// The value of an attribute.
    pub fn attribute(&self, key: &str) -> Option<&TraceValue> {
        let mut attributes = self.attributes.iter();
        attributes
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// An attribute's text.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.attribute(key)? {
            TraceValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// An attribute's number, whichever way it was written. Never infinite, and never no number.
    pub fn number(&self, key: &str) -> Option<f64> {
        let number = match self.attribute(key)? {
            TraceValue::Int(number) => *number as f64,
            TraceValue::Double(number) => *number,
            TraceValue::Text(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        number.is_finite().then_some(number)
    }
}

impl TraceKind {
    /// The word for it, in small letters.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Server => "server",
            Self::Client => "client",
            Self::Producer => "producer",
            Self::Consumer => "consumer",
        }
    }

    /// The kind of this word, which may have `SPAN_KIND_` in front.
    pub(crate) fn of_word(word: &str) -> Self {
        let word = word.to_ascii_lowercase();
        match word.trim_start_matches("span_kind_") {
            "server" => Self::Server,
            "client" => Self::Client,
            "producer" => Self::Producer,
            "consumer" => Self::Consumer,
            _ => Self::Internal,
        }
    }

    /// The kind of this number in OTLP.
    pub(crate) fn of_number(number: u64) -> Self {
        match number {
            2 => Self::Server,
            3 => Self::Client,
            4 => Self::Producer,
            5 => Self::Consumer,
            _ => Self::Internal,
        }
    }
}

impl Serialize for TraceSpan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("TraceSpan", 10)?;
        object.serialize_field("trace_id", &self.trace_id)?;
        object.serialize_field("span_id", &self.span_id)?;
        object.serialize_field("parent", &self.parent)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("kind", &self.kind)?;
        object.serialize_field("start_unix_nano", &self.start.as_nanos().to_string())?;
        object.serialize_field("end_unix_nano", &self.end.as_nanos().to_string())?;
        object.serialize_field("error", &self.error)?;
        object.serialize_field("attributes", &Named(&self.attributes))?;
        object.serialize_field("events", &self.events)?;
        object.end()
    }
}

impl Serialize for TraceEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("TraceEvent", 3)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("time_unix_nano", &self.time.as_nanos().to_string())?;
        object.serialize_field("attributes", &Named(&self.attributes))?;
        object.end()
    }
}

impl Serialize for TraceValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Int(number) => serializer.serialize_i64(*number),
            // JSON has no such numbers.
            Self::Double(number) if !number.is_finite() => serializer.collect_str(number),
            Self::Double(number) => serializer.serialize_f64(*number),
            Self::Bool(yes) => serializer.serialize_bool(*yes),
            Self::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(value)?;
                }
                list.end()
            }
            Self::Map(values) => Named(values).serialize(serializer),
        }
    }
}

/// Values with names, as a JSON object: of several with the same name, the first.
struct Named<'a>(&'a [(String, TraceValue)]);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seen = BTreeSet::new();
        let mut object = serializer.serialize_map(None)?;
        for (key, value) in self.0 {
            if seen.insert(key) {
                object.serialize_entry(key, value)?;
            }
        }
        object.end()
    }
}
