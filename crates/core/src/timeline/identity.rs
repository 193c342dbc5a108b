//! Matching the messages of one version of a chat with those of another.
//!
//! Positions shift when messages are deleted, texts repeat ("Continue."), and older versions of
//! SillyTavern store dates only to the minute. So a message is recognised by what survives edits,
//! swipes and hiding. If that fits two messages of a chat, its text is compared as well, and if
//! even that is ambiguous, there is no match.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use crate::journal::FIELD;
use forklore_json::{JsonKind, Raw, sorted};

/// The features that a message is recognised by.
#[derive(Clone, Debug)]
pub struct Identity<'a> {
    line: &'a [u8],
    uid: Option<Cow<'a, [u8]>>,
    name: Option<Cow<'a, [u8]>>,
    is_user: bool,
    /// Its own date and those of its swipes, without duplicates.
    dates: Vec<Cow<'a, [u8]>>,
    text: Option<Raw<'a>>,
    swipes: Option<Raw<'a>>,
}

/// What two versions of a dated message have in common: author, `is_user` and a date.
type Key<'i> = (Option<&'i [u8]>, bool, &'i [u8]);

impl<'a> Identity<'a> {
    /// Reads a line of a chat. `None` if SillyTavern would not see a message in it.
    pub fn of(line: &'a [u8]) -> Option<Self> {
        let line = line.trim_ascii();
        let value = Raw::document(line).ok().filter(Raw::is_truthy)?;
        let mut identity = Self {
            line,
            uid: None,
            name: None,
            is_user: false,
            dates: Vec::new(),
            text: None,
            swipes: None,
        };
        let (mut sent, mut infos) = (None, None);
        for member in value.members() {
            match member.key.text_bytes().as_ref() {
                b"name" => identity.name = text(member.value),
                b"is_user" => identity.is_user = member.value.is_truthy(),
                b"send_date" => sent = date(member.value),
                b"swipe_info" => infos = Some(member.value),
                b"mes" => identity.text = Some(member.value),
                b"swipes" => identity.swipes = Some(member.value),
                key if key == FIELD.as_bytes() => {
                    identity.uid = member.value.get("uid").and_then(text);
                }
                _ => {}
            }
        }
        let of_swipes = infos.into_iter().flat_map(|infos| infos.elements());
        let of_swipes = of_swipes.filter_map(|info| date(info.get("send_date")?));
        for date in sent.into_iter().chain(of_swipes) {
            if !identity.dates.contains(&date) {
                identity.dates.push(date);
            }
        }
        Some(identity)
    }

    /// Its own date and those of its swipes, as written.
    pub fn dates(&self) -> impl Iterator<Item = &[u8]> {
        self.dates.iter().map(|date| &**date)
    }

    /// Whether it is the same message as `other`, which is at the same position in another version,
    /// given that all messages before the two are the same.
    pub fn is_same_in_place(&self, other: &Identity<'_>) -> bool {
        self.is_certainly(other) || self.is_like(other) && self.says_the_same(other)
    }

    /// Whether the two have the same `uid`, or share a date that is precise enough to be unique.
    pub fn is_certainly(&self, other: &Identity<'_>) -> bool {
        let has_its_uid = self.uid.is_some() && self.uid == other.uid;
        let has_its_date = || self.shared(other).any(|(_, _, date)| !is_to_the_minute(date));
        has_its_uid || has_its_date()
    }

    /// Whether the two share an author and a date, or, if neither has a date, every byte.
    fn is_like(&self, other: &Identity<'_>) -> bool {
        match (self.dates.is_empty(), other.dates.is_empty()) {
            (true, true) => self.line == other.line,
            _ => self.shared(other).next().is_some(),
        }
    }

