//! A book imported from a card keeps the card's form of its entries, as SillyTavern's
//! `originalData`, and every edit is written to both. It follows the entries; the user is never
//! asked about it.

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::uids::{by_key, is_same};
use crate::plan::merge::MergePlan;
use crate::sillytavern::book::{Book, Entry};
use crate::sillytavern::defaults::ORIGINAL_DATA;
use forklore_json::{Edit, Edits, JsText, Json, Object, Raw};

/// The fields of an entry by their names there. All others are equal on both sides, or taken from
/// the side that is kept.
const FIELDS: [(&str, &str); 7] = [
    ("content", "content"),
    ("comment", "comment"),
    ("key", "keys"),
    ("keysecondary", "secondary_keys"),
    ("order", "insertion_order"),
    ("constant", "constant"),
    ("selective", "selective"),
];

/// The card's forms on both sides, if they differ.
pub(super) struct OriginalData<'a> {
    /// The side that has changed them: ours if both have.
    changed: CardForms<'a>,
    other: CardForms<'a>,
    is_changed_by_both: bool,
}

struct CardForms<'a> {
    whole: Object,
    by_uid: IndexMap<JsText, Json>,
    entries: FxHashMap<JsText, Entry<'a>>,
}

impl<'a> OriginalData<'a> {
    pub(super) fn of([before, ours, theirs]: [&Book<'a>; 3]) -> Option<Self> {
        let [base, our, their] = [before, ours, theirs].map(value_in);
        let (base, our, their) = (base?, our?, their?);
        let is_list = |form: &Object| form.get("entries").is_some_and(|it| it.as_array().is_some());
        if our == their || ![&base, &our, &their].into_iter().all(is_list) {
            return None;
        }
        let is_changed_by_both = base != our && base != their;
        let is_theirs = base == our;
        let (ours, theirs) = (CardForms::of(our, ours), CardForms::of(their, theirs));
        let (changed, other) = if is_theirs { (theirs, ours) } else { (ours, theirs) };
        Some(Self { changed, other, is_changed_by_both })
    }

    /// Takes the conflict about `originalData` out of the plan.
    pub(super) fn leave_out_of(&self, plan: &mut MergePlan) {
        if !self.is_changed_by_both {
            return;
        }
        let is_it = |name: &JsText| *name == *ORIGINAL_DATA;
        plan.conflicts.retain(|it| it.key.is_some() || !it.about.field().is_some_and(is_it));
        plan.fields.retain(|(name, _)| !is_it(name));
    }

    /// Puts the forms of the merged book's entries into it.
    pub(super) fn put_into(mut self, merged: Vec<u8>) -> Vec<u8> {
        let Ok(book) = Book::read(&merged) else { return merged };
        let forms = self.reconciled(&by_key(&book));
        self.changed.whole.insert("entries", forms);
        let mut edits = Edits::of(book.root());
        let change = Edit::Set(self.changed.whole.into());
        edits.change_members(book.root(), 0, book.fields(), &[(ORIGINAL_DATA, change)]);
        edits.apply()
    }

    /// The form of each entry, taken from the side that the entry came from.
    fn reconciled(&self, merged: &FxHashMap<JsText, Entry<'_>>) -> Vec<Json> {
        let (changed, other) = (&self.changed, &self.other);
        let only_other = other.by_uid.keys().filter(|uid| !changed.by_uid.contains_key(*uid));
        let forms = changed.by_uid.keys().chain(only_other).filter_map(|uid| {
            let entry = present(merged, uid);
            let is_gone = present(&changed.entries, uid).or(present(&other.entries, uid)).is_some();
            // If only the other side has it and it has no entry, it was removed or never belonged
            // to an entry.
            if entry.is_none() && (is_gone || !changed.by_uid.contains_key(uid)) {
                return None;
            }
            self.form(uid, entry)
        });
        forms.collect()
    }

    fn form(&self, uid: &JsText, entry: Option<Raw<'_>>) -> Option<Json> {
        let sides = [&self.changed, &self.other];
        let [changed, other] = sides.map(|side| side.by_uid.get(uid));
        let is_from =
            sides.map(|side| is_same(entry, side.entries.get(uid).map(|entry| entry.value())));
        match (entry, is_from) {
            // A number can be used again, by an entry that the card does not have.
            (Some(_), [true, false]) => changed.cloned(),
            (Some(_), [false, true]) => other.cloned(),
            (Some(entry), [false, false]) => Some(with_fields(changed.or(other)?, entry)),
            _ => changed.or(other).cloned(),
        }
    }
}

impl<'a> CardForms<'a> {
    fn of(whole: Object, book: &Book<'a>) -> Self {
        let forms = whole.get("entries").and_then(Json::as_array).unwrap_or_default();
        let uid = |(index, form): (usize, &Json)| {
            let named = ["uid", "id"].iter().filter_map(|name| form.get(name));
            let uid = named.filter(|uid| **uid != Json::Null).map(as_key).next();
            (uid.unwrap_or_else(|| index.to_string().into()), form.clone())
        };
        let by_uid = forms.iter().enumerate().map(uid).collect();
        Self { whole, by_uid, entries: by_key(book) }
    }
}

fn value_in(book: &Book<'_>) -> Option<Object> {
    let field = book.fields().iter().rfind(|field| field.key.is_text(ORIGINAL_DATA))?;
    match field.value.json() {
        Ok(Json::Object(form)) => Some(form),
        _ => None,
    }
}

fn as_key(uid: &Json) -> JsText {
    match uid {
        Json::Text(text) => text.clone(),
        other => String::from_utf8_lossy(&other.stringify()).into_owned().into(),
    }
}

fn present<'a>(entries: &FxHashMap<JsText, Entry<'a>>, uid: &JsText) -> Option<Raw<'a>> {
    entries.get(uid).map(|entry| entry.value()).filter(Raw::is_truthy)
}

fn with_fields(form: &Json, entry: Raw<'_>) -> Json {
    let mut form = form.as_object().cloned().unwrap_or_default();
    for (name, there) in FIELDS {
        if let Some(Ok(value)) = entry.get(name).map(|value| value.json()) {
            form.insert(there, value);
        }
    }
    form.into()
}
