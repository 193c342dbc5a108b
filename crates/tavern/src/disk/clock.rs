//! The clock and the dice, which the core never sees.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_core::plan::fork::Timestamp;

/// What an operation takes from outside. Tests bring their own, so that a run can be repeated.
pub trait Clock: Send + Sync {
    fn now(&self) -> SystemTime;
    /// A fresh slug for a chat, as SillyTavern makes them.
    fn slug(&self) -> String;
    fn sleep(&self, time: Duration);
}

/// The real ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn slug(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// A time as the core wants it.
pub fn now_of(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp { iso: humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string() }
}
