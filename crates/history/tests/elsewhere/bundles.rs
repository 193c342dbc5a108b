//! A history in one file.

use std::fs;
use std::path::Path;

use forklore_history::exchange::bundle::{self, BundleError, BundleHeader};
use forklore_history::version::history::History;

use crate::stage::{Stage, chat, everything, fsck, git, save, save_each_message};

fn made(history: &mut History<'_>) -> Vec<u8> {
    bundle::make(history, None).unwrap().unwrap().bytes
}

#[test]
fn a_bundle_brings_everything_and_git_takes_it_too() {
    let stage = Stage::new();
    let (mut pc, mut phone) = (stage.machine("PC"), stage.machine("Phone"));
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 30);
    save(&mut pc, "chats/Anna/Story.jsonl", &chat("By the fire", 1));
    assert!(pc.store().refs().keys().any(|name| name.starts_with("refs/pins/")));
    save_each_message(&mut phone, "chats/Anna/Story.jsonl", "By the sea", 4);
    let bytes = made(&mut pc);
    let joined = bundle::import(&mut phone, &bytes).unwrap();
    assert_eq!(joined.machines[pc.machine()].versions, 31);
    assert_eq!(everything(&phone).len(), 31 + 4);
    let refs = phone.store().refs();
    for (name, id) in pc.store().refs() {
        assert_eq!(refs.get(name), Some(id), "{name}");
    }
    phone.record().unwrap().flush().unwrap();
    fsck(&stage.path("Phone.git"));
    let again = bundle::import(&mut phone, &bytes).unwrap();
    assert!(again.machines.is_empty());

    fs::write(stage.path("pc.bundle"), &bytes).unwrap();
    git(&stage.path("Phone.git"), &["bundle", "verify", "--quiet", "../pc.bundle"]);
    let place = stage.path("");
    git(&place, &["clone", "--quiet", "--mirror", "pc.bundle", "clone.git"]);
    fsck(&stage.path("clone.git"));
    let tips = git(&stage.path("clone.git"), &["for-each-ref", "--format=%(objectname)"]);
    for id in pc.store().refs().values() {
        assert!(tips.contains(&id.to_string()));
    }
}

#[test]
fn a_bundle_goes_on_where_another_ended() {
    let stage = Stage::new();
    let (mut pc, mut phone) = (stage.machine("PC"), stage.machine("Phone"));
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 40);
    let first = made(&mut pc);
    let last = BundleHeader::read(&first).unwrap().0;
    assert!(bundle::make(&mut pc, Some(&last)).unwrap().is_none());
    save(&mut pc, "chats/Anna/Story.jsonl", &chat("By the fire", 41));
    save(&mut pc, "chats/Anna/Copy.jsonl", &chat("By the fire", 41));
    save_each_message(&mut pc, "chats/Bea/Other.jsonl", "At dawn", 2);
    let more = bundle::make(&mut pc, Some(&last)).unwrap().unwrap();
    assert!(more.objects < 40, "{}", more.objects);

    let early = bundle::import(&mut phone, &more.bytes);
    assert!(matches!(early, Err(BundleError::Needs(_))), "{early:?}");
    bundle::import(&mut phone, &first).unwrap();
    fs::write(stage.path("more.bundle"), &more.bytes).unwrap();
    git(&stage.path("Phone.git"), &["bundle", "verify", "--quiet", "../more.bundle"]);
    bundle::import(&mut phone, &more.bytes).unwrap();
    assert_eq!(everything(&phone), everything(&pc));
    fsck(&stage.path("Phone.git"));

    // The same bundle as git makes it, with delta bases that are not in it.
    pc.record().unwrap().flush().unwrap();
    let name = pc.lineages().own(pc.machine()).next().unwrap().reference.clone();
    let mut laptop = stage.machine("Laptop");
    bundle::import(&mut laptop, &first).unwrap();
    let tip = last.refs.values().next().unwrap().to_string();
    let args = ["bundle", "create", "--quiet", "../thin.bundle", "--branches", &format!("^{tip}")];
    git(&stage.path("PC.git"), &args);
    bundle::import(&mut laptop, &fs::read(stage.path("thin.bundle")).unwrap()).unwrap();
    assert_eq!(everything(&laptop), everything(&pc), "{name}");
    fsck(&stage.path("Laptop.git"));
}

/// Everything in the folder of a repository, except for what reading it changes.
fn state(repository: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![repository.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn of_a_damaged_bundle_nothing_is_taken_in() {
    let stage = Stage::new();
    let (mut pc, mut phone) = (stage.machine("PC"), stage.machine("Phone"));
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 4);
    save(&mut pc, "chats/Anna/Story.jsonl", &chat("By the fire", 0));
    save_each_message(&mut phone, "chats/Anna/Story.jsonl", "By the sea", 2);
    phone.record().unwrap().flush().unwrap();
    let bytes = made(&mut pc);
    let before = state(&stage.path("Phone.git"));
    let header = bytes.len() - BundleHeader::read(&bytes).unwrap().1.len();
    let places = (0..header).chain((header..bytes.len()).step_by(7));
    for at in places {
        let cut = bundle::import(&mut phone, &bytes[..at]);
        assert!(cut.is_err(), "cut at {at}");
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        let flipped = bundle::import(&mut phone, &damaged);
        assert!(flipped.is_err(), "{at}: {:?}", &damaged[at.saturating_sub(60)..at + 1]);
    }
    assert_eq!(state(&stage.path("Phone.git")), before);
    assert!(bundle::import(&mut phone, &bytes).is_ok());
}
