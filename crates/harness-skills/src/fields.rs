//! From the fields of a file to those of a skill.

use harness_frontmatter::{Entry, Mapping, Node, Position, Repair, RepairKind, Style};

use crate::allowed_tools::{has_commas, split_tools};
use crate::field_name::{BEYOND, kebab, usual};
use crate::finding::Finding;
use crate::invocation_flag::{InvocationFlag, truth};
use crate::name::{Identity, LONGEST_NAME, MAX_NAME, normal, one_line, shown, visible};
use crate::rule;
use crate::skill::{Example, SkillFields};

/// The most characters of a description, and of a statement of compatibility (agentskills.io).
const MAX_DESCRIPTION: usize = 1_024;
const MAX_COMPATIBILITY: usize = 500;

/// The key by which a mapping takes over the fields of another one (YAML 1.1, "merge").
pub(crate) const MERGE: &str = "<<";

/// What is read of the fields, with what was found on the way.
pub(crate) struct FieldReader<'f> {
    pub(crate) mapping: &'f Mapping,
    /// The file down to the end of its frontmatter, to tell where a value went.
    head: &'f [u8],
    /// The name of the folder, if it is known and can be seen.
    folder: Option<&'f str>,
    /// What was put right in the file.
    repairs: &'f [Repair],
    /// The fields by their usual spelling.
    pub(crate) known: Vec<(&'static str, &'f Entry)>,
    pub(crate) extra: Vec<Entry>,
    pub(crate) findings: Vec<Finding>,
}

