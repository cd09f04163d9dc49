//! What belongs to one run, and to one call in it.
//!
//! Nothing of a run is kept in an object that runs share, so one agent serves many users at once.

use std::any::{Any, TypeId};
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::task::AtomicWaker;
use tokio_util::sync::CancellationToken;

use crate::batch::panic_text;
use crate::clock::Clock;
use crate::event::Event;
use crate::limits::Limits;
use crate::middleware::Middleware;
use crate::model::ModelId;
use crate::secrets::Secrets;
use crate::spending::Spending;

/// The run's own context: who asks, where, how to cancel, where events go. Cheap to clone.
#[derive(Clone)]
pub struct RunContext {
    shared: Arc<Shared>,
    cancel: CancellationToken,
    taps: Option<Arc<Taps>>,
    values: Option<Arc<ScopedValue>>,
    secrets: Secrets,
}

/// What a run has beside its caller.
pub(crate) struct RunParts {
    pub(crate) run_id: String,
    /// `None`: outside a run.
    pub(crate) model: Option<ModelId>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observers: Arc<[Arc<dyn Middleware>]>,
    pub(crate) sink: EventSink,
    pub(crate) cancel: CancellationToken,
    pub(crate) parent: Option<RunContext>,
    pub(crate) limits: Option<Limits>,
}

/// A value that the layers inside see, and those that were put there before.
struct ScopedValue {
    kind: TypeId,
    value: Arc<dyn Any + Send + Sync>,
    outer: Option<Arc<ScopedValue>>,
}

struct Shared {
    run_id: String,
    model: Option<ModelId>,
    user: Option<String>,
    session: Option<String>,
    working_dir: Option<PathBuf>,
    attributes: Attributes,
    clock: Arc<dyn Clock>,
    observers: Arc<[Arc<dyn Middleware>]>,
    observer_panicked: AtomicBool,
    sink: EventSink,
    parent: Option<RunContext>,
    spending: Option<Spending>,
}

struct Taps {
    tap: Box<dyn Fn(Event) -> Option<Event> + Send + Sync>,
    outer: Option<Arc<Taps>>,
}

/// Who asks, and from where. Given with a run's input.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The user's id.
    pub user: Option<String>,
    /// The session's id.
    pub session: Option<String>,
    /// The folder that the run works in.
    pub working_dir: Option<PathBuf>,
    /// Values of the caller's own types.
    pub attributes: Attributes,
}

impl RunContext {
    pub(crate) fn new(caller: Caller, parts: RunParts) -> Self {
        let Caller {
            user,
            session,
            working_dir,
            attributes,
        } = caller;
        let RunParts {
            run_id,
            model,
            clock,
            observers,
            sink,
            cancel,
            parent,
            limits,
        } = parts;
        Self {
            shared: Arc::new(Shared {
                run_id,
                model,
                user,
                session,
                working_dir,
                attributes,
                clock,
                observers,
                observer_panicked: AtomicBool::new(false),
                sink,
                parent,
                spending: limits.map(Spending::new),
            }),
            cancel,
            taps: None,
            values: None,
            secrets: Secrets::new(),
        }
    }

    /// A context outside any run: events go nowhere. For calling a tool or a middleware by hand.
    pub fn detached(caller: Caller) -> Self {
        let parts = RunParts {
            run_id: String::new(),
            model: None,
            clock: Arc::new(crate::clock::SystemClock),
            observers: Arc::from(Vec::new()),
            sink: EventSink::closed(),
            cancel: CancellationToken::new(),
            parent: None,
            limits: None,
        };
        Self::new(caller, parts)
    }

    /// The run that this one was started in, as the tool or the middleware saw it that started this one: its
    /// [values](Self::value) are those that were in force there.
    pub fn parent(&self) -> Option<&RunContext> {
        self.shared.parent.as_ref()
    }

    /// The run that nobody started within another: this one, or the last of those around it.
    pub fn outermost(&self) -> &RunContext {
        self.parent().map_or(self, Self::outermost)
    }

    /// How many runs are around this one; 0 for one that was not started in another.
    pub fn depth(&self) -> usize {
        std::iter::successors(self.parent(), |run| run.parent()).count()
    }

