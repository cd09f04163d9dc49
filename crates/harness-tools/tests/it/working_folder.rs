//! The folder that a command ends in is where the next one starts.

use std::path::Path;

use harness_core::{Attributes, Caller, RunContext, ToolContext};
use harness_tools::{ShellOptions, ShellSession};
use serde_json::json;

use crate::bed::Bed;

impl Bed {
    /// What a command says, however it ended.
    async fn says(&self, command: &str) -> String {
        let outcome = self.call("bash", json!({"command": command})).await;
        outcome.shown_text()
    }

    /// The folder that the next command starts in.
    async fn starts_in(&self) -> String {
        let text = self.says("printf '%s\\n|' \"$PWD\"").await;
        text.replace("\n|\n[exit code 0]", "")
    }

    fn real_root(&self) -> String {
        let root = self.workspace.root().canonicalize().expect("there");
        root.to_string_lossy().into_owned()
    }

    /// With one shell or the other.
    fn each_shell() -> [Self; 2] {
        let with = |shell: &'static str| {
            Self::with(|workspace| {
                let mut options = ShellOptions::default();
                options.shell = Some(Path::new(shell).to_owned());
                workspace.with_shell(options)
            })
        };
        [with("/bin/bash"), with("/bin/sh")]
    }
}

#[tokio::test]
async fn a_folder_is_kept_and_variables_are_not() {
    for bed in Bed::each_shell() {
        bed.put("a/b/f", "");
        assert_eq!(
            bed.says("cd a && x=1 && export y=2").await,
            "(no output)\n[exit code 0]\n[working directory: a]"
        );
        assert_eq!(
            bed.says("pwd -P; echo \"[$x$y]\"").await,
            format!("{}/a\n[]\n[exit code 0]", bed.real_root())
        );
        // Told when it changes, and only then.
        assert!(bed.says("cd b").await.ends_with("[working directory: a/b]"));
        assert!(bed.says("cd ../b").await.ends_with("[exit code 0]"));
        assert!(bed.says("cd /").await.ends_with("[working directory: /]"));
        let back = format!("cd '{}'", bed.real_root());
        assert!(bed.says(&back).await.ends_with("[working directory: .]"));
        assert_eq!(bed.starts_in().await, bed.real_root());
    }
}

/// Whatever the command is, it is as if nothing were kept; the folder is kept where that can be.
#[tokio::test]
async fn a_command_does_not_notice() {
    let same = "same";
    for bed in Bed::each_shell() {
        bed.put("same/f", "");
        bed.put("next/f", "");
        bed.says("cd same").await;
        let root = bed.real_root();
        for (command, ends, kept) in [
            ("cd ../next; exit 7", "[exit code 7]", true),
            ("cd ../next; false", "[exit code 1]", true),
            ("set -eu; cd ../next; false; echo no", "[exit code 1]", true),
            ("set -C; cd ../next", "[exit code 0]", true),
            (
                "set -x; cd ../next 2>/dev/null; :",
                "+ :\n[exit code 0]",
                true,
            ),
            ("pwd() { echo wrong; }; cd ../next", "[exit code 0]", true),
            ("(cd ../next)", "[exit code 0]", false),
            ("(cd ../next) & wait", "[exit code 0]", false),
            ("cd ../next; exec true", "[exit code 0]", false),
            (
                "cd ../next; trap 'echo own' EXIT",
                "own\n[exit code 0]",
                false,
            ),
            (
                "cd ../next; kill -9 $$",
                "[exit code 137: killed by signal 9]",
                false,
            ),
            ("cd ../next; exec 1>&- 2>&-", "[exit code 0]", true),
            ("echo $# \"$*\"", "0 \n[exit code 0]", false),
            ("echo ${LINENO:-1}", "1\n[exit code 0]", false),
            ("env | grep -c BASH_ENV", "0\n[exit code 1]", false),
        ] {
            let text = bed.says(command).await;
            let expected = if kept {
                format!("{ends}\n[working directory: next]")
            } else {
                ends.to_owned()
            };
            assert!(text.ends_with(&expected), "{command}: {text}");
            let folder = if kept { "next" } else { same };
            assert_eq!(
                bed.starts_in().await,
                format!("{root}/{folder}"),
                "{command}"
            );
            bed.says(&format!("cd '{root}/{same}'")).await;
        }
    }
}

