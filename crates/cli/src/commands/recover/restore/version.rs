//! `forklore restore --version`

use forklore_core::diagnostics;
use forklore_history::file::FileKind;
use forklore_history::query::lookup::Finder;
use forklore_history::record::scan::home;
use forklore_history::restore::{RestoreOptions, Restored, RestoredTo, restore};
use forklore_history::version::commit::StoredVersion;
use forklore_history::version::history::History;
use forklore_history::version::lineage::Lineage;
use forklore_tavern::work::tavern::Tavern;

use super::super::rescue::check_root;
use crate::args::RestoreArgs;
use crate::commands::shared::ways_back;
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::lore::{Row, say_rows};
use crate::text::{Line, Style, command};
use crate::ui::Ui;

pub(crate) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &RestoreArgs,
    number: u64,
) -> Outcome {
    histories.open_existing(tavern)?;
    if !args.change.dry_run {
        check_root(tavern, histories)?;
    }
    let mut history = histories.open(tavern)?;
    let home = home(&tavern.folders);
    let finder = Finder::new(&history, tavern.disk, &home);
    let lineage = finder.find(&args.chat)?.clone();
    let name = finder.name_of(&lineage);
    let version = history.version(&lineage, number)?;
    let book = book_remark(tavern, &history, &finder, &lineage, &version)?;
    let options = RestoreOptions {
        in_place: args.in_place,
        is_closed: args.change.closed,
        dry_run: args.change.dry_run,
    };
    let restored = restore(&mut history, tavern, &lineage, &version, options)?;
    let verb = if restored.operation.is_some() { "Restored" } else { "Would restore" };
    let line = Line::new().add(Style::Good, format!("{verb} ")).bold(&name);
    ui.say(match restored.went {
        RestoredTo::Beside => {
            line.plain(format!(", version {number}, as ")).bold(restored.file.label())
        }
        RestoredTo::InPlace => line.plain(format!(" to version {number}")),
        RestoredTo::Back => line.plain(format!(", version {number}, under its own name")),
    });
    say(ui, &restored, &version, book.as_ref());
    ui.answer(&json::answer("restore", members(&name, &restored, &version, book.as_ref())));
    Ok(Exit::Fine)
}

/// A remark about the chat's lorebook, which is not restored along with the chat. `way` is the
/// command that restores it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BookRemark {
    #[error("{name:?}, which is deleted. {way} brings it back.")]
    Deleted { name: String, version: u64, way: String },
    #[error("{name:?}, which has changed since then. {way} puts it back.")]
    Changed { name: String, version: u64, way: String },
}

diagnostics!(BookRemark {
    Self::Deleted { name, version, .. } => (
        "book-deleted",
        name: name.as_str(),
        version: *version,
    ),
    Self::Changed { name, version, .. } => (
        "book-changed",
        name: name.as_str(),
        version: *version,
    ),
});

fn book_remark(
    tavern: &Tavern<'_>,
    history: &History<'_>,
    finder: &Finder<'_, '_>,
    chat: &Lineage,
    version: &StoredVersion,
) -> Result<Option<BookRemark>, CommandError> {
    if chat.kind != FileKind::Chat {
        return Ok(None);
    }
    let Some((book, then)) = history.book_at(chat, version)? else { return Ok(None) };
    let name = finder.name_of(book);
    let version = then.version.number;
    let way = ways_back::restore_command(tavern, &name, book.file(), version);
    Ok(if book.is_deleted() {
        Some(BookRemark::Deleted { name, version, way })
    } else if book.tip.tree != then.tree {
        Some(BookRemark::Changed { name, version, way })
    } else {
        None
    })
}

/// Shows what was restored, and what to know about it.
pub(crate) fn say(
    ui: &mut Ui<'_>,
    restored: &Restored,
    version: &StoredVersion,
    book: Option<&BookRemark>,
) {
    let row = |name: &str, style: Style, text: String| Row {
        name: name.to_owned(),
        text: vec![(style, text)],
    };
    let kind = restored.file.kind().unwrap_or(FileKind::Settings);
    let mut rows = Vec::new();
    let size = ways_back::size(kind, &version.version);
    if !size.is_empty() {
        rows.push(row("holds", Style::Plain, size));
    }
    if let Some(book) = book {
        rows.push(row("lorebook", Style::Note, book.to_string()));
    }
    if let Some(group) = &restored.group {
        rows.push(row("group", Style::Plain, format!("{group} lists it")));
    }
    if restored.is_unlisted {
        let words = match &restored.lost_group {
            Some((group, number)) => format!(
                "the one that listed it is gone; {} brings it back",
                command("restore", group.as_str(), &format!("--version {number}"))
            ),
            None => "no group lists it, so SillyTavern does not show it".to_owned(),
        };
        rows.push(row("group", Style::Note, words));
    }
    if restored.went == RestoredTo::InPlace && restored.operation.is_some() {
        let version = restored.before.map(|number| format!("version {number}, and "));
        let version = version.unwrap_or_default();
        let words = format!("{version}in the trash; `forklore undo` brings it back");
        rows.push(row("before", Style::Plain, words));
    }
    if restored.operation.is_some() && !restored.is_unlisted {
        rows.push(row("page", Style::Plain, page_words(kind, restored).to_owned()));
    }
    say_rows(ui, 2, &rows);
}

fn page_words(kind: FileKind, restored: &Restored) -> &'static str {
    match (kind, restored.went) {
        (FileKind::Chat, _) if restored.group.is_some() => {
            "reload SillyTavern's page, and open it like any other chat"
        }
        (FileKind::Chat, RestoredTo::InPlace) => {
            "reload SillyTavern's page before you continue this chat"
        }
        (FileKind::Chat, _) => "open it in SillyTavern like any other chat",
        _ => "reload SillyTavern's page before you continue",
    }
}

/// The members of the JSON answer.
pub(crate) type Members = [(&'static str, Json); 8];

pub(crate) fn members(
    name: &str,
    restored: &Restored,
    version: &StoredVersion,
    book: Option<&BookRemark>,
) -> Members {
    let went = match restored.went {
        RestoredTo::InPlace => "in place",
        RestoredTo::Beside => "beside",
        RestoredTo::Back => "back",
    };
    [
        ("name", Json::from(name)),
        ("version", Json::from(version.version.number as usize)),
        ("file", Json::from(restored.file.as_str())),
        ("went", Json::from(went)),
        ("before", Json::from(restored.before.map(|number| number as usize))),
        ("group", Json::from(restored.group.clone())),
        ("remarks", json::diagnostics(book)),
        ("operation", Json::from(restored.operation.map(|id| id as usize))),
    ]
}
