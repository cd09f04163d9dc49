//! A session: the tree over its log.

use std::collections::{BTreeMap, HashMap};

use harness_core::{MessageRef, ModelId, ThinkingLevel};
use harness_telemetry::harness::{SessionWrite, SessionWriteEnd, session_write};

use crate::context::Context;
use crate::entry::{Body, Entry, LabelBody, LeafBody, NameBody};
use crate::error::Error;
use crate::header::{Header, Parent};
use crate::id::{EntryId, SessionId, Timestamp};
use crate::node::{Node, NodeKind};
use crate::store::{Access, Log, Store};
use crate::typed_id::{TypedId, few};

/// An open session.
///
/// Its entries form a tree; the *leaf* is the entry that the next one follows, and the *branch* is the way
/// from the root to it. What is appended follows the leaf and is the leaf from then on, so the leaf to go on
/// from is the last entry of the log. [`go_to`](Self::go_to) makes the conversation go on elsewhere by
/// appending an entry that follows another one than the last.
#[derive(Debug)]
pub struct Session {
    log: Box<dyn Log>,
    leaf: Option<Leaf>,
    /// The largest id, which the next one has to be above.
    last_id: Option<EntryId>,
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    number: u64,
    id: EntryId,
}

impl Session {
    /// Begins a session.
    pub fn create(store: &dyn Store, header: Header) -> Result<Self, Error> {
        Ok(Self {
            log: store.create(header)?,
            leaf: None,
            last_id: None,
        })
    }

    /// Opens a session.
    pub fn open(store: &dyn Store, id: SessionId, access: Access) -> Result<Self, Error> {
        Self::from_log(store.open(id, access)?)
    }

    /// A session over a log.
    pub fn from_log(log: Box<dyn Log>) -> Result<Self, Error> {
        let leaf = match log.len().checked_sub(1) {
            Some(number) => {
                let id = log.node(number)?.id;
                Some(Leaf { number, id })
            }
            None => None,
        };
        Ok(Self {
            log,
            last_id: leaf.map(|leaf| leaf.id),
            leaf,
        })
    }

    /// Its id.
    pub fn id(&self) -> SessionId {
        self.log.header().id
    }

    /// What it begins with.
    pub fn header(&self) -> &Header {
        self.log.header()
    }

    /// Its entries.
    pub fn log(&self) -> &dyn Log {
        &*self.log
    }

    /// The same, to write to. Whoever appends to it directly has to open the session anew.
    pub fn log_mut(&mut self) -> &mut dyn Log {
        &mut *self.log
    }

    /// The entry that the next one follows.
    pub fn leaf(&self) -> Option<EntryId> {
        self.leaf.map(|leaf| leaf.id)
    }

    /// Appends an entry behind the leaf. On `Err` nothing was appended, and it may be tried again.
    pub fn append(&mut self, body: Body) -> Result<EntryId, Error> {
        self.append_to(self.leaf, body)
    }

    fn append_to(&mut self, parent: Option<Leaf>, body: Body) -> Result<EntryId, Error> {
        // The kind of an entry that is not known here is whatever stands in its file.
        let entry = match &body {
            Body::Unknown(_) => "unknown",
            body => body.kind(),
        };
        let span = session_write(SessionWrite { entry }).start();
        let time = Timestamp::now();
        let id = EntryId::after(self.last_id, time);
        let entry = Entry {
            id,
            parent: parent.map(|parent| parent.id),
            time,
            body,
        };
        let appended = span
            .span()
            .in_scope(|| self.log.append(&entry, parent.map(|parent| parent.number)));
        let number = match appended {
            Ok(number) => number,
            Err(error) => {
                span.fail("session");
                return Err(error);
            }
        };
        span.end(SessionWriteEnd {});
        self.last_id = Some(id);
        self.leaf = Some(Leaf { number, id });
        Ok(id)
    }

    /// The number of an entry.
    pub fn number_of(&self, id: EntryId) -> Result<u64, Error> {
        self.log.find(id)?.ok_or(Error::NoEntry(id))
    }

    /// An entry.
    pub fn entry(&self, id: EntryId) -> Result<Entry, Error> {
        self.log.read(self.number_of(id)?)
    }

    /// Makes the conversation go on behind an entry, or anew for none; what followed it stays in the tree.
    pub fn go_to(&mut self, target: Option<EntryId>) -> Result<(), Error> {
        let parent = match target {
            Some(id) => Some(Leaf {
                number: self.number_of(id)?,
                id,
            }),
            None => None,
        };
        self.append_to(parent, Body::Leaf(LeafBody::default()))?;
        Ok(())
    }

