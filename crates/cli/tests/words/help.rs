//! Help, completions and manual pages, all from one definition.

use clap::CommandFactory as _;
use insta::assert_snapshot;

use crate::stage::Stage;

#[test]
fn help_teaches() {
    let stage = Stage::new();
    assert_snapshot!(stage.run(["-h"]), @"
    Fork the story, and its lore comes along

    Usage: forklore [OPTIONS] <COMMAND>

    Commands:
      status       Show what is here and what is wrong, in one screen
      tree         Show families as trees: kind, message, lorebook, how well it is known, problems
      check        Say whether a chat could be forked at a message, and how well
      checkpoint   Fork a chat into a checkpoint
      branch       Fork a chat into a branch
      show         Print the lorebook as it was at a message, or any version of a file
      diff         Show what differs between two timelines, two messages of one, or two versions of a
                   file
      merge        Bring what another timeline did to its lorebook into a chat's own
      pick         Bring single entries from another timeline into a chat's lorebook
      verify       Check seals, lorebooks, registries and sharing
      repair       Give a chat its lorebook back
      split        Give a timeline that shares its lorebook one of its own
      restore      Put a chat's own lorebook back to an earlier message, or any file back to a version
      clean        Move lorebooks of ours that nothing refers to into the trash
      trash        See what is in the trash, put something back, or empty it
      undo         Take back the last operation, whatever it was
      strip        Remove the journal from a chat
      record       Record every chat, lorebook, card and group that changed since the last time
      watch        Stay, and record every version as it is saved
      log          Show what happened to a chat or lorebook, or to all of them, newest first
      undelete     Bring back a chat or lorebook that was deleted, or many
      history      Look after the history: check it, pack it, thin it, carry it elsewhere
      completions  Print a completion script for a shell
      man          Print a manual page
      help         Print this message or the help of the given subcommand(s)

    Options:
          --data <DIR>     SillyTavern's data folder (default: looked for where SillyTavern keeps it)
          --user <HANDLE>  User whose stories are meant (default: the only one)
          --history <DIR>  Folder of all histories (default: `data-history` beside `data`)
          --json           Print one JSON object instead of words
          --color <WHEN>   When to use colours [default: auto] [possible values: auto, always, never]
      -h, --help           Print help (see more with '--help')
      -V, --version        Print version

    CHAT is `Character/chat name`, `group:chat id`, a path to the file, or a name alone where it is
    unique.
    Messages are counted from 0, as SillyTavern counts them; -1 is the last one.

    Try `forklore status` first. Whatever a command changed, `forklore undo` takes back.
    ");
    assert_snapshot!(stage.run(["branch", "--help"]), @"
    Fork a chat into a branch

    The branch has the messages up to the chosen one, and a lorebook and memory of its own as they were
    then. The chat itself does not change.

    Usage: forklore branch [OPTIONS] <CHAT>

    Arguments:
      <CHAT>
              Chat to fork

    Options:
          --at <M>
              Message to fork at (default: the last one)

          --data <DIR>
              SillyTavern's data folder (default: looked for where SillyTavern keeps it)

          --allow <LEVEL>
              The least that is good enough
              
              `exact` takes only the state at that very message, of the lorebook and of the chat's
              variables and notes. `snapshot` also takes the newest state proved for an earlier message.
              `live` also takes the lorebook as it is today.
              
              [default: snapshot]
              [possible values: exact, snapshot, live]

          --user <HANDLE>
              User whose stories are meant (default: the only one)

          --history <DIR>
              Folder of all histories (default: `data-history` beside `data`)

          --queue <WHAT>
              What to do while ST-Auto-Recap has work in its queue
              
              `refuse` makes no fork. `drain` leaves the waiting operations out of the child's copy.
              `wait` waits until they are done, for up to ten minutes.
              
              [default: refuse]
              [possible values: refuse, drain, wait]

          --json
              Print one JSON object instead of words

          --require-scene
              Fork only at a scene break

          --color <WHEN>
              When to use colours
              
              [default: auto]
              [possible values: auto, always, never]

          --fill
              Take fields that a recap snapshot does not keep from today's entries

          --without-book
              Make the child without a lorebook if its lorebook cannot be brought along

          --dry-run
              Only show what would be made

      -h, --help
              Print help (see a summary with '-h')
    ");
    assert_snapshot!(stage.run(["repair", "--help"]), @"
    Give a chat its lorebook back

    A lorebook of that name that is there goes to the trash first. One that is missing comes back under
    its own name, so that the chat need not change.

    Usage: forklore repair [OPTIONS] --from <SOURCE> <CHAT>

    Arguments:
      <CHAT>
              Chat whose lorebook is lost

    Options:
          --data <DIR>
              SillyTavern's data folder (default: looked for where SillyTavern keeps it)

          --from <SOURCE>
              Where the lorebook comes from
              
              `journal`: what the chat's own messages recorded. `recap`: the newest copy that
              ST-Auto-Recap keeps in a scene break. `book=NAME`: a copy of that lorebook; `book` alone
              copies the parent's. `empty`: a lorebook without entries. `detach`: none.

          --closed
              Say that no page has the chat or its lorebook open

          --user <HANDLE>
              User whose stories are meant (default: the only one)

          --dry-run
              Only show what would be done

          --history <DIR>
              Folder of all histories (default: `data-history` beside `data`)

          --json
              Print one JSON object instead of words

          --color <WHEN>
              When to use colours
              
              [default: auto]
              [possible values: auto, always, never]

      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn every_command_has_a_page_and_completions() {
    let stage = Stage::new();
    for command in forklore::Cli::command().get_subcommands() {
        let page = stage.run(["man", command.get_name()]);
        assert!(page.contains(&format!("forklore\\-{}", command.get_name())), "{page}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stage.run(["completions", shell]);
        assert!(script.contains("checkpoint"), "{shell}");
    }
}
