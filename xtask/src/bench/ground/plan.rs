//! What files the tree has, as data: 199 packages alike, and what a repository has beside them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::bench::ground::text::{RARE, Text};
use crate::bench::seed::Seed;

/// How many files there are, ignored ones and those of `.git` included.
pub(crate) const FILES: usize = 50_000;
/// How large they are together.
pub(crate) const BYTES: usize = 1_000_000_000;

/// How many end in `.rs`; none of them is ignored. `find` can show as many.
pub(crate) const RUST_FILES: usize = 8_159;

const PACKAGES: usize = 199;
const FILES_A_PACKAGE: usize = 250;

/// Packages with the rare literal in a file that is to be searched.
const RARE_PACKAGES: &[usize] = &[3, 58, 59, 117, 198];

/// Lines with the rare literal that a search must find: two files a package, two lines a file.
pub(crate) const RARE_LINES: usize = RARE_PACKAGES.len() * 4;

const AREAS: &[&str] = &["apps", "libs", "services", "tools"];
/// The folders of a package's sources: about a dozen files lie in each, as in large repositories.
const FOLDERS: &[&str] = &[
    "src",
    "src/api",
    "src/api/v1",
    "src/api/v2",
    "src/core",
    "src/core/io",
    "src/core/io/unix",
    "src/core/io/unix/poll",
    "src/model",
    "src/store",
    "src/store/disk",
    "src/view",
    "tests",
    "tests/cases",
];
const ENDINGS: &[&str] = &["rs", "ts", "py", "rs", "md", "json", "c", "go", "toml"];

const RULES: &str =
    "# made by the build\nnode_modules/\n/target\n*.log\n!keep.log\nbuild-[0-9]*/\n";

/// What stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Text,
    Crlf,
    /// Text all in one line.
    Line,
    /// A NUL among the first bytes.
    Binary,
    /// Text, and a NUL beyond what a search reads first.
    LateBinary,
    /// A `.gitignore`.
    Rules,
}

/// One file to be made.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// Below the tree.
    pub(crate) path: OsString,
    pub(crate) content: Content,
    pub(crate) size: usize,
    /// Whether the rare literal stands in it.
    pub(crate) rare: bool,
}

/// All files, in the order in which they are made. Their sizes add up to [`BYTES`].
pub(crate) fn plan() -> Vec<Planned> {
    let mut files = Vec::with_capacity(FILES);
    for package in 0..PACKAGES {
        let area = AREAS[package % AREAS.len()];
        for file in 0..FILES_A_PACKAGE {
            let (below, content, rare) = in_package(package, file);
            let mut path = OsString::from(format!("{area}/package-{package:03}/"));
            path.push(below);
            files.push(planned(path, content, rare));
        }
    }
    files.push(planned(".gitignore", Content::Rules, false));
    for number in 0.. {
        if files.len() == FILES {
            break;
        }
        files.push(if number % 5 < 3 {
            let path = format!(".git/objects/{:02x}/{number:038x}", number % 40);
            planned(path, Content::Text, number == 0)
        } else {
            planned(format!("docs/chapter-{number:03}.md"), Content::Text, false)
        });
    }
    scale(&mut files);
    files
}

fn planned(path: impl Into<OsString>, content: Content, rare: bool) -> Planned {
    Planned {
        path: path.into(),
        content,
        size: 0,
        rare,
    }
}

/// The path below the package, what stands in it, and whether the rare literal does.
fn in_package(package: usize, file: usize) -> (OsString, Content, bool) {
    let is_rare_package = RARE_PACKAGES.contains(&package);
    let mut seed = Seed::of(package * 1000 + file);
    let (path, content, rare) = match file {
        0 => (".gitignore".to_owned(), Content::Rules, false),
        1..=25 => {
            let path = format!("node_modules/lib-{}/dist/part-{file}.js", file % 6);
            (path, Content::Text, file == 7)
        }
        26..=40 => {
            let path = format!("target/debug/deps/{:012x}.d", seed.number() >> 16);
            (path, Content::Text, file == 30)
        }
        41..=46 => (
            format!("assets/icon-{file}.png"),
            Content::Binary,
            file == 41,
        ),
        47..=48 => (
            format!("assets/dump-{file}.dat"),
            Content::LateBinary,
            false,
        ),
        49..=53 => (format!("windows/script-{file}.bat"), Content::Crlf, false),
        54..=55 => (format!("dist/bundle-{file}.min.js"), Content::Line, false),
        56 => (
            "odd/a name with blanks.txt".to_owned(),
            Content::Text,
            false,
        ),
        57 => ("odd/a line\nbreak.txt".to_owned(), Content::Text, false),
        58 => return (not_unicode(), Content::Text, false),
        59 => ("odd/-rf".to_owned(), Content::Text, false),
        60 => (".env.sample".to_owned(), Content::Text, is_rare_package),
        61..=62 => (format!(".config/tool-{file}.toml"), Content::Text, false),
        63 => ("run.log".to_owned(), Content::Text, true),
        64 => ("keep.log".to_owned(), Content::Text, false),
        _ => {
            let folder = FOLDERS[seed.below(FOLDERS.len())];
            let ending = ENDINGS[file % ENDINGS.len()];
            let path = format!("{folder}/part_{file}.{ending}");
            (path, Content::Text, is_rare_package && file == 100)
        }
    };
    (path.into(), content, rare)
}

