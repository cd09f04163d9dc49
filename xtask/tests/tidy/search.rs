//! Finding code whatever its spacing. A pattern is code without its spaces; the space that it does
//! have, between two names, stands for any number.

use crate::source::{is_word, matching};

/// The byte positions where `pattern` occurs in `code`, spaces and line breaks aside. A pattern
/// that begins or ends with a letter matches whole names only.
pub(crate) fn occurrences(code: &str, pattern: &str) -> Vec<usize> {
    let Some(first) = pattern.chars().next() else {
        return vec![];
    };
    code.match_indices(first)
        .map(|(at, _)| at)
        .filter(|&at| begins_name(code, at) || !is_word(pattern.as_bytes()[0]))
        .filter(|&at| end_of_match(code, at, pattern).is_some())
        .collect()
}

/// The positions where an item is named by its path, `module::item`, also within a group:
/// `module::{a, item}`.
pub(crate) fn paths(code: &str, module: &str, item: &str) -> Vec<usize> {
    let mut found = occurrences(code, &format!("{module}::{item}"));
    let group = format!("{module}::{{");
    for at in occurrences(code, &group) {
        let Some(end) = end_of_match(code, at, &group) else {
            continue;
        };
        let members = &code[end..matching(code, end - 1)];
        if !occurrences(members, item).is_empty() {
            found.push(at);
        }
    }
    found
}

/// The position of each name in `code`, and the name.
pub(crate) fn names(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts =
        (0..code.len()).filter(|&at| is_word(code.as_bytes()[at]) && begins_name(code, at));
    starts.map(|at| {
        let length = code.as_bytes()[at..]
            .iter()
            .position(|&byte| !is_word(byte));
        (
            at,
            &code[at..length.map_or(code.len(), |length| at + length)],
        )
    })
}

fn begins_name(code: &str, at: usize) -> bool {
    at == 0 || !is_word(code.as_bytes()[at - 1])
}

/// Where a match of `pattern` at `start` ends, spaces skipped.
fn end_of_match(code: &str, start: usize, pattern: &str) -> Option<usize> {
    let bytes = code.as_bytes();
    let mut at = start;
    let mut previous = b' ';
    for wanted in pattern.bytes() {
        if wanted == b' ' {
            let spaces = bytes[at..]
                .iter()
                .take_while(|byte| byte.is_ascii_whitespace())
                .count();
            if spaces == 0 {
                return None;
            }
            (previous, at) = (wanted, at + spaces);
            continue;
        }
        // Spaces may part anything but the letters of one name.
        while !(is_word(previous) && is_word(wanted))
            && at > start
            && bytes.get(at).is_some_and(u8::is_ascii_whitespace)
        {
            at += 1;
        }
        if bytes.get(at) != Some(&wanted) {
            return None;
        }
        previous = wanted;
        at += 1;
    }
    let cut = is_word(previous) && bytes.get(at).copied().is_some_and(is_word);
    (!cut).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::{names, occurrences, paths};

    #[test]
    fn spacing_does_not_matter_and_names_are_whole() {
        assert_eq!(occurrences("std :: fs\n  ::read(x)", "fs::read("), [7]);
        assert_eq!(occurrences("println!(); eprintln!();", "println!"), [0]);
        assert_eq!(occurrences("std::env::var_os(x)", "env::var"), [0; 0]);
        assert_eq!(occurrences("my_fs::read()", "fs::"), [0; 0]);
        assert_eq!(occurrences("unsafe_code unsafe", "unsafe"), [12]);
        assert_eq!(occurrences("# [ allow (x)]", "#[allow("), [0]);
        assert_eq!(occurrences("mod\n  a; mod ab; moda;", "mod a"), [0]);
    }

    #[test]
    fn a_path_is_found_in_a_group_too() {
        assert_eq!(paths("use std::env::{self, var};", "env", "var"), [9]);
        assert_eq!(
            paths("use tokio::time::{Instant, sleep};", "time", "sleep"),
            [11]
        );
        assert_eq!(paths("tokio::time::sleep(x)", "time", "sleep"), [7]);
        assert_eq!(
            paths("use tokio::time::{Instant, sleep_until};", "time", "sleep"),
            [0; 0]
        );
    }

    #[test]
    fn lists_names() {
        assert_eq!(
            names("a.b_c(1)").collect::<Vec<_>>(),
            [(0, "a"), (2, "b_c"), (6, "1")]
        );
    }
}
