//! `forklore diff --version`: two versions of one file.

use std::io;

use forklore_core::compare::diff::{Difference, EntryDifference, LoreDiff, LoreSide, compare};
use forklore_core::sillytavern::book::Book;
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_history::file::FileKind;
use forklore_history::query::lookup::Finder;
use forklore_history::record::scan::{home, read_stable};
use forklore_history::version::history::History;
use forklore_history::version::lineage::Lineage;
use forklore_tavern::work::tavern::Tavern;

use super::entries::SideLabels;
use super::messages::{self, ChatPair};
use super::{chats, say, stat};
use crate::args::DiffArgs;
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::lore::{Paint, Row, say_rows, value_diff};
use crate::objection::Objection;
use crate::text::{Line, Style};
use crate::ui::Ui;

/// A version, or the current file.
struct DiffedVersion {
    /// `None` for the current file.
    number: Option<u64>,
    bytes: Vec<u8>,
}

impl DiffedVersion {
    fn words(&self) -> String {
        self.number.map_or_else(|| "now".to_owned(), |number| format!("version {number}"))
    }
}

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &DiffArgs,
    number: u64,
) -> Outcome {
    let history = histories.open_existing(tavern)?;
    let home = home(&tavern.folders);
    let finder = Finder::new(&history, tavern.disk, &home);
    let lineage = finder.find(&args.left)?;
    let left = stored_version(&history, lineage, number)?;
    let right = match args.with {
        Some(other) => stored_version(&history, lineage, other)?,
        None => current_version(&history, tavern, lineage)?,
    };
    let name = finder.name_of(lineage);
    let line = Line::new().plain("Comparing ").bold(format!("{name}, {}", left.words()));
    ui.say(line.plain(" with ").bold(right.words()));
    let is_same = left.bytes == right.bytes;
    let members = if is_same {
        ui.say("Both are identical.");
        Vec::new()
    } else {
        match lineage.kind {
            FileKind::Chat => say_chats(ui, lineage, &left, &right, args.stat),
            FileKind::Book => say_books(ui, &left, &right, args),
            FileKind::Card => {
                let sizes = format!("{} bytes became {}.", left.bytes.len(), right.bytes.len());
                ui.say(format!("A card is a picture: {sizes}"));
                Vec::new()
            }
            FileKind::Group | FileKind::Settings => say_fields(ui, &left, &right),
        }
    };
    let side = |version: &DiffedVersion| Json::from(version.number.map(|number| number as usize));
    let head = [
        ("file", Json::from(lineage.file().as_str())),
        ("name", Json::from(name.as_str())),
        ("version", side(&left)),
        ("with", side(&right)),
        ("same", Json::from(is_same)),
    ];
    ui.answer(&json::answer("diff", head.into_iter().chain(members)));
    Ok(Exit::found_if(!is_same))
}

fn stored_version(
    history: &History<'_>,
    lineage: &Lineage,
    number: u64,
) -> Result<DiffedVersion, CommandError> {
    let bytes = history.content(&history.version(lineage, number)?)?;
    Ok(DiffedVersion { number: Some(number), bytes })
}

/// The current file, or its last version if it is gone.
fn current_version(
    history: &History<'_>,
    tavern: &Tavern<'_>,
    lineage: &Lineage,
) -> Result<DiffedVersion, CommandError> {
    let path = home(&tavern.folders).join(lineage.file().to_path());
    let path = tavern.folders.data_root.resolve(tavern.disk, &path)?;
    match read_stable(tavern.disk, &path) {
        Ok((bytes, _)) => Ok(DiffedVersion { number: None, bytes }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (last, bytes) = history.last_there(&lineage.tip)?;
            Ok(DiffedVersion { number: Some(last.version.number), bytes })
        }
        Err(error) => Err(CommandError::new(Objection::NotRead { path, error })),
    }
}

