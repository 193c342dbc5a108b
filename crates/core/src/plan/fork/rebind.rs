//! Binds a chat, or a part of one, to a book of its own.

use std::collections::BTreeMap;

use super::metadata_value;
use crate::digest::Digest;
use crate::finding::Remark;
use crate::journal::rewrite::{self, Rewrite};
use crate::journal::{OTHERS, RECORDED_METADATA, others};
use crate::memory_books;
use crate::pieces::Pieces;
use crate::plan::book_copy::NewBook;
use crate::plan::timed_effects;
use crate::recap::scene::{MEMORY, SceneMemory};
use crate::recap::{combined, older_seal, references, registry, running};
use crate::sillytavern::chat::Chat;
use crate::timeline::seal::{SealedCombined, SealedRecap};
use forklore_json::{Edit, Json, Object};

/// What binds a chat to another book.
#[derive(Clone, Debug)]
pub(crate) struct Rebinding<'a> {
    /// The chat's own name.
    pub name: &'a str,
    /// Set in a child; a chat that only changes its book keeps what it has.
    pub main_chat: Option<&'a str>,
    pub integrity: Option<&'a str>,
    /// The names under which the chat speaks of its old book, that of the book it is bound to last.
    pub from: Vec<String>,
    /// The new book, or none.
    pub book: Option<&'a str>,
    pub entries: Option<&'a Object>,
    /// The last message that is kept; all of them when `None`.
    pub last: Option<usize>,
    /// Recorded metadata to bring back.
    pub metadata: Option<&'a Object>,
    /// Keys of other extensions that stay as they are today.
    pub others_not_of_then: &'a [String],
    /// Whether Memory Books is at home, and the copy of the book that it keeps beside the chat's own,
    /// with that book's name.
    pub memory_books: bool,
    pub memories: Option<(&'a str, &'a NewBook)>,
    pub drain: bool,
}

/// The changes a rebinding makes to a chat.
#[derive(Debug)]
pub(crate) struct Rebound {
    pub changes: Vec<(String, Edit)>,
    pub lines: BTreeMap<usize, Vec<u8>>,
    pub running_recap: Option<SealedRecap>,
    pub combined_recap: Option<SealedCombined>,
    pub remarks: Vec<Remark>,
}

pub(crate) fn rebind(chat: &Chat<'_>, to: &Rebinding<'_>) -> Rebound {
    let metadata = metadata_value(chat);
    let mut rebound = Rebound {
        changes: Vec::new(),
        lines: BTreeMap::new(),
        running_recap: None,
        combined_recap: None,
        remarks: Vec::new(),
    };
    rebound.identity(to);
    rebound.recorded_metadata(&metadata, to);
    rebound.others(&metadata, to);
    rebound.memory_books(&metadata, to);
    rebound.timed_effects(&metadata, to);
    rebound.recaps(chat, &metadata, to);
    rebound.lore_of_recap(&metadata, to);
    rebound.name_in_messages(chat, to);
    rebound
}

