//! The slash command at the beginning of a text.

/// The name and the arguments of the slash command that `text` is: `/name rest`.
///
/// The slash is the very first character. The name is an ASCII letter or digit, then letters, digits and
/// `_ : . -`, and ends with white space or with the text; so `/etc/passwd` is no command. The rest is given
/// without white space at either end. Whether there is a command of that name is for the caller to see.
pub fn parse_invocation(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/')?;
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    is_command_name(name).then(|| (name, rest.trim()))
}

pub(crate) fn is_command_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'.' | b'-'))
}
