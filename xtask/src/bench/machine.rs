//! What the figures were measured on, in one line.

use std::fs;
use std::thread;

/// Cores, processor, kernel, and how busy the machine was. What this system does not tell is left
/// out.
pub(crate) fn facts() -> String {
    let read = |path: &str| fs::read_to_string(path).ok();
    let cores = thread::available_parallelism().ok().map(usize::from);
    let facts = [
        cores.map(|cores| format!("{cores} cores")),
        read("/proc/cpuinfo").and_then(|it| processor(&it).map(str::to_owned)),
        read("/proc/sys/kernel/osrelease").map(|it| format!("Linux {}", it.trim())),
        read("/proc/loadavg").and_then(|it| {
            let load = it.split(' ').next()?;
            Some(format!("load {load} at the start"))
        }),
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn processor(cpuinfo: &str) -> Option<&str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == "model name").then_some(value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::processor;

    #[test]
    fn reads_the_name_of_the_processor() {
        let cpuinfo = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: ACME Fast: 3 GHz\n";
        assert_eq!(processor(cpuinfo), Some("ACME Fast: 3 GHz"));
        assert_eq!(processor("processor : 0\n"), None);
    }
}
