//! A template.

use std::borrow::Cow;
use std::collections::BTreeSet;

use handlebars::Handlebars;
use handlebars::template::TemplateElement;

use crate::analysis::{Analysis, analyse};
use crate::error::Error;
use crate::guard;
use crate::limits::{MAX_PARAMETERS, MAX_SOURCE_BYTES};
use crate::nesting::{self, Suspect};
use crate::parameter::Parameter;

/// A template: a name, a source in handlebars, and the parameters that it declares.
///
/// It is parsed and checked once, when it is made; [`Templates`](crate::Templates) renders it.
///
/// What handlebars can do is there, but for: inline partials and `{{#> …}}` (their size cannot be
/// bounded), partials with computed names (their cycles cannot be found), raw blocks, decorators,
/// the `log` helper, and `[`, `{` and `\` inside a tag. What remains is `{{value}}`, `{{> partial}}`
/// with a context and named arguments, `{{#if}}`, `{{#unless}}`, `{{#each}}`, `{{#with}}`, `{{else}}`,
/// and the helpers `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `and`, `or`, `not`, `len` and `lookup`.
#[derive(Clone, Debug)]
pub struct Template {
    name: String,
    description: String,
    source: Cow<'static, str>,
    parameters: Vec<Parameter>,
    pub(crate) analysis: Analysis,
    pub(crate) parsed: handlebars::Template,
}

impl Template {
    /// Parses `source`.
    ///
    /// An error if it is not handlebars, uses what is refused, or uses a variable that is not among
    /// `parameters`; or if a default is not of its parameter's kind.
    pub fn new(
        name: impl Into<String>,
        source: impl Into<Cow<'static, str>>,
        parameters: Vec<Parameter>,
    ) -> Result<Self, Error> {
        Self::from_line(1, name.into(), source.into(), parameters)
    }

    /// As [`Template::new`], for a source that begins in line `first` of its file: errors count from there.
    pub(crate) fn from_line(
        first: usize,
        name: String,
        source: Cow<'static, str>,
        parameters: Vec<Parameter>,
    ) -> Result<Self, Error> {
        let below = first.saturating_sub(1);
        if source.len() > MAX_SOURCE_BYTES {
            return Err(Error::Limit {
                template: name,
                line: None,
                what: "the size of the source, in bytes,",
                max: MAX_SOURCE_BYTES as u64,
            });
        }
        if parameters.len() > MAX_PARAMETERS {
            return Err(Error::Limit {
                template: name,
                line: None,
                what: "the number of parameters",
                max: MAX_PARAMETERS as u64,
            });
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = parameters.iter().find(|p| !names.insert(p.name.as_str())) {
            let message = format!("the parameter `{}` is declared twice", twice.name);
            return Err(Error::Refused {
                template: name,
                line: None,
                message,
            });
        }
        for parameter in &parameters {
            let default = parameter.default.as_ref();
            if let Some((wanted, found)) = default.and_then(|it| parameter.kind.mismatch(it))
                && found != "null"
            {
                return Err(Error::WrongKind {
                    template: name,
                    line: None,
                    variable: parameter.name.clone(),
                    wanted,
                    found,
                });
            }
        }
        let suspect = nesting::check(&name, &source).map_err(|error| error.moved_down(below))?;
        let mut parsed = parse(&name, &source).map_err(|error| {
            let error = match suspect {
                Some(Suspect { line, message }) => Error::Syntax {
                    template: name.clone(),
                    line: Some(line),
                    message: message.to_owned(),
                },
                None => error,
            };
            error.moved_down(below)
        })?;
        move_down(&mut parsed, below);
        let analysis = analyse(&name, &parameters, &parsed)?;
        guard::install(&mut parsed);
        Ok(Self {
            name,
            description: String::new(),
            source,
            parameters,
            analysis,
            parsed,
        })
    }

    /// Its name: `system-prompt/role`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same template, with a line that says what it is for.
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// What it is for; empty if nobody said.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its source, as it was given.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The parameters that it declares.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }
}

/// Moves all lines that are noted in `parsed`.
fn move_down(parsed: &mut handlebars::Template, lines: usize) {
    for place in &mut parsed.mapping {
        place.0 += lines;
    }
    for element in &mut parsed.elements {
        if let TemplateElement::HelperBlock(tag) = element {
            let bodies = [&mut tag.template, &mut tag.inverse];
            bodies
                .into_iter()
                .flatten()
                .for_each(|body| move_down(body, lines));
        }
    }
}

fn parse(name: &str, source: &str) -> Result<handlebars::Template, Error> {
    // Only a registry parses with `prevent_indent`.
    let mut registry = Handlebars::new();
    registry.set_prevent_indent(true);
    let syntax = |line, message| Error::Syntax {
        template: name.to_owned(),
        line,
        message,
    };
    registry
        .register_template_string(name, source)
        .map_err(|error| {
            syntax(
                error.pos().map(|(line, _)| line),
                error.reason().to_string(),
            )
        })?;
    registry
        .get_template(name)
        .cloned()
        .ok_or_else(|| syntax(None, "handlebars did not keep it".to_owned()))
}
