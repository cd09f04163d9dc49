//! An edit changes what it names, and nothing else.
//!
//! The bytes are read as a [`Recipe`].

use super::patch;
use super::recipe::Recipe;
use crate::edit::{Edit, Edited, edit_text, fitted};
use crate::invisible::is_invisible;
use crate::lookalike;
use crate::matching::{Haystack, Located, Missed};
use crate::text_file::{Encoding, LineEndings, TextFile, to_crlf, to_lf};

/// A longer input is slower, and no stranger.
const MAX_INPUT: usize = 8 * 1024;

/// - What an edit finds looks like what it named; where that is there exactly, it is what is found.
/// - What an edit does not change keeps its bytes: around it, and where old and new text agree.
/// - An exact edit is a plain replacement, and one back gives the text again.
/// - A file whose lines all end alike goes on to.
/// - The bytes of the file around an edit stay, whatever the encoding.
/// - The diff, applied to the old text, gives the new one.
pub fn check_edit(data: &[u8]) {
    if data.len() > MAX_INPUT {
        return;
    }
    let Recipe { file, text, edits } = Recipe::read(data);
    let mut located = Vec::new();
    for edit in &edits {
        let Some(places) = check_alone(&text, edit) else {
            assert!(edit_text(&text, &edits, 1_000).is_err(), "all or none");
            return;
        };
        located.extend(places);
    }
    located.sort_by_key(|located| (located.span.start, located.span.end));
    let apart = located
        .windows(2)
        .all(|pair| pair[0].span.end <= pair[1].span.start);
    let expected = apart
        .then(|| assembled(&text, &located))
        .filter(|expected| *expected != text);
    let max_diff = data.len() * 16;
    let edited = edit_text(&text, &edits, max_diff);
    assert_eq!(
        edited.as_ref().ok().map(|edited| &edited.text),
        expected.as_ref(),
        "the places, put together"
    );
    let Ok(edited) = edited else { return };
    assert_eq!(edited.report.replacements, located.len());
    check_endings(&text, &edits, &edited);
    check_diff(&text, &edited, max_diff);
    let short = edit_text(&text, &edits, 40).map_or_else(|_| 0, |edited| edited.report.diff.len());
    assert!(short < 40 + 1_000, "a diff of {short} bytes");
    if let [edit] = edits.as_slice() {
        check_way_back(&text, edit, &located, &edited);
    }
    if let Some(file) = file {
        check_bytes(&file, &edits, &located);
    }
}

/// Where one edit applies, checked; `None` if it does not.
fn check_alone(text: &str, edit: &Edit) -> Option<Vec<Located>> {
    let Edit {
        old_text: old,
        new_text: new,
        replace_all,
    } = edit;
    if old.is_empty() {
        return None;
    }
    let all = replace_all.unwrap_or(false);
    let haystack = Haystack::new(text);
    let is_exact = text.contains(old.as_str()) && !parts_an_ending(text, old);
    let located = match haystack.locate(old, new, all) {
        Ok(located) => located,
        Err(Missed::Nowhere) => {
            assert!(!is_exact, "it is there");
            return None;
        }
        Err(Missed::Several(places)) => {
            assert!(!all && places.len() > 1);
            assert!(places.iter().all(|at| text.is_char_boundary(*at)));
            return None;
        }
    };
    assert!(!located.is_empty() && (all || located.len() == 1));
    if is_exact {
        let count = text.matches(old.as_str()).count();
        assert_eq!(located.len(), count, "exact matches");
    }
    let kept = haystack.locate(old, old, all);
    for (at, place) in located.iter().enumerate() {
        let found = text.get(place.span.clone());
        assert!(found.is_some(), "a span within a character");
        let found = found.unwrap_or_default();
        if is_exact {
            assert_eq!((place.overlooked, found), (None, old.as_str()));
            assert_eq!(place.text, in_manner_of(text, place.span.start, old, new));
        } else {
            assert!(place.overlooked.is_some(), "not exact, and not said");
            assert_eq!(looks(found), looks(old), "what was found");
        }
        // Edited into itself, it keeps its bytes.
        let kept = kept.as_ref().ok().and_then(|kept| kept.get(at));
        assert_eq!(kept.map(|kept| kept.text.as_str()), Some(found));
        if !is_exact {
            check_shared_lines(old, new, found, &place.text);
        }
    }
    Some(located)
}

/// Whether a place of `old` begins between `\r` and `\n`. It is then not taken for exact.
fn parts_an_ending(text: &str, old: &str) -> bool {
    old.starts_with('\n') && text.contains(&format!("\r{old}"))
}

/// The new text with the line endings of the file, or of the line in a file that has both; if the model
/// wrote one of several endings and it was there, as it wrote it.
fn in_manner_of(text: &str, at: usize, old: &str, new: &str) -> String {
    let crlf = match LineEndings::of(text.as_bytes()) {
        LineEndings::None => return new.to_owned(),
        LineEndings::Mixed if old.contains('\n') => return new.to_owned(),
        LineEndings::Lf => false,
        LineEndings::Crlf => true,
        LineEndings::Mixed => {
            let end = text[at..].find('\n').map(|end| at + end);
            let end = end.or_else(|| text[..at].rfind('\n')).unwrap_or(0);
            text[..end].ends_with('\r')
        }
    };
    if crlf {
        to_crlf(new)
    } else {
        to_lf(new).into_owned()
    }
}

