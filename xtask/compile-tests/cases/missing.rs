use harness_telemetry::ai;

fn main() {
    let span = ai::chat(ai::Chat { provider: "openai" }).start();
    span.end(ai::ChatEnd { input_tokens: None, finish_reasons: &["stop"] });
}
