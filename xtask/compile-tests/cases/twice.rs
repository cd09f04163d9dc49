use harness_telemetry::ai;

fn main() {
    let span = ai::plan(ai::Plan { agent: "a" }).start();
    span.end(ai::PlanEnd {});
    span.end(ai::PlanEnd {});
}
