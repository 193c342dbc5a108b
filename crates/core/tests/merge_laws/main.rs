//! Laws that hold for every merge of lore between two timelines.
//!
//! `FORKLORE_MERGES` sets their number. A failure names its seed (see `forklore_testkit::cases`).

mod books;

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use forklore_core::compare::diff::{Action, LoreDiff, LoreSide, compare};
use forklore_core::plan::merge::{
    BaseBook, Choice, Choices, ConflictKind, MergePlan, MergedChats, Pick, Settlement, StepKind,
    Wanted, follow, plan,
};
use forklore_core::plan::timed_effects::entry_hash;
use forklore_core::recap::{is_internal, registry};
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::defaults::{is_same_entry, plain_entry};
use forklore_json::{JsText, Json, Object};
use forklore_testkit::cases;

use books::{Story, story};

/// The number of merges for a law. Some laws use a quarter of it.
fn merges() -> usize {
    cases::count_from("FORKLORE_MERGES", 20_000)
}

fn book(bytes: &[u8]) -> Book<'_> {
    Book::read(bytes).expect("it is a book")
}

fn entries(bytes: &[u8]) -> Object {
    let value = Json::parse(bytes).expect("it is JSON");
    value.get("entries").and_then(Json::as_object).cloned().expect("it has entries")
}

fn comment(entry: &Json) -> String {
    entry.get("comment").and_then(Json::as_str).unwrap_or_default().into_owned()
}

/// A text for comparing values regardless of the order of members.
fn unordered(value: &Json) -> String {
    match value {
        Json::Object(object) => {
            let members: BTreeMap<_, _> =
                object.iter().map(|(key, value)| (key.clone(), unordered(value))).collect();
            format!("{members:?}")
        }
        other => String::from_utf8_lossy(&other.stringify()).into_owned(),
    }
}

fn lore(entries: &Object) -> BTreeMap<JsText, String> {
    let lore = entries.iter().filter(|(_, entry)| !is_internal(&comment(entry)));
    lore.map(|(key, entry)| (key.clone(), unordered(&plain_entry(entry)))).collect()
}

/// `entry` with one field taken from `other`.
fn with_field_of(other: &Json, entry: &Json, name: &JsText) -> Json {
    let mut entry = entry.as_object().cloned().unwrap_or_default();
    match other.as_object().and_then(|other| other.get_text(name)) {
        Some(value) => entry.insert(name.clone(), value.clone()),
        None => _ = entry.remove_text(name),
    }
    Json::Object(entry)
}

fn planned(story: &Story, choices: &Choices) -> MergePlan {
    let base = book(&story.base);
    plan(BaseBook::Known(Some(&base)), &book(&story.ours), &book(&story.theirs), choices)
}

fn choices(rng: &mut Rng, story: &Story) -> Choices {
    let mut choices = Choices {
        otherwise: [None, Some(Pick::Ours), Some(Pick::Theirs)][rng.usize(..3)],
        is_one_book: rng.bool(),
        ..Choices::default()
    };
    for (key, _) in entries(&story.theirs).iter() {
        if rng.u8(..4) == 0 {
            let pick = if rng.bool() { Pick::Ours } else { Pick::Theirs };
            let settled = match rng.u8(..3) {
                0 => Settlement::Whole(pick),
                1 => Settlement::Fields([("content".into(), Choice::Take(pick))].into()),
                _ => {
                    let own = Choice::Value(Json::from("own words"));
                    Settlement::Fields([("content".into(), own)].into())
                }
            };
            choices.settled.insert(key.clone(), settled);
        }
    }
    if rng.u8(..4) == 0 {
        let wanted =
            entries(&story.theirs).keys().filter(|_| rng.bool()).cloned().collect::<Vec<_>>();
        let how = |rng: &mut Rng| match rng.u8(..3) {
            0 => Wanted::Fields(vec!["content".into()]),
            _ => Wanted::Whole,
        };
        choices.only = Some(wanted.into_iter().map(|key| (key, how(rng))).collect());
    }
    choices
}

