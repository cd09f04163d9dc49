//! Policies, and machines that cannot enforce them.

use std::str::FromStr as _;

use harness_sandbox::{Abilities, Error, HOME_SECRETS, Policy, Profile};

use crate::cage::Cage;

#[test]
fn profiles_are_written_as_they_are_read() {
    for profile in Profile::ALL {
        assert_eq!(
            Profile::from_str(&profile.to_string()).expect("read"),
            profile
        );
    }
    for text in ["", "Off", "workspace_write", "full"] {
        let error = Profile::from_str(text).expect_err("no profile");
        assert!(matches!(&error, Error::UnknownProfile(it) if it == text));
        assert!(error.to_string().contains("workspace-write"));
    }
}

#[test]
fn a_policy_says_what_it_allows() {
    let open = Policy::new(Profile::WorkspaceWrite);
    for (policy, words) in [
        (
            Policy::new(Profile::ReadOnly).with_writable("/a"),
            "no files can be written, and there is no network and no socket",
        ),
        (
            open.clone().with_writable("/a").with_network(true),
            "files can be written only in /a, and there are no local sockets",
        ),
        (
            open.with_writable("/a")
                .with_writable("/b")
                .with_scratch("/c")
                .with_hidden("/d")
                .with_unix_sockets(true),
            "files can be written only in /a, /b and /c, some with credentials cannot be read, and there is \
             no network",
        ),
        (Policy::new(Profile::Off), "nothing is confined"),
    ] {
        assert_eq!(policy.to_string(), words);
    }
}

#[test]
fn off_is_off_and_lacks_nothing() {
    let policy = Policy::new(Profile::Off).with_hidden("/etc");
    let abilities = Abilities::probe();
    assert!(abilities.missing(&policy).is_empty());
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", "cat /etc/hostname"]);
    policy
        .prepare(&abilities)
        .expect("off")
        .confine(&mut command);
    assert!(command.output().expect("started").status.success());
}

/// The same command can be started again.
#[test]
fn each_child_enters() {
    let Some(cage) = Cage::new() else { return };
    let policy = cage.policy(Profile::WorkspaceWrite);
    let mut command = cage.command(&policy, "echo x > ../new");
    for _ in 0..2 {
        let status = command.status().expect("started");
        assert!(!status.success());
    }
    assert!(!cage.path("home/new").exists());
}

#[test]
fn secrets_are_relative_and_named_once() {
    for (at, path) in HOME_SECRETS.iter().enumerate() {
        assert!(!path.starts_with('/') && !path.is_empty(), "{path}");
        assert!(!HOME_SECRETS[..at].contains(path), "{path}");
    }
}
