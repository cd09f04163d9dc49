//! Times, sizes and beginnings of ids, for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use harness_session::Timestamp;

/// The last millisecond of the year 9999: no clock shows more.
const END_OF_TIME: u64 = 253_402_300_799_000;
/// The fewest characters of an id that are shown.
const LEAST: usize = 8;

/// A time in UTC: `2026-03-01 14:05:09`.
pub(crate) fn date_time(time: Timestamp) -> String {
    let time: SystemTime = UNIX_EPOCH + Duration::from_millis(time.0.min(END_OF_TIME));
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.replace('T', " ").trim_end_matches('Z').to_owned()
}

/// How long ago a time was: `3 min ago`.
pub(crate) fn ago(time: Timestamp, now: Timestamp) -> String {
    let seconds = now.0.saturating_sub(time.0) / 1_000;
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// A size: `340 B`, `12.5 KB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["KB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < units.len() {
        tenths /= 1_000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, units[unit])
}

/// `1 turn`, `2 turns`.
pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// The shortest beginnings of ids that tell them apart.
#[derive(Debug)]
pub(crate) struct ShortIds {
    sorted: Vec<String>,
}

impl ShortIds {
    pub(crate) fn of(ids: impl Iterator<Item = impl ToString>) -> Self {
        let mut sorted: Vec<String> = ids.map(|id| id.to_string()).collect();
        sorted.sort_unstable();
        sorted.dedup();
        Self { sorted }
    }

    /// The beginning of an id that none of the others has.
    pub(crate) fn short(&self, id: &impl ToString) -> String {
        let id = id.to_string();
        let place = self.sorted.partition_point(|other| *other < id);
        let before = place.checked_sub(1);
        let neighbours = [before, Some(place), Some(place + 1)];
        let others = neighbours.into_iter().flatten();
        let others = others.filter_map(|place| self.sorted.get(place));
        let longest = others.filter(|other| **other != id).map(|other| {
            let pairs = id.bytes().zip(other.bytes());
            pairs.take_while(|(one, other)| one == other).count()
        });
        let mut length = longest.max().map_or(LEAST, |same| (same + 1).max(LEAST));
        if id.as_bytes().get(length.saturating_sub(1)) == Some(&b'-') {
            length += 1;
        }
        id.get(..length).unwrap_or(&id).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_can_be_read() {
        assert_eq!(date_time(Timestamp(951_782_400_000)), "2000-02-29 00:00:00");
        // A time that no clock shows is no reason to stop.
        date_time(Timestamp(u64::MAX));
        let now = Timestamp(200_000_000);
        let checks = [
            (200_000_000, "just now"),
            (300_000_000, "just now"),
            (199_000_000, "16 min ago"),
            (190_000_000, "2 h ago"),
            (0, "2 d ago"),
        ];
        for (time, expected) in checks {
            assert_eq!(ago(Timestamp(time), now), expected);
        }
        let checks = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 KB"),
            (999_999, "999.9 KB"),
            (1_234_567, "1.2 MB"),
            (u64::MAX, "18446744.0 TB"),
        ];
        for (bytes, expected) in checks {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn short_ids_are_those_of_no_other() {
        let ids = [
            "01980000-0001-7000-8000-000000000000",
            "01980000-0001-7000-8000-000000000001",
            "01980000-0002-7000-8000-000000000000",
            "02980000-0002-7000-8000-000000000000",
        ];
        let short = ShortIds::of(ids.iter());
        let expected = [ids[0], ids[1], "01980000-0002", "02980000"];
        assert_eq!(ids.map(|id| short.short(&id)), expected);
        let one = ShortIds::of(["0198", "01980000-1", "01980000-2"].iter());
        assert_eq!(one.short(&"01980000-2"), "01980000-2");
    }
}
