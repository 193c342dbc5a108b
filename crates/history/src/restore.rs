//! Bringing a version back, as one operation of the workshop: never over something that is not kept.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use forklore_core::sillytavern::group;
use forklore_core::sillytavern::names::{self, NamedFile, for_restored};
use forklore_core::timeline::family::Home;
use forklore_tavern::disk::data_root::EscapesDataRoot;
use forklore_tavern::folder::groups::read_group;
use forklore_tavern::folder::library::Library;
use forklore_tavern::transaction::{CommitError, Task};
use forklore_tavern::work::change::ChangeError;
use forklore_tavern::work::change::ChangeOptions;
use forklore_tavern::work::tavern::Tavern;

use crate::error::{HistoryError, Result};
use crate::file::{FileKind, FileName};
use crate::query::losses::Loss;
use crate::record::recorder::Observed;
use crate::record::recorder::Recorder;
use crate::record::scan::{home, read_still};
use crate::version::commit::{Origin, StoredVersion};
use crate::version::history::History;
use crate::version::lineage::Lineage;
use forklore_tavern::disk::describe::{kind, shown};

#[derive(Clone, Copy, Debug, Default)]
pub struct RestoreOptions {
    /// Over the chat, rather than beside it. Everything else is always put in its own place.
    pub in_place: bool,
    /// Its owner says that no page has it open.
    pub is_closed: bool,
    pub dry_run: bool,
}

/// Where a version went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoredTo {
    /// Over what was there.
    InPlace,
    /// Into a new file beside it.
    Beside,
    /// Where it was, and nothing was there any more.
    Back,
}

/// What was brought back, or would be.
#[derive(Debug)]
pub struct Restored {
    pub file: FileName,
    pub went: RestoredTo,
    /// The version that what was there before is.
    pub before: Option<u64>,
    /// The group that lists the chat now.
    pub group: Option<String>,
    /// Whether it is a group's chat that no group lists.
    pub is_unlisted: bool,
    /// The group that did, where that is gone, and the version of it that did.
    pub lost_group: Option<(FileName, u64)>,
    pub operation: Option<u64>,
}

