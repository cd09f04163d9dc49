use serde_json::json;

use crate::bed::Bed;

#[tokio::test]
async fn a_folder_is_listed_whole() {
    let bed = Bed::new();
    bed.put("b.txt", "x");
    bed.put(".hidden", "x");
    bed.put("dir/x", "x");
    bed.link("b.txt", "to-file");
    bed.link("dir", "to-dir");
    bed.link("nothing", "broken");
    let text = bed.done("ls", json!({})).await;
    assert_eq!(
        text,
        ".hidden\nb.txt\nbroken@ -> nothing (broken)\ndir/\nto-dir@ -> dir/\nto-file@ -> b.txt"
    );
    assert_eq!(bed.done("ls", json!({"path": "to-dir"})).await, "x");
    std::fs::create_dir(bed.path("empty")).expect("made");
    assert_eq!(
        bed.done("ls", json!({"path": "empty"})).await,
        "(empty folder)"
    );
    assert_eq!(
        bed.done("ls", json!({"limit": 2})).await,
        ".hidden\nb.txt\n[2 of 7 entries are shown. A larger `limit`, or `find`, shows others.]"
    );
    assert!(
        bed.failed("ls", json!({"path": "b.txt"}))
            .await
            .contains("a file, not a folder")
    );
    assert!(
        bed.failed("ls", json!({"path": "nowhere"}))
            .await
            .contains("does not exist")
    );
}
