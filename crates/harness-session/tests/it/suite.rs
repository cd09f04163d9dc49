//! What every store has to keep.

use harness_session::test_support::check_store;
use harness_session::{Durability, JsonlStore, MemoryStore};

use crate::place::quick_folder;

#[test]
fn the_store_in_memory_keeps_it() {
    let store = MemoryStore::default();
    check_store(&mut || Box::new(store.clone()));
}

#[test]
fn the_store_of_files_keeps_it() {
    let folder = quick_folder();
    check_store(&mut || Box::new(JsonlStore::new(folder.path())));
}

#[test]
fn the_store_of_files_keeps_it_whenever_it_is_durable() {
    for durability in [Durability::Always, Durability::Never] {
        let folder = quick_folder();
        check_store(&mut || Box::new(JsonlStore::new(folder.path()).durability(durability)));
    }
}
