//! All versions of all files in the order in which they were recorded.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

use crate::error::HistoryError;
use crate::history::History;
use crate::lineage::Lineage;
use crate::version::Kept;

/// Everything that was recorded, the newest first; not what SillyTavern's own backups add to it.
///
/// What one machine recorded comes in the order in which it did, whatever its clock said; only between
/// machines do clocks decide.
pub struct Everything<'h, 'd> {
    history: &'h History<'d>,
    machines: Vec<BinaryHeap<Next<'h>>>,
}

/// By the order in which they were recorded.
struct Next<'h> {
    lineage: &'h Lineage,
    kept: Kept,
}

impl<'h> Iterator for Everything<'h, '_> {
    type Item = Result<(&'h Lineage, Kept), HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let recorded =
            |machine: &BinaryHeap<Next<'_>>| machine.peek().map(|next| next.kept.version.recorded);
        let machine = self.machines.iter_mut().max_by_key(|machine| recorded(machine))?;
        let Next { lineage, kept } = machine.pop()?;
        if let Some(parent) = kept.parent {
            match Kept::read(self.history.store(), parent) {
                Ok(before) if before.version.lineage == kept.version.lineage => {
                    machine.push(Next { lineage, kept: before });
                }
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok((lineage, kept)))
    }
}

impl Ord for Next<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |next: &Self| (next.kept.version.order, next.kept.id);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Next<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Next<'_> {}

impl<'d> History<'d> {
    /// Everything of the files that `is_meant`. Those of others are not read.
    pub fn everything(&self, is_meant: impl Fn(&Lineage) -> bool) -> Everything<'_, 'd> {
        let mut machines: BTreeMap<&str, BinaryHeap<Next<'_>>> = BTreeMap::new();
        let seen = self.lineages().iter().filter(|lineage| !lineage.is_imported());
        for lineage in seen.filter(|lineage| is_meant(lineage)) {
            let next = Next { lineage, kept: lineage.tip.clone() };
            machines.entry(&lineage.machine).or_default().push(next);
        }
        Everything { history: self, machines: machines.into_values().collect() }
    }
}
