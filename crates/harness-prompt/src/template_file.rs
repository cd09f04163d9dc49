//! A template in a file: handlebars, below frontmatter that declares its parameters.

use harness_frontmatter::{Document, Error as Misread, Mapping, Node, Resolved, Scalar};
use serde_json::{Map, Number, Value};

use crate::error::Error;
use crate::parameter::{Parameter, ParameterKind};
use crate::template::Template;

/// A template that was read, and the keys in its frontmatter that mean nothing.
pub(crate) struct TemplateFile {
    pub(crate) template: Template,
    pub(crate) unknown: Vec<(usize, String)>,
}

const KEYS: &[&str] = &["description", "parameters"];
const PARAMETER_KEYS: &[&str] = &["name", "type", "description", "required", "default"];

/// Reads a file. `inherited` are the parameters of a template that declares none.
pub(crate) fn parse(
    name: &str,
    text: &str,
    inherited: impl FnOnce() -> Vec<Parameter>,
) -> Result<TemplateFile, Error> {
    let misread = |error| Error::frontmatter(name, &error);
    let document = Document::parse(text).map_err(misread)?;
    let fields = &document.fields;
    let description = fields.text("description").map_err(misread)?;
    let mut unknown = unknown_keys(fields, KEYS);
    let parameters = match fields.list("parameters").map_err(misread)? {
        None => inherited(),
        Some(list) => {
            let mut parameters = Vec::new();
            for item in &list.items {
                let Node::Mapping(fields) = item else {
                    let position = item.position();
                    return Err(misread(Misread::WrongKind {
                        key: "parameters".to_owned(),
                        wanted: "a list whose items begin with `name: `",
                        found: format!("one of {}", item.kind()),
                        position,
                    }));
                };
                unknown.extend(unknown_keys(fields, PARAMETER_KEYS));
                parameters.push(parameter(fields).map_err(misread)?);
            }
            parameters
        }
    };
    let (body, line) = (document.body.to_owned(), document.body_line);
    let template = Template::from_line(line, name.to_owned(), body.into(), parameters)?;
    Ok(TemplateFile {
        template: template.described(description.unwrap_or_default()),
        unknown,
    })
}

fn unknown_keys(fields: &Mapping, known: &[&str]) -> Vec<(usize, String)> {
    let keys = fields.unknown_keys(known).into_iter();
    keys.map(|key| (key.position.line, key.text.clone()))
        .collect()
}

fn parameter(fields: &Mapping) -> Result<Parameter, Misread> {
    let name = fields.required_text("name")?;
    let description = fields.text("description")?.unwrap_or_default();
    let wrong = |key: &str, wanted, found: &str| Misread::WrongKind {
        key: key.to_owned(),
        wanted,
        found: found.to_owned(),
        position: fields.get(key).map_or(fields.position, Node::position),
    };
    let kind = match fields.text("type")? {
        None => ParameterKind::Any,
        Some(kind) => ParameterKind::from_name(kind).ok_or_else(|| {
            let wanted = "text, number, boolean, list, object or any";
            wrong("type", wanted, &format!("`{}`", kind.escape_debug()))
        })?,
    };
    let default = fields.get("default").filter(|node| !node.is_null());
    let required = fields.flag("required")?.unwrap_or(default.is_none());
    let Some(default) = default else {
        let parameter = if required {
            Parameter::required(name, description)
        } else {
            Parameter::optional(name, description, kind.nothing())
        };
        return Ok(parameter.of_kind(kind));
    };
    if required {
        let wanted = "left out where `required` is true";
        return Err(wrong("default", wanted, "given"));
    }
    let value = match default {
        Node::Scalar(scalar) if kind == ParameterKind::Text => Value::from(scalar.text.as_str()),
        node => value(node).ok_or_else(|| wrong("default", "a finite number", "not"))?,
    };
    if let Some((wanted, found)) = kind.mismatch(&value) {
        return Err(wrong("default", wanted, found));
    }
    Ok(Parameter::optional(name, description, value).of_kind(kind))
}

/// As JSON; `None` if there is a number in it that JSON has not.
fn value(node: &Node) -> Option<Value> {
    match node {
        Node::Scalar(scalar) => scalar_value(scalar),
        Node::List(list) => list.items.iter().map(value).collect(),
        Node::Mapping(mapping) => {
            let mut fields = Map::new();
            for entry in &mapping.entries {
                fields.insert(entry.key.text.clone(), value(&entry.value)?);
            }
            Some(Value::Object(fields))
        }
    }
}

fn scalar_value(scalar: &Scalar) -> Option<Value> {
    Some(match scalar.resolve() {
        Resolved::Null => Value::Null,
        Resolved::Boolean(flag) => Value::Bool(flag),
        Resolved::Integer(number) => Value::from(number),
        Resolved::Float(number) => Value::Number(Number::from_f64(number)?),
        _ => Value::from(scalar.text.as_str()),
    })
}
