//! Laws of the journal: its state for a message is correct, or it names the earlier message that
//! the state belongs to.

use forklore_core::journal::{
    FIELD, Folded, Limits, Record, RecordId, RecordedState, Records, fold, merged, record,
};
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_json::{Json, Object};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::RngSeed;

/// There are so few different states that stories return to earlier ones.
fn states() -> impl Strategy<Value = Vec<RecordedState>> {
    vec(state(), 1..10)
}

fn state() -> impl Strategy<Value = RecordedState> {
    let keys = vec!["0", "5", "10", "1763632438061", "k", "é"];
    let entries = (subsequence(keys, 0..6).prop_shuffle(), vec(0..4_u8, 6));
    let fields = subsequence(vec!["entries", "name", "2", "extensions"], 0..4).prop_shuffle();
    let metadata = subsequence(vec!["variables", "note_prompt", "persona"], 0..3);
    let name = prop_oneof![8 => Just(Some("Lore")), 1 => Just(Some("Other")), 1 => Just(None)];
    (entries, fields, metadata, name, 0..4_u8).prop_map(
        |((keys, values), mut fields, metadata, name, text)| {
            if !fields.contains(&"entries") {
                fields.push("entries");
            }
            let entries: Object =
                keys.iter().zip(values).map(|(key, value)| (*key, entry(value))).collect();
            let book: Object = fields
                .iter()
                .map(|field| match *field {
                    "entries" => ("entries", Json::Object(entries.clone())),
                    other => (other, content(text)),
                })
                .collect();
            let metadata = Json::object(metadata.into_iter().map(|key| (key, entry(text))));
            RecordedState::of(
                &metadata,
                name.map(|name| (name, Json::Object(book))).as_ref().map(|(n, b)| (*n, b)),
            )
        },
    )
}

/// An entry with enough fields for a record to describe a change field by field.
fn entry(variant: u8) -> Json {
    let inner = Json::object([("a", Json::from(i64::from(variant))), ("b", Json::Null)]);
    let uid = Json::from(7_i64);
    Json::object([("uid", uid), ("content", content(variant)), ("x", inner), ("y", Json::Null)])
}

