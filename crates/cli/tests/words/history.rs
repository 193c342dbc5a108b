//! `log`, `show`, `diff`, `restore`, `undelete` and `status` on a history.

use std::fs::{self, File};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use forklore_history::file::FileName;
use forklore_history::record::recorder::Observed;
use forklore_history::version::history::History;
use forklore_json::Json;
use forklore_tavern::disk::RealDisk;
use forklore_testkit::fixed_clock::FixedClock;
use forklore_testkit::scene::{header, written};
use insta::assert_snapshot;

use crate::stage::{Stage, StoppedClock};

const MINUTE: u64 = 60;
pub(crate) const HOUR: u64 = 60 * MINUTE;
pub(crate) const DAY: u64 = 24 * HOUR;

fn ago(seconds: u64) -> SystemTime {
    let now = Duration::from_millis(FixedClock::NOW_MILLISECONDS);
    UNIX_EPOCH + now - Duration::from_secs(seconds)
}

/// Writes a file of the user, dated some time ago.
pub(crate) fn write(stage: &Stage, path: &str, bytes: &[u8], seconds: u64) {
    let path = format!("default-user/{path}");
    stage.scene.write(&path, bytes);
    let file = File::options()
        .write(true)
        .open(stage.scene.root().join(path))
        .expect("it was just written");
    file.set_modified(ago(seconds)).expect("its time can be set");
}

pub(crate) fn remove(stage: &Stage, path: &str) {
    fs::remove_file(stage.scene.root().join("default-user").join(path)).expect("it is there");
}

pub(crate) fn chat(book: Option<&str>, messages: &[(&str, &str)]) -> Vec<u8> {
    let mut metadata = vec![("integrity", Json::from("0"))];
    metadata.extend(book.map(|book| ("world_info", Json::from(book))));
    let mut lines = vec![header(&Json::object(metadata))];
    lines.extend(messages.iter().enumerate().map(|(at, (name, text))| {
        let message = Json::object([
            ("name", Json::from(*name)),
            ("is_user", Json::from(*name == "User")),
            ("send_date", Json::from(format!("day {at}"))),
            ("mes", Json::from(*text)),
        ]);
        message.stringify()
    }));
    lines.join(&b'\n')
}

/// A chat that shares no message with any other.
pub(crate) fn tale(name: &str, messages: usize) -> Vec<u8> {
    let texts: Vec<String> = (0..messages).map(|at| format!("{name}, {at}.")).collect();
    let messages: Vec<(&str, &str)> = texts.iter().map(|text| ("Ada", text.as_str())).collect();
    chat(None, &messages)
}

pub(crate) fn book(entries: &[(&str, &str)]) -> Vec<u8> {
    let entries = entries.iter().enumerate().map(|(uid, (title, content))| {
        let entry = Json::object([
            ("uid", Json::from(uid)),
            ("key", Json::from(vec![*title])),
            ("comment", Json::from(*title)),
            ("content", Json::from(*content)),
        ]);
        (uid.to_string(), entry)
    });
    written(&Json::object([("entries", Json::object(entries))]))
}

const STORY: &str = "chats/Mara/The mill.jsonl";
const LORE: &str = "worlds/Mill.json";
const MESSAGES: [(&str, &str); 6] = [
    ("Mara", "The wheel stands still."),
    ("User", "I ask who stopped it."),
    ("Mara", "Nobody has turned it since the flood took the bridge and half of the road."),
    ("User", "I look for the key."),
    ("Mara", "It hangs where it always hung."),
    ("User", "I take it."),
];

/// A stage on which a chat grew, was edited and was lost, and its lorebook changed.
pub(crate) fn with_history(stage: Stage) -> Stage {
    let began = MESSAGES[..3].to_vec();
    write(&stage, STORY, &chat(Some("Mill"), &began), 3 * DAY);
    write(&stage, LORE, &book(&[("The mill", "It is old.")]), 3 * DAY);
    let _ = stage.run(["record"]);
    let mut edited = MESSAGES.to_vec();
    write(&stage, STORY, &chat(Some("Mill"), &edited), 5 * HOUR);
    let _ = stage.run(["record"]);
    edited[2].1 = "Nobody has turned it since the flood took the bridge and all of the road.";
    write(&stage, STORY, &chat(Some("Mill"), &edited), 2 * HOUR);
    write(&stage, LORE, &book(&[("The mill", "It is old and it stands still.")]), 2 * HOUR);
    let _ = stage.run(["record"]);
    write(&stage, STORY, &chat(None, &began[..1]), 20 * MINUTE);
    let lore = book(&[("The mill", "It is old and it stands still."), ("Mara", "The miller.")]);
    write(&stage, LORE, &lore, 10 * MINUTE);
    let _ = stage.run(["record"]);
    stage
}

