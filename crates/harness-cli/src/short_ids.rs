//! Ids that people can type.

use harness_session::{Error, Session};

/// The fewest digits of an id that are shown.
const LEAST: usize = 8;

/// The shortest ends of ids that tell them apart.
///
/// Ends, not beginnings: an id begins with its time, so that those that were made one after the other begin
/// alike, and what tells them apart today would not do so tomorrow.
#[derive(Debug)]
pub(crate) struct ShortIds {
    /// The digits, sorted.
    forwards: Vec<String>,
    /// The digits from the end, sorted.
    backwards: Vec<String>,
}

impl ShortIds {
    pub(crate) fn of(ids: impl Iterator<Item = impl ToString>) -> Self {
        let mut forwards: Vec<String> = ids.map(|id| digits(&id)).collect();
        forwards.sort_unstable();
        forwards.dedup();
        let mut backwards: Vec<String> = forwards.iter().map(|id| reversed(id)).collect();
        backwards.sort_unstable();
        Self {
            forwards,
            backwards,
        }
    }

    /// Those of a session's entries.
    pub(crate) fn of_entries(session: &Session) -> Result<Self, Error> {
        let nodes = session.nodes()?;
        Ok(Self::of(nodes.iter().map(|node| node.id)))
    }

    /// The end of an id with which none of the others ends, or begins.
    pub(crate) fn short(&self, id: &impl ToString) -> String {
        let id = digits(id);
        let turned = reversed(&id);
        let place = self.backwards.partition_point(|other| *other < turned);
        let neighbours = [place.checked_sub(1), Some(place), Some(place + 1)];
        let others = neighbours.into_iter().flatten();
        let others = others.filter_map(|place| self.backwards.get(place));
        let same = others.filter(|other| **other != turned).map(|other| {
            let pairs = turned.bytes().zip(other.bytes());
            pairs.take_while(|(one, other)| one == other).count()
        });
        let length = same.max().map_or(LEAST, |same| (same + 1).max(LEAST));
        let ends = (length..id.len()).filter_map(|length| id.get(id.len() - length..));
        let mut free = ends.filter(|end| !self.begins_another(end, &id));
        free.next().unwrap_or(&id).to_owned()
    }

    fn begins_another(&self, end: &str, id: &str) -> bool {
        let place = self.forwards.partition_point(|other| other.as_str() < end);
        let others = self.forwards.iter().skip(place);
        let mut others = others.take_while(|other| other.starts_with(end));
        others.any(|other| other != id)
    }
}

fn digits(id: &impl ToString) -> String {
    id.to_string().replace('-', "")
}

fn reversed(id: &str) -> String {
    id.chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_are_those_of_no_other() {
        let ids = [
            "01980000-0001-7000-8000-00000badcafe",
            "01980000-0001-7000-8000-00010badcafe",
            "01980000-0001-7000-8000-0000deadbeef",
            "deadbee1-0001-7000-8000-0000deadbee1",
            "deadbee2-0001-7000-8000-00000000000a",
            "02980000-0001-7000-8000-0003deadbee2",
        ];
        let short = ShortIds::of(ids.iter());
        let expected = [
            "00badcafe",
            "10badcafe",
            "deadbeef",
            "deadbee1",
            "0000000a",
            "3deadbee2",
        ];
        assert_eq!(ids.map(|id| short.short(&id)), expected);
        // An id that is not among them is told by its end, too.
        assert_eq!(
            short.short(&"03980000-0001-7000-8000-0000feedface"),
            "feedface"
        );
    }
}
