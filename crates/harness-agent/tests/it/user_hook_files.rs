//! Hook files.

use std::time::Duration;

use harness_agent::Error;
use harness_agent::middlewares::{HookEvent, HookFile, Hooks, OnHookFailure};

/// As people have it.
const SETTINGS: &str = r#"{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "model": "opus",
  "permissions": { "allow": ["Bash(npm run lint)"], "deny": ["Read(./.env)"] },
  "env": { "FOO": "bar" },
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          { "type": "command", "command": "jq -r '.tool_input.command' >> ~/log.txt" },
          { "type": "command", "command": "~/.claude/hooks/guard.sh", "timeout": 5, "onFailure": "block" }
        ]
      },
      { "matcher": "Edit|MultiEdit|Write", "hooks": [{ "type": "command", "command": "fmt" }] },
      { "hooks": [{ "type": "prompt", "prompt": "Is it safe? $ARGUMENTS" }] }
    ],
    "PostToolUse": [
      {
        "matcher": "Edit|Write",
        "hooks": [{ "type": "command", "command": "npx prettier", "statusMessage": "…", "async": true }]
      },
      { "matcher": "*", "hooks": [{ "type": "http", "url": "http://localhost:1/" }] }
    ],
    "Notification": [{ "hooks": [{ "type": "command", "command": "notify-send" }] }],
    "SessionStart": [
      { "matcher": "startup|resume", "hooks": [{ "type": "command", "command": "git status" }] }
    ],
    "Stop": [{ "hooks": [{ "type": "command", "command": "check", "timeout": 60000 }] }]
  },
  "statusLine": { "type": "command", "command": "~/.claude/statusline.sh" }
}"#;

/// What is to be known of a file, a line each: `!` before a warning.
fn told(path: &str, text: &str) -> Vec<String> {
    let file = HookFile::parse(path, text).unwrap();
    let told = file.diagnostics().iter();
    told.map(|it| format!("{}{it}", if it.is_warning() { "!" } else { "" }))
        .collect()
}

#[test]
fn settings_of_claude_code_as_people_have_them() {
    assert_eq!(
        told("s/settings.json", SETTINGS),
        [
            "!s/settings.json: PreToolUse[2].hooks[0]: a hook of type `prompt` is not supported; it is ignored",
            "s/settings.json: PostToolUse[1].hooks[0]: a hook of type `http` is not supported; it is ignored",
            "s/settings.json: Notification: this event is not supported; its hooks are ignored",
            "!s/settings.json: Stop[0].hooks[0]: a hook may run 600 s at most; `timeout` is in seconds",
            "s/settings.json: PostToolUse[0].hooks[0]: `statusMessage` is not supported; it is ignored",
            "s/settings.json: PostToolUse[0].hooks[0]: `async` is not supported; it is ignored",
        ]
    );
    let file = HookFile::parse("s.json", SETTINGS).unwrap();
    let hooks = Hooks::from_files([file]);
    assert_eq!(
        hooks.describe(),
        [
            "PreToolUse Bash: `jq -r '.tool_input.command' >> ~/log.txt` of s.json (60 s, closed on failure)",
            "PreToolUse Bash: `~/.claude/hooks/guard.sh` of s.json (5 s, closed on failure)",
            "PreToolUse Edit|MultiEdit|Write: `fmt` of s.json (60 s, closed on failure)",
            "PostToolUse Edit|Write: `npx prettier` of s.json (60 s, open on failure)",
            "SessionStart startup|resume: `git status` of s.json (60 s, open on failure)",
            "Stop *: `check` of s.json (600 s, open on failure)",
        ]
    );
}

