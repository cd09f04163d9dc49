//! The corpora of the fuzz targets, replayed: seeds, and what the fuzzer once found.

use std::path::Path;

use harness_skills::test_support::check_skill;

#[test]
fn skill() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut inputs = Vec::new();
    for corpus in ["skill", "frontmatter"] {
        let listed = std::fs::read_dir(corpora.join(corpus)).expect("a corpus");
        inputs.extend(listed.map(|entry| entry.expect("an entry").path()));
    }
    inputs.sort();
    assert!(inputs.len() > 100, "a corpus is empty");
    for input in inputs {
        let bytes = std::fs::read(&input).expect("an input");
        let held = std::panic::catch_unwind(|| check_skill(&bytes)).is_ok();
        assert!(held, "broken by {}", input.display());
    }
}
