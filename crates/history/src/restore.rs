//! Restores a version as one transaction. Content that is not in the history is never overwritten.

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

use crate::error::{HistoryError, IfReadable as _, Result};
use crate::file::{FileKind, FileName};
use crate::query::losses::Loss;
use crate::record::recorder::Observed;
use crate::record::recorder::Recorder;
use crate::record::scan::{home, read_stable};
use crate::version::commit::StoredVersion;
use crate::version::history::History;
use crate::version::lineage::Lineage;
use forklore_tavern::disk::describe::{kind, shown};

#[derive(Clone, Copy, Debug, Default)]
pub struct RestoreOptions {
    /// Overwrite the chat instead of restoring beside it. Other kinds of file are always restored
    /// in place.
    pub in_place: bool,
    /// The user confirms that no page has the file open.
    pub is_closed: bool,
    pub dry_run: bool,
}

/// Where a version was restored to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoredTo {
    /// Over the existing file.
    InPlace,
    /// Into a new file beside the existing one.
    Beside,
    /// To its old path, where no file existed any more.
    Back,
}

/// What was restored, or would be in a dry run.
#[derive(Debug)]
pub struct Restored {
    pub file: FileName,
    pub went: RestoredTo,
    /// The version number of the content that was overwritten.
    pub before: Option<u64>,
    /// The group that lists the chat now.
    pub group: Option<String>,
    /// Whether it is a group chat that no group lists.
    pub is_unlisted: bool,
    /// The deleted group that used to list the chat, and the version of the group's file that did.
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
        "every open page of SillyTavern keeps a copy of the {what} and would save it over this one"
    )]
    InEveryPage { what: &'static str },
    #[error("{file:?} is not deleted: it exists")]
    NotDeleted { file: String },
}

/// How often to retry after losing a race with another writer.
const MOST_TRIES: usize = 20;

/// Restores a version of a file.
pub fn restore(
    history: &mut History<'_>,
    tavern: &Tavern<'_>,
    lineage: &Lineage,
    version: &StoredVersion,
    options: RestoreOptions,
) -> Result<Restored, RestoreError> {
    let bytes = &history.content(version)?;
    let request = RestoreRequest { tavern, lineage, version, bytes, options };
    for _ in 1..MOST_TRIES {
        let target = Target::of(tavern, lineage.file())?;
        let tried = match &target.now {
            None => request.put_back(history, &target),
            Some(now) if now == bytes => {
                let (file, version) = (lineage.file().label(), version.version.number);
                return Err(RestoreError::AlreadySo { file, version });
            }
            Some(_) if lineage.kind == FileKind::Chat && !options.in_place => {
                request.put_beside(history, &target)
            }
            Some(now) => request.put_over(history, &target, now),
        };
        match tried {
            Err(RestoreError::CarryOut(error)) if error.is_race() => {}
            other => return other,
        }
    }
    Err(CommitError::PlanOutdated.into())
}

/// Restores a deleted file to its last content.
pub fn undelete(
    history: &mut History<'_>,
    tavern: &Tavern<'_>,
    lineage: &Lineage,
    dry_run: bool,
) -> Result<(Restored, StoredVersion), RestoreError> {
    let target = Target::of(tavern, lineage.file())?;
    if target.now.is_some() {
        return Err(RestoreError::NotDeleted { file: lineage.file().label() });
    }
    let (version, bytes) = &history.last_there(&lineage.tip)?;
    let options = RestoreOptions { dry_run, ..RestoreOptions::default() };
    let request = RestoreRequest { tavern, lineage, version, bytes, options };
    let restored = request.put_back(history, &target)?;
    Ok((restored, version.clone()))
}

/// A file that the history knows, and its current content.
struct Target {
    name: FileName,
    /// With symbolic links resolved.
    path: PathBuf,
    now: Option<Vec<u8>>,
    written: std::time::SystemTime,
}

impl Target {
    fn of(tavern: &Tavern<'_>, name: &FileName) -> Result<Self, RestoreError> {
        let path = home(&tavern.folders).join(name.to_path());
        let path = tavern.folders.data_root.resolve(tavern.disk, &path)?;
        let (now, written) = match read_stable(tavern.disk, &path) {
            Ok((bytes, stat)) => (Some(bytes), stat.modified),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (None, tavern.clock.now()),
            Err(source) => return Err(RestoreError::Io { doing: "read", path, source }),
        };
        Ok(Self { name: name.clone(), path, now, written })
    }

