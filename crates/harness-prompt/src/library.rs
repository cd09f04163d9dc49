//! Templates and slash commands in layers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::builtin::BUILTINS;
use crate::command_template::CommandTemplate;
use crate::default_prompt::{SECTIONS, SystemPromptValues};
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::folder::{self, Form, Found};
use crate::invocation::parse_invocation;
use crate::layer::Layer;
use crate::limits::Limits;
use crate::nesting::parse_steps;
use crate::parameter::Parameter;
use crate::reach::first_flaw;
use crate::section::Section;
use crate::template::Template;
use crate::template_file;
use crate::templates::Templates;

/// Named templates and slash commands, in layers.
///
/// Of several with one name, the one of the highest [`Layer`] counts; in one layer, the one that came
/// last. So a user or a project can replace any built-in template, and any part of one. The others stay
/// visible in [`Library::list`].
///
/// A replacement must not break what it is put into. Templates that would include each other in a circle,
/// include what is not there, give a partial arguments that it does not take, or nest too deep, are left
/// out, those of higher layers first, and the layer below counts instead.
#[derive(Clone, Debug)]
pub struct Library {
    templates: Vec<Held<Template>>,
    commands: Vec<Held<CommandTemplate>>,
    /// What comes with the crate, parsed once.
    builtins: Templates,
    /// What counts.
    winners: Templates,
    limits: Limits,
}

#[derive(Clone, Debug)]
struct Held<T> {
    item: T,
    layer: Layer,
    source: Option<PathBuf>,
    /// Why it is left out.
    problem: Option<Error>,
}

/// What a library holds, as [`Library::list`] shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed<'l> {
    /// A template or a command.
    pub kind: Kind,
    /// Its name.
    pub name: &'l str,
    /// Its layer.
    pub layer: Layer,
    /// The file that it was read from.
    pub source: Option<&'l Path>,
    /// What it is for; empty if nobody said.
    pub description: &'l str,
    /// What counts in its place.
    pub shadowed_by: Option<Shadow<'l>>,
    /// Why it is left out.
    pub problem: Option<&'l Error>,
}

/// What counts in the place of another one of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shadow<'l> {
    /// Its layer.
    pub layer: Layer,
    /// The file that it was read from.
    pub source: Option<&'l Path>,
}

/// What a library holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A [`Template`].
    Template,
    /// A [`CommandTemplate`].
    Command,
}

impl Default for Library {
    fn default() -> Self {
        Self::new()
    }
}

impl Library {
    /// The built-in templates.
    pub fn new() -> Self {
        Self {
            templates: Vec::new(),
            commands: Vec::new(),
            builtins: Templates::new(),
            winners: Templates::new(),
            limits: Limits::default(),
        }
    }

