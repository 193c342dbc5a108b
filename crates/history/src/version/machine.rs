//! The name under which this machine records. It is unique, so that what several machines recorded
//! can be stored side by side.
//!
//! Whoever loses the name loses sight of everything that was recorded under it. So it is written
//! twice, and where both are damaged, nothing is recorded until the user has said which it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::error::{HistoryError, Result};
use crate::store::Store;
use crate::store::files::Files as _;
use crate::version::lineage::slug;
use crate::version::lineage_name;

/// What is known about this machine's name.
pub(crate) enum MachineName {
    Known(String),
    /// Nothing has been recorded yet.
    New,
    /// One of these, or another that has recorded nothing.
    Unclear(BTreeSet<String>),
}

/// The machines that recorded something.
pub(crate) fn recorded(store: &Store<'_>) -> BTreeSet<String> {
    let heads = store.refs().keys().filter_map(|name| name.strip_prefix("refs/heads/"));
    let machines = heads.filter_map(|name| Some(lineage_name::parse(name)?.0.to_owned()));
    machines.collect()
}

/// A name, if the file holds exactly one.
fn read_one(store: &Store<'_>, path: &Path) -> Result<Option<String>> {
    let bytes = store.disk.read_if_exists(path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let name = text.trim_end_matches('\n');
    Ok((!name.is_empty() && slug(name) == name).then(|| name.to_owned()))
}

pub(crate) fn read(store: &Store<'_>) -> Result<MachineName> {
    let first = read_one(store, &store.layout().machine())?;
    let second = read_one(store, &store.layout().machine_copy())?;
    let recorded = recorded(store);
    Ok(choose(first, second, recorded))
}

fn choose(
    first: Option<String>,
    second: Option<String>,
    recorded: BTreeSet<String>,
) -> MachineName {
    match (first, second) {
        (Some(first), Some(second)) if first == second => MachineName::Known(first),
        (None, None) if recorded.is_empty() => MachineName::New,
        // One of them is damaged: the right one has recorded something.
        (first, second) => {
            let is_alone = first.is_none();
            let names = [first, second].into_iter().flatten();
            let mut with_versions = names.clone().filter(|name| recorded.contains(name));
            match (with_versions.next(), with_versions.next()) {
                (Some(name), None) => MachineName::Known(name),
                (None, _) if recorded.is_empty() => {
                    names.last().map_or(MachineName::New, MachineName::Known)
                }
                // The copy alone is only ever read where the other one is damaged.
                (None, _) if is_alone => {
                    names.last().map_or(MachineName::Unclear(recorded), MachineName::Known)
                }
                _ => MachineName::Unclear(recorded),
            }
        }
    }
}

/// The file that does not hold the name, if there is one. A history of an earlier version has no
/// copy.
pub(crate) fn damaged(store: &Store<'_>) -> Result<Option<PathBuf>> {
    let (first, copy) = (store.layout().machine(), store.layout().machine_copy());
    let name = match read(store)? {
        MachineName::New => return Ok(None),
        MachineName::Unclear(_) => return Ok(Some(first)),
        MachineName::Known(name) => name,
    };
    if read_one(store, &first)?.as_ref() != Some(&name) {
        return Ok(Some(first));
    }
    let is_bad = store.disk.exists(&copy)? && read_one(store, &copy)?.as_ref() != Some(&name);
    Ok(is_bad.then_some(copy))
}

/// Reads the name, or makes one if nothing was recorded yet. `host` is the machine's host name.
pub(crate) fn ensure(store: &mut Store<'_>, host: &str) -> Result<String> {
    let paths = [store.layout().machine(), store.layout().machine_copy()];
    if let MachineName::Known(name) = read(store)?
        && read_one(store, &paths[0])?.as_ref() == Some(&name)
        && read_one(store, &paths[1])?.as_ref() == Some(&name)
    {
        return Ok(name);
    }
    let _lock = store.lock()?;
    let name = match read(store)? {
        MachineName::Known(name) => name,
        MachineName::New => new_name(store, host),
        MachineName::Unclear(machines) => {
            return Err(HistoryError::WhichMachine(machines.into_iter().collect()));
        }
    };
    write(store, &name)?;
    Ok(name)
}

pub(crate) fn new_name(store: &Store<'_>, host: &str) -> String {
    let own = store.clock.slug();
    let own: String = own.chars().filter(char::is_ascii_alphanumeric).take(6).collect();
    let host: String = slug(host).chars().take(20).collect();
    slug(&format!("{host}-{own}"))
}

/// Writes the name into both files. Requires the lock.
pub(crate) fn write(store: &Store<'_>, name: &str) -> Result<()> {
    for path in [store.layout().machine_copy(), store.layout().machine()] {
        store.disk.replace(&path, &[name.as_bytes(), b"\n"])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(first: &str, second: &str, recorded: &[&str]) -> Option<String> {
        let name = |name: &str| (!name.is_empty()).then(|| name.to_owned());
        let recorded = recorded.iter().map(|&name| name.to_owned()).collect();
        match choose(name(first), name(second), recorded) {
            MachineName::Known(name) => Some(name),
            MachineName::New => Some("new".to_owned()),
            MachineName::Unclear(_) => None,
        }
    }

    #[test]
    fn the_name_survives_damage_to_either_file_or_is_asked_for() {
        for (first, second, recorded, name) in [
            ("", "", &[][..], Some("new")),
            ("a", "a", &[], Some("a")),
            // A new machine that has only pulled.
            ("a", "a", &["b"], Some("a")),
            // A history of an earlier version.
            ("a", "", &["a", "b"], Some("a")),
            ("a", "", &[], Some("a")),
            // Cut, gone, or something else.
            ("ab", "abc", &["abc"], Some("abc")),
            ("abc", "ab", &["abc", "b"], Some("abc")),
            ("", "a", &["b"], Some("a")),
            ("x", "a", &[], Some("a")),
            ("ab", "", &["abc"], None),
            ("", "", &["abc"], None),
            ("x", "y", &["abc"], None),
            ("a", "b", &["a", "b"], None),
        ] {
            assert_eq!(chosen(first, second, recorded).as_deref(), name, "{first} {second}");
        }
    }
}
