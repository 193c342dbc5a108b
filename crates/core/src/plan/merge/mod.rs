//! Bringing lore from one book into another: three books in, a plan out.
//!
//! *Ours* is the book that changes, *theirs* the one that lore comes from, the *base* what both
//! began as. A side that did nothing to something has no say in it; both the same is no conflict;
//! different fields of one entry combine. Everything else is a conflict, which somebody has to
//! settle. Nothing is decided silently: whatever the plan does not list stays as it is in ours.

mod choices;
mod entries;
mod fields;
mod followers;
mod free_uids;
mod json;
mod registries;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::compare::diff::{differing, own_fields};
use crate::sillytavern::book::{Book, Entry, NAMESPACE};
use forklore_json::{Edit, Edits, JsText, Json, Member, Object};

pub use choices::{Choice, Choices, Pick, Settlement, Wanted};
pub use followers::{MergedChats, follow};

/// What both books began as.
#[derive(Clone, Copy, Debug)]
pub enum BaseBook<'b, 'a> {
    /// Nobody knows. What only one side has is taken for born there, and every other difference is
    /// a conflict.
    Unknown,
    /// No book means that there was none.
    Known(Option<&'b Book<'a>>),
}

/// What happens to one entry of ours.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryStep {
    /// The entry's key in their book.
    pub key: JsText,
    /// Its key in ours: another one where that was taken.
    pub to: JsText,
    pub what: StepKind,
    /// The fields that change.
    pub fields: Vec<JsText>,
    pub before: Option<Json>,
    pub after: Option<Json>,
    /// The entry in their book, where it stands in ours under another uid.
    pub(crate) original: Option<Json>,
    /// Whether a conflict was settled this way.
    pub is_chosen: bool,
    /// Bookkeeping that follows the lore.
    pub is_internal: bool,
}

impl EntryStep {
    /// The entry as it is in their book, where the step brings one.
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

/// Something that both sides did in different ways.
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
    /// We removed the entry, they changed it.
    RemovedByOurs,
    /// They removed the entry, we changed it.
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

/// Something that is no lore and that both sides touched: ours stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOurs {
    pub key: JsText,
    pub field: Option<JsText>,
}

/// Two entries of one title, born on both sides: both stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namesakes {
    pub ours: JsText,
    pub theirs: JsText,
    pub title: String,
}

/// All that a merge would do, to be shown and then carried out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergePlan {
    pub steps: Vec<EntryStep>,
    pub conflicts: Vec<Conflict>,
    pub kept: Vec<KeptOurs>,
    pub namesakes: Vec<Namesakes>,
    /// Entries of theirs that stand, or will stand, under another key in ours.
    pub moved: Vec<(JsText, JsText)>,
    /// The book's own fields that change, with what they become.
    pub fields: Vec<(JsText, Option<Json>)>,
}

impl MergePlan {
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.fields.is_empty()
    }

    /// Conflicts that nobody has settled.
    pub fn open_conflicts(&self) -> impl Iterator<Item = &Conflict> {
        self.conflicts.iter().filter(|conflict| conflict.settled.is_none())
    }

    /// Our book with the plan carried out. What the plan does not name keeps its bytes.
    pub fn apply(&self, ours: &Book<'_>) -> Vec<u8> {
        let mut edits = Edits::of(ours.root());
        let stepped: FxHashSet<&[u8]> = self.steps.iter().map(|step| step.to.as_bytes()).collect();
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

/// Whether a step is carried out field by field, so that the other fields keep their bytes.
fn is_spliced(step: &EntryStep) -> bool {
    let (Some(Json::Object(before)), Some(Json::Object(after))) = (&step.before, &step.after)
    else {
        return false;
    };
    // Theirs as it is may have its fields in another order, which only the whole entry shows.
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

/// Our mark is never theirs to change.
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

/// Plans to bring what they did into our book.
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
    registries::follow(&books, choices, &mut free, &mut plan);
    if choices.only.is_none() {
        let base = match base {
            BaseBook::Unknown => None,
            BaseBook::Known(book) => Some(book.map(own_fields).unwrap_or_default()),
        };
        fields::merge(base.as_ref(), &own_fields(ours), &own_fields(theirs), choices, &mut plan);
    }
    plan
}

#[cfg(test)]
mod tests;