    fn shared(&self, other: &Identity<'_>) -> impl Iterator<Item = Key<'_>> {
        self.keys().filter(|key| other.keys().any(|its| its == *key))
    }

    /// Whether the two have a text in common, including their swipes.
    fn says_the_same(&self, other: &Identity<'_>) -> bool {
        self.texts().any(|text| other.texts().any(|its| its == text))
    }

    fn keys(&self) -> impl Iterator<Item = Key<'_>> {
        self.dates.iter().map(|date| (self.name.as_deref(), self.is_user, &**date))
    }

    fn texts(&self) -> impl Iterator<Item = Cow<'a, [u8]>> {
        let swipes = self.swipes.into_iter().flat_map(|swipes| swipes.elements());
        self.text.into_iter().chain(swipes).filter_map(text)
    }
}

/// The messages of a chat, in order.
#[derive(Clone, Debug, Default)]
pub struct Messages<'a> {
    all: Vec<Identity<'a>>,
    by_uid: FxHashMap<Cow<'a, [u8]>, Vec<usize>>,
    by_date: FxHashMap<Cow<'a, [u8]>, Vec<usize>>,
    undated: FxHashMap<Cow<'a, [u8]>, Vec<usize>>,
}

impl<'a> Messages<'a> {
    /// Reads the lines of a chat, and skips those that are not messages.
    pub fn of(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut messages = Self::default();
        for identity in lines.into_iter().filter_map(Identity::of) {
            let place = messages.all.len();
            if let Some(uid) = &identity.uid {
                messages.by_uid.entry(uid.clone()).or_default().push(place);
            }
            for date in &identity.dates {
                messages.by_date.entry(date.clone()).or_default().push(place);
            }
            if identity.dates.is_empty() {
                messages.undated.entry(identity.line.into()).or_default().push(place);
            }
            messages.all.push(identity);
        }
        messages
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, place: usize) -> Option<&Identity<'a>> {
        self.all.get(place)
    }

    /// The position in `other` of a message of `self`, if it is certain.
    ///
    /// When a message is deleted, the one before it takes over its `uid`. So a different `uid` does
    /// not mean a different message, and dates take precedence.
    pub fn find_in(&self, place: usize, other: &Messages<'_>) -> Option<usize> {
        let message = self.all.get(place)?;
        other.place_of(message, self).or_else(|| {
            let uid = message.uid.as_ref()?;
            let is_once = self.by_uid.get(uid).is_some_and(|places| places.len() == 1);
            match other.by_uid.get(uid).map(Vec::as_slice) {
                Some([only]) if is_once => Some(*only),
                _ => None,
            }
        })
    }

    /// The position of `message` from the chat `its`, found by dates and texts.
    fn place_of(&self, message: &Identity<'_>, its: &Messages<'_>) -> Option<usize> {
        let (here, there) = (self.like(message), its.like(message));
        if let ([only], 1) = (&here[..], there.len()) {
            return Some(*only);
        }
        let says_it = |messages: &Messages<'_>, places: Vec<usize>| -> Vec<usize> {
            let says_it = |place: &usize| messages.all[*place].says_the_same(message);
            places.into_iter().filter(says_it).collect()
        };
        match (&says_it(self, here)[..], says_it(its, there).len()) {
            ([only], 1) => Some(*only),
            _ => None,
        }
    }

    /// The messages that share an author and a date with `message`.
    fn like(&self, message: &Identity<'_>) -> Vec<usize> {
        let places: Vec<usize> = match message.dates.is_empty() {
            true => self.undated.get(message.line).into_iter().flatten().copied().collect(),
            false => {
                let dates = message.dates.iter().filter_map(|date| self.by_date.get(date));
                dates.flatten().copied().collect()
            }
        };
        let mut places = sorted(places);
        places.dedup();
        places.retain(|place| self.all[*place].is_like(message));
        places
    }

    /// Whether `other` contains all of these messages in the same order.
    pub fn are_in_order_in(&self, other: &Messages<'_>) -> bool {
        let mut next = 0;
        (0..self.len()).all(|place| {
            self.find_in(place, other).is_some_and(|found| {
                let rises = found >= next;
                next = found + 1;
                rises
            })
        })
    }
}

