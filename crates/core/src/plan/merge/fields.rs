//! The fields of one thing, three-way.

use super::{Choice, Choices, Conflict, ConflictKind, KeptOurs, MergePlan, Pick};
use crate::compare::diff::INCIDENTAL;
use crate::memory_books;
use crate::sillytavern::defaults::{EqualFields, follows_the_entries, has_default};
use forklore_json::{JsText, Json, Object};

/// What becomes of a field of ours.
pub(super) enum FieldOutcome {
    Stays,
    Becomes(Option<Json>),
    Conflict,
}

/// The rule, for one field of ours and theirs. Without a base, what only they have is taken, because
/// nothing is lost by it; unless a field that is missing has a value all the same.
pub(super) fn outcome(
    alike: EqualFields,
    has_default: bool,
    ours: Option<&Json>,
    theirs: Option<&Json>,
) -> FieldOutcome {
    match alike.with_base {
        _ if alike.sides => FieldOutcome::Stays,
        Some([_, true]) => FieldOutcome::Stays,
        Some([true, _]) => FieldOutcome::Becomes(theirs.cloned()),
        None if theirs.is_none() && !has_default => FieldOutcome::Stays,
        None if ours.is_none() && !has_default => FieldOutcome::Becomes(theirs.cloned()),
        _ => FieldOutcome::Conflict,
    }
}

/// An entry of ours with the wanted fields of theirs, and which fields those are.
pub(super) struct MergedEntry {
    pub(super) after: Object,
    pub(super) fields: Vec<JsText>,
    pub(super) is_chosen: bool,
}

/// Combines an entry that both have. Conflicts and what is kept go into the plan.
pub(super) fn combine(
    key: &JsText,
    base: Option<&Object>,
    ours: &Object,
    theirs: &Object,
    choices: &Choices,
    plan: &mut MergePlan,
) -> MergedEntry {
    let mut combined = MergedEntry { after: ours.clone(), fields: Vec::new(), is_chosen: false };
    let only_ours = ours.keys().filter(|name| theirs.get_text(name).is_none());
    for name in theirs.keys().chain(only_ours) {
        if !choices.wants_field(key, name) {
            continue;
        }
        let was = base.map(|base| base.get_text(name));
        let (our, their) = (ours.get_text(name), theirs.get_text(name));
        let alike = EqualFields::in_entries(name, base, [ours, theirs]);
        let value = match outcome(alike, has_default(name), our, their) {
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
                    base: was.flatten().cloned(),
                    ours: our.cloned(),
                    theirs: their.cloned(),
                    settled: choice.clone(),
                });
                match choice {
                    None | Some(Choice::Take(Pick::Ours)) => continue,
                    Some(Choice::Take(Pick::Theirs)) => {
                        combined.is_chosen = true;
                        their.cloned()
                    }
                    Some(Choice::Value(value)) => {
                        combined.is_chosen = true;
                        Some(value)
                    }
                }
            }
        };
        if value.as_ref() == our {
            continue;
        }
        match value {
            Some(value) => combined.after.insert(name.clone(), value),
            None => drop(combined.after.remove_text(name)),
        }
        combined.fields.push(name.clone());
    }
    combined
}

fn title_of(entry: &Object) -> String {
    entry.get("comment").and_then(Json::as_str).unwrap_or_default().into_owned()
}

/// The book's own fields.
pub(super) fn merge(
    base: Option<&Object>,
    ours: &Object,
    theirs: &Object,
    choices: &Choices,
    plan: &mut MergePlan,
) {
    let no_entry = JsText::default();
    let only_ours = ours.keys().filter(|name| theirs.get_text(name).is_none());
    for name in theirs.keys().chain(only_ours) {
        let was = base.map(|base| base.get_text(name));
        let (our, their) = (ours.get_text(name), theirs.get_text(name));
        let follows = follows_the_entries(name, our, their);
        let with_base = was.map(|was| [our == was, their == was]);
        let alike = EqualFields { sides: our == their, with_base };
        match outcome(alike, false, our, their) {
            FieldOutcome::Stays => {}
            // It goes with the entries, and is nothing to be asked about.
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
                    base: was.flatten().cloned(),
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
