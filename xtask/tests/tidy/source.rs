//! A Rust source file, split into code, literals and comments. Not a parser: just enough of a lexer
//! that a rule about code is not misled by a string or a comment, and the other way round.

/// One source file. Its views have the length of the file: what is left out is blank, so positions
/// stay true.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The path as git shows it: relative to the root, with `/`.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
    code: String,
    comments: String,
    literals: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Source {
        let kinds = split(text.as_bytes());
        let view = |kind| blank(text, |at| kinds[at] != kind);
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            code: view(Kind::Code),
            comments: view(Kind::Comment),
            literals: view(Kind::Literal),
        }
    }

    /// The code, without comments and without what is between quotes.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// Comments and doc comments alone.
    pub(crate) fn comments(&self) -> &str {
        &self.comments
    }

    /// String and character literals alone, with their quotes.
    pub(crate) fn literals(&self) -> &str {
        &self.literals
    }

    /// The line, from 1, of a byte position.
    pub(crate) fn line(&self, at: usize) -> usize {
        1 + self.text[..at].matches('\n').count()
    }

    /// A problem found at a byte position, with its place.
    pub(crate) fn problem(&self, at: usize, what: &str) -> String {
        format!("{}:{}: {what}", self.path, self.line(at))
    }

    /// The file as a user of the crate compiles it: items under `#[cfg(test)]` are blank, and a
    /// file that is such a module (`tests.rs`, `*_tests.rs`, `tests/…`) is blank as a whole.
    pub(crate) fn outside_tests(&self) -> Source {
        let tests = if self.is_test_module() {
            std::iter::once(0..self.text.len()).collect()
        } else {
            test_items(&self.code)
        };
        let text = blank(&self.text, |at| {
            tests.iter().any(|range| range.contains(&at))
        });
        Source::new(&self.path, &text)
    }

    fn is_test_module(&self) -> bool {
        self.path.ends_with("/tests.rs")
            || self.path.ends_with("_tests.rs")
            || self.path.contains("/tests/")
    }
}

fn blank(text: &str, hidden: impl Fn(usize) -> bool) -> String {
    let bytes = text.bytes().enumerate().map(|(at, byte)| match byte {
        b'\n' => b'\n',
        _ if hidden(at) => b' ',
        _ => byte,
    });
    // What is hidden begins and ends at ASCII characters, so no character is cut.
    String::from_utf8(bytes.collect()).unwrap()
}

/// The kind of each byte.
fn split(text: &[u8]) -> Vec<Kind> {
    let mut kinds = vec![Kind::Code; text.len()];
    let mut at = 0;
    while at < text.len() {
        let (kind, end) = token(text, at);
        kinds[at..end].fill(kind);
        at = end;
    }
    kinds
}

/// The kind and the end of what begins at `at`. A name is one token, so that the `r` of `for"…"`
/// starts no raw string.
fn token(text: &[u8], at: usize) -> (Kind, usize) {
    let rest = &text[at..];
    if rest.starts_with(b"//") {
        let length = rest
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(rest.len());
        return (Kind::Comment, at + length);
    }
    if rest.starts_with(b"/*") {
        return (Kind::Comment, end_of_block_comment(text, at));
    }
    if let Some(end) = end_of_raw_string(text, at) {
        return (Kind::Literal, end);
    }
    match rest {
        [b'"', ..] => (Kind::Literal, end_of_quoted(text, at + 1, b'"')),
        [b'b' | b'c', b'"', ..] => (Kind::Literal, end_of_quoted(text, at + 2, b'"')),
        [b'b', b'\'', ..] => (Kind::Literal, end_of_quoted(text, at + 2, b'\'')),
        [b'\'', ..] if is_character(rest) => (Kind::Literal, end_of_quoted(text, at + 1, b'\'')),
        [byte, ..] if is_word(*byte) => {
            let length = rest
                .iter()
                .position(|&byte| !is_word(byte))
                .unwrap_or(rest.len());
            (Kind::Code, at + length)
        }
        _ => (Kind::Code, at + 1),
    }
}

/// Whether a `'` opens a character rather than a lifetime.
fn is_character(rest: &[u8]) -> bool {
    match rest {
        [_, b'\\', ..] => true,
        [_, first, b'\'', ..] => *first != b'\'',
        // A character of more than one byte; a lifetime is not followed by a quote that soon.
        [_, first, ..] if *first >= 0x80 => true,
        _ => false,
    }
}

