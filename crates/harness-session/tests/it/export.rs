//! Sessions as JSONL, as Markdown and as a page.

use harness_core::ToolOutcome;
use harness_session::{Error, Log, export_html, export_jsonl, export_markdown};

use crate::kept::{Kept, call, sample, text, thinking};

type Export = fn(&dyn Log, &mut dyn std::io::Write) -> Result<(), Error>;

fn exported(export: Export, log: &dyn Log) -> String {
    let mut out = Vec::new();
    export(log, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Each thing here does something, where it is taken for more than text.
const HOSTILE: &str = "</script><script>window.evil=1</script><!-- <img src=x onerror=\"window.evil=1\"> \
    '\" onmouseover='window.evil=1' ]]> &lt;b&gt; javascript:alert(1) \u{202e}desrever\u{202c} \0\u{1b}[31m";

/// A session in which everything that has a text has this one.
pub(crate) fn hostile(words: &str) -> Kept {
    let mut kept = Kept::new();
    let run = kept.begin_run();
    kept.user(words);
    let arguments = serde_json::json!({ "command": words }).to_string();
    kept.reply(
        1,
        vec![
            thinking(words),
            text(words),
            text(&format!(
                "```{words}\n{words}\n```\n`{words}` **{words}**\n# {words}"
            )),
            call(words, words, &arguments),
            call("c2", "bash", words),
        ],
    );
    kept.results(
        1,
        vec![
            (words, words, ToolOutcome::done(words)),
            (
                "c2",
                "bash",
                ToolOutcome::Denied {
                    by: words.to_owned(),
                    reason: words.to_owned(),
                },
            ),
        ],
    );
    for line in [
        serde_json::json!({"type": "name", "name": words}),
        serde_json::json!({"type": "custom", "kind": words, "data": {"x": words}}),
        serde_json::json!({"type": words, "x": words}),
        serde_json::json!({"type": "custom_message", "kind": words, "message":
            {"content": [{"type": "image", "media_type": words, "data": words},
                         {"type": "image", "media_type": "image/png", "data": "\" onload=\"evil=1"},
                         {"type": "image", "media_type": "image/svg+xml", "data": "PHN2Zz4="}]}}),
        serde_json::json!({"type": "usage", "purpose": words, "usage": {},
            "model": {"provider": words, "name": words}}),
        serde_json::json!({"type": "model_change", "model": {"provider": words, "name": words}}),
        serde_json::json!({"type": "compaction", "messages": [], "tokens_before": 1, "reason": words}),
    ] {
        let parent = kept.leaf();
        let number = kept.add_to(
            parent,
            harness_session::Body::Leaf(harness_session::LeafBody {}),
        );
        let mut line = line;
        line["id"] = serde_json::json!(kept.id(number));
        line["time"] = serde_json::json!(u64::MAX);
        kept.add_line(&line.to_string());
    }
    kept.add(harness_session::Body::Label(harness_session::LabelBody {
        target: kept.id(1),
        label: Some(words.to_owned()),
    }));
    kept.end_run(run, words, Some(words));
    kept
}

pub(crate) fn hostile_sample() -> Kept {
    hostile(HOSTILE)
}

pub(crate) fn page(log: &dyn Log) -> String {
    exported(export_html, log)
}

#[test]
fn markdown_tells_the_branch_of_the_leaf() {
    insta::assert_snapshot!(exported(export_markdown, &sample()));
}

#[test]
fn jsonl_is_the_header_and_every_line() {
    let mut kept = sample();
    let odd = r#"{"type":"from_the_future","id":"019ca9c0-1111-7000-8000-000000000001","parent":null,  "x": 1.50}"#;
    kept.add_line("{torn");
    kept.add_line(odd);
    let text = exported(export_jsonl, &kept);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len() as u64, 1 + kept.len() - 1);
    assert_eq!(lines.last(), Some(&odd));
    let first: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(first["type"], "session");
    assert_eq!(first["cwd"], "/home/ada/engine");
    for line in &lines[1..] {
        harness_session::Entry::parse(line.as_bytes()).unwrap();
    }
}

#[test]
fn the_page_shows_everything() {
    let page = page(&sample());
    // Style and script have a test of their own; here they only hide the rest.
    let body = page.split_once("</head>").unwrap().1;
    let body = body.split_once("<script>").unwrap().0;
    insta::assert_snapshot!(body);
}

#[test]
fn an_empty_session_can_be_exported() {
    let kept = Kept::new();
    assert_eq!(exported(export_jsonl, &kept).lines().count(), 1);
    assert!(exported(export_markdown, &kept).contains("# Session"));
    assert!(page(&kept).contains("Nothing was said yet."));
}

#[test]
fn nothing_of_a_hostile_session_acts_in_the_page() {
    let page = page(&hostile_sample());
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    for evil in [
        "<!--",
        "<img",
        "onerror=\"",
        "onmouseover='",
        "\" onload",
        "\u{202e}",
        "\0",
        "\u{1b}",
    ] {
        assert!(!page.contains(evil), "{evil:?}");
    }
    // Every tag of the page is one of its own.
    let body = page.split_once("<body>").unwrap().1;
    let body = body.split_once("<script>").unwrap().0;
    for tag in body.split('<').skip(1) {
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        let known = [
            "a", "article", "b", "button", "code", "dd", "details", "div", "dl", "dt", "h1", "h2",
            "h3", "header", "input", "label", "li", "main", "nav", "ol", "p", "pre", "rect",
            "section", "small", "span", "strong", "summary", "svg", "table", "tbody", "td", "text",
            "th", "thead", "time", "title", "tr", "ul",
        ];
        assert!(known.contains(&name.as_str()), "{name} in {tag}");
    }
}

#[test]
fn nothing_of_a_hostile_session_reaches_beyond_itself_in_markdown() {
    let document = exported(
        export_markdown,
        &hostile("<script>\n```\n<!-- ` ``` \n# Totals"),
    );
    let mut fence = None;
    for line in document.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            Some(open) if ticks >= open && ticks == line.len() => fence = None,
            None => {
                assert!(
                    !line.contains("<script") || line.contains("\\<script"),
                    "{line}"
                );
                assert!(
                    !line.contains("<!--") || line.contains("\\<\\!--"),
                    "{line}"
                );
            }
            Some(_) => {}
        }
    }
    assert_eq!(fence, None);
    assert!(document.contains("\n## Totals of the session\n"));
}

