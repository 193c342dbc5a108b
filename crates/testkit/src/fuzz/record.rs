use forklore_core::journal::{Limits, Record, Records, Writer, inserted, merged};
use forklore_json::{Json, Object};

/// One record of the journal, or an array of them as the messages of a chat carry them.
pub fn record(bytes: &[u8]) {
    let Ok(json) = Json::parse(bytes) else { return };
    let list = match json {
        Json::Array(list) => list,
        one => vec![one],
    };
    let records = Record::all_from_json(&list);
    assert_eq!(records.len(), list.len());
    for record in records.iter().flatten().take(8) {
        comes_back(record);
    }
    for pair in records.windows(2).take(8) {
        let [Some(earlier), Some(later)] = pair else { continue };
        if let Some(merged) = merged(earlier, later) {
            assert_eq!(merged.id, later.id);
            comes_back(&merged);
        }
        if let Some((between, later)) = inserted(earlier, later, "x") {
            comes_back(&between);
            comes_back(&later);
        }
    }
    folds(&records);
    writes_on(records);
}

/// A record reads back as what it is, also from its text.
fn comes_back(record: &Record) {
    let json = record.to_json();
    let again = Record::from_json(&json).expect("what we write, we read");
    assert_eq!(&again, record);
    let text = json.stringify();
    assert_eq!(again.to_json().stringify(), text);
    let from_text = Record::from_json(&Json::parse(&text).expect("it is JSON"));
    let from_text = from_text.expect("what we write, we read");
    assert_eq!(from_text.to_json().stringify(), text);
}

fn folds(records: &[Option<Record>]) {
    let records: Records = records.iter().cloned().collect();
    for message in (0..records.len()).rev().take(8) {
        let newest = records.newest(message);
        assert!(newest.is_none_or(|folded| folded.message <= message));
        if let Some((id, state)) = records.tip(message) {
            drop((id, state.id(), state.to_json()));
        }
        assert!(message + 1 < records.len() || records.testimony(message).is_none());
    }
}

/// The writer goes on from whatever it finds.
fn writes_on(records: Vec<Option<Record>>) {
    let count = records.len();
    let mut writer = Writer::new(Limits::default(), "x");
    let changed = writer.open(records);
    assert!(changed.iter().all(|message| *message < count));
    writer.observe_metadata(&Json::from(Object::new()));
    for record in [writer.record(), writer.arrive()].into_iter().flatten() {
        comes_back(&record);
    }
}
