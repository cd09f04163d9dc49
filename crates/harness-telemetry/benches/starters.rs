//! What a typed starter costs, beside the same span written by hand with `tracing`.
#![expect(
    clippy::missing_docs_in_private_items,
    reason = "a benchmark's parts are named in what it prints"
)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use harness_telemetry::ai::{Chat, ChatEnd, chat};
use tracing::field::{Empty, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Looks at every value, as one that records has to, and keeps none, so that what is measured is the span.
struct Records;

#[derive(Default)]
struct Sum(u64);

impl Visit for Sum {
    fn record_debug(&mut self, _: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        use std::fmt::Write;
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = write!(text, "{value:?}");
        self.0 += text.len() as u64;
    }

    fn record_str(&mut self, _: &tracing::field::Field, value: &str) {
        self.0 += value.to_owned().len() as u64;
    }

    fn record_u64(&mut self, _: &tracing::field::Field, value: u64) {
        self.0 += value;
    }
}

impl Subscriber for Records {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut sum = Sum::default();
        span.record(&mut sum);
        Id::from_u64(black_box(sum.0) + 1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut sum = Sum::default();
        values.record(&mut sum);
        black_box(sum.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn typed(provider: &str, model: &str) {
    let span = chat(Chat { provider, model }).stream(true).start();
    span.response_id("resp_1");
    span.end(ChatEnd {
        input_tokens: Some(812),
        output_tokens: Some(44),
        finish_reasons: &["stop"],
    });
}

/// The same attributes, as one would write them; without what makes sure that they are right.
fn by_hand(provider: &str, model: &str) {
    let span = tracing::info_span!(
        target: "gen_ai",
        "chat",
        otel.name = %format_args!("chat {model}"),
        otel.kind = "client",
        otel.status_code = Empty,
        error.type = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = provider,
        gen_ai.request.model = model,
        gen_ai.request.stream = true,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.response.id = Empty,
    );
    span.record("gen_ai.response.id", "resp_1");
    span.record("gen_ai.usage.input_tokens", 812_u64);
    span.record("gen_ai.usage.output_tokens", 44_u64);
    span.record(
        "gen_ai.response.finish_reasons",
        tracing::field::debug(["stop"]),
    );
}

fn starters(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("starters");
    group.bench_function("unseen", |b| {
        b.iter(|| typed(black_box("openai"), black_box("gpt-5")));
    });
    tracing::subscriber::with_default(Records, || {
        group.bench_function("seen", |b| {
            b.iter(|| typed(black_box("openai"), black_box("gpt-5")));
        });
        group.bench_function("by hand", |b| {
            b.iter(|| by_hand(black_box("openai"), black_box("gpt-5")));
        });
    });
    group.finish();
}

criterion_group!(benches, starters);
criterion_main!(benches);
