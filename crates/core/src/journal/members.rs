//! Changes to the members of an object, including nested ones.

use indexmap::IndexMap;

use super::lore::Entries;
use super::splice::Splices;
use forklore_json::{JsText, Json, Object, array_index};

/// Members to remove, members to set, and members that changed within, applied in that order. So a
/// member that is both removed and set moves to the end, as it does in JavaScript.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Members {
    removed: Vec<JsText>,
    set: Object,
    nested: IndexMap<JsText, NestedChange>,
}

/// A change within a value.
#[derive(Clone, Debug, PartialEq)]
enum NestedChange {
    Object(Members),
    Text(Splices),
}

/// An object, or a book's entries.
pub(super) trait HasMembers {
    fn keys(&self) -> impl Iterator<Item = &JsText>;
    fn value(&self, key: &JsText) -> Option<&Json>;
    /// The members that are missing or different in `before`.
    fn new_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = (&'a JsText, &'a Json)>;
    fn remove(&mut self, keys: &[JsText]);
    fn set<'a>(&mut self, members: impl IntoIterator<Item = (&'a JsText, Json)>);
}

impl Members {
    pub(super) fn between<M: HasMembers>(before: &M, after: &M) -> Self {
        let mut members = Self {
            removed: before.keys().filter(|key| after.value(key).is_none()).cloned().collect(),
            ..Self::default()
        };
        for (key, value) in after.new_since(before) {
            match before.value(key).and_then(|before| NestedChange::between(before, value)) {
                Some(nested) => {
                    members.nested.insert(key.clone(), nested);
                }
                None => members.set.insert(key.clone(), value.clone()),
            }
        }
        if !keeps_order(before, after) {
            members.also_reorder(before, after);
        }
        members
    }

    /// Restores the order of members by removing them all and setting them again. Array indexes are
    /// exempt: their order is fixed.
    fn also_reorder<M: HasMembers>(&mut self, before: &M, after: &M) {
        let mut set = Object::new();
        for key in after.keys() {
            let is_index = array_index(key).is_some();
            if !is_index && before.value(key).is_some() {
                self.removed.push(key.clone());
                self.nested.shift_remove(key);
            }
            if (!is_index || self.set.get_text(key).is_some())
                && let Some(value) = after.value(key)
            {
                set.insert(key.clone(), value.clone());
            }
        }
        self.set = set;
    }

    /// How many members differ.
    pub(super) fn len(&self) -> usize {
        self.removed.len() + self.set.len() + self.nested.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.set.is_empty() && self.nested.is_empty()
    }

    /// `None` if the changes do not fit `to`.
    pub(super) fn apply<M: HasMembers>(&self, to: &mut M) -> Option<()> {
        to.remove(&self.removed);
        to.set(self.set.iter().map(|(key, value)| (key, value.clone())));
        let mut changed = Vec::with_capacity(self.nested.len());
        for (key, nested) in &self.nested {
            changed.push((key, nested.apply(to.value(key)?)?));
        }
        to.set(changed);
        Some(())
    }

    /// Combines this change with a later one. `None` if the later one does not fit.
    pub(super) fn then(&self, later: &Self) -> Option<Self> {
        let mut both = self.clone();
        for key in &later.removed {
            both.set.remove_text(key);
            both.nested.shift_remove(key);
            if !both.removed.contains(key) {
                both.removed.push(key.clone());
            }
        }
        for (key, value) in later.set.iter() {
            both.nested.shift_remove(key);
            both.set.insert(key.clone(), value.clone());
        }
        for (key, later) in &later.nested {
            if let Some(value) = both.set.get_text(key) {
                let value = later.apply(value)?;
                both.set.insert(key.clone(), value);
            } else if let Some(earlier) = both.nested.get(key) {
                let joined = earlier.then(later)?;
                both.nested.insert(key.clone(), joined);
            } else {
                both.nested.insert(key.clone(), later.clone());
            }
        }
        Some(both)
    }

    pub(super) fn to_json(&self) -> Json {
        let mut json = Object::new();
        if !self.removed.is_empty() {
            let keys = self.removed.iter().cloned().map(Json::Text).collect();
            json.insert("removed", Json::Array(keys));
        }
        if !self.set.is_empty() {
            json.insert("set", self.set.clone());
        }
        if !self.nested.is_empty() {
            let nested = self.nested.iter().map(|(key, nested)| (key.clone(), nested.to_json()));
            json.insert("in", nested.collect::<Object>());
        }
        json.into()
    }

