//! Malicious remotes, and interrupted pulls.

use std::fs;
use std::path::Path;

use forklore_history::exchange::join::Unsound;
use forklore_history::exchange::remote::{self, Git};
use forklore_history::upkeep::pack::pack;
use forklore_history::version::history::History;

use crate::stage::{Stage, chat, everything, fsck, git, save, save_each_message};

/// A commit made by a stranger.
fn commit(repository: &Path, tree: &str, message: &str, parents: &[&str]) -> String {
    let mut args = vec!["-c", "user.name=x", "-c", "user.email=x@x", "commit-tree", tree];
    for parent in parents {
        args.extend(["-p", parent]);
    }
    args.extend(["-m", message]);
    git(repository, &args).trim().to_owned()
}

fn tip(history: &History<'_>) -> String {
    let own = history.lineages().own(history.machine()).next();
    own.unwrap().tip.id.to_string()
}

fn reference(history: &History<'_>) -> String {
    history.lineages().own(history.machine()).next().unwrap().reference.clone()
}

#[test]
fn a_remote_cannot_change_what_this_machine_recorded() {
    let stage = Stage::new();
    let remote = stage.remote();
    let at = stage.path("remote.git");
    let (mut pc, mut phone) = (stage.machine("PC"), stage.machine("Phone"));
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 6);
    save_each_message(&mut phone, "chats/Anna/Story.jsonl", "By the sea", 3);
    remote::push(&mut pc, &Git::default(), &remote, false).unwrap();
    remote::push(&mut phone, &Git::default(), &remote, false).unwrap();
    let before = everything(&pc);

    // On the remote, our ref leads to someone else's versions, and there is another ref under our
    // name that we never wrote.
    let (ours, theirs) = (reference(&pc), tip(&phone));
    git(&at, &["update-ref", &ours, &theirs]);
    git(&at, &["update-ref", &format!("{ours}-more"), &theirs]);
    let joined = remote::pull(&mut pc, &Git::default(), &remote).unwrap();
    assert_eq!(joined.ours_differ, 2);
    let mut after = everything(&pc);
    after.retain(|(machine, _, _), _| machine == pc.machine());
    assert_eq!(after, before);
    assert_eq!(tip(&pc), tip(&stage.machine("PC")));
    // Pushing corrects it, but only on request: the versions there could be someone's.
    let pushed = remote::push(&mut pc, &Git::default(), &remote, false).unwrap();
    assert_eq!((pushed.ours_differ, pushed.refused.len()), (1, 0));
    assert_eq!(git(&at, &["rev-parse", &ours]).trim(), theirs);
    let pushed = remote::push(&mut pc, &Git::default(), &remote, true).unwrap();
    assert_eq!((pushed.ours_differ, pushed.removed), (0, 1));
    assert_eq!(git(&at, &["rev-parse", &ours]).trim(), tip(&pc));
}