    pub(crate) fn spending(&self) -> Option<&Spending> {
        self.shared.spending.as_ref()
    }

    /// The run's id; empty outside a run.
    pub fn run_id(&self) -> &str {
        &self.shared.run_id
    }

    /// The model that the run begins with; `None` outside a run.
    pub fn model(&self) -> Option<&ModelId> {
        self.shared.model.as_ref()
    }

    /// The user's id.
    pub fn user(&self) -> Option<&str> {
        self.shared.user.as_deref()
    }

    /// The session's id.
    pub fn session(&self) -> Option<&str> {
        self.shared.session.as_deref()
    }

    /// The folder that the run works in.
    pub fn working_dir(&self) -> Option<&Path> {
        self.shared.working_dir.as_deref()
    }

    /// Values of the caller's own types, one of each type.
    pub fn attributes(&self) -> &Attributes {
        &self.shared.attributes
    }

    /// Fires when the run is cancelled.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// The run's clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// Sends an event: to the middlewares that observe, and to the run's handle. After the run's end,
    /// nowhere.
    pub fn emit(&self, event: Event) {
        if self.shared.sink.has_ended() {
            return;
        }
        let mut event = event;
        let mut taps = self.taps.as_ref();
        while let Some(tap) = taps {
            match (tap.tap)(event) {
                Some(passed) => event = passed,
                None => return,
            }
            taps = tap.outer.as_ref();
        }
        let mut panicked = None;
        for observer in &*self.shared.observers {
            let seen = AssertUnwindSafe(|| observer.on_event(self, &event));
            if let Err(panic) = catch_unwind(seen) {
                let (name, text) = (observer.name(), panic_text(&*panic));
                panicked = Some(format!("{name} panicked in on_event: {text}"));
            }
        }
        // An observer cannot change anything, so its panic does not either. Told once, not to the
        // observers, and neither before the first event nor after the last.
        let warning = panicked
            .filter(|_| !self.shared.observer_panicked.swap(true, Ordering::Relaxed))
            .map(|message| Event::Warning { message });
        let (first, second) = match event {
            Event::RunEnd(_) => (warning, Some(event)),
            _ => (Some(event), warning),
        };
        for event in [first, second].into_iter().flatten() {
            self.shared.sink.push(event);
        }
    }

    /// This context, with a function that sees each event first: it may change it or swallow it.
    ///
    /// A middleware passes the result to `next` to filter what the inner layers stream.
    pub fn tapped(&self, tap: impl Fn(Event) -> Option<Event> + Send + Sync + 'static) -> Self {
        let taps = Taps {
            tap: Box::new(tap),
            outer: self.taps.clone(),
        };
        Self {
            taps: Some(Arc::new(taps)),
            ..self.clone()
        }
    }

    /// This context, with a value that the layers inside find by its type: what a middleware or a tool
    /// passes on to those that it is around, and to nobody else. One that is put there again hides the outer
    /// one.
    ///
    /// [`attributes`](Self::attributes) are the caller's, and outlive the run; this is for what belongs to one
    /// run, one turn, one call.
    pub fn with_value<T: Any + Send + Sync>(&self, value: T) -> Self {
        let value = ScopedValue {
            kind: TypeId::of::<T>(),
            value: Arc::new(value),
            outer: self.values.clone(),
        };
        Self {
            values: Some(Arc::new(value)),
            ..self.clone()
        }
    }

    /// The innermost [value](Self::with_value) of this type.
    pub fn value<T: Any + Send + Sync>(&self) -> Option<&T> {
        let mut values = self.values.as_ref();
        while let Some(scoped) = values {
            if scoped.kind == TypeId::of::<T>() {
                return scoped.value.downcast_ref();
            }
            values = scoped.outer.as_ref();
        }
        None
    }

    /// What is masked in all that tools give back.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// This context, with more secrets: beside those that are masked anyway, these are in what the layers inside
    /// give back. None can be taken away.
    pub fn with_secrets(&self, more: &Secrets) -> Self {
        Self {
            secrets: self.secrets.with(more),
            ..self.clone()
        }
    }

