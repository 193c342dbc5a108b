//! Merges ST-Auto-Recap's bookkeeping in a book: registries follow the entries that they list.

use std::collections::{HashMap, HashSet};

use super::entries::ThreeBooks;
use super::free_uids::{FreeUids, uid_of};
use super::{Choices, EntryStep, KeptOurs, MergePlan, StepKind};
use crate::compare::diff::{Tables, same_or_none, value};
use crate::recap::registry::{self, RegistryLine};
use crate::recap::{self, queue};
use crate::sillytavern::book::{Book, Entry};
use crate::sillytavern::defaults::is_same_entry;
use forklore_json::{JsText, Json};

pub(super) fn merge(
    books: &ThreeBooks<'_, '_>,
    choices: &Choices,
    free: &mut FreeUids<'_, '_, '_>,
    plan: &mut MergePlan,
) {
    if books.theirs.internal.is_empty() && books.ours.internal.is_empty() {
        return;
    }
    let uids = Uids::of(books, choices, plan);
    let mut seen = HashSet::new();
    for (key, entry) in books.theirs.internal.iter() {
        let name = entry.comment().into_owned();
        if registry::kind_of(&name).is_some() && is_list(entry) {
            if seen.insert(name.clone()) {
                merge_registry(&name, (key, entry), books, &uids, free, plan);
            }
        } else if choices.is_one_book {
            merge_whole(key, entry, books, free, plan);
        }
    }
    remove_obsolete_lines(books, &uids, &seen, plan);
}

/// Whether a registry consists of lines of text. Only the oldest registries do not.
fn is_list(entry: Entry<'_>) -> bool {
    content(entry).is_some_and(|text| !text.trim_start().starts_with('{'))
}

/// The content, if it is valid UTF-8.
fn content(entry: Entry<'_>) -> Option<String> {
    let text = entry.value().get("content")?.js_text()?;
    std::str::from_utf8(text.as_bytes()).ok().map(str::to_owned)
}

/// The uids that registry lines can refer to.
struct Uids {
    /// Uids of theirs that are different in ours.
    moved: HashMap<String, String>,
    /// In ours, after the plan is applied.
    present: HashSet<String>,
    /// In ours, and removed by the plan.
    removed: HashSet<String>,
    /// In theirs. A line about any other uid is a leftover, and in ours that uid may belong to
    /// another entry.
    theirs: HashSet<String>,
    /// In theirs, and wanted; `None` for all.
    wanted: Option<HashSet<String>>,
}

impl Uids {
    fn of(books: &ThreeBooks<'_, '_>, choices: &Choices, plan: &MergePlan) -> Self {
        let uid = |table: &Tables<'_>, key: &JsText| table.lore.get(key)?.uid();
        let stepped = |step: &EntryStep| {
            let uid = step.after.as_ref()?.get("uid").and_then(uid_of)?;
            Some(uid.to_string_lossy().into_owned())
        };
        let gone = plan.steps.iter().filter(|step| step.what == StepKind::Remove);
        let gone: HashSet<&JsText> = gone.map(|step| &step.to).collect();
        let added: HashMap<&JsText, String> = plan
            .steps
            .iter()
            .filter(|step| step.what == StepKind::Add)
            .filter_map(|step| Some((&step.to, stepped(step)?)))
            .collect();
        let moved = plan.moved.iter().filter_map(|(from, to)| {
            let to = added.get(to).cloned().or_else(|| uid(&books.ours, to))?;
            Some((uid(&books.theirs, from)?, to))
        });
        let lore = |book: &Book<'_>| -> Vec<(JsText, String)> {
            let lore = book.entries().filter(|entry| !recap::is_internal(&entry.comment()));
            lore.filter_map(|entry| Some((entry.js_key(), entry.uid()?))).collect()
        };
        let stays = lore(books.our_book).into_iter().filter(|(key, _)| !gone.contains(key));
        let stays = stays.map(|(_, uid)| uid);
        let theirs = lore(books.their_book).into_iter().map(|(_, uid)| uid);
        let wanted = choices
            .only
            .as_ref()
            .map(|only| only.keys().filter_map(|key| uid(&books.theirs, key)).collect());
        Self {
            moved: moved.collect(),
            present: stays.chain(added.values().cloned()).collect(),
            removed: gone.iter().filter_map(|key| uid(&books.ours, key)).collect(),
            theirs: theirs.collect(),
            wanted,
        }
    }

    fn is_wanted(&self, theirs: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(theirs))
    }
}

