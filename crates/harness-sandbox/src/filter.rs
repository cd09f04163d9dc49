//! The filter of system calls: seccomp.
//!
//! A list of what is refused, with `EPERM`; all else is allowed. It is written for developers' tools:
//! compilers, package managers, interpreters and test runners must not notice it.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::abilities::ABI_TRUNCATE;
use crate::error::Error;
use crate::policy::Policy;

/// The processor that the filter is for; `None` if there is none for it.
pub(crate) const ARCH: Option<TargetArch> = if cfg!(target_arch = "x86_64") {
    Some(TargetArch::x86_64)
} else if cfg!(target_arch = "aarch64") {
    Some(TargetArch::aarch64)
} else {
    None
};

/// From `asm/unistd_64.h` and `asm-generic/unistd.h`; not every C library names it.
const KEXEC_FILE_LOAD: libc::c_long = if cfg!(target_arch = "x86_64") {
    320
} else {
    294
};

/// Refused whatever the arguments are.
const REFUSED: &[libc::c_long] = &[
    // Other processes: their memory, registers and open files.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    // File systems. A new mount could show files at another path.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    // Files by a number instead of a path.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // Namespaces of other processes.
    libc::SYS_setns,
    // Its operations pass the filter by.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The user's keys.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Large parts of the kernel that have been a way into it.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // The machine itself; for those who run as root.
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    KEXEC_FILE_LOAD,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Flags of `clone` and `unshare` that make a namespace.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The same, for `unshare` alone: in `clone` these bits are the number of a signal. From
/// `linux/sched.h`.
const CLONE_NEWTIME: u64 = 0x80;

/// Orders to a terminal that act like typing. From `asm-generic/ioctls.h`.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;

/// The bits of a socket's type that are not flags. From `linux/net.h`.
const SOCK_TYPE_MASK: u64 = 0xf;

/// The bit of system calls that take the arguments of x32, which a list of numbers does not know. From
/// `asm/unistd.h`.
const X32_BIT: u32 = 0x4000_0000;

/// Makes the filter of a policy, for a kernel with this version of Landlock.
pub(crate) fn create(policy: &Policy, abi: u8) -> Result<BpfProgram, Error> {
    let arch = ARCH.ok_or_else(|| Error::Unavailable("no filter for this processor".to_owned()))?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(
        libc::SYS_ioctl,
        vec![
            rule(vec![equal(1, TIOCSTI)])?,
            rule(vec![equal(1, TIOCLINUX)])?,
        ],
    );
    // Limits of other processes.
    rules.insert(libc::SYS_prlimit64, vec![rule(vec![different(0, 0)])?]);
    let namespaces = || {
        NAMESPACES
            .iter()
            .map(|flag| u64::from(flag.cast_unsigned()))
    };
    rules.insert(libc::SYS_clone, with_any_bit(namespaces())?);
    let all = namespaces().chain([CLONE_NEWTIME]);
    rules.insert(libc::SYS_unshare, with_any_bit(all)?);
    rules.insert(libc::SYS_socket, sockets(policy)?);
    if !policy.unix_sockets() {
        // One without a connection could be sent from to any address.
        let pairs = [libc::SOCK_DGRAM, libc::SOCK_RAW];
        let mut pairs = pairs
            .into_iter()
            .map(|kind| rule(vec![masked(1, SOCK_TYPE_MASK, number(kind))]))
            .collect::<Result<Vec<_>, _>>()?;
        pairs.push(rule(vec![different(0, number(libc::AF_UNIX))])?);
        rules.insert(libc::SYS_socketpair, pairs);
    }
    // The C library goes on with `clone`, whose flags can be seen here.
    let mut unknown = vec![libc::SYS_clone3];
    if abi < ABI_TRUNCATE {
        rules.insert(libc::SYS_truncate, Vec::new());
        rules.insert(libc::SYS_openat, truncating(2)?);
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, truncating(1)?);
        // Its flags are in memory.
        unknown.push(libc::SYS_openat2);
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(number(libc::EPERM) as u32),
        arch,
    )
    .map_err(failed)?;
    let program = BpfProgram::try_from(filter).map_err(failed)?;
    Ok(with_unknown(program, &unknown))
}

