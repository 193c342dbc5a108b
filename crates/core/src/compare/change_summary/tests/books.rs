//! Summaries of books.

use crate::compare::change_summary::{BookWindow, ChangeKind, EntryChange, first_book, in_book};

type Entries<'a> = &'a [(u32, &'a str)];

fn between(
    before: Entries<'_>,
    after: Entries<'_>,
    rest: bool,
) -> crate::compare::change_summary::ChangeSummary {
    let of = |entries: Entries<'_>, number| {
        entries.iter().find(|(known, _)| *known == number).map(|(_, text)| (*text).to_owned())
    };
    let mut numbers: Vec<u32> = before.iter().chain(after).map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let texts: Vec<_> = numbers.iter().map(|n| (*n, of(before, *n), of(after, *n))).collect();
    let changed = texts.iter().filter(|(_, before, after)| before != after);
    in_book(&BookWindow {
        entries_before: before.len(),
        entries_after: after.len(),
        changed: changed
            .map(|(number, before, after)| EntryChange {
                number: *number,
                before: before.as_ref().map(String::as_bytes),
                after: after.as_ref().map(String::as_bytes),
            })
            .collect(),
        rest_changed: rest,
        readable_before: true,
        readable_after: true,
    })
}

const MARA: &str = r#"{"key":["mara"],"comment":"Mara","content":"A captain."}"#;
const MILL: &str = r#"{"key":["mill"],"comment":"The Old Mill","content":"It burnt."}"#;
const RAIN: &str = r#"{"key":["rain"],"comment":"","content":"It falls."}"#;
const BARE: &str = r#"{"content":"x"}"#;

#[test]
fn entries_come_change_and_go() {
    let book = [(0, MARA), (1, MILL), (2, RAIN), (7, BARE)];
    let edited = r#"{"key":["mara"],"comment":"Mara","content":"A king."}"#;
    let renamed = r#"{"key":["mara"],"comment":"Maya","content":"A captain."}"#;
    let off = r#"{"key":["mara"],"comment":"Mara","content":"A captain.","disable":true}"#;
    let other = r#"{"key":["x"],"comment":"Rain","content":"Cold."}"#;
    let rows: [(Entries<'_>, &str); 13] = [
        (&[(0, edited), (1, MILL), (2, RAIN), (7, BARE)], "entry 'Mara' changed"),
        (&[(0, renamed), (1, MILL), (2, RAIN), (7, BARE)], "entry 'Mara' renamed to 'Maya'"),
        (&[(0, off), (1, MILL), (2, RAIN), (7, BARE)], "entry 'Mara' switched off"),
        (&[(0, other), (1, MILL), (2, RAIN), (7, BARE)], "entry 'Mara' replaced by 'Rain'"),
        (&[(0, MARA), (2, RAIN), (7, BARE)], "entry 'The Old Mill' removed"),
        (&[(0, MARA), (1, MILL), (7, BARE)], "entry 'rain' removed"),
        (&[(0, MARA), (1, MILL), (2, RAIN)], "entry 7 removed"),
        (&[(0, MARA), (1, MILL)], "2 entries removed"),
        (&[(0, MARA), (1, MILL), (2, RAIN), (7, BARE), (8, other)], "entry 'Rain' added"),
        (&[(0, MARA), (9, MILL), (2, RAIN), (7, BARE)], "entry 'The Old Mill' moved"),
        (
            &[(0, edited), (1, MILL), (2, RAIN), (7, BARE), (8, other), (9, BARE)],
            "entry 'Mara' changed, 2 entries added",
        ),
        (&[(0, "{torn"), (1, MILL), (2, RAIN), (7, BARE)], "entry 'Mara' changed"),
        (&[(1, MILL), (2, RAIN), (7, "5")], "entry 'Mara' removed, entry 7 changed"),
    ];
    for (after, words) in rows {
        let summary = between(&book, after, true);
        assert_eq!((summary.words.as_str(), summary.kind), (words, ChangeKind::Lore));
        assert_eq!(summary.collapse, None, "{words}");
    }
    assert_eq!(between(&[(0, off)], &[(0, MARA)], false).words, "entry 'Mara' switched on");
    assert_eq!(between(&book, &book, true).words, "book settings changed");
    assert_eq!(between(&book, &book, true).kind, ChangeKind::Settings);
    assert_eq!(between(&book, &book, false).kind, ChangeKind::Same);
    assert_eq!(between(&[(0, MARA)], &[], false).words, "entry 'Mara' removed");
    assert_eq!(between(&[(0, MARA)], &[], false).collapse, None);
    let twice = between(&[(0, MARA), (1, MARA), (2, MILL)], &[(2, MILL), (5, MARA)], false);
    assert_eq!(twice.words, "entry 'Mara' removed, entry 'Mara' moved");
    assert_eq!(first_book(1).words, "first seen, 1 entry");
    assert_eq!(first_book(0).words, "first seen, no entries yet");
}

#[test]
fn what_the_editor_fills_in_is_not_told() {
    let shown = r#"{"key":["mara"],"comment":"Mara","content":"A captain.","selective":true,"role":null,
        "disable":false,"characterFilter":{"isExclude":false,"names":[],"tags":[]},"addMemo":true}"#;
    let summary = between(&[(0, MARA), (1, MILL)], &[(0, shown), (1, MILL)], false);
    assert_eq!(summary.kind, ChangeKind::Same);
    let edited = shown.replace("captain", "king");
    let summary = between(&[(0, MARA), (1, MILL)], &[(0, &edited), (1, MILL)], false);
    assert_eq!(summary.words, "entry 'Mara' changed");
    let early = r#"{"key":["mara"],"comment":"Mara","content":"A captain.","order":5}"#;
    let summary = between(&[(0, early)], &[(0, shown)], false);
    assert_eq!(summary.words, "entry 'Mara' changed", "it was set back to the default");
}

#[test]
fn a_book_collapses() {
    let texts: Vec<(String, String)> = (0..24)
        .map(|n| {
            let entry = |what| {
                format!(r#"{{"key":["{n}"],"comment":"{what} {n}","content":"{what} {n}"}}"#)
            };
            (entry("one"), entry("other").replace("key", "keys"))
        })
        .collect();
    let book = |from: usize, to: usize| -> Vec<(u32, &str)> {
        (from..to).map(|n| (n as u32, texts[n].0.as_str())).collect()
    };
    let others: Vec<(u32, &str)> = (0..6).map(|n| (n as u32, texts[n].1.as_str())).collect();
    for (before, after, code, words) in [
        (book(0, 6), vec![], "emptied", "nothing left of 6 entries"),
        (book(0, 6), book(0, 3), "entries-gone:6:3", "3 entries removed"),
        (book(0, 24), book(0, 14), "entries-gone:24:14", "10 entries removed"),
        (book(0, 6), others, "replaced", "6 of 6 entries gone, others in their place"),
        (book(0, 6), book(6, 12), "replaced", "6 of 6 entries gone, others in their place"),
    ] {
        let summary = between(&before, &after, false);
        let found = summary.collapse.map(|collapse| collapse.code());
        assert_eq!((found.as_deref(), summary.words.as_str()), (Some(code), words));
    }
    // All entries have new numbers: none is gone.
    let moved: Vec<(u32, &str)> = book(0, 6).iter().map(|(n, text)| (n + 50, *text)).collect();
    let summary = between(&book(0, 6), &moved, false);
    assert_eq!((summary.words.as_str(), summary.collapse), ("6 entries moved", None));
}

#[test]
fn a_book_that_cannot_be_read_is_told() {
    for (before, after, words, code) in [
        (true, false, "no longer readable, 6 entries before", Some("unreadable")),
        (false, true, "readable again, 4 entries", None),
        (false, false, "changed, but still not readable", None),
    ] {
        let summary = in_book(&BookWindow {
            entries_before: 6,
            entries_after: 4,
            readable_before: before,
            readable_after: after,
            ..BookWindow::default()
        });
        let found = summary.collapse.map(|collapse| collapse.code());
        assert_eq!((summary.words.as_str(), found.as_deref()), (words, code));
    }
}
