//! Peak memory of commands, relative to the size of the chat.
//!
//! The peak is the kernel's figure for the whole process, so this file must contain only one test.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "the scenes are tests too")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use forklore_core::plan::fork::Policy;
use forklore_core::sillytavern::names::ForkKind;
use forklore_json::Json;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::work::change::ChangeOptions;
use forklore_tavern::work::fork::{CheckpointLink, ForkOptions};
use forklore_tavern::work::tavern::Tavern;
use forklore_testkit::scene::{self, Scene, Stopped, Tree, USER};

/// The largest chats seen have about 100 MB; that would take too long in a test.
const SIZE: u64 = 48 << 20;

/// A chat with a parent and a shared book. Written line by line, so that the test itself holds none
/// of it.
fn write_chat(path: &Path, parent: Option<&str>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut metadata = vec![("world_info", Json::from("Lore"))];
    metadata.extend(parent.map(|name| ("main_chat", Json::from(name))));
    file.write_all(&scene::header(&Json::object(metadata))).unwrap();
    let filling = "x".repeat(2_000);
    let mut written = 0;
    while written < SIZE {
        let line = format!(
            "\n{{\"name\":\"Alice\",\"mes\":\"{written} {filling}\",\"forklore\":{{\"v\":1}}}}"
        );
        file.write_all(line.as_bytes()).unwrap();
        written += line.len() as u64;
    }
    file.flush().unwrap();
}

fn status(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// The increase in memory at the peak of `work`, in multiples of the chat's size.
fn peak_of(work: impl FnOnce()) -> f64 {
    // Resets the peak.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:");
    work();
    status("VmHWM:").saturating_sub(before) as f64 / SIZE as f64
}

fn undo(tavern: &Tavern<'_>) {
    let transaction = tavern.transaction().unwrap();
    let plan = transaction.plan_undo().unwrap().unwrap();
    transaction.undo(&plan).unwrap();
}

#[test]
#[expect(clippy::print_stdout, reason = "how much it takes is a result, not a guess")]
fn no_command_takes_three_times_the_largest_chat() {
    let scene = Scene::on_disk(&Tree::new());
    scene.write(&format!("{USER}/worlds/Lore.json"), &scene::written(&scene::book([])));
    let chats = scene.root().join(USER).join("chats/Alice");
    write_chat(&chats.join("Story.jsonl"), None);
    write_chat(&chats.join("Story - Branch #1.jsonl"), Some("Story"));
    let tavern = scene.tavern(&RealDisk, &Stopped);
    let library = tavern.library();
    let chat = |label: &str| library.find(&RealDisk, label).unwrap();
    let closed = ChangeOptions { is_closed: true, dry_run: false };
    let fork = |kind| ForkOptions {
        kind,
        at: None,
        name: None,
        policy: Policy::default(),
        parent_is_closed: true,
        dry_run: false,
    };
    let commands: [(&str, &dyn Fn()); 8] = [
        ("checkpoint", &|| {
            let forked = tavern.fork(chat("Alice/Story"), &fork(ForkKind::Checkpoint)).unwrap();
            assert_eq!(forked.link, CheckpointLink::Written);
        }),
        ("undo of it", &|| undo(&tavern)),
        ("branch", &|| drop(tavern.fork(chat("Alice/Story"), &fork(ForkKind::Branch)).unwrap())),
        ("undo of it", &|| undo(&tavern)),
        ("split", &|| {
            drop(tavern.split(chat("Alice/Story - Branch #1"), true, closed).unwrap());
        }),
        ("undo of it", &|| undo(&tavern)),
        ("strip", &|| {
            tavern.strip(chat("Alice/Story"), closed).unwrap();
        }),
        ("undo of it", &|| undo(&tavern)),
    ];
    let peaks: Vec<(&str, f64)> =
        commands.into_iter().map(|(name, work)| (name, peak_of(work))).collect();
    for (name, peak) in &peaks {
        println!("{peak:>6.2}  {name}");
    }
    for (name, peak) in peaks {
        assert!(peak < 3.0, "{name} takes {peak:.2} times the chat");
        assert!(peak > 0.5, "{name} takes {peak:.2} times the chat, which cannot be");
    }
}
