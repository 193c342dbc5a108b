//! Binds a chat, or the first part of one, to another book.

use super::metadata_value;
use crate::digest::Digest;
use crate::finding::Remark;
use crate::journal::rewrite::{self, Rewrite};
use crate::journal::{OTHERS, RECORDED_METADATA, others};
use crate::memory_books::{self, BookCopies};
use crate::pieces::Pieces;
use crate::plan::timed_effects;
use crate::recap::scene::{MEMORY, SceneMemory};
use crate::recap::{combined, notes, older_seal, references, running};
use crate::sillytavern::chat::Chat;
use crate::sillytavern::names::book_key;
use crate::timeline::books_named;
use crate::timeline::label;
use crate::timeline::seal::{self, SealedCombined, SealedRecap};
use forklore_json::{Edit, Json, Object};

/// How to bind a chat to another book.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rebinding<'a> {
    /// The chat's own name.
    pub name: &'a str,
    /// The parent, if the result is a child. A chat that only changes its book keeps its own
    /// values.
    pub main_chat: Option<&'a str>,
    pub integrity: Option<&'a str>,
    /// The child's title.
    pub title: Option<&'a str>,
    /// The names by which the chat refers to its old book. The book that it is bound to comes last.
    pub from: Vec<String>,
    /// A book that the new one replaces in the prompt, though the chat was not bound to it.
    pub instead: Option<&'a str>,
    /// The new book; `None` unbinds the chat.
    pub book: Option<&'a str>,
    pub entries: Option<&'a Object>,
    /// The last message to keep; `None` keeps all.
    pub last: Option<usize>,
    /// Recorded metadata to restore.
    pub metadata: Option<&'a Object>,
    /// Other extensions' keys that keep today's value, because the earlier one is unknown.
    pub live_other_keys: &'a [String],
    /// For a child.
    pub memory_books: Option<ChildMemories<'a>>,
    pub drain: bool,
}

/// What a child has of Memory Books.
#[derive(Clone, Debug)]
pub(crate) struct ChildMemories<'a> {
    pub is_installed: bool,
    pub copies: &'a BookCopies,
    /// The entries of all its books.
    pub entries: Vec<&'a Object>,
}

/// The changes that a rebinding makes to a chat.
#[derive(Debug)]
pub(crate) struct Rebound {
    pub changes: Vec<(String, Edit)>,
    /// New lines of messages, in order.
    pub lines: Vec<(usize, Vec<u8>)>,
    pub running_recap: Option<SealedRecap>,
    pub combined_recap: Option<SealedCombined>,
    pub remarks: Vec<Remark>,
}

pub(crate) fn rebind(chat: &Chat<'_>, to: &Rebinding<'_>) -> Rebound {
    let metadata = metadata_value(chat);
    let mut rebound = Rebound {
        changes: Vec::new(),
        lines: Vec::new(),
        running_recap: None,
        combined_recap: None,
        remarks: Vec::new(),
    };
    rebound.set_identity(&metadata, to);
    rebound.restore_recorded_metadata(&metadata, to);
    rebound.restore_others(&metadata, to);
    rebound.replace_in_prompt(to);
    rebound.update_memory_books(chat, &metadata, to);
    rebound.rekey_timed_effects(&metadata, to);
    rebound.cut_recaps(chat, &metadata, to);
    rebound.update_recap_notes(&metadata, to);
    rebound.rename_in_messages(chat, to);
    rebound
}

/// The changes to a chat's metadata after which it names no book, and has no seal of its parent.
///
/// Names in messages stay: they say which book a scene's recap was made from.
pub(crate) fn unbind(chat: &Chat<'_>, integrity: &str) -> Vec<(String, Edit)> {
    let to = Rebinding { integrity: Some(integrity), ..Rebinding::default() };
    let mut rebound = rebind(chat, &to);
    rebound.remove(seal::KEY);
    rebound.remove(older_seal::KEY);
    let metadata = metadata_value(chat);
    if let Some(notes) = metadata.get(memory_books::KEY).and_then(memory_books::without_books) {
        rebound.set(memory_books::KEY, notes);
    }
    // What is nested too deeply to be read may name a book.
    for key in chat.deep_metadata() {
        if [notes::KEY, memory_books::KEY].contains(&key.as_str()) {
            rebound.remove(&key);
        }
    }
    rebound.changes
}

/// What was recorded under another extension's key, if that is known.
pub(super) fn recorded_other<'a>(then: Option<&'a Object>, key: &str) -> Option<Option<&'a Json>> {
    let then = then?;
    let is_known = then.get(OTHERS)?.get(key).is_none();
    is_known.then(|| then.get(key))
}

