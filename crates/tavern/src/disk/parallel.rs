//! Runs the same work on many files in parallel.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `work` for every item on all cores (at most 8). Each thread reuses one buffer.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    tick: &(dyn Fn() + Sync),
    work: impl Fn(&T, &mut Vec<u8>) -> R + Sync,
) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    if cores.min(items.len()) < 2 {
        let mut buffer = Vec::new();
        let one = |item| {
            let result = work(item, &mut buffer);
            tick();
            result
        };
        return items.iter().map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..cores.min(items.len()) {
            scope.spawn(|| {
                let mut buffer = Vec::new();
                let mut own = Vec::new();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    own.push((at, work(item, &mut buffer)));
                    tick();
                }
                if let Ok(mut results) = results.lock() {
                    results.append(&mut own);
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
