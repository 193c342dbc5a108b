//! Merges lore from one book into another: takes three books and returns a plan.
//!
//! *Ours* is the book that changes, *theirs* the book that lore comes from, and the *base* their
//! merge base. If only one side changed something, its change wins. The same change on both sides
//! is not a conflict, and neither are changes to different fields of one entry. Everything else is
//! a conflict for the user to settle. Nothing is decided silently: whatever the plan does not list
//! stays as it is in ours.

mod choices;
mod entries;
mod fields;
mod followers;
mod free_uids;
mod json;
mod registries;

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::compare::diff::{differing, own_fields};
use crate::sillytavern::book::{Book, Entry, NAMESPACE};
use forklore_json::{Edit, Edits, JsText, Json, Member, Object};

pub use choices::{Choice, Choices, Pick, Settlement, Wanted};
pub use followers::{MergedChats, follow};
pub(crate) use free_uids::{free_numbers, renumbered};

/// The merge base of both books.
#[derive(Clone, Copy, Debug)]
pub enum BaseBook<'b, 'a> {
    /// Anything that only one side has counts as added there, and every other difference is a
    /// conflict.
    Unknown,
    /// `None` means that there was no book.
    Known(Option<&'b Book<'a>>),
}

/// A change to one entry of our book.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryStep {
    /// The entry's key in their book.
    pub key: JsText,
    /// Its key in our book. It differs from `key` if that one is taken.
    pub to: JsText,
    pub what: StepKind,
    /// The fields that change.
    pub fields: Vec<JsText>,
    pub before: Option<Json>,
    pub after: Option<Json>,
    /// The entry in their book, if it gets another uid in ours.
    pub(crate) original: Option<Json>,
    /// Whether the step is the result of a settled conflict.
    pub is_chosen: bool,
    /// Whether the entry is bookkeeping that follows the lore.
    pub is_internal: bool,
}

impl EntryStep {
    /// The entry in their book, if the step adds one.
    fn original(&self) -> Option<&Json> {
        self.original.as_ref().or(self.after.as_ref())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    Add,
    Change,
    Remove,
}

impl StepKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Change => "change",
            Self::Remove => "remove",
        }
    }
}

/// Something that both sides changed in different ways.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The entry's key; `None` for a field of the book itself.
    pub key: Option<JsText>,
    /// The entry's title.
    pub title: String,
    pub about: ConflictKind,
    pub base: Option<Json>,
    pub ours: Option<Json>,
    pub theirs: Option<Json>,
    pub settled: Option<Choice>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    Field(JsText),
    /// We removed the entry and they changed it.
    RemovedByOurs,
    /// They removed the entry and we changed it.
    RemovedByTheirs,
}

impl ConflictKind {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Field(_) => "field",
            Self::RemovedByOurs => "removed-by-ours",
            Self::RemovedByTheirs => "removed-by-theirs",
        }
    }

    pub fn field(&self) -> Option<&JsText> {
        match self {
            Self::Field(name) => Some(name),
            _ => None,
        }
    }
}

/// Something other than lore that both sides changed: ours stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOurs {
    pub key: JsText,
    pub field: Option<JsText>,
}

/// Two entries with the same title, one of ours and one added from theirs: both stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namesakes {
    pub ours: JsText,
    pub theirs: JsText,
    pub title: String,
}

/// Everything that a merge would do, to be shown and then applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergePlan {
    pub steps: Vec<EntryStep>,
    pub conflicts: Vec<Conflict>,
    pub kept: Vec<KeptOurs>,
    pub namesakes: Vec<Namesakes>,
    /// Entries of theirs that have, or will have, another key in ours: their key, then ours.
    pub moved: Vec<(JsText, JsText)>,
    /// The book's own fields that change, with their new values.
    pub fields: Vec<(JsText, Option<Json>)>,
}

