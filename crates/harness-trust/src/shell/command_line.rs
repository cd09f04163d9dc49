//! What a command line is made of.

use std::path::{Path, PathBuf};

use brush_parser::{ParserOptions, SourceInfo, Token, TokenizerOptions};

use super::folder::Folders;
use super::inner::substitutions;
use super::opaque::{Opaque, OpaqueKind};
use super::redirect::Redirect;
use super::scan::{BYTES, Lexeme, Scan, scan};
use super::walk::Walk;
use super::word::Word;

/// Where a command line would run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The folder, absolute and real. Without it every relative path is opaque.
    pub folder: Option<&'a Path>,
    /// What `HOME` is for the command. Without it `~` is opaque.
    pub home: Option<&'a Path>,
}

/// A command with its words.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct SimpleCommand {
    /// The program and its arguments. Never empty.
    pub words: Vec<Word>,
    /// The folder that it runs in, absolute, links not followed. `None` where a `cd` before it makes
    /// that uncertain.
    pub folder: Option<PathBuf>,
    /// The folders that it may run in, the certain one among them. `None` where they are too many to look at.
    pub folders: Option<Vec<PathBuf>>,
    /// The commands that only run this one (`nohup`, `timeout 5`), outermost first, each with all of its
    /// words. A rule that denies sees them too.
    pub around: Vec<Vec<Word>>,
    /// Why its words do not say what it does, if they do not; the line is opaque then. Where it is a
    /// [`Wrapper`](OpaqueKind::Wrapper) or [`Exec`](OpaqueKind::Exec), a rule that denies looks for its pattern at each word.
    pub doubt: Option<OpaqueKind>,
}

impl SimpleCommand {
    /// The program as written, where it is literal text.
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::literal)
    }
}

/// A command line, read as `bash -c` would read it.
///
/// What is listed is certain to be all that the line does where [`opaque`](Self::opaque) is empty. Where
/// it is not, the rest is what could be read beside it and in it (`$(…)`, `bash -c '…'`, functions): enough to deny,
/// never to allow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandLine {
    /// Each command that it may run, in the order of the text.
    pub commands: Vec<SimpleCommand>,
    /// Each file that it opens by itself.
    pub redirects: Vec<Redirect>,
    /// What cannot be known about it.
    pub opaque: Vec<Opaque>,
}

impl CommandLine {
    /// Reads `line`. There is no error: what is not understood is opaque.
    ///
    /// The time is bounded, whatever `line` is: at most 16 KiB, 1,024 words and 12 openings (brackets, `if`
    /// and the like) are looked at; more than that is opaque as a whole.
    pub fn parse(line: &str, place: &Place<'_>) -> Self {
        read(
            line,
            &Folders::of(place.folder),
            place.home,
            &mut Left::new(),
        )
    }

    /// Adds what the literal text of something opaque in it would do.
    fn add_inner(&mut self, inner: Self) {
        for command in inner.commands {
            if !self.commands.contains(&command) {
                self.commands.push(command);
            }
        }
        for redirect in inner.redirects {
            if !self.redirects.contains(&redirect) {
                self.redirects.push(redirect);
            }
        }
    }

    /// Whether all that it does is listed.
    pub fn is_transparent(&self) -> bool {
        self.opaque.is_empty()
    }
}

/// How much code inside of code is still looked at.
struct Left {
    levels: usize,
    codes: usize,
    bytes: usize,
}

impl Left {
    fn new() -> Self {
        Self {
            levels: 6,
            codes: 128,
            bytes: 2 * BYTES,
        }
    }
}

fn read(line: &str, from: &Folders, home: Option<&Path>, left: &mut Left) -> CommandLine {
    let scan = scan(line);
    let mut walk = Walk::new(from, home);
    match parsed(&scan) {
        Ok(Some(program)) => walk.program(&program),
        Ok(None) => walk.guess(&scan.lexemes),
        Err(kind) => {
            walk.opaque(kind, line);
            walk.guess(&scan.lexemes);
        }
    }
    let (mut result, mut codes, folders) = walk.end();
    for opaque in scan.opaque {
        if !result.opaque.iter().any(|it| it.kind == opaque.kind) {
            result.opaque.push(opaque);
        }
    }
    if !result.opaque.is_empty() && line.len() <= BYTES {
        codes.extend(substitutions(line));
    }
    for code in codes {
        if left.levels == 0 || left.codes == 0 || left.bytes < code.len() {
            result.opaque.push(Opaque::new(OpaqueKind::TooDeep, &code));
            break;
        }
        left.levels -= 1;
        left.codes -= 1;
        left.bytes -= code.len();
        // It is opaque already.
        result.add_inner(read(&code, &folders, home, left));
        left.levels += 1;
    }
    result
}

/// The program that is in a text, for a walk that goes through it where it stands.
pub(super) fn program(text: &str) -> Option<brush_parser::ast::Program> {
    parsed(&scan(text)).ok().flatten()
}

/// The parser's reading, if it may read the line and the first reading agrees.
fn parsed(scan: &Scan) -> Result<Option<brush_parser::ast::Program>, OpaqueKind> {
    let Some(clean) = &scan.clean else {
        return Ok(None);
    };
    // As `bash -c` is by default: without extended globs.
    let options = ParserOptions {
        enable_extended_globbing: false,
        posix_mode: false,
        sh_mode: false,
        tilde_expansion: true,
    };
    let tokenizer: TokenizerOptions = options.tokenizer_options();
    let tokens = brush_parser::uncached_tokenize_str(clean, &tokenizer)
        .map_err(|_| OpaqueKind::NotUnderstood)?;
    if scan.is_plain && lexemes(&tokens) != scan.lexemes {
        return Err(OpaqueKind::NotUnderstood);
    }
    match brush_parser::parse_tokens(&tokens, &options, &SourceInfo::default()) {
        Ok(program) => Ok(Some(program)),
        Err(_) => Err(OpaqueKind::NotUnderstood),
    }
}

fn lexemes(tokens: &[Token]) -> Vec<Lexeme> {
    let mut lexemes = Vec::new();
    for token in tokens {
        match token {
            Token::Word(word, _) => lexemes.push(Lexeme::Word(word.clone())),
            Token::Operator(text, _) => match lexemes.last_mut() {
                Some(Lexeme::Operators(operators)) => operators.push_str(text),
                _ => lexemes.push(Lexeme::Operators(text.clone())),
            },
        }
    }
    lexemes
}
