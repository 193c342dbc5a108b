//! A fork made next to a running SillyTavern looks as if SillyTavern had made it.

use forklore_testkit::sillytavern::{Metadata, Server};
use serde_json::{Value, json};

use super::lore::{QUEUE, book, entry, queue, said, unmarked};
use super::stage::{Fork, Stage};
use super::tale::Tale;

pub(crate) fn a_branch_at_the_last_message(server: &Server) {
    let stage = Stage::solo(server, "Ada");
    let tale = a_story(&stage);
    is_at_home(&stage, &tale, "branch", tale.last(), &[]);
}

pub(crate) fn a_checkpoint_at_an_earlier_message(server: &Server) {
    let stage = Stage::solo(server, "Bea");
    let tale = a_story(&stage);
    is_at_home(&stage, &tale, "checkpoint", 3, &["--at", "3", "--allow", "exact"]);
}

pub(crate) fn a_groups_branch_at_an_earlier_message(server: &Server) {
    let stage = Stage::group(server, "Friends");
    let tale = a_story(&stage);
    is_at_home(&stage, &tale, "branch", 2, &["--at", "2", "--allow", "exact"]);
}

pub(crate) fn a_groups_checkpoint_at_the_last_message(server: &Server) {
    let stage = Stage::group(server, "Rivals");
    let tale = a_story(&stage);
    is_at_home(&stage, &tale, "checkpoint", tale.last(), &["--at", "-1"]);
}

/// The second fork drops the first one's seal, and is made from its book.
pub(crate) fn a_branch_of_a_branch(server: &Server) {
    let stage = Stage::solo(server, "Cleo");
    let tale = a_story(&stage);
    let first = stage.fork("branch", &tale.chat, &["--at", "3"]);
    let grown = book(&[entry(0, "Lamp", "It burns in the first branch.")]);
    stage.api().edit_book(&first.book, &grown).ok();
    stage.append(&first.chat, &said("On the first branch")).ok();

    let second = stage.fork("branch", &first.chat, &[]);
    assert_ne!(second.book, first.book);
    let metadata = stage.metadata(&second.chat);
    assert_eq!(metadata["main_chat"], *first.chat);
    assert_eq!(metadata["forklore"]["parent"]["chat"], *first.chat);
    assert_eq!(metadata["forklore"]["parent"]["message"], 4);
    let (lore, mark) = unmarked(&stage.lore(&second.book));
    assert_eq!(lore, grown);
    assert_eq!(mark["from"]["book"], *first.book);
    stage.assert_no_findings(&[&tale.chat, &first.chat, &second.chat]);
}

/// With `--closed` the parent gets the link that SillyTavern would write, and nothing else.
pub(crate) fn the_link_of_a_closed_parent(server: &Server) {
    let stage = Stage::solo(server, "Dora");
    let tale = a_story(&stage);
    let mut expected = stage.lines(&tale.chat);
    let fork = stage.fork("checkpoint", &tale.chat, &["--at", "3", "--closed"]);
    assert_eq!(fork.said["link"], "written");
    expected[4]["extra"]["bookmark_link"] = json!(fork.chat);
    assert_eq!(stage.lines(&tale.chat), expected);
    stage.append(&tale.chat, &said("And on")).ok();
    stage.assert_no_findings(&[&tale.chat, &fork.chat]);
}

/// Six messages, each of which records its state. The book and a variable change at every second
/// one.
fn a_story<'a>(stage: &'a Stage<'a>) -> Tale<'a> {
    let mut tale = Tale::recorded(stage, &book(&[entry(0, "Lamp", "It burns.")]));
    for number in 0..6 {
        if number % 2 == 1 {
            tale.write(&book(&[
                entry(0, "Lamp", &format!("It has burnt for {number} messages.")),
                entry(10 + number, "Wind", &format!("It rose at {number}.")),
                queue(&["completed"], None),
            ]));
            tale.metadata["variables"] = json!({ "mood": format!("of message {number}") });
        }
        tale.say(&said(&format!("Message {number}")));
        tale.save();
    }
    // SillyTavern preserves the whole message, including Forklore's record.
    let opened: Vec<Value> = stage.lines(&tale.chat);
    let saved: Vec<Value> =
        tale.lines().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(opened, saved);
    assert!(opened[1..].iter().all(|message| message["forklore"]["id"].is_string()));
    assert_eq!(stage.file(&tale.chat), tale.lines().join("\n"));
    tale
}

