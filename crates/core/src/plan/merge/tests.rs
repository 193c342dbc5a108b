use super::*;
use forklore_json::Indent;

fn entry(uid: i64, title: &str, content: &str) -> Json {
    Json::object([
        ("uid", Json::from(uid)),
        ("comment", Json::from(title)),
        ("content", Json::from(content)),
        ("order", Json::from(100_i64)),
    ])
}

fn with(entry: Json, field: &str, value: impl Into<Json>) -> Json {
    let mut entry = entry;
    if let Some(object) = entry.as_object_mut() {
        object.insert(field, value);
    }
    entry
}

fn book(entries: &[Json]) -> Vec<u8> {
    let key = |entry: &Json| entry.get("uid").and_then(Json::as_i64).unwrap().to_string();
    let entries: Object = entries.iter().map(|entry| (key(entry), entry.clone())).collect();
    Json::object([("entries", Json::Object(entries))]).stringify_with(Indent::BOOK)
}

struct Merged {
    plan: MergePlan,
    book: Json,
}

fn merge(base: &[Json], ours: &[Json], theirs: &[Json], choices: &Choices) -> Merged {
    let [base, ours, theirs] = [base, ours, theirs].map(book);
    let (base, ours) = (Book::read(&base).unwrap(), Book::read(&ours).unwrap());
    let theirs = Book::read(&theirs).unwrap();
    let plan = plan(BaseBook::Known(Some(&base)), &ours, &theirs, choices);
    let book = Json::parse(&plan.apply(&ours)).unwrap();
    Merged { plan, book }
}

impl Merged {
    fn text(&self, uid: &str, field: &str) -> Option<String> {
        Some(self.book.at(&["entries", uid, field])?.as_str()?.into_owned())
    }
}

#[test]
fn different_fields_of_one_entry_combine() {
    let mara = entry(7, "Mara", "captain");
    let ours = with(mara.clone(), "content", "admiral");
    let theirs = with(mara.clone(), "order", 5_i64);
    let merged = merge(&[mara], &[ours], &[theirs], &Choices::default());
    assert_eq!(merged.plan.conflicts, []);
    assert_eq!(merged.text("7", "content").as_deref(), Some("admiral"));
    assert_eq!(merged.book.at(&["entries", "7", "order"]), Some(&Json::from(5_i64)));
}

#[test]
fn one_field_changed_on_both_sides_is_somebodys_choice() {
    let mara = entry(7, "Mara", "captain");
    let (ours, theirs) = (entry(7, "Mara", "admiral"), entry(7, "Mara", "pirate"));
    let content = |choice: Option<Choice>| {
        let settled = choice
            .map(|choice| ("7".into(), Settlement::Fields([("content".into(), choice)].into())));
        let choices = Choices { settled: settled.into_iter().collect(), ..Choices::default() };
        let merged = merge(
            std::slice::from_ref(&mara),
            std::slice::from_ref(&ours),
            std::slice::from_ref(&theirs),
            &choices,
        );
        assert_eq!(merged.plan.conflicts.len(), 1);
        (merged.plan.open_conflicts().count(), merged.text("7", "content").unwrap())
    };
    assert_eq!(content(None), (1, "admiral".into()));
    assert_eq!(content(Some(Choice::Take(Pick::Ours))), (0, "admiral".into()));
    assert_eq!(content(Some(Choice::Take(Pick::Theirs))), (0, "pirate".into()));
    assert_eq!(content(Some(Choice::Value("both".into()))), (0, "both".into()));
}

#[test]
fn removed_here_and_changed_there_is_somebodys_choice() {
    let mara = entry(7, "Mara", "captain");
    let changed = entry(7, "Mara", "pirate");
    let picked = |ours: &[Json], theirs: &[Json], otherwise| {
        let choices = Choices { otherwise, ..Choices::default() };
        let merged = merge(std::slice::from_ref(&mara), ours, theirs, &choices);
        assert_eq!(merged.plan.conflicts.len(), 1);
        merged.text("7", "content")
    };
    let there = [changed.clone()];
    assert_eq!(picked(&[], &there, None), None);
    assert_eq!(picked(&[], &there, Some(Pick::Theirs)).as_deref(), Some("pirate"));
    assert_eq!(picked(&there, &[], None).as_deref(), Some("pirate"));
    assert_eq!(picked(&there, &[], Some(Pick::Theirs)), None);
}

