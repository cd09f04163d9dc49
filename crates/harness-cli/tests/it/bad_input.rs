//! What is wrong before a request is made: exit status 2, one line that says what and what to do,
//! nothing on standard output, and in JSON one object.

use crate::program::Bed;

/// A command line or a configuration that cannot work.
struct Case<'a> {
    arguments: &'a [&'a str],
    variables: &'a [(&'a str, &'a str)],
    config: &'a str,
    /// What the line on standard error must hold.
    says: &'a [&'a str],
}

impl<'a> Case<'a> {
    fn of(arguments: &'a [&'a str], says: &'a [&'a str]) -> Self {
        Self {
            arguments,
            variables: &[],
            config: "",
            says,
        }
    }

    fn with(self, variables: &'a [(&'a str, &'a str)]) -> Self {
        Self { variables, ..self }
    }

    fn configured(config: &'a str, says: &'a [&'a str]) -> Self {
        Self {
            config,
            ..Self::of(&["hi"], says)
        }
    }
}

/// CLI-02: the same in text and in JSON, by the text on standard error and the object on standard output.
#[track_caller]
fn check(case: &Case<'_>) {
    let bed = Bed::new();
    bed.write("a-file", "not a folder");
    if !case.config.is_empty() {
        bed.config(case.config);
    }
    let run = |more: &[&str]| {
        let start = bed.run(&[more, case.arguments].concat());
        start.envs(case.variables).end().exits(2).says(case.says)
    };
    let text = run(&[]);
    assert_eq!(text.stdout, "", "{text:#?}");
    assert_eq!(text.stderr.lines().count(), 1, "{text:#?}");
    let json = run(&["--output", "json"]);
    let object = json.error_object();
    let kind = object["kind"].as_str().unwrap();
    assert!(matches!(kind, "usage" | "configuration"), "{object}");
    let message = object["message"].as_str().unwrap();
    assert!(json.error().contains(message), "{json:#?}");
    if let Some(hint) = object["hint"].as_str() {
        assert!(json.error().ends_with(hint), "{json:#?}");
    }
    assert_eq!(text.stderr, json.stderr);
}

/// An address that is never asked: the error comes before.
const AT: &[&str] = &["--base-url", "http://127.0.0.1:9", "-m", "x/y"];

#[test]
fn models_that_are_not_there() {
    let dead = ["--base-url", "127.0.0.1:9", "-m", "x/y", "hi"];
    let ftp = ["--base-url", "ftp://h", "-m", "x/y", "hi"];
    let nothing = ["--base-url", "http://", "-m", "x/y", "hi"];
    let without_model = ["--base-url", "http://127.0.0.1:9", "hi"];
    let with_key = [
        "-m",
        "x/y",
        "--base-url",
        "http://127.0.0.1:9",
        "--api-key-env",
        "NOPE",
        "hi",
    ];
    let key_itself = ["-m", "openai/m", "--api-key-env", "sk-canary", "hi"];
    for case in [
        Case::of(
            &["-m", "opnai/gpt-5", "hi"],
            &["no provider `opnai`", "did you mean `openai`?"],
        ),
        Case::of(
            &["-m", "nobody/m", "hi"],
            &["no provider `nobody`", "anthropic", "--base-url"],
        ),
        Case::of(
            &["-m", "gpt-5", "hi"],
            &["`gpt-5` does not name", "PROVIDER/MODEL"],
        ),
        Case::of(&["-m", "openai/", "hi"], &["`openai/` does not name"]),
        Case::of(&["-m", "/gpt-5", "hi"], &["`/gpt-5` does not name"]),
        Case::of(&["hi"], &["the variable HARNESS_MODEL"]).with(&[("HARNESS_MODEL", "demi")]),
        Case::of(
            &["-m", "openai/gpt-5", "hi"],
            &["OPENAI_API_KEY is not set", "--model"],
        ),
        Case::of(&with_key, &["the variable NOPE is not set"]),
        Case::of(
            &key_itself,
            &["--api-key-env is not the name of a variable"],
        ),
        Case::of(
            &without_model,
            &["--base-url is given, but no model", "--model"],
        ),
        Case::of(
            &dead,
            &["`127.0.0.1:9`", "did you mean `http://127.0.0.1:9`?"],
        ),
        Case::of(&ftp, &["neither http nor https"]),
        Case::of(&nothing, &["`http://`", "empty host"]),
        Case::of(
            &["-m", "scripted:absent.json", "hi"],
            &["absent.json", "No such file"],
        ),
        Case::of(
            &["-m", "scripted:", "hi"],
            &["names no file", "scripted:FILE"],
        ),
        Case::of(&["-m", "demo", "hi"], &["needs cargo", "--model"]).with(&[("PATH", "/nowhere")]),
    ] {
        check(&case);
    }
}

