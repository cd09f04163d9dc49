//! Whether two globs can mean the same path.
//!
//! In doubt they can: this is for rules that ask or deny.

use std::path::Path;

/// A part of a glob for a path.
#[derive(Clone, Debug)]
enum Part {
    /// `**`: any folders, or none.
    Folders,
    /// One name.
    Name(Vec<Piece>),
}

/// A part of a glob for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Text(char),
    One,
    /// Any text, or none.
    Any,
}

/// Whether a path below `folder` that the shell's glob `names` finds could be meant by `glob`, which begins at
/// `base`. Of a rule's glob `{a,b}` is a choice; for the shell, that is no glob.
pub(crate) fn overlaps(base: &Path, glob: &str, folder: &Path, names: &str) -> bool {
    paths_meet(base, glob, folder, names, names_meet)
}

/// The same for what each of both is likely for: special characters of one stand for no text of the other but what
/// they usually do.
pub(crate) fn are_alike(base: &Path, glob: &str, folder: &Path, names: &str) -> bool {
    paths_meet(base, glob, folder, names, |meant, found| {
        names_meet(&sample(meant, 'x'), found) || names_meet(meant, &sample(found, '*'))
    })
}

fn paths_meet(
    base: &Path,
    glob: &str,
    folder: &Path,
    names: &str,
    names_meet: impl Fn(&[Piece], &[Piece]) -> bool,
) -> bool {
    let mut found = literal(folder);
    found.extend(names.split('/').filter_map(part));
    choices(glob, &mut { MAX_CHOICES }).iter().any(|glob| {
        let mut meant = literal(base);
        meant.extend(glob.split('/').filter_map(part));
        let is_any = |part: &Part| matches!(part, Part::Folders);
        meet(&meant, &found, is_any, |meant, found| {
            match (meant, found) {
                (Part::Name(meant), Part::Name(found)) => names_meet(meant, found),
                _ => true,
            }
        })
    })
}

/// A name that a glob means, with this in the place of what can be any.
fn sample(pieces: &[Piece], any: char) -> Vec<Piece> {
    let piece = |piece: &Piece| match piece {
        Piece::Text(c) => Piece::Text(*c),
        Piece::One | Piece::Any => Piece::Text(any),
    };
    pieces.iter().map(piece).collect()
}

/// Whether the shell's glob `names` could find `name`. A special character stands for a byte where the locale is
/// not known, as it is in many containers.
pub(crate) fn finds(names: &str, name: &str) -> bool {
    let bytes = |text: &str| text.bytes().map(char::from).collect::<String>();
    names_meet(&text(name), &pieces(names))
        || !name.is_ascii() && names_meet(&text(&bytes(name)), &pieces(&bytes(names)))
}

fn names_meet(meant: &[Piece], found: &[Piece]) -> bool {
    // A special character of the shell finds no `.` at the beginning of a name.
    let is_hidden = meant.first() == Some(&Piece::Text('.'));
    if is_hidden && !matches!(found.first(), Some(Piece::Text(_))) {
        return false;
    }
    meet(
        meant,
        found,
        |piece| *piece == Piece::Any,
        |meant, found| match (meant, found) {
            (Piece::Text(meant), Piece::Text(found)) => meant == found,
            _ => true,
        },
    )
}

/// Whether some sequence is meant by both, where some elements stand for any number of others.
fn meet<T>(
    one: &[T],
    other: &[T],
    is_any: impl Fn(&T) -> bool,
    are_same: impl Fn(&T, &T) -> bool,
) -> bool {
    // Whether what is left of `one` meets what is left of `other`, from the end of `one` to its beginning.
    let mut after = vec![false; other.len() + 1];
    for at in (0..=one.len()).rev() {
        let mut row = vec![false; other.len() + 1];
        for to in (0..=other.len()).rev() {
            let beneath = || after.get(to).copied().unwrap_or_default();
            let diagonal = || after.get(to + 1).copied().unwrap_or_default();
            let beside = row.get(to + 1).copied().unwrap_or_default();
            let meets = match (one.get(at), other.get(to)) {
                (None, None) => true,
                (Some(one), None) => is_any(one) && beneath(),
                (None, Some(other)) => is_any(other) && beside,
                (Some(one), Some(other)) if is_any(one) || is_any(other) => beneath() || beside,
                (Some(one), Some(other)) => are_same(one, other) && diagonal(),
            };
            if let Some(cell) = row.get_mut(to) {
                *cell = meets;
            }
        }
        after = row;
    }
    after.first().copied().unwrap_or_default()
}

