//! All timelines of a character or group as a page displays them: from an index of their headers,
//! with parents that no longer exist.

use std::collections::HashMap;

use crate::finding::Finding;
use crate::plan::verify::{BookFacts, BoundFacts, ChatFacts, VerifyContext, verify};
use crate::sillytavern::book::BookError;
use crate::sillytavern::names::{book_key, folded};
use crate::timeline::book_users::BookUsers;
use crate::timeline::family::{Node, Parentage, Timeline, families};
use forklore_json::Json;

/// What an index knows of a timeline besides its header.
#[derive(Clone, Debug)]
pub struct Head {
    pub header: HeaderState,
    /// As [indexed](ChatFacts::indexed).
    pub chat: ChatFacts,
    /// The date of the last message, in milliseconds.
    pub date: Option<f64>,
    /// The [findings about its recaps](crate::plan::verify::recap_findings), made when it was read.
    pub recaps: Vec<Json>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderState {
    NotRead,
    Unreadable,
    Read,
}

/// What is known of a book that exists.
#[derive(Clone, Debug, Default)]
pub struct KnownBook {
    /// The number of its entries in the page.
    pub cached: Option<usize>,
    /// `None` if it has not been read yet.
    pub facts: Option<Result<BookFacts, BookError>>,
}

/// A timeline as it is displayed.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownTimeline {
    /// Its name or, for a parent that is gone, something that no name can be.
    pub id: String,
    pub name: String,
    /// The parent's id.
    pub parent: Option<String>,
    /// The id of the family's root.
    pub family: String,
    /// The word for its kind.
    pub kind: &'static str,
    pub fork_point: Option<usize>,
    pub entries: Option<usize>,
    pub findings: Vec<Finding>,
    /// Whether this is a parent that no longer exists.
    pub is_gone: bool,
}

/// A family as it is displayed.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownFamily {
    pub id: String,
    /// The name of its root.
    pub name: String,
    /// The number of timelines that exist.
    pub count: usize,
    /// The number of timelines with problems.
    pub problems: usize,
    /// When it was last continued, in milliseconds.
    pub date: f64,
    pub has_open: bool,
}

#[derive(Clone, Debug)]
pub struct Overview {
    /// The timelines in their original order, then the parents that are gone.
    pub timelines: Vec<ShownTimeline>,
    /// The family of the open chat first, then the most recently continued ones.
    pub families: Vec<ShownFamily>,
}

/// Displays `timelines`, all of one home. `heads` are in the same order; `books` are the books that
/// exist, by [key](book_key); `open` is the name of the open chat.
pub fn overview(
    timelines: &[Timeline],
    heads: &[Head],
    books: &HashMap<String, KnownBook>,
    open: &str,
) -> Overview {
    let nodes = families(timelines);
    let users = BookUsers::of(timelines, &nodes);
    let roots = root_ids(timelines, &nodes);
    let mut shown = Vec::new();
    let mut gone: Vec<ShownTimeline> = Vec::new();
    for (at, (timeline, node)) in timelines.iter().zip(&nodes).enumerate() {
        let family = roots[node.family].clone();
        if let Parentage::Missing(name) = &node.parentage
            && gone.iter().all(|known| known.id != family)
        {
            gone.push(ghost(family.clone(), name.clone()));
        }
        let bound = bound_facts(timeline, books);
        let findings = match heads[at].header {
            HeaderState::Read => {
                verify(&heads[at].chat, &bound, &VerifyContext::of(&users, at, true))
            }
            HeaderState::NotRead | HeaderState::Unreadable => Vec::new(),
        };
        shown.push(ShownTimeline {
            id: timeline.name.clone(),
            name: timeline.name.clone(),
            parent: parent_id(timelines, node, &family),
            family,
            kind: node.kind.word(),
            fork_point: node.fork_point,
            entries: entries(timeline, &bound, books),
            findings,
            is_gone: false,
        });
    }
    shown.append(&mut gone);
    let families = shown_families(&shown, heads, open);
    Overview { timelines: shown, families }
}

/// The id of each family's root, by the family's number.
fn root_ids(timelines: &[Timeline], nodes: &[Node]) -> Vec<String> {
    let mut ids = vec![String::new(); nodes.len()];
    for (timeline, node) in timelines.iter().zip(nodes) {
        ids[node.family] = match &node.parentage {
            // No file name contains a slash.
            Parentage::Missing(name) => ["/", &folded(name)].concat(),
            Parentage::Main | Parentage::Cycle(_) => timeline.name.clone(),
            Parentage::Declared(_) | Parentage::Inferred(_) => continue,
        };
    }
    ids
}

