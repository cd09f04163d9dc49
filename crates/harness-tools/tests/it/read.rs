use std::io::Write as _;

use serde_json::json;

use crate::bed::{Bed, images};

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(width, height)
        .write_to(&mut bytes, image::ImageFormat::Png)
        .expect("encoded");
    bytes.into_inner()
}

#[tokio::test]
async fn what_is_shown_of_text() {
    let bed = Bed::new();
    for (content, arguments, expected) in [
        ("a\nb\n", json!({"path": "f"}), "a\nb\n"),
        ("a\nb", json!({"path": "f"}), "a\nb"),
        ("a\r\nb\r\n", json!({"path": "f"}), "a\r\nb\r\n"),
        ("", json!({"path": "f"}), "[The file is empty.]"),
        ("a\nb\nc\n", json!({"path": "f", "offset": 2}), "b\nc\n"),
        (
            "a\nb\nc\n",
            json!({"path": "f", "offset": "2", "limit": "1"}),
            "b\n\n[Lines 2-2 of 3 are shown. Use offset=3 to go on.]",
        ),
        ("a\nb\n", json!({"path": "f", "limit": 2}), "a\nb\n"),
        ("a\nb", json!({"path": "f", "limit": 2}), "a\nb"),
        (
            "a\nb\n",
            json!({"path": "f", "offset": 0, "limit": 0}),
            "a\nb\n",
        ),
        ("a\nb\n", json!({"path": "f", "offset": -3}), "a\nb\n"),
        ("\u{feff}a\n", json!({"file_path": "f"}), "a\n"),
    ] {
        bed.put("f", content);
        assert_eq!(
            bed.done("read", arguments.clone()).await,
            expected,
            "{content:?} {arguments}"
        );
    }
}

#[tokio::test]
async fn read_01_a_very_long_line_is_cut_and_says_so() {
    let bed = Bed::new();
    bed.put("f", format!("{{{}}}", "x".repeat(2_000_000)));
    let text = bed.done("read", json!({"path": "f"})).await;
    assert!(text.len() < 52_000);
    assert!(
        text.contains("Line 1 of 1 has 2000002 bytes; its first 51200 are shown"),
        "{}",
        &text[51_000..]
    );
    assert!(text.contains("tail -c +51201"));
}

#[tokio::test]
async fn read_03_the_byte_limit_holds_beside_the_line_limit() {
    let bed = Bed::new();
    bed.put("f", "x".repeat(5_000_000));
    assert!(
        bed.done("read", json!({"path": "f", "limit": 1}))
            .await
            .len()
            < 52_000
    );
    bed.put("f", format!("{}\n", "y".repeat(1_000)).repeat(100));
    let text = bed.done("read", json!({"path": "f"})).await;
    assert!(
        text.ends_with("[Lines 1-51 of 100 are shown. Use offset=52 to go on.]"),
        "{}",
        &text[51_000..]
    );
}

#[tokio::test]
async fn read_05_a_broken_picture_is_refused() {
    let bed = Bed::new();
    let mut junk = b"\x89PNG\r\n\x1a\n".to_vec();
    junk.extend((0..2048_u32).map(|n| (n * 31 % 251) as u8));
    bed.put("junk.png", junk);
    assert!(
        bed.failed("read", json!({"path": "junk.png"}))
            .await
            .contains("not a sound PNG picture")
    );
    let whole = png(64, 64);
    bed.put("cut.png", &whole[..whole.len() / 2]);
    assert!(
        bed.failed("read", json!({"path": "cut.png"}))
            .await
            .contains("not a sound PNG picture")
    );
}

#[tokio::test]
async fn pictures_are_told_by_content_and_scaled_down() {
    let bed = Bed::new();
    bed.put("p.txt", png(20, 10));
    let outcome = bed.call("read", json!({"path": "p.txt"})).await;
    let [image] = <[_; 1]>::try_from(images(&outcome)).expect("one picture");
    assert_eq!(image.media_type, "image/png");
    assert!(outcome.shown_text().contains("20 × 10"));

    bed.put("large.png", png(3_000, 1_500));
    let outcome = bed.call("read", json!({"path": "large.png"})).await;
    assert_eq!(images(&outcome).len(), 1);
    assert!(
        outcome
            .shown_text()
            .contains("3000 × 1500 pixels, scaled to 2000 × 1000")
    );
}