#[test]
fn megabytes_of_output_are_cut_and_the_cut_is_told() {
    let mut kept = Kept::new();
    kept.user("go");
    for marks in ["*", "`", "** ", "# *`", "\n", "~~~\n"] {
        kept.user(&marks.repeat(200_000));
    }
    for turn in 0..4 {
        let id = format!("c{turn}");
        kept.reply(turn, vec![call(&id, "bash", "{}")]);
        let output = format!("begin{}end-{turn}", "x".repeat(2_000_000));
        kept.results(turn, vec![(&id, "bash", ToolOutcome::done(output))]);
    }
    for export in [export_html as Export, export_markdown] {
        let document = exported(export, &kept);
        assert!(document.len() < 5_000_000, "{}", document.len());
        assert!(document.contains("bytes are left out"));
        assert!(document.contains("end-3"));
    }
}

#[test]
fn ten_thousand_entries_are_one_page() {
    let mut kept = Kept::new();
    for number in 0..10_000_u64 {
        // Every third one is a fork, so that branches are deep, too.
        let parent = number.checked_sub(if number % 3 == 0 { 2 } else { 1 });
        kept.add_to(
            parent.filter(|_| number > 1),
            crate::kept::user(&format!("message {number}")),
        );
    }
    let page = page(&kept);
    assert!(
        page.contains("message 9999") && page.len() < 10_000_000,
        "{}",
        page.len()
    );
    assert_eq!(page.matches("id=\"e9999\"").count(), 1);
}
