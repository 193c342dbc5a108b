//! The guard of a page: events in, actions out.

use std::collections::HashMap;
use std::mem::take;

use super::actions::{Action, EntryNews, Event, KeptVersion, News, Overwritten};
use super::lineage::{CopyId, Lineage, REMEMBERED, Text, VersionId};
use super::lost_saves::{MISSING_BOOK, RecentSave, restore};
use super::save_merge::moves_of;
use super::{Moves, is_same_book, merge_save};
use crate::plan::merge::{Choice, Choices, Conflict, EntryStep, Pick, Settlement};
use crate::sillytavern::book::BookError;
use crate::sillytavern::names::book_key;
use forklore_json::{JsText, Json};

/// How many times a save that another device has overwritten is restored.
const MAX_RECHECKS: u32 = 3;
/// How many times to ask about one save; the book may change while the user decides.
const MAX_QUESTIONS: u32 = 4;

/// A save, or the check whether one is still on the server.
pub type JobId = u32;

/// What a page knows about books and the server, and everything it has begun.
#[derive(Debug, Default)]
pub struct Guard {
    lineage: Lineage,
    /// The most recently written last.
    books: Vec<ServerBook>,
    jobs: Vec<(JobId, Job)>,
    next: JobId,
    news: Vec<News>,
}

/// A book that this page has written.
#[derive(Debug)]
struct ServerBook {
    key: String,
    /// Its last known content on the server.
    last: Text,
    recent: Vec<RecentSave>,
}

#[derive(Debug)]
enum Job {
    Save(Save),
    Recheck(Recheck),
}

#[derive(Clone, Debug)]
struct Save {
    book: String,
    version: VersionId,
    /// Decisions made so far, by entry and field.
    settled: HashMap<JsText, Settlement>,
    otherwise: Option<Pick>,
    questions: u32,
    /// The book as it was found on the server.
    found: Option<Text>,
    sent: Option<Sent>,
}

/// A save on its way to the server.
#[derive(Clone, Debug)]
struct Sent {
    /// The book as it was on the server; `None` if there was none.
    before: Option<Text>,
    /// `None` for the text as the page saved it.
    written: Option<Text>,
    moves: Moves,
}

#[derive(Clone, Debug)]
struct Recheck {
    book: String,
    /// The book as it was found on the server, and with our lost saves put back.
    restored: Option<[Text; 2]>,
    rechecks: u32,
}

/// The page's copies of books.
impl Guard {
    /// A book was read from the server.
    pub fn remember(&mut self, name: &str, text: &[u8]) {
        self.lineage.remember(&book_key(name), text.into());
    }

    /// A book was deleted.
    pub fn forget(&mut self, name: &str) {
        let key = book_key(name);
        self.lineage.forget(&key);
        self.books.retain(|book| book.key != key);
    }

    /// Whether [`cached`](Self::cached) needs the copy's text.
    pub fn was_read_twice(&self, name: &str) -> bool {
        self.lineage.was_read_twice(&book_key(name))
    }

    /// A copy was put into the page's cache: just read, or about to be saved.
    pub fn cached(&mut self, name: &str, copy: CopyId, text: Option<&[u8]>) {
        self.lineage.cached(&book_key(name), copy, text);
    }

    /// Whether [`copied`](Self::copied) needs the original's text.
    pub fn may_be_edited(&self, original: CopyId) -> bool {
        self.lineage.may_be_edited(original)
    }

    /// A copy was made from another one, including its edits so far.
    pub fn copied(&mut self, original: CopyId, copy: CopyId, text: Option<&[u8]>) {
        self.lineage.copied(original, copy, text.map(Text::from));
    }

    /// A copy was replaced in the page's cache by the book as it is on the server.
    pub fn replaced(&mut self, name: &str, copy: CopyId, text: &[u8]) {
        self.lineage.replaced(&book_key(name), copy, text.into());
    }

    /// Whether a copy was made from this content of the server, as far as that is known. If not,
    /// another page has written the book since.
    pub fn is_based_on(&self, name: &str, copy: CopyId, text: &[u8]) -> bool {
        self.lineage.is_based_on(&book_key(name), copy, text)
    }

    /// The page has dropped a copy.
    pub fn release(&mut self, copy: CopyId) {
        self.lineage.release(copy);
    }
}

/// Saves.
impl Guard {
    /// A save is about to be sent, of this copy if it is known. Without a turn, it goes out as the
    /// page made it.
    pub fn begin(&mut self, name: &str, copy: Option<CopyId>, text: &[u8]) -> JobId {
        let version = self.lineage.begin(&book_key(name), copy, text.into());
        self.add_job(Job::Save(Save {
            book: name.to_owned(),
            version,
            settled: HashMap::new(),
            otherwise: None,
            questions: 0,
            found: None,
            sent: None,
        }))
    }

