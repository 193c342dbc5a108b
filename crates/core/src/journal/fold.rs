//! Folds a chat's records into the state at a message.

use std::ops::ControlFlow;

use memchr::memmem;

use super::record::{Change, FIELD, Record};
use super::state::State;
use crate::chat::Chat;
use crate::json::{Kind, Raw};

/// The newest state that the journal proves, at or before the message asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// The message it is the state of. Where this is the message asked for, it is exact.
    pub message: usize,
    pub state: State,
}

/// The newest state at or before message `m`.
pub fn fold(chat: &Chat<'_>, m: usize) -> Option<Folded> {
    let mut cursor = Cursor::default();
    for index in 0..=m.min(chat.len().checked_sub(1)?) {
        cursor.step(index, record_at(chat, index));
    }
    let newest = cursor.known()?;
    if newest.state.id() == cursor.id {
        return Some(newest);
    }
    // A record does not hold what it promises. The last state that does is still good.
    let mut proved = None;
    walk(chat, newest.message, |message, state, id| {
        if state.id() == id {
            proved = Some(Folded { message, state: state.clone() });
        }
        ControlFlow::Continue(())
    });
    proved
}

/// Shows each recorded state in turn, with the id its record gives it, up to message `last`.
pub fn walk(
    chat: &Chat<'_>,
    last: usize,
    mut see: impl FnMut(usize, &State, &str) -> ControlFlow<()>,
) {
    let mut cursor = Cursor::default();
    for index in 0..chat.len().min(last.saturating_add(1)) {
        cursor.step(index, record_at(chat, index));
        if let (Some(state), true) = (&cursor.state, cursor.message == index)
            && see(index, state, &cursor.id).is_break()
        {
            return;
        }
    }
}

/// The state that the next record can follow on, and its id; `None` where it has to hold
/// everything.
pub fn tip(chat: &Chat<'_>) -> Option<(String, State)> {
    let mut cursor = Cursor::default();
    for index in 0..chat.len() {
        cursor.step(index, record_at(chat, index));
    }
    cursor.tip()
}

/// The record a message carries.
fn record_at(chat: &Chat<'_>, message: usize) -> Option<Record> {
    let line = chat.line(message)?;
    memmem::find(line, FIELD.as_bytes())?;
    let field = Raw::document(line).ok()?.get(FIELD)?;
    if field.kind() != Kind::Object {
        return None;
    }
    Record::from_json(&field.json().ok()?)
}

#[derive(Clone, Default)]
pub(super) struct Cursor {
    /// The last state reached by an unbroken chain, and the message whose record gave it.
    state: Option<State>,
    id: String,
    message: usize,
    /// A record did not follow on: nothing more is known until the next whole one.
    broken: bool,
}

impl Cursor {
    pub(super) fn step(&mut self, index: usize, record: Option<Record>) {
        let Some(record) = record else { return };
        match record.change {
            Change::Whole { whole, delta } => {
                // One that cannot be unpacked is passed over, as if the message had none.
                let Some(mut state) = whole.state().cloned() else { return };
                if delta.apply(&mut state).is_none() {
                    return;
                }
                self.state = Some(state);
                self.broken = false;
            }
            Change::Delta { after, delta } if !self.broken && after == self.id => {
                let applied = self.state.as_mut().and_then(|state| delta.apply(state));
                if applied.is_none() {
                    self.broken = true;
                    return;
                }
            }
            Change::Nothing if !self.broken && record.id == self.id => {}
            Change::Nothing | Change::Delta { .. } | Change::Digest => {
                self.broken = true;
                return;
            }
        }
        self.id = record.id;
        self.message = index;
    }

    fn known(&self) -> Option<Folded> {
        Some(Folded { message: self.message, state: self.state.clone()? })
    }

