//! A row of the table: what was measured, what it must reach, and whether it does.

use std::fmt;

/// One figure.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    what: &'static str,
    must: &'static str,
    measured: Option<String>,
    floor: Option<String>,
    ratio: Option<f64>,
    is_met: bool,
}

impl Figure {
    /// A figure that has not been measured yet, and meets nothing.
    pub(crate) const fn new(what: &'static str, must: &'static str) -> Figure {
        Figure {
            what,
            must,
            measured: None,
            floor: None,
            ratio: None,
            is_met: false,
        }
    }

    pub(crate) fn measured(mut self, measured: impl Into<String>) -> Figure {
        self.measured = Some(measured.into());
        self
    }

    /// What the bare client, or another program, needs for the same.
    pub(crate) fn floor(mut self, floor: impl Into<String>) -> Figure {
        self.floor = Some(floor.into());
        self
    }

    pub(crate) fn ratio(mut self, ratio: f64) -> Figure {
        self.ratio = Some(ratio);
        self
    }

    pub(crate) fn met(mut self, is_met: bool) -> Figure {
        self.is_met = is_met;
        self
    }

    pub(crate) fn is_met(&self) -> bool {
        self.is_met
    }
}

/// The figures as a table in Markdown.
#[derive(Debug)]
pub(crate) struct Table<'a>(pub(crate) &'a [Figure]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | must reach | measured | floor | ratio | met |")?;
        write!(f, "|---|---|---|---|---|---|")?;
        for figure in self.0 {
            let met = match (&figure.measured, figure.is_met) {
                (None, _) => "not measured",
                (Some(_), true) => "yes",
                (Some(_), false) => "**no**",
            };
            write!(
                f,
                "\n| {} | {} | {} | {} | {} | {met} |",
                figure.what,
                figure.must,
                figure.measured.as_deref().unwrap_or("–"),
                figure.floor.as_deref().unwrap_or("–"),
                figure.ratio.map_or("–".to_owned(), |it| format!("{it:.2}")),
            )?;
        }
        Ok(())
    }
}

/// A time with three digits, in the unit that suits it.
pub(crate) fn time(seconds: f64) -> String {
    let (value, unit) = if seconds >= 1.0 {
        (seconds, "s")
    } else if seconds >= 1e-3 {
        (seconds * 1e3, "ms")
    } else if seconds >= 1e-6 {
        (seconds * 1e6, "µs")
    } else {
        (seconds * 1e9, "ns")
    };
    let decimals = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

/// A size in megabytes, of a million bytes each.
pub(crate) fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}

#[cfg(test)]
mod tests {
    use super::{Figure, Table, megabytes, time};

    #[test]
    fn shows_each_figure_in_a_row() {
        let figures = [
            Figure::new("start", "at most 3 × the floor")
                .measured(time(0.002_34))
                .floor(time(0.000_81))
                .ratio(2.888)
                .met(true),
            Figure::new("binary", "at most 20 MB")
                .measured(megabytes(23_456_789.0))
                .met(false),
            Figure::new("burst", "at most 1.5 µs"),
        ];
        assert_eq!(
            Table(&figures).to_string(),
            "| what | must reach | measured | floor | ratio | met |
|---|---|---|---|---|---|
| start | at most 3 × the floor | 2.34 ms | 810 µs | 2.89 | yes |
| binary | at most 20 MB | 23.5 MB | – | – | **no** |
| burst | at most 1.5 µs | – | – | – | not measured |"
        );
    }

    #[test]
    fn a_time_has_three_digits() {
        let times = [12.0, 0.0123, 456e-6, 1.5e-6, 49.94e-9, 0.0];
        let shown = [
            "12.0 s", "12.3 ms", "456 µs", "1.50 µs", "49.9 ns", "0.00 ns",
        ];
        assert_eq!(times.map(time), shown);
    }
}
