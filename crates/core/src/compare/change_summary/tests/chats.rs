//! Summaries of chats, and that everyday edits are not a collapse.

use super::*;
use crate::compare::change_summary::{ChangeKind, first_chat};

#[track_caller]
fn check(before: Vec<String>, after: Vec<String>, words: &str, kind: ChangeKind) {
    let summary = between(&before, &after, 300);
    assert_eq!((summary.words.as_str(), summary.kind), (words, kind));
    assert_eq!(summary.collapse, None, "{words}");
}

/// Checks a change to message 4 of a chat with six messages.
#[track_caller]
fn check_message(before: &str, after: &str, words: &str, kind: ChangeKind) {
    let of = |line: &str| with(chat(6), |chat| chat[5] = line.to_owned());
    check(of(before), of(after), words, kind);
}

#[test]
fn messages_come_and_go() {
    check(chat(5), chat(6), "message 5 by Tom", ChangeKind::Grown);
    check(chat(5), chat(7), "messages 5 and 6", ChangeKind::Grown);
    check(chat(5), chat(9), "messages 5 to 8", ChangeKind::Grown);
    check(chat(0), chat(1), "message 0 by Mara", ChangeKind::Grown);
    check(vec![], chat(3), "messages 0 to 2", ChangeKind::Grown);
    check(chat(6), chat(5), "1 message removed from the end, 5 left", ChangeKind::Cut);
    check(chat(9), chat(6), "3 messages removed from the end, 6 left", ChangeKind::Cut);
    check(chat(1), chat(0), "1 message removed from the end, 0 left", ChangeKind::Cut);
    check(
        chat(9),
        with(chat(9), |chat| drop(chat.remove(3))),
        "message 2 removed",
        ChangeKind::Cut,
    );
    let without = with(chat(9), |chat| drop(chat.drain(3..6)));
    check(chat(9), without.clone(), "messages 2 to 4 removed", ChangeKind::Cut);
    check(without, chat(9), "messages 2 to 4 inserted", ChangeKind::Grown);
    let scattered = with(chat(9), |chat| {
        chat.remove(6);
        chat.remove(3);
    });
    check(chat(9), scattered, "messages 2 and 5 removed", ChangeKind::Cut);
    let nameless = with(chat(2), |chat| chat.push(r#"{"mes":"x"}"#.to_owned()));
    check(chat(2), nameless, "message 2 added", ChangeKind::Grown);
}

#[test]
fn a_message_changes() {
    let was = r#"{"name":"Mara","send_date":"d","mes":"one"}"#;
    for (now, words, kind) in [
        (r#"{"name":"Mara","send_date":"d","mes":"two"}"#, "message 4 edited", ChangeKind::Edited),
        (
            r#"{"name":"Mara","send_date":"d","mes":"one, two"}"#,
            "message 4 continued",
            ChangeKind::Edited,
        ),
        (
            r#"{"name":"Mara","send_date":"e","mes":"two"}"#,
            "message 4 rewritten",
            ChangeKind::Edited,
        ),
        (
            r#"{"name":"Maya","send_date":"d","mes":"one"}"#,
            "message 4 now by Maya",
            ChangeKind::Edited,
        ),
        (
            r#"{"name":"Mara","send_date":"d","mes":"one","is_system":true}"#,
            "message 4 hidden",
            ChangeKind::Edited,
        ),
        (
            r#"{"name":"Mara","send_date":"d","mes":"one","extra":{"bookmark_link":"C"}}"#,
            "message 4 linked to a checkpoint",
            ChangeKind::Edited,
        ),
        (
            r#"{"name":"Mara","send_date":"d","mes":"one","forklore":{}}"#,
            "details of message 4 changed",
            ChangeKind::Edited,
        ),
        // SillyTavern fills these in when it opens an older chat.
        (
            r#"{"name":"Mara","send_date":"d","mes":"one","swipes":["one"],"swipe_id":0}"#,
            "details of message 4 changed",
            ChangeKind::Edited,
        ),
        (
            r#"{"name":"Mara","send_date":"e","mes":"two","swipes":["one","two"],"swipe_id":1}"#,
            "message 4: another swipe (2 of 2)",
            ChangeKind::Swiped,
        ),
    ] {
        check_message(was, now, words, kind);
    }
    let hidden = r#"{"name":"Mara","mes":"one","is_system":true}"#;
    let shown = r#"{"name":"Mara","mes":"one","is_system":""}"#;
    check_message(hidden, shown, "message 4 shown again", ChangeKind::Edited);
    check_message(r#"{"mes":"a"}"#, r#"{"mes":"b"}"#, "message 4 edited", ChangeKind::Edited);
    check_message(
        r#"{"mes":"tor"#,
        r#"{"mes":"torn"}"#,
        "message 4 readable again",
        ChangeKind::Edited,
    );
    check_message(
        r#"{"mes":"\u00e9"}"#,
        r#"{"mes":"é"}"#,
        "details of message 4 changed",
        ChangeKind::Edited,
    );
}

#[test]
fn a_message_is_swiped() {
    let of = |swipe: usize, swipes: usize| {
        let texts: Vec<String> = (0..swipes).map(|swipe| format!("\"text {swipe}\"")).collect();
        let texts = texts.join(",");
        format!(
            r#"{{"mes":"text {swipe}","send_date":{swipe},"swipes":[{texts}],"swipe_id":{swipe}}}"#
        )
    };
    check_message(&of(2, 3), &of(3, 4), "message 4: another swipe (4 of 4)", ChangeKind::Swiped);
    check_message(&of(3, 4), &of(2, 4), "message 4: another swipe (3 of 4)", ChangeKind::Swiped);
    check_message(&of(1, 2), &of(1, 3), "message 4: another swipe (2 of 3)", ChangeKind::Swiped);
    check_message(&of(3, 4), &of(2, 3), "message 4: swipes removed, 3 left", ChangeKind::Swiped);
    check_message(&of(0, 2), &of(7, 2), "message 4 swiped", ChangeKind::Swiped);
}

#[test]
fn several_things_at_once() {
    let edited = |chat: &mut Vec<String>, number: usize| {
        chat[number + 1] = chat[number + 1].replace("text", "other");
    };
    let noted = |chat: &mut Vec<String>, number: usize| {
        chat[number + 1] = chat[number + 1].replace('}', ",\"forklore\":1}");
    };
    for (after, words, kind) in [
        (with(chat(7), |chat| noted(chat, 5)), "message 6 by Mara", ChangeKind::Grown),
        (
            with(chat(7), |chat| edited(chat, 5)),
            "message 5 edited, message 6 by Mara",
            ChangeKind::Mixed,
        ),
        (
            with(chat(4), |chat| noted(chat, 3)),
            "2 messages removed from the end, 4 left",
            ChangeKind::Cut,
        ),
        (
            with(chat(6), |chat| {
                noted(chat, 1);
                chat.remove(3);
            }),
            "message 2 removed",
            ChangeKind::Cut,
        ),
        (
            with(chat(6), |chat| [1, 3].iter().for_each(|number| edited(chat, *number))),
            "messages 1 and 3 edited",
            ChangeKind::Edited,
        ),
        (
            with(chat(6), |chat| (0..6).for_each(|number| edited(chat, number))),
            "messages 0 to 5 edited",
            ChangeKind::Edited,
        ),
        (
            with(chat(6), |chat| (0..6).for_each(|number| noted(chat, number))),
            "details of messages 0 to 5 changed",
            ChangeKind::Edited,
        ),
        (with(chat(6), |chat| chat.swap(3, 4)), "messages 2 and 3 reordered", ChangeKind::Edited),
        (
            with(chat(4), |chat| chat.push(message(90, "Mara", "new"))),
            "1 message removed from the end, 5 left, message 4 rewritten",
            ChangeKind::Mixed,
        ),
    ] {
        check(chat(6), after, words, kind);
    }
    // Renaming a card renames the author of many messages: none of them is gone.
    let renamed = chat(30).iter().map(|line| line.replace("Tom", "Tim")).collect();
    check(chat(30), renamed, "15 messages under another name", ChangeKind::Edited);
}

#[test]
fn a_header_is_told_when_it_matters() {
    let of = |metadata: &str, messages: usize| {
        with(chat(messages), |chat| chat[0] = format!(r#"{{"chat_metadata":{metadata}}}"#))
    };
    let bare = of("{}", 3);
    for (after, words, kind) in [
        (of(r#"{"tainted":true}"#, 3), "chat settings changed", ChangeKind::Settings),
        (of(r#"{"note_prompt":"x"}"#, 3), "author's note changed", ChangeKind::Settings),
        (of(r#"{"world_info":"L"}"#, 3), "chat bound to lorebook 'L'", ChangeKind::Settings),
        (of(r#"{"tainted":true}"#, 4), "message 3 by Tom", ChangeKind::Grown),
        (
            of(r#"{"world_info":"L"}"#, 4),
            "message 3 by Tom, chat bound to lorebook 'L'",
            ChangeKind::Mixed,
        ),
        (
            with(chat(3), |chat| chat[0].insert(0, '\u{feff}')),
            "chat settings changed",
            ChangeKind::Settings,
        ),
    ] {
        check(bare.clone(), after, words, kind);
    }
    let bound = of(r#"{"world_info":"L"}"#, 3);
    check(bound, bare.clone(), "chat no longer bound to a lorebook", ChangeKind::Settings);
    check(bare.clone(), bare, "nothing in the story changed", ChangeKind::Same);
}

#[test]
fn lines_that_sillytavern_cannot_read_are_dropped_by_it() {
    let damaged = with(chat(3), |chat| chat.insert(2, "broken".to_owned()));
    check(damaged, chat(3), "1 unreadable line dropped", ChangeKind::Cut);
    check(
        chat(3),
        with(chat(3), |chat| chat.push(String::new())),
        "nothing in the story changed",
        ChangeKind::Same,
    );
}

#[test]
fn a_stretch_that_was_cut_is_told_all_the_same() {
    let edited = |lines: Vec<String>| -> Vec<String> {
        lines.iter().map(|line| line.replace("text", "other")).collect()
    };
    let moved = |lines: Vec<String>| with(lines, |chat| chat.swap(3, 6));
    for (before, after, words) in [
        (chat(5), chat(905), "messages 5 to 904"),
        (chat(100), edited(chat(100)), "at least 10 messages edited"),
        (chat(100), edited(chat(102)), "at least 10 messages edited, 2 messages more"),
        (chat(100), edited(moved(chat(99))), "many messages changed, 1 message fewer"),
        (chat(100), edited(moved(chat(100))), "many messages changed"),
    ] {
        let summary = between(&before, &after, 10);
        assert_eq!((summary.words.as_str(), summary.collapse), (words, None));
    }
}

#[test]
fn the_first_version_is_told_as_such() {
    let mara = message(0, "Mara", "x");
    for (lines, last, words) in [
        (0, "", "first seen, an empty file"),
        (1, HEADER, "first seen, no messages yet"),
        (2, &mara, "first seen, 1 message by Mara"),
        (213, &mara, "first seen, 212 messages, the last by Mara"),
        (3, "torn", "first seen, 2 messages"),
    ] {
        assert_eq!(first_chat(lines, last.as_bytes()).words, words);
    }
}
