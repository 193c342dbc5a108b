//! Merges lore from one book into another.

use std::collections::HashMap;

use forklore_core::plan::merge::{
    self, BaseBook, Choice, Choices, Conflict, EntryStep, MergePlan, MergedChats, Pick, Settlement,
    Wanted, follow,
};
use forklore_core::sillytavern::book::Book;
use forklore_json::{JsText, Json, Object};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::boundary::answer::Answer;
use crate::boundary::ask::Ask;
use crate::compare::{read_book, read_like};

/// Plans how to merge their changes into our book. The answer's book is ours with the plan applied.
#[wasm_bindgen]
pub fn merge(
    ask: &[u8],
    base: Option<Vec<u8>>,
    ours: &[u8],
    theirs: &[u8],
) -> Result<Answer, JsError> {
    let keys = [
        "baseKnown",
        "only",
        "settle",
        "otherwise",
        "ourBook",
        "theirBook",
        "ourMetadata",
        "theirMetadata",
    ];
    let ask = Ask::read(ask, &keys)?;
    let base = base.as_deref().map(read_book).transpose()?;
    let ours = read_like(ours, base.as_ref())?;
    let theirs = read_like(theirs, Some(&ours))?;
    let base =
        if ask.flag("baseKnown")? { BaseBook::Known(base.as_ref()) } else { BaseBook::Unknown };
    let plan = merge::plan(base, &ours, &theirs, &choices(&ask)?);
    let bytes = plan.apply(&ours);
    let metadata = metadata(&ask, &plan, &bytes)?;
    Ok(Answer::of(&plan_json(&plan, metadata)).with_book(Some(bytes)))
}

fn metadata(ask: &Ask<'_>, plan: &MergePlan, merged: &[u8]) -> Result<Option<Json>, JsError> {
    let (ours, theirs) = (ask.optional("ourMetadata")?, ask.optional("theirMetadata")?);
    let books = ask.optional_text("ourBook")?.zip(ask.optional_text("theirBook")?);
    let (Some(ours), Some((our_book, their_book))) = (ours, books) else { return Ok(None) };
    let chats = MergedChats { our_book: &our_book, ours, their_book: &their_book, theirs };
    Ok(Book::read(merged).ok().and_then(|merged| follow(plan, &merged, chats)))
}

fn choices(ask: &Ask<'_>) -> Result<Choices, JsError> {
    let only = ask.optional("only")?.and_then(Json::as_object).map(|only| {
        let wanted = only.iter().map(|(key, wanted)| (key.clone(), wanted_of(wanted)));
        wanted.collect::<HashMap<_, _>>()
    });
    Ok(Choices {
        only,
        settled: settlements(ask.member("settle")?),
        otherwise: ask.optional("otherwise")?.and_then(pick),
        is_one_book: false,
    })
}

fn wanted_of(wanted: &Json) -> Wanted {
    let Some(fields) = wanted.as_array() else { return Wanted::Whole };
    let names = fields.iter().filter_map(|name| match name {
        Json::Text(name) => Some(name.clone()),
        _ => None,
    });
    Wanted::Fields(names.collect())
}

pub(crate) fn settlements(settle: &Json) -> HashMap<JsText, Settlement> {
    let settled = settle.as_object().into_iter().flat_map(Object::iter);
    settled.filter_map(|(key, how)| Some((key.clone(), settlement(how)?))).collect()
}

fn settlement(how: &Json) -> Option<Settlement> {
    if let Some(pick) = pick(how) {
        return Some(Settlement::Whole(pick));
    }
    let fields = how.as_object()?.iter().filter_map(|(field, how)| {
        let choice = match pick(how) {
            Some(pick) => Choice::Take(pick),
            None => Choice::Value(how.get("value")?.clone()),
        };
        Some((field.clone(), choice))
    });
    Some(Settlement::Fields(fields.collect()))
}

fn pick(how: &Json) -> Option<Pick> {
    match how.as_str()?.as_ref() {
        "ours" => Some(Pick::Ours),
        "theirs" => Some(Pick::Theirs),
        _ => None,
    }
}

fn plan_json(plan: &MergePlan, metadata: Option<Json>) -> Json {
    let kept = plan.kept.iter().map(|kept| {
        Json::object([("key", text(&kept.key)), ("field", kept.field.as_ref().map(text).into())])
    });
    let twins = plan.namesakes.iter().map(|pair| {
        Json::object([
            ("key", text(&pair.theirs)),
            ("to", text(&pair.ours)),
            ("title", pair.title.as_str().into()),
        ])
    });
    Json::object([
        ("steps", plan.steps.iter().map(EntryStep::to_json).collect::<Vec<_>>().into()),
        ("conflicts", plan.conflicts.iter().map(Conflict::to_json).collect::<Vec<_>>().into()),
        ("kept", kept.collect::<Vec<_>>().into()),
        ("twins", twins.collect::<Vec<_>>().into()),
        ("book", plan.fields.iter().map(|(name, _)| text(name)).collect::<Vec<_>>().into()),
        ("metadata", metadata.into()),
        ("changes", Json::Bool(!plan.is_empty())),
    ])
}

fn text(text: &JsText) -> Json {
    Json::Text(text.clone())
}