#[test]
fn an_idle_side_has_no_say() {
    cases::run("idle", merges(), |rng| {
        let story = story(rng);
        let idle_theirs = Story { theirs: story.base.clone(), ..story.clone() };
        let plan = planned(&idle_theirs, &Choices::default());
        assert!(plan.is_empty() && plan.conflicts.is_empty(), "{plan:?}");

        let idle_ours = Story { ours: story.base.clone(), ..story.clone() };
        let one_book = Choices { is_one_book: true, ..Choices::default() };
        let plan = planned(&idle_ours, &one_book);
        assert!(plan.conflicts.is_empty(), "{plan:?}");
        let merged = plan.apply(&book(&idle_ours.ours));
        assert_eq!(lore(&entries(&merged)), lore(&entries(&story.theirs)), "{plan:?}");
    });
}

/// Showing an entry in SillyTavern's editor is not a change, on either side.
#[test]
fn what_the_editor_fills_in_changes_no_merge() {
    cases::run("editor", merges(), |rng| {
        let story = story(rng);
        let shown = Story {
            base: story.base.clone(),
            ours: books::shown_in_editor(rng, &story.ours),
            theirs: books::shown_in_editor(rng, &story.theirs),
        };
        for (plain, filled) in [(&story.ours, &shown.ours), (&story.theirs, &shown.theirs)] {
            let (plain, filled) = (book(plain), book(filled));
            let side = |book| LoreSide { book: Some(book), metadata: None };
            for base in [None, Some(side(&plain)), Some(side(&filled))] {
                assert!(compare(base, side(&plain), side(&filled), true).is_empty());
            }
        }
        let decisions = |plan: &MergePlan| {
            let steps = plan.steps.iter().filter(|step| !step.is_internal);
            let steps: BTreeSet<String> =
                steps.map(|step| format!("{:?} {:?}", step.to, step.what)).collect();
            let conflicts = plan.conflicts.iter();
            let conflicts: BTreeSet<String> = conflicts
                .map(|conflict| format!("{:?} {:?}", conflict.key, conflict.about))
                .collect();
            (steps, conflicts)
        };
        let choices = Choices::default();
        let (one, other) = (planned(&story, &choices), planned(&shown, &choices));
        assert_eq!(decisions(&one), decisions(&other));
        let [one, other] = [(one, &story.ours), (other, &shown.ours)]
            .map(|(plan, ours)| lore(&entries(&plan.apply(&book(ours)))));
        assert_eq!(one, other);
    });
}

#[test]
fn swapping_sides_swaps_only_the_names() {
    cases::run("swap", merges(), |rng| {
        let story = story(rng);
        let base = book(&story.base);
        let (left, right) = (book(&story.ours), book(&story.theirs));
        let side = |book| LoreSide { book: Some(book), metadata: None };
        let is_known = rng.u8(..4) > 0;
        let base_side = is_known.then(|| side(&base));
        let one = compare(base_side, side(&left), side(&right), rng.bool());
        let other = compare(base_side, side(&right), side(&left), true);
        let internal = |compared: &LoreDiff| {
            let mut compared = compared.clone();
            compared.entries.retain(|entry| !is_internal(&entry.title()));
            compared
        };
        assert_eq!(names(&internal(&one), false), names(&internal(&other), true));

        let swapped = story.swapped();
        let (forth, back) =
            (planned(&story, &Choices::default()), planned(&swapped, &Choices::default()));
        let about = |plan: &MergePlan, is_swapped: bool| -> BTreeSet<String> {
            let conflicts = plan.conflicts.iter().map(|conflict| {
                let about = match (&conflict.about, is_swapped) {
                    (ConflictKind::RemovedByOurs, true) => ConflictKind::RemovedByTheirs,
                    (ConflictKind::RemovedByTheirs, true) => ConflictKind::RemovedByOurs,
                    (about, _) => about.clone(),
                };
                let (mut ours, mut theirs) = (&conflict.ours, &conflict.theirs);
                if is_swapped {
                    std::mem::swap(&mut ours, &mut theirs);
                }
                format!("{:?} {about:?} {ours:?} {theirs:?}", conflict.key)
            });
            conflicts.collect()
        };
        assert_eq!(about(&forth, false), about(&back, true));
        if forth.conflicts.is_empty()
            && forth.moved.is_empty()
            && back.moved.is_empty()
            && forth.kept.is_empty()
        {
            let forth = lore(&entries(&forth.apply(&left)));
            let back = lore(&entries(&back.apply(&right)));
            assert_eq!(forth, back);
        }
    });
}

