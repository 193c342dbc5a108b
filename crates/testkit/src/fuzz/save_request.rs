use forklore_core::plan::fork::Timestamp;
use forklore_core::plan::fork::child_save::{ChildSave, OpenChat};
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::sillytavern::save_request::{SaveRequest, lines, name_at_start};
use forklore_json::Raw;

/// A request of SillyTavern's page that saves a chat.
pub fn save_request(bytes: &[u8]) {
    let root = Raw::document(bytes);
    if let Ok(root) = root {
        drop(lines(root));
    }
    let named = name_at_start(bytes, ChatKind::Solo);
    let Ok(request) = SaveRequest::read(bytes, ChatKind::Solo) else { return };
    let root = root.expect("a request is JSON");
    let messages = root.get("chat").expect("a request has a chat");
    let file = request.file();
    assert_eq!(file, lines(messages));
    let count = messages.elements().count();
    assert_eq!(file.split(|&byte| byte == b'\n').count(), count.max(1));
    for line in file.split(|&byte| byte == b'\n').take(count) {
        assert!(Raw::document(line).is_ok(), "a line of the file is not a value");
    }

    let again = request.with(&file);
    let read = SaveRequest::read(&again, ChatKind::Solo).expect("it is a request still");
    assert_eq!(read.file(), file);
    let range = messages.range();
    assert!(again.starts_with(&bytes[..range.start]) && again.ends_with(&bytes[range.end..]));

    let open = OpenChat { name: request.name(), kind: ChatKind::Solo, integrity: None, book: None };
    assert!(named.is_none() || root.get("file_name").is_some(), "a name out of nowhere");
    if let Some(child) = ChildSave::of(request, &open, None) {
        let unbound =
            child.without_book("slug", ForkKind::Branch, &Timestamp { iso: String::new() });
        let unbound = SaveRequest::read(&unbound, ChatKind::Solo).expect("it is a request still");
        let metadata = unbound.metadata().expect("a child has metadata");
        assert!(metadata.get("world_info").is_none(), "it is bound to a book");
        assert_eq!(unbound.messages(), request.messages());
    }

    // The page may send a message that is `null` or too deep; SillyTavern passes over both.
    let chat = Chat::read(&file, ChatKind::Group);
    let seen = chat.len() + usize::from(chat.header().is_some());
    assert!(seen <= count);
    assert!(chat.damage().iter().all(|damage| damage.to_string().contains("nothing")));
}
