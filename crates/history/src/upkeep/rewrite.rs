//! Gives versions new parents. Their content and metadata stay, except for the count of thinned
//! versions; their ids change.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::git::object::{Id, Kind};
use crate::store::Writing;
use crate::version::commit::{StoredVersion, THINNED};

/// What happens to a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionFate {
    Keep,
    /// Its successors get its parent.
    Drop,
    /// It loses its parent.
    First,
}

/// Rewrites versions.
pub(crate) struct Rewriting<'w, 's, 'd> {
    writing: &'w mut Writing<'s, 'd>,
    done: FxHashMap<Id, Rewritten>,
}

/// What a version was rewritten to.
#[derive(Clone, Copy)]
struct Rewritten {
    /// `None` if neither it nor any of its ancestors is left.
    now: Option<Id>,
    /// How many versions of the same file were dropped, up to and including this one.
    dropped: u64,
}

impl<'w, 's, 'd> Rewriting<'w, 's, 'd> {
    pub(crate) fn new(writing: &'w mut Writing<'s, 'd>) -> Self {
        Self { writing, done: FxHashMap::default() }
    }

    /// Rewrites a version and all of its ancestors. Returns the new version.
    pub(crate) fn rewrite(
        &mut self,
        tip: Id,
        fate: &dyn Fn(&Id) -> VersionFate,
    ) -> Result<Option<Id>> {
        let mut chain = Vec::new();
        let mut next = Some(tip);
        while let Some(id) = next {
            // Lost versions stay lost, and are still referenced.
            if self.done.contains_key(&id) || !self.writing.has(&id) {
                break;
            }
            let stored = StoredVersion::read(self.writing.store(), id)?;
            next = stored.parent.filter(|_| fate(&id) != VersionFate::First);
            chain.push(stored);
        }
        for stored in chain.into_iter().rev() {
            let fate = fate(&stored.id);
            let before = match stored.parent.filter(|_| fate != VersionFate::First) {
                Some(id) => self.done.get(&id).copied().unwrap_or(Rewritten::unchanged(id)),
                None => Rewritten { now: None, dropped: 0 },
            };
            // Whatever precedes the first version belongs to another file.
            let dropped = if stored.version.number == 1 { 0 } else { before.dropped };
            let done = match fate {
                VersionFate::Drop => Rewritten { now: before.now, dropped: dropped + 1 },
                _ if before.now == stored.parent => Rewritten::unchanged(stored.id),
                _ => Rewritten {
                    now: Some(self.write_commit(&stored, before.now, dropped)?),
                    dropped,
                },
            };
            self.done.insert(stored.id, done);
        }
        Ok(self.done.get(&tip).map_or(Some(tip), |done| done.now))
    }

    fn write_commit(
        &mut self,
        stored: &StoredVersion,
        parent: Option<Id>,
        dropped: u64,
    ) -> Result<Id> {
        let text = self.writing.read(&stored.id, Kind::Commit)?;
        let text = rewritten(&text, parent.as_ref(), stored.version.thinned + dropped);
        self.writing.put(Kind::Commit, text, parent)
    }
}

impl Rewritten {
    fn unchanged(id: Id) -> Self {
        Self { now: Some(id), dropped: 0 }
    }
}

/// The text of a commit with another parent and thinned count, and everything else unchanged.
fn rewritten(text: &[u8], parent: Option<&Id>, thinned: u64) -> Vec<u8> {
    let mut new = Vec::with_capacity(text.len() + 64);
    // Header, summary and trailers are separated by empty lines.
    let mut part = 0;
    let thinned_before = format!("{THINNED}: ");
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        part += usize::from(line == b"\n");
        let is_replaced = match part {
            0 => line.starts_with(b"parent "),
            1 => false,
            _ => line.starts_with(thinned_before.as_bytes()),
        };
        if is_replaced {
            continue;
        }
        new.extend_from_slice(line);
        if part == 0
            && line.starts_with(b"tree ")
            && let Some(parent) = parent
        {
            new.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
    }
    if thinned > 0 {
        new.extend_from_slice(format!("{THINNED}: {thinned}\n").as_bytes());
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_parent_changes_and_how_many_were_thinned_away() {
        let id = Id::from_hex(b"0123456789012345678901234567890123456789").unwrap();
        let body = "author x\n\nThinned: 9 parent of all\n\nThing: 4\n";
        let with = format!("tree {id}\nparent {id}\n{body}");
        let without = format!("tree {id}\n{body}");
        assert_eq!(rewritten(with.as_bytes(), None, 0), without.as_bytes());
        assert_eq!(rewritten(without.as_bytes(), Some(&id), 0), with.as_bytes());
        assert_eq!(rewritten(with.as_bytes(), Some(&id), 0), with.as_bytes());
        let thinned = rewritten(with.as_bytes(), Some(&id), 5);
        assert_eq!(thinned, format!("{with}Thinned: 5\n").as_bytes());
        let again = rewritten(&thinned, Some(&id), 17);
        assert_eq!(again, format!("{with}Thinned: 17\n").as_bytes());
    }
}