impl<'f> FieldReader<'f> {
    pub(crate) fn new(
        mapping: &'f Mapping,
        head: &'f [u8],
        folder: Option<&'f str>,
        repairs: &'f [Repair],
    ) -> Self {
        Self {
            mapping,
            head,
            folder: folder.filter(|name| !Identity::of(name).is_blank()),
            repairs,
            known: Vec::new(),
            extra: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// The fields; whether they can be used is for the findings to say.
    pub(crate) fn read(mut self) -> (SkillFields, Vec<Finding>) {
        self.sort_out();
        let mut fields = SkillFields {
            name: self.name(),
            description: self.description(),
            license: self.text("license", &rule::LICENSE_TYPE),
            compatibility: self.compatibility(),
            metadata: self.metadata(),
            allowed_tools: self.allowed_tools(),
            disable_model_invocation: self.is_kept_from_models(),
            user_invocable: self.flag("user-invocable").unwrap_or(true),
            argument_hint: self.hint(),
            version: self.text("version", &rule::FIELD_TYPE),
            author: self.text("author", &rule::FIELD_TYPE),
            tags: self.texts("tags", true),
            references: self.texts("references", false),
            examples: self.examples(),
            extra: Vec::new(),
        };
        // The standard's own place for what it has no field for.
        if let Some(metadata) = &fields.metadata {
            let text = |key| metadata.text(key).ok().flatten().map(one_line);
            fields.version = fields.version.or_else(|| text("version"));
            fields.author = fields.author.or_else(|| text("author"));
        }
        fields.extra = self.extra;
        (fields, self.findings)
    }

    pub(crate) fn found(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Which entry is which field.
    fn sort_out(&mut self) {
        let merged = self.mapping.get(MERGE);
        for entry in &self.mapping.entries {
            let key = entry.key.text.as_str();
            let position = entry.key.position;
            if key == MERGE {
                self.found(
                    Finding::new(
                        &rule::MERGE_KEY,
                        "`<<` is no field: it is kept, and not merged",
                    )
                    .at(position)
                    .for_key(key),
                );
                self.extra.push(entry.clone());
                continue;
            }
            if let Some(field) = usual(key) {
                self.known.push((field, entry));
                if BEYOND.contains(&field) {
                    // No others are read from there.
                    let hint = if matches!(field, "version" | "author") {
                        "the standard has a place for it: below `metadata`"
                    } else {
                        "many clients read it; the standard does not have it"
                    };
                    self.unknown(key, position, hint);
                }
                continue;
            }
            // What `<<` repeats was written down for it.
            if merged.is_none_or(|value| !same(value, &entry.value)) {
                self.other_key(entry);
            }
        }
    }

    /// A key that is no field to the letter.
    fn other_key(&mut self, entry: &'f Entry) {
        let key = entry.key.text.as_str();
        let position = entry.key.position;
        let spelled = usual(&kebab(key));
        match spelled {
            Some(field) if self.mapping.get(field).is_none() => {
                let hint = format!("did you mean `{field}`?");
                self.unknown(key, position, &hint);
                self.found(
                    Finding::new(&rule::KEY_SPELLING, format!("`{key}` is read as `{field}`"))
                        .at(position)
                        .for_key(key),
                );
                self.known.push((field, entry));
            }
            _ => {
                let hint = "move it below `metadata`, or leave it out";
                self.unknown(key, position, hint);
                self.extra.push(entry.clone());
            }
        }
    }

    fn unknown(&mut self, key: &str, position: Position, hint: &str) {
        self.found(
            Finding::new(
                &rule::UNKNOWN_FIELD,
                format!("the standard has no field `{}`", shown(key)),
            )
            .at(position)
            .for_key(key)
            .with_hint(hint),
        );
    }

    fn entry(&self, field: &str) -> Option<&'f Entry> {
        let found = self.known.iter().find(|(name, _)| *name == field);
        found.map(|(_, entry)| *entry)
    }

    /// The value of a field, unless it is `null`.
    fn value(&self, field: &str) -> Option<&'f Node> {
        let value = self.entry(field).map(|entry| &entry.value);
        value.filter(|value| !value.is_null())
    }

    pub(crate) fn name(&mut self) -> String {
        let declared = match self.value("name") {
            Some(Node::Scalar(scalar)) if !Identity::of(&scalar.text).is_blank() => {
                let (text, position) = (scalar.text.as_str(), scalar.position);
                if text.trim() != text {
                    let finding = Finding::new(&rule::NAME_SPACE, "white space stands around it");
                    self.found(finding.at(position).for_key("name"));
                }
                self.check_name(text.trim(), position);
                Some(shown(text))
            }
            Some(Node::Scalar(_)) | None => {
                let at = self.entry("name").map(|entry| entry.value.position());
                self.no_name(&rule::NAME_MISSING, "there is no name", at);
                None
            }
            Some(other) => {
                let message = format!("the name has to be text, but is {}", other.kind());
                self.no_name(&rule::NAME_TYPE, &message, Some(other.position()));
                None
            }
        };
        declared
            .or_else(|| self.folder.map(shown))
            .unwrap_or_default()
    }

    fn no_name(&mut self, rule: &rule::Rule, message: &str, at: Option<Position>) {
        let mut finding = Finding::new(rule, message)
            .at(at.unwrap_or(self.mapping.position))
            .for_key("name");
        match self.folder {
            Some(folder) => {
                finding = finding.with_hint(format!("write `name: {}`", shown(folder)));
            }
            None => finding = finding.fatal(),
        }
        self.found(finding);
    }

    /// The rules of the standard for names.
    fn check_name(&mut self, text: &str, position: Position) {
        let name = normal(text);
        let chars = name.chars().count();
        if chars > MAX_NAME {
            let message = format!("the name has {chars} characters; the most is {MAX_NAME}");
            let finding = Finding::new(&rule::NAME_LONG, message);
            let finding = finding.at(position).for_key("name");
            self.findings
                .push(if chars.max(text.chars().count()) > LONGEST_NAME {
                    finding.fatal()
                } else {
                    finding
                });
        }
        let mut found = |rule: &rule::Rule, message: String| {
            let finding = Finding::new(rule, message).at(position).for_key("name");
            self.findings.push(finding);
        };
        if name.to_lowercase() != name {
            let message = "the name has to be in lower case".to_owned();
            found(&rule::NAME_CASE, message);
        }
        if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            let message = "a hyphen begins or ends the name, or follows another one".to_owned();
            found(&rule::NAME_HYPHEN, message);
        }
        if let Some(c) = name.chars().find(|c| !(c.is_alphanumeric() || *c == '-')) {
            let c = c.escape_debug();
            let message = format!(
                "the name has `{c}` in it; letters, digits and hyphens are what it may have"
            );
            found(&rule::NAME_CHARS, message);
        }
        if let Some(folder) = self.folder
            && normal(folder) != name
        {
            let folder = shown(folder);
            let message = format!("the folder is called `{folder}`; both have to be the same");
            let finding = Finding::new(&rule::NAME_DIR, message).at(position);
            let hint = format!("rename the folder, or write `name: {folder}`");
            self.findings.push(finding.for_key("name").with_hint(hint));
        }
    }

