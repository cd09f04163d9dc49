//! What a template reaches through its partials.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::limits::MAX_DEPTH;
use crate::parameter::{Parameter, ParameterKind};
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

impl Need {
    /// Its name with its kind, and with the kind that anything satisfies.
    fn keys(&self) -> [(String, u8); 2] {
        [self.parameter.kind, ParameterKind::Any]
            .map(|kind| (self.parameter.name.clone(), kind as u8))
    }
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
            // Only a rendering asks for them, and they are many where templates include many.
            collects: unknown == Unknown::Refused,
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

/// Something that is wrong among templates that are to go together.
#[derive(Debug)]
pub(crate) struct Flaw {
    pub(crate) error: Error,
    /// The templates without one of which it would not be there. Where several are as good, the one to
    /// blame is first.
    pub(crate) involved: Vec<String>,
}

/// The first flaw among the templates of those names and all that they include, each looked at once.
pub(crate) fn first_flaw<'t>(
    names: &'t [&'t str],
    get: impl Fn(&str) -> Result<&'t Template, Error>,
) -> Option<Flaw> {
    let mut walk = Walk {
        get,
        unknown: Unknown::Refused,
        collects: false,
        path: Vec::new(),
        seen: BTreeMap::new(),
    };
    for name in names {
        let visited = (walk.get)(name).and_then(|template| walk.visit(template));
        if let Err(error) = visited {
            let involved = walk.involved(&error);
            return Some(Flaw { error, involved });
        }
    }
    None
}

struct Walk<'t, G> {
    get: G,
    unknown: Unknown,
    /// Whether it collects what a rendering needs.
    collects: bool,
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
            needs: Vec::new(),
            depth: template.analysis.nesting,
        };
        if self.collects {
            seen.needs.extend(own);
        }
        let mut known: BTreeSet<(String, u8)> = seen.needs.iter().flat_map(Need::keys).collect();
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
                    // The same name with another kind is a demand of its own.
                    if !need.keys().iter().all(|key| known.contains(key))
                        && !include.arguments.contains(&need.parameter.name)
                    {
                        known.extend(need.keys());
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

impl<'t, G: Fn(&str) -> Result<&'t Template, Error>> Walk<'t, G> {
    /// Who has to do with an error that ended the walk.
    fn involved(&self, error: &Error) -> Vec<String> {
        let last = self.path.last().and_then(|name| (self.get)(name).ok());
        let Some(last) = last else {
            return Vec::new();
        };
        let mut involved = vec![last.name().to_owned()];
        match error {
            Error::Cycle { path } => involved.clone_from(path),
            Error::Refused { .. } => {
                let includes = last.analysis.includes.iter();
                let given = includes.filter(|include| !include.arguments.is_empty());
                involved.extend(given.map(|include| include.partial.clone()));
            }
            // All that is below it makes it deep, and so does all that is above it.
            Error::Limit { .. } => {
                involved.extend(self.path.iter().rev().skip(1).map(|&name| name.to_owned()));
                let mut met: BTreeSet<String> = involved.iter().cloned().collect();
                let mut at = 0;
                while let Some(template) = involved.get(at).map(|name| (self.get)(name)) {
                    for include in template.iter().flat_map(|it| &it.analysis.includes) {
                        if met.insert(include.partial.clone()) {
                            involved.push(include.partial.clone());
                        }
                    }
                    at += 1;
                }
            }
            _ => {}
        }
        involved
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
