//! Several programs that do the same work in turns.

use std::process::Command;

use crate::bench::child::{self, Finished};
use crate::bench::figure::{Figure, time};
use crate::bench::rounds::Rounds;
use crate::bench::statistics::median;
use crate::failure::Failure;

/// One who takes part: how it is called in what is printed, and how it is run.
pub(crate) struct Contender<'a> {
    name: &'static str,
    command: Box<dyn Fn() -> Command + 'a>,
    /// What is done before each run, and not counted.
    before: Box<dyn Fn() -> Result<(), Failure> + 'a>,
    /// The exit codes that say that the work was done.
    codes: &'static [i32],
}

/// What the rounds of one contender took, in seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Took {
    pub(crate) wall: f64,
    /// In user mode and in the kernel, of all its threads.
    pub(crate) cpu: f64,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'static str, command: impl Fn() -> Command + 'a) -> Contender<'a> {
        Contender {
            name,
            command: Box::new(command),
            before: Box::new(|| Ok(())),
            codes: &[0],
        }
    }

    pub(crate) fn before(mut self, before: impl Fn() -> Result<(), Failure> + 'a) -> Self {
        self.before = Box::new(before);
        self
    }

    pub(crate) fn codes(mut self, codes: &'static [i32]) -> Self {
        self.codes = codes;
        self
    }

    /// Runs it once, for what it says.
    pub(crate) fn output(&self) -> Result<String, Failure> {
        (self.before)()?;
        let finished = child::run(&mut (self.command)())?;
        self.check(&finished)?;
        Ok(finished.stdout)
    }

    fn took(&self) -> Result<Took, Failure> {
        (self.before)()?;
        let finished = child::run_unread(&mut (self.command)())?;
        self.check(&finished)?;
        Ok(Took {
            wall: finished.took.as_secs_f64(),
            cpu: finished.cpu,
        })
    }

    fn check(&self, finished: &Finished) -> Result<(), Failure> {
        let code = finished.status.code();
        if code.is_some_and(|code| self.codes.contains(&code)) {
            return Ok(());
        }
        // A failed tool says why on standard output, for the model.
        let said = [&finished.stderr, &finished.stdout];
        let reason = said.into_iter().find_map(|it| it.lines().last());
        Err(Failure::new(format!(
            "{} ended with {}: {}",
            self.name,
            finished.status,
            reason.unwrap_or("it said nothing")
        )))
    }
}

/// Lets all take turns, after a round that is not counted, and prints the medians of each.
pub(crate) fn hold<const N: usize>(
    what: &str,
    rounds: Rounds,
    contenders: &[Contender<'_>; N],
) -> Result<[Took; N], Failure> {
    let mut rounds_of: [Vec<Took>; N] = std::array::from_fn(|_| Vec::new());
    for contender in contenders {
        contender.took()?;
    }
    let mut first = 0;
    rounds.run(|| {
        // Each is the first as often as the others.
        for turn in 0..N {
            let who = (first + turn) % N;
            rounds_of[who].push(contenders[who].took()?);
        }
        first += 1;
        Ok(())
    })?;
    println!("  {what}");
    let medians = rounds_of.map(|rounds| Took {
        wall: median(rounds.iter().map(|it| it.wall)),
        cpu: median(rounds.iter().map(|it| it.cpu)),
    });
    for (Contender { name, .. }, Took { wall, cpu }) in contenders.iter().zip(&medians) {
        println!("    {name}: {}, CPU {}", time(*wall), time(*cpu));
    }
    Ok(medians)
}

impl Took {
    /// The figure of the time that this took beside `other`, of which it may take `most` times as
    /// much.
    pub(crate) fn beside(self, other: Took, figure: Figure, most: f64) -> Figure {
        let ratio = self.wall / other.wall;
        figure
            .measured(time(self.wall))
            .floor(time(other.wall))
            .ratio(ratio)
            .met(ratio <= most)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{Contender, hold};
    use crate::bench::rounds::Rounds;

    fn shell(script: &'static str) -> Contender<'static> {
        Contender::new("sh", move || {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        })
    }

    #[test]
    fn an_exit_code_that_was_not_expected_is_a_failure() {
        assert_eq!(shell("echo a").output().unwrap(), "a\n");
        assert_eq!(shell("exit 1").codes(&[0, 1]).output().unwrap(), "");
        let failure = shell("echo too large; exit 1").output().unwrap_err();
        assert_eq!(
            failure.to_string(),
            "sh ended with exit status: 1: too large"
        );
    }

    #[test]
    fn all_take_part_in_each_round() {
        let medians = hold("two", Rounds(3), &[shell("true"), shell("true")]).unwrap();
        assert!(medians.iter().all(|it| it.wall > 0.0 && it.cpu >= 0.0));
        assert!(hold("two", Rounds(3), &[shell("true"), shell("false")]).is_err());
    }
}
