//! Checks whether a chat can be forked at a message, and how exact the fork would be.

use super::metadata_value;
use crate::finding::{Obstacle, Remark, WithoutBook};
use crate::journal::RECORDED_METADATA;
use crate::recap::queue::{self, PendingWork};
use crate::recap::scene::SceneMemory;
use crate::recap::{combined, notes, older_seal, running};
use crate::sillytavern::book::Book;
use crate::sillytavern::chat::Damage;
use crate::sillytavern::names::book_key;
use crate::timeline::claim::TodaySource;
use crate::timeline::exactness::{Allow, Exactness, Source};
use crate::timeline::moment::BoundChat;
use crate::timeline::moment::{BookContent, BookThen, BoundBook, Moment, MomentOptions, moment};
use crate::timeline::seal;
use forklore_json::Json;

/// What to do about queued operations that have not run yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueuePolicy {
    #[default]
    Refuse,
    /// Leave them out of the child's book.
    Drain,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Policy {
    pub allow: Allow,
    pub queue: QueuePolicy,
    pub require_scene: bool,
    /// Fill in, from today's entries, the fields that a recap snapshot lost.
    pub fill: bool,
    /// Make the child without a book if the book of that moment cannot be provided.
    pub without_book: bool,
    /// Make the child without a book in any case, for this reason.
    pub leave_book: Option<WithoutBook>,
    /// Where the parent and its book were read from.
    pub today: TodaySource,
    /// See [`MomentOptions::is_behind`].
    pub is_behind: bool,
    /// How many operations ST-Auto-Recap reports as not yet run, including those in the book.
    pub under_way: usize,
    /// ST-Auto-Recap is not installed: its queue and its scenes count for nothing.
    pub is_recap_gone: bool,
}

/// The result of [`check`].
#[derive(Clone, Debug)]
pub struct Readiness<'a> {
    pub obstacles: Vec<Obstacle>,
    pub remarks: Vec<Remark>,
    /// `None` if there is no such message.
    pub moment: Option<Moment<'a>>,
    pub work: PendingWork,
}

/// Resolves `--at` to a message: counted from 0, negative from the end, the last by default.
pub fn resolve_message(asked: Option<i64>, length: usize) -> Result<usize, Obstacle> {
    let last = length.checked_sub(1).ok_or(Obstacle::NoMessages)?;
    let Some(asked) = asked else { return Ok(last) };
    let index = if asked < 0 { length as i64 + asked } else { asked };
    usize::try_from(index)
        .ok()
        .filter(|index| *index <= last)
        .ok_or(Obstacle::NoSuchMessage { asked, last })
}

pub fn check<'a>(parent: BoundChat<'a>, message: usize, policy: Policy) -> Readiness<'a> {
    let chat = parent.chat;
    let mut readiness = Readiness {
        obstacles: Vec::new(),
        remarks: Vec::new(),
        moment: None,
        work: if policy.is_recap_gone {
            PendingWork::default()
        } else {
            pending_work(&metadata_value(chat), parent.bound.book(), policy.under_way)
        },
    };
    readiness.check_damage(parent);
    match resolve_message(i64::try_from(message).ok(), chat.len()) {
        Ok(_) => {}
        Err(obstacle) => {
            readiness.obstacles.push(obstacle);
            return readiness;
        }
    }
    if readiness.work.is_pending() && policy.queue == QueuePolicy::Refuse {
        readiness.obstacles.push(Obstacle::QueueBusy(readiness.work.clone()));
    }
    if !policy.is_recap_gone {
        readiness.check_scene(parent, message, policy);
    }
    let options = MomentOptions {
        fill: policy.fill,
        today: policy.today,
        is_behind: policy.is_behind,
        settled: policy.allow != Allow::Exact,
    };
    let mut moment = moment(chat, parent.bound, parent.past, message, options);
    readiness.check_book(parent, &mut moment, policy);
    readiness.check_metadata(&moment, policy);
    readiness.moment = Some(moment);
    readiness
}

