//! What each copy of a book in the page is based on.
//!
//! The page holds several copies of a book: in its cache, in the editor, in other extensions. They
//! are made at different times, some from one another, and each can be saved. What a save has
//! changed can only be determined against the version of that very copy that is known to be on the
//! server.

use std::sync::Arc;

use super::Moves;
use super::save_merge::is_same_book;

/// How many books to remember by name, for copies whose origin was not observed.
pub(super) const REMEMBERED: usize = 30;

/// The text of a book.
pub(super) type Text = Arc<[u8]>;
pub(super) type VersionId = u32;
/// The page's number for one of its copies.
pub type CopyId = u32;

/// The content of a copy at some point in time.
#[derive(Clone, Debug)]
pub(super) struct Version {
    /// The book, as given by [`book_key`](crate::sillytavern::names::book_key).
    pub(super) key: String,
    pub(super) text: Text,
    /// The version it was made from; not needed once it is saved.
    parent: Option<VersionId>,
    /// Whether its content has reached the server.
    is_saved: bool,
    /// The text that was read before this one, if it was read.
    earlier: Option<Text>,
    /// Entries that have another number on the server.
    pub(super) moves: Moves,
}

impl Version {
    fn read(key: &str, text: Text) -> Self {
        let (key, moves) = (key.to_owned(), Moves::default());
        Self { key, text, parent: None, is_saved: true, earlier: None, moves }
    }

