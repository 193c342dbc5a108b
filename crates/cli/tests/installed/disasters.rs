//! What a history is kept for: the folder is gone, the disk is gone, or only a copy elsewhere is
//! left. The command that is printed brings back everything that was recorded, byte for byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use forklore_testkit::scene::{Tree, card, read_tree};

use crate::hints::hints;
use crate::stage::{FORKLORE, book, chat, printed};

/// A machine with a data folder and histories, in a folder with a space in its name.
pub(crate) struct Machine {
    name: &'static str,
    pub(crate) folder: PathBuf,
}

impl Machine {
    fn new(place: &tempfile::TempDir, name: &'static str) -> Self {
        let folder = place.path().join(format!("{name} of Ada"));
        fs::create_dir_all(folder.join("data")).unwrap();
        Self { name, folder }
    }

    /// One on which two versions of everything were recorded.
    pub(crate) fn with_stories(
        place: &tempfile::TempDir,
        name: &'static str,
        users: &[&str],
    ) -> Self {
        let machine = Self::new(place, name);
        for user in users {
            for messages in [5, 9] {
                machine.save(user, messages);
                assert!(machine.run(&["--user", user, "record"]).status.success());
            }
        }
        machine
    }

    fn save(&self, user: &str, messages: usize) {
        for story in ["The harbour", "It's \"here\"", "-n"] {
            let bytes = chat(&format!("{user} {story}"), Some("Lore"), messages);
            self.write(user, &format!("chats/Ada/{story}.jsonl"), &bytes);
        }
        let titles: Vec<String> = (0..messages).map(|title| title.to_string()).collect();
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        self.write(user, "worlds/Lore.json", &book(&titles));
        self.write(user, "group chats/1.jsonl", &chat("Club", None, messages));
        let group = br#"{"id": "1", "name": "Club", "chats": ["1"], "members": []}"#;
        self.write(user, "groups/1.json", group);
        self.write(user, "characters/Ada.png", &card("Ada", "Elsewhere", "Common"));
        let settings = format!("{{\n    \"a\": {messages},\n    \"b\": 2\n}}");
        self.write(user, "settings.json", settings.as_bytes());
    }

