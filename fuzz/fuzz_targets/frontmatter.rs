//! See `check_frontmatter`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    harness_frontmatter::test_support::check_frontmatter(data);
});
