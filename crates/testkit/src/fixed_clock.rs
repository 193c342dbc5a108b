//! Clocks fixed at a time long after every file was written, with predictable slugs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_tavern::disk::clock::Clock;

/// Gives every chat its own slug, as in reality.
#[derive(Debug, Default)]
pub struct FixedClock {
    slugs: AtomicU64,
}

impl FixedClock {
    pub const NOW_MILLISECONDS: u64 = 4_000_000_000_000;
}

impl Clock for FixedClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(Self::NOW_MILLISECONDS)
    }

    fn slug(&self) -> String {
        format!("00000000-0000-4000-8000-{:012x}", self.slugs.fetch_add(1, Ordering::Relaxed))
    }

    /// There is nothing to wait for.
    fn sleep(&self, _: Duration) {}
}

/// Uses one slug for everything, so that repeating an action gives identical bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(FixedClock::NOW_MILLISECONDS)
    }

    fn slug(&self) -> String {
        "5100a000-0000-4000-8000-000000000000".into()
    }

    fn sleep(&self, _: Duration) {}
}
