//! What the core has to say, as a code with values that the page can put into any language, and
//! in English.

use forklore_core::chat::Damage;
use forklore_core::exactness::Exactness;
use forklore_core::fork::{Obstacle, Remark};
use forklore_core::json::{Json, Object};
use forklore_core::recap::registry::Flaw;
use forklore_core::verify::Finding;

pub(crate) fn list<T>(things: &[T], word: impl Fn(&T) -> Json) -> Json {
    Json::Array(things.iter().map(word).collect())
}

fn word<const N: usize>(code: &str, values: [(&str, Json); N], text: String) -> Json {
    Json::object([
        ("code", code.into()),
        ("values", Json::Object(values.into_iter().collect::<Object>())),
        ("text", Json::from(text)),
    ])
}

fn as_of(exactness: Exactness) -> [(&'static str, Json); 1] {
    let message = match exactness {
        Exactness::Snapshot(message) => Some(message),
        Exactness::Exact | Exactness::Settled(_) | Exactness::Live => None,
    };
    [("as_of", message.into())]
}

pub(crate) fn obstacle(obstacle: &Obstacle) -> Json {
    let text = obstacle.to_string();
    match obstacle {
        Obstacle::NoMessages => word("no-messages", [], text),
        Obstacle::NoSuchMessage { asked, last } => {
            word("no-such-message", [("asked", (*asked).into()), ("last", (*last).into())], text)
        }
        Obstacle::Damaged(_) | Obstacle::MetadataTooDeep(_) => word("damaged", [], text),
        Obstacle::QueueBusy(work) if work.unreadable => word("queue-unreadable", [], text),
        Obstacle::QueueBusy(work) => {
            word("queue-busy", [("count", work.operations().max(1).into())], text)
        }
        Obstacle::NotASceneBreak(message) => {
            word("not-a-scene-break", [("message", (*message).into())], text)
        }
        Obstacle::BookMissing(name) => word("book-missing", [("name", name.as_str().into())], text),
        Obstacle::BookUnreadable { name, .. } => {
            word("book-unreadable", [("name", name.as_str().into())], text)
        }
        Obstacle::NotKnownWellEnough { found, .. } => word("book-not-known", as_of(*found), text),
        Obstacle::MetadataNotExact(found) => word("metadata-not-exact", as_of(*found), text),
    }
}

pub(crate) fn remark(remark: &Remark) -> Json {
    let text = remark.to_string();
    let count = |code, count: usize| word(code, [("count", count.into())], text.clone());
    let name = |code, name: &str| word(code, [("name", name.into())], text.clone());
    let plain = |code| word(code, [], text.clone());
    match remark {
        Remark::NoSceneRecap => plain("no-scene-recap"),
        Remark::NoRunningRecap => plain("no-running-recap"),
        Remark::NotInRunningRecap => plain("not-in-running-recap"),
        Remark::NotASceneBreak => plain("not-scene-break"),
        Remark::MetadataIsLive(keys) => {
            word("metadata-live", [("keys", keys.clone().into())], text)
        }
        Remark::RecapLostFields(entries) => count("recap-lost-fields", *entries),
        Remark::FieldsFilled(entries) => count("fields-filled", *entries),
        Remark::SnapshotOfAnotherBook(book) => name("snapshot-of-another", book),
        Remark::BookIsLive => plain("book-live"),
        Remark::WithoutBook(book) => name("without-book", book),
        Remark::ByteOrderMarkDropped => plain("bom-dropped"),
        Remark::RunningVersionsDropped(versions) => count("running-dropped", *versions),
        Remark::CombinedRecapDropped => plain("combined-dropped"),
        Remark::QueueDrained => plain("queue-drained"),
        Remark::PastQueueDrained => plain("past-queue-drained"),
        Remark::FailedOperations(operations) => count("failed-operations", *operations),
        Remark::StaleEntries(entries) => count("stale-entries", *entries),
        Remark::DamagedLines(lines) => {
            word("damaged-lines", [("lines", lines.clone().into())], text)
        }
        Remark::AlsoUsedBy(chats) => word("also-used", [("chats", chats.clone().into())], text),
        Remark::AlsoSelected(place) => {
            word("also-selected", [("place", place.as_str().into())], text)
        }
    }
}

pub(crate) fn finding(finding: &Finding) -> Json {
    let text = finding.to_string();
    let name = |code, name: &str| word(code, [("name", name.into())], text.clone());
    let mut json = match finding {
        Finding::Damage(damage) => {
            let line = match damage {
                Damage::UnreadableLine(line) | Damage::TornLine(line) => Some(*line),
                _ => None,
            };
            word("damage", [("line", line.into())], text)
        }
        Finding::BookMissing(book) => name("book-missing", book),
        Finding::BookUnreadable { name: book, .. } => name("book-unreadable", book),
        Finding::BookWithByteOrderMark(book) => name("book-bom", book),
        Finding::BookShared { name, with } => {
            let values = [("name", name.as_str().into()), ("with", with.clone().into())];
            word("book-shared", values, text)
        }
        Finding::BookUsedElsewhere { name, by } => {
            let values = [("name", name.as_str().into()), ("by", by.clone().into())];
            word("book-elsewhere", values, text)
        }
        Finding::AnotherBook { sealed, bound } => {
            let values = [("sealed", sealed.as_str().into()), ("bound", bound.clone().into())];
            word("another-book", values, text)
        }
        Finding::CutShort { sealed, messages } => {
            let values = [("sealed", (*sealed).into()), ("messages", (*messages).into())];
            word("cut-short", values, text)
        }
        Finding::BookEdited { sealed, entries } => {
            let values = [("sealed", (*sealed).into()), ("entries", (*entries).into())];
            word("book-edited", values, text)
        }
        Finding::RunningVersionMissing(version) => {
            word("running-missing", [("version", (*version).into())], text)
        }
        Finding::RunningVersionChanged(version) => {
            word("running-changed", [("version", (*version).into())], text)
        }
        Finding::CombinedRecapChanged { sealed, found } => {
            let values = [("sealed", (*sealed).into()), ("found", (*found).into())];
            word("combined-changed", values, text)
        }
        Finding::Registry(Flaw::NoSuchEntry { item } | Flaw::AnotherName { item, .. }) => {
            let values = [
                ("kind", item.kind.as_str().into()),
                ("name", item.name.clone().into()),
                ("uid", item.uid.as_str().into()),
            ];
            word("registry", values, text)
        }
        Finding::QueuePastTheEnd(found) => {
            let values =
                [("operation", found.operation.as_str().into()), ("message", found.message.into())];
            word("queue-past-end", values, text)
        }
        Finding::ParentMissing(parent) => name("parent-missing", parent),
        Finding::Cycle(parent) => name("cycle", parent),
        Finding::NoSeal => word("no-seal", [], text),
        Finding::Unlisted => word("unlisted", [], text),
    };
    if let Some(object) = json.as_object_mut() {
        object.insert("problem", finding.is_problem());
    }
    json
}
