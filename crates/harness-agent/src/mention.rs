//! Where a prompt names a file: `@path`.

use harness_prompt::Fence;

/// A path is no longer than this.
const MAX_BYTES: usize = 4_096;

/// How many signs at the end of a word are tried as a part of the path, one by one.
const MAX_SIGNS: usize = 8;

/// One `@path` of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mention {
    /// What stands behind the `@`, up to the next space; of `@"a path"`, what is in the quotes.
    word: String,
    quoted: bool,
    /// The lines named behind the quotes.
    lines: Option<LineRange>,
}

/// Lines of a file, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LineRange {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// What a mention may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reading<'m> {
    pub(crate) path: &'m str,
    pub(crate) lines: Option<LineRange>,
}

impl LineRange {
    /// `:10` or `:10-20` at the beginning of a text, and what follows.
    fn take(text: &str) -> Option<(Self, &str)> {
        let (first, rest) = number(text.strip_prefix(':')?)?;
        let (last, rest) = rest
            .strip_prefix('-')
            .and_then(number)
            .unwrap_or((first, rest));
        (1 <= first && first <= last).then_some((Self { first, last }, rest))
    }

    pub(crate) fn count(self) -> u32 {
        (self.last - self.first).saturating_add(1)
    }
}

impl std::fmt::Display for LineRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
    Some((digits.parse().ok()?, rest))
}

impl Mention {
    /// All mentions in a text, in order. What is in a block or a span of code, as Markdown has them, is
    /// none.
    pub(crate) fn all(text: &str) -> Vec<Self> {
        let mut found = Vec::new();
        let mut fence = None;
        let mut prose = 0;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.len();
            match fence {
                Some(open) if Fence::is_closed_by(open, line) => {
                    fence = None;
                    prose = end;
                }
                Some(_) => {}
                None => {
                    fence = Fence::opened_by(line);
                    if fence.is_some() {
                        find_in_prose(&text[prose..at], &mut found);
                    }
                }
            }
            at = end;
        }
        if fence.is_none() {
            find_in_prose(&text[prose..], &mut found);
        }
        found
    }

    /// The mention that a text begins with, behind its `@`, and how many bytes it has; those of a word
    /// that is none as well, so that no word is gone through twice.
    fn take(text: &str) -> (Option<Self>, usize) {
        if let Some(inner) = text.strip_prefix('"') {
            let end = inner.find(['"', '\n']).unwrap_or(inner.len());
            let (word, behind) = inner.split_at(end);
            let Some(behind) = behind.strip_prefix('"') else {
                return (None, 0);
            };
            let (lines, rest) =
                LineRange::take(behind).map_or((None, behind), |(lines, rest)| (Some(lines), rest));
            let mention = Self {
                word: word.to_owned(),
                quoted: true,
                lines,
            };
            let taken = text.len() - rest.len();
            let is_possible = mention.is_possible();
            return (
                is_possible.then_some(mention),
                if is_possible { taken } else { 0 },
            );
        }
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        let mention = Self {
            word: text[..text.ceil_char_boundary(end.min(MAX_BYTES + 1))].to_owned(),
            quoted: false,
            lines: None,
        };
        (mention.is_possible().then_some(mention), end)
    }

    fn is_possible(&self) -> bool {
        !self.word.trim().is_empty() && self.word.len() <= MAX_BYTES
    }

    /// What it may mean, the likeliest first: the signs behind a word belong to the sentence, unless
    /// there is a file whose name ends with them.
    pub(crate) fn readings(&self) -> Vec<Reading<'_>> {
        let word = self.word.as_str();
        if self.quoted {
            let lines = self.lines;
            return vec![Reading { path: word, lines }];
        }
        let bare = self.bare();
        let mut readings = Vec::new();
        let mut read = |word| {
            readings.push(Reading {
                path: word,
                lines: None,
            });
            if let Some((path, lines)) = split_lines(word) {
                let lines = Some(lines);
                readings.push(Reading { path, lines });
            }
        };
        read(word);
        if bare.is_empty() {
            return readings;
        }
        let signs = word[bare.len()..].char_indices().rev();
        for (at, _) in signs.take(MAX_SIGNS).filter(|(at, _)| *at > 0) {
            read(&word[..bare.len() + at]);
        }
        if bare.len() < word.len() {
            read(bare);
        }
        readings
    }

    /// Without the signs at the end.
    fn bare(&self) -> &str {
        if self.quoted {
            &self.word
        } else {
            self.word.trim_end_matches(ends_a_phrase)
        }
    }

    /// Whether somebody who wrote this meant a file: there is a slash in it, or an extension, and it is
    /// neither an address nor code.
    pub(crate) fn looks_like_a_path(&self) -> bool {
        let bare = self.bare();
        if self.quoted {
            return true;
        }
        if bare.contains(['@', '(', '"', '=']) {
            return false;
        }
        let bare = split_lines(bare).map_or(bare, |(path, _)| path);
        let name = bare.rsplit('/').next().unwrap_or(bare);
        let extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
            !stem.is_empty()
                && (1..=10).contains(&extension.len())
                && extension.chars().all(|c| c.is_ascii_alphanumeric())
                && extension.chars().any(|c| c.is_ascii_alphabetic())
        });
        bare.contains('/') || extension
    }
}

impl std::fmt::Display for Mention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.quoted {
            write!(f, "@\"{}\"", self.word)
        } else {
            write!(f, "@{}", self.bare())
        }
    }
}

