//! Imports SillyTavern's own backups as additional old versions.
//!
//! The name of a backup contains the card and the time, not the chat, so each backup is matched by
//! its content. Versions already recorded do not change: imported ones form a lineage beside the
//! file's own.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_tavern::disk::Disk;
use forklore_tavern::folder::layout::UserFolders;
use rustc_hash::FxHashSet;

use crate::error::{IfReadable as _, Result};
use crate::file::{FileKind, FileName};
use crate::git::object::{self, Id, id_of};
use crate::record::recorder::OldFile;
use crate::record::scan::{UnreadFile, read_stable, stat_inside};
use crate::version::history::History;
use crate::version::lineage::{Lineage, backups_reference};
use crate::version::split::split;
use crate::version::tracked::Tracked;

/// What an import did.
#[derive(Debug, Default)]
pub struct Imported {
    pub backups: usize,
    /// What was imported, by file.
    pub taken: Vec<TakenBackup>,
    /// Backups of versions that the history already has.
    pub known: usize,
    pub unread: Vec<UnreadFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBackup {
    pub name: FileName,
    pub backups: usize,
    /// No known chat matches it.
    pub is_gone: bool,
}

/// One of SillyTavern's backups.
struct Backup {
    path: PathBuf,
    kind: FileKind,
    /// The name of the card, group or user, as SillyTavern changed it for the file name.
    key: String,
    stamp: String,
    written: SystemTime,
}

/// A chat that a backup may belong to.
struct Candidate {
    /// The ref of the chat itself.
    reference: String,
    name: FileName,
    traits: Traits,
    /// The pieces of its newest and its oldest version.
    versions: Vec<Vec<(u32, Id)>>,
    is_gone: bool,
}

/// The fields of a chat's header that identify the chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Traits {
    integrity: Option<String>,
    main_chat: Option<String>,
    world_info: Option<String>,
    create_date: Option<String>,
}

/// How much accumulates before it is persisted.
const BATCH_BYTES: usize = 32 << 20;

/// Imports the backups that are not in the history yet.
pub fn import(
    history: &mut History<'_>,
    disk: &dyn Disk,
    folders: &UserFolders,
    tick: &dyn Fn(usize, usize),
) -> Result<Imported> {
    let (backups, unread) = list(disk, folders);
    let mut imported = Imported { backups: backups.len(), unread, ..Imported::default() };
    let mut candidates = candidates(history)?;
    let mut known = known(history)?;
    let mut recorder = history.record()?;
    for (at, backup) in backups.iter().enumerate() {
        tick(at + 1, backups.len());
        let bytes = match read_stable(disk, &backup.path) {
            Ok((bytes, _)) => bytes,
            Err(error) => {
                let path = backup.path.clone();
                imported.unread.push(UnreadFile { path, why: error.to_string() });
                continue;
            }
        };
        let pieces = pieces(backup.kind, &bytes)?;
        let traits = Traits::read(&bytes);
        let best = best(&candidates, backup, &traits, &pieces);
        let place = match best {
            Some(best) => best,
            None => {
                let name = name_of(&candidates, backup, &traits);
                let reference = recorder.new_reference(backup.kind, &name);
                let versions = Vec::new();
                let is_gone = backup.kind == FileKind::Chat;
                candidates.push(Candidate { reference, name, traits, versions, is_gone });
                candidates.len() - 1
            }
        };
        let candidate = &mut candidates[place];
        let reference = backups_reference(&candidate.reference);
        let old = OldFile {
            name: &candidate.name,
            reference: &reference,
            bytes: &bytes,
            written: backup.written,
        };
        if recorder.add_old(&old, &mut known)?.is_some() {
            imported.add(candidate);
        } else {
            imported.known += 1;
        }
        if candidate.is_gone {
            candidate.versions.push(pieces);
        }
        if recorder.size() > BATCH_BYTES {
            recorder.persist()?;
        }
    }
    recorder.flush()?;
    imported
        .taken
        .sort_by(|one, other| (one.is_gone, &one.name).cmp(&(other.is_gone, &other.name)));
    Ok(imported)
}

