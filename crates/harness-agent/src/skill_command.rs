//! `/skill:name arguments`.

use harness_skills::{Activation, Catalogue, Limits};

/// What a command that loads a skill begins with.
const BEGINNING: &str = "/skill:";

/// The command at the beginning of a text that loads a skill: `/skill:name arguments`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillCommand<'t> {
    /// The name, as [`Catalogue::find`] takes it: also `name@layer`, and in any script.
    pub name: &'t str,
    /// What stands behind it, without white space at either end.
    pub arguments: &'t str,
}

impl<'t> SkillCommand<'t> {
    /// The command that `text` is, if it is one. Whether there is a skill of that name is not looked at.
    pub fn parse(text: &'t str) -> Option<Self> {
        let rest = text.strip_prefix(BEGINNING)?;
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (name, arguments) = rest.split_at(end);
        (!name.is_empty()).then(|| Self {
            name,
            arguments: arguments.trim(),
        })
    }

    /// Reads the skill, if a user may load it; or why not, in words for people.
    pub fn load(&self, catalogue: &Catalogue, limits: &Limits) -> Result<Activation, String> {
        let activation = catalogue
            .activate(self.name, limits)
            .map_err(|error| error.to_string())?;
        // As its file is now.
        if !activation.skill.is_for_users() {
            return Err("the skill is not for users (`user-invocable: false`)".to_owned());
        }
        Ok(activation)
    }

    /// What takes the place of the command: the instructions, and the arguments behind them.
    pub fn text(&self, activation: &Activation) -> String {
        let mut text = activation.text();
        if !self.arguments.is_empty() {
            text.push_str("\n\n");
            text.push_str(self.arguments);
        }
        text
    }
}
