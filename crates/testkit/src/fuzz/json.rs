use forklore_core::sillytavern::group;
use forklore_json::scan::{line_end, matches_at, object_end};
use forklore_json::{Edit, Edits, Indent, JsText, Json, JsonKind, Object, Raw, SyntaxError};
use serde_json::Value;

/// How deep the checks go that look at a value again on each level.
const DEPTH: usize = 24;

/// JSON: the scanner, the values built from it, what is written of them, and edits.
pub fn json(bytes: &[u8]) {
    let raw = Raw::document(bytes);
    let value = Json::parse(bytes);
    match (&raw, &value) {
        (Ok(_), Ok(_) | Err(SyntaxError::TooDeep(_))) => {}
        (Err(one), Err(other)) => assert_eq!(one, other, "parsing and scanning fail differently"),
        _ => panic!("parsing and scanning disagree: {raw:?}, {:?}", value.is_ok()),
    }
    lines(bytes, raw.is_ok());
    agrees_with_serde(bytes, value.as_ref().ok(), raw.is_ok());
    if let Ok(listed) = group::listed(bytes, "a chat")
        && let Some(listed) = listed
    {
        assert_eq!(group::listed(&listed, "a chat"), Ok(None), "a chat is not listed once added");
    }
    let Ok(raw) = raw else { return };
    within(bytes, raw, 0);
    edits(bytes, raw);
    let Ok(value) = value else { return };
    same(raw, &value, 0);
    written(&value);
}

/// The value read from its text is the one that its spans show.
fn same(raw: Raw<'_>, value: &Json, depth: usize) {
    assert_eq!(raw.is_truthy(), value.is_truthy());
    assert_eq!(raw.js_text().map(Json::Text).as_ref(), text_of(value));
    assert_eq!(raw.text(), value.as_str());
    if depth > DEPTH {
        return;
    }
    match value {
        Json::Object(object) => {
            let mut last = Object::new();
            for member in raw.members() {
                let key = member.key.js_text().expect("a key is a text");
                assert_eq!(member.key.text_bytes().as_ref(), key.as_bytes());
                last.insert(key, member.value.json().expect("part of a value that could be built"));
            }
            assert_eq!(last.len(), object.len());
            for member in raw.members() {
                let key = member.key.js_text().expect("a key is a text");
                let (one, other) = (last.get_text(&key), object.get_text(&key));
                assert_eq!(one.map(Json::stringify), other.map(Json::stringify));
                same(member.value, &member.value.json().expect("a value"), depth + 8);
            }
        }
        Json::Array(elements) => {
            assert_eq!(raw.elements().count(), elements.len());
            raw.elements().zip(elements).for_each(|(raw, value)| same(raw, value, depth + 8));
        }
        _ => {}
    }
}

fn text_of(value: &Json) -> Option<&Json> {
    matches!(value, Json::Text(_)).then_some(value)
}

/// Every span lies inside the one around it and is a document of its own.
fn within(bytes: &[u8], raw: Raw<'_>, depth: usize) {
    let range = raw.range();
    assert_eq!(&bytes[range.clone()], raw.bytes());
    assert!(Raw::document(raw.bytes()).is_ok_and(|alone| alone.kind() == raw.kind()));
    assert!(matches_at(bytes, range.start, raw.bytes()));
    if raw.kind() == JsonKind::Object {
        let wanted: [&[u8]; 2] = [b"uid", b"comment"];
        let noted = object_end(bytes, range.start, wanted).expect("it is an object");
        assert_eq!(noted.end, range.end);
        for (key, place) in ["uid", "comment"].into_iter().zip(noted.values) {
            let found = raw.get(key).map(|value| (value.range().start, value.range().end));
            assert!(noted.has_escaped_key || found == place, "{key}: {found:?}, {place:?}");
        }
    }
    if depth > DEPTH {
        return;
    }
    let mut at = range.start + 1;
    let inner = raw.members().flat_map(|member| [member.key, member.value]).chain(raw.elements());
    for inner in inner {
        assert!(at <= inner.range().start && inner.range().end < range.end);
        at = inner.range().end;
        within(bytes, inner, depth + 8);
    }
}

/// A line is what a document is, as long as there is no newline.
fn lines(bytes: &[u8], is_document: bool) {
    if let Ok(end) = line_end(bytes, 0) {
        assert!(!bytes[..end].contains(&b'\n'));
        assert!(bytes.get(end).is_none_or(|&byte| byte == b'\n'));
        assert!(Raw::document(&bytes[..end]).is_ok());
        assert!(Raw::checked_line(&bytes[..end]).is_some());
    } else {
        assert!(!is_document || bytes.contains(&b'\n'), "a document is no line");
    }
}