    /// Forklore itself has written a book: not news to report, and not to be reverted.
    pub fn wrote(&mut self, name: &str, text: &[u8]) {
        let book = self.server_book(&book_key(name), text.into());
        book.recent.clear();
    }

    /// What other pages have changed since the last call.
    pub fn take_news(&mut self) -> Vec<News> {
        take(&mut self.news)
    }

    /// Decides what to do next about a job. It has ended when nothing in the answer leads to
    /// another event.
    pub fn next(&mut self, id: JobId, event: Event) -> Result<Vec<Action>, BookError> {
        let mut actions = Vec::new();
        let found = self.jobs.iter().position(|(job, _)| *job == id);
        let goes_on = match found.map(|at| self.jobs.remove(at).1) {
            Some(Job::Save(mut save)) => {
                let goes_on = self.save(&mut save, event, &mut actions);
                if matches!(goes_on, Ok(true)) {
                    self.jobs.push((id, Job::Save(save)));
                } else {
                    self.lineage.end(save.version);
                }
                goes_on
            }
            Some(Job::Recheck(mut job)) => {
                let goes_on = self.recheck(id, &mut job, event, &mut actions);
                if matches!(goes_on, Ok(true)) {
                    self.jobs.push((id, Job::Recheck(job)));
                }
                goes_on
            }
            None => Ok(false),
        };
        goes_on.map(|_| actions)
    }

    fn add_job(&mut self, job: Job) -> JobId {
        self.next += 1;
        self.jobs.push((self.next, job));
        self.next
    }

    /// The returned values tell whether the job goes on.
    fn save(
        &mut self,
        save: &mut Save,
        event: Event,
        actions: &mut Vec<Action>,
    ) -> Result<bool, BookError> {
        match event {
            Event::Turn if self.lineage.base_of(save.version).is_some() => {
                actions.push(Action::Read);
            }
            Event::Turn => {
                send(save, actions, Sent { before: None, written: None, moves: Moves::default() });
            }
            Event::Read(found) => {
                save.found = Some(found.into());
                self.found(save, actions)?;
            }
            Event::Listed(true) => self.merge(save, actions)?,
            Event::Listed(false) => {
                self.queue_news(&save.book, true, &[], actions);
                self.send_ours(save, None, actions)?;
            }
            Event::Answered(answer) => {
                save.questions += 1;
                save.otherwise = answer.is_none().then_some(Pick::Ours);
                add_answer(&mut save.settled, answer.unwrap_or_default());
            }
            Event::Sent(is_accepted) => {
                if is_accepted {
                    self.saved(save, actions);
                }
                return Ok(false);
            }
            Event::Kept => {}
            Event::Failed | Event::SwitchedOff => return Ok(false),
        }
        Ok(true)
    }

    fn found(&mut self, save: &mut Save, actions: &mut Vec<Action>) -> Result<(), BookError> {
        let (Some(found), Some(base), Some(version)) =
            (&save.found, self.lineage.base_of(save.version), self.lineage.version(save.version))
        else {
            return Ok(());
        };
        // A book without entries may be one that does not exist.
        let is_here = |text: &Text| is_same_book(found, text);
        if **found == *MISSING_BOOK && !is_here(&base.text) && !is_here(&version.text) {
            actions.push(Action::List);
            return Ok(());
        }
        self.merge(save, actions)
    }

    /// Sends our book with the numbers that the server has for its entries.
    fn send_ours(
        &self,
        save: &mut Save,
        before: Option<Text>,
        actions: &mut Vec<Action>,
    ) -> Result<(), BookError> {
        let (Some(base), Some(version)) =
            (self.lineage.base_of(save.version), self.lineage.version(save.version))
        else {
            return Ok(());
        };
        let moves = if base.moves.is_empty() {
            Moves::default()
        } else {
            let theirs = base.moves.apply(&base.text)?;
            moves_of(&base.text, &version.text, &theirs, &base.moves)?
        };
        let written = moves.apply(&version.text)?;
        let written = (*written != *version.text).then(|| Text::from(&*written));
        send(save, actions, Sent { before, written, moves });
        Ok(())
    }

