//! SillyTavern's own backups, imported as additional old versions.

use std::fs;
use std::path::PathBuf;

use forklore_history::exchange::backups::{Imported, import};
use forklore_history::file::FileName;
use forklore_history::record::scan::{SeenFiles, scan};
use forklore_history::version::commit::Origin;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::folder::layout::UserFolders;

use crate::stage::{Stage, fsck};

/// A user's folder.
struct Home {
    root: PathBuf,
}

impl Home {
    fn new(stage: &Stage) -> Self {
        let root = stage.path("data");
        for folder in ["chats/Anna", "chats/Anna Smith", "group chats", "backups", "worlds"] {
            fs::create_dir_all(root.join("default-user").join(folder)).unwrap();
        }
        Self { root }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.root.join("default-user").join(name), text).unwrap();
    }

    fn backup(&self, key: &str, hour: u32, text: &str) {
        self.write(&format!("backups/chat_{key}_20260101-{hour:02}0000.jsonl"), text);
    }

    fn folders(&self) -> UserFolders {
        UserFolders::new(&self.root, "default-user").unwrap()
    }

    fn record(&self, history: &mut History<'_>) -> usize {
        let mut remembered = SeenFiles::default();
        let scan = scan(history, &RealDisk, &self.folders(), &mut remembered, &|_, _| {}).unwrap();
        scan.recorded.len()
    }

    fn import(&self, history: &mut History<'_>) -> Imported {
        import(history, &RealDisk, &self.folders(), &|_, _| {}).unwrap()
    }
}

fn chat(metadata: &str, words: &str, messages: usize) -> String {
    let header = format!(
        r#"{{"chat_metadata":{{{metadata}}},"user_name":"unused","character_name":"unused"}}"#
    );
    let lines = (0..messages).map(|number| {
        format!(r#"{{"name":"Anna","send_date":"{words} {number}","mes":"{words} {number}"}}"#)
    });
    std::iter::once(header).chain(lines).collect::<Vec<_>>().join("\n")
}

fn taken(imported: &Imported) -> Vec<(&str, usize, bool)> {
    imported.taken.iter().map(|it| (it.name.as_str(), it.backups, it.is_gone)).collect()
}

#[test]
fn each_backup_finds_its_chat_by_what_is_in_it() {
    let stage = Stage::new();
    let home = Home::new(&stage);
    let mut history = stage.machine("PC");
    let one = |messages| chat("", "One", messages);
    let two = |messages| chat(r#""integrity":"two""#, "Two", messages);
    // A branch of the second chat, forked at its third message.
    let branch = |messages: usize| {
        let text = chat(r#""integrity":"branch","main_chat":"Two""#, "Two", 3);
        let rest = chat("", "Branch", messages);
        let lines: Vec<&str> = rest.split('\n').skip(4).collect();
        if lines.is_empty() { text } else { format!("{text}\n{}", lines.join("\n")) }
    };
    home.write("chats/Anna/One.jsonl", &one(9));
    home.write("chats/Anna/Two.jsonl", &two(8));
    home.write("chats/Anna/Two - Branch.jsonl", &branch(7));
    home.write("chats/Anna Smith/Hers.jsonl", &chat("", "Hers", 4));
    home.write("settings.json", r#"{"theme":"dark"}"#);
    home.record(&mut history);

    home.backup("anna", 1, &one(2));
    home.backup("anna", 2, &two(3));
    home.backup("anna", 3, &branch(3));
    home.backup("anna", 4, &one(5));
    home.backup("anna", 5, &branch(6));
    home.backup("anna", 6, &two(6));
    // Its first message was edited later.
    home.backup("anna", 7, &two(7).replace("\"Two 0\"}", "\"Two at first\"}"));
    // The same as the current content.
    home.backup("anna", 8, &one(9));
    home.backup("anna_smith", 1, &chat("", "Hers", 2));
    // These chats no longer exist.
    home.backup("anna", 9, &chat("", "Gone", 2));
    home.backup("anna", 10, &chat("", "Gone", 4));
    home.backup("bea", 10, &chat("", "Bea's", 4));
    home.write("backups/settings_default-user_20260101-010000.json", r#"{"theme":"light"}"#);
    home.write("backups/something else.txt", "x");

    let imported = home.import(&mut history);
    assert_eq!(
        taken(&imported),
        [
            ("chats/Anna Smith/Hers.jsonl", 1, false),
            ("chats/Anna/One.jsonl", 2, false),
            ("chats/Anna/Two - Branch.jsonl", 2, false),
            ("chats/Anna/Two.jsonl", 3, false),
            ("settings.json", 1, false),
            ("chats/Anna/Anna - backup 20260101-090000.jsonl", 2, true),
            ("chats/bea/bea - backup 20260101-100000.jsonl", 1, true),
        ]
    );
    assert_eq!((imported.backups, imported.known), (13, 1));
    assert!(imported.unread.is_empty());

    // In order of time, with their exact bytes, and without an alarm.
    let name = FileName::of_text("chats/Anna/Two.jsonl");
    let live = history.lineages().live(&name).unwrap();
    assert_eq!(live.tip.version.why, Origin::Found);
    let backups = history.lineages().backups_of(live).unwrap();
    let versions: Vec<_> = history.own_versions(backups).collect();
    assert_eq!(versions.len(), 3);
    assert!(versions.is_sorted_by(|newer, older| newer.version.written > older.version.written));
    for stored in &versions {
        assert_eq!((&stored.version.file, &stored.version.why), (&name, &Origin::Imported));
        assert_eq!(stored.version.collapse, None);
    }
    assert_eq!(history.content(&versions[2]).unwrap(), two(3).as_bytes());
    assert!(history.store().refs().keys().all(|name| !name.starts_with("refs/pins/")));
    fsck(&stage.path("PC.git"));
}

#[test]
fn importing_again_adds_nothing_and_recording_goes_on_as_before() {
    let stage = Stage::new();
    let home = Home::new(&stage);
    let mut history = stage.machine("PC");
    home.write("chats/Anna/One.jsonl", &chat("", "One", 5));
    home.record(&mut history);
    home.backup("anna", 1, &chat("", "One", 2));
    home.backup("anna", 2, &chat("", "Gone", 2));
    assert_eq!(home.import(&mut history).taken.len(), 2);
    let refs = history.store().refs().clone();
    for _ in 0..2 {
        let again = home.import(&mut history);
        assert_eq!((again.taken.len(), again.known), (0, 2));
        assert_eq!(home.record(&mut history), 0);
        assert_eq!(*history.store().refs(), refs);
        history = stage.machine("PC");
    }
    // Later backups are added to the existing lineage.
    home.backup("anna", 3, &chat("", "Gone", 3));
    let more = home.import(&mut history);
    assert_eq!(taken(&more), [("chats/Anna/Anna - backup 20260101-020000.jsonl", 1, true)]);
    assert_eq!(history.store().refs().len(), refs.len());
    // A backup that is put back is a new file, not a rename of the old one.
    home.write("chats/Anna/Back.jsonl", &chat("", "Gone", 3));
    home.write("chats/Anna/One.jsonl", &chat("", "One", 6));
    assert_eq!(home.record(&mut history), 2);
    let live =
        |name| history.lineages().live(&FileName::of_text(name)).unwrap().tip.version.clone();
    assert_eq!(live("chats/Anna/Back.jsonl").why, Origin::Found);
    assert_eq!(live("chats/Anna/One.jsonl").number, 2);
}