impl MergePlan {
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.fields.is_empty()
    }

    /// Conflicts that are not settled.
    pub fn open_conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.conflicts.iter().filter(|conflict| conflict.settled.is_none())
    }

    /// Our book with the plan applied. Everything that the plan does not list keeps its bytes.
    pub fn apply(&self, ours: &Book<'_>) -> Vec<u8> {
        let mut edits = Edits::of(ours.root());
        let stepped: FxHashSet<Cow<'_, [u8]>> =
            self.steps.iter().map(|step| step.to.as_bytes().into()).collect();
        let touched = ours.entries().filter(|entry| stepped.contains(&*entry.key_bytes()));
        let touched: FxHashMap<JsText, Entry<'_>> =
            touched.map(|entry| (entry.js_key(), entry)).collect();
        let mut whole = Vec::new();
        for step in &self.steps {
            let entry = touched.get(&step.to).zip(step.after.as_ref());
            match (step.what, entry) {
                (StepKind::Change, Some((old, after))) if is_spliced(step) => {
                    edits.change(old.value(), 2, &spliced(step, after));
                }
                _ => {
                    let change = step.after.clone().map_or(Edit::Remove, Edit::Set);
                    whole.push((step.to.clone(), change));
                }
            }
        }
        if !whole.is_empty() {
            let members: Vec<Member<'_>> = ours.entries().map(|entry| entry.member()).collect();
            edits.change_members(ours.entries_raw(), 1, &members, &whole);
        }
        let fields: Vec<(JsText, Edit)> =
            self.fields.iter().map(|(name, value)| field_change(ours, name, value)).collect();
        if !fields.is_empty() {
            edits.change_members(ours.root(), 0, ours.fields(), &fields);
        }
        edits.apply()
    }
}

/// Whether a step can be applied field by field, so that the other fields keep their bytes.
fn is_spliced(step: &EntryStep) -> bool {
    let (Some(Json::Object(before)), Some(Json::Object(after))) = (&step.before, &step.after)
    else {
        return false;
    };
    // Their entry may have its fields in another order, which only writing it whole preserves.
    let mut made = before.clone();
    for (name, change) in spliced(step, &Json::Object(after.clone())) {
        match change {
            Edit::Set(value) => made.insert(name, value),
            Edit::Remove => drop(made.remove_text(&name)),
        }
    }
    made == *after
}

fn spliced(step: &EntryStep, after: &Json) -> Vec<(JsText, Edit)> {
    let value = |name: &JsText| after.as_object().and_then(|after| after.get_text(name)).cloned();
    let fields = step.fields.iter();
    fields.map(|name| (name.clone(), value(name).map_or(Edit::Remove, Edit::Set))).collect()
}

/// The edit for a field of the book. A change of `extensions` keeps our book's Forklore mark.
fn field_change(ours: &Book<'_>, name: &JsText, value: &Option<Json>) -> (JsText, Edit) {
    let mark = ours.mark().and_then(|mark| mark.json().ok()).filter(|_| *name == *"extensions");
    let Some(mark) = mark else {
        return (name.clone(), value.clone().map_or(Edit::Remove, Edit::Set));
    };
    let mut extensions = match value {
        Some(Json::Object(extensions)) => extensions.clone(),
        _ => Object::new(),
    };
    extensions.insert(NAMESPACE, mark);
    (name.clone(), Edit::Set(extensions.into()))
}

/// Plans how to merge their changes into our book.
pub fn plan<'a>(
    base: BaseBook<'_, 'a>,
    ours: &Book<'a>,
    theirs: &Book<'a>,
    choices: &Choices,
) -> MergePlan {
    let base_book = match base {
        BaseBook::Unknown => None,
        BaseBook::Known(book) => Some(book),
    };
    let (base_table, our_table, their_table) = differing(base_book, Some(ours), Some(theirs));
    let books = entries::ThreeBooks {
        all: [Some(ours), Some(theirs), base_book.flatten()],
        our_book: ours,
        their_book: theirs,
        base: base_table,
        ours: our_table,
        theirs: their_table,
    };
    let mut plan = MergePlan::default();
    let mut free = free_uids::FreeUids::of(&books);
    entries::merge(&books, choices, &mut free, &mut plan);
    registries::merge(&books, choices, &mut free, &mut plan);
    if choices.only.is_none() {
        let base = match base {
            BaseBook::Unknown => None,
            BaseBook::Known(book) => Some(book.map(own_fields).unwrap_or_default()),
        };
        fields::merge_book_fields(
            base.as_ref(),
            &own_fields(ours),
            &own_fields(theirs),
            choices,
            &mut plan,
        );
    }
    plan
}

#[cfg(test)]
mod tests;
