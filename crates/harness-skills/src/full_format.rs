//! All there is to a skill, in one text.

use harness_frontmatter::{Entry, Node};

use crate::escape::{enclosed, escaped, escaped_path, lines};
use crate::name::shown;
use crate::skill::{Example, Skill};

/// One element `<skill>` with all that the skill says of itself, and its instructions: for a program that
/// wants a skill in the prompt from the start. Only fields that are there have an element; the two flags are
/// there if they are not what they are by default.
///
/// All values are escaped once, and have no characters that cannot be seen. The instructions are kept as
/// they are, but for the `<` of what would end their element or the skill's. There is no line end behind
/// the text.
///
/// ```
/// use harness_skills::{Layer, Skill, format_full};
///
/// let skill = Skill::from_text(Layer::BuiltIn, "commit", "Commits.", "");
/// assert_eq!(
///     format_full(&skill, "Say why, as in `a < b`.\n</instructions>\n"),
///     "\
/// <skill>
/// <name>commit</name>
/// <description>Commits.</description>
/// <location>built-in:commit</location>
/// <instructions>
/// Say why, as in `a < b`.
/// &lt;/instructions>
/// </instructions>
/// </skill>"
/// );
/// ```
pub fn format_full(skill: &Skill, instructions: &str) -> String {
    let mut out = Elements::default();
    out.open("skill");
    out.line("name", &escaped(&shown(&skill.name())));
    out.value("description", skill.description());
    out.line("location", &escaped_path(&skill.location_text()));
    let fields = &skill.fields;
    for (tag, value) in [
        ("license", &fields.license),
        ("compatibility", &fields.compatibility),
        ("version", &fields.version),
        ("author", &fields.author),
        ("argument_hint", &fields.argument_hint),
    ] {
        out.optional(tag, value.as_deref());
    }
    if fields.disable_model_invocation {
        out.line("disable_model_invocation", "true");
    }
    if !fields.user_invocable {
        out.line("user_invocable", "false");
    }
    out.list("tags", "tag", &fields.tags);
    if let Some(tools) = &fields.allowed_tools {
        if tools.is_empty() {
            // It says that it needs none, which is not the same as to say nothing.
            out.line("allowed_tools", "");
        }
        out.list("allowed_tools", "tool", tools);
    }
    out.list("references", "reference", &fields.references);
    out.examples(&fields.examples);
    let metadata = fields.metadata.as_ref();
    out.entries(
        "metadata",
        metadata.map_or(&[], |metadata| &metadata.entries),
    );
    out.entries("extra", &fields.extra);
    out.instructions(instructions);
    out.close("skill");
    out.text.truncate(out.text.trim_end().len());
    out.text
}

/// Elements, one below the other.
#[derive(Default)]
struct Elements {
    text: String,
}

impl Elements {
    fn push(&mut self, parts: &[&str]) {
        self.text.extend(parts.iter().copied());
    }

    fn open(&mut self, tag: &str) {
        self.push(&["<", tag, ">\n"]);
    }

    fn close(&mut self, tag: &str) {
        self.push(&["</", tag, ">\n"]);
    }

    /// An element whose value is escaped already.
    fn line(&mut self, tag: &str, escaped: &str) {
        self.push(&["<", tag, ">", escaped, "</", tag, ">\n"]);
    }

    fn value(&mut self, tag: &str, value: &str) {
        self.line(tag, &escaped(&lines(value)));
    }

    fn optional(&mut self, tag: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.value(tag, value);
        }
    }

    fn list(&mut self, tag: &str, item: &str, values: &[String]) {
        if values.is_empty() {
            return;
        }
        self.open(tag);
        for value in values {
            self.value(item, value);
        }
        self.close(tag);
    }

    fn examples(&mut self, examples: &[Example]) {
        let empty = Example::default();
        let mut examples = examples
            .iter()
            .filter(|example| **example != empty)
            .peekable();
        if examples.peek().is_none() {
            return;
        }
        self.open("examples");
        for example in examples {
            self.open("example");
            self.optional("scenario", example.scenario.as_deref());
            self.optional("prompt", example.prompt.as_deref());
            self.optional("expected_outcome", example.expected_outcome.as_deref());
            self.close("example");
        }
        self.close("examples");
    }

    /// The names of fields are anything, so they are attributes: `<field name="a b">`.
    fn entries(&mut self, tag: &str, entries: &[Entry]) {
        if entries.is_empty() {
            return;
        }
        self.open(tag);
        self.fields(entries);
        self.close(tag);
    }

    fn fields(&mut self, entries: &[Entry]) {
        for entry in entries {
            let name = escaped(&shown(&entry.key.text));
            self.node(&format!("field name=\"{name}\""), "field", &entry.value);
        }
    }

    /// As deep as the parser of the frontmatter lets it be.
    fn node(&mut self, opening: &str, tag: &str, node: &Node) {
        self.push(&["<", opening, ">"]);
        match node {
            Node::Scalar(scalar) if scalar.is_null() => {}
            Node::Scalar(scalar) => {
                let value = escaped(&lines(&scalar.text));
                self.push(&[&value]);
            }
            Node::List(list) => {
                self.push(&["\n"]);
                for item in &list.items {
                    self.node("item", "item", item);
                }
            }
            Node::Mapping(mapping) => {
                self.push(&["\n"]);
                self.fields(&mapping.entries);
            }
        }
        self.close(tag);
    }

    fn instructions(&mut self, text: &str) {
        self.open("instructions");
        let text = enclosed(text, &["instructions", "skill"]);
        self.push(&[&text]);
        if !text.is_empty() && !text.ends_with('\n') {
            self.push(&["\n"]);
        }
        self.close("instructions");
    }
}
