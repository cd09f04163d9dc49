//! All that there is to say of one skill.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use harness_skills::{
    Activation, Catalogue, Entry, Identity, Layer, LookupError, Mapping, Node, Root, SKILL_FILE,
    Skill, Skills, Status,
};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::skill_diagnostics::{beside_status, line};
use crate::skill_list::{SkillList, reference, why_not};
use crate::terminal::one_line;

/// One skill of a catalogue.
pub(crate) struct SkillPage {
    catalogue: Arc<Catalogue>,
    /// Its place among the entries.
    place: usize,
    /// Whether a root leads to it.
    is_used: bool,
    /// Its instructions, and the files in its folder. `None` if it is invalid.
    activation: Option<Activation>,
}

impl SkillPage {
    /// Of the skill of that name: the one that is used under it. What is held back or invalid is found, too.
    pub(crate) fn named(name: &str, skills: &Skills) -> Result<Self, Failure> {
        let catalogue = skills.catalogue();
        let entry = match catalogue.find(name) {
            Ok(skill) => place_of(&catalogue, skill),
            Err(LookupError::Held { .. } | LookupError::Invalid { .. }) => {
                set_aside(&catalogue, name)
            }
            Err(error) => return Err(unknown(&error)),
        };
        match entry {
            Some(place) => Ok(Self::of(catalogue, place, true, skills)),
            None => Err(Failure::usage(format!("there is no skill `{name}`"))),
        }
    }

    /// Of the skill at a path: its file, or its folder.
    pub(crate) fn at(path: &Path, skills: &Skills) -> Result<Self, Failure> {
        let alone = Skills::discover(&[Root::new(Layer::Explicit, path)]);
        let found = alone.catalogue();
        let shown = path.display();
        let file = match found.entries() {
            [] => {
                return Err(
                    Failure::usage(format!("there is no {SKILL_FILE} at {shown}"))
                        .hint("name one, or its folder"),
                );
            }
            [entry] => entry.skill.file().and_then(|file| file.canonicalize().ok()),
            entries => {
                let count = entries.len();
                return Err(
                    Failure::usage(format!("there are {count} skills below {shown}"))
                        .hint("name one of them"),
                );
            }
        };
        let catalogue = skills.catalogue();
        let used = catalogue.entries().iter().position(|entry| {
            let path = entry.skill.file();
            let path = path.and_then(|path| path.canonicalize().ok());
            path.is_some() && path == file
        });
        Ok(match used {
            Some(place) => Self::of(catalogue, place, true, skills),
            None => Self::of(found, 0, false, skills),
        })
    }

    fn of(catalogue: Arc<Catalogue>, place: usize, is_used: bool, skills: &Skills) -> Self {
        let entry = catalogue.entries().get(place);
        let activation = entry.and_then(|entry| Activation::of(&entry.skill, skills.limits()).ok());
        Self {
            catalogue,
            place,
            is_used,
            activation,
        }
    }

    fn entry(&self) -> &Entry {
        &self.catalogue.entries()[self.place]
    }

    fn shadows(&self) -> impl Iterator<Item = (&Skill, bool)> {
        shadowed_by(&self.catalogue, &self.entry().skill)
    }

    /// For people: a header, what is wrong, and the instructions.
    pub(crate) fn text(&self) -> String {
        let entry = self.entry();
        let (skill, fields) = (&entry.skill, &entry.skill.fields);
        let mut header = Header::default();
        header.line("name", &skill.name());
        header.line("description", skill.description());
        let list = SkillList::of(&self.catalogue);
        if self.is_used {
            header.optional("command", list.command(skill));
        }
        header.line("layer", skill.layer.name());
        header.line("path", &skill.location_text());
        header.optional("origin", skill.origin.as_deref());
        let status = match (self.is_used, why_not(entry)) {
            (false, None) => "not in use: no root leads to it; `--skill PATH` does".to_owned(),
            (true, None) => entry.status.word().to_owned(),
            (_, Some(why)) => format!("{} ({why})", entry.status.word()),
        };
        header.line("status", &status);
        for (other, same_content) in self.shadows() {
            let same = if same_content { ", the same" } else { "" };
            let location = other.location_text();
            header.line("shadows", &format!("{}: {location}{same}", other.layer));
        }
        header.optional("version", fields.version.as_deref());
        header.optional("author", fields.author.as_deref());
        header.optional("license", fields.license.as_deref());
        header.optional("compatibility", fields.compatibility.as_deref());
        if let Some(tools) = &fields.allowed_tools {
            header.line("allowed tools", &tools.join(", "));
        }
        header.optional("arguments", fields.argument_hint.as_deref());
        if !skill.is_for_models() {
            header.line("models", "are not told of it");
        }
        if !skill.is_for_users() {
            header.line("users", "are not offered it as a command");
        }
        if !fields.tags.is_empty() {
            header.line("tags", &fields.tags.join(", "));
        }
        for reference in &fields.references {
            header.line("reference", reference);
        }
        let metadata = fields.metadata.iter().flat_map(|fields| &fields.entries);
        for other in metadata.chain(&fields.extra) {
            let name = format!("  {}", other.key.text);
            header.line(&name, &plain(&other.value));
        }
        for file in self.resources() {
            header.line("file", &file);
        }
        for diagnostic in beside_status(entry) {
            header.line("note", &line(diagnostic));
        }
        let mut text = header.0;
        if let Some(activation) = &self.activation {
            let _ = write!(text, "\n{}\n", activation.instructions);
        }
        text
    }

