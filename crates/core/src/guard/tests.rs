use super::*;
use crate::plan::merge::{Choices, Pick};
use forklore_json::Json;

/// A book of entries `(key, content)`.
fn book(entries: &[(u32, &str)]) -> Vec<u8> {
    let entry = |(uid, content): &(u32, &str)| {
        format!(r#""{uid}":{{"uid":{uid},"comment":"Entry {uid}","content":"{content}"}}"#)
    };
    let entries: Vec<String> = entries.iter().map(entry).collect();
    format!(r#"{{"entries":{{{}}}}}"#, entries.join(",")).into_bytes()
}

fn contents(text: &[u8]) -> Vec<(String, String)> {
    let value = Json::parse(text).unwrap();
    let entries = value.get("entries").unwrap().members();
    let text = |entry: &Json| entry.get("content").unwrap().as_str().unwrap().into_owned();
    entries.map(|(key, entry)| (key.into_owned(), text(entry))).collect()
}

fn moves(moves: &[(&str, i64)]) -> Moves {
    moves.iter().copied().collect()
}

fn choices() -> Choices {
    Choices { is_one_book: true, ..Choices::default() }
}

#[test]
fn of_two_new_entries_with_one_number_ours_is_moved() {
    let before = book(&[(0, "known")]);
    let (ours, theirs) = (book(&[(0, "known"), (1, "ours")]), book(&[(0, "known"), (1, "theirs")]));
    let save = merge_save(&before, &ours, &theirs, &Moves::default(), &choices()).unwrap();
    assert_eq!(save.moves, moves(&[("1", 2)]));
    let expected = [("0", "known"), ("1", "theirs"), ("2", "ours")];
    assert_eq!(contents(&save.merged.text), expected.map(|(key, text)| (key.into(), text.into())));
    let uid = Json::parse(&save.merged.text).unwrap();
    assert_eq!(uid.at(&["entries", "2", "uid"]), Some(&Json::from(2_i64)));
    // From now on, the page's copy of the entry is the one with the other number.
    let again = book(&[(0, "known"), (1, "ours, again")]);
    let next =
        merge_save(&ours, &again, &save.merged.text, &save.moves, &choices()).unwrap().merged;
    let expected = [("0", "known"), ("1", "theirs"), ("2", "ours, again")];
    assert_eq!(contents(&next.text), expected.map(|(key, text)| (key.into(), text.into())));
}

#[test]
fn an_entry_that_is_added_under_a_number_in_use_on_the_server_is_moved_too() {
    // The page has its entry 1 on the server as 2. Its own next entry gets the number 2.
    let before = book(&[(0, "known"), (1, "first")]);
    let ours = book(&[(0, "known"), (1, "first"), (2, "second")]);
    let theirs = book(&[(0, "known"), (1, "theirs"), (2, "first")]);
    let save = merge_save(&before, &ours, &theirs, &moves(&[("1", 2)]), &choices()).unwrap();
    assert_eq!(save.moves, moves(&[("1", 2), ("2", 3)]));
    let expected = [("0", "known"), ("1", "theirs"), ("2", "first"), ("3", "second")];
    assert_eq!(contents(&save.merged.text), expected.map(|(key, text)| (key.into(), text.into())));
}

#[test]
fn moves_are_made_all_at_once() {
    let text = book(&[(1, "one"), (2, "two")]);
    let moved = moves(&[("1", 2), ("2", 1), ("7", 3)]).apply(&text).unwrap().into_owned();
    let expected = [("1", "two"), ("2", "one")];
    assert_eq!(contents(&moved), expected.map(|(key, text)| (key.into(), text.into())));
    assert_eq!(moves(&[("1", 2), ("7", 3)]).within(&text), moves(&[("1", 2)]));
}

#[test]
fn a_move_keeps_every_other_byte_and_the_kind_of_number() {
    let text =
        br#"{ "entries": {"1":{"uid":"1","displayIndex":1,"x":1.0}, "5":{"y" :1e1}},"z":"\ud800"}"#;
    let moved = moves(&[("1", 9)]).apply(text).unwrap().into_owned();
    let expected =
        r#"{ "entries": {"5":{"y" :1e1},"9":{"uid":"9","displayIndex":9,"x":1}},"z":"\ud800"}"#;
    assert_eq!(String::from_utf8(moved).unwrap(), expected);
}

#[test]
fn entries_that_ar_finds_by_title_are_not_moved() {
    let queue = |content: &str| {
        let entry = format!(r#"{{"uid":1,"comment":"__operation_queue","content":"{content}"}}"#);
        format!(r#"{{"entries":{{"1":{entry}}}}}"#).into_bytes()
    };
    let before = book(&[]);
    let save = merge_save(&before, &queue("a"), &queue("b"), &Moves::default(), &choices());
    assert!(save.unwrap().moves.is_empty());
}

#[test]
fn an_entry_of_an_earlier_save_is_the_one_that_was_edited_since() {
    let before = book(&[]);
    let written = book(&[(0, "new")]);
    let refreshed = |later: &[&[u8]], now: &[u8]| {
        let text = refresh_own_additions(&before, &written, later, now).unwrap();
        contents(&text)[0].1.clone()
    };
    let edited = book(&[(0, "edited")]);
    assert_eq!(refreshed(&[], &edited), "edited", "it has the same title");
    let other = edited.iter().map(|byte| if *byte == b'E' { b'O' } else { *byte });
    let other: Vec<u8> = other.collect();
    assert_eq!(refreshed(&[], &other), "new", "it is another device's");
    assert_eq!(refreshed(&[&written], &other), "edited", "it was there at a later save");
    assert_eq!(refreshed(&[], &book(&[])), "new");
}

/// A book whose card has a form of each entry.
fn imported(name: &str, entries: &[(u32, &str)], forms: &[(u32, &str)]) -> Vec<u8> {
    let form = |(uid, content): &(u32, &str)| format!(r#"{{"uid":{uid},"content":"{content}"}}"#);
    let forms: Vec<String> = forms.iter().map(form).collect();
    let mut text = String::from_utf8(book(entries)).unwrap();
    text.pop();
    let forms = forms.join(",");
    format!(r#"{text},"originalData":{{"name":"{name}","entries":[{forms}]}}}}"#).into_bytes()
}

fn forms(text: &[u8]) -> Vec<(i64, String)> {
    let value = Json::parse(text).unwrap();
    let forms = value.at(&["originalData", "entries"]).unwrap().as_array().unwrap();
    let text = |form: &Json| form.get("content").unwrap().as_str().unwrap().into_owned();
    forms.iter().map(|form| (form.get("uid").unwrap().as_i64().unwrap(), text(form))).collect()
}

#[test]
fn the_cards_form_of_an_entry_comes_from_the_side_of_the_entry() {
    let start = [(0, "a"), (1, "b"), (2, "c"), (3, "d")];
    let before = imported("Card", &start, &start);
    let our = [(0, "ours"), (1, "b"), (3, "d")];
    let their = [(0, "a"), (1, "theirs"), (2, "c")];
    let (ours, theirs) = (imported("Card", &our, &our), imported("Card", &their, &their));
    let save = merge_save(&before, &ours, &theirs, &Moves::default(), &choices()).unwrap();
    assert_eq!(save.merged.plan.conflicts, []);
    assert_eq!(forms(&save.merged.text), [(0, "ours".into()), (1, "theirs".into())]);
}

#[test]
fn the_cards_form_of_an_entry_that_both_changed_has_the_fields_that_were_chosen() {
    let before = imported("Card", &[(0, "a")], &[(0, "a")]);
    let ours = imported("Ours", &[(0, "ours")], &[(0, "ours")]);
    let theirs = imported("Theirs", &[(0, "theirs")], &[(0, "theirs")]);
    let merged = |otherwise| {
        let choices = Choices { otherwise, ..choices() };
        merge_books(&before, &ours, &theirs, &choices).unwrap()
    };
    assert_eq!(merged(None).plan.conflicts.len(), 1, "only the entry is asked about");
    assert_eq!(forms(&merged(Some(Pick::Ours)).text), [(0, "ours".into())]);
    assert_eq!(forms(&merged(Some(Pick::Theirs)).text), [(0, "theirs".into())]);
}

#[test]
fn what_is_no_book_is_an_error() {
    for text in ["", "null", "{}", r#"{"entries":[]}"#, "\u{feff}"] {
        let (text, good) = (text.as_bytes(), book(&[]));
        for [before, ours, theirs] in
            [[text, &good, &good], [&good, text, &good], [&good, &good, text]]
        {
            assert!(merge_save(before, ours, theirs, &moves(&[("1", 2)]), &choices()).is_err());
        }
        assert!(moves(&[("1", 2)]).within(text).is_empty());
    }
}

fn read(text: &[u8]) -> Event {
    Event::Read(text.to_vec())
}

/// Saves a book in a page that has the server to itself. Returns the recheck, if there is one.
fn save(guard: &mut Guard, name: &str, text: &[u8], server: &[u8]) -> Option<JobId> {
    let job = guard.begin(name, None, text);
    let actions = guard.next(job, Event::Turn).unwrap();
    if let [Action::Read] = &actions[..] {
        let actions = guard.next(job, read(server)).unwrap();
        assert!(matches!(&actions[..], [Action::Send(None)]), "{actions:?}");
    }
    let actions = guard.next(job, Event::Sent(true)).unwrap();
    match &actions[..] {
        [] => None,
        [Action::Recheck(id)] => Some(*id),
        other => panic!("{other:?}"),
    }
}

#[test]
fn texts_that_no_save_can_need_are_dropped() {
    let mut guard = Guard::default();
    for round in 0..500_u32 {
        let name = format!("Book {}", round % 100);
        let (old, new) = (book(&[(0, "old")]), book(&[(0, "new")]));
        guard.remember(&name, &old);
        guard.cached(&name, round, None);
        guard.copied(round, 1000 + round, Some(&new));
        match round % 5 {
            0 => {
                let job = guard.begin(&name, Some(round), &new);
                guard.next(job, Event::Failed).unwrap();
            }
            1 => {
                let job = guard.begin(&name, Some(round), &new);
                guard.next(job, Event::Sent(true)).unwrap();
            }
            _ => {
                let recheck = save(&mut guard, &name, &new, &old).unwrap();
                guard.next(recheck, Event::Turn).unwrap();
                assert!(guard.next(recheck, read(&new)).unwrap().is_empty());
            }
        }
        guard.release(round);
        guard.release(1000 + round);
    }
    assert!(guard.weight() <= 100, "{}", guard.weight());
    // A server that refuses every save does not make the page remember them all.
    for _ in 0..500 {
        let job = guard.begin("Book 0", None, &book(&[(0, "refused")]));
        guard.next(job, Event::Sent(false)).unwrap();
    }
    assert!(guard.weight() <= 100, "{}", guard.weight());
}

#[test]
fn a_save_is_based_on_the_version_of_its_own_copy() {
    let (start, cached) = (book(&[(0, "a"), (1, "b")]), book(&[(0, "cached"), (1, "b")]));
    let mut guard = Guard::default();
    guard.remember("Lore", &start);
    guard.cached("Lore", 1, None);
    guard.copied(1, 2, Some(&start));
    // The page's own copy is edited and saved; then the copy, which does not have that edit.
    let job = guard.begin("Lore", Some(1), &cached);
    guard.next(job, Event::Turn).unwrap();
    guard.next(job, read(&start)).unwrap();
    guard.next(job, Event::Sent(true)).unwrap();
    let job = guard.begin("Lore", Some(2), &book(&[(0, "a"), (1, "copied")]));
    guard.next(job, Event::Turn).unwrap();
    let actions = guard.next(job, read(&cached)).unwrap();
    let [Action::Send(Some(text))] = &actions[..] else { panic!("{actions:?}") };
    assert_eq!(**text, *book(&[(0, "cached"), (1, "copied")]));
}

#[test]
fn what_another_device_has_written_since_is_not_what_a_copy_is_based_on() {
    let (start, own) = (book(&[(0, "a"), (1, "b")]), book(&[(0, "a"), (1, "ours")]));
    let theirs = book(&[(0, "theirs"), (1, "b")]);
    let mut guard = Guard::default();
    guard.remember("Lore", &start);
    guard.cached("Lore", 1, None);
    assert!(guard.is_based_on("Lore", 1, &start));
    assert!(!guard.is_based_on("Lore", 1, &theirs));
    assert!(guard.is_based_on("Lore", 9, &theirs), "nothing is known of this copy");
    // A save whose answer has not come yet may have arrived.
    let job = guard.begin("Lore", Some(1), &own);
    assert!(guard.is_based_on("Lore", 1, &start) && guard.is_based_on("Lore", 1, &own));
    guard.next(job, Event::Turn).unwrap();
    guard.next(job, read(&start)).unwrap();
    guard.next(job, Event::Sent(true)).unwrap();
    assert!(guard.is_based_on("Lore", 1, &own) && !guard.is_based_on("Lore", 1, &start));
}

#[test]
fn a_copy_of_the_first_of_two_answers_is_based_on_it() {
    let (first, second) = (book(&[(0, "first")]), book(&[(0, "second")]));
    let mut guard = Guard::default();
    guard.remember("Lore", &first);
    assert!(!guard.was_read_twice("Lore"));
    guard.remember("Lore", &second);
    assert!(guard.was_read_twice("Lore"));
    guard.cached("Lore", 1, Some(&first));
    let job = guard.begin("Lore", Some(1), &book(&[(0, "first"), (1, "added")]));
    guard.next(job, Event::Turn).unwrap();
    let actions = guard.next(job, read(&second)).unwrap();
    let text = actions.iter().find_map(|action| match action {
        Action::Send(Some(text)) => Some(text.clone()),
        _ => None,
    });
    assert_eq!(*text.unwrap(), *book(&[(0, "second"), (1, "added")]));
}

#[test]
fn the_questions_about_one_save_end() {
    let (start, ours) = (book(&[(0, "a")]), book(&[(0, "ours")]));
    let mut guard = Guard::default();
    guard.remember("Lore", &start);
    let job = guard.begin("Lore", None, &ours);
    let mut questions = 0;
    // Every time it is asked, the other page has written something else.
    loop {
        guard.next(job, Event::Turn).unwrap();
        let theirs = book(&[(0, &format!("theirs {questions}"))]);
        let actions = guard.next(job, read(&theirs)).unwrap();
        let Some(Action::Ask(conflicts)) = actions.last() else {
            let kept = actions.iter().find_map(|action| match action {
                Action::Keep(kept) => Some(kept.versions[0].text.to_vec()),
                _ => None,
            });
            assert_eq!(kept.as_deref(), Some(&theirs[..]), "what loses is kept");
            assert!(matches!(actions.last(), Some(Action::Send(None))));
            break;
        };
        assert_eq!(conflicts.len(), 1);
        questions += 1;
        guard.next(job, Event::Answered(Some(Default::default()))).unwrap();
    }
    assert_eq!(questions, 4);
}

#[test]
fn a_lost_save_is_put_back_unless_forklore_wrote_since() {
    let (start, ours) = (book(&[(0, "a"), (1, "b")]), book(&[(0, "ours"), (1, "b")]));
    let stale = book(&[(0, "a"), (1, "theirs")]);
    for forklore_writes in [false, true] {
        let mut guard = Guard::default();
        guard.remember("Lore", &start);
        let recheck = save(&mut guard, "Lore", &ours, &start).unwrap();
        guard.next(recheck, Event::Turn).unwrap();
        if forklore_writes {
            guard.wrote("Lore", &stale);
        }
        let actions = guard.next(recheck, read(&stale)).unwrap();
        match &actions[..] {
            [] => assert!(forklore_writes),
            [Action::Write(text)] => {
                assert!(!forklore_writes);
                assert_eq!(**text, *book(&[(0, "ours"), (1, "theirs")]));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_save_that_could_not_be_checked_is_put_back_by_the_next_one() {
    let (start, ours) = (book(&[(0, "a"), (1, "b")]), book(&[(0, "ours"), (1, "b")]));
    let stale = book(&[(0, "a"), (1, "theirs")]);
    for (event, expected) in [(Event::Failed, "ours"), (Event::SwitchedOff, "a")] {
        let mut guard = Guard::default();
        guard.remember("Lore", &start);
        let recheck = save(&mut guard, "Lore", &ours, &start).unwrap();
        guard.next(recheck, event).unwrap();
        let next = book(&[(0, "ours"), (1, "b"), (2, "new")]);
        let job = guard.begin("Lore", None, &next);
        guard.next(job, Event::Turn).unwrap();
        let actions = guard.next(job, read(&stale)).unwrap();
        let Some(Action::Send(Some(text))) = actions.last() else { panic!("{actions:?}") };
        assert_eq!(contents(text)[0].1, expected);
    }
}

#[test]
fn a_save_with_the_guard_off_is_the_base_of_the_next_one() {
    let (start, ours) = (book(&[(0, "a")]), book(&[(0, "ours")]));
    let mut guard = Guard::default();
    guard.remember("Lore", &start);
    let job = guard.begin("Lore", None, &ours);
    assert!(guard.next(job, Event::Sent(true)).unwrap().is_empty());
    let job = guard.begin("Lore", None, &book(&[(0, "ours"), (1, "new")]));
    guard.next(job, Event::Turn).unwrap();
    let actions = guard.next(job, read(&book(&[(0, "theirs")]))).unwrap();
    let Some(Action::Send(Some(text))) = actions.last() else { panic!("{actions:?}") };
    assert_eq!(**text, *book(&[(0, "theirs"), (1, "new")]));
}
