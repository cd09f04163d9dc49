use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;

use crate::bed::Bed;

const BOM: &[u8] = b"\xef\xbb\xbf";

#[tokio::test]
async fn write_05_the_result_says_what_happened() {
    let bed = Bed::new();
    let text = bed
        .done("write", json!({"path": "f", "content": "a\nb\n"}))
        .await;
    assert_eq!(text, "Created f: 4 bytes, 2 lines.");
    let text = bed
        .done("write", json!({"path": "f", "content": "c"}))
        .await;
    assert_eq!(text, "Overwrote f: 1 byte, 1 line.");
    assert_eq!(bed.text("f"), "c");
    bed.done("write", json!({"path": "e", "content": ""})).await;
    assert_eq!(bed.text("e"), "");
}

#[tokio::test]
async fn write_what_is_kept_of_an_existing_file() {
    let bed = Bed::new();
    for (old, content, expected) in [
        (&b"a\r\nb\r\n"[..], "x\ny\n", &b"x\r\ny\r\n"[..]),
        (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\nb\n", "x\r\n", b"x\r\n"),
        (b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
        (b"\xef\xbb\xbfa\n", "\u{feff}x\n", b"\xef\xbb\xbfx\n"),
        (b"a\n", "\u{feff}x\n", b"\xef\xbb\xbfx\n"),
        (b"\xff\xfea\0\r\0\n\0", "x\n", b"\xff\xfex\0\r\0\n\0"),
        (b"\0\x01\x02", "x\n", b"x\n"),
    ] {
        // Another file each time: this run has seen the others.
        let name = format!("{old:?}{content}").replace(['/', '\n', '\r', ' '], "_");
        bed.put(&name, old);
        bed.done("write", json!({"path": name, "content": content}))
            .await;
        assert_eq!(bed.bytes(&name), expected, "{old:?} {content:?}");
    }
}

#[tokio::test]
async fn edit_04_a_byte_order_mark_is_never_doubled() {
    let bed = Bed::new();
    bed.put("f", [BOM, b"a\n"].concat());
    bed.done("write", json!({"path": "f", "content": "b\nc\n"}))
        .await;
    for (old, new) in [("b", "\u{feff}d"), ("\u{feff}\u{feff}d", "e")] {
        let _ = bed
            .call(
                "edit",
                json!({"path": "f", "old_text": old, "new_text": new}),
            )
            .await;
    }
    bed.done(
        "edit",
        json!({"path": "f", "old_text": "c", "new_text": "z"}),
    )
    .await;
    let bytes = bed.bytes("f");
    assert!(bytes.starts_with(BOM));
    assert_eq!(
        bytes.windows(3).filter(|three| *three == BOM).count(),
        1,
        "{bytes:?}"
    );
}

#[tokio::test]
async fn write_keeps_mode_and_symlink() {
    let bed = Bed::new();
    let path = bed.put("real.sh", "old");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).expect("set");
    bed.link("real.sh", "link");
    bed.done("write", json!({"path": "link", "content": "new"}))
        .await;
    assert_eq!(
        std::fs::read_link(bed.path("link"))
            .expect("a link")
            .to_str(),
        Some("real.sh")
    );
    assert_eq!(bed.text("real.sh"), "new");
    assert_eq!(
        std::fs::metadata(&path).expect("there").mode() & 0o7777,
        0o750
    );
    bed.link("nothing", "dangling");
    bed.done("write", json!({"path": "dangling", "content": "made"}))
        .await;
    assert_eq!(bed.text("nothing"), "made");
}

#[tokio::test]
async fn write_06_07_paths_that_cannot_be_written() {
    let bed = Bed::new();
    bed.put("f.txt", "keep");
    std::fs::create_dir(bed.path("d")).expect("made");
    for (path, expected) in [
        ("d", "is a folder"),
        ("d/", "is a folder"),
        ("new/", "is a folder"),
        ("", "is empty"),
        (".", "is a folder"),
        ("f.txt/x", "a part of it is a file"),
        ("/dev/null", "is a device"),
        ("a\0b", "NUL"),
    ] {
        let text = bed
            .failed("write", json!({"path": path, "content": "x"}))
            .await;
        assert!(text.contains(expected), "{path}: {text}");
    }
    assert_eq!(bed.text("f.txt"), "keep");
    assert!(!bed.path("new").exists());
    bed.done("write", json!({"path": "a/b/c.txt", "content": "x"}))
        .await;
    assert_eq!(bed.text("a/b/c.txt"), "x");
}

#[tokio::test]
async fn write_09_edit_30_content_is_written_verbatim() {
    let bed = Bed::new();
    for content in [
        "x = \"a\\nb\"",
        "#define A \\\n  1\n",
        "1 | a\n2 | b\n",
        "\u{200b}\u{e0041}\n",
    ] {
        bed.done("write", json!({"path": "f", "content": content}))
            .await;
        assert_eq!(bed.text("f"), content);
    }
}

#[tokio::test]
async fn edit_25_a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let bed = Bed::new();
    bed.put("f", "one\n");
    bed.done("read", json!({"path": "f"})).await;
    bed.put("f", "one\ntwo\n");
    let text = bed
        .failed("write", json!({"path": "f", "content": "ONE\n"}))
        .await;
    assert!(
        text.contains("changed since this run last saw it"),
        "{text}"
    );
    assert_eq!(bed.text("f"), "one\ntwo\n");
    bed.done("read", json!({"path": "f"})).await;
    bed.done("write", json!({"path": "f", "content": "ONE\n"}))
        .await;
    bed.done("write", json!({"path": "f", "content": "TWO\n"}))
        .await;
    assert_eq!(bed.text("f"), "TWO\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn edit_23_parallel_writes_leave_one_whole_version() {
    let bed = Bed::new();
    let versions: Vec<String> = ["a", "bb", "ccc"]
        .iter()
        .map(|part| part.repeat(400_000) + "\n")
        .collect();
    for _ in 0..3 {
        let calls = versions.iter().map(|version| {
            let tools = harness_tools::default_tools(&bed.workspace);
            let version = version.clone();
            tokio::spawn(async move {
                let cx = harness_core::ToolContext::detached();
                tools[1]
                    .call(&cx, json!({"path": "f", "content": version}))
                    .await
            })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.expect("no panic");
        }
        let left = bed.text("f");
        assert!(versions.contains(&left), "{} bytes", left.len());
    }
    let names: Vec<_> = std::fs::read_dir(bed.path(""))
        .expect("listed")
        .flatten()
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

/// WRITE-08: there is no step between the old file and the new one at which something could fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn write_08_a_rewrite_is_one_step() {
    let bed = Bed::new();
    let versions = ["old\n".repeat(10_000), "newer\n".repeat(10_000)];
    let path = bed.put("f", &versions[0]);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0_u32;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let now = std::fs::read_to_string(&path).expect("it is always there");
                assert!(versions.contains(&now), "{} bytes", now.len());
                looks += 1;
            }
            looks
        });
        for content in versions.iter().cycle().skip(1).take(50) {
            let args = harness_tools::WriteArgs {
                path: "f".to_owned(),
                content: content.clone(),
            };
            let seen = harness_tools::SeenFiles::new();
            let stop = harness_tools::Stop::default();
            harness_tools::write_file(&bed.workspace, &args, &seen, &stop).expect("written");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().expect("no panic") > 0);
    });
    // Stopped before that step, the old file is as it was.
    let stop = harness_tools::Stop::default();
    stop.stop();
    let args = harness_tools::WriteArgs {
        path: "f".to_owned(),
        content: "half".to_owned(),
    };
    let seen = harness_tools::SeenFiles::new();
    let stopped = harness_tools::write_file(&bed.workspace, &args, &seen, &stop);
    assert!(matches!(stopped, Err(harness_tools::Error::Stopped)));
    assert!(versions.contains(&bed.text("f")));
}