fn merge_registry(
    name: &str,
    (their_key, theirs): (&JsText, Entry<'_>),
    books: &ThreeBooks<'_, '_>,
    uids: &Uids,
    free: &mut FreeUids<'_, '_, '_>,
    plan: &mut MergePlan,
) {
    let base = books.base.as_ref().and_then(|base| base.titled(name)).map(|(_, entry)| entry);
    let base_text = base.and_then(content).unwrap_or_default();
    let their_text = content(theirs).unwrap_or_default();
    let Some((our_key, ours)) = books.ours.titled(name) else {
        // A registry that we removed stays removed. A new one is added with the wanted lines.
        let text = merge_lines("", &their_text, &their_text, uids, &mut false, true);
        let is_wanted =
            uids.wanted.is_none() || registry::lines(&text).any(|line| line.uid.is_some());
        if base.is_none() && is_wanted {
            let (to, mut entry) = free.place(their_key, value(theirs));
            if let Some(object) = entry.as_object_mut() {
                object.insert("content", text);
            }
            plan.steps.push(step(their_key, to, StepKind::Add, None, Some(entry)));
        }
        return;
    };
    let Some(our_text) = content(ours).filter(|_| is_list(ours)) else {
        plan.kept.push(KeptOurs { key: our_key.clone(), field: Some("content".into()) });
        return;
    };
    let mut has_kept = false;
    let text = merge_lines(&base_text, &our_text, &their_text, uids, &mut has_kept, false);
    if has_kept {
        plan.kept.push(KeptOurs { key: our_key.clone(), field: Some("content".into()) });
    }
    let before = value(ours);
    let is_theirs = same_or_none(base, Some(ours)) && text == their_text && our_key == their_key;
    let mut after = if is_theirs { value(theirs) } else { before.clone() };
    if let Some(object) = after.as_object_mut().filter(|_| text != our_text) {
        object.insert("content", text);
    }
    if !is_same_entry(&after, &before) {
        plan.steps.push(step(
            their_key,
            our_key.clone(),
            StepKind::Change,
            Some(before),
            Some(after),
        ));
    }
}

/// Three-way merge of a registry's lines: a line is added and removed together with the entry that
/// it lists. For a registry that is new to us, the caller passes theirs as ours as well and sets
/// `is_new`: the result has the heading and the wanted lines.
fn merge_lines(
    base: &str,
    ours: &str,
    theirs: &str,
    uids: &Uids,
    has_kept: &mut bool,
    is_new: bool,
) -> String {
    let base: HashMap<&str, &str> = by_uid(base);
    let their_lines: Vec<RegistryLine<'_>> = registry::lines(theirs).collect();
    // Their lines under our uids.
    let mut incoming: Vec<(String, String, bool)> = Vec::new();
    for line in &their_lines {
        let Some(uid) = line.uid else { continue };
        let to = uids.moved.get(uid).map_or(uid, String::as_str);
        let is_unchanged = to == uid && base.get(uid) == Some(&line.text);
        if uids.is_wanted(uid) && uids.theirs.contains(uid) {
            incoming.push((to.to_owned(), line.with_uid(to), is_unchanged));
        }
    }
    let find_incoming = |uid: &str| incoming.iter().find(|(to, _, _)| to == uid);
    let mut result: Vec<String> = Vec::new();
    let mut listed = HashSet::new();
    for line in registry::lines(ours) {
        let Some(uid) = line.uid else {
            result.push(line.text.to_owned());
            continue;
        };
        if is_new || uids.removed.contains(uid) {
            continue;
        }
        listed.insert(uid.to_owned());
        let was = base.get(uid).copied();
        match find_incoming(uid) {
            Some((_, text, is_unchanged))
                if text != line.text && !is_unchanged && uids.present.contains(uid) =>
            {
                let ours_unchanged = was == Some(line.text);
                *has_kept |= !ours_unchanged;
                result.push(if ours_unchanged { text.clone() } else { line.text.to_owned() });
            }
            // They removed the line. So do we, unless the entry still exists.
            None if was == Some(line.text)
                && !uids.present.contains(uid)
                && uids.is_wanted(uid) => {}
            _ => result.push(line.text.to_owned()),
        }
    }
    for (uid, text, is_unchanged) in &incoming {
        if !listed.contains(uid) && uids.present.contains(uid) && (is_new || !is_unchanged) {
            listed.insert(uid.clone());
            result.push(text.clone());
        }
    }
    result.join("\n")
}

fn by_uid(text: &str) -> HashMap<&str, &str> {
    registry::lines(text).filter_map(|line| Some((line.uid?, line.text))).collect()
}

/// Removes our lines about removed entries from registries that they do not have.
fn remove_obsolete_lines(
    books: &ThreeBooks<'_, '_>,
    uids: &Uids,
    seen: &HashSet<String>,
    plan: &mut MergePlan,
) {
    if uids.removed.is_empty() {
        return;
    }
    for (key, entry) in books.ours.internal.iter() {
        let name = entry.comment().into_owned();
        if registry::kind_of(&name).is_none() || !is_list(entry) || seen.contains(&name) {
            continue;
        }
        let Some(text) = content(entry) else { continue };
        let stays = registry::lines(&text)
            .filter(|line| !line.uid.is_some_and(|uid| uids.removed.contains(uid)));
        let left: Vec<&str> = stays.map(|line| line.text).collect();
        let left = left.join("\n");
        if left != text {
            let before = value(entry);
            let mut after = before.clone();
            if let Some(object) = after.as_object_mut() {
                object.insert("content", left);
            }
            plan.steps.push(step(key, key.clone(), StepKind::Change, Some(before), Some(after)));
        }
    }
}

/// Merges an entry that is not a list (the queue, old indexes) between two pages that edit one
/// book. If only one side changed it, that change wins; if both did, ours stays.
fn merge_whole(
    key: &JsText,
    theirs: Entry<'_>,
    books: &ThreeBooks<'_, '_>,
    free: &mut FreeUids<'_, '_, '_>,
    plan: &mut MergePlan,
) {
    let base = books.base.as_ref().and_then(|base| base.internal.get(key));
    let ours = books.ours.internal.get(key);
    if same_or_none(ours, Some(theirs)) || same_or_none(base, Some(theirs)) {
        return;
    }
    let is_queue = theirs.comment() == queue::COMMENT;
    match ours {
        None if base.is_none() && !(is_queue && books.ours.titled(queue::COMMENT).is_some()) => {
            let (to, entry) = free.place(key, value(theirs));
            plan.steps.push(step(key, to, StepKind::Add, None, Some(entry)));
        }
        Some(ours) if same_or_none(base, Some(ours)) => {
            let (before, after) = (Some(value(ours)), Some(value(theirs)));
            plan.steps.push(step(key, key.clone(), StepKind::Change, before, after));
        }
        _ => plan.kept.push(KeptOurs { key: key.clone(), field: None }),
    }
}

fn step(
    key: &JsText,
    to: JsText,
    what: StepKind,
    before: Option<Json>,
    after: Option<Json>,
) -> EntryStep {
    let fields = match (&before, &after) {
        (Some(before), Some(after)) => {
            let changed = crate::compare::diff::entry_fields(None, before, after);
            changed.into_iter().map(|difference| difference.name).collect()
        }
        _ => Vec::new(),
    };
    let key = key.clone();
    EntryStep {
        key,
        to,
        what,
        fields,
        before,
        after,
        original: None,
        is_chosen: false,
        is_internal: true,
    }
}
