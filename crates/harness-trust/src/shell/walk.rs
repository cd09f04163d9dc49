//! From the tree of the parser to what a line does.
//!
//! No match here has a wildcard over the tree: a construct that a newer parser knows does not compile
//! until somebody has said what it does.

use std::path::{Path, PathBuf};

use brush_parser::ast;

use super::command_line::{CommandLine, SimpleCommand, program};
use super::folder::{After, Folders, change};
use super::inner::{code, substitutions};
use super::opaque::{Opaque, OpaqueKind};
use super::program::{Judgement, judge};
use super::redirect::{Access, Leads, Redirect, Target, leads};
use super::scan::Lexeme;
use super::word::{Word, unquote};

pub(super) struct Walk<'a> {
    line: CommandLine,
    folder: Folders,
    /// Each folder that was possible.
    seen: Folders,
    /// Code inside of words that is run in a shell, this one or another.
    codes: Vec<String>,
    /// The bodies of functions, which run wherever the shell is by then, each with its text.
    functions: Vec<(String, ast::CompoundCommand)>,
    /// How many texts of `eval` this is in.
    evals: usize,
    /// How many loops that change the folder are around.
    loops: usize,
    home: Option<&'a Path>,
}

/// The most loops in each other, of those that change the folder, that are gone through twice.
const LOOPS: usize = 3;

impl<'a> Walk<'a> {
    pub(super) fn new(from: &Folders, home: Option<&'a Path>) -> Self {
        Self {
            line: CommandLine::default(),
            folder: from.clone(),
            seen: from.clone(),
            codes: Vec::new(),
            functions: Vec::new(),
            evals: 0,
            loops: 0,
            home,
        }
    }

    /// What the line does, the code in its words, and the folders that this may run in.
    pub(super) fn end(mut self) -> (CommandLine, Vec<String>, Folders) {
        let mut done = 0;
        while let Some((_, body)) = self.functions.get(done).cloned() {
            done += 1;
            self.folder = self.seen.clone();
            self.rounds(&|walk| walk.compound(&body));
        }
        (self.line, self.codes, self.seen)
    }

    /// What a line seems to do of which no sentence can be made: enough to deny.
    pub(super) fn guess(&mut self, lexemes: &[Lexeme]) {
        let opaque = self.line.opaque.len();
        let mut commands: Vec<Vec<&str>> = vec![Vec::new()];
        let mut is_target = false;
        for lexeme in lexemes {
            match (lexeme, commands.last_mut()) {
                (Lexeme::Word(_), _) if is_target => is_target = false,
                (Lexeme::Word(word), Some(words)) => words.push(word),
                (Lexeme::Word(word), None) => commands.push(vec![word]),
                (Lexeme::Operators(operators), _) => {
                    is_target = operators.ends_with(['<', '>']);
                    if operators.contains(|c| c != '<' && c != '>') {
                        commands.push(Vec::new());
                    }
                }
            }
        }
        for words in commands {
            let mut words = words.as_slice();
            while let [first, rest @ ..] = words {
                let is_assignment = first.split_once('=').is_some_and(|(name, _)| is_name(name));
                match *first {
                    _ if is_assignment => words = rest,
                    "if" | "then" | "elif" | "else" | "while" | "until" | "do" | "{" | "!"
                    | "time" => words = rest,
                    "for" | "select" | "case" | "[[" | "}" | "fi" | "done" | "esac" | "in" => {
                        words = &[];
                    }
                    _ => break,
                }
            }
            let read = |raw: &&str| {
                let unknown = |_| Word::Unknown((*raw).to_owned());
                unquote(raw, self.home).unwrap_or_else(unknown)
            };
            let words: Vec<Word> = words.iter().map(read).collect();
            if !words.is_empty() {
                self.folder = self.run(words).either();
            }
        }
        self.line.opaque.truncate(opaque);
    }

    pub(super) fn opaque(&mut self, kind: OpaqueKind, text: &str) {
        let opaque = Opaque::new(kind, text);
        if !self.line.opaque.contains(&opaque) {
            self.line.opaque.push(opaque);
        }
    }

    pub(super) fn program(&mut self, program: &ast::Program) {
        for list in &program.complete_commands {
            self.list(list);
        }
    }

    /// Goes through `list` in this shell.
    fn list(&mut self, ast::CompoundList(items): &ast::CompoundList) {
        for ast::CompoundListItem(chain, separator) in items {
            let before = self.folder.clone();
            self.chain(chain);
            match separator {
                ast::SeparatorOperator::Sequence => {}
                ast::SeparatorOperator::Async => self.folder = before,
            }
        }
    }