#[test]
fn what_is_no_hook_file_is_an_error() {
    for (text, problem) in [
        (String::new(), "line 1 column 0"),
        ("{\"hooks\": {\n  ]}".to_owned(), "line 2 column 3"),
        ("[]".to_owned(), "it is not an object with `hooks`"),
        (
            r#"{"PreToolUse": [{"hooks": [{"command": "a"}]}]}"#.to_owned(),
            "`PreToolUse` must be in `hooks`",
        ),
        (
            r#"{"hooks": {}, "Stop": []}"#.to_owned(),
            "`Stop` must be in `hooks`",
        ),
        (
            r#"{"hooks": []}"#.to_owned(),
            "`hooks` is not an object of events",
        ),
        (
            format!(
                r#"{{"hooks": {{"Stop": [{{"hooks": [{}]}}]}}}}"#,
                [r#"{"command": "a"}"#; 257].join(",")
            ),
            "more than 256 hooks",
        ),
        (" ".repeat(1024 * 1024 + 1), "more than 1048576 bytes"),
    ] {
        let error = HookFile::parse("h.json", &text).unwrap_err();
        assert!(matches!(error, Error::HookFile { .. }));
        let told = error.to_string();
        let begins = "the hook file `h.json` cannot be used: ";
        assert!(told.starts_with(begins) && told.contains(problem), "{told}");
    }
}

/// Misspelt keys and events, with what was meant; nothing else is turned off by them.
#[test]
fn typos_are_told_with_their_place() {
    for (events, lines) in [
        (
            r#"{"PreToolUse": [{"matchr": "Bash", "hooks": [{"command": "good"}]}]}"#,
            &[
                "!h.json: PreToolUse[0]: `matchr` is no key of a group, and is ignored; did you mean `matcher`?",
            ][..],
        ),
        (
            r#"{"Stop": [{"hooks": [{"command": "good"}, {"command": "good", "tiemout": 3, "colour": 1}]}]}"#,
            &[
                "!h.json: Stop[0].hooks[1]: `tiemout` is no key of a hook, and is ignored; did you mean `timeout`?",
                "!h.json: Stop[0].hooks[1]: `colour` is no key of a hook, and is ignored",
            ],
        ),
        (
            r#"{"PreToolUs": [{"hooks": [{"command": "x"}]}], "Stop": [{"hooks": [{"command": "good"}]}]}"#,
            &[
                "!h.json: PreToolUs: there is no such event, and its hooks never run; did you mean `PreToolUse`?",
            ],
        ),
        (
            r#"{"OnFriday": [], "Stop": [{"hooks": [{"command": "good"}]}]}"#,
            &["!h.json: OnFriday: there is no such event, and its hooks never run"],
        ),
        (
            r#"{"SubagentStop": [], "Stop": [{"hooks": [{"command": "good"}]}]}"#,
            &["h.json: SubagentStop: this event is not supported; its hooks are ignored"],
        ),
        (
            r#"{"Stop": [{"sequential": true, "hooks": [
                {"command": "good", "async": true}, {"command": "good", "async": true},
                {"command": "good", "async": true}, {"command": "good", "async": true, "if": "Bash(git *)"},
                {"type": "mcp_tool", "server": "s", "tool": "t"}
            ]}]}"#,
            &[
                "h.json: Stop[0].hooks[4]: a hook of type `mcp_tool` is not supported; it is ignored",
                "h.json: Stop[0]: `sequential` is not supported; it is ignored",
                "h.json: Stop[0].hooks[0], Stop[0].hooks[1], Stop[0].hooks[2] and 1 more: `async` is not supported; it is ignored",
                "h.json: Stop[0].hooks[3]: `if` is not supported; it is ignored",
            ],
        ),
        (
            r#"{"Stop": [{"hooks": [
                {"command": "good", "timeout": 0}, {"command": "good", "timeout": "5"},
                {"command": "good", "on_failure": "close"}, {"command": "good", "onFailure": "continue"}
            ]}]}"#,
            &[
                "!h.json: Stop[0].hooks[0]: `timeout` must be a number of seconds above 0; it is 60 s",
                "!h.json: Stop[0].hooks[1]: `timeout` must be a number of seconds above 0; it is 60 s",
                "!h.json: Stop[0].hooks[2]: `on_failure` must be `open` or `closed`; what is there is ignored; did you mean `closed`?",
            ],
        ),
    ] {
        let text = format!(r#"{{"hooks": {events}}}"#);
        assert_eq!(told("h.json", &text), lines, "{events}");
        let file = HookFile::parse("h.json", &text).unwrap();
        let commands: Vec<_> = file.hooks().iter().map(|hook| hook.command()).collect();
        assert_eq!(commands, vec![Some("good"); events.matches("good").count()]);
        assert!(
            file.hooks()
                .iter()
                .all(|hook| hook.timeout().as_secs() == 60)
        );
    }
    // Of the file itself: settings have keys of their own.
    let text = r#"{"hook": {}, "colour": 1, "$schema": "x", "pre_tool_use": []}"#;
    assert_eq!(
        told("hooks.json", text),
        [
            "!hooks.json: `hook` is no key of a hook file, and is ignored; did you mean `hooks`?",
            "!hooks.json: `colour` is no key of a hook file, and is ignored",
            "!hooks.json: `pre_tool_use` is no key of a hook file, and is ignored",
        ]
    );
    assert_eq!(told("settings.local.json", text).len(), 2);
    let many = vec![r#"{"command": "a", "x": 1}"#; 60].join(",");
    let many = format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{many}]}}]}}}}"#);
    let many = told("h.json", &many);
    assert_eq!(many.len(), 51);
    assert_eq!(many[50], "!h.json: and 10 more of the like");
}

