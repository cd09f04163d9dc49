//! Configuration files: what each key does to the requests and to what is told of them.

use serde_json::{Value, json};

use crate::program::Bed;
use crate::server::{Answer, Server};
use crate::wire::{INPUT_TOKENS, OUTPUT_TOKENS, Reply, Wire};

/// A provider `local` at an address, with more lines for it.
fn local(server: &Server, lines: &str) -> String {
    let url = server.url();
    format!("model = \"local/m\"\n[providers.local]\nbase_url = \"{url}\"\n{lines}")
}

/// The body of the one request of a run with that configuration.
#[track_caller]
fn body(lines: &str, arguments: &[&str]) -> Value {
    let (bed, server) = (Bed::new(), Server::start([Answer::says("Done.")]));
    bed.config(&local(&server, lines));
    bed.run(&[arguments, &["hi"]].concat())
        .end()
        .exits(0)
        .answers("Done.");
    server.request().body
}

#[test]
fn a_dialect_is_a_preset_or_a_table() {
    let plain = body("", &[]);
    assert_eq!(plain["messages"][0]["role"], "system");
    assert_eq!(plain["stream_options"]["include_usage"], true);
    let preset = body("dialect = \"mistral\"\n", &[]);
    assert_eq!(preset["stream_options"], Value::Null);
    let table = body(
        "dialect = { system_role = \"developer\", store = false }\n",
        &[],
    );
    assert_eq!(table["messages"][0]["role"], "developer");
    assert_eq!(table["store"], false);
    let of_model = body(
        "dialect = \"mistral\"\n[providers.local.models.m]\ndialect = \"openai\"\n",
        &[],
    );
    assert_eq!(of_model["messages"][0]["role"], "developer");
}

#[test]
fn an_api_of_the_configuration_and_one_of_the_command_line() {
    for (lines, arguments, wire) in [
        ("api = \"anthropic\"\n", &[][..], Wire::Messages),
        ("api = \"openai-responses\"\n", &[], Wire::Responses),
        (
            "api = \"anthropic\"\n",
            &["--api", "openai-responses"],
            Wire::Responses,
        ),
    ] {
        let (bed, server) = (Bed::new(), Server::replies(wire, &[Reply::says("Done.")]));
        bed.config(&local(&server, lines));
        bed.run(&[arguments, &["hi"]].concat())
            .end()
            .exits(0)
            .answers("Done.");
        assert_eq!(server.request().path, wire.path());
    }
}

#[test]
fn prices_make_a_cost() {
    let server = Server::start([
        Answer::reply(Wire::Chat, &Reply::calls("call_1", "ls", &json!({}))),
        Answer::says("Done."),
    ]);
    let bed = Bed::new();
    let prices = "[providers.local.models.m]\nprices = { input = 3, output = 15 }\n";
    bed.config(&local(&server, prices));
    let end = bed
        .run(&["--output", "json", "hi"])
        .end()
        .exits(0)
        .run_end();
    let expected = 2.0 * (INPUT_TOKENS as f64 * 3.0 + OUTPUT_TOKENS as f64 * 15.0) / 1e6;
    let cost = end["cost"].as_f64().unwrap();
    assert!(
        (cost - expected).abs() < 1e-9,
        "{cost} instead of {expected}"
    );
}

/// LOOP-26: input and output together fit the window.
#[test]
fn loop_26_the_output_is_clamped_to_what_the_window_leaves() {
    for wire in Wire::ALL {
        let max_tokens = |window: u64, cap: u64| {
            let server = Server::replies(wire, &[Reply::says("Done.")]);
            let bed = Bed::new();
            bed.config(&local(
                &server,
                &format!(
                    "api = \"{}\"\n[providers.local.models.m]\n\
                     context_window = {window}\nmax_output_tokens = {cap}\n",
                    wire.api()
                ),
            ));
            // About 20,000 tokens, by the rule of thumb of four bytes for one.
            bed.run(&["Count."])
                .stdin("word ".repeat(16_000))
                .end()
                .exits(0);
            let body = server.request().body;
            let fields = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
            fields.iter().find_map(|field| body[field].as_u64())
        };
        let clamped = max_tokens(40_000, 32_000).unwrap();
        assert!((1_000..=20_000).contains(&clamped), "{wire:?}: {clamped}");
        assert!(
            max_tokens(400_000, 32_000).is_none_or(|max| max == 32_000),
            "{wire:?}"
        );
    }
}

/// LOOP-13: a window that the prompt and the tools fill alone.
#[test]
fn loop_13_a_window_that_is_too_small() {
    let server = Server::start([]);
    let bed = Bed::new();
    bed.config(&local(
        &server,
        "[providers.local.models.m]\ncontext_window = 500\n",
    ));
    let ended = bed.run(&["hi"]).end().exits(1);
    assert_eq!(ended.stdout, "");
    ended.says(&[
        "system prompt and the tools alone",
        "context window of local/m has 500",
    ]);
}

#[test]
fn thinking_is_asked_for_as_far_as_the_model_knows_it() {
    let model = "[providers.local.models.m]\nthinking = [\"low\", \"high\"]\n";
    assert_eq!(body(model, &[])["reasoning_effort"], Value::Null);
    assert_eq!(
        body(model, &["--thinking", "low"])["reasoning_effort"],
        "low"
    );
    assert_eq!(
        body(model, &["--thinking", "max"])["reasoning_effort"],
        "high"
    );
    // Of a model that nothing is known of, the person knows.
    assert_eq!(
        body("", &["--thinking", "medium"])["reasoning_effort"],
        "medium"
    );
}

