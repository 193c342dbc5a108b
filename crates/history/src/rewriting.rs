//! Gives versions other predecessors: the content and everything said of them stay, their names
//! change.

use rustc_hash::FxHashMap;

use crate::error::HistoryError;
use crate::git::object::{Id, Kind};
use crate::store::Writing;
use crate::version::Kept;

/// What becomes of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Keep,
    /// Its successors follow what it followed.
    Drop,
    /// Nothing comes before it any more.
    First,
}

/// Versions that are being rewritten.
pub(crate) struct Rewriting<'w, 's, 'd> {
    writing: &'w mut Writing<'s, 'd>,
    /// What each version has become; `None` where nothing of it or before it is left.
    now: FxHashMap<Id, Option<Id>>,
}

impl<'w, 's, 'd> Rewriting<'w, 's, 'd> {
    pub(crate) fn new(writing: &'w mut Writing<'s, 'd>) -> Self {
        Self { writing, now: FxHashMap::default() }
    }

    /// What a version becomes, after all that come before it.
    pub(crate) fn rewrite(
        &mut self,
        tip: Id,
        fate: &dyn Fn(&Id) -> Fate,
    ) -> Result<Option<Id>, HistoryError> {
        let mut chain = Vec::new();
        let mut next = Some(tip);
        while let Some(id) = next {
            // What is lost stays lost, and is still referred to.
            if self.now.contains_key(&id) || !self.writing.has(&id) {
                break;
            }
            let kept = Kept::read(self.writing.store(), id)?;
            next = kept.parent.filter(|_| fate(&id) != Fate::First);
            chain.push(kept);
        }
        for kept in chain.into_iter().rev() {
            let fate = fate(&kept.id);
            let before = kept.parent.filter(|_| fate != Fate::First);
            let before = before.and_then(|id| self.now.get(&id).copied().unwrap_or(Some(id)));
            let now = match fate {
                Fate::Drop => before,
                _ if before == kept.parent => Some(kept.id),
                _ => Some(self.with_parent(&kept, before)?),
            };
            self.now.insert(kept.id, now);
        }
        Ok(self.now.get(&tip).copied().unwrap_or(Some(tip)))
    }

    fn with_parent(&mut self, kept: &Kept, parent: Option<Id>) -> Result<Id, HistoryError> {
        let text = self.writing.read(&kept.id, Kind::Commit)?;
        let text = with_parent(&text, parent.as_ref());
        self.writing.put(Kind::Commit, text, parent)
    }
}

/// The text of a commit with another parent, and all else as it is.
fn with_parent(text: &[u8], parent: Option<&Id>) -> Vec<u8> {
    let mut new = Vec::with_capacity(text.len() + 48);
    let mut is_header = true;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        is_header &= line != b"\n";
        if is_header && line.starts_with(b"parent ") {
            continue;
        }
        new.extend_from_slice(line);
        if is_header
            && line.starts_with(b"tree ")
            && let Some(parent) = parent
        {
            new.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_parent_changes() {
        let id = Id::from_hex(b"0123456789012345678901234567890123456789").unwrap();
        let with = format!("tree {id}\nparent {id}\nauthor x\n\nwords\nparent of all\n");
        let without = format!("tree {id}\nauthor x\n\nwords\nparent of all\n");
        assert_eq!(with_parent(with.as_bytes(), None), without.as_bytes());
        assert_eq!(with_parent(without.as_bytes(), Some(&id)), with.as_bytes());
        assert_eq!(with_parent(with.as_bytes(), Some(&id)), with.as_bytes());
    }
}
