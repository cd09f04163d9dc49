//! Which model is asked, and why. What is done when nothing is configured is beside the source: it
//! depends on the ports of this machine.

use crate::program::Bed;
use crate::server::{Answer, Server};

/// What may name a model, from the strongest to the weakest; all at once, minus the first ones.
#[test]
fn the_order_of_what_names_a_model() {
    let flag = ["-m", "openai/by-flag", "--api-key-env", "KEY"];
    let checks = [
        (0, "openai/by-flag", "--model says so"),
        (
            1,
            "openai/by-variable",
            "the variable HARNESS_MODEL says so",
        ),
        (2, "openai/by-project", "work/.harness/config.toml says so"),
        (
            3,
            "openai/by-user",
            "home/.config/harness/config.toml says so",
        ),
        (4, "anthropic/claude-", "ANTHROPIC_API_KEY is set"),
        (5, "openai/gpt-", "OPENAI_API_KEY is set"),
        (6, "mistral/", "MISTRAL_API_KEY is set"),
    ];
    for (without, model, because) in checks {
        let bed = Bed::new();
        bed.trust();
        let mut config = String::new();
        if without < 4 {
            config = format!("model = \"openai/by-user\"\n{config}");
        }
        bed.config(&config);
        if without < 3 {
            bed.write(".harness/config.toml", "model = \"openai/by-project\"\n");
        }
        let arguments = if without < 1 { &flag[..] } else { &[] };
        let mut start = bed
            .harness(&[&["doctor"], arguments].concat())
            .env("KEY", "k");
        start = start.env("MISTRAL_API_KEY", "k");
        if without < 2 {
            start = start.env("HARNESS_MODEL", "openai/by-variable");
        }
        if without < 5 {
            start = start.env("ANTHROPIC_API_KEY", "k");
        }
        if without < 6 {
            start = start.env("OPENAI_API_KEY", "k");
        }
        let report = start.end().exits(0).stdout;
        let (_, report) = report.split_once("\nmodel\n").unwrap();
        assert!(
            report.contains(&format!("model          {model}")),
            "{without}: {report}"
        );
        assert!(report.contains(because), "{without}: {report}");
    }
}

#[test]
fn what_is_blank_does_not_count() {
    let (bed, server) = (Bed::new(), Server::start([Answer::says("Done.")]));
    let url = server.url();
    let run = bed.run(&["-m", "", "--api-key-env", " ", "hi"]);
    run.envs(&[
        ("HARNESS_MODEL", "x/by-variable"),
        ("HARNESS_BASE_URL", &url),
        ("HARNESS_API", ""),
        ("HARNESS_MAX_TURNS", " "),
        ("OPENAI_API_KEY", ""),
    ])
    .end()
    .exits(0)
    .answers("Done.");
    assert_eq!(server.request().body["model"], "by-variable");
}

/// Only the first slash parts the provider's name from the model's.
#[test]
fn models_whose_names_have_slashes_and_colons() {
    for (model, sent) in [
        ("x/org/model", "org/model"),
        ("x/qwen3:8b", "qwen3:8b"),
        ("plain", "plain"),
        ("openai/gpt-5", "gpt-5"),
    ] {
        let (bed, server) = (Bed::new(), Server::start([Answer::says("Done.")]));
        let url = server.url();
        let api = ["--api", "openai-chat", "--base-url", &url];
        bed.run(&[&["-m", model, "hi"], &api[..]].concat())
            .end()
            .exits(0);
        assert_eq!(server.request().body["model"], sent);
    }
}

/// A base URL as people write it.
#[test]
fn prov_14_base_urls() {
    for end in ["", "/", "/v1", "/v1/", "/v1/chat/completions"] {
        let (bed, server) = (Bed::new(), Server::start([Answer::says("Done.")]));
        let url = format!(" {}{end} ", server.url());
        bed.run(&["-m", "x/y", "--base-url", &url, "hi"])
            .end()
            .exits(0);
        assert_eq!(server.request().path, "/v1/chat/completions", "{url}");
    }
}