/// An entry that cannot be read fails where a failed hook blocks, and is ignored elsewhere; the others run.
#[test]
fn what_cannot_be_read_is_told_and_blocks_where_hooks_guard() {
    for (groups, place, problem) in [
        ("1", "", "it is not a list of groups"),
        (
            "[1, GOOD]",
            "[0]",
            "it is not a group: an object with `hooks`",
        ),
        (r#"[{"matcher": "Bash"}, GOOD]"#, "[0]", "it has no `hooks`"),
        (
            r#"[{"hooks": {}}, GOOD]"#,
            "[0]",
            "its `hooks` are not a list",
        ),
        (
            r#"[{"matcher": 1, "hooks": []}, GOOD]"#,
            "[0]",
            "its `matcher` is not a text",
        ),
        (
            r#"[{"hooks": [1]}, GOOD]"#,
            "[0].hooks[0]",
            "it is not a hook: an object with a `command`",
        ),
        (
            r#"[{"hooks": [{}]}, GOOD]"#,
            "[0].hooks[0]",
            "it has no `command`",
        ),
        (
            r#"[{"hooks": [{"command": " "}]}, GOOD]"#,
            "[0].hooks[0]",
            "it has no `command`",
        ),
        (
            r#"[{"hooks": [{"command": 1}]}, GOOD]"#,
            "[0].hooks[0]",
            "its `command` is not a text",
        ),
        (
            r#"[{"hooks": [{"command": "a\u0000"}]}, GOOD]"#,
            "[0].hooks[0]",
            "its `command` has a NUL character",
        ),
        (
            r#"[{"hooks": [{"type": "comand", "command": "a"}]}, GOOD]"#,
            "[0].hooks[0]",
            "there is no type `comand` of hooks; did you mean `command`?",
        ),
    ] {
        let groups = groups.replace("GOOD", r#"{"hooks": [{"command": "good"}]}"#);
        for (event, end, is_closed) in [
            (
                "PreToolUse",
                "until that is mended, every call that it is for is refused",
                true,
            ),
            (
                "UserPromptSubmit",
                "until that is mended, every prompt is refused",
                true,
            ),
            ("PostToolUse", "it is ignored", false),
            ("Stop", "it is ignored", false),
        ] {
            let text = format!(r#"{{"hooks": {{"{event}": {groups}}}}}"#);
            let lines = told("h.json", &text);
            let expected = format!("!h.json: {event}{place}: {problem}; {end}");
            assert!(lines.contains(&expected), "{expected}: {lines:?}");
            let file = HookFile::parse("h.json", &text).unwrap();
            let good = file
                .hooks()
                .iter()
                .filter(|hook| hook.command() == Some("good"));
            assert_eq!(good.count(), groups.matches("good").count(), "{text}");
            let failing: Vec<_> = file
                .hooks()
                .iter()
                .filter(|it| it.command().is_none())
                .collect();
            assert_eq!(failing.len(), usize::from(is_closed), "{text}");
            assert!(
                failing
                    .iter()
                    .all(|it| it.on_failure() == OnHookFailure::Closed)
            );
        }
    }
}

/// What the file says of a failure counts, and a hook in the place of a group is told as that.
#[test]
fn what_cannot_be_read_and_says_what_its_failure_is() {
    let text = r#"{"hooks": {"PreToolUse": [
        {"matcher": "Bash", "hooks": [{"comand": "a", "on_failure": "open"}]},
        {"type": "command", "command": "a"}
    ], "PostToolUse": [{"matcher": "(", "hooks": [{"command": "a", "on_failure": "closed"}]}]}}"#;
    let lines = told("h.json", text);
    assert_eq!(
        lines[..5],
        [
            "!h.json: PreToolUse[0].hooks[0]: `comand` is no key of a hook, and is ignored; did you mean `command`?",
            "!h.json: PreToolUse[0].hooks[0]: it has no `command`; it is ignored",
            "!h.json: PreToolUse[1]: `type` is a key of a hook, which must be in the `hooks` of a group",
            "!h.json: PreToolUse[1]: `command` is a key of a hook, which must be in the `hooks` of a group",
            "!h.json: PreToolUse[1]: a hook stands where a group must be; until that is mended, every call that it is for is refused",
        ]
    );
    let broken = "!h.json: PostToolUse[0]: the matcher `(` is no expression: unclosed group; ";
    assert!(lines[5].starts_with(broken), "{lines:?}");
    assert_eq!(lines.len(), 6);
}

