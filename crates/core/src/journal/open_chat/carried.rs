//! A record as its message carries it.

use std::sync::Arc;

use crate::journal::record::{Record, inserted, merged};
use crate::journal::testimony::{NO_BOOK, RecordId};
use forklore_json::{Json, Object, Raw};

/// The gap of a record that was moved from the place where it was made.
const MOVED: i64 = -1;

/// The value of a message's `forklore` field: its exact text, and what decides where it belongs.
///
/// It can be anything, for example the record of a later version. What cannot be read keeps its
/// place and its text, but is never merged with another record.
#[derive(Debug)]
pub struct CarriedRecord {
    text: Vec<u8>,
    has_id: bool,
    uid: Option<String>,
    /// `None` if it is not an integer.
    gap: Option<i64>,
    arrival: Option<CarriedArrival>,
}

/// What is needed to check the book's file after the message has arrived.
#[derive(Debug)]
struct CarriedArrival {
    book: String,
    is_assumed: bool,
    is_checked: bool,
}

/// The record of one place in the chat. Shared, because most edits leave most records alone.
pub(super) type Slot = Option<Arc<CarriedRecord>>;

/// Whether it is the same record, not only an equal one.
pub(super) fn is_same(one: &Slot, other: &Slot) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl CarriedRecord {
    /// Reads the field. `None` if it holds nothing.
    pub fn read(field: Raw<'_>) -> Option<Self> {
        field.is_truthy().then(|| Self::of(&field.json().unwrap_or(Json::Null), field.bytes()))
    }

    fn of(json: &Json, text: &[u8]) -> Self {
        let string = |json: &Json, key| {
            let text = json.get(key)?.as_str()?;
            (!text.is_empty()).then(|| text.into_owned())
        };
        let arrival = |arrival: &Json| {
            Some(CarriedArrival {
                book: string(arrival, "book")?,
                is_assumed: arrival.get("assumed").is_some_and(Json::is_truthy),
                is_checked: arrival.get("file").is_some(),
            })
        };
        Self {
            text: text.to_vec(),
            has_id: json.get("id").is_some_and(Json::is_truthy),
            uid: string(json, "uid"),
            gap: json.get("gap").map_or(Some(0), Json::as_i64),
            arrival: json.get("came").and_then(arrival),
        }
    }

    pub(super) fn of_record(record: &Record) -> Self {
        let json = record.to_json();
        Self::of(&json, &json.stringify())
    }

    /// The JSON text of the field.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    pub(super) fn json(&self) -> Json {
        Json::parse(&self.text).unwrap_or(Json::Null)
    }

    /// `None` if it is of a later format, or damaged.
    pub(super) fn record(&self) -> Option<Record> {
        Record::from_json(&self.json())
    }

    pub(super) fn has_id(&self) -> bool {
        self.has_id
    }

    pub(super) fn uid(&self) -> Option<&str> {
        self.uid.as_deref()
    }

    /// Whether it was made by the page whose uids have this random part.
    pub(super) fn is_of_page(&self, random: &str) -> bool {
        let uid = self.uid().and_then(RecordId::parse);
        uid.is_some_and(|uid| uid.page() == random)
    }

    /// The digest of the book when the message arrived.
    pub(super) fn arrival_book(&self) -> Option<&str> {
        Some(&self.arrival.as_ref()?.book)
    }

    /// Whether the book at its arrival was not observed, only assumed.
    pub(super) fn is_arrival_assumed(&self) -> bool {
        self.arrival.as_ref().is_some_and(|arrival| arrival.is_assumed)
    }

    /// The digest of the book when the message arrived, if the book's file has to be checked for
    /// it.
    pub(super) fn unchecked_book(&self) -> Option<&str> {
        let arrival = self.arrival.as_ref()?;
        (!arrival.is_checked && arrival.book != NO_BOOK).then_some(&arrival.book)
    }

    /// The record with the number of messages without one directly before it; `None` if it says so
    /// already, or if its place is not known anyway.
    pub(super) fn with_gap(&self, gap: i64) -> Option<Self> {
        if self.gap == Some(gap) || self.gap == Some(MOVED) || self.uid.is_none() {
            return None;
        }
        Some(self.edited(&|record| {
            record.remove("gap");
            if gap != 0 {
                record.insert("gap", gap);
            }
        }))
    }

    /// The record in another place than that where it was made.
    pub(super) fn moved(&self) -> Self {
        self.edited(&|record| record.insert("gap", MOVED))
    }

    /// The record without a claim about the state in which its message arrived.
    pub(super) fn without_arrival(&self) -> Self {
        self.edited(&|record| {
            record.remove("came");
        })
    }

    /// The record after the book's file was read: whether it was what the page knew.
    pub(super) fn with_file_check(&self, is_confirmed: bool) -> Self {
        self.edited(&|record| {
            if is_confirmed {
                record.remove("assumed");
            }
            if let Some(arrival) = record.get_mut("came").and_then(Json::as_object_mut) {
                if is_confirmed {
                    arrival.remove("assumed");
                }
                arrival.insert("file", is_confirmed);
            }
        })
    }

    fn edited(&self, edit: &dyn Fn(&mut Object)) -> Self {
        let mut json = self.json();
        let Some(object) = json.as_object_mut() else { return Self::of(&json, &self.text) };
        edit(object);
        Self::of(&json, &json.stringify())
    }
}

/// Merges two neighbouring records; `None` if one does not follow the other.
pub(super) fn joined(earlier: &CarriedRecord, later: &CarriedRecord) -> Slot {
    let record = merged(&earlier.record()?, &later.record()?)?;
    Some(Arc::new(CarriedRecord::of_record(&record)))
}

/// The record of a message inserted between two others, and the later one's new record.
pub(super) fn between(
    earlier: &CarriedRecord,
    later: &CarriedRecord,
    random: &str,
) -> Option<(Arc<CarriedRecord>, Arc<CarriedRecord>)> {
    let (between, later) = inserted(&earlier.record()?, &later.record()?, random)?;
    let carried = |record| Arc::new(CarriedRecord::of_record(record));
    Some((carried(&between), carried(&later)))
}
