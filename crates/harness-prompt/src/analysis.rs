//! What a parsed template uses: its variables, its partials, its helpers.
//!
//! Handlebars finds most mistakes when it meets them while rendering, and some never. Walking the
//! parsed template finds them when it is registered.

use std::collections::BTreeMap;

use handlebars::template::{
    BlockParam, DecoratorTemplate, HelperTemplate, Parameter as Argument, Subexpression,
    Template as Parsed, TemplateElement,
};
use handlebars::{Path, PathSeg};

use crate::error::Error;
use crate::limits::{MAX_ARGUMENTS, MAX_INCLUDES};
use crate::parameter::Parameter;

/// What a template uses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Analysis {
    /// The variables that are read from the values of the rendering, with the line of first use.
    pub(crate) variables: BTreeMap<String, usize>,
    /// The partials, in order.
    pub(crate) includes: Vec<Include>,
    /// How deep its blocks and branches nest.
    pub(crate) nesting: usize,
}

/// One `{{> partial}}`.
#[derive(Clone, Debug)]
pub(crate) struct Include {
    pub(crate) partial: String,
    pub(crate) line: usize,
    /// How many blocks it stands in.
    pub(crate) nesting: usize,
    /// Whether it sees the variables of the template that it stands in; not so in an `{{#each}}` or
    /// `{{#with}}`, nor if it is given a context.
    pub(crate) inherits: bool,
    /// The variables that it is given by name.
    pub(crate) arguments: Vec<String>,
}

/// A helper that templates may use. `log` is not among them: a prompt has no business in the log.
struct Helper {
    name: &'static str,
    /// May be used as `{{#name …}}`.
    block: bool,
    /// May be used as `{{name …}}` and `(name …)`.
    value: bool,
    least: usize,
    most: usize,
}

const HELPERS: &[Helper] = &[
    Helper {
        name: "if",
        block: true,
        value: false,
        least: 1,
        most: 1,
    },
    Helper {
        name: "unless",
        block: true,
        value: false,
        least: 1,
        most: 1,
    },
    Helper {
        name: "each",
        block: true,
        value: false,
        least: 1,
        most: 1,
    },
    Helper {
        name: "with",
        block: true,
        value: false,
        least: 1,
        most: 1,
    },
    Helper {
        name: "eq",
        block: true,
        value: true,
        least: 2,
        most: 2,
    },
    Helper {
        name: "ne",
        block: true,
        value: true,
        least: 2,
        most: 2,
    },
    Helper {
        name: "gt",
        block: true,
        value: true,
        least: 2,
        most: 2,
    },
    Helper {
        name: "gte",
        block: true,
        value: true,
        least: 2,
        most: 2,
    },
    Helper {
        name: "lt",
        block: true,
        value: true,
        least: 2,
        most: 2,
    },
    Helper {
        name: "lte",
        block: true,
        value: true,
        least: 2,
        most: 2,
    },
    Helper {
        name: "and",
        block: true,
        value: true,
        least: 1,
        most: MAX_ARGUMENTS,
    },
    Helper {
        name: "or",
        block: true,
        value: true,
        least: 1,
        most: MAX_ARGUMENTS,
    },
    Helper {
        name: "not",
        block: true,
        value: true,
        least: 1,
        most: 1,
    },
    Helper {
        name: "len",
        block: false,
        value: true,
        least: 1,
        most: 1,
    },
    Helper {
        name: "lookup",
        block: false,
        value: true,
        least: 2,
        most: 2,
    },
];

/// Walks `parsed`; an error is the first mistake in it.
pub(crate) fn analyse(
    template: &str,
    parameters: &[Parameter],
    parsed: &Parsed,
) -> Result<Analysis, Error> {
    let mut walk = Walk {
        template,
        parameters,
        found: Analysis::default(),
    };
    walk.template(parsed, &Scope::default(), 1)?;
    Ok(walk.found)
}

/// Where in the template the walk is.
#[derive(Clone, Default)]
struct Scope<'t> {
    /// How many blocks are open.
    nesting: usize,
    /// How many of them changed what a bare name means: `{{#each}}` and `{{#with}}`.
    contexts: usize,
    /// Names that the open blocks bind: `{{#each items as |item|}}`.
    bound: Vec<&'t str>,
}