/// The findings of a comparison, with the sides swapped back if `is_swapped`.
fn names(compared: &LoreDiff, is_swapped: bool) -> BTreeSet<String> {
    let entries = compared.entries.iter().map(|entry| {
        let (mut left, mut right) = (&entry.left, &entry.right);
        if is_swapped {
            std::mem::swap(&mut left, &mut right);
        }
        let mut fields: Vec<String> = entry
            .fields
            .iter()
            .map(|field| {
                let by = if is_swapped { field.by.swapped() } else { field.by };
                let (mut left, mut right) = (&field.left, &field.right);
                if is_swapped {
                    std::mem::swap(&mut left, &mut right);
                }
                format!("{:?} {by:?} {left:?} {right:?}", field.name)
            })
            .collect();
        fields.sort();
        format!("{:?} {left:?} {right:?} {fields:?}", entry.key)
    });
    entries.collect()
}

#[test]
fn merging_twice_changes_nothing() {
    cases::run("twice", merges(), |rng| {
        let story = story(rng);
        let choices = choices(rng, &story);
        let first = planned(&story, &choices);
        let merged = first.apply(&book(&story.ours));
        let again = Story { ours: merged, ..story };
        let second = planned(&again, &choices);
        assert!(second.is_empty(), "first {first:#?}\nsecond {second:#?}");
    });
}

#[test]
fn nothing_is_lost_that_the_plan_does_not_list() {
    cases::run("lost", merges(), |rng| {
        let story = story(rng);
        let choices = choices(rng, &story);
        let plan = planned(&story, &choices);
        let merged = entries(&plan.apply(&book(&story.ours)));

        for (key, entry) in entries(&story.ours).iter() {
            let step = plan.steps.iter().find(|step| step.to == *key);
            match (step, merged.get_text(key)) {
                (None, now) => assert_eq!(now, Some(entry), "{key:?} changed unlisted"),
                (Some(step), now) => {
                    assert_eq!(step.before.as_ref(), Some(entry));
                    assert_eq!(step.after.as_ref(), now);
                }
            }
        }
        if choices.only.is_some() {
            return;
        }
        let base = entries(&story.base);
        for (key, entry) in entries(&story.theirs).iter() {
            let is_same = |base_entry: &Json| is_same_entry(base_entry, entry);
            if is_internal(&comment(entry)) || base.get_text(key).is_some_and(is_same) {
                continue;
            }
            let place = plan.moved.iter().find(|(from, _)| from == key).map_or(key, |(_, to)| to);
            let is_disputed = |field: Option<&JsText>| {
                plan.conflicts.iter().any(|conflict| {
                    conflict.key.as_ref() == Some(key)
                        && (conflict.about.field().is_none() || conflict.about.field() == field)
                })
            };
            let Some(now) = merged.get_text(place) else {
                assert!(is_disputed(None), "{key:?} of theirs is nowhere: {plan:#?}");
                continue;
            };
            let was = base.get_text(key);
            for (name, value) in entry.as_object().into_iter().flat_map(Object::iter) {
                let field = |entry: Option<&Json>| entry?.as_object()?.get_text(name).cloned();
                let meant = |entry: &Json| field(Some(&plain_entry(entry)));
                // A field was changed by them if reverting it would make a different entry.
                let is_theirs =
                    was.is_none_or(|was| !is_same_entry(&with_field_of(was, entry, name), entry));
                let is_there =
                    field(Some(now)).as_ref() == Some(value) || meant(now) == meant(entry);
                let is_kept = plan.kept.iter().any(|kept| {
                    kept.key == *key && kept.field.as_ref().is_none_or(|field| field == name)
                });
                let is_number = *name == *"uid" || *name == *"displayIndex";
                assert!(
                    !is_theirs || is_there || is_disputed(Some(name)) || is_kept || is_number,
                    "{name:?} of {key:?} is lost: {plan:#?}"
                );
            }
        }
    });
}