impl Imported {
    fn add(&mut self, candidate: &Candidate) {
        match self.taken.iter_mut().find(|taken| taken.name == candidate.name) {
            Some(taken) => taken.backups += 1,
            None => self.taken.push(TakenBackup {
                name: candidate.name.clone(),
                backups: 1,
                is_gone: candidate.is_gone,
            }),
        }
    }
}

/// The backups, oldest first.
fn list(disk: &dyn Disk, folders: &UserFolders) -> (Vec<Backup>, Vec<UnreadFile>) {
    let mut unread = Vec::new();
    let folder = &folders.backups;
    let mut skip =
        |path: &Path, why: String| unread.push(UnreadFile { path: path.to_owned(), why });
    let names = folders
        .data_root
        .resolve(disk, folder)
        .map_err(|error| error.to_string())
        .and_then(|real| disk.list(&real).map_err(|error| error.to_string()));
    let names = names.unwrap_or_else(|why| {
        skip(folder, why);
        Vec::new()
    });
    let mut backups = Vec::new();
    for name in names {
        let Some((kind, key, stamp)) = name.to_str().and_then(parts) else { continue };
        let path = folder.join(&name);
        match stat_inside(disk, folders, &path) {
            Ok(Some((path, stat))) => backups.push(Backup {
                path,
                kind,
                key: key.to_owned(),
                stamp: stamp.to_owned(),
                written: time_of(stamp, stat.modified),
            }),
            Ok(None) => {}
            Err(why) => skip(&path, why),
        }
    }
    backups.sort_by(|one, other| (&one.stamp, &one.path).cmp(&(&other.stamp, &other.path)));
    (backups, unread)
}

/// `chat_<key>_<YYYYMMDD-HHMMSS>.jsonl`, `settings_<handle>_<YYYYMMDD-HHMMSS>.json`
fn parts(name: &str) -> Option<(FileKind, &str, &str)> {
    let chat = name.strip_prefix("chat_").and_then(|rest| rest.strip_suffix(".jsonl"));
    let settings = name.strip_prefix("settings_").and_then(|rest| rest.strip_suffix(".json"));
    let (kind, rest) = match (chat, settings) {
        (Some(rest), _) => (FileKind::Chat, rest),
        (None, Some(rest)) => (FileKind::Settings, rest),
        (None, None) => return None,
    };
    let (key, stamp) = rest.rsplit_once('_')?;
    seconds(stamp).map(|_| (kind, key, stamp))
}

/// Seconds since 1970 for `YYYYMMDD-HHMMSS`, as if it were UTC.
fn seconds(stamp: &str) -> Option<u64> {
    let (day, time) = stamp.split_once('-')?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if day.len() != 8 || time.len() != 6 || !is_number(day) || !is_number(time) {
        return None;
    }
    let number = |text: &str| text.parse::<u64>().ok();
    let (year, month, date) = (number(&day[..4])?, number(&day[4..6])?, number(&day[6..])?);
    if year < 1970 || !(1..=12).contains(&month) || !(1..=31).contains(&date) {
        return None;
    }
    // Years that begin in March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + date - 1;
    const EPOCH: u64 = 719_468;
    let clock = number(&time[..2])? * 3600 + number(&time[2..4])? * 60 + number(&time[4..])?;
    Some((days - EPOCH) * 86_400 + clock)
}

/// SillyTavern writes the local time, in an unknown time zone. The file's modification time is
/// exact, unless the file was copied.
fn time_of(stamp: &str, modified: SystemTime) -> SystemTime {
    const ANY_ZONE: Duration = Duration::from_secs(15 * 3600);
    let named = UNIX_EPOCH + Duration::from_secs(seconds(stamp).unwrap_or_default());
    let apart = modified.duration_since(named).unwrap_or_else(|error| error.duration());
    if apart <= ANY_ZONE { modified } else { named }
}

/// How SillyTavern changes a name for its backups.
fn key(name: &str) -> String {
    let units = name.to_lowercase().encode_utf16().collect::<Vec<_>>();
    let plain = |unit: &u16| char::from_u32((*unit).into()).filter(char::is_ascii_alphanumeric);
    units.iter().map(|unit| plain(unit).unwrap_or('_')).collect()
}

