//! See `check_edit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness_tools::test_support::check_edit(data));
