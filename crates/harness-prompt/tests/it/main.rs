//! The tests of harness-prompt, in one binary.
#![cfg(test)]

mod budget;
#[cfg(feature = "templates")]
mod builtin;
#[cfg(feature = "templates")]
mod command;
mod cut;
#[cfg(feature = "templates")]
mod default_prompt;
#[cfg(feature = "templates")]
mod folder;
#[cfg(feature = "templates")]
mod hostile;
#[cfg(feature = "templates")]
mod kinds;
#[cfg(feature = "templates")]
mod library;
#[cfg(feature = "templates")]
mod partials;
mod prompt_diff;
#[cfg(feature = "templates")]
mod registry;
#[cfg(feature = "templates")]
mod strict;
mod system_prompt;

#[cfg(feature = "templates")]
use harness_prompt::{Error, Parameter, Template, Templates};
#[cfg(feature = "templates")]
use serde_json::Value;

/// A template that declares `names` as required parameters.
#[cfg(feature = "templates")]
fn template(name: &str, source: &str, names: &[&str]) -> Result<Template, Error> {
    let parameters = names
        .iter()
        .map(|name| Parameter::required(*name, ""))
        .collect();
    Template::new(name, source.to_owned(), parameters)
}

/// Registers templates, each with the parameters that it is given, and renders the first.
#[cfg(feature = "templates")]
fn render(templates: &[(&str, &str, &[&str])], values: &Value) -> Result<String, Error> {
    let mut registry = Templates::empty();
    for (name, source, names) in templates.iter().rev() {
        registry.register(template(name, source, names)?)?;
    }
    registry.render(templates[0].0, values)
}

/// Renders one template that declares each name of `values`; the error as people see it.
#[cfg(feature = "templates")]
fn render_one(source: &str, values: &Value) -> Result<String, String> {
    let names: Vec<&str> = values
        .as_object()
        .map(|map| map.keys().map(String::as_str).collect())
        .unwrap_or_default();
    render(&[("t", source, &names)], values).map_err(|error| error.to_string())
}
