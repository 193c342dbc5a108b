//! Timed effects (sticky, cooldown), and how SillyTavern ties them to an entry of a book.
//!
//! SillyTavern matches an effect by a hash over the entry and the book's *name*. A copy of the book
//! under another name would lose every running effect, so a fork rewrites them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::recap::wrapper::wrapped;
use forklore_json::{JsText, Json, Object};

/// SillyTavern's `getStringHash`: cyrb53 with seed 0, over UTF-16 units.
pub fn string_hash(text: &[u16]) -> u64 {
    let (mut high, mut low) = (0xdead_beef_u32, 0x41c6_ce57_u32);
    for &unit in text {
        high = (high ^ u32::from(unit)).wrapping_mul(2_654_435_761);
        low = (low ^ u32::from(unit)).wrapping_mul(1_597_334_677);
    }
    let mix = |one: u32, other: u32| {
        (one ^ (one >> 16)).wrapping_mul(2_246_822_507)
            ^ (other ^ (other >> 13)).wrapping_mul(3_266_489_909)
    };
    high = mix(high, low);
    low = mix(low, high);
    (u64::from(low & 0x1f_ffff) << 32) | u64::from(high)
}

/// The hash that SillyTavern computes for `entry` in `book`; `None` where SillyTavern would fail.
pub fn entry_hash(entry: &Json, book: &str) -> Option<u64> {
    let entry = entry.as_object()?;
    let mut scanned = Object::new();
    if let Some(uid) = entry.get("uid") {
        scanned.insert("uid", uid.clone());
    }
    scanned.insert("world", book);
    for (key, value) in entry.iter().filter(|(key, _)| **key != *"uid") {
        scanned.insert(key.clone(), value.clone());
    }
    let content = match scanned.get("content") {
        Some(Json::Text(content)) => content.clone(),
        Some(content) if content.is_truthy() => return None,
        _ => JsText::default(),
    };
    let (decorators, body) = decorators(content.as_bytes());
    let decorators = decorators.into_iter().map(|line| Json::Text(content.part(line))).collect();
    scanned.insert("decorators", Json::Array(decorators));
    scanned.insert("content", Json::Text(content.part(body)));
    let text = Json::Object(scanned).stringify();
    let units: Vec<u16> = String::from_utf8_lossy(&text).encode_utf16().collect();
    Some(string_hash(&units))
}

/// Splits the leading decorator lines off an entry's content, as SillyTavern does. Returns the
/// ranges of the decorators and of the rest.
fn decorators(content: &[u8]) -> (Vec<Range<usize>>, Range<usize>) {
    let mut found = Vec::new();
    let whole = 0..content.len();
    if !content.starts_with(b"@@") {
        return (found, whole);
    }
    let mut may_fall_back = false;
    let mut at = 0;
    for line in content.split(|byte| *byte == b'\n') {
        if !line.starts_with(b"@@") {
            return (found, at..content.len());
        }
        let end = at + line.len();
        let escaped = line.starts_with(b"@@@");
        if !escaped || may_fall_back {
            let plain = &line[usize::from(escaped)..];
            may_fall_back =
                !(plain.starts_with(b"@@activate") || plain.starts_with(b"@@dont_activate"));
            if !may_fall_back {
                found.push(at + usize::from(escaped)..end);
            }
        }
        at = end + 1;
    }
    (found, whole)
}

/// Moves the effects of the books `from` to the book `to`, which has these `entries`.
///
/// An effect whose hash does not match its entry is inactive: it keeps its hash and stays inactive.
/// If two books have an effect on the same uid, the active one is moved; if both or neither are
/// active, the one of the book named last. The other stays under its own book's name.
pub fn rekeyed(timed: &Json, from: &[String], to: &str, entries: &Object) -> Json {
    let mut timed = timed.clone();
    let Some(kinds) = timed.as_object_mut() else { return timed };
    let entries = by_uid(entries);
    let names: Vec<JsText> = kinds.keys().cloned().collect();
    for name in names {
        let Some(effects) = kinds.get_text(&name).and_then(Json::as_object) else { continue };
        let moves: Vec<Option<Move<'_>>> =
            effects.iter().map(|(key, effect)| Move::of(key, effect, from, to, &entries)).collect();
        let mut best: HashMap<&JsText, Rank> = HashMap::new();
        for this in moves.iter().flatten() {
            let best = best.entry(&this.key).or_insert(this.rank);
            *best = this.rank.max(*best);
        }
        let moved: Object = effects
            .iter()
            .zip(&moves)
            .filter_map(|((key, effect), this)| match this {
                Some(this) if best[&this.key] == this.rank => {
                    Some((this.key.clone(), this.effect.clone().into_owned()))
                }
                // The new book does not exist yet, so an effect under its name is a leftover.
                _ if best.contains_key(key) => None,
                _ => Some((key.clone(), effect.clone())),
            })
            .collect();
        kinds.insert(name, moved);
    }
    timed
}