    /// The numbers of the branch that ends with an entry, root first.
    pub fn branch_of(&self, number: u64) -> Result<Vec<u64>, Error> {
        let mut branch = Vec::new();
        let mut next = Some(number);
        while let Some(number) = next {
            branch.push(number);
            next = self.parent(number)?;
        }
        branch.reverse();
        Ok(branch)
    }

    /// The numbers of the leaf's branch, root first.
    pub fn branch(&self) -> Result<Vec<u64>, Error> {
        match self.leaf {
            Some(leaf) => self.branch_of(leaf.number),
            None => Ok(Vec::new()),
        }
    }

    /// The parent of an entry, which always comes before it: so every walk ends.
    fn parent(&self, number: u64) -> Result<Option<u64>, Error> {
        let parent = self.log.node(number)?.parent;
        Ok(parent.filter(|parent| *parent < number))
    }

    /// The conversation as it goes on from the leaf.
    pub fn context(&self) -> Result<Context, Error> {
        match self.leaf {
            Some(leaf) => Context::read(&*self.log, leaf.number),
            None => Ok(Context::default()),
        }
    }

    /// The model and the thinking level that were used last.
    pub fn last_choice(&self) -> Result<(Option<ModelId>, Option<ThinkingLevel>), Error> {
        let (mut model, mut thinking) = (None, None);
        let mut next = self.leaf.map(|leaf| leaf.number);
        while let Some(number) = next.filter(|_| model.is_none() || thinking.is_none()) {
            let kind = self.log.node(number)?.kind;
            let says = matches!(
                kind,
                NodeKind::ModelChange | NodeKind::ThinkingChange | NodeKind::Compaction
            );
            // What cannot be read says nothing.
            let entry = says.then(|| self.log.read(number).ok()).flatten();
            match entry.map(|entry| entry.body) {
                Some(Body::ModelChange(body)) => model = model.or(Some(body.model)),
                Some(Body::ThinkingChange(body)) => thinking = thinking.or(Some(body.thinking)),
                Some(Body::Compaction(body)) => {
                    model = model.or(body.model);
                    thinking = thinking.or(body.thinking);
                }
                _ => {}
            }
            next = self.parent(number)?;
        }
        Ok((model, thinking))
    }

    /// The entries of the leaf's branch that are not on the branch of `target`, oldest first: what is left
    /// behind by going there.
    pub fn left_behind(&self, target: Option<EntryId>) -> Result<Vec<Entry>, Error> {
        let there = match target {
            Some(id) => self.branch_of(self.number_of(id)?)?,
            None => Vec::new(),
        };
        let here = self.branch()?;
        let common = here
            .iter()
            .zip(&there)
            .take_while(|(here, there)| here == there)
            .count();
        self.log.read_all(here.get(common..).unwrap_or_default())
    }

    /// The messages of what [`left_behind`](Self::left_behind) gives, each call with its result.
    pub fn messages_left_behind(&self, target: Option<EntryId>) -> Result<Vec<MessageRef>, Error> {
        let entries = self.left_behind(target)?;
        Ok(Context::of(&*self.log, entries)?.messages)
    }

    /// The numbers and places of all entries.
    pub fn nodes(&self) -> Result<Vec<Node>, Error> {
        (0..self.log.len())
            .map(|number| self.log.node(number))
            .collect()
    }

    fn numbers_of(&self, kind: NodeKind) -> Result<Vec<u64>, Error> {
        let mut numbers = Vec::new();
        for number in 0..self.log.len() {
            if self.log.node(number)?.kind == kind {
                numbers.push(number);
            }
        }
        Ok(numbers)
    }

    /// The labels of entries. Looks at the whole index.
    pub fn labels(&self) -> Result<BTreeMap<EntryId, String>, Error> {
        let mut labels = BTreeMap::new();
        for entry in self.log.read_all(&self.numbers_of(NodeKind::Label)?)? {
            if let Body::Label(LabelBody { target, label }) = entry.body {
                match label {
                    Some(label) => labels.insert(target, label),
                    None => labels.remove(&target),
                };
            }
        }
        Ok(labels)
    }

    /// Gives an entry a name, or takes it away.
    pub fn set_label(&mut self, target: EntryId, label: Option<String>) -> Result<(), Error> {
        self.number_of(target)?;
        self.append(Body::Label(LabelBody { target, label }))?;
        Ok(())
    }

