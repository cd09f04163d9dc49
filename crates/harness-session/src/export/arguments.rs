//! The arguments of a call, laid out.

use serde::de::IgnoredAny;

/// JSON with each value on a line of its own, and everything else as it was written: the order of keys, the
/// form of numbers. `None` if it is no JSON.
pub(super) fn laid_out(json: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(json).ok()?;
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut characters = json.chars().filter(|c| !c.is_control()).peekable();
    while let Some(c) = characters.next() {
        match c {
            ' ' => {}
            '"' => {
                out.push('"');
                let mut escaped = false;
                for c in characters.by_ref() {
                    out.push(c);
                    if c == '"' && !escaped {
                        break;
                    }
                    escaped = c == '\\' && !escaped;
                }
            }
            '{' | '[' => {
                out.push(c);
                while characters.next_if_eq(&' ').is_some() {}
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c => out.push(c),
        }
    }
    Some(out)
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_numbers_stay() {
        assert_eq!(
            laid_out(r#" {"b": 1.50, "a":[ ], "t": "x, \"{y}: \\", "n":[{"z":null}]}"#).as_deref(),
            Some(
                "{\n  \"b\": 1.50,\n  \"a\": [],\n  \"t\": \"x, \\\"{y}: \\\\\",\n  \"n\": [\n    {\n      \
                 \"z\": null\n    }\n  ]\n}"
            )
        );
        assert_eq!(laid_out("{\"a\": "), None);
        assert_eq!(
            laid_out("{\n\t\"a\":\r\n1}").as_deref(),
            Some("{\n  \"a\": 1\n}")
        );
    }
}
