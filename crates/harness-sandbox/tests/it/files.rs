//! What can be written and read.

use harness_sandbox::{Error, Policy, Profile};

use crate::cage::{Cage, exists};

#[test]
fn the_workspace_can_be_written() {
    let Some(cage) = Cage::new() else { return };
    cage.says(
        "echo new > new && mkdir -p a/b && echo x > a/b/c && mv a/b/c a/c && ln -s a l && ln a/c hard \
         && rm file && cp a/c copy && : > new && touch t && chmod 600 t && rmdir a/b",
    )
    .worked();
    assert_eq!(cage.text("home/ws/copy"), "x\n");
    assert_eq!(cage.text("home/ws/new"), "");
    assert!(!exists(&cage.path("home/ws/file")));
}

#[test]
fn outside_nothing_is_written() {
    let Some(cage) = Cage::new() else { return };
    cage.put("outside", "before\n");
    cage.link("outside", "home/ws/link");
    cage.link("home", "home/ws/folder-link");
    for line in [
        "echo x > $OUT/new",
        "echo x >> $OUT/outside",
        ": > $OUT/outside",
        "truncate -s 0 $OUT/outside",
        "rm $OUT/outside",
        "mv $OUT/outside moved",
        "mv file $OUT/moved",
        "ln $OUT/outside hard",
        "mkdir $OUT/new",
        "rmdir $OUT/tmp",
        "ln -s x $OUT/new",
        "mkfifo $OUT/new",
        "echo x > link",
        "echo x > folder-link/notes",
        "echo x > ../new",
        "cp file /new-at-the-root",
        "echo x > /etc/hosts",
        "mknod null c 1 3",
        "mknod disk b 8 0",
        // Without an exec in between, nor a parent.
        "setsid sh -c 'echo x > $OUT/new'",
        "(sh -c 'setsid sh -c \"echo x > \\$OUT/new; echo \\$? > done\" &'); \
         while [ ! -s done ]; do :; done; echo denied; exit $(cat done)",
    ] {
        cage.says(line).was_refused();
        assert_eq!(cage.text("outside"), "before\n", "{line}");
        assert_eq!(cage.text("home/notes"), "notes\n", "{line}");
        assert!(!exists(&cage.path("new")), "{line}");
        assert!(!exists(&cage.path("home/new")), "{line}");
        assert_eq!(cage.text("home/ws/file"), "file\n", "{line}");
    }
}

#[test]
fn a_mode_cannot_be_had_by_setuid() {
    let Some(cage) = Cage::new() else { return };
    let text = cage
        .says("grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status")
        .worked();
    let words: Vec<_> = text.split_whitespace().collect();
    assert_eq!(words, ["NoNewPrivs:", "1", "Seccomp:", "2"]);
}

#[test]
fn hidden_files_are_not_read() {
    let Some(cage) = Cage::new() else { return };
    cage.link("home/.ssh/id", "home/ws/link");
    cage.link("home/.ssh", "home/ws/folder");
    for line in [
        "cat ../.ssh/id",
        "cat link",
        "cat folder/id",
        "cat $HOME/.config/app/token",
        "cp ../.ssh/id mine",
        "ln ../.ssh/id mine",
        "mv ../.ssh/id mine",
        "mv ../.ssh moved",
        "cat /proc/self/root$HOME/.ssh/id",
        "cat < ../.ssh/id",
        "sh ../.ssh/id",
        "echo x >> ../.ssh/id",
    ] {
        let said = cage.says(line).was_refused();
        assert!(!said.contains("CANARY"), "{line}: {said}");
        assert!(!exists(&cage.path("home/ws/mine")), "{line}");
        assert_eq!(cage.text("home/.ssh/id"), "CANARY\n", "{line}");
    }
}

/// What lies beside something hidden is read as ever, and folders are listed.
#[test]
fn the_rest_is_read() {
    let Some(cage) = Cage::new() else { return };
    let line = "cat ../notes ../.config/app/settings /etc/hostname /proc/self/cmdline >/dev/null \
                && ls -A .. / ../.config/app && test -x /bin/sh && ls /proc >/dev/null";
    let said = cage.says(line).worked();
    for name in [".ssh", "notes", "token", "etc"] {
        assert!(said.lines().any(|line| line == name), "{name}: {said}");
    }
}

