//! No name creates anything outside the data root or breaks anything.

use std::fs;
use std::path::Path;

use fastrand::Rng;
use forklore_core::plan::fork::Policy;
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::timeline::exactness::Allow;
use forklore_json::{Indent, Json, Object};
use forklore_tavern::disk::RealDisk;
use forklore_tavern::folder::headers::Headers;
use forklore_tavern::folder::layout::UserFolders;
use forklore_tavern::folder::references;
use forklore_tavern::work::fork::ForkOptions;
use forklore_tavern::work::tavern::Tavern;
use forklore_testkit::fixed_clock::FixedClock;
use forklore_testkit::story::USER;
use forklore_testkit::{cases, hostile_names, tree};

/// Number of hostile names in each data folder.
const NAMES_EACH: usize = 40;

#[test]
fn no_name_leads_out_of_the_data_folder() {
    let folders = cases::count_from("FORKLORE_NAMES", 10_000) / NAMES_EACH;
    cases::run("hostile names", folders, a_folder_full_of_them);
}

fn a_folder_full_of_them(rng: &mut Rng) {
    let around = tree::temporary_folder();
    let root = around.path().join("data");
    let canary = around.path().join("canary");
    fs::create_dir_all(&canary).expect("it can be made");
    fs::write(canary.join("worlds.json"), b"sings").expect("it can be written");
    populate(rng, &root);

    let clock = FixedClock::default();
    let folders = UserFolders::new(&root, USER).expect("the user's name is a name");
    let tavern = Tavern { disk: &RealDisk, clock: &clock, folders, pasts: None };
    let before = tree::files(around.path());

    let library = tavern.library();
    let heads = Headers::read(&RealDisk, &library);
    assert_eq!(heads.timelines.len(), library.chats.len());
    let verified = tavern.verify(&library, |_| true, &|| ());
    assert_eq!(verified.checked.len(), library.chats.len());
    for finding in verified.checked.iter().flat_map(|checked| &checked.findings) {
        check_printable(&finding.to_string());
    }
    references::gather(&RealDisk, &tavern.folders, &library, &|| ());
    for _ in 0..4 {
        let _ = library.find(&RealDisk, &hostile_names::name(rng));
    }
    assert_eq!(tree::files(around.path()), before, "looking changed something");

    for at in 0..8 {
        let chat = &library.chats[rng.usize(..library.chats.len())];
        let options = ForkOptions {
            kind: if rng.bool() { ForkKind::Checkpoint } else { ForkKind::Branch },
            at: None,
            name: (at < 6).then(|| hostile_names::name(rng)),
            policy: Policy { allow: Allow::Live, without_book: true, ..Policy::default() },
            parent_is_closed: rng.bool(),
            dry_run: false,
        };
        match tavern.fork(chat, &options) {
            Ok(forked) => check_printable(&forked.child),
            Err(error) => drop(error.to_string()),
        }
    }
    check_everything_in_its_place(&before, &tree::files(around.path()));
}

type Tree = std::collections::BTreeMap<std::path::PathBuf, Option<Vec<u8>>>;

fn check_everything_in_its_place(before: &Tree, after: &Tree) {
    let user = Path::new("data").join(USER);
    let homes = [user.join("chats/Ada"), user.join("group chats"), user.join("worlds")];
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        let is_ours = path.starts_with("data/_forklore");
        let is_at_home =
            path.parent().is_some_and(|parent| homes.iter().any(|home| home == parent));
        assert!(is_ours || is_at_home, "{} was made", path.display());
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are Unicode");
        check_printable(name);
        assert!(is_ours || name.len() <= 255 - 11, "SillyTavern cannot save {name:?}");
    }
    for (path, bytes) in before {
        let may_change = path.starts_with(user.join("groups"))
            || path.starts_with(user.join("chats"))
            || path.starts_with(user.join("group chats"));
        assert!(after.get(path) == Some(bytes) || may_change, "{} changed", path.display());
    }
}

/// Contains nothing that a terminal would interpret. Bidirectional marks are allowed, since names
/// may be in Arabic.
#[track_caller]
fn check_printable(text: &str) {
    assert!(!text.chars().any(|c| c.is_control()), "{text:?} would be obeyed by a terminal");
}

fn populate(rng: &mut Rng, root: &Path) {
    let user = root.join(USER);
    for folder in ["chats/Ada", "group chats", "groups", "worlds"] {
        fs::create_dir_all(user.join(folder)).expect("it can be made");
    }
    let write = |path: &Path, bytes: &[u8]| {
        // Some names are too long for a file, or not allowed in one.
        drop(fs::write(path, bytes));
    };
    write(&user.join("chats/Ada/plain.jsonl"), &chat(rng));
    for _ in 0..6 {
        let name = hostile_names::name(rng) + ".jsonl";
        if hostile_names::can_be_a_file(&name) {
            write(&user.join("chats/Ada").join(name), &chat(rng));
        }
    }
    let ids: Vec<String> = (0..5).map(|_| hostile_names::name(rng)).collect();
    for id in &ids {
        let file = id.clone() + ".jsonl";
        if hostile_names::can_be_a_file(&file) {
            write(&user.join("group chats").join(file), &chat(rng));
        }
    }
    write(&user.join("group chats/listed.jsonl"), &chat(rng));
    let mut chats = ids;
    chats.push("listed".into());
    let group = Json::object([
        ("id", Json::from(hostile_names::name(rng))),
        ("name", Json::from(hostile_names::name(rng))),
        ("chat_id", Json::from(hostile_names::name(rng))),
        ("chats", Json::from(chats)),
    ]);
    write(&user.join("groups/1.json"), &group.stringify_with(Indent::BOOK));
    for _ in 0..3 {
        let name = hostile_names::name(rng) + ".json";
        if hostile_names::can_be_a_file(&name) {
            write(&user.join("worlds").join(name), b"{\"entries\":{}}");
        }
    }
}

fn chat(rng: &mut Rng) -> Vec<u8> {
    let mut metadata = Object::new();
    metadata.insert("world_info", hostile_names::name(rng));
    if rng.bool() {
        metadata.insert("main_chat", hostile_names::name(rng));
    }
    let recap = Json::object([("lorebookName", Json::from(hostile_names::name(rng)))]);
    metadata.insert("auto_lorebooks", recap);
    let header = Json::object([("chat_metadata", Json::Object(metadata))]).stringify();
    let link = Json::object([("bookmark_link", Json::from(hostile_names::name(rng)))]);
    let message = Json::object([("mes", Json::from("x")), ("extra", link)]).stringify();
    [&header[..], b"\n", &message, b"\n{\"mes\":\"y\"}"].concat()
}
