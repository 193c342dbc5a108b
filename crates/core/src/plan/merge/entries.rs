//! Three-way merge of entries.

use std::collections::{HashMap, HashSet};

use super::fields::merge_entry;
use super::free_uids::FreeUids;
use super::{
    Choice, Choices, Conflict, ConflictKind, EntryStep, KeptOurs, MergePlan, Namesakes, Pick,
    StepKind,
};
use crate::compare::diff::{Tables, lore_key, match_entries, same_or_none, value};
use crate::sillytavern::book::{Book, Entry};
use forklore_json::{JsText, Json};

/// The three books, and the entries that are not the same in all of them.
pub(super) struct ThreeBooks<'b, 'a> {
    pub(super) all: [Option<&'b Book<'a>>; 3],
    pub(super) our_book: &'b Book<'a>,
    pub(super) their_book: &'b Book<'a>,
    /// `None` if the base is unknown.
    pub(super) base: Option<Tables<'a>>,
    pub(super) ours: Tables<'a>,
    pub(super) theirs: Tables<'a>,
}

/// An entry in the merge base.
enum BaseEntry<'a> {
    Unknown,
    Absent,
    Present(Entry<'a>),
}

impl<'a> ThreeBooks<'_, 'a> {
    fn base_entry(&self, key: &JsText) -> BaseEntry<'a> {
        match &self.base {
            Some(base) => base.lore.get(key).map_or(BaseEntry::Absent, BaseEntry::Present),
            None => BaseEntry::Unknown,
        }
    }
}

impl ThreeBooks<'_, '_> {
    /// The key in ours of an entry that an earlier merge brought back under another number, because
    /// its own was taken.
    fn find_readded(&self, theirs: Entry<'_>) -> Option<JsText> {
        let lore = lore_key(theirs);
        let is_added = |key: &JsText| matches!(self.base_entry(key), BaseEntry::Absent);
        let mut added_by_us = self.ours.lore.iter().filter(|(key, _)| is_added(key));
        added_by_us.find(|(_, entry)| lore_key(*entry) == lore).map(|(key, _)| key.clone())
    }
}

pub(super) fn merge(
    books: &ThreeBooks<'_, '_>,
    choices: &Choices,
    free: &mut FreeUids<'_, '_, '_>,
    plan: &mut MergePlan,
) {
    let (our, their) = (&books.ours.lore, &books.theirs.lore);
    let base = books.base.as_ref().map(|base| &base.lore);
    let matches = match_entries(base, our, their, |key| choices.wants_entry(key));
    let removed = books.base.iter().flat_map(|base| base.lore.keys());
    let removed = removed.filter(|key| !their.contains(key));
    for key in their.keys().chain(removed) {
        let (ours, theirs) = (our.get(key), their.get(key));
        if let Some(same) = matches.get(key) {
            plan.moved.push((key.clone(), same.clone()));
            continue;
        }
        if same_or_none(ours, theirs) || !choices.wants_entry(key) {
            continue;
        }
        match (books.base_entry(key), ours, theirs) {
            // Added on their side, or the base is unknown: add it next to any entry of ours.
            (BaseEntry::Absent, _, Some(theirs)) | (BaseEntry::Unknown, None, Some(theirs)) => {
                add(key, theirs, false, free, plan);
            }
            (BaseEntry::Present(base), Some(ours), Some(theirs)) => {
                change(key, Some(base), ours, theirs, choices, plan);
            }
            (BaseEntry::Unknown, Some(ours), Some(theirs)) => {
                change(key, None, ours, theirs, choices, plan);
            }
            (BaseEntry::Present(base), None, Some(theirs)) => {
                let theirs_unchanged = same_or_none(Some(base), Some(theirs));
                let about = ConflictKind::RemovedByOurs;
                if !theirs_unchanged
                    && settle(key, about, [Some(base), None, Some(theirs)], choices, plan)
                {
                    match books.find_readded(theirs) {
                        Some(here) => plan.moved.push((key.clone(), here)),
                        None => add(key, theirs, true, free, plan),
                    }
                }
            }
            (BaseEntry::Present(base), Some(ours), None) => {
                let ours_unchanged = same_or_none(Some(base), Some(ours));
                let about = ConflictKind::RemovedByTheirs;
                if ours_unchanged
                    || settle(key, about, [Some(base), Some(ours), None], choices, plan)
                {
                    plan.steps.push(EntryStep {
                        key: key.clone(),
                        to: key.clone(),
                        what: StepKind::Remove,
                        fields: Vec::new(),
                        before: Some(value(ours)),
                        after: None,
                        original: None,
                        is_chosen: !ours_unchanged,
                        is_internal: false,
                    });
                }
            }
            _ => {}
        }
    }
    find_namesakes(books, plan);
}

