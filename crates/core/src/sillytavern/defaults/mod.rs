//! The default values of entry fields, and comparing entries by meaning.
//!
//! SillyTavern's World Info editor completes an entry just by showing it: it fills in defaults for
//! missing fields, and rewrites some values to equivalent ones. None of that changes the lore, so
//! entries are compared by what their fields *mean*. This is for comparison only: entries are
//! stored and copied exactly as written.

mod originals;

use std::borrow::Cow;

use forklore_json::{JsText, Json, Object};

pub(crate) use originals::{NAME as ORIGINAL_DATA, follows_the_entries};

/// An entry field for which SillyTavern has a default.
#[derive(Clone, Copy, Debug)]
pub struct DefaultField {
    pub name: &'static str,
    pub default: Literal,
    /// Other values that are equivalent to the default.
    also: &'static [Literal],
    counts: Counts,
}

/// A value in the table of defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    Null,
    False,
    True,
    Number(i32),
    /// `""`
    NoText,
    /// `[]`
    NoList,
}

/// When a field has any effect.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Counts {
    Always,
    /// It only affects how the editor displays the entry.
    Never,
    /// If the entry is inserted at a depth.
    AtDepth,
    WithSecondaryKeys,
    /// If the entry's probability is not the default, 100.
    WithProbability,
}

use Literal::{False, NoList, NoText, Null, Number, True};

const fn field(name: &'static str, default: Literal, also: &'static [Literal]) -> DefaultField {
    DefaultField { name, default, also, counts: Counts::Always }
}

const fn only_if(counts: Counts, field: DefaultField) -> DefaultField {
    DefaultField { counts, ..field }
}

/// SillyTavern's `newWorldInfoEntryTemplate`, in its order.
///
/// A value in the last column is either one that the editor writes in place of the default
/// (`sticky`: 0 for `null`, `delayUntilRecursion`: `false` for 0), or one that it replaces by the
/// default. When SillyTavern scans, it treats both alike. `e2e/scenarios/editor.test.mjs` tests
/// this in the real editor.
pub const FIELDS: [DefaultField; 39] = [
    field("key", NoList, &[Null]),
    field("keysecondary", NoList, &[Null]),
    field("comment", NoText, &[Null]),
    field("content", NoText, &[Null]),
    field("constant", False, &[Null]),
    field("vectorized", False, &[Null]),
    only_if(Counts::WithSecondaryKeys, field("selective", True, &[])),
    field("selectiveLogic", Number(0), &[Null]),
    only_if(Counts::Never, field("addMemo", False, &[])),
    field("order", Number(100), &[]),
    field("position", Number(0), &[]),
    field("disable", False, &[Null]),
    field("ignoreBudget", False, &[Null]),
    field("excludeRecursion", False, &[Null]),
    field("preventRecursion", False, &[Null]),
    field("matchPersonaDescription", False, &[Null]),
    field("matchCharacterDescription", False, &[Null]),
    field("matchCharacterPersonality", False, &[Null]),
    field("matchCharacterDepthPrompt", False, &[Null]),
    field("matchScenario", False, &[Null]),
    field("matchCreatorNotes", False, &[Null]),
    field("delayUntilRecursion", Number(0), &[False, Null]),
    field("probability", Number(100), &[]),
    only_if(Counts::WithProbability, field("useProbability", True, &[])),
    field("depth", Number(4), &[]),
    field("outletName", NoText, &[Null]),
    field("group", NoText, &[Null]),
    field("groupOverride", False, &[Null]),
    field("groupWeight", Number(100), &[]),
    field("scanDepth", Null, &[]),
    field("caseSensitive", Null, &[]),
    field("matchWholeWords", Null, &[]),
    field("useGroupScoring", Null, &[]),
    field("automationId", NoText, &[Null]),
    only_if(Counts::AtDepth, field("role", Number(0), &[Null])),
    field("sticky", Null, &[Number(0)]),
    field("cooldown", Null, &[Number(0)]),
    field("delay", Null, &[Number(0)]),
    field("triggers", NoList, &[Null]),
];

/// SillyTavern's `world_info_position.atDepth`.
const AT_DEPTH: f64 = 4.0;

/// Numbers whose `null` SillyTavern reads as 0, although 0 is not their default.
const NULL_IS_ZERO: [&str; 2] = ["order", "probability"];

/// Texts in which the editor normalises line endings to line feeds.
const WRITTEN_IN_LINES: [&str; 2] = ["comment", "content"];

impl Literal {
    pub fn json(self) -> Json {
        match self {
            Null => Json::Null,
            False => Json::Bool(false),
            True => Json::Bool(true),
            Number(number) => Json::from(i64::from(number)),
            NoText => Json::from(""),
            NoList => Json::Array(Vec::new()),
        }
    }

    fn is(self, value: &Json) -> bool {
        match (self, value) {
            (Null, Json::Null) | (False, Json::Bool(false)) | (True, Json::Bool(true)) => true,
            (Number(number), Json::Number(value)) => *value == f64::from(number),
            (NoText, Json::Text(text)) => text.as_bytes().is_empty(),
            (NoList, Json::Array(list)) => list.is_empty(),
            _ => false,
        }
    }
}

