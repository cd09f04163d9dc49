//! Text that must not add lines to a prompt.

/// A name or a path in one line: control characters, line breaks among them, are written as escapes.
///
/// ```
/// assert_eq!(harness_prompt::one_line("a\nb\u{1b}[0m é"), "a\\nb\\u{1b}[0m é");
/// ```
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}
