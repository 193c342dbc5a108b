//! Edits a document by splicing: every byte that no edit covers is preserved.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use rustc_hash::FxHashMap;

use crate::raw::{JsonKind, Member, Raw};
use crate::value::sorted;
use crate::write::{self, Indent};
use crate::{JsText, Json};

/// What to do with one member of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    Set(Json),
    /// Removes the member and all its duplicates, so that no shadowed one becomes visible.
    Remove,
}

/// Edits to one document, collected first and applied together.
#[derive(Debug)]
pub struct Edits<'a> {
    document: &'a [u8],
    /// One level of this document's indentation; empty if the document is on a single line.
    unit: Vec<u8>,
    splices: Vec<(Range<usize>, Vec<u8>)>,
}

impl<'a> Edits<'a> {
    /// Starts editing the document that `root` was read from.
    pub fn of(root: Raw<'a>) -> Self {
        let unit = root.leading_whitespace().map_or(Vec::new(), |lead| {
            let last_line = lead.iter().rposition(|&byte| byte == b'\n');
            last_line.map_or(Vec::new(), |newline| lead[newline + 1..].to_vec())
        });
        Self { document: root.source(), unit, splices: Vec::new() }
    }

    pub fn is_empty(&self) -> bool {
        self.splices.is_empty()
    }

    /// Replaces `old` with `value`.
    pub fn replace(&mut self, old: Raw<'a>, value: &Json) {
        self.splices.push((old.range(), value.stringify()));
    }

    /// Adds an element at the end of `array`, which is `depth` levels below the document's root.
    pub fn append(&mut self, array: Raw<'a>, depth: usize, value: &Json) {
        debug_assert_eq!(array.kind(), JsonKind::Array);
        let mut text = Vec::new();
        let last = array.elements().last();
        if last.is_some() {
            text.push(b',');
        }
        write::new_line(self.indent(depth + 1), &mut text);
        text.extend(self.stringify(value, depth + 1));
        let at = match last {
            Some(element) => element.range().end,
            None => {
                write::new_line(self.indent(depth), &mut text);
                array.range().end - 1
            }
        };
        self.splices.push((at..at, text));
    }

    /// Changes members of `object`, which is `depth` levels below the document's root.
    ///
    /// Pass all changes to an object in one call, because they share its commas, and name each
    /// member at most once.
    pub fn change<K: Clone + Into<JsText>>(
        &mut self,
        object: Raw<'a>,
        depth: usize,
        changes: &[(K, Edit)],
    ) {
        let members: Vec<Member<'a>> = object.members().collect();
        self.change_members(object, depth, &members, changes);
    }

    /// Like [`change`](Self::change), for callers that already have the object's members.
    pub fn change_members<K: Clone + Into<JsText>>(
        &mut self,
        object: Raw<'a>,
        depth: usize,
        members: &[Member<'a>],
        changes: &[(K, Edit)],
    ) {
        debug_assert_eq!(object.kind(), JsonKind::Object);
        let names: Vec<JsText> = changes.iter().map(|(name, _)| name.clone().into()).collect();
        let places: FxHashMap<&[u8], usize> =
            names.iter().enumerate().map(|(place, name)| (name.as_bytes(), place)).collect();
        debug_assert_eq!(places.len(), changes.len(), "two changes to one member");
        // The change that applies to each member. JavaScript sees the last of several duplicates.
        let change_of: Vec<Option<usize>> = members
            .iter()
            .map(|member| places.get(member.key.text_bytes().as_ref()).copied())
            .collect();
        let mut last_member: Vec<Option<usize>> = vec![None; changes.len()];
        for (at, place) in change_of.iter().enumerate() {
            if let Some(place) = place {
                last_member[*place] = Some(at);
            }
        }
        let stays: Vec<bool> = change_of
            .iter()
            .map(|place| !place.is_some_and(|place| changes[place].1 == Edit::Remove))
            .collect();

        for ((_, change), last) in changes.iter().zip(&last_member) {
            if let (Edit::Set(value), Some(at)) = (change, last) {
                let text = self.stringify(value, depth + 1);
                self.splices.push((members[*at].value.range(), text));
            }
        }
        self.remove_members(object, members, &stays);

        let last = members.iter().zip(&stays).rfind(|(_, stays)| **stays).map(|(last, _)| *last);
        let is_new = last_member.iter().map(Option::is_none);
        let added: Vec<(&JsText, &Json)> = names
            .iter()
            .zip(changes)
            .zip(is_new)
            .filter_map(|((name, (_, change)), is_new)| match change {
                Edit::Set(value) if is_new => Some((name, value)),
                _ => None,
            })
            .collect();
        self.add_members(object, depth, last, &added);
    }

    fn remove_members(&mut self, object: Raw<'a>, members: &[Member<'a>], stays: &[bool]) {
        let first_that_stays = stays.iter().position(|stays| *stays);
        match first_that_stays {
            None if members.is_empty() => {}
            None => {
                let contents = object.range().start + 1..object.range().end - 1;
                self.splices.push((contents, Vec::new()));
            }
            Some(first) => {
                if first > 0 {
                    let head = members[0].key.range().start..members[first].key.range().start;
                    self.splices.push((head, Vec::new()));
                }
                for (pair, stays) in members[first..].windows(2).zip(&stays[first + 1..]) {
                    if !stays {
                        let with_its_comma = pair[0].value.range().end..pair[1].value.range().end;
                        self.splices.push((with_its_comma, Vec::new()));
                    }
                }
            }
        }
    }

