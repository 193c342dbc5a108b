//! Thins out old versions on request: first a plan, then its execution.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Result;
use crate::file::FileName;
use crate::git::object::Id;
use crate::store::packs::{self, Packing};
use crate::upkeep::pack::repack;
use crate::upkeep::rewrite::{Rewriting, VersionFate};
use crate::version::commit::{Origin, StoredVersion};
use crate::version::history::History;
use crate::version::lineage::lineage_of;

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A larger jump between two versions, in either direction, means that the clock was changed or the
/// machine was off. No time counts as passed then, so that nothing ages because of it.
const LEAP: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Which versions are kept, by age. Beyond these ages, one version per week is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThinRules {
    pub all_for: Duration,
    /// Then the last of each hour, up to this age.
    pub hourly_for: Duration,
    /// Then the last of each day, up to this age.
    pub daily_for: Duration,
}

/// What thinning would do.
#[derive(Clone, Debug, Default)]
pub struct ThinPlan {
    /// Files that lose versions.
    pub files: Vec<ThinnedFile>,
    pub kept: usize,
    pub dropped: usize,
    drop: FxHashSet<Id>,
}

#[derive(Clone, Debug)]
pub struct ThinnedFile {
    pub file: FileName,
    pub kept: usize,
    /// The numbers of the dropped versions.
    pub dropped: Vec<u64>,
}

impl ThinRules {
    /// One version is kept per period of this length; `None` if all are kept.
    fn period(&self, age: Duration) -> Option<Duration> {
        match age {
            age if age <= self.all_for => None,
            age if age <= self.hourly_for => Some(HOUR),
            age if age <= self.daily_for => Some(DAY),
            _ => Some(WEEK),
        }
    }
}

/// Determines which versions would be dropped.
pub fn plan(history: &History<'_>, rules: ThinRules, now: SystemTime) -> Result<ThinPlan> {
    let mut own: BTreeMap<String, Vec<StoredVersion>> = BTreeMap::new();
    let mut machines: BTreeMap<String, Vec<(u64, SystemTime)>> = BTreeMap::new();
    let mut always: FxHashSet<Id> = numbered_refs(history);
    for lineage in history.lineages().iter() {
        let name = lineage_of(&lineage.reference);
        let mut versions = Vec::new();
        for stored in history.versions(&lineage.tip) {
            let stored = stored?;
            if stored.version.lineage != name {
                // The version of another file that this one started from.
                always.insert(stored.id);
                break;
            }
            let machine = machines.entry(lineage.machine.clone()).or_default();
            machine.push((stored.version.order, stored.version.recorded));
            versions.push(stored);
        }
        versions.reverse();
        own.insert(lineage.reference.clone(), versions);
    }
    let clocks: BTreeMap<String, Clock> =
        machines.into_iter().map(|(machine, times)| (machine, Clock::new(times, now))).collect();
    let mut plan = ThinPlan::default();
    for (reference, versions) in own {
        let Some(lineage) = history.lineages().get(&reference) else { continue };
        let Some(clock) = clocks.get(&lineage.machine) else { continue };
        let keep = versions_to_keep(&versions, rules, clock, &always);
        let gone: Vec<&StoredVersion> =
            versions.iter().filter(|stored| !keep.contains(&stored.id)).collect();
        plan.kept += versions.len() - gone.len();
        plan.dropped += gone.len();
        plan.drop.extend(gone.iter().map(|stored| stored.id));
        if !gone.is_empty() {
            plan.files.push(ThinnedFile {
                file: lineage.file().clone(),
                kept: versions.len() - gone.len(),
                dropped: gone.iter().map(|stored| stored.version.number).collect(),
            });
        }
    }
    Ok(plan)
}

/// Versions that have a ref of their own, such as pins and dismissals.
fn numbered_refs(history: &History<'_>) -> FxHashSet<Id> {
    let refs = history.store().refs().iter();
    refs.filter(|(name, _)| !name.starts_with("refs/heads/")).map(|(_, id)| *id).collect()
}