/// Records a conflict about a whole entry, and returns whether theirs was chosen.
fn settle(
    key: &JsText,
    about: ConflictKind,
    [base, ours, theirs]: [Option<Entry<'_>>; 3],
    choices: &Choices,
    plan: &mut MergePlan,
) -> bool {
    // A value from neither side applies only to a field, not to a whole entry.
    let settled = choices.choice(key, None).filter(|choice| matches!(choice, Choice::Take(_)));
    let is_theirs = settled == Some(Choice::Take(Pick::Theirs));
    plan.conflicts.push(Conflict {
        key: Some(key.clone()),
        title: ours.or(theirs).map(|entry| entry.comment().into_owned()).unwrap_or_default(),
        about,
        base: base.map(value),
        ours: ours.map(value),
        theirs: theirs.map(value),
        settled,
    });
    is_theirs
}

fn add(
    key: &JsText,
    theirs: Entry<'_>,
    is_chosen: bool,
    free: &mut FreeUids<'_, '_, '_>,
    plan: &mut MergePlan,
) {
    let original = value(theirs);
    let (to, entry) = free.place(key, original.clone());
    let is_moved = to != *key;
    if is_moved {
        plan.moved.push((key.clone(), to.clone()));
    }
    plan.steps.push(EntryStep {
        key: key.clone(),
        to,
        what: StepKind::Add,
        fields: Vec::new(),
        before: None,
        after: Some(entry),
        original: is_moved.then_some(original),
        is_chosen,
        is_internal: false,
    });
}

fn change(
    key: &JsText,
    base: Option<Entry<'_>>,
    ours: Entry<'_>,
    theirs: Entry<'_>,
    choices: &Choices,
    plan: &mut MergePlan,
) {
    if base.is_some() && same_or_none(base, Some(theirs)) {
        return;
    }
    let (before, wanted) = (value(ours), value(theirs));
    let (Json::Object(our), Json::Object(their)) = (&before, &wanted) else {
        // A value that is not an object has no fields to merge.
        plan.kept.push(KeptOurs { key: key.clone(), field: None });
        return;
    };
    let base_value = base.map(value);
    let base_object = base_value.as_ref().map(|base| base.as_object().cloned().unwrap_or_default());
    let mut merged = merge_entry(key, base_object.as_ref(), our, their, choices, plan);
    // If we changed nothing, take their entry exactly as it is written.
    let ours_unchanged =
        base.is_some() && same_or_none(base, Some(ours)) && !merged.fields.is_empty();
    if ours_unchanged && choices.wants_whole(key) && our.get("uid") == their.get("uid") {
        merged.after = their.clone();
    }
    if merged.after == *our {
        return;
    }
    plan.steps.push(EntryStep {
        key: key.clone(),
        to: key.clone(),
        what: StepKind::Change,
        fields: merged.fields,
        before: Some(before.clone()),
        after: Some(Json::Object(merged.after)),
        original: None,
        is_chosen: merged.is_chosen,
        is_internal: false,
    });
}

/// Finds added entries that have the same title as an entry of ours.
fn find_namesakes(books: &ThreeBooks<'_, '_>, plan: &mut MergePlan) {
    let added: Vec<(JsText, String)> = plan
        .steps
        .iter()
        .filter(|step| step.what == StepKind::Add)
        .map(|step| (step.to.clone(), title_of(step.after.as_ref())))
        .filter(|(_, title)| !title.is_empty())
        .collect();
    if added.is_empty() {
        return;
    }
    let gone: HashSet<&JsText> = plan
        .steps
        .iter()
        .filter(|step| step.what == StepKind::Remove)
        .map(|step| &step.to)
        .collect();
    let mut titles: HashMap<String, Option<JsText>> =
        added.iter().map(|(_, title)| (title.clone(), None)).collect();
    for entry in books.our_book.entries() {
        if let Some(ours) = titles.get_mut(entry.comment().as_ref())
            && !gone.contains(&entry.js_key())
        {
            *ours = Some(entry.js_key());
        }
    }
    plan.namesakes = added
        .into_iter()
        .filter_map(|(theirs, title)| {
            let ours = titles.get(&title)?.clone()?;
            Some(Namesakes { ours, theirs, title })
        })
        .collect();
}

fn title_of(entry: Option<&Json>) -> String {
    let title = entry.and_then(|entry| entry.get("comment")).and_then(Json::as_str);
    title.unwrap_or_default().into_owned()
}
