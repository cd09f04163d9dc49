//! Sharing a number of tokens among several texts.

use harness_prompt::{Cut, Keep, cut_to_tokens, estimate_tokens};

/// With less than this, a cut text says nothing; then only the marker stands for it.
const LEAST: usize = 20;

/// What part of the whole each text may have before any gets more.
const FLOOR: usize = 16;

/// A text that wants a share.
pub(crate) struct Piece<'a> {
    pub(crate) text: &'a str,
    pub(crate) keep: Keep,
    /// What the text is called where a marker says that it was cut.
    pub(crate) name: String,
    /// The bytes of the whole, of which `text` may be a part.
    pub(crate) bytes: u64,
}

/// A text in the size of its share.
pub(crate) struct Share {
    pub(crate) text: String,
    /// What a person should know, if it was cut.
    pub(crate) warning: Option<String>,
}

/// Cuts texts so that together they have at most `tokens`. The first one is the last to be cut; but all
/// get a small part before any gets more.
pub(crate) fn share(pieces: &[Piece<'_>], tokens: usize, budget: usize) -> Vec<Share> {
    let wanted: Vec<usize> = pieces
        .iter()
        .map(|piece| estimate_tokens(piece.text))
        .collect();
    let mut shares = vec![0; pieces.len()];
    let mut left = tokens;
    for most in [tokens / FLOOR, usize::MAX] {
        for (share, wanted) in shares.iter_mut().zip(&wanted) {
            let more = (*wanted.min(&most)).saturating_sub(*share).min(left);
            *share += more;
            left -= more;
        }
    }
    let fit = |(piece, share): (&Piece<'_>, usize)| fit(piece, share, budget);
    pieces.iter().zip(shares).map(fit).collect()
}

fn fit(piece: &Piece<'_>, tokens: usize, budget: usize) -> Share {
    let name = &piece.name;
    let all = piece.bytes;
    let marker = |kept, _| format!("[cut: {kept} of {all} bytes of {name}]");
    let keep = if tokens < LEAST {
        Keep::Whole
    } else {
        piece.keep
    };
    // Of what was read only in part, a little less is shown: the marker takes room too.
    let tokens = if (piece.text.len() as u64) < all {
        tokens.min(estimate_tokens(piece.text).saturating_sub(1))
    } else {
        tokens
    };
    let Some(Cut { text, kept }) = cut_to_tokens(piece.text, tokens, keep, marker) else {
        return Share {
            text: piece.text.to_owned(),
            warning: None,
        };
    };
    let warning = format!(
        "{name} is shown to the model in part, {kept} of {all} bytes: the files of the workspace share \
         {budget} tokens"
    );
    Share {
        text,
        warning: Some(warning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sizes: &[usize], tokens: usize, expected: &[usize]) {
        let texts: Vec<String> = sizes.iter().map(|size| "abc\n".repeat(*size)).collect();
        let pieces: Vec<Piece<'_>> = texts
            .iter()
            .map(|text| Piece {
                text,
                keep: Keep::Start,
                name: "a.md".to_owned(),
                bytes: text.len() as u64,
            })
            .collect();
        let shares = share(&pieces, tokens, tokens);
        let found: Vec<usize> = shares.iter().map(|s| estimate_tokens(&s.text)).collect();
        assert!(found.iter().sum::<usize>() <= tokens, "{found:?}");
        for ((found, expected), share) in found.iter().zip(expected).zip(&shares) {
            assert!(
                found.abs_diff(*expected) <= 2,
                "{found} is not about {expected}"
            );
            assert_eq!(share.warning.is_some(), share.text.contains("[cut: "));
        }
    }

    #[test]
    fn the_first_is_cut_last_and_none_gets_nothing() {
        check(&[10, 20, 30], 100, &[10, 20, 30]);
        // A small one in front of a large one stays whole.
        check(&[250, 10_000], 1_600, &[250, 1_350]);
        // A large one leaves the others their floor.
        check(&[10_000, 10_000, 10_000], 1_600, &[1_400, 100, 100]);
        check(&[10_000, 5], 160, &[155, 5]);
    }
}
