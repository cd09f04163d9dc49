//! Our tools under the names, and in the shapes, that the hooks of other agents know.

use serde_json::{Map, Value, json};

/// One of our tools as another agent has it. A hook whose matcher fits by that name alone is shown the call like
/// this.
#[derive(Debug)]
pub(crate) struct ForeignTool {
    /// Our name.
    pub(crate) ours: &'static str,
    /// The other one.
    pub(crate) theirs: &'static str,
    shape: Shape,
    keys: &'static [Key],
    /// What such a hook may give back and nothing comes of.
    unused: &'static [&'static str],
}

/// A parameter: our name, theirs, and how the value differs.
type Key = (&'static str, &'static str, As);

/// How a value differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    /// Not at all.
    Same,
    /// Theirs is an absolute path.
    Absolute,
    /// Ours is in seconds, theirs in milliseconds.
    Milliseconds,
}

/// What the arguments look like as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Each key has its other name.
    Keys,
    /// One replacement. Of a call with several, the texts are joined, and `edits` is there as well.
    OneEdit,
    /// A list of replacements.
    Edits,
    /// A patch in codex's form, as `command`.
    Patch,
}

use As::{Absolute, Milliseconds, Same};

/// The keys of one replacement.
const EDIT_KEYS: &[Key] = &[
    ("old_text", "old_string", Same),
    ("new_text", "new_string", Same),
    ("replace_all", "replace_all", Same),
];

const FILE: Key = ("path", "file_path", Absolute);
const FOLDER: Key = ("path", "path", Absolute);
const LIMIT: Key = ("limit", "limit", Same);

/// All of them. Where a matcher fits several names of a tool, the first of them counts. From the "tool input" of
/// [Claude Code's hooks](https://code.claude.com/docs/en/hooks#pretooluse-input) and
/// [codex's](https://developers.openai.com/codex/hooks).
const TABLE: &[ForeignTool] = &[
    ForeignTool {
        unused: &["description"],
        ..keys(
            "bash",
            "Bash",
            &[
                ("command", "command", Same),
                ("timeout", "timeout", Milliseconds),
                ("background", "run_in_background", Same),
                ("job", "job", Same),
                ("stop", "stop", Same),
            ],
        )
    },
    keys("read", "Read", &[FILE, ("offset", "offset", Same), LIMIT]),
    keys("write", "Write", &[FILE, ("content", "content", Same)]),
    shaped("write", "apply_patch", Shape::Patch, &[]),
    shaped("edit", "Edit", Shape::OneEdit, &[FILE]),
    shaped("edit", "MultiEdit", Shape::Edits, &[FILE]),
    shaped("edit", "apply_patch", Shape::Patch, &[]),
    keys(
        "grep",
        "Grep",
        &[
            ("pattern", "pattern", Same),
            FOLDER,
            ("glob", "glob", Same),
            ("ignore_case", "-i", Same),
            ("context", "-C", Same),
            ("limit", "head_limit", Same),
            ("literal", "literal", Same),
        ],
    ),
    keys(
        "find",
        "Glob",
        &[("pattern", "pattern", Same), FOLDER, LIMIT],
    ),
    keys("ls", "LS", &[FOLDER, LIMIT]),
    keys("todo_write", "TodoWrite", &[("todos", "todos", Same)]),
    keys(
        "load_skill",
        "Skill",
        &[("name", "skill", Same), ("file", "file", Same)],
    ),
    keys("plan_enter", "EnterPlanMode", &[]),
    keys("plan_exit", "ExitPlanMode", &[("summary", "plan", Same)]),
];

/// What starts an agent elsewhere. Its arguments are others, so that no hook is shown the call like that.
const SPAWNS: &[&str] = &["Task", "Agent"];

/// Tools of other agents that this one has nothing like.
const UNKNOWN_HERE: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "KillShell",
    "NotebookEdit",
    "NotebookRead",
    "PowerShell",
    "Task",
    "TaskCreate",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "WebFetch",
    "WebSearch",
];

const fn keys(ours: &'static str, theirs: &'static str, keys: &'static [Key]) -> ForeignTool {
    shaped(ours, theirs, Shape::Keys, keys)
}

const fn shaped(
    ours: &'static str,
    theirs: &'static str,
    shape: Shape,
    keys: &'static [Key],
) -> ForeignTool {
    ForeignTool {
        ours,
        theirs,
        shape,
        keys,
        unused: &[],
    }
}

