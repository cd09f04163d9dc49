//! What a template reaches through its partials.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::limits::MAX_DEPTH;
use crate::parameter::Parameter;
use crate::template::Template;

/// A template and everything that it includes, directly or not.
pub(crate) struct Reach<'t> {
    /// Each template once.
    pub(crate) templates: Vec<&'t Template>,
    /// The values that a rendering needs, in the order of their declaration.
    pub(crate) needs: Vec<Need>,
}

/// A parameter that a rendering has to be given, or has a default for.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    pub(crate) parameter: Parameter,
    /// The template that declares it, and the line where it uses it.
    pub(crate) template: String,
    pub(crate) line: Option<usize>,
}

/// What a partial is that nobody registered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// It may come later.
    Allowed,
    Refused,
}

impl<'t> Reach<'t> {
    /// Follows the partials from `name` on; `get` finds a template by name. An error if they run in a
    /// circle, nest too deep, or are given arguments that they do not declare.
    pub(crate) fn of(
        name: &str,
        unknown: Unknown,
        get: impl Fn(&str) -> Result<&'t Template, Error>,
    ) -> Result<Self, Error> {
        let root = get(name)?;
        let mut walk = Walk {
            get,
            unknown,
            path: Vec::new(),
            seen: BTreeMap::new(),
        };
        walk.visit(root)?;
        let needs = walk
            .seen
            .get(name)
            .map(|seen| seen.needs.clone())
            .unwrap_or_default();
        Ok(Self {
            templates: walk.seen.into_values().map(|seen| seen.template).collect(),
            needs,
        })
    }
}

struct Walk<'t, G> {
    get: G,
    unknown: Unknown,
    /// The names from the root to where the walk is.
    path: Vec<&'t str>,
    seen: BTreeMap<&'t str, Seen<'t>>,
}

struct Seen<'t> {
    template: &'t Template,
    needs: Vec<Need>,
    depth: usize,
}

impl<'t, G: Fn(&str) -> Result<&'t Template, Error>> Walk<'t, G> {
    fn visit(&mut self, template: &'t Template) -> Result<(), Error> {
        let name = template.name();
        if let Some(start) = self.path.iter().position(|other| *other == name) {
            let circle = self.path[start..].iter().chain([&name]);
            return Err(Error::Cycle {
                path: circle.map(|&name| name.to_owned()).collect(),
            });
        }
        if self.seen.contains_key(name) {
            return Ok(());
        }
        if self.path.len() >= MAX_DEPTH {
            return Err(too_deep(template, None));
        }
        self.path.push(name);
        let own = template.parameters().iter().map(|parameter| Need {
            parameter: parameter.clone(),
            template: name.to_owned(),
            line: template.analysis.variables.get(&parameter.name).copied(),
        });
        let mut seen = Seen {
            template,
            needs: own.collect(),
            depth: template.analysis.nesting,
        };
        for include in &template.analysis.includes {
            let partial = match (self.get)(&include.partial) {
                Ok(partial) => partial,
                Err(Error::UnknownTemplate { .. }) if self.unknown == Unknown::Allowed => continue,
                Err(Error::UnknownTemplate { .. }) => {
                    return Err(Error::UnknownPartial {
                        template: name.to_owned(),
                        line: Some(include.line),
                        partial: include.partial.clone(),
                    });
                }
                Err(error) => return Err(error),
            };
            let declares = |name: &str| partial.parameters().iter().any(|p| p.name == name);
            if let Some(stray) = include
                .arguments
                .iter()
                .find(|argument| !declares(argument))
            {
                return Err(Error::Refused {
                    template: name.to_owned(),
                    line: Some(include.line),
                    message: format!("`{}` does not declare `{stray}`", include.partial),
                });
            }
            self.visit(partial)?;
            let Some(inner) = self.seen.get(partial.name()) else {
                continue;
            };
            seen.depth = seen.depth.max(include.nesting + 1 + inner.depth);
            if seen.depth > MAX_DEPTH {
                return Err(too_deep(template, Some(include.line)));
            }
            if include.inherits {
                for need in &inner.needs {
                    let name = &need.parameter.name;
                    let known = seen.needs.iter().any(|other| other.parameter.name == *name);
                    if !known && !include.arguments.contains(name) {
                        seen.needs.push(need.clone());
                    }
                }
            }
        }
        self.path.pop();
        self.seen.insert(name, seen);
        Ok(())
    }
}

fn too_deep(template: &Template, line: Option<usize>) -> Error {
    Error::Limit {
        template: template.name().to_owned(),
        line,
        what: "the nesting of blocks and partials",
        max: MAX_DEPTH as u64,
    }
}
