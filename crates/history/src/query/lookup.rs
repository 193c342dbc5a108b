//! Finds files by the names that people use.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use forklore_core::sillytavern::names::folded;
use forklore_tavern::disk::Disk;
use forklore_tavern::folder::similar_names::like;

use crate::error::Result;
use crate::file::{FileKind, FileName, encode_typed};
use crate::query::versions::LookupError;
use crate::version::history::History;
use crate::version::lineage::Lineage;

/// The prefixes before a colon that select a kind of file.
const PREFIXES: [(&str, FileKind); 5] = [
    ("chat", FileKind::Chat),
    ("book", FileKind::Book),
    ("lorebook", FileKind::Book),
    ("card", FileKind::Card),
    ("group", FileKind::Group),
];

/// The prefix that selects a file's backups by SillyTavern.
const BACKUPS: &str = "backups:";

/// Finds files of a history by the names that people use.
pub struct Finder<'h, 'd> {
    history: &'h History<'d>,
    disk: &'h dyn Disk,
    /// The user's folder.
    home: &'h Path,
    /// How many files have each label, with or without the prefix that says where they are.
    label_counts: HashMap<String, usize>,
}

impl<'h, 'd> Finder<'h, 'd> {
    pub fn new(history: &'h History<'d>, disk: &'h dyn Disk, home: &'h Path) -> Self {
        let mut label_counts = HashMap::new();
        for lineage in history.lineages().own(history.machine()) {
            let names = BTreeSet::from([lineage.file().label(), lineage.file().bare_label()]);
            names.into_iter().for_each(|name| *label_counts.entry(name).or_default() += 1);
        }
        Self { history, disk, home, label_counts }
    }

    /// Finds the file that `wanted` refers to: `Anna/Story`, `group:Story`, `Lore`, `book:Lore`, a
    /// path, or a bare name if it is unique. Former names and deleted files are found as well.
    /// Files of this machine take precedence over those of others, which can be selected with
    /// `machine:Anna/Story`. `backups:Anna/Story` selects versions imported from SillyTavern's own
    /// backups.
    pub fn find(&self, wanted: &str) -> Result<&'h Lineage, LookupError> {
        self.find_among(wanted, &|_| true)
    }

    /// The same, restricted to lineages for which `is_candidate` is true.
    pub fn find_among(
        &self,
        wanted: &str,
        is_candidate: &dyn Fn(&Lineage) -> bool,
    ) -> Result<&'h Lineage, LookupError> {
        if let Some(rest) = wanted.strip_prefix(BACKUPS) {
            let lineage = self.find_among(rest, is_candidate)?;
            return self.history.lineages().backups_of(lineage).ok_or_else(|| {
                LookupError::Unknown { wanted: wanted.to_owned(), like: Vec::new() }
            });
        }
        let mut found = self.by_path(wanted);
        found.retain(|lineage| is_candidate(lineage));
        if let Some(found) = self.best_match(wanted, &found)? {
            return Ok(found);
        }
        let (machine, text) = self.machine_of(wanted);
        let text = &*encode_typed(text);
        let all: Vec<&Lineage> = self
            .history
            .lineages()
            .iter()
            .filter(|lineage| machine.is_none_or(|machine| lineage.machine == machine))
            .filter(|lineage| is_candidate(lineage))
            .collect();
        let has_name = |lineage: &&Lineage, matches: &dyn Fn(&str) -> bool| {
            has_name(lineage.kind, lineage.file(), text, matches)
        };
        let key = folded(text);
        let ways: [&dyn Fn(&str) -> bool; 2] =
            [&|name: &str| name == text, &|name: &str| folded(name) == key];
        for way in ways {
            let found: Vec<&Lineage> =
                all.iter().copied().filter(|lineage| has_name(lineage, way)).collect();
            if let Some(found) = self.best_match(wanted, &found)? {
                return Ok(found);
            }
        }
        let mut once = Vec::new();
        for lineage in all {
            if self.had_name(lineage, text)? {
                once.push(lineage);
            }
        }
        match self.best_match(wanted, &once)? {
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
        if own && self.label_counts.get(&whole) == Some(&1) {
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

    /// A path to the file, absolute or relative to the user's folder.
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

    fn had_name(&self, lineage: &Lineage, text: &str) -> Result<bool> {
        for stored in self.history.own_versions(lineage) {
            let name = &stored.version.file;
            if name != lineage.file() && has_name(lineage.kind, name, text, &|name| name == text) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The best match: this machine's files before those of others, recorded before imported,
    /// existing before deleted.
    fn best_match(
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
        // If several files had the same path, the last one.
        found.sort_by_key(|lineage| std::cmp::Reverse(lineage.tip.version.order));
        let mut places = BTreeSet::new();
        found.retain(|lineage| places.insert((lineage.machine.clone(), lineage.file().clone())));
        match found[..] {
            [only] => Ok(Some(only)),
            _ => {
                found.sort_by_key(|lineage| (lineage.kind, lineage.file().clone()));
                Err(LookupError::Ambiguous {
                    wanted: wanted.to_owned(),
                    found: found.iter().map(|lineage| self.unambiguous_name(lineage)).collect(),
                })
            }
        }
    }

    /// An unambiguous name, built without another search.
    fn unambiguous_name(&self, lineage: &Lineage) -> String {
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

    /// Files with similar names, as suggestions.
    fn like(&self, wanted: &str) -> Vec<String> {
        let own = self.history.lineages().own(self.history.machine());
        like(wanted, own.map(|lineage| self.name_of(lineage)))
    }
}

/// Whether a file has a name that `matches`. `text` is what the user typed; only its prefix before
/// a colon is used.
fn has_name(kind: FileKind, name: &FileName, text: &str, matches: &dyn Fn(&str) -> bool) -> bool {
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
