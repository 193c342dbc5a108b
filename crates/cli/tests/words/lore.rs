//! A story and its branch, which diverged at message 2.
#![expect(clippy::unwrap_used, reason = "a helper outside a test function is still a test")]

use serde_json::{Value, json};

use crate::stage::Stage;

pub(crate) const BRANCH: &str = "Story - Branch #1";
pub(crate) const LORE: &str = "Lore";
pub(crate) const BRANCH_LORE: &str = "Story - Branch #1 - Lore";

/// Since the fork, the story has gained entries 3 to 5, changed entry 0 and removed entry 1. The
/// branch has changed entries 0 and 2 and added its own entry 3.
pub(crate) fn diverged(stage: Stage) -> Stage {
    let made = stage.run(["branch", "Story", "--at", "2"]);
    assert!(made.contains("Made the branch"), "{made}");
    edit(&stage, LORE, |entries| {
        entries["0"]["content"] = json!("lore 0 of the story");
        entries["0"]["key"] = json!(["entry 0", "zero"]);
        entries.as_object_mut().unwrap().shift_remove("1");
    });
    edit(&stage, BRANCH_LORE, |entries| {
        entries["0"]["order"] = json!(200);
        entries["2"]["content"] = json!("lore 2 of the branch");
        entries["3"] = entry(3, "The well", "A well that only the branch has.");
    });
    stage
}

/// The same, with conflicting edits.
pub(crate) fn conflicting(stage: Stage) -> Stage {
    let stage = diverged(stage);
    edit(&stage, BRANCH_LORE, |entries| {
        entries["0"]["content"] = json!("lore 0 of the branch");
        entries["1"]["content"] = json!("lore 1 of the branch");
    });
    stage
}

pub(crate) fn entry(uid: usize, title: &str, content: &str) -> Value {
    json!({ "uid": uid, "key": [title.to_lowercase()], "comment": title, "content": content })
}

/// Changes the entries of a book.
pub(crate) fn edit(stage: &Stage, book: &str, change: impl FnOnce(&mut Value)) {
    let mut lore = read(stage, book);
    change(&mut lore["entries"]);
    let text = serde_json::to_vec_pretty(&lore).unwrap();
    stage.scene.write(&format!("default-user/worlds/{book}.json"), &text);
}

pub(crate) fn read(stage: &Stage, book: &str) -> Value {
    let path = format!("default-user/worlds/{book}.json");
    serde_json::from_slice(&stage.scene.all()[&path]).unwrap()
}
