//! What a glob means.
//!
//! The pattern, then paths, parted by bytes 0xFF.

use std::path::Path;

use crate::glob::Glob;

/// A longer pattern means nothing more.
const MAX_PATTERN: usize = 256;

/// A deeper path costs the matcher below too much.
const MAX_PARTS: usize = 12;

const FOLDER: &str = "/project";

/// Every pattern is taken or refused, and one of plain characters, `*`, `?` and `**` means what a
/// matcher of a few lines says it means.
pub fn check_glob(data: &[u8]) {
    let mut parts = data.split(|byte| *byte == 0xff);
    let pattern = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    if pattern.len() > MAX_PATTERN {
        return;
    }
    let Ok(glob) = Glob::new(&pattern, Path::new(FOLDER)) else {
        assert!(!is_plain(&pattern) || pattern.trim_matches(['/', '.']).is_empty());
        return;
    };
    for path in parts.take(8) {
        let path = String::from_utf8_lossy(path);
        let path: Vec<&str> = path
            .split('/')
            .filter(|part| !matches!(*part, "" | "." | ".."))
            .take(MAX_PARTS)
            .collect();
        if path.is_empty() {
            continue;
        }
        let joined = path.join("/");
        for is_folder in [false, true] {
            let found = glob.is_match(&Path::new(FOLDER).join(&joined), is_folder);
            // The library's `?` is one byte.
            if is_plain(&pattern) && (joined.is_ascii() || !pattern.contains('?')) {
                assert_eq!(
                    found,
                    means(&pattern, &path, is_folder),
                    "{pattern:?} and {joined:?}"
                );
            }
        }
    }
}

/// Whether a pattern uses nothing but what the matcher below knows.
fn is_plain(pattern: &str) -> bool {
    let begins_apart = pattern.starts_with("./") || pattern.starts_with(FOLDER);
    let leaves = pattern.split('/').any(|part| part == "..");
    !begins_apart && !leaves && !pattern.contains(['[', ']', '{', '}', '\\', ','])
}

fn means(pattern: &str, path: &[&str], is_folder: bool) -> bool {
    if pattern.ends_with('/') && !is_folder {
        return false;
    }
    let inner = pattern.trim_matches('/');
    if !pattern.starts_with('/') && !inner.contains('/') {
        return path.last().is_some_and(|name| name_means(inner, name));
    }
    let parts: Vec<&str> = inner.split('/').collect();
    path_means(&parts, path)
}

fn path_means(pattern: &[&str], path: &[&str]) -> bool {
    match pattern {
        [] => path.is_empty(),
        ["**", rest @ ..] if rest.first() == Some(&"**") => path_means(rest, path),
        // At the end it stands for what is in a folder, not for the folder.
        ["**"] => !path.is_empty(),
        ["**", rest @ ..] => (0..=path.len()).any(|skipped| path_means(rest, &path[skipped..])),
        [first, rest @ ..] => path
            .split_first()
            .is_some_and(|(name, below)| name_means(first, name) && path_means(rest, below)),
    }
}

/// A star first takes nothing; where the rest does not fit, the last star takes one more.
fn name_means(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut in_name) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(c) if *c == '?' || *c == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => match &mut star {
                None => return false,
                Some((after, taken)) => {
                    *taken += 1;
                    (at, in_name) = (*after + 1, *taken);
                }
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}
