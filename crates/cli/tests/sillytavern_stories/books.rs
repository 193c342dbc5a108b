//! Each chat's own lorebook: found on opening, reported when missing, cleaned up when unused.
//!
//! The scenarios are those of requirement document S2. "Opening" means what a page does: it
//! requests the chat, and then the lorebook named in its header. The page itself is tested with the
//! extension.

use forklore_testkit::sillytavern::Server;
use serde_json::{Value, json};

use super::command::texts;
use super::lore::{book, content, entry, queue, said, scene_break, unmarked};
use super::stage::{Fork, Stage};
use super::tale::Tale;

pub(crate) fn s2_t1_switching(server: &Server) {
    let stage = Stage::solo(server, "Switch");
    let tale = a_story(&stage);
    let fork = stage.fork("checkpoint", &tale.chat, &[]);

    let mine = stage.lore(&tale.book);
    let (childs, _) = unmarked(&stage.scanned(&fork.chat));
    assert_eq!(childs, mine);
    // A queued operation in the checkpoint.
    let busy = childs.replace("completed", "pending");
    assert_ne!(busy, childs);
    stage.api().edit_book(&fork.book, &busy).ok();

    assert_eq!(stage.scanned(&tale.chat), mine);
    assert_eq!(stage.scanned(&fork.chat), busy);
    assert_eq!(stage.scanned(&tale.chat), mine);
    // The main chat is not busy, the checkpoint is.
    assert_eq!(stage.run(&["check", &stage.label(&tale.chat)]).code, 0);
    let check = stage.run(&["check", &stage.label(&fork.chat)]);
    assert_eq!(check.code, 1);
    assert!(check.out.contains("1 pending"), "{check:?}");
    stage.api().edit_book(&fork.book, &childs).ok();
}

pub(crate) fn s2_t2_rapid_switching(server: &Server) {
    let stage = Stage::solo(server, "Rapid");
    let tale = a_story(&stage);
    let forks: Vec<Fork> = (0..3).map(|_| stage.fork("checkpoint", &tale.chat, &[])).collect();
    let chats: Vec<&str> = std::iter::once(&tale.chat)
        .chain(forks.iter().map(|fork| &fork.chat))
        .map(String::as_str)
        .collect();
    let names = |chat: &str| stage.metadata(chat)["world_info"].as_str().unwrap().to_owned();
    let mut all: Vec<String> = chats.iter().map(|chat| names(chat)).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4, "two chats have one book");

    for (number, chat) in chats.iter().enumerate() {
        let mut lore: Value = serde_json::from_str(&stage.scanned(chat)).unwrap();
        lore["entries"]["0"]["content"] = json!(format!("The lamp of {number}."));
        stage.api().edit_book(&names(chat), &lore.to_string()).ok();
    }
    for at in [1, 2, 0, 3, 1, 0] {
        let lore = serde_json::from_str(&stage.scanned(chats[at])).unwrap();
        assert_eq!(content(&lore, "Lamp"), Some(format!("The lamp of {at}.").as_str()));
    }
}