#[test]
fn two_entries_born_under_one_uid_both_stay_and_the_registry_follows() {
    let registry =
        |lines: &str| entry(0, "_registry_character", &format!("[Registry: character]{lines}"));
    let mara = "\n- UID=1 | name: Mara | aliases: — | synopsis: captain";
    let bo = "\n- UID=1 | name: Bo | aliases: — | synopsis: smith";
    let merged = merge(
        &[registry("")],
        &[registry(mara), entry(1, "character-Mara", "captain")],
        &[registry(bo), with(entry(1, "character-Bo", "smith"), "displayIndex", 1_i64)],
        &Choices::default(),
    );
    assert_eq!(merged.plan.moved, [("1".into(), "2".into())]);
    assert_eq!(merged.text("1", "comment").as_deref(), Some("character-Mara"));
    assert_eq!(merged.text("2", "comment").as_deref(), Some("character-Bo"));
    let number = Some(&Json::from(2_i64));
    assert_eq!(merged.book.at(&["entries", "2", "uid"]), number);
    assert_eq!(merged.book.at(&["entries", "2", "displayIndex"]), number);
    let listed = format!("[Registry: character]{mara}{}", bo.replace("UID=1", "UID=2"));
    assert_eq!(merged.text("0", "content"), Some(listed));
}

#[test]
fn only_what_is_wanted_comes() {
    let (mara, bo) = (entry(7, "Mara", "captain"), entry(8, "Bo", "smith"));
    let theirs = [
        with(entry(7, "Mara", "pirate"), "order", 5_i64),
        entry(8, "Bo", "king"),
        entry(9, "Cy", "new"),
    ];
    let only = [("7".into(), Wanted::Fields(vec!["order".into()])), ("9".into(), Wanted::Whole)];
    let choices = Choices { only: Some(only.into()), ..Choices::default() };
    let merged = merge(&[mara.clone(), bo.clone()], &[mara, bo], &theirs, &choices);
    assert_eq!(merged.text("7", "content").as_deref(), Some("captain"));
    assert_eq!(merged.book.at(&["entries", "7", "order"]), Some(&Json::from(5_i64)));
    assert_eq!(merged.text("8", "content").as_deref(), Some("smith"));
    assert_eq!(merged.text("9", "content").as_deref(), Some("new"));
}

#[test]
fn namesakes_are_told() {
    let merged = merge(
        &[],
        &[entry(1, "Mara", "captain")],
        &[entry(5, "Mara", "another Mara")],
        &Choices::default(),
    );
    let expected = Namesakes { ours: "1".into(), theirs: "5".into(), title: "Mara".into() };
    assert_eq!(merged.plan.namesakes, [expected]);
}

#[test]
fn a_line_about_an_entry_that_is_not_there_is_not_brought() {
    let registry = |lines: &str| entry(0, "_registry_character", &format!("[Registry]{lines}"));
    let merged = merge(
        &[registry("")],
        &[registry(""), entry(3, "character-Cy", "somebody else")],
        &[
            registry("\n- UID=1 | name: Bo\n- UID=3 | name: Mara"),
            entry(1, "character-Bo", "smith"),
        ],
        &Choices::default(),
    );
    assert_eq!(merged.text("0", "content").as_deref(), Some("[Registry]\n- UID=1 | name: Bo"));
}

/// An entry after SillyTavern's editor has shown it.
fn filled_in(entry: Json) -> Json {
    let filter = r#"{"isExclude":false,"names":[],"tags":[]}"#;
    let entry = with(entry, "characterFilter", Json::parse(filter.as_bytes()).unwrap());
    let entry = with(with(entry, "role", Json::Null), "disable", false);
    with(with(entry, "addMemo", true), "sticky", 0_i64)
}

