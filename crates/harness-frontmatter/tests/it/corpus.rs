//! The corpus of the fuzz target, replayed: seeds, and what the fuzzer once found.

use std::path::Path;

use harness_frontmatter::test_support::check_frontmatter;

#[test]
fn frontmatter() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/frontmatter");
    let mut inputs: Vec<_> = std::fs::read_dir(folder)
        .expect("the target has a corpus")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "the corpus is empty");
    for input in inputs {
        let bytes = std::fs::read(&input).expect("an input");
        let held = std::panic::catch_unwind(|| check_frontmatter(&bytes)).is_ok();
        assert!(held, "broken by {}", input.display());
    }
}
