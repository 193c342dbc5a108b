//! Generates a story: messages arrive, lore changes, the journal records it, messages are deleted.

use fastrand::Rng;
use forklore_core::journal::{
    Arrival, Limits, Record, RecordId, RecordedState, StatePart, merged, record,
};
use forklore_core::plan::timed_effects;
use forklore_core::timeline::family::Home;
use forklore_json::{Json, Object};

use super::{Formatting, Message, Scene, Story, lore, recap, text};

pub(super) struct Teller<'r> {
    rng: &'r mut Rng,
    story: Story,
    /// Milliseconds since 1970; every event advances it.
    clock: u64,
    tokens: u64,
    journal: Journal,
    /// How many messages have arrived so far.
    arrivals: u64,
    /// What was observed when the last message arrived.
    last_arrival: Option<Arrival>,
    /// A record was lost, so the next one does not follow from the remaining records.
    chain_is_broken: bool,
    limits: Limits,
    has_recap: bool,
    /// A scene with unfinished lorebook work: the id of its message, and the number of messages
    /// until it finishes.
    settling: Option<(u64, usize)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Journal {
    Off,
    On,
    /// Turned on and off during the story.
    Partly {
        is_on: bool,
    },
}

impl<'r> Teller<'r> {
    pub(super) fn new(rng: &'r mut Rng) -> Self {
        let home = if rng.u8(..3) == 0 {
            Home::Group(Some("1700000000000".into()))
        } else {
            Home::Character(["Ada", "雨 Mara", "v1.2"][rng.usize(..3)].into())
        };
        let chat =
            ["Mara - 2025-11-20@10h00m00s000ms", "story", "X - Branch #2", "雨"][rng.usize(..4)];
        let journal = match rng.u8(..10) {
            0..=2 => Journal::Off,
            3..=6 => Journal::On,
            _ => Journal::Partly { is_on: rng.bool() },
        };
        let story = Story {
            home,
            chat: chat.into(),
            messages: Vec::new(),
            metadata: Object::new(),
            books: Vec::new(),
            bound: None,
            book_is_lost: false,
            has_work: false,
            journal_is_whole: journal == Journal::On,
            sharing_branch: None,
            formatting: Formatting::default(),
        };
        let largest_book = if rng.u8(..12) == 0 { 200 } else { Limits::default().largest_book };
        Self {
            clock: 1_763_632_438_061,
            tokens: 0,
            journal,
            arrivals: 0,
            last_arrival: None,
            chain_is_broken: false,
            limits: Limits { largest_book },
            has_recap: rng.bool(),
            settling: None,
            story,
            rng,
        }
    }

    pub(super) fn generate(mut self, longest: usize) -> Story {
        self.begin();
        for _ in 0..self.rng.usize(1..=longest) {
            self.add_message();
            for _ in 0..self.rng.usize(..4) {
                self.random_event();
            }
            self.settle_scene();
            self.finish_message();
            if self.story.messages.len() > 2 && self.rng.u8(..8) == 0 {
                self.delete_message();
            }
            if let Journal::Partly { is_on } = &mut self.journal
                && self.rng.u8(..4) == 0
            {
                *is_on = !*is_on;
            }
        }
        self.end();
        self.story
    }

    fn begin(&mut self) {
        let integrity = format!("{:08x}-aaaa-4aaa-8aaa-aaaaaaaaaaaa", self.rng.u32(..));
        self.story.metadata.insert("integrity", integrity);
        self.story.metadata.insert("tainted", true);
        if self.rng.bool() {
            let token = self.token();
            self.story.metadata.insert("another_extension", Json::from(vec![token]));
        }
        if self.rng.u8(..10) > 0 {
            self.bind_new_book();
        }
    }

    /// A word that occurs nowhere else, so that leaks can be detected.
    fn token(&mut self) -> String {
        self.tokens += 1;
        format!("tok{:05}x", self.tokens)
    }