    pub(super) fn from_json(json: &Json) -> Option<Self> {
        json.as_object()?;
        let removed = match json.get("removed") {
            None => Vec::new(),
            Some(list) => list
                .as_array()?
                .iter()
                .map(|key| match key {
                    Json::Text(text) => Some(text.clone()),
                    _ => None,
                })
                .collect::<Option<_>>()?,
        };
        let set = match json.get("set") {
            None => Object::new(),
            Some(set) => set.as_object()?.clone(),
        };
        let nested = match json.get("in") {
            None => IndexMap::new(),
            Some(nested) => nested
                .as_object()?
                .iter()
                .map(|(key, nested)| Some((key.clone(), NestedChange::from_json(nested)?)))
                .collect::<Option<_>>()?,
        };
        Some(Self { removed, set, nested })
    }
}

impl NestedChange {
    /// The difference, if it is smaller than the value itself.
    fn between(before: &Json, after: &Json) -> Option<Self> {
        match (before, after) {
            (Json::Object(before), Json::Object(after)) => {
                let members = Members::between(before, after);
                let touched = members.removed.len() + members.set.len() + members.nested.len();
                (touched < after.len()).then_some(Self::Object(members))
            }
            (Json::Text(before), Json::Text(after)) => {
                Splices::between(before, after).map(Self::Text)
            }
            _ => None,
        }
    }

    fn apply(&self, value: &Json) -> Option<Json> {
        match (self, value) {
            (Self::Object(members), Json::Object(object)) => {
                let mut object = object.clone();
                members.apply(&mut object)?;
                Some(object.into())
            }
            (Self::Text(splices), Json::Text(text)) => splices.apply(text).map(Json::Text),
            _ => None,
        }
    }

    fn then(&self, later: &Self) -> Option<Self> {
        match (self, later) {
            (Self::Object(earlier), Self::Object(later)) => earlier.then(later).map(Self::Object),
            (Self::Text(earlier), Self::Text(later)) => Some(Self::Text(earlier.then(later))),
            _ => None,
        }
    }

    fn to_json(&self) -> Json {
        match self {
            Self::Object(members) => members.to_json(),
            Self::Text(splices) => splices.to_json(),
        }
    }

    fn from_json(json: &Json) -> Option<Self> {
        match json {
            Json::Array(_) => Splices::from_json(json).map(Self::Text),
            _ => Members::from_json(json).map(Self::Object),
        }
    }
}

/// Whether removing and setting members results in the same order as in `after`.
fn keeps_order<M: HasMembers>(before: &M, after: &M) -> bool {
    let ordered = |key: &&JsText| array_index(key).is_none();
    let kept = before.keys().filter(ordered).filter(|key| after.value(key).is_some());
    let added = after.keys().filter(ordered).filter(|key| before.value(key).is_none());
    kept.chain(added).eq(after.keys().filter(ordered))
}

impl HasMembers for Object {
    fn keys(&self) -> impl Iterator<Item = &JsText> {
        Object::keys(self)
    }

    fn value(&self, key: &JsText) -> Option<&Json> {
        self.get_text(key)
    }

    fn new_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = (&'a JsText, &'a Json)> {
        self.iter().filter(|(key, value)| before.get_text(key) != Some(value))
    }

    fn remove(&mut self, keys: &[JsText]) {
        for key in keys {
            self.remove_text(key);
        }
    }

    fn set<'a>(&mut self, members: impl IntoIterator<Item = (&'a JsText, Json)>) {
        for (key, value) in members {
            self.insert(key.clone(), value);
        }
    }
}

impl HasMembers for Entries {
    fn keys(&self) -> impl Iterator<Item = &JsText> {
        self.iter().map(|(key, _)| key)
    }

    fn value(&self, key: &JsText) -> Option<&Json> {
        self.get(key)
    }

    fn new_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = (&'a JsText, &'a Json)> {
        Entries::new_since(self, before)
    }

    fn remove(&mut self, keys: &[JsText]) {
        Entries::remove(self, keys);
    }

