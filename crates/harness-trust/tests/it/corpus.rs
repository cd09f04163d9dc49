//! The corpus of the fuzz target, replayed: seeds from the table, and what the fuzzer once found.

use std::path::Path;

use harness_trust::test_support::check_command_line;

#[test]
fn shell() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/shell");
    let listed = std::fs::read_dir(corpus).expect("a corpus");
    let mut inputs: Vec<_> = listed
        .map(|entry| entry.expect("an entry").path())
        .collect();
    inputs.sort();
    assert!(inputs.len() > 50, "the corpus is empty");
    for input in inputs {
        let bytes = std::fs::read(&input).expect("an input");
        let held = std::panic::catch_unwind(|| check_command_line(&bytes)).is_ok();
        assert!(held, "broken by {}", input.display());
    }
}