#[test]
fn tools_of_the_configuration_and_of_the_command_line() {
    let tools = |config: &str, arguments: &[&str]| {
        let (bed, server) = (Bed::new(), Server::start([Answer::says("Done.")]));
        bed.config(&format!("{config}\n{}", local(&server, "")));
        bed.run(&[arguments, &["hi"]].concat()).end().exits(0);
        Wire::Chat.tools(&server.request().body).join(",")
    };
    assert_eq!(tools("", &[]), "read,write,edit,bash,grep,find,ls");
    assert_eq!(tools("tools = [\"ls\", \"read\"]", &[]), "read,ls");
    assert_eq!(
        tools("tools = [\"ls\", \"read\"]", &["--tools", "bash, grep"]),
        "bash,grep"
    );
    assert_eq!(tools("tools = [\"ls\"]", &["--no-tools"]), "");
    assert_eq!(tools("tools = []", &[]), "");
}

/// A project's file counts only if the user trusts the project; the nearest folder of which something is said
/// decides.
#[test]
fn a_project_is_trusted_by_the_user_alone() {
    let project = "model = \"local/of-project\"\n";
    let sent = |trusted: &[(&str, &str)], flags: &[&str], project: &str| {
        let (bed, server) = (Bed::new(), Server::start([Answer::says("Done.")]));
        std::fs::create_dir(bed.work().join(".git")).unwrap();
        bed.write("deep/down/file", "");
        bed.write(".harness/config.toml", project);
        let folders: Vec<_> = trusted
            .iter()
            .map(|(folder, trust)| (bed.root().join(folder), *trust))
            .collect();
        let folders: Vec<_> = folders
            .iter()
            .map(|(folder, trust)| (folder.as_path(), *trust))
            .collect();
        bed.trust_folders(&folders);
        bed.config(&local(&server, ""));
        let ended = bed
            .run(&[&["-C", "deep/down"], flags, &["hi"]].concat())
            .end()
            .exits(0)
            .answers("Done.");
        (
            server.request().body["model"].as_str().unwrap().to_owned(),
            ended,
        )
    };
    for (trusted, flags) in [
        (&[("work", "full")][..], &[][..]),
        (&[("work/nowhere", "none"), ("work", "full")], &[]),
        (&[(".", "none"), ("work", "full")], &[]),
        (&[], &["--trust"]),
        (&[("work", "none")], &["--trust"]),
    ] {
        let (model, ended) = sent(trusted, flags, project);
        assert_eq!(model, "of-project", "{trusted:?} {flags:?}");
        assert_eq!(ended.stderr, "");
    }
    for (trusted, flags) in [
        (&[][..], &[][..]),
        (&[("work/deep", "full")], &[]),
        (&[("wor", "full")], &[]),
        // The home is in it.
        (&[(".", "full")], &[]),
        (&[("work", "none")], &[]),
        (&[("work", "full"), ("work/deep", "none")], &[]),
        (&[(".", "full"), ("work", "none")], &[]),
        (&[("work", "full")], &["--no-trust"]),
    ] {
        let (model, ended) = sent(trusted, flags, project);
        assert_eq!(model, "m", "{trusted:?} {flags:?}");
        ended.notes("work/.harness/config.toml is not read; `harness trust allow");
    }
    // What is not read cannot be wrong.
    assert_eq!(sent(&[], &[], "no toml at all").0, "m");
}

/// What a trusted project says stands above the user's file; it cannot extend the trust.
#[test]
fn a_trusted_project_is_read_like_any_file() {
    let bed = Bed::new();
    bed.trust();
    bed.write(".harness/config.toml", "modle = \"demo\"\n");
    let ended = bed.run(&["hi"]).end().exits(2);
    ended.says(&["work/.harness/config.toml:1:1", "did you mean `model`?"]);
    bed.write(".harness/config.toml", "trusted_projects = [\"/\"]\n");
    let ended = bed.run(&["hi"]).end().exits(2);
    ended.says(&["unknown field `trusted_projects`"]);
}

#[test]
fn the_users_file_is_where_the_standard_has_it() {
    let bed = Bed::new();
    let folder = bed.root().join("xdg");
    std::fs::create_dir_all(folder.join("harness")).unwrap();
    std::fs::write(folder.join("harness/config.toml"), "modle = 1\n").unwrap();
    let run = || bed.run(&["-m", "scripted:absent", "hi"]);
    let says = |start: crate::program::Start, words: &str| start.end().exits(2).says(&[words]);
    says(
        run().env("XDG_CONFIG_HOME", &folder),
        "xdg/harness/config.toml:1:1",
    );
    // A relative one is ignored, and so is an empty one.
    says(run().env("XDG_CONFIG_HOME", "../xdg"), "the script absent");
    says(run().env("XDG_CONFIG_HOME", ""), "the script absent");
    bed.config("modle = 1\n");
    says(run(), "home/.config/harness/config.toml:1:1");
    says(run().without_env("HOME"), "the script absent");
}
