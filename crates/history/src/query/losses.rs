//! Versions that look like a loss, and whether the content has come back.

use forklore_core::compare::change_summary::Collapse;
use rustc_hash::FxHashSet;

use crate::error::{IfReadable as _, Result};
use crate::file::{FileKind, FileName};
use crate::git::object::Id;
use crate::version::commit::{Origin, StoredVersion};
use crate::version::history::History;
use crate::version::lineage::{Lineage, lineage_of};

/// A version that looks like a loss and has not been made good since.
#[derive(Clone, Debug)]
pub struct Loss {
    pub reference: String,
    /// The file's current name.
    pub file: FileName,
    pub lost: StoredVersion,
    /// The last good version before it.
    pub good: StoredVersion,
}

impl Loss {
    /// What happened, in a few words.
    pub fn words(&self) -> String {
        let code = self.lost.version.collapse.as_deref().unwrap_or_default();
        let collapse = Collapse::from_code(code).map(|collapse| collapse.words());
        collapse.unwrap_or_else(|| self.lost.version.words.clone())
    }

    /// The ref that marks the loss as dismissed by the user.
    pub fn dismissal(&self) -> String {
        dismissal(&self.reference, self.lost.version.number)
    }
}

pub(crate) fn dismissal(reference: &str, number: u64) -> String {
    format!("refs/dismissed/{}/{number}", lineage_of(reference))
}

impl History<'_> {
    /// Versions of this machine's files that look like a loss, newest first, unless a later version
    /// has at least as much content as the good one, or the user dismissed it.
    pub fn losses(&self) -> Result<Vec<Loss>> {
        let mut losses = Vec::new();
        for lineage in self.lineages().own(self.machine()) {
            losses.extend(self.losses_of(lineage)?);
        }
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.lost.version.order));
        Ok(losses)
    }

    /// The losses of one file.
    pub fn losses_of(&self, lineage: &Lineage) -> Result<Vec<Loss>> {
        let mut losses = Vec::new();
        if self.pins(lineage).is_empty() {
            return Ok(losses);
        }
        let mut later = LaterVersions::default();
        let mut lost: Option<StoredVersion> = None;
        for stored in self.versions(&lineage.tip) {
            if let Some(lost) = lost.take() {
                let is_open = !later.make_good(&lost, &stored)
                    && !self
                        .store()
                        .refs()
                        .contains_key(&dismissal(&lineage.reference, lost.version.number));
                later.add(&lost);
                // After several losses in a row, only the version before all of them is worth
                // restoring.
                if is_open && stored.version.collapse.is_none() {
                    let (reference, file) = (lineage.reference.clone(), lineage.file().clone());
                    // The best that can still be read.
                    let good = self.last_there(&stored).if_readable()?;
                    let good = good.map_or_else(|| stored.clone(), |(good, _)| good);
                    losses.push(Loss { reference, file, lost, good });
                }
            }
            if stored.version.lineage != lineage_of(&lineage.reference) {
                break;
            }
            if stored.version.collapse.is_some() {
                lost = Some(stored);
            } else {
                later.add(&stored);
            }
        }
        Ok(losses)
    }
}

/// What is known about the versions after a loss.
#[derive(Default)]
struct LaterVersions {
    /// The highest number of messages or entries in any of them.
    most: Option<u64>,
    /// The same, only among those that look like a loss themselves.
    most_in_losses: Option<u64>,
    /// The size of the largest version that is not a loss.
    most_bytes: Option<u64>,
    restored: bool,
    trees: FxHashSet<Id>,
}

impl LaterVersions {
    fn add(&mut self, stored: &StoredVersion) {
        let version = &stored.version;
        self.most = self.most.max(version.count);
        if version.collapse.is_some() {
            self.most_in_losses = self.most_in_losses.max(version.count);
        } else if version.why != Origin::Deleted {
            self.most_bytes = self.most_bytes.max(Some(version.bytes));
            self.trees.insert(stored.tree);
        }
        self.restored |= matches!(version.why, Origin::Restored { .. });
    }

    fn make_good(&self, lost: &StoredVersion, good: &StoredVersion) -> bool {
        let is_replaced = lost.version.collapse.as_deref() == Some(&*Collapse::Replaced.code());
        let has = |most: Option<u64>| most.is_some() && most >= good.version.count;
        self.restored
            || self.trees.contains(&good.tree)
            || match good.version.count {
                // The amount of other content says nothing.
                Some(_) if is_replaced => has(self.most_in_losses),
                Some(_) => has(self.most),
                // Any later card counts, whatever its size; settings that are much smaller do not.
                None if good.version.file.kind() == Some(FileKind::Card) => {
                    self.most_bytes.is_some()
                }
                None => self.most_bytes.is_some_and(|most| most >= good.version.bytes / 10 * 9),
            }
    }
}