#[tokio::test]
async fn read_06_16_what_is_not_text_is_named() {
    let bed = Bed::new();
    let zeros = [0_u8; 100];
    for (name, content, kind) in [
        ("a.pdf", &b"%PDF-1.7\nplain so far"[..], " (PDF), 21 bytes"),
        ("a.zip", b"PK\x03\x04\x14\0\0\0", " (zip), 8 bytes"),
        ("elf", b"\x7fELF\x02\x01\x01\0", " (ELF), 8 bytes"),
        ("db", b"SQLite format 3\0\x10", " (SQLite), 17 bytes"),
        ("zeros", &zeros, ", 100 bytes"),
    ] {
        bed.put(name, content);
        let text = bed.failed("read", json!({"path": name})).await;
        assert!(text.contains(&format!("binary file{kind}")), "{text}");
        assert!(!text.contains('\0'));
    }
    let mut late = "text\n".repeat(20_000).into_bytes();
    late.extend(b"\0\0\0");
    bed.put("late", late);
    assert!(
        bed.failed("read", json!({"path": "late", "offset": 20_001}))
            .await
            .contains("binary file")
    );
}

#[tokio::test]
async fn read_09_11_an_offset_past_the_end_tells_the_line_count() {
    let bed = Bed::new();
    bed.put("f", "1\n2\n3\n4\n5\n");
    for offset in [6, 100] {
        let text = bed
            .failed("read", json!({"path": "f", "offset": offset}))
            .await;
        assert_eq!(
            text,
            format!("`offset` {offset} is past the end: `f` has 5 lines.")
        );
    }
    assert_eq!(
        bed.done("read", json!({"path": "f", "offset": 5})).await,
        "5\n"
    );
    bed.put("e", "");
    assert_eq!(
        bed.done("read", json!({"path": "e", "offset": 7})).await,
        "[The file is empty.]"
    );
}

#[tokio::test]
async fn read_13_following_the_notices_gives_the_file() {
    let bed = Bed::limits(|limits| limits.read_lines = 70);
    let whole = (1..=250)
        .map(|n| format!("line {n}\n"))
        .collect::<Vec<_>>()
        .concat();
    bed.put("f", &whole);
    let (mut joined, mut offset) = (String::new(), 1);
    loop {
        let page = bed
            .done("read", json!({"path": "f", "offset": offset}))
            .await;
        let Some((text, notice)) = page.split_once("\n[") else {
            joined.push_str(&page);
            break;
        };
        joined.push_str(text);
        let (_, next) = notice.split_once("offset=").expect("a next offset");
        offset = next
            .split(' ')
            .next()
            .expect("a number")
            .parse()
            .expect("a number");
    }
    assert_eq!(joined, whole);
}

#[tokio::test]
async fn read_14_a_name_that_looks_the_same_is_found() {
    let bed = Bed::new();
    bed.put(
        "Bild \u{201c}U\u{308}bung\u{201d} 1\u{202f}PM.txt",
        "found\n",
    );
    let text = bed
        .done("read", json!({"path": "Bild \"Übung\" 1 PM.txt"}))
        .await;
    assert!(
        text.starts_with("found\n") && text.contains("which looks the same"),
        "{text}"
    );
    bed.put("config.toml", "");
    let text = bed.failed("read", json!({"path": "confg.toml"})).await;
    assert_eq!(
        text,
        "`confg.toml` does not exist. Did you mean `config.toml`?"
    );
}

#[tokio::test]
async fn read_18_20_other_encodings_are_shown_and_named() {
    let bed = Bed::new();
    let wide = |text: &str, big: bool| -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| {
                if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })
            .collect()
    };
    for (content, expected) in [
        (
            wide("\u{feff}grün\n", false),
            "grün\n\n[The file is UTF-16LE, shown as UTF-8.]",
        ),
        (
            wide("\u{feff}grün\n", true),
            "grün\n\n[The file is UTF-16BE, shown as UTF-8.]",
        ),
        (
            wide("hello there\n", false),
            "hello there\n\n[The file is UTF-16LE, shown as UTF-8.]",
        ),
        (
            b"f\xfcr caf\xe9\n".to_vec(),
            "für café\n\n[The file is windows-1252, shown as UTF-8.]",
        ),
        (
            "grün über \u{20ac}\n".bytes().chain(*b"x\xff\n").collect(),
            "grün über \u{20ac}\nx\u{fffd}\n\n[Not all of it is UTF-8; invalid bytes are shown as U+FFFD.]",
        ),
    ] {
        bed.put("f", &content);
        assert_eq!(bed.done("read", json!({"path": "f"})).await, expected);
    }
}

#[tokio::test]
async fn read_19_home_is_expanded_everywhere() {
    let bed = Bed::new();
    bed.done("write", json!({"path": "~/x/y.txt", "content": "hi\n"}))
        .await;
    assert_eq!(
        std::fs::read(bed.outside().join("home/x/y.txt")).expect("read"),
        b"hi\n"
    );
    assert!(!bed.path("~").exists());
    assert_eq!(bed.done("read", json!({"path": "~/x/y.txt"})).await, "hi\n");
    assert_eq!(bed.done("ls", json!({"path": "~"})).await, "x/");
}

