//! A folder with sessions in it.

use std::fs;
use std::path::{Path, PathBuf};

use harness_core::{Message, UserPart};
use harness_session::test_support::Author;
use harness_session::{
    Access, Body, Durability, Entry, Error, Header, JsonlStore, Log, SessionId, Store,
};

/// A folder in memory, if there is one: a file that is emptied and written again takes a disk's time there.
pub(crate) fn quick_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap()
}

/// A store of files in a folder of its own. Nothing is made durable, which takes time.
pub(crate) struct Place {
    pub(crate) folder: PathBuf,
    pub(crate) store: JsonlStore,
    _kept: Option<tempfile::TempDir>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = quick_folder();
        let place = Self::at(folder.path());
        Self {
            _kept: Some(folder),
            ..place
        }
    }

    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            store: JsonlStore::new(folder).durability(Durability::Never),
            _kept: None,
        }
    }

    /// A session in which the user says this.
    pub(crate) fn session(&self, texts: &[&str]) -> SessionId {
        let mut log = self.store.create(Header::new(None)).unwrap();
        let mut author = Author::new();
        for text in texts {
            author.say(&mut *log, text);
        }
        log.header().id
    }

    /// The file of a session.
    pub(crate) fn file(&self, id: SessionId) -> PathBuf {
        self.folder.join(format!("_/{id}.jsonl"))
    }

    /// Another file of a session.
    pub(crate) fn beside(&self, id: SessionId, ending: &str) -> PathBuf {
        self.folder.join(format!("_/{id}.{ending}"))
    }

    pub(crate) fn bytes(&self, id: SessionId) -> Vec<u8> {
        fs::read(self.file(id)).unwrap()
    }

    /// Puts other bytes in a session's place, and throws away what else there is of it.
    pub(crate) fn put(&self, id: SessionId, bytes: &[u8]) {
        for file in self.files(id) {
            fs::remove_file(file).unwrap();
        }
        fs::write(self.file(id), bytes).unwrap();
    }

    /// All files of a session.
    pub(crate) fn files(&self, id: SessionId) -> Vec<PathBuf> {
        let files = fs::read_dir(self.folder.join("_")).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.retain(|file| file.to_string_lossy().contains(&id.to_string()));
        files.sort();
        files
    }

    pub(crate) fn read(&self, id: SessionId) -> Box<dyn Log> {
        self.store.open(id, Access::Read).unwrap()
    }

    pub(crate) fn write(&self, id: SessionId) -> Box<dyn Log> {
        self.store.open(id, Access::Write).unwrap()
    }

    /// What is said in a session, as whoever opens it reads it.
    pub(crate) fn texts(&self, id: SessionId) -> Vec<String> {
        texts(&*self.read(id))
    }
}

/// What is said in a session.
pub(crate) fn texts(log: &dyn Log) -> Vec<String> {
    let numbers: Vec<u64> = (0..log.len()).collect();
    let entries = log.read_all(&numbers).unwrap();
    entries.iter().map(text).collect()
}

/// What is said in an entry, or the word for its type.
pub(crate) fn text(entry: &Entry) -> String {
    if let Body::Message(body) = &entry.body
        && let Message::User(user) = &*body.message
        && let Some(UserPart::Text(text)) = user.content.first()
    {
        return text.text.clone();
    }
    entry.body.kind().to_owned()
}

/// The user says more, as somebody who does not know how long the session is.
pub(crate) fn say(log: &mut dyn Log, text: &str) -> Result<u64, Error> {
    let last = log.len().checked_sub(1);
    let parent = last.map(|last| log.node(last).unwrap().id);
    let mut author = Author::after(parent);
    let said = author.said(text, parent);
    log.append(&said, last)
}

/// The tree of a session: what each entry is, and what it follows.
pub(crate) fn tree(log: &dyn Log) -> Vec<(String, Option<u64>)> {
    (0..log.len())
        .map(|number| {
            let node = log.node(number).unwrap();
            assert_eq!(log.find(node.id).unwrap(), Some(number));
            (node.id.to_string(), node.parent)
        })
        .collect()
}