fn parent_id(timelines: &[Timeline], node: &Node, root: &str) -> Option<String> {
    match node.parentage {
        Parentage::Missing(_) => Some(root.to_owned()),
        _ => node.parent().map(|parent| timelines[parent].name.clone()),
    }
}

fn ghost(id: String, name: String) -> ShownTimeline {
    ShownTimeline {
        family: id.clone(),
        id,
        name,
        parent: None,
        kind: "gone",
        fork_point: None,
        entries: None,
        findings: Vec::new(),
        is_gone: true,
    }
}

fn bound_facts<'a>(
    timeline: &'a Timeline,
    books: &'a HashMap<String, KnownBook>,
) -> BoundFacts<'a> {
    let Some(name) = timeline.book.as_deref() else { return BoundFacts::None };
    match books.get(&book_key(name)).map(|book| &book.facts) {
        None => BoundFacts::Missing(name),
        Some(None) => BoundFacts::NotRead(name),
        Some(Some(Err(error))) => BoundFacts::Unreadable { name, error },
        Some(Some(Ok(facts))) => BoundFacts::There { name, facts },
    }
}

/// The number of entries of its book: as read, as in the page, or as sealed.
fn entries(
    timeline: &Timeline,
    bound: &BoundFacts<'_>,
    books: &HashMap<String, KnownBook>,
) -> Option<usize> {
    let name = timeline.book.as_deref()?;
    let sealed = timeline.seal.as_ref().and_then(|seal| seal.book.as_ref());
    bound
        .facts()
        .map(|facts| facts.entries)
        .or_else(|| books.get(&book_key(name))?.cached)
        .or_else(|| sealed.filter(|sealed| sealed.name == name).map(|sealed| sealed.entries))
}

fn shown_families(timelines: &[ShownTimeline], heads: &[Head], open: &str) -> Vec<ShownFamily> {
    let mut families: Vec<ShownFamily> = Vec::new();
    for root in timelines.iter().filter(|timeline| timeline.id == timeline.family) {
        let mut family = ShownFamily {
            id: root.id.clone(),
            name: root.name.clone(),
            count: 0,
            problems: 0,
            date: 0.0,
            has_open: false,
        };
        for (timeline, head) in timelines.iter().zip(heads) {
            if timeline.family == root.id {
                family.count += 1;
                family.problems += usize::from(has_problem(timeline, head));
                family.date = family.date.max(head.date.unwrap_or_default());
                family.has_open |= timeline.name == open;
            }
        }
        let is_before =
            |other: &ShownFamily| (other.has_open, other.date) < (family.has_open, family.date);
        let place = families.iter().position(is_before).unwrap_or(families.len());
        families.insert(place, family);
    }
    families
}