    fn tick(&mut self) -> u64 {
        self.clock += self.rng.u64(1..100_000);
        self.clock
    }

    fn bind_new_book(&mut self) {
        let name =
            ["Lore", "z-AutoLB-Mara-Mara - 2025", "Lore: of/things", "雨"][self.rng.usize(..4)];
        let Self { rng, tokens, story, .. } = self;
        if story.book(name).is_none() {
            let mut token = || {
                *tokens += 1;
                format!("tok{tokens:05}x")
            };
            story.books.push((name.to_owned(), lore::first_book(rng, &mut token)));
        }
        story.bound = Some(name.to_owned());
        story.metadata.insert("world_info", name);
        if self.has_recap {
            self.write_recap_notes();
        }
    }

    fn bound_book(&mut self) -> Option<&mut Object> {
        let name = self.story.bound.clone()?;
        self.story.books.iter_mut().find(|(other, _)| *other == name).map(|(_, book)| book)
    }

    fn state(&self) -> RecordedState {
        let metadata = Json::Object(self.story.metadata.clone());
        let book = self.story.bound.as_ref().map(|name| {
            (name.as_str(), Json::Object(self.story.book(name).expect("it was made").clone()))
        });
        RecordedState::of(&metadata, book.as_ref().map(|(name, book)| (*name, book)))
    }

    fn add_message(&mut self) {
        self.tick();
        let token = self.token();
        let mut value = Object::new();
        value.insert("name", if self.rng.bool() { "Ada" } else { "User" });
        value.insert("is_user", self.rng.bool());
        value.insert("send_date", Json::Number(self.clock as f64));
        value.insert(
            "mes",
            format!("He said \u{201c}forklore\u{201d} and auto_recap_memory {token}"),
        );
        value.insert("extra", Json::object([("api", text("x"))]));
        if self.rng.u8(..3) == 0 {
            value.insert("swipe_id", Json::Number(1.0));
            value.insert(
                "swipe_info",
                Json::Array(vec![Json::object([("extra", Json::object([("n", Json::Null)]))])]),
            );
        }
        if self.has_recap
            && self.settling.is_none()
            && self.story.bound.is_some()
            && self.rng.u8(..4) == 0
        {
            self.end_scene(&mut value);
        }
        let scene =
            value.get("extra").and_then(|e| e.get("auto_recap_memory")).map(|_| Scene::default());
        let id = self.tokens;
        self.arrivals += 1;
        self.last_arrival = self.arrival();
        self.story.messages.push(Message {
            id,
            value,
            record: None,
            recorded: None,
            truths: Vec::new(),
            scene,
        });
    }

    /// What a recording page observes when a message arrives.
    fn arrival(&self) -> Option<Arrival> {
        let before = self.story.messages.last()?.record.as_ref()?;
        let state = self.state();
        self.is_recording().then(|| Arrival {
            after: before.uid.clone().expect("every record has one"),
            book: Some(state.digest(StatePart::Book)),
            metadata: Some(state.digest(StatePart::Metadata)),
            assumed: false,
            file: Some(true),
        })
    }

    fn end_scene(&mut self, message: &mut Object) {
        let (book, token) = (self.story.bound.clone().unwrap_or_default(), self.token());
        let memory = recap::scene_break(&token, recap::version(&book, None, self.clock));
        message.insert("extra", Json::object([("auto_recap_memory", memory.clone())]));
        if self.rng.bool() {
            // The copy that SillyTavern stores with the swipe.
            let copy = Json::object([("extra", Json::object([("auto_recap_memory", memory)]))]);
            message.insert("swipe_info", Json::Array(vec![copy]));
        }
        // Some never finish: the placeholder stays.
        if self.rng.u8(..6) > 0 {
            self.settling = Some((self.tokens, self.rng.usize(..3)));
        }
    }

