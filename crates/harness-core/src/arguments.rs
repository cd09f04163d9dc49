//! The arguments of a call: their schema, their reading, their validation.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::tool::ToolSpec;

/// The most bytes of a call's arguments that are parsed at all.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 8 * 1024 * 1024;

/// How much of malformed arguments a result quotes.
const ECHO_CHARS: usize = 200;

/// The most problems that one result lists.
const MAX_PROBLEMS: usize = 8;

/// The JSON Schema of `T`, with nothing referenced and nothing that a provider may stumble over.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.entry("type").or_insert_with(|| "object".into());
        object
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
    }
    simplify(&mut schema);
    schema
}

/// Leaves out what costs tokens and says nothing: the formats of Rust's integers, `null` beside the
/// type of an optional parameter (leaving it out says the same), and the line breaks that a doc
/// comment has in the middle of a sentence.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let rust_format = object
                .get("format")
                .and_then(Value::as_str)
                .is_some_and(|format| {
                    matches!(
                        format,
                        "uint"
                            | "int"
                            | "uint8"
                            | "uint16"
                            | "uint32"
                            | "uint64"
                            | "int8"
                            | "int16"
                            | "int32"
                            | "int64"
                            | "float"
                            | "double"
                    )
                });
            if rust_format {
                object.remove("format");
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = unwrapped(text);
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".to_owned(), only);
                }
            }
            for (_, value) in object.iter_mut() {
                simplify(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Joins the lines of each paragraph. Lists and indented lines keep theirs.
fn unwrapped(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    for line in text.lines() {
        let starts_anew = line.is_empty()
            || line.starts_with([' ', '-', '*', '#', '|', '`'])
            || line.starts_with(|c: char| c.is_ascii_digit());
        if joined.is_empty() {
        } else if starts_anew || joined.ends_with('\n') {
            joined.push('\n');
        } else {
            joined.push(' ');
        }
        joined.push_str(line);
    }
    joined
}

/// Takes the description off the top of a schema: it describes the tool.
pub(crate) fn take_description(schema: &mut Value) -> Option<String> {
    let text = schema.as_object_mut()?.remove("description")?;
    text.as_str().map(str::to_owned)
}

/// Parses the text that a model wrote as arguments. The error is for the model.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    if text.len() > MAX_ARGUMENT_BYTES {
        return Err(format!(
            "The arguments are {} bytes long; at most {MAX_ARGUMENT_BYTES} are read. Nothing was \
             executed. Send less in one call.",
            text.len()
        ));
    }
    // Several services send nothing at all for a call without arguments.
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        // Some models wrap the object in a string once more; that cannot be misread.
        Ok(Value::String(inner)) => match serde_json::from_str::<Value>(&inner) {
            Ok(value @ Value::Object(_)) => Ok(value),
            _ => Err(not_an_object("a string", text)),
        },
        Ok(Value::Array(_)) => Err(not_an_object("an array", text)),
        Ok(Value::Null) => Err(not_an_object("null", text)),
        Ok(Value::Bool(_)) => Err(not_an_object("a boolean", text)),
        Ok(Value::Number(_)) => Err(not_an_object("a number", text)),
        Err(error) => Err(format!(
            "The arguments are not valid JSON ({error}). Nothing was executed. Received: {}",
            echo(text)
        )),
    }
}

fn not_an_object(what: &str, text: &str) -> String {
    format!(
        "The arguments must be a JSON object, but they are {what}. Nothing was executed. \
         Received: {}",
        echo(text)
    )
}

