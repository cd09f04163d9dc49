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
