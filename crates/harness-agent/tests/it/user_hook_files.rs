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

#[test]
fn settings_of_claude_code_as_people_have_them() {
    let file = HookFile::parse("s.json", SETTINGS).unwrap();
    let warnings: Vec<&str> = file.warnings().iter().map(String::as_str).collect();
    assert_eq!(
        warnings,
        [
            "s.json: there is no event `Notification` here; its hooks are ignored",
            "s.json: PreToolUse: a hook of type `prompt` cannot be run; it is ignored",
            "s.json: PostToolUse: `async` of a hook is ignored",
            "s.json: PostToolUse: a hook of type `http` cannot be run; it is ignored",
            "s.json: Stop: a hook may run 600 s at most; `timeout` is in seconds",
        ]
    );
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
fn what_is_broken_is_told_with_its_place() {
    let hook = |hook: &str| format!("{{\"hooks\": {{\"Stop\": [\n{{\"hooks\": [{hook}]}}]}}}}");
    for (text, problem) in [
        (String::new(), "line 1 column 0"),
        ("{\"hooks\": {\n  ]}".to_owned(), "line 2 column 3"),
        ("[]".to_owned(), "expected an object with `hooks` at line 1"),
        (
            r#"{"hooks": []}"#.to_owned(),
            "expected an object of events at line 1",
        ),
        (
            r#"{"hooks": {"Stop": {}}}"#.to_owned(),
            "expected a sequence at line 1",
        ),
        (hook("{}"), "a hook needs a `command` at line 2"),
        (hook(r#"{"command": 1}"#), "expected a string at line 2"),
        (hook(r#"{"command": " "}"#), "`command` is empty at line 2"),
        (
            hook(r#"{"command": "a\u0000"}"#),
            "has a NUL character at line 2",
        ),
        (
            hook(r#"{"command": "a", "timeout": 0}"#),
            "`timeout` must be more than 0 seconds at line 2",
        ),
        (
            hook(r#"{"command": "a", "on_failure": "maybe"}"#),
            "expected `open` or `closed` at line 2",
        ),
        (
            "{\"hooks\": {\"PreToolUse\": [\n{\"matcher\": \"(\"}]}}".to_owned(),
            "the matcher `(` is no expression",
        ),
        (
            hook(&[r#"{"command": "a"}"#; 257].join(",")),
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

#[test]
fn what_may_be_left_out_or_said_twice() {
    let text = r#"{"hooks": {
        "PreToolUse": [{"hooks": [{"command": "one", "on_failure": "open", "timeout": 0.5}]}],
        "PreToolUse": [{"matcher": null, "hooks": [{"command": "two"}]}],
        "UserPromptSubmit": [{"matcher": "x", "hooks": [{"command": "three"}]}]
    }, "Stop": []}"#;
    let file = HookFile::parse("h.json", &format!("\u{feff}{text}")).unwrap();
    let commands: Vec<_> = file.hooks().iter().map(|hook| hook.command()).collect();
    assert_eq!(commands, [Some("one"), Some("two"), Some("three")]);
    let one = &file.hooks()[0];
    assert_eq!(one.timeout(), Duration::from_millis(500));
    assert_eq!((one.event(), one.matcher()), (HookEvent::PreToolUse, "*"));
    assert_eq!(one.on_failure(), OnHookFailure::Open);
    assert_eq!(file.hooks()[2].on_failure(), OnHookFailure::Closed);
    assert_eq!(
        file.warnings(),
        [
            "h.json: `Stop` must be in `hooks`; it is ignored",
            "h.json: UserPromptSubmit has no matcher; its hooks always run",
        ]
    );
    let off = r#"{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}}"#;
    let off = HookFile::parse("h.json", off).unwrap();
    assert!(off.hooks().is_empty());
    assert_eq!(
        off.warnings(),
        ["h.json: its hooks are off, by `disableAllHooks`"]
    );
    for empty in ["{}", r#"{"hooks": {}}"#, r#"{"hooks": {"Stop": []}}"#] {
        let file = HookFile::parse("h.json", empty).unwrap();
        assert!(file.hooks().is_empty() && file.warnings().is_empty());
    }
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
