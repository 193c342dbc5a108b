//! Families: which timeline descends from which, and which books they share.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

use crate::memory_books;
use crate::recap::older_seal;
use crate::sillytavern::chat::Chat;
use crate::sillytavern::names::{self, ForkKind, NamedFile, book_key, folded};
use crate::timeline::books_named;
use crate::timeline::label;
use crate::timeline::seal::{self, Seal};
use forklore_json::Json;

/// Where a timeline is stored. Names are unique within a home.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Home {
    /// A character's folder, by name.
    Character(String),
    /// A group, by id; `None` for group chats that no group lists.
    Group(Option<String>),
    /// Directly in the chats folder.
    Loose,
}

/// The metadata keys that describe a timeline, in the order in which an index stores them. The
/// rest of the metadata can be megabytes long.
pub const HEADER_KEYS: [&str; 9] = [
    "main_chat",
    "world_info",
    "integrity",
    seal::KEY,
    older_seal::KEY,
    books_named::REPLACED,
    books_named::REPLACING,
    memory_books::KEY,
    label::KEY,
];

/// A timeline, as described by its header.
#[derive(Clone, Debug)]
pub struct Timeline {
    pub home: Home,
    /// The file's stem.
    pub name: String,
    pub main_chat: Option<String>,
    pub book: Option<String>,
    /// The other books that Memory Books names.
    pub memories: Vec<String>,
    pub integrity: Option<String>,
    pub seal: Option<Seal>,
    /// The fork point named by an [older seal](older_seal).
    pub older_message: Option<usize>,
}

impl Timeline {
    /// Reads a timeline from the metadata in its header. `messages`: how many it has, if known.
    pub fn of(home: Home, name: String, metadata: &Json, messages: Option<usize>) -> Self {
        let text = |key: &str| {
            let text = metadata.get(key).and_then(Json::as_str).filter(|text| !text.is_empty());
            text.map(|text| text.into_owned())
        };
        Self {
            home,
            name,
            main_chat: text("main_chat"),
            book: text("world_info"),
            memories: memory_books::books(metadata),
            integrity: text("integrity"),
            seal: Seal::of_chat(metadata, messages),
            older_message: older_seal::read(metadata).and_then(|seal| seal.message),
        }
    }
}

/// The part of a chat's metadata that describes its timeline.
pub fn header(metadata: &Json) -> Json {
    Json::object(HEADER_KEYS.iter().filter_map(|key| Some((*key, metadata.get(key)?.clone()))))
}

/// The role of a timeline in its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineKind {
    Main,
    Checkpoint,
    Branch,
    /// A child of unknown kind.
    Fork,
}

impl TimelineKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Checkpoint => "checkpoint",
            Self::Branch => "branch",
            Self::Fork => "fork",
        }
    }
}

/// A timeline's parent, and how it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parentage {
    /// It has none.
    Main,
    /// Named in its metadata.
    Declared(usize),
    /// Inferred from its name only.
    Inferred(usize),
    /// It names a parent that does not exist.
    Missing(String),
    /// Following the parents leads back to itself; the link is cut here.
    Cycle(String),
}

/// A timeline's position in its family.
#[derive(Clone, Debug)]
pub struct Node {
    pub parentage: Parentage,
    pub kind: TimelineKind,
    pub children: Vec<usize>,
    /// Timelines of the same family have the same number.
    pub family: usize,
    /// The message it was forked at, if the timeline itself records it.
    pub fork_point: Option<usize>,
}

impl Node {
    pub fn parent(&self) -> Option<usize> {
        match self.parentage {
            Parentage::Declared(parent) | Parentage::Inferred(parent) => Some(parent),
            Parentage::Main | Parentage::Missing(_) | Parentage::Cycle(_) => None,
        }
    }
}

/// Works out the families of `timelines`. The nodes are in the same order.
pub fn families(timelines: &[Timeline]) -> Vec<Node> {
    let index = NameIndex::of(timelines);
    let mut parentages: Vec<Parentage> =
        timelines.iter().enumerate().map(|(at, timeline)| index.parentage(at, timeline)).collect();
    cut_cycles(timelines, &mut parentages);

    let mut nodes: Vec<Node> = timelines
        .iter()
        .zip(parentages)
        .map(|(timeline, parentage)| Node {
            kind: kind_of(timeline, &parentage),
            fork_point: timeline
                .seal
                .as_ref()
                .map(|seal| seal.message)
                .or(timeline.older_message)
                .filter(|_| parentage != Parentage::Main),
            parentage,
            children: Vec::new(),
            family: 0,
        })
        .collect();
    for at in 0..nodes.len() {
        if let Some(parent) = nodes[at].parent() {
            nodes[parent].children.push(at);
        }
    }
    number_families(timelines, &mut nodes);
    nodes
}