    /// The session's name. Looks at the index from its end.
    pub fn name(&self) -> Result<Option<String>, Error> {
        for number in (0..self.log.len()).rev() {
            if self.log.node(number)?.kind != NodeKind::Name {
                continue;
            }
            match self.log.read(number) {
                Ok(entry) => {
                    if let Body::Name(NameBody { name }) = entry.body {
                        return Ok(name);
                    }
                }
                Err(Error::Unreadable { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Gives the session a name, or takes it away.
    pub fn set_name(&mut self, name: Option<String>) -> Result<(), Error> {
        self.append(Body::Name(NameBody { name }))?;
        Ok(())
    }

    /// The entry of this id, that has this label, or whose id begins or ends like this: at least 4
    /// characters, in any case, with or without hyphens.
    pub fn find_entry(&self, text: &str) -> Result<EntryId, Error> {
        if let Ok(id) = text.trim().parse() {
            self.number_of(id)?;
            return Ok(id);
        }
        let labels = self.labels()?;
        let mut labelled = labels.iter().filter(|(_, label)| *label == text);
        match (labelled.next(), labelled.next()) {
            (Some((id, _)), None) => return Ok(*id),
            (Some(_), Some(_)) => {
                return Err(Error::Misuse(format!(
                    "several entries are labelled `{text}`: name one by its id"
                )));
            }
            (None, _) => {}
        }
        let wanted = TypedId::new(text)?;
        let mut found = Vec::new();
        for number in 0..self.log.len() {
            let id = self.log.node(number)?.id;
            if wanted.fits(&id) && !found.contains(&id) {
                found.push(id);
            }
        }
        match *found {
            [] => Err(Error::Misuse(format!("the session has no entry `{text}`"))),
            [id] => Ok(id),
            _ => Err(Error::Misuse(format!(
                "several entries begin or end with `{text}`, give more of the id: {}",
                few(&found)
            ))),
        }
    }

    /// A new session with the conversation of this one's branch: all of it, or what stands before an
    /// entry, which must be a user's message of it.
    ///
    /// The entries keep their ids, and the labels come along. What a run of this session is in the middle
    /// of is not gone on with there.
    pub fn fork(&self, store: &dyn Store, before: Option<EntryId>) -> Result<Self, Error> {
        if let Some(before) = before
            && self.log.node(self.number_of(before)?)?.kind != NodeKind::UserMessage
        {
            let problem = format!("{before} is not a user's message: a fork begins before one");
            return Err(Error::Misuse(problem));
        }
        self.fork_at(store, before)
    }

    /// The same, with what stands up to an entry: it comes along, unless it is the user's message, which is
    /// to be said in another way.
    pub fn fork_at(&self, store: &dyn Store, at: Option<EntryId>) -> Result<Self, Error> {
        let branch = match at {
            Some(at) => {
                let number = self.number_of(at)?;
                let mut branch = self.branch_of(number)?;
                if self.log.node(number)?.kind == NodeKind::UserMessage {
                    branch.pop();
                }
                branch
            }
            None => self.branch()?,
        };
        let last = match branch.last() {
            Some(number) => Some(self.log.node(*number)?.id),
            None => None,
        };
        let header = Header::new(self.header().cwd.clone()).from_parent(Parent {
            session: self.id(),
            entry: last,
            agent: None,
        });
        let mut fork = Self::create(store, header)?;
        match fork.take_over(&branch, self) {
            Ok(()) => Ok(fork),
            Err(error) => {
                let id = fork.id();
                drop(fork);
                // Half a fork is none.
                let _ = store.delete(id);
                Err(error)
            }
        }
    }

    fn take_over(&mut self, branch: &[u64], from: &Self) -> Result<(), Error> {
        /// How many entries are in memory at a time.
        const AT_A_TIME: usize = 64;
        let mut numbers: HashMap<EntryId, u64> = HashMap::with_capacity(branch.len());
        let mut last: Option<Leaf> = None;
        let mut entries = branch
            .chunks(AT_A_TIME)
            .map(|numbers| from.log.read_all(numbers));
        while let Some(read) = entries.next().transpose()? {
            for entry in read {
                let known = entry
                    .parent
                    .and_then(|parent| numbers.get(&parent).copied());
                // Where an entry between them cannot be read, the one before it takes its place.
                let parent = known.or(last.map(|last| last.number));
                let number = self.log.append(&entry, parent)?;
                numbers.insert(entry.id, number);
                last = Some(Leaf {
                    number,
                    id: entry.id,
                });
                self.last_id = self.last_id.max(Some(entry.id));
            }
        }
        self.leaf = last;
        let open = self.context()?.is_open();
        let known = self.labels()?;
        for (target, label) in from.labels()? {
            if numbers.contains_key(&target) && known.get(&target) != Some(&label) {
                self.set_label(target, Some(label))?;
            }
        }
        if open {
            self.go_to(self.leaf())?;
        }
        self.log.sync()
    }

    /// A turn has ended: see [`Log::checkpoint`].
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        self.log.checkpoint()
    }

    /// Waits until all of it outlives a loss of power: see [`Log::sync`].
    pub fn sync(&mut self) -> Result<(), Error> {
        self.log.sync()
    }

    /// What a person should know of its state. Told once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        self.log.take_warnings()
    }
}
