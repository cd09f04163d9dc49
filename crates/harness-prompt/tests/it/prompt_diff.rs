//! What changed from one prompt to the next.

use harness_prompt::{Section, SystemPrompt};

fn prompt(sections: &[(&'static str, &str)]) -> SystemPrompt {
    sections
        .iter()
        .fold(SystemPrompt::default(), |prompt, (name, text)| {
            prompt.with(Section::new(*name, *text, "test"))
        })
}

fn check(
    old: &[(&'static str, &str)],
    new: &[(&'static str, &str)],
    expected: &str,
    shared: usize,
) {
    let diff = prompt(new).diff_from(&prompt(old));
    let found: Vec<String> = diff
        .sections
        .iter()
        .map(|s| {
            format!(
                "{} {} {}>{}",
                s.name,
                s.change.word(),
                s.bytes_before,
                s.bytes
            )
        })
        .collect();
    assert_eq!(found.join(", "), expected, "{old:?} > {new:?}");
    assert_eq!(diff.shared_bytes, shared, "{old:?} > {new:?}");
    assert_eq!(diff.is_empty(), expected.is_empty());
}

#[test]
fn each_kind_of_change_is_told() {
    let ab = [("a", "1"), ("b", "2")];
    check(&ab, &ab, "", 4);
    check(&[], &[], "", 0);
    check(&[], &ab, "a added 0>1, b added 0>1", 0);
    check(&ab, &[("a", "1")], "b removed 1>0", 1);
    check(&ab, &[("a", "1"), ("b", "23")], "b changed 1>2", 4);
    check(&ab, &[("a", "1"), ("c", "3"), ("b", "2")], "c added 0>1", 3);
    check(
        &ab,
        &[("b", "2"), ("a", "1")],
        "b moved 1>1, a moved 1>1",
        0,
    );
    check(&ab, &[("a", "1"), ("b", " ")], "b removed 1>0", 1);
}
