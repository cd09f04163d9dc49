//! The composer: sections, their order, their text.

use harness_prompt::{Section, SystemPrompt, estimate_tokens};

fn names(prompt: &SystemPrompt) -> Vec<&str> {
    prompt.sections().iter().map(|s| &*s.name).collect()
}

#[test]
fn stable_sections_come_first_in_any_order_of_adding() {
    let prompt = SystemPrompt::new("Role.")
        .with_volatile_section("date", "Date.", "clock")
        .with_section("rules", "Rules.", "me")
        .with_volatile_section("mode", "Mode.", "plan")
        .with_section("skills", "Skills.", "skills");
    assert_eq!(names(&prompt), ["role", "rules", "skills", "date", "mode"]);
    assert_eq!(
        prompt.text(),
        "Role.\n\nRules.\n\nSkills.\n\nDate.\n\nMode."
    );
}

#[test]
fn a_section_is_replaced_in_its_place_and_moves_when_it_becomes_volatile() {
    let prompt = SystemPrompt::new("Role.")
        .with_section("a", "1", "x")
        .with_section("b", "2", "x")
        .with_section("a", "3", "y");
    assert_eq!(prompt.text(), "Role.\n\n3\n\n2");
    assert_eq!(&*prompt.section("a").unwrap().source, "y");
    let prompt = prompt.with_volatile_section("a", "4", "x");
    assert_eq!(prompt.text(), "Role.\n\n2\n\n4");
    let prompt = prompt.with_section("a", "5", "x");
    assert_eq!(prompt.text(), "Role.\n\n2\n\n5");
    assert_eq!(
        prompt.without_section("a").without_section("nope").text(),
        "Role.\n\n2"
    );
}

#[test]
fn blank_sections_are_not_sent_and_outer_line_breaks_are_left_out() {
    let prompt = SystemPrompt::default()
        .with_section("a", "\n\n  indented\n\n", "x")
        .with_section("b", " \n ", "x")
        .with_section("c", "end\r\n", "x");
    assert_eq!(prompt.text(), "  indented\n\nend");
}

#[test]
fn a_clone_is_not_changed_by_what_happens_to_the_other() {
    let one = SystemPrompt::new("Role.");
    let two = one.clone().with_section("a", "1", "x");
    assert_eq!(one.text(), "Role.");
    assert_eq!(two.without_section("a"), one);
}

#[test]
fn tokens_are_counted_by_characters_outside_ascii() {
    for (text, tokens) in [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("日本語", 3),
        ("日本語a", 4),
        ("é😀", 2),
    ] {
        assert_eq!(estimate_tokens(text), tokens, "{text}");
        assert_eq!(Section::new("s", text, "x").tokens(), tokens);
    }
}
