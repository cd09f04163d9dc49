//! Other processes, and the walls themselves.

use std::process::{Child, Command, Stdio};

use harness_sandbox::Profile;

use crate::cage::{Cage, has};

/// A process outside, with a secret in its environment.
struct Outsider(Child);

impl Outsider {
    fn new() -> Self {
        let child = Command::new("/bin/cat")
            .env("SECRET", "CANARY")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Self(child.expect("started"))
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn runs(&mut self) -> bool {
        self.0.try_wait().expect("asked").is_none()
    }
}

impl Drop for Outsider {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A system call that Python makes, by its number here.
fn call(number: libc::c_long, arguments: &str) -> String {
    format!(
        "python3 -c 'import ctypes, os; c = ctypes.CDLL(None, use_errno=True); \
         r = c.syscall({number}, {arguments}); e = ctypes.get_errno(); \
         print(r, e, os.strerror(e)); exit(r == -1)'"
    )
}

#[test]
fn no_other_process_is_looked_into() {
    let Some(cage) = Cage::new() else { return };
    let outsider = Outsider::new();
    let id = outsider.id();
    for file in ["environ", "mem", "fd/0", "root/etc/hostname", "maps"] {
        let said = cage.says(&format!("cat /proc/{id}/{file}")).was_refused();
        assert!(!said.contains("CANARY"), "{file}");
    }
    if has("python3") {
        let attach = call(libc::SYS_ptrace, &format!("16, {id}, 0, 0"));
        cage.says(&attach).was_refused();
        let read = call(libc::SYS_process_vm_readv, &format!("{id}, 0, 0, 0, 0, 0"));
        cage.says(&read).was_refused();
        let limit = call(libc::SYS_prlimit64, &format!("{id}, 7, 0, 0"));
        cage.says(&limit).was_refused();
    }
}

#[test]
fn no_other_process_gets_a_signal() {
    let Some(cage) = Cage::new() else { return };
    let policy = cage.policy(Profile::WorkspaceWrite);
    if !cage.abilities().missing(&policy).is_empty() {
        return;
    }
    let mut outsider = Outsider::new();
    cage.says(&format!("kill -9 {}", outsider.id()))
        .was_refused();
    assert!(outsider.runs());
    cage.says("kill -9 $PPID").was_refused();
    // Among themselves they do.
    cage.says("cat /dev/zero >/dev/null & kill $! && ! wait $!")
        .worked();
}

#[test]
fn the_parent_can_end_it() {
    let Some(cage) = Cage::new() else { return };
    let policy = cage.policy(Profile::WorkspaceWrite);
    let mut child = cage
        .program(&policy, "/bin/cat", [] as [&str; 0])
        .stdin(Stdio::piped())
        .spawn()
        .expect("started");
    child.kill().expect("killed");
    assert!(!child.wait().expect("waited for").success());
}

#[test]
fn no_wall_is_moved() {
    let Some(cage) = Cage::new() else { return };
    for line in [
        "mount -t tmpfs none .",
        "unshare -U true",
        "unshare -Ur true",
        "unshare -m true",
        "unshare -n true",
    ] {
        cage.says(line).was_refused();
    }
    if !has("python3") {
        return;
    }
    for (number, arguments) in [
        (libc::SYS_mount, "0, 0, 0, 0, 0"),
        (libc::SYS_umount2, "0, 0"),
        (libc::SYS_open_tree, "-100, 0, 1"),
        (libc::SYS_unshare, "0x10000000"),
        (libc::SYS_unshare, "0x80"),
        // In a clone, these are the number of a signal.
        (libc::SYS_clone, "0x10000000 | 17, 0, 0, 0, 0"),
        (libc::SYS_setns, "0, 0"),
        (libc::SYS_keyctl, "0, -3, 0"),
        (libc::SYS_bpf, "0, 0, 0"),
        (libc::SYS_io_uring_setup, "1, 0"),
        (libc::SYS_userfaultfd, "0"),
        (libc::SYS_perf_event_open, "0, 0, 0, 0, 0"),
        (libc::SYS_open_by_handle_at, "0, 0, 0"),
        // Typing at a terminal.
        (libc::SYS_ioctl, "0, 0x5412, 0"),
        (libc::SYS_ioctl, "0, 0x541C, 0"),
        (libc::SYS_ioctl, "0, 0x100005412, 0"),
    ] {
        let said = cage.says(&call(number, arguments)).was_refused();
        assert!(said.contains("-1 1 "), "{number}: {said}");
    }
    let said = cage.says(&call(libc::SYS_clone3, "0, 0")).text();
    assert!(said.contains("-1 38 "), "{said}");
    #[cfg(target_arch = "x86_64")]
    {
        // `ptrace` by the number that x32 has for it.
        let said = cage.says(&call(0x4000_0000 + 521, "16, 1, 0, 0")).text();
        assert!(said.contains("-1 38 "), "{said}");
    }
}
