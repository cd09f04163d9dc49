//! Files under faults: a killed program, a full disk, a folder where a file was meant.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::program::{Bed, wait_until};
use crate::server::{Answer, Server};
use crate::wire::{Reply, Wire};

/// WRITE-01: whenever the program is killed, the file has the old content or the new.
#[test]
fn write_01_a_kill_leaves_the_old_file_or_the_new_one() {
    let bed = Bed::new();
    let line = "a line of a file that is not small\n";
    let old = format!("{0}needle\n{0}", line.repeat(60_000));
    let new = old.replace("needle", "thread");
    let edit = json!({"path": "f", "old_text": "needle", "new_text": "thread"}).to_string();
    let mut left = [0, 0];
    for glances in 0..24 {
        bed.write("f", &old);
        let running = bed.harness(&["tools", "call", "edit", &edit]).spawn();
        let mut waited = 0;
        wait_until("its turn to be killed", || {
            waited += 1;
            waited > glances
        });
        running.signal(Signal::KILL);
        running.end();
        let now = bed.read("f");
        assert!(now == old || now == new, "{} bytes", now.len());
        left[usize::from(now == new)] += 1;
        let names: Vec<_> = fs::read_dir(bed.work()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
    assert!(left[0] > 0, "killed too late each time: {left:?}");
}

/// WRITE-03: a disk that takes a part of the content and then no more. (A limit on the size of files
/// does what a full disk does: a short write, and then an error.)
#[test]
fn write_03_a_disk_that_is_full_keeps_the_old_file() {
    let bed = Bed::new();
    let old = "settings = 1\n";
    bed.write("f", old);
    let program = env!("CARGO_BIN_EXE_harness");
    let script = format!("ulimit -f 64; exec '{program}' tools call write -");
    for path in ["f", "new/folder/f"] {
        let arguments = json!({"path": path, "content": "x".repeat(100_000)}).to_string();
        let ended = bed
            .harness(&[])
            .stdin(arguments)
            .spawn_with(|command| {
                let mut limited = std::process::Command::new("/bin/sh");
                limited
                    .args(["-c", &script])
                    .env_clear()
                    .current_dir(bed.work());
                for (name, value) in command.get_envs() {
                    limited.env(name, value.unwrap_or_default());
                }
                limited
                    .stdin(std::process::Stdio::piped())
                    .stdout(std::process::Stdio::piped())
                    .stderr(std::process::Stdio::piped());
                *command = limited;
            })
            .end()
            .exits(1);
        let refused = format!("Cannot write `{path}`");
        assert!(ended.stdout.contains(&refused), "{ended:#?}");
        assert_eq!(bed.read("f"), old);
        // Neither a part of the file is left, nor a folder that was made for it.
        let names: Vec<_> = fs::read_dir(bed.work()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
    }
}

/// READ-07: a folder is no picture and no text, and a request that the service refuses is not sent
/// again.
#[test]
fn read_07_a_folder_is_refused_and_a_bad_request_is_not_repeated() {
    let bed = Bed::new();
    bed.write("folder/a.md", "text\n");
    bed.write("folder/b.png", b"\x89PNG\r\n\x1a\n");
    let call = Reply::calls("call_1", "read", &json!({"path": "folder"}));
    let server = Server::start([
        Answer::reply(Wire::Chat, &call),
        Answer::status(400, r#"{"error": {"message": "an image was expected"}}"#),
        Answer::says("never asked for"),
    ]);
    let url = server.url();
    let ended = bed
        .run(&["-m", "x/y", "--base-url", &url, "look"])
        .end()
        .exits(1);
    assert!(ended.stderr.contains("an image was expected"), "{ended:#?}");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let results = Wire::Chat.results(&requests[1].body);
    assert_eq!(results.len(), 1);
    assert!(
        results[0].1.contains("is a folder, not a file"),
        "{results:?}"
    );
}
