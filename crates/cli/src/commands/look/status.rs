//! `forklore status`

use std::collections::BTreeSet;

use forklore_core::plan::cleanup::cleanup;
use forklore_core::timeline::family::{Home, TimelineKind};
use forklore_history::file::FileName;
use forklore_history::record::scan::home;
use forklore_tavern::folder::library::Library;
use forklore_tavern::locate::users::Users;
use forklore_tavern::work::tavern::Tavern;
use forklore_tavern::work::verify::Verified;

use super::timelines::{timelines, unread};
use crate::commands::shared::gone::{self, GoneUser};
use crate::commands::shared::standing::HistoryStatus;
use crate::commands::{Histories, Outcome};
use crate::error::{CommandError, data_folder};
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, count};
use crate::ui::Ui;

/// More lines than this do not fit on one screen.
const MAX_LINES: usize = 12;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    users: &Users,
) -> Outcome {
    let gone_users = gone::users(tavern, histories, users);
    for gone in &gone_users {
        ui.say(Line::new().add(Style::Bad, "! ").plain(sentence(&gone.text)));
        ui.say(Line::new().dim(gone.hint()));
    }
    let library = tavern.library();
    let (verified, references, ours) = {
        let progress = ui.progress(library.chats.len(), "Reading");
        tavern.survey(&library, &|| progress.tick())
    };
    let made_by_us = ours.len();
    let plan = tavern.spare_books_of_deleted_chats(cleanup(ours, &references, false)).plan;
    let unused = library.books.iter().filter(|book| references.to(&book.stem).next().is_none());
    let unused = unused.count();
    let (interrupted, unchecked) = match interrupted(tavern) {
        Ok(interrupted) => (interrupted, None),
        Err(why) => (None, Some(why)),
    };
    let history = HistoryStatus::of(tavern, histories, ui.zone());

    let is_gone = gone::is_folder_gone(tavern);
    if !is_gone {
        say_counts(ui, tavern, &library, &verified, [made_by_us, unused]);
    }
    if let Some(line) = history.line() {
        ui.say(line);
    }
    if !is_gone {
        ui.say("");
        say_problems(ui, tavern, &verified, interrupted.as_deref(), &history, plan.remove.len());
    }
    if let Some(why) = unchecked {
        ui.say(
            Line::new().dim(format!("Could not tell whether the last change was completed: {why}")),
        );
    }
    let books = [made_by_us, unused, plan.remove.len()];
    let answer = answer(tavern, &verified, &library, books, interrupted.as_deref(), &history);
    ui.answer(&with_gone_users(answer, &gone_users));
    let is_lost = !history.problems().is_empty() || !gone_users.is_empty();
    Ok(Exit::found_if(verified.problems() > 0 || interrupted.is_some() || is_lost))
}

/// The text as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(['.']).collect()
}

/// How much there is of everything.
fn say_counts(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    library: &Library,
    verified: &Verified,
    [made_by_us, unused]: [usize; 2],
) {
    let of = |kind: TimelineKind| verified.checked.iter().filter(|c| c.node.kind == kind).count();
    let families: BTreeSet<usize> = verified.checked.iter().map(|c| c.node.family).collect();
    let characters: BTreeSet<&Home> = library
        .chats
        .iter()
        .map(|chat| &chat.home)
        .filter(|home| matches!(home, Home::Character(_)))
        .collect();
    ui.say(
        Line::new()
            .bold("Stories of ")
            .bold(&tavern.folders.handle)
            .dim(format!("  in {}", data_folder(&tavern.folders))),
    );
    ui.say(format!(
        "  {}, {}, {} in {}",
        count(characters.len(), "character", "characters"),
        count(library.groups.len(), "group", "groups"),
        count(library.chats.len(), "chat", "chats"),
        count(families.len(), "family", "families"),
    ));
    let unknown = match of(TimelineKind::Fork) {
        0 => String::new(),
        forks => format!(", {} of unknown kind", count(forks, "fork", "forks")),
    };
    ui.say(format!(
        "  {} main, {}, {}{unknown}",
        of(TimelineKind::Main),
        count(of(TimelineKind::Checkpoint), "checkpoint", "checkpoints"),
        count(of(TimelineKind::Branch), "branch", "branches"),
    ));
    ui.say(format!(
        "  {}, {made_by_us} made by Forklore, {unused} unused",
        count(library.books.len(), "lorebook", "lorebooks"),
    ));
}

fn with_gone_users(mut answer: Json, gone_users: &[GoneUser]) -> Json {
    let gone = gone_users.iter().map(GoneUser::to_json);
    if let Some(object) = answer.as_object_mut() {
        object.insert("gone_users", Json::Array(gone.collect()));
    }
    answer
}