    /// Sends our book merged with theirs, unless the user has to be asked first.
    fn merge(&mut self, save: &mut Save, actions: &mut Vec<Action>) -> Result<(), BookError> {
        let (Some(found), Some(base), Some(version)) =
            (&save.found, self.lineage.base_of(save.version), self.lineage.version(save.version))
        else {
            return Ok(());
        };
        let book = self.books.iter_mut().find(|book| book.key == version.key);
        let restored = restore(book.map_or(&mut [], |book| &mut book.recent), found)?;
        keep(restored.kept, true, actions);
        let theirs = &restored.text;
        let is_theirs = |text: &Text| -> Result<bool, BookError> {
            Ok(is_same_book(theirs, &base.moves.apply(text)?))
        };
        if is_theirs(&base.text)? || is_theirs(&version.text)? {
            return self.send_ours(save, Some(found.clone()), actions);
        }
        if save.questions >= MAX_QUESTIONS {
            save.otherwise = Some(Pick::Ours);
        }
        let choices = Choices {
            only: None,
            settled: save.settled.clone(),
            otherwise: save.otherwise,
            is_one_book: true,
        };
        let made = merge_save(&base.text, &version.text, theirs, &base.moves, &choices)?;
        let plan = made.merged.plan;
        let open: Vec<Conflict> = plan.open_conflicts().cloned().collect();
        if !open.is_empty() && save.otherwise.is_none() {
            actions.push(Action::Ask(open));
            return Ok(());
        }
        let losing = [(Pick::Theirs, theirs), (Pick::Ours, &version.text)];
        let losing = losing.into_iter().filter(|(side, _)| loses(*side, &plan.conflicts));
        let kept = losing
            .map(|(side, text)| KeptVersion { is_ours: side == Pick::Ours, text: text.clone() });
        keep(kept.collect(), false, actions);
        let written = (*made.merged.text != *version.text).then(|| made.merged.text.into());
        let sent = Sent { before: Some(found.clone()), written, moves: made.moves };
        let last = self.books.iter().find(|book| book.key == version.key);
        let is_news = !last.is_some_and(|book| is_same_book(theirs, &book.last));
        if is_news {
            self.queue_news(&save.book, false, &plan.steps, actions);
        }
        send(save, actions, sent);
        Ok(())
    }

    /// The server has accepted a save.
    fn saved(&mut self, save: &Save, actions: &mut Vec<Action>) {
        let Some(sent) = &save.sent else {
            // The guard is switched off. What is overwritten now is not restored later.
            self.lineage.saved(save.version, &Moves::default());
            let key = book_key(&save.book);
            self.books.retain(|book| book.key != key);
            return;
        };
        let Some(version) = self.lineage.version(save.version) else { return };
        let written = sent.written.clone().unwrap_or_else(|| version.text.clone());
        self.lineage.saved(save.version, &sent.moves);
        self.remember_save(&save.book, sent.before.clone(), written, 0, actions);
        if sent.written.is_some() {
            actions.push(Action::UpdatePage { is_decided: save.questions > 0 });
        }
    }

    fn remember_save(
        &mut self,
        name: &str,
        before: Option<Text>,
        written: Text,
        rechecks: u32,
        actions: &mut Vec<Action>,
    ) {
        let key = book_key(name);
        self.server_book(&key, written.clone());
        let Some(before) = before.filter(|before| *before != written) else { return };
        let job = Recheck { book: name.to_owned(), restored: None, rechecks };
        let id = self.add_job(Job::Recheck(job));
        let recent = RecentSave { id, before, written: written.clone(), is_kept: false };
        self.server_book(&key, written).recent.push(recent);
        actions.push(Action::Recheck(id));
    }

    /// Makes a book the most recently written one.
    fn server_book(&mut self, key: &str, last: Text) -> &mut ServerBook {
        let old = self.books.iter().position(|book| book.key == key);
        let recent = old.map(|at| self.books.remove(at).recent).unwrap_or_default();
        if self.books.len() >= REMEMBERED
            && let Some(unused) = self.books.iter().position(|book| book.recent.is_empty())
        {
            self.books.remove(unused);
        }
        let at = self.books.len();
        self.books.push(ServerBook { key: key.to_owned(), last, recent });
        &mut self.books[at]
    }