fn failed(error: seccompiler::BackendError) -> Error {
    Error::Filter(Box::new(error))
}

/// Which sockets are refused. An empty list refuses all.
fn sockets(policy: &Policy) -> Result<Vec<SeccompRule>, Error> {
    let mut allowed = Vec::new();
    if policy.network() {
        allowed.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if policy.unix_sockets() {
        allowed.push(libc::AF_UNIX);
    }
    if allowed.is_empty() {
        return Ok(Vec::new());
    }
    let none_of_them = allowed.iter().map(|it| different(0, number(*it)));
    let mut rules = vec![rule(none_of_them.collect())?];
    if policy.network() {
        // Which addresses the machine has; nothing else of the kernel's services.
        rules.push(rule(vec![
            equal(0, number(libc::AF_NETLINK)),
            different(2, number(libc::NETLINK_ROUTE)),
        ])?);
    }
    Ok(rules)
}

/// Truncating a file that is not opened for writing: `open` takes the last of its two bits of access to be
/// either, and Landlock sees neither.
fn truncating(flags: u8) -> Result<Vec<SeccompRule>, Error> {
    let mask = number(libc::O_TRUNC | libc::O_ACCMODE);
    [libc::O_RDONLY, libc::O_ACCMODE]
        .into_iter()
        .map(|access| rule(vec![masked(flags, mask, number(libc::O_TRUNC | access))]))
        .collect()
}

fn with_any_bit(bits: impl Iterator<Item = u64>) -> Result<Vec<SeccompRule>, Error> {
    bits.map(|bit| rule(vec![masked(0, bit, bit)])).collect()
}

fn number(value: libc::c_int) -> u64 {
    u64::from(value.cast_unsigned())
}

type Condition = Result<SeccompCondition, Error>;

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Condition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(failed)
}

fn equal(argument: u8, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn different(argument: u8, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn masked(argument: u8, mask: u64, value: u64) -> Condition {
    condition(argument, SeccompCmpOp::MaskedEq(mask), value)
}

fn rule(conditions: Vec<Condition>) -> Result<SeccompRule, Error> {
    let conditions = conditions.into_iter().collect::<Result<Vec<_>, _>>()?;
    SeccompRule::new(conditions).map_err(failed)
}

/// The program with `ENOSYS` for some calls, as if the kernel were older.
///
/// What the library makes begins with three instructions that check the processor, and one that loads the
/// call's number. Nothing jumps over the place behind them.
fn with_unknown(mut program: BpfProgram, calls: &[libc::c_long]) -> BpfProgram {
    const HEAD: usize = 4;
    let unknown = libc::SECCOMP_RET_ERRNO | number(libc::ENOSYS) as u32;
    let mut more = Vec::new();
    for call in calls {
        more.push(jump(libc::BPF_JEQ, *call as u32));
        more.push(give(unknown));
    }
    if cfg!(target_arch = "x86_64") {
        more.push(jump(libc::BPF_JGE, X32_BIT));
        more.push(give(unknown));
    }
    program.splice(HEAD..HEAD, more);
    program
}

/// Goes on with the next instruction if the number compares like that, else with the one after it.
fn jump(how: u32, value: u32) -> sock_filter {
    sock_filter {
        code: (libc::BPF_JMP | how | libc::BPF_K) as u16,
        jt: 0,
        jf: 1,
        k: value,
    }
}

/// Ends with this.
fn give(value: u32) -> sock_filter {
    sock_filter {
        code: (libc::BPF_RET | libc::BPF_K) as u16,
        jt: 0,
        jf: 0,
        k: value,
    }
}