/// BASH-27: what cannot be parsed is told at once, as it always was, and changes nothing.
#[tokio::test]
async fn bash_27_a_syntax_error_leaves_the_folder_alone() {
    for bed in Bed::each_shell() {
        bed.put("same/f", "");
        bed.says("cd same").await;
        for command in ["echo \"abc", "( echo a", "fi", "cd ..; )"] {
            let text = bed.says(command).await;
            assert!(text.contains("[exit code 2]"), "{command}: {text}");
            assert!(!text.contains("trap"), "{command}: {text}");
            assert!(
                !text.contains("line 2:") || command.starts_with('('),
                "{text}"
            );
            let folder = format!("{}/same", bed.real_root());
            assert_eq!(bed.starts_in().await, folder, "{command}");
        }
    }
}

#[tokio::test]
async fn bash_16_a_folder_that_is_gone_is_told_and_survived() {
    for bed in Bed::each_shell() {
        bed.put("deep/er/f", "");
        bed.says("cd deep/er").await;
        // From within: the shell is then nowhere, and so the next one in the root.
        bed.says("rm -r ../../deep").await;
        let text = bed.says("pwd -P").await;
        let root = bed.workspace.root().display().to_string();
        assert_eq!(
            text,
            format!(
                "{}\n[exit code 0]\n[`deep/er` is gone, so this ran in {root}]",
                bed.real_root()
            )
        );
        assert!(bed.says("true").await.ends_with("[exit code 0]"));
        // And a job.
        bed.put("deep/er/f", "");
        bed.says("cd deep/er").await;
        std::fs::remove_dir_all(bed.path("deep")).expect("removed");
        let outcome = bed
            .call("bash", json!({"command": "echo $PWD", "background": true}))
            .await;
        let text = outcome.shown_text();
        assert!(text.contains("`deep/er` is gone"), "{text}");
    }
}

#[tokio::test]
async fn a_root_behind_a_symlink_is_still_the_root() {
    let bed = Bed::with(|workspace| {
        let link = workspace.root().with_file_name("link");
        std::os::unix::fs::symlink(workspace.root(), &link).expect("linked");
        harness_tools::Workspace::new(link)
    });
    bed.put("a/f", "");
    assert!(bed.says("true").await.ends_with("[exit code 0]"));
    assert!(bed.says("cd a").await.ends_with("[working directory: a]"));
    assert!(bed.says("cd ..").await.ends_with("[working directory: .]"));
}

#[tokio::test]
async fn a_folder_with_an_odd_name_is_kept() {
    let bed = Bed::new();
    for name in ["a'b", "a b\nc", "$(touch x)", "`y`\\", "end\n", "\u{2192}"] {
        bed.put(&format!("{name}/f"), "");
        std::fs::write(bed.path("name"), name).expect("written");
        bed.says("n=$(cat name; printf x); cd \"${n%x}\"").await;
        assert_eq!(bed.starts_in().await, format!("{}/{name}", bed.real_root()));
        bed.says("cd ..").await;
    }
    assert!(!bed.path("x").exists());
}

/// A run with its own folder starts there; the next run of the session goes on where the last one was.
#[tokio::test]
async fn it_lasts_as_long_as_the_attributes() {
    let mut bed = Bed::new();
    bed.put("a/f", "");
    bed.put("b/f", "");
    let attributes = Attributes::default();
    attributes.insert(ShellSession::new());
    let run = |working_dir: Option<&str>| {
        let caller = Caller {
            attributes: attributes.clone(),
            working_dir: working_dir.map(Into::into),
            ..Caller::default()
        };
        ToolContext::new(RunContext::detached(caller), "c")
    };
    let root = bed.real_root();
    bed.cx = run(None);
    bed.says("cd a").await;
    bed.cx = run(None);
    assert_eq!(bed.starts_in().await, format!("{root}/a"));
    bed.cx = run(Some("b"));
    assert_eq!(bed.starts_in().await, format!("{root}/b"));
    bed.cx = ToolContext::detached();
    assert_eq!(bed.starts_in().await, root);
}

#[tokio::test]
async fn nothing_is_left_in_the_folder_for_output() {
    let bed = Bed::new();
    bed.says("cd /").await;
    bed.says("kill -9 $$").await;
    let left: Vec<_> = std::fs::read_dir(bed.outside())
        .expect("there")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    assert_eq!(left, ["ws"]);
}
