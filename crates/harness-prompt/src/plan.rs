//! A template, ready to be rendered.

use handlebars::{Context, Handlebars, Output, RenderContext, RenderError, RenderErrorReason};
use handlebars::{Renderable, no_escape};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Error;
use crate::guard::{Fault, Meter};
use crate::limits::Limits;
use crate::reach::{Need, Reach};
use crate::values::weight;

/// A template with all that it includes, and what it needs.
#[derive(Debug)]
pub(crate) struct Plan {
    name: String,
    needs: Vec<Need>,
    registry: Handlebars<'static>,
}

impl Plan {
    pub(crate) fn new(name: &str, reach: Reach<'_>) -> Self {
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(no_escape);
        registry.unregister_helper("log");
        for template in reach.templates {
            registry.register_template(template.name(), template.parsed.clone());
        }
        Self {
            name: name.to_owned(),
            needs: reach.needs,
            registry,
        }
    }

    pub(crate) fn render<V: Serialize + ?Sized>(
        &self,
        values: &V,
        limits: &Limits,
    ) -> Result<String, Error> {
        let Some(template) = self.registry.get_template(&self.name) else {
            return Err(Error::UnknownTemplate {
                name: self.name.clone(),
            });
        };
        let meter = Meter::new(limits);
        let values = Context::from(self.values(values, limits)?);
        let mut output = Bounded {
            text: String::new(),
            max: limits.output_bytes,
        };
        let mut rc = RenderContext::new(template.name.as_ref());
        meter.attach(&mut rc);
        match template.render(&self.registry, &values, &mut rc, &mut output) {
            Ok(()) => Ok(output.text),
            Err(error) => Err(self.explain(&error)),
        }
    }

    /// The values as handlebars takes them, with defaults for those that were not given.
    fn values<V: Serialize + ?Sized>(&self, values: &V, limits: &Limits) -> Result<Value, Error> {
        let refuse = |message| Error::Values {
            template: self.name.clone(),
            message,
        };
        let mut given = match serde_json::to_value(values) {
            Ok(Value::Object(given)) => given,
            Ok(Value::Null) => Map::new(),
            Ok(_) => return Err(refuse("they are not a struct or a map".to_owned())),
            Err(error) => return Err(refuse(error.to_string())),
        };
        for Need {
            parameter,
            template,
            line,
        } in &self.needs
        {
            let name = &parameter.name;
            match (given.get(name), &parameter.default) {
                (None | Some(Value::Null), Some(default)) => {
                    given.insert(name.clone(), default.clone());
                }
                (None, None) if parameter.required => {
                    return Err(Error::Missing {
                        template: template.clone(),
                        line: *line,
                        variable: name.clone(),
                    });
                }
                (None, None) => {
                    given.insert(name.clone(), Value::Null);
                }
                (Some(_), _) => {}
            }
            // What may be left out may be null.
            let value = given
                .get(name)
                .filter(|value| parameter.required || !value.is_null());
            if let Some((wanted, found)) = value.and_then(|it| parameter.kind.mismatch(it)) {
                return Err(Error::WrongKind {
                    template: template.clone(),
                    line: *line,
                    variable: name.clone(),
                    wanted,
                    found,
                });
            }
        }
        let given = Value::Object(given);
        if weight(&given, limits.value_bytes).is_none() {
            return Err(Error::Limit {
                template: self.name.clone(),
                line: None,
                what: "the size of the values, in bytes,",
                max: limits.value_bytes as u64,
            });
        }
        Ok(given)
    }

    fn explain(&self, error: &RenderError) -> Error {
        let template = error
            .template_name
            .clone()
            .unwrap_or_else(|| self.name.clone());
        let line = error.line_no;
        match error.reason() {
            RenderErrorReason::NestedError(inner) => match inner.downcast_ref() {
                Some(fault) => explain_fault(fault, template, line),
                None => Error::Render {
                    template,
                    line,
                    message: inner.to_string(),
                },
            },
            RenderErrorReason::IOError(inner) => {
                match inner.get_ref().and_then(|inner| inner.downcast_ref()) {
                    Some(fault) => explain_fault(fault, template, line),
                    None => Error::Render {
                        template,
                        line,
                        message: inner.to_string(),
                    },
                }
            }
            // The guards have seen that there is a value; so it is one that cannot be entered.
            RenderErrorReason::MissingVariable(variable) => Error::WrongKind {
                template,
                line,
                variable: variable.clone().unwrap_or_else(|| "(…)".to_owned()),
                wanted: "a list or an object (for `with`: one that is not empty)",
                found: "not",
            },
            other => Error::Render {
                template,
                line,
                message: other.to_string(),
            },
        }
    }
}

fn explain_fault(fault: &Fault, template: String, line: Option<usize>) -> Error {
    match fault {
        Fault::Missing(variable) => Error::Missing {
            template,
            line,
            variable: variable.clone(),
        },
        Fault::NotText { variable, found } => Error::WrongKind {
            template,
            line,
            variable: variable.clone(),
            wanted: "text, a number or a boolean",
            found,
        },
        Fault::Limit { what, max } => Error::Limit {
            template,
            line,
            what,
            max: *max,
        },
    }
}

/// Takes what is rendered, up to a bound.
struct Bounded {
    text: String,
    max: usize,
}

impl Output for Bounded {
    fn write(&mut self, segment: &str) -> Result<(), std::io::Error> {
        if self.text.len().saturating_add(segment.len()) > self.max {
            return Err(std::io::Error::other(Fault::Limit {
                what: "the size of the rendered text, in bytes,",
                max: self.max as u64,
            }));
        }
        self.text.push_str(segment);
        Ok(())
    }
}
