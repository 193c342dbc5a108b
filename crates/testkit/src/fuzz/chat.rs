use std::ops::{ControlFlow, Range};

use forklore_core::journal::rewrite::{self, Rewrite};
use forklore_core::journal::{self, Records};
use forklore_core::sillytavern::chat::{Chat, ChatKind, Damage};
use forklore_json::{Edit, Json, JsonKind, Raw};

/// How many messages are looked at one by one.
const MESSAGES: usize = 12;

/// A chat file, alone or of a group, and the journal in it.
pub fn chat(bytes: &[u8]) {
    for place in [ChatKind::Solo, ChatKind::Group] {
        let chat = Chat::read(bytes, place);
        read(bytes, &chat);
        let header = Chat::read_header(bytes, place);
        assert_eq!(header.header_range(), chat.header_range());
        unchanged_but_for(&chat);
        records(&chat);
    }
}

fn lines(chat: &Chat<'_>) -> Vec<Range<usize>> {
    (0..chat.len()).filter_map(|message| chat.line_range(message)).collect()
}

/// What a reader without shortcuts finds: every line that is a value which JavaScript takes for true.
fn plainly_read(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in bytes.split(|&byte| byte == b'\n') {
        if Raw::document(line).is_ok_and(|value| value.is_truthy()) {
            found.push(start..start + line.len());
        }
        start += line.len() + 1;
    }
    found
}

fn read(bytes: &[u8], chat: &Chat<'_>) {
    let all: Vec<_> = chat.header_range().into_iter().chain(lines(chat)).collect();
    assert_eq!(all, plainly_read(bytes));
    assert_eq!(chat.header_range().is_some(), chat.header().is_some());
    assert_eq!(all.is_empty(), chat.damage().contains(&Damage::Empty));
    for message in 0..chat.len() {
        assert!(chat.message(message).is_some());
        assert_eq!(chat.line(message), chat.line_range(message).map(|range| &bytes[range]));
    }
    assert_eq!(chat.message(chat.len()).map(|message| message.range()), None);
    for message in (0..chat.len()).take(MESSAGES) {
        let is_torn = chat.is_torn_after(message);
        assert!(!is_torn || !chat.damage().is_empty(), "{message} is torn in a sound chat");
    }
    assert_eq!(chat.metadata().is_some(), chat.metadata_value() != Json::Null);
    assert!(chat.deep_metadata().is_empty() || chat.metadata().is_some());
    assert!(chat.links().iter().all(|link| !link.is_empty()));
}

/// Rewriting a chat changes the lines that it names and no other byte.
fn unchanged_but_for(chat: &Chat<'_>) {
    let bytes = chat.bytes();
    assert_eq!(Rewrite::default().of(chat, None).to_vec(), bytes);
    let text_of = |chat: &Chat<'_>| -> Vec<Vec<u8>> {
        (0..chat.len()).filter_map(|message| chat.line(message)).map(<[u8]>::to_vec).collect()
    };
    let before = text_of(chat);

    if let Some(last) = chat.len().checked_sub(1) {
        let cut = Rewrite::default().of(chat, Some(last / 2)).to_vec();
        assert_eq!(text_of(&Chat::read(&cut, chat.kind())), before[..=last / 2]);
    }
    if chat.is_sound_to_fork() {
        let changes = [("a key", Edit::Set(Json::from("new"))), ("main_chat", Edit::Remove)];
        let header = Some(rewrite::header(chat, &changes));
        let file = Rewrite { header, ..Rewrite::default() }.of(chat, None).to_vec();
        let after = Chat::read(&file, chat.kind());
        assert_eq!(text_of(&after), before);
        let metadata = after.metadata().expect("a header has metadata");
        assert!(metadata.get("a key").is_some_and(|value| value.is_text("new")));
        assert!(metadata.get("main_chat").is_none());
    }
    for message in (0..chat.len()).take(MESSAGES) {
        let is_object =
            chat.message(message).is_some_and(|message| message.kind() == JsonKind::Object);
        let linked = rewrite::linked(chat, message, "a chat");
        assert_eq!(linked.is_some(), is_object);
        let Some(line) = linked else { continue };
        let messages = [(message, line)].into();
        let file = Rewrite { messages, ..Rewrite::default() }.of(chat, None).to_vec();
        let after = Chat::read(&file, chat.kind());
        assert!(after.links().iter().any(|link| link == "a chat"));
        let mut text = text_of(&after);
        assert_eq!(text.len(), before.len());
        text[message].clone_from(&before[message]);
        assert_eq!(text, before);
    }
    let (rewrite, count) = rewrite::stripped(chat);
    assert!(count <= chat.len());
    let file = rewrite.of(chat, None).to_vec();
    let stripped = Chat::read(&file, chat.kind());
    assert_eq!(stripped.len(), chat.len());
    assert_eq!(rewrite::stripped(&stripped).1, 0);
    let records = Records::of(&stripped);
    assert!((0..records.len()).all(|message| records.get(message).is_none()));
}

/// The states that the records of a chat fold to.
fn records(chat: &Chat<'_>) {
    let records = Records::of(chat);
    assert_eq!(records.len(), chat.len());
    for message in (0..chat.len()).rev().take(MESSAGES) {
        let newest = records.newest(message);
        assert_eq!(newest, records.newest(message));
        assert!(newest.is_none_or(|folded| folded.message <= message));
        let seen = records.newest_with_book(message);
        assert!(seen.is_none_or(|folded| folded.message <= message));
        drop(records.tip(message));
        assert!(message + 1 < chat.len() || records.testimony(message).is_none());
    }
    records.walk(0, usize::MAX, |message, _, _| {
        assert!(message < chat.len());
        ControlFlow::Continue(())
    });
    if let Some(last) = chat.len().checked_sub(1) {
        assert_eq!(journal::fold(chat, last), records.newest(last));
        drop(journal::keys_on_messages(chat, last));
    }
}
