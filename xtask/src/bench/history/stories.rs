//! Generates chats and books as SillyTavern writes them: one `JSON.stringify` per line, and
//! indented by four spaces.

use std::fs;
use std::path::Path;

use forklore_json::{Indent, Json, Object};

use super::prose::Writer;

/// A growing chat, as the file that SillyTavern would write.
pub(crate) struct Story {
    pub(crate) writer: Writer,
    /// The header line, then the messages, each preceded by its newline.
    pub(crate) bytes: Vec<u8>,
    /// The start of the last line.
    last: usize,
    pub(crate) messages: usize,
}

/// The size of the parts of a message.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Bytes of prose in the message.
    pub(crate) prose: usize,
    pub(crate) reasoning: usize,
    pub(crate) swipes: usize,
}

impl Story {
    pub(crate) fn new(seed: u64, book: &str) -> Self {
        let bytes = header(book, 0);
        Self { writer: Writer::new(seed), last: 0, bytes, messages: 0 }
    }

    /// A story of messages of about two kilobytes each.
    pub(crate) fn of(seed: u64, book: &str, messages: usize) -> Self {
        let mut story = Self::new(seed, book);
        for _ in 0..messages {
            story.add();
        }
        story
    }

    /// One more message of about two kilobytes.
    pub(crate) fn add(&mut self) {
        let is_user = self.messages % 2 == 1;
        let shape = match is_user {
            true => Shape { prose: 600, reasoning: 0, swipes: 0 },
            false => Shape { prose: 800, reasoning: 300, swipes: 1 },
        };
        self.add_shaped(is_user, shape);
    }

    pub(crate) fn add_shaped(&mut self, is_user: bool, shape: Shape) {
        self.last = self.bytes.len();
        let message = message(&mut self.writer, self.messages, is_user, shape);
        self.bytes.push(b'\n');
        self.bytes.extend(message.stringify());
        self.messages += 1;
    }

    /// Adds a swipe to the last message.
    pub(crate) fn swipe(&mut self, prose: usize, reasoning: usize) {
        let line = &self.bytes[self.last + 1..];
        let Ok(mut message) = Json::parse(line) else { return };
        let text = Json::from(self.writer.prose(prose));
        let extra = extra(&mut self.writer, reasoning);
        if let Some(message) = message.as_object_mut() {
            message.insert("mes", text.clone());
            message.insert("swipe_id", 1_usize);
            message.insert("extra", extra.clone());
            if let Some(Json::Array(swipes)) = message.get_mut("swipes") {
                swipes.push(text);
            }
            if let Some(Json::Array(infos)) = message.get_mut("swipe_info") {
                infos.push(info(self.messages, extra));
            }
        }
        self.bytes.truncate(self.last + 1);
        self.bytes.extend(message.stringify());
    }

    /// Changes the metadata in the header.
    pub(crate) fn touch(&mut self, book: &str, time: usize) {
        let end = self.bytes.iter().position(|byte| *byte == b'\n').unwrap_or(self.bytes.len());
        let header = header(book, time);
        self.last = self.last + header.len() - end;
        self.bytes.splice(..end, header);
    }

    pub(crate) fn last_line(&self) -> &[u8] {
        &self.bytes[self.last..]
    }
}

fn header(book: &str, time: usize) -> Vec<u8> {
    let mut metadata = Object::new();
    metadata.insert("integrity", "5f3c9a52-7f0e-4a1b-9d1c-0d5d1e0a7c11");
    metadata.insert("note_prompt", "Keep to the present tense and to what Mara can see.");
    metadata.insert("note_interval", 1_usize);
    metadata.insert("note_depth", 4_usize);
    metadata.insert("world_info", book);
    metadata.insert("lastInContextMessageId", time);
    metadata.insert(
        "variables",
        Json::object([("day", Json::from(time / 10)), ("coins", Json::from(40 + time % 37))]),
    );
    Json::object([
        ("chat_metadata", metadata.into()),
        ("user_name", Json::from("unused")),
        ("character_name", Json::from("unused")),
    ])
    .stringify()
}

fn date(number: usize) -> String {
    let (day, hour) = (1 + number / 1_440 % 28, number / 60 % 24);
    format!(
        "2026-03-{day:02}T{hour:02}:{:02}:{:02}.{:03}Z",
        number % 60,
        number * 7 % 60,
        number * 37 % 1_000
    )
}

fn extra(writer: &mut Writer, reasoning: usize) -> Json {
    let mut extra = Object::new();
    extra.insert("api", "openrouter");
    extra.insert("model", "some-maker/some-model-70b-instruct");
    let tokens = writer.random().usize(80..900);
    extra.insert("token_count", tokens);
    let took = writer.random().usize(1_000..30_000);
    if reasoning > 0 {
        extra.insert("reasoning", writer.prose(reasoning));
        extra.insert("reasoning_duration", took);
    }
    extra.into()
}

fn info(number: usize, extra: Json) -> Json {
    Json::object([
        ("send_date", Json::from(date(number))),
        ("gen_started", Json::from(date(number + 1))),
        ("gen_finished", Json::from(date(number + 2))),
        ("extra", extra),
    ])
}

