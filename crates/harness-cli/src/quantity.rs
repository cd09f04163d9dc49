//! Times and sizes, for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use harness_session::Timestamp;

/// The last millisecond of the year 9999: no clock shows more.
const END_OF_TIME: u64 = 253_402_300_799_000;

/// A time: `2026-03-01 14:05:09 UTC`.
pub(crate) fn date_time(time: Timestamp) -> String {
    let time: SystemTime = UNIX_EPOCH + Duration::from_millis(time.0.min(END_OF_TIME));
    let text = humantime::format_rfc3339_seconds(time).to_string();
    text.replace('T', " ").replace('Z', " UTC")
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

/// How long something took: `12 ms`, `3.4 s`, `2 min 5 s`.
pub(crate) fn span_of_time(time: Duration) -> String {
    let (seconds, micros) = (time.as_secs(), time.as_micros());
    match seconds {
        0 if micros < 1_000 => format!("{micros} µs"),
        0 => format!("{} ms", time.as_millis()),
        1..60 => format!("{}.{} s", seconds, time.subsec_millis() / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..360_000 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d", grouped(seconds / 86_400)),
    }
}

/// A sum of money: `$0.0123`, `$1.50`.
pub(crate) fn dollars(sum: f64) -> String {
    if sum.abs() < 1.0 {
        format!("${sum:.4}")
    } else {
        format!("${sum:.2}")
    }
}

/// A number with its thousands apart: `12,345`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number in few characters: `900`, `12.3k`, `1.2M`.
pub(crate) fn short(number: f64) -> String {
    match number.abs() {
        1_000_000.0.. => format!("{:.1}M", number / 1_000_000.0),
        1_000.0.. => format!("{:.1}k", number / 1_000.0),
        _ => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_can_be_read() {
        assert_eq!(
            date_time(Timestamp(951_782_400_000)),
            "2000-02-29 00:00:00 UTC"
        );
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
        let checks = [
            (0, "0 µs"),
            (999_000, "999 µs"),
            (1_000_000, "1 ms"),
            (999_999_999, "999 ms"),
            (59_990_000_000, "59.9 s"),
            (125_000_000_000, "2 min 5 s"),
            (7_260_000_000_000, "2 h 1 min"),
            (u64::MAX, "213,503 d"),
        ];
        for (nanos, expected) in checks {
            assert_eq!(span_of_time(Duration::from_nanos(nanos)), expected);
        }
        assert_eq!([1_234_567, 999, 0].map(grouped), ["1,234,567", "999", "0"]);
        assert_eq!(
            [0.0, 999.0, 12_345.0, 2e6].map(short),
            ["0", "999", "12.3k", "2.0M"]
        );
        assert_eq!([0.012_34, 1.5].map(dollars), ["$0.0123", "$1.50"]);
    }
}
