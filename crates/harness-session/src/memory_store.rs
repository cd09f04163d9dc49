//! A stand-in until the real one is there.
use crate::{
    Access, Entry, EntryId, Error, Filter, Header, Hit, Listed, Log, Node, NodeKind, SessionId,
    Store,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
/// Sessions in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<HashMap<SessionId, MemoryLog>>>);
#[derive(Clone, Debug)]
struct MemoryLog {
    header: Header,
    entries: Arc<Mutex<Vec<(Entry, Option<u64>)>>>,
}
impl Store for MemoryStore {
    fn create(&self, header: Header) -> Result<Box<dyn Log>, Error> {
        let log = MemoryLog {
            header,
            entries: Arc::default(),
        };
        self.0.lock().unwrap().insert(log.header.id, log.clone());
        Ok(Box::new(log))
    }
    fn open(&self, id: SessionId, _: Access) -> Result<Box<dyn Log>, Error> {
        let log = self.0.lock().unwrap().get(&id).cloned();
        Ok(Box::new(
            log.ok_or_else(|| Error::NotFound(id.to_string()))?,
        ))
    }
    fn list(&self, _: &Filter) -> Result<Vec<Listed>, Error> {
        Ok(Vec::new())
    }
    fn ids(&self) -> Result<Vec<SessionId>, Error> {
        Ok(Vec::new())
    }
    fn search(&self, _: &str, _: &Filter, _: usize) -> Result<Vec<Hit>, Error> {
        Ok(Vec::new())
    }
    fn delete(&self, _: SessionId) -> Result<(), Error> {
        Ok(())
    }
}
impl Log for MemoryLog {
    fn header(&self) -> &Header {
        &self.header
    }
    fn len(&self) -> u64 {
        self.entries.lock().unwrap().len() as u64
    }
    fn node(&self, n: u64) -> Result<Node, Error> {
        let e = self.entries.lock().unwrap();
        let (entry, parent) = &e[n as usize];
        Ok(Node {
            id: entry.id,
            parent: *parent,
            kind: NodeKind::of(&entry.body),
        })
    }
    fn find(&self, id: EntryId) -> Result<Option<u64>, Error> {
        Ok(self
            .entries
            .lock()
            .unwrap()
            .iter()
            .rposition(|(e, _)| e.id == id)
            .map(|n| n as u64))
    }
    fn read(&self, n: u64) -> Result<Entry, Error> {
        Ok(self.entries.lock().unwrap()[n as usize].0.clone())
    }
    fn append(&mut self, entry: &Entry, parent: Option<u64>) -> Result<u64, Error> {
        let mut e = self.entries.lock().unwrap();
        e.push((entry.clone(), parent));
        Ok(e.len() as u64 - 1)
    }
    fn checkpoint(&mut self) -> Result<(), Error> {
        Ok(())
    }
    fn sync(&mut self) -> Result<(), Error> {
        Ok(())
    }
    fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}
