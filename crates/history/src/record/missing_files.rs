//! Deleted files, and whether they look like a loss.
//!
//! People delete a chat now and then, after confirming it. A failed sync, a slip in a file manager
//! or a dying disk takes many at once, without asking.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use forklore_core::sillytavern::book::Book;
use forklore_core::timeline::mark::Mark;
use forklore_tavern::disk::Disk;
use forklore_tavern::folder::layout::UserFolders;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{IfReadable as _, Result};
use crate::file::{FileKind, FileName};
use crate::git::object::Id;
use crate::query::losses::dismissal;
use crate::record::scan::{files, home, read_stable};
use crate::version::history::History;
use crate::version::lineage::Lineage;
use crate::version::tracked::Tracked;

/// For how long a deleted file is reported.
pub const RECENTLY: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Files recorded as deleted within this time of each other went together. With a confirmation for
/// each, no one deletes two chats this fast; and a scan records everything that disappeared since
/// the previous one at the same time.
const TOGETHER: Duration = Duration::from_secs(5);

/// A chat with this many messages, or a lorebook with this many entries, is not deleted lightly.
const LONG: u64 = 50;

/// Files that disappeared together.
#[derive(Clone, Debug)]
pub struct Vanished {
    /// Chats last: what they need comes before them.
    pub files: Vec<Lineage>,
    /// `None` if it is not recorded yet.
    pub noticed: Option<SystemTime>,
}

impl Vanished {
    /// What is gone, as a sentence without its full stop.
    pub fn words(&self) -> String {
        let what = match &self.files[..] {
            [only] => match only.kind {
                FileKind::Chat => format!("{} is gone", only.file().label()),
                FileKind::Settings => "the settings are gone".to_owned(),
                kind => format!("the {} {} is gone", kind.word(), only.file().label()),
            },
            _ => format!("{} are gone", listed(&self.kinds())),
        };
        match self.amounts() {
            amounts if amounts.is_empty() => what,
            amounts => format!("{what}, with {amounts}"),
        }
    }

    /// The same as a list: `14 chats, 4 lorebooks and the settings (412 messages and 20 entries)`.
    pub fn list(&self) -> String {
        let kinds = listed(&self.kinds());
        match self.amounts() {
            amounts if amounts.is_empty() => kinds,
            amounts => format!("{kinds} ({amounts})"),
        }
    }

    fn amounts(&self) -> String {
        let sum = |kind: FileKind| -> u64 {
            let of_kind = self.files.iter().filter(|file| file.kind == kind);
            of_kind.filter_map(|file| file.tip.version.count).sum()
        };
        let amounts = [
            counted(sum(FileKind::Chat), "message", "messages"),
            counted(sum(FileKind::Book), "entry", "entries"),
        ];
        amounts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
    }

    /// The character that all of these chats belong to, if there is one.
    pub fn character(&self) -> Option<String> {
        let mut owners = self.files.iter().map(owner);
        let first = owners.next()??;
        owners.all(|owner| owner.as_ref() == Some(&first)).then_some(first)
    }

    fn kinds(&self) -> Vec<String> {
        let mut kinds: BTreeMap<FileKind, u64> = BTreeMap::new();
        self.files.iter().for_each(|file| *kinds.entry(file.kind).or_default() += 1);
        let mut chats = self.files.iter().filter(|file| file.kind == FileKind::Chat).map(owner);
        let first = chats.next().flatten();
        let of = match first.filter(|first| chats.all(|owner| owner.as_ref() == Some(first))) {
            Some(character) => format!(" of {character}"),
            None => String::new(),
        };
        let words = kinds.into_iter().filter_map(|(kind, number)| match kind {
            FileKind::Chat => counted(number, "chat", "chats").map(|chats| chats + &of),
            FileKind::Book => counted(number, "lorebook", "lorebooks"),
            FileKind::Card => counted(number, "card", "cards"),
            FileKind::Group => counted(number, "group", "groups"),
            FileKind::Settings => Some("the settings".to_owned()),
        });
        words.collect()
    }
}

fn counted(number: u64, one: &str, many: &str) -> Option<String> {
    (number > 0).then(|| format!("{number} {}", if number == 1 { one } else { many }))
}

fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The character that a chat belongs to.
pub fn owner(lineage: &Lineage) -> Option<String> {
    let mut parts = lineage.file().as_str().split('/');
    let is_chat = lineage.kind == FileKind::Chat && parts.next() == Some("chats");
    parts.nth(1)?;
    is_chat.then(|| lineage.file().label().rsplit_once('/').map(|(owner, _)| owner.to_owned()))?
}