fn has_key(backup: &Backup, name: &FileName) -> bool {
    let path = name.to_path();
    let mut parts = path.components().map(|part| part.as_os_str().to_string_lossy());
    let whose = match (parts.next().as_deref(), parts.next(), parts.next()) {
        (Some("chats"), Some(card), Some(_)) => card.into_owned(),
        (Some("group chats"), Some(chat), None) => chat.trim_end_matches(".jsonl").to_owned(),
        _ => return false,
    };
    let key = key(&whose);
    // For names with other characters, SillyTavern appends a number.
    backup.key == key || backup.key.strip_prefix(&key).is_some_and(|rest| rest.len() == 9)
}

impl Traits {
    fn read(bytes: &[u8]) -> Self {
        let chat = Chat::read_header(bytes, ChatKind::Solo);
        let Some(header) = chat.header() else { return Self::default() };
        let text = |name: &str| Some(header.get(name)?.text()?.into_owned());
        let metadata = chat.metadata();
        let meta = |name: &str| Some(metadata?.get(name)?.text()?.into_owned());
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        Self {
            integrity: filled(meta("integrity")),
            main_chat: filled(meta("main_chat")),
            world_info: filled(meta("world_info")),
            create_date: filled(text("create_date")),
        }
    }
}

fn pieces(kind: FileKind, bytes: &[u8]) -> Result<Vec<(u32, Id)>> {
    let split = split(kind, bytes);
    let mut pieces = Vec::with_capacity(split.body.len());
    for (number, range) in split.body {
        pieces.push((number, id_of(object::Kind::Blob, &bytes[range])?));
    }
    Ok(pieces)
}

/// The known chats and settings, including deleted ones.
fn candidates(history: &History<'_>) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for lineage in history.lineages().recorded_by(history.machine()) {
        let own = lineage.reference.strip_suffix("-backups").filter(|_| lineage.is_imported());
        if !matches!(lineage.kind, FileKind::Chat | FileKind::Settings)
            || own.is_some_and(|own| history.lineages().get(own).is_some())
        {
            continue;
        }
        candidates.push(Candidate {
            reference: own.unwrap_or(&lineage.reference).to_owned(),
            name: lineage.file().clone(),
            traits: traits_of(history, lineage)?,
            versions: versions_of(history, lineage)?,
            is_gone: own.is_some() && lineage.kind == FileKind::Chat,
        });
    }
    Ok(candidates)
}

fn traits_of(history: &History<'_>, lineage: &Lineage) -> Result<Traits> {
    if lineage.kind != FileKind::Chat {
        return Ok(Traits::default());
    }
    let store = history.store();
    let head = Tracked::read(store, lineage.tip.tree).if_readable()?.and_then(|it| it.head);
    let header = head.and_then(|head| store.read(&head.id, object::Kind::Blob).ok());
    Ok(header.map_or_else(Traits::default, |header| Traits::read(&header)))
}

fn versions_of(history: &History<'_>, lineage: &Lineage) -> Result<Vec<Vec<(u32, Id)>>> {
    if lineage.kind != FileKind::Chat {
        return Ok(Vec::new());
    }
    let mut trees = vec![lineage.tip.tree];
    if let Some(oldest) = history.own_versions(lineage).last() {
        trees.push(oldest.tree);
    }
    trees.dedup();
    let read = |tree| {
        let tracked = Tracked::read(history.store(), tree).if_readable().transpose()?;
        Some(tracked.map(|tracked| tracked.body.pieces().to_vec()))
    };
    trees.into_iter().filter_map(read).collect()
}

/// Versions that need not be imported again.
fn known(history: &History<'_>) -> Result<FxHashSet<Id>> {
    let mut known = FxHashSet::default();
    for lineage in history.lineages().recorded_by(history.machine()) {
        if matches!(lineage.kind, FileKind::Chat | FileKind::Settings) {
            for stored in history.own_versions(lineage) {
                known.insert(stored.tree);
            }
        }
    }
    Ok(known)
}

