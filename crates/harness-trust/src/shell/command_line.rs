//! What a command line is made of.

use std::path::{Path, PathBuf};

use brush_parser::{ParserOptions, SourceInfo, Token, TokenizerOptions};

use super::opaque::{Opaque, OpaqueKind};
use super::redirect::Redirect;
use super::scan::{Lexeme, Scan, scan};
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
    /// [`Wrapper`](OpaqueKind::Wrapper), a rule that denies looks for its pattern at each word.
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
/// it is not, the rest is what could be read beside it: enough to deny, never to allow.
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
        let scan = scan(line);
        let mut walk = Walk::new(place);
        match parsed(&scan) {
            Ok(Some(program)) => walk.program(&program),
            Ok(None) => {}
            Err(kind) => walk.opaque(kind, line),
        }
        let mut result = walk.end();
        for opaque in scan.opaque {
            if !result.opaque.iter().any(|it| it.kind == opaque.kind) {
                result.opaque.push(opaque);
            }
        }
        result
    }

    /// Whether all that it does is listed.
    pub fn is_transparent(&self) -> bool {
        self.opaque.is_empty()
    }
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