    pub(crate) fn write(&self, user: &str, path: &str, bytes: &[u8]) {
        let path = self.user(user).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn user(&self, user: &str) -> PathBuf {
        self.data().join(user)
    }

    fn files(&self, user: &str) -> Tree {
        read_tree(&self.user(user))
    }

    fn around(&self, command: &mut Command) -> Output {
        let bin = Path::new(FORKLORE).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let paths = [bin.to_owned()].into_iter().chain(std::env::split_paths(&path));
        command
            .env("PATH", std::env::join_paths(paths).unwrap())
            .env("HOSTNAME", self.name)
            .env("HOME", &self.folder)
            .env_remove("FORKLORE_DATA")
            .env_remove("FORKLORE_HISTORY")
            .current_dir(&self.folder)
            .output()
            .unwrap()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.around(Command::new(FORKLORE).args(args))
    }

    pub(crate) fn printed(&self, args: &[&str]) -> String {
        printed(&self.run(args))
    }

    /// Runs a command as it was printed.
    pub(crate) fn shell(&self, way: &str) -> Output {
        self.around(Command::new("sh").args(["-c", way]))
    }

    pub(crate) fn repository(&self, user: &str) -> PathBuf {
        self.folder.join(format!("data-history/{user}.git"))
    }

    /// A user's files and history.
    pub(crate) fn everything_of(&self, user: &str) -> Tree {
        let mut all = self.files(user);
        let history = read_tree(&self.repository(user)).into_iter();
        all.extend(history.map(|(path, bytes)| (format!("history/{path}"), bytes)));
        all
    }

    /// Makes a user's files look old, so that no page can have them open.
    pub(crate) fn age(&self, user: &str) {
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        for path in self.files(user).keys() {
            let file = fs::File::options().write(true).open(self.user(user).join(path)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
    }

    /// One of the packs is gone, and the files have changed so much that they cannot replace it.
    pub(crate) fn lose_a_pack(&self, user: &str) {
        let folder = self.repository(user).join("objects/pack");
        let packs = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let index = packs.filter(|path| path.extension().is_some_and(|end| end == "idx"));
        let oldest = index.min_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
        for end in ["idx", "pack"] {
            fs::remove_file(oldest.as_ref().unwrap().with_extension(end)).unwrap();
        }
        self.write(user, "chats/Ada/The harbour.jsonl", &chat("another", Some("Lore"), 12));
    }

    /// Neither of the files with the machine's name can be read.
    pub(crate) fn lose_its_name(&self, user: &str) {
        for file in ["machine", "machine-copy"] {
            fs::write(self.repository(user).join("forklore").join(file), b"\0").unwrap();
        }
    }

    /// A branch that was created without Forklore.
    pub(crate) fn share_a_lorebook(&self, user: &str) {
        let folder = self.user(user).join("chats/Ada");
        let story = fs::read_to_string(folder.join("The harbour.jsonl")).unwrap();
        let branch =
            story.replacen("\"integrity\"", "\"main_chat\":\"The harbour\",\"integrity\"", 1);
        assert_ne!(story, branch);
        self.write(user, "chats/Ada/The harbour - Branch #1.jsonl", branch.as_bytes());
    }

    /// Pastes the only command with `rescue` among those printed, and answers its question.
    #[track_caller]
    fn paste_rescue(&self, said: &str) -> String {
        let mut ways = hints(said);
        ways.retain(|way| way.contains(" rescue "));
        let [way] = &ways[..] else { panic!("{ways:?} in {said}") };
        printed(&self.around(Command::new("sh").args(["-c", &format!("{way} --yes")])))
    }

    #[track_caller]
    fn is_back(&self, user: &str, before: &Tree, said: &str) {
        assert_eq!(&self.files(user), before, "{said}");
        let status = self.printed(&["--user", user, "status"]);
        assert!(!status.contains("gone"), "{status}");
        let rescue = self.printed(&["--user", user, "rescue"]);
        assert!(rescue.contains("Nothing"), "{rescue}");
    }
}

#[test]
fn the_users_folder_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["default-user"]);
    let before = machine.files("default-user");
    fs::remove_dir_all(machine.user("default-user")).unwrap();
    let status = machine.printed(&["status"]);
    assert!(status.starts_with("! The folder of default-user is gone"), "{status}");
    assert!(machine.printed(&["log", "Ada"]).contains("harbour"));
    for refused in ["tree", "record"] {
        let said = machine.printed(&[refused]);
        assert!(said.contains("the folder of default-user is gone"), "{said}");
    }
    let said = machine.paste_rescue(&status);
    machine.is_back("default-user", &before, &said);
    assert!(said.contains("presets"), "{said}");
}

#[test]
fn the_users_folder_is_renamed_and_named_again() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["default-user"]);
    let before = machine.files("default-user");
    let other = machine.user("default-user.bak");
    fs::rename(machine.user("default-user"), &other).unwrap();
    // Which of the two is meant is not guessed.
    let undecided = machine.printed(&["rescue"]);
    assert!(undecided.starts_with("Error: there are several users"), "{undecided}");
    let status = machine.printed(&["status"]);
    assert!(status.starts_with("! The folder of default-user is gone"), "{status}");
    let said = machine.paste_rescue(&status);
    machine.is_back("default-user", &before, &said);
    assert_eq!(read_tree(&other), before);

    fs::remove_dir_all(machine.user("default-user")).unwrap();
    fs::rename(&other, machine.user("default-user")).unwrap();
    machine.is_back("default-user", &before, "it was renamed back");
    let said = machine.printed(&["record"]);
    assert!(said.starts_with("Nothing changed"), "{said}");
}

#[test]
fn the_data_folder_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["default-user"]);
    let before = machine.files("default-user");
    fs::remove_dir_all(machine.data()).unwrap();
    // Its disk may not be mounted.
    let said = machine.printed(&["rescue", "--all", "--yes"]);
    assert!(said.starts_with("! The folder") && said.contains("not mounted"), "{said}");
    assert!(!machine.data().exists());
    let said = machine.paste_rescue(&machine.printed(&["status"]));
    machine.is_back("default-user", &before, &said);
}