    pub(crate) fn description(&mut self) -> String {
        let (message, position) = match self.value("description") {
            Some(Node::Scalar(scalar)) => {
                let text = visible(&scalar.text);
                let text = text.trim();
                if !text.is_empty() {
                    let chars = text.chars().count();
                    if chars > MAX_DESCRIPTION {
                        let message = format!(
                            "the description has {chars} characters; the most is {MAX_DESCRIPTION}"
                        );
                        let finding = Finding::new(&rule::DESC_LONG, message);
                        self.found(finding.at(scalar.position).for_key("description"));
                    }
                    if scalar.style == Style::Plain && self.has_comment(scalar.position.line) {
                        let message = "` #` begins a comment, which ends the description";
                        let finding = Finding::new(&rule::DESC_COMMENT, message)
                            .at(scalar.position)
                            .for_key("description");
                        self.found(finding.with_hint("put the whole text in quotes"));
                    }
                    return text.to_owned();
                }
                ("the description is blank".to_owned(), scalar.position)
            }
            Some(other) => {
                let message = format!("the description has to be text, but is {}", other.kind());
                let finding = Finding::new(&rule::DESC_TYPE, message);
                self.found(finding.at(other.position()).for_key("description"));
                return String::new();
            }
            None => match self.entry("description") {
                Some(entry) if self.has_comment(entry.key.position.line) => (
                    "there is no description: `#` begins a comment".to_owned(),
                    entry.key.position,
                ),
                Some(entry) => ("the description is empty".to_owned(), entry.key.position),
                None => ("there is no description".to_owned(), self.mapping.position),
            },
        };
        let hint = if message.contains('#') {
            "put the text in quotes"
        } else {
            "say what it does, and when to use it: that is all that a model sees of it"
        };
        let finding = Finding::new(&rule::DESC_MISSING, message);
        self.found(finding.at(position).for_key("description").with_hint(hint));
        String::new()
    }

    /// Whether a line has a comment behind what else it has.
    fn has_comment(&self, line: usize) -> bool {
        // Most files have none.
        if !self.head.contains(&b'#') {
            return false;
        }
        let text = String::from_utf8_lossy(self.head);
        let line = text.lines().nth(line.saturating_sub(1));
        line.is_some_and(|line| line.contains(" #") || line.contains("\t#"))
    }

    fn compatibility(&mut self) -> Option<String> {
        let entry = self.entry("compatibility")?;
        let position = entry.value.position();
        let found = |rule, message: String| {
            Finding::new(rule, message)
                .at(position)
                .for_key("compatibility")
        };
        match &entry.value {
            Node::Scalar(scalar) if scalar.is_null() || scalar.text.trim().is_empty() => {
                let message = "compatibility says nothing; leave it out".to_owned();
                self.found(found(&rule::COMPAT_EMPTY, message));
                None
            }
            Node::Scalar(scalar) => {
                let text = visible(&scalar.text);
                let chars = text.trim().chars().count();
                if chars > MAX_COMPATIBILITY {
                    let message = format!(
                        "compatibility has {chars} characters; the most is {MAX_COMPATIBILITY}"
                    );
                    self.found(found(&rule::COMPAT_LONG, message));
                }
                Some(text.trim().to_owned())
            }
            other => {
                let message = format!("compatibility has to be text, but is {}", other.kind());
                self.found(found(&rule::COMPAT_TYPE, message));
                self.extra.push(entry.clone());
                None
            }
        }
    }