/// ST-Auto-Recap's unfinished work for a chat with this metadata and this book.
pub fn pending_work(metadata: &Json, book: Option<&Book<'_>>, under_way: usize) -> PendingWork {
    let mut work = PendingWork::default();
    let entries = book.into_iter().flat_map(|book| book.entries());
    for entry in entries.filter(|entry| entry.comment() == queue::COMMENT) {
        work.add_queue(&entry.content());
    }
    work.add_metadata(metadata);
    work.add_unwritten(under_way);
    work
}

impl Readiness<'_> {
    /// Whether the child would have no lorebook, because the chat had none at the message.
    pub fn has_no_lore(&self) -> bool {
        self.moment.as_ref().is_some_and(|moment| matches!(moment.book, BookThen::None(_)))
    }

    fn check_damage(&mut self, parent: BoundChat<'_>) {
        let mut lines = Vec::new();
        for damage in parent.chat.damage() {
            match damage {
                Damage::UnreadableLine(line) | Damage::TornLine(line) => lines.push(*line),
                Damage::ByteOrderMark | Damage::NoHeader | Damage::Empty => {
                    self.obstacles.push(Obstacle::Damaged(damage.clone()));
                }
            }
        }
        if !lines.is_empty() {
            self.remarks.push(Remark::DamagedLines(lines));
        }
        let mut deep = parent.chat.deep_metadata();
        deep.retain(|key| is_parsed_by_fork(key));
        if !deep.is_empty() {
            self.obstacles.push(Obstacle::MetadataTooDeep(deep));
        }
        if self.work.failed > 0 {
            self.remarks.push(Remark::FailedOperations(self.work.failed));
        }
        if self.work.stale_entries > 0 {
            self.remarks.push(Remark::StaleEntries(self.work.stale_entries));
        }
    }

    /// Remarks about scene breaks and recaps are made only in a chat that has a running recap.
    fn check_scene(&mut self, parent: BoundChat<'_>, message: usize, policy: Policy) {
        let memory = parent.chat.line(message).and_then(SceneMemory::of_line);
        let is_scene_break = memory.is_some_and(|memory| memory.is_scene_break());
        if policy.require_scene && !is_scene_break {
            self.obstacles.push(Obstacle::NotASceneBreak(message));
        }
        let recap = metadata_value(parent.chat).get(running::KEY).cloned();
        let Some(recap) = recap else { return };
        if !is_scene_break && !policy.require_scene {
            self.remarks.push(Remark::NotASceneBreak);
        } else if !memory.is_some_and(|memory| memory.has_recap()) {
            self.remarks.push(Remark::NoSceneRecap);
        }
        let versions = recap.get("versions").and_then(Json::as_array).unwrap_or_default();
        match versions.iter().filter_map(running::end_of).max() {
            None => self.remarks.push(Remark::NoRunningRecap),
            Some(end) if end < message => self.remarks.push(Remark::NotInRunningRecap),
            Some(_) => {}
        }
    }

    fn check_book<'a>(&mut self, parent: BoundChat<'a>, moment: &mut Moment<'a>, policy: Policy) {
        if let Some(why) = policy.leave_book {
            return self.omit_book(parent, moment, why);
        }
        if let BookThen::None(part) = &moment.book
            && let (Some(k), Some(_)) = (part.exactness.as_of(), parent.bound.name())
        {
            let here = k == moment.message;
            self.remarks.push(Remark::NoBookAsOf { message: k, here });
        }
        let obstacle = match &moment.book {
            BookThen::Unknown => Some(match parent.bound {
                BoundBook::Unreadable { name, error } => {
                    Obstacle::BookUnreadable { name: name.clone(), error: error.clone() }
                }
                other => Obstacle::BookMissing(other.name().unwrap_or_default().to_owned()),
            }),
            // There is no book today, and no record of an earlier one: the policy does not apply.
            BookThen::None(part) if part.exactness == Exactness::Live => None,
            BookThen::None(part) | BookThen::Known { part, .. }
                if !policy.allow.admits(part.exactness, moment.message) =>
            {
                let (found, allowed) = (part.exactness, policy.allow);
                Some(Obstacle::NotKnownWellEnough { found, allowed })
            }
            BookThen::None(_) => None,
            BookThen::Known { part, name, content } => {
                if part.exactness == Exactness::Live {
                    self.remarks.push(Remark::BookIsLive);
                }
                if policy.is_behind && part.source == Source::Files {
                    self.remarks.push(Remark::PageIsBehind(name.clone()));
                }
                self.remarks.extend(content_remarks(content));
                let bound = parent.bound.name().map(book_key);
                if matches!(content, BookContent::Rebuilt(_)) && bound != Some(book_key(name)) {
                    self.remarks.push(Remark::SnapshotOfAnotherBook(name.clone()));
                }
                None
            }
        };
        let Some(obstacle) = obstacle else { return };
        let why = if policy.without_book { WithoutBook::of(&obstacle) } else { None };
        match why {
            Some(why) => self.omit_book(parent, moment, why),
            None => self.obstacles.push(obstacle),
        }
    }

    fn omit_book(&mut self, parent: BoundChat<'_>, moment: &mut Moment<'_>, why: WithoutBook) {
        if let BookThen::None(_) = moment.book {
            return;
        }
        let name = match &moment.book {
            BookThen::Known { name, .. } => name,
            _ => parent.bound.name().unwrap_or_default(),
        };
        self.remarks.push(Remark::WithoutBook(name.to_owned(), why));
        moment.book = BookThen::None(crate::timeline::exactness::Knowledge::LIVE);
    }

    fn check_metadata(&mut self, moment: &Moment<'_>, policy: Policy) {
        let metadata = &moment.metadata;
        if !metadata.live_keys.is_empty() {
            self.remarks.push(Remark::MetadataIsLive(metadata.live_keys.clone()));
        }
        if !metadata.live_other_keys.is_empty() {
            self.remarks.push(Remark::OthersAreLive(metadata.live_other_keys.clone()));
        }
        if !metadata.lost_other_keys.is_empty() {
            self.remarks.push(Remark::OthersAreLost(metadata.lost_other_keys.clone()));
        }
        // Nobody is asked about data of other extensions: the remarks name it.
        let found = match policy.allow {
            Allow::Exact => metadata.claim().exactness,
            _ => metadata.part.exactness,
        };
        let has_none = metadata.part.exactness == Exactness::Live && metadata.live_keys.is_empty();
        let is_strict = matches!(policy.allow, Allow::Exact | Allow::Message);
        if is_strict && !has_none && !policy.allow.admits(found, moment.message) {
            self.obstacles.push(Obstacle::MetadataNotExact(found));
        }
    }
}