    fn add_members(
        &mut self,
        object: Raw<'a>,
        depth: usize,
        last: Option<Member<'a>>,
        added: &[(&JsText, &Json)],
    ) {
        if added.is_empty() {
            return;
        }
        let mut text = Vec::new();
        for (place, (name, value)) in added.iter().enumerate() {
            if place > 0 || last.is_some() {
                text.push(b',');
            }
            write::new_line(self.indent(depth + 1), &mut text);
            write::write_text(name, &mut text);
            text.push(b':');
            if !self.unit.is_empty() {
                text.push(b' ');
            }
            text.extend(self.stringify(value, depth + 1));
        }
        let at = match last {
            Some(member) => member.value.range().end,
            None => {
                write::new_line(self.indent(depth), &mut text);
                object.range().end - 1
            }
        };
        self.splices.push((at..at, text));
    }

    fn indent(&self, depth: usize) -> Indent<'_> {
        if self.unit.is_empty() { Indent::None } else { Indent::By { unit: &self.unit, depth } }
    }

    fn stringify(&self, value: &Json, depth: usize) -> Vec<u8> {
        value.stringify_with(self.indent(depth))
    }

    /// Returns the document with every edit applied.
    pub fn apply(self) -> Vec<u8> {
        // An insertion stays after a removal that starts at the same offset.
        let starts =
            self.splices.iter().enumerate().map(|(place, (range, _))| (range.start, place));
        let order = sorted(starts.collect());
        let added: usize = self.splices.iter().map(|(_, text)| text.len()).sum();
        let mut out = Vec::with_capacity(self.document.len() + added);
        let mut from = 0;
        for (range, text) in order.into_iter().map(|(_, place)| &self.splices[place]) {
            out.extend_from_slice(&self.document[from..range.start.max(from)]);
            out.extend_from_slice(text);
            from = from.max(range.end);
        }
        out.extend_from_slice(&self.document[from..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, changes: &[(&str, Edit)], expected: &str) {
        let root = Raw::document(text.as_bytes()).unwrap();
        let mut edits = Edits::of(root);
        edits.change(root, 0, changes);
        assert_eq!(String::from_utf8(edits.apply()).unwrap(), expected);
    }

    fn set(value: &str) -> Edit {
        Edit::Set(Json::parse(value.as_bytes()).unwrap())
    }

    #[test]
    fn only_the_named_member_changes() {
        check(
            r#"{"a":1.0, "b" : 2,"c":"\u0041"}"#,
            &[("b", set("3"))],
            r#"{"a":1.0, "b" : 3,"c":"\u0041"}"#,
        );
    }

    #[test]
    fn the_duplicate_that_javascript_sees_is_the_one_set() {
        check(r#"{"a":1,"a":2}"#, &[("a", set("3"))], r#"{"a":1,"a":3}"#);
    }

    #[test]
    fn removal_takes_every_duplicate_and_its_comma() {
        check(r#"{"a":1,"b":2,"a":3}"#, &[("a", Edit::Remove)], r#"{"b":2}"#);
        check(r#"{"a":1,"b":2,"c":3}"#, &[("b", Edit::Remove)], r#"{"a":1,"c":3}"#);
        check(r#"{"a":1}"#, &[("a", Edit::Remove)], "{}");
        check(r#"{ "a":1 }"#, &[("a", Edit::Remove), ("b", set("2"))], r#"{"b":2}"#);
        check(r#"{"a":1,"b":2}"#, &[("b", Edit::Remove), ("c", set("3"))], r#"{"a":1,"c":3}"#);
    }

    #[test]
    fn an_element_is_added_in_the_documents_layout() {
        for (text, expected) in [
            ("{\"a\":[]}", "{\"a\":[\"x\"]}"),
            ("{\"a\":[1]}", "{\"a\":[1,\"x\"]}"),
            ("{\n  \"a\": [\n    1\n  ]\n}", "{\n  \"a\": [\n    1,\n    \"x\"\n  ]\n}"),
            ("{\n  \"a\": []\n}", "{\n  \"a\": [\n    \"x\"\n  ]\n}"),
        ] {
            let root = Raw::document(text.as_bytes()).unwrap();
            let mut edits = Edits::of(root);
            edits.append(root.get("a").unwrap(), 1, &Json::from("x"));
            assert_eq!(String::from_utf8(edits.apply()).unwrap(), expected);
        }
    }

    #[test]
    fn new_members_follow_the_documents_layout() {
        check("{}", &[("a", set("1")), ("b", set("2"))], r#"{"a":1,"b":2}"#);
        check(
            "{\n    \"a\": 1\n}",
            &[("b", set("{\"c\":2}"))],
            "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": 2\n    }\n}",
        );
        check(
            "{\n\t\"a\": 1\n}",
            &[("b", set("[2]"))],
            "{\n\t\"a\": 1,\n\t\"b\": [\n\t\t2\n\t]\n}",
        );
    }
}