/// An effect that may be moved.
struct Move<'a> {
    key: JsText,
    effect: Cow<'a, Json>,
    rank: Rank,
}

/// Whether an effect is active, and the index of its book.
type Rank = (bool, usize);

impl<'a> Move<'a> {
    fn of(
        key: &JsText,
        effect: &'a Json,
        from: &[String],
        to: &str,
        entries: &HashMap<String, &Json>,
    ) -> Option<Self> {
        let key = key.to_string_lossy();
        // A book's name can contain dots and digits, a uid no dots.
        let (book, uid) = key.rsplit_once('.')?;
        let at = from.iter().position(|name| name == book)?;
        let entry = entries.get(uid);
        if entry.is_none() && (uid.is_empty() || !uid.bytes().all(|byte| byte.is_ascii_digit())) {
            return None;
        }
        let moved = entry.and_then(|entry| moved(effect, (entry, book), (entry, to)));
        Some(Self {
            key: JsText::from(format!("{to}.{uid}")),
            rank: (moved.is_some(), at),
            effect: moved.map_or(Cow::Borrowed(effect), Cow::Owned),
        })
    }
}

/// The entries by uid; the first one wins.
fn by_uid(entries: &Object) -> HashMap<String, &Json> {
    let mut found = HashMap::new();
    for (_, entry) in entries.iter() {
        let uid = match entry.get("uid") {
            Some(Json::Text(text)) => text.to_string_lossy().into_owned(),
            Some(number) => match number.as_i64() {
                Some(number) => number.to_string(),
                None => continue,
            },
            None => continue,
        };
        found.entry(uid).or_insert(entry);
    }
    found
}

