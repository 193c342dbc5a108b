//! The requests that save children: which they are, and what becomes of them if a fork fails.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use forklore_core::finding::{Remark, WithoutBook};
use forklore_core::plan::book_copy::NewBook;
use forklore_core::plan::fork::child_save::{ChildSave, OpenChat, SaveContext};
use forklore_core::plan::fork::decision::{
    Choice, Decision, ForkSettings, Step, WhenBusy, WhenInexact,
};
use forklore_core::plan::fork::{CharacterBook, Policy, Timestamp};
use forklore_core::sillytavern::chat::ChatKind;
use forklore_core::sillytavern::names::ForkKind;
use forklore_core::sillytavern::save_request::SaveRequest;
use forklore_core::timeline::books_named::BooksNamed;
use forklore_core::timeline::seal::{LeftOut, Seal};
use forklore_json::{Json, Object, Raw};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

const SLUG: &str = "the child's own slug";

fn open() -> OpenChat {
    OpenChat {
        name: "Main".into(),
        kind: ChatKind::Solo,
        integrity: Some("i".into()),
        book: Some("Lore".into()),
    }
}

fn body(metadata: &str) -> String {
    format!(
        r#"{{"ch_name":"Ada","file_name":"Child","id":"Child","chat":[{{"chat_metadata":{metadata},"user_name":"unused"}},{{"mes":"a","n":1.0}},{{"mes":"\ud800"}}],"avatar_url":"Ada.png"}}"#
    )
}

fn now() -> Timestamp {
    Timestamp { iso: "2026-11-15T00:00:00.000Z".into() }
}

fn read(body: &str, kind: ChatKind) -> Option<ChildSave<'_>> {
    ChildSave::of(SaveRequest::read(body.as_bytes(), kind).unwrap(), &open(), None)
}