/// A path and the lines behind it.
fn split_lines(word: &str) -> Option<(&str, LineRange)> {
    let at = word.rfind(':').filter(|at| *at > 0)?;
    let (path, lines) = word.split_at(at);
    match LineRange::take(lines)? {
        (lines, "") => Some((path, lines)),
        _ => None,
    }
}

fn find_in_prose(prose: &str, found: &mut Vec<Mention>) {
    let mut before = None;
    let mut rest = prose;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '`' => code_span(rest),
            '@' if before.is_none_or(opens_a_phrase) => {
                let (mention, bytes) = Mention::take(&rest[1..]);
                found.extend(mention);
                1 + bytes
            }
            _ => c.len_utf8(),
        };
        before = rest[..taken].chars().next_back();
        rest = &rest[taken..];
    }
}

/// How many bytes the span of code has that a text begins with; if it is not closed in its paragraph,
/// its backticks.
fn code_span(text: &str) -> usize {
    let ticks = |text: &str| text.len() - text.trim_start_matches('`').len();
    let opening = ticks(text);
    let mut at = opening;
    while let Some(next) = text[at..].find('`') {
        if text[at..at + next].contains("\n\n") {
            break;
        }
        at += next;
        let closing = ticks(&text[at..]);
        at += closing;
        if closing == opening {
            return at;
        }
    }
    opening
}

fn opens_a_phrase(c: char) -> bool {
    c.is_whitespace() || "([{<\"'“‘«„（「『【《".contains(c)
}

fn ends_a_phrase(c: char) -> bool {
    ".,;:!?)]}>'\"”’»…。，、；：！？）」』】》".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_prompt_names_a_file() {
        for (text, expected) in [
            ("@a.rs", &["a.rs"][..]),
            (
                "see @a.rs, (@b.rs) and \"@c.rs\".",
                &["a.rs,", "b.rs)", "c.rs\"."],
            ),
            ("ada@example.com a@b", &[]),
            ("@ a, @\n@\t", &[]),
            ("line\n@dir/file\n", &["dir/file"]),
            ("@\"a b.txt\":3 and @\"open", &["a b.txt", "\"open"]),
            ("`@a` ``@b ` @c`` @d", &["d"]),
            ("`@a\n@b` @c", &["c"]),
            ("a ` @b\n\n@c `", &["b", "c"]),
            ("```\n@a\n```\n@b", &["b"]),
            ("~~~~sh\n@a\n~~~\n@b\n~~~~\n@c", &["c"]),
            ("1. x\n    ```\n    @a\n    ```\n@b", &["b"]),
            ("```\n@never closed", &[]),
            ("看 @文件.md。", &["文件.md。"]),
            ("@@a @a@b", &["@a", "a@b"]),
        ] {
            let found = Mention::all(text);
            let words: Vec<&str> = found.iter().map(|one| one.word.as_str()).collect();
            let expected: Vec<&str> = expected
                .iter()
                .copied()
                .filter(|word| *word != "\"open")
                .collect();
            assert_eq!(words, expected, "{text:?}");
        }
    }

    #[test]
    fn what_a_mention_may_mean() {
        let check = |text: &str, expected: &[&str]| {
            let mention = Mention::all(text).remove(0);
            let readings: Vec<String> = mention
                .readings()
                .iter()
                .map(|reading| match reading.lines {
                    Some(lines) => format!("{} {lines}", reading.path),
                    None => reading.path.to_owned(),
                })
                .collect();
            assert_eq!(readings, expected, "{text}");
        };
        check("@a", &["a"]);
        check("@a.).", &["a.).", "a.)", "a.", "a"]);
        check("@a:10", &["a:10", "a 10-10"]);
        check("@a:10-20.", &["a:10-20.", "a:10-20", "a 10-20"]);
        check("@a:20-10", &["a:20-10"]);
        check("@a:0", &["a:0"]);
        check("@a:99999999999", &["a:99999999999"]);
        check("@a:", &["a:", "a"]);
        check("@..", &[".."]);
        check("@...", &["..."]);
        check("@\"a b.\":2-3", &["a b. 2-3"]);
        check("@“", &["“"]);
        let many = format!("@a{}", "!".repeat(1_000));
        assert_eq!(
            Mention::all(&many)[0].readings().len(),
            2 + MAX_SIGNS - 1 + 1
        );
    }

    #[test]
    fn what_looks_like_a_path() {
        for (text, expected) in [
            ("@src/a", true),
            ("@a.rs", true),
            ("@a.rs:10-20,", true),
            ("@\"two words\"", true),
            ("@./x", true),
            ("@param", false),
            ("@dataclass.", false),
            ("@me@example.org", false),
            ("@app.route(\"/\")", false),
            ("@v1.2", false),
            ("@all:", false),
            ("@.hidden", false),
        ] {
            let mention = &Mention::all(text)[0];
            assert_eq!(mention.looks_like_a_path(), expected, "{text}");
        }
    }

    /// Neither many marks nor many backticks take more than a moment.
    #[test]
    fn a_hostile_prompt_is_read_in_one_pass() {
        for piece in [
            "`a` ", "@", "(@", "@\"", "(@\"", "`` ` ", "@a` ", "```\n", "\n\n`",
        ] {
            let text = piece.repeat(200_000 / piece.len());
            let _ = Mention::all(&text);
        }
        let uneven: Vec<String> = (1..600).map(|n| "`".repeat(n)).collect();
        assert!(Mention::all(&uneven.join(" ")).is_empty());
        assert!(Mention::all(&format!("@{}", "é".repeat(100_000))).is_empty());
    }
}
