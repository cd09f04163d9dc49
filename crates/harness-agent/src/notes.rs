//! Notes: what the model is shown beside the conversation, and what is not stored with it.

use harness_core::{Message, MessageRef};

/// Messages of the user's side that stand behind messages of a conversation, where it is shown.
///
/// A note stays where it was put: the model is shown it there on every later turn, so that what was sent
/// once begins what is sent next, as prompt caches want it. The stored conversation is not touched.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// In the order of the conversation.
    placed: Vec<Placed>,
}

#[derive(Clone, Debug)]
struct Placed {
    /// The message that it stands behind.
    anchor: MessageRef,
    key: String,
    note: MessageRef,
}

impl Notes {
    /// Puts a note behind the last message. One that was put there under the same key before, because
    /// the turn did not come about, gives way to it.
    pub(crate) fn put(&mut self, messages: &[MessageRef], key: &str, text: &str) {
        let Some(anchor) = messages.last() else {
            return;
        };
        self.placed
            .retain(|placed| !(placed.anchor.same(anchor) && placed.key == key));
        self.placed.push(Placed {
            anchor: anchor.clone(),
            key: key.to_owned(),
            note: MessageRef::new(Message::user(text)),
        });
    }

    /// Gives the notes under a key another text, where they stand; `None` takes them away.
    pub(crate) fn change(&mut self, key: &str, text: Option<&str>) {
        match text {
            Some(text) => {
                let message = Message::user(text);
                for placed in self.placed.iter_mut().filter(|placed| placed.key == key) {
                    // The same message in memory keeps what clients made of it.
                    if *placed.note != message {
                        placed.note = MessageRef::new(message.clone());
                    }
                }
            }
            None => self.placed.retain(|placed| placed.key != key),
        }
    }

    /// Forgets the notes whose message is gone, as that of a run that was dropped is.
    pub(crate) fn forget_lost(&mut self, messages: &[MessageRef]) {
        let mut next = self.placed.iter().peekable();
        for message in messages {
            while next.next_if(|placed| placed.anchor.same(message)).is_some() {}
        }
        if next.peek().is_some() {
            self.placed
                .retain(|placed| messages.iter().any(|message| message.same(&placed.anchor)));
        }
    }

    /// Whether there is a note under a key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.placed.iter().any(|placed| placed.key == key)
    }

    /// The conversation with the notes in it. Notes whose message is gone are forgotten.
    pub(crate) fn show(&mut self, messages: Vec<MessageRef>) -> Vec<MessageRef> {
        self.forget_lost(&messages);
        if self.placed.is_empty() {
            return messages;
        }
        // In one pass, since both are in order.
        let mut shown = Vec::with_capacity(messages.len() + self.placed.len());
        let mut next = self.placed.iter().peekable();
        for message in &messages {
            shown.push(message.clone());
            while let Some(placed) = next.next_if(|placed| placed.anchor.same(message)) {
                shown.push(placed.note.clone());
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(texts: &[&str]) -> Vec<MessageRef> {
        let message = |text: &&str| MessageRef::new(Message::user(*text));
        texts.iter().map(message).collect()
    }

    fn texts(messages: &[MessageRef]) -> Vec<String> {
        let text = |message: &MessageRef| match &**message {
            Message::User(user) => match &user.content[..] {
                [harness_core::UserPart::Text(text)] => text.text.clone(),
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        };
        messages.iter().map(text).collect()
    }

    #[test]
    fn a_note_stays_where_it_was_put() {
        let mut messages = conversation(&["1"]);
        let mut notes = Notes::default();
        assert_eq!(texts(&notes.show(messages.clone())), ["1"]);
        notes.put(&messages, "a", "first");
        notes.put(&messages, "b", "second");
        messages.extend(conversation(&["2", "3"]));
        notes.put(&messages, "a", "third");
        let shown = notes.show(messages.clone());
        assert_eq!(texts(&shown), ["1", "first", "second", "2", "3", "third"]);
        // The same messages in memory: what a client encoded is used again.
        let again = notes.show(messages.clone());
        assert!(shown.iter().zip(&again).all(|(one, two)| one.same(two)));

        notes.put(&messages, "a", "third again");
        notes.change("b", Some("changed"));
        let shown = notes.show(messages.clone());
        assert_eq!(
            texts(&shown),
            ["1", "first", "changed", "2", "3", "third again"]
        );
        notes.change("b", None);
        assert!(!notes.has("b") && notes.has("a"));
        // A compaction took the beginning away.
        let shown = notes.show(messages.split_off(1));
        assert_eq!(texts(&shown), ["2", "3", "third again"]);
    }
}