    /// Sets what rendering, expanding and reading folders may cost, from now on.
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.winners = self.winners.with_limits(limits.clone());
        self.limits = limits;
        self
    }

    /// Adds a template; `source` is the file that it came from, for [`Library::list`].
    ///
    /// A partial that is not there yet is no error: the template counts as soon as it is. Refused, with the
    /// library left as it was, if it cannot go together with what is there.
    pub fn add_template(
        &mut self,
        layer: Layer,
        template: Template,
        source: Option<PathBuf>,
    ) -> Result<(), Error> {
        self.templates.push(Held::new(template, layer, source));
        self.resolve();
        let problem = self.templates.last().and_then(|held| held.problem.clone());
        match problem {
            None | Some(Error::UnknownPartial { .. }) => Ok(()),
            Some(error) => {
                self.templates.pop();
                self.resolve();
                Err(error)
            }
        }
    }

    /// Adds a slash command; `source` is the file that it came from, for [`Library::list`].
    pub fn add_command(&mut self, layer: Layer, command: CommandTemplate, source: Option<PathBuf>) {
        self.commands.push(Held::new(command, layer, source));
    }

    /// Adds what is in a folder, and tells what is wrong with it. A folder that is not there is empty.
    ///
    /// - `NAME.md` is the slash command `/NAME`: a [`CommandTemplate`]. Not in folders below.
    /// - `NAME.hbs` is the template `NAME`, and `FOLDER/NAME.hbs` the template `FOLDER/NAME`. It may begin
    ///   with frontmatter: a `description`, and `parameters`, a list of `name`, `type` (see
    ///   [`ParameterKind::from_name`](crate::ParameterKind::from_name)), `description`, `required` and
    ///   `default`. One without a default is required unless `required` is false. A template that declares
    ///   no `parameters` takes those of the built-in one of its name.
    ///
    /// What else is there is passed over, and so is what is hidden (`.git`). Links are followed, and each
    /// file is read once, under its own name if it has one here. Pipes, devices and sockets are not opened.
    /// [`Limits`] bound it all. The result depends on the tree alone.
    pub fn read_folder(&mut self, layer: Layer, folder: &Path) -> Vec<Diagnostic> {
        let mut found = folder::read(folder, &self.limits);
        let mut diagnostics = std::mem::take(&mut found.diagnostics);
        let known_problems: Vec<bool> = self.templates.iter().map(Held::is_left_out).collect();
        let mut steps = 0;
        for file in found.files {
            if file.form == Form::Template {
                let max = self.limits.folder_parse_steps;
                let own = parse_steps(&String::from_utf8_lossy(&file.bytes));
                if own > max - steps {
                    let message =
                        "the templates together take too long to parse; this one is left out";
                    diagnostics.push(Diagnostic::new(file.path, None, message));
                    continue;
                }
                steps += own;
            }
            if let Err(error) = self.read_file(layer, &file, &mut diagnostics) {
                diagnostics.push(Diagnostic::of_error(file.path, &error));
            }
        }
        if self.templates.len() == known_problems.len() {
            return diagnostics;
        }
        self.resolve();
        for (index, held) in self.templates.iter().enumerate() {
            if let Some(problem) = &held.problem
                && known_problems.get(index) != Some(&true)
            {
                let path = held.source.clone();
                let path = path.unwrap_or_else(|| PathBuf::from(held.item.name()));
                let message = format!("left out: {problem}");
                diagnostics.push(Diagnostic::new(path, problem.line(), message));
            }
        }
        diagnostics
    }

    fn read_file(
        &mut self,
        layer: Layer,
        file: &Found,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<(), Error> {
        let Found { path, name, .. } = file;
        let text = match std::str::from_utf8(&file.bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = &file.bytes[..error.valid_up_to()];
                let line = valid.split(|&byte| byte == b'\n').count();
                let message = "the file is not UTF-8";
                diagnostics.push(Diagnostic::new(path, Some(line), message));
                return Ok(());
            }
        };
        match file.form {
            Form::Command => {
                let command = CommandTemplate::parse(name, text)?;
                self.add_command(layer, command, Some(path.clone()));
            }
            Form::Template => {
                check_template_name(name)?;
                let read = template_file::parse(name, text, || self.builtin_parameters(name))?;
                self.check_parameters(&read.template)?;
                for (line, key) in read.unknown {
                    let message = format!("`{}` means nothing here", key.escape_debug());
                    diagnostics.push(Diagnostic::new(path, Some(line), message));
                }
                self.templates
                    .push(Held::new(read.template, layer, Some(path.clone())));
            }
        }
        Ok(())
    }

    /// Who renders a built-in template gives it the values that it declares, and no others.
    fn check_parameters(&self, template: &Template) -> Result<(), Error> {
        let name = template.name();
        if !BUILTINS.iter().any(|builtin| builtin.name == name) {
            return Ok(());
        }
        let known = self.builtin_parameters(name);
        let unknown = template.parameters().iter().find(|parameter| {
            parameter.required && !known.iter().any(|known| known.name == parameter.name)
        });
        match unknown {
            None => Ok(()),
            Some(parameter) => Err(Error::Refused {
                template: name.to_owned(),
                line: None,
                message: format!(
                    "nobody gives the built-in template a value for `{}`: declare it with a default",
                    parameter.name
                ),
            }),
        }
    }

    /// The parameters of the built-in template of that name; none if there is no such template.
    fn builtin_parameters(&self, name: &str) -> Vec<Parameter> {
        let mut added = self.templates.iter().rev();
        if let Some(held) =
            added.find(|held| held.layer == Layer::BuiltIn && held.item.name() == name)
        {
            return held.item.parameters().to_vec();
        }
        let builtin = BUILTINS.iter().find(|builtin| builtin.name == name);
        builtin.map_or_else(Vec::new, |builtin| (builtin.parameters)())
    }

    /// The templates that count.
    pub fn templates(&self) -> &Templates {
        &self.winners
    }

    /// A section of the system prompt, from the template `system-prompt/{name}` that counts; `None` if it
    /// is blank.
    ///
    /// If a replacement fails with these values, the built-in template is rendered, and the error is given
    /// beside it: what a project brings along does not keep its user from working.
    pub fn section<V: Serialize + ?Sized>(
        &self,
        name: &str,
        values: &V,
    ) -> Result<(Option<Section>, Option<Error>), Error> {
        let template = format!("system-prompt/{name}");
        let replacement = self.winners().get(template.as_str()).copied();
        let error = match self.winners.section(name, values) {
            Ok(section) => {
                let held = replacement.map(|index| &self.templates[index]);
                return Ok((section.map(|section| sourced(section, held)), None));
            }
            Err(error) => error,
        };
        // It may also be a template that the built-in one includes.
        if self.templates.is_empty() {
            return Err(error);
        }
        let builtin = Templates::new().with_limits(self.limits.clone());
        Ok((builtin.section(name, values)?, Some(error)))
    }

    /// The default system prompt: [`section`](Self::section) for each of [`SECTIONS`]. Blank sections are
    /// left out.
    pub fn system_prompt(
        &self,
        values: &SystemPromptValues,
    ) -> Result<(Vec<Section>, Vec<Error>), Error> {
        let values = values.to_value();
        let (mut sections, mut errors) = (Vec::new(), Vec::new());
        for name in SECTIONS {
            let (section, error) = self.section(name, &values)?;
            sections.extend(section);
            errors.extend(error);
        }
        Ok((sections, errors))
    }

    /// Whether there is any slash command.
    pub fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// The slash command of that name that counts.
    pub fn command(&self, name: &str) -> Option<&CommandTemplate> {
        let named = self.commands.iter().filter(|held| held.item.name() == name);
        named.max_by_key(|held| held.layer).map(|held| &held.item)
    }

    /// The prompt that `text` stands for, if it begins with a slash command that is there; see
    /// [`parse_invocation`].
    ///
    /// An error if the prompt would be too long ([`Limits::expansion_bytes`]).
    pub fn expand(&self, text: &str) -> Result<Option<String>, Error> {
        let Some((name, rest)) = parse_invocation(text) else {
            return Ok(None);
        };
        let command = self.command(name);
        command
            .map(|command| command.expand(rest, &self.limits))
            .transpose()
    }

    /// All that is there, also what does not count: templates, then commands, by name, the highest layer
    /// first.
    pub fn list(&self) -> Vec<Listed<'_>> {
        let mut all = Vec::new();
        for held in self.templates.iter().rev() {
            all.push(held.listed(Kind::Template, held.item.name(), held.item.description()));
        }
        for builtin in BUILTINS {
            all.push(Listed {
                kind: Kind::Template,
                name: builtin.name,
                layer: Layer::BuiltIn,
                source: None,
                description: builtin.description,
                shadowed_by: None,
                problem: None,
            });
        }
        for held in self.commands.iter().rev() {
            all.push(held.listed(Kind::Command, held.item.name(), held.item.description()));
        }
        // Stable, so that in one layer the last one stays first.
        all.sort_by(|one, other| {
            (one.kind, one.name)
                .cmp(&(other.kind, other.name))
                .then(other.layer.cmp(&one.layer))
        });
        let mut winner: Option<(Kind, &str, Shadow<'_>)> = None;
        for listed in all.iter_mut().filter(|listed| listed.problem.is_none()) {
            match winner {
                Some((kind, name, shadow)) if (kind, name) == (listed.kind, listed.name) => {
                    listed.shadowed_by = Some(shadow);
                }
                _ => {
                    let Listed { layer, source, .. } = *listed;
                    winner = Some((listed.kind, listed.name, Shadow { layer, source }));
                }
            }
        }
        all
    }

    /// Finds out which templates count.
    fn resolve(&mut self) {
        for held in &mut self.templates {
            held.problem = None;
        }
        // Each round leaves one out.
        while let Some((index, error)) = self.first_to_leave_out() {
            self.templates[index].problem = Some(error);
        }
        let mut counting = self.builtins.clone().with_limits(self.limits.clone());
        for index in self.winners().into_values() {
            counting.put(self.templates[index].item.clone());
        }
        self.winners = counting;
    }

    /// The template that is to blame if those that count do not go together, and why they do not.
    fn first_to_leave_out(&self) -> Option<(usize, Error)> {
        let winners = self.winners();
        let mut names: Vec<&str> = self.builtins.names().collect();
        names.extend(winners.keys());
        let get = |name: &str| match winners.get(name) {
            Some(&index) => Ok(&self.templates[index].item),
            None => self.builtins.get(name),
        };
        let flaw = first_flaw(&names, get)?;
        let involved = flaw.involved.iter().rev();
        let involved = involved.filter_map(|name| winners.get(name.as_str()).copied());
        let blamed = involved.max_by_key(|&index| self.templates[index].layer);
        // What comes with the crate has no flaw of its own.
        let blamed = blamed.or_else(|| winners.values().next().copied())?;
        Some((blamed, flaw.error))
    }

    /// Of each name, the template of the highest layer that is not left out.
    fn winners(&self) -> BTreeMap<&str, usize> {
        let mut winners: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, held) in self.templates.iter().enumerate() {
            if held.is_left_out() {
                continue;
            }
            let winner = winners.entry(held.item.name()).or_insert(index);
            if self.templates[*winner].layer <= held.layer {
                *winner = index;
            }
        }
        winners
    }
}

