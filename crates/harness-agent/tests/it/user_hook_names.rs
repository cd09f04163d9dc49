//! Calls under the names, and in the shapes, that the hooks of other agents know.

use harness_agent::core::ToolOutcome;
use serde_json::{Value, json};

use crate::user_hook_stage::Stage;

/// What a hook with this matcher is given of a call that is made in a folder with the file `a.txt`.
async fn given(matcher: &str, tool: &str, arguments: Value) -> (Value, Value, String) {
    let stage = Stage::new(&json!({
        "PreToolUse": [{ "matcher": matcher, "hooks": [{ "command": "cat > given; exit 2" }] }],
    }));
    std::fs::write(stage.path("a.txt"), "one two").unwrap();
    stage.call(tool, arguments).await;
    let given: Value = serde_json::from_str(&stage.text("given")).unwrap();
    let file = stage.path("a.txt").to_string_lossy().into_owned();
    (
        given["tool_name"].clone(),
        given["tool_input"].clone(),
        file,
    )
}

/// Checks what hooks are given of calls: matcher, tool, arguments; name, and input, in which `FILE` stands for the
/// absolute path of `a.txt`.
async fn check<const N: usize>(cases: [(&str, &str, Value, &str, Value); N]) {
    for (matcher, tool, arguments, name, input) in cases {
        let (found_name, found, file) = given(matcher, tool, arguments).await;
        let input = input.to_string().replace("FILE", &file);
        let input: Value = serde_json::from_str(&input).unwrap();
        assert_eq!(
            (found_name, found),
            (json!(name), input),
            "{matcher} {tool}"
        );
    }
}

#[tokio::test]
async fn a_matcher_of_another_agent_has_its_name_and_shape() {
    check([
        (
            "Bash",
            "bash",
            json!({ "command": "ls", "timeout": 2.5, "background": true }),
            "Bash",
            json!({ "command": "ls", "timeout": 2500, "run_in_background": true }),
        ),
        (
            "bash|Bash",
            "bash",
            json!({ "command": "ls", "timeout": 2 }),
            "bash",
            json!({ "command": "ls", "timeout": 2 }),
        ),
        (
            "Read",
            "read",
            json!({ "path": "a.txt", "offset": 1, "limit": 2 }),
            "Read",
            json!({ "file_path": "FILE", "offset": 1, "limit": 2 }),
        ),
        (
            "Edit|Write",
            "write",
            json!({ "path": "a.txt", "content": "x" }),
            "Write",
            json!({ "file_path": "FILE", "content": "x" }),
        ),
        (
            "Grep",
            "grep",
            json!({ "pattern": "x", "path": "a.txt", "glob": "*", "ignore_case": true, "context": 1, "limit": 3 }),
            "Grep",
            json!({ "pattern": "x", "path": "FILE", "glob": "*", "-i": true, "-C": 1, "head_limit": 3 }),
        ),
        (
            "Glob",
            "find",
            json!({ "pattern": "*.rs" }),
            "Glob",
            json!({ "pattern": "*.rs" }),
        ),
        (
            "LS",
            "ls",
            json!({ "path": "a.txt" }),
            "LS",
            json!({ "path": "FILE" }),
        ),
    ])
    .await;
}

#[tokio::test]
async fn replacements_have_the_shape_that_the_name_has() {
    let edit = |edits: Value| json!({ "path": "a.txt", "edits": edits });
    let one = json!([{ "old_text": "one", "new_text": "1" }]);
    let two = json!([
        { "old_text": "one", "new_text": "1", "replace_all": true },
        { "old_text": "two", "new_text": "2" },
    ]);
    let theirs = json!([
        { "old_string": "one", "new_string": "1", "replace_all": true },
        { "old_string": "two", "new_string": "2" },
    ]);
    check([
        (
            "Edit|Write",
            "edit",
            edit(one.clone()),
            "Edit",
            json!({ "file_path": "FILE", "old_string": "one", "new_string": "1", "replace_all": false }),
        ),
        // Whoever looks for something in the texts finds it, also where there are several.
        (
            "Edit|Write",
            "edit",
            edit(two.clone()),
            "Edit",
            json!({ "file_path": "FILE", "old_string": "one\ntwo", "new_string": "1\n2", "edits": theirs }),
        ),
        (
            "MultiEdit",
            "edit",
            edit(two.clone()),
            "MultiEdit",
            json!({ "file_path": "FILE", "edits": theirs }),
        ),
        (
            "apply_patch",
            "edit",
            edit(two),
            "apply_patch",
            json!({ "command": "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n@@\n-two\n+2\n*** End Patch" }),
        ),
        (
            "apply_patch",
            "write",
            json!({ "path": "a.txt", "content": "x\ny\n" }),
            "apply_patch",
            json!({ "command": "*** Begin Patch\n*** Add File: a.txt\n+x\n+y\n*** End Patch" }),
        ),
        (
            "*",
            "edit",
            edit(one.clone()),
            "edit",
            json!({ "path": "a.txt", "file_path": "FILE", "edits": one }),
        ),
    ])
    .await;
}