    fn stem(&self) -> Cow<'_, str> {
        self.path.file_stem().unwrap_or_default().to_string_lossy()
    }
}

/// What to restore, and how.
struct RestoreRequest<'w, 'd> {
    tavern: &'w Tavern<'d>,
    lineage: &'w Lineage,
    version: &'w StoredVersion,
    bytes: &'w [u8],
    options: RestoreOptions,
}

impl RestoreRequest<'_, '_> {
    fn put_back(
        &self,
        history: &mut History<'_>,
        target: &Target,
    ) -> Result<Restored, RestoreError> {
        let library = self.tavern.library();
        let stem = target.stem();
        let is_listed = library.groups.iter().any(|file| lists(&file.group.chats, &stem));
        let last = match is_group_chat(&target.name) && !is_listed {
            true => last_listed(history, &stem)?,
            false => None,
        };
        let listing = match &last {
            Some(last) => Listing::of(self.tavern, &library, &last.id, &last.chat)?,
            None => None,
        };
        let like = neighbour(&library, target.name.kind());
        let mut tasks = vec![self.create(target.path.clone(), like)];
        tasks.extend(listing.as_ref().map(Listing::task));
        let mut restored = Restored::new(&target.name, RestoredTo::Back);
        restored.is_unlisted = is_group_chat(&target.name) && listing.is_none() && !is_listed;
        restored.lost_group =
            last.filter(|_| listing.is_none()).map(|last| (last.file, last.version));
        restored.group = listing.as_ref().map(|listing| listing.group.clone());
        if !self.options.dry_run {
            let summary = format!("brought {} back", target.name.label());
            let mut recorder = history.record()?;
            restored.operation = Some(self.commit(&summary, &tasks)?);
            self.record(&mut recorder, &target.name)?;
        }
        Ok(restored)
    }

    fn put_beside(
        &self,
        history: &mut History<'_>,
        target: &Target,
    ) -> Result<Restored, RestoreError> {
        let library = self.tavern.library();
        let chat = library.chats.iter().find(|chat| chat.path == target.path);
        let home = chat.map_or(Home::Loose, |chat| chat.home.clone());
        let number = self.version.version.number;
        let name = for_restored(&target.stem(), number, &library.chat_names(&home));
        let listing = match &home {
            Home::Group(Some(id)) => Listing::of(self.tavern, &library, id, &name)?,
            _ => None,
        };
        let path = target.path.with_file_name(format!("{name}.jsonl"));
        let file =
            FileName::of_path(&target.name.to_path().with_file_name(format!("{name}.jsonl")));
        let mut tasks = vec![self.create(path, Some(target.path.clone()))];
        tasks.extend(listing.as_ref().map(Listing::task));
        let mut restored = Restored::new(&file, RestoredTo::Beside);
        restored.is_unlisted = is_group_chat(&file) && listing.is_none();
        restored.group = listing.as_ref().map(|listing| listing.group.clone());
        if !self.options.dry_run {
            let summary =
                format!("made {} from version {number} of {}", file.label(), target.name.label());
            let losses = self.settled_losses(history)?;
            let mut recorder = history.record()?;
            restored.operation = Some(self.commit(&summary, &tasks)?);
            losses.iter().for_each(|loss| recorder.dismiss(loss));
            self.record(&mut recorder, &file)?;
        }
        Ok(restored)
    }

    fn put_over(
        &self,
        history: &mut History<'_>,
        target: &Target,
        now: &[u8],
    ) -> Result<Restored, RestoreError> {
        check_closed(self.tavern, target, self.options)?;
        let mut restored = Restored::new(&target.name, RestoredTo::InPlace);
        if self.options.dry_run {
            return Ok(restored);
        }
        let mut recorder = history.record()?;
        restored.before = record_current(&mut recorder, self.tavern, target, now)?;
        let number = self.version.version.number;
        let summary = format!("restored {} to version {number}", target.name.label());
        let path = target.path.clone();
        let task = Task::Replace { path, expected: now, parts: vec![self.bytes] };
        restored.operation = Some(self.commit(&summary, &[task])?);
        self.record(&mut recorder, &target.name)?;
        Ok(restored)
    }

