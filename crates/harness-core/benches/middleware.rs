//! What middlewares cost around a model call: none, ten that do nothing there and do not say so, and
//! ten that say so.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use harness_core::test_support::{ModelCallChain, ScriptedModel};
use harness_core::{
    Caller, HookSet, Message, Middleware, Model, ModelError, ModelRequest, RunContext,
};

/// Implements no hook, and says so or not.
struct Idle(HookSet);

impl Middleware for Idle {
    fn name(&self) -> &'static str {
        "idle"
    }

    fn hooks(&self) -> HookSet {
        self.0
    }
}

fn middleware(criterion: &mut Criterion) {
    let model: Arc<dyn Model> = Arc::new(ScriptedModel::new([]));
    let request = ModelRequest::new(model, vec![Message::user("hello").into()]);
    let cx = RunContext::detached(Caller::default());
    let mut group = criterion.benchmark_group("model_call");
    let cases = [
        ("bare", 0, HookSet::all()),
        ("ten_unfiltered", 10, HookSet::all()),
        ("ten_filtered", 10, HookSet::all() - HookSet::MODEL_CALL),
    ];
    for (name, count, hooks) in cases {
        let idle = (0..count).map(|_| Arc::new(Idle(hooks)) as Arc<dyn Middleware>);
        // The cheapest answer there is: only the chain is to be measured.
        let chain = ModelCallChain::new(idle.collect(), Err(ModelError::Cancelled));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || request.clone(),
                |request| {
                    let mut call = std::pin::pin!(chain.run(&cx, request));
                    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                        Poll::Ready(answer) => answer,
                        Poll::Pending => unreachable!("the answer is there at once"),
                    }
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, middleware);
criterion_main!(benches);