fn has_problem(timeline: &ShownTimeline, head: &Head) -> bool {
    let is_marked = |finding: &Json| finding.get("problem").is_some_and(Json::is_truthy);
    head.header == HeaderState::Unreadable
        || timeline.findings.iter().any(Finding::is_problem)
        || (head.header == HeaderState::Read && head.recaps.iter().any(is_marked))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::verify::recap_findings;
    use crate::sillytavern::book::Book;
    use crate::timeline::family::{Home, header};
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::select;
    use proptest::test_runner::RngSeed;
    use std::collections::HashSet;

    const NAMES: [&str; 8] =
        ["a", "b", "c", "A - Branch #1", "b - checkpoint #2", "Gone", "gone", "x: y"];

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    fn head(messages: usize, metadata: &Json) -> Head {
        let chat = ChatFacts::indexed(messages, header(metadata));
        Head { header: HeaderState::Read, chat, date: None, recaps: Vec::new() }
    }

    /// The parent in the metadata, the parent in the seal, and the book.
    type Named = (Option<&'static str>, Option<&'static str>, Option<&'static str>);

    fn indexed(
        name: &str,
        named: Named,
        header: HeaderState,
        date: Option<u8>,
    ) -> (Timeline, Head) {
        let (main_chat, sealed, book) = named;
        let parent = sealed.map(|parent| {
            Json::object([("chat", Json::from(parent)), ("message", Json::from(1_usize))])
        });
        let seal = Json::object([("kind", Json::from("branch")), ("parent", parent.into())]);
        let metadata = match header {
            HeaderState::Read => Json::object([
                ("main_chat", Json::from(main_chat)),
                ("world_info", book.into()),
                ("forklore", seal),
            ]),
            HeaderState::NotRead | HeaderState::Unreadable => Json::Null,
        };
        let timeline = Timeline::of(Home::Loose, name.to_owned(), &metadata, None);
        (timeline, Head { header, date: date.map(f64::from), ..head(2, &metadata) })
    }

    fn stories() -> impl Strategy<Value = (Vec<Timeline>, Vec<Head>)> {
        let names = Just(NAMES[..5].to_vec()).prop_shuffle();
        let parent = || option::of(select(NAMES.to_vec()));
        let named = (parent(), parent(), option::of(select(vec!["Lore", "LORE", "Own"])));
        let states = select(vec![HeaderState::Read, HeaderState::NotRead, HeaderState::Unreadable]);
        let records = vec((named, states, option::of(0..9_u8)), 1..=5);
        (names, records).prop_map(|(names, records)| {
            let all = names.into_iter().zip(records);
            all.map(|(name, (named, state, date))| indexed(name, named, state, date)).unzip()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, rng_seed: RngSeed::Fixed(0x0f0e_4b20), ..ProptestConfig::default() })]

        #[test]
        fn every_timeline_is_in_one_family_whose_root_is_shown((timelines, heads) in stories()) {
            let open = &timelines[0].name;
            let Overview { timelines: shown, families } =
                overview(&timelines, &heads, &HashMap::new(), open);
            let by_id: HashMap<&str, &ShownTimeline> =
                shown.iter().map(|one| (one.id.as_str(), one)).collect();
            prop_assert_eq!(by_id.len(), shown.len(), "no id is used twice");
            let there = shown.iter().filter(|one| !one.is_gone);
            prop_assert!(there.map(|one| &one.name).eq(timelines.iter().map(|one| &one.name)));
            for one in &shown {
                let up = |at: &&ShownTimeline| Some(by_id[at.parent.as_deref()?]);
                let line: Vec<&ShownTimeline> =
                    std::iter::successors(Some(one), up).take(shown.len() + 1).collect();
                prop_assert!(line.len() <= shown.len(), "{} descends from itself", one.name);
                prop_assert_eq!(&line[line.len() - 1].id, &one.family);
                prop_assert!(one.is_gone || timelines.iter().any(|known| known.name == one.id));
                let is_parent = shown.iter().any(|child| child.parent.as_ref() == Some(&one.id));
                prop_assert!(!one.is_gone || is_parent, "a ghost is there for its children");
            }
            let ids: HashSet<&str> = families.iter().map(|family| family.id.as_str()).collect();
            let roots: HashSet<&str> = shown.iter().map(|one| one.family.as_str()).collect();
            prop_assert_eq!(ids, roots);
            for family in &families {
                let members = shown.iter().filter(|one| one.family == family.id && !one.is_gone);
                prop_assert_eq!(family.count, members.count());
                prop_assert_eq!(&family.name, &by_id[family.id.as_str()].name);
            }
            prop_assert!(families[0].has_open);
            prop_assert_eq!(families.iter().filter(|family| family.has_open).count(), 1);
            prop_assert!(families[1..].is_sorted_by(|one, other| one.date >= other.date));
        }
    }

    #[test]
    fn problems_are_counted_by_timeline() {
        let metadata = json(r#"{"world_info":"Lore"}"#);
        let timelines =
            ["a", "b", "c"].map(|name| Timeline::of(Home::Loose, name.to_owned(), &metadata, None));
        let unreadable = Head { header: HeaderState::Unreadable, ..head(1, &Json::Null) };
        let recaps = vec![json(r#"{"code":"running-missing","problem":true}"#)];
        let heads = [head(1, &metadata), unreadable, Head { recaps, ..head(1, &metadata) }];
        let known = HashMap::from([("lore".to_owned(), KnownBook::default())]);
        let problems = |known| -> Vec<usize> {
            let Overview { mut families, .. } = overview(&timelines, &heads, known, "a");
            families.sort_by_key(|family| family.id.clone());
            families.iter().map(|family| family.problems).collect()
        };
        assert_eq!(problems(&known), [0, 1, 1]);
        assert_eq!(problems(&HashMap::new()), [1, 1, 1], "its book is missing");
    }

    #[test]
    fn an_inherited_seal_says_nothing_about_the_chat() {
        let with = |main_chat: &str, integrity: &str| {
            let text = format!(
                r#"{{"main_chat":"{main_chat}","integrity":"{integrity}","forklore":{{"kind":"checkpoint",
                "integrity":"own","parent":{{"chat":"a","message":2}}}}}}"#
            );
            json(&text)
        };
        let shown = |metadata: &Json| {
            let named = [("a", &Json::Null), ("b", &with("a", "own")), ("c", metadata)];
            let timelines =
                named.map(|(name, header)| Timeline::of(Home::Loose, name.into(), header, Some(4)));
            let heads = named.map(|(_, header)| head(4, header));
            let shown = overview(&timelines, &heads, &HashMap::new(), "a").timelines;
            let has_none = shown[2].findings.contains(&Finding::NoSeal);
            (shown[2].kind, shown[2].parent.clone(), shown[2].fork_point, has_none)
        };
        let parent = |name: &str| Some(name.to_owned());
        assert_eq!(shown(&with("a", "own")), ("checkpoint", parent("a"), Some(2), false));
        assert_eq!(shown(&with("b", "other")), ("fork", parent("b"), None, true));
        assert_eq!(shown(&with("b", "own")), ("fork", parent("b"), None, true));
    }

    #[test]
    fn the_entries_are_those_read_or_cached_or_sealed() {
        let metadata = json(
            r#"{"world_info":"Lore","forklore":{"kind":"branch","parent":{"chat":"m","message":0},
                "book":{"name":"Lore","entries":7,"exactness":"live","source":"files",
                "digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}}}"#,
        );
        let timelines = [Timeline::of(Home::Loose, "a".to_owned(), &metadata, None)];
        let entries = |known: Option<KnownBook>| {
            let known = known.map(|book| ("lore".to_owned(), book)).into_iter().collect();
            overview(&timelines, &[head(3, &metadata)], &known, "a").timelines[0].entries
        };
        let facts =
            |text: &str| Some(Book::read(text.as_bytes()).map(|book| BookFacts::of(&book, &[])));
        let read = facts(r#"{"entries":{"0":{"uid":0}}}"#);
        assert_eq!(entries(Some(KnownBook { cached: Some(5), facts: read })), Some(1));
        let unreadable = facts("null");
        assert_eq!(entries(Some(KnownBook { cached: Some(5), facts: unreadable })), Some(5));
        assert_eq!(entries(Some(KnownBook::default())), Some(7));
        assert_eq!(entries(None), Some(7));
    }

    #[test]
    fn an_index_knows_as_much_as_verifying_does() {
        let recap = r#""auto_recap_running_scene_recaps":{"current_version":7,"versions":[]}"#;
        let seal = r#""forklore":{"kind":"branch","parent":{"chat":"gone","message":4},
            "running_recap":{"version":1,"count":1,
            "digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"}}"#;
        let older = r#""auto_recap_checkpoint_state":{"running_recap_version":3}"#;
        let (books, mut found) = (HashMap::new(), HashSet::new());
        for text in [
            format!("{{{recap}}}"),
            format!(r#"{{{recap},{seal},"world_info":"Lore"}}"#),
            format!(r#"{{"main_chat":"gone",{older}}}"#),
            r#"{"main_chat":"gone"}"#.to_owned(),
        ] {
            let metadata = json(&text);
            let timelines = [Timeline::of(Home::Loose, "a".to_owned(), &metadata, None)];
            let nodes = families(&timelines);
            let users = BookUsers::of(&timelines, &nodes);
            let context = VerifyContext::of(&users, 0, true);
            let bound = bound_facts(&timelines[0], &books);
            let whole = ChatFacts::loaded(2, metadata.clone());
            let mut from_index = verify(&head(2, &metadata).chat, &bound, &context);
            let mut verified = verify(&whole, &bound, &context);
            from_index.extend(recap_findings(&whole, &timelines[0]));
            let order = |finding: &Finding| format!("{finding:?}");
            verified.sort_by_key(order);
            from_index.sort_by_key(order);
            assert_eq!(from_index, verified);
            found.extend(verified.iter().map(order));
        }
        assert!(found.len() >= 6, "{found:?}");
    }
}