/// What a result quotes of something that a model wrote.
pub(crate) fn echo(text: &str) -> String {
    match text.char_indices().nth(ECHO_CHARS) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

/// Whether a schema says that `null` is a value of its own.
fn allows_null(schema: &Value) -> bool {
    let names_null = |schema: &Value| match schema.get("type") {
        Some(Value::Array(types)) => types.iter().any(|name| name == "null"),
        Some(name) => name == "null",
        None => false,
    };
    names_null(schema)
        || ["anyOf", "oneOf"].iter().any(|any| {
            schema
                .get(any)
                .and_then(Value::as_array)
                .is_some_and(|schemas| schemas.iter().any(names_null))
        })
}

/// Reads numbers and booleans that came as text, at any depth, where the schema asks for them; and
/// drops `null` for a parameter that may be left out and may not be `null`.
pub(crate) fn coerce(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(object) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return;
            };
            let required = |name: &str| {
                schema
                    .get("required")
                    .and_then(Value::as_array)
                    .is_some_and(|names| names.iter().any(|other| other == name))
            };
            object.retain(|name, value| {
                let may_go = |schema| !allows_null(schema) && !required(name);
                !(value.is_null() && properties.get(name).is_some_and(may_go))
            });
            for (name, value) in object.iter_mut() {
                if let Some(schema) = properties.get(name) {
                    coerce(value, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    coerce(item, schema);
                }
            }
        }
        Value::String(text) => {
            let read = match schema.get("type").and_then(Value::as_str) {
                Some("integer") => text.trim().parse::<i64>().ok().map(Value::from),
                Some("number") => text
                    .trim()
                    .parse::<f64>()
                    .ok()
                    .and_then(serde_json::Number::from_f64)
                    .map(Value::Number),
                Some("boolean") => match text.trim() {
                    "true" | "True" => Some(Value::Bool(true)),
                    "false" | "False" => Some(Value::Bool(false)),
                    _ => None,
                },
                _ => None,
            };
            if let Some(read) = read {
                *value = read;
            }
        }
        Value::Number(number) => {
            // `2.0` for an integer: some models know only floats.
            if schema.get("type").and_then(Value::as_str) == Some("integer")
                && let Some(float) = number.as_f64()
                && number.is_f64()
                && float.fract() == 0.0
                && float.abs() < 9e15
            {
                *value = Value::from(float as i64);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Whether a schema asks for names and types alone, so that arguments which can be read as their type
/// fit it, unless [`has_list_in_list`] says that they could be read in an odd way. Compiling a schema
/// takes milliseconds, reading arguments microseconds.
pub(crate) fn asks_for_types_alone(schema: &Value) -> bool {
    is_flat_object(schema, |property| {
        is_scalar(property)
            || (has_only(property, &["type", "description", "items"])
                && property.get("type").is_some_and(|kind| kind == "array")
                && property
                    .get("items")
                    .is_some_and(|items| is_scalar(items) || is_flat_object(items, is_scalar)))
    })
}

fn is_flat_object(schema: &Value, is_fine: impl Fn(&Value) -> bool) -> bool {
    has_only(schema, &["type", "description", "properties", "required"])
        && schema.get("type").is_some_and(|kind| kind == "object")
        && schema
            .get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| properties.values().all(is_fine))
}

fn is_scalar(schema: &Value) -> bool {
    let kind = schema.get("type").and_then(Value::as_str);
    // Rust's unsigned integers have no other bound.
    let bound = schema.get("minimum").is_none_or(|least| *least == 0);
    bound
        && has_only(schema, &["type", "description", "minimum"])
        && matches!(kind, Some("string" | "integer" | "number" | "boolean"))
}

fn has_only(schema: &Value, keywords: &[&str]) -> bool {
    schema
        .as_object()
        .is_some_and(|object| object.keys().all(|key| keywords.contains(&&**key)))
}

/// Whether a list stands in a list. A list can be read as an object, field by field, which no schema
/// allows.
pub(crate) fn has_list_in_list(arguments: &Value) -> bool {
    arguments.as_object().is_none_or(|object| {
        object
            .values()
            .filter_map(Value::as_array)
            .any(|items| items.iter().any(Value::is_array))
    })
}

/// Compiles a schema.
pub(crate) fn compile(schema: &Value) -> Result<jsonschema::Validator, String> {
    jsonschema::validator_for(schema).map_err(|error| error.to_string())
}

/// Checks arguments. The error lists what is wrong, each with its JSON pointer, and the parameters
/// that there are.
pub(crate) fn validate(
    validator: &jsonschema::Validator,
    spec: &ToolSpec,
    arguments: &Value,
) -> Result<(), String> {
    if validator.is_valid(arguments) {
        return Ok(());
    }
    let mut lines = vec![format!(
        "The arguments do not fit `{}`. Nothing was executed.",
        spec.name
    )];
    let mut errors = validator.iter_errors(arguments);
    for error in errors.by_ref().take(MAX_PROBLEMS) {
        let pointer = error.instance_path().to_string();
        let place = if pointer.is_empty() { "/" } else { &pointer };
        let problem = error.to_string();
        lines.push(format!("- at {}: {}", echo(place), echo(&problem)));
    }
    let more = errors.count();
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    lines.push(format!("Parameters: {}", parameters_line(&spec.parameters)));
    Err(lines.join("\n"))
}

/// `path (string, required), limit (integer)`.
fn parameters_line(schema: &Value) -> String {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return "none".to_owned();
    };
    let mut parts = Vec::with_capacity(properties.len());
    for (name, property) in properties {
        let kind = property
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or("any");
        let mark = if required.contains(&name.as_str()) {
            ", required"
        } else {
            ""
        };
        parts.push(format!("{name} ({kind}{mark})"));
    }
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// A part.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Part {
        a: String,
        b: Option<bool>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Plain {
        /// A text.
        a: String,
        b: Option<u64>,
        c: Option<f64>,
        parts: Option<Vec<Part>>,
        list: Vec<i64>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Nested {
        part: Part,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Bounded {
        #[schemars(range(min = 3))]
        a: u64,
    }

    #[test]
    fn what_a_schema_asks_for() {
        assert!(asks_for_types_alone(&schema_of::<Plain>()));
        assert!(!asks_for_types_alone(&schema_of::<Nested>()));
        assert!(!asks_for_types_alone(&schema_of::<Bounded>()));
        let closed = json!({"type": "object", "properties": {}, "additionalProperties": false});
        assert!(!asks_for_types_alone(&closed));
        assert!(has_list_in_list(&json!({"parts": [["a", true]]})));
        assert!(has_list_in_list(&json!([])));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-2_i64..3).prop_map(Value::from),
            any::<f64>().prop_map(
                |number| serde_json::Number::from_f64(number).map_or(json!(0.5), Value::Number)
            ),
            "[a-c]{0,2}".prop_map(Value::from),
        ];
        scalar.prop_recursive(3, 12, 4, |inner| {
            let names = prop::sample::select(vec!["a", "b", "c", "parts", "list", "x"]);
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::hash_map(names, inner, 0..5).prop_map(|map| {
                    let map = map
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value));
                    Value::Object(map.collect())
                }),
            ]
        })
    }

    proptest! {
        /// What can be read is what the schema allows.
        #[test]
        fn reading_is_as_strict_as_the_schema(
            a in any_value(), b in any_value(), parts in any_value(), list in any_value(), whole in any_value(),
        ) {
            let schema = schema_of::<Plain>();
            let validator = compile(&schema).unwrap();
            for arguments in [
                json!({"a": a, "list": []}),
                json!({"a": "x", "list": list}),
                json!({"a": "x", "b": b, "list": [1]}),
                json!({"a": "x", "c": b, "list": []}),
                json!({"a": "x", "parts": parts, "list": []}),
                json!({"a": "x", "parts": [whole], "list": []}),
                whole,
            ] {
                if !has_list_in_list(&arguments) && Plain::deserialize(&arguments).is_ok() {
                    prop_assert!(validator.is_valid(&arguments), "{}", arguments);
                }
            }
        }
    }
}