/// Finds timelines by the names that other timelines use for them.
struct NameIndex<'a> {
    timelines: &'a [Timeline],
    exact: HashMap<(&'a Home, Cow<'a, str>), usize>,
    /// Built on first use: most names match exactly.
    folded: OnceCell<HashMap<(&'a Home, Cow<'a, str>), usize>>,
}

impl<'a> NameIndex<'a> {
    fn of(timelines: &'a [Timeline]) -> Self {
        let named = timelines.iter().enumerate();
        let exact = named.map(|(at, chat)| ((&chat.home, chat.name.as_str().into()), at));
        Self { timelines, exact: exact.collect(), folded: OnceCell::new() }
    }

    /// Tries the raw name, then the stem of the file it would be saved in, then ignores case.
    fn find(&self, home: &'a Home, name: &str) -> Option<usize> {
        let stem = names::stem(name, NamedFile::Chat);
        let exact = |name: &str| self.exact.get(&(home, name.into())).copied();
        exact(name)
            .or_else(|| exact(stem.as_deref()?))
            .or_else(|| self.folded().get(&(home, folded(stem.as_deref()?).into())).copied())
    }

    fn folded(&self) -> &HashMap<(&'a Home, Cow<'a, str>), usize> {
        self.folded.get_or_init(|| {
            let mut index = HashMap::new();
            for (at, timeline) in self.timelines.iter().enumerate() {
                index.entry((&timeline.home, folded(&timeline.name).into())).or_insert(at);
            }
            index
        })
    }

    fn parentage(&self, at: usize, timeline: &'a Timeline) -> Parentage {
        match timeline.main_chat.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => match self.find(&timeline.home, name) {
                Some(parent) if parent == at => Parentage::Cycle(name.to_owned()),
                Some(parent) => Parentage::Declared(parent),
                None => Parentage::Missing(name.to_owned()),
            },
            None => names::descent(&timeline.name)
                .and_then(|descent| self.find(&timeline.home, &descent.parent?))
                .filter(|parent| *parent != at)
                .map_or(Parentage::Main, Parentage::Inferred),
        }
    }
}