#[test]
fn a_path_in_a_hidden_folder_can_be_granted() {
    let Some(cage) = Cage::new() else { return };
    std::fs::create_dir_all(cage.path("home/.ssh/readable")).expect("made");
    cage.put("home/.ssh/readable/a", "a\n");
    std::fs::create_dir_all(cage.path("home/.ssh/ws")).expect("made");
    let policy = cage
        .policy(Profile::WorkspaceWrite)
        .with_readable(cage.path("home/.ssh/readable"))
        .with_writable(cage.path("home/.ssh/ws"));
    cage.run(&policy, "cat ../.ssh/readable/a && echo x > ../.ssh/ws/new")
        .worked();
    cage.run(&policy, "echo x > ../.ssh/readable/a")
        .was_refused();
    cage.run(&policy, "cat ../.ssh/id").was_refused();
}

#[test]
fn what_is_hidden_in_a_writable_folder_is_not_written() {
    let Some(cage) = Cage::new() else { return };
    let policy = cage
        .policy(Profile::WorkspaceWrite)
        .with_writable(cage.path("home"));
    cage.run(
        &policy,
        "echo x > ../notes && echo x > ../.config/app/settings",
    )
    .worked();
    for line in [
        "echo x > ../.ssh/id",
        "echo x > ../.ssh/authorized_keys",
        "rm ../.ssh/id",
        "rm ../.config/app/token",
        "mv ../.ssh ../moved",
        "cat ../.ssh/id",
    ] {
        cage.run(&policy, line).was_refused();
        assert_eq!(cage.text("home/.ssh/id"), "CANARY\n", "{line}");
    }
}

#[test]
fn read_only_writes_scratch_and_nothing_else() {
    let Some(cage) = Cage::new() else { return };
    let policy = cage.policy(Profile::ReadOnly);
    for line in ["echo x > new", "rm file", "echo x > file", "mkdir d"] {
        cage.run(&policy, line).was_refused();
        assert_eq!(cage.text("home/ws/file"), "file\n", "{line}");
    }
    let line =
        "cat file > /dev/null && t=$(mktemp) && cat file > $t && cat $t && grep -r file . | sort";
    cage.run(&policy, line).worked();
}

/// A single file can be given, which is how a shell tells where it ended.
#[test]
fn a_single_file_can_be_scratch() {
    let Some(cage) = Cage::new() else { return };
    cage.put("told", "");
    let policy = Policy::new(Profile::ReadOnly).with_scratch(cage.path("told"));
    cage.run(&policy, "pwd > $OUT/told").worked();
    assert!(cage.text("told").ends_with("home/ws\n"));
    cage.run(&policy, "rm $OUT/told").was_refused();
}

#[test]
fn devices_are_not_opened_but_for_harmless_ones() {
    let Some(cage) = Cage::new() else { return };
    cage.says(
        "echo x > /dev/null && head -c 1 /dev/zero /dev/urandom >/dev/null && echo a > /dev/stdout",
    )
    .worked();
    for device in ["/dev/ptmx", "/dev/kmsg", "/dev/mem", "/dev/vda"] {
        if exists(device.as_ref()) {
            cage.says(&format!("head -c 1 {device}")).was_refused();
        }
    }
}

#[test]
fn a_folder_without_end_beside_a_secret_is_an_error() {
    let Some(cage) = Cage::new() else { return };
    for number in 0..16_400 {
        std::fs::write(cage.path(&format!("home/.config/{number}")), "").expect("made");
    }
    let prepared = cage
        .policy(Profile::WorkspaceWrite)
        .prepare(cage.abilities());
    let config = cage.path("home/.config").canonicalize().expect("there");
    let error = prepared.map(drop).expect_err("too many");
    assert!(
        matches!(&error, Error::TooManyEntries { folder, .. } if *folder == config),
        "{error}"
    );
}
