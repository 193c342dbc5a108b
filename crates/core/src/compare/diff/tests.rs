use super::*;

const SPARSE: &str = r#"{"uid":7,"comment":"Mara","key":["mara"],"content":"captain"}"#;

/// The same entry after SillyTavern's editor has shown it.
const FILLED_IN: &str = r#"{"uid":7,"comment":"Mara","key":["mara"],"content":"captain",
    "displayIndex":7,"keysecondary":[],"constant":false,"selective":true,"addMemo":true,"order":100,
    "position":0,"role":null,"sticky":0,"delayUntilRecursion":false,"probability":100,
    "characterFilter":{"isExclude":false,"names":[],"tags":[]}}"#;

fn with(entry: &str, field: &str, value: &str) -> String {
    let mut entry = Json::parse(entry.as_bytes()).unwrap();
    let value = Json::parse(value.as_bytes()).unwrap();
    entry.as_object_mut().unwrap().insert(field, value);
    String::from_utf8(entry.stringify()).unwrap()
}

fn compared(base: Option<&str>, left: &str, right: &str) -> LoreDiff {
    let text = |entry: &str| format!(r#"{{"entries":{{"7":{entry}}}}}"#);
    let (left, right, base) = (text(left), text(right), base.map(text));
    let read = |text: &'static str| Book::read(text.as_bytes()).unwrap();
    let [left, right] = [left, right].map(|text| read(text.leak()));
    let base = base.map(|text| read(text.leak()));
    fn side<'s, 'a>(book: &'s Book<'a>) -> LoreSide<'s, 'a> {
        LoreSide { book: Some(book), metadata: None }
    }
    compare(base.as_ref().map(side), side(&left), side(&right), true)
}

#[test]
fn what_the_editor_fills_in_is_no_difference() {
    for base in [None, Some(SPARSE), Some(FILLED_IN)] {
        assert!(compared(base, SPARSE, FILLED_IN).is_empty(), "{base:?}");
        assert!(compared(base, FILLED_IN, SPARSE).is_empty(), "{base:?}");
    }
}

#[test]
fn a_value_that_was_set_back_to_the_default_is_a_change() {
    let early = with(SPARSE, "order", "5");
    for now in [FILLED_IN, SPARSE] {
        let found = compared(Some(&early), &early, now);
        let [entry] = &found.entries[..] else { panic!("{found:?}") };
        assert_eq!(entry.right.did, Action::Changed);
        let names: Vec<_> = entry.fields.iter().map(|field| field.name.to_string_lossy()).collect();
        assert_eq!(names, ["order"]);
    }
}

#[test]
fn a_side_whose_entry_was_only_shown_did_nothing() {
    let pirate = with(SPARSE, "content", r#""pirate""#);
    let found = compared(Some(SPARSE), FILLED_IN, &pirate);
    let [entry] = &found.entries[..] else { panic!("{found:?}") };
    assert_eq!((entry.left.did, entry.right.did), (Action::Nothing, Action::Changed));
    assert_eq!(entry.fields.len(), 1);
    assert_eq!(entry.fields[0].by, ChangedBy::Right);
}

#[test]
fn a_side_did_only_what_still_differs() {
    let [early, late] = ["5", "9"].map(|order| with(SPARSE, "order", order));
    let pirate = with(&early, "content", r#""pirate""#);
    // Both moved it forward, and one of them also changed the text.
    let found = compared(Some(&late), &early, &pirate);
    assert_eq!(found.entries[0].left.did, Action::Nothing);
    assert_eq!(found.entries[0].right.did, Action::Changed);
    // Each side changed a different field.
    let found = compared(Some(SPARSE), &late, &with(SPARSE, "content", r#""pirate""#));
    let by: Vec<_> = found.entries[0].fields.iter().map(|field| field.by).collect();
    assert_eq!(by, [ChangedBy::Right, ChangedBy::Left]);
    assert_eq!(
        (found.entries[0].left.did, found.entries[0].right.did),
        (Action::Changed, Action::Changed)
    );
}

#[test]
fn two_entries_that_differ_in_what_was_filled_in_are_one() {
    let text = |key: &str, entry: &str| {
        let entry = with(entry, "uid", key);
        format!(r#"{{"entries":{{"{key}":{entry}}}}}"#)
    };
    let (left, right) = (text("1", SPARSE), text("2", &with(FILLED_IN, "displayIndex", "2")));
    let (left, right) = (Book::read(left.as_bytes()), Book::read(right.as_bytes()));
    let (left, right) = (left.unwrap(), right.unwrap());
    fn side<'s, 'a>(book: &'s Book<'a>) -> LoreSide<'s, 'a> {
        LoreSide { book: Some(book), metadata: None }
    }
    let none = LoreSide::default();
    assert!(compare(Some(none), side(&left), side(&right), true).is_empty());
}
