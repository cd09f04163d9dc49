//! Programs of `awk` of which is certain that they only print.

use super::word::Word;

/// The place and the text of the program among the words of `awk`, if it is a simple one.
pub(crate) fn awk_program(arguments: &[Word]) -> Option<(usize, &str)> {
    let mut at = 0;
    loop {
        let text = arguments.get(at)?.literal()?;
        match text {
            "-F" | "-v" => {
                arguments.get(at + 1)?.literal()?;
                at += 2;
            }
            _ if text.starts_with("-F") => at += 1,
            _ if text.starts_with('-') => return None,
            program => return is_simple(program).then_some((at, program)),
        }
    }
}

/// Whether a program neither runs, writes nor reads anything but its operands.
///
/// Only `print` and `printf` write elsewhere, by `>`; without them it compares. The rest is in words that stand
/// nowhere in it: functions that run or read, the variables that name the operands, the environment, tables of all variables and
/// functions, and what loads more code.
fn is_simple(program: &str) -> bool {
    const WORDS: [&str; 8] = [
        "system", "getline", "ARG", "ENVIRON", "SYMTAB", "FUNCTAB", "close", "fflush",
    ];
    let has_pipe = program.replace("||", "").contains('|');
    let may_write = program.contains('>') && program.contains("print");
    !has_pipe
        && !may_write
        && !program.contains(['<', '@', '`'])
        && !program.contains("\\\n")
        && !WORDS.iter().any(|word| program.contains(word))
}
