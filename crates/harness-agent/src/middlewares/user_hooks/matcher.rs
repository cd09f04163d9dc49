//! Which tools a hook is for.

use regex::{Regex, RegexBuilder};

use super::hook_words::{near, question};
use crate::foreign_tool::ForeignTool;

/// The most bytes that a compiled expression may take.
const MAX_REGEX_BYTES: usize = 1024 * 1024;

/// By which name a matcher is for a tool.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fit {
    /// By ours, or as it is for everything.
    Ours,
    /// Only by one that another agent has for it.
    Theirs(&'static ForeignTool),
}

/// What is said of a matcher that is for nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misfit {
    /// Whether nobody has anything of this name.
    pub(super) is_unknown: bool,
    pub(super) text: String,
}

/// What a hook is for: everything, or what an expression matches as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Matcher {
    text: String,
    regex: Option<Regex>,
}

impl Matcher {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let regex = match text {
            "" | "*" => None,
            text => {
                // By itself first, so that its own parentheses cannot close ours.
                let compile = |text: &str| {
                    RegexBuilder::new(text)
                        .size_limit(MAX_REGEX_BYTES)
                        .build()
                        .map_err(|error| problem(text, &error))
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

    /// By which name it is for a tool of ours, if it is.
    pub(super) fn fit(&self, tool: &str) -> Option<Fit> {
        if self.matches(&[tool]) {
            return Some(Fit::Ours);
        }
        ForeignTool::of(tool)
            .find(|other| self.matches(&[other.theirs]))
            .map(Fit::Theirs)
    }

    /// What is wrong with it, if it is for none of `names`, or if one of its names is a near miss. `elsewhere` are
    /// names that are known, but not here.
    pub(super) fn misfit(&self, names: &[&str], elsewhere: &[&str], what: &str) -> Option<Misfit> {
        self.regex.as_ref()?;
        let is_known = |word: &&str| names.contains(word) || elsewhere.contains(word);
        let is_list = self
            .text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-|".contains(&b));
        let words: Vec<&str> = self.text.split('|').filter(|_| is_list).collect();
        // Tools of servers come and go.
        let mut strange = words
            .iter()
            .filter(|word| !is_known(word) && !word.starts_with("mcp__"));
        let meant = strange.find_map(|word| Some((*word, near(word, names.iter().copied())?)));
        if self.matches(names) {
            // A list of which a part is for something else entirely is no mistake.
            let (word, near) = meant?;
            return Some(Misfit {
                is_unknown: true,
                text: format!(
                    "`{word}` in the matcher \"{}\" fits no {what}; did you mean `{near}`?",
                    self.text
                ),
            });
        }
        if self.text.contains("mcp__") {
            return None;
        }
        let is_unknown = !self.matches(elsewhere);
        let here = if is_unknown { "" } else { " here" };
        Some(Misfit {
            is_unknown,
            text: format!(
                "matcher \"{}\" fits no {what}{here}, so its hooks never run{}",
                self.text,
                question(meant.map(|(_, near)| near))
            ),
        })
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

/// What is wrong with an expression, in one line: without the drawing of where that is.
fn problem(text: &str, error: &regex::Error) -> String {
    let told = error.to_string();
    let why = told.lines().last().unwrap_or_default();
    let why = why.strip_prefix("error: ").unwrap_or(why);
    format!("the matcher `{text}` is no expression: {why}")
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
            assert_eq!(found.fit(tool).is_some(), is_for, "{matcher} {tool}");
        }
        for broken in ["(", "[", "a)|(b", "*a", "(?<=x)y"] {
            Matcher::new(broken).expect_err(broken);
        }
    }

    #[test]
    fn the_name_that_a_matcher_fits_by() {
        for (matcher, tool, name) in [
            ("", "bash", "bash"),
            ("*", "edit", "edit"),
            (".*", "edit", "edit"),
            ("bash|Bash", "bash", "bash"),
            ("Bash", "bash", "Bash"),
            ("Edit|Write", "edit", "Edit"),
            ("Edit|MultiEdit|apply_patch", "edit", "Edit"),
            ("MultiEdit", "edit", "MultiEdit"),
            ("apply_patch", "write", "apply_patch"),
            ("Write|apply_patch", "write", "Write"),
        ] {
            let fit = Matcher::new(matcher).expect("an expression").fit(tool);
            let found = match fit.expect(matcher) {
                Fit::Ours => tool,
                Fit::Theirs(other) => other.theirs,
            };
            assert_eq!(found, name, "{matcher} {tool}");
        }
    }

    #[test]
    fn what_a_matcher_is_not_for() {
        let here = ["bash", "Bash", "edit", "Edit", "MultiEdit", "mine"];
        let elsewhere = ["Task", "WebFetch", "TodoWrite"];
        for (matcher, told) in [
            ("*", None),
            ("Bash|Edit", None),
            (".*", None),
            ("Edit|Write|NotebookEdit", None),
            ("mcp__memory__.*", None),
            ("Bsah|mcp__memory__create", None),
            (
                "Bsah",
                Some((
                    true,
                    "matcher \"Bsah\" fits no tool, so its hooks never run; did you mean `Bash`?",
                )),
            ),
            (
                "Bsah|Edit",
                Some((
                    true,
                    "`Bsah` in the matcher \"Bsah|Edit\" fits no tool; did you mean `Bash`?",
                )),
            ),
            (
                "Frobnicate",
                Some((
                    true,
                    "matcher \"Frobnicate\" fits no tool, so its hooks never run",
                )),
            ),
            (
                "Bash,Edit",
                Some((
                    true,
                    "matcher \"Bash,Edit\" fits no tool, so its hooks never run",
                )),
            ),
            (
                "^Bas",
                Some((
                    true,
                    "matcher \"^Bas\" fits no tool, so its hooks never run",
                )),
            ),
            (
                "Task|WebFetch",
                Some((
                    false,
                    "matcher \"Task|WebFetch\" fits no tool here, so its hooks never run",
                )),
            ),
            (
                "Todo.*",
                Some((
                    false,
                    "matcher \"Todo.*\" fits no tool here, so its hooks never run",
                )),
            ),
        ] {
            let found = Matcher::new(matcher).expect("an expression");
            let found = found.misfit(&here, &elsewhere, "tool");
            let found = found.map(|it| (it.is_unknown, it.text));
            let told = told.map(|(is_unknown, text)| (is_unknown, text.to_owned()));
            assert_eq!(found, told, "{matcher}");
        }
    }
}
