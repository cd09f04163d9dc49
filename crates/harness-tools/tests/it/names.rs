//! Names that are odd, and paths that are written in an odd way.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;

use crate::bed::Bed;

fn put_bytes(bed: &Bed, name: &[u8], content: &str) {
    let path = bed.path("").join(OsStr::from_bytes(name));
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    std::fs::write(path, content).expect("written");
}

#[tokio::test]
async fn names_that_are_not_utf_8_can_be_given_back() {
    let bed = Bed::new();
    put_bytes(&bed, b"caf\xe9/na\xefve\n.txt", "MARK\n");
    let shown = "caf\\xE9/na\\xEFve\\n.txt";
    assert_eq!(bed.done("ls", json!({})).await, "caf\\xE9/");
    assert_eq!(bed.done("find", json!({"pattern": "*.txt"})).await, shown);
    let found = bed.done("grep", json!({"pattern": "MARK"})).await;
    assert_eq!(found, format!("{shown}:1: MARK"));
    let read = bed.done("read", json!({"path": shown})).await;
    assert!(read.starts_with("MARK\n"), "{read}");
    let edits = json!([{"old_text": "MARK", "new_text": "changed"}]);
    bed.done("edit", json!({"path": shown, "edits": edits}))
        .await;
    let found = bed
        .done("grep", json!({"pattern": "changed", "path": "caf\\xE9"}))
        .await;
    assert_eq!(found, format!("{shown}:1: changed"));
}

#[tokio::test]
async fn read_14_folders_that_look_the_same_are_found() {
    let bed = Bed::new();
    bed.put("U\u{308}bung \u{2013} 1/na\u{200b}me.txt", "found\n");
    let text = bed
        .done("read", json!({"path": "Übung - 1/name.txt"}))
        .await;
    assert!(
        text.starts_with("found\n") && text.contains("which looks the same"),
        "{text}"
    );
    // Two that look the same leave it open which is meant.
    bed.put("a\u{a0}b", "one");
    bed.put("a\u{202f}b", "two");
    let text = bed.failed("read", json!({"path": "a b"})).await;
    assert!(text.contains("does not exist. Did you mean"), "{text}");
}

#[tokio::test]
async fn paths_as_people_and_programs_write_them() {
    let bed = Bed::new();
    bed.put("src/a b.txt", "content\n");
    bed.put("@types/x.d.ts", "types\n");
    let url = format!("file://{}/src/a%20b.txt", bed.workspace.root().display());
    for (path, expected) in [
        ("@src/a b.txt", "content\n"),
        (&url, "content\n"),
        ("./src/../src/a b.txt", "content\n"),
        ("@types/x.d.ts", "types\n"),
    ] {
        assert_eq!(bed.done("read", json!({"path": path})).await, expected);
    }
    bed.done("write", json!({"path": "@src/new.txt", "content": "x"}))
        .await;
    assert_eq!(bed.text("src/new.txt"), "x");
    bed.done("write", json!({"path": "@types/y.d.ts", "content": "y"}))
        .await;
    assert_eq!(bed.text("@types/y.d.ts"), "y");
    let text = bed
        .failed("read", json!({"path": "file://elsewhere/x"}))
        .await;
    assert!(text.contains("`elsewhere`"), "{text}");
    let text = bed
        .failed(
            "write",
            json!({"path": "https://x.test/y\0", "content": ""}),
        )
        .await;
    assert!(text.contains("NUL"), "{text}");
}