    fn random_event(&mut self) {
        self.tick();
        match self.rng.u8(..20) {
            0..=10 => self.change_lore(),
            11..=15 => self.change_metadata(),
            16 => self.queue_work(),
            17 => self.regenerate_recap(),
            18 if self.rng.u8(..3) == 0 => self.rebind_book(),
            _ => {}
        }
    }

    fn change_lore(&mut self) {
        let clock = self.clock;
        let mut next = self.tokens;
        let mut token = || {
            next += 1;
            format!("tok{next:05}x")
        };
        let mut rng = self.rng.fork();
        if let Some(book) = self.bound_book() {
            lore::change(&mut rng, book, clock, &mut token);
        }
        self.tokens = next;
        if self.has_recap {
            self.write_recap_notes();
        }
    }

    fn write_recap_notes(&mut self) {
        let Some(book) = self.bound_book() else { return };
        let index = lore::reindex(book);
        let notes = Json::object([
            ("lorebookName", Json::from(self.story.bound.clone())),
            ("registry", Json::object([("index", Json::Object(index))])),
        ]);
        self.story.metadata.insert("auto_lorebooks", notes);
    }

    fn change_metadata(&mut self) {
        let token = self.token();
        match self.rng.u8(..7) {
            0 | 1 => {
                let variables = self.story.metadata.get("variables").cloned();
                let mut variables = variables.unwrap_or(Json::Object(Object::new()));
                if let Some(object) = variables.as_object_mut() {
                    object.insert(["a", "b", "10"][self.rng.usize(..3)], token);
                }
                self.story.metadata.insert("variables", variables);
            }
            2 => self.story.metadata.insert("note_prompt", token),
            3 => self.story.metadata.insert("script_injects", Json::object([("i", text(&token))])),
            4 => {
                let key = ["variables", "note_prompt", "script_injects", "timedWorldInfo"]
                    [self.rng.usize(..4)];
                self.story.metadata.remove(key);
            }
            5 => {
                let last = self.story.messages.len() - 1;
                self.story.metadata.insert("lastInContextMessageId", last);
            }
            _ => self.start_effect(),
        }
    }

    /// A sticky or cooldown effect, linked to its entry the way SillyTavern does it.
    fn start_effect(&mut self) {
        let Some(name) = self.story.bound.clone() else { return };
        let mut rng = self.rng.fork();
        let Some(book) = self.bound_book() else { return };
        let entries: Vec<Json> = book
            .get("entries")
            .and_then(Json::as_object)
            .into_iter()
            .flat_map(Object::iter)
            .map(|(_, entry)| entry.clone())
            .collect();
        if entries.is_empty() {
            return;
        }
        let entry = &entries[rng.usize(..entries.len())];
        let (Some(hash), Some(uid)) = (timed_effects::entry_hash(entry, &name), entry.get("uid"))
        else {
            return;
        };
        let key = format!("{name}.{}", String::from_utf8_lossy(&uid.stringify()));
        let effect = Json::object([
            ("hash", Json::Number(hash as f64)),
            ("start", Json::Number(1.0)),
            ("end", Json::Number(4.0)),
            ("protected", Json::Bool(false)),
        ]);
        let old = self.story.metadata.get("timedWorldInfo").cloned();
        let mut timed = old.unwrap_or_else(|| {
            Json::object([
                ("sticky", Object::new().into()),
                ("cooldown", Json::Object(Object::new())),
            ])
        });
        let kind = if rng.bool() { "sticky" } else { "cooldown" };
        if let Some(effects) =
            timed.as_object_mut().and_then(|t| t.get_mut(kind)).and_then(Json::as_object_mut)
        {
            effects.insert(key, effect);
        }
        self.story.metadata.insert("timedWorldInfo", timed);
    }

    fn queue_work(&mut self) {
        if !self.has_recap {
            return;
        }
        let (clock, mut rng) = (self.clock, self.rng.fork());
        let to_run = rng.bool();
        if let Some(book) = self.bound_book() {
            lore::set_queue(&mut rng, book, clock, to_run);
        }
    }