#[test]
fn without_a_history_the_way_to_one_is_shown() {
    let stage = Stage::new();
    for args in [&["log"][..], &["undelete"], &["show", "Story", "--version", "1"]] {
        let said = stage.run(args.iter().copied());
        assert_eq!(said, stage.run(["undelete", "Story"]), "{args:?}");
    }
    assert_snapshot!(stage.run(["log"]), @"
    -- stderr --
    Error: there is no history at `$HISTORIES/default-user.git`
    Hint: `forklore record` starts one, and `forklore watch` keeps it up to date.
    -- exit 2 --
    ");
}

#[test]
fn the_log_of_a_file_tells_its_story() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["log", "The mill"]), @r#"
    Mara/The mill  chat, 1 message, 4 versions
    ! 4  today 06:46       5 messages removed from the end, 1 left, chat no longer bound to a lorebook
    … 3  today 05:06       message 2 edited (last good version)
    … 2  today 02:06       messages 3 to 5
      1  2096-09-29 07:06  first seen, 3 messages, the last by Mara
    … not watched before this: versions may be missing.
    `forklore restore "Mara/The mill" --version 3` brings back its 6 messages.
    "#);
    assert_snapshot!(stage.run(["log", "book:mill"]), @"
    Mill  lorebook, 2 entries, 3 versions
    … 3  today 06:56       entry 'Mara' added
    … 2  today 05:06       entry 'The mill' changed
      1  2096-09-29 07:06  first seen, 1 entry
    … not watched before this: versions may be missing.
    ");
    assert_snapshot!(stage.run(["log", "The mill", "-n", "1"]), @r#"
    Mara/The mill  chat, 1 message, 4 versions
    ! 4  today 06:46  5 messages removed from the end, 1 left, chat no longer bound to a lorebook
    3 more: --all shows them.
    … not watched before this: versions may be missing.
    `forklore restore "Mara/The mill" --version 3` brings back its 6 messages.
    "#);
}

#[test]
fn the_log_of_everything_is_in_the_order_in_which_it_happened() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["log", "-n", "5"]), @"
    … today 06:56  Mill (3): entry 'Mara' added
    ! today 06:46  Mara/The mill (4): 5 messages removed from the end, 1 left, chat no longer bound to a lorebook
    … today 05:06  Mara/The mill (3): message 2 edited
    … today 05:06  Mill (2): entry 'The mill' changed
    … today 02:06  Mara/The mill (2): messages 3 to 5
    20 more: --all shows them.
    … not watched before this: versions may be missing.
    ");
}