impl DefaultField {
    fn named(name: &JsText) -> Option<&'static Self> {
        FIELDS.iter().find(|field| *name == *field.name)
    }

    fn is_default(&self, value: &Json) -> bool {
        self.default.is(value) || self.also.iter().any(|literal| literal.is(value))
    }
}

impl Counts {
    fn in_entry(self, entry: &Object) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::AtDepth => {
                matches!(entry.get("position"), Some(Json::Number(number)) if *number == AT_DEPTH)
            }
            Self::WithSecondaryKeys => meaning(entry, &"keysecondary".into()).is_some(),
            Self::WithProbability => meaning(entry, &"probability".into()).is_some(),
        }
    }
}

/// Whether SillyTavern uses a default if this field is missing.
pub(crate) fn has_default(name: &JsText) -> bool {
    DefaultField::named(name).is_some() || *name == *"characterFilter" || *name == *"displayIndex"
}

/// The normalised value of an entry's field: `None` for the default, whether written or missing.
fn meaning<'e>(entry: &'e Object, name: &JsText) -> Option<Cow<'e, Json>> {
    let value = entry.get_text(name)?;
    match name.as_bytes() {
        b"characterFilter" => return (!is_open(value)).then_some(Cow::Borrowed(value)),
        b"displayIndex" => {
            let is_by_uid = *value == Json::Null || Some(value) == entry.get("uid");
            return (!is_by_uid).then_some(Cow::Borrowed(value));
        }
        _ => {}
    }
    let Some(field) = DefaultField::named(name) else { return Some(Cow::Borrowed(value)) };
    if field.is_default(value) {
        return None;
    }
    Some(match value {
        Json::Null if NULL_IS_ZERO.contains(&field.name) => Cow::Owned(Json::Number(0.0)),
        Json::Text(text) if WRITTEN_IN_LINES.contains(&field.name) && has_returns(text) => {
            Cow::Owned(Json::Text(with_line_feeds(text)))
        }
        _ => Cow::Borrowed(value),
    })
}

/// Whether a character filter lets every character through. SillyTavern turns an invalid filter
/// into such a filter.
fn is_open(filter: &Json) -> bool {
    let Some(filter) = filter.as_object() else { return true };
    let is_empty = |name| match filter.get(name) {
        Some(Json::Array(list)) => list.is_empty(),
        None => true,
        _ => false,
    };
    !filter.get("isExclude").is_some_and(Json::is_truthy) && is_empty("names") && is_empty("tags")
}

fn has_returns(text: &JsText) -> bool {
    text.as_bytes().contains(&b'\r')
}

fn with_line_feeds(text: &JsText) -> JsText {
    let bytes = text.as_bytes();
    let mut result = JsText::default();
    let mut from = 0;
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\r') {
        result = result.followed_by(&text.part(from..at));
        from = at + 1;
        if bytes.get(from) != Some(&b'\n') {
            result = result.followed_by(&JsText::from("\n"));
        }
    }
    result.followed_by(&text.part(from..bytes.len()))
}

/// Which values of a field are equal, among two sides and their merge base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EqualFields {
    pub(crate) sides: bool,
    /// Whether each side equals the base; `None` if the base is unknown or does not matter.
    pub(crate) with_base: Option<[bool; 2]>,
}

impl EqualFields {
    /// Compares one field of two entries. A side where the field has no effect is ignored, because
    /// the editor may have written anything there.
    pub(crate) fn in_entries(name: &JsText, base: Option<&Object>, sides: [&Object; 2]) -> Self {
        let [left, right] = sides;
        let counts = DefaultField::named(name).map_or(Counts::Always, |field| field.counts);
        let is_same = |one: &Object, other: &Object| {
            one.get_text(name) == other.get_text(name) || meaning(one, name) == meaning(other, name)
        };
        let counted = sides.map(|side| counts.in_entry(side));
        let with_base = match (counted, base) {
            ([false, false], _) => return Self { sides: true, with_base: None },
            (_, None) => None,
            ([true, true], Some(base)) => Some(sides.map(|side| is_same(base, side))),
            // One side kept the base's value, and on the other the field no longer has an effect.
            ([is_left, _], Some(base))
                if counts.in_entry(base) && is_same(base, if is_left { left } else { right }) =>
            {
                return Self { sides: true, with_base: None };
            }
            (_, Some(_)) => Some(counted.map(|counted| !counted)),
        };
        Self { sides: is_same(left, right), with_base }
    }
}

/// Whether two entries have the same meaning, regardless of the order of their fields.
pub fn is_same_entry(one: &Json, other: &Json) -> bool {
    let (Json::Object(one), Json::Object(other)) = (one, other) else { return one == other };
    let only_other = other.keys().filter(|name| one.get_text(name).is_none());
    let mut names = one.keys().chain(only_other);
    names.all(|name| EqualFields::in_entries(name, None, [one, other]).sides)
}

