//! Reads every place that can refer to a book.

use std::collections::BTreeSet;
use std::io;

use forklore_core::memory_books;
use forklore_core::plan::cleanup::OurBook;
use forklore_core::recap::{queue, references as recap};
use forklore_core::sillytavern::book::{Book, NAMESPACE};
use forklore_core::sillytavern::chat::Chat;
use forklore_core::sillytavern::names::book_key;
use forklore_core::timeline::mark::Mark;
use forklore_core::timeline::references::{Reference, ReferencePlace, References};
use memchr::memmem;

use crate::disk::Disk;
use crate::disk::parallel::in_parallel;
use crate::folder::cards::{CardError, read_card};
use crate::folder::headers;
use crate::folder::layout::UserFolders;
use crate::folder::library::{ChatFile, Library};
use crate::folder::settings::read_settings;

/// Collects all references of a user, and the books that carry Forklore's mark. Calls `tick` for
/// every chat read.
pub fn gather(
    disk: &dyn Disk,
    folders: &UserFolders,
    library: &Library,
    tick: &(dyn Fn() + Sync),
) -> (References, Vec<OurBook>) {
    let (mut references, ours) = gather_outside_chats(disk, folders, library);
    references.unread.extend(library.unread.iter().map(|unread| unread.path.display().to_string()));
    let read = in_parallel(&library.chats, tick, |file, buffer| {
        match disk.read_into(&file.path, buffer) {
            Ok(()) => of_chat(file, &Chat::read(buffer, file.place()), buffer),
            Err(_) => References {
                unread: vec![file.path.display().to_string()],
                ..References::default()
            },
        }
    });
    for of_chat in read {
        references.found.extend(of_chat.found);
        references.unread.extend(of_chat.unread);
    }
    (references, ours)
}

/// References outside chat files, and the books that carry Forklore's mark.
pub(crate) fn gather_outside_chats(
    disk: &dyn Disk,
    folders: &UserFolders,
    library: &Library,
) -> (References, Vec<OurBook>) {
    let mut references = References::default();
    for file in &library.groups {
        let worlds = file.group.worlds.iter();
        let place = |id: &str| ReferencePlace::Chat {
            home: forklore_core::timeline::family::Home::Group(Some(id.to_owned())),
            name: file.group.name.clone(),
        };
        references.found.extend(worlds.map(|name| Reference::new(name, place(&file.group.id))));
        if !file.group.odd.is_empty() {
            references.unread.push(file.path.display().to_string());
        }
    }
    read_backups(disk, folders, &mut references);
    match settings_places(disk, folders) {
        Ok(found) => references.found.extend(found),
        Err(why) => references.unread.push(why),
    }
    read_cards(disk, folders, &mut references);
    let ours = read_books(disk, library, &mut references);
    (references, ours)
}

/// References in one chat, whose file content is `bytes`.
pub(crate) fn of_chat(file: &ChatFile, chat: &Chat<'_>, bytes: &[u8]) -> References {
    let mut references = References::default();
    if headers::hidden_header(chat).is_some() {
        references.unread.push(file.path.display().to_string());
    }
    let (home, name) = (&file.home, &file.name);
    let place = ReferencePlace::Chat { home: home.clone(), name: name.clone() };
    let book = headers::timeline(file, chat).book;
    references.found.extend(book.map(|book| Reference::new(&book, place)));
    let metadata = chat.metadata_value();
    let note = recap::noted_book(&metadata);
    // Skips parsing the messages of the many chats without a recap.
    let messages = if memmem::find(bytes, b"chatLorebookName").is_some() { chat.len() } else { 0 };
    let lines = (0..messages).filter_map(|index| chat.line(index));
    let names: BTreeSet<String> =
        note.into_iter().chain(lines.flat_map(recap::books_named)).collect();
    let place = || ReferencePlace::Recap { home: home.clone(), name: name.clone() };
    references.found.extend(names.iter().map(|name| Reference::new(name, place())));
    let place = || ReferencePlace::Memories { home: home.clone(), name: name.clone() };
    let names = memory_books::books(&metadata);
    references.found.extend(names.iter().map(|name| Reference::new(name, place())));
    references
}

