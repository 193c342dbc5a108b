//! A user's files, changed at random in every way that occurs.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use fastrand::Rng;
use forklore_history::file::FileName;
use forklore_history::record::recorder::Observed;
use forklore_history::version::history::History;

pub(crate) struct Life {
    pub(crate) random: Rng,
    files: BTreeMap<String, Vec<u8>>,
    /// What the history must contain, in order: each version's file and content.
    expected: Vec<(String, Vec<u8>)>,
    next: u32,
}

/// The name and content of each version, by its order among everything recorded.
pub(crate) type Rebuilt = BTreeMap<u64, (String, Vec<u8>)>;

impl Life {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Rng::with_seed(seed), files: BTreeMap::new(), expected: Vec::new(), next: 0 }
    }

    fn text(&mut self) -> String {
        let words = [
            "the dragon",
            "said \\\"no\\\"",
            "\\ud800",
            "caf\u{e9}",
            "\u{1F409}",
            "\u{2028}",
            "\\u0000",
            "walked on",
            "1e400",
            "</script>",
        ];
        (0..self.random.usize(1..30)).map(|_| *self.random.choice(&words).unwrap()).collect()
    }

    fn message(&mut self) -> String {
        let text = self.text();
        match self.random.u8(..30) {
            0 => "{\"torn\":\"".to_owned(),
            1 => String::new(),
            2 => "{\"mes\":1,\"mes\":2}".to_owned(),
            3 => "\u{feff}{}".to_owned(),
            4 => "  null \r".to_owned(),
            _ => format!(
                "{{\"name\":\"Mara\",\"mes\":\"{text}\",\"swipe_id\":{}}}",
                self.random.u8(..3)
            ),
        }
    }

    fn chat(&mut self) -> Vec<u8> {
        let mut lines = vec![format!("{{\"chat_metadata\":{{\"n\":{}}}}}", self.random.u8(..))];
        for _ in 0..self.random.usize(..230) {
            lines.push(self.message());
        }
        lines.join("\n").into_bytes()
    }

    fn entry(&mut self, uid: u32) -> String {
        let text = self.text();
        format!("{{\n            \"uid\": {uid},\n            \"content\": \"{text}\"\n        }}")
    }

    fn book(&mut self) -> Vec<u8> {
        let mut entries = Vec::new();
        let mut uid = 0;
        for _ in 0..self.random.usize(..120) {
            let entry = self.entry(uid);
            entries.push(format!("\n        \"{uid}\": {entry}"));
            uid += self.random.u32(1..30);
        }
        if self.random.u8(..8) == 0 {
            self.random.shuffle(&mut entries);
        }
        let text = format!("{{\n    \"entries\": {{{}\n    }}\n}}", entries.join(","));
        match self.random.u8(..10) {
            0 => text.replace(['\n', ' '], "").into_bytes(),
            1 => format!("\u{feff}{text}").into_bytes(),
            _ => text.into_bytes(),
        }
    }

    fn new_file(&mut self) {
        self.next += 1;
        let number = self.next;
        let (name, bytes) = match self.random.u8(..10) {
            0 => (
                format!("characters/c{number}.png"),
                b"\x89PNG\r\n\x1a\n\0\0\0\x01tEXtacrc!".to_vec(),
            ),
            1 => ("settings.json".to_owned(), b"{\n    \"a\": 1,\n    \"b\": {}\n}".to_vec()),
            2 => (format!("groups/{number}.json"), b"{\n    \"chats\": []\n}".to_vec()),
            3..=5 => (format!("worlds/Lore {number}.json"), self.book()),
            _ => (format!("chats/Anna/Story {number}.jsonl"), self.chat()),
        };
        self.files.insert(name, bytes);
    }

    /// Changes a random file.
    pub(crate) fn go_on(&mut self) {
        if self.files.is_empty() || self.random.u8(..25) == 0 {
            return self.new_file();
        }
        let names: Vec<String> = self.files.keys().cloned().collect();
        let name = self.random.choice(&names).unwrap().clone();
        match self.random.u8(..40) {
            0 => drop(self.files.remove(&name)),
            1 if name != "settings.json" => {
                // Rename.
                let bytes = self.files.remove(&name).unwrap();
                self.next += 1;
                self.files.insert(name.replace('.', &format!(" r{}.", self.next)), bytes);
            }
            2 if name != "settings.json" => {
                // Copy.
                let bytes = self.files[&name].clone();
                self.next += 1;
                self.files.insert(name.replace('.', &format!(" c{}.", self.next)), bytes);
            }
            3 => drop(self.files.insert(name, Vec::new())),
            _ => {
                let bytes = self.files.remove(&name).unwrap();
                let bytes = self.changed(&name, bytes);
                self.files.insert(name, bytes);
            }
        }
    }

    fn changed(&mut self, name: &str, bytes: Vec<u8>) -> Vec<u8> {
        let separator = if name.ends_with(".jsonl") { b'\n' } else { b'}' };
        let mut parts: Vec<Vec<u8>> =
            bytes.split(|byte| *byte == separator).map(<[u8]>::to_vec).collect();
        let at = self.random.usize(..parts.len());
        match self.random.u8(..12) {
            0 => parts.truncate(at + 1),
            1 => drop(parts.remove(at)),
            2 => parts.insert(at, b"\xff\xfe not text \0".to_vec()),
            3 => parts.swap(at, 0),
            4 => parts[at].truncate(3),
            5 => parts.reverse(),
            6 | 7 => {
                let text = self.text();
                parts[at].extend_from_slice(text.as_bytes());
            }
            _ => {
                let message = self.message();
                parts.push(message.into_bytes());
            }
        }
        parts.join(&separator)
    }

    /// Records all files, as a scan would, and notes what the history must contain from then on.
    pub(crate) fn record(&mut self, history: &mut History<'_>) {
        let mut recorder = history.record().unwrap();
        let files = &self.files;
        let exists = |name: &FileName| files.contains_key(name.as_str());
        let gone: Vec<FileName> =
            recorder.lineages().live_names().filter(|name| !exists(name)).cloned().collect();
        let when = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (name, bytes) in files {
            let name = FileName::of_text(name);
            let seen = if self.random.bool() { Observed::AsItHappened } else { Observed::Later };
            if let Some(recorded) = recorder.file(&name, bytes, when, seen, &exists).unwrap() {
                self.expected.push((name.as_str().to_owned(), bytes.clone()));
                assert_eq!(recorded.stored.version.order, self.expected.len() as u64);
            }
        }
        for name in gone {
            if let Some(recorded) = recorder.deleted(&name).unwrap() {
                let content = self.expected.iter().rfind(|(known, _)| known == name.as_str());
                self.expected.push(content.unwrap().clone());
                assert_eq!(recorded.stored.version.order, self.expected.len() as u64);
            }
        }
        recorder.persist().unwrap();
    }

    pub(crate) fn compare(&self, rebuilt: &Rebuilt, seed: u64) {
        assert_eq!(rebuilt.len(), self.expected.len(), "seed {seed}");
        for (order, (name, bytes)) in rebuilt {
            let (expected_name, expected) = &self.expected[*order as usize - 1];
            assert_eq!(name, expected_name, "seed {seed}, version {order}");
            assert!(bytes == expected, "seed {seed}, version {order} of {name} differs");
        }
        // And the newest version of every file has the file's content.
        for (name, bytes) in &self.files {
            let newest = rebuilt.values().rev().find(|(known, _)| known == name);
            assert!(newest.is_some_and(|(_, known)| known == bytes), "seed {seed}, {name}");
        }
    }
}

pub(crate) fn by_us(history: &History<'_>) -> Rebuilt {
    let mut rebuilt = Rebuilt::new();
    for lineage in history.lineages().iter() {
        for version in history.versions(&lineage.tip) {
            let bytes = history.content(&version).unwrap();
            assert_eq!(bytes.len() as u64, version.version.bytes);
            let name = version.version.file.as_str().to_owned();
            rebuilt.insert(version.version.order, (name, bytes));
        }
    }
    assert!(!history.store().met_damage());
    rebuilt
}
