//! Which tools a hook is for.

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer, de::Error as _};

/// The names that other agents' hook files have for our tools.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("bash", &["Bash"]),
    ("read", &["Read"]),
    ("write", &["Write", "apply_patch"]),
    ("edit", &["Edit", "MultiEdit", "apply_patch"]),
    ("grep", &["Grep"]),
    ("find", &["Glob"]),
    ("ls", &["LS"]),
    ("todo_write", &["TodoWrite"]),
    ("load_skill", &["Skill"]),
    ("plan_enter", &["EnterPlanMode"]),
    ("plan_exit", &["ExitPlanMode"]),
];

/// The most bytes that a compiled expression may take.
const MAX_REGEX_BYTES: usize = 1024 * 1024;

/// The names of a tool: ours, then those that others have for it.
pub(super) fn names_of(tool: &str) -> Vec<&str> {
    let others = OTHER_NAMES.iter().find(|(ours, _)| *ours == tool);
    let others = others.map_or(&[][..], |(_, others)| others);
    std::iter::once(tool)
        .chain(others.iter().copied())
        .collect()
}

/// What a hook is for: everything, or what an expression matches as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Matcher {
    text: String,
    regex: Option<Regex>,
}

impl Matcher {
    fn new(text: &str) -> Result<Self, String> {
        let regex = match text {
            "" | "*" => None,
            text => {
                // By itself first, so that its own parentheses cannot close ours.
                let compile = |text: &str| {
                    RegexBuilder::new(text)
                        .size_limit(MAX_REGEX_BYTES)
                        .build()
                        .map_err(|error| format!("the matcher `{text}` is no expression: {error}"))
                };
                compile(text)?;
                Some(compile(&format!(r"\A(?:{text})\z"))?)
            }
        };
        Ok(Self {
            text: text.to_owned(),
            regex,
        })
    }

    /// Whether it is for one of these names.
    pub(super) fn matches(&self, names: &[&str]) -> bool {
        match &self.regex {
            None => true,
            Some(regex) => names.iter().any(|name| regex.is_match(name)),
        }
    }

    /// As it is written; `*` for everything.
    pub(super) fn text(&self) -> &str {
        if self.regex.is_some() {
            &self.text
        } else {
            "*"
        }
    }
}

impl<'de> Deserialize<'de> for Matcher {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        Self::new(&text.unwrap_or_default()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_is_for_whole_names_and_for_the_names_of_others() {
        for (matcher, tool, is_for) in [
            ("", "bash", true),
            ("*", "bash", true),
            (".*", "anything", true),
            ("Bash", "bash", true),
            ("bash", "bash", true),
            ("BASH", "bash", false),
            ("Bas", "bash", false),
            ("ash", "bash", false),
            ("Bash|Edit", "bash", true),
            ("Bash|Edit", "edit", true),
            ("Bash|Edit", "bash_or_edit", false),
            ("Edit|Write", "edit", true),
            ("Write|MultiEdit", "edit", true),
            ("MultiEdit", "write", false),
            ("Write", "write", true),
            ("Read", "read", true),
            ("Grep", "grep", true),
            ("Glob", "find", true),
            ("LS", "ls", true),
            ("TodoWrite", "todo_write", true),
            ("Todo.*", "todo_write", true),
            ("Skill", "load_skill", true),
            ("ExitPlanMode", "plan_exit", true),
            ("apply_patch", "write", true),
            ("mcp__memory__.*", "mcp__memory__create", true),
            ("mcp__memory", "mcp__memory__create", false),
            ("Notebook.*", "bash", false),
            ("Bash\n", "bash", false),
            ("(?i)BASH", "bash", true),
        ] {
            let found = Matcher::new(matcher).expect("an expression");
            assert_eq!(found.matches(&names_of(tool)), is_for, "{matcher} {tool}");
        }
        for broken in ["(", "[", "a)|(b", "*a", "(?<=x)y"] {
            Matcher::new(broken).expect_err(broken);
        }
    }
}