/// An entry normalised for comparison: the fields that differ from their defaults, sorted by name.
pub fn plain_entry(entry: &Json) -> Json {
    let Json::Object(entry) = entry else { return entry.clone() };
    let counts =
        |name: &JsText| DefaultField::named(name).is_none_or(|it| it.counts.in_entry(entry));
    let counted = entry.sorted().into_iter().filter(|(name, _)| counts(name));
    let fields =
        counted.filter_map(|(name, _)| Some((name.clone(), meaning(entry, name)?.into_owned())));
    fields.collect::<Object>().into()
}

/// A book with its entries normalised for comparison. Its other fields stay as they are, except for
/// copies of entries in `originalData`.
pub(crate) fn plain_book(book: &Json) -> Json {
    let Json::Object(book) = book else { return book.clone() };
    let fields = book.iter().map(|(name, value)| {
        let plain = match value {
            Json::Object(entries) if *name == *"entries" => {
                let plain = entries.iter().map(|(key, entry)| (key.clone(), plain_entry(entry)));
                plain.collect::<Object>().into()
            }
            form if *name == *originals::NAME => originals::without_copies(form),
            other => other.clone(),
        };
        (name.clone(), plain)
    });
    fields.collect::<Object>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn is_same(one: &str, other: &str) -> bool {
        let (one, other) = (json(one), json(other));
        let is_same = is_same_entry(&one, &other);
        assert_eq!(is_same, is_same_entry(&other, &one), "both ways");
        assert_eq!(is_same, plain_entry(&one) == plain_entry(&other));
        is_same
    }

    #[test]
    fn a_missing_field_is_its_default() {
        for field in &FIELDS {
            let default = String::from_utf8(field.default.json().stringify()).unwrap();
            let with = format!(r#"{{"{}":{default},"uid":1}}"#, field.name);
            assert!(is_same(r#"{"uid":1}"#, &with), "{}", field.name);
        }
    }

    #[test]
    fn another_value_is_a_change_whether_the_default_is_written_or_not() {
        let order = r#"{"uid":1,"order":50}"#;
        assert!(!is_same(order, r#"{"uid":1}"#));
        assert!(!is_same(order, r#"{"uid":1,"order":100}"#));
        assert!(!is_same(r#"{"uid":1,"disable":true}"#, r#"{"uid":1,"disable":false}"#));
    }

    #[test]
    fn a_filter_that_filters_nothing_is_none() {
        let none = r#"{"uid":1}"#;
        for open in
            ["null", "[]", "{}", r#"{"names":[],"tags":[],"isExclude":false}"#, r#"{"names":[]}"#]
        {
            assert!(is_same(none, &format!(r#"{{"uid":1,"characterFilter":{open}}}"#)), "{open}");
        }
        for closed in [r#"{"names":["Ada"]}"#, r#"{"isExclude":true,"names":[],"tags":[]}"#] {
            assert!(!is_same(none, &format!(r#"{{"uid":1,"characterFilter":{closed}}}"#)));
        }
    }

    #[test]
    fn what_has_no_meaning_in_an_entry_does_not_count() {
        assert!(is_same(r#"{"role":1,"position":0}"#, r#"{"role":null,"position":0}"#));
        assert!(!is_same(r#"{"role":1,"position":4}"#, r#"{"role":null,"position":4}"#));
        assert!(is_same(r#"{"role":0,"position":4}"#, r#"{"role":null,"position":4}"#));
        assert!(is_same(r#"{"selective":false}"#, r#"{"selective":true}"#));
        let secondary = |selective| format!(r#"{{"selective":{selective},"keysecondary":["a"]}}"#);
        assert!(!is_same(&secondary("false"), &secondary("true")));
        assert!(is_same(r#"{"useProbability":false}"#, r#"{"useProbability":true}"#));
        let half = |used| format!(r#"{{"useProbability":{used},"probability":50}}"#);
        assert!(!is_same(&half("false"), &half("true")));
        assert!(is_same(r#"{"addMemo":false}"#, r#"{"addMemo":true}"#));
    }

    #[test]
    fn an_entry_is_shown_by_its_uid_unless_it_says_otherwise() {
        assert!(is_same(r#"{"uid":7}"#, r#"{"uid":7,"displayIndex":7}"#));
        assert!(is_same(r#"{"uid":7,"displayIndex":null}"#, r#"{"uid":7,"displayIndex":7}"#));
        assert!(!is_same(r#"{"uid":7}"#, r#"{"uid":7,"displayIndex":0}"#));
    }

    #[test]
    fn ends_of_lines_are_no_change_and_words_are() {
        assert!(is_same(r#"{"content":"a\r\nb\rc\n"}"#, r#"{"content":"a\nb\nc\n"}"#));
        assert!(is_same(r#"{"content":"\ud800\r"}"#, r#"{"content":"\ud800\n"}"#));
        assert!(!is_same(r#"{"content":"a\nb"}"#, r#"{"content":"a b"}"#));
    }

    #[test]
    fn what_is_not_in_the_table_is_compared_as_it_is() {
        assert!(!is_same(r#"{"uid":1}"#, r#"{"uid":1,"foreign":null}"#));
        assert!(is_same(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#));
        assert!(!is_same("[]", "{}"));
        assert!(is_same("null", "null"));
    }
}