#[test]
fn what_the_editor_fills_in_is_nothing_to_bring() {
    let mara = entry(7, "Mara", "captain");
    let shown = filled_in(mara.clone());
    for (base, ours, theirs) in
        [(&mara, &mara, &shown), (&mara, &shown, &mara), (&shown, &shown, &mara)]
    {
        let [base, ours, theirs] = [base, ours, theirs].map(|entry| vec![entry.clone()]);
        let merged = merge(&base, &ours, &theirs, &Choices::default());
        assert!(merged.plan.is_empty() && merged.plan.conflicts.is_empty(), "{:?}", merged.plan);
        let [ours, theirs] = [ours, theirs].map(|entries| book(&entries));
        let (ours, theirs) = (Book::read(&ours).unwrap(), Book::read(&theirs).unwrap());
        let unknown = plan(BaseBook::Unknown, &ours, &theirs, &Choices::default());
        assert!(unknown.is_empty() && unknown.conflicts.is_empty(), "{unknown:?}");
    }
}

#[test]
fn an_entry_that_was_only_shown_may_be_removed_without_asking() {
    let mara = entry(7, "Mara", "captain");
    let shown = [filled_in(mara.clone())];
    let base = [mara];
    let merged = merge(&base, &shown, &[], &Choices::default());
    assert_eq!(merged.plan.conflicts, []);
    assert_eq!(merged.text("7", "content"), None);
    let merged = merge(&base, &[], &shown, &Choices::default());
    assert_eq!(merged.plan.conflicts, []);
    assert!(merged.plan.is_empty());
}

#[test]
fn an_entry_that_only_they_changed_comes_as_it_is_written() {
    let mara = entry(7, "Mara", "captain");
    let theirs = filled_in(with(mara.clone(), "content", "pirate"));
    let ours = with(mara.clone(), "addMemo", true);
    let merged = merge(&[mara], &[ours], std::slice::from_ref(&theirs), &Choices::default());
    assert_eq!(merged.plan.steps[0].fields, [JsText::from("content")]);
    assert_eq!(merged.book.at(&["entries", "7"]), Some(&theirs));
}

#[test]
fn a_field_set_back_to_its_default_comes_over() {
    let early = entry(7, "Mara", "captain");
    let early = with(early, "order", 5_i64);
    let merged = merge(
        std::slice::from_ref(&early),
        &[filled_in(early.clone())],
        &[with(early.clone(), "order", 100_i64)],
        &Choices::default(),
    );
    assert_eq!(merged.plan.conflicts, []);
    assert_eq!(merged.book.at(&["entries", "7", "order"]), Some(&Json::from(100_i64)));
}

#[test]
fn secondary_keys_come_with_what_is_said_about_using_them() {
    let mara = with(entry(7, "Mara", "captain"), "selective", false);
    let keys = with(mara.clone(), "keysecondary", vec![Json::from("ship")]);
    // The editor sets it whenever it shows an entry.
    let ours = with(mara.clone(), "content", "pirate");
    let theirs = with(keys, "selective", true);
    let merged = merge(&[mara], &[ours], &[theirs], &Choices::default());
    assert_eq!(merged.plan.conflicts, []);
    assert_eq!(merged.book.at(&["entries", "7", "selective"]), Some(&Json::Bool(true)));
    assert_eq!(merged.text("7", "content").as_deref(), Some("pirate"));
}

#[test]
fn a_missing_field_without_a_base_is_asked_about_like_its_default() {
    let mara = entry(7, "Mara", "captain");
    let off = with(mara.clone(), "disable", true);
    let on = with(mara.clone(), "disable", false);
    for other in [&mara, &on] {
        for (ours, theirs) in [(other, &off), (&off, other)] {
            let [ours, theirs] = [ours, theirs].map(|entry| book(std::slice::from_ref(entry)));
            let (ours, theirs) = (Book::read(&ours).unwrap(), Book::read(&theirs).unwrap());
            let plan = plan(BaseBook::Unknown, &ours, &theirs, &Choices::default());
            assert_eq!(plan.conflicts.len(), 1, "{plan:?}");
        }
    }
}
