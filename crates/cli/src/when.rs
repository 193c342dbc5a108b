//! Times as people write and type them, in local time.

use std::time::{Duration, SystemTime};

use forklore_tavern::disk::clock::timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::text::count;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// `3 minutes ago` within the last day; for older times, and for times in the future, [`absolute`].
pub(crate) fn relative(time: SystemTime, now: SystemTime, zone: &TimeZone) -> String {
    let ago = now.duration_since(time).map(|ago| ago.as_secs());
    match ago {
        Ok(0..MINUTE) => "just now".to_owned(),
        Ok(ago @ MINUTE..HOUR) => {
            format!("{} ago", count((ago / MINUTE) as usize, "minute", "minutes"))
        }
        Ok(ago @ HOUR..DAY) => format!("{} ago", count((ago / HOUR) as usize, "hour", "hours")),
        _ => absolute(time, now, zone),
    }
}

/// `today 14:05`, `yesterday 21:30`, `2026-11-15 21:30`
pub(crate) fn absolute(time: SystemTime, now: SystemTime, zone: &TimeZone) -> String {
    let (Some(time), Some(now)) = (zoned(time, zone), zoned(now, zone)) else { return iso(time) };
    let clock = time.strftime("%H:%M");
    match now.date().since(time.date()).map(|ago| ago.get_days()) {
        Ok(0) => format!("today {clock}"),
        Ok(1) => format!("yesterday {clock}"),
        _ => format!("{} {clock}", time.date()),
    }
}

/// [`absolute`] for an ISO timestamp. Any other text is returned unchanged.
pub(crate) fn from_iso(text: &str, now: SystemTime, zone: &TimeZone) -> String {
    match text.parse::<Timestamp>() {
        Ok(time) => absolute(time.into(), now, zone),
        Err(_) => text.to_owned(),
    }
}

/// The time of day.
pub(crate) fn clock(time: SystemTime, zone: &TimeZone) -> String {
    zoned(time, zone).map_or_else(|| iso(time), |time| time.strftime("%H:%M").to_string())
}

fn zoned(time: SystemTime, zone: &TimeZone) -> Option<Zoned> {
    Some(Timestamp::try_from(time).ok()?.to_zoned(zone.clone()))
}

/// The time as an ISO timestamp, for programs.
pub(crate) fn iso(time: SystemTime) -> String {
    timestamp(time).iso
}

/// A point in time as typed: `yesterday`, `"yesterday 21:00"`, `21:00`, `2026-11-15`, `"2026-11-15
/// 21:00"`, or an age: `90min`, `12h`, `3d`, `2w`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedTime {
    Ago(Duration),
    /// A number of days ago, at a time of day.
    DaysAgo(i64, Time),
    On(Date, Time),
}

impl TypedTime {
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            "a time is `yesterday`, `21:00`, `\"2026-11-15 21:00\"`, or how long ago: 90min, 12h, 3d, 2w"
                .to_owned()
        };
        let text = text.trim();
        if let Some(age) = parse_age(text) {
            return Ok(Self::Ago(age));
        }
        let (day, time) = match text.split_once([' ', 'T']) {
            Some((day, time)) => (day, time.trim().parse().map_err(|_| wrong())?),
            None if text.contains(':') => ("today", text.parse().map_err(|_| wrong())?),
            None => (text, Time::midnight()),
        };
        match day.to_ascii_lowercase().as_str() {
            "today" => Ok(Self::DaysAgo(0, time)),
            "yesterday" => Ok(Self::DaysAgo(1, time)),
            day => Ok(Self::On(day.parse().map_err(|_| wrong())?, time)),
        }
    }

    /// The point in time, relative to `now`.
    pub(crate) fn resolve(self, now: SystemTime, zone: &TimeZone) -> SystemTime {
        let (date, time) = match self {
            Self::Ago(age) => {
                let began = SystemTime::UNIX_EPOCH;
                return now.checked_sub(age).unwrap_or(began).max(began);
            }
            Self::DaysAgo(days, time) => {
                let today = zoned(now, zone).map_or(Date::MIN, |now| now.date());
                let day = today.checked_sub(SignedDuration::from_hours(24 * days));
                (day.unwrap_or(Date::MIN), time)
            }
            Self::On(date, time) => (date, time),
        };
        let moment = date.to_datetime(time).to_zoned(zone.clone());
        moment.map_or(SystemTime::UNIX_EPOCH, |moment| moment.timestamp().into())
    }
}

/// Parses `90min`, `12h`, `30d`, `2w`, `1y`.
fn parse_age(text: &str) -> Option<Duration> {
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let seconds = match unit {
        "min" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        "w" => 7 * DAY,
        "y" => 365 * DAY,
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    number.checked_mul(seconds).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    /// 15 January 2027, 08:00 UTC, which is 09:30 in the test's time zone.
    const NOW: Duration = Duration::from_secs(1_800_000_000);

    fn zone() -> TimeZone {
        TimeZone::fixed(jiff::tz::Offset::from_seconds(5400).expect("an offset"))
    }

    fn now() -> SystemTime {
        UNIX_EPOCH + NOW
    }

    #[test]
    fn the_last_day_is_told_by_how_long_ago_it_was() {
        let said = |ago| relative(now() - Duration::from_secs(ago), now(), &zone());
        assert_eq!(said(59), "just now");
        assert_eq!(said(60), "1 minute ago");
        assert_eq!(said(59 * MINUTE), "59 minutes ago");
        assert_eq!(said(DAY - 1), "23 hours ago");
        assert_eq!(said(DAY), "yesterday 09:30");
        assert_eq!(said(2 * DAY), "2027-01-13 09:30");
    }

    #[test]
    fn a_day_begins_at_midnight_where_one_lives() {
        let absolute = |time| absolute(time, now(), &zone());
        assert_eq!(absolute(now() - Duration::from_secs(9 * HOUR)), "today 00:30");
        assert_eq!(absolute(now() - Duration::from_secs(10 * HOUR)), "yesterday 23:30");
        // The clock was wrong: this time is in the future.
        assert_eq!(absolute(now() + Duration::from_secs(DAY)), "2027-01-16 09:30");
    }

    #[test]
    fn what_is_typed_is_a_point_in_time() {
        let at = |text| {
            absolute(TypedTime::parse(text).expect(text).resolve(now(), &zone()), now(), &zone())
        };
        assert_eq!(at("yesterday"), "yesterday 00:00");
        assert_eq!(at("Yesterday 21:00"), "yesterday 21:00");
        assert_eq!(at("21:05"), "today 21:05");
        assert_eq!(at("today 07:05"), "today 07:05");
        assert_eq!(at("2026-11-15"), "2026-11-15 00:00");
        assert_eq!(at("2026-11-15 21:00"), "2026-11-15 21:00");
        assert_eq!(at("2026-11-15T21:00"), "2026-11-15 21:00");
        assert_eq!(at("90min"), "today 08:00");
        assert_eq!(at("2w"), "2027-01-01 09:30");
        for wrong in ["", "soon", "25:00", "2026-13-01", "12", "yesterday at nine", "-3d"] {
            assert!(TypedTime::parse(wrong).is_err(), "{wrong}");
        }
        assert!(TypedTime::parse("99999999999999999d").is_err());
        assert_eq!(at("9999999y"), "1970-01-01 01:30");
    }

    #[test]
    fn an_age_has_a_unit() {
        assert_eq!(parse_age("12h"), Some(Duration::from_secs(12 * HOUR)));
        for wrong in ["", "h", "12", "12m", "d30", "é"] {
            assert!(parse_age(wrong).is_none(), "{wrong}");
        }
    }
}
