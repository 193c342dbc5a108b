//! A folder is watched, even if its disk fails now and then, and on systems that report little.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use forklore_history::record::recorder::Recorded;
use forklore_history::version::commit::Origin;
use forklore_history::version::history::History;
use forklore_history::watch::{Stopper, Watch, WatchReport, WatchSettings, WatchedUser};
use forklore_tavern::disk::clock::SystemClock;
use forklore_tavern::disk::{Disk, RealDisk};
use forklore_tavern::folder::layout::UserFolders;
use forklore_testkit::faulty::{Errno, Fault, FaultyDisk};

/// What is reported about the chat: for a recorded version, its number of messages.
#[derive(Debug, PartialEq, Eq)]
enum Heard {
    Watching,
    Recorded(u64),
    Failed,
}

/// How many messages each version has, oldest first, and its origin; and the number of full scans.
type Versions = (Vec<(u64, Origin)>, usize);

const SAVES: u64 = 6;

struct Stop(Stopper);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The chat, and the reports about it.
struct Scene<'a> {
    folder: &'a Path,
    chats: &'a Path,
    heard: Receiver<Heard>,
}

/// Runs `act` while a watch with this disk is running.
fn watched(disk: &dyn Disk, are_exact: bool, act: impl FnOnce(&Scene<'_>) + Send) -> Versions {
    let folder = tempfile::tempdir().unwrap();
    let chats = folder.path().join("data/default-user/chats/Mara");
    let repository = folder.path().join("history/default-user.git");
    fs::create_dir_all(&chats).unwrap();
    let folders = UserFolders::new(folder.path().join("data"), "default-user").unwrap();
    let user = WatchedUser { folders, repository: repository.clone() };
    let (tell, heard) = channel();
    let settings =
        WatchSettings { disk, clock: &SystemClock, host: "Test PC", most_bytes: None, are_exact };
    let mut watch = Watch::new(settings, vec![user]).unwrap();
    let mut looks = 0;
    let stopper = watch.stopper();
    thread::scope(|scope| {
        let (folder, chats) = (folder.path(), chats.as_path());
        scope.spawn(move || {
            // Also when waiting for something fails.
            let _stop = Stop(stopper);
            let scene = Scene { folder, chats, heard };
            scene.until(&[Heard::Watching]);
            act(&scene);
        });
        watch.run(&mut |news| {
            looks += usize::from(matches!(news, WatchReport::Scanned { .. }));
            for one in of_chat(&news) {
                // At the end no one is listening any more.
                let _ = tell.send(one);
            }
        });
    });
    let history = History::open_existing(&RealDisk, &SystemClock, repository).unwrap();
    let chat = history.lineages().iter().find(|lineage| lineage.file().label() == "Mara/Story");
    let versions = history.own_versions(chat.unwrap()).map(|stored| {
        let version = stored.version;
        (version.count.unwrap_or_default(), version.why)
    });
    let mut versions: Vec<_> = versions.collect();
    versions.reverse();
    (versions, looks)
}

impl Scene<'_> {
    /// Saves like SillyTavern: writes beside the file, then replaces it.
    fn save(&self, messages: u64) {
        let mut lines = vec![r#"{"user_name":"U","character_name":"Mara"}"#.to_owned()];
        lines.extend((0..messages).map(|n| format!(r#"{{"name":"Mara","mes":"number {n}"}}"#)));
        let new = self.folder.join("new");
        fs::write(&new, lines.join("\n")).unwrap();
        fs::rename(&new, self.chats.join("Story.jsonl")).unwrap();
    }

    fn until(&self, wanted: &[Heard]) {
        loop {
            let one = self.heard.recv_timeout(Duration::from_secs(60));
            if wanted.contains(&one.unwrap_or_else(|_| panic!("waited in vain for {wanted:?}"))) {
                return;
            }
        }
    }
}

fn of_chat(news: &WatchReport<'_>) -> Vec<Heard> {
    let count = |recorded: &Recorded| recorded.stored.version.count.map(Heard::Recorded);
    match news {
        WatchReport::Watching { .. } => vec![Heard::Watching],
        WatchReport::Recorded { recorded, .. } => count(recorded).into_iter().collect(),
        WatchReport::Scanned { scan, .. } => scan.recorded.iter().filter_map(count).collect(),
        WatchReport::Failed { .. } => vec![Heard::Failed],
        WatchReport::NotWatched { .. }
        | WatchReport::Silent { .. }
        | WatchReport::Full { .. }
        | WatchReport::Persisted { .. }
        | WatchReport::Gone { .. }
        | WatchReport::Back { .. } => Vec::new(),
    }
}

/// Whether other versions may have come and gone before it.
fn is_marked(why: &Origin) -> bool {
    matches!(why, Origin::Found | Origin::Late)
}

/// Saves one more message each time.
#[cfg(target_os = "linux")]
fn saved_while_watched(disk: &FaultyDisk<'_>, mut at_save: impl FnMut() + Send) -> Versions {
    watched(disk, true, |scene| {
        for messages in 1..=SAVES {
            at_save();
            scene.save(messages);
            scene.until(&[Heard::Recorded(messages), Heard::Failed]);
        }
    })
}

// Other systems do not report every single save.
#[cfg(target_os = "linux")]
#[test]
fn what_a_failing_disk_did_not_take_is_a_gap() {
    let counted = FaultyDisk::new(Fault::None);
    let mut calls = Vec::new();
    let (all, _) = saved_while_watched(&counted, || calls.push(counted.calls().len()));
    assert_eq!(all.iter().map(|(messages, _)| *messages).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    assert!(all.iter().skip(1).all(|(_, why)| *why == Origin::Saved), "{all:?}");

    // The calls of the third and the fourth save.
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
        // The one after the gap, and those that a scan found before their events arrived.
        let marked = versions.iter().skip(1).filter(|(_, why)| is_marked(why)).count();
        assert!(marked <= 1 + looks, "still a gap after {looks} looks; call {at}: {versions:?}");
    }
    assert!(gaps > 0, "nothing was ever missed");
}

#[test]
fn where_the_system_says_little_every_save_is_found_when_it_is_still() {
    let (versions, _) = watched(&RealDisk, false, |scene| {
        for messages in 1..=3 {
            scene.save(messages);
            scene.until(&[Heard::Recorded(messages)]);
        }
    });
    assert_eq!(versions, [(1, Origin::Found), (2, Origin::Found), (3, Origin::Found)]);
}

#[test]
fn where_the_system_says_little_no_file_is_opened_while_it_is_being_saved() {
    let saved = Mutex::new(Instant::now());
    let hasty = Mutex::new(Vec::new());
    // Measured by the clock, because the saving thread may be delayed while the file is quiet.
    let disk = FaultyDisk::beside(|_, call| {
        let age = saved.lock().unwrap().elapsed();
        if call.path.ends_with("Story.jsonl") && age < Duration::from_millis(400) {
            hasty.lock().unwrap().push((call.name, age));
        }
    });
    let (versions, _) = watched(&disk, false, |scene| {
        for messages in 1..=20 {
            *saved.lock().unwrap() = Instant::now();
            scene.save(messages);
            thread::sleep(Duration::from_millis(50));
        }
        scene.until(&[Heard::Recorded(20)]);
    });
    assert_eq!(*hasty.lock().unwrap(), []);
    assert_eq!(versions.last(), Some(&(20, Origin::Found)));
}

#[test]
fn where_the_system_says_little_what_is_not_still_yet_is_recorded_at_the_end() {
    let (versions, _) = watched(&RealDisk, false, |scene| scene.save(1));
    assert_eq!(versions, [(1, Origin::Found)]);
}

#[test]
fn where_the_system_says_little_a_chat_that_goes_is_seen_to_go() {
    let (versions, _) = watched(&RealDisk, false, |scene| {
        scene.save(1);
        scene.until(&[Heard::Recorded(1)]);
        fs::remove_dir_all(scene.chats).unwrap();
    });
    assert_eq!(versions, [(1, Origin::Found), (1, Origin::Deleted)]);
}
