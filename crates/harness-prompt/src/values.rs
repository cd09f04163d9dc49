//! The values of a rendering.

use serde_json::Value;

/// What a value costs besides its text: about what a node of the tree takes in memory.
const NODE_BYTES: usize = 32;

/// How deep values may nest. JSON text is read no deeper than this, either.
const MAX_LEVELS: usize = 128;

/// How many bytes of text, and how many values, that are copied or compared cost as much as one rendered
/// element.
const BYTES_PER_STEP: u64 = 4096;
const NODES_PER_STEP: u64 = 8;

/// How heavy a value is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weight {
    /// Approximate, with all that is in it.
    pub(crate) bytes: usize,
    /// How many values it is made of.
    pub(crate) nodes: usize,
}

impl Weight {
    /// What it costs to handle the value as a whole.
    pub(crate) fn steps(self) -> u64 {
        self.bytes as u64 / BYTES_PER_STEP + self.nodes as u64 / NODES_PER_STEP
    }
}

/// The weight of a value; `None` if it has more than `max` bytes, or is too deep to walk.
pub(crate) fn weight(value: &Value, max: usize) -> Option<Weight> {
    let mut weight = Weight::default();
    add(value, MAX_LEVELS, max, &mut weight)?;
    Some(weight)
}

fn add(value: &Value, levels: usize, max: usize, weight: &mut Weight) -> Option<()> {
    let levels = levels.checked_sub(1)?;
    let text = match value {
        Value::String(text) => text.len(),
        _ => 0,
    };
    let bytes = weight.bytes.checked_add(NODE_BYTES + text)?;
    weight.bytes = Some(bytes).filter(|&bytes| bytes <= max)?;
    weight.nodes += 1;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(()),
        Value::Array(items) => items
            .iter()
            .try_for_each(|item| add(item, levels, max, weight)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, field)| {
            weight.bytes = weight.bytes.checked_add(name.len())?;
            add(field, levels, max, weight)
        }),
    }
}
