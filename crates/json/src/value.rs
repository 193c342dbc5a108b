//! A JSON value that behaves like a JavaScript value.

use alloc::borrow::Cow;
use alloc::collections::BinaryHeap;
use alloc::string::String;
use alloc::vec::Vec;

use indexmap::IndexMap;

use crate::JsText;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(JsText),
    Array(Vec<Json>),
    Object(Object),
}

/// An object that iterates in JavaScript's order: keys that are array indexes in ascending order,
/// then all others in the order they were first set.
#[derive(Clone, Debug, Default)]
pub struct Object(IndexMap<JsText, Json>);

impl Object {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets a member. An existing member keeps its position.
    pub fn insert(&mut self, key: impl Into<JsText>, value: impl Into<Json>) {
        self.0.insert(key.into(), value.into());
    }

    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(&JsText::from(key))
    }

    pub fn get_text(&self, key: &JsText) -> Option<&Json> {
        self.0.get(key)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0.get_mut(&JsText::from(key))
    }

    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Json> {
        self.0.values_mut()
    }

    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub fn remove(&mut self, key: &str) -> Option<Json> {
        self.0.shift_remove(&JsText::from(key))
    }

    pub fn remove_text(&mut self, key: &JsText) -> Option<Json> {
        self.0.shift_remove(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&JsText, &Json)> {
        let keys = self.0.keys().enumerate();
        let indexes = keys.filter_map(|(place, key)| Some((array_index(key)? as usize, place)));
        let indexes = sorted(indexes.collect());
        let has_indexes = !indexes.is_empty();
        let first = indexes.into_iter().filter_map(|(_, place)| self.0.get_index(place));
        let others =
            self.0.iter().filter(move |(key, _)| !has_indexes || array_index(key).is_none());
        first.chain(others)
    }

    pub fn keys(&self) -> impl Iterator<Item = &JsText> {
        self.iter().map(|(key, _)| key)
    }

    /// The members sorted by the bytes of their keys.
    pub fn sorted(&self) -> Vec<(&JsText, &Json)> {
        let keys = sorted(self.0.keys().enumerate().map(|(place, key)| (key, place)).collect());
        keys.into_iter().filter_map(|(_, place)| self.0.get_index(place)).collect()
    }
}

/// Sorts what is nearly always in order already. A heap takes a tenth of the code of the standard
/// sorts, which counts in what a page has to load.
pub fn sorted<T: Ord>(items: Vec<T>) -> Vec<T> {
    if items.is_sorted() { items } else { BinaryHeap::from(items).into_sorted_vec() }
}

/// Order matters: members are compared in iteration order.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<K: Into<JsText>, V: Into<Json>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        Self(members.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

/// The array index that a key represents, if it is a canonical one. These keys come first in a
/// JavaScript object.
pub fn array_index(key: &JsText) -> Option<u32> {
    let digits = key.as_bytes();
    if digits.is_empty() || digits.len() > 10 || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    let number = digits.iter().try_fold(0_u64, |number, &digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    })?;
    u32::try_from(number).ok().filter(|&index| index != u32::MAX)
}

impl Json {
    pub fn object<K: Into<JsText>>(members: impl IntoIterator<Item = (K, Json)>) -> Self {
        Self::Object(members.into_iter().collect())
    }

    pub fn get(&self, key: &str) -> Option<&Json> {
        self.as_object()?.get(key)
    }

    pub fn at(&self, path: &[&str]) -> Option<&Json> {
        path.iter().try_fold(self, |value, key| value.get(key))
    }

    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The members of an object; empty for anything else.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'_, str>, &Json)> {
        self.as_object()
            .into_iter()
            .flat_map(Object::iter)
            .map(|(key, value)| (key.to_string_lossy(), value))
    }

    /// The text of a string, with U+FFFD in place of lone surrogates.
    pub fn as_str(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(text) => Some(text.to_string_lossy()),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if it is an integer that `f64` represents exactly.
    pub fn as_i64(&self) -> Option<i64> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        self.as_f64()
            .filter(|value| value.fract() == 0.0 && value.abs() <= EXACT)
            .map(|value| value as i64)
    }

    pub fn as_usize(&self) -> Option<usize> {
        self.as_i64().and_then(|value| usize::try_from(value).ok())
    }

    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(value) => *value != 0.0 && !value.is_nan(),
            Self::Text(text) => !text.as_bytes().is_empty(),
            Self::Array(_) | Self::Object(_) => true,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

/// Exact up to 2^53, which no count or message number reaches.
impl From<usize> for Json {
    fn from(value: usize) -> Self {
        Self::Number(value as f64)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Number(value as f64)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Number(value as f64)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(elements: Vec<T>) -> Self {
        Self::Array(elements.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