/// An effect moved from an entry of one book to another entry or book; `None` if it was inactive.
pub(crate) fn moved(effect: &Json, from: (&Json, &str), to: (&Json, &str)) -> Option<Json> {
    let stored = effect.get("hash").and_then(Json::as_f64)?;
    let plain = |(entry, book): (&Json, &str)| entry_hash(entry, book);
    let wrapped_by_recap = |(entry, book): (&Json, &str)| entry_hash(&wrapped(entry, book)?, book);
    let hash = [plain(from).zip(plain(to)), wrapped_by_recap(from).zip(wrapped_by_recap(to))]
        .into_iter()
        .flatten()
        .find_map(|(before, after)| (before as f64 == stored).then_some(after))?;
    let mut effect = effect.clone();
    effect.as_object_mut()?.insert("hash", Json::Number(hash as f64));
    Some(effect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_entry(entry: &str, expected: u64) {
        let entry = Json::parse(entry.as_bytes()).unwrap();
        assert_eq!(entry_hash(&entry, "Lore"), Some(expected));
    }

    /// The numbers were computed by SillyTavern 1.19.0's own functions.
    #[test]
    fn hashes_are_sillytaverns() {
        let hash = |text: &str| string_hash(&text.encode_utf16().collect::<Vec<_>>());
        assert_eq!(hash(""), 3_338_908_027_751_811);
        assert_eq!(hash("😀"), 4_725_715_722_941_614);
        check_entry(
            r#"{"uid":0,"key":["a"],"comment":"A","content":"Text","sticky":3}"#,
            7_182_276_094_876_026,
        );
        check_entry(
            r#"{"key":["a"],"content":"@@activate\nText","uid":7,"cooldown":2}"#,
            5_881_047_269_212_788,
        );
        check_entry(r#"{"uid":1,"key":[]}"#, 7_417_195_233_194_060);
        check_entry(r#"{"key":["no uid"],"content":""}"#, 8_154_627_331_250_231);
        check_entry(
            r#"{"uid":1,"content":null,"world":"Other","decorators":["x"],"hash":5}"#,
            4_310_742_281_146_869,
        );
        check_entry(
            r#"{"uid":1,"content":"x","10":"ten","2":"two","probability":100.0,"n":1e21,"m":-0,"f":0.1,"s":"\ud800 é \u0007 \u2028 /"}"#,
            5_455_274_272_055_734,
        );
    }

    #[test]
    fn half_characters_survive_beside_decorators() {
        check_entry(r#"{"uid":1,"content":"@@activate \ud800\n\udc00 A"}"#, 4_350_253_124_516_959);
    }

    #[test]
    fn decorators_are_read_as_sillytavern_reads_them() {
        for (content, found, body) in [
            ("plain", &[] as &[&str], "plain"),
            ("@@activate", &["@@activate"], "@@activate"),
            ("@@unknown\n@@@activate\nA", &["@@activate"], "A"),
            ("@@@activate\nA", &[], "A"),
            ("@@unknown\n@@@foo\n@@@dont_activate x\n@@@activate\nA", &["@@dont_activate x"], "A"),
            ("@@activate\r\nA", &["@@activate\r"], "A"),
            ("@@x\n@@@@activate\nA", &[], "A"),
        ] {
            let (seen, rest) = decorators(content.as_bytes());
            let seen: Vec<&str> = seen.into_iter().map(|line| &content[line]).collect();
            assert_eq!((seen, &content[rest]), (found.to_vec(), body));
        }
    }

    #[test]
    fn a_running_effect_runs_on_in_the_clone_and_a_dead_one_stays_dead() {
        let entry = Json::parse(br#"{"uid":7,"content":"x"}"#).unwrap();
        let hash = entry_hash(&entry, "Old").unwrap() as f64;
        let timed = format!(
            r#"{{"sticky":{{"Old.7":{{"hash":{hash},"start":1}},"Else.7":{{"hash":1}}}},"cooldown":{{"Old.7":{{"hash":2}}}}}}"#
        );
        let timed = Json::parse(timed.as_bytes()).unwrap();
        let entries: Object = [("7", entry.clone())].into_iter().collect();
        let moved = rekeyed(&timed, &["Old".into()], "New", &entries);
        let new_hash = entry_hash(&entry, "New").unwrap() as f64;
        assert_eq!(moved.at(&["sticky", "New.7", "hash"]).and_then(Json::as_f64), Some(new_hash));
        assert!(moved.at(&["sticky", "Else.7"]).is_some());
        assert_eq!(moved.at(&["cooldown", "New.7", "hash"]).and_then(Json::as_f64), Some(2.0));
    }

    #[test]
    fn an_effect_of_an_entry_that_a_recap_wraps_runs_on() {
        let entry = Json::parse(br#"{"uid":7,"content":"x"}"#).unwrap();
        let hash = |book: &str| entry_hash(&wrapped(&entry, book).unwrap(), book).unwrap() as f64;
        let timed = format!(r#"{{"sticky":{{"Old.7":{{"hash":{}}}}}}}"#, hash("Old"));
        let entries: Object = [("7", entry.clone())].into_iter().collect();
        let timed = Json::parse(timed.as_bytes()).unwrap();
        let moved = rekeyed(&timed, &["Old".into()], "New", &entries);
        let found = moved.at(&["sticky", "New.7", "hash"]).and_then(Json::as_f64);
        assert_eq!(found, Some(hash("New")));
    }

    fn keys(timed: &Json) -> Vec<String> {
        let sticky = timed.get("sticky").and_then(Json::as_object).unwrap();
        sticky.keys().map(|key| key.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn effects_of_a_book_whose_name_only_begins_alike_stay() {
        let timed = r#"{"sticky":{"World v1.5.7":{"hash":1},"World v1.5":{"hash":2},"World v1.x":{"hash":3},"World v1.":{"hash":4}}}"#;
        let timed = Json::parse(timed.as_bytes()).unwrap();
        let moved = rekeyed(&timed, &["World v1".into()], "New", &Object::new());
        assert_eq!(keys(&moved), ["World v1.5.7", "New.5", "World v1.x", "World v1."]);
    }

    #[test]
    fn effects_of_two_books_on_one_uid_are_both_kept() {
        let entry = Json::parse(br#"{"uid":0,"content":"x"}"#).unwrap();
        let entries: Object = [("0", entry.clone())].into_iter().collect();
        let names = ["Then".to_owned(), "Bound".to_owned()];
        let fits = |book: &str| entry_hash(&entry, book).unwrap() as f64;
        let case = |then: f64, bound: f64| {
            let timed = format!(
                r#"{{"sticky":{{"Then.0":{{"hash":{then},"start":1}},"Bound.0":{{"hash":{bound},"start":2}},"New.0":{{}}}}}}"#
            );
            let moved = rekeyed(&Json::parse(timed.as_bytes()).unwrap(), &names, "New", &entries);
            let start = moved.at(&["sticky", "New.0", "start"]).and_then(Json::as_i64);
            (keys(&moved).join(" "), start.unwrap())
        };
        // If neither or both are active, the book that the chat is bound to wins.
        assert_eq!(case(1.0, 2.0), ("Then.0 New.0".into(), 2));
        assert_eq!(case(fits("Then"), fits("Bound")), ("Then.0 New.0".into(), 2));
        assert_eq!(case(1.0, fits("Bound")), ("Then.0 New.0".into(), 2));
        assert_eq!(case(fits("Then"), 2.0), ("New.0 Bound.0".into(), 1));
    }
}
