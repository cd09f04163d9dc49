//! How often a thing is run: as often as was asked for, within a time.

use std::time::{Duration, Instant};

use crate::failure::Failure;

/// How long the rounds of one subject may take, unless there are fewer than [`LEAST`].
const BUDGET: Duration = Duration::from_secs(18);
const LEAST: usize = 3;

/// How often to repeat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds(pub(crate) usize);

impl Rounds {
    /// One round in so many, for a subject whose rounds are long.
    pub(crate) fn one_in(self, share: usize) -> Rounds {
        Rounds((self.0 / share).max(LEAST))
    }

    /// Runs `round` so often, or until the budget is spent.
    pub(crate) fn run(self, mut round: impl FnMut() -> Result<(), Failure>) -> Result<(), Failure> {
        let start = Instant::now();
        for number in 0..self.0 {
            if number >= LEAST && start.elapsed() > BUDGET {
                break;
            }
            round()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LEAST, Rounds};

    #[test]
    fn rounds_end_at_their_number_and_at_a_failure() {
        let mut ran = 0;
        let count = |ran: &mut usize| {
            *ran += 1;
            Ok(())
        };
        Rounds(7).run(|| count(&mut ran)).unwrap();
        assert_eq!(ran, 7);
        assert_eq!(Rounds(40).one_in(8).0, 5);
        assert_eq!(Rounds(1).one_in(8).0, LEAST);
    }
}