fn end_of_quoted(text: &[u8], mut at: usize, quote: u8) -> usize {
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn end_of_block_comment(text: &[u8], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < text.len() {
        match &text[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

fn end_of_raw_string(text: &[u8], start: usize) -> Option<usize> {
    let rest = &text[start..];
    let prefix = match rest {
        [b'b' | b'c', b'r', ..] => 2,
        [b'r', ..] => 1,
        _ => return None,
    };
    let hashes = rest[prefix..]
        .iter()
        .take_while(|&&byte| byte == b'#')
        .count();
    let body = prefix + hashes + 1;
    if rest.get(body - 1) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let length = rest[body..]
        .windows(close.len())
        .position(|window| window == close);
    Some(length.map_or(text.len(), |length| start + body + length + close.len()))
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The ranges of the items under `#[cfg(test)]` (or `#[cfg(all(test, …))]`), attributes included.
fn test_items(code: &str) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    for (start, opening) in code
        .match_indices("#[cfg(")
        .chain(code.match_indices("#![cfg("))
    {
        let attribute_end = matching(code, start + opening.len() - 1) + 1;
        let condition: String = code[start + opening.len()..attribute_end]
            .split_whitespace()
            .collect();
        if !(condition.starts_with("test)") || condition.starts_with("all(test")) {
            continue;
        }
        let end = if opening.contains('!') {
            code.len()
        } else {
            end_of_item(code, attribute_end)
        };
        ranges.push(start..end);
    }
    ranges
}

/// The position after the bracket that closes the one at `open`.
pub(crate) fn matching(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

fn end_of_item(code: &str, mut at: usize) -> usize {
    let bytes = code.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b';' => return at + 1,
            b'{' => return matching(code, at),
            b'(' | b'[' => at = matching(code, at),
            // The end of what the item is in: it was a field or an arm.
            b')' | b']' | b'}' => return at,
            _ => at += 1,
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::Source;

    fn squeeze(view: &str) -> String {
        view.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(text: &str, code: &str, literals: &str, comments: &str) {
        let source = Source::new("x.rs", text);
        assert_eq!(squeeze(source.code()), code, "code of {text}");
        assert_eq!(squeeze(source.literals()), literals, "literals of {text}");
        assert_eq!(squeeze(source.comments()), comments, "comments of {text}");
    }

    #[test]
    fn splits_code_literals_and_comments() {
        check("a; // b \"c\"\nd", "a; d", "", "// b \"c\"");
        check("a /* b /* c */ d */ e", "a e", "", "/* b /* c */ d */");
        check(r#"f("a // \" b", c)"#, "f( , c)", r#""a // \" b""#, "");
        check(r##"r#"a " b"# c"##, "c", r##"r#"a " b"#"##, "");
        check(
            "br\"\\\" + b\"x\" + c\"y\"",
            "+ +",
            "br\"\\\" b\"x\" c\"y\"",
            "",
        );
        check(
            "fn f<'a>(x: &'a str) { '\"' }",
            "fn f<'a>(x: &'a str) { }",
            "'\"'",
            "",
        );
        check(
            "'\\'' + b'\\'' + 'é' + 'x'",
            "+ + +",
            "'\\'' b'\\'' 'é' 'x'",
            "",
        );
        check("r#type + bar\"x\"", "r#type + bar", "\"x\"", "");
        check("\"open", "", "\"open", "");
    }

    #[test]
    fn leaves_out_what_is_compiled_for_tests_only() {
        let check = |text: &str, expected: &str| {
            let source = Source::new("src/x.rs", text).outside_tests();
            assert_eq!(squeeze(source.code()), expected, "{text}");
        };
        check(
            "a(); #[cfg(test)] mod tests { fn f() { } } b();",
            "a(); b();",
        );
        check("#[cfg(test)]\n#[path = \"y.rs\"]\nmod tests; b();", "b();");
        check("#[cfg(test)] fn f(x: [u8; 2]) { g(); } b();", "b();");
        check("struct S { #[cfg(test)] x: u8 } b();", "struct S { } b();");
        check("#![cfg(test)] a();", "");
        check("#[cfg(all(test, unix))] fn f() {} b();", "b();");
        check("#[cfg(not(test))] fn f() {}", "#[cfg(not(test))] fn f() {}");
        check(
            "#[cfg(any(test, feature = \"t\"))] mod t;",
            "#[cfg(any(test, feature = ))] mod t;",
        );
    }

    #[test]
    fn a_test_module_in_its_own_file_is_left_out() {
        for path in [
            "crates/x/src/a/tests.rs",
            "crates/x/src/a_tests.rs",
            "crates/x/tests/it/b.rs",
        ] {
            assert_eq!(
                squeeze(Source::new(path, "f();").outside_tests().code()),
                "",
                "{path}"
            );
        }
    }

    #[test]
    fn tells_the_line() {
        assert_eq!(
            Source::new("x.rs", "é\n\nx").problem(4, "here"),
            "x.rs:3: here"
        );
    }
}
