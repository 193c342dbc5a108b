//! The clap command, extended with what the definitions in [`args`](crate::args) cannot express:
//! command groups and examples.

use std::fmt::Write as _;

use clap::builder::ValueParser;
use clap::{Arg, Command, CommandFactory as _};

use crate::args::{Cli, GLOBAL_OPTIONS};
use crate::completing;

/// Commands grouped by purpose.
const GROUPS: &[(&str, &[&str])] = &[
    ("Look", &["status", "tree", "log", "show", "diff", "verify", "check"]),
    ("Fork", &["branch", "checkpoint"]),
    ("Merge lore", &["merge", "pick"]),
    ("Bring back", &["rescue", "restore", "undelete", "undo", "trash"]),
    ("Repair and tidy", &["repair", "split", "clean", "strip"]),
    ("Keep a history", &["run", "watch", "record", "history"]),
    ("Set up", &["doctor", "service", "completions", "man"]),
];

/// Example invocations, keyed by the full command path.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("status", &["forklore status", "forklore --data ~/SillyTavern/data --user bob status"]),
    ("tree", &["forklore tree", "forklore tree Seraphina"]),
    (
        "log",
        &[
            "forklore log",
            "forklore log \"Seraphina/The harbour\" --all",
            "forklore log --since yesterday --before \"2026-11-15 21:00\"",
        ],
    ),
    (
        "show",
        &[
            "forklore show \"Seraphina/The harbour\" --at 50 --output lore.json",
            "forklore show \"Harbour lore\" --version 3",
        ],
    ),
    (
        "diff",
        &[
            "forklore diff \"The harbour\" \"The harbour - Branch #1\"",
            "forklore diff \"The harbour\" --at 50",
            "forklore diff book=\"Harbour lore\" book=\"Lost book\"",
        ],
    ),
    ("verify", &["forklore verify", "forklore verify \"Seraphina/The harbour\""]),
    (
        "check",
        &["forklore check \"The harbour\"", "forklore check \"The harbour\" --at 50 --allow exact"],
    ),
    (
        "branch",
        &["forklore branch \"The harbour\" --at 50", "forklore branch \"The harbour\" --dry-run"],
    ),
    (
        "checkpoint",
        &[
            "forklore checkpoint \"The harbour\" --at 50 --name \"Before the storm\"",
            "forklore checkpoint \"The harbour\" --closed",
        ],
    ),
    (
        "merge",
        &[
            "forklore merge \"The harbour - Branch #1\" --into \"The harbour\" --dry-run",
            "forklore merge \"The harbour - Branch #1\" --into \"The harbour\" --theirs Mara",
            "forklore merge book=\"Harbour lore\" --into \"The harbour\" --entries Mara \"The lighthouse\"",
        ],
    ),
    (
        "pick",
        &[
            "forklore pick \"The harbour - Branch #1\" Mara --into \"The harbour\"",
            "forklore pick \"The harbour@50\" Mara.content --into \"The harbour\"",
        ],
    ),
    (
        "rescue",
        &[
            "forklore rescue",
            "forklore rescue 1 3",
            "forklore rescue Seraphina --as-of \"yesterday 21:00\"",
        ],
    ),
    (
        "restore",
        &[
            "forklore restore \"The harbour\" --at 50",
            "forklore restore \"Harbour lore\" --version 2 --closed",
        ],
    ),
    ("undelete", &["forklore undelete", "forklore undelete Seraphina", "forklore undelete --lost"]),
    ("undo", &["forklore undo --dry-run", "forklore undo"]),
    ("trash", &["forklore trash", "forklore trash restore 3"]),
    ("trash list", &["forklore trash list", "forklore trash list --json"]),
    ("trash restore", &["forklore trash", "forklore trash restore 3"]),
    ("trash empty", &["forklore trash empty", "forklore trash empty --yes"]),
    (
        "repair",
        &[
            "forklore repair \"The harbour\" --from journal",
            "forklore repair \"The harbour\" --from book=\"Harbour lore\" --closed",
        ],
    ),
    ("split", &["forklore split --dry-run", "forklore split \"The harbour - Branch #1\" --closed"]),
    ("clean", &["forklore clean --dry-run", "forklore clean --yes"]),
    (
        "strip",
        &["forklore strip \"The harbour\" --dry-run", "forklore strip \"The harbour\" --closed"],
    ),
    ("doctor", &["forklore doctor", "forklore --data ~/SillyTavern/data doctor"]),
    ("service", &["forklore service install", "forklore service status"]),
    ("service install", &["forklore service install", "forklore service install --yes"]),
    ("service status", &["forklore service status", "forklore --json service status"]),
    ("service remove", &["forklore service remove", "forklore service remove --yes"]),
    ("run", &["forklore run -- node server.js", "forklore run -- ./start.sh --listen"]),
    ("watch", &["forklore watch", "forklore watch --quiet --all-users"]),
    ("record", &["forklore record", "forklore record --all-users"]),
    (
        "history",
        &["forklore history verify", "forklore history push /media/backup/forklore --create"],
    ),
    ("history pack", &["forklore history pack", "forklore --user bob history pack"]),
    ("history verify", &["forklore history verify", "forklore history verify --json"]),
    ("history repair", &["forklore history verify", "forklore history repair"]),
    (
        "history purge",
        &[
            "forklore history purge \"Seraphina/The harbour\" --dry-run",
            "forklore history purge \"Harbour lore\"",
        ],
    ),
    (
        "history dismiss",
        &["forklore history dismiss \"Harbour lore\"", "forklore history dismiss --gone"],
    ),
    (
        "history push",
        &[
            "forklore history push /media/backup/forklore --create",
            "forklore history push /media/backup/forklore",
        ],
    ),
    (
        "history pull",
        &["forklore history pull /media/backup/forklore", "forklore history pull ../laptop"],
    ),
    (
        "history bundle",
        &[
            "forklore history bundle stories.bundle",
            "forklore history bundle more.bundle --since stories.bundle",
            "forklore history bundle - | age --passphrase > stories.age",
        ],
    ),
    (
        "history unbundle",
        &[
            "forklore history unbundle stories.bundle",
            "age --decrypt stories.age | forklore history unbundle -",
        ],
    ),
    ("history import", &["forklore history import", "forklore --user bob history import"]),
    ("completions", &["source <(forklore completions bash)", "forklore completions fish | source"]),
    ("man", &["forklore man | man -l -", "forklore man history verify | man -l -"]),
];

