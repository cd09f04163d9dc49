//! `/plan`, as a user types it.

/// What a user asked plan mode for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanCommand {
    /// `/plan TASK`: to begin.
    Enter,
    /// `/plan approve`: the plan is approved.
    Approve,
    /// `/plan off`: to leave.
    Off,
}

impl PlanCommand {
    /// The command at the beginning of a text, and the rest of the text.
    pub fn parse(text: &str) -> Option<(Self, &str)> {
        let (rest, line) = (after_word(text, "/plan")?, text.lines().next()?);
        let commands = [("approve", Self::Approve), ("off", Self::Off)];
        for (word, command) in commands {
            // On the same line: what begins below is a task, which may have come out of a template.
            let is_meant = line.split_whitespace().nth(1) == Some(word);
            if let Some(rest) = after_word(rest, word).filter(|_| is_meant) {
                return Some((command, rest));
            }
        }
        Some((Self::Enter, rest))
    }
}

/// What follows a word that stands alone.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim())
}

#[cfg(test)]
mod tests {
    use super::PlanCommand::{self, Approve, Enter, Off};

    #[test]
    fn the_word_stands_alone() {
        for (text, expected) in [
            ("/plan", Some((Enter, ""))),
            ("/plan\n", Some((Enter, ""))),
            ("/plan a new door", Some((Enter, "a new door"))),
            ("/plan\n\nA door.\n", Some((Enter, "A door."))),
            ("/plan approve", Some((Approve, ""))),
            ("/plan  approve  now go", Some((Approve, "now go"))),
            ("/plan approved", Some((Enter, "approved"))),
            ("/plan off", Some((Off, ""))),
            ("/plan off\tand on", Some((Off, "and on"))),
            ("/plan office chairs", Some((Enter, "office chairs"))),
            ("/planet", None),
            ("/plan-it", None),
            ("/Plan", None),
            (" /plan", None),
            ("see /plan", None),
            ("", None),
        ] {
            assert_eq!(PlanCommand::parse(text), expected, "{text:?}");
        }
    }
}
