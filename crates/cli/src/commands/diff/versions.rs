//! `forklore diff --version`: two versions of one file

use std::io;

use forklore_core::book::Book;
use forklore_core::chat::{Chat, Place};
use forklore_core::diff::{Compared, Difference, EntryDifference, Side, compare};
use forklore_history::file::Kind;
use forklore_history::finding::Finder;
use forklore_history::history::History;
use forklore_history::lineage::Lineage;
use forklore_history::restoring::last_there;
use forklore_history::scan::{home, read_still};
use forklore_tavern::tavern::Tavern;

use super::entries::Speaker;
use super::messages::{self, Chats};
use super::{chats, say, stat};
use crate::args::DiffArgs;
use crate::commands::{Histories, Outcome};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::lore::{Paint, Row, say_rows, shown};
use crate::objection::Objection;
use crate::text::{Line, Style};
use crate::ui::Ui;

/// A version, or the file as it is on disk.
struct Version {
    /// `None` is now.
    number: Option<u64>,
    bytes: Vec<u8>,
}

impl Version {
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
    let left = kept(&history, lineage, number)?;
    let right = match args.with {
        Some(other) => kept(&history, lineage, other)?,
        None => now(&history, tavern, lineage)?,
    };
    let name = finder.name_of(lineage);
    let line = Line::new().plain("Comparing ").bold(format!("{name}, {}", left.words()));
    ui.say(line.plain(" with ").bold(right.words()));
    let is_same = left.bytes == right.bytes;
    let members = if is_same {
        ui.say("Both are the same.");
        Vec::new()
    } else {
        match lineage.kind {
            Kind::Chat => say_chats(ui, lineage, &left, &right, args.stat),
            Kind::Book => say_books(ui, &left, &right, args),
            Kind::Card => {
                let sizes = format!("{} bytes became {}.", left.bytes.len(), right.bytes.len());
                ui.say(format!("A card is a picture: {sizes}"));
                Vec::new()
            }
            Kind::Group | Kind::Settings => say_fields(ui, &left, &right),
        }
    };
    let side = |version: &Version| Json::from(version.number.map(|number| number as usize));
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

fn kept(history: &History<'_>, lineage: &Lineage, number: u64) -> Result<Version, CommandError> {
    let bytes = history.content(&history.version(lineage, number)?)?;
    Ok(Version { number: Some(number), bytes })
}

/// The file as it is; where it is gone, as it last was.
fn now(
    history: &History<'_>,
    tavern: &Tavern<'_>,
    lineage: &Lineage,
) -> Result<Version, CommandError> {
    let path = home(&tavern.folders).join(lineage.file().to_path());
    let path = tavern.folders.inside.check_no_link(tavern.disk, &path)?;
    match read_still(tavern.disk, &path) {
        Ok((bytes, _)) => Ok(Version { number: None, bytes }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let last = last_there(history, lineage)?;
            let bytes = history.content(&last)?;
            Ok(Version { number: Some(last.version.number), bytes })
        }
        Err(error) => Err(CommandError::new(Objection::NotRead { path, error })),
    }
}

type Members = Vec<(&'static str, Json)>;

fn say_chats(
    ui: &mut Ui<'_>,
    lineage: &Lineage,
    left: &Version,
    right: &Version,
    is_short: bool,
) -> Members {
    let is_group = lineage.file().as_str().starts_with("group chats/");
    let place = if is_group { Place::Group } else { Place::Solo };
    let (left, right) = (Chat::read(&left.bytes, place), Chat::read(&right.bytes, place));
    let chats = Chats { left: &left, right: &right };
    let changes = messages::changes(chats);
    chats::say(ui, chats, &changes, is_short)
}

fn say_books(ui: &mut Ui<'_>, left: &Version, right: &Version, args: &DiffArgs) -> Members {
    let names = [left.words(), right.words()];
    let books = [left, right].map(|version| Book::read(&version.bytes));
    for (book, name) in books.iter().zip(&names) {
        if let Err(error) = book {
            let line = Line::new().add(Style::Bad, "  ! ").plain(name).plain(" cannot be read: ");
            ui.say(line.plain(error.to_string()));
        }
    }
    let [one, other] = &books;
    let side = |book| Side { book, metadata: None };
    let (one, other) = (side(one.as_ref().ok()), side(other.as_ref().ok()));
    let compared = compare(Some(one), one, other, args.internal);
    let speaker = Speaker::of_versions(names, &compared);
    if compared.is_empty() {
        ui.say("No entry differs.");
    } else if args.stat {
        stat::say_compared(ui, &speaker, &compared);
    } else {
        say::say_compared(ui, &speaker, &compared);
    }
    book_members(&compared)
}

fn book_members(compared: &Compared) -> Members {
    let entries = compared.entries.iter().map(EntryDifference::to_json).collect();
    let book = compared.book.iter().map(Difference::to_json).collect();
    vec![("entries", Json::Array(entries)), ("book", Json::Array(book))]
}

/// The fields of a group or of the settings that differ, by their names.
fn say_fields(ui: &mut Ui<'_>, left: &Version, right: &Version) -> Members {
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
    let found = differing(before, after);
    let paint = Paint { color: ui.has_color() };
    let rows: Vec<Row> = found
        .iter()
        .map(|field| Row {
            name: field.name.clone(),
            text: shown(paint, field.before.as_ref(), field.after.as_ref()),
        })
        .collect();
    say_rows(ui, 2, &rows);
    let fields = found.into_iter().map(Field::into_json);
    vec![("fields", Json::Array(fields.collect()))]
}

/// A named value that differs.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) before: Option<Json>,
    pub(super) after: Option<Json>,
}

impl Field {
    pub(super) fn into_json(self) -> Json {
        let mut members = vec![("name", Json::from(self.name))];
        members.extend(self.before.map(|value| ("left", value)));
        members.extend(self.after.map(|value| ("right", value)));
        Json::object(members)
    }
}

/// The members of two objects that differ; of members that are objects themselves, theirs.
pub(super) fn differing(before: &Json, after: &Json) -> Vec<Field> {
    let mut found = Vec::new();
    gather(&mut found, "", before, after, 2);
    found
}

fn gather(found: &mut Vec<Field>, path: &str, before: &Json, after: &Json, depth: usize) {
    let (Some(one), Some(other)) = (before.as_object(), after.as_object()) else {
        let (before, after) = (Some(before.clone()), Some(after.clone()));
        found.push(Field { name: path.to_owned(), before, after });
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
                gather(found, &name, left, right, depth - 1);
            }
            _ => found.push(Field { name, before: left.cloned(), after: right.cloned() }),
        }
    }
}
