//! The state that the journal records.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as LETTERS;

use super::lore::{Entries, Lore};
use super::others;
use super::testimony::{NO_BOOK, StatePart};
use crate::digest::{Digest, Hasher, Sha256Hasher};
use crate::recap::running;
use crate::sillytavern::book::Book;
use forklore_json::{Json, JsonKind, Object, Raw};

/// SillyTavern's own metadata keys that belong to a moment of the story. Excludes identity
/// (`integrity`, `main_chat`) and caches. For the keys of extensions, see
/// [`OTHERS`](super::OTHERS).
pub const RECORDED_METADATA: [&str; 27] = [
    "variables",
    "timedWorldInfo",
    "note_prompt",
    "note_interval",
    "note_depth",
    "note_position",
    "note_role",
    "scenario",
    "mes_example",
    "system_prompt",
    "persona",
    "pick_reroll_seed",
    "custom_background",
    "chat_backgrounds",
    "script_injects",
    "attachments",
    "quickReply",
    "narrator_name",
    "cfg_guidance_scale",
    "cfg_negative_prompt",
    "cfg_positive_prompt",
    "cfg_prompt_combine",
    "cfg_groupchat_individual_chars",
    "cfg_prompt_insertion_depth",
    "cfg_prompt_separator",
    "cfg_negative_combine",
    "cfg_negative_insertion_depth",
];

/// The book and the recorded metadata at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedState {
    pub book: Option<BookState>,
    pub metadata: Object,
}

/// A bound book. Cheap to clone, because the content is shared.
#[derive(Clone, Debug)]
pub struct BookState {
    pub name: String,
    pub(super) lore: Arc<Lore>,
}

impl RecordedState {
    /// The state of a chat with this metadata and this bound book.
    pub fn of(metadata: &Json, book: Option<(&str, &Json)>) -> Self {
        let book = book.and_then(|(name, book)| {
            let lore = Arc::new(Lore::of(book.as_object()?));
            Some(BookState { name: name.to_owned(), lore })
        });
        Self { book, metadata: recorded(metadata) }
    }

    /// A state with this book and no metadata. `None` if the book is nested too deeply to be built.
    pub fn of_book(name: &str, book: &Book<'_>) -> Option<Self> {
        let lore = Arc::new(Lore::read(book.root(), |_, _| None).ok()?);
        let book = BookState { name: name.to_owned(), lore };
        Some(Self { book: Some(book), metadata: Object::new() })
    }

    /// Identifies the state; a record uses it to name the state that it follows. Consists of the
    /// digests of both parts, so that each part can be compared by itself.
    pub fn id(&self) -> String {
        format!("{}.{}", self.digest(StatePart::Book), self.digest(StatePart::Metadata))
    }

    /// The digest of one part. 64 bits guard against accidental collisions, not against forgery.
    ///
    /// The book's content has a cached digest of its own, so that the book is not hashed again when
    /// only the metadata changed, which happens all the time.
    pub fn digest(&self, part: StatePart) -> String {
        let digest = match (part, &self.book) {
            (StatePart::Book, None) => return NO_BOOK.to_owned(),
            (StatePart::Book, Some(book)) => {
                let mut hasher = Hasher::default();
                hasher.update(&Json::from(book.name.as_str()).stringify());
                hasher.update(book.lore.digest().as_bytes());
                hasher.finish()
            }
            (StatePart::Metadata, _) => {
                let mut metadata = self.metadata.clone();
                if metadata.get(others::OTHERS).is_some_and(others::is_empty_marker) {
                    metadata.remove(others::OTHERS);
                }
                Digest::of(&Json::from(metadata).stringify())
            }
        };
        LETTERS.encode(&digest.as_bytes()[..8])
    }

    /// Whether the metadata of other extensions was recorded as well.
    pub(super) fn knows_others(&self) -> bool {
        self.metadata.contains(others::OTHERS)
    }

    /// Whether `id` identifies this state, whichever format the record has.
    pub(crate) fn has_id(&self, id: &str) -> bool {
        if is_of_format_1(id) { self.id_of_format_1() == id } else { self.id() == id }
    }

    fn id_of_format_1(&self) -> String {
        let mut hasher = Sha256Hasher::default();
        match &self.book {
            None => hasher.update(b"null"),
            Some(book) => {
                hasher.update(&Json::from(book.name.as_str()).stringify());
                hasher.update(book.lore.digest_of_format_1().as_bytes());
            }
        }
        hasher.update(&Json::from(self.metadata.clone()).stringify());
        hasher.finish().short(16)
    }

    /// The state as it is stored in a record.
    pub fn to_json(&self) -> Json {
        let book = self.book.as_ref().map(|book| {
            Json::object([
                ("name", Json::from(book.name.as_str())),
                ("content", book.content().into()),
            ])
        });
        Json::object([("book", book.into()), ("metadata", self.metadata.clone().into())])
    }

    /// Parses the text of what [`to_json`](Self::to_json) returned.
    pub(super) fn read(text: &[u8]) -> Option<Self> {
        let state = Raw::document(text).ok()?;
        let Json::Object(metadata) = state.get("metadata")?.json().ok()? else { return None };
        let book = state.get("book")?;
        if book.kind() == JsonKind::Null {
            return Some(Self { book: None, metadata });
        }
        let name = book.get("name")?.text()?.into_owned();
        let content = book.get("content").filter(|content| content.kind() == JsonKind::Object)?;
        let lore = Arc::new(Lore::read(content, |_, _| None).ok()?);
        Some(Self { book: Some(BookState { name, lore }), metadata })
    }
}

/// Whether an id is of format 1, which did not identify the parts separately.
pub(super) fn is_of_format_1(id: &str) -> bool {
    !id.contains('.')
}

/// The part of a chat's metadata that the journal records.
pub(super) fn recorded(metadata: &Json) -> Object {
    let keys = RECORDED_METADATA.iter();
    let mut recorded: Object =
        keys.filter_map(|key| Some((*key, metadata.get(key)?.clone()))).collect();
    if let Some(outline) = metadata.get(running::KEY).and_then(running::outline) {
        recorded.insert(running::KEY, outline);
    }
    others::add(metadata, &mut recorded);
    recorded
}

impl BookState {
    /// Whether it has the same content, regardless of its name.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        self.lore.digest() == other.lore.digest()
    }

    /// The whole book, except for Forklore's mark.
    pub fn content(&self) -> Object {
        self.lore.content()
    }

    pub fn entries(&self) -> Option<&Entries> {
        self.lore.entries()
    }

    /// The book's fields other than its entries.
    pub fn fields(&self) -> Object {
        let mut fields = self.lore.fields().clone();
        fields.remove("entries");
        fields
    }

    /// The book's size in bytes when written on one line.
    pub(super) fn size(&self) -> usize {
        self.lore.size()
    }
}

impl PartialEq for BookState {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && (Arc::ptr_eq(&self.lore, &other.lore) || self.lore == other.lore)
    }
}