#[test]
fn what_is_applied_is_what_was_shown_and_the_rest_keeps_its_bytes() {
    cases::run("shown", merges(), |rng| {
        let story = story(rng);
        let choices = choices(rng, &story);
        let plan = planned(&story, &choices);
        let ours = book(&story.ours);
        let bytes = plan.apply(&ours);
        let merged = book(&bytes);
        let text = |book: &Book<'_>| -> BTreeMap<String, Vec<u8>> {
            book.entries().map(|e| (e.key().into_owned(), e.value().bytes().to_vec())).collect()
        };
        let (before, after) = (text(&ours), text(&merged));
        let named: BTreeSet<String> =
            plan.steps.iter().map(|step| step.to.to_string_lossy().into_owned()).collect();
        assert_eq!(named.len(), plan.steps.len(), "two steps for one entry");
        for step in &plan.steps {
            let key = step.to.to_string_lossy();
            let now = after.get(key.as_ref()).map(|text| Json::parse(text).expect("it is JSON"));
            assert_eq!(now, step.after, "{key}");
            assert_eq!(step.what == StepKind::Add, !before.contains_key(key.as_ref()));
        }
        for (key, text) in before.iter().filter(|(key, _)| !named.contains(*key)) {
            assert_eq!(after.get(key), Some(text), "{key} has other bytes");
        }
        let added = after.keys().filter(|key| !before.contains_key(*key));
        assert!(added.clone().all(|key| named.contains(key)));
        let mark = |book: &Book<'_>| book.mark().map(|mark| mark.json());
        assert_eq!(mark(&ours), mark(&merged), "the mark is not theirs to change");
        if plan.is_empty() {
            assert_eq!(bytes, story.ours);
        }
    });
}

#[test]
fn every_reference_that_followed_a_moved_entry_resolves() {
    cases::run("references", merges(), |rng| {
        let story = story(rng);
        let choices = choices(rng, &story);
        let plan = planned(&story, &choices);
        let bytes = plan.apply(&book(&story.ours));
        let merged = book(&bytes);

        let broken = |bytes: &[u8]| -> BTreeSet<String> {
            let facts: Vec<_> = book(bytes)
                .entries()
                .map(|e| (e.uid().unwrap_or_default(), e.comment().into(), e.content().into()))
                .collect();
            registry::flaws(&facts).iter().map(|flaw| format!("{flaw:?}")).collect()
        };
        let known: BTreeSet<String> =
            broken(&story.ours).union(&broken(&story.theirs)).cloned().collect();
        let broken_now = broken(&bytes);
        let new: Vec<_> = broken_now.difference(&known).collect();
        // A title that only one side changed also counts as a flaw, but not one of the registry.
        let new: Vec<_> = new.into_iter().filter(|flaw| flaw.starts_with("NoSuchEntry")).collect();
        assert!(new.is_empty(), "{new:?}\n{plan:#?}");
        for (from, to) in &plan.moved {
            let (theirs, ours) = (entries(&story.theirs), entries(&bytes));
            let (Some(theirs), Some(ours)) = (theirs.get_text(from), ours.get_text(to)) else {
                panic!("{from:?} was said to be {to:?}");
            };
            assert_eq!(comment(theirs), comment(ours));
        }

        let (our_chat, their_chat) =
            (story.chat("Ours", &story.ours), story.chat("Theirs", &story.theirs));
        let chats = MergedChats {
            our_book: "Ours",
            ours: &our_chat,
            their_book: "Theirs",
            theirs: Some(&their_chat),
        };
        let metadata = follow(&plan, &merged, chats).unwrap_or_else(|| our_chat.clone());
        let sticky = |metadata: &Json| {
            metadata
                .at(&["timedWorldInfo", "sticky"])
                .and_then(Json::as_object)
                .cloned()
                .unwrap_or_default()
        };
        let after = entries(&bytes);
        for (name, effect) in sticky(&metadata).iter() {
            let name = name.to_string_lossy().into_owned();
            let uid = name.strip_prefix("Ours.").expect("effects are of our book");
            let entry = after.iter().map(|(_, entry)| entry).find(|entry| {
                entry
                    .get("uid")
                    .and_then(Json::as_i64)
                    .is_some_and(|number| number.to_string() == uid)
            });
            // An effect of a removed entry stays behind, inactive, as in SillyTavern.
            let Some(entry) = entry else { continue };
            let hash = entry_hash(entry, "Ours").map(|hash| hash as f64);
            assert_eq!(effect.get("hash").and_then(Json::as_f64), hash, "{name}");
        }
        let brought =
            plan.steps.iter().filter(|step| step.what == StepKind::Add && !step.is_internal);
        for step in brought {
            let uid = step.after.as_ref().and_then(|entry| entry.get("uid")).and_then(Json::as_i64);
            let name = format!("Ours.{}", uid.unwrap_or_default());
            assert!(sticky(&metadata).contains(&name), "{name} does not run on");
        }
        let index = metadata.at(&["auto_lorebooks", "registry", "index"]);
        if plan.steps.iter().any(|step| step.is_internal) {
            let uids: BTreeSet<String> = book(&bytes).entries().filter_map(|e| e.uid()).collect();
            for (uid, _) in index.into_iter().flat_map(Json::members) {
                let was_broken = known.iter().any(|flaw| flaw.contains(&format!("uid: \"{uid}\"")));
                assert!(
                    was_broken || uids.contains(uid.as_ref()),
                    "{uid} is in the index and nowhere else"
                );
            }
        }
    });
}