/// Files that are no longer on disk, but are not recorded as deleted yet. A file with the same
/// content under a new name counts as renamed, not missing.
pub fn missing<'h>(
    history: &'h History<'_>,
    disk: &dyn Disk,
    folders: &UserFolders,
) -> Result<Vec<&'h Lineage>> {
    let home = home(folders);
    let own = history.lineages().own(history.machine()).filter(|lineage| !lineage.is_deleted());
    // A file whose stat fails is not known to be gone.
    let is_gone =
        |lineage: &&Lineage| matches!(disk.stat(&home.join(lineage.file().to_path())), Ok(None));
    let mut gone: Vec<&Lineage> = own.filter(is_gone).collect();
    if gone.is_empty() {
        return Ok(gone);
    }
    let (found, _) = files(disk, folders);
    let new = found.into_iter().filter(|found| history.lineages().live(&found.name).is_none());
    let mut new_by_size: FxHashMap<(Option<FileKind>, u64), Vec<std::path::PathBuf>> =
        FxHashMap::default();
    for found in new {
        new_by_size.entry((found.name.kind(), found.stat.len)).or_default().push(found.path);
    }
    let mut renamed = Vec::new();
    for lineage in &gone {
        let alike = new_by_size.get(&(Some(lineage.kind), lineage.tip.version.bytes));
        let Some(alike) = alike else { continue };
        let Some(content) = history.content(&lineage.tip).if_readable()? else { continue };
        let is_it = |path: &std::path::PathBuf| {
            read_stable(disk, path).is_ok_and(|(bytes, _)| bytes == content)
        };
        if alike.iter().any(is_it) {
            renamed.push(lineage.reference.clone());
        }
    }
    gone.retain(|lineage| !renamed.contains(&lineage.reference));
    Ok(gone)
}

impl History<'_> {
    /// Everything that this machine knows to exist, as if it had all gone at once. `None` if there
    /// is nothing.
    pub fn all_as_gone(&self) -> Option<Vanished> {
        let own = self.lineages().own(self.machine()).filter(|lineage| !lineage.is_deleted());
        let files: Vec<Lineage> = own.cloned().collect();
        (!files.is_empty()).then_some(Vanished { files, noticed: None })
    }

    /// Deleted files that look like a loss, newest first: those in `missing`, and those that were
    /// recently recorded as deleted, have not come back and were not dismissed. `is_there` says
    /// whether a file of that name exists.
    pub fn vanished(
        &self,
        missing: &[&Lineage],
        is_there: &dyn Fn(&FileName) -> bool,
    ) -> Result<Vec<Vanished>> {
        let mut groups: Vec<(Option<SystemTime>, Vec<&Lineage>)> = Vec::new();
        if !missing.is_empty() {
            groups.push((None, missing.to_vec()));
        }
        let mut last: Option<SystemTime> = None;
        for lineage in self.recently_deleted(is_there) {
            let recorded = lineage.tip.version.recorded;
            let apart = last.map(|last| {
                last.duration_since(recorded).or_else(|_| recorded.duration_since(last))
            });
            let is_together = matches!(apart, Some(Ok(apart)) if apart <= TOGETHER);
            match groups.last_mut().filter(|_| is_together) {
                Some((_, files)) => files.push(lineage),
                None => groups.push((Some(recorded), vec![lineage])),
            }
            last = Some(recorded);
        }
        let mut elsewhere =
            MessagesElsewhere { history: self, missing, folders: FxHashMap::default() };
        let mut vanished = Vec::new();
        for (noticed, mut files) in groups {
            if elsewhere.is_loss(&files)? {
                files.sort_by_key(|file| (std::cmp::Reverse(file.kind), file.file().clone()));
                vanished.push(Vanished { files: files.into_iter().cloned().collect(), noticed });
            }
        }
        Ok(vanished)
    }

    /// Chats that were deleted recently or are missing, each with the lorebook it was bound to.
    pub fn books_of_deleted(
        &self,
        missing: &[&Lineage],
        is_there: &dyn Fn(&FileName) -> bool,
    ) -> Result<Vec<(String, String)>> {
        let mut books = Vec::new();
        for lineage in missing.iter().copied().chain(self.recently_deleted(is_there)) {
            if lineage.kind == FileKind::Chat
                && let Some(Some(book)) = self.bound_book(&lineage.tip).if_readable()?
            {
                books.push((lineage.file().label(), book));
            }
        }
        Ok(books)
    }

    /// Files of this machine that were recently recorded as deleted, newest first.
    fn recently_deleted(&self, is_there: &dyn Fn(&FileName) -> bool) -> Vec<&Lineage> {
        let now = self.store().clock.now();
        let is_recent = |lineage: &&Lineage| {
            let ago = now.duration_since(lineage.tip.version.recorded).unwrap_or_default();
            ago <= RECENTLY
        };
        let is_open = |lineage: &&Lineage| {
            let dismissal = dismissal(&lineage.reference, lineage.tip.version.number);
            !self.store().refs().contains_key(&dismissal)
        };
        let own = self.lineages().own(self.machine()).filter(|lineage| lineage.is_deleted());
        let mut deleted: Vec<&Lineage> =
            own.filter(is_recent).filter(is_open).filter(|it| !is_there(it.file())).collect();
        deleted.sort_by_key(|lineage| std::cmp::Reverse(lineage.tip.version.order));
        deleted
    }
}