/// The clap command that parses the arguments and prints the help.
pub(crate) fn command() -> Command {
    let command = with_examples(Cli::command(), "");
    let header = *command.get_styles().get_header();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{header}{GLOBAL_OPTIONS}:{header:#}\n{{options}}{{after-help}}",
        listed(&command)
    );
    command.help_template(template)
}

/// The list of all commands, group by group.
fn listed(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::new();
    for (group, names) in GROUPS {
        let _ = writeln!(text, "{header}{group}:{header:#}");
        for name in *names {
            let found = command.get_subcommands().find(|found| found.get_name() == *name);
            let about = found.and_then(Command::get_about).map(ToString::to_string);
            let _ =
                writeln!(text, "  {literal}{name:<12}{literal:#} {}", about.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

fn with_examples(command: Command, before: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.iter().fold(command, |command, name| {
        let path = format!("{before}{name}");
        command.mut_subcommand(name, |sub| {
            let examples = EXAMPLES.iter().find(|(command, _)| *command == path);
            // Shells complete paths themselves.
            let is_name = |arg: &Arg| {
                completing::NAME_ARGS.contains(&arg.get_id().as_str())
                    && arg.get_value_parser().type_id() == ValueParser::string().type_id()
            };
            let sub = sub.mut_args(|arg| match is_name(&arg) {
                true => arg.add(completing::completer()),
                false => arg,
            });
            let sub = match examples {
                Some((_, examples)) => {
                    let header = *sub.get_styles().get_header();
                    let lines: String = examples.iter().map(|line| format!("\n  {line}")).collect();
                    sub.after_help(format!("{header}Examples:{header:#}{lines}"))
                }
                None => sub,
            };
            with_examples(sub, &format!("{path} "))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The full path of every command and subcommand.
    fn all(command: &Command, before: &str) -> Vec<String> {
        let nested = command.get_subcommands().flat_map(|sub| {
            let path = format!("{before}{}", sub.get_name());
            let below = all(sub, &format!("{path} "));
            [path].into_iter().chain(below)
        });
        nested.collect()
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let mut known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn a_line_of_the_list_fits_a_terminal() {
        for command in Cli::command().get_subcommands() {
            let about = command.get_about().expect("a command says what it does").to_string();
            assert!(about.chars().count() <= 66, "{}: {about}", command.get_name());
        }
    }

    #[test]
    fn every_command_has_examples_and_they_are_right() {
        let mut known = all(&Cli::command(), "");
        let mut shown: Vec<&str> = EXAMPLES.iter().map(|(command, _)| *command).collect();
        known.sort_unstable();
        shown.sort_unstable();
        assert_eq!(shown, known);
        for (name, examples) in EXAMPLES {
            assert!((2..=3).contains(&examples.len()), "{name}");
            for example in *examples {
                let words = words(example);
                let parsed = command().try_get_matches_from(&words);
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
        }
    }

    /// Splits our command in a line into words as a shell would.
    fn words(line: &str) -> Vec<String> {
        let typed = line.trim_start_matches("source <(").trim_end_matches(')');
        let mut commands = typed.split(['|', '>']).map(str::trim);
        let typed = commands.find(|command| command.starts_with("forklore")).unwrap_or_default();
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for letter in typed.chars() {
            match letter {
                '"' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                _ => words.last_mut().expect("never empty").push(letter),
            }
        }
        words
    }
}
