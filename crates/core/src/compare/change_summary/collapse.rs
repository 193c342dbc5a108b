//! Recognises changes that look like data loss rather than an intended edit.
//!
//! SillyTavern overwrites whole files and checks little: a full disk truncates the last line, a
//! read error leaves only the greeting, a stale page overwrites what another page saved. None of
//! this is intended, so the previous version is worth pinning. Everyday actions, such as deleting
//! the last messages, swiping, editing or deleting an entry, must never trigger this, or people
//! would stop reading the warning.

use super::plain::{entries, messages};

/// A change that looks like data loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collapse {
    /// The file is empty, or none of at least three messages is left, or none of at least two
    /// entries or fields.
    Emptied,
    /// Nothing in the file can be read any more.
    Unreadable,
    /// A line is newly broken. SillyTavern writes only whole lines, so either the disk was full or
    /// something else wrote the file.
    Torn,
    /// Only one of at least three messages is left: SillyTavern could not read the chat and treated
    /// it as a new one, or a page without messages overwrote it.
    GreetingOnly,
    /// At least twenty messages disappeared at once, or at least half of them and at least five.
    Shrunk { before: usize, after: usize },
    /// As much is gone as in [`Collapse::Shrunk`] or [`Collapse::EntriesGone`], or nearly
    /// everything and at least three messages or entries, with others in their place: another chat
    /// or book was saved under this name. Editing a story changes only some messages and leaves
    /// their dates.
    Replaced,
    /// At least ten entries disappeared at once, or at least half of them and at least three.
    EntriesGone { before: usize, after: usize },
    /// At least three fields of settings or of a group, and at least half of them, disappeared at
    /// once: SillyTavern adds fields but rarely removes any.
    FieldsGone { before: usize, after: usize },
}

impl Collapse {
    pub fn words(&self) -> String {
        match self {
            Self::Emptied => "nothing is left of it".into(),
            Self::Unreadable => "it can no longer be read".into(),
            Self::Torn => "a line of it is cut off".into(),
            Self::GreetingOnly => "only one message is left".into(),
            Self::Shrunk { before, after } => format!("{} became {after}", messages(*before)),
            Self::Replaced => "something else is in its place".into(),
            Self::EntriesGone { before, after } => format!("{} became {after}", entries(*before)),
            Self::FieldsGone { before, after } => format!("{before} fields became {after}"),
        }
    }

    /// A short code that [`Collapse::from_code`] reads. It is stable across versions of Forklore.
    pub fn code(&self) -> String {
        match self {
            Self::Emptied => "emptied".into(),
            Self::Unreadable => "unreadable".into(),
            Self::Torn => "torn".into(),
            Self::GreetingOnly => "greeting-only".into(),
            Self::Shrunk { before, after } => format!("shrunk:{before}:{after}"),
            Self::Replaced => "replaced".into(),
            Self::EntriesGone { before, after } => format!("entries-gone:{before}:{after}"),
            Self::FieldsGone { before, after } => format!("fields-gone:{before}:{after}"),
        }
    }

    pub fn from_code(code: &str) -> Option<Self> {
        let mut parts = code.split(':');
        let name = parts.next()?;
        let mut number = || parts.next()?.parse().ok();
        let collapse = match name {
            "emptied" => Self::Emptied,
            "unreadable" => Self::Unreadable,
            "torn" => Self::Torn,
            "greeting-only" => Self::GreetingOnly,
            "shrunk" => Self::Shrunk { before: number()?, after: number()? },
            "replaced" => Self::Replaced,
            "entries-gone" => Self::EntriesGone { before: number()?, after: number()? },
            "fields-gone" => Self::FieldsGone { before: number()?, after: number()? },
            _ => return None,
        };
        // Accept only codes exactly as `code` writes them.
        (collapse.code() == code).then_some(collapse)
    }
}

/// The counts that decide about a chat.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChatTally {
    pub(super) before: usize,
    pub(super) after: usize,
    /// Old messages that no longer exist, regardless of how many messages there are now.
    pub(super) gone: usize,
    pub(super) is_blank: bool,
    pub(super) is_unreadable: bool,
    pub(super) is_torn: bool,
}

/// Checks the most certain signs first: broken content, then missing content.
pub(super) fn in_chat(tally: &ChatTally) -> Option<Collapse> {
    let ChatTally { before, after, gone, .. } = *tally;
    let is_many = |number: usize| number >= 20 || (number >= 5 && number >= before.div_ceil(2));
    if tally.is_blank {
        return Some(Collapse::Emptied);
    }
    if tally.is_unreadable {
        return Some(Collapse::Unreadable);
    }
    if tally.is_torn {
        return Some(Collapse::Torn);
    }
    match after {
        0 if before >= 3 => return Some(Collapse::Emptied),
        1 if before >= 3 => return Some(Collapse::GreetingOnly),
        _ => {}
    }
    if after >= 2 && is_replaced(before, after, gone) {
        return Some(Collapse::Replaced);
    }
    if is_many(before.saturating_sub(after)) {
        return Some(Collapse::Shrunk { before, after });
    }
    is_many(gone).then_some(Collapse::Replaced)
}

