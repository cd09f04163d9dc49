//! What must not compile, and the messages that say why: `cases/*.rs`, and beside each what the compiler says.

#![cfg(test)]

#[test]
fn what_is_missing_or_of_another_type_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("cases/*.rs");
}
