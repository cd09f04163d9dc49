//! Characters and names that look the same and are not.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::Path;

use unicode_normalization::UnicodeNormalization;

use crate::files::Files;
use crate::invisible;
use crate::names;

/// How many names of a folder are looked at.
const MAX_NAMES: usize = 20_000;

/// How many names are offered.
const MAX_OFFERS: usize = 3;

/// The ASCII character that a model types for this one: quotes, dashes and spaces.
pub(crate) fn fold(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2035}' | '\u{02bc}' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '\u{2036}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' => '-',
        '\u{00a0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200a}'
        | '\u{202f}'
        | '\u{205f}'
        | '\u{3000}' => ' ',
        other => other,
    }
}

/// A name as it looks: composed, with plain quotes, dashes and spaces, without what is invisible.
fn look(name: &str) -> String {
    name.nfkc()
        .filter(|c| !invisible::is_invisible(*c))
        .map(fold)
        .collect()
}

/// What a folder offers for a name that is not in it.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// The one name that looks exactly the same.
    pub(crate) same_look: Option<OsString>,
    /// Names that are close, the closest first.
    pub(crate) similar: Vec<String>,
}

/// Looks through a folder for names like `name`.
pub(crate) fn offer(files: &dyn Files, folder: &Path, name: &OsStr) -> Offer {
    let wanted = look(&name.to_string_lossy());
    let wanted_lower = wanted.to_lowercase();
    let mut same: Vec<OsString> = Vec::new();
    let mut scored: Vec<(u32, String)> = Vec::new();
    let mut looked_at = 0;
    // A folder that cannot be listed offers what was seen of it.
    let _ = files.list(folder, &mut |entry| {
        let other = names::shown(&entry.name);
        let other_look = look(&other);
        if other_look == wanted {
            same.push(entry.name.clone());
        }
        let score = similarity(&wanted_lower, &other_look.to_lowercase());
        if score >= 600 {
            scored.push((score, other.into_owned()));
        }
        looked_at += 1;
        if looked_at < MAX_NAMES {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.truncate(MAX_OFFERS);
    let similar = scored.into_iter().map(|(_, name)| name).collect();
    match <[OsString; 1]>::try_from(same) {
        Ok([only]) => Offer {
            same_look: Some(only),
            similar,
        },
        Err(_) => Offer {
            same_look: None,
            similar,
        },
    }
}

/// How much two texts share, from 0 to 1,000: the pairs of neighbouring characters that both have.
pub(crate) fn similarity(a: &str, b: &str) -> u32 {
    if a == b {
        return 1_000;
    }
    let pairs = |text: &str| {
        let mut pairs: Vec<(char, char)> = text.chars().zip(text.chars().skip(1)).collect();
        pairs.sort_unstable();
        pairs
    };
    let (a, b) = (pairs(a), pairs(b));
    if a.is_empty() || b.is_empty() {
        return 0;
    }
    let (mut i, mut j, mut shared) = (0, 0, 0_usize);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                shared += 1;
                i += 1;
                j += 1;
            }
        }
    }
    (shared * 2_000 / (a.len() + b.len())) as u32
}