/// The counts that decide about a readable book.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BookTally {
    pub(super) before: usize,
    pub(super) after: usize,
    /// Old entries that no longer exist under any number.
    pub(super) gone: usize,
}

/// A book counts as emptied only if it had at least two entries, because deleting a book's last
/// entry is an ordinary edit.
pub(super) fn in_book(tally: &BookTally) -> Option<Collapse> {
    let BookTally { before, after, gone } = *tally;
    let is_many = |number: usize| number >= 10 || (number >= 3 && number >= before.div_ceil(2));
    if after == 0 && before >= 2 {
        return Some(Collapse::Emptied);
    }
    if is_replaced(before, after, gone) {
        return Some(Collapse::Replaced);
    }
    if is_many(before.saturating_sub(after)) {
        return Some(Collapse::EntriesGone { before, after });
    }
    is_many(gone).then_some(Collapse::Replaced)
}

/// Describes settings or a group that lost fields, if that looks like data loss.
pub fn in_fields(before: usize, after: usize) -> Option<(String, Collapse)> {
    let gone = before.saturating_sub(after);
    if after == 0 && before >= 2 {
        return Some((format!("emptied, {before} fields before"), Collapse::Emptied));
    }
    let words = || format!("cut down to {after} of {before} fields");
    (gone >= 3 && gone >= before.div_ceil(2))
        .then(|| (words(), Collapse::FieldsGone { before, after }))
}

/// Whether nearly everything is gone, apart from a greeting, which many stories share, and most of
/// the current content is new.
fn is_replaced(before: usize, after: usize, gone: usize) -> bool {
    let kept = before.saturating_sub(gone);
    gone >= 3 && kept <= 1 + before / 10 && after.saturating_sub(kept) > after / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_comes_back_as_what_it_was() {
        for collapse in [
            Collapse::Emptied,
            Collapse::Unreadable,
            Collapse::Torn,
            Collapse::GreetingOnly,
            Collapse::Shrunk { before: 213, after: 3 },
            Collapse::Replaced,
            Collapse::EntriesGone { before: 12, after: 0 },
            Collapse::FieldsGone { before: 60, after: 3 },
        ] {
            assert_eq!(Collapse::from_code(&collapse.code()), Some(collapse));
            assert!(!collapse.words().is_empty());
        }
        for code in ["", "torn:", "shrunk", "shrunk:1", "shrunk:1:2:3", "shrunk:+1:2", "Torn"] {
            assert_eq!(Collapse::from_code(code), None, "{code:?}");
        }
    }

    #[track_caller]
    fn check(before: usize, after: usize, gone: usize, expected: Option<&str>) {
        let tally = ChatTally { before, after, gone, ..ChatTally::default() };
        let found = in_chat(&tally).map(|collapse| collapse.code());
        assert_eq!(found.as_deref(), expected, "{before} to {after}, {gone} gone");
    }

    #[test]
    fn the_limits_of_a_chat() {
        check(2, 0, 2, None);
        check(3, 0, 3, Some("emptied"));
        check(2, 1, 1, None);
        check(3, 1, 2, Some("greeting-only"));
        check(8, 4, 4, None);
        check(9, 5, 4, None);
        check(10, 5, 5, Some("shrunk:10:5"));
        check(11, 6, 5, None);
        check(100, 81, 19, None);
        check(100, 80, 20, Some("shrunk:100:80"));
        check(100, 120, 19, None);
        check(100, 120, 20, Some("replaced"));
        check(3, 3, 3, Some("replaced"));
        check(4, 4, 3, Some("replaced"));
        check(5, 5, 3, None);
        check(3, 4, 2, None);
        // A few of the old messages are left, so it is still the same story.
        check(40, 3, 37, Some("shrunk:40:3"));
    }

    #[test]
    fn the_limits_of_settings() {
        for (before, after, expected) in [
            (0, 0, None),
            (1, 0, None),
            (2, 0, Some("emptied")),
            (5, 3, None),
            (6, 3, Some("fields-gone:6:3")),
            (60, 31, None),
            (60, 30, Some("fields-gone:60:30")),
            (60, 61, None),
        ] {
            let found = in_fields(before, after).map(|(_, found)| found.code());
            assert_eq!(found.as_deref(), expected, "{before} to {after}");
        }
    }

    #[test]
    fn the_limits_of_a_book() {
        for (before, after, gone, expected) in [
            (1, 0, 1, None),
            (2, 0, 2, Some("emptied")),
            (4, 2, 2, None),
            (3, 1, 2, None),
            (6, 3, 3, Some("entries-gone:6:3")),
            (7, 4, 3, None),
            (100, 91, 9, None),
            (100, 90, 10, Some("entries-gone:100:90")),
            (3, 3, 3, Some("replaced")),
            (100, 100, 10, Some("replaced")),
        ] {
            let found = in_book(&BookTally { before, after, gone }).map(|found| found.code());
            assert_eq!(found.as_deref(), expected, "{before} to {after}, {gone} gone");
        }
    }
}
