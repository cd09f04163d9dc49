//! The command line of `cargo xtask`. The types are generated from this grammar: a `cmd name`
//! becomes the variant `XtaskCmd::Name`, which `main.rs` must then handle.

use std::path::PathBuf;

xflags::xflags! {
    /// The checks of this workspace. CI runs `cargo xtask ci` and nothing else.
    cmd xtask {
        /// Run every step, in order; stop at the first that fails.
        cmd ci {
            /// Go on after a failure, so that one run shows all of them.
            optional --keep-going
            /// List the steps and run none.
            optional --list
        }

        /// Check the formatting.
        cmd fmt {}

        /// Check the house rules: what each crate may not know, names, lengths.
        cmd tidy {}

        /// Run clippy over all targets and features; a warning is an error.
        cmd lint {}

        /// Run the unit and integration tests, and the tests of the examples.
        cmd test {}

        /// Run the examples in the documentation.
        cmd doctest {}

        /// Build the documentation; a warning is an error.
        cmd doc {}

        /// Check each crate with none and with each one of its features.
        cmd features {}

        /// Check dependencies: bans, licences, sources, advisories.
        cmd deny {}

        /// Run the fuzzers, on a nightly toolchain with cargo-fuzz; all of them unless some are named.
        cmd fuzz {
            /// Run this target; may be given more than once.
            repeated target: String
            /// How long each target runs, 60 by default.
            optional --seconds number: u64
            /// How many processes run a target at a time, 1 by default.
            optional --jobs number: usize
        }

        /// Measure the release binary beside a bare client, against a local server, and its tools
        /// beside rg, fd, ls and sed.
        cmd bench {
            /// Measure this alone; may be given more than once: start, reads, growth, memory,
            /// burst, prompt, size, version, middleware, grep, find, ls, edit, yes.
            repeated --only name: String
            /// How often to repeat a short run, 40 by default; longer ones are repeated less.
            optional --rounds number: usize
            /// Measure this program; by default, `harness` is built and measured.
            optional --program path: PathBuf
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Xtask;
    use crate::step::Step;

    #[test]
    fn every_step_is_a_command_of_its_own() {
        for step in Step::ALL {
            let flags = Xtask::from_vec(vec![step.name().into()]).unwrap();
            // Both come from one word, so the variant's name is the step's.
            let parsed = format!("{:?}", flags.subcommand);
            assert_eq!(parsed, format!("{step:?}({step:?})"));
        }
    }

    #[test]
    fn an_unknown_command_is_refused() {
        assert!(Xtask::from_vec(vec!["everything".into()]).is_err());
        assert!(Xtask::from_vec(vec!["ci".into(), "--fast".into()]).is_err());
    }
}
