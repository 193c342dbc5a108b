//! Property tests: many cases of one law, each generated from its own seed.
//!
//! A failure reports its seed; `FORKLORE_SEED=<seed>` runs only that case.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use fastrand::Rng;

/// Runs `case` `count` times on all cores; `law` gives each law its own seeds.
pub fn run(law: &str, count: usize, case: impl Fn(&mut Rng) + Sync) {
    if let Some(seed) = seed() {
        case(&mut Rng::with_seed(seed));
        return;
    }
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return;
                        }
                        if let Err(failure) = run_one(law, number, &case) {
                            // Stops the other threads.
                            next.store(count, Ordering::Relaxed);
                            panic!("{failure}");
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            if let Err(panic) = worker.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

fn run_one(law: &str, number: usize, case: &(impl Fn(&mut Rng) + Sync)) -> Result<(), String> {
    let seed = seed_of(law, number);
    catch_unwind(AssertUnwindSafe(|| case(&mut Rng::with_seed(seed)))).map_err(|panic| {
        let said = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("it panicked");
        format!("{law}, case {number}, to be seen again with FORKLORE_SEED={seed}: {said}")
    })
}

/// The seed of a law's case: the same on every machine, and different for each law.
pub fn seed_of(law: &str, number: usize) -> u64 {
    law.bytes().chain(number.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// The single case to run, if one was requested.
pub fn seed() -> Option<u64> {
    number_from("FORKLORE_SEED")
}

/// The number of cases to run: `usual`, unless the environment variable overrides it.
pub fn count_from(variable: &str, usual: usize) -> usize {
    number_from(variable).map_or(usual, |count| count as usize)
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