/// Which of a file's own versions to keep. They come oldest first.
fn versions_to_keep(
    versions: &[StoredVersion],
    rules: ThinRules,
    clock: &Clock,
    always: &FxHashSet<Id>,
) -> FxHashSet<Id> {
    let mut keep: FxHashSet<Id> = FxHashSet::default();
    keep.extend(versions.first().map(|stored| stored.id));
    keep.extend(versions.last().map(|stored| stored.id));
    let mut last_of: BTreeMap<(Duration, u128), Id> = BTreeMap::new();
    for (at, this) in versions.iter().enumerate() {
        let version = &this.version;
        let before = at.checked_sub(1).map(|at| versions[at].id);
        let is_turn = match version.why {
            Origin::Renamed { .. }
            | Origin::Deleted
            | Origin::Copied { .. }
            | Origin::Restored { .. } => true,
            Origin::Saved | Origin::Late | Origin::Found | Origin::Imported => {
                version.collapse.is_some()
            }
        };
        if is_turn {
            // Also the version before it.
            keep.extend(before);
            keep.insert(this.id);
        }
        if always.contains(&this.id) {
            keep.insert(this.id);
        }
        let (age, mut time) = clock.age_and_time(version.order);
        if version.why == Origin::Imported {
            // All of them were recorded at the same time.
            time = version.written.duration_since(UNIX_EPOCH).unwrap_or_default();
        }
        match rules.period(age) {
            None => drop(keep.insert(this.id)),
            Some(period) => {
                last_of.insert((period, time.as_nanos() / period.as_nanos()), this.id);
            }
        }
    }
    keep.extend(last_of.into_values());
    keep
}

/// The time that passed on a machine, derived from its versions in order, without the jumps of its
/// clock.
struct Clock {
    /// By order; since 1970 if the clock never jumped.
    times: FxHashMap<u64, Duration>,
    now: Duration,
}

impl Clock {
    fn new(mut recorded: Vec<(u64, SystemTime)>, now: SystemTime) -> Self {
        recorded.sort_unstable();
        let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let first = recorded.first().map_or(Duration::ZERO, |(_, time)| since(*time));
        let mut clock = Self { times: FxHashMap::default(), now: first };
        let mut latest = first;
        let mut advance = |clock: &mut Self, time: Duration| {
            if time > latest {
                let step = time - latest;
                clock.now += if step > LEAP { Duration::ZERO } else { step };
                latest = time;
            } else if latest - time > LEAP {
                latest = time;
            }
        };
        for (order, time) in recorded {
            advance(&mut clock, since(time));
            clock.times.insert(order, clock.now);
        }
        advance(&mut clock, since(now));
        clock
    }

    fn age_and_time(&self, order: u64) -> (Duration, Duration) {
        let time = self.times.get(&order).copied().unwrap_or(self.now);
        (self.now.saturating_sub(time), time)
    }
}

/// Carries out a plan: writes new commits, then the refs, then a single pack without the dropped
/// versions.
pub fn thin(history: &mut History<'_>, plan: &ThinPlan) -> Result<Packing> {
    let store = history.store_mut();
    let mut writing = store.write()?;
    writing.flush()?;
    let before = writing.store().refs().clone();
    let fate = |id: &Id| if plan.drop.contains(id) { VersionFate::Drop } else { VersionFate::Keep };
    let mut refs = before.clone();
    {
        let mut rewriting = Rewriting::new(&mut writing);
        for id in refs.values_mut() {
            if let Some(now) = rewriting.rewrite(*id, &fate)? {
                *id = now;
            }
        }
    }
    writing.set_refs(refs)?;
    let packing = repack(&mut writing)?;
    packs::remove_catalogs(writing.store())?;
    drop(writing);
    history.refresh()?;
    Ok(packing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(days: f64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs_f64((20_000.0 + days) * 86_400.0)
    }

    fn ages(times: &[f64], now: f64) -> Vec<i64> {
        let recorded = (1..).zip(times).map(|(order, days)| (order, at(*days))).collect();
        let clock = Clock::new(recorded, at(now));
        let ages = (1..=times.len() as u64).map(|order| clock.age_and_time(order).0);
        ages.map(|age| age.as_secs_f64() as i64 / 86_400).collect()
    }

    #[test]
    fn age_is_the_time_that_went_by() {
        assert_eq!(ages(&[0.0, 1.0, 5.0], 9.0), [9, 8, 4]);
    }

    #[test]
    fn a_clock_that_leaps_makes_nothing_older() {
        let honest = ages(&[0.0, 1.0, 2.0, 3.0], 4.0);
        for leap in [-3650.0, -20.0, 20.0, 3650.0] {
            for from in 0..4 {
                for to in from..=4 {
                    let mut times = [0.0, 1.0, 2.0, 3.0, 4.0];
                    times[from..to].iter_mut().for_each(|time| *time += leap);
                    let leapt = ages(&times[..4], times[4]);
                    let is_older = leapt.iter().zip(&honest).any(|(leapt, honest)| leapt > honest);
                    assert!(!is_older, "{leap} from {from} to {to}: {leapt:?}");
                }
            }
            assert_eq!(ages(&[0.0, 1.0], 1.0 + leap.abs()), [1, 0]);
        }
    }

    #[test]
    fn nothing_grows_old_by_a_clock_that_goes_back_and_forth() {
        let times: Vec<f64> =
            (0..100).map(|day| f64::from(day) + f64::from(day % 2) * 0.3).collect();
        assert_eq!(ages(&times, 99.3)[0], 99);
    }
}
