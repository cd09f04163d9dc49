//! Fenced blocks of code in a person's text: what stands in them is not looked through.

/// The fence of a block of code that a line opens: its sign, and how often.
pub(crate) fn opens_fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == sign).count();
    let info = &line[length..];
    (length >= 3 && !(sign == '`' && info.contains('`'))).then_some((sign, length))
}

/// Whether a line closes the block of code that was opened so.
pub(crate) fn closes_fence(line: &str, (sign, length): (char, usize)) -> bool {
    let line = line.trim();
    line.chars().count() >= length && line.chars().all(|c| c == sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_with_its_own_fence() {
        for (open, line, closes) in [
            ("```", "```", true),
            ("```sh", "  ````  \n", true),
            ("````", "```", false),
            ("```", "```sh", false),
            ("```", "~~~", false),
            ("~~~", "~~~~", true),
        ] {
            let fence = opens_fence(open).unwrap();
            assert_eq!(closes_fence(line, fence), closes, "{open} {line}");
        }
        for line in ["", "``", "text ```", "``` a ` b"] {
            assert_eq!(opens_fence(line), None, "{line}");
        }
    }
}