/// The chat's header line after a rebinding.
pub(crate) fn rewrite_header(chat: &Chat<'_>, changes: &[(String, Edit)]) -> Vec<u8> {
    let changes: Vec<(&str, Edit)> =
        changes.iter().map(|(key, change)| (key.as_str(), change.clone())).collect();
    rewrite::header(chat, &changes)
}

/// The chat's file after a rebinding.
pub(crate) fn rewrite_file<'a>(
    chat: &Chat<'a>,
    last: Option<usize>,
    changes: &[(String, Edit)],
    lines: Vec<(usize, Vec<u8>)>,
) -> Pieces<'a> {
    let header = Some(rewrite_header(chat, changes));
    Rewrite { header, messages: lines }.of(chat, last)
}

impl Rebound {
    fn set(&mut self, key: &str, value: impl Into<Json>) {
        self.changes.retain(|(other, _)| other != key);
        self.changes.push((key.to_owned(), Edit::Set(value.into())));
    }

    fn remove(&mut self, key: &str) {
        self.changes.retain(|(other, _)| other != key);
        self.changes.push((key.to_owned(), Edit::Remove));
    }

    /// The value of `key` in the metadata after the changes so far.
    fn value<'a>(&'a self, metadata: &'a Json, key: &str) -> Option<&'a Json> {
        match self.changes.iter().find(|(other, _)| other == key) {
            Some((_, Edit::Set(value))) => Some(value),
            Some((_, Edit::Remove)) => None,
            None => metadata.get(key),
        }
    }

    fn set_identity(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        if let Some(integrity) = to.integrity {
            self.set("integrity", integrity);
            match label::of_child(metadata, to.title) {
                Some(own) => self.set(label::KEY, own),
                None => self.remove(label::KEY),
            }
        }
        if let Some(main_chat) = to.main_chat {
            self.set("main_chat", main_chat);
            // It describes how the parent was forked, like the parent's seal, which the child's
            // seal replaces.
            self.remove(older_seal::KEY);
        }
        match to.book {
            Some(book) => self.set("world_info", book),
            None => self.remove("world_info"),
        }
        let replacing = metadata.get(books_named::REPLACING).and_then(Json::as_str);
        if let (Some(book), Some(replacing)) = (to.book, replacing)
            && to.from.iter().any(|from| book_key(from) == book_key(&replacing))
        {
            self.set(books_named::REPLACING, book);
        }
    }

    fn replace_in_prompt(&mut self, to: &Rebinding<'_>) {
        if let (Some(replaced), Some(book)) = (to.instead, to.book) {
            self.set(books_named::REPLACED, Json::Array(vec![replaced.into()]));
            self.set(books_named::REPLACING, book);
        }
    }

    fn restore_recorded_metadata(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        if let Some(then) = to.metadata {
            for key in RECORDED_METADATA {
                match then.get(key) {
                    Some(value) if metadata.get(key) != Some(value) => self.set(key, value.clone()),
                    Some(_) => {}
                    None if metadata.get(key).is_some() => self.remove(key),
                    None => {}
                }
            }
        }
        let last_in_context = metadata.get("lastInContextMessageId").and_then(Json::as_usize);
        if let (Some(id), Some(last)) = (last_in_context, to.last)
            && id > last
        {
            self.set("lastInContextMessageId", last);
        }
    }

    /// Restores other extensions' metadata, but only in a child: in an existing chat, an extension
    /// may hold its own copy in memory.
    fn restore_others(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        let (Some(recorded), Some(_)) = (to.metadata, to.main_chat) else { return };
        let then = Json::Object(recorded.clone());
        let keys = others(metadata).into_iter().chain(others(&then)).map(|(key, _)| key);
        for key in keys.filter_map(|key| std::str::from_utf8(key.as_bytes()).ok()) {
            match recorded_other(to.metadata, key) {
                Some(Some(value)) if metadata.get(key) != Some(value) => {
                    self.set(key, value.clone());
                }
                Some(None) => self.remove(key),
                Some(Some(_)) | None => {}
            }
        }
    }