#[test]
fn arguments_that_make_no_sense() {
    let at = |more: &'static [&'static str]| [AT, more].concat();
    let (no_tool, two, absent, folder, endless) = (
        at(&["--tools", "read,nope", "hi"]),
        at(&["--tools", "read", "--no-tools", "hi"]),
        at(&["--system-prompt", "@absent.md", "hi"]),
        at(&["--append-system-prompt", "@.", "hi"]),
        at(&["--system-prompt", "@/dev/zero", "hi"]),
    );
    for case in [
        Case::of(&["--max-turns", "0", "hi"], &["--max-turns", "at least 1"]),
        Case::of(&["--max-turns=-1", "hi"], &["--max-turns", "at least 1"]),
        Case::of(
            &["--max-turns", "many", "hi"],
            &["--max-turns", "whole number"],
        ),
        Case::of(&["--timeout", "0", "hi"], &["--timeout", "more than zero"]),
        Case::of(&["--timeout", "0s", "hi"], &["--timeout", "more than zero"]),
        Case::of(&["--timeout", "soon", "hi"], &["--timeout", "10m"]),
        Case::of(
            &["--timeout", "10 parsecs", "hi"],
            &["--timeout", "parsecs"],
        ),
        Case::of(
            &["--api", "openai", "hi"],
            &["--api", "openai-chat, openai-responses"],
        ),
        Case::of(&["--thinking", "deep", "hi"], &["--thinking", "deep"]),
        Case::of(&["--modle", "x/y", "hi"], &["--modle", "'--model'"]),
        Case::of(&["hi", "--model"], &["a value is required for '--model"]),
        Case::of(&no_tool, &["no tool `nope`", "the tools are read, write"]),
        Case::of(
            &["--tools", ",", "hi"],
            &["--tools names no tool", "--no-tools"],
        ),
        Case::of(&two, &["'--tools <LIST>' cannot be used with '--no-tools'"]),
        Case::of(&absent, &["absent.md", "No such file", "behind @"]),
        Case::of(&folder, &["Is a directory"]),
        Case::of(&endless, &["/dev/zero", "larger than"]),
        Case::of(
            &["-m", "scripted:/dev/zero", "hi"],
            &["/dev/zero", "larger than"],
        ),
        Case::of(&["-C", "absent", "hi"], &["absent", "No such file", "-C"]),
        Case::of(&["-C", "a-file", "hi"], &["a-file is not a folder", "-C"]),
        Case::of(
            &["--continue", "hi"],
            &["no session of", "is there to go on with", "sessions list"],
        ),
        Case::of(
            &["--session", "session1", "hi"],
            &["there is no session session1", "sessions list"],
        ),
        Case::of(
            &["--continue", "--session", "s1", "hi"],
            &["cannot be used with"],
        ),
        Case::of(
            &["--continue", "--no-session", "hi"],
            &["cannot be used with"],
        ),
        Case::of(AT, &["there is no task", "pipe it in"]),
        Case::of(&at(&[""]), &["there is no task"]),
        Case::of(&at(&["  ", "\n"]), &["there is no task"]),
    ] {
        check(&case);
    }
}

#[test]
fn variables_that_make_no_sense() {
    let far = ["-m", "x/y", "--base-url", "http://h", "hi"];
    check(&Case::of(&far, &["proxy cannot be used"]).with(&[("HTTP_PROXY", "::bad")]));
    let check_variable = |name: &str, value: &str, words: &str| {
        check(&Case::of(&["hi"], &[name, words]).with(&[(name, value), ("HARNESS_MODEL", "demo")]));
    };
    check_variable("HARNESS_API", "smtp", "unknown API `smtp`");
    check_variable("HARNESS_THINKING", "deep", "deep");
    check_variable("HARNESS_MAX_TURNS", "0", "at least 1");
    check_variable("HARNESS_TIMEOUT", "soon", "10m");
    check_variable(
        "HARNESS_API_KEY_ENV",
        "sk-canary",
        "not the name of a variable",
    );
}

