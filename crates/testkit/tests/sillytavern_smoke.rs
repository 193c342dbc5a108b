//! Tests the harness itself: a real SillyTavern returns the stored data, and the files are where we
//! expect them.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "the scenes are tests too")]

use std::fs;
use std::path::PathBuf;

use forklore_testkit::sillytavern::{Api, Force, Metadata, Server};
use tempfile::TempDir;

const HEADER: &str = r#"{"chat_metadata":{"integrity":"one","world_info":"Ada's world"},"user_name":"unused","character_name":"unused"}"#;
const MESSAGES: [&str; 3] = [
    r#"{"name":"Ada","is_user":false,"mes":"Hello.","extra":{}}"#,
    r#"{"name":"You","is_user":true,"mes":"Where are we?\nIt is dark.","odd":"\ud800"}"#,
    r#"{"name":"Ada","is_user":false,"mes":"Где-то 🌒","swipes":["a","b"],"swipe_id":1}"#,
];

#[test]
fn sillytavern_takes_and_gives_back_everything_a_story_has() {
    let data_root = TempDir::new().unwrap();
    let server = Server::start(data_root.path());
    server.play(&[
        ("a chat", a_chat),
        ("a chat moved on by somebody else", a_chat_moved_on_by_somebody_else),
        ("a book", a_book),
        ("a group", a_group),
        ("settings", settings),
        ("a request without a token", a_request_without_a_token),
    ]);

    let user = data_root.path().join("default-user");
    assert_eq!(read(user.join("chats/Ada/Renamed.jsonl")), lines().join("\n"));
    assert_eq!(read(user.join("group chats/Gathering.jsonl")), lines().join("\n"));
    assert_eq!(read(user.join("worlds/Ada's world.json")), BOOK);
}

#[test]
fn sillytavern_starts_on_a_data_root_that_it_has_used_before() {
    let data_root = TempDir::new().unwrap();
    let ada = {
        let server = Server::start(data_root.path());
        let ada = server.api().create_character("Ada", "Hello.");
        server.api().save_chat(&ada, "Story", &lines(), Force::No).ok();
        ada
    };
    let server = Server::start(data_root.path());
    assert_eq!(server.api().get_chat(&ada, "Story").ok().body, array());
}

fn a_chat(server: &Server) {
    let api = server.api();
    let ada = api.create_character("Ada", "Hello.");
    assert_eq!(ada, "Ada.png");

    api.save_chat(&ada, "Story", &lines(), Force::No).ok();
    api.set_current_chat(&ada, "Story").ok();
    assert_eq!(api.get_chat(&ada, "Story").ok().body, array());

    api.rename_chat(&ada, "Story", "Renamed").ok();
    assert_eq!(api.get_chat(&ada, "Story").ok().body, "[]");
    assert_eq!(api.get_chat(&ada, "Renamed").ok().body, array());
    let listed = api.list_chats(&ada, Metadata::With).ok().json();
    assert_eq!(listed[0]["file_id"], "Renamed");
    assert_eq!(listed[0]["chat_items"], 3);
    assert_eq!(listed[0]["chat_metadata"]["world_info"], "Ada's world");

    api.save_chat(&ada, "v1. draft", &lines(), Force::No).ok();
    api.delete_chat(&ada, "v1. draft").ok();
    assert_eq!(api.delete_chat(&ada, "v1. draft").status, 400);
}

fn a_chat_moved_on_by_somebody_else(server: &Server) {
    let api = server.api();
    let bea = api.create_character("Bea", "Hello.");
    let theirs = HEADER.replace(r#""one""#, r#""two""#);
    api.save_chat(&bea, "Story", &[&theirs], Force::No).ok();

    let refused = api.save_chat(&bea, "Story", &lines(), Force::No);
    assert_eq!((refused.status, refused.body.as_str()), (400, r#"{"error":"integrity"}"#));
    assert_eq!(api.get_chat(&bea, "Story").ok().body, format!("[{theirs}]"));

    api.save_chat(&bea, "Story", &lines(), Force::Yes).ok();
    assert_eq!(api.get_chat(&bea, "Story").ok().body, array());
}

const BOOK: &str = r#"{
    "entries": {
        "0": {
            "uid": 0,
            "key": [
                "lamp"
            ],
            "content": "It burns.",
            "unknown": {
                "kept": true
            }
        }
    },
    "extensions": {
        "ours": 1
    }
}"#;

fn a_book(server: &Server) {
    let api = server.api();
    api.edit_book("Ada's world", BOOK).ok();
    assert_eq!(
        api.get_book("Ada's world").ok().body,
        r#"{"entries":{"0":{"uid":0,"key":["lamp"],"content":"It burns.","unknown":{"kept":true}}},"extensions":{"ours":1}}"#
    );

    api.edit_book("Passing", r#"{"entries":{}}"#).ok();
    assert_eq!(books(api), ["Ada's world", "Passing"]);
    api.delete_book("Passing").ok();
    assert_eq!(books(api), ["Ada's world"]);
    assert_eq!(api.get_book("Passing").ok().body, r#"{"entries":{}}"#);
}

fn books(api: &Api) -> Vec<String> {
    let listed = api.list_books().ok().json();
    let books = listed.as_array().unwrap();
    books.iter().map(|book| book["file_id"].as_str().unwrap().to_owned()).collect()
}

fn a_group(server: &Server) {
    let api = server.api();
    let cleo = api.create_character("Cleo", "Hello.");
    let dora = api.create_character("Dora", "Hello.");
    let id = api.create_group("Friends", &[&cleo, &dora], "Gathering");
    api.save_group_chat("Gathering", &lines(), Force::No).ok();
    api.save_group_chat("Second", &lines(), Force::No).ok();
    assert_eq!(api.get_group_chat("Gathering").ok().body, array());

    let mut group = api.all_groups().ok().json()[0].take();
    assert_eq!(group["id"], *id);
    assert_eq!(group["chats"], serde_json::json!(["Gathering"]));
    group["chats"].as_array_mut().unwrap().push("Second".into());
    api.edit_group(&group.to_string()).ok();
    assert_eq!(api.all_groups().ok().json()[0]["chats"], group["chats"]);

    api.delete_group_chat("Second").ok();
    assert_eq!(api.get_group_chat("Second").ok().body, "[]");
}

fn settings(server: &Server) {
    let api = server.api();
    let seeded = api.get_settings().ok().json()["settings"].as_str().unwrap().to_owned();
    assert!(seeded.contains(r#""firstRun": false"#));

    api.save_settings(r#"{"firstRun":false,"ours":"kept"}"#).ok();
    let saved = api.get_settings().ok().json()["settings"].as_str().unwrap().to_owned();
    assert_eq!(saved, "{\n    \"firstRun\": false,\n    \"ours\": \"kept\"\n}");
}

fn a_request_without_a_token(server: &Server) {
    let body = r#"{"name":"Forged","data":{"entries":{}}}"#;
    assert_eq!(server.api().forge("/api/worldinfo/edit", body).status, 403);
    assert_eq!(server.api().post_text("/api/worldinfo/edit", body).status, 200);
    server.api().delete_book("Forged").ok();
}

fn lines() -> Vec<&'static str> {
    [HEADER].into_iter().chain(MESSAGES).collect()
}

fn array() -> String {
    format!("[{}]", lines().join(","))
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
