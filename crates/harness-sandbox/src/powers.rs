//! What root may do, and a confined command of root may not: capabilities.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities};

/// What is about files, users and processes, which builds and package managers of a container need. All else
/// is about the machine, or a way to look into other processes (`CAP_PERFMON` shows the environment of
/// each).
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SYS_NICE);

/// What is left of the capabilities of this process; `None` if all of them are.
pub(crate) fn left() -> Option<CapabilitySets> {
    // A kernel that does not tell has none to lose.
    let now = capabilities(None).ok()?;
    let left = CapabilitySets {
        effective: now.effective & KEPT,
        permitted: now.permitted & KEPT,
        inheritable: now.inheritable & KEPT,
    };
    (left != now).then_some(left)
}