struct Walk<'t> {
    template: &'t str,
    parameters: &'t [Parameter],
    found: Analysis,
}

impl<'t> Walk<'t> {
    /// `line` is where the template stands in the source, for elements without a line of their own.
    fn template(
        &mut self,
        parsed: &'t Parsed,
        scope: &Scope<'t>,
        line: usize,
    ) -> Result<(), Error> {
        self.found.nesting = self.found.nesting.max(scope.nesting);
        for (index, element) in parsed.elements.iter().enumerate() {
            let line = parsed.mapping.get(index).map_or(line, |mapping| mapping.0);
            match element {
                TemplateElement::Expression(tag) | TemplateElement::HtmlExpression(tag) => {
                    self.expression(tag, scope, line)?;
                }
                TemplateElement::HelperBlock(tag) => self.block(tag, scope, line)?,
                TemplateElement::PartialExpression(tag) => self.partial(tag, scope, line)?,
                TemplateElement::PartialBlock(_) => {
                    return Err(self.refuse(line, "`{{#> …}}` is not supported; use `{{> …}}`"));
                }
                TemplateElement::DecoratorExpression(_) | TemplateElement::DecoratorBlock(_) => {
                    return Err(self.refuse(
                        line,
                        "decorators and inline partials are not supported; register a template",
                    ));
                }
                TemplateElement::RawString(_) | TemplateElement::Comment(_) => {}
                _ => return Err(self.refuse(line, "this kind of tag is not supported")),
            }
        }
        Ok(())
    }

    fn expression(
        &mut self,
        tag: &'t HelperTemplate,
        scope: &Scope<'t>,
        line: usize,
    ) -> Result<(), Error> {
        if tag.params.is_empty() && tag.hash.is_empty() {
            return self.argument(&tag.name, scope, line);
        }
        self.call(tag, scope, line, |helper| helper.value)?;
        Ok(())
    }

    fn block(
        &mut self,
        tag: &'t HelperTemplate,
        scope: &Scope<'t>,
        line: usize,
    ) -> Result<(), Error> {
        let helper = self.call(tag, scope, line, |helper| helper.block)?;
        let outside = Scope {
            nesting: scope.nesting + 1,
            ..scope.clone()
        };
        let mut inside = outside.clone();
        let enters = matches!(helper.name, "each" | "with");
        inside.contexts += usize::from(enters);
        match &tag.block_param {
            Some(_) if !enters => {
                return Err(self.refuse(line, "only `each` and `with` can name what they enter"));
            }
            Some(BlockParam::Single(name)) => inside.bound.extend(name.as_name()),
            Some(BlockParam::Pair((value, key))) => {
                inside.bound.extend(value.as_name());
                inside.bound.extend(key.as_name());
            }
            Some(_) => return Err(self.refuse(line, "this way of naming is not supported")),
            None => {}
        }
        if let Some(body) = &tag.template {
            self.template(body, &inside, line)?;
        }
        if let Some(body) = &tag.inverse {
            self.template(body, &outside, line)?;
        }
        Ok(())
    }

    fn partial(
        &mut self,
        tag: &'t DecoratorTemplate,
        scope: &Scope<'t>,
        line: usize,
    ) -> Result<(), Error> {
        let name = match &tag.name {
            Argument::Subexpression(_) | Argument::Literal(_) => None,
            name => name.as_name(),
        };
        let Some(name) = name else {
            return Err(self.refuse(line, "the name of a partial cannot be computed"));
        };
        if name.starts_with('@') || name.starts_with('\'') {
            return Err(self.refuse(line, "a partial's name is written bare, as in `{{> name}}`"));
        }
        if tag.params.len() > 1 {
            return Err(self.refuse(line, "a partial takes one context, and others by name"));
        }
        self.arguments(&tag.params, &tag.hash, scope, line)?;
        if self.found.includes.len() >= MAX_INCLUDES {
            return Err(Error::Limit {
                template: self.template.to_owned(),
                line: Some(line),
                what: "the number of partials in a template",
                max: MAX_INCLUDES as u64,
            });
        }
        let mut arguments: Vec<String> = tag.hash.keys().cloned().collect();
        arguments.sort_unstable();
        self.found.includes.push(Include {
            partial: name.to_owned(),
            line,
            nesting: scope.nesting,
            inherits: scope.contexts == 0 && tag.params.is_empty(),
            arguments,
        });
        Ok(())
    }

