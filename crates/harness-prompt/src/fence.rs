//! Fenced blocks of code in Markdown.

/// The fence of a block of code, as a line opens it: three or more of one sign.
///
/// As in `CommonMark`, but at any indentation, since blocks stand in lists as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    sign: char,
    length: usize,
}

impl Fence {
    /// The fence that a line opens, outside of a block.
    pub fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let sign = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == sign).count();
        let info = &line[length..];
        (length >= 3 && !(sign == '`' && info.contains('`'))).then_some(Self { sign, length })
    }

    /// Whether a line closes the block.
    pub fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        line.chars().count() >= self.length && line.chars().all(|c| c == self.sign)
    }

    /// A line that closes the block.
    pub fn closing(self) -> String {
        std::iter::repeat_n(self.sign, self.length).collect()
    }
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
            ("      ```", "      ```", true),
        ] {
            let fence = Fence::opened_by(open).unwrap();
            assert_eq!(fence.is_closed_by(line), closes, "{open} {line}");
            assert!(fence.is_closed_by(&fence.closing()), "{open}");
        }
        for line in ["", "``", "text ```", "``` a ` b"] {
            assert_eq!(Fence::opened_by(line), None, "{line}");
        }
    }
}
