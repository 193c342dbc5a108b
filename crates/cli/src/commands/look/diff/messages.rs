//! Which messages were added, removed or changed between two versions of a chat.

use std::ops::Range;

use forklore_core::sillytavern::chat::Chat;
use forklore_json::Json;

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

/// Above this many comparisons, messages are compared by position only.
const MAX_COMPARISONS: usize = 4_000_000;
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
    for (same_old, same_new) in longest_common(old, new).into_iter().chain([ends]) {
        let removed = prefix + at_old..prefix + same_old;
        let added = prefix + at_new..prefix + same_new;
        found.extend(pair_changes(chats, removed, added));
        (at_old, at_new) = (same_old + 1, same_new + 1);
    }
    found
}

/// The longest common subsequence, as pairs of positions.
fn longest_common(old: &[Vec<u8>], new: &[Vec<u8>]) -> Vec<(usize, usize)> {
    if old.len().saturating_mul(new.len()) > MAX_COMPARISONS {
        return (0..old.len().min(new.len()))
            .filter(|at| old[*at] == new[*at])
            .map(|at| (at, at))
            .collect();
    }
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for one in (0..old.len()).rev() {
        for other in (0..new.len()).rev() {
            lengths[one * width + other] = if old[one] == new[other] {
                lengths[(one + 1) * width + other + 1] + 1
            } else {
                lengths[(one + 1) * width + other].max(lengths[one * width + other + 1])
            };
        }
    }
    let (mut one, mut other) = (0, 0);
    let mut found = Vec::new();
    while one < old.len() && other < new.len() {
        if old[one] == new[other] {
            found.push((one, other));
            (one, other) = (one + 1, other + 1);
        } else if lengths[(one + 1) * width + other] >= lengths[one * width + other + 1] {
            one += 1;
        } else {
            other += 1;
        }
    }
    found
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
