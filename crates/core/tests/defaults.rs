//! Checks Forklore's table of defaults against SillyTavern's source.

use std::process::Command;

use forklore_core::compare::diff::{LoreSide, compare};
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::defaults::FIELDS;
use forklore_json::{Json, Object};

/// Reads the defaults from the SillyTavern that is installed for the tests.
fn sillytavern() -> Json {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/defaults.mjs");
    let answer = Command::new("node").arg(script).output().expect("node is on the path");
    let complaint = String::from_utf8_lossy(&answer.stderr);
    assert!(answer.status.success(), "{complaint}");
    Json::parse(&answer.stdout).expect("it is JSON")
}

fn text(json: &Json) -> String {
    String::from_utf8_lossy(&json.stringify()).into_owned()
}

#[test]
fn the_defaults_are_those_of_sillytavern() {
    let theirs = sillytavern();
    let theirs = theirs.get("defaults").and_then(Json::as_object).expect("it has defaults");
    let ours: Object = FIELDS.iter().map(|field| (field.name, field.default.json())).collect();
    assert_eq!(text(&ours.into()), text(&theirs.clone().into()));
}

#[test]
fn what_sillytavern_copies_from_an_entry_is_left_to_the_entry() {
    let theirs = sillytavern();
    let copied = theirs.get("copied").and_then(Json::as_array).expect("it copies something");
    assert!(copied.len() > 30, "{copied:?}");
    for path in copied {
        let path = path.as_str().expect("it is a path");
        let value = match path.split_once('.') {
            Some((outer, inner)) => format!(r#""{outer}":{{"{inner}":7}}"#),
            None => format!(r#""{path}":7"#),
        };
        let book = |fields: &str| {
            format!(r#"{{"entries":{{}},"originalData":{{"entries":[{{"uid":0{fields}}}]}}}}"#)
        };
        let (before, after) = (book(""), book(&format!(",{value}")));
        let (before, after) = (Book::read(before.as_bytes()), Book::read(after.as_bytes()));
        let (before, after) = (before.expect("it is a book"), after.expect("it is a book"));
        let side = |book| LoreSide { book: Some(book), metadata: None };
        let found = compare(Some(side(&before)), side(&before), side(&after), true);
        assert!(found.is_empty(), "{path}: {found:?}");
    }
}