    /// Where the chain is unbroken and leads to what it promises.
    pub(super) fn tip(&self) -> Option<(String, State)> {
        let state = self.state.as_ref().filter(|_| !self.broken)?;
        (state.id() == self.id).then(|| (self.id.clone(), state.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Limits, merged, record};
    use super::*;
    use crate::chat::Place;
    use crate::json::Json;

    fn state(book: &str) -> State {
        let book = Json::parse(book.as_bytes()).unwrap();
        State::of(&Json::object([("variables", Json::Null)]), Some(("B", &book)))
    }

    /// A chat whose messages carry these records.
    fn chat(records: &[Option<Record>]) -> Vec<u8> {
        let mut text = br#"{"chat_metadata":{}}"#.to_vec();
        for record in records {
            let message = match record {
                Some(record) => Json::object([("mes", Json::from("x")), (FIELD, record.to_json())]),
                None => Json::object([("mes", "x".into())]),
            };
            text.push(b'\n');
            text.extend(message.stringify());
        }
        text
    }

    fn history(books: &[&str]) -> (Vec<State>, Vec<Record>) {
        let states: Vec<State> = books.iter().map(|book| state(book)).collect();
        let mut before: Option<(String, State)> = None;
        let records = states
            .iter()
            .map(|now| {
                let previous = before.as_ref().map(|(id, state)| (id.as_str(), state));
                let record = record(previous, now, Limits::default());
                before = Some((record.id.clone(), now.clone()));
                record
            })
            .collect();
        (states, records)
    }

    const BOOKS: [&str; 4] = [
        r#"{"entries":{"0":{"uid":0,"content":"a"}}}"#,
        r#"{"entries":{"0":{"uid":0,"content":"a"}}}"#,
        r#"{"entries":{"0":{"uid":0,"content":"b"},"1763632438061":{"uid":1}}}"#,
        r#"{"entries":{"1763632438061":{"uid":1}},"name":"n"}"#,
    ];

    #[test]
    fn the_fold_at_each_message_is_the_state_then() {
        let (states, records) = history(&BOOKS);
        let text = chat(&records.into_iter().map(Some).collect::<Vec<_>>());
        let chat = Chat::read(&text, Place::Solo);
        for (message, state) in states.into_iter().enumerate() {
            assert_eq!(fold(&chat, message), Some(Folded { message, state }));
        }
    }

    #[test]
    fn a_book_under_another_name_is_not_written_again() {
        let (states, records) = history(&BOOKS[..1]);
        let mut renamed = states[0].clone();
        renamed.book.as_mut().unwrap().name = "The child's".to_owned();
        let second =
            record(Some((records[0].id.as_str(), &states[0])), &renamed, Limits::default());
        assert!(!second.is_whole());
        let joined = merged(&records[0], &second).unwrap();
        let text = chat(&[Some(records[0].clone()), Some(second)]);
        let folded = fold(&Chat::read(&text, Place::Solo), 1).unwrap();
        assert_eq!(folded, Folded { message: 1, state: renamed.clone() });
        let text = chat(&[Some(joined)]);
        assert_eq!(fold(&Chat::read(&text, Place::Solo), 0).unwrap().state, renamed);
    }

    #[test]
    fn a_message_without_a_record_is_not_claimed() {
        let (_, records) = history(&BOOKS);
        let text = chat(&[Some(records[0].clone()), None, None]);
        let chat = Chat::read(&text, Place::Solo);
        assert_eq!(fold(&chat, 2).unwrap().message, 0);
    }

    #[test]
    fn a_lost_record_breaks_the_chain_until_the_next_whole_one() {
        let (states, records) = history(&BOOKS);
        let whole = record(None, &states[3], Limits::default());
        let text = chat(&[
            Some(records[0].clone()),
            Some(records[3].clone()),
            Some(records[1].clone()),
            Some(whole),
        ]);
        let chat = Chat::read(&text, Place::Solo);
        assert_eq!(fold(&chat, 1).unwrap().message, 0);
        assert_eq!(fold(&chat, 2).unwrap().message, 0);
        assert_eq!(fold(&chat, 3).unwrap().message, 3);
    }

    #[test]
    fn a_record_that_lies_is_not_believed() {
        let (_, mut records) = history(&BOOKS);
        records[2].id = "0000000000000000".into();
        let text = chat(&records.into_iter().map(Some).collect::<Vec<_>>());
        let chat = Chat::read(&text, Place::Solo);
        assert_eq!(fold(&chat, 2).unwrap().message, 1);
    }

    #[test]
    fn two_records_joined_say_what_both_said() {
        let (states, records) = history(&BOOKS);
        let joined = merged(&merged(&records[1], &records[2]).unwrap(), &records[3]).unwrap();
        let text = chat(&[Some(records[0].clone()), Some(joined)]);
        let chat = Chat::read(&text, Place::Solo);
        assert_eq!(fold(&chat, 1).unwrap().state, states[3]);
    }

    #[test]
    fn a_book_too_large_is_known_by_its_digest_only() {
        let (states, records) = history(&BOOKS);
        let before = Some((records[1].id.as_str(), &states[1]));
        let digest = record(before, &states[2], Limits { largest_book: 10 });
        let text = chat(&[Some(records[0].clone()), Some(digest)]);
        let chat = Chat::read(&text, Place::Solo);
        assert_eq!(fold(&chat, 1).unwrap().message, 0);
    }
}
