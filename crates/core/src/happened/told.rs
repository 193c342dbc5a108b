//! What is to be told of a chat's messages, gathered line by line.

use std::mem::discriminant;

use super::message::{Change, Line};
use super::plain::{self, Numbers, count, messages};
use super::{Kind, Parts};

#[derive(Default)]
pub(super) struct Told {
    /// The first change of each sort, and the messages that changed so.
    changed: Vec<(Change, Numbers)>,
    /// Who a message is by, for the first one that has another author now.
    author: Option<String>,
    removed: Numbers,
    removed_from_end: Numbers,
    /// Lines that were unreadable and are no more.
    dropped: usize,
    inserted: Numbers,
    appended: Numbers,
    /// Who the first of the new messages is by.
    new_author: Option<String>,
}

impl Told {
    pub(super) fn changed(&mut self, number: usize, change: Change, now: &Line<'_>) {
        if change == Change::Author && self.author.is_none() {
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

    pub(super) fn removed(&mut self, number: usize, line: &Line<'_>, is_last: bool) {
        match line {
            Line::Blank => {}
            Line::Unreadable => self.dropped += 1,
            Line::Message(_) => self.removed_unseen(number, 1, is_last),
        }
    }

    pub(super) fn removed_unseen(&mut self, first: usize, length: usize, is_last: bool) {
        let numbers = if is_last { &mut self.removed_from_end } else { &mut self.removed };
        numbers.add_run(first, length);
    }

    pub(super) fn added(&mut self, number: usize, line: &Line<'_>, is_last: bool) {
        match line {
            Line::Blank => {}
            Line::Unreadable => self.changed(number, Change::Torn, line),
            Line::Message(_) => {
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

    /// Everything but details, of which nobody wants to hear when there is anything else. There are
    /// `more` messages than could be seen.
    pub(super) fn say(&self, left: usize, more: bool, parts: &mut Parts) {
        if self.removed_from_end.count > 0 {
            let removed = messages(self.removed_from_end.count);
            parts.add(Kind::Cut, format!("{removed} removed from the end, {left} left"));
        }
        if self.removed.count > 0 {
            parts.add(Kind::Cut, format!("{} removed", self.removed.words(more)));
        }
        if self.dropped > 0 {
            let dropped = count(self.dropped, "unreadable line", "unreadable lines");
            parts.add(Kind::Cut, format!("{dropped} dropped"));
        }
        for (change, numbers) in &self.changed {
            if *change != Change::Details {
                let (kind, words) = self.change_words(*change, numbers, more);
                parts.add(kind, words);
            }
        }
        if self.inserted.count > 0 {
            parts.add(Kind::Grown, format!("{} inserted", self.inserted.words(more)));
        }
        match (&self.new_author, self.appended.count) {
            (_, 0) => {}
            (Some(author), 1) => {
                parts.add(Kind::Grown, format!("{} by {author}", self.appended.words(more)));
            }
            (None, 1) => parts.add(Kind::Grown, format!("{} added", self.appended.words(more))),
            _ => parts.add(Kind::Grown, self.appended.words(more)),
        }
    }

    pub(super) fn say_details(&self, more: bool, parts: &mut Parts) {
        for (change, numbers) in &self.changed {
            if *change == Change::Details {
                parts.add(Kind::Edited, format!("details of {} changed", numbers.words(more)));
            }
        }
    }

    fn change_words(&self, change: Change, numbers: &Numbers, more: bool) -> (Kind, String) {
        let who = numbers.words(more);
        let is_one = numbers.count == 1 && !more;
        match change {
            Change::Swiped { shown, of } if is_one && shown <= of => {
                return (Kind::Swiped, format!("{who}: another swipe ({shown} of {of})"));
            }
            Change::Swiped { .. } => return (Kind::Swiped, format!("{who} swiped")),
            Change::FewerSwipes { left } if is_one => {
                return (Kind::Swiped, format!("{who}: swipes removed, {left} left"));
            }
            Change::FewerSwipes { .. } => {
                return (Kind::Swiped, format!("{who} with fewer swipes"));
            }
            _ => {}
        }
        let what = match (change, &self.author) {
            (Change::Author, Some(author)) if is_one => {
                return edited(&who, &format!("now by {author}"));
            }
            (Change::Author, _) => "by another name",
            (Change::Continued, _) => "continued",
            (Change::Anew, _) => "written anew",
            (Change::Hidden, _) => "hidden",
            (Change::Shown, _) => "shown again",
            (Change::Linked, _) => "linked to a checkpoint",
            (Change::Torn, _) => "broken off",
            (Change::Mended, _) => "readable again",
            _ => "edited",
        };
        edited(&who, what)
    }
}

fn edited(who: &str, what: &str) -> (Kind, String) {
    (Kind::Edited, format!("{who} {what}"))
}

fn author(line: &Line<'_>) -> Option<String> {
    plain::name(line.message()?.author)
}
