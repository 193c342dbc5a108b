//! Takes in what other machines recorded.
//!
//! Each machine writes only below its own name, so what two of them recorded apart lies side by side
//! and never conflicts. What comes from outside is looked through before any ref points at it: it has
//! to be versions of files, all of them there, under names of ours; and nothing that comes from
//! outside changes what this machine recorded itself. Until then it lies outside the store: what no
//! ref leads to must not be taken one day for something that was lost.

mod validate;

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::file::FileKind;
use crate::git::object::{Id, Kind};
use crate::git::pack::{Packed, Packer};
use crate::git::refs::Refs;
use crate::store::{Store, Writing};

use validate::{CheckStop, IncomingCheck, ObjectSource};

/// What was taken in.
#[derive(Debug, Default)]
pub struct Joined {
    /// By machine.
    pub machines: BTreeMap<String, FromMachine>,
    /// What is no history of a file, or lacks a part.
    pub refused: Vec<RefusedRef>,
    /// Files of this machine whose past is another one there. They are left alone here.
    pub ours_differ: usize,
}

/// What came from one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FromMachine {
    pub files: usize,
    pub versions: usize,
    /// Files whose past is another one now. What it was is kept below `refs/old`.
    pub rewritten: usize,
}

/// A ref that was not taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRef {
    pub reference: String,
    pub why: Unsound,
}

/// Why something from outside is not a history of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    #[error("the name is not one of ours")]
    Name,
    #[error("it is not a version of a file")]
    NotAVersion,
    #[error("it is a version of another file")]
    OtherFile,
    #[error("a part of it is missing")]
    Missing,
    #[error("a part of it has a shape that no file has")]
    Shape,
    #[error("it is not as long as it says, or longer than any file")]
    Size,
}

/// What is to be done to take something in.
#[derive(Default)]
pub(crate) struct JoinPlan {
    points: Vec<(String, Id)>,
    /// What belongs to it and is not in the store.
    objects: FxHashSet<Id>,
    pub(crate) joined: Joined,
}

/// Objects that came and are not in the store.
pub(crate) trait ExtraObjects {
    fn read(&self, id: &Id) -> Result<Option<(Kind, Vec<u8>)>>;
    /// What an object is, and how long.
    fn header(&self, id: &Id) -> Result<Option<(Kind, u64)>>;
    fn ids(&self) -> Vec<Id>;
    /// All of them, in the packs in which they came.
    fn packs(&self) -> Result<Vec<Packed>>;
}

/// The name of a ref of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RefName<'a> {
    pub(crate) machine: &'a str,
    kind: FileKind,
    /// `<machine>/<kind>/<name>`
    lineage: &'a str,
    /// The version, where it is the name of a pin or of something dismissed.
    number: Option<u64>,
}

impl<'a> RefName<'a> {
    /// Reads the name of a ref that goes from machine to machine.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        const LONGEST: usize = 120;
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
        let mut parts = lineage.split('/');
        let (machine, kind, name) = (parts.next()?, parts.next()?, parts.next()?);
        let is_slug = |text: &str| {
            let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            !text.is_empty()
                && text.len() <= LONGEST
                && !text.starts_with('-')
                && text.bytes().all(is_plain)
        };
        let is_ours = parts.next().is_none() && is_slug(machine) && is_slug(name);
        let kind = FileKind::of_folder(kind)?;
        is_ours.then_some(Self { machine, kind, lineage, number })
    }
}

/// Finds out what of `offered` is sound and new. Changes nothing.
pub(crate) fn plan(
    store: &Store<'_>,
    beside: &dyn ExtraObjects,
    own: &str,
    offered: &Refs,
) -> Result<JoinPlan> {
    let source = ObjectSource { store, beside };
    let mut plan = JoinPlan::default();
    let mut incoming = IncomingCheck::new(&source);
    // Pins belong to files, which come first: `dismissed` sorts before `heads`.
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
            // It may lag behind; anything else was not written by us.
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
                // We know more than they do.
                continue;
            }
            if !incoming.leads_to(*id, *before)? {
                is_rewritten = true;
                let short = before.to_hex_with_len(16);
                plan.points.push((format!("refs/old/{}/{short}", reference.lineage), *before));
            }
        }
        plan.points.push((name.clone(), *id));
        plan.objects.extend(found.objects);
        if reference.number.is_none() {
            known.insert(name);
            let came = plan.joined.machines.entry(reference.machine.to_owned()).or_default();
            came.files += 1;
            came.versions += found.versions;
            came.rewritten += usize::from(is_rewritten);
        }
    }
    plan.joined.refused.sort_by(|one, other| one.reference.cmp(&other.reference));
    Ok(plan)
}

/// Does what was planned: first the objects, then the refs.
pub(crate) fn carry_out(
    writing: &mut Writing<'_, '_>,
    beside: &dyn ExtraObjects,
    plan: &JoinPlan,
) -> Result<()> {
    if !plan.objects.is_empty() {
        let is_wanted = |id: &Id| plan.objects.contains(id) || writing.store().has(id);
        if beside.ids().iter().all(is_wanted) {
            for packed in beside.packs()? {
                writing.store_mut().keep_pack(packed)?;
            }
        } else {
            // Something came along that was refused.
            let mut packer = Packer::new(LEVEL);
            for id in &plan.objects {
                if let Some((kind, data)) = beside.read(id)? {
                    packer.add(*id, kind, &data);
                }
            }
            writing.store_mut().keep_pack(packer.finish_pack()?)?;
        }
    }
    for (name, id) in &plan.points {
        writing.point(name, *id);
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