/// Whether a fork has to parse this metadata key. All other keys are copied unchanged.
fn is_parsed_by_fork(key: &str) -> bool {
    const KEYS: [&str; 6] =
        [seal::KEY, older_seal::KEY, running::KEY, combined::PATH[0], notes::KEY, "autoLorebooks"];
    KEYS.contains(&key) || RECORDED_METADATA.contains(&key)
}

fn content_remarks(content: &BookContent<'_>) -> Vec<Remark> {
    match content {
        BookContent::Rebuilt(rebuilt) => {
            let lost = (rebuilt.unfilled > 0).then_some(Remark::RecapLostFields(rebuilt.unfilled));
            let filled = (rebuilt.filled > 0).then_some(Remark::FieldsFilled(rebuilt.filled));
            lost.into_iter().chain(filled).collect()
        }
        BookContent::Bytes(book) if book.has_byte_order_mark() => {
            vec![Remark::ByteOrderMarkDropped]
        }
        BookContent::Bytes(_) | BookContent::Journal(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::fork::ForkRequest;
    use crate::sillytavern::chat::{Chat, ChatKind};
    use crate::timeline::moment::{AsOf, RecordedPast};
    use crate::timeline::seal::Seal;

    /// Checks a chat with this metadata and three messages, of which the middle one is a scene
    /// break.
    #[track_caller]
    fn check_at(message: usize, metadata: &str, policy: Policy) -> Vec<String> {
        check_with(None, message, metadata, policy)
    }

    fn check_with(
        past: Option<&RecordedPast>,
        message: usize,
        metadata: &str,
        policy: Policy,
    ) -> Vec<String> {
        let scene = r#"{"mes":"b","extra":{"auto_recap_memory":{"scene_break":true}}}"#;
        let text = format!(
            "{{\"chat_metadata\":{metadata}}}\n{{\"mes\":\"a\"}}\n{scene}\n{{\"mes\":\"c\"}}"
        );
        let chat = Chat::read(text.as_bytes(), ChatKind::Solo);
        let parent = BoundChat { name: "P", chat: &chat, bound: &BoundBook::None, past };
        let found = check(parent, message, policy);
        let obstacles = found.obstacles.iter().map(ToString::to_string);
        obstacles.chain(found.remarks.iter().map(ToString::to_string)).collect()
    }

    #[test]
    fn a_scene_break_is_asked_for_only_by_policy() {
        let strict = Policy { require_scene: true, ..Policy::default() };
        assert_eq!(check_at(2, "{}", strict), ["message 2 is not a scene break"]);
        assert_eq!(check_at(1, "{}", strict), [""; 0]);
        assert_eq!(check_at(2, "{}", Policy::default()), [""; 0]);
    }

    #[test]
    fn that_there_was_no_lorebook_must_be_known_as_well_as_any_lorebook() {
        let none = RecordedPast {
            book: Some(AsOf { message: 0, value: None }),
            ..RecordedPast::default()
        };
        let strict = Policy { allow: Allow::Exact, ..Policy::default() };
        assert_eq!(
            check_with(Some(&none), 1, "{}", strict),
            ["the lorebook is only known as of message 0"]
        );
        assert_eq!(check_with(Some(&none), 1, "{}", Policy::default()), [""; 0]);
        assert_eq!(check_with(None, 1, "{}", strict), [""; 0], "nobody wrote anything down");
    }

    #[test]
    fn a_lorebook_of_which_the_page_has_another_copy_is_only_as_last_seen() {
        let header = r#"{"chat_metadata":{"world_info":"Lore"}}"#;
        let text = format!("{header}\n{{\"mes\":\"a\"}}\n{{\"mes\":\"b\"}}");
        let chat = Chat::read(text.as_bytes(), ChatKind::Solo);
        let bound = BoundBook::read(Some("Lore".into()), Some(br#"{"entries":{}}"#));
        let parent = BoundChat { name: "P", chat: &chat, bound: &bound, past: None };
        let known = |is_behind| {
            let allow = Allow::Message;
            let policy = Policy { today: TodaySource::Page, is_behind, allow, ..Policy::default() };
            let found = check(parent, 1, policy);
            let Some(BookThen::Known { part, .. }) = found.moment.map(|moment| moment.book) else {
                panic!("it has a book");
            };
            let remarks = found.remarks.iter().map(ToString::to_string).collect::<Vec<_>>();
            (part.exactness, found.obstacles, remarks)
        };
        let behind = "this page and the file did not hold the same version of the lorebook \"Lore\": another tab or device may have changed it";
        assert_eq!(known(false), (Exactness::Exact, vec![], vec![]));
        assert_eq!(known(true), (Exactness::Snapshot(1), vec![], vec![behind.to_owned()]));
    }

    #[test]
    fn that_there_was_no_lorebook_is_said_and_sealed_as_well_as_it_is_known() {
        let header = r#"{"chat_metadata":{"world_info":"Lore"}}"#;
        let text = format!("{header}\n{{\"mes\":\"a\"}}\n{{\"mes\":\"b\"}}\n{{\"mes\":\"c\"}}");
        let chat = Chat::read(text.as_bytes(), ChatKind::Solo);
        let bound = BoundBook::read(Some("Lore".into()), Some(br#"{"entries":{}}"#));
        let past = RecordedPast {
            book: Some(AsOf { message: 0, value: None }),
            ..RecordedPast::default()
        };
        let forked = |message, leave_book| {
            let parent = BoundChat { name: "P", chat: &chat, bound: &bound, past: Some(&past) };
            let policy = Policy { leave_book, ..Policy::default() };
            let request = ForkRequest { message, policy, ..crate::plan::fork::tests::request("C") };
            let plan = crate::plan::fork::plan(parent, &request).unwrap();
            let metadata = Json::object([(seal::KEY, plan.seal.to_json())]);
            let known = Seal::of_chat(&metadata, None).unwrap().no_book;
            let remarks = plan.remarks.iter().map(ToString::to_string);
            let remarks = remarks.filter(|remark| remark.contains("lorebook"));
            (known.map(|known| known.exactness), remarks.collect::<Vec<_>>())
        };
        let as_of_0 = Some(Exactness::Snapshot(0));
        let here = "there was no lorebook, as last seen at this message";
        assert_eq!(forked(0, None), (as_of_0, vec![here.to_owned()]));
        let earlier = "there was no lorebook, as of message 0";
        assert_eq!(forked(1, None), (as_of_0, vec![earlier.to_owned()]));
        let left_out = "the lorebook \"Lore\" was not copied, as you chose";
        assert_eq!(forked(2, Some(WithoutBook::Chosen)), (None, vec![left_out.to_owned()]));
    }

    #[test]
    fn in_a_chat_with_recaps_what_is_missing_is_remarked() {
        let recap = |versions: &str| {
            format!("{{\"auto_recap_running_scene_recaps\":{{\"versions\":[{versions}]}}}}")
        };
        let ends_at = |message: usize| recap(&format!("{{\"new_scene_index\":{message}}}"));
        let remarks = |message, metadata: String| check_at(message, &metadata, Policy::default());
        assert_eq!(
            remarks(1, recap("")),
            ["this message has no scene recap", "there is no running recap"]
        );
        assert_eq!(
            remarks(2, ends_at(1)),
            ["this message is not a scene break", "the running recap ends before this message"]
        );
        assert_eq!(remarks(1, ends_at(1)), ["this message has no scene recap"]);
    }

    #[test]
    fn what_is_nested_deep_stands_in_the_way_only_where_a_fork_has_to_read_it() {
        let deep = format!("{}1{}", "[".repeat(600), "]".repeat(600));
        let of_another = format!("{{\"theirs\":{deep},\"world_info\":\"Lore\"}}");
        assert_eq!(check_at(2, &of_another, Policy::default()), [""; 0]);
        let variables = format!("{{\"variables\":{deep}}}");
        assert_eq!(
            check_at(2, &variables, Policy::default()),
            ["its metadata is nested too deeply to be read: variables"]
        );
    }

    #[test]
    fn messages_are_counted_from_either_end() {
        assert_eq!(resolve_message(None, 3), Ok(2));
        assert_eq!(resolve_message(Some(-3), 3), Ok(0));
        assert_eq!(
            resolve_message(Some(-4), 3),
            Err(Obstacle::NoSuchMessage { asked: -4, last: 2 })
        );
        assert_eq!(resolve_message(None, 0), Err(Obstacle::NoMessages));
    }

    #[test]
    fn operations_that_are_not_written_down_yet_stand_in_the_way() {
        let policy = Policy { under_way: 2, ..Policy::default() };
        assert_eq!(check_at(2, "{}", policy), ["ST-Auto-Recap has work in its queue: 2 pending"]);
    }

    #[test]
    fn without_st_auto_recap_its_scenes_and_operations_count_for_nothing() {
        let metadata = r#"{"auto_recap_running_scene_recaps":{"versions":[]},
            "autoLorebooks":{"pendingOps":{"a":{}}}}"#
            .replace('\n', " ");
        let there = Policy { require_scene: true, under_way: 1, ..Policy::default() };
        assert_eq!(check_at(2, &metadata, there).len(), 5);
        assert_eq!(check_at(2, &metadata, Policy { is_recap_gone: true, ..there }), [""; 0]);
    }

    #[test]
    fn lorebook_entries_that_nobody_works_on_do_not_stand_in_the_way() {
        let pending = r#"{"autoLorebooks":{"pendingOps":{"a":{"timestamp":1}}}}"#;
        assert_eq!(
            check_at(2, pending, Policy::default()),
            ["ST-Auto-Recap left behind a lorebook entry that it is not working on"]
        );
    }
}
