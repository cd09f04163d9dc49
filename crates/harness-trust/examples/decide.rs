//! Decides each line of its input: what a command line would do here, and what becomes of it.
//!
//! ```text
//! echo 'cargo test | tail; cat ~/.netrc' | cargo run -p harness-trust --example decide
//! ```

use std::error::Error;
use std::io::{self, BufRead as _, Write as _};

use harness_trust::{Atoms, Layer, Rule, Rules, Surroundings, Verdict};

fn main() -> Result<(), Box<dyn Error>> {
    let rules = Rules::new()
        .with(
            Layer::User,
            Rule::parse(Verdict::Allow, "run(cargo test *)")?,
        )
        .with(Layer::User, Rule::parse(Verdict::Deny, "run(rm *)")?);
    let root = std::env::current_dir()?.canonicalize()?;
    let surroundings = Surroundings::new(root).trusted(true);

    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let atoms = Atoms::of_command(&line?, surroundings.root(), &surroundings);
        let decided = rules.decide_all(&atoms, &surroundings);
        writeln!(out, "{}", decided.verdict)?;
        for (effect, decision) in &decided.each {
            let by = decision
                .rule
                .as_ref()
                .map_or_else(|| "no rule".to_owned(), ToString::to_string);
            writeln!(out, "  {}: {effect}, by {by}", decision.verdict)?;
        }
    }
    Ok(())
}