    fn set<'a>(&mut self, members: impl IntoIterator<Item = (&'a JsText, Json)>) {
        Entries::set(self, members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object {
        Json::parse(text.as_bytes()).unwrap().as_object().unwrap().clone()
    }

    /// The difference as JSON, after checking that it leads from `before` to `after`.
    #[track_caller]
    fn changes(before: &str, after: &str) -> String {
        let (before, after) = (object(before), object(after));
        let members = Members::between(&before, &after);
        let mut applied = before;
        members.apply(&mut applied).unwrap();
        assert_eq!(applied, after);
        assert_eq!(Members::from_json(&members.to_json()), Some(members.clone()));
        String::from_utf8(members.to_json().stringify()).unwrap()
    }

    #[test]
    fn a_change_deep_inside_is_all_that_is_said() {
        assert_eq!(
            changes(
                r#"{"a":{"b":{"c":1,"d":2},"e":3},"f":4}"#,
                r#"{"a":{"b":{"c":1,"d":5},"e":3},"f":4}"#
            ),
            r#"{"in":{"a":{"in":{"b":{"set":{"d":5}}}}}}"#,
        );
    }

    #[test]
    fn of_a_text_only_what_is_new_is_said() {
        let text = "They met at the harbour.";
        assert_eq!(
            changes(
                &format!(r#"{{"a":"{text}","b":1}}"#),
                &format!(r#"{{"a":"{text} It rained.","b":1}}"#)
            ),
            r#"{"in":{"a":[24," It rained.",0]}}"#,
        );
    }

    #[test]
    fn a_value_that_changed_altogether_is_set() {
        assert_eq!(
            changes(r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":3,"c":4}}"#),
            r#"{"set":{"a":{"b":3,"c":4}}}"#
        );
        assert_eq!(changes(r#"{"a":{"b":1}}"#, r#"{"a":[]}"#), r#"{"set":{"a":[]}}"#);
        assert_eq!(changes(r#"{"a":{"b":1}}"#, r#"{"a":{}}"#), r#"{"set":{"a":{}}}"#);
    }

    #[test]
    fn order_is_kept_where_javascript_keeps_it() {
        assert_eq!(
            changes(r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
            r#"{"removed":["a","b"],"set":{"a":2,"b":1}}"#
        );
        assert_eq!(
            changes(r#"{"5":0,"b":1}"#, r#"{"3":0,"5":1,"b":1}"#),
            r#"{"set":{"3":0,"5":1}}"#
        );
        // Not array indexes: too large, or not written as JavaScript writes numbers.
        for key in ["4294967295", "007", "1763632438061"] {
            let (one, other) =
                (format!(r#"{{"b":1,"{key}":1}}"#), format!(r#"{{"{key}":1,"b":1}}"#));
            assert!(changes(&one, &other).contains("removed"));
        }
    }

    #[test]
    fn one_after_the_other_is_both() {
        let states = [
            r#"{"v":{"a":1,"b":{"c":1,"d":1}},"x":{"y":1,"z":2}}"#,
            r#"{"v":{"a":1,"b":{"c":2,"d":1}},"x":{"y":1,"z":3},"n":{"o":1,"p":{"q":1,"r":1}}}"#,
            r#"{"v":{"a":1,"b":{"c":2,"d":9}},"n":{"o":1,"p":{"q":1,"r":2}}}"#,
            r#"{"n":{"o":1,"p":{"q":1,"r":2}},"v":{"a":1,"b":{"c":2,"d":9}},"x":{"y":1,"z":4}}"#,
            r#"{"x":{"y":1,"z":5},"v":{"a":0,"b":{"c":3,"d":9}}}"#,
        ]
        .map(object);
        let long = |text: &str| object(&format!(r#"{{"t":"{}{text}","u":1}}"#, "long ".repeat(9)));
        let states = [&states[..], &[long("a"), long("b and more"), long("")]].concat();
        for first in 0..states.len() {
            for second in 0..states.len() {
                for third in 0..states.len() {
                    let early = Members::between(&states[first], &states[second]);
                    let late = Members::between(&states[second], &states[third]);
                    let mut applied = states[first].clone();
                    early.then(&late).unwrap().apply(&mut applied).unwrap();
                    assert_eq!(applied, states[third], "{first} {second} {third}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_not_applied() {
        let members =
            Members::between(&object(r#"{"a":{"b":1,"c":2}}"#), &object(r#"{"a":{"b":1,"c":3}}"#));
        for other in [r#"{"a":1}"#, r#"{"b":{}}"#] {
            assert_eq!(members.apply(&mut object(other)), None);
        }
    }
}