    /// For programs: what a list says of it, and the rest.
    pub(crate) fn json(&self) -> String {
        let entry = self.entry();
        let fields = &entry.skill.fields;
        let mut object = SkillList::of(&self.catalogue).object(entry);
        if !self.is_used {
            object["status"] = Value::Null;
            object["command"] = Value::Null;
        }
        let shadows = self.shadows();
        let instructions = self.activation.as_ref();
        let examples = fields.examples.iter().map(|example| {
            json!({
                "scenario": example.scenario,
                "prompt": example.prompt,
                "expected_outcome": example.expected_outcome,
            })
        });
        for (key, value) in [
            (
                "shadows",
                shadows.map(|(it, same)| reference(it, same)).collect(),
            ),
            ("license", json!(fields.license)),
            ("compatibility", json!(fields.compatibility)),
            (
                "metadata",
                fields.metadata.as_ref().map_or(Value::Null, mapping),
            ),
            ("allowed_tools", json!(fields.allowed_tools)),
            (
                "disable_model_invocation",
                json!(fields.disable_model_invocation),
            ),
            ("user_invocable", json!(fields.user_invocable)),
            ("argument_hint", json!(fields.argument_hint)),
            ("version", json!(fields.version)),
            ("author", json!(fields.author)),
            ("tags", json!(fields.tags)),
            ("references", json!(fields.references)),
            ("examples", examples.collect()),
            ("resources", json!(self.resources())),
            (
                "instructions",
                json!(instructions.map(|it| &it.instructions)),
            ),
        ] {
            object[key] = value;
        }
        let extra = fields.extra.iter();
        let extra = extra.map(|field| (field.key.text.clone(), value(&field.value)));
        object["extra"] = extra.collect::<Map<_, _>>().into();
        object.to_string()
    }

    fn resources(&self) -> Vec<String> {
        let files = self.activation.iter().flat_map(|it| &it.resources.files);
        files.map(|file| file.display().to_string()).collect()
    }
}

/// Lines of a name and a value.
#[derive(Default)]
pub(crate) struct Header(pub(crate) String);

impl Header {
    pub(crate) fn line(&mut self, name: &str, value: &str) {
        let (name, value) = (one_line(name), one_line(value));
        let _ = writeln!(self.0, "{name:<14} {value}");
    }

    pub(crate) fn optional(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.line(name, value);
        }
    }
}

/// Whether a text is the path of a skill, not its name.
pub(crate) fn is_path(text: &str) -> bool {
    text.contains('/') || matches!(text, "." | "..") || text.eq_ignore_ascii_case(SKILL_FILE)
}

/// Those that a skill has taken the name from, and whether they are the same.
pub(crate) fn shadowed_by<'c>(
    catalogue: &'c Catalogue,
    skill: &'c Arc<Skill>,
) -> impl Iterator<Item = (&'c Skill, bool)> {
    let entries = catalogue.entries().iter();
    entries.filter_map(move |other| match &other.status {
        Status::Shadowed { by, same_content } if Arc::ptr_eq(by, skill) => {
            Some((&*other.skill, *same_content))
        }
        _ => None,
    })
}

pub(crate) fn place_of(catalogue: &Catalogue, skill: &Arc<Skill>) -> Option<usize> {
    let mut entries = catalogue.entries().iter();
    entries.position(|entry| Arc::ptr_eq(&entry.skill, skill))
}

/// The first of a name that cannot be used, also with its layer behind it.
pub(crate) fn set_aside(catalogue: &Catalogue, name: &str) -> Option<usize> {
    let first = |name: &Identity, layer: Option<&str>| {
        let mut entries = catalogue.entries().iter();
        entries.position(|entry| {
            let skill = &entry.skill;
            skill.identity() == name && layer.is_none_or(|layer| skill.layer.name() == layer)
        })
    };
    let whole = Identity::of(name);
    first(&whole, None).or_else(|| {
        let (plain, layer) = whole.as_str().rsplit_once('@')?;
        first(&Identity::of(plain), Some(layer))
    })
}

fn unknown(error: &LookupError) -> Failure {
    match error {
        LookupError::Unknown { name, near } => {
            let failure = Failure::usage(format!("there is no skill `{name}`"));
            if near.is_empty() {
                failure.hint("`harness skills list --all` shows those that there are")
            } else {
                failure.hint(format!("did you mean `{}`?", near.join("`, `")))
            }
        }
        LookupError::Ambiguous { name, candidates } => {
            Failure::usage(format!("several skills are called `{name}`"))
                .hint(format!("name one of {}", candidates.join(", ")))
        }
        error => Failure::usage(error.to_string()),
    }
}

/// A value of frontmatter, for programs.
fn value(node: &Node) -> Value {
    match node {
        Node::Scalar(_) if node.is_null() => Value::Null,
        Node::Scalar(scalar) => json!(scalar.text),
        Node::List(list) => list.items.iter().map(value).collect(),
        Node::Mapping(fields) => mapping(fields),
    }
}

fn mapping(mapping: &Mapping) -> Value {
    let fields = mapping.entries.iter();
    let fields = fields.map(|field| (field.key.text.clone(), value(&field.value)));
    fields.collect::<Map<_, _>>().into()
}

/// A value of frontmatter, for people.
fn plain(node: &Node) -> String {
    match node {
        Node::Scalar(scalar) => scalar.text.clone(),
        node => value(node).to_string(),
    }
}
