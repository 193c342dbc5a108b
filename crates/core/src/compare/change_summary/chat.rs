//! Summarises the changes to a chat.

use std::cmp::Ordering;

use super::aligned::Aligned;
use super::collapse::{self, ChatTally, Collapse};
use super::message::ChatLine;
use super::message_changes::MessageChanges;
use super::plain::{self, Numbers, messages};
use super::settings;
use super::{ChangeKind, ChangeSummary, ChatWindow, Parts};

/// Summarises the first version of a chat seen, which has nothing to be compared with.
pub fn first_chat(lines: usize, last_line: &[u8]) -> ChangeSummary {
    let author =
        ChatLine::read(last_line).message().and_then(|message| plain::name(message.author));
    let words = match (lines, author) {
        (0, _) => "first seen, an empty file".to_owned(),
        (1, _) => "first seen, no messages yet".to_owned(),
        (2, Some(author)) => format!("first seen, 1 message by {author}"),
        (_, Some(author)) => format!("first seen, {}, the last by {author}", messages(lines - 1)),
        (_, None) => format!("first seen, {}", messages(lines - 1)),
    };
    ChangeSummary { words, kind: ChangeKind::Begun, collapse: None }
}

/// Summarises the changes between two versions of a chat.
pub fn in_chat(window: &ChatWindow<'_>) -> ChangeSummary {
    let seen = ReadChat::of(window);
    let tally = seen.tally();
    let collapse = collapse::in_chat(&tally);
    let had = messages(tally.before);
    let mut parts = Parts::default();
    match collapse {
        Some(Collapse::Emptied) if tally.before == 0 => {
            parts.add(ChangeKind::Cut, "nothing left of the chat");
        }
        Some(Collapse::Emptied) => parts.add(ChangeKind::Cut, format!("nothing left of {had}")),
        Some(Collapse::Unreadable) => {
            parts.add(ChangeKind::Cut, format!("no longer readable, {had} before"));
        }
        Some(Collapse::Replaced) => {
            parts.add(
                ChangeKind::Mixed,
                format!("{} of {had} gone, others in their place", tally.gone),
            );
        }
        _ => seen.describe(&mut parts),
    }
    parts.into_summary(collapse)
}

/// A window with its lines parsed.
struct ReadChat<'w, 'a> {
    lines_before: usize,
    lines_after: usize,
    before: &'w [&'a [u8]],
    after: &'w [&'a [u8]],
    header: Option<(&'a [u8], &'a [u8])>,
    /// The number of the first message that differs.
    first: usize,
    aligned: Aligned<'a>,
    /// How many lines differ, including those beyond a cut; `None` if that cannot be known.
    lengths: Option<(usize, usize)>,
    /// Whether the last line is among those that differ.
    reaches_the_end: bool,
}

impl<'w, 'a> ReadChat<'w, 'a> {
    fn of(window: &'w ChatWindow<'a>) -> Self {
        let ChatWindow { lines_before, lines_after, mut header, .. } = *window;
        let (mut before, mut after) = (&window.before[..], &window.after[..]);
        if window.first == 0 && header.is_none() {
            // The caller passed the header as the first line.
            let headers = (take_first(&mut before), take_first(&mut after));
            header = Some(headers).filter(|(before, after)| before != after);
        }
        let first_line = window.first.max(1);
        // Both lists are cut at the same number of lines. A shorter list is therefore complete, and
        // the lines after it are equally many in both versions.
        let lengths = match before.len().cmp(&after.len()) {
            _ if !window.cut => Some((before.len(), after.len())),
            Ordering::Less => {
                let added = lines_after.saturating_sub(lines_before);
                Some((before.len(), before.len().saturating_add(added)))
            }
            Ordering::Greater => {
                let removed = lines_before.saturating_sub(lines_after);
                Some((after.len().saturating_add(removed), after.len()))
            }
            Ordering::Equal => None,
        };
        let reaches_the_end =
            lengths.is_some_and(|(was, _)| first_line.saturating_add(was) >= lines_before);
        let aligned = Aligned::of(before, after);
        let first = first_line - 1;
        Self {
            lines_before,
            lines_after,
            before,
            after,
            header,
            first,
            aligned,
            lengths,
            reaches_the_end,
        }
    }