/// A path that only the tool understands is what it means by it.
#[tokio::test]
async fn the_path_is_the_one_that_the_tool_uses() {
    let (_, input, file) = given("Read", "read", json!({ "path": "@a.txt" })).await;
    let real = std::path::Path::new(input["file_path"].as_str().unwrap());
    assert!(
        real.is_absolute() && real.ends_with("a.txt"),
        "{real:?} {file}"
    );
}

/// A tool ignores arguments that it does not have. A hook is not told another file, text or command by them.
#[tokio::test]
async fn what_a_tool_ignores_does_not_stand_for_what_it_does() {
    let edit = json!({ "path": "a.txt", "edits": [{ "old_text": "one", "new_text": "1", "replace_all": true }],
        "old_string": "x", "new_string": "y", "replace_all": false });
    let edits = json!({ "path": "a.txt", "old_string": "x", "edits": [
        { "old_text": "one", "new_text": "1", "new_string": "y" },
        { "old_text": "two", "new_text": "2" },
    ] });
    check([
        (
            "*",
            "read",
            json!({ "path": "a.txt", "file_path": "b.txt" }),
            "read",
            json!({ "path": "a.txt", "file_path": "FILE" }),
        ),
        (
            "Read",
            "read",
            json!({ "path": "a.txt", "file_path": "b.txt", "reason": "x" }),
            "Read",
            json!({ "file_path": "FILE", "reason": "x" }),
        ),
        (
            "Bash",
            "bash",
            json!({ "command": "ls", "background": true, "run_in_background": false }),
            "Bash",
            json!({ "command": "ls", "run_in_background": true }),
        ),
        (
            "Edit",
            "edit",
            edit,
            "Edit",
            json!({ "file_path": "FILE", "old_string": "one", "new_string": "1", "replace_all": true }),
        ),
        (
            "Edit",
            "edit",
            edits,
            "Edit",
            json!({ "file_path": "FILE", "old_string": "one\ntwo", "new_string": "1\n2", "edits": [
                { "old_string": "one", "new_string": "1" },
                { "old_string": "two", "new_string": "2" },
            ] }),
        ),
    ])
    .await;
    let address = json!({ "path": "FILE:///etc/hosts" });
    let (_, input, _) = given("*", "read", address).await;
    let real = std::fs::canonicalize("/etc/hosts").unwrap();
    assert_eq!(input["file_path"], json!(real));
}

/// Makes a call that a hook with this matcher rewrites by a filter of `jq`; gives what it came to.
async fn rewritten(
    matcher: &str,
    on_failure: &str,
    filter: &str,
    tool: &str,
    arguments: Value,
) -> (Stage, ToolOutcome, Vec<String>) {
    let command = format!(
        "jq '{{hookSpecificOutput: {{hookEventName: \"PreToolUse\", updatedInput: (.tool_input | {filter})}}}}'"
    );
    let hook = json!({ "command": command, "on_failure": on_failure });
    let stage = Stage::new(&json!({ "PreToolUse": [{ "matcher": matcher, "hooks": [hook] }] }));
    std::fs::write(stage.path("a.txt"), "one two").unwrap();
    std::fs::write(stage.path("b.txt"), "one two").unwrap();
    let (outcome, warnings) = stage.call(tool, arguments).await;
    (stage, outcome, warnings)
}

#[tokio::test]
async fn what_it_rewrites_is_turned_back() {
    let one = json!({ "path": "a.txt", "edits": [{ "old_text": "one", "new_text": "1" }] });
    let two = json!({ "path": "a.txt", "edits": [
        { "old_text": "one", "new_text": "1" }, { "old_text": "two", "new_text": "2" },
    ] });
    let write = json!({ "path": "a.txt", "content": "x" });
    for (matcher, filter, tool, arguments, file, text) in [
        (
            "Bash",
            ".command = \"printf y > a.txt\"",
            "bash",
            json!({ "command": "true" }),
            "a.txt",
            "y",
        ),
        (
            "Bash",
            "{command: \"printf z > a.txt\", description: \"d\", timeout: 60000}",
            "bash",
            json!({ "command": "true" }),
            "a.txt",
            "z",
        ),
        (
            "Write",
            ".content = \"y\"",
            "write",
            write.clone(),
            "a.txt",
            "y",
        ),
        (
            "Write",
            ".file_path |= sub(\"a.txt\"; \"b.txt\")",
            "write",
            write.clone(),
            "b.txt",
            "x",
        ),
        (
            "Edit",
            ".new_string = \"3\"",
            "edit",
            one.clone(),
            "a.txt",
            "3 two",
        ),
        (
            "Edit",
            "{file_path, old_string, new_string: \"3\"}",
            "edit",
            one.clone(),
            "a.txt",
            "3 two",
        ),
        ("Edit", ".", "edit", two.clone(), "a.txt", "1 2"),
        (
            "Edit",
            ".edits[1].new_string = \"3\"",
            "edit",
            two.clone(),
            "a.txt",
            "1 3",
        ),
        (
            "MultiEdit",
            ".edits |= .[:1]",
            "edit",
            two.clone(),
            "a.txt",
            "1 two",
        ),
        ("apply_patch", ".", "edit", one.clone(), "a.txt", "1 two"),
    ] {
        let ran = rewritten(matcher, "closed", filter, tool, arguments).await;
        let (stage, outcome, warnings) = ran;
        assert!(
            matches!(outcome, ToolOutcome::Done(_)),
            "{filter}: {outcome:?}"
        );
        assert_eq!(
            (stage.text(file).as_str(), warnings.len()),
            (text, 0),
            "{filter}"
        );
    }
}

