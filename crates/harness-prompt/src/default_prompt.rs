//! The default system prompt, in sections.

use std::sync::OnceLock;

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Error;
use crate::one_line::one_line;
use crate::section::Section;
use crate::templates::Templates;

/// The sections of the default system prompt, in order. The template of each is
/// `system-prompt/{section}`.
pub const SECTIONS: [&str; 4] = ["role", "rules", "tools", "workspace"];

/// What the default system prompt is made from. Nothing in it changes from turn to turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemPromptValues {
    /// The tools on offer, in order. The prompt speaks of no others.
    pub tools: Vec<ToolHint>,
    /// The folder that the agent works in.
    pub working_dir: String,
    /// The operating system: [`std::env::consts::OS`].
    pub platform: String,
    /// Where temporary files go; not spoken of if empty.
    pub temporary_folder: String,
}

/// A tool on offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolHint {
    /// Its name.
    pub name: String,
    /// What its schema does not say, in a sentence; empty for most.
    pub hint: String,
}

/// The default system prompt from the built-in templates; [`Templates::system_prompt`] for others.
pub fn default_sections(values: &SystemPromptValues) -> Result<Vec<Section>, Error> {
    static BUILTIN: OnceLock<Templates> = OnceLock::new();
    BUILTIN.get_or_init(Templates::new).system_prompt(values)
}

impl Templates {
    /// The default system prompt, section by section; blank sections are left out.
    pub fn system_prompt(&self, values: &SystemPromptValues) -> Result<Vec<Section>, Error> {
        let values = values.to_value();
        let mut sections = Vec::with_capacity(SECTIONS.len());
        for name in SECTIONS {
            sections.extend(self.section(name, &values)?);
        }
        Ok(sections)
    }

    /// The section that the template `system-prompt/{name}` renders, essential; `None` if it is blank.
    pub fn section<V: Serialize + ?Sized>(
        &self,
        name: &str,
        values: &V,
    ) -> Result<Option<Section>, Error> {
        let template = format!("system-prompt/{name}");
        let text = self.render(&template, values)?;
        let text = text.trim_matches(['\n', '\r']);
        Ok((!text.trim().is_empty()).then(|| {
            let section = Section::new(name, text, format!("template:{template}"));
            section.with_rank(Section::ESSENTIAL)
        }))
    }
}

impl SystemPromptValues {
    /// The values as the built-in `system-prompt` templates take them; for rendering the whole of it,
    /// or a template of one's own, with [`Templates::render`].
    pub fn to_value(&self) -> Value {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
        let has = |name: &str| names.contains(&name);
        let search: Vec<&str> = ["grep", "find", "ls"]
            .into_iter()
            .filter(|n| has(n))
            .collect();
        let hints: Vec<Value> = self
            .tools
            .iter()
            .filter(|tool| !tool.hint.trim().is_empty())
            .map(|tool| json!({ "name": tool.name, "hint": tool.hint.trim() }))
            .collect();
        json!({
            "tools": names,
            "has_bash": has("bash"),
            "has_edit": has("edit"),
            "has_read": has("read"),
            "has_write": has("write"),
            "search": listed(&search),
            "hints": hints,
            "working_dir": one_line(&self.working_dir),
            "platform": one_line(&self.platform),
            "temporary_folder": one_line(&self.temporary_folder),
        })
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
