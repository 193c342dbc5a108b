//! Uses the files that SillyTavern's editor wrote after a lorebook was viewed once and twice
//! without a change. `e2e/scenarios/editor_alone.test.mjs` creates them and checks that they are up
//! to date.

use forklore_core::compare::change_summary::{BookWindow, ChangeKind, EntryChange, in_book};
use forklore_core::compare::diff::{LoreSide, compare};
use forklore_core::plan::merge::{BaseBook, Choices, plan};
use forklore_core::sillytavern::book::{Book, lore_digest_of};
use forklore_json::Json;

const BEFORE: &[u8] = include_bytes!("editor/before.json");
const ONCE: &[u8] = include_bytes!("editor/once.json");
const TWICE: &[u8] = include_bytes!("editor/twice.json");

const ALL: [&[u8]; 3] = [BEFORE, ONCE, TWICE];

fn book(bytes: &[u8]) -> Book<'_> {
    Book::read(bytes).expect("it is a book")
}

#[test]
fn nearly_every_entry_was_written_anew() {
    let (before, once) = (book(BEFORE), book(ONCE));
    assert_eq!(before.entries().count(), 50);
    let values = |book: &Book<'_>| -> Vec<Json> {
        book.entries().map(|entry| entry.value().json().expect("it is JSON")).collect()
    };
    let changed = values(&before).into_iter().zip(values(&once)).filter(|(was, is)| was != is);
    assert!(changed.count() >= 45);
}

#[test]
fn no_comparison_finds_a_difference() {
    for left in ALL {
        for right in ALL {
            let (left, right) = (book(left), book(right));
            let side = |book| LoreSide { book: Some(book), metadata: None };
            for base in [None, Some(side(&left)), Some(side(&right))] {
                let found = compare(base, side(&left), side(&right), true);
                assert!(found.is_empty(), "{found:#?}");
            }
        }
    }
}

#[test]
fn no_merge_has_anything_to_do_or_to_ask() {
    for base in ALL {
        for ours in ALL {
            for theirs in ALL {
                let (base, our, their) = (book(base), book(ours), book(theirs));
                for base in [BaseBook::Known(Some(&base)), BaseBook::Unknown] {
                    let plan = plan(base, &our, &their, &Choices::default());
                    assert!(plan.is_empty() && plan.conflicts.is_empty(), "{plan:#?}");
                    assert_eq!(plan.apply(&our), ours, "bytes stay");
                }
            }
        }
    }
}

#[test]
fn the_log_has_nothing_to_tell_and_the_seal_still_holds() {
    let texts = |bytes| -> Vec<Vec<u8>> {
        book(bytes).entries().map(|entry| entry.value().bytes().to_vec()).collect()
    };
    let (before, twice) = (texts(BEFORE), texts(TWICE));
    let changed = before.iter().zip(&twice).enumerate();
    let summary = in_book(&BookWindow {
        entries_before: 50,
        entries_after: 50,
        changed: changed
            .map(|(number, (before, after))| EntryChange {
                number: u32::try_from(number).expect("they are few"),
                before: Some(before),
                after: Some(after),
            })
            .collect(),
        rest_changed: false,
        readable_before: true,
        readable_after: true,
    });
    assert_eq!(summary.kind, ChangeKind::Same, "{summary:?}");
    let digest = |bytes| lore_digest_of(&Json::parse(bytes).expect("it is JSON"));
    assert_eq!(digest(BEFORE), digest(ONCE));
    assert_eq!(digest(BEFORE), digest(TWICE));
}
