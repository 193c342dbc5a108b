//! A data folder, and the command run on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use forklore_json::Json;
use forklore_testkit::scene::{Scene, Tree, header, written};

pub(crate) const FORKLORE: &str = env!("CARGO_BIN_EXE_forklore");

const SETTINGS: &[u8] = br#"{
    "firstRun": false,
    "username": "User",
    "main_api": "openai",
    "world_info_settings": {"world_info": {"globalSelect": ["Common"]}},
    "power_user": {"personas": {}, "theme": "Dark"}
}"#;

pub(crate) struct Stage {
    pub(crate) scene: Scene,
    histories: tempfile::TempDir,
}

impl Stage {
    /// A folder without problems.
    pub(crate) fn new() -> Self {
        let scene = Scene::of(&Tree::new());
        let histories = tempfile::tempdir().unwrap();
        let stage = Self { scene, histories };
        stage.write("settings.json", SETTINGS);
        stage.write("worlds/Common.json", &book(&["Common"]));
        stage
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.scene.root().join("default-user").join(path)
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        self.scene.write(&format!("default-user/{path}"), bytes);
    }

    pub(crate) fn histories(&self) -> &Path {
        self.histories.path()
    }

    /// The command, without anything inherited from the environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(FORKLORE);
        command.args(args);
        self.around(&mut command);
        command
    }

    /// Sets the command's environment, also for a shell that runs it.
    pub(crate) fn around(&self, command: &mut Command) {
        let bin = Path::new(FORKLORE).parent().unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let paths = [bin.to_owned()].into_iter().chain(std::env::split_paths(&path));
        command
            .env("PATH", std::env::join_paths(paths).unwrap())
            .env("FORKLORE_DATA", self.scene.root())
            .env("FORKLORE_HISTORY", self.histories())
            .current_dir(self.scene.root());
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Everything the command prints.
    pub(crate) fn printed(&self, args: &[&str]) -> String {
        printed(&self.run(args))
    }

    /// Makes a file look old, so that no page can have it open.
    pub(crate) fn age(&self, path: &str) {
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        let file = fs::File::options().write(true).open(self.path(path)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
}

pub(crate) fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// A chat of `messages` messages that occur in no other chat.
pub(crate) fn chat(name: &str, book: Option<&str>, messages: usize) -> Vec<u8> {
    let mut metadata = vec![("integrity", Json::from(name))];
    metadata.extend(book.map(|book| ("world_info", Json::from(book))));
    let mut lines = vec![header(&Json::object(metadata))];
    lines.extend((0..messages).map(|at| {
        let message = Json::object([
            ("name", Json::from("Ada")),
            ("send_date", Json::from(format!("day {at}"))),
            ("mes", Json::from(format!("Message {at} of {name}."))),
        ]);
        message.stringify()
    }));
    lines.join(&b'\n')
}

pub(crate) fn book(titles: &[&str]) -> Vec<u8> {
    let entries = titles.iter().enumerate().map(|(uid, title)| {
        let entry = Json::object([
            ("uid", Json::from(uid)),
            ("key", Json::from(vec![*title])),
            ("comment", Json::from(*title)),
            ("content", Json::from(format!("What is known of {title}."))),
        ]);
        (uid.to_string(), entry)
    });
    written(&Json::object([("entries", Json::object(entries))]))
}