    /// Goes through `list` in a shell of its own.
    fn apart(&mut self, list: &ast::CompoundList) {
        let before = self.folder.clone();
        self.list(list);
        self.folder = before;
    }

    fn chain(&mut self, chain: &ast::AndOrList) {
        let mut after = self.pipeline(&chain.first);
        for link in &chain.additional {
            match link {
                ast::AndOr::And(pipeline) => {
                    self.folder = after.success;
                    let next = self.pipeline(pipeline);
                    after.success = next.success;
                    after.failure = after.failure.or(&next.failure);
                }
                ast::AndOr::Or(pipeline) => {
                    self.folder = after.failure;
                    let next = self.pipeline(pipeline);
                    after.failure = next.failure;
                    after.success = after.success.or(&next.success);
                }
            }
        }
        self.folder = after.either();
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> After {
        if let [command] = pipeline.seq.as_slice() {
            let after = self.command(command);
            return if pipeline.bang {
                After {
                    success: after.failure,
                    failure: after.success,
                }
            } else {
                after
            };
        }
        // Each part of a pipe is in a shell of its own.
        let before = self.folder.clone();
        for command in &pipeline.seq {
            self.folder.clone_from(&before);
            self.command(command);
        }
        After::same(before)
    }

    fn command(&mut self, command: &ast::Command) -> After {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => {
                let before = self.folder.clone();
                for redirect in redirects.iter().flat_map(|list| &list.0) {
                    self.redirect(redirect);
                }
                self.folder = before;
                self.compound(compound);
                After::same(self.folder.clone())
            }
            ast::Command::Function(function) => {
                self.opaque(OpaqueKind::Function, &function.fname.value);
                let ast::FunctionBody(body, redirects) = &function.body;
                for redirect in redirects.iter().flat_map(|list| &list.0) {
                    self.redirect(redirect);
                }
                // It may be called from here on.
                let before = self.folder.clone();
                self.rounds(&|walk| walk.compound(body));
                if !self
                    .functions
                    .iter()
                    .any(|(source, _)| *source == function.source)
                {
                    self.functions.push((function.source.clone(), body.clone()));
                }
                After::same(std::mem::take(&mut self.folder).or(&before).uncertain())
            }
            ast::Command::ExtendedTest(_) => {
                self.opaque(OpaqueKind::Conditional, "[[ … ]]");
                After::same(self.folder.clone())
            }
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::Arithmetic(it) => {
                self.opaque(OpaqueKind::Arithmetic, &it.expr.value);
            }
            ast::CompoundCommand::ArithmeticForClause(it) => {
                self.opaque(OpaqueKind::Arithmetic, "for ((");
                self.body(&it.body);
            }
            ast::CompoundCommand::BraceGroup(it) => self.list(&it.list),
            ast::CompoundCommand::Subshell(it) => self.apart(&it.list),
            ast::CompoundCommand::ForClause(it) => {
                for value in it.values.iter().flatten() {
                    self.word(value);
                }
                if it.values.is_none() {
                    self.opaque(OpaqueKind::Expansion, "for without words");
                }
                // The variable stays: for what follows it is an assignment like any other.
                if !is_inert(&it.variable_name) {
                    self.opaque(OpaqueKind::Assignment, &it.variable_name);
                }
                self.body(&it.body);
            }
            ast::CompoundCommand::CaseClause(it) => {
                self.opaque(OpaqueKind::Conditional, "case");
                for list in it.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.branch(list);
                }
            }
            ast::CompoundCommand::IfClause(it) => {
                self.branch(&it.condition);
                self.branch(&it.then);
                for part in it.elses.iter().flatten() {
                    if let Some(condition) = &part.condition {
                        self.branch(condition);
                    }
                    self.branch(&part.body);
                }
            }
            ast::CompoundCommand::WhileClause(ast::WhileOrUntilClauseCommand(
                condition,
                body,
                _,
            ))
            | ast::CompoundCommand::UntilClause(ast::WhileOrUntilClauseCommand(
                condition,
                body,
                _,
            )) => {
                self.repeated(&[condition, &body.list]);
            }
        }
    }

    fn body(&mut self, body: &ast::DoGroupCommand) {
        self.repeated(&[&body.list]);
    }

    /// A part that may run or not.
    fn branch(&mut self, list: &ast::CompoundList) {
        let before = self.folder.clone();
        self.list(list);
        self.folder = std::mem::take(&mut self.folder).or(&before);
    }

    /// Parts that may run any number of times: if one changes the folder, it is certain in none of them, and where
    /// one round ends the next one begins.
    fn repeated(&mut self, lists: &[&ast::CompoundList]) {
        self.rounds(&|walk| {
            for list in lists {
                walk.branch(list);
            }
        });
    }

    /// What may run any number of times.
    fn rounds(&mut self, round: &dyn Fn(&mut Self)) {
        let before = self.folder.clone();
        let commands = self.line.commands.len();
        let redirects = self.line.redirects.len();
        let opaque = self.line.opaque.len();
        // Where it can be anywhere, it can be there in each round.
        let is_anywhere = self.folder.possible().is_none();
        self.loops += 1;
        round(self);
        if is_anywhere {
            self.folder = std::mem::take(&mut self.folder).or(&before);
        } else if self.folder != before {
            self.line.commands.truncate(commands);
            self.line.redirects.truncate(redirects);
            self.line.opaque.truncate(opaque);
            let after = std::mem::take(&mut self.folder).or(&before).uncertain();
            self.folder = if self.loops > LOOPS {
                after.anywhere()
            } else {
                after
            };
            round(self);
        }
        self.loops -= 1;
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) -> After {
        let mut words = Vec::new();
        let prefix = simple.prefix.iter().flat_map(|it| &it.0);
        for item in prefix {
            self.item(item, true, &mut words);
        }
        if let Some(name) = &simple.word_or_name {
            words.push(self.word(name));
        }
        for item in simple.suffix.iter().flat_map(|it| &it.0) {
            self.item(item, false, &mut words);
        }
        if words.is_empty() {
            return After::same(self.folder.clone());
        }
        self.run(words)
    }

    fn item(
        &mut self,
        item: &ast::CommandPrefixOrSuffixItem,
        is_prefix: bool,
        words: &mut Vec<Word>,
    ) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
            ast::CommandPrefixOrSuffixItem::Word(word) => words.push(self.word(word)),
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                let is_array = match assignment.value {
                    ast::AssignmentValue::Scalar(_) => false,
                    ast::AssignmentValue::Array(_) => true,
                };
                if is_prefix || is_array {
                    self.opaque(OpaqueKind::Assignment, &word.value);
                } else {
                    words.push(self.word(word));
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, inner) => {
                self.opaque(OpaqueKind::ProcessSubstitution, "");
                self.apart(&inner.list);
                words.push(Word::Unknown(String::new()));
            }
        }
    }

    fn word(&mut self, word: &ast::Word) -> Word {
        match unquote(&word.value, self.home) {
            Ok(word) => word,
            Err(kind) => {
                self.opaque(kind, &word.value);
                Word::Unknown(word.value.clone())
            }
        }
    }

    fn run(&mut self, words: Vec<Word>) -> After {
        if words.first().and_then(Word::literal) == Some("cd") {
            let success = change(&words, &self.folder, self.home, &self.seen);
            self.seen = std::mem::take(&mut self.seen).or(&success);
            return After {
                success,
                failure: self.folder.clone(),
            };
        }
        let mut command = SimpleCommand {
            words,
            folder: self.folder.certain().map(Path::to_owned),
            folders: self.folder.possible().map(<[PathBuf]>::to_vec),
            around: Vec::new(),
            doubt: None,
        };
        loop {
            match judge(&command.words) {
                Judgement::Plain => break,
                Judgement::RunsAt(at) => {
                    let inner = command.words.split_off(at);
                    let mut outer = std::mem::replace(&mut command.words, inner);
                    outer.extend_from_slice(&command.words);
                    command.around.push(outer);
                }
                Judgement::Opaque(kind) => {
                    command.doubt = Some(kind);
                    let shown: Vec<_> = command.words.iter().map(Word::to_string).collect();
                    self.opaque(kind, &shown.join(" "));
                    break;
                }
            }
        }
        // It may have changed the folder, or made `cd` something else.
        if let Some(doubt) = command.doubt {
            self.inner(&command.words, doubt);
        }
        let folder = self.folder.clone();
        let folder = match command.program() {
            Some("cd" | "pushd") => self.led(&command.words),
            Some("builtin") => self.led(command.words.get(1..).unwrap_or_default()),
            Some("popd") => folder.or(&self.seen).uncertain(),
            Some("eval") | None => folder.uncertain(),
            Some(_) => folder,
        };
        self.line.commands.push(command);
        After::same(folder)
    }

    /// What the words of a command hold that is run in a shell.
    fn inner(&mut self, words: &[Word], doubt: OpaqueKind) {
        let code = code(words, doubt);
        for text in &code.here {
            let Some(program) = program(text).filter(|_| self.evals < EVALS) else {
                self.codes.push(text.clone());
                continue;
            };
            self.codes.extend(substitutions(text));
            let before = self.folder.clone();
            let opaque = self.line.opaque.len();
            self.evals += 1;
            self.program(&program);
            self.evals -= 1;
            self.line.opaque.truncate(opaque);
            self.folder = std::mem::take(&mut self.folder).or(&before).uncertain();
        }
        for text in code.later {
            if !self.codes.contains(&text) {
                self.codes.push(text);
            }
        }
    }

    /// Where these words of something like `cd` may lead.
    fn led(&mut self, words: &[Word]) -> Folders {
        let to = change(words, &self.folder, self.home, &self.seen);
        // `pushd` by itself, or with a number, goes to one where it was.
        let led = self.folder.clone().or(&to).or(&self.seen).uncertain();
        self.seen = led.clone();
        led
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect) {
        match redirect {
            ast::IoRedirect::File(_, kind, target) => self.file(kind, target),
            ast::IoRedirect::OutputAndError(word, _) => self.open(word, Access::Write),
            ast::IoRedirect::HereString(_, word) => {
                self.word(word);
            }
            // The first reading takes them out.
            ast::IoRedirect::HereDocument(_, document) => {
                self.opaque(OpaqueKind::NotUnderstood, &document.here_end.value);
            }
        }
    }

    fn file(&mut self, kind: &ast::IoFileRedirectKind, target: &ast::IoFileRedirectTarget) {
        let (access, is_duplicate) = match kind {
            ast::IoFileRedirectKind::Read => (Access::Read, false),
            ast::IoFileRedirectKind::DuplicateInput => (Access::Read, true),
            ast::IoFileRedirectKind::Write
            | ast::IoFileRedirectKind::Append
            | ast::IoFileRedirectKind::ReadAndWrite
            | ast::IoFileRedirectKind::Clobber => (Access::Write, false),
            ast::IoFileRedirectKind::DuplicateOutput => (Access::Write, true),
        };
        match target {
            ast::IoFileRedirectTarget::Fd(_) => {}
            ast::IoFileRedirectTarget::Duplicate(word)
                if is_duplicate && is_descriptor(&word.value) => {}
            ast::IoFileRedirectTarget::Duplicate(word) if !is_plain_name(&word.value) => {
                self.opaque(OpaqueKind::Redirect, &word.value);
            }
            ast::IoFileRedirectTarget::Filename(word)
            | ast::IoFileRedirectTarget::Duplicate(word) => {
                self.open(word, access);
            }
            ast::IoFileRedirectTarget::ProcessSubstitution(_, inner) => {
                self.opaque(OpaqueKind::ProcessSubstitution, "");
                self.apart(&inner.list);
            }
        }
    }

    fn open(&mut self, word: &ast::Word, access: Access) {
        let read = self.word(word);
        match leads(&read, self.folder.certain()) {
            Leads::Nowhere => {}
            Leads::To(target @ Target::Host(_)) => self.line.redirects.push(Redirect {
                target,
                access: Access::Write,
            }),
            Leads::To(target) => self.line.redirects.push(Redirect { target, access }),
            Leads::Unknown => self.opaque(OpaqueKind::Redirect, &word.value),
            Leads::Lost => {
                self.opaque(OpaqueKind::Folder, &word.value);
                // One of these.
                let possible = self.folder.possible().unwrap_or_default().to_vec();
                for folder in possible {
                    if let Leads::To(target) = leads(&read, Some(&folder)) {
                        self.line.redirects.push(Redirect { target, access });
                    }
                }
            }
        }
    }
}

/// The most texts of `eval` in each other that are gone through where they stand.
const EVALS: usize = 3;

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(is_part)
}

/// Whether `>&word` names an open file: `1`, `1-`, `-`.
fn is_descriptor(word: &str) -> bool {
    let digits = word.strip_suffix('-').unwrap_or(word);
    digits.bytes().all(|b| b.is_ascii_digit()) && !word.is_empty()
}

/// Whether `>&word` is certain to open the file `word`. Bash takes quotes off this word twice, and one that
/// begins with a digit or `-` is two words for it.
fn is_plain_name(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_ascii_digit() || c == '-') && !word.contains(['\'', '"', '\\'])
}

/// Whether a variable of this name changes nothing about how commands run: `i` and `file` do not, `PATH`,
/// `IFS` and `http_proxy` do.
fn is_inert(name: &str) -> bool {
    (1..=4).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase())
}
