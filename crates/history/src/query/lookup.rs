//! Finding a file by what a person calls it.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use forklore_core::sillytavern::names::folded;
use forklore_tavern::disk::Disk;
use forklore_tavern::folder::similar_names::like;

use crate::error::Result;
use crate::file::{FileKind, FileName, spelt};
use crate::query::versions::LookupError;
use crate::version::history::History;
use crate::version::lineage::Lineage;

/// The words before a colon that say what is meant.
const PREFIXES: [(&str, FileKind); 5] = [
    ("chat", FileKind::Chat),
    ("book", FileKind::Book),
    ("lorebook", FileKind::Book),
    ("card", FileKind::Card),
    ("group", FileKind::Group),
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
            let names = BTreeSet::from([lineage.file().label(), lineage.file().bare_label()]);
            names.into_iter().for_each(|name| *called.entry(name).or_default() += 1);
        }
        Self { history, disk, home, called }
    }

    /// Finds the file that `wanted` means: `Anna/Story`, `group:Story`, `Lore`, `book:Lore`, a path,
    /// or a name alone where it is unique; also by a name that it had, and where it is gone. What
    /// another machine recorded comes after what this one did, or is named `machine:Anna/Story`; what comes from SillyTavern's own backups, `backups:Anna/Story`.
    pub fn find(&self, wanted: &str) -> Result<&'h Lineage, LookupError> {
        self.find_among(wanted, &|_| true)
    }

    /// The same, where only some can be meant.
    pub fn find_among(
        &self,
        wanted: &str,
        may_be: &dyn Fn(&Lineage) -> bool,
    ) -> Result<&'h Lineage, LookupError> {
        if let Some(rest) = wanted.strip_prefix(BACKUPS) {
            let lineage = self.find_among(rest, may_be)?;
            return self.history.lineages().backups_of(lineage).ok_or_else(|| {
                LookupError::Unknown { wanted: wanted.to_owned(), like: Vec::new() }
            });
        }
        let mut found = self.by_path(wanted);
        found.retain(|lineage| may_be(lineage));
        if let Some(found) = self.one_of(wanted, &found)? {
            return Ok(found);
        }
        let (machine, text) = self.machine_of(wanted);
        let text = &*spelt(text);
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
            None => {
                Err(LookupError::Unknown { wanted: wanted.to_owned(), like: self.like(wanted) })
            }
        }
    }

    /// The shortest name under which [`Finder::find`] finds it.
    pub fn name_of(&self, lineage: &Lineage) -> String {
        let name = lineage.file();
        let own = lineage.machine == self.history.machine() && !lineage.is_imported();
        let whole = name.label();
        if own && self.called.get(&whole) == Some(&1) {
            return whole;
        }
        let bare = name.bare_label();
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
        let name = FileName::of_path(below.unwrap_or(path));
        if name.kind().is_none() {
            return Vec::new();
        }
        self.history.lineages().iter().filter(|lineage| *lineage.file() == name).collect()
    }

    fn was_called(&self, lineage: &Lineage, text: &str) -> Result<bool> {
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
    ) -> Result<Option<&'h Lineage>, LookupError> {
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
                Err(LookupError::Ambiguous {
                    wanted: wanted.to_owned(),
                    found: found.iter().map(|lineage| self.certain_name(lineage)).collect(),
                })
            }
        }
    }

    /// A name that leaves no doubt, made without looking for it again.
    fn certain_name(&self, lineage: &Lineage) -> String {
        let (whole, bare) = (lineage.file().label(), lineage.file().bare_label());
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

    /// Files that may have been meant.
    fn like(&self, wanted: &str) -> Vec<String> {
        let own = self.history.lineages().own(self.history.machine());
        like(wanted, own.map(|lineage| self.name_of(lineage)))
    }
}

/// Whether a file goes by a name that `matches`. `text` is what was typed, for what stands before a
/// colon in it.
fn is_called(kind: FileKind, name: &FileName, text: &str, matches: &dyn Fn(&str) -> bool) -> bool {
    let (whole, bare) = (name.label(), name.bare_label());
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