#[test]
fn children_conversions_and_the_rest_are_told_apart() {
    let kind = |kind, metadata: &str| {
        read(&body(metadata), kind)
            .map(|child| if child.is_conversion { "conversion" } else { "child" })
    };
    let (solo, group) = (ChatKind::Solo, ChatKind::Group);
    let child = r#"{"main_chat":"Main","world_info":"Lore","integrity":"j"}"#;
    assert_eq!(kind(solo, child), Some("child"));
    assert_eq!(kind(solo, r#"{"world_info":"Lore","integrity":"i"}"#), None);
    assert_eq!(kind(group, r#"{"world_info":"Lore","integrity":"i"}"#), Some("conversion"));
    assert_eq!(kind(group, r#"{"world_info":"Lore","integrity":"another"}"#), None);
    assert_eq!(kind(group, r#"{"world_info":"Else","integrity":"i"}"#), None);
    assert_eq!(kind(solo, r#"{"main_chat":"","world_info":"Lore"}"#), None);
    assert_eq!(kind(solo, "5"), None);
    assert!(read(r#"{"chat":[]}"#, solo).is_none());
}

#[test]
fn a_child_of_the_open_chat_with_another_book_is_left_alone() {
    let child = |metadata: &str| read(&body(metadata), ChatKind::Solo).is_some();
    assert!(!child(r#"{"main_chat":"Main","world_info":"Theirs"}"#));
    assert!(child(r#"{"main_chat":"Main","world_info":"Lore"}"#));
    assert!(child(r#"{"main_chat":"Main"}"#));
    assert!(
        child(r#"{"main_chat":"Another","world_info":"Theirs"}"#),
        "whose book that is, nobody knows"
    );
}

#[test]
fn the_parents_slug_is_not_the_childs() {
    let of = |metadata: &str| read(&body(metadata), ChatKind::Solo).unwrap().integrity;
    assert_eq!(of(r#"{"main_chat":"Main","integrity":"j"}"#).as_deref(), Some("j"));
    assert_eq!(of(r#"{"main_chat":"Main","integrity":"i"}"#), None);
    assert_eq!(of(r#"{"main_chat":"Main"}"#), None);
}

#[test]
fn a_lost_book_is_meant_rather_than_its_replacement() {
    let body = body(
        r#"{"main_chat":"Main","world_info":"Lore","STMemoryBooks":{"manualLorebook":"lost"}}"#,
    );
    let request = SaveRequest::read(body.as_bytes(), ChatKind::Solo).unwrap();
    let child = |lost: Option<&str>| {
        let child = ChildSave::of(request, &open(), lost.map(str::to_owned)).unwrap();
        (child.book, child.memory_books)
    };
    assert_eq!(child(None), (Some("Lore".into()), vec!["lost".into()]));
    assert_eq!(
        child(Some("Lost")),
        (Some("Lost".into()), vec![]),
        "the same book in another spelling"
    );
}

/// A save of a child without a lorebook, whose character has one: its metadata and the new book.
fn saved_beside(book: Option<&[u8]>, policy: Policy) -> (Json, Option<NewBook>, Vec<Remark>) {
    let open = OpenChat { book: None, ..open() };
    let effects = r#"{"sticky":{"Eldoria.4":{"hash":1,"start":0,"end":9}}}"#;
    let body =
        body(&format!(r#"{{"main_chat":"Main","integrity":"j","timedWorldInfo":{effects}}}"#));
    let request = SaveRequest::read(body.as_bytes(), ChatKind::Solo).unwrap();
    let child = ChildSave::of(request, &open, None).unwrap();
    let context = SaveContext {
        kind: ForkKind::Branch,
        books: vec!["Eldoria".into()],
        book: None,
        memories: Vec::new(),
        page_book: None,
        has_memory_books: true,
        character_book: Some(CharacterBook {
            name: "Eldoria".into(),
            bytes: book.map(<[u8]>::to_vec),
        }),
        title: None,
        integrity: SLUG.into(),
        now: Timestamp { iso: "2026-11-15T00:00:00.000Z".into() },
        policy,
        remarks: Vec::new(),
    };
    let plan = child.plan(b"[]", context).unwrap().unwrap();
    (metadata_of(&plan.body), plan.fork.book, plan.fork.remarks)
}

const ELDORIA: &[u8] =
    br#"{"entries":{"4":{"uid":4,"comment":"glade","content":"Light."}},"x":1.0}"#;

#[test]
fn a_child_without_lore_gets_its_own_copy_of_the_characters_lorebook() {
    let (metadata, book, remarks) = saved_beside(Some(ELDORIA), Policy::default());
    let book = book.unwrap();
    assert_eq!(book.name, "Child - Lore");
    assert_eq!(metadata.get("world_info"), Some(&Json::from("Child - Lore")));
    assert_eq!(metadata.get("forklore_instead").unwrap().stringify(), br#"["Eldoria"]"#);
    let (copy, original) = (Json::parse(&book.bytes).unwrap(), Json::parse(ELDORIA).unwrap());
    assert_eq!([copy.get("entries"), copy.get("x")], [original.get("entries"), original.get("x")]);
    let from = copy.at(&["extensions", "forklore", "from", "book"]);
    assert_eq!(from, Some(&Json::from("Eldoria")));
    assert_eq!(metadata.at(&["forklore", "book", "from"]), Some(&Json::from("Eldoria")));
    assert_eq!(metadata.at(&["forklore", "book", "exactness"]), Some(&Json::from("live")));
    let effects = metadata.at(&["timedWorldInfo", "sticky"]).unwrap();
    assert!(effects.get("Child - Lore.4").is_some(), "a running effect goes on in the copy");
    assert_eq!(metadata.get("STMemoryBooks").and_then(|notes| notes.get("manualLorebook")), None);
    assert!(remarks.contains(&Remark::OwnCopy("Eldoria".into())), "{remarks:?}");
}

#[test]
fn a_child_that_shares_the_characters_lorebook_says_so() {
    let without = Policy { leave_book: Some(WithoutBook::Chosen), ..Policy::default() };
    for (book, policy, says) in [
        (None, Policy::default(), true),
        (Some(&b"no book"[..]), Policy::default(), true),
        (Some(ELDORIA), without, false),
    ] {
        let (metadata, made, remarks) = saved_beside(book, policy);
        assert_eq!([metadata.get("world_info"), metadata.get("forklore_instead")], [None, None]);
        assert!(made.is_none());
        assert_eq!(remarks.contains(&Remark::SharesBook("Eldoria".into())), says);
    }
}

#[test]
fn a_child_with_lore_of_its_own_has_nothing_to_do_with_the_characters_lorebook() {
    let body = body(r#"{"main_chat":"Main","world_info":"Lore","integrity":"j"}"#);
    let child = read(&body, ChatKind::Solo).unwrap();
    let context = SaveContext {
        kind: ForkKind::Branch,
        books: vec!["Eldoria".into(), "Lore".into()],
        book: Some(br#"{"entries":{}}"#),
        memories: Vec::new(),
        page_book: None,
        has_memory_books: false,
        character_book: Some(CharacterBook { name: "Eldoria".into(), bytes: Some(ELDORIA.into()) }),
        title: None,
        integrity: SLUG.into(),
        now: Timestamp { iso: "2026-11-15T00:00:00.000Z".into() },
        policy: Policy::default(),
        remarks: Vec::new(),
    };
    let plan = child.plan(b"[]", context).unwrap().unwrap();
    assert_eq!(plan.fork.book.unwrap().entries, 0);
    assert_eq!(plan.fork.remarks, []);
    assert_eq!(metadata_of(&plan.body).get("forklore_instead"), None);
}

/// Values that other extensions and SillyTavern might keep.
fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i32>().prop_map(|number| Json::Number(f64::from(number) / 8.0)),
        "[a-z\"\\\\\n]{0,6}".prop_map(Json::from),
        Just(Json::parse(br#""\udfff""#).unwrap()),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::Array),
            vec(("[a-z]{1,4}", inner), 0..4).prop_map(Json::object),
        ]
    })
}

fn object(keys: &'static [&'static str]) -> impl Strategy<Value = Json> {
    let member = (select(keys), prop_oneof![Just(Json::from("Lore")), value()]);
    vec(member, 0..6).prop_map(|members| members.into_iter().collect::<Object>().into())
}

/// Metadata in which every place that can name a book may be missing, a name, or anything else.
fn metadata() -> impl Strategy<Value = Object> {
    let narrator = vec(object(&["lorebookName", "name"]), 0..3)
        .prop_map(|members| Json::object([("members", Json::Array(members))]));
    let memories = (object(&["manualLorebook", "sceneStart"]), object(&["ada", "bo"]), narrator)
        .prop_map(|(notes, of_characters, narrator)| {
            let mut notes = notes.as_object().unwrap().clone();
            notes.insert("manualCharacterLorebooks", of_characters.clone());
            notes.insert("sidePromptLorebookOverrides", of_characters);
            notes.insert("narratorMode", narrator);
            Json::Object(notes)
        });
    let places = (
        prop::option::of(prop_oneof![object(&["lorebookName", "registry", "x"]), value()]),
        prop::option::of(prop_oneof![memories, value()]),
        prop::option::of(object(&["cloned_lorebook_name", "message_id"])),
        prop::option::of(object(&["format", "book"])),
        object(&["world_info", "integrity", "note_prompt", "variables", "timedWorldInfo"]),
    );
    places.prop_map(|(notes, memories, older, seal, others)| {
        let mut metadata = others.as_object().unwrap().clone();
        let named = [
            ("auto_lorebooks", notes),
            ("STMemoryBooks", memories),
            ("auto_recap_checkpoint_state", older),
            ("forklore", seal),
        ];
        for (key, value) in named {
            value.into_iter().for_each(|value| metadata.insert(key, value));
        }
        metadata.insert("main_chat", "Another");
        metadata
    })
}

/// The same metadata without everything that can name a book.
fn expected(metadata: &Object) -> Json {
    let mut after = metadata.clone();
    for key in ["world_info", "forklore", "auto_recap_checkpoint_state"] {
        after.remove(key);
    }
    let slug = after.get("integrity").filter(|slug| slug.is_truthy() && slug.as_str().is_some());
    let slug = slug.and_then(Json::as_str).map_or(SLUG.to_owned(), |slug| slug.into_owned());
    after.insert("integrity", slug);
    let mut remove = |holder: &str, keys: &[&str]| {
        if let Some(holder) = after.get_mut(holder).and_then(Json::as_object_mut) {
            keys.iter().for_each(|key| drop(holder.remove(key)));
        }
    };
    remove("auto_lorebooks", &["lorebookName"]);
    let Some(notes) = after.get_mut("STMemoryBooks").and_then(Json::as_object_mut) else {
        return after.into();
    };
    remove_names(notes, &["manualLorebook"]);
    for key in ["manualCharacterLorebooks", "sidePromptLorebookOverrides"] {
        if let Some(books) = notes.get_mut(key).and_then(Json::as_object_mut) {
            remove_names(books, &["ada", "bo"]);
        }
    }
    let narrator = notes.get_mut("narratorMode").and_then(Json::as_object_mut);
    if let Some(Json::Array(members)) = narrator.and_then(|narrator| narrator.get_mut("members")) {
        let members = members.iter_mut().filter_map(Json::as_object_mut);
        members.for_each(|member| remove_names(member, &["lorebookName"]));
    }
    after.into()
}

/// Removes texts, which name books unless they are empty.
fn remove_names(object: &mut Object, keys: &[&str]) {
    for key in keys {
        if object.get(key).and_then(Json::as_str).is_some_and(|name| !name.is_empty()) {
            object.remove(key);
        }
    }
}

/// The books that a chat's metadata names, with the seal that ST-Auto-Recap makes.
fn books_named(metadata: &Json) -> Vec<String> {
    let named = BooksNamed::in_metadata(metadata);
    let older = metadata.get("auto_recap_checkpoint_state").map(|seal| format!("{seal:?}"));
    named.own().into_iter().chain(named.recap).chain(older).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(17),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_last_resort_names_no_book_and_changes_nothing_else(metadata in metadata()) {
        // A slug that is not a text is none that the page could make.
        let is_text = |key: &str| metadata.get(key).is_none_or(|value| value.as_str().is_some());
        prop_assume!(is_text("integrity"));
        let text = body(&String::from_utf8(Json::Object(metadata.clone()).stringify()).unwrap());
        let after = read(&text, ChatKind::Solo).unwrap().without_book(SLUG, ForkKind::Branch, &now());

        let before = Raw::document(text.as_bytes()).unwrap();
        let document = Raw::document(&after).unwrap();
        let header = document.get("chat").unwrap().elements().next().unwrap();
        let mut found = header.get("chat_metadata").unwrap().json().unwrap();
        prop_assert_eq!(books_named(&found), Vec::<String>::new());
        let seal = found.as_object_mut().unwrap().remove("forklore");
        prop_assert!(seal.is_none_or(|seal| seal.get("failed") == Some(&true.into())));
        prop_assert_eq!(&found, &expected(&metadata));
        let old = before.get("chat").unwrap().elements().next().unwrap();
        prop_assert_eq!(&after[..header.range().start], &text.as_bytes()[..old.range().start]);
        prop_assert_eq!(&after[header.range().end..], &text.as_bytes()[old.range().end..]);
    }
}

#[test]
fn a_child_whose_fork_failed_knows_that_it_should_have_a_book() {
    let inherited = r#""forklore":{"kind":"branch","parent":{"chat":"Older","message":0}}"#;
    let sealed = |bound: &str| {
        let text = body(&format!(r#"{{"main_chat":"Main",{bound}"integrity":"own",{inherited}}}"#));
        let after =
            read(&text, ChatKind::Solo).unwrap().without_book(SLUG, ForkKind::Checkpoint, &now());
        Seal::of_chat(&metadata_of(&after), Some(2))
    };
    let seal = sealed(r#""world_info":"Lore","#).unwrap();
    assert_eq!((seal.kind, &*seal.parent, seal.message), (ForkKind::Checkpoint, "Main", 1));
    assert_eq!(seal.left_out, Some(LeftOut { name: "Lore".into(), failed: true }));
    assert_eq!(sealed(""), None, "its parent had none");
}

#[test]
fn notes_too_deep_to_be_read_may_name_a_book_and_are_left_out() {
    let deep = format!("{}1{}", "[".repeat(2000), "]".repeat(2000));
    let text = body(&format!(
        r#"{{"main_chat":"Main","auto_lorebooks":{{"lorebookName":"Lore","x":{deep}}},"other":{deep}}}"#
    ));
    let after = read(&text, ChatKind::Solo).unwrap().without_book(SLUG, ForkKind::Branch, &now());
    let expected = body(&format!(r#"{{"main_chat":"Main","other":{deep},"integrity":"{SLUG}"}}"#));
    assert_eq!(String::from_utf8(after).unwrap(), expected);
}

/// What a save meets: a book of any kind, later messages, and work that may end.
#[derive(Clone, Debug)]
struct Story {
    settings: ForkSettings,
    words: Vec<&'static str>,
    metadata: &'static str,
    book: Option<&'static str>,
    later: &'static str,
    under_way: Option<usize>,
    does_work_end: bool,
    answer: &'static str,
}

fn story() -> impl Strategy<Value = Story> {
    const BUSY: &str = r#"{"entries":{"0":{"uid":0,"comment":"__operation_queue","content":"{\"queue\":[{\"status\":\"pending\"}]}"}}}"#;
    const ODD: &str =
        r#"{"entries":{"0":{"uid":0,"comment":"__operation_queue","content":"odd"}}}"#;
    let settings = (
        select(vec![WhenInexact::Ask, WhenInexact::Nearest, WhenInexact::Refuse]),
        select(vec![WhenBusy::Wait, WhenBusy::Drain, WhenBusy::Without]),
        any::<bool>(),
    );
    let settings = settings.prop_map(|(when_inexact, when_busy, require_scene)| ForkSettings {
        when_inexact,
        when_busy,
        require_scene,
    });
    let words = select(vec![vec![], vec!["nearest"], vec!["without-chosen"], vec!["unattended"]]);
    let metadata = select(vec![
        r#"{"main_chat":"Main","world_info":"Lore","integrity":"j"}"#,
        r#"{"main_chat":"Main","world_info":"Lore","variables":{"a":1},"auto_lorebooks":{"lorebookName":"Lore"}}"#,
        r#"{"main_chat":"Another","world_info":"Lore","integrity":"i"}"#,
        r#"{"main_chat":"Main","world_info":"Lore","forklore":[[[[[]]]]]}"#,
    ]);
    let book =
        select(vec![Some(r#"{"entries":{}}"#), Some(BUSY), Some(ODD), Some("no book"), None]);
    let later = select(vec!["[]", r#"[{"mes":""}]"#]);
    let answer = select(vec!["nearest", "live", "drain", "without", "wait", "cancel"]);
    (settings, words, metadata, book, later, prop::option::of(0..3_usize), any::<bool>(), answer)
        .prop_map(|(settings, words, metadata, book, later, under_way, does_work_end, answer)| {
            Story { settings, words, metadata, book, later, under_way, does_work_end, answer }
        })
}

/// Does what the page does, and returns the metadata that is saved, how often the user was asked
/// and how often the fork was tried.
fn carry_out(story: &Story) -> (Json, usize, usize) {
    let text = body(story.metadata);
    let child = read(&text, ChatKind::Solo).unwrap();
    let words: Vec<String> = story.words.iter().map(|word| (*word).to_owned()).collect();
    let mut decision = Decision::of(&words).unwrap();
    let (mut book, mut under_way, mut asked) = (story.book, story.under_way, 0);
    for tries in 1.. {
        let context = SaveContext {
            kind: ForkKind::Branch,
            books: vec!["Lore".into()],
            book: book.map(str::as_bytes),
            memories: Vec::new(),
            page_book: None,
            has_memory_books: false,
            character_book: None,
            title: None,
            integrity: SLUG.into(),
            now: now(),
            policy: decision.policy(story.settings, under_way),
            remarks: Vec::new(),
        };
        let step = match child.plan(story.later.as_bytes(), context).unwrap() {
            Ok(plan) => return (metadata_of(&plan.body), asked, tries),
            Err(refusal) => decision.at_save(&refusal.obstacles, story.settings),
        };
        match step {
            Step::Go(next) => decision = next,
            Step::Wait(next) => {
                decision = next;
                if story.does_work_end {
                    (book, under_way) = (book.map(|_| r#"{"entries":{}}"#), Some(0));
                }
            }
            Step::Ask(next) => {
                asked += 1;
                decision = next.answered(Choice::of(story.answer));
            }
            Step::GiveUp => {
                return (
                    metadata_of(&child.without_book(SLUG, ForkKind::Branch, &now())),
                    asked,
                    tries,
                );
            }
        }
    }
    unreachable!("the loop has no end")
}

fn metadata_of(body: &[u8]) -> Json {
    let request = SaveRequest::read(body, ChatKind::Solo).unwrap();
    request.metadata().unwrap().json().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: RngSeed::Fixed(17),
        failure_persistence: None,
        cases: 2000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_fork_ends_asks_at_most_once_and_never_shares_its_parents_book(story in story()) {
        let (metadata, asked, tries) = carry_out(&story);
        let names = books_named(&metadata);
        prop_assert!(names.iter().all(|name| name == "Child - Lore"), "{names:?}");
        prop_assert!(asked <= 1 && tries <= 5, "asked {asked} times, tried {tries} times");
    }
}
