//! Updates a chat's data about the entries of its book after a merge.

use super::{EntryStep, MergePlan, StepKind};
use crate::plan::merge::free_uids::uid_of;
use crate::plan::timed_effects;
use crate::recap::registry;
use crate::sillytavern::book::Book;
use forklore_json::{JsText, Json, Object};

/// The chats of the two books.
#[derive(Clone, Copy, Debug)]
pub struct MergedChats<'a> {
    pub our_book: &'a str,
    pub ours: &'a Json,
    pub their_book: &'a str,
    /// Their chat's metadata, if available.
    pub theirs: Option<&'a Json>,
}

const TIMED: &str = "timedWorldInfo";
const INDEX: [&str; 3] = ["auto_lorebooks", "registry", "index"];

/// Our chat's metadata after the plan was applied, with the `merged` book; `None` if it does not
/// have to change.
pub fn follow(plan: &MergePlan, merged: &Book<'_>, chats: MergedChats<'_>) -> Option<Json> {
    let mut metadata = chats.ours.clone();
    if let Some(timed) = effects(plan, chats)
        && let Some(object) = metadata.as_object_mut()
    {
        object.insert(TIMED, timed);
    }
    if plan.steps.iter().any(|step| step.is_internal)
        && let Some(index) = chats.ours.at(&INDEX)
        && let Ok(book) = merged.root().json()
        && let Some(entries) = book.get("entries").and_then(Json::as_object)
    {
        let index = registry::reindexed(index, entries);
        if let Some(registry) = INDEX[..2].iter().try_fold(&mut metadata, |value, key| {
            value.as_object_mut().and_then(|object| object.get_mut(key))
        }) && let Some(registry) = registry.as_object_mut()
        {
            registry.insert(INDEX[2], index);
        }
    }
    (metadata != *chats.ours).then_some(metadata)
}

/// Updates the timed effects. SillyTavern ties a running effect to an entry by a hash over the
/// whole entry. Our effects keep running although their entries changed, and an effect of theirs
/// comes with its entry.
fn effects(plan: &MergePlan, chats: MergedChats<'_>) -> Option<Json> {
    let mut timed = chats.ours.get(TIMED).and_then(Json::as_object).cloned().unwrap_or_default();
    let theirs = chats.theirs.and_then(|theirs| theirs.get(TIMED));
    let mut has_changed = false;
    for step in &plan.steps {
        has_changed |= match step.what {
            StepKind::Change => keep_running(&mut timed, step, chats.our_book),
            StepKind::Add => {
                theirs.is_some_and(|theirs| carry_over(&mut timed, theirs, step, chats))
            }
            StepKind::Remove => false,
        };
    }
    has_changed.then_some(Json::Object(timed))
}

fn keep_running(timed: &mut Object, step: &EntryStep, book: &str) -> bool {
    let (Some(before), Some(after)) = (&step.before, &step.after) else { return false };
    let Some(name) = effect_name(book, before) else { return false };
    let kinds: Vec<JsText> = timed.keys().cloned().collect();
    let mut has_changed = false;
    for kind in kinds {
        let Some(effects) = timed.get_text(&kind).and_then(Json::as_object) else { continue };
        let Some(effect) = effects.get_text(&name) else { continue };
        let Some(effect) = timed_effects::moved(effect, (before, book), (after, book)) else {
            continue;
        };
        let mut effects = effects.clone();
        effects.insert(name.clone(), effect);
        timed.insert(kind, effects);
        has_changed = true;
    }
    has_changed
}

fn carry_over(timed: &mut Object, theirs: &Json, step: &EntryStep, chats: MergedChats<'_>) -> bool {
    let (Some(after), Some(original)) = (&step.after, step.original()) else { return false };
    let (Some(from), Some(to)) =
        (effect_name(chats.their_book, original), effect_name(chats.our_book, after))
    else {
        return false;
    };
    let mut has_changed = false;
    for (kind, effects) in theirs.as_object().into_iter().flat_map(Object::iter) {
        let effect = effects.as_object().and_then(|effects| effects.get_text(&from));
        let moved = effect.and_then(|effect| {
            timed_effects::moved(effect, (original, chats.their_book), (after, chats.our_book))
        });
        let Some(effect) = moved else { continue };
        let mut ours = timed.get_text(kind).and_then(Json::as_object).cloned().unwrap_or_default();
        if ours.get_text(&to).is_none() {
            ours.insert(to.clone(), effect);
            timed.insert(kind.clone(), ours);
            has_changed = true;
        }
    }
    has_changed
}

fn effect_name(book: &str, entry: &Json) -> Option<JsText> {
    let uid = entry.get("uid").and_then(uid_of)?;
    Some(format!("{book}.{}", uid.to_string_lossy()).into())
}