    /// A helper's name and arguments.
    fn call(
        &mut self,
        tag: &'t HelperTemplate,
        scope: &Scope<'t>,
        line: usize,
        allowed: impl Fn(&Helper) -> bool,
    ) -> Result<&'static Helper, Error> {
        let name = tag.name.as_name().unwrap_or("(…)");
        let Some(helper) = HELPERS
            .iter()
            .find(|helper| helper.name == name && allowed(helper))
        else {
            let known: Vec<&str> = HELPERS
                .iter()
                .filter(|helper| allowed(helper))
                .map(|helper| helper.name)
                .collect();
            let message = format!(
                "there is no helper `{name}` here; there are {}",
                known.join(", ")
            );
            return Err(self.refuse(line, &message));
        };
        let given = tag.params.len();
        if given < helper.least || given > helper.most {
            let message = format!("`{name}` does not take {given} arguments");
            return Err(self.refuse(line, &message));
        }
        let mut options: Vec<&str> = tag.hash.keys().map(String::as_str).collect();
        options.sort_unstable();
        options.retain(|option| !(matches!(name, "if" | "unless") && *option == "includeZero"));
        if let Some(option) = options.first() {
            let message = format!("`{name}` has no option `{option}`");
            return Err(self.refuse(line, &message));
        }
        self.arguments(&tag.params, &tag.hash, scope, line)?;
        Ok(helper)
    }

    fn arguments(
        &mut self,
        listed: &'t [Argument],
        named: &'t std::collections::HashMap<String, Argument>,
        scope: &Scope<'t>,
        line: usize,
    ) -> Result<(), Error> {
        if listed.len() + named.len() > MAX_ARGUMENTS {
            return Err(Error::Limit {
                template: self.template.to_owned(),
                line: Some(line),
                what: "the number of arguments in a tag",
                max: MAX_ARGUMENTS as u64,
            });
        }
        for argument in listed {
            self.argument(argument, scope, line)?;
        }
        let mut named: Vec<_> = named.iter().collect();
        named.sort_unstable_by_key(|(name, _)| *name);
        for (_, argument) in named {
            self.argument(argument, scope, line)?;
        }
        Ok(())
    }

    fn argument(
        &mut self,
        argument: &'t Argument,
        scope: &Scope<'t>,
        line: usize,
    ) -> Result<(), Error> {
        match argument {
            Argument::Path(path) => self.path(path, scope, line),
            Argument::Subexpression(Subexpression { element, .. }) => match &**element {
                TemplateElement::Expression(tag) => self
                    .call(tag, scope, line, |helper| helper.value)
                    .map(|_| ()),
                _ => Err(self.refuse(line, "this cannot be computed")),
            },
            _ => Ok(()),
        }
    }

    fn path(&mut self, path: &'t Path, scope: &Scope<'t>, line: usize) -> Result<(), Error> {
        // `@index` and its like are there or not; that shows when rendering.
        let Path::Relative((segments, raw)) = path else {
            return Ok(());
        };
        let ups = segments
            .iter()
            .take_while(|s| matches!(s, PathSeg::Ruled(_)))
            .count();
        let from_root = raw.contains("@root");
        if !from_root && ups > scope.contexts {
            let message = format!("`{raw}` climbs out of the template");
            return Err(self.refuse(line, &message));
        }
        let Some(name) = segments.iter().find_map(|segment| match segment {
            PathSeg::Named(name) => Some(name),
            _ => None,
        }) else {
            return Ok(());
        };
        if scope.bound.contains(&name.as_str()) || (!from_root && ups < scope.contexts) {
            return Ok(());
        }
        if !self
            .parameters
            .iter()
            .any(|parameter| parameter.name == *name)
        {
            return Err(Error::Undeclared {
                template: self.template.to_owned(),
                line: Some(line),
                variable: name.clone(),
            });
        }
        self.found.variables.entry(name.clone()).or_insert(line);
        Ok(())
    }

    fn refuse(&self, line: usize, message: &str) -> Error {
        Error::Refused {
            template: self.template.to_owned(),
            line: Some(line),
            message: message.to_owned(),
        }
    }
}