/// CLI-12, CLI-13: the file, the place and the nearest key.
#[test]
fn cli_12_cli_13_configurations_that_cannot_be_read() {
    let model = "model = \"local/m\"\n[providers.local]\n";
    let (dialect, no_address, key_itself, header) = (
        format!("{model}base_url = \"http://127.0.0.1:9\"\ndialect = \"vlm\""),
        format!("{model}api = \"openai-chat\""),
        format!("{model}base_url = \"http://127.0.0.1:9\"\napi_key_env = \"sk-canary\""),
        format!("{model}base_url = \"http://127.0.0.1:9\"\nheaders = [\"X\"]"),
    );
    let header_name =
        format!("{model}base_url = \"http://127.0.0.1:9\"\nheaders = {{ \"a b\" = \"c\" }}");
    for case in [
        Case::configured(&header_name, &["the header `a b` cannot be sent"]),
        Case::configured("model = [1,\n", &["/.config/harness/config.toml:"]),
        Case::configured("model = \"demo\",\n", &["config.toml:1:"]),
        Case::configured(
            "modle = \"demo\"\n",
            &["config.toml:1:1", "did you mean `model`?"],
        ),
        Case::configured(
            "[providers.x]\nbaseurl = \"\"\n",
            &["config.toml:2:1", "`base_url`?"],
        ),
        Case::configured(
            "[provider.x]\n",
            &["config.toml:1:", "did you mean `providers`?"],
        ),
        Case::configured(
            "max_turns = 0\n",
            &["config.toml", "max_turns must be at least 1"],
        ),
        Case::configured("max_turns = -3\n", &["config.toml:1:13"]),
        Case::configured(
            "[providers.x.models.y]\nprices = { input = -1 }\n",
            &["config.toml", "providers.x.models.y.prices", "at least 0"],
        ),
        Case::configured(
            "[providers.x.models.y]\nprices = { cache_read = nan }\n",
            &["providers.x.models.y.prices"],
        ),
        Case::configured(
            "timeout = \"0s\"\n",
            &["config.toml:1:11", "more than zero"],
        ),
        Case::configured("timeout = 90\n", &["config.toml:1:11"]),
        Case::configured(
            "thinking = \"hihg\"\n",
            &["config.toml:1:12", "did you mean `high`?"],
        ),
        Case::configured("model = \"x/y\"\n", &["no provider `x`"]),
        Case::configured(&dialect, &["unknown dialect `vlm`", "did you mean `vllm`?"]),
        Case::configured(&no_address, &["`local` has no base_url", "--base-url"]),
        Case::configured(
            &key_itself,
            &["providers.local.api_key_env is not the name"],
        ),
        Case::configured(&header, &["config.toml:4:"]),
        Case::configured("\0", &["config.toml:1:"]),
    ] {
        check(&case);
        let bed = Bed::new();
        let path = bed.config(case.config);
        bed.run(&["hi"]).end().exits(2);
        assert_eq!(
            std::fs::read_to_string(path).unwrap(),
            case.config,
            "the file was changed"
        );
    }
}

/// A file that is no text, and one that is no file.
#[test]
fn configurations_that_are_no_text() {
    let bed = Bed::new();
    let path = bed.config("");
    std::fs::write(&path, b"model = \"\xff\"").unwrap();
    bed.run(&["hi"])
        .end()
        .exits(2)
        .says(&["config.toml: it is not UTF-8"]);
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    bed.run(&["hi"])
        .end()
        .exits(2)
        .says(&["config.toml: it is not a file"]);
}

/// A key that somebody wrote where its variable's name belongs is not shown to the whole world.
#[test]
fn a_key_in_the_place_of_a_name_is_not_repeated() {
    let bed = Bed::new();
    for arguments in [
        &["run", "-m", "openai/m", "--api-key-env", "sk-canary", "hi"][..],
        &["doctor", "-m", "openai/m", "--api-key-env", "sk-canary"],
    ] {
        let ended = bed.harness(arguments).end().exits(2);
        assert!(!format!("{ended:?}").contains("canary"), "{ended:#?}");
    }
}

#[test]
fn a_folder_that_was_deleted() {
    let bed = Bed::new();
    let script = r#"mkdir gone && cd gone && rmdir ../gone && exec "$0" run -m demo hi"#;
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_harness")])
        .current_dir(bed.work());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.starts_with("error: the current folder cannot be used"),
        "{said}"
    );
}
