//! Two machines that record independently, and a remote between them.

use forklore_history::exchange::remote::{self, Git, RemoteError};
use forklore_history::file::FileName;
use forklore_history::query::lookup::Finder;
use forklore_history::upkeep::pack::pack;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;

use crate::stage::{Stage, chat, everything, fsck, git, save, save_each_message};

const GIT: fn() -> Git = Git::default;

#[test]
fn what_two_machines_recorded_apart_lies_side_by_side() {
    let stage = Stage::new();
    let remote = stage.remote();
    let (mut pc, mut phone) = (stage.machine("PC"), stage.machine("Phone"));
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 12);
    save_each_message(&mut phone, "chats/Anna/Story.jsonl", "By the sea", 7);
    save(&mut phone, "worlds/Lore.json", r#"{"entries":{}}"#);

    let pushed = remote::push(&mut pc, &GIT(), &remote, false).unwrap();
    assert_eq!(pushed.files.get(pc.machine()), Some(&1));
    let joined = remote::pull(&mut phone, &GIT(), &remote).unwrap();
    let came = joined.machines[pc.machine()];
    assert_eq!((came.files, came.versions, came.rewritten), (1, 12, 0));
    assert!(joined.refused.is_empty() && joined.ours_differ == 0);
    let pushed = remote::push(&mut phone, &GIT(), &remote, false).unwrap();
    assert_eq!(pushed.files.get(phone.machine()), Some(&2));
    assert_eq!(pushed.files.len(), 1);
    remote::pull(&mut pc, &GIT(), &remote).unwrap();

    let all = everything(&pc);
    assert_eq!(all.len(), 12 + 7 + 1);
    assert_eq!(all, everything(&phone));
    assert_eq!(all, everything(&stage.machine("PC")), "as after a restart");
    for name in ["PC.git", "Phone.git", "remote.git"] {
        fsck(&stage.path(name));
    }
    // Each machine continues with its own file.
    let home = stage.path("nowhere");
    let finder = Finder::new(&pc, &RealDisk, &home);
    let found = finder.find("Anna/Story").unwrap();
    assert_eq!(found.machine, pc.machine());
    let theirs = format!("{}:Anna/Story", phone.machine());
    assert_eq!(finder.find(&theirs).unwrap().machine, phone.machine());
    save(&mut pc, "chats/Anna/Story.jsonl", &chat("By the fire", 13));
    let live = pc.lineages().live(&FileName::of_text("chats/Anna/Story.jsonl")).unwrap();
    assert_eq!(live.tip.version.number, 13);

    // The second time, only new data is transferred.
    let joined = remote::pull(&mut pc, &GIT(), &remote).unwrap();
    assert!(joined.machines.is_empty() && joined.ours_differ == 0);
    remote::push(&mut pc, &GIT(), &remote, false).unwrap();
    let pushed = remote::push(&mut pc, &GIT(), &remote, false).unwrap();
    assert!(pushed.files.is_empty() && pushed.refused.is_empty());
    let joined = remote::pull(&mut phone, &GIT(), &remote).unwrap();
    assert_eq!(joined.machines[pc.machine()].versions, 1);
    pack(&mut phone).unwrap();
    assert_eq!(everything(&phone), everything(&pc));
    fsck(&stage.path("Phone.git"));
}

#[test]
fn a_new_machine_gets_everything_and_what_others_have_is_passed_on() {
    let stage = Stage::new();
    let remote = stage.remote();
    let mut pc = stage.machine("PC");
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 5);
    remote::push(&mut pc, &GIT(), &remote, false).unwrap();
    let mut laptop = stage.machine("Laptop");
    assert!(everything(&laptop).is_empty());
    remote::pull(&mut laptop, &GIT(), &remote).unwrap();
    assert_eq!(everything(&laptop), everything(&pc));

    let stick = stage.path("stick/stories.git").to_str().unwrap().to_owned();
    let error = remote::push(&mut laptop, &GIT(), &stick, false).unwrap_err();
    assert!(matches!(error, RemoteError::NothingThere(_)), "{error}");
    remote::create(&laptop, &GIT(), &stick).unwrap();
    let again = remote::create(&laptop, &GIT(), &stick);
    assert!(matches!(again, Err(RemoteError::SomethingThere(_))));
    let pushed = remote::push(&mut laptop, &GIT(), &stick, false).unwrap();
    assert_eq!(pushed.files.get(pc.machine()), Some(&1));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&stick).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "stories are private");
    }
    // The copy on the stick is older now, and sets no machine back.
    save(&mut pc, "chats/Anna/Story.jsonl", &chat("By the fire", 6));
    remote::push(&mut pc, &GIT(), &stick, false).unwrap();
    let pushed = remote::push(&mut laptop, &GIT(), &stick, false).unwrap();
    assert_eq!((pushed.newer_there, pushed.refused.len()), (1, 0));
    remote::pull(&mut laptop, &GIT(), &stick).unwrap();
    remote::pull(&mut laptop, &GIT(), &remote).unwrap();
    assert_eq!(everything(&laptop), everything(&pc));
}

