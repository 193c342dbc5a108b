//! Checks that everything an edit does not name keeps its bytes.
//!
//! Documents are assembled from pieces with known bytes. The expected result is assembled from the
//! same pieces, without parsing anything.

mod pieces;

use fastrand::Rng;
use forklore_core::journal::rewrite::{self, Rewrite};
use forklore_core::sillytavern::book::{Book, NAMESPACE};
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_json::{Edit, Edits, Json, Raw};
use forklore_testkit::cases;
use forklore_testkit::json_text::{self, Oddities};

use pieces::{Layout, PiecedObject};

/// The keys that edits name. The generator never produces them by chance.
const NAMED: [&str; 3] = ["world_info", "forklore", "bookmark_link"];

fn fresh_value(rng: &mut Rng) -> Json {
    let text = json_text::value(rng, Oddities::TIGHT);
    Json::parse(&text).expect("it is JSON")
}

#[test]
fn a_line_keeps_every_byte_that_an_edit_does_not_name() {
    cases::run("fidelity of lines", cases::count_from("FORKLORE_LINES", 200_000), |rng| match rng
        .u8(..5)
    {
        0 => a_member_of_a_message(rng),
        1 => a_member_of_the_header(rng),
        2 => a_link(rng),
        3 => an_element(rng),
        _ => members_anywhere(rng),
    });
}

fn any_change(rng: &mut Rng) -> Edit {
    if rng.u8(..3) == 0 { Edit::Remove } else { Edit::Set(fresh_value(rng)) }
}

fn a_member_of_a_message(rng: &mut Rng) {
    let object = PiecedObject::any(rng, Oddities::LINE, &NAMED);
    let (before, after) = around(rng);
    let line = [&before[..], &object.text(), &after].concat();
    let (key, change) = (NAMED[rng.usize(..3)], any_change(rng));
    let changed = rewrite::message(&line, key, change.clone()).expect("it is an object");
    object.check(&before, &after, &[(key, change)], Layout::ONE_LINE, 0, &changed);
}

/// Whitespace before and after a value.
fn around(rng: &mut Rng) -> (Vec<u8>, Vec<u8>) {
    let mut some = || json_text::whitespace(rng, Oddities::LINE).as_bytes().to_vec();
    (some(), some())
}

fn a_member_of_the_header(rng: &mut Rng) {
    let metadata = PiecedObject::any(rng, Oddities::LINE, &NAMED);
    let mut header = PiecedObject::any(rng, Oddities::LINE, &[]);
    header.push(rng, Oddities::LINE, "chat_metadata", metadata.text());
    let (head, tail) = header.around_value_of_last();
    let (before, after) = around(rng);
    let lines: Vec<Vec<u8>> =
        (0..rng.usize(..4)).map(|_| json_text::document(rng, Oddities::LINE)).collect();
    let rest = lines.iter().flat_map(|line| [b"\n", &line[..]].concat()).collect::<Vec<u8>>();
    let file = [&before[..], &header.text(), &after, &rest].concat();

    let chat = Chat::read(&file, ChatKind::Solo);
    let changes = [("world_info", any_change(rng)), ("forklore", any_change(rng))];
    let new_header = rewrite::header(&chat, &changes);
    let (outer_head, outer_tail) = ([&before[..], &head].concat(), [&tail[..], &after].concat());
    metadata.check(&outer_head, &outer_tail, &changes, Layout::ONE_LINE, 1, &new_header);

    let rewritten = Rewrite { header: Some(new_header.clone()), ..Rewrite::default() };
    assert_eq!(rewritten.of(&chat, None).to_vec(), [&new_header[..], &rest].concat());
}

fn a_link(rng: &mut Rng) {
    let extra = PiecedObject::any(rng, Oddities::LINE, &["bookmark_link"]);
    let mut message = PiecedObject::any(rng, Oddities::LINE, &[]);
    message.push(rng, Oddities::LINE, "extra", extra.text());
    let (head, tail) = message.around_value_of_last();
    let file = [b"{\"chat_metadata\":{}}\n", &message.text()[..]].concat();
    let chat = Chat::read(&file, ChatKind::Solo);
    let linked = rewrite::linked(&chat, 0, "Child \"雨\"").expect("it is an object");
    let changes = [("bookmark_link", Edit::Set(Json::from("Child \"雨\"")))];
    extra.check(&head, &tail, &changes, Layout::ONE_LINE, 1, &linked);
}