/// Checks what becomes of a rewriting that cannot be said in our shape: matcher, filter, tool, arguments and
/// problem. It is a failure of the hook: the call is refused, or made as it was and told.
async fn check_failures<const N: usize>(cases: [(&str, &str, &str, Value, &str); N]) {
    for (matcher, filter, tool, arguments, problem) in cases {
        let (stage, outcome, _) =
            rewritten(matcher, "closed", filter, tool, arguments.clone()).await;
        let ToolOutcome::Denied { reason, .. } = &outcome else {
            panic!("{filter}: {outcome:?}");
        };
        assert!(
            reason.contains("its `updatedInput` cannot be used: "),
            "{reason}"
        );
        assert!(reason.contains(problem), "{reason}");
        assert_eq!(stage.text("a.txt"), "one two");
        let (_, outcome, warnings) = rewritten(matcher, "open", filter, tool, arguments).await;
        assert!(
            matches!(outcome, ToolOutcome::Done(_)),
            "{filter}: {outcome:?}"
        );
        assert!(
            warnings.len() == 1 && warnings[0].contains(problem),
            "{warnings:?}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_turned_back_is_a_failure() {
    check_failures([
        (
            "Bash",
            ".dangerouslyDisableSandbox = true",
            "bash",
            json!({ "command": "true" }),
            "`bash` has nothing like `dangerouslyDisableSandbox`",
        ),
        (
            "Bash",
            ".timeout = \"1\"",
            "bash",
            json!({ "command": "true" }),
            "its `timeout` is not a number",
        ),
        (
            "Bash",
            "[]",
            "bash",
            json!({ "command": "true" }),
            "it is not an object",
        ),
        (
            "Grep",
            ".output_mode = \"count\"",
            "grep",
            json!({ "pattern": "x" }),
            "`grep` has nothing like `output_mode`",
        ),
    ])
    .await;
}

#[tokio::test]
async fn replacements_that_cannot_be_turned_back_are_a_failure() {
    let one = json!({ "path": "a.txt", "edits": [{ "old_text": "one", "new_text": "1" }] });
    let two = json!({ "path": "a.txt", "edits": [
        { "old_text": "one", "new_text": "1" }, { "old_text": "two", "new_text": "2" },
    ] });
    check_failures([
        (
            "Edit",
            ".path = \"b.txt\"",
            "edit",
            one.clone(),
            "`edit` has nothing like `path`",
        ),
        (
            "Edit",
            "{file_path, old_string}",
            "edit",
            one.clone(),
            "it has no `new_string`",
        ),
        (
            "Edit",
            ".edits = []",
            "edit",
            one.clone(),
            "`Edit` has no `edits`",
        ),
        (
            "Edit",
            ".new_string = \"3\"",
            "edit",
            two.clone(),
            "`new_string` belongs to none",
        ),
        (
            "Edit",
            "del(.edits)",
            "edit",
            two.clone(),
            "it has no list `edits`",
        ),
        (
            "MultiEdit",
            ".edits[0].more = 1",
            "edit",
            two,
            "a replacement has nothing like `more`",
        ),
        (
            "apply_patch",
            ".command += \"x\"",
            "edit",
            one,
            "a patch cannot become a call of `edit`",
        ),
    ])
    .await;
}

/// As people have it: a script that knows another agent's names, and guards by them.
#[tokio::test]
async fn a_script_as_people_have_it_guards() {
    let script = r#"
asked=$(cat)
of() { printf '%s' "$asked" | jq -r "$1 // empty"; }
case $(of .tool_name) in
Bash) case " $(of .tool_input.command) " in *" rm "*) echo "no rm" >&2; exit 2 ;; esac ;;
Edit | Write) case $(of .tool_input.file_path) in *.lock) echo "no locks" >&2; exit 2 ;; esac ;;
esac"#;
    for (tool, arguments, reason) in [
        ("bash", json!({ "command": "rm a.txt" }), Some("no rm")),
        ("bash", json!({ "command": "true" }), None),
        (
            "write",
            json!({ "path": "a.lock", "content": "x" }),
            Some("no locks"),
        ),
        ("write", json!({ "path": "a.txt", "content": "x" }), None),
    ] {
        let group = json!({ "matcher": "Bash|Edit|Write", "hooks": [{ "command": script }] });
        let stage = Stage::new(&json!({ "PreToolUse": [group] }));
        let (outcome, _) = stage.call(tool, arguments).await;
        let found = match &outcome {
            ToolOutcome::Denied { reason, .. } => Some(reason.as_str()),
            _ => None,
        };
        assert_eq!(found, reason, "{outcome:?}");
    }
}
