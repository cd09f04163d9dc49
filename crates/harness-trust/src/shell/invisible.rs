//! Characters that a person does not see, or that make a person see something else.

/// Whether a shell or a person could read the text around `c` differently from what it is: controls,
/// format characters (Unicode category Cf), fillers that show nothing, spaces that bash takes for letters.
pub(crate) fn is_deceptive(c: char) -> bool {
    match c {
        '\t' | '\n' | ' ' => false,
        c if c.is_control() => true,
        c if c.is_ascii() => false,
        c if c.is_whitespace() => true,
        // Cf, the fillers of Hangul, variation selectors, tags, private use.
        '\u{ad}'
        | '\u{34f}'
        | '\u{600}'..='\u{605}'
        | '\u{61c}'
        | '\u{6dd}'
        | '\u{70f}'
        | '\u{890}'..='\u{891}'
        | '\u{8e2}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffd}'
        | '\u{110bd}'
        | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{10ffff}' => true,
        _ => false,
    }
}

/// `text` with each such character written as `\u{202e}`, and line ends as `\n`, so that what is shown
/// is what is there, on one line.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            c if is_deceptive(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}
