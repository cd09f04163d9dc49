//! Whether a line could be read again.

use crate::error::Error;
use crate::lines::LONGEST;

/// How deep a line may be nested, to be read again.
const DEEPEST: usize = 120;

/// Whether a line can be read again.
pub(crate) fn check_readable(line: &[u8]) -> Result<(), Error> {
    if line.len() > LONGEST {
        return Err(Error::Misuse(format!(
            "the entry has more than {LONGEST} bytes"
        )));
    }
    // Few lines have as many brackets; only those are looked at closely.
    let mut brackets = memchr::memchr2_iter(b'{', b'[', line);
    if brackets.nth(DEEPEST).is_some() && depth(line) > DEEPEST {
        let problem = format!("the entry is nested more than {DEEPEST} deep");
        return Err(Error::Misuse(problem));
    }
    Ok(())
}

/// How deep JSON is nested.
fn depth(line: &[u8]) -> usize {
    let (mut depth, mut deepest, mut at) = (0_usize, 0, 0);
    while let Some(byte) = line.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                // To the end of the string.
                while let Some(found) = line
                    .get(at..)
                    .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
                {
                    at += found + 1;
                    if line[at - 1] == b'"' {
                        break;
                    }
                    at += 1;
                }
            }
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_count_outside_of_strings_only() {
        let cases = [
            ("{}", 1),
            (r#"{"a":[[1],[2,{"b":{}}]]}"#, 5),
            (r#"{"[[[\"[[\\":"{{"}"#, 1),
            ("[[]]]]]][[[", 3),
        ];
        for (line, expected) in cases {
            assert_eq!(depth(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn what_is_nested_too_deeply_to_be_read_is_refused() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(check_readable(nested(DEEPEST).as_bytes()).is_ok());
        assert!(check_readable(nested(DEEPEST + 1).as_bytes()).is_err());
        let wide = format!("[{}]", "[],".repeat(10_000));
        assert!(check_readable(wide.as_bytes()).is_ok());
    }
}
