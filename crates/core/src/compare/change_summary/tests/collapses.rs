//! Losses that people have reported, and how they are summarised.

use super::*;

#[track_caller]
fn check(before: &[String], after: &[String], code: &str, words: &str) {
    for most in [300, 25] {
        let summary = between(before, after, most);
        let found = summary.collapse.map(|collapse| collapse.code());
        assert_eq!(found.as_deref(), Some(code), "{}", summary.words);
        assert_eq!(summary.words, words);
    }
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn a_full_disk_tears_the_last_line() {
    let torn = with(chat(40), |chat| chat[40].truncate(20));
    let words = "10 messages removed from the end, 40 left, message 39 cut off";
    check(&chat(50), &torn, "torn", words);
    let torn = with(chat(6), |chat| chat[6].truncate(20));
    check(&chat(6), &torn, "torn", "message 5 cut off");
    check(&chat(5), &torn, "torn", "message 5 cut off");
    // The line was torn before: nothing new is lost.
    let still = with(torn.clone(), |chat| chat[6].truncate(10));
    assert_eq!(between(&torn, &still, 300).collapse, None);
    assert_eq!(between(&torn, &chat(6), 300).collapse, None);
    for length in [5, 0] {
        let header = with(chat(6), |chat| chat[0].truncate(length));
        check(&chat(6), &header, "torn", "chat settings unreadable");
    }
}

#[test]
fn a_power_cut_leaves_nothing() {
    check(&chat(6), &[], "emptied", "nothing left of 6 messages");
    check(&chat(6), &lines(&[""]), "emptied", "nothing left of 6 messages");
    check(&chat(6), &lines(&["", ""]), "emptied", "nothing left of 6 messages");
    check(&chat(0), &[], "emptied", "nothing left of the chat");
    check(&chat(3), &chat(0), "emptied", "nothing left of 3 messages");
    check(&chat(6), &lines(&["\0\0"]), "unreadable", "no longer readable, 6 messages before");
    check(
        &chat(6),
        &lines(&["<html>", "x"]),
        "unreadable",
        "no longer readable, 6 messages before",
    );
    // The file was unreadable before.
    assert_eq!(between(&lines(&["\0"]), &lines(&["\0\0"]), 300).collapse, None);
}

#[test]
fn a_header_among_the_lines_is_a_header() {
    let before: Vec<String> = chat(6);
    let before: Vec<&[u8]> = before.iter().map(String::as_bytes).collect();
    let window = ChatWindow { lines_before: 7, before, ..ChatWindow::default() };
    assert_eq!(in_chat(&window).words, "nothing left of 6 messages");
}

#[test]
fn a_greeting_overwrites_the_story() {
    let words = "59 messages removed from the end, 1 left";
    check(&chat(60), &chat(1), "greeting-only", words);
    let words = "2 messages removed from the end, 1 left, message 0 rewritten";
    check(&chat(3), &story(1, 500), "greeting-only", words);
}

#[test]
fn many_messages_go_at_once() {
    check(&chat(10), &chat(5), "shrunk:10:5", "5 messages removed from the end, 5 left");
    check(&chat(90), &chat(70), "shrunk:90:70", "20 messages removed from the end, 70 left");
    let without = with(chat(90), |chat| drop(chat.drain(31..61)));
    check(&chat(90), &without, "shrunk:90:60", "messages 30 to 59 removed");
}

#[test]
fn another_chat_is_saved_under_this_name() {
    check(&chat(40), &story(45, 500), "replaced", "40 of 40 messages gone, others in their place");
    check(&chat(3), &story(3, 500), "replaced", "3 of 3 messages gone, others in their place");
    // A chat of the same character has the same greeting.
    let alike = with(story(6, 500), |chat| chat[1] = message(500, "Mara", "text 0"));
    check(&chat(5), &alike, "replaced", "4 of 5 messages gone, others in their place");
    let alike = with(story(60, 500), |chat| chat[1] = message(500, "Mara", "text 0"));
    check(&chat(50), &alike, "replaced", "49 of 50 messages gone, others in their place");
    check(&chat(5), &alike, "replaced", "4 of 5 messages gone, others in their place");
    // A sibling shares half of the story.
    let sibling = with(chat(20), |chat| chat.extend(story(30, 500).into_iter().skip(1)));
    check(&chat(45), &sibling, "replaced", "25 of 45 messages gone, others in their place");
}

#[test]
fn messages_that_moved_beyond_a_cut_are_not_gone() {
    let inserted = with(chat(30), |chat| {
        (1..31).for_each(|line| chat[line] = chat[line].replace("text", "other"));
        chat.splice(3..3, story(40, 500).into_iter().skip(1));
    });
    for most in [300, 25, 35] {
        assert_eq!(between(&chat(30), &inserted, most).collapse, None, "{most}");
    }
}
