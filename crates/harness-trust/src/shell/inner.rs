//! Code inside of words: what is substituted, and what a command of the words would run as a shell.

use super::opaque::OpaqueKind;
use super::word::Word;

/// What `$(…)` and backticks in `text` hold, those inside of others left out. In doubt too much is taken for code:
/// this is for rules that deny, and the line is opaque anyway.
pub(super) fn substitutions(text: &str) -> Vec<String> {
    let mut reader = Reader {
        text,
        at: 0,
        nested: 0,
        found: Vec::new(),
    };
    if text.contains(['$', '`']) {
        reader.code(false, false);
    }
    reader.found
}

/// A here-document whose body is still to come.
struct Body {
    delimiter: String,
    is_quoted: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// How many substitutions this is in.
    nested: usize,
    found: Vec<String>,
}

/// The most substitutions in each other that are looked through.
const NESTED: usize = 16;

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn from(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn found(&mut self, code: String) {
        if self.nested == 0 {
            self.found.push(code);
        }
    }

    /// Reads code to its end, or behind the `)` that closes it. Whether there was one.
    fn code(&mut self, is_inner: bool, has_cases: bool) -> bool {
        let (mut depth, mut cases) = (0_usize, 0_usize);
        let mut bodies: Vec<Body> = Vec::new();
        let mut word = self.at;
        while let Some(byte) = self.take() {
            let is_end = matches!(
                byte,
                b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
            );
            if is_end {
                match self.text.get(word..self.at - 1) {
                    Some("case") => cases += 1,
                    Some("esac") => cases = cases.saturating_sub(1),
                    _ => {}
                }
            }
            match byte {
                b'\\' => self.at += 1,
                b'\'' => self.until(b'\'', false),
                b'"' => self.double_quotes(),
                b'$' | b'`' => self.expansion(byte, false),
                b'#' if word + 1 == self.at => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                b'<' if self.rest().starts_with("<<") => self.at += 2,
                b'<' if self.peek() == Some(b'<') => bodies.extend(self.delimiter()),
                b'(' => depth += 1,
                // In a `case`, it stands behind a pattern.
                b')' if is_inner && depth == 0 && !(has_cases && cases > 0) => return true,
                b')' => depth = depth.saturating_sub(1),
                b'\n' => bodies.drain(..).for_each(|body| self.body(&body)),
                _ => {}
            }
            if is_end {
                word = self.at;
            }
        }
        false
    }

    /// Behind the next `end`.
    fn until(&mut self, end: u8, has_escapes: bool) {
        while let Some(byte) = self.take() {
            if byte == b'\\' && has_escapes {
                self.at += 1;
            } else if byte == end {
                break;
            }
        }
    }

    fn double_quotes(&mut self) {
        while let Some(byte) = self.take() {
            match byte {
                b'\\' => self.at += 1,
                b'"' => break,
                b'$' | b'`' => self.expansion(byte, true),
                _ => {}
            }
        }
    }

    /// Behind `${`.
    fn braces(&mut self, in_quotes: bool) {
        while let Some(byte) = self.take() {
            match byte {
                b'\\' => self.at += 1,
                b'}' => break,
                b'"' => self.double_quotes(),
                b'\'' if !in_quotes => self.until(b'\'', false),
                b'$' | b'`' => self.expansion(byte, in_quotes),
                _ => {}
            }
        }
    }

    /// Behind a `$` or a backtick.
    fn expansion(&mut self, byte: u8, in_quotes: bool) {
        let start = self.at + 1;
        match (byte, self.peek()) {
            (b'`', _) => {
                let start = self.at;
                self.until(b'`', true);
                let raw = self.from(start);
                let raw = raw.strip_suffix('`').unwrap_or(raw);
                self.found(without_escapes(raw, in_quotes));
            }
            (_, Some(b'(')) if self.nested < NESTED => {
                self.at = start;
                self.nested += 1;
                let mut is_closed = self.code(true, true);
                if !is_closed {
                    self.at = start;
                    is_closed = self.code(true, false);
                }
                self.nested -= 1;
                let code = self.from(start);
                let code = code.strip_suffix(')').filter(|_| is_closed).unwrap_or(code);
                if is_arithmetic(code) {
                    for code in substitutions(code) {
                        self.found(code);
                    }
                } else {
                    self.found(code.to_owned());
                }
            }
            (_, Some(b'{')) => {
                self.at = start;
                self.braces(in_quotes);
            }
            (_, Some(b'\'')) if !in_quotes => {
                self.at = start;
                self.until(b'\'', true);
            }
            _ => {}
        }
    }

    /// Behind the first `<` of a here-document.
    fn delimiter(&mut self) -> Option<Body> {
        self.at += 1;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let rest = self.rest();
        let raw = rest.trim_start_matches([' ', '\t']);
        self.at += rest.len() - raw.len();
        let is_end = |c: char| " \t\n;&|()<>$`".contains(c);
        let raw = raw.get(..raw.find(is_end).unwrap_or(raw.len()))?;
        self.at += raw.len();
        let delimiter = raw.replace(['\'', '"', '\\'], "");
        (!delimiter.is_empty()).then(|| Body {
            is_quoted: delimiter != raw,
            delimiter,
        })
    }

    /// The body of a here-document. One without an end is read on as code.
    fn body(&mut self, body: &Body) {
        let mut end = self.at;
        for line in self.rest().split_inclusive('\n') {
            let text = line.strip_suffix('\n').unwrap_or(line);
            if text == body.delimiter || text.trim_start_matches('\t') == body.delimiter {
                if !body.is_quoted {
                    self.text_until(end);
                }
                self.at = end + line.len();
                return;
            }
            end += line.len();
        }
    }

    /// Text in which quotes mean nothing.
    fn text_until(&mut self, end: usize) {
        while self.at < end {
            match self.take() {
                Some(b'\\') => self.at += 1,
                Some(byte @ (b'$' | b'`')) => self.expansion(byte, true),
                Some(_) => {}
                None => break,
            }
        }
    }
}

