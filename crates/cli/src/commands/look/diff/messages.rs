//! Which messages were added, removed or changed between two versions of a chat.

use std::ops::Range;
use std::time::{Duration, Instant};

use forklore_core::sillytavern::chat::Chat;
use forklore_json::Json;
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// Two versions of one chat.
#[derive(Clone, Copy)]
pub(super) struct ChatPair<'c> {
    pub(super) left: &'c Chat<'c>,
    pub(super) right: &'c Chat<'c>,
}

/// A message that differs, by its number in each version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageDifference {
    Added(usize),
    Removed(usize),
    Changed(usize, usize),
}

/// After this long, what is left counts as replaced.
const LONGEST_COMPARISON: Duration = Duration::from_secs(2);
/// How many messages ahead to look for the edited form of a message.
const SEARCH_WINDOW: usize = 200;

/// The changes, in the order of the chat.
pub(super) fn changes(chats: ChatPair<'_>) -> Vec<MessageDifference> {
    let lines = |chat: &Chat<'_>| {
        (0..chat.len()).filter_map(|at| chat.line(at).map(<[u8]>::to_vec)).collect::<Vec<_>>()
    };
    let (left, right) = (lines(chats.left), lines(chats.right));
    let prefix = left.iter().zip(&right).take_while(|(one, other)| one == other).count();
    let most = left.len().min(right.len()) - prefix;
    let backwards = left.iter().rev().zip(right.iter().rev());
    let suffix = backwards.take(most).take_while(|(one, other)| one == other).count();
    let (old, new) = (&left[prefix..left.len() - suffix], &right[prefix..right.len() - suffix]);
    let mut found = Vec::new();
    let (mut at_old, mut at_new) = (0, 0);
    let ends = (old.len(), new.len());
    for (same_old, same_new) in common(old, new).into_iter().chain([ends]) {
        let removed = prefix + at_old..prefix + same_old;
        let added = prefix + at_new..prefix + same_new;
        found.extend(pair_changes(chats, removed, added));
        (at_old, at_new) = (same_old + 1, same_new + 1);
    }
    found
}

/// Messages that both have, in order, as pairs of positions.
fn common(old: &[Vec<u8>], new: &[Vec<u8>]) -> Vec<(usize, usize)> {
    let deadline = Instant::now() + LONGEST_COMPARISON;
    let blocks = capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(deadline));
    let pairs = blocks.into_iter().filter_map(|block| match block {
        DiffOp::Equal { old_index, new_index, len } => {
            Some((0..len).map(move |at| (old_index + at, new_index + at)))
        }
        _ => None,
    });
    pairs.flatten().collect()
}

/// Pairs messages that were removed and added in the same place. A pair with the same speaker and
/// date counts as one changed message. So does a pair with only the same speaker, if equally many
/// messages were removed and added.
fn pair_changes(
    chats: ChatPair<'_>,
    removed: Range<usize>,
    added: Range<usize>,
) -> Vec<MessageDifference> {
    if removed.is_empty() || added.is_empty() {
        return removed
            .map(MessageDifference::Removed)
            .chain(added.map(MessageDifference::Added))
            .collect();
    }
    let are_equally_many = removed.len() == added.len();
    let identities: Vec<MessageIdentity> =
        added.clone().map(|at| MessageIdentity::of(chats.right, at)).collect();
    let mut next = 0;
    let mut found = Vec::new();
    for one in removed {
        let identity = MessageIdentity::of(chats.left, one);
        let later = &identities[next..];
        let same = later
            .iter()
            .take(SEARCH_WINDOW)
            .position(|other| *other == identity && identity.is_dated());
        let first = || (are_equally_many && later.first()?.name == identity.name).then_some(0);
        match same.or_else(first) {
            Some(skipped) => {
                let other = added.start + next + skipped;
                found.extend((added.start + next..other).map(MessageDifference::Added));
                found.push(MessageDifference::Changed(one, other));
                next += skipped + 1;
            }
            None => found.push(MessageDifference::Removed(one)),
        }
    }
    found.extend((added.start + next..added.end).map(MessageDifference::Added));
    found
}

/// The fields that stay the same when a message is edited.
#[derive(PartialEq)]
struct MessageIdentity {
    name: Option<Json>,
    date: Option<Json>,
}

impl MessageIdentity {
    fn of(chat: &Chat<'_>, at: usize) -> Self {
        let message = chat.message(at);
        let field = |name: &str| message.and_then(|message| message.get(name)?.json().ok());
        Self { name: field("name"), date: field("send_date") }
    }

    fn is_dated(&self) -> bool {
        self.date.is_some()
    }
}

/// A message's speaker and text.
pub(super) fn speaker_and_text(chat: &Chat<'_>, at: usize) -> (String, String) {
    let message = chat.message(at).and_then(|message| message.json().ok());
    let text = |name: &str| {
        let value = message.as_ref().and_then(|message| message.get(name)).and_then(Json::as_str);
        value.unwrap_or_default().into_owned()
    };
    (text("name"), text("mes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forklore_core::sillytavern::chat::ChatKind;

    fn chat(messages: &[(&str, &str)]) -> Vec<u8> {
        let mut lines = vec![r#"{"chat_metadata":{}}"#.to_owned()];
        lines.extend(messages.iter().enumerate().map(|(at, (name, text))| {
            format!(r#"{{"name":{name:?},"mes":{text:?},"send_date":{at}}}"#)
        }));
        lines.join("\n").into_bytes()
    }

    #[track_caller]
    fn check(before: &[(&str, &str)], after: &[(&str, &str)], expected: &[MessageDifference]) {
        let (before, after) = (chat(before), chat(after));
        let (left, right) =
            (Chat::read(&before, ChatKind::Solo), Chat::read(&after, ChatKind::Solo));
        assert_eq!(changes(ChatPair { left: &left, right: &right }), expected);
    }

    #[test]
    fn messages_come_go_and_change() {
        use MessageDifference::{Added, Changed, Removed};
        let story = [("Mara", "a"), ("Anna", "b"), ("Mara", "c")];
        check(&story, &story, &[]);
        check(&story[..2], &story, &[Added(2)]);
        check(&story, &story[..1], &[Removed(1), Removed(2)]);
        check(&story, &[story[0], ("Anna", "x"), story[2]], &[Changed(1, 1)]);
        check(&story[..2], &[story[0], ("Anna", "x"), story[2]], &[Changed(1, 1), Added(2)]);
    }
}
