//! Text that looks like source code, made fast: a store of lines, drawn from at random.

use crate::bench::seed::Seed;

/// Stands in a handful of files, and in more that no search should look into.
pub(crate) const RARE: &str = "quokka_threshold";
/// Stands nowhere.
pub(crate) const NOWHERE: &str = "wombat_threshold";
/// Is in most files, several times.
pub(crate) const FREQUENT: &str = r"fn [a-z]+_[a-z]+\(";

/// Enough lines that a file is unlike its neighbours.
const LINES: usize = 4096;

/// How many lines are drawn at a time, at most.
const MOST_AT_ONCE: usize = 40;

/// One line in so many begins a function.
const FUNCTIONS: usize = 60;

const WORDS: &[&str] = &[
    "account", "buffer", "channel", "cursor", "delta", "entry", "event", "field", "graph",
    "handle", "index", "journal", "kernel", "layer", "marker", "node", "offset", "packet", "query",
    "record", "session", "table", "token", "update", "value", "window",
];

/// Lines to draw from, each with its line end. They are drawn some at a time: one by one would take
/// longer than to write them.
#[derive(Debug)]
pub(crate) struct Text {
    all: String,
    /// Where each line begins, and where the last one ends.
    starts: Vec<usize>,
}

impl Text {
    pub(crate) fn new() -> Text {
        let mut seed = Seed::of(1);
        let mut all = String::new();
        let mut starts = vec![0];
        for number in 0..LINES {
            all.push_str(&line(number, &mut seed));
            starts.push(all.len());
        }
        Text { all, starts }
    }

    /// Some lines that follow each other.
    fn draw(&self, seed: &mut Seed) -> &str {
        let first = seed.below(LINES);
        let end = (first + 1 + seed.below(MOST_AT_ONCE)).min(LINES);
        &self.all[self.starts[first]..self.starts[end]]
    }

    /// Appends lines until `out` has `size` bytes, exactly: what cannot hold a line is blank.
    pub(crate) fn fill(&self, seed: &mut Seed, size: usize, out: &mut Vec<u8>) {
        while out.len() < size {
            let lines = self.draw(seed).as_bytes();
            let room = size - out.len();
            if lines.len() <= room {
                out.extend_from_slice(lines);
                continue;
            }
            let whole = lines[..room].iter().rposition(|byte| *byte == b'\n');
            out.extend_from_slice(&lines[..whole.map_or(0, |at| at + 1)]);
            if out.len() < size {
                out.resize(size - 1, b' ');
                out.push(b'\n');
            }
        }
    }

    /// As [`Text::fill`], all in one line.
    pub(crate) fn fill_line(&self, seed: &mut Seed, size: usize, out: &mut Vec<u8>) {
        self.fill(seed, size, out);
        let end = out.len() - 1;
        for byte in &mut out[..end] {
            if *byte == b'\n' {
                *byte = b';';
            }
        }
    }

    /// As [`Text::fill`], with `\r\n` at the ends of the lines; of the last one `\n` may be all that
    /// there is room for.
    pub(crate) fn fill_crlf(&self, seed: &mut Seed, size: usize, out: &mut Vec<u8>) {
        while out.len() < size {
            for line in self.draw(seed).lines() {
                let Some(room) = size.checked_sub(out.len() + 2) else {
                    break;
                };
                if line.len() > room {
                    out.resize(out.len() + room, b' ');
                } else {
                    out.extend_from_slice(line.as_bytes());
                }
                out.extend_from_slice(b"\r\n");
            }
            if out.len() + 1 == size {
                out.push(b'\n');
            }
        }
    }
}

fn line(number: usize, seed: &mut Seed) -> String {
    let indent = "    ".repeat(seed.below(4));
    let mut word = || *seed.one_of(WORDS);
    let (a, b, c, d) = (word(), word(), word(), word());
    if number.is_multiple_of(FUNCTIONS) {
        return format!("    pub fn {a}_{b}(&self, {c}: &{d}) -> Option<usize> {{\n");
    }
    match seed.below(10) {
        0 => "\n".to_owned(),
        1 => format!("{indent}}}\n"),
        2 => format!("{indent}// The {a} of a {b} is never older than its {c}.\n"),
        3 => format!("{indent}if {a}.{b}() > {c}.{d}_count {{\n"),
        4 => format!("{indent}return {a}.map(|{b}| {b}.{c} + {number});\n"),
        5 => format!("{indent}\"{a}\": \"{b} {c} → {d}\",\n"),
        _ => format!("{indent}let {a}_{b} = {c}.{d}({number}, &{b});\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::{NOWHERE, RARE, Text};
    use crate::bench::seed::Seed;

    fn filled(fill: impl Fn(&Text, &mut Seed, usize, &mut Vec<u8>), size: usize) -> String {
        let mut out = Vec::new();
        fill(&Text::new(), &mut Seed::of(5), size, &mut out);
        assert_eq!(out.len(), size);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_file_has_its_size_and_ends_its_lines() {
        let text = filled(Text::fill, 20_000);
        assert!(text.ends_with('\n') && text.lines().count() > 300);
        assert!(text.contains("    pub fn "));
        assert!(!text.contains(RARE) && !text.contains(NOWHERE));
        for size in [1, 2, 3, 40, 41] {
            assert!(filled(Text::fill, size).ends_with('\n'));
        }
    }

    #[test]
    fn other_line_ends() {
        let line = filled(Text::fill_line, 20_000);
        assert_eq!(line.lines().count(), 1);
        for size in [1, 2, 3, 20_000] {
            let crlf = filled(Text::fill_crlf, size);
            assert!(crlf.ends_with('\n'));
            let others = crlf.matches('\n').count() - crlf.matches("\r\n").count();
            assert!(others <= 1 && crlf.matches('\r').count() >= size / 1000);
        }
    }
}