/// The chat with the longest common beginning; among several, the one whose header matches best.
fn best(
    candidates: &[Candidate],
    backup: &Backup,
    traits: &Traits,
    pieces: &[(u32, Id)],
) -> Option<usize> {
    let rank = |candidate: &Candidate| {
        if candidate.name.kind() != Some(backup.kind) {
            return None;
        }
        if backup.kind == FileKind::Settings {
            return Some((1, true, 3, 0, true));
        }
        let (ours, theirs) = (&traits.integrity, &candidate.traits.integrity);
        if ours.is_some() && theirs.is_some() && ours != theirs {
            return None;
        }
        let in_common = |version: &Vec<(u32, Id)>| {
            let first = pieces.iter().zip(version).take_while(|(one, other)| one == other).count();
            let all = pieces.iter().filter(|piece| version.binary_search(piece).is_ok()).count();
            (first, all)
        };
        let (first, all) = candidate.versions.iter().map(in_common).max().unwrap_or_default();
        let is_same = ours.is_some() && ours == theirs;
        if first == 0 && !is_same && all * 2 <= pieces.len() {
            return None;
        }
        let alike = [
            traits.main_chat == candidate.traits.main_chat,
            has_key(backup, &candidate.name),
            traits.world_info == candidate.traits.world_info,
        ];
        let alike = alike.into_iter().filter(|alike| *alike).count();
        Some((first, is_same, alike, all, !candidate.is_gone))
    };
    let ranked = candidates.iter().enumerate().filter_map(|(at, one)| Some((rank(one)?, at)));
    // The first of equals.
    ranked.max_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1))).map(|(_, at)| at)
}

/// A name for a chat of which only backups are left.
fn name_of(candidates: &[Candidate], backup: &Backup, traits: &Traits) -> FileName {
    if backup.kind == FileKind::Settings {
        return FileName::of_text("settings.json");
    }
    let known = candidates.iter().find(|candidate| has_key(backup, &candidate.name));
    let card = known.and_then(|candidate| {
        let parts: Vec<&str> = candidate.name.as_str().split('/').collect();
        (parts.len() == 3).then(|| parts[1].to_owned())
    });
    let card = card.unwrap_or_else(|| backup.key.clone());
    let when = traits.create_date.clone().unwrap_or_else(|| format!("backup {}", backup.stamp));
    let when: String = when
        .chars()
        .map(|c| if c.is_control() || "/\\%:*?\"<>|".contains(c) { '-' } else { c })
        .take(60)
        .collect();
    FileName::of_text(&format!("chats/{card}/{card} - {when}.jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_backups() {
        for (name, expected) in [
            ("chat_anna_20260101-101010.jsonl", Some((FileKind::Chat, "anna", "20260101-101010"))),
            (
                "chat_anna_smith_0a1b2c3d_20260101-101010.jsonl",
                Some((FileKind::Chat, "anna_smith_0a1b2c3d", "20260101-101010")),
            ),
            (
                "settings_default-user_20260101-101010.json",
                Some((FileKind::Settings, "default-user", "20260101-101010")),
            ),
            ("chat_anna_20260101.jsonl", None),
            ("chat_anna_20261301-101010.jsonl", None),
            ("chat_anna.jsonl", None),
            ("chat__20260101-101010.jsonl.1234567", None),
        ] {
            assert_eq!(parts(name), expected, "{name}");
        }
        assert_eq!(key("Anna Smith"), "anna_smith");
        assert_eq!(key("Änna\u{1F409}"), "_nna__");
    }

    #[test]
    fn a_stamp_is_a_time_and_the_file_knows_it_better() {
        for (stamp, expected) in [
            ("19700101-000000", 0),
            ("20000229-000000", 951_782_400),
            ("20240301-123456", 1_709_296_496),
            ("20261231-235959", 1_798_761_599),
        ] {
            assert_eq!(seconds(stamp), Some(expected), "{stamp}");
        }
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let in_tokyo = at(1_709_296_496 - 9 * 3600);
        assert_eq!(time_of("20240301-123456", in_tokyo), in_tokyo);
        assert_eq!(time_of("20240301-123456", at(1_800_000_000)), at(1_709_296_496));
    }
}
