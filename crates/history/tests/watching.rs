//! A folder is watched while its disk fails now and then.

// Elsewhere nobody is told of every single save.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use forklore_history::history::{History, Recorded};
use forklore_history::version::Why;
use forklore_history::watching::{News, Settings, Stopper, User, Watch};
use forklore_tavern::chance::RealChance;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::folders::UserFolders;
use forklore_testkit::faulty::{Errno, Fault, FaultyDisk};

/// What is heard of the chat: how many messages a version has that was recorded.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Watching,
    Recorded(u64),
    Failed,
}

/// How many messages each version has, the oldest first, and how it came to be known; and how often
/// everything was looked at.
type Versions = (Vec<(u64, Why)>, usize);

const SAVES: u64 = 6;

struct Stop(Stopper);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Saves a chat with a message more each time, under the eyes of a watch with this disk.
fn saved_while_watched(disk: &FaultyDisk<'_>, mut at_save: impl FnMut() + Send) -> Versions {
    let folder = tempfile::tempdir().unwrap();
    let chats = folder.path().join("data/default-user/chats/Mara");
    let repository = folder.path().join("history/default-user.git");
    fs::create_dir_all(&chats).unwrap();
    let folders = UserFolders::new(folder.path().join("data"), "default-user").unwrap();
    let user = User { folders, repository: repository.clone() };
    let (tell, heard) = channel();
    let settings = Settings { disk, chance: &RealChance, host: "Test PC", most_bytes: None };
    let mut watch = Watch::new(settings, vec![user]).unwrap();
    let mut looks = 0;
    let stopper = watch.stopper();
    thread::scope(|scope| {
        let (folder, chats) = (folder.path(), &chats);
        scope.spawn(move || {
            // Also when something is waited for in vain.
            let _stop = Stop(stopper);
            until(&heard, &[Heard::Watching]);
            for messages in 1..=SAVES {
                at_save();
                save(folder, chats, messages);
                until(&heard, &[Heard::Recorded(messages), Heard::Failed]);
            }
        });
        watch.run(&mut |news| {
            looks += usize::from(matches!(news, News::Scanned { .. }));
            for one in of_chat(&news) {
                // At the end nobody listens any more.
                let _ = tell.send(one);
            }
        });
    });
    let history = History::open_existing(&RealDisk, &RealChance, repository).unwrap();
    let chat = history.lineages().iter().find(|lineage| lineage.file().label() == "Mara/Story");
    let versions = history.own_versions(chat.unwrap()).map(|kept| {
        let version = kept.unwrap().version;
        (version.count.unwrap(), version.why)
    });
    let mut versions: Vec<_> = versions.collect();
    versions.reverse();
    (versions, looks)
}

fn of_chat(news: &News<'_>) -> Vec<Heard> {
    let count = |recorded: &Recorded| recorded.kept.version.count.map(Heard::Recorded);
    match news {
        News::Watching { .. } => vec![Heard::Watching],
        News::Recorded { recorded, .. } => count(recorded).into_iter().collect(),
        News::Scanned { scan, .. } => scan.recorded.iter().filter_map(count).collect(),
        News::Failed { .. } => vec![Heard::Failed],
        News::NotWatched { .. } | News::Full { .. } | News::Kept { .. } => Vec::new(),
    }
}

/// As SillyTavern does it: beside the file, and then in its place.
fn save(folder: &Path, chats: &Path, messages: u64) {
    let mut lines = vec![r#"{"user_name":"U","character_name":"Mara"}"#.to_owned()];
    lines.extend((0..messages).map(|n| format!(r#"{{"name":"Mara","mes":"number {n}"}}"#)));
    let new = folder.join("new");
    fs::write(&new, lines.join("\n")).unwrap();
    fs::rename(&new, chats.join("Story.jsonl")).unwrap();
}

fn until(heard: &Receiver<Heard>, wanted: &[Heard]) {
    loop {
        let one = heard.recv_timeout(Duration::from_secs(60));
        if wanted.contains(&one.unwrap_or_else(|_| panic!("waited in vain for {wanted:?}"))) {
            return;
        }
    }
}

/// Whether others may have come and gone before it.
fn is_marked(why: &Why) -> bool {
    matches!(why, Why::Found | Why::Late)
}

#[test]
fn what_a_failing_disk_did_not_take_is_a_gap() {
    let counted = FaultyDisk::new(Fault::None);
    let mut calls = Vec::new();
    let (all, _) = saved_while_watched(&counted, || calls.push(counted.calls().len()));
    assert_eq!(all.iter().map(|(messages, _)| *messages).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert!(all.iter().skip(1).all(|(_, why)| *why == Why::Saved), "{all:?}");

    // Those of the third save and the fourth.
    let mut gaps = 0;
    for at in calls[2]..calls[4] {
        let disk = FaultyDisk::new(Fault::Error { at, errno: Errno::NoSpace });
        let (versions, looks) = saved_while_watched(&disk, || ());
        assert_eq!(versions.last().unwrap().0, SAVES, "call {at}: {versions:?}");
        for pair in versions.windows(2) {
            let is_next = pair[1].0 == pair[0].0 + 1;
            assert!(is_next || is_marked(&pair[1].1), "call {at}: {versions:?}");
            gaps += usize::from(!is_next);
        }
        // The one after the gap, and those that a look came upon before anybody told of them.
        let marked = versions.iter().skip(1).filter(|(_, why)| is_marked(why)).count();
        assert!(marked <= 1 + looks, "still a gap after {looks} looks; call {at}: {versions:?}");
    }
    assert!(gaps > 0, "nothing was ever missed");
}