#[test]
fn what_this_machine_has_no_more_is_removed_only_when_asked() {
    let stage = Stage::new();
    let remote = stage.remote();
    let mut pc = stage.machine("PC");
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 3);
    remote::push(&mut pc, &GIT(), &remote, false).unwrap();
    let extra = format!("refs/heads/{}/chats/gone-01234567", pc.machine());
    let tip = pc.lineages().iter().next().unwrap().tip.id.to_string();
    git(&stage.path("remote.git"), &["update-ref", &extra, &tip]);
    let other = "refs/heads/laptop-1/chats/anna-01234567";
    git(&stage.path("remote.git"), &["update-ref", other, &tip]);
    remote::push(&mut pc, &GIT(), &remote, false).unwrap();
    let refs = || git(&stage.path("remote.git"), &["for-each-ref", "--format=%(refname)"]);
    assert!(refs().contains(&extra));
    let pushed = remote::push(&mut pc, &GIT(), &remote, true).unwrap();
    assert_eq!(pushed.removed, 1);
    assert!(!refs().contains(&extra) && refs().contains(other));
}

/// The whole folder was copied to a second machine, and both continue.
#[test]
fn a_copy_that_records_under_the_same_name_takes_nothing_away() {
    const STORY: &str = "chats/Anna/Story.jsonl";
    let stage = Stage::new();
    let remote = stage.remote();
    let mut pc = stage.machine("PC");
    save_each_message(&mut pc, STORY, "By the fire", 3);
    remote::push(&mut pc, &GIT(), &remote, false).unwrap();
    let mut copy = stage.copy(pc, "Copy");
    let mut pc = stage.machine("PC");
    assert_eq!(copy.machine(), pc.machine());
    save_each_message(&mut pc, STORY, "By the fire, on the PC", 5);
    save_each_message(&mut copy, STORY, "By the fire, on the copy", 5);
    remote::push(&mut pc, &GIT(), &remote, false).unwrap();
    let there = || git(&stage.path("remote.git"), &["for-each-ref"]);
    let before = there();

    let pushed = remote::push(&mut copy, &GIT(), &remote, false).unwrap();
    assert_eq!((pushed.ours_differ, pushed.files.len()), (1, 0));
    assert_eq!(there(), before);
    let joined = remote::pull(&mut copy, &GIT(), &remote).unwrap();
    assert_eq!((joined.ours_differ, joined.machines.len()), (1, 0));

    // Under a name of its own, it can send what it records and import what the other one has.
    let tip = copy.lineages().iter().next().unwrap().tip.id;
    drop(copy);
    let repository = stage.path("Copy.git");
    History::name_machine(&RealDisk, &SystemClock, repository, "Copy", None).unwrap();
    let mut copy = stage.machine("Copy");
    assert_ne!(copy.machine(), pc.machine());
    let joined = remote::pull(&mut copy, &GIT(), &remote).unwrap();
    assert_eq!((joined.ours_differ, joined.machines[pc.machine()].rewritten), (0, 1));
    let mut old = copy.store().refs().iter().filter(|(name, _)| name.starts_with("refs/old/"));
    assert!(old.any(|(_, id)| *id == tip));
    save_each_message(&mut copy, STORY, "By the fire, on the copy", 6);
    let pushed = remote::push(&mut copy, &GIT(), &remote, false).unwrap();
    assert_eq!((pushed.ours_differ, pushed.files[copy.machine()]), (0, 1));
    remote::pull(&mut pc, &GIT(), &remote).unwrap();
    assert_eq!(everything(&copy), everything(&pc));
}

#[test]
fn without_git_it_says_so() {
    let stage = Stage::new();
    let remote = stage.remote();
    let mut pc = stage.machine("PC");
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 1);
    let none = Git { program: stage.path("no/git").into() };
    assert!(matches!(remote::push(&mut pc, &none, &remote, false), Err(RemoteError::NoGit)));
    assert!(matches!(remote::pull(&mut pc, &none, &remote), Err(RemoteError::NoGit)));
    let option = "--upload-pack=touch /tmp/x";
    let refused = remote::pull(&mut pc, &GIT(), option);
    assert!(matches!(refused, Err(RemoteError::NotARemote(_))));
    let command = remote::pull(&mut pc, &GIT(), "ext::sh -c false");
    let Err(RemoteError::Git { source, .. }) = command else { panic!("{command:?}") };
    assert!(source.to_string().contains("not allowed"), "{source}");
}
