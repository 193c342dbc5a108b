//! A version: one state of a file, described by a commit.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::{HistoryError, Result};
use crate::file::FileName;
use crate::git::object::{Id, Kind};
use crate::store::Store;
use crate::version::lineage_name;

/// No count or time that we write comes near this limit, so sums cannot overflow. Commits from
/// elsewhere may contain any number.
const MOST: u64 = 1 << 48;

/// How a version was observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Observed as it was saved: no version was missed between it and the previous one.
    Saved,
    /// Observed as it was saved, but after a version of this or another file was missed.
    Late,
    /// Found by a scan: other versions may have come and gone before it.
    Found,
    /// The file was found, or observed, under another name.
    Renamed { from: FileName },
    /// It started as a copy of another file.
    Copied { from: FileName },
    /// The file was deleted. The content is that of the previous version.
    Deleted,
    /// Restored by Forklore.
    Restored { version: u64 },
    /// Imported from one of SillyTavern's own backups.
    Imported,
}

/// Everything recorded about a version except the file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub file: FileName,
    /// The ref that it was recorded for, without `refs/heads/`. Lost refs are recovered from this.
    pub lineage: String,
    /// Counts the versions of a file from 1.
    pub number: u64,
    /// Counts everything that this machine recorded, so that versions of different files can be
    /// ordered even if the clock was changed.
    pub order: u64,
    pub why: Origin,
    /// A one-line summary for people.
    pub words: String,
    /// The file's modification time.
    pub written: SystemTime,
    pub recorded: SystemTime,
    /// Messages of a chat, or entries of a lorebook.
    pub count: Option<u64>,
    pub bytes: u64,
    /// The kind of loss that this version looks like.
    pub collapse: Option<String>,
}

/// A version that is in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    pub id: Id,
    pub tree: Id,
    pub parent: Option<Id>,
    pub version: Version,
}

impl Origin {
    fn text(&self) -> String {
        match self {
            Self::Saved => "saved".into(),
            Self::Late => "late".into(),
            Self::Found => "found".into(),
            Self::Renamed { from } => format!("renamed {}", from.as_str()),
            Self::Copied { from } => format!("copied {}", from.as_str()),
            Self::Deleted => "deleted".into(),
            Self::Restored { version } => format!("restored {version}"),
            Self::Imported => "imported".into(),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Some(match word {
            "saved" => Self::Saved,
            "late" => Self::Late,
            "found" => Self::Found,
            "renamed" => Self::Renamed { from: FileName::of_text(rest) },
            "copied" => Self::Copied { from: FileName::of_text(rest) },
            "deleted" => Self::Deleted,
            "restored" => Self::Restored { version: rest.parse().ok()? },
            "imported" => Self::Imported,
            _ => return None,
        })
    }
}

/// Milliseconds since 1970, the precision of all recorded times.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

impl Version {
    /// When this version came to be: the file's modification time or, if that is later than the
    /// recording or earlier than the previous version's, the time of the recording. A file copied
    /// from elsewhere can keep its old modification time.
    pub fn effective_time(&self, before: Option<&Self>) -> SystemTime {
        let is_later = before.is_none_or(|before| before.written <= self.written);
        if is_later && self.written <= self.recorded { self.written } else { self.recorded }
    }

    /// The text of the commit.
    pub fn commit(&self, tree: &Id, parent: Option<&Id>) -> Vec<u8> {
        use std::fmt::Write as _;
        let mut text = format!("tree {tree}\n");
        // Writing into a string cannot fail.
        if let Some(parent) = parent {
            let _ = writeln!(text, "parent {parent}");
        }
        for (role, time) in [("author", self.written), ("committer", self.recorded)] {
            let seconds = milliseconds(time) / 1000;
            let _ = writeln!(text, "{role} Forklore <forklore@localhost> {seconds} +0000");
        }
        let words = one_line(&self.words);
        let _ = writeln!(text, "\n{words}\n");
        let _ = writeln!(text, "File: {}", self.file.as_str());
        let _ = writeln!(text, "Lineage: {}", one_line(&self.lineage));
        let _ = writeln!(text, "Version: {}", self.number);
        let _ = writeln!(text, "Order: {}", self.order);
        let _ = writeln!(text, "Why: {}", self.why.text());
        let _ = writeln!(text, "Written: {}", milliseconds(self.written));
        let _ = writeln!(text, "Recorded: {}", milliseconds(self.recorded));
        let _ = writeln!(text, "Bytes: {}", self.bytes);
        if let Some(count) = self.count {
            let _ = writeln!(text, "Count: {count}");
        }
        if let Some(collapse) = &self.collapse {
            let _ = writeln!(text, "Collapse: {}", one_line(collapse));
        }
        text.into_bytes()
    }
}

/// No value may look like another line of the commit.
fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = line.trim();
    if line.is_empty() { "a version".to_owned() } else { line.to_owned() }
}

