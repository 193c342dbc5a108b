//! A clock that the test sets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_tavern::chance::{Chance, RealChance};

#[derive(Debug)]
pub(crate) struct Clock(AtomicU64);

impl Clock {
    /// It is never taken down: a history holds on to it.
    pub(crate) fn new() -> &'static Self {
        Box::leak(Box::new(Self(AtomicU64::new(1_700_000_000_000))))
    }

    /// A second later.
    pub(crate) fn tick(&self) -> SystemTime {
        self.0.fetch_add(1000, Ordering::Relaxed);
        self.now()
    }
}

impl Chance for Clock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn slug(&self) -> String {
        RealChance.slug()
    }

    fn sleep(&self, time: Duration) {
        RealChance.sleep(time);
    }
}
