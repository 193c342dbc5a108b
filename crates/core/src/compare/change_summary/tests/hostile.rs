//! Any bytes produce a summary of one short line without control characters.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::compare::change_summary::{
    BookWindow, ChangeSummary, ChatWindow, Collapse, EntryChange, first_book, first_chat, in_book,
    in_chat,
};

fn check(summary: &ChangeSummary) -> Result<(), TestCaseError> {
    let words = &summary.words;
    prop_assert!(!words.is_empty() && words.chars().count() <= 120, "{words:?}");
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    prop_assert!(!words.contains(steers), "{words:?}");
    if let Some(collapse) = &summary.collapse {
        prop_assert_eq!(Collapse::from_code(&collapse.code()), Some(*collapse));
    }
    Ok(())
}

/// Fragments of JSON and garbage, repeated often enough for lines to match each other.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        Just("\"a\\u0000\\n\\u202e\\ud800\"".to_owned()),
        Just("\"\u{202e}\u{2028}\u{1f600}\"".to_owned()),
        Just(format!("\"{}\"", "雨 ".repeat(60))),
        Just("[\"a\",\"b\",3]".to_owned()),
        Just("[{\"send_date\":1}]".to_owned()),
        Just("{\"bookmark_link\":\"x\",\"world_info\":\"\\u001b[2J\"}".to_owned()),
        Just("true".to_owned()),
        Just("1e400".to_owned()),
        Just("-7".to_owned()),
        (0..4_u8).prop_map(|n| n.to_string()),
        (0..4_u8).prop_map(|n| format!("\"{n}\"")),
    ];
    let keys = vec![
        "name",
        "mes",
        "swipes",
        "swipe_id",
        "swipe_info",
        "send_date",
        "is_system",
        "extra",
        "chat_metadata",
        "comment",
        "key",
        "content",
        "disable",
        "\\u006des",
    ];
    let object = vec((prop::sample::select(keys), value), 0..6).prop_map(|members| {
        let members: Vec<String> = members.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
        format!("{{{}}}", members.join(",")).into_bytes()
    });
    prop_oneof![
        12 => object.clone(),
        2 => (object, any::<prop::sample::Index>()).prop_map(|(mut line, at)| {
            line.truncate(at.index(line.len() + 1));
            line
        }),
        1 => vec(any::<u8>(), 0..12),
        1 => prop::sample::select(vec!["", " ", "null", "5", "[]", "\u{feff}{}", "\0"])
            .prop_map(|line| line.as_bytes().to_vec()),
    ]
}

fn number() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..50_usize, 1 => Just(usize::MAX), 1 => any::<usize>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, rng_seed: RngSeed::Fixed(0x0f0e_4b11), ..ProptestConfig::default() })]

    #[test]
    fn a_chat_of_anything(
        before in vec(line(), 0..30), after in vec(line(), 0..30), header in (line(), line()),
        numbers in (number(), number(), number()), cut in any::<bool>(), other_header in any::<bool>(),
    ) {
        check(&in_chat(&ChatWindow {
            lines_before: numbers.0,
            lines_after: numbers.1,
            first: numbers.2,
            before: before.iter().map(Vec::as_slice).collect(),
            after: after.iter().map(Vec::as_slice).collect(),
            cut,
            header: other_header.then_some((&header.0, &header.1)),
        }))?;
        check(&first_chat(numbers.0, &header.0))?;
    }

    #[test]
    fn a_chat_cut_as_a_recorder_cuts_it(
        before in vec(line(), 0..30), after in vec(line(), 0..30), most in 1..40_usize,
    ) {
        let before: Vec<&[u8]> = before.iter().map(Vec::as_slice).collect();
        let after: Vec<&[u8]> = after.iter().map(Vec::as_slice).collect();
        check(&in_chat(&super::window(&before, &after, most)))?;
    }

    #[test]
    fn a_book_of_anything(
        entries in vec((0..9_u32, prop::option::of(line()), prop::option::of(line())), 0..20),
        numbers in (number(), number()), flags in any::<[bool; 3]>(),
    ) {
        let changed = entries.iter().map(|(number, before, after)| EntryChange {
            number: *number,
            before: before.as_deref(),
            after: after.as_deref(),
        });
        check(&in_book(&BookWindow {
            entries_before: numbers.0,
            entries_after: numbers.1,
            changed: changed.collect(),
            rest_changed: flags[0],
            readable_before: flags[1] || flags[0],
            readable_after: flags[2] || flags[0],
        }))?;
        check(&first_book(numbers.0))?;
    }
}
