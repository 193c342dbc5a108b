//! Lineages: all versions of one file, through all of its renames. Each is a ref.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::error::HistoryError;
use crate::file::{FileKind, FileName};
use crate::store::Store;
use crate::version::commit::{Origin, StoredVersion};
use crate::version::lineage_name;
use crate::version::strays::Strays;

/// All versions of one file, identified by the newest.
#[derive(Clone, Debug)]
pub struct Lineage {
    /// `refs/heads/<machine>/<kind>/<name>`
    pub reference: String,
    pub machine: String,
    pub kind: FileKind,
    /// The newest version that can be read.
    pub tip: StoredVersion,
    /// There were newer ones, which are lost.
    pub is_cut: bool,
}

/// All lineages of a history.
#[derive(Debug, Default)]
pub struct Lineages {
    by_reference: BTreeMap<String, Lineage>,
    /// Files of this machine that exist, as far as the history knows.
    live: FxHashMap<FileName, String>,
    /// Refs whose commit cannot be read.
    pub unreadable: Vec<(String, HistoryError)>,
}

impl Lineage {
    pub fn is_deleted(&self) -> bool {
        self.tip.version.why == Origin::Deleted
    }

    pub fn file(&self) -> &FileName {
        &self.tip.version.file
    }

    /// How many versions it has.
    pub fn versions(&self) -> u64 {
        self.tip.version.number
    }

    /// Whether it consists of versions imported from SillyTavern's own backups.
    pub fn is_imported(&self) -> bool {
        self.tip.version.why == Origin::Imported
    }
}

impl Lineages {
    /// Reads the lineages that changed since the last call.
    pub(crate) fn refresh(&mut self, store: &Store<'_>, machine: &str, strays: &OnceCell<Strays>) {
        let strays = || strays.get_or_init(|| Strays::find(store));
        let mut before = std::mem::take(&mut self.by_reference);
        self.unreadable.clear();
        self.live.clear();
        for (reference, id) in store.refs() {
            let name = reference.strip_prefix("refs/heads/");
            let Some((owner, kind)) = name.and_then(lineage_name::parse) else { continue };
            let lineage = match before.remove(reference) {
                Some(known) if known.tip.id == *id => known,
                _ => {
                    let read = StoredVersion::read(store, *id);
                    let is_cut = read.is_err();
                    let own = lineage_of(reference);
                    let tip = match read {
                        Ok(tip) if tip.version.lineage == own => Some(tip),
                        Ok(_) => strays().newest(own).cloned(),
                        Err(error) => {
                            self.unreadable.push((reference.clone(), error));
                            strays().newest(own).cloned()
                        }
                    };
                    let Some(tip) = tip else { continue };
                    let (reference, machine) = (reference.clone(), owner.to_owned());
                    Lineage { reference, machine, kind, tip, is_cut }
                }
            };
            self.insert(lineage, machine);
        }
        if store.has_damaged_refs() {
            self.add_without_refs(strays(), machine);
        }
    }

    /// Adds the lineages whose refs are lost.
    fn add_without_refs(&mut self, strays: &Strays, machine: &str) {
        for (name, newest) in strays.lineages() {
            let reference = format!("refs/heads/{name}");
            let Some((owner, kind)) = lineage_name::parse(name) else { continue };
            if !self.by_reference.contains_key(&reference) {
                let (machine_of, tip) = (owner.to_owned(), newest.clone());
                let lineage = Lineage { reference, machine: machine_of, kind, tip, is_cut: false };
                self.insert(lineage, machine);
            }
        }
    }

    /// Adds or updates a lineage. `machine` is this machine.
    pub fn insert(&mut self, lineage: Lineage, machine: &str) {
        let reference = lineage.reference.clone();
        if lineage.machine == machine {
            if let Some(before) = self.by_reference.get(&reference)
                && self.live.get(before.file()) == Some(&reference)
            {
                self.live.remove(before.file());
            }
            if !lineage.is_deleted() && !lineage.is_imported() {
                self.live.insert(lineage.file().clone(), reference.clone());
            }
        }
        self.by_reference.insert(reference, lineage);
    }

    pub fn iter(&self) -> impl Iterator<Item = &Lineage> {
        self.by_reference.values()
    }

    pub fn get(&self, reference: &str) -> Option<&Lineage> {
        self.by_reference.get(reference)
    }

    /// The lineage of the file that exists under this name on this machine.
    pub fn live(&self, name: &FileName) -> Option<&Lineage> {
        self.get(self.live.get(name)?)
    }

    pub fn live_names(&self) -> impl Iterator<Item = &FileName> {
        self.live.keys()
    }

    /// The lineage of the file that last existed under this name on this machine, and was deleted.
    pub fn deleted(&self, machine: &str, name: &FileName) -> Option<&Lineage> {
        self.iter()
            .filter(|lineage| lineage.machine == machine)
            .filter(|lineage| lineage.is_deleted() && lineage.file() == name)
            .max_by_key(|lineage| lineage.tip.version.order)
    }

    /// The lineages of this machine's files, without imported backups.
    pub fn own<'a>(&'a self, machine: &'a str) -> impl Iterator<Item = &'a Lineage> {
        self.recorded_by(machine).filter(|lineage| !lineage.is_imported())
    }

    /// The lineages of this machine's files, including imported backups.
    pub fn recorded_by<'a>(&'a self, machine: &'a str) -> impl Iterator<Item = &'a Lineage> {
        self.iter().filter(move |lineage| lineage.machine == machine)
    }

    /// The versions of a file that were imported from SillyTavern's own backups.
    pub fn backups_of(&self, lineage: &Lineage) -> Option<&Lineage> {
        self.get(&backups_reference(&lineage.reference))
    }
}

/// The name of a ref as it appears in commits.
pub fn lineage_of(reference: &str) -> &str {
    reference.strip_prefix("refs/heads/").unwrap_or(reference)
}

/// The lineage and version number in the name of a ref to a single version, such as a pin.
pub(crate) fn numbered(name: &str) -> Option<(&str, u64)> {
    let (folder, name) = name.strip_prefix("refs/")?.split_once('/')?;
    let (lineage, number) = name.rsplit_once('/')?;
    let number = number.parse().ok()?;
    matches!(folder, "pins" | "dismissed" | "rescued").then_some((lineage, number))
}

/// The lineage that a ref belongs to.
pub(crate) fn lineage_in(name: &str) -> &str {
    numbered(name).map_or(lineage_of(name), |(lineage, _)| lineage)
}

/// The ref for versions of a file that were imported from SillyTavern's own backups.
pub fn backups_reference(reference: &str) -> String {
    format!("{reference}-backups")
}

/// Lower-case letters, digits and dashes, which every file system and every git accepts.
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        if slug.len() >= 40 {
            break;
        }
        if character.is_ascii_alphanumeric() {
            slug.push(character.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "unnamed".to_owned() } else { slug.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_a_ref_for_any_git() {
        for (text, expected) in [
            ("Anna/Story - 2026", "anna-story-2026"),
            ("../../etc", "etc"),
            ("\u{1F409}", "unnamed"),
            (".lock", "lock"),
            ("@{x}", "x"),
            ("-", "unnamed"),
        ] {
            assert_eq!(slug(text), expected);
        }
        assert!(slug(&"long ".repeat(100)).len() <= 40);
    }
}