impl ForeignTool {
    /// The other names of a tool of ours.
    pub(crate) fn of(ours: &str) -> impl Iterator<Item = &'static Self> {
        TABLE.iter().filter(move |tool| tool.ours == ours)
    }

    /// Our names of a tool that other agents call so: a patch is both a `write` and an `edit`. None if it is not
    /// known, or ours already.
    pub(crate) fn ours_of(theirs: &str) -> Vec<&'static str> {
        let known = TABLE.iter().filter(|tool| tool.theirs == theirs);
        let spawns = SPAWNS.contains(&theirs).then_some("agent_spawn");
        let mut names: Vec<&str> = known.map(|tool| tool.ours).chain(spawns).collect();
        names.dedup();
        names
    }

    /// Every name that is known, here or elsewhere, whether a run has such a tool or not.
    pub(crate) fn all_names() -> impl Iterator<Item = &'static str> {
        let known = TABLE.iter().flat_map(|tool| [tool.ours, tool.theirs]);
        known.chain(UNKNOWN_HERE.iter().copied())
    }

    /// Our arguments in the other shape. `file` is the absolute path of the call, if it has one.
    pub(crate) fn give(&self, ours: &Value, file: Option<&str>) -> Value {
        let Some(object) = ours.as_object() else {
            return ours.clone();
        };
        let mut theirs = Map::new();
        match self.shape {
            Shape::Patch => {
                theirs.insert("command".to_owned(), patch(object).into());
                return theirs.into();
            }
            Shape::Keys => {}
            Shape::OneEdit | Shape::Edits => {
                let edits = object.get("edits").and_then(Value::as_array);
                let edits: Vec<Map<String, Value>> = edits
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_object)
                    .map(|edit| renamed(edit, EDIT_KEYS, None))
                    .collect();
                match &edits[..] {
                    [edit] if self.shape == Shape::OneEdit => {
                        theirs.extend(edit.clone());
                        theirs.entry("replace_all").or_insert(false.into());
                    }
                    edits => {
                        if self.shape == Shape::OneEdit {
                            for key in ["old_string", "new_string"] {
                                theirs.insert(key.to_owned(), joined(edits, key).into());
                            }
                        }
                        theirs.insert("edits".to_owned(), json!(edits));
                    }
                }
            }
        }
        let mut rest = object.clone();
        if self.shape != Shape::Keys {
            // What stands beside the replacements is none of them, whatever it is called.
            rest.retain(|key, _| key != "edits" && !is_taken(key, EDIT_KEYS));
        }
        theirs.extend(renamed(&rest, self.keys, file));
        theirs.into()
    }

    /// Arguments in the other shape as ours: `given` is what the hook was given, of the arguments `ours`. `Err`
    /// with what they have that ours cannot say.
    pub(crate) fn take_back(
        &self,
        updated: &Value,
        ours: &Value,
        given: &Value,
    ) -> Result<Value, String> {
        if updated == given {
            return Ok(ours.clone());
        }
        let Some(updated) = updated.as_object() else {
            return Err("it is not an object".to_owned());
        };
        if self.shape == Shape::Patch {
            return Err(format!("a patch cannot become a call of `{}`", self.ours));
        }
        let mut rest = updated.clone();
        for key in self.unused {
            rest.remove(*key);
        }
        let mut taken = Map::new();
        if self.shape != Shape::Keys {
            let edits = self.edits(&mut rest, given)?;
            taken.insert("edits".to_owned(), edits.into());
        }
        let ours_and_given = ours.as_object().zip(given.as_object());
        for (key, value) in rest {
            let Some((ours_key, _, how)) = self.keys.iter().find(|it| it.1 == key) else {
                return Err(format!("`{}` has nothing like `{key}`", self.ours));
            };
            // A value that was left as it was is the one that the model gave.
            let same = ours_and_given
                .filter(|(_, given)| given.get(&key) == Some(&value))
                .and_then(|(ours, _)| ours.get(*ours_key));
            let value = match (same, how) {
                (Some(same), _) => same.clone(),
                (None, Milliseconds) => scaled(&value, 0.001)?,
                (None, Same | Absolute) => value,
            };
            taken.insert((*ours_key).to_owned(), value);
        }
        Ok(taken.into())
    }

    /// The list of replacements, taken out of what a hook gave back.
    fn edits(&self, rest: &mut Map<String, Value>, given: &Value) -> Result<Vec<Value>, String> {
        let list = rest.remove("edits");
        if self.shape == Shape::Edits || given.get("edits").is_some() {
            for key in ["old_string", "new_string"] {
                // The joined texts belong to no replacement.
                if rest
                    .remove(key)
                    .is_some_and(|it| Some(&it) != given.get(key))
                {
                    return Err(format!(
                        "the call makes several replacements: `{key}` belongs to none; `edits` has them"
                    ));
                }
            }
            let Some(Value::Array(list)) = list else {
                return Err("it has no list `edits`".to_owned());
            };
            return list.iter().map(edit).collect();
        }
        if list.is_some() {
            return Err(format!("`{}` has no `edits`", self.theirs));
        }
        let keys = EDIT_KEYS.iter().map(|(_, theirs, _)| *theirs);
        let one: Map<String, Value> = keys.filter_map(|key| rest.remove_entry(key)).collect();
        Ok(vec![edit(&one.into())?])
    }
}

