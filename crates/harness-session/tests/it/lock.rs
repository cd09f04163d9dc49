//! One writer at a time.

use harness_session::{Access, Error, Store};

use crate::place::{Place, say};
use crate::process::Other;

#[test]
fn two_processes_do_not_write_to_one_session() {
    let place = Place::new();
    let id = place.session(&["one"]);
    let part = format!("write {id}");
    let mut other = Other::new(&part, &place);
    assert_eq!(other.answer(), "open");
    match place.store.open(id, Access::Write) {
        Err(Error::Locked { session, process }) => {
            assert_eq!(session, id);
            assert_eq!(process, Some(other.id()));
        }
        other => panic!("{other:?}"),
    }
    let deleted = place.store.delete(id);
    assert!(matches!(deleted, Err(Error::Locked { .. })), "{deleted:?}");
    let mut third = Other::new(&part, &place);
    assert_eq!(third.answer(), format!("locked by {}", other.id()));
    third.end();
    assert_eq!(other.ask("two"), "1");
    assert_eq!(place.texts(id), ["one", "two"], "readers see what it wrote");
    assert_eq!(other.ask("three"), "2");
    other.kill();
    // The lock went with its process, and nothing else did.
    let mut log = place.write(id);
    assert_eq!(log.take_warnings(), [""; 0]);
    say(&mut *log, "four").unwrap();
    let mut fourth = Other::new(&part, &place);
    let me = std::process::id();
    assert_eq!(fourth.answer(), format!("locked by {me}"));
    fourth.end();
    drop(log);
    assert_eq!(place.texts(id), ["one", "two", "three", "four"]);
}