/// Without a base, no field is overwritten unless it was chosen.
#[test]
fn where_nobody_knows_the_beginning_every_difference_is_a_conflict() {
    cases::run("unknown", merges() / 4, |rng| {
        let story = story(rng);
        let plan =
            plan(BaseBook::Unknown, &book(&story.ours), &book(&story.theirs), &Choices::default());
        assert!(plan.steps.iter().all(|step| step.what != StepKind::Remove || step.is_internal));
        let merged = entries(&plan.apply(&book(&story.ours)));
        for (key, entry) in entries(&story.ours).iter().filter(|(_, e)| !is_internal(&comment(e))) {
            let now = merged.get_text(key).and_then(Json::as_object).expect("it stays");
            for (name, value) in entry.as_object().into_iter().flat_map(Object::iter) {
                assert_eq!(now.get_text(name), Some(value), "{name:?} of {key:?}");
            }
        }
    });
}

/// Between two messages of one chat, every change is attributed to the later one.
#[test]
fn against_the_earlier_moment_the_later_one_did_everything() {
    cases::run("moments", merges() / 4, |rng| {
        let story = story(rng);
        let (then, now) = (book(&story.base), book(&story.ours));
        let side = |book| LoreSide { book: Some(book), metadata: None };
        let found = compare(Some(side(&then)), side(&then), side(&now), true);
        let (mut before, mut after) = (entries(&story.base), entries(&story.ours));
        // If a key changed from lore to bookkeeping or back, it stands for two entries.
        let kind = |entry: Option<&Json>| entry.map(|entry| is_internal(&comment(entry)));
        let both: Vec<JsText> =
            before.keys().filter(|key| after.get_text(key).is_some()).cloned().collect();
        let mixed: BTreeSet<JsText> = both
            .into_iter()
            .filter(|key| kind(before.get_text(key)) != kind(after.get_text(key)))
            .collect();
        for key in &mixed {
            before.remove_text(key);
            after.remove_text(key);
        }
        let found: Vec<_> =
            found.entries.iter().filter(|entry| !mixed.contains(&entry.key)).collect();
        for entry in &found {
            assert!(matches!(entry.left.did, Action::Nothing), "{entry:?}");
            let expected = match (before.get_text(&entry.key), after.get_text(&entry.key)) {
                (None, Some(_)) => Action::Added,
                (Some(_), None) => Action::Removed,
                _ => Action::Changed,
            };
            assert_eq!(entry.right.did, expected);
        }
        let listed: BTreeSet<&JsText> = found.iter().map(|entry| &entry.key).collect();
        let differs = |key: &&JsText| match (before.get_text(key), after.get_text(key)) {
            (Some(before), Some(after)) => !is_same_entry(before, after),
            (before, after) => before.is_some() || after.is_some(),
        };
        let keys: BTreeSet<&JsText> = before.keys().chain(after.keys()).filter(differs).collect();
        assert_eq!(listed, keys);
    });
}
