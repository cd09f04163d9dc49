//! Links the binary at a fixed address where that makes it start faster.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).as_deref() == Ok(value);
    // Without this, nine tenths of the loader's time go into 17,000 relocations, more than all that
    // `--version` does. The price: the program's own image is not moved about in memory; heap, stack
    // and libraries are.
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
