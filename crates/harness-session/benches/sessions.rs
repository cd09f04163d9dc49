//! What sessions on disk cost, beside what the file system alone takes for the same bytes.
//!
//! Criterion measures; what it found is then told as ratios, with the memory that a process of its own
//! needed.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot be set up is to fail, and it is there to tell"
)]

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion};
use harness_session::test_support::Author;
use harness_session::{
    Access, Body, Durability, Entry, Filter, Header, JsonlStore, LeafBody, NameBody, SessionId,
    Store,
};

/// Entries that are appended at a time.
const APPENDED: usize = 2_000;
/// The entries of a long session, of 2 KB each.
const LONG: usize = 100_000;
/// How many of them are read when it is opened: what a model's context may hold.
const READ: usize = 500;
const MILLION: usize = 1_000_000;
const LISTED: usize = 1_000;
/// The size of a session in the list.
const SIZE: u64 = 20 * 1024 * 1024;
/// What makes this program measure its own memory instead.
const MEMORY: &str = "--memory-of";

/// A part of the benchmark.
type Part = fn(&mut Criterion);

/// Text as tools give it back: 2 KB, with what JSON has to escape.
fn text(number: usize) -> String {
    let line = format!("{number:>6}: let value = \"some text\"; // and so on, for a while\n");
    line.repeat(2_000 / line.len())
}

fn store(folder: &Path) -> JsonlStore {
    JsonlStore::new(folder).durability(Durability::Never)
}

fn line(entry: &Entry) -> Vec<u8> {
    let mut line = Vec::new();
    entry.write(&mut line).unwrap();
    line
}

/// A session of so many entries in a row.
fn session(store: &JsonlStore, count: usize, body: impl Fn(usize) -> Option<String>) -> SessionId {
    let mut log = store.create(Header::new(None)).unwrap();
    let mut author = Author::new();
    let mut last = None;
    for number in 0..count {
        let above = last.map(|(_, id)| id);
        let entry = match body(number) {
            Some(text) => author.said(&text, above),
            None => author.entry(Body::Leaf(LeafBody {}), above),
        };
        let number = log.append(&entry, last.map(|(number, _)| number)).unwrap();
        last = Some((number, entry.id));
    }
    log.header().id
}

/// Opens a session, walks from its leaf to its root, and reads the newest entries of that branch.
fn open(store: &JsonlStore, id: SessionId, most: usize) -> usize {
    let log = store.open(id, Access::Write).unwrap();
    let mut branch = Vec::new();
    let mut next = log.len().checked_sub(1);
    let mut walked = 0;
    while let Some(number) = next {
        if walked < most {
            branch.push(number);
        }
        walked += 1;
        next = log.node(number).unwrap().parent;
    }
    branch.reverse();
    log.read_all(&branch).unwrap().len()
}

/// The least that anybody does who opens a session: reads the index, and the newest entries.
fn read_bare(index: &Path, file: &Path, bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let index = fs::read(index).unwrap();
    let file = File::open(file).unwrap();
    let mut branch = vec![0; bytes];
    let size = file.metadata().unwrap().len();
    file.read_exact_at(&mut branch, size - bytes as u64)
        .unwrap();
    (index, branch)
}

/// The files of a session.
fn files(store: &JsonlStore, id: SessionId) -> (PathBuf, PathBuf) {
    let file = store.path_of(id).unwrap();
    (file.with_extension("index"), file)
}

fn append(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut author = Author::new();
    let mut last = None;
    let mut entries = Vec::new();
    for number in 0..APPENDED {
        let entry = author.said(&text(number), last);
        last = Some(entry.id);
        entries.push(entry);
    }
    let lines: Vec<_> = entries.iter().map(line).collect();
    let clear = || {
        let _ = fs::remove_dir_all(folder.path());
    };
    let append = |log: &mut Box<dyn harness_session::Log>| {
        for (number, entry) in (0_u64..).zip(&entries) {
            log.append(entry, number.checked_sub(1)).unwrap();
        }
        log.sync().unwrap();
    };
    let begin = || {
        clear();
        store.create(Header::new(None)).unwrap()
    };
    let write = |file: &mut File| {
        let mut at = 0;
        for line in &lines {
            file.write_all_at(line, at).unwrap();
            at += line.len() as u64;
        }
    };
    let create = || {
        clear();
        fs::create_dir(folder.path()).unwrap();
        File::create(folder.path().join("bare")).unwrap()
    };
    let mut group = c.benchmark_group("append");
    group.sample_size(20);
    group.bench_function("append_2000", |bencher| {
        bencher.iter_batched_ref(begin, append, BatchSize::PerIteration);
    });
    group.bench_function("write_2000", |bencher| {
        bencher.iter_batched_ref(create, write, BatchSize::PerIteration);
    });
    group.finish();
    let ratio = ratio(
        || time(begin(), |mut log| append(&mut log)),
        || time(create(), |mut file| write(&mut file)),
    );
    println!("append, beside a bare write: ratio {ratio:.2}");
}

fn time<T>(input: T, run: impl FnOnce(T)) -> Duration {
    let start = Instant::now();
    run(input);
    start.elapsed()
}