/// Finds messages of deleted chats that still exist elsewhere: a branch contains its parent's
/// messages.
struct MessagesElsewhere<'h, 'd> {
    history: &'h History<'d>,
    missing: &'h [&'h Lineage],
    /// The messages of all chats in each folder.
    folders: FxHashMap<String, FxHashSet<Id>>,
}

impl MessagesElsewhere<'_, '_> {
    /// Two chats or lorebooks, three cards or groups, the settings, or one long file. Chats count
    /// only if they had messages of their own, and lorebooks only if Forklore did not make them;
    /// tiny ones do not count.
    fn is_loss(&mut self, files: &[&Lineage]) -> Result<bool> {
        let mut counts: BTreeMap<FileKind, usize> = BTreeMap::new();
        for file in files {
            let (size, least) = match file.kind {
                FileKind::Chat => (self.own_messages(file)?, 3),
                FileKind::Book if self.is_made_by_forklore(file)? => continue,
                FileKind::Book => (file.tip.version.count.unwrap_or(0), 2),
                FileKind::Card | FileKind::Group => (1, 1),
                FileKind::Settings => return Ok(true),
            };
            if size >= LONG {
                return Ok(true);
            }
            *counts.entry(file.kind).or_default() += usize::from(size >= least);
        }
        Ok(counts.into_iter().any(|(kind, count)| match kind {
            FileKind::Chat | FileKind::Book => count >= 2,
            _ => count >= 3,
        }))
    }

    /// How many messages of a chat no other chat in its folder has.
    fn own_messages(&mut self, chat: &Lineage) -> Result<u64> {
        let all = chat.tip.version.count.unwrap_or(0);
        if all < 3 {
            return Ok(all);
        }
        let folder = folder_of(chat.file());
        if !self.folders.contains_key(folder) {
            let mut messages = FxHashSet::default();
            for other in self.history.lineages().own(self.history.machine()) {
                let is_missing =
                    || self.missing.iter().any(|gone| gone.reference == other.reference);
                let is_neighbour = other.kind == FileKind::Chat
                    && folder_of(other.file()) == folder
                    && !other.is_deleted()
                    && !is_missing();
                if is_neighbour {
                    let tracked = Tracked::read(self.history.store(), other.tip.tree);
                    let Some(tracked) = tracked.if_readable()? else { continue };
                    messages.extend(tracked.body.pieces().iter().map(|(_, id)| *id));
                }
            }
            self.folders.insert(folder.to_owned(), messages);
        }
        let there = &self.folders[folder];
        let tracked = Tracked::read(self.history.store(), chat.tip.tree).if_readable()?;
        // Where they cannot be compared, all of them count.
        let Some(tracked) = tracked else { return Ok(all) };
        let own = tracked.body.pieces().iter().filter(|(_, id)| !there.contains(id));
        // A newline at the end is a piece but not a message.
        Ok((own.count() as u64).min(all))
    }

    /// Whether Forklore made this lorebook. Those are deleted along with their timelines.
    fn is_made_by_forklore(&self, book: &Lineage) -> Result<bool> {
        let bytes = self.history.content(&book.tip).if_readable()?;
        let Some(Ok(book)) = bytes.as_deref().map(Book::read) else { return Ok(false) };
        Ok(book.mark().and_then(Mark::read).is_some())
    }
}

fn folder_of(name: &FileName) -> &str {
    name.as_str().rsplit_once('/').map_or("", |(folder, _)| folder)
}