fn literal(path: &Path) -> Vec<Part> {
    let path = path.to_string_lossy();
    let names = path.split('/').filter(|name| !name.is_empty());
    names.map(|name| Part::Name(text(name))).collect()
}

fn text(name: &str) -> Vec<Piece> {
    let piece = |c| match c {
        // A character that cannot be shown stands for several.
        char::REPLACEMENT_CHARACTER => Piece::Any,
        c => Piece::Text(c),
    };
    name.chars().map(piece).collect()
}

fn part(glob: &str) -> Option<Part> {
    match glob {
        "" | "." => None,
        "**" => Some(Part::Folders),
        glob => Some(Part::Name(pieces(glob))),
    }
}

fn pieces(glob: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = glob.chars();
    while let Some(c) = rest.next() {
        pieces.push(match c {
            '*' => Piece::Any,
            '?' => Piece::One,
            '\\' => match rest.next() {
                Some(c) => Piece::Text(c),
                None => Piece::Text('\\'),
            },
            '[' => {
                let Some(length) = set(rest.as_str()) else {
                    // Where it ends depends on who reads it.
                    pieces.push(Piece::Any);
                    return pieces;
                };
                rest = rest.as_str().get(length..).unwrap_or_default().chars();
                Piece::One
            }
            c => Piece::Text(c),
        });
    }
    pieces
}

/// How long a set is behind its `[`, with its `]`, if that is beyond doubt.
fn set(rest: &str) -> Option<usize> {
    let start = usize::from(rest.starts_with(['!', '^']));
    // A `]` that comes first is one of the characters.
    let from = start + rest.get(start..)?.chars().next()?.len_utf8();
    let end = from + rest.get(from..)?.find(']')?;
    let inner = rest.get(..end)?;
    (!inner.contains(['[', '\\'])).then_some(end + 1)
}

/// A glob without `{a,b}`: one for each choice.
fn choices(glob: &str, left: &mut usize) -> Vec<String> {
    let Some(fewer) = left.checked_sub(1) else {
        // Too many to look at: it could be about anything.
        return vec!["**".to_owned()];
    };
    *left = fewer;
    let mut depth = 0_usize;
    let mut open = None;
    let mut commas = Vec::new();
    let mut chars = glob.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '{' => {
                depth += 1;
                open.get_or_insert(at);
            }
            ',' if depth == 1 => commas.push(at),
            '}' if depth > 1 => depth -= 1,
            '}' if depth == 1 => {
                let Some(open) = open else { break };
                commas.push(at);
                let piece = |from: usize, to: usize| glob.get(from..to).unwrap_or_default();
                let mut from = open + 1;
                let mut all = Vec::new();
                for comma in commas {
                    let (before, after) = (piece(0, open), piece(at + 1, glob.len()));
                    let one = format!("{before}{}{after}", piece(from, comma));
                    all.extend(choices(&one, left));
                    from = comma + 1;
                }
                return all;
            }
            _ => {}
        }
    }
    vec![glob.to_owned()]
}

