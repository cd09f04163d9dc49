//! Where a conversation is cut.

/// A message, as far as cutting is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) kind: PieceKind,
    pub(crate) tokens: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceKind {
    /// What an earlier compaction left.
    Summary,
    User,
    Reply,
    Results,
}

/// A cut: what is before `at` is summarised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) at: usize,
    /// Where the task began that the cut goes through, if something was before it.
    pub(crate) task: Option<usize>,
}

/// Why a conversation is not cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoCut {
    /// There is nothing that a summary could stand for.
    NothingToSummarise,
    /// What must stay is longer than what may stay, by itself.
    TooMuchStays,
}

/// Cuts so that about `keep` tokens stay at the end, and `most` at most.
///
/// What stays begins with a message of the user or with a reply, never with results; what the user said last
/// stays if it was not answered. If the last turn alone is more than `most`, nothing of it stays, unless the
/// user said something behind it.
pub(crate) fn cut(pieces: &[Piece], keep: u64, most: u64) -> Result<Cut, NoCut> {
    let end = pieces.len();
    let first = new_from(pieces);
    let unanswered = unanswered_from(pieces);
    let may_begin = |at: &usize| {
        let kind = pieces.get(*at).map(|piece| piece.kind);
        matches!(kind, Some(PieceKind::User | PieceKind::Reply))
    };
    // The earliest cut leaves the most.
    let mut smallest = None;
    let mut stays = 0_u64;
    let mut best = None;
    for at in (first + 1..end).rev() {
        stays = stays.saturating_add(pieces.get(at).map_or(0, |piece| piece.tokens));
        if at > unanswered || !may_begin(&at) {
            continue;
        }
        if stays <= keep.min(most) {
            best = Some(at);
        }
        smallest.get_or_insert((at, stays));
    }
    let at = match (best, smallest) {
        (Some(at), _) => at,
        (None, Some((at, stays))) if stays <= most => at,
        _ if unanswered == end && end > first => end,
        (None, Some(_)) => return Err(NoCut::TooMuchStays),
        (None, None) => return Err(NoCut::NothingToSummarise),
    };
    let is_user = |at: &usize| pieces.get(*at).is_some_and(|it| it.kind == PieceKind::User);
    let task = if is_user(&at) || at == end {
        None
    } else {
        (first..at).rev().find(is_user).filter(|task| *task > first)
    };
    // A little more, and the task is whole.
    let with_task = task.map(|task| tokens_from(pieces, task));
    match (task, with_task) {
        (Some(task), Some(stays)) if stays <= most.min(keep + keep / 4) => Ok(Cut {
            at: task,
            task: None,
        }),
        _ => Ok(Cut { at, task }),
    }
}

/// Tokens of what is behind a place.
pub(crate) fn tokens_from(pieces: &[Piece], at: usize) -> u64 {
    let behind = pieces.get(at..).unwrap_or_default();
    let tokens = behind.iter().map(|piece| piece.tokens);
    tokens.fold(0, u64::saturating_add)
}

/// Where what no summary stands for begins.
pub(crate) fn new_from(pieces: &[Piece]) -> usize {
    let is_summary = |piece: &&Piece| piece.kind == PieceKind::Summary;
    pieces.iter().take_while(is_summary).count()
}

/// Where what the user said last begins, if it was not answered; else the end.
pub(crate) fn unanswered_from(pieces: &[Piece]) -> usize {
    let is_user = |piece: &&Piece| piece.kind == PieceKind::User;
    pieces.len() - pieces.iter().rev().take_while(is_user).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        let piece = |c: char| Piece {
            kind: match c {
                's' => PieceKind::Summary,
                'u' => PieceKind::User,
                'a' => PieceKind::Reply,
                _ => PieceKind::Results,
            },
            tokens: 10,
        };
        text.chars().map(piece).collect()
    }

    #[test]
    fn where_it_is_cut() {
        let at = |at, task| Ok(Cut { at, task });
        for (text, keep, most, expected) in [
            ("", 20, 100, Err(NoCut::NothingToSummarise)),
            ("u", 20, 100, Err(NoCut::NothingToSummarise)),
            ("su", 20, 100, Err(NoCut::NothingToSummarise)),
            ("uau", 20, 100, at(1, None)),
            ("uauau", 30, 100, at(2, None)),
            // Never between a call and its result.
            ("uararar", 30, 100, at(5, None)),
            ("uarar", 30, 100, at(3, None)),
            // In the middle of a task that has something before it.
            ("uauarar", 20, 100, at(5, Some(2))),
            ("suauarar", 20, 100, at(6, Some(3))),
            ("suarar", 20, 100, at(4, None)),
            // A little more, and it is whole.
            ("uauar", 24, 100, at(2, None)),
            ("uauar", 20, 100, at(3, Some(2))),
            // What was said last stays.
            ("uaruu", 5, 100, at(3, None)),
            ("uaruu", 5, 15, Err(NoCut::TooMuchStays)),
            // The last turn is too long to stay.
            ("uarar", 5, 15, at(5, None)),
            ("uar", 100, 15, at(3, None)),
            ("uar", 100, 100, at(1, None)),
            ("s", 5, 5, Err(NoCut::NothingToSummarise)),
        ] {
            assert_eq!(
                cut(&pieces(text), keep, most),
                expected,
                "{text} {keep} {most}"
            );
        }
    }

    fn conversation() -> impl Strategy<Value = Vec<Piece>> {
        let turn = prop_oneof![Just("u"), Just("a"), Just("ar")];
        let turns = prop::collection::vec(turn, 0..30);
        (
            prop::bool::ANY,
            turns,
            prop::collection::vec(0..2_000_u64, 62),
        )
            .prop_map(|(summary, turns, tokens)| {
                let text = format!("{}u{}", if summary { "s" } else { "" }, turns.concat());
                let mut pieces = pieces(&text);
                for (piece, tokens) in pieces.iter_mut().zip(tokens) {
                    piece.tokens = tokens;
                }
                pieces
            })
    }

    proptest! {
        #[test]
        fn a_cut_keeps_the_rules(pieces in conversation(), keep in 0..5_000_u64, most in 0..9_000_u64) {
            let Ok(Cut { at, task }) = cut(&pieces, keep, most) else {
                return Ok(());
            };
            prop_assert!(at > new_from(&pieces));
            prop_assert!(at <= unanswered_from(&pieces));
            let kept: u64 = pieces[at..].iter().map(|piece| piece.tokens).sum();
            prop_assert!(kept <= most);
            if let Some(piece) = pieces.get(at) {
                prop_assert!(matches!(piece.kind, PieceKind::User | PieceKind::Reply));
            }
            if let Some(task) = task {
                prop_assert!(pieces[task].kind == PieceKind::User && task < at);
                prop_assert!(task > new_from(&pieces) && pieces[at].kind == PieceKind::Reply);
            }
        }

        #[test]
        fn what_can_be_cut_is_cut(pieces in conversation(), keep in 0..5_000_u64) {
            let with_results = pieces.last().is_some_and(|last| last.kind == PieceKind::Results);
            if with_results {
                prop_assert!(cut(&pieces, keep, 0).is_ok());
            }
        }
    }
}
