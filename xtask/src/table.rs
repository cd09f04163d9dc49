//! The closing table: each step, its verdict and its seconds.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) took: Duration,
    pub(crate) verdict: Verdict,
}

/// How a step ended.
#[derive(Debug)]
pub(crate) enum Verdict {
    Passed,
    /// Passed, but for a part that could not be checked here; the text says which and why.
    PassedExcept(&'static str),
    Failed(String),
    /// Not started, because an earlier step failed.
    NotRun,
}

impl Table {
    pub(crate) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Whether any step failed.
    pub(crate) fn failed(&self) -> bool {
        self.rows
            .iter()
            .any(|row| matches!(row.verdict, Verdict::Failed(_)))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<9} {:>8}  verdict", "step", "seconds")?;
        let mut total = Duration::ZERO;
        for Row {
            name,
            took,
            verdict,
        } in &self.rows
        {
            total += *took;
            match verdict {
                Verdict::NotRun => writeln!(f, "{name:<9} {:>8}  not run", "-")?,
                _ => writeln!(f, "{name:<9} {:>8.1}  {verdict}", took.as_secs_f64())?,
            }
        }
        write!(
            f,
            "{:<9} {:>8.1}  {}",
            "total",
            total.as_secs_f64(),
            if self.failed() { "FAILED" } else { "passed" }
        )
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Passed => f.write_str("passed"),
            Verdict::PassedExcept(remark) => write!(f, "passed ({remark})"),
            Verdict::Failed(reason) => write!(f, "FAILED: {reason}"),
            Verdict::NotRun => f.write_str("not run"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Row, Table, Verdict};

    #[test]
    fn shows_each_step_and_the_total() {
        let mut table = Table::default();
        let mut push = |name, millis, verdict| {
            table.push(Row {
                name,
                took: Duration::from_millis(millis),
                verdict,
            });
        };
        push("fmt", 400, Verdict::Passed);
        push("deny", 61_250, Verdict::PassedExcept("advisories skipped"));
        push("lint", 5_000, Verdict::Failed("command exited".into()));
        push("test", 0, Verdict::NotRun);
        assert_eq!(
            table.to_string(),
            "step       seconds  verdict
fmt            0.4  passed
deny          61.2  passed (advisories skipped)
lint           5.0  FAILED: command exited
test             -  not run
total         66.7  FAILED"
        );
    }
}