    /// The user regenerates an old scene's recap: its newer version shows the current book.
    fn regenerate_recap(&mut self) {
        let now = self.tick();
        let Some(name) = self.story.bound.clone() else { return };
        let book = self.story.book(&name).cloned();
        let scenes = self
            .story
            .messages
            .iter_mut()
            .filter(|m| m.scene.as_ref().is_some_and(|s| s.settled.is_some()));
        let scenes: Vec<&mut Message> = scenes.collect();
        if scenes.is_empty() {
            return;
        }
        let count = scenes.len();
        let chosen = self.rng.usize(..count);
        let Some(message) = scenes.into_iter().nth(chosen) else { return };
        if let Some(scene) = &mut message.scene {
            recap::put_version(
                &mut message.value,
                if scene.regenerated { 3 } else { 2 },
                recap::version(&name, book.as_ref(), now),
            );
            scene.regenerated = true;
        }
    }

    /// The chat is bound to another book, or to none.
    fn rebind_book(&mut self) {
        if self.rng.bool() {
            self.bind_new_book();
        } else {
            self.story.bound = None;
            self.story.metadata.remove("world_info");
        }
    }

    /// The recap extension finishes its work on a scene, a little after the scene's last message.
    fn settle_scene(&mut self) {
        let Some((id, left)) = self.settling else { return };
        if left > 0 {
            self.settling = Some((id, left - 1));
            return;
        }
        self.settling = None;
        let Some(at) = self.story.messages.iter().position(|message| message.id == id) else {
            return;
        };
        if self.story.bound.is_none() {
            return;
        }
        self.change_lore();
        let now = self.tick();
        let name = self.story.bound.clone().unwrap_or_default();
        let version = recap::version(&name, self.story.book(&name), now);
        if version.get("allEntries").and_then(Json::as_array).is_none_or(|all| all.is_empty()) {
            return;
        }
        let (token, state) = (self.token(), self.state());
        let message = &mut self.story.messages[at];
        recap::put_version(&mut message.value, 1, version);
        if let Some(scene) = &mut message.scene {
            scene.settled = Some(state.clone());
            scene.on_the_way.push(state);
        }
        let chat = self.story.chat.clone();
        recap::add_running(&mut self.story.metadata, &chat, at, &token, now);
    }

    fn finish_message(&mut self) {
        let state = self.state();
        let settling = self.settling.map(|(id, _)| id);
        for message in &mut self.story.messages {
            if let Some(scene) = &mut message.scene
                && settling.is_some_and(|id| message.id == id)
            {
                scene.on_the_way.push(state.clone());
            }
        }
        if let Some(last) = self.story.messages.last_mut() {
            last.truths = vec![state];
        }
        if self.is_recording() {
            self.record_last();
        }
    }

    fn is_recording(&self) -> bool {
        matches!(self.journal, Journal::On | Journal::Partly { is_on: true })
    }

    fn record_last(&mut self) {
        let Some((last, earlier)) = self.story.messages.split_last_mut() else { return };
        let Some(now) = last.truths.last().cloned() else { return };
        let before = earlier
            .iter()
            .rev()
            .find_map(|m| Some((m.record.as_ref()?.id.clone(), m.recorded.clone()?)));
        // A broken chain is either noticed and healed with a full record, or goes unnoticed for a
        // while.
        let heals = self.chain_is_broken && self.rng.bool();
        let before = before.filter(|_| !heals);
        if heals {
            self.chain_is_broken = false;
        }
        let before = before.as_ref().map(|(id, state)| (id.as_str(), state));
        let (uid, arrival) = match last.record.take() {
            Some(Record { uid: Some(uid), arrival, .. }) => (uid, arrival),
            _ => (RecordId::new(self.arrivals, "t"), self.last_arrival.take()),
        };
        let gap = earlier.iter().rev().take_while(|m| m.record.is_none()).count() as i64;
        let record = record(before, &now, self.limits).with(uid, arrival);
        last.record.insert(record).gap = gap;
        last.recorded = Some(now);
        if self.limits.largest_book < Limits::default().largest_book {
            self.story.journal_is_whole = false;
        }
    }

