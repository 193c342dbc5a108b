//! `forklore verify`

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use forklore_core::finding::Finding;
use forklore_tavern::work::tavern::Tavern;
use forklore_tavern::work::verify::{CheckedTimeline, Verified};

use super::timelines::answer;
use crate::args::VerifyArgs;
use crate::commands::Outcome;
use crate::exit::Exit;
use crate::text::{Line, Style, count};
use crate::ui::Ui;

pub(crate) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, args: &VerifyArgs) -> Outcome {
    let library = tavern.library();
    let is_all = args.chats.is_empty();
    let wanted: BTreeSet<PathBuf> = args
        .chats
        .iter()
        .map(|name| Ok(library.find(tavern.disk, name)?.path.clone()))
        .collect::<Result<_, crate::error::CommandError>>()?;
    let mut verified = {
        let progress = ui.progress(library.chats.len(), "Verifying");
        tavern.verify(&library, |chat| is_all || wanted.contains(&chat.path), &|| progress.tick())
    };
    if !is_all {
        // Problems with other files are not shown.
        verified.unread.retain(|unread| wanted.contains(&unread.path));
    }
    for unread in &verified.unread {
        ui.say(
            Line::new()
                .add(Style::Bad, "! ")
                .bold(unread.path.display().to_string())
                .plain(format!(": {}", unread.why)),
        );
    }
    let has_notes = args.notes || !is_all;
    for checked in &verified.checked {
        say(ui, checked, !is_all, has_notes);
    }
    if is_all && has_notes {
        say_shared_books(ui, &verified);
    }
    let notes =
        verified.checked.iter().flat_map(|c| &c.findings).filter(|f| !f.is_problem()).count();
    let problems = verified.problems();
    ui.say(
        Line::new()
            .plain(format!("{} verified: ", count(verified.checked.len(), "timeline", "timelines")))
            .add(
                if problems == 0 { Style::Good } else { Style::Bad },
                count(problems, "problem", "problems"),
            )
            .dim(format!(", {}", count(notes, "note", "notes")))
            .dim(match notes {
                0 => "",
                _ if has_notes => "",
                1 => "; --notes shows it",
                _ => "; --notes shows them",
            }),
    );
    answer(ui, "verify", &verified);
    Ok(Exit::found_if(problems > 0))
}

/// Shows the findings about one timeline. When all timelines are checked, a lorebook that many of
/// them use is not repeated for each.
fn say(ui: &mut Ui<'_>, checked: &CheckedTimeline, is_named: bool, has_notes: bool) {
    let is_shown = |finding: &&Finding| {
        let is_elsewhere = matches!(finding, Finding::BookUsedElsewhere { .. });
        finding.is_problem() || (has_notes && (is_named || !is_elsewhere))
    };
    let findings: Vec<&Finding> = checked.findings.iter().filter(is_shown).collect();
    if findings.is_empty() {
        if is_named {
            ui.say(Line::new().add(Style::Good, "ok ").bold(checked.chat.label()));
        }
        return;
    }
    ui.say(Line::new().bold(checked.chat.label()));
    for finding in findings {
        let (style, sign) =
            if finding.is_problem() { (Style::Bad, "  ! ") } else { (Style::Note, "  - ") };
        ui.say(Line::new().add(style, sign).plain(finding.to_string()));
    }
}

/// Lists lorebooks used by chats of several families, each once.
fn say_shared_books(ui: &mut Ui<'_>, verified: &Verified) {
    let mut users: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for checked in &verified.checked {
        for finding in &checked.findings {
            if let Finding::BookUsedElsewhere { name, .. } = finding {
                users.entry(name).or_default().push(checked.chat.label());
            }
        }
    }
    for (name, chats) in users {
        let line =
            Line::new().add(Style::Note, "- ").plain(format!("lorebook {name:?} is used by "));
        ui.say(line.plain(format!(
            "{}: {}",
            count(chats.len(), "chat", "chats"),
            chats.join(", ")
        )));
    }
}
