use std::time::{Duration, Instant};

use harness_tools::{Edit, edit_text};
use serde_json::{Value, json};

use crate::bed::Bed;

/// One edit of a file: what is in it after the call, and whether the call was done.
async fn edited(content: &str, edits: Value) -> (String, bool, String) {
    let bed = Bed::new();
    bed.put("f", content);
    let outcome = bed.call("edit", json!({"path": "f", "edits": edits})).await;
    let text = outcome.shown_text();
    let done = !outcome.is_error();
    assert!(
        done || bed.text("f") == content,
        "a failed edit changed the file"
    );
    (bed.text("f"), done, text)
}

async fn check(content: &str, edits: Value, expected: &str) {
    let (left, done, text) = edited(content, edits).await;
    assert!(done, "{text}");
    assert_eq!(left, expected, "{content:?}");
}

async fn check_refused(content: &str, edits: Value, words: &[&str]) {
    let (_, done, text) = edited(content, edits).await;
    assert!(!done, "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

fn one(old: &str, new: &str) -> Value {
    json!([{"old_text": old, "new_text": new}])
}

#[tokio::test]
async fn edit_01_02_line_endings_of_the_file_stay() {
    check("a\r\nb\r\nc\r\n", one("a\nb", "a\nX"), "a\r\nX\r\nc\r\n").await;
    check("a\r\nb\r\nc\r\n", one("b", "X\nY"), "a\r\nX\r\nY\r\nc\r\n").await;
    check("a\nb\n", one("a\r\nb", "a\r\nX"), "a\nX\n").await;
}

#[tokio::test]
async fn edit_05_text_copied_from_read_matches() {
    let bed = Bed::new();
    bed.put("f", "func a() {\n\treturn 1\n}\n");
    let shown = bed
        .done("read", json!({"path": "f", "offset": 2, "limit": 1}))
        .await;
    let line = shown.lines().next().expect("a line");
    bed.done(
        "edit",
        json!({"path": "f", "edits": one(line, "\treturn 2")}),
    )
    .await;
    assert_eq!(bed.text("f"), "func a() {\n\treturn 2\n}\n");
}

#[tokio::test]
async fn edit_06_07_08_without_old_text_nothing_is_written() {
    check_refused("pq", one("", "x"), &["Edit 1", "`old_text` is empty"]).await;
    let all = json!([{"old_text": "", "new_text": "-", "replace_all": true}]);
    check_refused("pq", all, &["`old_text` is empty"]).await;
    check_refused("pq", json!([{"new_text": "x"}]), &["/edits/0", "old_text"]).await;
    check_refused(
        "pq",
        json!([{"old_text": null, "new_text": "x"}]),
        &["old_text"],
    )
    .await;
    check_refused("pq", json!([]), &["`edits` is empty"]).await;
    let bed = Bed::new();
    bed.put("f", "pq");
    let text = bed
        .failed("edit", json!({"path": "f", "new_text": "x"}))
        .await;
    assert!(text.contains("old_text"), "{text}");
}

#[tokio::test]
async fn edit_11_12_symlinks_are_followed_as_the_kernel_does() {
    let bed = Bed::new();
    bed.put("real.txt", "a\n");
    bed.link("real.txt", "link");
    bed.done("edit", json!({"path": "link", "edits": one("a", "b")}))
        .await;
    assert_eq!(bed.text("real.txt"), "b\n");
    assert!(
        std::fs::symlink_metadata(bed.path("link"))
            .expect("there")
            .is_symlink()
    );

    bed.put("real/s.json", "{}\n");
    std::fs::create_dir(bed.path("real/host")).expect("made");
    bed.link("real/host", "d");
    bed.link("../s.json", "real/host/s.json");
    bed.done(
        "edit",
        json!({"path": "d/s.json", "edits": one("{}", "[]")}),
    )
    .await;
    assert_eq!(bed.text("real/s.json"), "[]\n");
    assert!(!bed.path("s.json").exists());
}

#[tokio::test]
async fn edit_13_hard_links_are_split() {
    let bed = Bed::new();
    let path = bed.put("one", "a\n");
    std::fs::hard_link(path, bed.path("two")).expect("linked");
    bed.done("edit", json!({"path": "one", "edits": one("a", "b")}))
        .await;
    assert_eq!(
        (bed.text("one").as_str(), bed.text("two").as_str()),
        ("b\n", "a\n")
    );
}

#[tokio::test]
async fn edit_16_31_look_alikes_outside_the_change_stay() {
    check(
        "\u{201c}a\u{201d} foo(\u{2018}x\u{2019}) \u{bd}\n",
        one("foo('x')", "foo('y')"),
        "\u{201c}a\u{201d} foo(\u{2018}y\u{2019}) \u{bd}\n",
    )
    .await;
    check(
        "a\u{a0}\u{2014}\u{a0}b\n",
        one("a - b", "a - c"),
        "a\u{a0}\u{2014}\u{a0}c\n",
    )
    .await;
}

#[tokio::test]
async fn edit_17_a_blank_is_not_a_line_break() {
    check_refused("one\ntwo", one("one ", "uno "), &["not found", "at line 1"]).await;
}

#[tokio::test]
async fn edit_19_text_at_several_places_is_refused_with_its_lines() {
    let file = "fn a() {\n    x();\n}\nfn b() {\n    x();\n}\n";
    check_refused(
        file,
        one("    x();", "    y();"),
        &["occurs 2 times, at lines 2, 5"],
    )
    .await;
    let all = json!([{"old_text": "x()", "new_text": "y()", "replace_all": true}]);
    check(file, all, &file.replace("x()", "y()")).await;
}

#[tokio::test]
async fn edit_20_all_edits_are_located_on_the_original() {
    for (first, second) in [
        ("longer than before", "2"),
        ("", "x"),
        ("\u{1f600}\u{20ac}", "\u{e9}"),
    ] {
        check(
            "alpha\nbeta\ngamma\ndelta\n",
            json!([
                {"old_text": "gamma", "new_text": second},
                {"old_text": "alpha", "new_text": first},
            ]),
            &format!("{first}\nbeta\n{second}\ndelta\n"),
        )
        .await;
    }
    // What one edit writes is not what another finds.
    check(
        "a b\n",
        json!([{"old_text": "a", "new_text": "b"}, {"old_text": "b", "new_text": "a"}]),
        "b a\n",
    )
    .await;
    let overlap = json!([
        {"old_text": "alpha\nbeta", "new_text": "x"},
        {"old_text": "beta\ngamma", "new_text": "y"},
    ]);
    check_refused(
        "alpha\nbeta\ngamma\n",
        overlap,
        &["Edit 1 and edit 2 overlap at line 2"],
    )
    .await;
    let half = json!([
        {"old_text": "alpha", "new_text": "x"},
        {"old_text": "nowhere at all", "new_text": "y"},
    ]);
    check_refused("alpha\nbeta\n", half, &["Edit 2"]).await;
}

#[tokio::test]
async fn edit_27_28_the_end_of_the_file_stays_as_it_is() {
    check("a\nb\n\n", one("a", "A"), "A\nb\n\n").await;
    check("a\nb", one("b", "b\nc"), "a\nb\nc").await;
    check("a\nb", one("b\n", "b\nc\n"), "a\nb\nc").await;
}

#[tokio::test]
async fn edit_32_what_looks_like_a_line_number_is_content() {
    check("1 | a\n2 | b\n", one("1 | a", "1 | z"), "1 | z\n2 | b\n").await;
    check(
        "1. x\n2. y\n",
        one("2. y", "2. y\n3. z"),
        "1. x\n2. y\n3. z\n",
    )
    .await;
}

#[tokio::test]
async fn an_edit_that_changes_nothing_is_refused() {
    check_refused("a\n", one("a", "a"), &["change nothing"]).await;
    check_refused("a\r\nb\r\n", one("a\nb", "a\nb"), &["change nothing"]).await;
    let undone = json!([
        {"old_text": "a", "new_text": ""},
        {"old_text": "b", "new_text": "ab"},
    ]);
    check_refused("ab\n", undone, &["change nothing"]).await;
}

#[tokio::test]
async fn edit_31_a_miss_names_the_nearest_place() {
    check_refused(
        "fn one() {}\nfn total(items: &[u32]) -> u32 {\n    0\n}\n",
        one("fn total(items: &[u64]) -> u32 {", "x"),
        &[
            "Edit 1: `old_text` was not found",
            "at line 2",
            "2: fn total(items: &[u32]) -> u32 {",
            "the file has `3` and `old_text` has `6`",
        ],
    )
    .await;
    check_refused(
        "a\n",
        one("zzzzzzzz", "x"),
        &["Nothing in the file is like it"],
    )
    .await;
}

#[tokio::test]
async fn read_18_20_bytes_stay_and_other_encodings_are_refused() {
    let bed = Bed::new();
    let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
    for (old, edit, expected) in [
        (
            wide("\u{feff}gr\u{fc}n\r\nx\r\n"),
            one("x", "\u{20ac}\ny"),
            wide("\u{feff}gr\u{fc}n\r\n\u{20ac}\r\ny\r\n"),
        ),
        (
            b"gr\xc3\xbcn \xff x\n".to_vec(),
            one("x", "\u{20ac}"),
            b"gr\xc3\xbcn \xff \xe2\x82\xac\n".to_vec(),
        ),
    ] {
        bed.put("f", &old);
        bed.done("edit", json!({"path": "f", "edits": edit})).await;
        assert_eq!(bed.bytes("f"), expected);
    }
    for (old, name) in [
        (b"caf\xe9 a\n".to_vec(), "windows-1252"),
        (wide("hello there\n"), "UTF-16LE without a byte order mark"),
    ] {
        bed.put(name, &old);
        for (tool, arguments) in [
            ("edit", json!({"path": name, "edits": one("a", "b")})),
            ("write", json!({"path": name, "content": "b\n"})),
        ] {
            let text = bed.failed(tool, arguments).await;
            assert!(text.contains(&format!("like {name}")), "{text}");
            assert!(text.contains("iconv"), "{text}");
            assert_eq!(bed.bytes(name), old);
        }
    }
    bed.put("f", b"\0\x01\x02");
    assert!(
        bed.failed("edit", json!({"path": "f", "edits": one("a", "b")}))
            .await
            .contains("binary")
    );
}

#[tokio::test]
async fn the_result_shows_a_diff() {
    let bed = Bed::new();
    bed.put(
        "f",
        (1..=9)
            .map(|n| format!("l{n}\n"))
            .collect::<Vec<_>>()
            .concat(),
    );
    let outcome = bed
        .call("edit", json!({"path": "f", "edits": one("l5", "five")}))
        .await;
    insta::assert_snapshot!(outcome.shown_text(), @r"
    Edited f: 1 place.
    @@ -2,7 +2,7 @@
     l2
     l3
     l4
    -l5
    +five
     l6
     l7
     l8
    ");
    let harness_core::ToolOutcome::Done(output) = outcome else {
        panic!("not done")
    };
    let details = output.details.expect("details");
    assert_eq!(details["first_changed_line"], 5);
    assert!(
        details["diff"]
            .as_str()
            .is_some_and(|diff| diff.contains("+five"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallel_edits_of_one_file_are_all_made() {
    let bed = Bed::new();
    bed.put(
        "f",
        (0..20)
            .map(|n| format!("<{n}>\n"))
            .collect::<Vec<_>>()
            .concat(),
    );
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let tools = harness_tools::default_tools(&bed.workspace);
            let edits = one(&format!("<{n}>"), &format!("[{n}]"));
            tokio::spawn(async move {
                let cx = harness_core::ToolContext::detached();
                tools[2]
                    .call(&cx, json!({"path": "f", "edits": edits}))
                    .await
            })
        })
        .collect();
    for call in calls {
        let outcome = call.await.expect("no panic");
        assert!(!outcome.is_error(), "{}", outcome.shown_text());
    }
    assert_eq!(
        bed.text("f"),
        (0..20)
            .map(|n| format!("[{n}]\n"))
            .collect::<Vec<_>>()
            .concat()
    );
}

#[tokio::test]
async fn edit_24_25_a_file_that_changed_since_it_was_read() {
    let bed = Bed::new();
    bed.put("f", "a\nb\nb\n");
    bed.done("read", json!({"path": "f"})).await;
    bed.put("f", "a  \nuser\nb\nb\n");
    // What matches exactly, and once, is changed in what is there now.
    let text = bed
        .done("edit", json!({"path": "f", "edits": one("user", "USER")}))
        .await;
    assert!(text.contains("had changed since this run"), "{text}");
    assert_eq!(bed.text("f"), "a  \nUSER\nb\nb\n");

    bed.put("f", "a  \nuser again\nb\nb\n");
    let all = json!([{"old_text": "b", "new_text": "B", "replace_all": true}]);
    for edits in [one("a\nuser", "A\nuser"), all.clone(), one("gone", "x")] {
        let text = bed
            .failed("edit", json!({"path": "f", "edits": edits}))
            .await;
        assert!(
            text.contains("changed since this run last saw it"),
            "{text}"
        );
        assert!(text.contains("Read it again"), "{text}");
        assert_eq!(bed.text("f"), "a  \nuser again\nb\nb\n");
    }
    // The advice works.
    bed.done("read", json!({"path": "f"})).await;
    bed.done("edit", json!({"path": "f", "edits": all})).await;
    assert_eq!(bed.text("f"), "a  \nuser again\nB\nB\n");
}

#[tokio::test]
async fn sec_12_invisible_characters_are_named_and_kept() {
    let bed = Bed::new();
    let hidden = "a \u{e0049}\u{e0067}b\nx\u{200b}y\n";
    bed.put("f", hidden);
    let shown = bed.done("read", json!({"path": "f"})).await;
    assert!(shown.starts_with("a b\nx\u{200b}y\n"), "{shown:?}");
    assert!(shown.contains("2 invisible tag characters left out; the file keeps them"));
    let found = bed.done("grep", json!({"pattern": "a .*b"})).await;
    assert!(found.starts_with("f:1: a b\n[2 invisible"), "{found:?}");
    let said = bed.done("bash", json!({"command": "cat f"})).await;
    assert!(
        said.starts_with("a b\nx\u{200b}y\n[2 invisible"),
        "{said:?}"
    );
    bed.done(
        "edit",
        json!({"path": "f", "edits": one("a b\nxy\n", "a b\nxyz\n")}),
    )
    .await;
    assert_eq!(bed.text("f"), "a \u{e0049}\u{e0067}b\nxyz\n");
}

#[tokio::test]
async fn a_large_file_can_be_edited() {
    let bed = Bed::new();
    let line = "0123456789012345678901234567890123456789012345678\n";
    let text = format!("{0}needle\n{0}", line.repeat(400_000));
    bed.put("f", &text);
    bed.done(
        "edit",
        json!({"path": "f", "edits": one("needle", "thread")}),
    )
    .await;
    assert!(bed.text("f") == text.replace("needle", "thread"));
}

/// What an edit shows of a file holds no text that nobody sees.
#[tokio::test]
async fn sec_12_an_edit_shows_no_tags() {
    let bed = Bed::new();
    bed.put("f", "some wo\u{e0041}rds\nfoo\n");
    let edit = |old, new| json!({"path": "f", "old_text": old, "new_text": new});
    let texts = [
        bed.failed("edit", edit("some words.", "x")).await,
        bed.done("edit", edit("foo", "bar")).await,
    ];
    for text in texts {
        assert!(!text.contains('\u{e0041}'), "{text:?}");
        assert!(
            text.contains("some words\n") && text.contains("1 invisible tag character"),
            "{text}"
        );
    }
    assert_eq!(bed.text("f"), "some wo\u{e0041}rds\nbar\n");
}

/// A long line of a file with both line endings is not looked through for each place in it.
#[test]
fn many_places_in_one_line() {
    let edit = Edit {
        old_text: ",".to_owned(),
        new_text: ";".to_owned(),
        replace_all: Some(true),
    };
    let text = format!("a\r\n{}\nb\r\n", "x,".repeat(100_000));
    let started = Instant::now();
    let edited = edit_text(&text, std::slice::from_ref(&edit), 1_000).expect("edited");
    assert_eq!(edited.report.replacements, 100_000);
    assert!(started.elapsed() < Duration::from_secs(20));
    let error = edit_text(&",".repeat(1_000_001), &[edit], 1_000).expect_err("too many");
    assert!(error.contains("too many for one call"), "{error}");
}