fn cut_cycles(timelines: &[Timeline], parentages: &mut [Parentage]) {
    let parent_of = |parentages: &[Parentage], at: usize| match parentages[at] {
        Parentage::Declared(parent) | Parentage::Inferred(parent) => Some(parent),
        _ => None,
    };
    // 0: not visited, 1: on the current path, 2: done.
    let mut seen = vec![0_u8; timelines.len()];
    for start in 0..timelines.len() {
        let mut path = Vec::new();
        let mut at = start;
        while seen[at] == 0 {
            seen[at] = 1;
            path.push(at);
            match parent_of(parentages, at) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        if seen[at] == 1
            && let Some(from) = path.iter().position(|&step| step == at)
            && parent_of(parentages, at).is_some()
        {
            // Cut at a point that does not depend on the order of the files.
            let first = path[from..].iter().copied().min_by_key(|&step| &timelines[step].name);
            if let Some(first) = first {
                let named = timelines[first].main_chat.clone().unwrap_or_default();
                parentages[first] = Parentage::Cycle(named);
            }
        }
        for step in path {
            seen[step] = 2;
        }
    }
}

fn kind_of(timeline: &Timeline, parentage: &Parentage) -> TimelineKind {
    if *parentage == Parentage::Main {
        return TimelineKind::Main;
    }
    let sealed = timeline.seal.as_ref().map(|seal| seal.kind);
    match sealed.or_else(|| names::descent(&timeline.name).map(|descent| descent.kind)) {
        Some(ForkKind::Checkpoint) => TimelineKind::Checkpoint,
        Some(ForkKind::Branch) => TimelineKind::Branch,
        None => TimelineKind::Fork,
    }
}

/// Children of the same missing parent still form one family.
fn number_families(timelines: &[Timeline], nodes: &mut [Node]) {
    let mut orphans: HashMap<(&Home, Cow<'_, str>), usize> = HashMap::new();
    let mut next = 0;
    for root in 0..nodes.len() {
        if nodes[root].parent().is_some() {
            continue;
        }
        let mut fresh = || {
            next += 1;
            next - 1
        };
        let family = match &nodes[root].parentage {
            Parentage::Missing(name) => {
                *orphans.entry((&timelines[root].home, folded(name).into())).or_insert_with(fresh)
            }
            _ => fresh(),
        };
        let mut stack = vec![root];
        while let Some(at) = stack.pop() {
            nodes[at].family = family;
            stack.extend(&nodes[at].children);
        }
    }
}

/// Books that two or more timelines of the same family are bound to, which is the problem that
/// Forklore prevents. Keyed by family and book key; each list is in the order of `timelines`.
pub fn shared_books(
    timelines: &[Timeline],
    nodes: &[Node],
) -> BTreeMap<(usize, String), Vec<usize>> {
    let mut users: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
    for (at, (timeline, node)) in timelines.iter().zip(nodes).enumerate() {
        if let Some(book) = timeline.book.as_deref().filter(|book| !book.is_empty()) {
            users.entry((node.family, book_key(book))).or_default().push(at);
        }
    }
    users.retain(|_, users| users.len() > 1);
    users
}

/// The one of several timelines sharing a book that should keep it: the closest to the family's
/// root.
pub fn keeper(nodes: &[Node], sharing: &[usize]) -> Option<usize> {
    let depth = |mut at: usize| {
        let mut depth = 0;
        while let Some(parent) = nodes[at].parent() {
            at = parent;
            depth += 1;
        }
        depth
    };
    sharing.iter().copied().min_by_key(|&at| (depth(at), at))
}

/// Where two timelines of the same family diverge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkPoint {
    /// The timeline that both descend from, which can be one of the two; `None` if it is gone.
    pub ancestor: Option<usize>,
    /// The last message that both have, if the timelines record it.
    pub message: Option<usize>,
    /// The timeline that was forked there. Its seal describes what they had in common.
    pub cut: Option<usize>,
}

/// Where `one` and `other` diverge; `None` if they are not of the same family.
pub fn fork_point(nodes: &[Node], one: usize, other: usize) -> Option<ForkPoint> {
    if nodes[one].family != nodes[other].family {
        return None;
    }
    let line = |start: usize| -> Vec<usize> {
        std::iter::successors(Some(start), |&at| nodes[at].parent()).collect()
    };
    let (ones, others) = (line(one), line(other));
    let ancestor = ones.iter().copied().find(|at| others.contains(at));
    // The first descendant of the ancestor, on each side that has one.
    let step = |line: &[usize]| {
        let away = line.iter().position(|&at| Some(at) == ancestor).unwrap_or(line.len());
        away.checked_sub(1).map(|last| line[last])
    };
    let cuts: Vec<usize> = [step(&ones), step(&others)].into_iter().flatten().collect();
    let points: Option<Vec<(usize, usize)>> =
        cuts.iter().map(|&cut| Some((nodes[cut].fork_point?, cut))).collect();
    let first = points.and_then(|points| points.into_iter().min());
    Some(ForkPoint {
        ancestor,
        message: first.map(|(message, _)| message),
        cut: first.map(|(_, cut)| cut),
    })
}

/// The message at which a child was forked, inferred from the messages it has in common with its
/// parent.
///
/// SillyTavern changes messages just by opening a chat, so only what a reader sees is compared.
pub fn common_prefix(child: &Chat<'_>, parent: &Chat<'_>) -> Option<usize> {
    let same = (0..child.len().min(parent.len())).take_while(|&index| {
        let (one, other) = (child.line(index), parent.line(index));
        one == other || visible_parts(child, index) == visible_parts(parent, index)
    });
    same.last()
}

fn visible_parts(chat: &Chat<'_>, index: usize) -> Option<[Option<Vec<u8>>; 3]> {
    let message = chat.message(index)?;
    Some(["name", "send_date", "mes"].map(|key| {
        let value = message.get(key)?;
        Some(value.json().map_or_else(|_| value.bytes().to_vec(), |json| json.stringify()))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sillytavern::chat::ChatKind;

    fn timeline(name: &str, main_chat: Option<&str>, book: Option<&str>) -> Timeline {
        Timeline {
            home: Home::Character("Ada".into()),
            name: name.into(),
            main_chat: main_chat.map(Into::into),
            book: book.map(Into::into),
            memories: Vec::new(),
            integrity: None,
            seal: None,
            older_message: None,
        }
    }

    #[test]
    fn parents_are_found_by_raw_and_by_sanitised_name() {
        let nodes = families(&[
            timeline("GCP ab", None, None),
            timeline("child", Some("GCP: a/b"), None),
            timeline("other", Some("gcp AB"), None),
        ]);
        assert_eq!(nodes[1].parentage, Parentage::Declared(0));
        assert_eq!(nodes[2].parentage, Parentage::Declared(0));
        assert_eq!(nodes[0].children, [1, 2]);
        assert!(nodes.iter().all(|node| node.family == nodes[0].family));
    }

    #[test]
    fn a_name_alone_is_enough_where_nothing_else_speaks() {
        let nodes = families(&[timeline("X", None, None), timeline("X - Branch #2", None, None)]);
        assert_eq!(nodes[1].parentage, Parentage::Inferred(0));
        assert_eq!(nodes[1].kind, TimelineKind::Branch);
    }

    #[test]
    fn children_of_a_lost_parent_are_still_siblings() {
        let nodes = families(&[
            timeline("Branch #4 - 2024", Some("gone"), Some("B")),
            timeline("b", Some("Gone"), Some("b:")),
            timeline("c", None, Some("B")),
        ]);
        assert_eq!(nodes[0].parentage, Parentage::Missing("gone".into()));
        assert_eq!((nodes[0].kind, nodes[1].kind), (TimelineKind::Branch, TimelineKind::Fork));
        assert_eq!(nodes[0].family, nodes[1].family);
        assert_ne!(nodes[0].family, nodes[2].family);
    }

    #[test]
    fn a_cycle_is_cut_once_and_ends() {
        let nodes = families(&[
            timeline("b", Some("a"), None),
            timeline("a", Some("c"), None),
            timeline("c", Some("b"), None),
            timeline("self", Some("self"), None),
            timeline("leaf", Some("c"), None),
        ]);
        assert_eq!(nodes[1].parentage, Parentage::Cycle("c".into()));
        assert_eq!(nodes[0].parentage, Parentage::Declared(1));
        assert_eq!(nodes[3].parentage, Parentage::Cycle("self".into()));
        assert_eq!(nodes[4].family, nodes[1].family);
    }

    #[test]
    fn sharing_is_seen_through_spelling_and_the_root_keeps_the_book() {
        let timelines = [
            timeline("x - Branch #1", Some("x"), Some("Lore:")),
            timeline("x", None, Some("lore")),
            timeline("y", None, Some("lore")),
        ];
        let nodes = families(&timelines);
        let shared = shared_books(&timelines, &nodes);
        assert_eq!(shared.values().collect::<Vec<_>>(), [&vec![0, 1]]);
        assert_eq!(keeper(&nodes, &[0, 1]), Some(1));
    }

    #[test]
    fn two_timelines_part_where_the_first_of_them_was_cut() {
        let child = |name: &str, parent: &str, message: usize| Timeline {
            older_message: Some(message),
            ..timeline(name, Some(parent), None)
        };
        let nodes = families(&[
            timeline("main", None, None),
            child("a", "main", 10),
            child("b", "main", 20),
            child("aa", "a", 15),
            timeline("unsealed", Some("main"), None),
            timeline("stranger", None, None),
            child("x", "gone", 3),
            child("y", "gone", 5),
        ]);
        let at = |ancestor, message, cut| Some(ForkPoint { ancestor, message, cut });
        assert_eq!(fork_point(&nodes, 1, 2), at(Some(0), Some(10), Some(1)));
        assert_eq!(fork_point(&nodes, 0, 3), at(Some(0), Some(10), Some(1)));
        assert_eq!(fork_point(&nodes, 3, 1), at(Some(1), Some(15), Some(3)));
        assert_eq!(fork_point(&nodes, 1, 4), at(Some(0), None, None));
        assert_eq!(fork_point(&nodes, 6, 7), at(None, Some(3), Some(6)));
        assert_eq!(fork_point(&nodes, 0, 5), None);
    }

    #[test]
    fn the_fork_point_is_the_last_message_in_common() {
        let chat = |lines: &str| format!("{{\"chat_metadata\":{{}}}}\n{lines}");
        let parent = chat("{\"mes\":\"a\"}\n{\"mes\":\"b\"}\n{\"mes\":\"c\"}");
        let child = chat("{\"mes\":\"a\"}\n{\"extra\":{},\"mes\":\"b\"}\n{\"mes\":\"d\"}");
        let (parent, child) = (
            Chat::read(parent.as_bytes(), ChatKind::Solo),
            Chat::read(child.as_bytes(), ChatKind::Solo),
        );
        assert_eq!(common_prefix(&child, &parent), Some(1));
    }
}