/// What is written is JSON that reads as the same value, and is written the same again.
fn written(value: &Json) {
    let tight = value.stringify();
    assert!(std::str::from_utf8(&tight).is_ok());
    assert!(tight.iter().all(|&byte| byte >= 0x20));
    let again = Json::parse(&tight).expect("what we write is JSON");
    assert_eq!(tight, again.stringify());
    let wide = value.stringify_with(Indent::BOOK);
    assert_eq!(tight, Json::parse(&wide).expect("what we write is JSON").stringify());
}

/// An edit changes what it names and keeps the bytes of everything else.
fn edits(bytes: &[u8], root: Raw<'_>) {
    assert_eq!(Edits::of(root).apply(), bytes, "no edit");
    let new = Json::from("new");
    if root.kind() == JsonKind::Array {
        let mut edits = Edits::of(root);
        edits.append(root, 0, &new);
        let longer = edits.apply();
        let after = Raw::document(&longer).expect("an edited document is a document");
        let (mut before, mut after) = (root.elements(), after.elements());
        for element in before.by_ref() {
            assert_eq!(after.next().map(|after| after.bytes()), Some(element.bytes()));
        }
        assert!(after.next().is_some_and(|last| last.is_text("new")) && after.next().is_none());
    }
    if root.kind() != JsonKind::Object {
        return;
    }
    let keys: Vec<JsText> = root.members().filter_map(|member| member.key.js_text()).collect();
    let middle = keys.get(keys.len() / 2).cloned().unwrap_or_default();
    let last = keys.last().cloned().unwrap_or_default();
    for set in [JsText::from("a key"), middle.clone(), last.clone()] {
        for removed in
            [None, Some(JsText::from("no key")), Some(middle.clone()), Some(last.clone())]
        {
            let removed = removed.filter(|removed| *removed != set);
            let mut changes = vec![(set.clone(), Edit::Set(new.clone()))];
            changes.extend(removed.clone().map(|key| (key, Edit::Remove)));
            let mut edits = Edits::of(root);
            edits.change(root, 0, &changes);
            let changed = edits.apply();
            changed_only(root, &changed, &set, removed.as_ref());
        }
    }
}

fn changed_only(root: Raw<'_>, changed: &[u8], set: &JsText, removed: Option<&JsText>) {
    let after = Raw::document(changed).expect("an edited document is a document");
    let others = |root: Raw<'_>| -> Vec<(Vec<u8>, Vec<u8>)> {
        let members = root.members().map(|member| (member.key, member.value));
        let named =
            |key: Raw<'_>| key.js_text().is_some_and(|key| key == *set || removed == Some(&key));
        let members = members.filter(|(key, _)| !named(*key));
        members.map(|(key, value)| (key.bytes().to_vec(), value.bytes().to_vec())).collect()
    };
    assert_eq!(others(root), others(after), "another member changed");
    let mut was_set = None;
    for member in after.members() {
        let key = member.key.js_text().expect("a key is a text");
        assert!(removed != Some(&key), "a member that was removed is there");
        if key == *set {
            was_set = Some(member.value);
        }
    }
    assert!(was_set.is_some_and(|value| value.is_text("new")), "a member was not set");
}

/// A second reader: what `serde_json` reads, we read, and as the same value.
fn agrees_with_serde(bytes: &[u8], ours: Option<&Json>, is_document: bool) {
    let theirs = serde_json::from_slice::<Value>(bytes);
    match (ours, &theirs) {
        (Some(ours), Ok(theirs)) => assert!(is_same(ours, theirs), "{ours:?}, {theirs:?}"),
        // It stops at a smaller depth than we do.
        (None, Ok(_)) => panic!("serde_json reads what we refuse"),
        // It refuses lone surrogates, invalid UTF-8, numbers beyond `f64` and what is nested deeper than 128.
        (Some(_), Err(error)) => {
            let why = error.to_string();
            let is_odd = std::str::from_utf8(bytes).is_err()
                || bytes.windows(3).any(|escape| escape.eq_ignore_ascii_case(b"\\ud"))
                || why.contains("recursion limit")
                || why.contains("number out of range");
            assert!(is_odd, "serde_json refuses what we read: {why}");
        }
        (None, Err(_)) => assert!(!is_document || depth(bytes) > 128),
    }
}

fn depth(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| matches!(byte, b'[' | b'{')).count()
}

fn is_same(ours: &Json, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Json::Null, Value::Null) => true,
        (Json::Bool(one), Value::Bool(other)) => one == other,
        // It rounds differently in the last place.
        (Json::Number(one), Value::Number(other)) => other
            .as_f64()
            .is_some_and(|other| *one == other || (one - other).abs() <= one.abs() * 1e-14),
        (Json::Text(one), Value::String(other)) => one == other.as_str(),
        (Json::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Json::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && other
                    .iter()
                    .all(|(key, other)| one.get(key).is_some_and(|one| is_same(one, other)))
        }
        _ => false,
    }
}