impl StoredVersion {
    pub fn read(store: &Store<'_>, id: Id) -> Result<Self> {
        let text = store.read(&id, Kind::Commit)?;
        let misshapen = || HistoryError::Misshapen { id, expected: "a version of a file" };
        Self::parse(id, &text).ok_or_else(misshapen)
    }

    pub fn parse(id: Id, text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (headers, message) = text.split_once("\n\n")?;
        let header = |name: &str| {
            headers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        };
        let (words, trailers) = message.split_once("\n\n")?;
        let trailer = |name: &str| {
            trailers.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let number =
            |name: &str| trailer(name)?.parse::<u64>().ok().filter(|number| *number < MOST);
        let time = |name| UNIX_EPOCH.checked_add(Duration::from_millis(number(name)?));
        Some(Self {
            id,
            tree: Id::from_hex(header("tree")?.as_bytes()).ok()?,
            parent: header("parent").and_then(|parent| Id::from_hex(parent.as_bytes()).ok()),
            version: Version {
                file: FileName::of_text(trailer("File")?),
                // It becomes part of the names of refs, which are paths.
                lineage: trailer("Lineage")
                    .filter(|name| lineage_name::parse(name).is_some())?
                    .to_owned(),
                number: number("Version").filter(|number| *number > 0)?,
                order: number("Order")?,
                why: Origin::read(trailer("Why")?)?,
                words: words.to_owned(),
                written: time("Written")?,
                recorded: time("Recorded")?,
                count: number("Count"),
                bytes: number("Bytes")?,
                collapse: trailer("Collapse").map(str::to_owned),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object::id_of;

    #[test]
    fn a_version_comes_back_from_its_commit() {
        let tree = id_of(Kind::Tree, b"").unwrap();
        for why in [
            Origin::Saved,
            Origin::Late,
            Origin::Found,
            Origin::Renamed { from: FileName::of_text("chats/A B/x.jsonl") },
            Origin::Copied { from: FileName::of_text("worlds/x.json") },
            Origin::Deleted,
            Origin::Restored { version: 17 },
            Origin::Imported,
        ] {
            let version = Version {
                file: FileName::of_text("chats/Anna/Story: \u{2028}one.jsonl"),
                lineage: "pc-1a2b/chats/anna-story-one-01234567".into(),
                number: 3,
                order: 99,
                why,
                words: "message 2 by Anna".into(),
                written: UNIX_EPOCH + Duration::from_millis(1_700_000_000_123),
                recorded: UNIX_EPOCH + Duration::from_millis(1_700_000_001_456),
                count: Some(3),
                bytes: 1234,
                collapse: Some("torn".into()),
            };
            let text = version.commit(&tree, Some(&tree));
            let id = id_of(Kind::Commit, &text).unwrap();
            let stored = StoredVersion::parse(id, &text).unwrap();
            assert_eq!(stored, StoredVersion { id, tree, parent: Some(tree), version });
        }
    }

    #[test]
    fn counts_that_cannot_be_are_not_believed() {
        let tree = id_of(Kind::Tree, b"").unwrap();
        let text = |version: &str| {
            format!(
                "tree {tree}\n\nwords\n\nFile: settings.json\nLineage: pc/settings/x\nVersion: {version}\nOrder: 1\n\
                 Why: saved\nWritten: 1\nRecorded: 1\nBytes: 1\n"
            )
        };
        let read =
            |version| Some(StoredVersion::parse(tree, text(version).as_bytes())?.version.number);
        assert_eq!(read("3"), Some(3));
        assert_eq!(read("0"), None);
        assert_eq!(read("18446744073709551615"), None);
    }

    #[test]
    fn words_cannot_pass_for_something_else() {
        let tree = id_of(Kind::Tree, b"").unwrap();
        let version = Version {
            file: FileName::of_text("settings.json"),
            lineage: "pc-1a2b/settings/settings-01234567".into(),
            number: 1,
            order: 1,
            why: Origin::Saved,
            words: "\n\nOrder: 7\u{1b}[31m\n\n".into(),
            written: UNIX_EPOCH,
            recorded: UNIX_EPOCH,
            count: None,
            bytes: 0,
            collapse: None,
        };
        let elsewhere = Version { lineage: "../../settings/x".into(), ..version.clone() };
        assert_eq!(StoredVersion::parse(tree, &elsewhere.commit(&tree, None)), None);
        let stored = StoredVersion::parse(tree, &version.commit(&tree, None)).unwrap();
        assert_eq!((stored.version.order, stored.version.words.as_str()), (1, "Order: 7 [31m"));
    }
}