#[test]
fn of_two_users_one_is_gone() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["ada", "bo"]);
    let (ada, bo) = (machine.files("ada"), machine.files("bo"));
    fs::remove_dir_all(machine.user("bo")).unwrap();
    let status = machine.printed(&["status"]);
    assert!(status.starts_with("! The folder of bo is gone"), "{status}");
    assert!(status.contains("Stories of ada"), "{status}");
    let said = machine.paste_rescue(&status);
    machine.is_back("bo", &bo, &said);
    machine.is_back("ada", &ada, &said);
}

#[test]
fn a_user_who_was_deleted_is_no_longer_reported() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["ada", "bo"]);
    fs::remove_dir_all(machine.user("bo")).unwrap();
    let ways = hints(&machine.printed(&["status"]));
    let dismiss = ways.iter().find(|way| way.contains("dismiss")).unwrap();
    machine.around(Command::new("sh").args(["-c", dismiss]));
    let status = machine.run(&["status"]);
    assert!(status.status.success(), "{}", printed(&status));
    // And nobody has to say which of the two is meant.
    let log = machine.run(&["log"]);
    assert!(log.status.success(), "{}", printed(&log));
    let bo = machine.printed(&["--user", "bo", "rescue"]);
    assert!(bo.contains("deleted chat"), "{bo}");
}

/// A machine with nothing but a history that came from elsewhere.
fn new_machine_with(place: &tempfile::TempDir, takes: &[&str], before: &Tree) {
    let machine = Machine::new(place, "a-new");
    let said = machine.paste_rescue(&machine.printed(takes));
    machine.is_back("default-user", before, &said);
    // It is this machine's own from now on.
    machine.save("default-user", 11);
    let recorded = machine.printed(&["record"]);
    assert!(recorded.starts_with("Recorded 6 changes"), "{recorded}");

    // And what it sends is accepted elsewhere.
    let remote = place.path().join("second remote.git");
    let remote = remote.to_str().unwrap();
    assert!(machine.run(&["history", "push", remote, "--create"]).status.success());
    let third = Machine::new(place, "third");
    let pulled = third.run(&["history", "pull", remote]);
    assert!(pulled.status.success(), "{}", printed(&pulled));
    assert!(printed(&pulled).contains("versions of 8 files from a-new-"), "{}", printed(&pulled));
}

#[test]
fn only_a_remote_is_left() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["default-user"]);
    let before = machine.files("default-user");
    let remote = place.path().join("remote.git");
    let remote = remote.to_str().unwrap();
    assert!(machine.run(&["history", "push", remote, "--create"]).status.success());
    fs::remove_dir_all(&machine.folder).unwrap();
    new_machine_with(&place, &["history", "pull", remote], &before);
}

#[test]
fn only_a_bundle_is_left() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["default-user"]);
    let before = machine.files("default-user");
    let bundle = place.path().join("stories.bundle");
    let bundle = bundle.to_str().unwrap();
    assert!(machine.run(&["history", "bundle", bundle]).status.success());
    fs::remove_dir_all(&machine.folder).unwrap();
    new_machine_with(&place, &["history", "unbundle", bundle], &before);
}

#[test]
fn what_is_there_already_is_kept_beside_what_comes_from_elsewhere() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["default-user"]);
    let before = machine.files("default-user");
    let bundle = place.path().join("stories.bundle");
    let bundle = bundle.to_str().unwrap();
    assert!(machine.run(&["history", "bundle", bundle]).status.success());

    let new = Machine::new(&place, "new");
    let begun = chat("begun here", None, 3);
    new.write("default-user", "chats/Ada/The harbour.jsonl", &begun);
    new.write("default-user", "settings.json", b"{\n    \"fresh\": 1\n}");
    let said = new.paste_rescue(&new.printed(&["history", "unbundle", bundle]));
    // A page that is open would save its settings over these.
    assert!(said.contains("settings did not come back"), "{said}");
    let machines = new.printed(&["rescue", "--from", "nobody"]);
    let name = machines.split("only of: ").nth(1).unwrap();
    let desk = name.lines().next().unwrap().split(", ").find(|it| it.starts_with("desk")).unwrap();
    let args = ["rescue", "--from", desk, "settings", "--yes", "--closed"];
    assert!(new.run(&args).status.success());

    let mut after = new.files("default-user");
    let story = "chats/Ada/The harbour.jsonl";
    assert_eq!(after.insert(story.to_owned(), before[story].clone()), Some(begun));
    let beside = after.iter().find(|(path, _)| path.contains("restored")).unwrap();
    let (beside, restored) = (beside.0.clone(), beside.1.clone());
    assert_eq!(restored, before[story], "{beside}");
    after.remove(&beside);
    assert_eq!(after, before);
}

