//! The tree over a log: its leaf, its branches, forks, labels and names.

use harness_core::Message;
use harness_session::{
    Access, Body, CompactionBody, CustomBody, EntryId, Error, Header, MemoryStore, MessageBody,
    Session, Store,
};

fn session() -> (MemoryStore, Session) {
    let store = MemoryStore::default();
    let session = Session::create(&store, Header::new(Some("/work".into()))).unwrap();
    (store, session)
}

fn say(session: &mut Session, text: &str) -> EntryId {
    let body = Body::Message(MessageBody {
        message: Message::user(text).into(),
        queued: None,
    });
    session.append(body).unwrap()
}

fn texts(session: &Session) -> Vec<String> {
    let context = session.context().unwrap();
    let text = |message: &harness_core::MessageRef| match &**message {
        Message::User(user) => match &user.content[0] {
            harness_core::UserPart::Text(text) => text.text.clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    context.messages.iter().map(text).collect()
}

#[test]
fn what_is_appended_follows_the_leaf_and_is_it() {
    let (store, mut session) = session();
    assert_eq!(session.leaf(), None);
    assert!(session.context().unwrap().messages.is_empty());
    let one = say(&mut session, "one");
    let two = say(&mut session, "two");
    assert_eq!(session.leaf(), Some(two));
    assert_eq!(session.entry(two).unwrap().parent, Some(one));
    assert_eq!(texts(&session), ["one", "two"]);
    let id = session.id();
    drop(session);
    let again = Session::open(&store, id, Access::Read).unwrap();
    assert_eq!(again.leaf(), Some(two));
    assert_eq!(texts(&again), ["one", "two"]);
}

#[test]
fn the_leaf_to_go_on_from_outlives_the_process() {
    let (store, mut session) = session();
    let one = say(&mut session, "one");
    let two = say(&mut session, "two");
    session.go_to(Some(one)).unwrap();
    assert_eq!(texts(&session), ["one"]);
    let id = session.id();
    drop(session);
    let mut session = Session::open(&store, id, Access::Write).unwrap();
    assert_eq!(texts(&session), ["one"]);
    say(&mut session, "another two");
    assert_eq!(texts(&session), ["one", "another two"]);
    // The branch that was left is there still.
    let number = session.number_of(two).unwrap();
    assert_eq!(session.branch_of(number).unwrap().len(), 2);
    session.go_to(Some(two)).unwrap();
    assert_eq!(texts(&session), ["one", "two"]);
    session.go_to(None).unwrap();
    assert!(texts(&session).is_empty());
    say(&mut session, "afresh");
    assert_eq!(texts(&session), ["afresh"]);
}

#[test]
fn what_is_left_behind_begins_where_the_ways_part() {
    let (_, mut session) = session();
    let one = say(&mut session, "one");
    let two = say(&mut session, "two");
    say(&mut session, "three");
    let left =
        |session: &Session, to: Option<EntryId>| session.messages_left_behind(to).unwrap().len();
    assert_eq!(left(&session, Some(two)), 1);
    assert_eq!(left(&session, Some(one)), 2);
    assert_eq!(left(&session, None), 3);
    assert_eq!(left(&session, session.leaf()), 0);
    session.go_to(Some(one)).unwrap();
    say(&mut session, "other two");
    // To a cousin: back to `one`, which both have.
    assert_eq!(left(&session, Some(two)), 1);
}

#[test]
fn a_fork_has_the_branch_and_the_labels_and_goes_its_own_way() {
    let (store, mut session) = session();
    let one = say(&mut session, "one");
    let two = say(&mut session, "two");
    say(&mut session, "three");
    session.set_label(one, Some("start".to_owned())).unwrap();
    session.set_name(Some("first".to_owned())).unwrap();

    let mut fork = session.fork(&store, Some(two)).unwrap();
    assert_eq!(texts(&fork), ["one"]);
    assert_eq!(fork.labels().unwrap()[&one], "start");
    let parent = fork.header().parent.clone().unwrap();
    assert_eq!((parent.session, parent.entry), (session.id(), Some(one)));
    assert_eq!(fork.header().cwd, session.header().cwd);
    assert_ne!(fork.id(), session.id());
    say(&mut fork, "other two");
    assert_eq!(texts(&fork), ["one", "other two"]);
    assert_eq!(texts(&session), ["one", "two", "three"]);

    let clone = session.fork(&store, None).unwrap();
    assert_eq!(texts(&clone), ["one", "two", "three"]);
    // Before the first message there is nothing, and that is a fork, too.
    let empty = session.fork(&store, Some(one)).unwrap();
    assert!(texts(&empty).is_empty());
    assert_eq!(empty.header().parent.clone().unwrap().entry, None);
}

#[test]
fn a_fork_begins_before_a_users_message_only() {
    let (store, mut session) = session();
    say(&mut session, "one");
    let custom = session
        .append(Body::Custom(CustomBody {
            kind: "mine".to_owned(),
            data: serde_json::json!(1),
        }))
        .unwrap();
    assert!(matches!(
        session.fork(&store, Some(custom)),
        Err(Error::Misuse(_))
    ));
    let other = EntryId::after(None, harness_session::Timestamp(1));
    assert!(matches!(
        session.fork(&store, Some(other)),
        Err(Error::NoEntry(_))
    ));
    assert_eq!(store.ids().unwrap().len(), 1, "nothing half is left");
}

#[test]
fn labels_and_names_are_those_given_last() {
    let (_, mut session) = session();
    let one = say(&mut session, "one");
    let two = say(&mut session, "two");
    assert_eq!(session.name().unwrap(), None);
    for name in [Some("a"), Some("b"), None, Some("c")] {
        session.set_name(name.map(str::to_owned)).unwrap();
        assert_eq!(session.name().unwrap().as_deref(), name);
    }
    session.set_label(one, Some("x".to_owned())).unwrap();
    session.set_label(two, Some("y".to_owned())).unwrap();
    session.set_label(one, None).unwrap();
    assert_eq!(
        session.labels().unwrap().into_iter().collect::<Vec<_>>(),
        [(two, "y".to_owned())]
    );
    assert_eq!(session.find_entry("y").unwrap(), two);
    assert_eq!(session.find_entry(&one.to_string()).unwrap(), one);
    assert!(session.find_entry("x").is_err());
    let unknown = EntryId::after(None, harness_session::Timestamp(1));
    assert!(matches!(
        session.set_label(unknown, None),
        Err(Error::NoEntry(_))
    ));
    // None of it is said to the model.
    assert_eq!(texts(&session), ["one", "two"]);
}

#[test]
fn an_entry_is_found_by_how_it_begins() {
    let (_, mut session) = session();
    let one = say(&mut session, "one");
    let text = one.to_string();
    assert_eq!(session.find_entry(&text[..20]).unwrap(), one);
    assert_eq!(session.find_entry(&text[..20].to_uppercase()).unwrap(), one);
    let two = say(&mut session, "two");
    let error = session.find_entry(&text[..6]).unwrap_err();
    assert!(error.to_string().contains("several"), "{error}");
    assert!(session.find_entry("nothing").is_err());
    assert_eq!(session.find_entry(&text[24..]).unwrap(), one);
    assert!(matches!(session.find_entry(" "), Err(Error::TooShort(_))));
    // A label comes before what would be the end of an id.
    let end = text[24..].to_owned();
    session.set_label(two, Some(end.clone())).unwrap();
    assert_eq!(session.find_entry(&end).unwrap(), two);
    for number in 0..9 {
        say(&mut session, &number.to_string());
    }
    let error = session.find_entry(&text[..4]).unwrap_err().to_string();
    assert!(error.ends_with("(5 of 12)"), "{error}");
}

#[test]
fn a_fork_may_end_behind_any_entry() {
    let (store, mut session) = session();
    let one = say(&mut session, "one");
    let summary = compact(&mut session, "sum", Some(one));
    let two = say(&mut session, "two");
    let texts_at = |at| texts(&session.fork_at(&store, at).unwrap());
    assert_eq!(texts_at(Some(summary)), ["sum", "one"]);
    // A message of the user's is to be said in another way.
    assert_eq!(texts_at(Some(two)), ["sum", "one"]);
    assert_eq!(texts_at(Some(one)), [""; 0]);
    assert_eq!(texts_at(None), ["sum", "one", "two"]);
}

fn compact(session: &mut Session, summary: &str, first_kept: Option<EntryId>) -> EntryId {
    let body = Body::Compaction(CompactionBody {
        messages: vec![Message::user(summary).into()],
        first_kept,
        tokens_before: 1,
        reason: "manual".to_owned(),
        model: None,
        thinking: None,
        queued: Vec::new(),
        run: None,
        details: serde_json::Value::Null,
    });
    session.append(body).unwrap()
}

#[test]
fn a_compaction_stands_for_what_it_did_not_keep() {
    let (_, mut session) = session();
    say(&mut session, "one");
    let two = say(&mut session, "two");
    let first = compact(&mut session, "sum of one", Some(two));
    say(&mut session, "three");
    assert_eq!(texts(&session), ["sum of one", "two", "three"]);
    // One that keeps what the one before kept, without its summary.
    let second = compact(&mut session, "sum of sums", Some(two));
    assert_eq!(texts(&session), ["sum of sums", "two", "three"]);
    // One that keeps the summary of the one before, and so what that one kept.
    session.go_to(Some(second)).unwrap();
    let parent = session.leaf();
    compact(&mut session, "on top", Some(second));
    assert_eq!(texts(&session), ["on top", "sum of sums", "two", "three"]);
    session.go_to(parent).unwrap();
    compact(&mut session, "alone", None);
    say(&mut session, "four");
    assert_eq!(texts(&session), ["alone", "four"]);
    // Before any of them, all is as it was.
    session.go_to(Some(two)).unwrap();
    assert_eq!(texts(&session), ["one", "two"]);
    session.go_to(Some(first)).unwrap();
    assert_eq!(texts(&session), ["sum of one", "two"]);
    // What is said to be kept and is not on the branch is not kept.
    session.go_to(None).unwrap();
    compact(&mut session, "stray", Some(two));
    assert_eq!(texts(&session), ["stray"]);
}

/// The first entry that was kept is lost: what is newer is kept still.
#[test]
fn what_a_compaction_kept_behind_a_lost_entry_is_kept() {
    let (_, mut session) = session();
    say(&mut session, "one");
    let lost = EntryId::after(session.leaf(), harness_session::Timestamp::now());
    // The next ids are larger.
    while say(&mut session, "two") <= lost {}
    say(&mut session, "three");
    compact(&mut session, "sum", Some(lost));
    say(&mut session, "four");
    let texts = texts(&session);
    assert_eq!(texts.first().unwrap(), "sum");
    assert!(
        texts.ends_with(&["three".to_owned(), "four".to_owned()]),
        "{texts:?}"
    );
    assert!(!texts.contains(&"one".to_owned()), "{texts:?}");
}