fn an_element(rng: &mut Rng) {
    let elements: Vec<Vec<u8>> =
        (0..rng.usize(..4)).map(|_| json_text::value(rng, Oddities::LINE)).collect();
    let mut object = PiecedObject::any(rng, Oddities::LINE, &[]);
    let gap = json_text::whitespace(rng, Oddities::LINE).as_bytes();
    let list = [&b"["[..], &elements.join(&b','), gap, b"]"].concat();
    object.push(rng, Oddities::LINE, "chats", list);
    let (head, tail) = object.around_value_of_last();
    let text = object.text();

    let root = Raw::document(&text).expect("it is JSON");
    let value = fresh_value(rng);
    let mut edits = Edits::of(root);
    edits.append(root.get("chats").expect("it is there"), 1, &value);
    let mut all = elements;
    all.push(value.stringify());
    let joined = all.join(&b',');
    let expected = if all.len() == 1 {
        [&head[..], b"[", gap, &joined, b"]", &tail].concat()
    } else {
        [&head[..], b"[", &joined, gap, b"]", &tail].concat()
    };
    assert_eq!(edits.apply(), expected);
}

/// Several changes at once, in a document that may span many lines.
fn members_anywhere(rng: &mut Rng) {
    let layout = Layout::any(rng);
    let object = PiecedObject::laid_out(rng, layout, &NAMED, 0);
    let text = object.text();
    let root = Raw::document(&text).expect("it is JSON");
    let changes: Vec<(&str, Edit)> =
        NAMED[..rng.usize(1..=3)].iter().map(|key| (*key, any_change(rng))).collect();
    let mut edits = Edits::of(root);
    edits.change(root, 0, &changes);
    // A document without members has no recognisable layout.
    let layout = if object.is_empty() { Layout::ONE_LINE } else { layout };
    object.check(b"", b"", &changes, layout, 0, &edits.apply());
}

#[test]
fn a_book_keeps_every_byte_but_its_mark() {
    cases::run("fidelity of books", cases::count_from("FORKLORE_BOOKS", 1000), |rng| {
        let layout = Layout::any(rng);
        let mut book = PiecedObject::laid_out(rng, layout, &[], 0);
        let entries = PiecedObject::laid_out(rng, layout, &[], 1);
        book.push_laid_out(layout, "entries", entries.text(), 0);
        let mark = fresh_value(rng);
        let has_extensions = rng.bool();
        let bom = if rng.u8(..4) == 0 { &b"\xEF\xBB\xBF"[..] } else { b"" };
        if has_extensions {
            let extensions = PiecedObject::laid_out(rng, layout, &["forklore"], 1);
            book.push_laid_out(layout, "extensions", extensions.text(), 0);
            let (head, tail) = book.around_value_of_last();
            let file = [bom, &book.text()].concat();
            let read = Book::read(&file).expect("it has entries");
            let change = if rng.bool() { Some(&mark) } else { None };
            let marked = read.with_mark(change);
            let change = change.map_or(Edit::Remove, |mark| Edit::Set(mark.clone()));
            extensions.check(&head, &tail, &[(NAMESPACE, change)], layout, 1, &marked);
        } else {
            let file = [bom, &book.text()].concat();
            let read = Book::read(&file).expect("it has entries");
            assert_eq!(read.with_mark(None), book.text(), "there was no mark to take away");
            let extensions = Json::object([(NAMESPACE, mark.clone())]);
            let changes = [("extensions", Edit::Set(extensions))];
            let marked = read.with_mark(Some(&mark));
            book.check(b"", b"", &changes, layout, 0, &marked);
            let without_mark = Book::read(&marked).expect("it is still a book");
            assert_eq!(without_mark.digest(), read.digest(), "a mark is no lore");
        }
    });
}
