//! What holds for any file and any tree.

use std::fs;

use harness_session::test_support::Author;
use harness_session::{
    Access, Durability, Entry, Filter, Header, JsonlStore, Log, MemoryStore, Store,
};
use proptest::prelude::*;

use crate::place::{Place, quick_folder, say, texts};

/// Bytes as files of sessions may have them: parts of lines, and anything else.
fn damaged_lines() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\0\0\0".to_vec()),
        Just(br#"{"type":"message","id":"018bcfe5-6800-7000-8000-000000000001","parent":null,"message":{"role":"user","content":[{"type":"text","text":"a"}]}}"#.to_vec()),
        Just(br#"{"type":"leaf","id":"018bcfe5-6800-7000-8000-000000000002","parent":"018bcfe5-6800-7000-8000-000000000001"}"#.to_vec()),
        Just(br#"{"type":"x","id":"018bcfe5-6800-7000-8000-000000000000","parent":"018bcfe5-6800-7000-8000-000000000000"}"#.to_vec()),
        Just(br#"{"type":"name","id":"018bcfe5-6800-7000-8000-000000000003","#.to_vec()),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    let parts = proptest::collection::vec(part, 0..30);
    parts.prop_map(|parts| parts.concat())
}

/// What is done to a session, step by step: what an entry says, and how far back its parent is.
fn growth() -> impl Strategy<Value = Vec<(String, Option<u64>)>> {
    let parent = proptest::option::weighted(0.9, prop_oneof![3 => Just(0), 1 => 0..50_u64]);
    proptest::collection::vec((any::<String>(), parent), 0..60)
}

fn entries(steps: &[(String, Option<u64>)]) -> Vec<(Entry, Option<u64>)> {
    let mut author = Author::new();
    let mut entries: Vec<(Entry, Option<u64>)> = Vec::new();
    for (number, (text, back)) in (0_u64..).zip(steps) {
        let parent = back.and_then(|back| number.checked_sub(1 + back % number.max(1)));
        let above = parent.map(|parent| entries[parent as usize].0.id);
        entries.push((author.said(text, above), parent));
    }
    entries
}

fn all_of(log: &dyn Log) -> Vec<(harness_session::Node, Vec<u8>)> {
    (0..log.len())
        .map(|number| {
            let mut line = Vec::new();
            let entry = log.read(number).unwrap();
            entry.write(&mut line).unwrap();
            (log.node(number).unwrap(), line)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_bytes_can_be_opened_listed_searched_and_repaired(
        with_header in any::<bool>(),
        bytes in damaged_lines(),
    ) {
        let place = Place::new();
        let id = place.session(&[]);
        let header = if with_header { place.bytes(id) } else { Vec::new() };
        let bytes = [header, bytes].concat();
        place.put(id, &bytes);
        let all = Filter::default();
        prop_assert_eq!(place.store.list(&all).unwrap().len(), 1);
        let _ = place.store.search("a", &all, 10).unwrap();
        let read = place.store.open(id, Access::Read).map(|log| texts(&*log));
        prop_assert_eq!(&place.bytes(id), &bytes, "a reader changes nothing");
        let written = place.store.open(id, Access::Write);
        prop_assert_eq!(read.is_ok(), written.is_ok());
        if let (Ok(read), Ok(mut log)) = (read, written) {
            prop_assert_eq!(texts(&*log), read.clone());
            let number = say(&mut *log, "more").unwrap();
            drop(log);
            prop_assert_eq!(place.read(id).len(), number + 1);
            let all: Vec<_> = read.into_iter().chain(["more".to_owned()]).collect();
            prop_assert_eq!(place.texts(id), all);
        }
        place.store.repair(id).unwrap();
        let mut log = place.write(id);
        prop_assert_eq!(log.take_warnings().len(), 0);
        drop(log);
        let again = place.store.repair(id).unwrap();
        prop_assert_eq!(again.backup, None);
    }

    #[test]
    fn a_tree_is_the_same_in_all_stores(steps in growth()) {
        let folder = quick_folder();
        let files = JsonlStore::new(folder.path()).durability(Durability::Never);
        let memory = MemoryStore::default();
        let header = Header::new(None);
        let mut logs = [
            memory.create(header.clone()).unwrap(),
            files.create(header.clone()).unwrap(),
        ];
        let entries = entries(&steps);
        for log in &mut logs {
            for (entry, parent) in &entries {
                log.append(entry, *parent).unwrap();
            }
        }
        let expected = all_of(&*logs[0]);
        prop_assert!(all_of(&*logs[1]) == expected, "while it is written");
        drop(logs);
        let open = |store: &dyn Store, access| all_of(&*store.open(header.id, access).unwrap());
        prop_assert!(open(&memory, Access::Read) == expected, "in memory");
        prop_assert!(open(&files, Access::Read) == expected, "by the index");
        let index = folder.path().join(format!("_/{}.index", header.id));
        if !steps.is_empty() {
            fs::remove_file(index).unwrap();
        }
        prop_assert!(open(&files, Access::Write) == expected, "by the file");
        prop_assert!(open(&files, Access::Read) == expected, "by the new index");
        let all = Filter::default();
        let [one, other] = [&memory as &dyn Store, &files].map(|it| it.list(&all).unwrap());
        prop_assert_eq!(&one[0].first_prompt, &other[0].first_prompt);
        let word = steps.iter().find_map(|(text, _)| text.split_whitespace().next());
        if let Some(word) = word {
            let [one, other] = [&memory as &dyn Store, &files].map(|it| it.search(word, &all, 99).unwrap());
            prop_assert_eq!(one, other);
        }
    }
}
