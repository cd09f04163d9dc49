//! Text that is only text.

use crate::export::prose::visible;

/// Puts a text into the page, so that it is nothing but text: between tags, and in an attribute between
/// double quotes.
pub(super) fn attribute(out: &mut String, text: &str) {
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// The same, as a value of its own.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    attribute(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_acts() {
        assert_eq!(
            escaped("</script><!-- \" ' & \u{202e}\u{0}\u{1b}"),
            "&lt;/script&gt;&lt;!-- &quot; &#39; &amp; ⟨U+202E⟩␀␛"
        );
    }
}
