//! The values of a rendering.

use serde_json::Value;

/// What a value costs besides its text: about what a node of the tree takes in memory.
const NODE_BYTES: usize = 32;

/// How deep values may nest. JSON text is read no deeper than this, either.
const MAX_LEVELS: usize = 128;

/// The approximate bytes of a value; `None` if it is heavier than `max`, or too deep to walk.
pub(crate) fn weight(value: &Value, max: usize) -> Option<usize> {
    let mut left = max;
    subtract(value, MAX_LEVELS, &mut left)?;
    Some(max - left)
}

fn subtract(value: &Value, levels: usize, left: &mut usize) -> Option<()> {
    let levels = levels.checked_sub(1)?;
    let mut take = |bytes: usize| {
        *left = left.checked_sub(bytes)?;
        Some(())
    };
    take(NODE_BYTES)?;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(()),
        Value::String(text) => take(text.len()),
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| subtract(item, levels, left)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, field)| {
            *left = left.checked_sub(name.len())?;
            subtract(field, levels, left)
        }),
    }
}