/// What stands between backticks, as the shell reads it.
fn without_escapes(raw: &str, in_quotes: bool) -> String {
    let mut code = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        let is_escape = |next: &char| matches!(next, '`' | '\\' | '$') || in_quotes && *next == '"';
        match c {
            '\\' => code.push(chars.next_if(is_escape).unwrap_or('\\')),
            c => code.push(c),
        }
    }
    code
}

/// Whether `code`, what stands in `$(…)`, is all in one more pair of brackets.
fn is_arithmetic(code: &str) -> bool {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at > 0 && at + 1 == code.len();
        }
    }
    false
}

/// What a command of these words would run as a shell, where that is literal: in this one, and in another one.
#[derive(Default)]
pub(super) struct Code {
    pub(super) here: Vec<String>,
    pub(super) later: Vec<String>,
}

/// Shells whose `-c` runs what a shell like bash would.
const SHELLS: &[&str] = &["bash", "sh", "dash", "zsh", "ksh", "mksh", "rbash", "ash"];

/// The most words at which a command may begin that is run by another one.
const BEGINS: usize = 64;

pub(super) fn code(words: &[Word], doubt: OpaqueKind) -> Code {
    let mut code = Code::default();
    let begins = match doubt {
        OpaqueKind::Wrapper | OpaqueKind::Exec => words.len().min(BEGINS),
        _ => 1,
    };
    for at in 0..begins {
        let Some((Word::Literal(program), arguments)) =
            words.get(at..).and_then(<[Word]>::split_first)
        else {
            continue;
        };
        let mut literals = arguments.iter().map(Word::literal);
        match program.rsplit('/').next().unwrap_or(program) {
            "eval" => {
                let parts: Vec<&str> = literals.flatten().filter(|it| *it != "--").collect();
                let text = parts.join(" ");
                if at == 0 {
                    code.here.push(text);
                } else if code.later.len() < BEGINS {
                    code.later.push(text);
                }
            }
            "trap" => code.later.extend(
                literals
                    .find(|it| !it.is_some_and(|it| it == "--"))
                    .flatten()
                    .filter(|it| !it.starts_with('-'))
                    .map(str::to_owned),
            ),
            "alias" => {
                let values = literals.flatten().filter_map(|it| it.split_once('='));
                code.later.extend(values.map(|(_, value)| value.to_owned()));
            }
            name if SHELLS.contains(&name) => code.later.extend(of_shell(arguments)),
            _ => {}
        }
    }
    code
}

/// The operand behind `-c`, which can stand in a group of options, and options behind it.
fn of_shell(arguments: &[Word]) -> Option<String> {
    let mut has_code = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.literal()?;
        let is_short = text.len() > 1 && text.starts_with(['-', '+']) && !text.starts_with("--");
        if is_short {
            has_code |= text.contains('c');
            if text.ends_with(['o', 'O']) {
                words.next();
            }
        } else if text == "--rcfile" || text == "--init-file" {
            words.next();
        } else if !text.starts_with("--") {
            return has_code.then(|| text.to_owned());
        }
    }
    None
}
