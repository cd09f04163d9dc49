//! Cutting long texts.

/// A text of which the middle may be left out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Clipped<'a> {
    /// Its beginning.
    pub(super) head: &'a str,
    /// How many bytes are left out behind it.
    pub(super) left_out: usize,
    /// Its end, if some is left out.
    pub(super) tail: &'a str,
}

/// At most about `most` bytes of a text. The end of a long output says how it ended, so a third is kept
/// for it.
pub(super) fn clip(text: &str, most: usize) -> Clipped<'_> {
    if text.len() <= most {
        return Clipped {
            head: text,
            left_out: 0,
            tail: "",
        };
    }
    let head_end = text.floor_char_boundary(most - most / 3);
    let tail_start = text.ceil_char_boundary(text.len() - most / 3).max(head_end);
    Clipped {
        head: text.get(..head_end).unwrap_or_default(),
        left_out: tail_start - head_end,
        tail: text.get(tail_start..).unwrap_or_default(),
    }
}

/// The beginning of a text in one line, of at most so many characters.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    // More than this cannot count, and the text may be megabytes of blanks.
    let text = text
        .get(..text.floor_char_boundary(most * 16))
        .unwrap_or_default();
    for word in text.split_whitespace() {
        if count > 0 {
            line.push(' ');
            count += 1;
        }
        for c in word.chars() {
            if count >= most {
                line.push('…');
                return line;
            }
            line.push(c);
            count += 1;
        }
    }
    line
}

/// A number with its thousands apart: `12,345`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Dollars, with as many digits as they need.
pub(super) fn dollars(cost: f64) -> String {
    if cost == 0.0 || cost.abs() >= 1.0 {
        format!("${cost:.2}")
    } else {
        format!("${cost:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_left_out_between_characters() {
        let text = "ä".repeat(100);
        for most in 0..=200 {
            let Clipped {
                head,
                left_out,
                tail,
            } = clip(&text, most);
            assert_eq!(head.len() + left_out + tail.len(), 200);
            assert!(head.len() + tail.len() <= most, "{most}");
        }
    }

    #[test]
    fn a_line_is_short() {
        assert_eq!(one_line(" a\n\tb  c ", 10), "a b c");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line(&" ".repeat(1_000_000), 3), "");
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234), "1,234");
        assert_eq!(grouped(123_456_789), "123,456,789");
    }
}
