//! Times as people say them.

use std::time::{Duration, SystemTime};

use forklore_tavern::chance::now_of;

use crate::text::count;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// `3 minutes ago` for the last day, before that (and where a clock was wrong) the date and time in
/// UTC.
pub(crate) fn said(time: SystemTime, now: SystemTime) -> String {
    let ago = now.duration_since(time).map(|ago| ago.as_secs());
    match ago {
        Ok(0..MINUTE) => "just now".to_owned(),
        Ok(ago @ MINUTE..HOUR) => {
            format!("{} ago", count((ago / MINUTE) as usize, "minute", "minutes"))
        }
        Ok(ago @ HOUR..DAY) => format!("{} ago", count((ago / HOUR) as usize, "hour", "hours")),
        _ => date(time),
    }
}

/// Whether [`said`] says it as a date.
pub(crate) fn is_date(time: SystemTime, now: SystemTime) -> bool {
    now.duration_since(time).is_ok_and(|ago| ago >= Duration::from_secs(DAY)) || time > now
}

fn date(time: SystemTime) -> String {
    iso(time).chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

/// For programs.
pub(crate) fn iso(time: SystemTime) -> String {
    now_of(time).iso
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    #[test]
    fn the_last_day_is_told_by_how_long_ago_it_was() {
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let said = |ago| said(now - Duration::from_secs(ago), now);
        assert_eq!(said(59), "just now");
        assert_eq!(said(60), "1 minute ago");
        assert_eq!(said(59 * MINUTE), "59 minutes ago");
        assert_eq!(said(DAY - 1), "23 hours ago");
        assert_eq!(said(DAY), "2027-01-14 08:00");
        assert_eq!(super::said(now + Duration::from_secs(1), now), "2027-01-15 08:00");
        assert!(is_date(now + Duration::from_secs(1), now));
        assert!(!is_date(now, now));
    }
}