fn read_backups(disk: &dyn Disk, folders: &UserFolders, references: &mut References) {
    let backups = folders.chat_backups(disk);
    references
        .unread
        .extend(backups.skipped.iter().map(|skipped| skipped.path.display().to_string()));
    for backup in backups.files {
        let place = ReferencePlace::Backup(backup.stem.clone());
        let Ok(start) = disk.read_start(&backup.path, b'\n') else {
            references.unread.push(backup.path.display().to_string());
            continue;
        };
        let file = ChatFile {
            home: forklore_core::timeline::family::Home::Loose,
            name: backup.stem,
            path: backup.path,
            len: backup.len,
            modified: backup.modified,
        };
        let chat = Chat::read(&start.bytes, file.place());
        let timeline = headers::timeline(&file, &chat);
        references.found.extend(timeline.book.map(|name| Reference::new(&name, place)));
    }
}

/// References in the settings. The error is the path of the unreadable file.
pub fn settings_places(disk: &dyn Disk, folders: &UserFolders) -> Result<Vec<Reference>, String> {
    let unread = || folders.settings.display().to_string();
    let bytes = match disk.read(&folders.settings) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(_) => return Err(unread()),
    };
    let settings = read_settings(&bytes).map_err(|_| unread())?;
    if !settings.odd.is_empty() {
        return Err(unread());
    }
    let mut found: Vec<Reference> =
        settings.global.iter().map(|name| Reference::new(name, ReferencePlace::Global)).collect();
    for extra in &settings.characters {
        let place = || ReferencePlace::CharacterLore(extra.character.clone());
        found.extend(extra.books.iter().map(|name| Reference::new(name, place())));
    }
    let persona = |name: &String| Reference::new(name, ReferencePlace::Persona(name.clone()));
    found.extend(settings.personas.iter().map(persona));
    Ok(found)
}

fn read_cards(disk: &dyn Disk, folders: &UserFolders, references: &mut References) {
    let cards = folders.cards(disk);
    references
        .unread
        .extend(cards.skipped.iter().map(|skipped| skipped.path.display().to_string()));
    let read = in_parallel(&cards.files, &|| (), |file, png| {
        match disk.read_into(&file.path, png).map(|()| read_card(png)) {
            Ok(Ok(card)) => Ok((card.worlds, card.damaged.is_empty())),
            // A picture without a character refers to nothing.
            Ok(Err(CardError::NoCharacter | CardError::NotPng)) => Ok((Vec::new(), true)),
            Ok(Err(CardError::Damaged(_))) | Err(_) => Err(()),
        }
    });
    for (file, read) in cards.files.iter().zip(read) {
        if !matches!(read, Ok((_, true))) {
            references.unread.push(file.path.display().to_string());
        }
        let place = || ReferencePlace::Card(file.stem.clone());
        let worlds = read.into_iter().flat_map(|(worlds, _)| worlds);
        references.found.extend(worlds.map(|name| Reference::new(&name, place())));
    }
}

/// Reads every book: operations queued in one may name others. Returns the books that carry
/// Forklore's mark.
fn read_books(disk: &dyn Disk, library: &Library, references: &mut References) -> Vec<OurBook> {
    let read = in_parallel(&library.books, &|| (), |file, bytes| {
        disk.read_into(&file.path, bytes)?;
        let has = |text: &str| memmem::find(bytes, text.as_bytes()).is_some();
        let (may_be_ours, has_queue) = (has(NAMESPACE), has(queue::COMMENT));
        // Most books have neither; this avoids parsing them.
        let book = (may_be_ours || has_queue).then(|| Book::read(bytes).ok()).flatten();
        let Some(book) = book else { return Ok::<_, io::Error>((None, Vec::new())) };
        let mark = book.mark().and_then(Mark::read);
        let queued = if has_queue { queued_in(&book, &file.stem) } else { Vec::new() };
        Ok((mark.map(|mark| mark.chat), queued))
    });
    let mut ours = Vec::new();
    for (file, read) in library.books.iter().zip(read) {
        let Ok((made_for, queued)) = read else {
            references.unread.push(file.path.display().to_string());
            continue;
        };
        references.found.extend(queued);
        ours.extend(made_for.map(|made_for| OurBook {
            name: file.stem.clone(),
            bytes: file.len,
            made_for,
        }));
    }
    ours
}

/// The other books that operations queued in a book name.
fn queued_in(book: &Book<'_>, stem: &str) -> Vec<Reference> {
    let queues = book.entries().filter(|entry| entry.comment() == queue::COMMENT);
    let named = queues.flat_map(|entry| queue::books_named(&entry.content()));
    // A queue entry that names its own book does not keep that book alive.
    let others = named.filter(|name| book_key(name) != book_key(stem));
    let place = || ReferencePlace::Queue { book: stem.to_owned() };
    others.map(|name| Reference::new(&name, place())).collect()
}