    /// This context, with another cancellation. Make it a child of [`cancellation`](Self::cancellation).
    pub fn with_cancellation(&self, cancel: CancellationToken) -> Self {
        Self {
            cancel,
            ..self.clone()
        }
    }
}

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext")
            .field("run_id", &self.shared.run_id)
            .field("user", &self.shared.user)
            .field("session", &self.shared.session)
            .field("working_dir", &self.shared.working_dir)
            .finish_non_exhaustive()
    }
}

/// What a tool is given beside its arguments.
#[derive(Clone, Debug)]
pub struct ToolContext {
    run: RunContext,
    call_id: String,
    cancel: CancellationToken,
}

impl ToolContext {
    /// The context of one call.
    pub fn new(run: RunContext, call_id: impl Into<String>) -> Self {
        let cancel = run.cancellation().child_token();
        Self {
            run,
            call_id: call_id.into(),
            cancel,
        }
    }

    /// A context outside any run, for calling a tool by hand.
    pub fn detached() -> Self {
        Self::new(RunContext::detached(Caller::default()), "")
    }

    /// The run.
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// The call's id.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Fires when the call should end.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Tells how the call is getting on. For people; the model does not see it. The run's
    /// [secrets](RunContext::secrets) are masked.
    pub fn progress(&self, text: impl Into<String>) {
        let text = text.into();
        let text = match self.run.secrets.mask(&text) {
            Cow::Owned(masked) => masked,
            Cow::Borrowed(_) => text,
        };
        self.run.emit(Event::ToolProgress {
            id: self.call_id.clone(),
            text,
        });
    }
}

/// A map from a type to one value of it.
#[derive(Clone, Default)]
pub struct Attributes(Arc<Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>>);

impl Attributes {
    /// Puts a value in, and gives back the one that was there.
    pub fn insert<T: Any + Send + Sync>(&self, value: T) -> Option<Arc<T>> {
        let old = self.lock().insert(TypeId::of::<T>(), Arc::new(value));
        old.and_then(|old| old.downcast().ok())
    }

    /// The value of this type.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.lock()
            .get(&TypeId::of::<T>())
            .cloned()
            .and_then(|value| value.downcast().ok())
    }

    /// The value of this type; if there is none, what `make` makes, put in.
    pub fn get_or_insert_with<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(value) = self.get() {
            return value;
        }
        // Made outside the lock: it is the caller's code.
        let value: Arc<dyn Any + Send + Sync> = Arc::new(make());
        let kept = Arc::clone(self.lock().entry(TypeId::of::<T>()).or_insert(value));
        match kept.downcast() {
            Ok(value) => value,
            Err(_) => unreachable!("a value is kept under its own type"),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TypeId, Arc<dyn Any + Send + Sync>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Attributes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Attributes({})", self.lock().len())
    }
}

/// The queue between a run and its handle.
///
/// The handle drives the run, so the queue holds only what one poll of the run produced; tools on
/// other threads wake the handle.
#[derive(Clone)]
pub(crate) struct EventSink(Option<Arc<Queue>>);

struct Queue {
    events: Mutex<VecDeque<Event>>,
    /// Set with the last event: what a run left behind may not speak after it.
    ended: AtomicBool,
    waker: AtomicWaker,
}

impl EventSink {
    pub(crate) fn open() -> Self {
        Self(Some(Arc::new(Queue {
            events: Mutex::default(),
            ended: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        })))
    }

    pub(crate) fn closed() -> Self {
        Self(None)
    }

    pub(crate) fn push(&self, event: Event) {
        if let Some(queue) = &self.0 {
            let mut events = queue.events.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.ended.load(Ordering::Relaxed) {
                return;
            }
            if matches!(event, Event::RunEnd(_)) {
                queue.ended.store(true, Ordering::Relaxed);
            }
            events.push_back(event);
            drop(events);
            queue.waker.wake();
        }
    }

    fn has_ended(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|queue| queue.ended.load(Ordering::Relaxed))
    }

    pub(crate) fn pop(&self) -> Option<Event> {
        let queue = self.0.as_ref()?;
        queue
            .events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }

    pub(crate) fn register(&self, waker: &std::task::Waker) {
        if let Some(queue) = &self.0 {
            queue.waker.register(waker);
        }
    }
}
