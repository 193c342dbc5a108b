//! What someone wants of a merge.

use std::collections::HashMap;

use forklore_json::{JsText, Json};

/// Which side a conflict is settled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    Ours,
    Theirs,
}

/// How a conflict about one field is settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    Take(Pick),
    /// A value of one's own.
    Value(Json),
}

/// How an entry's conflicts are settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Settlement {
    Whole(Pick),
    Fields(HashMap<JsText, Choice>),
}

/// How much of an entry is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Whole,
    Fields(Vec<JsText>),
}

/// By default all that they did comes over, and no conflict is settled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choices {
    /// The only entries that are wanted, by their keys in the other book.
    pub only: Option<HashMap<JsText, Wanted>>,
    pub settled: HashMap<JsText, Settlement>,
    /// How conflicts are settled that are not named.
    pub otherwise: Option<Pick>,
    /// Whether both sides are the same book, in two pages: then ST-Auto-Recap's queue is shared too.
    /// Between two timelines each has its own, whose operations belong to its chat.
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
            (Some(Settlement::Fields(fields)), Some(field)) => fields.get(field).cloned(),
            _ => None,
        };
        named.or(self.otherwise.map(Choice::Take))
    }
}