    fn unsaved(key: &str, text: Text, parent: Option<VersionId>) -> Self {
        Self { parent, is_saved: false, ..Self::read(key, text) }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct PageCopy {
    version: Option<VersionId>,
    /// Whether it may have been edited since its version.
    is_edited: bool,
}

#[derive(Debug, Default)]
pub(super) struct Lineage {
    versions: Vec<(VersionId, Version)>,
    next: VersionId,
    copies: Vec<(CopyId, PageCopy)>,
    /// One version per book, the most recently used last.
    newest: Vec<VersionId>,
    /// Versions that are being saved.
    saving: Vec<VersionId>,
}

impl Lineage {
    pub(super) fn version(&self, id: VersionId) -> Option<&Version> {
        self.versions.iter().find(|(known, _)| *known == id).map(|(_, version)| version)
    }

    fn copy(&self, id: CopyId) -> Option<PageCopy> {
        self.copies.iter().find(|(known, _)| *known == id).map(|(_, copy)| *copy)
    }

    fn copy_mut(&mut self, id: CopyId) -> &mut PageCopy {
        let known = self.copies.iter().position(|(known, _)| *known == id);
        let at = known.unwrap_or_else(|| {
            self.copies.push((id, PageCopy::default()));
            self.copies.len() - 1
        });
        &mut self.copies[at].1
    }

    fn newest(&self, key: &str) -> Option<(VersionId, &Version)> {
        let mut newest = self.newest.iter().filter_map(|id| Some((*id, self.version(*id)?)));
        newest.find(|(_, version)| version.key == key)
    }

    /// The version of a copy of this book.
    fn of_copy(&self, copy: CopyId, key: &str) -> Option<VersionId> {
        let id = self.copy(copy)?.version?;
        (self.version(id)?.key == key).then_some(id)
    }

    fn add(&mut self, version: Version) -> VersionId {
        self.next += 1;
        self.versions.push((self.next, version));
        self.next
    }

    fn add_newest(&mut self, version: Version) -> VersionId {
        if let Some((old, _)) = self.newest(&version.key) {
            self.newest.retain(|id| *id != old);
        }
        let id = self.add(version);
        self.newest.push(id);
        if self.newest.len() > REMEMBERED {
            self.newest.remove(0);
        }
        id
    }

    /// A book was read from the server.
    pub(super) fn remember(&mut self, key: &str, text: Text) -> VersionId {
        let earlier = self.newest(key).map(|(_, version)| version.text.clone());
        let earlier = earlier.filter(|earlier| *earlier != text);
        let id = self.add_newest(Version { earlier, ..Version::read(key, text) });
        self.sweep();
        id
    }

    pub(super) fn forget(&mut self, key: &str) {
        if let Some((old, _)) = self.newest(key) {
            self.newest.retain(|id| *id != old);
        }
        self.sweep();
    }

    /// Whether [`cached`](Self::cached) needs the copy's text.
    pub(super) fn was_read_twice(&self, key: &str) -> bool {
        self.newest(key).is_some_and(|(_, newest)| newest.earlier.is_some())
    }

    /// A copy was put into the page's cache: just read, or about to be saved.
    pub(super) fn cached(&mut self, key: &str, copy: CopyId, text: Option<&[u8]>) {
        if self.of_copy(copy, key).is_none()
            && let Some((id, newest)) = self.newest(key)
        {
            // If the server was asked twice, the page may use the first answer after the second has
            // arrived.
            let earlier = newest.earlier.clone().filter(|earlier| Some(&**earlier) == text);
            let earlier = earlier.map(|text| Version { text, ..newest.clone() });
            let id = earlier.map_or(id, |version| self.add(version));
            self.copy_mut(copy).version = Some(id);
        }
        self.copy_mut(copy).is_edited = true;
        self.sweep();
    }

    /// Whether [`copied`](Self::copied) needs the original's text.
    pub(super) fn may_be_edited(&self, original: CopyId) -> bool {
        self.copy(original).is_some_and(|copy| copy.is_edited && copy.version.is_some())
    }

    /// A copy was made from another one, including its edits so far.
    pub(super) fn copied(&mut self, original: CopyId, copy: CopyId, text: Option<Text>) {
        let Some(PageCopy { version: Some(parent), is_edited }) = self.copy(original) else {
            return;
        };
        let mut version = parent;
        if is_edited
            && let Some(text) = text
            && let Some(found) = self.version(parent)
            && found.text != text
        {
            // From here on the two differ. Whichever is saved first, their common part is saved
            // with it.
            let edited = Version::unsaved(&found.key, text, Some(parent));
            version = self.add(edited);
        }
        *self.copy_mut(original) = PageCopy { version: Some(version), is_edited: false };
        self.copy_mut(copy).version = Some(version);
        self.sweep();
    }

    /// The page has dropped a copy.
    pub(super) fn release(&mut self, copy: CopyId) {
        self.copies.retain(|(known, _)| *known != copy);
        self.sweep();
    }

    /// A save of this text is sent, of this copy if it is known.
    pub(super) fn begin(&mut self, key: &str, copy: Option<CopyId>, text: Text) -> VersionId {
        let own = copy.and_then(|copy| self.of_copy(copy, key));
        let parent = own.or_else(|| self.newest(key).map(|(id, _)| id));
        let id = self.add_newest(Version::unsaved(key, text, parent));
        self.saving.push(id);
        if let Some(copy) = copy {
            *self.copy_mut(copy) = PageCopy { version: Some(id), is_edited: false };
        }
        self.sweep();
        id
    }

    /// The nearest ancestor of a version that is on the server; `None` if the book never was.
    pub(super) fn base_of(&self, id: VersionId) -> Option<&Version> {
        let mut base = self.version(self.version(id)?.parent?)?;
        while !base.is_saved {
            base = self.version(base.parent?)?;
        }
        Some(base)
    }

    /// Whether a copy was made from this content of the server, as far as that is known.
    pub(super) fn is_based_on(&self, key: &str, copy: CopyId, text: &[u8]) -> bool {
        let Some(own) = self.of_copy(copy, key) else { return true };
        let mut next = Some(own);
        while let Some(version) = next.and_then(|id| self.version(id)) {
            if is_same_book(&version.text, text) {
                return true;
            }
            // A version that is on the server has none.
            next = version.parent;
        }
        false
    }

    /// A version has reached the server, and with it everything it was made from.
    pub(super) fn saved(&mut self, id: VersionId, moves: &Moves) {
        let mut next = Some(id);
        while let Some((at, version)) =
            self.versions.iter_mut().find(|(known, _)| Some(*known) == next)
            && !version.is_saved
        {
            version.is_saved = true;
            version.moves = if *at == id { moves.clone() } else { moves.within(&version.text) };
            next = version.parent.take();
        }
    }

    /// A save has ended.
    pub(super) fn end(&mut self, id: VersionId) {
        self.saving.retain(|saving| *saving != id);
        self.sweep();
    }

    /// A copy was replaced in the page's cache by the book as it is on the server.
    pub(super) fn replaced(&mut self, key: &str, copy: CopyId, text: Text) {
        let id = self.remember(key, text);
        self.copy_mut(copy).version = Some(id);
    }

    /// Drops versions that can no longer be the base of a save.
    fn sweep(&mut self) {
        let copies = self.copies.iter().filter_map(|(_, copy)| copy.version);
        let named: Vec<VersionId> =
            copies.chain(self.newest.iter().copied()).chain(self.saving.iter().copied()).collect();
        // A version is younger than the one it was made from.
        for at in (0..self.versions.len()).rev() {
            let (id, version) = &self.versions[at];
            let (id, parent, is_saved) = (*id, version.parent, version.is_saved);
            let is_child = |child: &Version| child.parent == Some(id);
            let children = self.versions.iter().filter(|(_, child)| is_child(child)).count();
            // An unsaved one in between is needed only where several were made from it.
            let is_needed = named.contains(&id) || children > 1 || (children == 1 && is_saved);
            if !is_needed {
                self.versions.remove(at);
                for (_, child) in self.versions.iter_mut().filter(|(_, child)| is_child(child)) {
                    child.parent = parent;
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.versions.len()
    }
}
