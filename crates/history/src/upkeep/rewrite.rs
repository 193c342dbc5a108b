//! Takes versions out of the past of others, which changes the ids of those that stay. Their content
//! and everything recorded about them stay as they are.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Result;
use crate::git::object::{Id, Kind};
use crate::store::Writing;
use crate::version::commit::StoredVersion;

/// Rewrites versions.
pub(crate) struct Rewriting<'w, 's, 'd> {
    writing: &'w mut Writing<'s, 'd>,
    /// The versions that lose their parents.
    first: FxHashSet<Id>,
    /// What each version became.
    done: FxHashMap<Id, Id>,
}

impl<'w, 's, 'd> Rewriting<'w, 's, 'd> {
    pub(crate) fn new(writing: &'w mut Writing<'s, 'd>, first: FxHashSet<Id>) -> Self {
        Self { writing, first, done: FxHashMap::default() }
    }

    /// Rewrites a version and those before it as necessary. Returns the new version.
    pub(crate) fn rewrite(&mut self, tip: Id) -> Result<Id> {
        let mut chain = Vec::new();
        let mut next = Some(tip);
        while let Some(id) = next {
            // Lost versions stay lost, and are still referenced.
            if self.done.contains_key(&id) || !self.writing.has(&id) {
                break;
            }
            let stored = StoredVersion::read(self.writing.store(), id)?;
            next = stored.parent.filter(|_| !self.first.contains(&id));
            chain.push(stored);
        }
        for stored in chain.into_iter().rev() {
            let parent = stored.parent.filter(|_| !self.first.contains(&stored.id));
            let parent = parent.map(|id| self.done.get(&id).copied().unwrap_or(id));
            let now = match parent == stored.parent {
                true => stored.id,
                false => self.write_commit(&stored.id, parent)?,
            };
            self.done.insert(stored.id, now);
        }
        Ok(self.done.get(&tip).copied().unwrap_or(tip))
    }

    fn write_commit(&mut self, id: &Id, parent: Option<Id>) -> Result<Id> {
        let text = self.writing.read(id, Kind::Commit)?;
        self.writing.put(Kind::Commit, with_parent(&text, parent.as_ref()), parent)
    }
}

/// The text of a commit with another parent, and everything else unchanged.
fn with_parent(text: &[u8], parent: Option<&Id>) -> Vec<u8> {
    let mut new = Vec::with_capacity(text.len() + 64);
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
        let body = "author x\n\nparent of all\ntree of life\n\nThing: 4\n";
        let with = format!("tree {id}\nparent {id}\n{body}");
        let without = format!("tree {id}\n{body}");
        assert_eq!(with_parent(with.as_bytes(), None), without.as_bytes());
        assert_eq!(with_parent(without.as_bytes(), Some(&id)), with.as_bytes());
        assert_eq!(with_parent(with.as_bytes(), Some(&id)), with.as_bytes());
    }
}
