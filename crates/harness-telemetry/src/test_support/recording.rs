//! Spans in memory.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};

use crate::Schemas;

/// Subscribers that are nobody's and live as long as the process.
///
/// `tracing` remembers of each place in the code whether anybody wants to see it. While a process has but one
/// subscriber, it takes the word of whichever thread comes there first; and where that happens while a test's
/// subscriber comes or goes in another thread, it may remember that nobody does. So there are always two, of which
/// one wants to see everything.
static OTHERS: LazyLock<[Dispatch; 2]> = LazyLock::new(|| {
    [
        Dispatch::new(Registry::default()),
        Dispatch::new(NoSubscriber::new()),
    ]
});

/// Keeps the spans of registered schemas that are started while it is the subscriber. Clones share what they
/// keep.
#[derive(Clone, Debug)]
pub struct Recording {
    schemas: Schemas,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    spans: Vec<RecordedSpan>,
    open: BTreeMap<u64, usize>,
}

/// One span.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedSpan {
    /// The id of its schema: `gen_ai.chat`.
    pub id: String,
    /// Its name: `chat gpt-5`.
    pub name: String,
    /// The place of its parent in [`Recording::spans`].
    pub parent: Option<usize>,
    /// Its attributes, with those of OpenTelemetry's bridge (`otel.kind`, `otel.status_code`).
    pub attributes: BTreeMap<String, Value>,
    /// Its events, in order.
    pub events: Vec<RecordedEvent>,
    /// Whether it is at an end.
    pub closed: bool,
}

/// One event of a span.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedEvent {
    /// Its name.
    pub name: String,
    /// Its attributes.
    pub attributes: BTreeMap<String, Value>,
}

impl Recording {
    /// Of these schemas.
    pub fn new(schemas: &Schemas) -> Self {
        Self {
            schemas: schemas.clone(),
            state: Arc::default(),
        }
    }

    /// What to make the subscriber: of a thread, by [`tracing::subscriber::set_default`], or of a call.
    pub fn subscriber(&self) -> impl Subscriber + Send + Sync + use<> {
        LazyLock::force(&OTHERS);
        Registry::default().with(Keeper(self.clone()))
    }

    /// All spans so far, in the order of their start.
    pub fn spans(&self) -> Vec<RecordedSpan> {
        self.lock().spans.clone()
    }

    /// The spans of one id.
    pub fn of(&self, id: &str) -> Vec<RecordedSpan> {
        let mut spans = self.spans();
        spans.retain(|span| span.id == id);
        spans
    }

    /// The tree as text: name, and attributes of which `shown` wants to see the key, indented, siblings in the
    /// order of their start.
    pub fn tree(&self, shown: impl Fn(&str) -> bool) -> String {
        let spans = self.spans();
        let mut text = String::new();
        for (place, span) in spans.iter().enumerate() {
            if span.parent.is_none() {
                // Writing to a text does not fail.
                let _ = write_tree(&mut text, &spans, place, 0, &shown);
            }
        }
        text
    }

    /// What breaks a rule of the schemas: a parent that is not allowed, an attribute that is missing or not
    /// declared or of another type, a span without an end.
    pub fn problems(&self) -> Vec<String> {
        super::check::problems(&self.spans(), &self.schemas)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write_tree(
    text: &mut String,
    spans: &[RecordedSpan],
    place: usize,
    depth: usize,
    shown: &impl Fn(&str) -> bool,
) -> fmt::Result {
    let span = &spans[place];
    write!(text, "{:1$}{2}", "", depth * 2, span.name)?;
    for (key, value) in span.attributes.iter().filter(|(key, _)| shown(key)) {
        write!(text, " {key}={value}")?;
    }
    for event in &span.events {
        write!(text, " +{}", event.name)?;
    }
    writeln!(text)?;
    for (child, span) in spans.iter().enumerate() {
        if span.parent == Some(place) {
            write_tree(text, spans, child, depth + 1, shown)?;
        }
    }
    Ok(())
}

struct Keeper(Recording);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Keeper {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, cx: Context<'_, S>) {
        let name = attributes.metadata().name();
        if self.0.schemas.span(name).is_none() {
            return;
        }
        let parents = cx
            .span(id)
            .into_iter()
            .flat_map(|span| span.scope().skip(1));
        let parents: Vec<u64> = parents.map(|span| span.id().into_u64()).collect();
        let mut state = self.0.lock();
        let parent = parents
            .iter()
            .find_map(|parent| state.open.get(parent).copied());
        let mut span = RecordedSpan {
            id: name.to_owned(),
            name: name.to_owned(),
            parent,
            attributes: BTreeMap::new(),
            events: Vec::new(),
            closed: false,
        };
        attributes.record(&mut Fields(&mut span.attributes));
        if let Some(Value::String(name)) = span.attributes.remove("otel.name") {
            span.name = name;
        }
        let place = state.spans.len();
        state.spans.push(span);
        state.open.insert(id.into_u64(), place);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut state = self.0.lock();
        if let Some(place) = state.open.get(&id.into_u64()).copied() {
            values.record(&mut Fields(&mut state.spans[place].attributes));
        }
    }

    fn on_event(&self, event: &Event<'_>, cx: Context<'_, S>) {
        let Some(id) = cx.event_span(event).map(|span| span.id()) else {
            return;
        };
        let mut state = self.0.lock();
        if let Some(place) = state.open.get(&id.into_u64()).copied() {
            let mut attributes = BTreeMap::new();
            event.record(&mut Fields(&mut attributes));
            state.spans[place].events.push(RecordedEvent {
                name: event.metadata().name().to_owned(),
                attributes,
            });
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let mut state = self.0.lock();
        if let Some(place) = state.open.remove(&id.into_u64()) {
            state.spans[place].closed = true;
        }
    }
}

struct Fields<'a>(&'a mut BTreeMap<String, Value>);

impl Fields<'_> {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields<'_> {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, json!(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, json!(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = format!("{value:?}");
        // Lists are JSON text.
        let list = serde_json::from_str(&text).ok().filter(Value::is_array);
        self.put(field, list.unwrap_or(Value::String(text)));
    }
}