fn is_at_home(stage: &Stage<'_>, tale: &Tale<'_>, kind: &str, m: usize, more: &[&str]) {
    let chat = &tale.chat;
    let parent = stage.file(chat);
    let parents_book = stage.book_file(&tale.book);
    let label = stage.label(chat);
    let would = stage.run(&[&[kind, label.as_str(), "--dry-run"], more].concat()).ok();
    assert!(would.starts_with(&format!("Would make the {kind} ")), "{would}");
    assert!(would.contains(&format!("of {label} at message {m}\n")), "{would}");

    let fork = stage.fork(kind, chat, more);
    assert_eq!(fork.said["message"], m);
    assert_eq!(fork.said["book"]["known"]["exactness"], "exact");
    assert_eq!(fork.said["metadata_known"]["exactness"], "exact");
    assert_eq!(stage.file(chat), parent, "the parent changed");
    assert_eq!(stage.book_file(&tale.book), parents_book, "the parent's book changed");
    stage.assert_no_findings(&[chat, &fork.chat]);

    messages_are_the_parents(stage, chat, &fork, m);
    header_is_its_own(stage, tale, &fork, kind, m);
    book_is_that_of_then(stage, tale, &fork, m);
    is_listed(stage, chat, &fork, m);
    saves_go_on(stage, chat, &fork);
    stage.assert_no_findings(&[chat, &fork.chat]);
}

fn messages_are_the_parents(stage: &Stage<'_>, chat: &str, fork: &Fork, m: usize) {
    let (parent, child) = (stage.file(chat), stage.file(&fork.chat));
    let after_header = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    let messages: Vec<&str> = parent.split('\n').skip(1).take(m + 1).collect();
    assert_eq!(after_header(&child), messages.join("\n"));
    assert_eq!(stage.lines(&fork.chat)[1..], stage.lines(chat)[1..m + 2]);
}

fn header_is_its_own(stage: &Stage<'_>, tale: &Tale<'_>, fork: &Fork, kind: &str, m: usize) {
    let header = stage.lines(&fork.chat).swap_remove(0);
    assert_eq!(
        (&header["user_name"], &header["character_name"]),
        (&json!("unused"), &json!("unused"))
    );
    let metadata = &header["chat_metadata"];
    assert_eq!(metadata["main_chat"], *tale.chat);
    assert_eq!(metadata["world_info"], *fork.book);
    assert_ne!(fork.book, tale.book);
    let slug = metadata["integrity"].as_str().unwrap();
    assert_ne!(slug, tale.metadata["integrity"]);
    assert_eq!((slug.len(), slug.as_bytes()[14]), (36, b'4'), "no uuid of version 4: {slug}");
    // The variable as of message m, not as of today.
    let changed = if m % 2 == 1 { m } else { m - 1 };
    assert_eq!(metadata["variables"]["mood"], format!("of message {changed}"));

    let seal = &metadata["forklore"];
    assert_eq!((&seal["kind"], &seal["parent"]["message"]), (&json!(kind), &json!(m)));
    assert_eq!(seal["parent"]["chat"], *tale.chat);
    assert_eq!(seal["parent"]["integrity"], tale.metadata["integrity"]);
    assert_eq!(
        (&seal["book"]["name"], &seal["book"]["from"]),
        (&json!(fork.book), &json!(tale.book))
    );
    assert_eq!(seal["book"]["exactness"], "exact");
}

fn book_is_that_of_then(stage: &Stage<'_>, tale: &Tale<'_>, fork: &Fork, m: usize) {
    let (lore, mark) = unmarked(&stage.lore(&fork.book));
    assert_eq!(lore, tale.books[m]);
    if m < tale.last() {
        assert_ne!(lore, stage.lore(&tale.book), "nothing has changed since: this shows nothing");
    }
    assert_eq!((&mark["chat"], &mark["from"]["chat"]), (&json!(fork.chat), &json!(tale.chat)));
    assert_eq!((&mark["from"]["book"], &mark["from"]["message"]), (&json!(tale.book), &json!(m)));
}

fn is_listed(stage: &Stage<'_>, chat: &str, fork: &Fork, m: usize) {
    let Some(id) = stage.group_id() else {
        let listed = stage.api().list_chats(stage.avatar(), Metadata::With).ok().json();
        let listed = listed.as_array().unwrap();
        let child = listed.iter().find(|chat| chat["file_id"] == *fork.chat).unwrap();
        assert_eq!(child["chat_items"], m + 1);
        assert_eq!(child["chat_metadata"], stage.metadata(&fork.chat));
        return;
    };
    let expected = json!([chat, fork.chat]);
    assert_eq!(stage.group_file()["chats"], expected);
    let groups = stage.api().all_groups().ok().json();
    let group = groups.as_array().unwrap().iter().find(|group| group["id"] == id).unwrap();
    assert_eq!(group["chats"], expected);
    assert_eq!(group["chat_id"], chat, "the page's chat was switched under it");
}

