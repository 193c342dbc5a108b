//! Finds the versions of a chat that end with a given message, without reading all of them.

use std::collections::{BTreeMap, BTreeSet};

use forklore_core::timeline::identity::{Identity, Messages};
use rustc_hash::FxHashMap;

use super::chat::ChatToday;
use super::versions::{ChatVersions, parts};
use crate::error::{IfReadable as _, Result};
use crate::git::object::{self, Id, id_of};
use crate::version::body::Body;
use crate::version::commit::StoredVersion;
use crate::version::history::History;

/// The search ends after reading this many versions.
const MOST_LOOKS: usize = 1000;
/// The most versions to read among those with the same number of messages.
const MOST_ALIKE: usize = 50;
/// The most versions to compare in full with today's chat.
const MOST_COMPARED: usize = 40;
/// The most attempts to guess how many messages the wanted version has.
const GUESSES: usize = 64;
/// The most blank lines to skip at the end of a chat.
const BLANKS: u32 = 3;

/// A version, and the message of today's chat that it ends with. Ordered from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ending {
    pub(super) message: usize,
    pub(super) version: usize,
}

pub(super) struct Search<'s, 'd, 'c> {
    history: &'s History<'d>,
    versions: &'s ChatVersions,
    today: ChatToday<'c>,
    asked: usize,
    /// Versions by their number of messages, and how many of each group have been read.
    by_count: BTreeMap<u64, (Vec<usize>, usize)>,
    lasts: FxHashMap<usize, Option<Last>>,
    /// Candidates that have not been compared yet.
    found: BTreeSet<Ending>,
    /// The candidate that was compared last.
    tried: Option<Ending>,
    has_begun: bool,
    looks: usize,
    compared: usize,
}

/// The last message of a version.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// The tree of its messages.
    body: Id,
    number: u32,
    id: Id,
}

impl<'s, 'd, 'c> Search<'s, 'd, 'c> {
    pub(super) fn new(
        history: &'s History<'d>,
        versions: &'s ChatVersions,
        today: ChatToday<'c>,
        asked: usize,
    ) -> Self {
        let mut by_count: BTreeMap<u64, (Vec<usize>, usize)> = BTreeMap::new();
        for (version, line) in versions.lines.iter().enumerate().rev() {
            if line.count > 0 && !line.is_deleted && !line.is_loss {
                by_count.entry(line.count).or_default().0.push(version);
            }
        }
        Self {
            history,
            versions,
            today,
            asked,
            by_count,
            lasts: FxHashMap::default(),
            found: BTreeSet::new(),
            tried: None,
            has_begun: false,
            looks: 0,
            compared: 0,
        }
    }