    fn tally(&self) -> ChatTally {
        let Aligned { before: was, after: is, .. } = &self.aligned;
        let before = self.lines_before.saturating_sub(1);
        let after = self.lines_after.saturating_sub(1);
        let header = self.header.map(|(was, is)| (settings::read(was), settings::read(is)));
        let broken = |lines: &[ChatLine<'_>]| {
            lines.iter().filter(|line| matches!(line, ChatLine::Unreadable)).count()
        };
        let holds = |header: &ChatLine<'_>, lines: &[ChatLine<'_>]| {
            header.message().is_some() || lines.iter().any(|line| line.message().is_some())
        };
        // There were readable lines, and none is left.
        let is_lost = (self.first == 0 && is.len() >= after)
            && header.as_ref().is_some_and(|(old, new)| holds(old, was) && !holds(new, is));
        let has_rubbish = broken(is) > 0 || matches!(header, Some((_, ChatLine::Unreadable)));
        let header_broke =
            matches!(header, Some((ChatLine::Message(_), ChatLine::Unreadable | ChatLine::Blank)));
        let is_empty = self.lines_before > 0 && self.lines_after == 0;
        ChatTally {
            before,
            after,
            gone: self.gone(before),
            is_blank: is_empty || (is_lost && !has_rubbish),
            is_unreadable: is_lost && has_rubbish,
            is_torn: header_broke || broken(is) > broken(was),
        }
    }

    /// How many old messages are gone.
    ///
    /// If the new lines are cut, a missing message may only have moved beyond the cut. Then
    /// messages count as gone only if all of them are missing, apart from a greeting, which many
    /// stories share.
    fn gone(&self, before: usize) -> usize {
        let (removed, added) = self.unseen();
        match self.lengths {
            Some(_) if added == 0 => self.aligned.gone.saturating_add(removed),
            _ if self.aligned.kept > 1 => 0,
            Some(_) => self.aligned.gone,
            None => before.saturating_sub(self.first.saturating_add(self.aligned.kept)),
        }
    }

    /// How many lines beyond the cut were removed, and how many added.
    fn unseen(&self) -> (usize, usize) {
        self.lengths.map_or((0, 0), |(was, is)| {
            (was.saturating_sub(self.before.len()), is.saturating_sub(self.after.len()))
        })
    }

    fn describe(&self, parts: &mut Parts) {
        let changes = self.message_changes();
        let has_more = self.lengths.is_none();
        if self.aligned.is_reordered && !has_more {
            let mut moved = Numbers::default();
            moved.add_run(self.first, self.before.len());
            parts.add(ChangeKind::Edited, format!("{} reordered", moved.words(false)));
        } else if has_more && !self.aligned.runs.iter().all(|(is_same, ..)| *is_same) {
            parts.add(ChangeKind::Mixed, "many messages changed");
        } else {
            changes.describe(self.lines_after.saturating_sub(1), has_more, parts);
        }
        if has_more {
            // Beyond the cut, only the number of lines is known.
            match (self.lines_before, self.lines_after) {
                (was, is) if was > is => parts.add(ChangeKind::Cut, messages(was - is) + " fewer"),
                (was, is) if was < is => parts.add(ChangeKind::Grown, messages(is - was) + " more"),
                _ => {}
            }
        }
        if let Some((was, is)) = self.header {
            settings::describe(was, is, parts);
        }
        if parts.is_empty() {
            changes.describe_details(has_more, parts);
        }
        if parts.is_empty() && self.header.is_some() {
            parts.add(ChangeKind::Settings, "chat settings changed");
        }
    }

    fn message_changes(&self) -> MessageChanges {
        let Aligned { before: was, after: is, runs, .. } = &self.aligned;
        let number = |at: usize| self.first.saturating_add(at);
        let mut changes = MessageChanges::default();
        for (_, old, new) in runs {
            for (old, new) in old.clone().zip(new.clone()) {
                // Lines inside the window may be equal.
                let differ = self.before[old] != self.after[new];
                if let Some(change) = was[old].change(&is[new]).filter(|_| differ) {
                    changes.changed(number(new), change, &is[new]);
                }
            }
            let both = old.len().min(new.len());
            let is_last = self.reaches_the_end && old.end == was.len() && new.end == is.len();
            (old.start + both..old.end)
                .for_each(|at| changes.removed(number(at), &was[at], is_last));
            (new.start + both..new.end).for_each(|at| changes.added(number(at), &is[at], is_last));
        }
        let (removed, added) = self.unseen();
        changes.removed_unseen(number(was.len()), removed, self.reaches_the_end);
        changes.added_unseen(number(is.len()), added, self.reaches_the_end);
        changes
    }
}

fn take_first<'a>(lines: &mut &[&'a [u8]]) -> &'a [u8] {
    let Some((first, rest)) = lines.split_first() else { return b"" };
    *lines = rest;
    first
}