#[test]
fn what_may_be_left_out_or_said_twice() {
    let text = r#"{"hooks": {
        "PreToolUse": [{"hooks": [{"command": "one", "on_failure": "open", "timeout": 0.5}]}],
        "PreToolUse": [{"matcher": null, "hooks": [{"command": "two"}], "hooks": [{"command": "2"}]}],
        "UserPromptSubmit": [{"matcher": "x", "hooks": [{"command": "three"}]}]
    }}"#;
    let file = HookFile::parse("h.json", &format!("\u{feff}{text}")).unwrap();
    let commands: Vec<_> = file.hooks().iter().map(|hook| hook.command()).collect();
    assert_eq!(
        commands,
        [Some("one"), Some("two"), Some("2"), Some("three")]
    );
    let one = &file.hooks()[0];
    assert_eq!(one.timeout(), Duration::from_millis(500));
    assert_eq!((one.event(), one.matcher()), (HookEvent::PreToolUse, "*"));
    assert_eq!(one.on_failure(), OnHookFailure::Open);
    assert_eq!(one.place(), "PreToolUse[0].hooks[0]");
    assert_eq!(file.hooks()[3].on_failure(), OnHookFailure::Closed);
    assert_eq!(
        told("h.json", text),
        ["!h.json: UserPromptSubmit[0]: UserPromptSubmit has no matcher; its hooks always run",]
    );
    let off = r#"{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}}"#;
    assert!(HookFile::parse("h.json", off).unwrap().hooks().is_empty());
    assert_eq!(
        told("h.json", off),
        ["!h.json: its hooks are off, by `disableAllHooks`"]
    );
    for empty in ["{}", r#"{"hooks": {}}"#, r#"{"hooks": {"Stop": []}}"#] {
        let file = HookFile::parse("h.json", empty).unwrap();
        assert!(file.hooks().is_empty() && file.diagnostics().is_empty());
    }
}

#[test]
fn matchers_that_are_for_nothing_are_told() {
    let text = r#"{"hooks": {
        "PreToolUse": [
            {"matcher": "Bsah", "hooks": [{"command": "a"}, {"command": "b"}]},
            {"matcher": "Bash|Edit", "hooks": [{"command": "a"}]},
            {"matcher": "mcp__x__.*", "hooks": [{"command": "a"}]}
        ],
        "PostToolUse": [{"matcher": "WebFetch", "hooks": [{"command": "a"}]}],
        "SessionStart": [
            {"matcher": "startup|clear", "hooks": [{"command": "a"}]},
            {"matcher": "clear", "hooks": [{"command": "a"}]},
            {"matcher": "startp", "hooks": [{"command": "a"}]}
        ],
        "PreCompact": [{"matcher": "always", "hooks": [{"command": "a"}]}],
        "SessionEnd": [{"matcher": "whatever", "hooks": [{"command": "a"}]}]
    }}"#;
    let hooks = Hooks::from_files([HookFile::parse("h.json", text).unwrap()]);
    let misfits = hooks.misfits(&["bash", "read"]);
    let lines: Vec<_> = misfits
        .iter()
        .map(|it| (it.is_warning(), it.to_string()))
        .collect();
    let lines: Vec<_> = lines
        .iter()
        .map(|(warns, it)| (*warns, it.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (
                true,
                "h.json: PreToolUse[0]: matcher \"Bsah\" fits no tool, so its hooks never run; did you mean `Bash`?"
            ),
            (
                false,
                "h.json: PostToolUse[0]: matcher \"WebFetch\" fits no tool here, so its hooks never run"
            ),
            (
                false,
                "h.json: SessionStart[1]: matcher \"clear\" fits no source of SessionStart here, so its hooks never run"
            ),
            (
                true,
                "h.json: SessionStart[2]: matcher \"startp\" fits no source of SessionStart, so its hooks never run; did you mean `startup`?"
            ),
            (
                true,
                "h.json: PreCompact[0]: matcher \"always\" fits no trigger of PreCompact, so its hooks never run"
            ),
        ]
    );
}

#[test]
fn files_are_joined_in_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    assert!(HookFile::read(path("none.json")).unwrap().is_none());
    HookFile::read(folder.path()).unwrap_err();
    let mut files = Vec::new();
    for name in ["user", "project"] {
        let text = format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{{"command": "{name}"}}]}}]}}}}"#);
        std::fs::write(path(name), text).unwrap();
        files.push(HookFile::read(path(name)).unwrap().unwrap());
    }
    let hooks = Hooks::from_files(files);
    assert!(!hooks.is_empty());
    let found: Vec<_> = hooks
        .iter()
        .map(|hook| (hook.command().unwrap(), hook.file()))
        .collect();
    assert_eq!(
        found,
        [("user", &*path("user")), ("project", &*path("project"))]
    );
    // The largest of all: a file is read up to its bound, and no further.
    std::fs::write(path("large"), " ".repeat(2 * 1024 * 1024)).unwrap();
    let error = HookFile::read(path("large")).unwrap_err().to_string();
    assert!(error.contains("more than 1048576 bytes"), "{error}");
}
