//! How long it takes to split and read 10,000 files.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use harness_frontmatter::Document;

const FILES: usize = 10_000;

/// The middle of the sizes, in bytes.
const SIZE: usize = 4 * 1024;

/// A file as skills are: three to six fields, a description of some 270 characters, and a body.
fn file(number: usize) -> String {
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
    // From a half to three halves of the size.
    let size = SIZE / 2 + number * 7919 % SIZE;
    while text.len() < size {
        text.push_str("A line of the body, which is `Markdown` and of no interest here.\n");
    }
    text
}

fn parse(c: &mut Criterion) {
    let files: Vec<_> = (0..FILES).map(file).collect();
    let bytes: usize = files.iter().map(String::len).sum();
    let mut group = c.benchmark_group("frontmatter");
    group.sample_size(20);
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function("parse of 10,000 files", |bencher| {
        bencher.iter(|| {
            files
                .iter()
                .filter_map(|text| Document::parse(black_box(text)).ok())
                .map(|document| document.fields.entries.len())
                .sum::<usize>()
        });
    });
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