impl Restored {
    fn new(file: &FileName, went: RestoredTo) -> Self {
        Self {
            file: file.clone(),
            went,
            before: None,
            group: None,
            is_unlisted: false,
            lost_group: None,
            operation: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Mend(#[from] ChangeError),
    #[error(transparent)]
    CarryOut(#[from] CommitError),
    #[error(transparent)]
    Outside(#[from] EscapesDataRoot),
    #[error("could not {doing} `{}`", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{file:?} is already as it was in version {version}")]
    AlreadySo { file: String, version: u64 },
    #[error(
        "every open page of SillyTavern keeps a copy of the {what} and would save that over it"
    )]
    InEveryPage { what: &'static str },
    #[error("{file:?} is not deleted: something is there")]
    NotDeleted { file: String },
}

/// A race is tried again; not for ever.
const MOST_TRIES: usize = 20;

/// Brings a version of a file back.
pub fn restore(
    history: &mut History<'_>,
    tavern: &Tavern<'_>,
    lineage: &Lineage,
    version: &StoredVersion,
    options: RestoreOptions,
) -> Result<Restored, RestoreError> {
    let bytes = &history.content(version)?;
    let wish = Wish { tavern, lineage, version, bytes, options };
    for _ in 1..MOST_TRIES {
        let place = Target::of(tavern, lineage.file())?;
        let tried = match &place.now {
            None => wish.put_back(history, &place),
            Some(now) if now == bytes => {
                let (file, version) = (lineage.file().label(), version.version.number);
                return Err(RestoreError::AlreadySo { file, version });
            }
            Some(_) if lineage.kind == FileKind::Chat && !options.in_place => {
                wish.put_beside(history, &place)
            }
            Some(now) => wish.put_over(history, &place, now),
        };
        match tried {
            Err(RestoreError::CarryOut(error)) if error.is_a_race() => {}
            other => return other,
        }
    }
    Err(CommitError::NotSoAnyMore.into())
}

/// Brings a file back that is gone, as it last was.
pub fn undelete(
    history: &mut History<'_>,
    tavern: &Tavern<'_>,
    lineage: &Lineage,
    dry_run: bool,
) -> Result<(Restored, StoredVersion), RestoreError> {
    let place = Target::of(tavern, lineage.file())?;
    if place.now.is_some() {
        return Err(RestoreError::NotDeleted { file: lineage.file().label() });
    }
    let version = last_there(history, lineage)?;
    let bytes = &history.content(&version)?;
    let options = RestoreOptions { dry_run, ..RestoreOptions::default() };
    let wish = Wish { tavern, lineage, version: &version, bytes, options };
    let restored = wish.put_back(history, &place)?;
    Ok((restored, version))
}

/// The newest version in which the file was there.
pub fn last_there(history: &History<'_>, lineage: &Lineage) -> Result<StoredVersion> {
    for kept in history.versions(&lineage.tip) {
        let kept = kept?;
        if kept.version.why != Origin::Deleted {
            return Ok(kept);
        }
    }
    Ok(lineage.tip.clone())
}

/// A file that the history knows, and what is there now.
struct Target {
    name: FileName,
    /// Links followed.
    path: PathBuf,
    now: Option<Vec<u8>>,
    written: std::time::SystemTime,
}

impl Target {
    fn of(tavern: &Tavern<'_>, name: &FileName) -> Result<Self, RestoreError> {
        let path = home(&tavern.folders).join(name.to_path());
        let path = tavern.folders.data_root.check_no_link(tavern.disk, &path)?;
        let (now, written) = match read_still(tavern.disk, &path) {
            Ok((bytes, look)) => (Some(bytes), look.modified),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, tavern.clock.now()),
            Err(source) => return Err(RestoreError::Io { doing: "read", path, source }),
        };
        Ok(Self { name: name.clone(), path, now, written })
    }

    fn stem(&self) -> Cow<'_, str> {
        self.path.file_stem().unwrap_or_default().to_string_lossy()
    }
}

/// What is to be brought back.
struct Wish<'w, 'd> {
    tavern: &'w Tavern<'d>,
    lineage: &'w Lineage,
    version: &'w StoredVersion,
    bytes: &'w [u8],
    options: RestoreOptions,
}

impl Wish<'_, '_> {
    fn put_back(
        &self,
        history: &mut History<'_>,
        place: &Target,
    ) -> Result<Restored, RestoreError> {
        let library = self.tavern.library();
        let stem = place.stem();
        let is_listed = library.groups.iter().any(|file| lists(&file.group.chats, &stem));
        let last = match is_group_chat(&place.name) && !is_listed {
            true => last_listed(history, &stem)?,
            false => None,
        };
        let listing = match &last {
            Some(last) => Listing::of(self.tavern, &library, &last.id, &last.chat)?,
            None => None,
        };
        let like = neighbour(&library, place.name.kind());
        let mut tasks = vec![self.create(place.path.clone(), like)];
        tasks.extend(listing.as_ref().map(Listing::task));
        let mut restored = Restored::new(&place.name, RestoredTo::Back);
        restored.is_unlisted = is_group_chat(&place.name) && listing.is_none() && !is_listed;
        restored.lost_group =
            last.filter(|_| listing.is_none()).map(|last| (last.file, last.version));
        restored.group = listing.as_ref().map(|listing| listing.group.clone());
        if !self.options.dry_run {
            let summary = format!("brought {} back", place.name.label());
            let mut recorder = history.record()?;
            restored.operation = Some(self.carry_out(&summary, &tasks)?);
            self.record(&mut recorder, &place.name)?;
        }
        Ok(restored)
    }

    fn put_beside(
        &self,
        history: &mut History<'_>,
        place: &Target,
    ) -> Result<Restored, RestoreError> {
        let library = self.tavern.library();
        let chat = library.chats.iter().find(|chat| chat.path == place.path);
        let home = chat.map_or(Home::Loose, |chat| chat.home.clone());
        let number = self.version.version.number;
        let name = for_restored(&place.stem(), number, &library.chat_names(&home));
        let listing = match &home {
            Home::Group(Some(id)) => Listing::of(self.tavern, &library, id, &name)?,
            _ => None,
        };
        let path = place.path.with_file_name(format!("{name}.jsonl"));
        let file = FileName::of_path(&place.name.to_path().with_file_name(format!("{name}.jsonl")));
        let mut tasks = vec![self.create(path, Some(place.path.clone()))];
        tasks.extend(listing.as_ref().map(Listing::task));
        let mut restored = Restored::new(&file, RestoredTo::Beside);
        restored.is_unlisted = is_group_chat(&file) && listing.is_none();
        restored.group = listing.as_ref().map(|listing| listing.group.clone());
        if !self.options.dry_run {
            let summary =
                format!("made {} of version {number} of {}", file.label(), place.name.label());
            let losses = self.settled(history)?;
            let mut recorder = history.record()?;
            restored.operation = Some(self.carry_out(&summary, &tasks)?);
            losses.iter().for_each(|loss| recorder.dismiss(loss));
            self.record(&mut recorder, &file)?;
        }
        Ok(restored)
    }

    fn put_over(
        &self,
        history: &mut History<'_>,
        place: &Target,
        now: &[u8],
    ) -> Result<Restored, RestoreError> {
        check_closed(self.tavern, place, self.options)?;
        let mut restored = Restored::new(&place.name, RestoredTo::InPlace);
        if self.options.dry_run {
            return Ok(restored);
        }
        let mut recorder = history.record()?;
        restored.before = keep_first(&mut recorder, self.tavern, place, now)?;
        let number = self.version.version.number;
        let summary = format!("put {} back to version {number}", place.name.label());
        let path = place.path.clone();
        let task = Task::Replace { path, expected: now, parts: vec![self.bytes] };
        restored.operation = Some(self.carry_out(&summary, &[task])?);
        self.record(&mut recorder, &place.name)?;
        Ok(restored)
    }

    fn create(&self, path: PathBuf, like: Option<PathBuf>) -> Task<'_> {
        Task::Create { path, like, parts: vec![self.bytes] }
    }

    fn carry_out(&self, summary: &str, tasks: &[Task<'_>]) -> Result<u64, RestoreError> {
        Ok(self.tavern.transaction()?.commit("restore", summary, tasks)?.id)
    }

    /// Whoever watches waits for the recorder, and so finds it recorded already.
    fn record(&self, recorder: &mut Recorder<'_, '_>, name: &FileName) -> Result<(), RestoreError> {
        recorder.restored(name, self.bytes, self.tavern.clock.now(), self.version)?;
        Ok(recorder.keep()?)
    }

    /// Losses that are none any more once this version has come back beside them.
    fn settled(&self, history: &History<'_>) -> Result<Vec<Loss>, RestoreError> {
        let mut losses = history.losses_of(self.lineage)?;
        losses.retain(|loss| self.version.version.count >= loss.good.version.count);
        Ok(losses)
    }
}

/// A page that has the file in memory would write that over ours.
fn check_closed(
    tavern: &Tavern<'_>,
    place: &Target,
    options: RestoreOptions,
) -> Result<(), RestoreError> {
    if options.is_closed {
        return Ok(());
    }
    let library = tavern.library();
    let asked = ChangeOptions::default();
    match place.name.kind() {
        Some(FileKind::Chat) => match library.chats.iter().find(|chat| chat.path == place.path) {
            Some(chat) => Ok(tavern.check_chat_closed(&library, chat, asked)?),
            None => Ok(()),
        },
        Some(FileKind::Book) => {
            Ok(tavern.check_book_closed(&library, &place.stem(), &place.path, asked)?)
        }
        Some(kind) => Err(RestoreError::InEveryPage { what: kind.word() }),
        None => Ok(()),
    }
}

/// Whether bringing a version of a file back is refused now, unless its owner says that no page has it
/// open. Chats come back beside what is there.
pub fn must_be_closed(tavern: &Tavern<'_>, name: &FileName) -> bool {
    let options = RestoreOptions::default();
    let is_in_the_way =
        |place: &Target| place.now.is_some() && check_closed(tavern, place, options).is_err();
    name.kind() != Some(FileKind::Chat)
        && Target::of(tavern, name).is_ok_and(|place| is_in_the_way(&place))
}

/// Keeps what is there in the history before anything takes its place. Answers with its number.
fn keep_first(
    recorder: &mut Recorder<'_, '_>,
    tavern: &Tavern<'_>,
    place: &Target,
    now: &[u8],
) -> Result<Option<u64>, RestoreError> {
    let home = home(&tavern.folders);
    let exists =
        |name: &FileName| !matches!(tavern.disk.stat(&home.join(name.to_path())), Ok(None));
    recorder.file(&place.name, now, place.written, Observed::Later, &exists)?;
    recorder.keep()?;
    Ok(recorder.lineages().live(&place.name).map(|lineage| lineage.tip.version.number))
}

fn is_group_chat(name: &FileName) -> bool {
    name.as_str().starts_with("group chats/")
}

fn lists(chats: &[String], stem: &str) -> bool {
    chats.iter().any(|chat| names::stem(chat, NamedFile::Chat).as_deref() == Some(stem))
}

/// A file that whoever may read it may also read the new one.
fn neighbour(library: &Library, kind: Option<FileKind>) -> Option<PathBuf> {
    let chat = || library.chats.first().map(|chat| chat.path.clone());
    let book = || library.books.first().map(|book| book.path.clone());
    match kind {
        Some(FileKind::Chat) => chat().or_else(book),
        _ => book().or_else(chat),
    }
}

/// A group's file with one more chat on its list.
struct Listing {
    group: String,
    path: PathBuf,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Listing {
    fn task(&self) -> Task<'_> {
        let (path, expected) = (self.path.clone(), self.before.as_slice());
        Task::Replace { path, expected, parts: vec![&self.after] }
    }

    fn of(
        tavern: &Tavern<'_>,
        library: &Library,
        id: &str,
        chat: &str,
    ) -> Result<Option<Self>, RestoreError> {
        let Some(file) = library.group(id) else { return Ok(None) };
        let path = file.path.clone();
        let before = tavern.disk.read(&path).map_err(|source| RestoreError::Io {
            doing: "read",
            path: path.clone(),
            source,
        })?;
        let after = group::listed(&before, chat).ok().flatten();
        let group = file.group.name.clone();
        Ok(after.map(|after| Self { group, path, before, after }))
    }
}

/// A group that lists a chat, or did.
struct Listed {
    file: FileName,
    id: String,
    /// As the group spells it.
    chat: String,
    order: u64,
    version: u64,
}

/// The group that was the last to list a chat.
fn last_listed(history: &History<'_>, stem: &str) -> Result<Option<Listed>> {
    let mut last: Option<Listed> = None;
    let groups = history.lineages().own(history.machine());
    for lineage in groups.filter(|lineage| lineage.kind == FileKind::Group) {
        for kept in history.own_versions(lineage) {
            let kept = kept?;
            let order = kept.version.order;
            if last.as_ref().is_some_and(|last| last.order > order) {
                break;
            }
            let Ok(group) = read_group(&history.content(&kept)?) else { continue };
            let is_it =
                |chat: &&String| names::stem(chat, NamedFile::Chat).as_deref() == Some(stem);
            if let Some(chat) = group.chats.iter().find(is_it).cloned() {
                let (file, version) = (lineage.file().clone(), kept.version.number);
                last = Some(Listed { file, id: group.id, chat, order, version });
                break;
            }
        }
    }
    Ok(last)
}

forklore_core::diagnostics!(RestoreError {
    Self::History(error) => [error: HistoryError],
    Self::Mend(error) => [error: ChangeError],
    Self::CarryOut(error) => [error: CommitError],
    Self::Outside(error) => [error: EscapesDataRoot],
    Self::Io { path, source, .. } => ("io", path: shown(path), kind: kind(source)),
    Self::AlreadySo { file, version } => (
        "already-so",
        file: file.as_str(),
        version: *version,
    ),
    Self::InEveryPage { what } => ("in-every-page", what: *what),
    Self::NotDeleted { file } => ("not-deleted", file: file.as_str()),
});
