//! What was not heard of leaves a gap, and nothing is said to be without one that may have one.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use forklore_tavern::chance::RealChance;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::folders::UserFolders;
use tempfile::TempDir;

use super::{Event, News, Settings, User, Watch};
use crate::history::History;
use crate::version::Why;

const SETTINGS: Settings<'static> =
    Settings { disk: &RealDisk, chance: &RealChance, host: "Test PC", most_bytes: None };

struct Stage {
    folder: TempDir,
    watch: Watch<'static>,
}

impl Stage {
    /// A lorebook in its first version, and a watch that has seen it.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("data/default-user/worlds")).unwrap();
        save(folder.path(), "Lore", 1);
        save(folder.path(), "Other", 1);
        let folders = UserFolders::new(folder.path().join("data"), "default-user").unwrap();
        let user = User { folders, repository: folder.path().join("user.git") };
        let mut watch = Watch::new(SETTINGS, vec![user]).unwrap();
        assert!(!watch.begin_all(&mut fails));
        Self { folder, watch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn save(&self, book: &str, entries: usize) {
        save(self.folder.path(), book, entries);
    }

    /// What is heard of the next save.
    fn heard(&self) -> Event {
        self.watch.queue.recv().unwrap()
    }

    fn take(&mut self, event: Event) {
        assert!(!self.watch.take(event, &mut fails));
    }

    fn take_together(&mut self, first: Event, second: Event) {
        self.watch.stopper.0.send(second).unwrap();
        self.take(first);
    }

    /// How many entries each version has, the oldest first, and how it came to be known.
    fn versions(mut self, book: &str) -> Vec<(u64, Why)> {
        self.watch.close(0, &mut fails);
        let repository = self.path("user.git");
        let history = History::open_existing(&RealDisk, &RealChance, repository).unwrap();
        let lineage = history.lineages().iter().find(|it| it.file().bare_label() == book).unwrap();
        let versions = history.own_versions(lineage).map(|kept| kept.unwrap().version);
        let mut versions: Vec<_> =
            versions.map(|version| (version.count.unwrap(), version.why)).collect();
        versions.reverse();
        versions
    }
}

fn fails(news: News<'_>) {
    if let News::Failed { error, .. } = news {
        panic!("{error}");
    }
}

fn save(folder: &Path, book: &str, entries: usize) {
    let entries = (0..entries).map(|uid| format!(r#""{uid}":{{"uid":{uid},"key":[]}}"#));
    let text = format!(r#"{{"entries":{{{}}}}}"#, entries.collect::<Vec<_>>().join(","));
    let new = folder.join("new");
    fs::write(&new, text).unwrap();
    fs::rename(&new, folder.join(format!("data/default-user/worlds/{book}.json"))).unwrap();
}

#[test]
fn without_anything_missed_there_is_no_gap() {
    let mut stage = Stage::new();
    for entries in 2..4 {
        stage.save("Lore", entries);
        let event = stage.heard();
        stage.take(event);
    }
    assert_eq!(stage.versions("Lore"), [(1, Why::Found), (2, Why::Saved), (3, Why::Saved)]);
}

#[test]
fn what_comes_after_too_much_at_once_follows_a_gap() {
    let mut stage = Stage::new();
    stage.save("Lore", 2);
    drop(stage.heard());
    stage.watch.overflow.store(true, Ordering::Relaxed);
    for entries in 3..5 {
        stage.save("Lore", entries);
        let event = stage.heard();
        stage.take(event);
    }
    assert_eq!(stage.versions("Lore"), [(1, Why::Found), (3, Why::Found), (4, Why::Saved)]);
}

#[test]
fn what_comes_after_the_system_lost_count_follows_a_gap() {
    let mut stage = Stage::new();
    for (book, entries) in [("Lore", 2), ("Other", 2), ("Lore", 3)] {
        stage.save(book, entries);
        if entries == 2 {
            drop(stage.heard());
        }
    }
    let last = stage.heard();
    stage.take_together(Event::LookAtAll, last);
    assert_eq!(stage.versions("Lore"), [(1, Why::Found), (3, Why::Found)]);
}

#[test]
fn what_was_missed_of_another_file_is_looked_for() {
    let mut stage = Stage::new();
    stage.save("Other", 2);
    drop(stage.heard());
    stage.watch.overflow.store(true, Ordering::Relaxed);
    stage.save("Lore", 2);
    let event = stage.heard();
    stage.take(event);
    assert_eq!(stage.versions("Other").last(), Some(&(2, Why::Found)));
}

#[test]
fn a_file_that_cannot_be_opened_leaves_a_gap() {
    let mut stage = Stage::new();
    let (new, lore) = (stage.path("new"), stage.path("data/default-user/worlds/Lore.json"));
    symlink("nowhere", &new).unwrap();
    fs::rename(&new, &lore).unwrap();
    let event = stage.heard();
    assert!(matches!(event, Event::Missed { user: 0 }));
    stage.save("Lore", 3);
    let last = stage.heard();
    stage.take_together(event, last);
    let versions = stage.versions("Lore");
    assert_eq!(versions.last(), Some(&(3, Why::Found)), "{versions:?}");
}
