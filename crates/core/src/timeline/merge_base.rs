//! The merge base: what two timelines had in common at their fork point.
//!
//! The record of the message at the fork point can contain more than the common state: until the
//! next message arrives, it is updated in the parent and in the child, each with its own changes.
//! If it were used as the merge base, such a change would look like one that the other side
//! reverted. So a state is accepted only if the child's seal proves it, or if both timelines
//! recorded the same. Otherwise an earlier state is used, which is certainly common to both, and at
//! worst causes an additional conflict.

use crate::digest::Digest;
use crate::journal::{self, Folded, RecordedState};
use crate::sillytavern::book;
use crate::timeline::moment::BoundChat;
use crate::timeline::moment::memory_then;
use forklore_json::Json;

/// The merge base, and how it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeBase {
    pub evidence: BaseEvidence,
    /// The message whose state this is.
    pub message: usize,
    /// `None` if there was no book.
    pub book: Option<Json>,
    /// The chat's memory at that message, if it was recorded.
    pub metadata: Option<Json>,
}

/// How a merge base is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseEvidence {
    /// The seal of the timeline that was forked there proves it.
    Sealed,
    /// Several timelines recorded the same state.
    Recorded,
    /// It is the state of an earlier message.
    Earlier,
}

impl BaseEvidence {
    pub fn word(self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::Recorded => "recorded",
            Self::Earlier => "earlier",
        }
    }
}

/// What the seal of the timeline that was forked there says about its book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedBase {
    Book(Digest),
    /// It was made without a book.
    NoBook,
    /// There is no seal.
    Unknown,
}

/// Finds the merge base of timelines that have message `m` in common.
pub fn find_merge_base(
    witnesses: &[BoundChat<'_>],
    m: usize,
    sealed: SealedBase,
) -> Option<MergeBase> {
    let folds: Vec<(Folded, BoundChat<'_>)> = witnesses
        .iter()
        .filter_map(|witness| Some((journal::fold(witness.chat, m)?, *witness)))
        .collect();
    let then = |folded: &Folded, witness: BoundChat<'_>, evidence| MergeBase {
        evidence,
        message: folded.message,
        book: folded.state.book.as_ref().map(|book| book.content().into()),
        metadata: Some(memory_then(witness.chat, folded.message, Some(&folded.state.metadata))),
    };
    let at_m = || folds.iter().filter(|(folded, _)| folded.message == m);
    if let SealedBase::Book(digest) = sealed {
        if let Some((folded, witness)) = at_m().find(|(folded, _)| is_sealed(&folded.state, digest))
        {
            return Some(then(folded, *witness, BaseEvidence::Sealed));
        }
        // A book that has not changed since the fork is itself the common state.
        if let Some(book) = witnesses.iter().find_map(|witness| unchanged(*witness, digest)) {
            let metadata = at_m().next().map(|(folded, witness)| {
                memory_then(witness.chat, m, Some(&folded.state.metadata))
            });
            return Some(MergeBase {
                evidence: BaseEvidence::Sealed,
                message: m,
                book: Some(book),
                metadata,
            });
        }
    }
    if sealed == SealedBase::NoBook {
        return Some(MergeBase {
            evidence: BaseEvidence::Sealed,
            message: m,
            book: None,
            metadata: None,
        });
    }
    let mut states = at_m();
    if let (Some((first, witness)), true) = (states.next(), at_m().count() > 1)
        && states.all(|(other, _)| other.state.book == first.state.book)
    {
        return Some(then(first, *witness, BaseEvidence::Recorded));
    }
    let earlier = witnesses
        .iter()
        .filter_map(|witness| Some((journal::fold(witness.chat, m.checked_sub(1)?)?, *witness)));
    let (folded, witness) = earlier.max_by_key(|(folded, _)| folded.message)?;
    Some(then(&folded, witness, BaseEvidence::Earlier))
}

fn is_sealed(state: &RecordedState, digest: Digest) -> bool {
    let book = state.book.as_ref();
    book.is_some_and(|book| digest.is_of(&book::digest_input(&Json::Object(book.content()))))
}

fn unchanged(witness: BoundChat<'_>, digest: Digest) -> Option<Json> {
    let book = witness.bound.book().filter(|book| digest.is_of(&book.digest_input()))?;
    book.root().json().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{FIELD, Limits, record};
    use crate::sillytavern::chat::{Chat, ChatKind};
    use crate::timeline::moment::BoundBook;

    fn book(content: &str) -> Json {
        let text = format!(r#"{{"entries":{{"0":{{"uid":0,"content":"{content}"}}}}}}"#);
        Json::parse(text.as_bytes()).unwrap()
    }

    /// A chat whose book had these contents, message by message.
    fn chat(contents: &[&str]) -> Vec<u8> {
        let mut before: Option<(String, RecordedState)> = None;
        let mut text = br#"{"chat_metadata":{"world_info":"B"}}"#.to_vec();
        for content in contents {
            let now = RecordedState::of(&Json::Null, Some(("B", &book(content))));
            let previous = before.as_ref().map(|(id, state)| (id.as_str(), state));
            let made = record(previous, &now, Limits::default());
            text.push(b'\n');
            text.extend(Json::object([(FIELD, made.to_json())]).stringify());
            before = Some((made.id, now));
        }
        text
    }

    fn base_of(
        timelines: [&[&str]; 2],
        sealed: SealedBase,
    ) -> Option<(BaseEvidence, Option<Json>)> {
        let files = timelines.map(chat);
        let chats = [Chat::read(&files[0], ChatKind::Solo), Chat::read(&files[1], ChatKind::Solo)];
        let bound = BoundBook::Missing { name: "B".into() };
        let witness = |chat| BoundChat { name: "C", chat, bound: &bound, past: None };
        let found = find_merge_base(&[witness(&chats[0]), witness(&chats[1])], 1, sealed)?;
        Some((found.evidence, found.book))
    }

    #[test]
    fn what_the_seal_proves_is_believed_whoever_tells_it() {
        let sealed = SealedBase::Book(book::digest_of(&book("b")));
        // The child changed its book before its next message arrived.
        let found = base_of([&["a", "b", "c"], &["a", "changed", "d"]], sealed);
        assert_eq!(found, Some((BaseEvidence::Sealed, Some(book("b")))));
    }

    #[test]
    fn what_only_one_side_tells_may_be_its_own_doing() {
        let found = base_of([&["a", "b", "c"], &["a", "changed", "d"]], SealedBase::Unknown);
        assert_eq!(found, Some((BaseEvidence::Earlier, Some(book("a")))));
        let unproved = SealedBase::Book(book::digest_of(&book("lost")));
        let found = base_of([&["a", "b"], &["a", "changed"]], unproved);
        assert_eq!(found, Some((BaseEvidence::Earlier, Some(book("a")))));
    }

    #[test]
    fn what_both_tell_is_believed() {
        let found = base_of([&["a", "b", "c"], &["a", "b", "d"]], SealedBase::Unknown);
        assert_eq!(found, Some((BaseEvidence::Recorded, Some(book("b")))));
        assert_eq!(
            base_of([&["a", "b"], &["a", "b"]], SealedBase::NoBook),
            Some((BaseEvidence::Sealed, None))
        );
    }
}