    /// The best version not returned yet: the newest that ends with the message asked for, or else with
    /// the closest message before it.
    pub(super) fn next(&mut self) -> Result<Option<Ending>> {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.guess()?;
        }
        loop {
            if let Some(tried) = self.tried.take() {
                self.widen(tried)?;
            }
            let Some(best) = self.found.pop_last() else { return Ok(None) };
            self.tried = Some(best);
            self.compared += 1;
            if self.compared > MOST_COMPARED {
                return Ok(None);
            }
            // Where anything that would prove it cannot be read, it is not proved.
            if self.is_state_of_today(best).if_readable()?.unwrap_or(false) {
                return Ok(Some(best));
            }
        }
    }

    /// Looks for a version that ends with the message asked for. It has one message more than the
    /// message's number, plus those that were deleted since.
    fn guess(&mut self) -> Result<()> {
        let first = self.asked as u64 + 1;
        let mut wanted = first;
        for _ in 0..GUESSES {
            let Some(count) = self.count_from(wanted) else { break };
            wanted = match self.look_among(count)? {
                Some(ending) if ending.message == self.asked => return Ok(()),
                Some(ending) if ending.message < self.asked => {
                    count + (self.asked - ending.message) as u64
                }
                _ => count + 1,
            };
        }
        // Messages were deleted in between, or no save had this message as the last one.
        wanted = first;
        while let Some(count) = self.count_from(wanted).filter(|_| self.looks < MOST_LOOKS / 2) {
            if self.look_among(count)?.is_some_and(|ending| ending.message == self.asked) {
                return Ok(());
            }
            wanted = count + 1;
        }
        self.look_below(first)
    }

    /// The smallest number of messages, at least `wanted`, that a version has.
    fn count_from(&self, wanted: u64) -> Option<u64> {
        self.by_count.range(wanted..).next().map(|(count, _)| *count)
    }

    /// Adds the next best candidates.
    fn widen(&mut self, tried: Ending) -> Result<()> {
        let count = self.versions.lines[tried.version].count;
        self.look_among(count)?;
        if self.found.range(Ending { message: tried.message, version: 0 }..).next().is_none() {
            self.look_below(count)?;
        }
        Ok(())
    }

    /// Reads versions with this number of messages until one ends with one of today's messages that is
    /// not after the one asked for. If all of them are after it, returns one of those.
    fn look_among(&mut self, count: u64) -> Result<Option<Ending>> {
        let mut after = None;
        while let Some((versions, looked)) = self.by_count.get_mut(&count) {
            let Some(version) = versions.get(*looked).copied().filter(|_| *looked < MOST_ALIKE)
            else {
                break;
            };
            *looked += 1;
            if self.looks >= MOST_LOOKS {
                break;
            }
            if let Some(message) = self.ends_in(version)? {
                let ending = Ending { message, version };
                if message <= self.asked {
                    self.found.insert(ending);
                    return Ok(Some(ending));
                }
                after = Some(ending);
            }
        }
        Ok(after)
    }

    /// The same for versions with fewer messages.
    fn look_below(&mut self, count: u64) -> Result<()> {
        let below: Vec<u64> = self.by_count.range(..count).rev().map(|(count, _)| *count).collect();
        for count in below {
            match self.look_among(count)? {
                Some(ending) if ending.message <= self.asked => break,
                _ if self.looks >= MOST_LOOKS => break,
                _ => {}
            }
        }
        Ok(())
    }

    /// The message of today's chat that a version ends with.
    fn ends_in(&mut self, version: usize) -> Result<Option<usize>> {
        let Some(last) = self.last(version)? else { return Ok(None) };
        let is_in_place = last.number as usize == self.asked;
        if is_in_place && self.today.id(self.asked)? == Some(last.id) {
            return Ok(Some(self.asked));
        }
        let Some(line) = self.read(&last.id).if_readable()? else { return Ok(None) };
        let Some(then) = Identity::of(&line) else { return Ok(None) };
        if is_in_place
            && let Some(now) = self.today.identity(self.asked)
            && now.is_same_in_place(&then)
        {
            return Ok(Some(self.asked));
        }
        Ok(Messages::of([&*line]).find_in(0, self.today.messages()))
    }

    fn last(&mut self, version: usize) -> Result<Option<Last>> {
        if let Some(known) = self.lasts.get(&version) {
            return Ok(*known);
        }
        self.looks += 1;
        let last = self.read_last(version).if_readable()?.flatten();
        self.lasts.insert(version, last);
        Ok(last)
    }

    fn read_last(&self, version: usize) -> Result<Option<Last>> {
        let kept = StoredVersion::read(self.history.store(), self.versions.lines[version].id)?;
        match parts(self.history, &kept)? {
            Some((_, body)) => self.last_in(body),
            None => Ok(None),
        }
    }

    fn last_in(&self, body: Id) -> Result<Option<Last>> {
        let blank = id_of(object::Kind::Blob, b"\n")?;
        let store = self.history.store();
        let Some((number, id)) = Body::last(store, body)? else { return Ok(None) };
        let mut last = Last { body, number, id };
        for _ in 0..BLANKS {
            if last.id != blank {
                return Ok(Some(last));
            }
            let Some(number) = last.number.checked_sub(1) else { break };
            let Some(id) = Body::piece(store, body, number)? else { break };
            last = Last { body, number, id };
        }
        Ok(None)
    }

    fn read(&self, id: &Id) -> Result<Vec<u8>> {
        self.history.store().read(id, object::Kind::Blob)
    }

    /// Whether the version is an earlier state of today's chat, saved while its last message was the
    /// last one.
    fn is_state_of_today(&mut self, ending: Ending) -> Result<bool> {
        let Some(last) = self.last(ending.version)? else { return Ok(false) };
        Ok(self.today.is_told_in(self.history, last.body, ending.message)?
            && self.is_certain(ending, last)?
            && !self.next_came_before(ending, last)?
            && (self.is_watched(ending) || self.next_was_sent_after(ending)))
    }

    /// Whether every save was observed from a version without the last message to this one. Then a
    /// message after it would have been observed as well.
    fn is_watched(&self, ending: Ending) -> bool {
        let lines = &self.versions.lines;
        let count = lines[ending.version].count;
        let mut before = lines[..=ending.version].iter().rev();
        let stop = before.find(|line| line.count < count || !line.was_seen);
        stop.is_some_and(|line| line.count < count)
    }

    /// Whether today's next message was sent after the version was written. If saves were missed, it
    /// could otherwise have existed before: deleted in one page and saved again by another.
    fn next_was_sent_after(&self, ending: Ending) -> bool {
        let next = ending.message + 1;
        if next >= self.today.len() {
            return true;
        }
        let Some(identity) = self.today.identity(next) else { return false };
        let sent: Option<Vec<i64>> = identity.dates().map(milliseconds_of).collect();
        let first = sent.and_then(|sent| sent.into_iter().min());
        let written = i64::try_from(self.versions.lines[ending.version].written);
        first.zip(written.ok()).is_some_and(|(sent, written)| sent > written)
    }

    /// Whether the last message cannot be mistaken for another one. Texts repeat, and older dates do
    /// not distinguish two messages of the same minute.
    fn is_certain(&mut self, ending: Ending, last: Last) -> Result<bool> {
        let line = self.read(&last.id)?;
        let (then, now) = (Identity::of(&line), self.today.identity(ending.message));
        let (Some(then), Some(now)) = (then, now) else { return Ok(false) };
        if now.is_certainly(&then) || ending.message + 1 == self.today.len() {
            return Ok(true);
        }
        let lines = &self.versions.lines;
        let count = lines[ending.version].count;
        let mut after = lines.iter().enumerate().skip(ending.version + 1);
        match after.find(|(_, line)| line.count > count && !line.is_loss) {
            Some((grown, _)) => self.has_next(grown, ending, last),
            None => Ok(false),
        }
    }

    /// Whether an earlier version already had today's next message. Then this is not the state in
    /// which that message arrived.
    fn next_came_before(&mut self, ending: Ending, last: Last) -> Result<bool> {
        if ending.message + 1 >= self.today.len() {
            return Ok(false);
        }
        let versions = self.versions;
        let before = versions.lines[..ending.version].iter().enumerate().rev();
        let count = versions.lines[ending.version].count;
        for (longer, _) in before.filter(|(_, line)| line.count > count) {
            if self.looks >= MOST_LOOKS || self.has_next(longer, ending, last)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a version has today's next message after the one that `ending` ends with.
    fn has_next(&mut self, version: usize, ending: Ending, last: Last) -> Result<bool> {
        self.looks += 1;
        let store = self.history.store();
        let kept = StoredVersion::read(store, self.versions.lines[version].id)?;
        let Some((_, body)) = parts(self.history, &kept)? else { return Ok(false) };
        let Some(id) = Body::piece(store, body, last.number + 1)? else { return Ok(false) };
        let next = ending.message + 1;
        if self.today.id(next)? == Some(id) {
            return Ok(true);
        }
        let line = self.read(&id)?;
        let (then, now) = (Identity::of(&line), self.today.identity(next));
        let is_next = then.zip(now).is_some_and(|(then, now)| now.is_same_in_place(&then));
        if is_next || Body::piece(store, body, last.number)? == Some(last.id) {
            return Ok(is_next);
        }
        // Its messages are in other positions.
        let next = self.today.id(next)?;
        let all = Body::read(store, body)?;
        Ok(all.pieces().iter().any(|(_, id)| Some(*id) == next))
    }
}

/// Parses a date as SillyTavern writes it since 1.16. Older formats do not include the time zone.
fn milliseconds_of(date: &[u8]) -> Option<i64> {
    let date: jiff::Timestamp = std::str::from_utf8(date).ok()?.parse().ok()?;
    Some(date.as_millisecond())
}