#[test]
fn what_is_no_history_is_left_outside() {
    let stage = Stage::new();
    let remote = stage.remote();
    let at = stage.path("remote.git");
    let (mut pc, mut phone) = (stage.machine("PC"), stage.machine("Phone"));
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 3);
    save_each_message(&mut phone, "chats/Anna/Story.jsonl", "By the sea", 3);
    remote::push(&mut phone, &Git::default(), &remote, false).unwrap();
    let good = tip(&phone);
    let tree = git(&at, &["rev-parse", &format!("{good}^{{tree}}")]).trim().to_owned();
    let text = git(&at, &["cat-file", "commit", &good]);
    let message = text.split_once("\n\n").unwrap().1;
    let evil =
        |name: &str| message.replace(&phone_lineage(&phone), &format!("evil-1/chats/{name}"));
    let point = |name: &str, id: &str| {
        git(&at, &["update-ref", &format!("refs/heads/evil-1/chats/{name}"), id]);
    };
    point("plain-1", &commit(&at, &tree, "hello", &[]));
    point("other-1", &good);
    let outside = evil("outside-1").replace("chats/Anna/Story", "chats/../Story");
    point("outside-1", &commit(&at, &tree, &outside, &[]));
    point("escape-1", &commit(&at, &tree, &format!("\u{1b}[2J{}", evil("escape-1")), &[]));
    point(
        "parents-1",
        &commit(&at, &tree, &evil("parents-1"), &[&good, &commit(&at, &tree, "x", &[])]),
    );
    let theft = message.replace(&phone_lineage(&phone), &phone_lineage(&pc));
    let theft = commit(&at, &tree, &theft, &[]);
    point("theft-1", &commit(&at, &tree, &evil("theft-1"), &[&theft]));
    point("behind-1", &commit(&at, &tree, &evil("behind-1"), &[&commit(&at, &tree, "x", &[])]));
    let endless = evil("endless-1").replace("Version: 3", &format!("Version: {}", u64::MAX));
    point("endless-1", &commit(&at, &tree, &endless, &[]));
    point("fine-1", &commit(&at, &tree, &evil("fine-1"), &[]));
    git(&at, &["update-ref", "refs/heads/Evil/chats/x", &good]);
    git(&at, &["update-ref", "refs/heads/main", &good]);
    git(&at, &["update-ref", "refs/pins/evil-1/chats/nowhere-1/3", &good]);

    let joined = remote::pull(&mut pc, &Git::default(), &remote).unwrap();
    let refused: Vec<(&str, Unsound)> =
        joined.refused.iter().map(|one| (one.reference.as_str(), one.why)).collect();
    assert_eq!(
        refused,
        [
            ("refs/heads/Evil/chats/x", Unsound::Name),
            ("refs/heads/evil-1/chats/behind-1", Unsound::NotAVersion),
            ("refs/heads/evil-1/chats/endless-1", Unsound::NotAVersion),
            ("refs/heads/evil-1/chats/escape-1", Unsound::NotAVersion),
            ("refs/heads/evil-1/chats/other-1", Unsound::OtherFile),
            ("refs/heads/evil-1/chats/outside-1", Unsound::Name),
            ("refs/heads/evil-1/chats/parents-1", Unsound::NotAVersion),
            ("refs/heads/evil-1/chats/plain-1", Unsound::NotAVersion),
            ("refs/heads/evil-1/chats/theft-1", Unsound::OtherFile),
            ("refs/heads/main", Unsound::Name),
            ("refs/pins/evil-1/chats/nowhere-1/3", Unsound::OtherFile),
        ]
    );
    assert_eq!(joined.machines["evil-1"].files, 1);
    assert_eq!(joined.machines[phone.machine()].versions, 3);
    // Nor is it left anywhere for a repair to find.
    assert!(!pc.store().has(&theft.parse().unwrap()));
    assert_eq!(fs::read_dir(stage.path("PC.git/forklore/incoming/pack")).unwrap().count(), 0);
    pack(&mut pc).unwrap();
    assert_eq!(everything(&pc).len(), 3 + 3 + 1);
    fsck(&stage.path("PC.git"));
}

fn phone_lineage(phone: &History<'_>) -> String {
    reference(phone).trim_start_matches("refs/heads/").to_owned()
}

#[test]
fn what_was_rewritten_elsewhere_is_kept_here_as_it_was() {
    let stage = Stage::new();
    let remote = stage.remote();
    let at = stage.path("remote.git");
    let (mut pc, mut phone) = (stage.machine("PC"), stage.machine("Phone"));
    save_each_message(&mut phone, "chats/Anna/Story.jsonl", "By the sea", 5);
    remote::push(&mut phone, &Git::default(), &remote, false).unwrap();
    remote::pull(&mut pc, &Git::default(), &remote).unwrap();
    let before = everything(&pc);
    let (name, old) = (reference(&phone), tip(&phone));
    // The remote goes back to an older state: known versions stay.
    git(&at, &["update-ref", &name, &format!("{old}~2")]);
    let joined = remote::pull(&mut pc, &Git::default(), &remote).unwrap();
    assert!(joined.machines.is_empty() && joined.refused.is_empty());
    assert_eq!(everything(&pc), before);
    // The remote's history diverges: both are kept.
    let tree = git(&at, &["rev-parse", &format!("{old}~3^{{tree}}")]).trim().to_owned();
    let text = git(&at, &["cat-file", "commit", &format!("{old}~1")]);
    let message = text.split_once("\n\n").unwrap().1;
    let long =
        |text: &str| text.lines().find(|line| line.starts_with("Bytes:")).unwrap().to_owned();
    let other = git(&at, &["cat-file", "commit", &format!("{old}~3")]);
    let message = &message.replace(&long(message), &long(&other));
    let new = commit(&at, &tree, message, &[&format!("{old}~2")]);
    git(&at, &["update-ref", &name, &new]);
    let joined = remote::pull(&mut pc, &Git::default(), &remote).unwrap();
    assert_eq!(joined.machines[phone.machine()].rewritten, 1);
    let refs = pc.store().refs();
    assert_eq!(refs[&name].to_string(), new);
    let stored: Vec<_> = refs.iter().filter(|(name, _)| name.starts_with("refs/old/")).collect();
    assert_eq!(stored.len(), 1);
    assert_eq!(stored[0].1.to_string(), old);
    pack(&mut pc).unwrap();
    assert!(pc.store().has(kept_id(&pc)));
    fsck(&stage.path("PC.git"));
}