/// The middle of the ratios of two times that are measured in turn.
fn ratio(mut one: impl FnMut() -> Duration, mut other: impl FnMut() -> Duration) -> f64 {
    let mut ratios: Vec<f64> = (0..31)
        .map(|_| one().as_secs_f64() / other().as_secs_f64())
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

/// The middle of several times, in milliseconds.
fn middle(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..15)
        .map(|_| time((), |()| run()).as_secs_f64() * 1e3)
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn opening(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let id = session(&store, LONG, |number| Some(text(number)));
    let (index, file) = files(&store, id);
    let size = fs::metadata(&file).unwrap().len();
    let bytes = size as usize / LONG * READ;
    let run = || assert_eq!(open(&store, id, READ), READ);
    let bare = || drop(black_box(read_bare(&index, &file, bytes)));
    let parsed = || {
        let (_, branch) = read_bare(&index, &file, bytes);
        let lines = branch.split(|byte| *byte == b'\n').skip(1);
        black_box(lines.flat_map(Entry::parse).count());
    };
    let mut group = c.benchmark_group("open");
    group.sample_size(20);
    group.bench_function("open_100000", |bencher| bencher.iter(run));
    group.bench_function("read_100000", |bencher| bencher.iter(bare));
    group.bench_function("read_and_parse_100000", |bencher| bencher.iter(parsed));
    group.finish();
    let memory = memory_of(folder.path(), id);
    println!(
        "open {LONG} entries, {} MB: {:.1} ms, {memory}; bare read {:.1} ms, with parsing {:.1} ms; ratio to that {:.2}",
        size / 1_000_000,
        middle(run),
        middle(bare),
        middle(parsed),
        ratio(|| time((), |()| run()), || time((), |()| parsed())),
    );
}

/// What another process needs to open a session: its greatest size.
fn memory_of(folder: &Path, id: SessionId) -> String {
    let program = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(program);
    let output = command.arg(MEMORY).arg(folder).arg(id.to_string()).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

fn tell_memory(folder: &str, id: &str) {
    open(&store(folder.as_ref()), id.parse().unwrap(), READ);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = peak.unwrap_or_default().split_whitespace().nth(1);
    print!("at most {} KB", kilobytes.unwrap_or("?"));
}

fn short_branches(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let mut group = c.benchmark_group("short_branch");
    group.sample_size(20);
    let mut times = Vec::new();
    for count in [10_000, MILLION] {
        let id = session(&store, count, |_| None);
        let mut log = store.open(id, Access::Write).unwrap();
        let root = log.node(0).unwrap().id;
        let last = log.node(log.len() - 1).unwrap().id;
        let entry = Author::after(Some(last)).said("elsewhere", Some(root));
        log.append(&entry, Some(0)).unwrap();
        drop(log);
        let run = || assert_eq!(open(&store, id, READ), 2);
        group.bench_function(format!("open_{count}"), |bencher| bencher.iter(run));
        times.push(middle(run));
    }
    group.finish();
    println!(
        "open a short branch of 10000 entries: {:.3} ms, of {MILLION}: {:.3} ms",
        times[0], times[1]
    );
}

/// A session of 20 MB, of which most is a hole: with a name at its end, or with an index that says that
/// it has none.
fn large(store: &JsonlStore, number: usize) {
    let mut log = store.create(Header::new(None)).unwrap();
    let mut author = Author::new();
    author.say(&mut *log, &text(number));
    let id = log.header().id;
    let mut last = log.node(0).unwrap().id;
    drop(log);
    let mut lines = vec![b'\n'];
    if number.is_multiple_of(2) {
        let name = Some(format!("session {number}"));
        let named = author.entry(Body::Name(NameBody { name }), Some(last));
        last = named.id;
        lines.extend(line(&named));
    }
    for number in 0..4 {
        let entry = author.said(&text(number), Some(last));
        last = entry.id;
        lines.extend(line(&entry));
    }
    let (_, file) = files(store, id);
    let file = OpenOptions::new().write(true).open(file).unwrap();
    file.write_all_at(&lines, SIZE - lines.len() as u64)
        .unwrap();
    drop(store.open(id, Access::Write).unwrap());
}

fn list(c: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    for number in 0..LISTED {
        large(&store, number);
    }
    let run = || {
        let list = store.list(&Filter::default()).unwrap();
        assert!(list.iter().all(|it| it.first_prompt.is_some()));
        assert_eq!(
            list.iter().filter(|it| it.name.is_some()).count(),
            LISTED / 2
        );
    };
    let mut group = c.benchmark_group("list");
    group.sample_size(20);
    group.bench_function("list_1000", |bencher| bencher.iter(run));
    group.finish();
    println!("list {LISTED} sessions of 20 MB: {:.1} ms", middle(run));
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, flag, folder, id] = &arguments[..]
        && flag == MEMORY
    {
        return tell_memory(folder, id);
    }
    let mut criterion = Criterion::default().configure_from_args();
    // Criterion leaves out what was not asked for; what is set up for it takes longer than it does.
    let mut names = arguments.iter().skip(1).filter(|it| !it.starts_with('-'));
    let wanted = names.next().map_or("", String::as_str);
    let parts: [(&str, Part); 4] = [
        ("append", append),
        ("open", opening),
        ("short_branch", short_branches),
        ("list", list),
    ];
    for (name, measure) in parts {
        if wanted.starts_with(name) || name.starts_with(wanted) {
            measure(&mut criterion);
        }
    }
    criterion.final_summary();
}