/// The most choices of a glob that are looked at one by one.
const MAX_CHOICES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_meet_where_one_path_is_meant_by_both() {
        // Both in `/r`: a rule's glob, the shell's, whether they meet.
        for (glob, names, expected) in [
            ("a", "a", true),
            ("a", "b", false),
            ("*.pem", "s*", true),
            ("*.pem", "*.pem", true),
            ("*.pem", "s*.key", false),
            ("*_key*", "s*", true),
            ("a*b", "b*a", false),
            ("a*b", "*", true),
            ("a*", "*b", true),
            ("?", "??", false),
            ("?a", "b?", true),
            (".env", "*", false),
            (".env", "?env", false),
            (".env", "[.]env", false),
            (".env", ".e*", true),
            (".env", r"\.e*", true),
            ("**/.env", "*/.e*", true),
            ("**/.env", "*/*/.env", true),
            ("**/.env", ".env", true),
            ("**/.env", "*/x*", false),
            ("**/id_rsa*", "*/x*", false),
            ("private/**", "p*/x", true),
            ("private/**", "*/x", true),
            ("private/**", "q*/x", false),
            ("private/**", "p*", true),
            ("private/*", "*/x/y", false),
            ("a/**/b", "a/*", true),
            ("a/**/b", "*/*/*/b", true),
            ("a/**/b", "*/*/*/c", false),
            ("{a,b/c}/x", "b/*/x", true),
            ("{a,b/c}/x", "b/*", false),
            ("{a,{b,c}d}", "c*", true),
            ("{a,{b,c}d}", "c", false),
            (r"\{a,b\}", "a", false),
            ("[ab]x", "c*", true),
            ("[ab]x", "cy", false),
            ("*.[ch]", "*.md", false),
            ("id_rsa", "id_rs[[:alpha:]]", true),
            ("id_rsa", "id_rs[a", true),
            ("id_rsa", "[]i]d_rsa", true),
            ("id_rsa", "[!x]d_rs?", true),
            ("**", "*/x", true),
            ("", "x", false),
        ] {
            let root = Path::new("/r");
            let met = overlaps(root, glob, root, names);
            assert_eq!(met, expected, "{glob} {names}");
        }
        // From elsewhere.
        for (base, glob, folder, names, expected) in [
            ("/srv/shop", "private/**", "/srv", "*/private/x", true),
            ("/srv/shop", "private/**", "/srv", "*/x", false),
            ("/", "**/.env", "/srv/shop", "*/.e*", true),
            ("/", "/etc/shadow*", "/", "*/s*", true),
            ("/", "/etc/shadow*", "/etc", "s*", true),
            ("/", "/etc/shadow*", "/usr", "s*", false),
        ] {
            let met = overlaps(Path::new(base), glob, Path::new(folder), names);
            assert_eq!(met, expected, "{base} {glob} {folder} {names}");
        }
        // What is likely meant.
        for (glob, names, expected) in [
            ("*.pem", "*", true),
            ("*.pem", "*.p*", true),
            ("*.pem", "*.md", false),
            ("id_rsa*", "*.md", false),
            ("id_rsa*", "id_*", true),
            ("id_rsa*", "id_rsa.*", true),
            (".env.*", ".env*", true),
            ("*_key*", "s*", false),
            ("**/.env", "*/.e*", true),
            ("private/**", "*/x", true),
        ] {
            let root = Path::new("/r");
            assert_eq!(
                are_alike(root, glob, root, names),
                expected,
                "{glob} {names}"
            );
        }
        let many = "{a,b}".repeat(20);
        assert!(overlaps(Path::new("/"), &many, Path::new("/"), "x"));
    }

    #[test]
    fn a_name_is_found_as_the_shell_finds_it() {
        for (names, name, expected) in [
            ("*", "a", true),
            ("*", ".a", false),
            (".*", ".a", true),
            ("a?", "ab", true),
            ("a?", "a", false),
            (r"\*", "*", true),
            (r"\*", "a", false),
            ("a[bc]", "ab", true),
            ("?", "é", true),
            ("??", "é", true),
            ("???", "é", false),
            ("é*", "éa", true),
            (".*", "..", true),
            ("*", "..", false),
        ] {
            assert_eq!(finds(names, name), expected, "{names} {name}");
        }
    }
}
