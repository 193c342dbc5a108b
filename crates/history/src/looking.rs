//! Finding a file by what a person calls it, its versions, and what looks like a loss.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::path::Path;

use forklore_core::chat::{Chat, Place};
use forklore_core::happened::Collapse;
use forklore_core::names::{book_key, folded};
use forklore_tavern::disk::Disk;
use rustc_hash::FxHashSet;

use crate::error::HistoryError;
use crate::file::{Kind, Name};
use crate::git::object::{self, Id};
use crate::history::History;
use crate::lineage::{Lineage, lineage_of};
use crate::tracked::Tracked;
use crate::version::{Kept, Why};

/// What someone typed means no file, or several; or it has no such version.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("the history knows nothing called {wanted:?}")]
    Unknown { wanted: String, like: Vec<String> },
    #[error("{wanted:?} could be any of several files")]
    Ambiguous { wanted: String, found: Vec<String> },
    #[error("there is no version {wanted} of {file:?}")]
    NoVersion { file: String, wanted: u64, newest: u64 },
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// A version that looks like a loss, since which nothing has come back.
#[derive(Clone, Debug)]
pub struct Loss {
    pub reference: String,
    /// What the file is called now.
    pub file: Name,
    pub lost: Kept,
    /// The last good version before it.
    pub good: Kept,
}

impl Loss {
    /// What happened, in a few words.
    pub fn words(&self) -> String {
        let code = self.lost.version.collapse.as_deref().unwrap_or_default();
        let collapse = Collapse::from_code(code).map(|collapse| collapse.words());
        collapse.unwrap_or_else(|| self.lost.version.words.clone())
    }

    /// The ref that says that somebody has seen it and wants no more of it.
    pub fn dismissal(&self) -> String {
        dismissal(&self.reference, self.lost.version.number)
    }
}

fn dismissal(reference: &str, number: u64) -> String {
    format!("refs/dismissed/{}/{number}", lineage_of(reference))
}

/// How many are named to someone who named none of them.
const MOST_NAMED: usize = 5;

/// What a file is called, as its disk spells it.
pub fn label(name: &Name) -> String {
    let label = name.label();
    let path = Name::of_text(&label).to_path();
    match label.contains('%') {
        true => path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"),
        false => label,
    }
}

/// The name alone, without the character or group.
fn bare(name: &Name) -> String {
    let label = label(name);
    let start = match name.as_str().split_once('/') {
        Some(("chats", _)) => label.find('/').map_or(0, |at| at + 1),
        Some(("group chats", _)) => label.find(':').map_or(0, |at| at + 1),
        _ => 0,
    };
    label[start..].to_owned()
}

/// The words before a colon that say what is meant.
const PREFIXES: [(&str, Kind); 5] = [
    ("chat", Kind::Chat),
    ("book", Kind::Book),
    ("lorebook", Kind::Book),
    ("card", Kind::Card),
    ("group", Kind::Group),
];

/// What stands before the name of a file whose backups by SillyTavern are meant.
const BACKUPS: &str = "backups:";

/// Finds files of a history by what people call them.
pub struct Finder<'h, 'd> {
    history: &'h History<'d>,
    disk: &'h dyn Disk,
    /// The folder of the user.
    home: &'h Path,
    /// How many files go by a name, with or without what says where they are.
    called: HashMap<String, usize>,
}

impl<'h, 'd> Finder<'h, 'd> {
    pub fn new(history: &'h History<'d>, disk: &'h dyn Disk, home: &'h Path) -> Self {
        let mut called = HashMap::new();
        for lineage in history.lineages().own(history.machine()) {
            let names = BTreeSet::from([label(lineage.file()), bare(lineage.file())]);
            names.into_iter().for_each(|name| *called.entry(name).or_default() += 1);
        }
        Self { history, disk, home, called }
    }