/// The file that names this machine, and its copy, as they could be after a crash or on a failing
/// disk: cut at every length, gone, or full of something else.
#[test]
fn the_name_of_the_machine_is_damaged() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["default-user"]);
    let own = machine.folder.join("data-history/default-user.git/forklore");
    let versions = |machine: &Machine| machine.printed(&["log", "Ada/The harbour"]);
    let before = versions(&machine);
    assert!(before.contains("2 versions"), "{before}");
    for name in ["machine", "machine-copy"] {
        let whole = fs::read(own.join(name)).unwrap();
        let cuts = (0..whole.len()).map(|length| Some(whole[..length].to_vec()));
        let others = [None, Some(b"\0\0\0\0".to_vec()), Some(b"another-pc\n".to_vec())];
        for harm in cuts.chain(others) {
            match &harm {
                Some(bytes) => fs::write(own.join(name), bytes).unwrap(),
                None => fs::remove_file(own.join(name)).unwrap(),
            }
            let verified = machine.printed(&["history", "verify"]);
            let is_noticed = verified.contains(&format!("forklore/{name}: differs"));
            // A missing newline changes nothing, and earlier versions wrote no copy.
            let is_harmless = match &harm {
                Some(bytes) => bytes == whole.trim_ascii_end(),
                None => name == "machine-copy",
            };
            assert_eq!(is_noticed, !is_harmless, "{harm:?}: {verified}");
            let recorded = machine.printed(&["record"]);
            assert!(recorded.starts_with("Nothing changed"), "{harm:?}: {recorded}");
            assert_eq!(versions(&machine), before, "{harm:?}");
            let healed = fs::read(own.join(name)).unwrap();
            assert_eq!(healed.trim_ascii_end(), whole.trim_ascii_end(), "{harm:?}");
        }
    }

    // Without either it stops and asks, and guesses nothing.
    let name = fs::read_to_string(own.join("machine")).unwrap();
    for other in ["", "another-pc\n"] {
        fs::write(own.join("machine"), other).unwrap();
        fs::remove_file(own.join("machine-copy")).unwrap();
        machine.save("default-user", 12);
        let refused = machine.run(&["record"]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(printed(&refused).contains(name.trim()), "{}", printed(&refused));
        assert_eq!(versions(&machine), before);
        let repaired = machine.run(&["history", "repair", "--machine", name.trim()]);
        assert!(repaired.status.success(), "{}", printed(&repaired));
        assert_eq!(versions(&machine), before);
    }
    assert!(machine.run(&["record"]).status.success());
    assert!(versions(&machine).contains("3 versions"));

    // Under a new name the past is not lost from sight.
    let unknown = machine.run(&["history", "repair", "--machine", "nobody"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(machine.run(&["history", "repair", "--machine", "new"]).status.success());
    machine.save("default-user", 13);
    assert!(machine.run(&["record"]).status.success());
    let log = versions(&machine);
    assert!(log.contains("1 version") && log.contains("3 versions recorded on desk-"), "{log}");
}

#[test]
fn what_is_wrong_with_one_user_does_not_stop_the_others() {
    let place = tempfile::tempdir().unwrap();
    let machine = Machine::with_stories(&place, "desk", &["ada", "bo", "cy"]);
    machine.lose_its_name("ada");
    fs::remove_dir_all(machine.user("bo")).unwrap();
    for user in ["ada", "cy"] {
        machine.save(user, 12);
    }
    let recorded = machine.run(&["record", "--all-users"]);
    let said = printed(&recorded);
    assert_eq!(recorded.status.code(), Some(2), "{said}");
    for words in ["could not record ada", "the folder of bo is gone", "cy: Recorded 6 changes"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(said.contains(r#"`forklore --user "ada" history repair"#), "{said}");
}
