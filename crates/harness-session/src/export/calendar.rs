//! Times and spans of time, for people.

use crate::id::Timestamp;

/// A time in UTC: `2026-03-01 14:05:09`.
pub(super) fn date_time(time: Timestamp) -> String {
    let seconds = time.0 / 1_000;
    let (year, month, day) = civil(seconds / 86_400);
    let second = seconds % 86_400;
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}",
        second / 3_600,
        second / 60 % 60,
        second % 60
    )
}

/// The same, as machines read it.
pub(super) fn machine_time(time: Timestamp) -> String {
    date_time(time).replace(' ', "T") + "Z"
}

/// The time of the day: `14:05:09`.
pub(super) fn clock(time: Timestamp) -> String {
    let whole = date_time(time);
    whole
        .split_once(' ')
        .map_or(whole.clone(), |(_, clock)| clock.to_owned())
}

/// A span of time in milliseconds: `340 ms`, `12.5 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`.
pub(super) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1_000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..60 => format!("{seconds}.{} s", milliseconds % 1_000 / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

/// The day of the Gregorian calendar that is so many days after 1 January 1970.
///
/// Howard Hinnant's `civil_from_days`: <https://howardhinnant.github.io/date_algorithms.html>.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |seconds: u64| date_time(Timestamp(seconds * 1_000));
        assert_eq!(at(0), "1970-01-01 00:00:00");
        assert_eq!(at(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(at(1_772_374_509), "2026-03-01 14:15:09");
        // A time that no clock shows is no reason to stop.
        date_time(Timestamp(u64::MAX));
    }

    #[test]
    fn spans_have_two_units_at_most() {
        assert_eq!(duration(340), "340 ms");
        assert_eq!(duration(12_540), "12.5 s");
        assert_eq!(duration(200_000), "3 min 20 s");
        assert_eq!(duration(7_500_000), "2 h 5 min");
        assert_eq!(duration(356_400_000), "4 d 3 h");
    }
}