    /// Finds the file that `wanted` means: `Anna/Story`, `group:Story`, `Lore`, `book:Lore`, a path,
    /// or a name alone where it is unique; also by a name that it had, and where it is gone. What
    /// another machine recorded comes after what this one did, or is named `machine:Anna/Story`; what comes from SillyTavern's own backups, `backups:Anna/Story`.
    pub fn find(&self, wanted: &str) -> Result<&'h Lineage, LookError> {
        self.find_among(wanted, &|_| true)
    }

    /// The same, where only some can be meant.
    pub fn find_among(
        &self,
        wanted: &str,
        may_be: &dyn Fn(&Lineage) -> bool,
    ) -> Result<&'h Lineage, LookError> {
        if let Some(rest) = wanted.strip_prefix(BACKUPS) {
            let lineage = self.find_among(rest, may_be)?;
            return self
                .history
                .lineages()
                .backups_of(lineage)
                .ok_or_else(|| LookError::Unknown { wanted: wanted.to_owned(), like: Vec::new() });
        }
        let mut found = self.by_path(wanted);
        found.retain(|lineage| may_be(lineage));
        if let Some(found) = self.one_of(wanted, &found)? {
            return Ok(found);
        }
        let (machine, text) = self.machine_of(wanted);
        let all: Vec<&Lineage> = self
            .history
            .lineages()
            .iter()
            .filter(|lineage| machine.is_none_or(|machine| lineage.machine == machine))
            .filter(|lineage| may_be(lineage))
            .collect();
        let is_called = |lineage: &&Lineage, matches: &dyn Fn(&str) -> bool| {
            is_called(lineage.kind, lineage.file(), text, matches)
        };
        let key = folded(text);
        let ways: [&dyn Fn(&str) -> bool; 2] =
            [&|name: &str| name == text, &|name: &str| folded(name) == key];
        for way in ways {
            let found: Vec<&Lineage> =
                all.iter().copied().filter(|lineage| is_called(lineage, way)).collect();
            if let Some(found) = self.one_of(wanted, &found)? {
                return Ok(found);
            }
        }
        let mut once = Vec::new();
        for lineage in all {
            if self.was_called(lineage, text)? {
                once.push(lineage);
            }
        }
        match self.one_of(wanted, &once)? {
            Some(found) => Ok(found),
            None => Err(LookError::Unknown { wanted: wanted.to_owned(), like: self.like(&key) }),
        }
    }

    /// The shortest name under which [`Finder::find`] finds it.
    pub fn name_of(&self, lineage: &Lineage) -> String {
        let name = lineage.file();
        let own = lineage.machine == self.history.machine() && !lineage.is_imported();
        let whole = label(name);
        if own && self.called.get(&whole) == Some(&1) {
            return whole;
        }
        let bare = bare(name);
        let prefix = PREFIXES.iter().find(|(_, kind)| *kind == lineage.kind);
        let prefixed = prefix.map(|(word, _)| format!("{word}:{bare}"));
        let machine = format!("{}:{whole}", lineage.machine);
        let backups = format!("{BACKUPS}{whole}");
        let is_found =
            |name: &String| self.find(name).is_ok_and(|found| found.reference == lineage.reference);
        [Some(whole), prefixed, Some(machine), Some(backups)]
            .into_iter()
            .flatten()
            .find(is_found)
            .unwrap_or_else(|| name.as_str().to_owned())
    }

    fn machine_of<'w>(&self, wanted: &'w str) -> (Option<&'w str>, &'w str) {
        match wanted.split_once(':') {
            Some((machine, rest))
                if self.history.lineages().iter().any(|lineage| lineage.machine == machine) =>
            {
                (Some(machine), rest)
            }
            _ => (None, wanted),
        }
    }

    /// A path to the file, from anywhere or from the user's folder.
    fn by_path(&self, wanted: &str) -> Vec<&'h Lineage> {
        let path = Path::new(wanted);
        let real = self.disk.real_path(path);
        let real_home = self.disk.real_path(self.home);
        let below = match (&real, &real_home) {
            (Ok(path), Ok(home)) => path.strip_prefix(home).ok(),
            _ => path.strip_prefix(self.home).ok(),
        };
        let name = Name::of_path(below.unwrap_or(path));
        if name.kind().is_none() {
            return Vec::new();
        }
        self.history.lineages().iter().filter(|lineage| *lineage.file() == name).collect()
    }

    fn was_called(&self, lineage: &Lineage, text: &str) -> Result<bool, HistoryError> {
        for kept in self.history.own_versions(lineage) {
            let kept = kept?;
            let name = &kept.version.file;
            if name != lineage.file() && is_called(lineage.kind, name, text, &|name| name == text) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The one that is meant: what is there rather than what is gone, and ours rather than theirs.
    fn one_of(
        &self,
        wanted: &str,
        found: &[&'h Lineage],
    ) -> Result<Option<&'h Lineage>, LookError> {
        let rank = |lineage: &Lineage| {
            (lineage.machine != self.history.machine(), lineage.is_imported(), lineage.is_deleted())
        };
        let Some(best) = found.iter().map(|lineage| rank(lineage)).min() else { return Ok(None) };
        let mut found: Vec<&Lineage> =
            found.iter().copied().filter(|lineage| rank(lineage) == best).collect();
        // Of several files that lay in one place, the last.
        found.sort_by_key(|lineage| std::cmp::Reverse(lineage.tip.version.order));
        let mut places = BTreeSet::new();
        found.retain(|lineage| places.insert((lineage.machine.clone(), lineage.file().clone())));
        match found[..] {
            [only] => Ok(Some(only)),
            _ => {
                found.sort_by_key(|lineage| (lineage.kind, lineage.file().clone()));
                Err(LookError::Ambiguous {
                    wanted: wanted.to_owned(),
                    found: found.iter().map(|lineage| self.certain_name(lineage)).collect(),
                })
            }
        }
    }

    /// A name that leaves no doubt, made without looking for it again.
    fn certain_name(&self, lineage: &Lineage) -> String {
        let (whole, bare) = (label(lineage.file()), bare(lineage.file()));
        let prefix = PREFIXES.iter().find(|(_, kind)| *kind == lineage.kind);
        match prefix {
            _ if lineage.machine != self.history.machine() => {
                format!("{}:{whole}", lineage.machine)
            }
            _ if whole != bare => whole,
            Some((word, _)) => format!("{word}:{bare}"),
            None => lineage.file().as_str().to_owned(),
        }
    }

    /// Files whose name has something in common with what was typed.
    fn like(&self, key: &str) -> Vec<String> {
        let words: Vec<&str> =
            key.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).collect();
        let mut scored: Vec<(usize, &Lineage)> = self
            .history
            .lineages()
            .own(self.history.machine())
            .map(|lineage| {
                let label = folded(&label(lineage.file()));
                (words.iter().filter(|word| label.contains(*word)).count(), lineage)
            })
            .filter(|(hits, _)| *hits > 0)
            .collect();
        scored.sort_by(|one, other| {
            other.0.cmp(&one.0).then_with(|| one.1.file().cmp(other.1.file()))
        });
        scored.into_iter().take(MOST_NAMED).map(|(_, lineage)| self.name_of(lineage)).collect()
    }
}