/// A name in Latin-1, where the file system takes such.
fn not_unicode() -> OsString {
    let name = b"odd/caf\xe9.txt".to_vec();
    if cfg!(target_vendor = "apple") {
        String::from_utf8_lossy(&name).into_owned().into()
    } else {
        OsString::from_vec(name)
    }
}

/// Gives each file a size, most of them small, a few large; then stretches all to the whole.
fn scale(files: &mut [Planned]) {
    let mut total = 0;
    for (number, file) in files.iter_mut().enumerate() {
        let mut seed = Seed::of(number);
        file.size = match (file.content, seed.below(100)) {
            (Content::Rules, _) => RULES.len(),
            (Content::LateBinary, _) => 150_000 + seed.below(150_000),
            (Content::Line, _) => 50_000 + seed.below(250_000),
            (_, 0) => 120_000 + seed.below(280_000),
            (_, 1..=9) => 40_000 + seed.below(80_000),
            (_, 10..=39) => 8_000 + seed.below(32_000),
            _ => 500 + seed.below(7_500),
        };
        total += file.size;
    }
    let stretch = BYTES as f64 / total as f64;
    let mut rest = BYTES;
    for file in &mut *files {
        if file.content != Content::Rules {
            file.size = (file.size as f64 * stretch) as usize;
        }
        rest = rest.saturating_sub(file.size);
    }
    if let Some(last) = files.last_mut() {
        last.size += rest;
    }
}

impl Planned {
    /// Puts the content of the file, which is number `number`, into `out`.
    pub(crate) fn write(&self, number: usize, text: &Text, out: &mut Vec<u8>) {
        out.clear();
        let seed = &mut Seed::of(number);
        match self.content {
            Content::Rules => out.extend_from_slice(RULES.as_bytes()),
            Content::Text | Content::LateBinary | Content::Binary => {
                if self.rare {
                    text.fill(seed, self.size / 2, out);
                    // In the middle of a line, and at the end of one.
                    out.extend_from_slice(format!("    if {RARE} > 3 {{ // {RARE}\n").as_bytes());
                    out.extend_from_slice(format!("the {RARE}\n").as_bytes());
                }
                text.fill(seed, self.size, out);
            }
            Content::Crlf => text.fill_crlf(seed, self.size, out),
            Content::Line => text.fill_line(seed, self.size, out),
        }
        match self.content {
            Content::Binary => out[20] = 0,
            Content::LateBinary => {
                let at = out.len() * 3 / 4;
                out[at] = 0;
            }
            _ => {}
        }
        out.truncate(self.size);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsString;

    use super::{BYTES, Content, FILES, RARE_LINES, RULES, RUST_FILES, plan};
    use crate::bench::ground::text::{RARE, Text};

    #[test]
    fn the_tree_has_its_size_and_each_file_its_own_path() {
        let files = plan();
        assert_eq!(files.len(), FILES);
        assert_eq!(files.iter().map(|it| it.size).sum::<usize>(), BYTES);
        let paths: BTreeSet<_> = files.iter().map(|it| &it.path).collect();
        assert_eq!(paths.len(), FILES);
        let is_rust = |path: &&&OsString| path.to_string_lossy().ends_with(".rs");
        assert_eq!(paths.iter().filter(is_rust).count(), RUST_FILES);
    }

    #[test]
    fn each_file_is_what_was_planned() {
        let text = Text::new();
        let mut out = Vec::new();
        let mut found = 0;
        for (number, file) in plan().iter().enumerate() {
            let seen = file.path.to_string_lossy();
            let is_searched = !["node_modules/", "target/", ".git/", "run.log"]
                .iter()
                .any(|it| seen.contains(it));
            // One of each kind, and all with the rare literal.
            if number > 300 && !(file.rare && is_searched) {
                continue;
            }
            file.write(number, &text, &mut out);
            assert_eq!(out.len(), file.size, "{seen}");
            let nul = out.iter().position(|byte| *byte == 0);
            match file.content {
                Content::Rules => assert_eq!(out, RULES.as_bytes()),
                Content::Binary => assert_eq!(nul, Some(20)),
                Content::LateBinary => assert!(nul > Some(65_536), "{nul:?}"),
                _ => assert_eq!(nul, None),
            }
            let lines = String::from_utf8_lossy(&out);
            let rare = lines.lines().filter(|it| it.contains(RARE)).count();
            assert_eq!(rare, if file.rare { 2 } else { 0 }, "{seen}");
            if is_searched && file.content == Content::Text {
                found += rare;
            }
        }
        assert_eq!(found, RARE_LINES);
    }
}
