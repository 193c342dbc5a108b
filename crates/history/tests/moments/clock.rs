//! A clock that the test sets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_tavern::disk::clock::{Clock, SystemClock};

#[derive(Debug)]
pub(crate) struct MovedClock(AtomicU64);

impl MovedClock {
    pub(crate) fn new() -> &'static Self {
        Self::starting_at(UNIX_EPOCH + Duration::from_secs(1_700_000_000))
    }

    /// It is leaked, because a history keeps a reference to it.
    pub(crate) fn starting_at(time: SystemTime) -> &'static Self {
        let milliseconds = time.duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        Box::leak(Box::new(Self(AtomicU64::new(milliseconds))))
    }

    /// Advances by a second.
    pub(crate) fn tick(&self) -> SystemTime {
        self.0.fetch_add(1000, Ordering::Relaxed);
        self.now()
    }
}

impl Clock for MovedClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn slug(&self) -> String {
        SystemClock.slug()
    }

    fn sleep(&self, time: Duration) {
        SystemClock.sleep(time);
    }
}
