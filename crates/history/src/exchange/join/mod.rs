//! Imports what other machines recorded.
//!
//! Each machine writes only refs under its own name, so the recordings of several machines are
//! stored side by side and never conflict. Everything from outside is validated before a ref points
//! to it: it has to consist of complete versions of files, under valid ref names; and it never
//! changes what this machine recorded itself. Until then it is kept outside the store, because
//! unreachable objects in the store could later be mistaken for something that was lost.

mod validate;

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::file::FileKind;
use crate::git::object::{Id, Kind};
use crate::git::pack::{Packed, Packer};
use crate::git::refs::Refs;
use crate::store::{Store, Writing};
use crate::version::lineage_name;

use validate::{CheckStop, IncomingCheck, ObjectSource};

/// What was imported.
#[derive(Debug, Default)]
pub struct Joined {
    /// By machine.
    pub machines: BTreeMap<String, FromMachine>,
    /// Refs that are not a valid or complete history of a file.
    pub refused: Vec<RefusedRef>,
    /// Files of this machine for which the other side has a different history. They are left alone
    /// here.
    pub ours_differ: usize,
}

/// What was imported from one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FromMachine {
    pub files: usize,
    pub versions: usize,
    /// Files whose history was rewritten. The old one is kept below `refs/old`.
    pub rewritten: usize,
}

/// A ref that was not imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRef {
    pub reference: String,
    pub why: Unsound,
}

/// Why a ref from outside is not the history of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    #[error("the name is not one that Forklore uses")]
    Name,
    #[error("it is not a version of a file")]
    NotAVersion,
    #[error("it is a version of another file")]
    OtherFile,
    #[error("a part of it is missing")]
    Missing,
    #[error("a part of it has a form that no file has")]
    Shape,
    #[error("it is not as long as it claims, or longer than any file")]
    Size,
}

/// What has to be done for an import.
#[derive(Default)]
pub(crate) struct JoinPlan {
    refs: Vec<(String, Id)>,
    /// The objects that it needs and that are not in the store.
    objects: FxHashSet<Id>,
    pub(crate) joined: Joined,
}

/// Incoming objects that are not in the store.
pub(crate) trait ExtraObjects {
    fn read(&self, id: &Id) -> Result<Option<(Kind, Vec<u8>)>>;
    /// The kind and size of an object.
    fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>>;
    fn ids(&self) -> Vec<Id>;
    /// All of them, in the packs in which they arrived.
    fn packs(&self) -> Result<Vec<Packed>>;
}

/// The name of one of our refs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefName<'a> {
    pub(crate) machine: &'a str,
    kind: FileKind,
    /// `<machine>/<kind>/<name>`
    lineage: &'a str,
    /// The version number, if it is a pin or a dismissal.
    number: Option<u64>,
}

impl<'a> RefName<'a> {
    /// Parses the name of a ref that is exchanged between machines.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (folder, rest) = name.strip_prefix("refs/")?.split_once('/')?;
        let (lineage, number) = match folder {
            "heads" => (rest, None),
            "pins" | "dismissed" => {
                let (lineage, number) = rest.rsplit_once('/')?;
                let is_plain =
                    !number.starts_with('0') && number.bytes().all(|b| b.is_ascii_digit());
                (lineage, Some(number.parse().ok().filter(|_| is_plain)?))
            }
            _ => return None,
        };
        let (machine, kind) = lineage_name::parse(lineage)?;
        Some(Self { machine, kind, lineage, number })
    }
}

