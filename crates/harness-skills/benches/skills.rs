//! What reading and finding many skills costs, beside what the file system alone takes for it.

use std::fmt::Write as _;
use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};

use criterion::{Criterion, criterion_group, criterion_main};
use harness_frontmatter::Document;
use harness_skills::{
    DiscoverOptions, FilePlace, FormatOptions, Layer, Limits, Root, Skill, Skills, examine,
    format_skills,
};

const FILES: usize = 10_000;
const SKILLS: usize = 5_000;

/// The middle of the sizes, in bytes; real ones have 4 KB.
const SIZE: usize = 4 * 1024;

/// A file as skills are: three to six fields, a description of some 270 characters, and a body.
fn text(number: usize) -> String {
    let mut text = format!("---\nname: skill-{number}\ndescription: ");
    for word in 0..38 {
        let _ = write!(text, "word{:02} ", (number + word) % 100);
    }
    let more = [
        "license: MIT\n",
        "allowed-tools: Read Grep Bash(git:*)\n",
        "metadata:\n  author: someone\n  version: \"1.10\"\n",
        "argument-hint: <file>\n",
    ];
    text.push('\n');
    text.extend(more.into_iter().take(1 + number % 4));
    text.push_str("---\n\n# What to do\n\n");
    let size = SIZE / 2 + number * 7919 % SIZE;
    while text.len() < size {
        text.push_str("A line of the body, which is `Markdown` and of no interest here.\n");
    }
    text
}

/// Skills in groups of a hundred.
fn tree(count: usize) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for number in 0..count {
        let skill = folder
            .path()
            .join(format!("group-{}/skill-{number}", number / 100));
        std::fs::create_dir_all(&skill)?;
        std::fs::write(skill.join("SKILL.md"), text(number))?;
    }
    // What changed just now is read again at the next refresh; this is about what did not.
    std::thread::sleep(std::time::Duration::from_millis(200));
    Ok(folder)
}

/// The least that any search does: list each folder, and read the first 4 KiB of each `SKILL.md`.
fn walk(folder: &Path, buffer: &mut [u8]) -> usize {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            bytes += walk(&path, buffer);
        } else if let Ok(mut file) = File::open(path) {
            bytes += file.read(buffer).unwrap_or_default();
        }
    }
    bytes
}

fn options() -> DiscoverOptions {
    let mut limits = Limits::default();
    limits.folders = 100_000;
    limits.entries = 1_000_000;
    DiscoverOptions::default().limits(limits)
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let roots = [Root::new(Layer::User, folder)];
    let found = Skills::discover_with(&roots, options()).catalogue();
    let files = found.active().filter_map(|skill| skill.file());
    files.map(Path::to_owned).collect()
}

fn parse(c: &mut Criterion) {
    let Ok(folder) = tree(FILES) else { return };
    let files = files_of(folder.path());
    let texts: Vec<_> = files
        .iter()
        .filter_map(|file| std::fs::read(file).ok())
        .collect();
    let limits = Limits::default();
    let mut group = c.benchmark_group("parse");
    group.sample_size(20);
    group.bench_function("parse_10000", |bencher| {
        bencher.iter(|| {
            let documents = texts
                .iter()
                .filter_map(|text| Document::from_bytes(black_box(text), &limits.frontmatter).ok());
            documents
                .map(|document| document.fields.entries.len())
                .sum::<usize>()
        });
    });
    group.bench_function("examine_10000", |bencher| {
        bencher.iter(|| {
            let loads = texts.iter().map(|text| {
                let examination = examine(black_box(text), &FilePlace::default(), &limits);
                usize::from(examination.loads())
            });
            loads.sum::<usize>()
        });
    });
    group.bench_function("read_10000", |bencher| {
        bencher.iter(|| {
            let read = files.iter().filter_map(|file| std::fs::read(file).ok());
            read.map(|bytes| bytes.len()).sum::<usize>()
        });
    });
    group.finish();
}

fn discovery(c: &mut Criterion) {
    let Ok(folder) = tree(SKILLS) else { return };
    let roots = [Root::new(Layer::User, folder.path())];
    let mut group = c.benchmark_group("discovery");
    group.sample_size(20);
    group.bench_function("cold_5000", |bencher| {
        bencher.iter(|| Skills::discover_with(&roots, options()));
    });
    group.bench_function("walk_5000", |bencher| {
        let mut buffer = [0; 4096];
        bencher.iter(|| walk(folder.path(), &mut buffer));
    });
    let skills = Skills::discover_with(&roots, options());
    let files = files_of(folder.path());
    group.bench_function("refresh_5000", |bencher| {
        bencher.iter(|| skills.refresh());
    });
    group.bench_function("stat_5000", |bencher| {
        bencher.iter(|| {
            let found = files.iter().filter_map(|file| std::fs::metadata(file).ok());
            found.map(|metadata| metadata.len()).sum::<u64>()
        });
    });
    let catalogue = skills.catalogue();
    let budget = FormatOptions::default().with_budget(16_000);
    group.bench_function("format_5000", |bencher| {
        bencher.iter(|| {
            let skills = catalogue.for_models().map(|skill| -> &Skill { skill });
            format_skills(skills, &budget)
        });
    });
    group.finish();
}

criterion_group!(benches, parse, discovery);
criterion_main!(benches);
