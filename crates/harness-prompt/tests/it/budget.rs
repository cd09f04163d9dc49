//! Fitting a prompt into a number of tokens.

use harness_prompt::{Keep, Section, SystemPrompt};

fn prompt() -> SystemPrompt {
    let line = "A line of forty bytes is what this is...\n";
    assert_eq!(line.len(), 41);
    SystemPrompt::new("You are an agent.")
        .with(Section::new("first", line.repeat(20), "x").with_rank(50))
        .with(Section::new("memory", line.repeat(20) + "newest", "x").with_keep(Keep::End))
        .with(
            Section::new("files", line.repeat(20), "x")
                .with_rank(50)
                .with_keep(Keep::Whole),
        )
        .with(
            Section::new("date", "Today.", "x")
                .volatile()
                .with_rank(200),
        )
}

fn check(tokens: usize, expected: &str) -> String {
    let fitted = prompt().fit(tokens);
    let cuts: Vec<String> = fitted
        .cuts
        .iter()
        .map(|cut| format!("{} {}/{}", cut.section, cut.kept, cut.bytes))
        .collect();
    assert_eq!(cuts.join(", "), expected, "{tokens}");
    let text = fitted.prompt.text();
    assert!(fitted.prompt.tokens() <= tokens.max(18), "{tokens}: {text}");
    assert!(text.starts_with("You are an agent."));
    text
}

#[test]
fn sections_give_way_by_rank_and_a_marker_says_so() {
    let all = prompt().tokens();
    let whole = check(all, "");
    assert_eq!(whole, prompt().text());
    // Of the two with the smallest rank the last gives way first, as a whole.
    let text = check(all - 1, "files 0/819");
    assert!(text.contains("[section `files` left out, 819 bytes: the system prompt is limited to"));
    let text = check(400, "files 0/819, first 532/819");
    assert!(text.contains("[section `first` cut, 532 of 819 bytes shown: the system prompt is"));
    // Of memory the end stays.
    let text = check(150, "files 0/819, first 0/819, memory 293/826");
    assert!(text.contains("newest") && text.contains("[section `memory` cut, 293 of 826"));
    // Markers of their own would take too much.
    let text = check(30, "files 0/819, first 0/819, memory 0/826");
    insta::assert_snapshot!(text, @"
    You are an agent.

    Today.

    [sections left out: limit 30 tokens]
    ");
}

#[test]
fn essential_sections_stay_whole() {
    let text = check(1, "files 0/819, first 0/819, memory 0/826, date 0/6");
    assert_eq!(text, "You are an agent.");
}

#[test]
fn fitting_a_fitted_prompt_changes_nothing() {
    for tokens in 5..prompt().tokens() + 2 {
        let fitted = prompt().fit(tokens).prompt;
        assert_eq!(fitted.fit(tokens).prompt, fitted, "{tokens}");
        assert_eq!(prompt().fit(tokens).prompt, fitted, "{tokens}");
    }
}

/// Of many small sections as many come back as there is room for, and the
/// prompt is not weighed as a whole for each of them.
#[test]
fn many_small_sections_fill_the_room_that_there_is() {
    let section = |number: usize| Section::new(format!("s{number}"), "four", "x");
    let all = (0..1_000).map(section);
    let prompt = all.fold(SystemPrompt::default(), SystemPrompt::with);
    let expected = [
        (1, 0),
        (2, 1),
        (3, 2),
        (20, 7),
        (1_000, 660),
        (1_499, 999),
        (1_500, 1_000),
    ];
    for (tokens, shown) in expected {
        let fitted = prompt.fit(tokens);
        assert!(fitted.prompt.tokens() <= tokens);
        let sections = fitted.prompt.sections().iter();
        let whole = sections.filter(|section| &*section.text == "four");
        assert_eq!(whole.count(), shown, "{tokens}");
        let left_out = fitted.cuts.iter().filter(|cut| cut.kept == 0).count();
        assert_eq!(left_out, 1_000 - shown, "{tokens}");
    }
}