/// One replacement of theirs as ours.
fn edit(theirs: &Value) -> Result<Value, String> {
    let Some(theirs) = theirs.as_object() else {
        return Err("one of its `edits` is not an object".to_owned());
    };
    let mut ours = Map::new();
    for (key, value) in theirs {
        let Some((ours_key, ..)) = EDIT_KEYS.iter().find(|it| it.1 == key) else {
            return Err(format!("a replacement has nothing like `{key}`"));
        };
        // What holds where nothing is said.
        if *ours_key != "replace_all" || *value != Value::Bool(false) {
            ours.insert((*ours_key).to_owned(), value.clone());
        }
    }
    for (ours_key, key, _) in &EDIT_KEYS[..2] {
        if !ours.contains_key(*ours_key) {
            return Err(format!("it has no `{key}`"));
        }
    }
    Ok(ours.into())
}

/// Whether `key` is another agent's name for one of these.
fn is_taken(key: &str, keys: &[Key]) -> bool {
    keys.iter().any(|it| it.1 == key)
}

/// Our keys by their other names. Those that have none stay, unless they have the name of another one: our tool
/// ignores what it does not know, and a hook would take it for what the call does.
fn renamed(ours: &Map<String, Value>, keys: &[Key], file: Option<&str>) -> Map<String, Value> {
    let pairs = ours.iter().filter_map(|(key, value)| {
        let Some((_, theirs, how)) = keys.iter().find(|it| it.0 == key) else {
            return (!is_taken(key, keys)).then(|| (key.clone(), value.clone()));
        };
        let value = match (how, file) {
            (Absolute, Some(file)) => file.into(),
            (Milliseconds, _) => scaled(value, 1000.0).unwrap_or_else(|_| value.clone()),
            (Same | Absolute, _) => value.clone(),
        };
        Some(((*theirs).to_owned(), value))
    });
    pairs.collect()
}

/// A time in another unit; whole where it can be.
fn scaled(time: &Value, factor: f64) -> Result<Value, String> {
    let Some(time) = time.as_f64() else {
        return Err("its `timeout` is not a number".to_owned());
    };
    let scaled = time * factor;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole, and small enough to be exact"
    )]
    let whole = (scaled.fract() == 0.0 && scaled.abs() < 1e15).then_some(scaled as i64);
    Ok(whole.map_or_else(|| json!(scaled), Value::from))
}

/// The texts of several replacements, so that whoever looks for something in them finds it.
fn joined(edits: &[Map<String, Value>], key: &str) -> String {
    let texts = edits.iter().filter_map(|edit| edit.get(key)?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// A call of `write` or `edit` as a patch.
fn patch(ours: &Map<String, Value>) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let path = text(ours.get("path"));
    let mut lines = vec!["*** Begin Patch".to_owned()];
    let add = |lines: &mut Vec<String>, sign: char, text: &str| {
        lines.extend(text.lines().map(|line| format!("{sign}{line}")));
    };
    if let Some(edits) = ours.get("edits").and_then(Value::as_array) {
        lines.push(format!("*** Update File: {path}"));
        for edit in edits {
            lines.push("@@".to_owned());
            add(&mut lines, '-', &text(edit.get("old_text")));
            add(&mut lines, '+', &text(edit.get("new_text")));
        }
    } else {
        lines.push(format!("*** Add File: {path}"));
        add(&mut lines, '+', &text(ours.get("content")));
    }
    lines.push("*** End Patch".to_owned());
    lines.join("\n")
}
