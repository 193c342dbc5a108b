//! Unknown and ambiguous names, and wrong usage.

use insta::assert_snapshot;

use crate::stage::Stage;

#[test]
fn an_unknown_chat_brings_what_was_meant() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["check", "tale"]), @r#"
    -- stderr --
    Error: there is no chat "tale"
    Hint: Did you mean: "Alice/Garbled tale", or "Alice/Old tale", or "Alice/Old tale - Branch #1"?
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["check", "zzz"]), @r#"
    -- stderr --
    Error: there is no chat "zzz"
    Hint: `forklore tree` lists every chat.
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["tree", "Bob"]), @r#"
    -- stderr --
    Error: there is no character or group "Bob" with chats
    Hint: Choose one of: Alice, Group Company
    -- exit 2 --
    "#);
}

#[test]
fn a_name_that_is_not_unique_is_not_guessed() {
    let stage = Stage::new();
    stage
        .scene
        .write("default-user/chats/Bob/Story.jsonl", b"{\"chat_metadata\":{}}\n{\"mes\":\"a\"}");
    assert_snapshot!(stage.run(["check", "Story"]), @r#"
    -- stderr --
    Error: "Story" matches several chats
    Hint: Did you mean: "Alice/Story", or "Bob/Story"?
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["check", "Bob/Story"]), @"
    Ready: Bob/Story can be forked at message 0
      lorebook  none, exact (this is its last message)
      metadata  exact (this is its last message)
    ");
}

#[test]
fn that_there_was_no_lorebook_is_said_only_where_it_is_proved() {
    let stage = Stage::new();
    stage.scene.write(
        "default-user/chats/Bob/Bare.jsonl",
        b"{\"chat_metadata\":{}}\n{\"mes\":\"a\"}\n{\"mes\":\"b\"}",
    );
    assert_snapshot!(stage.run(["show", "Bare", "--at", "1"]), @"
    -- stderr --
    Error: Bob/Bare has no lorebook at message 1
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["show", "Bare", "--at", "0"]), @"
    -- stderr --
    Error: Bob/Bare has no lorebook today, and nothing recorded whether it had one at message 0
    -- exit 2 --
    ");
    assert_snapshot!(stage.run(["check", "Bare", "--at", "0"]), @"
    Ready: Bob/Bare can be forked at message 0
      lorebook  none, as it is today (nothing recorded it then)
      metadata  as it is today (nothing recorded it then)
    ");
}

#[test]
fn a_message_that_is_not_there_is_named() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["branch", "Story", "--at", "99"]), @r#"
    -- stderr --
    Error: cannot fork "Alice/Story" at that message
      because there is no message 99; the last one is 5
    -- exit 2 --
    "#);
    assert_snapshot!(stage.run(["branch", "Story", "--at", "-99"]), @r#"
    -- stderr --
    Error: cannot fork "Alice/Story" at that message
      because there is no message -99; the last one is 5
    -- exit 2 --
    "#);
}

#[test]
fn wrong_usage_exits_with_64() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["branch"]), @"
    -- stderr --
    error: the following required arguments were not provided:
      <CHAT>

    Usage: forklore branch <CHAT>

    For more information, try '--help'.
    -- exit 64 --
    ");
    assert_snapshot!(stage.run(["repair", "Story", "--from", "git"]), @"
    -- stderr --
    error: invalid value 'git' for '--from <SOURCE>': use one of journal, recap, book, book=NAME, empty, detach

    For more information, try '--help'.
    -- exit 64 --
    ");
}

#[test]
fn an_unknown_user_is_told_who_there_is() {
    assert_snapshot!(Stage::new().run(["--user", "eve", "status"]), @r#"
    -- stderr --
    Error: there is no user "eve", only: default-user
    Hint: Choose one with --user HANDLE.
    -- exit 2 --
    "#);
}
