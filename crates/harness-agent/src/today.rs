//! Today's date.

use std::time::{Duration, UNIX_EPOCH};

/// The day of a time since the Unix epoch, in UTC: `Mon, 30 Nov 2026`.
pub(crate) fn today(now: Duration) -> String {
    // HTTP has no dates after the year 9999.
    let time = UNIX_EPOCH + now.min(Duration::from_secs(253_402_300_799));
    // The date of HTTP (RFC 9110, 5.6.7) begins with the day, in 16 characters.
    let mut date = httpdate::fmt_http_date(time);
    date.truncate(16);
    date
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_named_once_for_all_its_seconds() {
        for (seconds, day) in [
            (0, "Thu, 01 Jan 1970"),
            (86_399, "Thu, 01 Jan 1970"),
            (86_400, "Fri, 02 Jan 1970"),
            (951_782_400, "Tue, 29 Feb 2000"),
            (1_795_996_800, "Mon, 30 Nov 2026"),
        ] {
            assert_eq!(today(Duration::from_secs(seconds)), day);
        }
    }
}