fn text(value: Raw<'_>) -> Option<Cow<'_, [u8]>> {
    (value.kind() == JsonKind::Text).then(|| value.text_bytes())
}

/// A date as written: a text, or a number in older chats.
fn date(value: Raw<'_>) -> Option<Cow<'_, [u8]>> {
    match value.kind() {
        JsonKind::Text => text(value).filter(|date| !date.trim_ascii().is_empty()),
        JsonKind::Number => value.is_truthy().then(|| Cow::Borrowed(value.bytes())),
        _ => None,
    }
}

/// Whether a date has no seconds, such as `November 15, 2026 10:48pm`.
fn is_to_the_minute(date: &[u8]) -> bool {
    let date = date.to_ascii_lowercase();
    let has_half = date.ends_with(b"am") || date.ends_with(b"pm");
    has_half && date.iter().filter(|byte| **byte == b':').count() < 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages<'a>(lines: &'a [&'a str]) -> Messages<'a> {
        Messages::of(lines.iter().map(|line| line.as_bytes()))
    }

    /// The position in the second chat of each message of the first.
    fn found(first: &[&str], second: &[&str]) -> Vec<Option<usize>> {
        let (first, second) = (messages(first), messages(second));
        (0..first.len()).map(|place| first.find_in(place, &second)).collect()
    }

    const GREETING: &str = r#"{"name":"Mara","is_user":false,"mes":"Hello","send_date":"d0"}"#;
    const ANSWER: &str = r#"{"name":"You","is_user":true,"mes":"Continue.","send_date":"d1"}"#;

    #[test]
    fn a_message_is_the_same_after_an_edit_a_swipe_and_hiding() {
        for now in [
            r#"{"name":"Mara","mes":"Good day","send_date":"d0"}"#,
            r#"{"name":"Mara","is_system":true,"mes":"Hello","send_date":"d0"}"#,
            r#"{"name":"Mara","mes":"Hi","send_date":"d9","swipes":["Hello","Hi"],
                "swipe_info":[{"send_date":"d0"},{"send_date":"d9"}]}"#,
        ] {
            assert_eq!(found(&[GREETING], &[ANSWER, now]), [Some(1)], "{now}");
            assert_eq!(found(&[now], &[ANSWER, GREETING]), [Some(1)], "{now}");
        }
    }

    #[test]
    fn another_author_or_date_is_another_message() {
        for other in [
            r#"{"name":"You","is_user":true,"mes":"Hello","send_date":"d0"}"#,
            r#"{"name":"Mara","is_user":true,"mes":"Hello","send_date":"d0"}"#,
            r#"{"name":"Mara","mes":"Hello","send_date":"d2"}"#,
            r#"{"name":"Mara","mes":"Hello"}"#,
        ] {
            assert_eq!(found(&[GREETING], &[other]), [None], "{other}");
        }
    }

    #[test]
    fn a_uid_finds_what_took_the_place_of_a_deleted_message_and_is_not_needed() {
        let first = r#"{"name":"Mara","mes":"a","send_date":"d1","forklore":{"uid":"1-x"}}"#;
        let second = r#"{"name":"You","mes":"b","send_date":"d2","forklore":{"uid":"2-y"}}"#;
        let joined = r#"{"name":"Mara","mes":"a","send_date":"d1","forklore":{"uid":"2-y"}}"#;
        assert_eq!(found(&[first, second], &[joined]), [Some(0), Some(0)]);
        assert_eq!(found(&[joined], &[first, second]), [Some(0)]);
        let renamed = r#"{"name":"Marah","mes":"c","send_date":"d8","forklore":{"uid":"1-x"}}"#;
        assert_eq!(found(&[first], &[renamed]), [Some(0)]);
    }

    #[test]
    fn a_uid_that_was_copied_along_says_nothing() {
        let one = r#"{"name":"Mara","mes":"a","send_date":"d1","forklore":{"uid":"1-x"}}"#;
        let copy = r#"{"name":"Mara","mes":"b","send_date":"d2","forklore":{"uid":"1-x"}}"#;
        let moved = r#"{"name":"Other","mes":"c","send_date":"d3","forklore":{"uid":"1-x"}}"#;
        assert_eq!(found(&[moved], &[one, copy]), [None]);
        assert_eq!(found(&[one, copy], &[moved]), [None, None]);
    }

    const MINUTE: &str = r#""send_date":"November 15, 2026 10:48pm""#;

    fn minute(text: &str) -> String {
        format!(r#"{{"name":"You","is_user":true,"mes":"{text}",{MINUTE}}}"#)
    }

    #[test]
    fn two_messages_of_one_minute_are_told_apart_by_their_texts_or_not_at_all() {
        let (go, stay) = (minute("Go"), minute("Stay"));
        assert_eq!(found(&[&go, &stay], &[&stay, &go]), [Some(1), Some(0)]);
        assert_eq!(found(&[&go, &go], &[&go, &stay]), [None, None]);
        assert_eq!(found(&[&go], &[&go, &go]), [None]);
        // One of them was edited, but it is unknown which.
        assert_eq!(found(&[&go, &stay], &[&minute("Run")]), [None, None]);
        let is_certain = |line: &str| {
            let identity = Identity::of(line.as_bytes()).unwrap();
            identity.is_certainly(&identity)
        };
        assert!(!is_certain(&go));
        for date in [r#""2026-11-15T22:48:01.123Z""#, "1700000000000", r#""2026-11-15@22h48m01s""#]
        {
            let line = format!(r#"{{"mes":"x","send_date":{date}}}"#);
            assert!(is_certain(&line), "{date}");
        }
    }

    #[test]
    fn without_a_date_every_byte_counts() {
        let (one, other) =
            (r#"{"name":"Mara","mes":"a"}"#, r#"{"name":"Mara","mes":"a","extra":{}}"#);
        assert_eq!(found(&[one], &[other, one]), [Some(1)]);
        assert_eq!(found(&[one], &[other]), [None]);
        assert_eq!(found(&[one, one], &[one, one]), [None, None]);
        let (empty, null) = (r#"{"mes":"a","send_date":""}"#, r#"{"mes":"b","send_date":null}"#);
        assert_eq!(found(&[empty, null], &[null, empty]), [Some(1), Some(0)]);
    }

    #[test]
    fn order_counts_and_what_lies_between_does_not() {
        let [a, b, c] = ["a", "b", "c"]
            .map(|text| format!(r#"{{"name":"Mara","mes":"{text}","send_date":"{text}"}}"#));
        let is_in = |now: &[&str], then: &[&str]| messages(now).are_in_order_in(&messages(then));
        assert!(is_in(&[&a, &c], &[&a, &b, &c]));
        assert!(!is_in(&[&c, &a], &[&a, &b, &c]));
        assert!(!is_in(&[&a, &b], &[&a, &c]));
        assert!(is_in(&[], &[&a]));
    }

    #[test]
    fn whatever_a_line_holds_is_read() {
        for line in ["", "  ", "null", "0", "{", "\u{feff}{}"] {
            assert!(Identity::of(line.as_bytes()).is_none(), "{line}");
        }
        for line in [
            "[]",
            "\"text\"",
            "{}",
            r#"{"name":[],"is_user":{},"send_date":{},"swipe_info":[7,{"send_date":[]}],"swipes":3}"#,
            r#"{"forklore":"x"}"#,
            r#"{"forklore":{"uid":7}}"#,
        ] {
            let identity = Identity::of(line.as_bytes()).unwrap();
            assert!(identity.uid.is_none() && identity.dates.is_empty(), "{line}");
        }
    }
}
