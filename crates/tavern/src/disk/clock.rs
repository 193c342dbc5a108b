//! Time and randomness, which the core never accesses directly.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_core::plan::fork::Timestamp;

/// The outside inputs of an operation. Tests provide their own, so that runs are reproducible.
pub trait Clock: Send + Sync {
    fn now(&self) -> SystemTime;
    /// A fresh integrity slug for a chat, in SillyTavern's format.
    fn slug(&self) -> String;
    fn sleep(&self, time: Duration);
}

/// The system clock and random UUIDs.
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

/// Converts a time to the core's type.
pub fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp { iso: humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string() }
}
