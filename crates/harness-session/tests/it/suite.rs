//! What every store has to keep.

use harness_session::test_support::check_store;
use harness_session::{Durability, JsonlStore, MemoryStore};

#[test]
fn the_store_in_memory_keeps_it() {
    let store = MemoryStore::default();
    check_store(&mut || Box::new(store.clone()));
}

#[test]
fn the_store_of_files_keeps_it() {
    for durability in [Durability::Turn, Durability::Never] {
        let folder = tempfile::tempdir().unwrap();
        check_store(&mut || Box::new(JsonlStore::new(folder.path()).durability(durability)));
    }
}