type Members = Vec<(&'static str, Json)>;

fn say_chats(
    ui: &mut Ui<'_>,
    lineage: &Lineage,
    left: &DiffedVersion,
    right: &DiffedVersion,
    is_short: bool,
) -> Members {
    let is_group = lineage.file().as_str().starts_with("group chats/");
    let place = if is_group { ChatKind::Group } else { ChatKind::Solo };
    let (left, right) = (Chat::read(&left.bytes, place), Chat::read(&right.bytes, place));
    let chats = ChatPair { left: &left, right: &right };
    let changes = messages::changes(chats);
    chats::say(ui, chats, &changes, is_short)
}

fn say_books(
    ui: &mut Ui<'_>,
    left: &DiffedVersion,
    right: &DiffedVersion,
    args: &DiffArgs,
) -> Members {
    let names = [left.words(), right.words()];
    let books = [left, right].map(|version| Book::read(&version.bytes));
    for (book, name) in books.iter().zip(&names) {
        if let Err(error) = book {
            let line = Line::new().add(Style::Bad, "  ! ").plain(name).plain(" cannot be read: ");
            ui.say(line.plain(error.to_string()));
        }
    }
    let [one, other] = &books;
    let side = |book| LoreSide { book, metadata: None };
    let (one, other) = (side(one.as_ref().ok()), side(other.as_ref().ok()));
    let compared = compare(Some(one), one, other, args.internal);
    let labels = SideLabels::of_versions(names, &compared);
    if compared.is_empty() {
        ui.say("No entry differs.");
    } else if args.stat {
        stat::say_compared(ui, &labels, &compared);
    } else {
        say::say_compared(ui, &labels, &compared);
    }
    book_members(&compared)
}

fn book_members(compared: &LoreDiff) -> Members {
    let entries = compared.entries.iter().map(EntryDifference::to_json).collect();
    let book = compared.book.iter().map(Difference::to_json).collect();
    vec![("entries", Json::Array(entries)), ("book", Json::Array(book))]
}

/// Shows the fields of a group or of the settings that differ.
fn say_fields(ui: &mut Ui<'_>, left: &DiffedVersion, right: &DiffedVersion) -> Members {
    let values = [left, right].map(|version| Json::parse(&version.bytes).ok());
    let [Some(before), Some(after)] = &values else {
        for (value, version) in values.iter().zip([left, right]) {
            if value.is_none() {
                let line = Line::new().add(Style::Bad, "  ! ").plain(version.words());
                ui.say(line.plain(" is not JSON."));
            }
        }
        return vec![("fields", Json::Array(Vec::new()))];
    };
    let found = diff_fields(before, after);
    let paint = Paint { color: ui.has_color() };
    let rows: Vec<Row> = found
        .iter()
        .map(|field| Row {
            name: field.name.clone(),
            text: value_diff(paint, field.before.as_ref(), field.after.as_ref()),
        })
        .collect();
    say_rows(ui, 2, &rows);
    let fields = found.into_iter().map(FieldDifference::into_json);
    vec![("fields", Json::Array(fields.collect()))]
}

/// A named value that differs.
pub(super) struct FieldDifference {
    pub(super) name: String,
    pub(super) before: Option<Json>,
    pub(super) after: Option<Json>,
}

impl FieldDifference {
    pub(super) fn into_json(self) -> Json {
        let mut members = vec![("name", Json::from(self.name))];
        members.extend(self.before.map(|value| ("left", value)));
        members.extend(self.after.map(|value| ("right", value)));
        Json::object(members)
    }
}

/// The members in which two objects differ, recursing into nested objects.
pub(super) fn diff_fields(before: &Json, after: &Json) -> Vec<FieldDifference> {
    let mut found = Vec::new();
    collect_fields(&mut found, "", before, after, 2);
    found
}

fn collect_fields(
    found: &mut Vec<FieldDifference>,
    path: &str,
    before: &Json,
    after: &Json,
    depth: usize,
) {
    let (Some(one), Some(other)) = (before.as_object(), after.as_object()) else {
        let (before, after) = (Some(before.clone()), Some(after.clone()));
        found.push(FieldDifference { name: path.to_owned(), before, after });
        return;
    };
    let only_new = other.iter().map(|(key, _)| key).filter(|key| one.get_text(key).is_none());
    for key in one.iter().map(|(key, _)| key).chain(only_new) {
        let (left, right) = (one.get_text(key), other.get_text(key));
        if left == right {
            continue;
        }
        let name = match path {
            "" => key.to_string_lossy().into_owned(),
            path => format!("{path}.{}", key.to_string_lossy()),
        };
        match (left, right) {
            (Some(left), Some(right))
                if depth > 0 && left.as_object().is_some() && right.as_object().is_some() =>
            {
                collect_fields(found, &name, left, right, depth - 1);
            }
            _ => found.push(FieldDifference { name, before: left.cloned(), after: right.cloned() }),
        }
    }
}