/// Whether a file goes by a name that `matches`. `text` is what was typed, for what stands before a
/// colon in it.
fn is_called(kind: Kind, name: &Name, text: &str, matches: &dyn Fn(&str) -> bool) -> bool {
    let (whole, bare) = (label(name), bare(name));
    let ending = Path::new(name.as_str()).extension().unwrap_or_default().to_string_lossy();
    let with_ending = |name: &str| matches(name) || matches(&format!("{name}.{ending}"));
    if with_ending(&whole) || with_ending(&bare) || matches(name.as_str()) {
        return true;
    }
    let Some((word, _)) = text.split_once(':') else { return false };
    PREFIXES.iter().any(|(prefix, meant)| {
        *prefix == word
            && *meant == kind
            && [&whole, &bare].iter().any(|name| matches(&format!("{prefix}:{name}")))
    })
}

/// Everything that was recorded, the newest first; not what SillyTavern's own backups add to it.
///
/// What one machine recorded comes in the order in which it did, whatever its clock said; only between
/// machines do clocks decide.
pub struct Everything<'h, 'd> {
    history: &'h History<'d>,
    machines: Vec<BinaryHeap<Next<'h>>>,
}

/// By the order in which they were recorded.
struct Next<'h> {
    lineage: &'h Lineage,
    kept: Kept,
}

