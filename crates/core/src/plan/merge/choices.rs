//! The user's choices for a merge.

use std::collections::HashMap;

use forklore_json::{JsText, Json};

/// The side that wins a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    Ours,
    Theirs,
}

/// How a conflict about one field is settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    Take(Pick),
    /// A value from neither side.
    Value(Json),
}

/// How an entry's conflicts are settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    Whole(Pick),
    /// By name; the last choice for a field counts.
    Fields(Vec<(JsText, Choice)>),
}

/// How much of an entry is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Whole,
    Fields(Vec<JsText>),
}

/// By default all their changes are merged, and no conflict is settled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// If set, only these entries are merged, by their keys in their book.
    pub only: Option<HashMap<JsText, Wanted>>,
    pub settled: HashMap<JsText, Settlement>,
    /// How to settle conflicts that are not in `settled`.
    pub otherwise: Option<Pick>,
    /// Whether both sides are the same book, open in two pages. Then ST-Auto-Recap's queue is
    /// merged as well. Two timelines each have their own queue, whose operations belong to their
    /// chat.
    pub is_one_book: bool,
}

impl Choices {
    pub(super) fn wants_entry(&self, key: &JsText) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains_key(key))
    }

    pub(super) fn wants_whole(&self, key: &JsText) -> bool {
        self.only.as_ref().is_none_or(|only| only.get(key) == Some(&Wanted::Whole))
    }

    pub(super) fn wants_field(&self, key: &JsText, field: &JsText) -> bool {
        self.only.as_ref().is_none_or(|only| match only.get(key) {
            None => false,
            Some(Wanted::Whole) => true,
            Some(Wanted::Fields(fields)) => fields.contains(field),
        })
    }

    /// The choice for a whole entry, or for one field of it.
    pub(super) fn choice(&self, key: &JsText, field: Option<&JsText>) -> Option<Choice> {
        let named = match (self.settled.get(key), field) {
            (Some(Settlement::Whole(pick)), _) => Some(Choice::Take(*pick)),
            (Some(Settlement::Fields(fields)), Some(field)) => {
                let last = fields.iter().rfind(|(name, _)| name == field);
                last.map(|(_, choice)| choice.clone())
            }
            _ => None,
        };
        named.or(self.otherwise.map(Choice::Take))
    }
}
