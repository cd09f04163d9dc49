use harness_telemetry::ai;

fn main() {
    let span = ai::chat(ai::Chat { provider: "openai", model: 5 }).start();
    span.end(ai::ChatEnd { input_tokens: Some("many"), output_tokens: None, finish_reasons: &["stop"] });
}