/// The chat's file after a rebinding.
pub(crate) fn file<'a>(
    chat: &Chat<'a>,
    last: Option<usize>,
    changes: &[(String, Edit)],
    lines: BTreeMap<usize, Vec<u8>>,
) -> Pieces<'a> {
    let changes: Vec<(&str, Edit)> =
        changes.iter().map(|(key, change)| (key.as_str(), change.clone())).collect();
    let header = Some(rewrite::header(chat, &changes));
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

    /// What the metadata will hold under `key`.
    fn value<'a>(&'a self, metadata: &'a Json, key: &str) -> Option<&'a Json> {
        match self.changes.iter().find(|(other, _)| other == key) {
            Some((_, Edit::Set(value))) => Some(value),
            Some((_, Edit::Remove)) => None,
            None => metadata.get(key),
        }
    }

    fn identity(&mut self, to: &Rebinding<'_>) {
        if let Some(integrity) = to.integrity {
            self.set("integrity", integrity);
        }
        if let Some(main_chat) = to.main_chat {
            self.set("main_chat", main_chat);
            // It speaks of the parent's own birth, as the parent's seal does, which gives way to
            // the child's.
            self.remove(older_seal::KEY);
        }
        match to.book {
            Some(book) => self.set("world_info", book),
            None => self.remove("world_info"),
        }
    }

    fn recorded_metadata(&mut self, metadata: &Json, to: &Rebinding<'_>) {
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

    /// What other extensions keep, in a child: in a chat that is there already, the extension may
    /// hold a copy of its own.
    fn others(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        let (Some(then), Some(_)) = (to.metadata, to.main_chat) else { return };
        let Some(large) = then.get(OTHERS) else { return };
        let then = Json::Object(then.clone());
        let keys = others(metadata).into_iter().chain(others(&then)).map(|(key, _)| key);
        for key in keys.filter_map(|key| std::str::from_utf8(key.as_bytes()).ok()) {
            match then.get(key) {
                _ if large.get(key).is_some() => {}
                Some(value) if metadata.get(key) != Some(value) => self.set(key, value.clone()),
                Some(_) => {}
                None => self.remove(key),
            }
        }
    }

    fn memory_books(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        let (Some(parent), Some(last)) = (to.main_chat, to.last) else { return };
        let nothing = Json::Object(Object::new());
        let notes = self.value(metadata, memory_books::KEY);
        let Some(notes) = notes.or_else(|| to.memory_books.then_some(&nothing)) else { return };
        let child = memory_books::ChildNotes {
            name: to.name,
            parent,
            last,
            bound: to.from.last().map(String::as_str).zip(to.book),
            manual: to.memories.map(|(from, copy)| (from, copy.name.as_str())),
            entries: to.memories.map(|(_, copy)| &copy.values).or(to.entries),
            is_known: !to.others_not_of_then.iter().any(|key| key == memory_books::KEY),
        };
        if let Some(notes) = memory_books::notes_of(notes, &child) {
            self.set(memory_books::KEY, notes);
        }
    }

    fn timed_effects(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        let (Some(book), Some(entries)) = (to.book, to.entries) else { return };
        let Some(before) = self.value(metadata, "timedWorldInfo") else { return };
        let effects = timed_effects::rekeyed(before, &to.from, book, entries);
        if effects != *before {
            self.set("timedWorldInfo", effects);
        }
    }

    fn recaps(&mut self, chat: &Chat<'_>, metadata: &Json, to: &Rebinding<'_>) {
        let Some(last) = to.last else { return };
        // A chat that only changes its book keeps what it has of its own scenes.
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

    /// The recap extension's own notes about the book.
    fn lore_of_recap(&mut self, metadata: &Json, to: &Rebinding<'_>) {
        if let Some(mut notes) = metadata.get("auto_lorebooks").cloned()
            && let Some(object) = notes.as_object_mut()
        {
            match to.book {
                Some(book) => object.insert("lorebookName", book),
                None => drop(object.remove("lorebookName")),
            }
            if let (Some(registry), Some(entries)) =
                (object.get_mut("registry").and_then(Json::as_object_mut), to.entries)
                && let Some(index) = registry.get("index")
            {
                let index = registry::reindexed(index, entries);
                registry.insert("index", index);
            }
            if Some(&notes) != metadata.get("auto_lorebooks") {
                self.set("auto_lorebooks", notes);
            }
        }
        if let (true, Some(mut under_way)) = (to.drain, metadata.get("autoLorebooks").cloned())
            && let Some(object) = under_way.as_object_mut()
            && object.get("pendingOps").and_then(Json::as_object).is_some_and(|ops| !ops.is_empty())
        {
            object.insert("pendingOps", Object::new());
            self.set("autoLorebooks", under_way);
        }
    }

    fn name_in_messages(&mut self, chat: &Chat<'_>, to: &Rebinding<'_>) {
        let Some(book) = to.book else { return };
        let end = to.last.map_or(chat.len(), |last| last + 1);
        for index in chat.messages_with(MEMORY).take_while(|index| *index < end) {
            if let Some((line, _)) =
                chat.line(index).and_then(|line| references::renamed(line, &to.from, book))
            {
                self.lines.insert(index, line);
            }
        }
    }
}
