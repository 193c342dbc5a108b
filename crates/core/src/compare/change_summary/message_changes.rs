//! Collects the changes to a chat's messages line by line, then describes them.

use std::mem::discriminant;

use super::message::{ChatLine, MessageChange};
use super::plain::{self, Numbers, count, messages};
use super::{ChangeKind, Parts};

#[derive(Default)]
pub(super) struct MessageChanges {
    /// The first change of each kind, with the numbers of all messages changed that way.
    changed: Vec<(MessageChange, Numbers)>,
    /// The new author of the first message whose author changed.
    author: Option<String>,
    removed: Numbers,
    removed_from_end: Numbers,
    /// The number of unreadable lines that were removed.
    dropped: usize,
    inserted: Numbers,
    appended: Numbers,
    /// The author of the first new message.
    new_author: Option<String>,
}

impl MessageChanges {
    pub(super) fn changed(&mut self, number: usize, change: MessageChange, now: &ChatLine<'_>) {
        if change == MessageChange::Author && self.author.is_none() {
            self.author = author(now);
        }
        let known =
            self.changed.iter().position(|(known, _)| discriminant(known) == discriminant(&change));
        let at = known.unwrap_or_else(|| {
            self.changed.push((change, Numbers::default()));
            self.changed.len() - 1
        });
        self.changed[at].1.add(number);
    }

    pub(super) fn removed(&mut self, number: usize, line: &ChatLine<'_>, is_last: bool) {
        match line {
            ChatLine::Blank => {}
            ChatLine::Unreadable => self.dropped += 1,
            ChatLine::Message(_) => self.removed_unseen(number, 1, is_last),
        }
    }

    pub(super) fn removed_unseen(&mut self, first: usize, length: usize, is_last: bool) {
        let numbers = if is_last { &mut self.removed_from_end } else { &mut self.removed };
        numbers.add_run(first, length);
    }

    pub(super) fn added(&mut self, number: usize, line: &ChatLine<'_>, is_last: bool) {
        match line {
            ChatLine::Blank => {}
            ChatLine::Unreadable => self.changed(number, MessageChange::Torn, line),
            ChatLine::Message(_) => {
                if self.appended.count == 0 {
                    self.new_author = author(line);
                }
                self.added_unseen(number, 1, is_last);
            }
        }
    }

    pub(super) fn added_unseen(&mut self, first: usize, length: usize, is_last: bool) {
        let numbers = if is_last { &mut self.appended } else { &mut self.inserted };
        numbers.add_run(first, length);
    }

    /// Describes everything except details, which matter only if nothing else changed. `left` is
    /// the number of messages now; with `more`, not all changed messages were seen.
    pub(super) fn describe(&self, left: usize, more: bool, parts: &mut Parts) {
        if self.removed_from_end.count > 0 {
            let removed = messages(self.removed_from_end.count);
            parts.add(ChangeKind::Cut, format!("{removed} removed from the end, {left} left"));
        }
        if self.removed.count > 0 {
            parts.add(ChangeKind::Cut, format!("{} removed", self.removed.words(more)));
        }
        if self.dropped > 0 {
            let dropped = count(self.dropped, "unreadable line", "unreadable lines");
            parts.add(ChangeKind::Cut, format!("{dropped} dropped"));
        }
        for (change, numbers) in &self.changed {
            if *change != MessageChange::Details {
                let (kind, words) = self.change_words(*change, numbers, more);
                parts.add(kind, words);
            }
        }
        if self.inserted.count > 0 {
            parts.add(ChangeKind::Grown, format!("{} inserted", self.inserted.words(more)));
        }
        match (&self.new_author, self.appended.count) {
            (_, 0) => {}
            (Some(author), 1) => {
                parts.add(ChangeKind::Grown, format!("{} by {author}", self.appended.words(more)));
            }
            (None, 1) => {
                parts.add(ChangeKind::Grown, format!("{} added", self.appended.words(more)))
            }
            _ => parts.add(ChangeKind::Grown, self.appended.words(more)),
        }
    }

    pub(super) fn describe_details(&self, more: bool, parts: &mut Parts) {
        for (change, numbers) in &self.changed {
            if *change == MessageChange::Details {
                parts
                    .add(ChangeKind::Edited, format!("details of {} changed", numbers.words(more)));
            }
        }
    }

    fn change_words(
        &self,
        change: MessageChange,
        numbers: &Numbers,
        more: bool,
    ) -> (ChangeKind, String) {
        let who = numbers.words(more);
        let is_one = numbers.count == 1 && !more;
        match change {
            MessageChange::Swiped { shown, of } if is_one && shown <= of => {
                return (ChangeKind::Swiped, format!("{who}: another swipe ({shown} of {of})"));
            }
            MessageChange::Swiped { .. } => return (ChangeKind::Swiped, format!("{who} swiped")),
            MessageChange::FewerSwipes { left } if is_one => {
                return (ChangeKind::Swiped, format!("{who}: swipes removed, {left} left"));
            }
            MessageChange::FewerSwipes { .. } => {
                return (ChangeKind::Swiped, format!("{who}: fewer swipes"));
            }
            _ => {}
        }
        let what = match (change, &self.author) {
            (MessageChange::Author, Some(author)) if is_one => {
                return edited(&who, &format!("now by {author}"));
            }
            (MessageChange::Author, _) => "under another name",
            (MessageChange::Continued, _) => "continued",
            (MessageChange::Replaced, _) => "rewritten",
            (MessageChange::Hidden, _) => "hidden",
            (MessageChange::Shown, _) => "shown again",
            (MessageChange::Linked, _) => "linked to a checkpoint",
            (MessageChange::Torn, _) => "cut off",
            (MessageChange::ReadableAgain, _) => "readable again",
            _ => "edited",
        };
        edited(&who, what)
    }
}

fn edited(who: &str, what: &str) -> (ChangeKind, String) {
    (ChangeKind::Edited, format!("{who} {what}"))
}

fn author(line: &ChatLine<'_>) -> Option<String> {
    plain::name(line.message()?.author)
}
