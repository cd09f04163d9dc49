//! Text of others, within elements of ours.

/// A text as the inside of an element: it cannot end one of these elements before its time.
pub(crate) fn inside(text: &str, elements: &[&str]) -> String {
    // A model takes `</File >` for an end as well.
    let ends = |text: &str| {
        let rest = text.trim_start();
        elements.iter().any(|name| {
            let found = rest.get(..name.len());
            let behind = rest.get(name.len()..).and_then(|rest| rest.chars().next());
            found.is_some_and(|found| found.eq_ignore_ascii_case(name))
                && behind.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_')))
        })
    };
    let mut inside = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        let (before, tag) = rest.split_at(at);
        inside.push_str(before);
        rest = &tag[2..];
        inside.push_str(if ends(rest) { "<\\/" } else { "</" });
    }
    inside.push_str(rest);
    inside
}