fn content(variant: u8) -> Json {
    match variant {
        0 => Json::from("short"),
        1 => Json::parse(br#""\ud800 alone""#).expect("it is JSON"),
        // Long enough to be deflated, and similar enough to the next to be spliced.
        2 => Json::from("long ".repeat(100)),
        _ => Json::from("long ".repeat(60) + "and not the same " + &"long ".repeat(40)),
    }
}

fn records(states: &[RecordedState], limits: Limits) -> Vec<Record> {
    let mut before: Option<(String, RecordedState)> = None;
    let mut records = Vec::new();
    for (number, now) in (1..).zip(states) {
        let made = record(before.as_ref().map(|(id, state)| (id.as_str(), state)), now, limits)
            .with(RecordId::new(number, "t"), None);
        before = Some((made.id.clone(), now.clone()));
        records.push(made);
    }
    records
}

/// A message: the record it carries, and the true state while it was the last message.
type Message = (Option<Record>, RecordedState);

fn recorded_messages(states: &[RecordedState]) -> Vec<Message> {
    let records = records(states, Limits::default());
    records.into_iter().map(Some).zip(states.iter().cloned()).collect()
}

fn file(messages: &[Message]) -> Vec<u8> {
    let mut text = br#"{"chat_metadata":{}}"#.to_vec();
    for (record, _) in messages {
        let mut message = Object::new();
        message.insert("mes", "x");
        if let Some(record) = record {
            message.insert(FIELD, record.to_json());
        }
        text.push(b'\n');
        text.extend(Json::Object(message).stringify());
    }
    text
}

fn folds(messages: &[Message]) -> Vec<Option<Folded>> {
    let text = file(messages);
    let chat = Chat::read(&text, ChatKind::Solo);
    (0..messages.len()).map(|message| fold(&chat, message)).collect()
}

/// Each answer is true of the message it names. That message has a record and is not later than the
/// one asked about.
fn check_claims(messages: &[Message]) -> Result<(), TestCaseError> {
    for (asked, folded) in folds(messages).into_iter().enumerate() {
        let Some(Folded { message, state }) = folded else { continue };
        prop_assert!(message <= asked);
        prop_assert!(messages[message].0.is_some());
        prop_assert_eq!(
            &state,
            &messages[message].1,
            "claimed for {}, asked for {}",
            message,
            asked
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, failure_persistence: None, rng_seed: RngSeed::Fixed(0x0f0e_4b10), ..ProptestConfig::default() })]

    #[test]
    fn the_fold_at_each_message_is_the_state_then(states in states()) {
        let folds = folds(&recorded_messages(&states));
        for (message, (folded, state)) in folds.into_iter().zip(states).enumerate() {
            prop_assert_eq!(folded, Some(Folded { message, state }));
        }
    }

    #[test]
    fn a_record_comes_back_as_it_was_written(states in states(), largest in prop_oneof![Just(0_usize), Just(1 << 20)]) {
        for record in records(&states, Limits { largest_book: largest }) {
            let text = record.to_json().stringify();
            prop_assert_eq!(Record::from_json(&Json::parse(&text).unwrap()), Some(record));
        }
    }

    #[test]
    fn a_deleted_messages_record_lives_on_in_the_one_before(
        states in states(),
        deletions in vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let mut messages = recorded_messages(&states);
        for deletion in deletions {
            if messages.len() < 2 {
                break;
            }
            let at = 1 + deletion.index(messages.len() - 1);
            let (gone, truth) = messages.remove(at);
            let before = &mut messages[at - 1];
            let joined = merged(before.0.as_ref().unwrap(), gone.as_ref().unwrap());
            prop_assert!(joined.is_some(), "neighbours follow each other");
            *before = (joined, truth);
        }
        for (message, (folded, (_, state))) in folds(&messages).into_iter().zip(&messages).enumerate() {
            prop_assert_eq!(folded, Some(Folded { message, state: state.clone() }));
        }
    }

    #[test]
    fn whatever_was_lost_the_next_record_follows_on_the_tip(
        states in states(),
        kept in vec(any::<bool>(), 10),
        now in state(),
        largest in prop_oneof![1 => 0..3000_usize, 3 => Just(1 << 20)],
    ) {
        let limits = Limits { largest_book: largest };
        let mut messages: Vec<Message> =
            records(&states, limits).into_iter().map(Some).zip(states).collect();
        for (message, kept) in messages.iter_mut().zip(kept) {
            if !kept {
                message.0 = None;
            }
        }
        let text = file(&messages);
        let tip = Records::of(&Chat::read(&text, ChatKind::Solo)).tip(messages.len() - 1);
        let next = record(tip.as_ref().map(|(id, state)| (id.as_str(), state)), &now, Limits::default());
        messages.push((Some(next), now.clone()));
        let last = messages.len() - 1;
        prop_assert_eq!(folds(&messages).pop().flatten(), Some(Folded { message: last, state: now }));
    }

    #[test]
    fn lost_records_make_no_false_claim(states in states(), kept in vec(any::<bool>(), 10)) {
        let mut messages = recorded_messages(&states);
        for (message, kept) in messages.iter_mut().zip(kept) {
            if !kept {
                message.0 = None;
            }
        }
        check_claims(&messages)?;
    }

    #[test]
    fn messages_lost_moved_or_doubled_make_no_false_claim(
        states in states(),
        order in vec(any::<prop::sample::Index>(), 1..12),
    ) {
        let messages = recorded_messages(&states);
        let mixed: Vec<Message> = order.iter().map(|at| messages[at.index(messages.len())].clone()).collect();
        check_claims(&mixed)?;
    }

    #[test]
    fn records_that_lie_make_no_false_claim(
        states in states(),
        liar in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
    ) {
        let mut messages = recorded_messages(&states);
        let id = messages[other.index(messages.len())].0.as_ref().unwrap().id.clone();
        let at = liar.index(messages.len());
        if messages[at].0.as_ref().unwrap().id != id {
            // The record claims to lead to a state other than its own.
            messages[at].0.as_mut().unwrap().id = id.clone();
            messages[at].1 = states.iter().find(|state| state.id() == id).unwrap().clone();
        }
        check_claims(&messages)?;
    }

    #[test]
    fn a_book_too_large_is_never_made_up(states in states(), largest in 0..400_usize) {
        let records = records(&states, Limits { largest_book: largest });
        let messages: Vec<Message> = records.into_iter().map(Some).zip(states).collect();
        for (asked, folded) in folds(&messages).into_iter().enumerate() {
            let Some(Folded { message, state }) = folded else { continue };
            prop_assert!(message <= asked);
            prop_assert_eq!(&state, &messages[message].1);
        }
    }
}
