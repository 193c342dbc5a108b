//! What looks like a loss, and whether it has come back.

use forklore_core::compare::change_summary::Collapse;
use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::file::{FileKind, FileName};
use crate::git::object::Id;
use crate::version::commit::{Origin, StoredVersion};
use crate::version::history::History;
use crate::version::lineage::{Lineage, lineage_of};

/// A version that looks like a loss, since which nothing has come back.
#[derive(Clone, Debug)]
pub struct Loss {
    pub reference: String,
    /// What the file is called now.
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

    /// The ref that says that somebody has seen it and wants no more of it.
    pub fn dismissal(&self) -> String {
        dismissal(&self.reference, self.lost.version.number)
    }
}

pub(crate) fn dismissal(reference: &str, number: u64) -> String {
    format!("refs/dismissed/{}/{number}", lineage_of(reference))
}

impl History<'_> {
    /// What looks like a loss in the files of this machine, the newest first, as long as no later
    /// version has as much in it as the good one had, and nobody has dismissed it.
    pub fn losses(&self) -> Result<Vec<Loss>> {
        let mut losses = Vec::new();
        for lineage in self.lineages().own(self.machine()) {
            losses.extend(self.losses_of(lineage)?);
        }
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.lost.version.order));
        Ok(losses)
    }

    /// Those of one file.
    pub fn losses_of(&self, lineage: &Lineage) -> Result<Vec<Loss>> {
        let mut losses = Vec::new();
        if self.pins(lineage).is_empty() {
            return Ok(losses);
        }
        let mut later = Later::default();
        let mut lost: Option<StoredVersion> = None;
        for kept in self.versions(&lineage.tip) {
            let kept = kept?;
            if let Some(lost) = lost.take() {
                let is_open = !later.brought_back(&lost, &kept)
                    && !self
                        .store()
                        .refs()
                        .contains_key(&dismissal(&lineage.reference, lost.version.number));
                later.add(&lost);
                // Of a loss upon a loss only what was there before both is worth having back.
                if is_open && kept.version.collapse.is_none() {
                    losses.push(Loss {
                        reference: lineage.reference.clone(),
                        file: lineage.file().clone(),
                        lost,
                        good: kept.clone(),
                    });
                }
            }
            if kept.version.lineage != lineage_of(&lineage.reference) {
                break;
            }
            if kept.version.collapse.is_some() {
                lost = Some(kept);
            } else {
                later.add(&kept);
            }
        }
        Ok(losses)
    }
}

/// What came after a loss.
#[derive(Default)]
struct Later {
    /// The most messages or entries that any version has.
    most: Option<u64>,
    /// The same of those at which as much changed as in a loss.
    most_at_once: Option<u64>,
    /// The most bytes of any version that is no loss.
    most_bytes: Option<u64>,
    restored: bool,
    trees: FxHashSet<Id>,
}

impl Later {
    fn add(&mut self, kept: &StoredVersion) {
        let version = &kept.version;
        self.most = self.most.max(version.count);
        if version.collapse.is_some() {
            self.most_at_once = self.most_at_once.max(version.count);
        } else if version.why != Origin::Deleted {
            self.most_bytes = self.most_bytes.max(Some(version.bytes));
            self.trees.insert(kept.tree);
        }
        self.restored |= matches!(version.why, Origin::Restored { .. });
    }

    fn brought_back(&self, lost: &StoredVersion, good: &StoredVersion) -> bool {
        let is_replaced = lost.version.collapse.as_deref() == Some(&*Collapse::Replaced.code());
        let has = |most: Option<u64>| most.is_some() && most >= good.version.count;
        self.restored
            || self.trees.contains(&good.tree)
            || match good.version.count {
                // How much there is of something else says nothing.
                Some(_) if is_replaced => has(self.most_at_once),
                Some(_) => has(self.most),
                // A card of any size is a card; settings that are much smaller are not these.
                None if good.version.file.kind() == Some(FileKind::Card) => {
                    self.most_bytes.is_some()
                }
                None => self.most_bytes.is_some_and(|most| most >= good.version.bytes / 10 * 9),
            }
    }
}
