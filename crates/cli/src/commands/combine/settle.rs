//! Which entries to merge, and how their conflicts are settled.

use std::collections::{HashMap, HashSet};

use forklore_core::plan::merge::{
    Choice, Choices, Conflict, ConflictKind, MergePlan, Pick, Settlement, Wanted,
};
use forklore_core::recap::is_internal;
use forklore_core::sillytavern::book::Book;
use forklore_json::JsText;
use forklore_tavern::work::merge::PreparedMerge;

use crate::error::CommandError;
use crate::lore::{Candidate, Named, field_name, find};
use crate::objection::Objection;

/// The name under which the lorebook's own fields are settled, unless an entry has the same name.
pub(super) const BOOK: &str = "lorebook";

/// Finds the named entries: in their lorebook, or in the base if they removed it.
pub(super) fn picked(
    prepared: &PreparedMerge,
    names: &[String],
) -> Result<Vec<(Named, Candidate)>, CommandError> {
    let theirs = prepared.theirs.book();
    let began_as = prepared.base_book();
    let mut candidates: Vec<Candidate> =
        theirs.iter().flat_map(|book| candidates_in(book)).collect();
    let present: HashSet<JsText> = candidates.iter().map(|it| it.key.clone()).collect();
    let removed = began_as.iter().flat_map(|book| candidates_in(book));
    candidates.extend(removed.filter(|it| !present.contains(&it.key)));
    let what = format!("entries of {}", prepared.theirs.label);
    let mut found = Vec::new();
    for name in names {
        let named = find(name, &candidates, &what)?;
        let candidate = candidates.iter().find(|it| it.key == named.key).cloned();
        found.extend(candidate.map(|candidate| (named, candidate)));
    }
    Ok(found)
}

fn candidates_in(book: &Book<'_>) -> Vec<Candidate> {
    let entries = book.entries().filter(|entry| !is_internal(&entry.comment()));
    let candidates = entries.map(|entry| Candidate {
        key: JsText::from(entry.key().as_ref()),
        uid: entry.uid(),
        title: entry.comment().into_owned(),
    });
    candidates.collect()
}

/// How much of each entry to merge.
pub(super) fn wanted(picked: &[(Named, Candidate)]) -> HashMap<JsText, Wanted> {
    let mut wanted: HashMap<JsText, Wanted> = HashMap::new();
    for (named, _) in picked {
        let more = match &named.field {
            Some(field) => Wanted::Fields(vec![field.clone()]),
            None => Wanted::Whole,
        };
        match (wanted.get_mut(&named.key), more) {
            (Some(Wanted::Whole), _) => {}
            (Some(Wanted::Fields(fields)), Wanted::Fields(more)) => fields.extend(more),
            (_, more) => drop(wanted.insert(named.key.clone(), more)),
        }
    }
    wanted
}

/// Applies `--ours` and `--theirs`. An empty name stands for every conflict.
pub(super) fn apply_flags(
    choices: &mut Choices,
    plan: &MergePlan,
    ours: &[String],
    theirs: &[String],
) -> Result<(), CommandError> {
    let is_all = |names: &[String]| names.iter().any(String::is_empty);
    choices.otherwise = match (is_all(ours), is_all(theirs)) {
        (true, true) => {
            return Err(CommandError::new(Objection::BothWays)
                .hinted("Name the entries of one side: --ours --theirs ENTRY."));
        }
        (true, false) => Some(Pick::Ours),
        (false, true) => Some(Pick::Theirs),
        (false, false) => None,
    };
    let candidates: Vec<Candidate> = candidates(plan);
    let mut named = Vec::new();
    for (pick, names) in [(Pick::Ours, ours), (Pick::Theirs, theirs)] {
        for name in names.iter().filter(|name| !name.is_empty()) {
            if candidates.is_empty() {
                return Err(CommandError::new(Objection::NoConflict(name.clone())));
            }
            named.push((pick, name, find(name, &candidates, "entries in conflict")?));
        }
    }
    // A named field takes precedence over its entry, so it is applied last.
    named.sort_by_key(|(_, _, named)| named.field.is_some());
    for (pick, name, named) in named {
        let about = |conflict: &&Conflict| {
            key_of(conflict) == named.key
                && named.field.as_ref().is_none_or(|field| conflict.about.field() == Some(field))
        };
        let meant: Vec<&Conflict> = plan.conflicts.iter().filter(about).collect();
        if meant.is_empty() {
            return Err(CommandError::new(Objection::NoConflict(name.clone())));
        }
        add_choices(
            choices,
            meant.iter().map(|conflict| ((*conflict).clone(), Choice::Take(pick))),
        );
    }
    Ok(())
}

/// Adds a choice for each conflict.
pub(super) fn add_choices(
    choices: &mut Choices,
    settled: impl IntoIterator<Item = (Conflict, Choice)>,
) {
    for (conflict, choice) in settled {
        let key = key_of(&conflict);
        match (&conflict.about, choice) {
            (ConflictKind::Field(field), choice) => {
                let entry = choices.settled.entry(key);
                let settlement = entry.or_insert_with(|| Settlement::Fields(Vec::new()));
                if let Settlement::Fields(fields) = settlement {
                    fields.push((field.clone(), choice));
                }
            }
            (_, Choice::Take(pick)) => {
                choices.settled.insert(key, Settlement::Whole(pick));
            }
            // An edited value can only settle a field, not a whole entry.
            (_, Choice::Value(_)) => {}
        }
    }
}

fn key_of(conflict: &Conflict) -> JsText {
    conflict.key.clone().unwrap_or_default()
}

/// The entries in conflict, each once.
fn candidates(plan: &MergePlan) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for conflict in &plan.conflicts {
        let key = key_of(conflict);
        if found.iter().any(|it| it.key == key) {
            continue;
        }
        let title = if conflict.key.is_some() { conflict.title.clone() } else { BOOK.to_owned() };
        found.push(Candidate { uid: None, key, title });
    }
    found
}

/// How a conflict is named on the command line.
pub(super) fn conflict_name(plan: &MergePlan, conflict: &Conflict) -> String {
    let candidates = candidates(plan);
    let key = key_of(conflict);
    let own = candidates.iter().find(|it| it.key == key);
    let title = own.map(|it| it.title.as_str()).unwrap_or_default();
    let is_alone = candidates
        .iter()
        .filter(|it| it.title == title || it.key.to_string_lossy() == title)
        .count()
        == 1;
    let is_plain = !title.trim().is_empty() && crate::text::sanitize(title) == title;
    let entry =
        if is_alone && is_plain { title.to_owned() } else { key.to_string_lossy().into_owned() };
    match conflict.about.field() {
        Some(field) => format!("{entry}.{}", field_name(field)),
        None => entry,
    }
}
