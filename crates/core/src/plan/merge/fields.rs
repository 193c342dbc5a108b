//! Three-way merge of the fields of an entry or of a book.

use super::{Choice, Choices, Conflict, ConflictKind, KeptOurs, MergePlan, Pick};
use crate::compare::diff::INCIDENTAL;
use crate::memory_books;
use crate::sillytavern::defaults::{EqualFields, follows_the_entries, has_default};
use forklore_json::{JsText, Json, Object};

/// What happens to a field of ours.
pub(super) enum FieldOutcome {
    Stays,
    Becomes(Option<Json>),
    Conflict,
}

/// The merge rule for one field. Without a base, a field that only they have is taken, because
/// nothing is lost that way. If the field has a default, a missing field has a value too, so the
/// two conflict.
pub(super) fn outcome(
    equal: EqualFields,
    has_default: bool,
    ours: Option<&Json>,
    theirs: Option<&Json>,
) -> FieldOutcome {
    match equal.with_base {
        _ if equal.sides => FieldOutcome::Stays,
        Some([_, true]) => FieldOutcome::Stays,
        Some([true, _]) => FieldOutcome::Becomes(theirs.cloned()),
        None if theirs.is_none() && !has_default => FieldOutcome::Stays,
        None if ours.is_none() && !has_default => FieldOutcome::Becomes(theirs.cloned()),
        _ => FieldOutcome::Conflict,
    }
}

/// An entry of ours merged with theirs, and the fields that changed.
pub(super) struct MergedEntry {
    pub(super) after: Object,
    pub(super) fields: Vec<JsText>,
    pub(super) is_chosen: bool,
}

/// Merges an entry that both sides have. Adds conflicts and kept fields to the plan.
pub(super) fn merge_entry(
    key: &JsText,
    base: Option<&Object>,
    ours: &Object,
    theirs: &Object,
    choices: &Choices,
    plan: &mut MergePlan,
) -> MergedEntry {
    let mut merged = MergedEntry { after: ours.clone(), fields: Vec::new(), is_chosen: false };
    let only_ours = ours.keys().filter(|name| theirs.get_text(name).is_none());
    for name in theirs.keys().chain(only_ours) {
        if !choices.wants_field(key, name) {
            continue;
        }
        let base_value = base.map(|base| base.get_text(name));
        let (our, their) = (ours.get_text(name), theirs.get_text(name));
        let equal = EqualFields::in_entries(name, base, [ours, theirs]);
        let value = match outcome(equal, has_default(name), our, their) {
            FieldOutcome::Stays => continue,
            FieldOutcome::Becomes(_) | FieldOutcome::Conflict
                if *name == *"uid" || *name == *memory_books::CHAT_ID =>
            {
                continue;
            }
            FieldOutcome::Becomes(value) => value,
            FieldOutcome::Conflict if INCIDENTAL.iter().any(|field| *name == **field) => {
                plan.kept.push(KeptOurs { key: key.clone(), field: Some(name.clone()) });
                continue;
            }
            FieldOutcome::Conflict => {
                let choice = choices.choice(key, Some(name));
                plan.conflicts.push(Conflict {
                    key: Some(key.clone()),
                    title: title_of(ours),
                    about: ConflictKind::Field(name.clone()),
                    base: base_value.flatten().cloned(),
                    ours: our.cloned(),
                    theirs: their.cloned(),
                    settled: choice.clone(),
                });
                match choice {
                    None | Some(Choice::Take(Pick::Ours)) => continue,
                    Some(Choice::Take(Pick::Theirs)) => {
                        merged.is_chosen = true;
                        their.cloned()
                    }
                    Some(Choice::Value(value)) => {
                        merged.is_chosen = true;
                        Some(value)
                    }
                }
            }
        };
        if value.as_ref() == our {
            continue;
        }
        match value {
            Some(value) => merged.after.insert(name.clone(), value),
            None => drop(merged.after.remove_text(name)),
        }
        merged.fields.push(name.clone());
    }
    merged
}

fn title_of(entry: &Object) -> String {
    entry.get("comment").and_then(Json::as_str).unwrap_or_default().into_owned()
}

/// Merges the book's own fields.
pub(super) fn merge_book_fields(
    base: Option<&Object>,
    ours: &Object,
    theirs: &Object,
    choices: &Choices,
    plan: &mut MergePlan,
) {
    let no_entry = JsText::default();
    let only_ours = ours.keys().filter(|name| theirs.get_text(name).is_none());
    for name in theirs.keys().chain(only_ours) {
        let base_value = base.map(|base| base.get_text(name));
        let (our, their) = (ours.get_text(name), theirs.get_text(name));
        let follows = follows_the_entries(name, our, their);
        let with_base = base_value.map(|base_value| [our == base_value, their == base_value]);
        let equal = EqualFields { sides: our == their, with_base };
        match outcome(equal, false, our, their) {
            FieldOutcome::Stays => {}
            // This field follows the entries, so it is never a conflict of its own.
            FieldOutcome::Becomes(_) if follows && plan.steps.is_empty() => {}
            FieldOutcome::Conflict if follows => {}
            FieldOutcome::Becomes(value) => plan.fields.push((name.clone(), value)),
            FieldOutcome::Conflict => {
                let choice = choices.choice(&no_entry, Some(name));
                let value = match &choice {
                    None | Some(Choice::Take(Pick::Ours)) => our.cloned(),
                    Some(Choice::Take(Pick::Theirs)) => their.cloned(),
                    Some(Choice::Value(value)) => Some(value.clone()),
                };
                plan.conflicts.push(Conflict {
                    key: None,
                    title: String::new(),
                    about: ConflictKind::Field(name.clone()),
                    base: base_value.flatten().cloned(),
                    ours: our.cloned(),
                    theirs: their.cloned(),
                    settled: choice,
                });
                if value.as_ref() != our {
                    plan.fields.push((name.clone(), value));
                }
            }
        }
    }
}