/// SillyTavern saves both sides as usual, and its rewriting of chat and book preserves Forklore's
/// data.
fn saves_go_on(stage: &Stage<'_>, chat: &str, fork: &Fork) {
    let parents_slug = stage.metadata(chat)["integrity"].take();
    let seal = stage.metadata(&fork.chat)["forklore"].take();
    let before = stage.lines(&fork.chat);

    let mut stranger = before.clone();
    stranger[0]["chat_metadata"]["integrity"] = parents_slug;
    let stranger: Vec<String> = stranger.iter().map(Value::to_string).collect();
    let refused = stage.save(&fork.chat, &stranger);
    assert_eq!((refused.status, refused.body.as_str()), (400, r#"{"error":"integrity"}"#));
    assert_eq!(stage.lines(&fork.chat), before);

    stage.append(&fork.chat, &said("On the child's side")).ok();
    stage.append(chat, &said("On the parent's side")).ok();
    let after = stage.lines(&fork.chat);
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(after[before.len()], said("On the child's side"));
    assert_eq!(after[0]["chat_metadata"]["forklore"], seal);

    let marked = stage.lore(&fork.book);
    stage.api().edit_book(&fork.book, &marked).ok();
    assert_eq!(stage.lore(&fork.book), marked);
}

/// A book as left by other tools and manual edits. The keys are in SillyTavern's order; the numbers
/// and unpaired surrogates are as SillyTavern writes them.
const ODD: &str = r#"{"entries":{"0":{"uid":0,"key":["lamp","ランプ"],"keysecondary":["oil"],"comment":"Lamp","content":"It burns.\u0007\u2028 🏮","constant":false,"vectorized":false,"selective":true,"selectiveLogic":3,"addMemo":true,"order":100,"position":7,"disable":false,"ignoreBudget":true,"excludeRecursion":false,"preventRecursion":true,"matchPersonaDescription":true,"delayUntilRecursion":2,"probability":33.3,"useProbability":true,"depth":4,"outletName":"shelf","group":"g","groupOverride":true,"groupWeight":7,"scanDepth":null,"caseSensitive":null,"matchWholeWords":true,"useGroupScoring":null,"automationId":"a","role":null,"sticky":null,"cooldown":3,"delay":null,"triggers":["normal","swipe"],"displayIndex":41,"characterFilter":{"isExclude":true,"names":["Odd"],"tags":["t"]},"extensions":{"other":{"kept":[1,null]}}},"5":{"10":"ten","uid":5,"unknown":{"z":1,"a":{"deep":[[]]}},"content":"half \ud83d of it","comment":"","huge":1e21,"tiny":1e-7,"many":12345678901234567890,"enabled":true},"6":{"uid":"6","content":""},"1763632438061":{"uid":1763632438061,"comment":"__operation_queue","content":"{\"queue\":[],\"current_operation_id\":null}","disable":true},"07":{"uid":5,"comment":"a second one with that uid"}},"name":"Shown as this","description":"of another tool","originalData":{"entries":[{"id":5,"keys":["\udc00"]}],"extensions":{}},"scan_depth":null}"#;

pub(crate) fn every_field_of_every_entry(server: &Server) {
    let stage = Stage::solo(server, "Odd");
    let mut tale = Tale::recorded(&stage, ODD);
    tale.say(&said("With the book as it was"));
    tale.write(&book(&[entry(0, "Lamp", "It went out.")]));
    tale.say(&said("With a later one"));
    tale.save();
    let odd = tale.books[0].clone();
    for kept in ["\\ud83d of it", "1e+21", "\"07\"", "\"1763632438061\"", "\\udc00"] {
        assert!(odd.contains(kept), "SillyTavern itself lost {kept}: {odd}");
    }
    assert!(odd.contains(&format!(r#""uid":{QUEUE}"#)));

    // One fork is rebuilt from the journal, another copied from the file.
    let rebuilt = stage.fork("branch", &tale.chat, &["--at", "0", "--allow", "exact"]);
    assert_eq!(rebuilt.said["book"]["known"]["source"], "journal");
    tale.write(&odd);
    tale.say(&said("With the first one again"));
    tale.save();
    let copied = stage.fork("branch", &tale.chat, &[]);
    assert_eq!(copied.said["book"]["known"]["source"], "files");
    for fork in [&rebuilt, &copied] {
        assert_eq!(fork.said["book"]["entries"], 5);
        let clone = stage.lore(&fork.book);
        assert_eq!(unmarked(&clone).0, odd);
        stage.api().edit_book(&fork.book, &clone).ok();
        assert_eq!(stage.lore(&fork.book), clone);
    }
    let listed = stage.api().list_books().ok().json();
    let named = |book: &Value| book["name"] == "Shown as this";
    assert_eq!(listed.as_array().unwrap().iter().filter(|book| named(book)).count(), 3);
    // Not even a note: SillyTavern's rewriting does not count as an edit of the sealed book.
    stage.assert_no_findings(&[&tale.chat, &rebuilt.chat, &copied.chat]);

    // The same holds for the file: the parent's bytes, followed by the mark.
    let parents = stage.book_file(&tale.book).unwrap();
    let fresh = stage.fork("branch", &tale.chat, &[]);
    let file = stage.book_file(&fresh.book).unwrap();
    let end = file.strip_prefix(parents.strip_suffix("\n}").unwrap());
    assert!(end.is_some_and(|end| end.starts_with(",\n    \"extensions\": {")), "{file}");
}
