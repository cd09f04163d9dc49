//! See `check_command_line`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness_trust::test_support::check_command_line(data));
