//! Running steps one after another, and telling at the end how each went.

use std::process::ExitCode;
use std::time::Instant;

use crate::step::Step;
use crate::table::{Row, Table, Verdict};
use crate::workspace::Workspace;

/// What to do with the steps after one that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtFailure {
    Stop,
    GoOn,
}

/// Runs `steps`, prints the closing table, and answers with the exit status of the whole.
pub(crate) fn run(workspace: &Workspace, steps: &[Step], at_failure: AtFailure) -> ExitCode {
    let table = run_each(steps, at_failure, |step| {
        println!("\n== {}: {}", step.name(), step.about());
        match step.run(workspace) {
            Ok(None) => Verdict::Passed,
            Ok(Some(remark)) => Verdict::PassedExcept(remark),
            Err(failure) => Verdict::Failed(failure.to_string()),
        }
    });
    println!("\n{table}");
    if table.failed() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn run_each(
    steps: &[Step],
    at_failure: AtFailure,
    mut run_one: impl FnMut(Step) -> Verdict,
) -> Table {
    let mut table = Table::default();
    for &step in steps {
        let start = Instant::now();
        let verdict = if table.failed() && at_failure == AtFailure::Stop {
            Verdict::NotRun
        } else {
            run_one(step)
        };
        table.push(Row {
            name: step.name(),
            took: start.elapsed(),
            verdict,
        });
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{AtFailure, run_each};
    use crate::step::Step;
    use crate::table::Verdict;

    fn ran(at_failure: AtFailure) -> (Vec<Step>, bool) {
        let mut ran = Vec::new();
        let table = run_each(&Step::ALL, at_failure, |step| {
            ran.push(step);
            match step {
                Step::Lint => Verdict::Failed("a warning".into()),
                Step::Deny => Verdict::PassedExcept("something skipped"),
                _ => Verdict::Passed,
            }
        });
        (ran, table.failed())
    }

    #[test]
    fn stops_at_the_first_failure() {
        assert_eq!(
            ran(AtFailure::Stop),
            (vec![Step::Fmt, Step::Tidy, Step::Lint], true)
        );
    }

    #[test]
    fn goes_on_when_told_and_still_fails() {
        assert_eq!(ran(AtFailure::GoOn), (Step::ALL.to_vec(), true));
    }
}
