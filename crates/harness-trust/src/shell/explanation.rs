//! A command line for people.

use std::fmt;

use super::command_line::{CommandLine, SimpleCommand};
use super::invisible::visible;
use super::redirect::{Access, Target};
use super::word::Word;

impl fmt::Display for SimpleCommand {
    /// The words, each quoted where a shell would need it, with what cannot be seen escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = self.words.iter().map(Word::to_string).collect();
        f.write_str(&words.join(" "))
    }
}

impl fmt::Display for CommandLine {
    /// What it does, a line each: commands as they would be started, files that are opened, and, with a
    /// `?` before it, what is not known. Nothing in it is a control character or invisible; those of the
    /// command are written `\u{202e}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for command in &self.commands {
            match command.around.first() {
                Some(outer) => {
                    let words: Vec<_> = outer.iter().map(Word::to_string).collect();
                    lines.push(words.join(" "));
                }
                None => lines.push(command.to_string()),
            }
        }
        for redirect in &self.redirects {
            lines.push(match (&redirect.target, redirect.access) {
                (Target::Host(host), _) => format!("connects to {}", visible(host)),
                (Target::Path(path), Access::Read) => {
                    format!("< {}", visible(&path.to_string_lossy()))
                }
                (Target::Path(path), Access::Write) => {
                    format!("> {}", visible(&path.to_string_lossy()))
                }
            });
        }
        lines.extend(self.opaque.iter().map(|opaque| format!("? {opaque}")));
        f.write_str(&lines.join("\n"))
    }
}
