//! See `check_skill`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| harness_skills::test_support::check_skill(data));