pub(crate) fn s2_t3_missing_book(server: &Server) {
    let stage = Stage::solo(server, "Missing");
    let tale = a_story(&stage);
    stage.api().edit_book("Spare", &book(&[entry(3, "Spare", "Kept aside.")])).ok();
    let spare = stage.lore("Spare");
    let then = tale.books[2].clone();
    // The parent changes its book, so that it differs from the child's.
    tale.write(&book(&[entry(0, "Lamp", "It went out in the main chat.")]));
    let parents = stage.lore(&tale.book);

    let lore = |fork: &Fork| unmarked(&stage.scanned(&fork.chat)).0;
    let journal = repaired(&stage, &tale, &["--from", "journal"]);
    assert_eq!(lore(&journal), then);
    let chosen = repaired(&stage, &tale, &["--from", "book=Spare"]);
    assert_eq!(lore(&chosen), spare);
    let copied = repaired(&stage, &tale, &["--from", "book"]);
    assert_eq!(lore(&copied), parents);
    let empty = repaired(&stage, &tale, &["--from", "empty"]);
    assert_eq!(lore(&empty), r#"{"entries":{}}"#);

    // ST-Auto-Recap's copy keeps every entry, though not every field.
    let recap = repaired(&stage, &tale, &["--from", "recap"]);
    let rebuilt: Value = serde_json::from_str(&lore(&recap)).unwrap();
    let original: Value = serde_json::from_str(&then).unwrap();
    assert_eq!(rebuilt["entries"].as_object().unwrap().len(), 1, "all but the queue");
    let (rebuilt, original) = (&rebuilt["entries"]["0"], &original["entries"]["0"]);
    for field in ["uid", "key", "comment", "content", "order", "probability"] {
        assert_eq!(rebuilt[field], original[field], "{field}");
    }

    // Detaching rewrites the chat, which a page may have open, so it requires `--closed`.
    let fork = lost(&stage, &tale);
    let label = stage.label(&fork.chat);
    let saved = stage.file(&fork.chat);
    let reasons = ["may be open in SillyTavern", "--closed"];
    // Makes the file as new as after a save from an open page.
    stage.append(&fork.chat, &said("Just now")).ok();
    stage.run(&["repair", &label, "--from", "detach"]).refused(&reasons);
    assert!(stage.file(&fork.chat).starts_with(&saved));
    stage.run(&["repair", &label, "--from", "detach", "--closed"]).ok();
    assert_eq!(stage.metadata(&fork.chat).get("world_info"), None);
    assert!(!stage.findings(&fork.chat).iter().any(|(is_problem, _)| *is_problem));
    assert_eq!(stage.run(&["verify", &label]).code, 0);
    stage.append(&fork.chat, &said("And on, without a book")).ok();
}

/// A checkpoint whose book was deleted in SillyTavern, which `verify` reports.
fn lost(stage: &Stage<'_>, tale: &Tale<'_>) -> Fork {
    let fork = stage.fork("checkpoint", &tale.chat, &["--at", "2"]);
    stage.api().delete_book(&fork.book).ok();
    // SillyTavern itself does not report it: it returns an empty book.
    assert_eq!(stage.api().get_book(&fork.book).ok().body, r#"{"entries":{}}"#);
    let missing = format!("its lorebook {:?} does not exist", fork.book);
    assert_eq!(stage.findings(&fork.chat), [(true, missing.clone())]);
    let verified = stage.run(&["verify", &stage.label(&fork.chat)]);
    assert_eq!(verified.code, 1);
    assert!(verified.out.contains(&missing), "{verified:?}");
    // Its messages still record what was in it.
    let branch = stage.fork("branch", &fork.chat, &["--at", "1", "--allow", "exact"]);
    assert_eq!(unmarked(&stage.scanned(&branch.chat)).0, tale.books[1]);
    fork
}

fn repaired(stage: &Stage<'_>, tale: &Tale<'_>, how: &[&str]) -> Fork {
    let fork = lost(stage, tale);
    let (header, label) = (stage.metadata(&fork.chat), stage.label(&fork.chat));
    let said = stage.run(&[&["repair", label.as_str()], how].concat()).ok();
    assert!(said.starts_with(&format!("Repaired {label}\n")), "{said}");
    assert_eq!(stage.metadata(&fork.chat), header, "found again under its old name");
    assert!(stage.books().contains(&fork.book));
    assert!(!stage.findings(&fork.chat).iter().any(|(is_problem, _)| *is_problem), "{how:?}");
    assert_eq!(stage.run(&["verify", &label]).code, 0);
    fork
}

pub(crate) fn s2_t4_cleanup(server: &Server) {
    let stage = Stage::solo(server, "Cleanup");
    let tale = a_story(&stage);
    let fork = stage.fork("checkpoint", &tale.chat, &[]);
    assert_eq!(orphans(&stage), [] as [&str; 0]);

    stage.delete(&fork.chat);
    let bytes = stage.book_file(&fork.book).unwrap();
    let said = stage.run(&["clean", "--dry-run"]).ok();
    let made_for = format!("  {:?}  made for {:?}, ", fork.book, fork.chat);
    assert!(said.contains("Unused:\n") && said.contains(&made_for), "{said}");
    assert_eq!(orphans(&stage), [fork.book.as_str()]);
    stage.run(&["clean"]).refuses_without_asking();
    assert_eq!(stage.book_file(&fork.book).as_deref(), Some(bytes.as_str()));

    let said = stage.run(&["clean", "--yes"]).ok();
    let end = said.lines().last().unwrap_or_default();
    assert!(end.starts_with("Moved 1 lorebook to the trash. `forklore "), "{said}");
    assert!(end.ends_with(" undo` brings them back."), "{said}");
    assert_eq!(stage.book_file(&fork.book), None);
    assert!(!stage.books().contains(&fork.book));
    assert!(stage.books().contains(&tale.book), "it took a book that is not ours");

    stage.run(&["undo"]).ok();
    assert_eq!(stage.book_file(&fork.book), Some(bytes));
    assert!(stage.books().contains(&fork.book));
    stage.run(&["clean", "--yes"]).ok();
    assert_eq!(orphans(&stage), [] as [&str; 0]);
}

pub(crate) fn s2_t5_reference_count(server: &Server) {
    let stage = Stage::solo(server, "Counted");
    let mut tale = Tale::unrecorded(&stage, &book(&[entry(0, "Lamp", "It burns.")]));
    tale.say(&said("First"));
    tale.save();
    let first = stage.fork("checkpoint", &tale.chat, &[]);
    let second = stage.fork("checkpoint", &tale.chat, &[]);
    stage.change_metadata(&second.chat, |metadata| metadata["world_info"] = json!(first.book));
    // Two chats of a family sharing one book is a problem, and is reported.
    assert_eq!(stage.run(&["verify", &stage.label(&second.chat)]).code, 1);
    assert_eq!(orphans(&stage), [second.book.as_str()]);
    stage.run(&["clean", "--yes"]).ok();

    stage.delete(&first.chat);
    kept(&stage, &first.book, &format!("bound to {:?}", second.chat));
    stage.api().rename_chat(stage.avatar(), &second.chat, "Renamed").ok();
    kept(&stage, &first.book, "bound to \"Renamed\"");

    select_globally(&stage, &[&first.book]);
    stage.delete("Renamed");
    kept(&stage, &first.book, "selected for all chats");
    assert!(stage.run(&["clean", "--dry-run"]).ok().contains("in use: selected for all chats"));

    select_globally(&stage, &[]);
    assert_eq!(orphans(&stage), [first.book.as_str()]);
    stage.run(&["clean", "--yes"]).ok();
    assert!(!stage.books().contains(&first.book));
    stage.assert_no_findings(&[&tale.chat]);
}

/// ST-Auto-Recap follows the book names in its messages, so these count as references too.
pub(crate) fn s2_t5_references_of_recaps(server: &Server) {
    let stage = Stage::solo(server, "Followed");
    let tale = a_story(&stage);
    let fork = stage.fork("checkpoint", &tale.chat, &[]);
    stage.change_metadata(&fork.chat, |metadata| {
        metadata.as_object_mut().unwrap().remove("world_info");
    });
    kept(&stage, &fork.book, &format!("named by the recaps of {:?}", fork.chat));
    stage.delete(&fork.chat);
    assert_eq!(orphans(&stage), [fork.book.as_str()]);
    stage.run(&["clean", "--yes"]).ok();
}

fn orphans(stage: &Stage<'_>) -> Vec<String> {
    let (code, said) = stage.run_json(&["clean", "--dry-run"]);
    assert_eq!((code, &said["unread"]), (0, &json!([])), "{said:#}");
    texts(&said["removed"]).into_iter().map(str::to_owned).collect()
}

#[track_caller]
fn kept(stage: &Stage<'_>, book: &str, why: &str) {
    let (code, said) = stage.run_json(&["clean", "--yes"]);
    assert_eq!((code, &said["removed"]), (0, &json!([])), "{said:#}");
    let kept = said["kept"].as_array().unwrap().iter().find(|kept| kept["book"] == book);
    assert_eq!(kept.unwrap()["why"]["text"], format!("in use: {why}"));
    assert!(stage.books().contains(&book.to_owned()));
}

fn select_globally(stage: &Stage<'_>, books: &[&str]) {
    let settings = stage.api().get_settings().ok().json()["settings"].take();
    let mut settings: Value = serde_json::from_str(settings.as_str().unwrap()).unwrap();
    settings["world_info_settings"]["world_info"]["globalSelect"] = json!(books);
    stage.api().save_settings(&settings.to_string()).ok();
}

/// Three messages with a book. The last one is a scene break with a copy of it.
fn a_story<'a>(stage: &'a Stage<'a>) -> Tale<'a> {
    let lamp = entry(0, "Lamp", "It burns.");
    let mut tale = Tale::recorded(stage, &book(&[lamp.clone(), queue(&["completed"], None)]));
    tale.say(&said("First"));
    tale.say(&said("Second"));
    tale.say(&scene_break("Third", Some((&stage.book(), &[lamp]))));
    tale.save();
    tale
}

impl super::command::Ran {
    #[track_caller]
    fn refuses_without_asking(self) {
        assert_eq!(self.code, 2, "{self:?}");
        assert!(self.err.contains("confirmation needs a terminal"), "{self:?}");
    }
}
