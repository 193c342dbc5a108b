//! Help, completions and manual pages, all from the same definitions.

use clap::CommandFactory as _;
use insta::assert_snapshot;

use crate::stage::Stage;

#[test]
fn help_teaches() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["-h"]), @"
    Fork the story, and its lore comes along

    Usage: forklore [OPTIONS] <COMMAND>

    Look:
      status       Show an overview of all stories, and any problems
      tree         Show chats with their checkpoints and branches as trees
      log          Show what happened to a file, or to all of them, newest first
      show         Print the lorebook at a message, or any version of a file
      diff         Show what differs between timelines, messages or versions
      verify       Check seals, lorebooks, registries and sharing
      check        Check whether a chat can be forked at a message, and how exactly

    Fork:
      branch       Fork a chat into a branch
      checkpoint   Fork a chat into a checkpoint

    Merge lore:
      merge        Merge the lore of another timeline into a chat's lorebook
      pick         Merge single entries from another timeline into a chat's lorebook

    Bring back:
      rescue       Find and bring back what is lost, damaged or deleted
      restore      Return a lorebook to an earlier message, or a file to a version
      undelete     Bring back deleted chats and lorebooks
      undo         Undo the last operation, whatever it was
      trash        List the trash, put something back, or empty it

    Repair and tidy:
      repair       Give a chat its lorebook back
      split        Give a timeline that shares its lorebook one of its own
      clean        Move lorebooks that Forklore made and nothing uses to the trash
      strip        Remove the journal from a chat

    Keep a history:
      run          Start SillyTavern and record for as long as it runs
      watch        Keep running and record every version as it is saved
      record       Record every chat, lorebook, card and group that has changed
      history      Maintain the history: check, pack, purge, copy elsewhere

    Set up:
      doctor       Check the setup, and explain how to fix what is wrong
      service      Start `forklore watch` automatically
      completions  Print a completion script for a shell
      man          Print a manual page

    Global options:
          --data <DIR>     SillyTavern's data folder (default: found automatically)
          --user <HANDLE>  User to work on (default: the only one)
          --history <DIR>  Folder for all histories (default: `data-history` next to `data`)
          --json           Print JSON
          --color <WHEN>   When to use colours [default: auto] [possible values: auto, always, never]
      -h, --help           Print help (see more with '--help')
      -V, --version        Print version

    CHAT is `Character/chat name`, `group:chat id`, a path to the file, or just its name if that is
    unique.
    Messages are numbered from 0, as in SillyTavern; -1 is the last one.

    Try `forklore status` first. If something is lost: `forklore rescue`.
    `forklore undo` reverts what a command changed in SillyTavern's files.
    `forklore COMMAND --help` explains a command, with examples.
    ");
    assert_snapshot!(stage.run(["branch", "--help"]), @r#"
    Fork a chat into a branch

    The branch has the messages up to the chosen one, and its own lorebook and memory as they were then.
    The chat itself does not change.

    Usage: forklore branch [OPTIONS] <CHAT>

    Arguments:
      <CHAT>
              Chat to fork

    Options:
          --at <M>
              Message to fork at (default: the last one)

          --allow <LEVEL>
              How well the lorebook must be known
              
              `exact` accepts only the state at that very message, of the lorebook and of the chat's
              variables and notes. `snapshot` also accepts the newest state proven for an earlier
              message. `live` also accepts the lorebook as it is today.
              
              [default: snapshot]
              [possible values: exact, snapshot, live]

          --queue <WHAT>
              What to do while ST-Auto-Recap has work in its queue
              
              `refuse` does not fork. `drain` leaves waiting operations out of the child's copy. `wait`
              waits until they are done, for up to ten minutes.
              
              [default: refuse]
              [possible values: refuse, drain, wait]

          --require-scene
              Fork only at a scene break

          --fill
              Use today's values for fields that a recap snapshot does not keep

          --without-book
              Fork without a lorebook if it cannot be brought along

          --dry-run
              Only show what would be made

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --data <DIR>
              SillyTavern's data folder (default: found automatically)

          --user <HANDLE>
              User to work on (default: the only one)

          --history <DIR>
              Folder for all histories (default: `data-history` next to `data`)

          --json
              Print JSON

          --color <WHEN>
              When to use colours
              
              [default: auto]
              [possible values: auto, always, never]

    Examples:
      forklore branch "The harbour" --at 50
      forklore branch "The harbour" --dry-run
    "#);
    assert_snapshot!(stage.run(["repair", "--help"]), @r#"
    Give a chat its lorebook back

    An existing lorebook of that name goes to the trash first. A missing one comes back under its own
    name, so that the chat does not have to change.

    Usage: forklore repair [OPTIONS] --from <SOURCE> <CHAT>

    Arguments:
      <CHAT>
              Chat whose lorebook is lost

    Options:
          --from <SOURCE>
              Where the lorebook comes from
              
              `journal`: what the chat's own messages recorded. `recap`: the newest copy that
              ST-Auto-Recap keeps in a scene break. `book=NAME`: a copy of that lorebook; `book` alone
              copies the parent's. `empty`: a lorebook without entries. `detach`: none.

          --closed
              Promise that no browser tab has the chat or its lorebook open

          --dry-run
              Only show what would be done

      -h, --help
              Print help (see a summary with '-h')

    Global options:
          --data <DIR>
              SillyTavern's data folder (default: found automatically)

          --user <HANDLE>
              User to work on (default: the only one)

          --history <DIR>
              Folder for all histories (default: `data-history` next to `data`)

          --json
              Print JSON

          --color <WHEN>
              When to use colours
              
              [default: auto]
              [possible values: auto, always, never]

    Examples:
      forklore repair "The harbour" --from journal
      forklore repair "The harbour" --from book="Harbour lore" --closed
    "#);
}

#[test]
fn every_command_has_a_page_and_completions() {
    let stage = Stage::new();
    for command in forklore::Cli::command().get_subcommands() {
        let page = stage.run(["man", command.get_name()]);
        assert!(page.contains(&format!("forklore\\-{}", command.get_name())), "{page}");
        for nested in command.get_subcommands() {
            let page = stage.run(["man", command.get_name(), nested.get_name()]);
            assert!(page.contains(nested.get_name()) && page.contains("Examples"), "{page}");
        }
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stage.run(["completions", shell]);
        assert!(script.contains("COMPLETE"), "{shell}: {script}");
    }
}