#[test]
fn what_was_saved_in_one_go_is_one_line() {
    let stage = with_history(Stage::new());
    for messages in 2..=5 {
        record_version(&stage, STORY, &chat(None, &MESSAGES[..messages]));
    }
    record_version(&stage, LORE, &book(&[("The mill", "It turns.")]));
    record_version(&stage, STORY, &chat(None, &MESSAGES));
    assert_snapshot!(stage.run(["log", "-n", "4"]), @"
      today 07:05  Mara/The mill (9): message 5 by User
      today 07:05  Mill (4): entry 'Mara' removed, entry 'The mill' changed
      today 07:05  Mara/The mill (5 to 8): message 4 by Mara, after 3 changes
    … today 06:56  Mill (3): entry 'Mara' added
    24 more: --all shows them.
    … not watched before this: versions may be missing.
    ");
    let json = stage.run(["--json", "log", "-n", "4"]);
    let json = Json::parse(json.as_bytes()).expect("it is JSON");
    let versions = json.get("versions").and_then(Json::as_array).expect("it has versions");
    assert_eq!(versions.len(), 4);
}

#[test]
fn groups_and_settings_say_what_changed() {
    let stage = Stage::new();
    let settings = |world: &str, more: &str| {
        format!("{{\n    \"username\": \"User\",\n    \"world\": \"{world}\"{more}\n}}")
            .into_bytes()
    };
    record_version(&stage, "settings.json", &settings("one", ""));
    record_version(&stage, "settings.json", &settings("two", ""));
    let more = ["a_b", "c", "d\u{202e}", "e", "f"].map(|key| format!(",\n    \"{key}\": 1"));
    record_version(&stage, "settings.json", &settings("two", &more.concat()));
    record_version(&stage, "settings.json", &settings("two", &more[1..].concat()));
    record_version(&stage, "settings.json", b"{ torn");
    assert_snapshot!(stage.run(["log", "settings"]), @r#"
    settings  settings, 5 versions
    ! 5  today 07:05  settings can no longer be read
      4  today 07:05  settings changed (last good version)
      3  today 07:05  settings changed: a_b, c, e and 1 more
      2  today 07:05  settings changed: world
      1  today 07:05  settings first seen
    Close every page of SillyTavern; then `forklore restore "settings" --version 4 --closed` brings back version 4.
    "#);
}

#[test]
fn whoever_names_a_character_means_its_stories() {
    let stage = with_history(Stage::new());
    write(&stage, "characters/Mara.png", b"\x89PNG not really", HOUR);
    write(&stage, "chats/Mara/Another day.jsonl", &chat(None, &MESSAGES[..2]), HOUR);
    let _ = stage.run(["record"]);
    assert_snapshot!(stage.run(["log", "Mara"]), @"
    ! today 06:46       Mara/The mill (4): 5 messages removed from the end, 1 left, chat no longer bound to a lorebook
      today 06:06       Mara (1): card first seen
      today 06:06       Mara/Another day (1): first seen, 2 messages, the last by User
    … today 05:06       Mara/The mill (3): message 2 edited
    … today 02:06       Mara/The mill (2): messages 3 to 5
      2096-09-29 07:06  Mara/The mill (1): first seen, 3 messages, the last by Mara
    … not watched before this: versions may be missing.
    ");
    assert_eq!(stage.run(["log", "mara"]), stage.run(["log", "Mara"]));
    assert_snapshot!(stage.run(["log", "card:Mara"]), @"
    Mara  card, 1 version
      1  today 06:06  card first seen
    ");
}

#[test]
fn the_log_in_colour_and_on_a_narrow_screen() {
    assert_snapshot!(with_history(Stage::in_colour()).run(["log", "The mill"]), @"
    \u{1b}[1mMara/The mill\u{1b}[0m\u{1b}[2m  chat, 1 message, 4 versions\u{1b}[0m
    \u{1b}[31m!\u{1b}[0m 4  \u{1b}[2mtoday 06:46     \u{1b}[0m  5 messages removed from the end, 1 left, chat no longer
                           bound to a lorebook
    \u{1b}[2m…\u{1b}[0m 3  \u{1b}[2mtoday 05:06     \u{1b}[0m  message 2 edited\u{1b}[32m (last good version)\u{1b}[0m
    \u{1b}[2m…\u{1b}[0m 2  \u{1b}[2mtoday 02:06     \u{1b}[0m  messages 3 to 5
      1  \u{1b}[2m2096-09-29 07:06\u{1b}[0m  first seen, 3 messages, the last by Mara
    \u{1b}[2m… not watched before this: versions may be missing.\u{1b}[0m
    \u{1b}[2m`forklore restore \"Mara/The mill\" --version 3` brings back its 6 messages.\u{1b}[0m
    ");
    assert_snapshot!(with_history(Stage::new().with_columns(40)).run(["log", "The mill"]), @r#"
    Mara/The mill  chat, 1 message, 4
    versions
    ! 4  today 06:46
        5 messages removed from the end, 1
        left, chat no longer bound to a
        lorebook
    … 3  today 05:06
        message 2 edited (last good version)
    … 2  today 02:06
        messages 3 to 5
      1  2096-09-29 07:06
        first seen, 3 messages, the last by
        Mara
    … not watched before this: versions may
    be missing.
    `forklore restore "Mara/The mill" --version 3` brings back its 6 messages.
    "#);
}

#[test]
fn a_program_reads_the_log() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["--json", "log", "The mill", "-n", "1"]), @r#"
    {
      "format": 2,
      "command": "log",
      "file": "chats/Mara/The mill.jsonl",
      "name": "Mara/The mill",
      "versions": [
        {
          "file": "chats/Mara/The mill.jsonl",
          "kind": "chat",
          "machine": "desk-5100a0",
          "ours": true,
          "version": 4,
          "words": "5 messages removed from the end, 1 left, chat no longer bound to a lorebook",
          "after": null,
          "why": "found",
          "from": null,
          "written": "2096-10-02T06:46:40.000Z",
          "recorded": "2096-10-02T07:06:40.000Z",
          "count": 1,
          "bytes": 198,
          "loss": "greeting-only",
          "pinned": false,
          "id": "283ab92c2f325969783af448ca6516a2fc2ed920"
        }
      ],
      "older": 3,
      "began_as": null
    }
    "#);
}

/// Records a version as `watch` does.
fn record_version(stage: &Stage, path: &str, bytes: &[u8]) {
    let repository = stage.histories().join("default-user.git");
    let mut history =
        History::open(&RealDisk, &StoppedClock { later: Duration::ZERO }, repository, "desk")
            .expect("it can be made");
    let mut recorder = history.record().expect("nobody else records");
    let name = FileName::of_text(path);
    recorder
        .file(&name, bytes, ago(MINUTE), Observed::AsItHappened, &|_| true)
        .expect("it can be recorded");
    recorder.persist().expect("it can be kept");
}

#[test]
fn a_lorebook_says_after_which_message_it_changed() {
    let stage = Stage::new();
    record_version(&stage, STORY, &chat(Some("Mill"), &MESSAGES[..3]));
    record_version(&stage, LORE, &book(&[("The mill", "It is old.")]));
    record_version(&stage, STORY, &chat(Some("Mill"), &MESSAGES));
    record_version(&stage, LORE, &book(&[("The mill", "It is old."), ("The key", "It hangs.")]));
    assert_snapshot!(stage.run(["log", "Mill"]), @"
    Mill  lorebook, 2 entries, 2 versions
      2  today 07:05  entry 'The key' added, after message 5 of Mara/The mill
      1  today 07:05  first seen, 1 entry, after message 2 of Mara/The mill
    ");
}

#[test]
fn a_file_is_found_by_what_people_call_it() {
    let stage = with_history(Stage::new());
    write(&stage, "worlds/The mill.json", &book(&[]), DAY);
    write(&stage, "chats/Mara/Bridge.jsonl", &chat(None, &MESSAGES[..2]), DAY);
    let _ = stage.run(["record"]);
    let path = stage.scene.root().join("default-user").join(STORY).display().to_string();
    for name in ["mara/the MILL", "chat:The mill", STORY, &path, "The mill.jsonl"] {
        let first = stage.run(["log", name, "-n", "1"]);
        assert!(first.starts_with("Mara/The mill  chat"), "{name}: {first}");
    }
    assert_snapshot!(stage.run(["log", "The mill"]), @r#"
    -- stderr --
    Error: "The mill" matches several files
    Hint: Did you mean: "Mara/The mill", or "book:The mill"?
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["log", "Mara/The bridge"]), @r#"
    -- stderr --
    Error: nothing in the history is called "Mara/The bridge"
    Hint: Did you mean: "Mara/Bridge", or "Mara/The mill", or "book:The mill"?
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["log", "zzz"]), @r#"
    -- stderr --
    Error: nothing in the history is called "zzz"
    Hint: `forklore log` shows what there is; `forklore record` adds what is new.
    -- exit 2 --
    "#);
    let bridge = fs::read(stage.scene.root().join("default-user/chats/Mara/Bridge.jsonl")).unwrap();
    remove(&stage, "chats/Mara/Bridge.jsonl");
    write(&stage, "chats/Mara/River.jsonl", &bridge, HOUR);
    let _ = stage.run(["record"]);
    assert_snapshot!(stage.run(["log", "Mara/Bridge"]), @"
    Mara/River  chat, 2 messages, 2 versions
      2  today 06:06      renamed from Mara/Bridge
      1  yesterday 07:06  first seen, 2 messages, the last by User (as Mara/Bridge)
    ");
}

#[test]
fn show_prints_any_version() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["show", "Mill", "--version", "1"]), @r#"
    {
        "entries": {
            "0": {
                "uid": 0,
                "key": [
                    "The mill"
                ],
                "comment": "The mill",
                "content": "It is old."
            }
        }
    }-- stderr --
    "Mill", version 1, 2096-09-29 07:06: first seen, 1 entry
    "#);
    assert_snapshot!(stage.run(["--json", "show", "Mara/The mill", "--version", "4"]), @r#"
    {
      "format": 2,
      "command": "show",
      "file": "chats/Mara/The mill.jsonl",
      "name": "Mara/The mill",
      "version": 4,
      "words": "5 messages removed from the end, 1 left, chat no longer bound to a lorebook",
      "written": "2096-10-02T06:46:40.000Z",
      "output": null,
      "text": "{\"user_name\":\"User\",\"character_name\":\"Alice\",\"create_date\":\"2026-1-1@10h10m10s\",\"chat_metadata\":{\"integrity\":\"0\"}}\n{\"name\":\"Mara\",\"is_user\":false,\"send_date\":\"day 0\",\"mes\":\"The wheel stands still.\"}"
    }
    "#);
    assert_snapshot!(stage.run(["show", "Mill", "--version", "9"]), @r#"
    -- stderr --
    Error: there is no version 9 of "Mill"
    Hint: 3 is the newest; `forklore log "Mill"` lists them.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["show", "Mill"]), @"
    -- stderr --
    error: the following required arguments were not provided:
      <--at <M>|--version <N>>

    Usage: forklore show <--at <M>|--version <N>> <CHAT>

    For more information, try '--help'.
    -- exit 64 --
    ");
    let stage = with_history(Stage::in_colour());
    assert_snapshot!(stage.run(["show", "card:Alice", "--version", "1"]), @"
    -- stderr --
    \u{1b}[31mError: \u{1b}[0m\"Alice\" is a picture
    \u{1b}[32mHint: \u{1b}[0mWrite it to a file with --output card.png.
    -- exit 2 --
    ");
}

#[test]
fn diff_shows_what_became_of_messages() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["diff", "Mara/The mill", "--version", "3"]), @"
    Comparing Mara/The mill, version 3 with now

    Messages
    - message 1 by User
        text  I ask who stopped it.
    - message 2 by Mara
        text  Nobody has turned it since the flood took the bridge and all of the road.
    - message 3 by User
        text  I look for the key.
    - message 4 by Mara
        text  It hangs where it always hung.
    - message 5 by User
        text  I take it.

    Chat
      world_info  [-Mill-]

    5 messages: 5 removed; 1 field of the chat
    -- exit 1 --
    ");
    assert_snapshot!(stage.run(["diff", "Mara/The mill", "--version", "1", "--with", "3"]), @"
    Comparing Mara/The mill, version 1 with version 3

    Messages
    ~ message 2 by Mara
        text  Nobody has turned it since the flood took the bridge and [-half-]{+all+} of the road.
    + message 3 by User
        text  I look for the key.
    + message 4 by Mara
        text  It hangs where it always hung.
    + message 5 by User
        text  I take it.

    4 messages: 3 added, 1 changed
    -- exit 1 --
    ");
    assert_snapshot!(
        stage.run(["diff", "Mara/The mill", "--version", "1", "--with", "3", "--stat"]),
        @"
    Comparing Mara/The mill, version 1 with version 3

    Messages
    ~ message 2 by Mara  +1 -1 words
    + message 3 by User  +5 -0 words
    + message 4 by Mara  +6 -0 words
    + message 5 by User  +3 -0 words

    4 messages: 3 added, 1 changed
    -- exit 1 --
    "
    );
    assert_snapshot!(stage.run(["diff", "Mara/The mill", "--version", "4"]), @"
    Comparing Mara/The mill, version 4 with now
    Both are identical.
    ");
    assert_snapshot!(
        stage.run(["--json", "diff", "Mara/The mill", "--version", "2", "--with", "3"]),
        @r#"
    {
      "format": 2,
      "command": "diff",
      "file": "chats/Mara/The mill.jsonl",
      "name": "Mara/The mill",
      "version": 2,
      "with": 3,
      "same": false,
      "messages": [
        {
          "what": "changed",
          "name": "Mara",
          "left": 2,
          "right": 2,
          "before": "Nobody has turned it since the flood took the bridge and half of the road.",
          "after": "Nobody has turned it since the flood took the bridge and all of the road."
        }
      ],
      "metadata": []
    }
    -- exit 1 --
    "#
    );
}

#[test]
fn diff_shows_what_became_of_entries_and_settings() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["diff", "Mill", "--version", "1"]), @"
    Comparing Mill, version 1 with now

    Entries
    ~ The mill
        content  It is old{+ and it stands still+}.

    + Mara
        keys     Mara
        content  The miller.

    2 entries: 1 added, 1 changed
    -- exit 1 --
    ");
    assert_snapshot!(stage.run(["diff", "Mill", "--version", "1", "--stat"]), @"
    Comparing Mill, version 1 with now
    ~ The mill  content (+4 -0 words)
    + Mara
    2 entries: 1 added, 1 changed
    -- exit 1 --
    ");
    write(&stage, "settings.json", br#"{"power_user": {"a": 2}, "new": true}"#, HOUR);
    assert_snapshot!(stage.run(["diff", "settings", "--version", "1"]), @r#"
    Comparing settings, version 1 with now
      world_info_settings  [-{"world_info":{"globalSelect":["Common"]}}-]
      power_user           {+{"a":2}+}
      new                  not set → true
    -- exit 1 --
    "#);
    write(&stage, LORE, b"{", HOUR);
    assert_snapshot!(stage.run(["diff", "Mill", "--version", "1", "--stat"]), @"
    Comparing Mill, version 1 with now
      ! now cannot be read: it is not JSON: the text ends in the middle of a value
    - The mill
    1 entry: 1 removed
    -- exit 1 --
    ");
}

#[test]
fn diff_in_colour_and_on_a_narrow_screen() {
    let args = ["diff", "Mara/The mill", "--version", "1", "--with", "3"];
    assert_snapshot!(with_history(Stage::in_colour()).run(args), @"
    Comparing \u{1b}[1mMara/The mill, version 1\u{1b}[0m with \u{1b}[1mversion 3\u{1b}[0m

    \u{1b}[1mMessages\u{1b}[0m
    \u{1b}[33m~ \u{1b}[0m\u{1b}[1mmessage 2\u{1b}[0m by Mara
        \u{1b}[2mtext  \u{1b}[0mNobody has turned it since the flood took the bridge and \u{1b}[9m\u{1b}[31mhalf\u{1b}[0m\u{1b}[32mall\u{1b}[0m of
              the road.
    \u{1b}[32m+ \u{1b}[0m\u{1b}[1mmessage 3\u{1b}[0m by User
        \u{1b}[2mtext  \u{1b}[0m\u{1b}[32mI look for the key.\u{1b}[0m
    \u{1b}[32m+ \u{1b}[0m\u{1b}[1mmessage 4\u{1b}[0m by Mara
        \u{1b}[2mtext  \u{1b}[0m\u{1b}[32mIt hangs where it always hung.\u{1b}[0m
    \u{1b}[32m+ \u{1b}[0m\u{1b}[1mmessage 5\u{1b}[0m by User
        \u{1b}[2mtext  \u{1b}[0m\u{1b}[32mI take it.\u{1b}[0m

    \u{1b}[2m4 messages: 3 added, 1 changed\u{1b}[0m
    -- exit 1 --
    ");
    assert_snapshot!(with_history(Stage::new().with_columns(40)).run(args), @"
    Comparing Mara/The mill, version 1 with version 3

    Messages
    ~ message 2 by Mara
        text  Nobody has turned it since the
              flood took the bridge and
              [-half-]{+all+} of the road.
    + message 3 by User
        text  I look for the key.
    + message 4 by Mara
        text  It hangs where it always hung.
    + message 5 by User
        text  I take it.

    4 messages: 3 added, 1 changed
    -- exit 1 --
    ");
}

#[test]
fn a_chat_comes_back_beside_itself() {
    let stage = with_history(Stage::new());
    let args = ["restore", "Mara/The mill", "--version", "3"];
    assert_snapshot!(stage.run(args.into_iter().chain(["--dry-run"])), @r#"
    Would restore Mara/The mill, version 3, as Mara/The mill - restored 3
      holds     6 messages
      lorebook  "Mill", which has changed since then. `forklore restore "Mill" --version 2` puts it back.
    "#);
    let before = stage.scene.visible();
    assert_snapshot!(stage.run(args), @r#"
    Restored Mara/The mill, version 3, as Mara/The mill - restored 3
      holds     6 messages
      lorebook  "Mill", which has changed since then. `forklore restore "Mill" --version 2` puts it back.
      page      open it in SillyTavern like any other chat
    "#);
    let mut after = stage.scene.visible();
    let made = after.remove("chats/Mara/The mill - restored 3.jsonl").unwrap();
    assert!(made.starts_with(b"{\"user_name\""));
    assert_eq!(after, before);
    assert_snapshot!(stage.run(args), @r#"
    Restored Mara/The mill, version 3, as Mara/The mill - restored 3 (2)
      holds     6 messages
      lorebook  "Mill", which has changed since then. `forklore restore "Mill" --version 2` puts it back.
      page      open it in SillyTavern like any other chat
    "#);
    assert_snapshot!(stage.run(["log", "The mill - restored 3"]), @r#"
    Mara/The mill - restored 3  chat, 6 messages, 1 version
      1  today 07:06  started as version 3 of Mara/The mill
    It started as Mara/The mill, version 3: `forklore log "Mara/The mill"` continues there.
    "#);
}

#[test]
fn a_chat_comes_back_in_its_place_only_where_nobody_has_it_open() {
    let stage = with_history(Stage::new());
    let newest = [("Mara", "Nobody recorded this.")];
    write(&stage, STORY, &chat(None, &newest), 10);
    let before = stage.scene.visible();
    let args = ["restore", "Mara/The mill", "--version", "3", "--in-place"];
    assert_snapshot!(stage.run(args), @r#"
    -- stderr --
    Error: "Mara/The mill" may be open in SillyTavern: it was written 10 s ago
    Hint: Open another chat in SillyTavern first, or close it. If no page has it open, add --closed.
    -- exit 2 --
    "#);
    assert_eq!(stage.scene.visible(), before);
    assert_snapshot!(stage.run(args.into_iter().chain(["--closed"])), @r#"
    Restored Mara/The mill to version 3
      holds     6 messages
      lorebook  "Mill", which has changed since then. `forklore restore "Mill" --version 2` puts it back.
      before    version 5, and in the trash; `forklore undo` brings it back
      page      reload SillyTavern's page before you continue this chat
    "#);
    // The replaced state became a version, although it had not been recorded before.
    let shown = stage.run(["show", "Mara/The mill", "--version", "5"]);
    assert!(shown.contains("Nobody recorded this."), "{shown}");
    assert_snapshot!(stage.run(args.into_iter().chain(["--closed"])), @r#"
    -- stderr --
    Error: "Mara/The mill" is already as it was in version 3
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["undo"]), @"
    Undone: restored Mara/The mill to version 3
      default-user/chats/Mara/The mill.jsonl is as it was before
    ");
    assert_eq!(stage.scene.visible(), before);
}

#[test]
fn a_lorebook_comes_back_in_its_place() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["restore", "Mill", "--version", "1"]), @"
    Restored Mill to version 1
      holds   1 entry
      before  version 3, and in the trash; `forklore undo` brings it back
      page    reload SillyTavern's page before you continue
    ");
    assert_snapshot!(stage.run(["log", "Mill", "-n", "1"]), @"
    Mill  lorebook, 1 entry, 4 versions
      4  today 07:06  back to version 1: entry 'Mara' removed, entry 'The mill' changed
    3 more: --all shows them.
    ");
    write(&stage, LORE, &book(&[]), 10);
    assert_snapshot!(stage.run(["restore", "Mill", "--version", "3"]), @r#"
    -- stderr --
    Error: the lorebook "Mill" may be open in SillyTavern: it was written 10 s ago
    Hint: Open another chat in SillyTavern first, or close it. If no page has it open, add --closed.
    -- exit 2 --
    "#);
    write(&stage, "settings.json", b"{}", DAY);
    assert_snapshot!(stage.run(["restore", "settings", "--version", "1"]), @"
    -- stderr --
    Error: every open page of SillyTavern keeps a copy of the settings and would save it over this one
    Hint: Close every page of SillyTavern first, then add --closed.
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["restore", "settings", "--version", "1", "--closed"]), @"
    Restored settings to version 1
      before  version 2, and in the trash; `forklore undo` brings it back
      page    reload SillyTavern's page before you continue
    ");
}

#[test]
fn a_chat_that_is_gone_comes_back_under_its_own_name() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["undelete"]), @"The history knows of no deleted files.");
    remove(&stage, STORY);
    assert_snapshot!(stage.run(["undelete"]), @"
      not recorded yet  Mara/The mill  chat, 1 message, 198 bytes
    `forklore undelete FILE` brings one back.
    ");
    let _ = stage.run(["record"]);
    remove(&stage, LORE);
    assert_snapshot!(stage.run(["undelete"]), @"
      not recorded yet  Mill  lorebook, 2 entries, 402 bytes
      today 07:06       Mara/The mill  chat, 1 message, 198 bytes
    `forklore undelete FILE` brings one back.
    ");
    assert_snapshot!(stage.run(["undelete", "The mill", "--dry-run"]), @r#"
    Would bring back Mara/The mill
      holds  1 message
      ! it once had more: `forklore restore "Mara/The mill" --version 3` brings back its 6 messages.
    "#);
    assert_snapshot!(stage.run(["undelete", "The mill"]), @r#"
    Brought back Mara/The mill
      holds  1 message
      page   open it in SillyTavern like any other chat
      ! it once had more: `forklore restore "Mara/The mill" --version 3` brings back its 6 messages.
    "#);
    assert_snapshot!(stage.run(["undelete", "Mara/The mill"]), @r#"
    -- stderr --
    Error: "Mara/The mill" is not deleted: it exists
    Hint: `forklore log "Mara/The mill"` lists its versions, and `forklore restore "Mara/The mill" --version N` brings one back.
    -- exit 2 --
    "#);
    remove(&stage, STORY);
    assert_snapshot!(stage.run(["restore", "Mara/The mill", "--version", "3"]), @r#"
    Restored Mara/The mill, version 3, under its own name
      holds     6 messages
      lorebook  "Mill", which has changed since then. `forklore restore "Mill" --version 2` puts it back.
      page      open it in SillyTavern like any other chat
    "#);
    assert_snapshot!(stage.run(["--json", "undelete"]), @r#"
    {
      "format": 2,
      "command": "undelete",
      "files": [
        {
          "file": "worlds/Mill.json",
          "name": "Mill",
          "kind": "lorebook",
          "deleted": null,
          "count": 2,
          "bytes": 402
        }
      ]
    }
    "#);
}

#[test]
fn a_groups_chat_comes_back_to_its_group() {
    let stage = Stage::new();
    let _ = stage.run(["record"]);
    remove(&stage, "group chats/Quest.jsonl");
    let group = br#"{"id": "1700", "name": "Company", "chats": ["Meeting"]}"#;
    write(&stage, "groups/1700.json", group, HOUR);
    let _ = stage.run(["record"]);
    assert_snapshot!(stage.run(["undelete", "group:Quest"]), @"
    Brought back group:Quest
      holds  4 messages
      group  Company lists it
      page   reload SillyTavern's page, and open it like any other chat
    ");
    let group = stage.scene.visible().remove("groups/1700.json").unwrap();
    assert!(String::from_utf8_lossy(&group).contains("\"Quest\""));
    assert_snapshot!(stage.run(["undo"]), @"
    Undone: brought group:Quest back
      default-user/group chats/Quest.jsonl goes to the trash
      default-user/groups/1700.json is as it was before
    ");
    remove(&stage, "groups/1700.json");
    assert_snapshot!(stage.run(["undelete", "group:Quest"]), @r#"
    Brought back group:Quest
      holds  4 messages
      group  the one that listed it is gone; `forklore restore "groups/1700.json" --version 1` brings it back
    "#);
}

/// The last lines of `status`, which are about the history.
fn status(stage: &Stage) -> String {
    let status = stage.run(["status"]);
    let is_about = |line: &str| ["history", "mill", "--version"].iter().any(|it| line.contains(it));
    // Leaves out the size of the history.
    let sizeless = |line: &str| match (line.find(", "), line.find(", newest")) {
        (Some(start), Some(end)) => format!("{}{}", &line[..start], &line[end..]),
        _ => line.to_owned(),
    };
    let lines = status.lines().filter(|line| is_about(line)).map(sizeless);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn status_names_a_loss_until_it_is_made_good() {
    let stage = with_history(Stage::new());
    assert_snapshot!(status(&stage), @r#"
      25 versions of 20 files in the history, newest just now
      ! Mara/The mill: only one message is left in version 4, 20 minutes ago
    `forklore restore "Mara/The mill" --version 3` brings back its 6 messages.
    "#);
    write(&stage, STORY, &chat(None, &MESSAGES[..2]), MINUTE);
    let _ = stage.run(["record"]);
    assert_snapshot!(status(&stage), @r#"
      26 versions of 20 files in the history, newest just now
      ! Mara/The mill: only one message is left in version 4, 20 minutes ago
    `forklore restore "Mara/The mill" --version 3` brings back its 6 messages.
    "#);
    let _ = stage.run(["restore", "Mara/The mill", "--version", "3"]);
    assert_snapshot!(status(&stage), @"  27 versions of 21 files in the history, newest just now");

    let stage = with_history(Stage::new());
    let _ = stage.run(["restore", "Mara/The mill", "--version", "3", "--in-place", "--closed"]);
    assert_snapshot!(status(&stage), @"  26 versions of 20 files in the history, newest just now");

    let stage = with_history(Stage::new());
    write(&stage, STORY, &chat(None, &MESSAGES), MINUTE);
    let _ = stage.run(["record"]);
    assert_snapshot!(status(&stage), @"  26 versions of 20 files in the history, newest just now");
    let json = Json::parse(stage.run(["--json", "status"]).split("-- ").next().unwrap().as_bytes());
    assert!(json.unwrap().get("history").and_then(|history| history.get("losses")).is_some());
}

#[test]
fn status_says_how_a_lost_lorebook_comes_back() {
    let stage = Stage::new();
    let _ = stage.run(["record"]);
    remove(&stage, "worlds/Quest lore.json");
    let _ = stage.run(["record"]);
    assert_snapshot!(ways_back(&stage, "Quest"), @r#"`forklore undelete "Quest lore"` brings back the lorebook."#);
    let _ = stage.run(["undelete", "Quest lore"]);
    write(&stage, "worlds/Quest lore.json", b"", MINUTE);
    let _ = stage.run(["record"]);
    assert_snapshot!(ways_back(&stage, "Quest"), @r#"Close every page of SillyTavern; then `forklore restore "Quest lore" --version 3 --closed` brings back its 4 entries."#);
    let _ = stage.run(["restore", "Quest lore", "--version", "1", "--closed"]);
    assert_snapshot!(ways_back(&stage, "Quest"), @"");
}

/// The lines of `status` that mention the name in a command.
fn ways_back(stage: &Stage, name: &str) -> String {
    let said = stage.run(["status"]);
    let lines = said.lines().filter(|line| line.contains('`') && line.contains(name));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn names_from_strangers_cannot_steer_the_terminal() {
    let stage = Stage::in_colour();
    let path = "worlds/50% \u{1b}[31mred\u{202e}lave.json";
    write(&stage, path, &book(&[("a\u{1b}]0;x\u{7}", "one")]), DAY);
    let _ = stage.run(["record"]);
    write(&stage, path, &book(&[("a\u{1b}]0;x\u{7}", "two\u{202e}")]), HOUR);
    let _ = stage.run(["record"]);
    remove(&stage, path);
    let name = "50% \u{1b}[31mred\u{202e}lave";
    for args in [
        vec!["log", name],
        vec!["undelete"],
        vec!["diff", name, "--version", "1"],
        vec!["undelete", name],
        vec!["restore", name, "--version", "1"],
        vec!["log", "50"],
    ] {
        let shown = stage.run(args.iter().copied());
        assert!(shown.contains("50% %1b[31mred\\u{202e}lave"), "{args:?}: {shown}");
        assert!(!shown.contains("\u{1b}[31mred") && !shown.contains('\u{202e}'), "{args:?}");
    }
}

#[test]
fn settings_that_were_reset_are_a_loss() {
    let fields = ["a", "b", "c", "d", "e", "f"].map(|key| format!("    \"{key}\": \"{key}\""));
    let settings = |fields: &[String]| format!("{{\n{}\n}}", fields.join(",\n")).into_bytes();
    for (after, words, loss) in [
        (b"{}".to_vec(), "settings emptied, 6 fields before", "nothing is left of it"),
        (settings(&fields[..1]), "settings cut down to 1 of 6 fields", "6 fields became 1"),
    ] {
        let stage = Stage::new();
        write(&stage, "settings.json", &settings(&fields), DAY);
        let _ = stage.run(["record"]);
        write(&stage, "settings.json", &after, HOUR);
        let said = stage.run(["record"]);
        assert!(said.contains(&format!("{words}. This looks like a loss")), "{said}");
        assert!(
            said.contains("`forklore restore \"settings\" --version 1 --closed` brings it back")
        );
        assert!(stage.run(["status"]).contains(&format!("settings: {loss} in version 2")));
        // What SillyTavern saves next is not the former content.
        write(&stage, "settings.json", b"{\n    \"a\": 1,\n    \"z\": 2\n}", MINUTE);
        let _ = stage.run(["record"]);
        assert!(stage.run(["status"]).contains(&format!("settings: {loss} in version 2")));
        let said = stage.run(["restore", "settings", "--version", "1", "--closed"]);
        assert!(said.starts_with("Restored settings to version 1"), "{said}");
        assert!(!stage.run(["status"]).contains("settings: "));
    }
}

#[test]
fn a_log_of_no_lines_does_not_say_that_nothing_was_recorded() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["log", "-n", "0"]), @"25 more: --all shows them.");
    assert_snapshot!(stage.run(["log", "Mill", "-n", "0"]), @"
    Mill  lorebook, 2 entries, 3 versions
    3 more: --all shows them.
    ");
}

#[test]
fn the_log_is_in_the_order_of_the_times_that_it_shows() {
    let stage = Stage::new();
    write(&stage, "chats/Ada/a.jsonl", &chat(None, &MESSAGES[..2]), HOUR);
    write(&stage, "chats/Ada/b.jsonl", &chat(None, &MESSAGES[..3]), 20 * MINUTE);
    write(&stage, "chats/Ada/c.jsonl", &chat(None, &MESSAGES[..4]), 40 * MINUTE);
    let _ = stage.run(["record"]);
    let stage = stage.later(HOUR);
    // Copied from a backup, with its old modification time.
    write(&stage, "chats/Ada/b.jsonl", &chat(None, &MESSAGES[..5]), DAY / 2);
    let _ = stage.run(["record"]);
    assert_snapshot!(stage.run(["log", "Ada"]), @"
    … today 08:06  Ada/b (2): messages 3 and 4
      today 06:46  Ada/b (1): first seen, 3 messages, the last by Mara
      today 06:26  Ada/c (1): first seen, 4 messages, the last by User
      today 06:06  Ada/a (1): first seen, 2 messages, the last by User
    … not watched before this: versions may be missing.
    ");
}

#[test]
fn a_lorebook_that_is_only_laid_out_otherwise_did_not_change() {
    let stage = with_history(Stage::new());
    let before = stage.scene.visible().remove(LORE).unwrap();
    let with_newline = [before.as_slice(), b"\n"].concat();
    write(&stage, LORE, &with_newline, 5 * MINUTE);
    let _ = stage.run(["record"]);
    let flat = Json::parse(&before).unwrap().stringify();
    write(&stage, LORE, &flat, 4 * MINUTE);
    let _ = stage.run(["record"]);
    let log = stage.run(["log", "Mill", "-n", "2"]);
    assert_eq!(log.matches("nothing in the story changed").count(), 2, "{log}");
    let more =
        br#"{"entries":{"0":{"uid":0,"key":["a"],"comment":"a","content":"x  y"}},"name":"a b"}"#;
    write(&stage, LORE, more, 3 * MINUTE);
    let _ = stage.run(["record"]);
    let other =
        br#"{"entries":{"0":{"uid":0,"key":["a"],"comment":"a","content":"x  y"}},"name":"ab"}"#;
    write(&stage, LORE, other, 2 * MINUTE);
    let _ = stage.run(["record"]);
    let log = stage.run(["log", "Mill", "-n", "1"]);
    assert!(log.contains("book settings changed"), "{log}");
}

#[test]
fn the_log_of_a_time() {
    let stage = with_history(Stage::new());
    assert_snapshot!(stage.run(["log", "--since", "3h"]), @"
    … today 06:56  Mill (3): entry 'Mara' added
    ! today 06:46  Mara/The mill (4): 5 messages removed from the end, 1 left, chat no longer bound to a lorebook
    … today 05:06  Mara/The mill (3): message 2 edited
    … today 05:06  Mill (2): entry 'The mill' changed
    … not watched before this: versions may be missing.
    ");
    assert_snapshot!(stage.run(["log", "--since", "3h", "--before", "1h", "-n", "1"]), @"
    … today 05:06  Mara/The mill (3): message 2 edited
    1 more: --all shows them.
    … not watched before this: versions may be missing.
    ");
    assert_snapshot!(stage.run(["log", "The mill", "--since", "2096-09-30", "--before", "today 05:30"]), @r#"
    Mara/The mill  chat, 1 message
    … 3  today 05:06  message 2 edited (last good version)
    … 2  today 02:06  messages 3 to 5
    … not watched before this: versions may be missing.
    `forklore restore "Mara/The mill" --version 3` brings back its 6 messages.
    "#);
    assert_snapshot!(stage.run(["log", "--before", "2001-01-01"]), @"Nothing was recorded in that time.");
    assert_snapshot!(stage.run(["log", "--since", "soon"]), @r#"
    -- stderr --
    error: invalid value 'soon' for '--since <TIME>': a time is `yesterday`, `21:00`, `"2026-11-15 21:00"`, or how long ago: 90min, 12h, 3d, 2w

    For more information, try '--help'.
    -- exit 64 --
    "#);
}

#[test]
fn a_group_is_told_by_its_name() {
    let stage = Stage::new();
    let _ = stage.run(["record"]);
    let said = stage.run(["log", "--all"]);
    let group = said.lines().find(|line| line.contains("group ")).unwrap();
    assert!(group.contains(r#"group "Company" first seen"#), "{group}");
}