fn message(writer: &mut Writer, number: usize, is_user: bool, shape: Shape) -> Json {
    let text = Json::from(writer.prose(shape.prose));
    let extra = extra(writer, shape.reasoning);
    let mut message = Object::new();
    message.insert("name", if is_user { "You" } else { "Mara" });
    message.insert("is_user", is_user);
    message.insert("is_system", false);
    message.insert("send_date", date(number));
    message.insert("mes", text.clone());
    message.insert("extra", extra.clone());
    if !is_user {
        message.insert("gen_started", date(number + 1));
        message.insert("gen_finished", date(number + 2));
        message.insert("force_avatar", Json::Bool(false));
        message.insert("swipe_id", 0_usize);
        let mut swipes = vec![text];
        let mut infos = vec![info(number, extra)];
        for _ in 1..shape.swipes {
            swipes.push(Json::from(writer.prose(shape.prose)));
            infos.push(info(number, self::extra(writer, shape.reasoning)));
        }
        message.insert("swipes", Json::Array(swipes));
        message.insert("swipe_info", Json::Array(infos));
    }
    message.into()
}

/// A book that holds its entries as text, so that changing one of thousands is fast.
pub(crate) struct Lore {
    writer: Writer,
    entries: Vec<Vec<u8>>,
}

impl Lore {
    /// Entries of about 2.4 KB each.
    pub(crate) fn new(seed: u64, entries: usize) -> Self {
        let mut writer = Writer::new(seed);
        let entries = (0..entries).map(|uid| entry(&mut writer, uid)).collect();
        Self { writer, entries }
    }

    /// Rewrites one entry.
    pub(crate) fn edit(&mut self, uid: usize) {
        let uid = uid % self.entries.len();
        self.entries[uid] = entry(&mut self.writer, uid);
    }

    /// Adds a sentence to one entry, which is what memory extensions do.
    pub(crate) fn extend(&mut self, uid: usize) {
        let uid = uid % self.entries.len();
        let addition = self.writer.prose(90);
        let text = String::from_utf8_lossy(&self.entries[uid]).into_owned();
        if let Some(at) = text.find("\",\n            \"constant\"") {
            let escaped = Json::from(format!(" {addition}")).stringify();
            let escaped = &escaped[1..escaped.len() - 1];
            self.entries[uid].splice(at..at, escaped.iter().copied());
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let size = self.entries.iter().map(|entry| entry.len() + 2).sum::<usize>();
        let mut bytes = Vec::with_capacity(size + 100);
        bytes.extend_from_slice(b"{\n    \"entries\": {");
        for (at, entry) in self.entries.iter().enumerate() {
            if at > 0 {
                bytes.push(b',');
            }
            bytes.extend_from_slice(entry);
        }
        bytes.extend_from_slice(b"\n    }\n}");
        bytes
    }
}

/// The text of an entry with its key, indented as in a book.
fn entry(writer: &mut Writer, uid: usize) -> Vec<u8> {
    let mut entry = Object::new();
    entry.insert("uid", uid);
    entry.insert("key", Json::from(vec![format!("Person {uid}"), writer.prose(12)]));
    entry.insert("keysecondary", Json::Array(Vec::new()));
    entry.insert("comment", format!("character-Person {uid}"));
    entry.insert("content", writer.prose(1_000));
    let plain: [(&str, Json); 22] = [
        ("constant", Json::Bool(false)),
        ("vectorized", Json::Bool(false)),
        ("selective", Json::Bool(true)),
        ("selectiveLogic", Json::from(0_usize)),
        ("addMemo", Json::Bool(true)),
        ("order", Json::from(100_usize)),
        ("position", Json::from(0_usize)),
        ("disable", Json::Bool(false)),
        ("ignoreBudget", Json::Bool(false)),
        ("excludeRecursion", Json::Bool(false)),
        ("preventRecursion", Json::Bool(false)),
        ("delayUntilRecursion", Json::Bool(false)),
        ("probability", Json::from(100_usize)),
        ("useProbability", Json::Bool(true)),
        ("depth", Json::from(4_usize)),
        ("outletName", Json::from("")),
        ("group", Json::from("")),
        ("groupOverride", Json::Bool(false)),
        ("groupWeight", Json::from(100_usize)),
        ("scanDepth", Json::Null),
        ("caseSensitive", Json::Null),
        ("displayIndex", Json::from(uid)),
    ];
    for (name, value) in plain {
        entry.insert(name, value);
    }
    for name in ["matchPersonaDescription", "matchCharacterDescription", "matchScenario"] {
        entry.insert(name, Json::Bool(false));
    }
    let entries: Object = [(uid.to_string(), Json::from(entry))].into_iter().collect();
    let book = Json::object([("entries", entries.into())]).stringify_with(Indent::BOOK);
    let begin = b"{\n    \"entries\": {".len();
    let end = book.len() - b"\n    }\n}".len();
    book[begin..end].to_vec()
}

/// Replaces a file as SillyTavern does: writes a temporary file and renames it, without syncing.
pub(crate) fn save(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".1234567");
    fs::write(&beside, bytes)?;
    Ok(fs::rename(beside, path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_what_sillytavern_writes() {
        let mut story = Story::of(1, "Lore", 40);
        story.add_shaped(false, Shape { prose: 900, reasoning: 100, swipes: 1 });
        story.swipe(900, 100);
        story.touch("Lore", 1_234);
        for line in story.bytes.split(|byte| *byte == b'\n') {
            assert_eq!(Json::parse(line).unwrap().stringify(), line);
        }
        assert_eq!(story.last_line(), &story.bytes[story.bytes.len() - story.last_line().len()..]);
        assert!(story.last_line().starts_with(b"\n{\"name\":\"Mara\""));
        assert!((1_500..2_500).contains(&(story.bytes.len() / 41)), "{}", story.bytes.len() / 41);

        let mut book = Lore::new(1, 12);
        book.edit(3);
        book.extend(5);
        let bytes = book.bytes();
        assert_eq!(Json::parse(&bytes).unwrap().stringify_with(Indent::BOOK), bytes);
        assert!((2_100..2_700).contains(&(bytes.len() / 12)), "{}", bytes.len() / 12);
    }
}