    fn create(&self, path: PathBuf, like: Option<PathBuf>) -> Task<'_> {
        Task::Create { path, like, parts: vec![self.bytes] }
    }

    fn commit(&self, summary: &str, tasks: &[Task<'_>]) -> Result<u64, RestoreError> {
        Ok(self.tavern.transaction()?.commit("restore", summary, tasks)?.id)
    }

    /// A watcher has to wait for the recorder, so it finds the version already recorded.
    fn record(&self, recorder: &mut Recorder<'_, '_>, name: &FileName) -> Result<(), RestoreError> {
        recorder.restored(name, self.bytes, self.tavern.clock.now(), self.version)?;
        Ok(recorder.persist()?)
    }

    /// Losses that are settled once this version exists again beside the damaged file.
    fn settled_losses(&self, history: &History<'_>) -> Result<Vec<Loss>, RestoreError> {
        // What is reported on another machine is settled there.
        if self.lineage.machine != history.machine() {
            return Ok(Vec::new());
        }
        let mut losses = history.losses_of(self.lineage)?;
        losses.retain(|loss| self.version.version.count >= loss.good.version.count);
        Ok(losses)
    }
}

/// A page that has the file in memory would overwrite what we restore.
fn check_closed(
    tavern: &Tavern<'_>,
    target: &Target,
    options: RestoreOptions,
) -> Result<(), RestoreError> {
    if options.is_closed {
        return Ok(());
    }
    let library = tavern.library();
    let asked = ChangeOptions::default();
    match target.name.kind() {
        Some(FileKind::Chat) => match library.chats.iter().find(|chat| chat.path == target.path) {
            Some(chat) => Ok(tavern.check_chat_closed(&library, chat, asked)?),
            None => Ok(()),
        },
        Some(FileKind::Book) => {
            Ok(tavern.check_book_closed(&library, &target.stem(), &target.path, asked)?)
        }
        Some(kind) => Err(RestoreError::InEveryPage { what: kind.word() }),
        None => Ok(()),
    }
}

/// Whether restoring a version of this file would be refused now unless the user confirms that no
/// page has it open. Never for chats, which are restored beside the existing file.
pub fn must_be_closed(tavern: &Tavern<'_>, name: &FileName) -> bool {
    let options = RestoreOptions::default();
    let is_in_the_way =
        |target: &Target| target.now.is_some() && check_closed(tavern, target, options).is_err();
    name.kind() != Some(FileKind::Chat)
        && Target::of(tavern, name).is_ok_and(|target| is_in_the_way(&target))
}

/// Records the current content before it is overwritten. Returns its version number.
fn record_current(
    recorder: &mut Recorder<'_, '_>,
    tavern: &Tavern<'_>,
    target: &Target,
    now: &[u8],
) -> Result<Option<u64>, RestoreError> {
    let home = home(&tavern.folders);
    let exists =
        |name: &FileName| !matches!(tavern.disk.stat(&home.join(name.to_path())), Ok(None));
    recorder.file(&target.name, now, target.written, Observed::Later, &exists)?;
    recorder.persist()?;
    Ok(recorder.lineages().live(&target.name).map(|lineage| lineage.tip.version.number))
}

fn is_group_chat(name: &FileName) -> bool {
    name.as_str().starts_with("group chats/")
}

fn lists(chats: &[String], stem: &str) -> bool {
    chats.iter().any(|chat| names::stem(chat, NamedFile::Chat).as_deref() == Some(stem))
}

/// An existing file whose permissions the new file should copy.
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

/// A group that lists a chat, or used to.
struct Listed {
    file: FileName,
    id: String,
    /// The chat's name as the group spells it.
    chat: String,
    order: u64,
    version: u64,
}

/// The group that listed a chat most recently.
fn last_listed(history: &History<'_>, stem: &str) -> Result<Option<Listed>> {
    let mut last: Option<Listed> = None;
    let groups = history.lineages().own(history.machine());
    for lineage in groups.filter(|lineage| lineage.kind == FileKind::Group) {
        for stored in history.own_versions(lineage) {
            let order = stored.version.order;
            if last.as_ref().is_some_and(|last| last.order > order) {
                break;
            }
            let Some(content) = history.content(&stored).if_readable()? else { continue };
            let Ok(group) = read_group(&content) else { continue };
            let is_it =
                |chat: &&String| names::stem(chat, NamedFile::Chat).as_deref() == Some(stem);
            if let Some(chat) = group.chats.iter().find(is_it).cloned() {
                let (file, version) = (lineage.file().clone(), stored.version.number);
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
