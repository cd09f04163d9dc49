//! The tests of harness-prompt, in one binary.
#![cfg(test)]

mod builtin;
mod command;
mod folder;
mod hostile;
mod kinds;
mod library;
mod partials;
mod registry;
mod strict;
mod system_prompt;

use harness_prompt::{Error, Parameter, Template, Templates};
use serde_json::Value;

/// A template that declares `names` as required parameters.
fn template(name: &str, source: &str, names: &[&str]) -> Result<Template, Error> {
    let parameters = names
        .iter()
        .map(|name| Parameter::required(*name, ""))
        .collect();
    Template::new(name, source.to_owned(), parameters)
}

/// Registers templates, each with the parameters that it is given, and renders the first.
fn render(templates: &[(&str, &str, &[&str])], values: &Value) -> Result<String, Error> {
    let mut registry = Templates::empty();
    for (name, source, names) in templates.iter().rev() {
        registry.register(template(name, source, names)?)?;
    }
    registry.render(templates[0].0, values)
}

/// Renders one template that declares each name of `values`; the error as people see it.
fn render_one(source: &str, values: &Value) -> Result<String, String> {
    let names: Vec<&str> = values
        .as_object()
        .map(|map| map.keys().map(String::as_str).collect())
        .unwrap_or_default();
    render(&[("t", source, &names)], values).map_err(|error| error.to_string())
}