/// Determines which of the refs in `offered` are valid and new. Changes nothing.
pub(crate) fn plan(
    store: &Store<'_>,
    extra: &dyn ExtraObjects,
    own: &str,
    offered: &Refs,
) -> Result<JoinPlan> {
    let source = ObjectSource { store, extra };
    let mut plan = JoinPlan::default();
    let mut incoming = IncomingCheck::new(&source);
    // Pins belong to files, so heads come first: `dismissed` sorts before `heads`.
    let (heads, others): (Vec<_>, Vec<_>) =
        offered.iter().partition(|(name, _)| name.starts_with("refs/heads/"));
    let mut known: FxHashSet<&str> = store.refs().keys().map(String::as_str).collect();
    for (name, id) in heads.into_iter().chain(others) {
        let refuse = |why| RefusedRef { reference: name.clone(), why };
        let Some(reference) = RefName::parse(name) else {
            plan.joined.refused.push(refuse(Unsound::Name));
            continue;
        };
        let before = store.refs().get(name);
        if reference.machine == own {
            // It may lag behind; anything else was not written by this machine.
            let lags = match before {
                Some(before) => incoming.leads_to(*before, *id)?,
                None => false,
            };
            plan.joined.ours_differ += usize::from(reference.number.is_none() && !lags);
            continue;
        }
        if before == Some(id) {
            continue;
        }
        let head = format!("refs/heads/{}", reference.lineage);
        if reference.number.is_some() && !known.contains(head.as_str()) {
            plan.joined.refused.push(refuse(Unsound::OtherFile));
            continue;
        }
        let found = match incoming.tip(*id, &reference) {
            Ok(found) => found,
            Err(CheckStop::Unsound(why)) => {
                plan.joined.refused.push(refuse(why));
                continue;
            }
            Err(CheckStop::Failed(error)) => return Err(error),
        };
        let mut is_rewritten = false;
        if let Some(before) = before {
            if reference.number.is_none() && incoming.leads_to(*before, *id)? {
                // We have newer versions.
                continue;
            }
            if !incoming.leads_to(*id, *before)? {
                is_rewritten = true;
                let short = before.to_hex_with_len(16);
                plan.refs.push((format!("refs/old/{}/{short}", reference.lineage), *before));
            }
        }
        plan.refs.push((name.clone(), *id));
        plan.objects.extend(found.objects);
        if reference.number.is_none() {
            known.insert(name);
            let from_machine =
                plan.joined.machines.entry(reference.machine.to_owned()).or_default();
            from_machine.files += 1;
            from_machine.versions += found.versions;
            from_machine.rewritten += usize::from(is_rewritten);
        }
    }
    plan.joined.refused.sort_by(|one, other| one.reference.cmp(&other.reference));
    Ok(plan)
}

/// Carries out a plan: first the objects, then the refs.
pub(crate) fn apply(
    writing: &mut Writing<'_, '_>,
    extra: &dyn ExtraObjects,
    plan: &JoinPlan,
) -> Result<()> {
    if !plan.objects.is_empty() {
        let is_wanted = |id: &Id| plan.objects.contains(id) || writing.store().has(id);
        if extra.ids().iter().all(is_wanted) {
            for packed in extra.packs()? {
                writing.store_mut().write_pack(packed)?;
            }
        } else {
            // Some of the incoming objects belong to refused refs.
            let mut packer = Packer::new(LEVEL);
            for id in &plan.objects {
                if let Some((kind, data)) = extra.read(id)? {
                    packer.add(*id, kind, &data);
                }
            }
            writing.store_mut().write_pack(packer.finish_pack()?)?;
        }
    }
    for (name, id) in &plan.refs {
        writing.set_ref(name, *id);
    }
    writing.flush()
}

const LEVEL: u32 = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_come_in() {
        let parse = |name| RefName::parse(name).map(|it| (it.machine, it.lineage, it.number));
        assert_eq!(
            parse("refs/heads/pc-1a/chats/anna-01"),
            Some(("pc-1a", "pc-1a/chats/anna-01", None))
        );
        assert_eq!(
            parse("refs/pins/pc-1a/books/lore-01/17"),
            Some(("pc-1a", "pc-1a/books/lore-01", Some(17)))
        );
        for name in [
            "HEAD",
            "refs/heads/main",
            "refs/heads/pc/chats/a/b",
            "refs/heads/pc/stories/a",
            "refs/heads/../chats/a",
            "refs/heads/PC/chats/a",
            "refs/heads/-pc/chats/a",
            "refs/heads/pc/chats/a.lock",
            "refs/heads/pc/chats/",
            "refs/heads//chats/a",
            "refs/pins/pc/chats/a",
            "refs/pins/pc/chats/a/x",
            "refs/pins/pc/chats/a/007",
            "refs/pins/pc/chats/a/+7",
            "refs/old/pc/chats/a/7",
            "refs/tags/v1",
        ] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