fn say_problems(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    verified: &Verified,
    interrupted: Option<&str>,
    history: &HistoryStatus,
    to_clean: usize,
) {
    let mut lines: Vec<Line> = Vec::new();
    if let Some(summary) = interrupted {
        lines.push(
            Line::new()
                .add(Style::Bad, "  ! ")
                .plain("the last operation was interrupted: ")
                .plain(summary),
        );
    }
    lines.extend(history.problems());
    for unread in &verified.unread {
        lines.push(
            Line::new()
                .add(Style::Bad, "  ! ")
                .bold(unread.path.display().to_string())
                .plain(": ")
                .plain(&unread.why),
        );
    }
    for checked in &verified.checked {
        for finding in checked.findings.iter().filter(|finding| finding.is_problem()) {
            lines.push(
                Line::new()
                    .add(Style::Bad, "  ! ")
                    .bold(checked.chat.label())
                    .plain(": ")
                    .plain(finding.to_string()),
            );
        }
    }
    if lines.is_empty() {
        ui.say(Line::new().add(Style::Good, "No problems found."));
    } else {
        ui.say(Line::new().add(Style::Bad, count(lines.len(), "problem", "problems")));
        let rest = lines.len().saturating_sub(MAX_LINES);
        for line in lines.into_iter().take(MAX_LINES) {
            ui.say(line);
        }
        if rest > 0 {
            ui.say(Line::new().dim(format!("  and {rest} more: forklore verify --all")));
        }
    }
    let hints = hints(tavern, verified, history, interrupted.is_some(), to_clean);
    let advice = history.advice();
    for hint in history.hints().into_iter().chain(hints).chain(advice) {
        ui.say(Line::new().dim(hint));
    }
}

fn hints(
    tavern: &Tavern<'_>,
    verified: &Verified,
    history: &HistoryStatus,
    is_interrupted: bool,
    to_clean: usize,
) -> Vec<String> {
    use forklore_core::finding::Finding;
    let findings = || verified.checked.iter().flat_map(|checked| &checked.findings);
    let mut hints = Vec::new();
    if is_interrupted {
        hints.push("`forklore undo` reverts it.".to_owned());
    }
    let home = home(&tavern.folders);
    for checked in &verified.checked {
        let is_damaged = checked.findings.iter().any(|it| matches!(it, Finding::Damage(_)));
        if is_damaged && let Ok(path) = checked.chat.path.strip_prefix(&home) {
            hints.extend(history.way_back(&FileName::of_path(path)));
        }
    }
    if findings().any(|finding| matches!(finding, Finding::BookShared { .. })) {
        hints.push("`forklore split --all` gives every timeline its own lorebook.".to_owned());
    }
    let undeletes: BTreeSet<String> = findings()
        .filter_map(|finding| match finding {
            Finding::BookMissing(book) if !history.has_lost(book) => history.undelete(book),
            _ => None,
        })
        .collect();
    hints.extend(undeletes);
    let needs_repair = |finding: &Finding| match finding {
        Finding::BookMissing(book) => !history.has_lost(book) && history.undelete(book).is_none(),
        Finding::BookUnreadable { name, .. } => !history.has_lost(name),
        _ => false,
    };
    if findings().any(needs_repair) {
        hints.push("`forklore repair CHAT --from ...` gives a chat its lorebook back.".to_owned());
    }
    if to_clean > 0 {
        let books = count(to_clean, "lorebook", "lorebooks");
        let are = if to_clean == 1 { "is" } else { "are" };
        let them = if to_clean == 1 { "it" } else { "them" };
        hints.push(format!(
            "{books} made by Forklore {are} unused; `forklore clean` moves {them} to the trash."
        ));
    }
    hints
}

/// The last operation, if it was interrupted, or why that is not known.
fn interrupted(tavern: &Tavern<'_>) -> Result<Option<String>, String> {
    if !tavern.has_history() {
        return Ok(None);
    }
    let plan = tavern.transaction().and_then(|transaction| transaction.plan_undo());
    let plan = plan.map_err(|error| CommandError::from(error).to_line())?;
    Ok(plan.filter(|plan| plan.is_half_done()).map(|plan| plan.operation.summary))
}

fn answer(
    tavern: &Tavern<'_>,
    verified: &Verified,
    library: &Library,
    [made_by_us, unused, to_clean]: [usize; 3],
    interrupted: Option<&str>,
    history: &HistoryStatus,
) -> Json {
    json::answer(
        "status",
        [
            ("data", Json::from(data_folder(&tavern.folders))),
            ("user", Json::from(tavern.folders.handle.as_str())),
            ("chats", Json::from(library.chats.len())),
            ("groups", Json::from(library.groups.len())),
            ("lorebooks", Json::from(library.books.len())),
            ("made_by_forklore", Json::from(made_by_us)),
            ("unreferenced", Json::from(unused)),
            ("to_clean", Json::from(to_clean)),
            ("interrupted", Json::from(interrupted.map(str::to_owned))),
            ("history", history.to_json()),
            ("problems", Json::from(verified.problems())),
            ("timelines", timelines(verified)),
            ("unread", unread(verified)),
        ],
    )
}
