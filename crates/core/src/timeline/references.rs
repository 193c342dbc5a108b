//! The places that can refer to a book.

use std::fmt;

use crate::sillytavern::names::book_key;
use crate::timeline::family::Home;

/// A place that refers to a book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferencePlace {
    Chat {
        home: Home,
        name: String,
    },
    /// SillyTavern's backup of a chat, which the user can restore.
    Backup(String),
    /// Selected for all chats.
    Global,
    /// An additional book of a character.
    CharacterLore(String),
    Persona(String),
    Card(String),
    /// The recap extension's data in a chat.
    Recap {
        home: Home,
        name: String,
    },
    /// The data of Memory Books in a chat.
    Memories {
        home: Home,
        name: String,
    },
    /// An operation in another book's queue.
    Queue {
        book: String,
    },
}

impl ReferencePlace {
    /// A weak reference has no effect unless the user restores the backup that contains it.
    pub fn is_weak(&self) -> bool {
        matches!(self, Self::Backup(_))
    }
}

impl fmt::Display for ReferencePlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chat { name, .. } => write!(out, "bound to {name:?}"),
            Self::Backup(name) => write!(out, "named by the backup {name:?}"),
            Self::Global => out.write_str("selected for all chats"),
            Self::CharacterLore(name) => write!(out, "an extra lorebook of {name:?}"),
            Self::Persona(name) => write!(out, "the lorebook of a persona ({name:?})"),
            Self::Card(name) => write!(out, "the lorebook of the character {name:?}"),
            Self::Recap { name, .. } => write!(out, "named by the recaps of {name:?}"),
            Self::Memories { name, .. } => write!(out, "the memory book of {name:?}"),
            Self::Queue { book } => write!(out, "named by the queue in {book:?}"),
        }
    }
}

crate::diagnostics!(ReferencePlace {
    Self::Chat { name, .. } => ("chat", name: name.as_str()),
    Self::Backup(name) => ("backup", name: name.as_str()),
    Self::Global => ("global"),
    Self::CharacterLore(name) => ("character", name: name.as_str()),
    Self::Persona(name) => ("persona", name: name.as_str()),
    Self::Card(name) => ("card", name: name.as_str()),
    Self::Recap { name, .. } => ("recap", name: name.as_str()),
    Self::Memories { name, .. } => ("memories", name: name.as_str()),
    Self::Queue { book } => ("queue", name: book.as_str()),
});

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The book's key: see [`book_key`].
    pub book: String,
    pub place: ReferencePlace,
}

impl Reference {
    pub fn new(name: &str, place: ReferencePlace) -> Self {
        Self { book: book_key(name), place }
    }
}

/// All references in one user's data, and the files that could not be read.
#[derive(Clone, Debug, Default)]
pub struct References {
    pub found: Vec<Reference>,
    /// Files that could not be read, and so may refer to any book.
    pub unread: Vec<String>,
}

impl References {
    pub fn to(&self, name: &str) -> impl Iterator<Item = &ReferencePlace> {
        let key = book_key(name);
        self.found.iter().filter(move |found| found.book == key).map(|found| &found.place)
    }
}