    fn metadata(&mut self) -> Option<Mapping> {
        match self.value("metadata")? {
            Node::Mapping(metadata) => {
                let nested = metadata
                    .entries
                    .iter()
                    .find(|entry| !matches!(entry.value, Node::Scalar(_)));
                if let Some(entry) = nested {
                    let message = format!(
                        "`{}` is {}; the standard has texts only here",
                        shown(&entry.key.text),
                        entry.value.kind()
                    );
                    let finding = Finding::new(&rule::META_NESTED, message);
                    self.found(finding.at(entry.key.position).for_key("metadata"));
                }
                Some(metadata.clone())
            }
            other => {
                let message = format!("metadata has to be a mapping, but is {}", other.kind());
                let finding = Finding::new(&rule::META_TYPE, message);
                self.found(finding.at(other.position()).for_key("metadata"));
                None
            }
        }
    }

    /// `None` only if the file does not say: what cannot be read allows nothing, not everything.
    fn allowed_tools(&mut self) -> Option<Vec<String>> {
        const KEY: &str = "allowed-tools";
        let Some(entry) = self.entry(KEY) else {
            let was_there = self.repairs.iter().any(|repair| {
                repair.kind == RepairKind::Dropped && usual(&kebab(&repair.key)) == Some(KEY)
            });
            return was_there.then(Vec::new);
        };
        let position = entry.value.position();
        let found = |rule, message: &str| Finding::new(rule, message).at(position).for_key(KEY);
        let tools = match &entry.value {
            Node::Scalar(scalar) if scalar.is_null() => Vec::new(),
            Node::Scalar(scalar) => {
                if has_commas(&scalar.text) {
                    let message =
                        "the standard has spaces between tools, no commas; clients take both";
                    self.found(found(&rule::TOOLS_FORM, message));
                }
                split_tools(&visible(&scalar.text))
            }
            Node::List(list) => {
                let message = "the standard has one text with spaces between tools, no list";
                self.found(found(&rule::TOOLS_FORM, message));
                let texts = list.items.iter().filter_map(|item| match item {
                    Node::Scalar(scalar) => Some(shown(&scalar.text)),
                    _ => None,
                });
                texts.filter(|tool| !tool.is_empty()).collect()
            }
            Node::Mapping(_) => {
                let message = "allowed-tools has to be text, but is a mapping: it allows none";
                self.found(found(&rule::TOOLS_TYPE, message));
                return Some(Vec::new());
            }
        };
        if tools.is_empty() {
            self.found(found(&rule::TOOLS_EMPTY, "allowed-tools names no tool"));
        }
        Some(tools)
    }

    /// A text in one line. What is no text goes to the other fields.
    fn text(&mut self, field: &str, rule: &rule::Rule) -> Option<String> {
        let entry = self.entry(field)?;
        match self.value(field)? {
            Node::Scalar(scalar) => Some(shown(&scalar.text)).filter(|text| !text.is_empty()),
            other => {
                let message = format!("`{field}` has to be text, but is {}", other.kind());
                let finding = Finding::new(rule, message);
                self.found(finding.at(other.position()).for_key(field));
                self.extra.push(entry.clone());
                None
            }
        }
    }

    /// `argument-hint`, which people also write as lists: `[file]` is one for YAML.
    fn hint(&mut self) -> Option<String> {
        if let Some(Node::List(list)) = self.value("argument-hint") {
            let items = list.items.iter().map(|item| match item {
                Node::Scalar(scalar) => Some(format!("[{}]", shown(&scalar.text))),
                _ => None,
            });
            if let Some(items) = items.collect::<Option<Vec<_>>>() {
                return Some(items.join(" ")).filter(|hint| !hint.is_empty());
            }
        }
        self.text("argument-hint", &rule::FIELD_TYPE)
    }