#[tokio::test]
async fn what_is_no_file_is_refused_at_once() {
    let bed = Bed::new();
    bed.put("f", "x");
    std::fs::create_dir(bed.path("d")).expect("made");
    bed.link("nowhere", "broken");
    std::fs::create_dir(bed.outside().join("home")).expect("made");
    std::os::unix::fs::symlink("nowhere", bed.outside().join("home/broken")).expect("linked");
    rustix::fs::mkfifoat(rustix::fs::CWD, bed.path("pipe"), 0o600.into()).expect("made");
    for (path, expected) in [
        ("d", "`d` is a folder, not a file. Use `ls` to list it."),
        ("pipe", "`pipe` is a named pipe, not a file."),
        ("/dev/zero", "`/dev/zero` is a device, not a file."),
        (
            "f/",
            "`f/` is a file, not a folder. Leave out the slash at the end.",
        ),
        ("", "`path` is empty."),
        (
            "broken",
            "`broken` is a symlink to something that does not exist.",
        ),
        (
            "~/broken",
            "`~/broken` is a symlink to something that does not exist.",
        ),
    ] {
        assert_eq!(bed.failed("read", json!({"path": path})).await, expected);
    }
    assert!(
        bed.failed("read", json!({"path": "f/x"}))
            .await
            .contains("a part of it is a file")
    );
    // As the kernel sees it: nothing is above a file but by its folder.
    let through = json!({"path": "f/../new", "content": "x"});
    let text = bed.failed("write", through).await;
    assert!(text.contains("a part of it is a file"), "{text}");
    assert!(!bed.path("new").exists());
}

#[tokio::test]
async fn a_file_of_ten_gigabytes_costs_no_memory() {
    let bed = Bed::limits(|limits| limits.read_scan_bytes = 1024 * 1024);
    let path = bed.put("huge", "first\nsecond\n".repeat(10_000));
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(path)
        .expect("opened");
    file.set_len(10_000_000_000).expect("made long");
    let text = bed.done("read", json!({"path": "huge", "limit": 2})).await;
    assert_eq!(
        text,
        "first\nsecond\n\n[Lines 1-2 of a file of 10000000000 bytes are shown. Use offset=3 to go on.]"
    );
}

#[tokio::test]
async fn a_file_that_says_it_is_empty_is_read_all_the_same() {
    let bed = Bed::new();
    assert!(
        bed.done("read", json!({"path": "/proc/self/status"}))
            .await
            .contains("Pid:")
    );
    let mut file = std::fs::File::create(bed.path("f")).expect("made");
    file.write_all(b"x").expect("written");
    assert_eq!(bed.done("read", json!({"path": "f"})).await, "x");
}

/// Blank lines are something else than nothing.
#[tokio::test]
async fn blank_lines_are_told() {
    let bed = Bed::new();
    bed.put("one", "\n");
    bed.put("two", " \n\t\n");
    for (name, expected) in [
        ("one", "\n\n[The line is blank.]"),
        ("two", " \n\t\n\n[The lines are blank.]"),
    ] {
        assert_eq!(bed.done("read", json!({"path": name})).await, expected);
    }
}

/// The command for the rest of a long line gives it, whatever the file begins with.
#[tokio::test]
async fn the_command_for_a_long_line_fits_the_encoding() {
    let bed = Bed::new();
    let line = "0123456789".repeat(6_000);
    let wide: Vec<u8> = format!("\u{feff}{line}\nx\n")
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    bed.put("marked", format!("\u{feff}{line}\nx\n"));
    bed.put("wide", wide);
    bed.put("it's plain", format!("{line}\nx\n"));
    for name in ["marked", "wide", "it's plain"] {
        let text = bed.done("read", json!({"path": name})).await;
        let (shown, notice) = text.split_once("\n\n[").expect("a notice");
        let command = notice
            .split("For the next ones: ")
            .nth(1)
            .expect("a command");
        let command = command.split(" Use offset").next().expect("its end");
        let rest = bed.done("bash", json!({"command": command})).await;
        let rest = rest.lines().next().expect("a line");
        assert_eq!(format!("{shown}{rest}"), line, "{name}: {command}");
    }
}

/// A file that begins as UTF-8 and is none later: the limit holds for what is shown.
#[tokio::test]
async fn read_20_late_invalid_bytes_keep_the_limit() {
    let bed = Bed::new();
    let mut content = "a\n".repeat(40_000).into_bytes();
    content.extend(vec![0xff; 45_000]);
    bed.put("f", content);
    let text = bed
        .done("read", json!({"path": "f", "offset": 40_001}))
        .await;
    assert!(text.len() < 52_000, "{} bytes", text.len());
    assert!(
        text.contains("Not all of it is UTF-8"),
        "{}",
        &text[51_000..]
    );
}