fn kept_id<'h>(history: &'h History<'_>) -> &'h forklore_history::git::object::Id {
    let mut refs = history.store().refs().iter();
    refs.find(|(name, _)| name.starts_with("refs/old/")).unwrap().1
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_pushed_to_runs_nothing_of_its_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let stage = Stage::new();
    let remote = stage.remote();
    let hooks = stage.path("remote.git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let hook = format!("#!/bin/sh\ntouch '{}'\n", stage.path("ran").display());
    for name in ["pre-receive", "update", "post-receive", "post-update", "reference-transaction"] {
        fs::write(hooks.join(name), &hook).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut pc = stage.machine("PC");
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 2);
    for remote in [remote.clone(), format!("file://{remote}")] {
        let pushed = remote::push(&mut pc, &Git::default(), &remote, false).unwrap();
        assert_eq!(pushed.refused, []);
        assert!(!stage.path("ran").exists(), "{remote}");
        save(&mut pc, "chats/Anna/Story.jsonl", &chat("By the fire", 3));
    }
    let tips = git(&stage.path("remote.git"), &["for-each-ref", "--format=%(objectname)"]);
    assert!(!tips.is_empty());
}

#[test]
fn refs_that_a_stranger_left_are_taken_up_and_do_not_hold_anything_back() {
    let stage = Stage::new();
    let remote = stage.remote();
    let (mut pc, mut phone) = (stage.machine("PC"), stage.machine("Phone"));
    save_each_message(&mut pc, "chats/Anna/Story.jsonl", "By the fire", 2);
    save_each_message(&mut phone, "chats/Anna/Story.jsonl", "By the sea", 4);
    remote::push(&mut phone, &Git::default(), &remote, false).unwrap();
    pc.record().unwrap().flush().unwrap();
    drop(pc);
    // As left by the user's own git, or by a pull that crashed.
    git(&stage.path("PC.git"), &["fetch", "--quiet", &remote, "refs/heads/*:refs/heads/*"]);
    fs::create_dir_all(stage.path("PC.git/forklore/incoming/pack")).unwrap();
    for name in ["objects/pack/tmp_pack_x1", "forklore/incoming/pack/tmp_pack_x2"] {
        fs::write(stage.path("PC.git").join(name), b"half of a pa").unwrap();
    }
    fs::write(stage.path("PC.git/forklore/incoming/pack/pack-1.idx"), b"half of an in").unwrap();
    let loose = stage.path("PC.git").join(reference(&phone));
    assert!(loose.exists());

    let mut pc = stage.machine("PC");
    assert_eq!(everything(&pc).len(), 6);
    save(&mut phone, "chats/Anna/Story.jsonl", &chat("By the sea", 5));
    remote::push(&mut phone, &Git::default(), &remote, false).unwrap();
    remote::pull(&mut pc, &Git::default(), &remote).unwrap();
    assert!(!loose.exists());
    assert_eq!(everything(&stage.machine("PC")).len(), 7);
    fsck(&stage.path("PC.git"));
}