    fn is_kept_from_models(&mut self) -> bool {
        let flag = InvocationFlag {
            mapping: self.mapping,
            head: self.head,
            repairs: self.repairs,
        };
        let (is_kept, doubt) = flag.read();
        self.findings.extend(doubt);
        is_kept
    }

    fn flag(&mut self, field: &str) -> Option<bool> {
        let value = self.value(field)?;
        if let Node::Scalar(scalar) = value
            && let Some(value) = truth(&scalar.text)
        {
            return Some(value);
        }
        let message = format!("`{field}` has to be true or false");
        let finding = Finding::new(&rule::FIELD_TYPE, message);
        self.found(finding.at(value.position()).for_key(field));
        None
    }

    /// A list of texts; also one text, with commas between if `split`.
    fn texts(&mut self, field: &str, split: bool) -> Vec<String> {
        let Some(value) = self.value(field) else {
            return Vec::new();
        };
        let texts: Option<Vec<String>> = match value {
            Node::Scalar(scalar) if split => Some(scalar.text.split(',').map(shown).collect()),
            Node::Scalar(scalar) => Some(vec![shown(&scalar.text)]),
            Node::List(list) => list
                .items
                .iter()
                .map(|item| match item {
                    Node::Scalar(scalar) => Some(shown(&scalar.text)),
                    _ => None,
                })
                .collect(),
            Node::Mapping(_) => None,
        };
        let Some(texts) = texts else {
            self.odd_list(field, value);
            return Vec::new();
        };
        texts.into_iter().filter(|text| !text.is_empty()).collect()
    }

    fn examples(&mut self) -> Vec<Example> {
        const KEY: &str = "examples";
        let Some(value) = self.value(KEY) else {
            return Vec::new();
        };
        let one = |node: &Node| match node {
            Node::Scalar(scalar) => Some(Example {
                prompt: Some(visible(&scalar.text).trim().to_owned()),
                ..Example::default()
            }),
            Node::Mapping(mapping) => Some(example(mapping)),
            Node::List(_) => None,
        };
        let examples: Option<Vec<Example>> = match value {
            Node::List(list) => list.items.iter().map(one).collect(),
            other => one(other).map(|example| vec![example]),
        };
        let Some(mut examples) = examples else {
            self.odd_list(KEY, value);
            return Vec::new();
        };
        examples.retain(|example| *example != Example::default());
        examples
    }

    fn odd_list(&mut self, field: &str, value: &Node) {
        let message = format!("`{field}` makes no sense: it is {}", value.kind());
        let finding = Finding::new(&rule::FIELD_TYPE, message);
        self.found(finding.at(value.position()).for_key(field));
        if let Some(entry) = self.entry(field) {
            self.extra.push(entry.clone());
        }
    }
}

fn example(mapping: &Mapping) -> Example {
    let text = |keys: &[&str]| {
        let entry = mapping
            .entries
            .iter()
            .find(|entry| keys.contains(&kebab(&entry.key.text).as_str()));
        match entry.map(|entry| &entry.value) {
            Some(Node::Scalar(scalar)) if !scalar.is_null() => {
                Some(visible(&scalar.text).trim().to_owned()).filter(|text| !text.is_empty())
            }
            _ => None,
        }
    };
    Example {
        scenario: text(&["scenario", "name", "title"]),
        prompt: text(&["prompt", "input"]),
        expected_outcome: text(&["expected-outcome", "expected", "outcome", "output"]),
    }
}

/// Whether two values say the same, wherever they stand.
fn same(one: &Node, other: &Node) -> bool {
    match (one, other) {
        (Node::Scalar(one), Node::Scalar(other)) => one.text == other.text,
        (Node::List(one), Node::List(other)) => {
            one.items.len() == other.items.len()
                && one.items.iter().zip(&other.items).all(|(a, b)| same(a, b))
        }
        (Node::Mapping(one), Node::Mapping(other)) => {
            one.entries.len() == other.entries.len()
                && one
                    .entries
                    .iter()
                    .zip(&other.entries)
                    .all(|(a, b)| a.key.text == b.key.text && same(&a.value, &b.value))
        }
        _ => false,
    }
}