    fn update_memory_books(&mut self, chat: &Chat<'_>, metadata: &Json, to: &Rebinding<'_>) {
        let notes = self.value(metadata, memory_books::KEY);
        let (Some(memories), Some(parent), Some(last)) = (&to.memory_books, to.main_chat, to.last)
        else {
            self.rename_memory_books(metadata, to);
            return;
        };
        if notes.is_none() && chat.deep_metadata().iter().any(|key| key == memory_books::KEY) {
            self.remove(memory_books::KEY);
            return;
        }
        let nothing = Json::Object(Object::new());
        let Some(notes) = notes.or_else(|| memories.is_installed.then_some(&nothing)) else {
            return;
        };
        let child = memory_books::ChildNotes {
            name: to.name,
            parent,
            last,
            books: memories.copies,
            entries: &memories.entries,
            is_known: !to.live_other_keys.iter().any(|key| key == memory_books::KEY),
        };
        if let Some(notes) = memory_books::notes_of(notes, &child) {
            self.set(memory_books::KEY, notes);
        }
    }

    /// A chat that gets another book uses it for its memories, too.
    fn rename_memory_books(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        let (Some(notes), Some(book)) = (metadata.get(memory_books::KEY), to.book) else { return };
        let renamed = memory_books::renamed(notes, &mut |name| {
            let key = book_key(name);
            let is_old = to.from.iter().any(|from| book_key(from) == key);
            Some(if is_old { book } else { name }.to_owned())
        });
        if let Some(notes) = renamed {
            self.set(memory_books::KEY, notes);
        }
    }

    fn rekey_timed_effects(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        let (Some(book), Some(entries)) = (to.book, to.entries) else { return };
        let Some(before) = self.value(metadata, "timedWorldInfo") else { return };
        let from = [&to.from[..], &to.instead.map(str::to_owned).into_iter().collect::<Vec<_>>()];
        let effects = timed_effects::rekeyed(before, &from.concat(), book, entries);
        if effects != *before {
            self.set("timedWorldInfo", effects);
        }
    }

    fn cut_recaps(&mut self, chat: &Chat<'_>, metadata: &Json, to: &Rebinding<'_>) {
        let Some(last) = to.last else { return };
        // A chat that only changes its book keeps the recaps of all its own scenes.
        let is_child = to.main_chat.is_some();
        let has_recap = |scene: usize| {
            let memory = chat.line(scene).and_then(SceneMemory::of_line);
            !is_child || memory.is_some_and(|memory| memory.has_recap())
        };
        let then = to.metadata.and_then(|then| then.get(running::KEY));
        let today = metadata.get(running::KEY);
        if let Some(cut) = running::cut(today, then, last, to.name, has_recap) {
            if cut.dropped > 0 {
                self.remarks.push(Remark::RunningVersionsDropped(cut.dropped));
            }
            self.running_recap = Some(SealedRecap {
                version: cut.version,
                count: cut.kept,
                scenes: Some(cut.scenes),
                digest: cut.version.and_then(|v| running::version_digest(&cut.recap, v)),
            });
            self.set(running::KEY, cut.recap);
        }
        let Some(recap) = metadata.at(&combined::PATH).filter(|recap| recap.is_truthy()) else {
            return;
        };
        let mut holder = metadata.get(combined::PATH[0]).cloned().unwrap_or(Json::Null);
        let Some(object) = holder.as_object_mut() else { return };
        if combined::is_of_the_past(recap, last) {
            self.combined_recap = combined::message_count(recap).map(|messages| SealedCombined {
                messages,
                digest: Digest::of(&recap.stringify()),
            });
        } else {
            object.remove(combined::PATH[1]);
            self.set(combined::PATH[0], holder);
            self.remarks.push(Remark::CombinedRecapDropped);
        }
    }

    /// Updates ST-Auto-Recap's own notes about the book.
    fn update_recap_notes(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        if let Some(notes) = metadata.get(notes::KEY)
            && let Some(notes) = notes::rebound(notes, to.book, to.entries)
        {
            self.set(notes::KEY, notes);
        }
        if let (true, Some(mut pending)) = (to.drain, metadata.get("autoLorebooks").cloned())
            && let Some(object) = pending.as_object_mut()
            && object.get("pendingOps").and_then(Json::as_object).is_some_and(|ops| !ops.is_empty())
        {
            object.insert("pendingOps", Object::new());
            self.set("autoLorebooks", pending);
        }
    }

    fn rename_in_messages(&mut self, chat: &Chat<'_>, to: &Rebinding<'_>) {
        let Some(book) = to.book else { return };
        let end = to.last.map_or(chat.len(), |last| last + 1);
        for index in chat.messages_with(MEMORY).take_while(|index| *index < end) {
            if let Some((line, _)) =
                chat.line(index).and_then(|line| references::renamed(line, &to.from, book))
            {
                self.lines.push((index, line));
            }
        }
    }
}