    fn delete_message(&mut self) {
        let at = self.rng.usize(..self.story.messages.len());
        if self.settling.is_some() {
            return;
        }
        let moved = self.moved_records();
        let deleted = self.story.messages.remove(at);
        if deleted.record.is_some() {
            if self.is_recording() {
                self.move_record(at, deleted);
            } else {
                self.lose_record();
            }
        }
        if self.is_recording() {
            self.count_gaps(&moved);
        }
        let (chat, before) = (self.story.chat.clone(), self.story.metadata.clone());
        let Story { metadata, messages, .. } = &mut self.story;
        recap::clean_running(metadata, &chat, |scene| {
            messages.get(scene).is_some_and(|m| m.scene.is_some())
        });
        if self.story.metadata != before {
            self.finish_message();
        }
    }

    /// The records that are no longer on the message they were made for.
    fn moved_records(&self) -> Vec<RecordId> {
        let mut gap = 0;
        let mut moved = Vec::new();
        for Message { record, .. } in &self.story.messages {
            moved.extend(record.iter().filter(|r| r.gap != gap).filter_map(|r| r.uid.clone()));
            gap = if record.is_some() { 0 } else { gap + 1 };
        }
        moved
    }

    fn count_gaps(&mut self, moved: &[RecordId]) {
        let mut gap = 0;
        for Message { record, .. } in &mut self.story.messages {
            if let Some(record) = record.as_mut() {
                let is_moved = record.uid.as_ref().is_some_and(|uid| moved.contains(uid));
                record.gap = if is_moved { -1 } else { gap };
            }
            gap = if record.is_some() { 0 } else { gap + 1 };
        }
    }

    fn lose_record(&mut self) {
        self.chain_is_broken = true;
        self.story.journal_is_whole = false;
    }

    /// The record of a deleted message is merged into the previous message; the first one's, into
    /// the next.
    fn move_record(&mut self, at: usize, deleted: Message) {
        let Some(moving) = &deleted.record else { return };
        if at == 0 {
            let next = &mut self.story.messages[0];
            match next.record.as_ref().and_then(|record| merged(moving, record)) {
                Some(merged_record) => next.record = Some(merged_record),
                None => self.lose_record(),
            }
            return;
        }
        let before = &mut self.story.messages[at - 1];
        let merged_record = match &before.record {
            None => Some(moving.clone()),
            Some(record) => merged(record, moving),
        };
        let Some(merged_record) = merged_record else { return self.lose_record() };
        before.record = Some(merged_record);
        before.recorded = deleted.recorded;
        before.truths.extend(deleted.truths);
    }

    fn end(&mut self) {
        if self.has_recap {
            let (clock, mut rng) = (self.tick(), self.rng.fork());
            self.story.has_work = rng.u8(..6) == 0;
            let has_work = self.story.has_work;
            match self.bound_book() {
                Some(book) => lore::set_queue(&mut rng, book, clock, has_work),
                None => self.story.has_work = false,
            }
        }
        let state = self.state();
        if let Some(last) = self.story.messages.last_mut() {
            last.truths.push(state);
        }
        if self.is_recording() {
            self.record_last();
        }
        let length = self.story.messages.len();
        let Self { rng, story, .. } = self;
        story.book_is_lost = story.bound.is_some() && rng.u8(..15) == 0;
        story.sharing_branch = (rng.u8(..5) == 0).then(|| rng.usize(..length));
        story.formatting = Formatting {
            windows_line_ends: rng.u8(..8) == 0,
            final_newline: rng.u8(..8) == 0,
            garbage_before: (rng.u8(..8) == 0).then(|| rng.usize(..length)),
            legacy_header: rng.u8(..8) == 0,
            odd_members: rng.u8(..3) == 0,
            tight_book: rng.u8(..5) == 0,
        };
    }
}
