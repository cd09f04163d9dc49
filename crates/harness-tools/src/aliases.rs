//! Parameter names of other agents' tools.
//!
//! Models trained on those send their names. The ones here mean the same and cannot be misread; what
//! a tool advertises is only its own names.

use serde_json::{Map, Value};

/// `tool`, the other name, our name. `*` stands for every tool that has a `path`.
const TABLE: &[(&str, &str, &str)] = &[
    ("*", "file_path", "path"),
    ("*", "filePath", "path"),
    ("*", "filepath", "path"),
    ("*", "file", "path"),
    ("*", "filename", "path"),
    ("*", "absolute_path", "path"),
    ("read", "start_line", "offset"),
    ("read", "startLine", "offset"),
    ("write", "contents", "content"),
    ("write", "file_text", "content"),
    ("write", "text", "content"),
    ("bash", "cmd", "command"),
    ("bash", "script", "command"),
    ("bash", "timeout_seconds", "timeout"),
    ("bash", "run_in_background", "background"),
    ("bash", "job_id", "job"),
    ("grep", "regex", "pattern"),
    ("grep", "query", "pattern"),
    ("grep", "include", "glob"),
    ("grep", "ignoreCase", "ignore_case"),
    ("grep", "case_insensitive", "ignore_case"),
    ("grep", "-i", "ignore_case"),
    ("grep", "-C", "context"),
    ("grep", "fixed_strings", "literal"),
    ("grep", "head_limit", "limit"),
    ("grep", "max_results", "limit"),
    ("grep", "directory", "path"),
    ("find", "glob", "pattern"),
    ("find", "glob_pattern", "pattern"),
    ("find", "directory", "path"),
    ("find", "max_results", "limit"),
    ("ls", "directory", "path"),
    ("ls", "dir_path", "path"),
];

/// The same for one edit in a list.
const EDIT_TABLE: &[(&str, &str)] = &[
    ("oldText", "old_text"),
    ("old_string", "old_text"),
    ("oldString", "old_text"),
    ("old_str", "old_text"),
    ("oldStr", "old_text"),
    ("newText", "new_text"),
    ("new_string", "new_text"),
    ("newString", "new_text"),
    ("new_str", "new_text"),
    ("newStr", "new_text"),
    ("replaceAll", "replace_all"),
];

/// The parameters of one edit.
const EDIT_NAMES: [&str; 3] = ["old_text", "new_text", "replace_all"];

/// Brings the arguments of a call into the advertised shape. A name that the tool has itself wins
/// over another one for it; what is not known is left as it is.
pub(crate) fn apply(tool: &str, arguments: Value) -> Value {
    let Value::Object(mut object) = arguments else {
        return arguments;
    };
    for (of, other, name) in TABLE {
        if *of == tool || (*of == "*" && tool != "bash") {
            rename(&mut object, other, name);
        }
    }
    if tool == "edit" {
        edits(&mut object);
    }
    Value::Object(object)
}

fn rename(object: &mut Map<String, Value>, other: &str, name: &str) {
    if !object.contains_key(name)
        && let Some(value) = object.remove(other)
    {
        object.insert(name.to_owned(), value);
    }
}

/// One edit outside a list, a list written as JSON text, one edit where a list should be.
fn edits(object: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = object.get("edits")
        && let Ok(parsed @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
    {
        object.insert("edits".to_owned(), parsed);
    }
    match object.get_mut("edits") {
        Some(edit @ Value::Object(_)) => {
            let only = edit.take();
            *edit = Value::Array(vec![only]);
        }
        Some(_) => {}
        None => {
            for (other, name) in EDIT_TABLE {
                rename(object, other, name);
            }
            let edit: Map<String, Value> = EDIT_NAMES
                .iter()
                .filter_map(|name| object.remove_entry(*name))
                .collect();
            if !edit.is_empty() {
                object.insert("edits".to_owned(), Value::Array(vec![Value::Object(edit)]));
            }
        }
    }
    if let Some(Value::Array(list)) = object.get_mut("edits") {
        for edit in list {
            if let Value::Object(edit) = edit {
                for (other, name) in EDIT_TABLE {
                    rename(edit, other, name);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::apply;
    use serde_json::json;

    #[test]
    fn names_of_other_agents_become_ours() {
        for (tool, given, expected) in [
            ("read", json!({"file_path": "a"}), json!({"path": "a"})),
            (
                "read",
                json!({"path": "a", "file": "b"}),
                json!({"path": "a", "file": "b"}),
            ),
            ("bash", json!({"cmd": "ls"}), json!({"command": "ls"})),
            (
                "bash",
                json!({"command": "ls", "file": "x"}),
                json!({"command": "ls", "file": "x"}),
            ),
            (
                "grep",
                json!({"regex": "a", "-i": true}),
                json!({"pattern": "a", "ignore_case": true}),
            ),
            (
                "edit",
                json!({"filePath": "a", "old_string": "x", "newText": "y", "replaceAll": true}),
                json!({"path": "a", "edits": [
                    {"old_text": "x", "new_text": "y", "replace_all": true}]}),
            ),
            (
                "edit",
                json!({"path": "a", "edits": "[{\"oldText\":\"x\",\"new_str\":\"y\"}]"}),
                json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
            ),
            (
                "edit",
                json!({"path": "a", "edits": {"old_text": "x", "new_text": "y"}}),
                json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}]}),
            ),
            ("edit", json!({"path": "a"}), json!({"path": "a"})),
        ] {
            assert_eq!(apply(tool, given), expected, "{tool}");
        }
    }
}
