//! Medians. A shared machine has outliers, and a mean would follow them.

use std::ops::Range;

/// The middle one of the values, or the mean of the middle two. Not a number, which meets no
/// target, where there are none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        length if length % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The places of the values of so many turns around `turn`, where the first value is that of turn 1.
pub(crate) fn around(turn: usize, beside: usize) -> Range<usize> {
    (turn - 1).saturating_sub(beside)..turn + beside
}

#[cfg(test)]
mod tests {
    use super::{around, median};

    #[test]
    fn the_median_is_in_the_middle() {
        let check = |values: &[f64], expected: f64| {
            assert!((median(values.iter().copied()) - expected).abs() < 1e-12);
        };
        check(&[3.0], 3.0);
        check(&[9.0, 1.0, 2.0], 2.0);
        check(&[1000.0, 1.0, 3.0, 2.0], 2.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn a_window_has_as_many_turns_before_as_after() {
        // Turn 40 is at 39.
        assert_eq!(around(40, 10), 29..50);
        assert_eq!(around(3, 10), 0..13);
    }
}