/// A text as it looks when blanks around lines, line endings and look-alikes are not told apart, and
/// what is not drawn is not seen.
fn looks(text: &str) -> String {
    let text: String = to_lf(text)
        .chars()
        .filter(|c| !is_invisible(*c))
        .map(lookalike::fold)
        .collect();
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let lines: Vec<&str> = text.split('\n').map(str::trim).collect();
    lines.join("\n")
}

/// Whole lines that old and new text both begin with are those of the file.
fn check_shared_lines(old: &str, new: &str, found: &str, put: &str) {
    let (old_lf, new_lf) = (to_lf(old), to_lf(new));
    let (old, new) = (whole_lines(&old_lf), whole_lines(&new_lf));
    let (found, put) = (whole_lines(found), whole_lines(put));
    let first = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    for at in 0..first.min(found.len()) {
        assert_eq!(
            put.get(at),
            found.get(at),
            "line {at} of those that both begin with"
        );
    }
}

/// The lines that have an ending.
fn whole_lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
        .collect()
}

fn assembled(text: &str, located: &[Located]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for place in located {
        out.push_str(&text[at..place.span.start]);
        out.push_str(&place.text);
        at = place.span.end;
    }
    out.push_str(&text[at..]);
    out
}

fn has_lone_return(text: &str) -> bool {
    text.replace("\r\n", "").contains('\r')
}

fn check_endings(text: &str, edits: &[Edit], edited: &Edited) {
    let texts = edits
        .iter()
        .flat_map(|edit| [edit.old_text.as_str(), &edit.new_text]);
    if texts.chain([text]).any(has_lone_return) {
        return;
    }
    let result = &edited.text;
    match LineEndings::of(text.as_bytes()) {
        LineEndings::Lf => assert!(!result.contains('\r'), "a return in a file without"),
        LineEndings::Crlf => {
            assert!(!has_lone_return(result), "a return alone");
            assert!(
                !result.replace("\r\n", "").contains('\n'),
                "a line feed alone"
            );
        }
        LineEndings::None | LineEndings::Mixed => {}
    }
}

fn check_diff(text: &str, edited: &Edited, max_bytes: usize) {
    let diff = &edited.report.diff;
    let is_cut = diff.len() >= max_bytes || diff.lines().any(|line| line.len() > 500);
    if is_cut {
        return;
    }
    let (old, new) = (patch::lines(text), patch::lines(&edited.text));
    assert_eq!(patch::apply(text, diff), new, "{diff}");
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let first = edited.report.first_changed_line;
    assert!(first >= 1 && first <= same + 1, "{first} of {same}\n{diff}");
}

/// An exact edit, then one back.
fn check_way_back(text: &str, edit: &Edit, located: &[Located], edited: &Edited) {
    let [place] = located else { return };
    let (old, put) = (&edit.old_text, &place.text);
    if place.overlooked.is_some() || !is_once(&edited.text, put) {
        return;
    }
    let endings = |text: &str| LineEndings::of(text.as_bytes());
    let same = endings(text) == endings(&edited.text) && endings(text) != LineEndings::Mixed;
    if old.contains('\n') && !same || parts_an_ending(&edited.text, put) {
        return;
    }
    let back = Edit {
        old_text: put.clone(),
        new_text: old.clone(),
        replace_all: None,
    };
    let back = edit_text(&edited.text, &[back], 1_000).map(|back| back.text);
    assert_eq!(back.as_deref(), Ok(text), "there and back");
}

/// Whether it is there, and not twice, overlapping or not.
fn is_once(text: &str, part: &str) -> bool {
    let second = |first: usize| {
        let width = part.chars().next().map_or(0, char::len_utf8);
        width == 0 || text[first + width..].contains(part)
    };
    text.find(part).is_some_and(|first| !second(first))
}

/// The same edits in a file: around them its bytes stay.
fn check_bytes(file: &TextFile, edits: &[Edit], located: &[Located]) {
    let fits = fitted(file, edits).is_ok_and(|fitted| fitted == edits);
    let (Some(first), Some(last)) = (located.first(), located.last()) else {
        return;
    };
    if !fits {
        return;
    }
    let old = file.encode(&file.text);
    let result = assembled(&file.text, located);
    let new = file.encode(&result);
    let encoded = |text: &str| file.encode(text);
    let before = encoded(&file.text[..first.span.start]).len();
    let after = encoded(&file.text[last.span.end..]).len() - encoded("").len();
    assert_eq!(new[..before], old[..before], "before the edits");
    assert_eq!(
        new[new.len() - after..],
        old[old.len() - after..],
        "after the edits"
    );
    // Kept bytes that an edit brought together may be a character.
    if !matches!(file.encoding, Encoding::BrokenUtf8 | Encoding::Legacy(_))
        && let Ok(again) = TextFile::decode(new)
        && again.encoding == file.encoding
    {
        assert_eq!(again.text, result, "read again");
    }
}