impl<T> Held<T> {
    fn new(item: T, layer: Layer, source: Option<PathBuf>) -> Self {
        Self {
            item,
            layer,
            source,
            problem: None,
        }
    }

    fn is_left_out(&self) -> bool {
        self.problem.is_some()
    }

    fn listed<'l>(&'l self, kind: Kind, name: &'l str, description: &'l str) -> Listed<'l> {
        Listed {
            kind,
            name,
            layer: self.layer,
            source: self.source.as_deref(),
            description,
            shadowed_by: None,
            problem: self.problem.as_ref(),
        }
    }
}

/// A section that says which file it came from.
fn sourced(section: Section, held: Option<&Held<Template>>) -> Section {
    let Some(held) = held else {
        return section;
    };
    let source = match &held.source {
        Some(path) => format!("{} template:{}", held.layer, path.display()),
        None => format!("{} {}", held.layer, section.source),
    };
    Section {
        source: source.into(),
        ..section
    }
}

fn check_template_name(name: &str) -> Result<(), Error> {
    let is_part = |part: &str| {
        let mut bytes = part.bytes();
        bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
            && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    if name.split('/').all(is_part) {
        return Ok(());
    }
    Err(Error::Name {
        name: name.to_owned(),
        rule: "a template's name is letters, digits, `_` and `-`, with `/` between its parts",
    })
}