impl<'h> Iterator for Everything<'h, '_> {
    type Item = Result<(&'h Lineage, Kept), HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let recorded =
            |machine: &BinaryHeap<Next<'_>>| machine.peek().map(|next| next.kept.version.recorded);
        let machine = self.machines.iter_mut().max_by_key(|machine| recorded(machine))?;
        let Next { lineage, kept } = machine.pop()?;
        if let Some(parent) = kept.parent {
            match Kept::read(self.history.store(), parent) {
                Ok(before) if before.version.lineage == kept.version.lineage => {
                    machine.push(Next { lineage, kept: before });
                }
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok((lineage, kept)))
    }
}

impl Ord for Next<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |next: &Self| (next.kept.version.order, next.kept.id);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Next<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Next<'_> {}

impl<'d> History<'d> {
    pub fn everything(&self) -> Everything<'_, 'd> {
        let mut machines: BTreeMap<&str, BinaryHeap<Next<'_>>> = BTreeMap::new();
        for lineage in self.lineages().iter().filter(|lineage| !lineage.is_imported()) {
            let next = Next { lineage, kept: lineage.tip.clone() };
            machines.entry(&lineage.machine).or_default().push(next);
        }
        Everything { history: self, machines: machines.into_values().collect() }
    }
}

impl History<'_> {
    /// The versions that were recorded for a file, under whatever names, the newest first; not those
    /// of the file that it began as a copy of.
    pub fn own_versions(
        &self,
        lineage: &Lineage,
    ) -> impl Iterator<Item = Result<Kept, HistoryError>> {
        let own = lineage_of(&lineage.reference).to_owned();
        self.versions(&lineage.tip)
            .take_while(move |kept| kept.as_ref().map_or(true, |kept| kept.version.lineage == own))
    }

    /// The version of a number: the file's own, or else of the file that it began as a copy of.
    pub fn version(&self, lineage: &Lineage, number: u64) -> Result<Kept, LookError> {
        for kept in self.versions(&lineage.tip) {
            let kept = kept?;
            if kept.version.number == number {
                return Ok(kept);
            }
        }
        Err(LookError::NoVersion {
            file: label(lineage.file()),
            wanted: number,
            newest: lineage.tip.version.number,
        })
    }

    /// The versions of a file that are pinned.
    pub fn pins(&self, lineage: &Lineage) -> BTreeSet<u64> {
        self.numbers_below(&format!("refs/pins/{}/", lineage_of(&lineage.reference)))
    }

    fn numbers_below(&self, folder: &str) -> BTreeSet<u64> {
        let below = self.store().refs().range(folder.to_owned()..);
        let names = below.map_while(|(name, _)| name.strip_prefix(folder));
        names.filter_map(|number| number.parse().ok()).collect()
    }

    /// What looks like a loss in the files of this machine, the newest first, as long as no later
    /// version has as much in it as the good one had, and nobody has dismissed it.
    pub fn losses(&self) -> Result<Vec<Loss>, HistoryError> {
        let mut losses = Vec::new();
        for lineage in self.lineages().own(self.machine()) {
            losses.extend(self.losses_of(lineage)?);
        }
        losses.sort_by_key(|loss| std::cmp::Reverse(loss.lost.version.order));
        Ok(losses)
    }

    /// Those of one file.
    pub fn losses_of(&self, lineage: &Lineage) -> Result<Vec<Loss>, HistoryError> {
        let mut losses = Vec::new();
        if self.pins(lineage).is_empty() {
            return Ok(losses);
        }
        let mut later = Later::default();
        let mut lost: Option<Kept> = None;
        for kept in self.versions(&lineage.tip) {
            let kept = kept?;
            if let Some(lost) = lost.take() {
                let is_open = !later.brought_back(&lost, &kept)
                    && !self
                        .store()
                        .refs()
                        .contains_key(&dismissal(&lineage.reference, lost.version.number));
                later.add(&lost);
                // Of a loss upon a loss only what was there before both is worth having back.
                if is_open && kept.version.collapse.is_none() {
                    losses.push(Loss {
                        reference: lineage.reference.clone(),
                        file: lineage.file().clone(),
                        lost,
                        good: kept.clone(),
                    });
                }
            }
            if kept.version.lineage != lineage_of(&lineage.reference) {
                break;
            }
            if kept.version.collapse.is_some() {
                lost = Some(kept);
            } else {
                later.add(&kept);
            }
        }
        Ok(losses)
    }

    /// The first line of a version of a chat, without reading the rest of it.
    fn bound_book(&self, kept: &Kept) -> Result<Option<String>, HistoryError> {
        let Some(head) = Tracked::read(self.store(), kept.tree)?.head else { return Ok(None) };
        let bytes = self.store().read(&head.id, object::Kind::Blob)?;
        let is_group = kept.version.file.as_str().starts_with("group chats/");
        let place = if is_group { Place::Group } else { Place::Solo };
        let chat = Chat::read_header(&bytes, place);
        let name = chat.metadata().and_then(|metadata| metadata.get("world_info")?.text());
        Ok(name.map(|name| name.into_owned()).filter(|name| !name.is_empty()))
    }

    /// The lorebook that a version of a chat is bound to, and what it was before the chat went on.
    pub fn book_then(
        &self,
        chat: &Lineage,
        version: &Kept,
    ) -> Result<Option<(&Lineage, Kept)>, HistoryError> {
        let Some(name) = self.bound_book(version)? else { return Ok(None) };
        let key = book_key(&name);
        let mut next = u64::MAX;
        for kept in self.versions(&chat.tip) {
            let kept = kept?;
            if kept.id == version.id {
                break;
            }
            next = kept.version.order;
        }
        let book = self.lineages().iter().find(|other| {
            other.machine == chat.machine
                && other.kind == Kind::Book
                && book_key(&bare(other.file())) == key
        });
        let Some(book) = book else { return Ok(None) };
        for kept in self.own_versions(book) {
            let kept = kept?;
            if kept.version.order < next && kept.version.why != Why::Deleted {
                return Ok(Some((book, kept)));
            }
        }
        Ok(None)
    }

    /// The chats of this machine that are bound to a lorebook now.
    pub fn chats_of(&self, book: &Lineage) -> Result<Vec<&Lineage>, HistoryError> {
        let key = book_key(&bare(book.file()));
        let mut found = Vec::new();
        for lineage in self.lineages().own(self.machine()) {
            if lineage.kind == Kind::Chat
                && self.bound_book(&lineage.tip)?.is_some_and(|name| book_key(&name) == key)
            {
                found.push(lineage);
            }
        }
        Ok(found)
    }
}

/// What came after a loss.
#[derive(Default)]
struct Later {
    /// The most messages or entries that any version has.
    most: Option<u64>,
    /// The same of those at which as much changed as in a loss.
    most_at_once: Option<u64>,
    any: bool,
    restored: bool,
    trees: FxHashSet<Id>,
}

impl Later {
    fn add(&mut self, kept: &Kept) {
        let version = &kept.version;
        self.most = self.most.max(version.count);
        if version.collapse.is_some() {
            self.most_at_once = self.most_at_once.max(version.count);
        } else if version.why != Why::Deleted {
            self.any = true;
            self.trees.insert(kept.tree);
        }
        self.restored |= matches!(version.why, Why::Restored { .. });
    }

    fn brought_back(&self, lost: &Kept, good: &Kept) -> bool {
        let is_replaced = lost.version.collapse.as_deref() == Some(&*Collapse::Replaced.code());
        let has = |most: Option<u64>| most.is_some() && most >= good.version.count;
        self.restored
            || self.trees.contains(&good.tree)
            || match good.version.count {
                // How much there is of something else says nothing.
                Some(_) if is_replaced => has(self.most_at_once),
                Some(_) => has(self.most),
                None => self.any,
            }
    }
}
