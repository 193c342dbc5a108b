//! Tells a story: messages come, lore changes, the journal is kept, messages go again.

use fastrand::Rng;
use forklore_core::journal::{
    Arrival, Limits, Record, RecordId, RecordedState, StatePart, merged, record,
};
use forklore_core::plan::timed_effects;
use forklore_core::timeline::family::Home;
use forklore_json::{Json, Object};

use super::{Looks, Message, Scene, Story, lore, recap, text};

pub(super) struct Teller<'r> {
    rng: &'r mut Rng,
    story: Story,
    /// Milliseconds since 1970; every event takes some.
    clock: u64,
    tokens: u64,
    journal: Journal,
    /// How many messages have come.
    arrivals: u64,
    /// What was seen when the last one came.
    came: Option<Arrival>,
    /// A record was lost, so the next one does not follow on from what can be read.
    chain_is_broken: bool,
    limits: Limits,
    has_recap: bool,
    /// A scene whose lorebook work is not finished: the message, and after how many more.
    settling: Option<(u64, usize)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Journal {
    Off,
    On,
    /// Turned on and off as the story goes.
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
            looks: Looks::default(),
        };
        let largest_book = if rng.u8(..12) == 0 { 200 } else { Limits::default().largest_book };
        Self {
            clock: 1_763_632_438_061,
            tokens: 0,
            journal,
            arrivals: 0,
            came: None,
            chain_is_broken: false,
            limits: Limits { largest_book },
            has_recap: rng.bool(),
            settling: None,
            story,
            rng,
        }
    }

    pub(super) fn tell(mut self, longest: usize) -> Story {
        self.begin();
        for _ in 0..self.rng.usize(1..=longest) {
            self.message_comes();
            for _ in 0..self.rng.usize(..4) {
                self.something_happens();
            }
            self.scene_settles();
            self.message_is_final();
            if self.story.messages.len() > 2 && self.rng.u8(..8) == 0 {
                self.message_goes();
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

    /// Words that occur nowhere else, so that whatever leaks can be found.
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

    fn message_comes(&mut self) {
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
            self.scene_ends(&mut value);
        }
        let scene =
            value.get("extra").and_then(|e| e.get("auto_recap_memory")).map(|_| Scene::default());
        let id = self.tokens;
        self.arrivals += 1;
        self.came = self.arrival();
        self.story.messages.push(Message {
            id,
            value,
            record: None,
            recorded: None,
            truths: Vec::new(),
            scene,
        });
    }

    /// What a page that records sees of a message at the instant when it comes.
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

    fn scene_ends(&mut self, message: &mut Object) {
        let (book, token) = (self.story.bound.clone().unwrap_or_default(), self.token());
        let memory = recap::scene_break(&token, recap::version(&book, None, self.clock));
        message.insert("extra", Json::object([("auto_recap_memory", memory.clone())]));
        if self.rng.bool() {
            // The copy that SillyTavern keeps with the swipe.
            let copy = Json::object([("extra", Json::object([("auto_recap_memory", memory)]))]);
            message.insert("swipe_info", Json::Array(vec![copy]));
        }
        // Some never finish: the placeholder stays.
        if self.rng.u8(..6) > 0 {
            self.settling = Some((self.tokens, self.rng.usize(..3)));
        }
    }

    fn something_happens(&mut self) {
        self.tick();
        match self.rng.u8(..20) {
            0..=10 => self.lore_changes(),
            11..=15 => self.metadata_changes(),
            16 => self.work_is_queued(),
            17 => self.recap_is_made_again(),
            18 if self.rng.u8(..3) == 0 => self.book_is_changed(),
            _ => {}
        }
    }

    fn lore_changes(&mut self) {
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

    fn metadata_changes(&mut self) {
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
            _ => self.effect_begins(),
        }
    }

    /// A sticky or cooling entry, tied to it as SillyTavern ties them.
    fn effect_begins(&mut self) {
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

    fn work_is_queued(&mut self) {
        if !self.has_recap {
            return;
        }
        let (clock, mut rng) = (self.clock, self.rng.fork());
        let to_run = rng.bool();
        if let Some(book) = self.bound_book() {
            lore::set_queue(&mut rng, book, clock, to_run);
        }
    }

    /// The owner has an old scene's recap written again: its newer version shows today's book.
    fn recap_is_made_again(&mut self) {
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
                if scene.made_again { 3 } else { 2 },
                recap::version(&name, book.as_ref(), now),
            );
            scene.made_again = true;
        }
    }

    /// The chat is bound to another book, or to none.
    fn book_is_changed(&mut self) {
        if self.rng.bool() {
            self.bind_new_book();
        } else {
            self.story.bound = None;
            self.story.metadata.remove("world_info");
        }
    }

    /// The recap extension finishes its work on a scene, a little after the scene's last message.
    fn scene_settles(&mut self) {
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
        self.lore_changes();
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

    fn message_is_final(&mut self) {
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
        // A broken chain is noticed and healed with a whole record, or goes unnoticed for a while.
        let heals = self.chain_is_broken && self.rng.bool();
        let before = before.filter(|_| !heals);
        if heals {
            self.chain_is_broken = false;
        }
        let before = before.as_ref().map(|(id, state)| (id.as_str(), state));
        let (uid, came) = match last.record.take() {
            Some(Record { uid: Some(uid), came, .. }) => (uid, came),
            _ => (RecordId::new(self.arrivals, "t"), self.came.take()),
        };
        let gap = earlier.iter().rev().take_while(|m| m.record.is_none()).count() as i64;
        let record = record(before, &now, self.limits).with(uid, came);
        last.record.insert(record).gap = gap;
        last.recorded = Some(now);
        if self.limits.largest_book < Limits::default().largest_book {
            self.story.journal_is_whole = false;
        }
    }

    fn message_goes(&mut self) {
        let at = self.rng.usize(..self.story.messages.len());
        if self.settling.is_some() {
            return;
        }
        let moved = self.moved();
        let gone = self.story.messages.remove(at);
        if gone.record.is_some() {
            if self.is_recording() {
                self.move_record(at, gone);
            } else {
                self.record_is_lost();
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
            self.message_is_final();
        }
    }

    /// The records that are not where they were made.
    fn moved(&self) -> Vec<RecordId> {
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

    fn record_is_lost(&mut self) {
        self.chain_is_broken = true;
        self.story.journal_is_whole = false;
    }

    /// A deleted message's record moves to the message before it; the first one's, into the next.
    fn move_record(&mut self, at: usize, gone: Message) {
        let Some(moving) = &gone.record else { return };
        if at == 0 {
            let next = &mut self.story.messages[0];
            match next.record.as_ref().and_then(|record| merged(moving, record)) {
                Some(joined) => next.record = Some(joined),
                None => self.record_is_lost(),
            }
            return;
        }
        let before = &mut self.story.messages[at - 1];
        let joined = match &before.record {
            None => Some(moving.clone()),
            Some(record) => merged(record, moving),
        };
        let Some(joined) = joined else { return self.record_is_lost() };
        before.record = Some(joined);
        before.recorded = gone.recorded;
        before.truths.extend(gone.truths);
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
        story.looks = Looks {
            windows_line_ends: rng.u8(..8) == 0,
            final_newline: rng.u8(..8) == 0,
            garbage_before: (rng.u8(..8) == 0).then(|| rng.usize(..length)),
            legacy_header: rng.u8(..8) == 0,
            odd_members: rng.u8(..3) == 0,
            tight_book: rng.u8(..5) == 0,
        };
    }
}