    /// Restores a save that another device has overwritten at the same moment.
    fn recheck(
        &mut self,
        id: JobId,
        job: &mut Recheck,
        event: Event,
        actions: &mut Vec<Action>,
    ) -> Result<bool, BookError> {
        let key = book_key(&job.book);
        let is_it = |recent: &RecentSave| recent.id == id;
        let book = self.books.iter_mut().find(|book| book.key == key);
        // Otherwise Forklore itself has written the book in the meantime.
        let book = book.filter(|book| book.recent.iter().any(is_it));
        match (event, book) {
            (Event::Turn, Some(_)) => actions.push(Action::Read),
            // A book without entries may be one that does not exist.
            (Event::Read(found), Some(book))
                if *found == *MISSING_BOOK
                    && book.recent.iter().any(|recent| *recent.written != *found) =>
            {
                job.restored = Some([found.clone().into(), found.into()]);
                actions.push(Action::List);
            }
            (Event::Read(found), Some(book)) => {
                let found = Text::from(found);
                let is_kept = put_back(job, &found, book, actions)?;
                return Ok(is_kept || self.write_restored(id, job, actions));
            }
            (Event::Listed(true), Some(book)) => {
                let found = Text::from(MISSING_BOOK);
                let is_kept = put_back(job, &found, book, actions)?;
                return Ok(is_kept || self.write_restored(id, job, actions));
            }
            (Event::Listed(false), Some(_)) => {
                return Ok(self.write_restored(id, job, actions));
            }
            (Event::SwitchedOff, Some(book)) => {
                book.recent.retain(|recent| !is_it(recent));
                return Ok(false);
            }
            (Event::Kept, Some(_)) => return Ok(self.write_restored(id, job, actions)),
            (Event::Sent(true), _) => {
                if let Some([found, whole]) = job.restored.take() {
                    let rechecks = job.rechecks + 1;
                    self.remember_save(&job.book, Some(found), whole, rechecks, actions);
                }
                return Ok(false);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn write_restored(&mut self, id: JobId, job: &Recheck, actions: &mut Vec<Action>) -> bool {
        let key = book_key(&job.book);
        if let Some(book) = self.books.iter_mut().find(|book| book.key == key) {
            // The earlier ones were checked as well.
            book.recent.retain(|recent| recent.id > id);
        }
        let Some([found, whole]) = &job.restored else { return false };
        let writes = found != whole && job.rechecks < MAX_RECHECKS;
        if writes {
            actions.push(Action::Write(whole.clone()));
        }
        writes
    }

    /// Collects other pages' changes, to report them once.
    fn queue_news(
        &mut self,
        name: &str,
        is_gone: bool,
        steps: &[EntryStep],
        actions: &mut Vec<Action>,
    ) {
        let shown: Vec<&EntryStep> = steps.iter().filter(|step| !step.is_internal).collect();
        if shown.is_empty() && !is_gone {
            return;
        }
        if self.news.is_empty() {
            actions.push(Action::Report);
        }
        let at = self.news.iter().position(|news| news.book == name).unwrap_or_else(|| {
            self.news.push(News { book: name.to_owned(), is_gone: false, entries: Vec::new() });
            self.news.len() - 1
        });
        let news = &mut self.news[at];
        news.is_gone |= is_gone;
        for step in shown {
            let entry =
                EntryNews { key: step.to.clone(), title: title_of(step), what: step.what.word() };
            match news.entries.iter_mut().find(|known| known.key == step.to) {
                Some(known) => *known = entry,
                None => news.entries.push(entry),
            }
        }
    }
}

#[cfg(test)]
impl Guard {
    /// How many texts and jobs it holds.
    pub(super) fn weight(&self) -> usize {
        let recent = self.books.iter().map(|book| book.recent.len()).sum::<usize>();
        self.lineage.len() + self.books.len() + recent + self.jobs.len()
    }
}

/// Puts our lost saves back into what a recheck has found. Returns whether something has to be kept
/// first.
fn put_back(
    job: &mut Recheck,
    found: &Text,
    book: &mut ServerBook,
    actions: &mut Vec<Action>,
) -> Result<bool, BookError> {
    let restored = restore(&mut book.recent, found)?;
    let is_kept = !restored.kept.is_empty();
    keep(restored.kept, true, actions);
    job.restored = Some([found.clone(), restored.text]);
    Ok(is_kept)
}

fn send(save: &mut Save, actions: &mut Vec<Action>, sent: Sent) {
    actions.push(Action::Send(sent.written.clone()));
    save.found = None;
    save.sent = Some(sent);
}

fn keep(versions: Vec<KeptVersion>, is_late: bool, actions: &mut Vec<Action>) {
    if !versions.is_empty() {
        actions.push(Action::Keep(Overwritten { versions, is_late }));
    }
}

/// Whether a decision went against this side.
fn loses(side: Pick, conflicts: &[Conflict]) -> bool {
    let mut settled = conflicts.iter().filter_map(|conflict| conflict.settled.as_ref());
    settled.any(|choice| *choice != Choice::Take(side))
}

fn add_answer(settled: &mut HashMap<JsText, Settlement>, answer: HashMap<JsText, Settlement>) {
    for (key, choice) in answer {
        match (settled.get_mut(&key), choice) {
            (Some(Settlement::Fields(known)), Settlement::Fields(fields)) => known.extend(fields),
            (_, choice) => drop(settled.insert(key, choice)),
        }
    }
}

fn title_of(step: &EntryStep) -> String {
    let entry = step.after.as_ref().or(step.before.as_ref());
    let title = entry.and_then(|entry| entry.get("comment")).and_then(Json::as_str);
    title.unwrap_or_default().into_owned()
}
