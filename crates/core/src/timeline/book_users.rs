//! Which timelines are bound to the same book.

use std::collections::{BTreeSet, HashMap};

use crate::sillytavern::names::book_key;
use crate::timeline::family::{Node, Timeline, keeper};

/// The users of every book, as numbers of timelines.
#[derive(Clone, Debug)]
pub struct BookUsers<'a> {
    timelines: &'a [Timeline],
    nodes: &'a [Node],
    by_key: HashMap<String, Vec<usize>>,
    /// Those that name it at all, bound or for Memory Books.
    naming: HashMap<String, Vec<usize>>,
}

/// Who keeps a shared book, and who gets another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookSplit {
    /// The timeline that keeps the book, unless it is to be split off itself.
    pub keeper: Option<usize>,
    pub split: Vec<usize>,
}

impl<'a> BookUsers<'a> {
    /// `nodes` are the [families](crate::timeline::family::families) of `timelines`.
    pub fn of(timelines: &'a [Timeline], nodes: &'a [Node]) -> Self {
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        let mut naming = by_key.clone();
        for (at, timeline) in timelines.iter().enumerate() {
            if let Some(book) = &timeline.book {
                by_key.entry(book_key(book)).or_default().push(at);
            }
            let named: BTreeSet<String> =
                timeline.book.iter().chain(&timeline.memories).map(|name| book_key(name)).collect();
            named.into_iter().for_each(|key| naming.entry(key).or_default().push(at));
        }
        Self { timelines, nodes, by_key, naming }
    }

    pub fn timelines(&self) -> &'a [Timeline] {
        self.timelines
    }

    pub fn nodes(&self) -> &'a [Node] {
        self.nodes
    }

    /// The other timelines of its family that are bound to its book.
    pub fn relatives(&self, at: usize) -> impl Iterator<Item = usize> {
        self.sharing(at).filter(move |other| *other != at)
    }

    /// The timelines of other families that are bound to its book.
    pub fn strangers(&self, at: usize) -> impl Iterator<Item = usize> {
        let family = self.nodes[at].family;
        self.users(at).iter().copied().filter(move |other| self.nodes[*other].family != family)
    }

    /// The books that Memory Books names in it and in others of its family, each with those.
    pub fn shared_memories(&self, at: usize) -> Vec<(String, Vec<usize>)> {
        let timeline = &self.timelines[at];
        let bound = timeline.book.as_deref().map(book_key);
        let family = self.nodes[at].family;
        let shared = timeline.memories.iter().filter_map(|name| {
            let key = book_key(name);
            if bound.as_ref() == Some(&key) {
                return None;
            }
            let users = self.naming.get(&key)?;
            let is_other = |other: &usize| *other != at && self.nodes[*other].family == family;
            let others: Vec<usize> = users.iter().copied().filter(is_other).collect();
            (!others.is_empty()).then(|| (name.clone(), others))
        });
        shared.collect()
    }

    /// Which of the timelines that share its book get books of their own: all but one of them, or
    /// only this one.
    pub fn split(&self, at: usize, all: bool) -> BookSplit {
        let sharing: Vec<usize> = self.sharing(at).collect();
        let keeper = keeper(self.nodes, &sharing).filter(|_| sharing.len() > 1);
        if all {
            let split = sharing.into_iter().filter(|one| Some(*one) != keeper).collect();
            return BookSplit { keeper, split };
        }
        let split = sharing.into_iter().filter(|one| *one == at).collect();
        BookSplit { keeper: keeper.filter(|keeper| *keeper != at), split }
    }

    /// All timelines of its family that are bound to its book, itself included.
    fn sharing(&self, at: usize) -> impl Iterator<Item = usize> {
        let family = self.nodes[at].family;
        self.users(at).iter().copied().filter(move |other| self.nodes[*other].family == family)
    }

    fn users(&self, at: usize) -> &[usize] {
        let key = self.timelines[at].book.as_deref().map(book_key);
        key.and_then(|key| self.by_key.get(&key)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::family::{Home, families};
    use forklore_json::Json;

    fn timeline((name, parent, book): (&str, &str, &str)) -> Timeline {
        let metadata =
            Json::object([("main_chat", Json::from(parent)), ("world_info", book.into())]);
        Timeline::of(Home::Loose, name.into(), &metadata, None)
    }

    #[test]
    fn relatives_share_a_book_and_strangers_use_it_too() {
        let timelines = [
            ("child", "main", "LORE"),
            ("main", "", "Lore:"),
            ("other", "", "lore"),
            ("bare", "main", ""),
            ("alone", "main", "Own"),
        ]
        .map(timeline);
        let nodes = families(&timelines);
        let users = BookUsers::of(&timelines, &nodes);
        assert_eq!(users.relatives(0).collect::<Vec<_>>(), [1]);
        assert_eq!(users.strangers(0).collect::<Vec<_>>(), [2]);
        assert_eq!(users.strangers(2).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(users.relatives(3).count() + users.strangers(3).count(), 0);
    }

    #[test]
    fn memory_books_are_shared_with_relatives_that_name_them_in_any_way() {
        let named = |name: &str, parent: &str, book: &str, memories: &str| Timeline {
            memories: vec![memories.to_owned()],
            ..timeline((name, parent, book))
        };
        let timelines = [
            named("main", "", "Lore", "Memories"),
            named("child", "main", "Own", "MEMORIES"),
            named("bound", "main", "memories", "Memories"),
            named("stranger", "", "Other", "Memories"),
        ];
        let nodes = families(&timelines);
        let users = BookUsers::of(&timelines, &nodes);
        assert_eq!(users.shared_memories(1), [("MEMORIES".to_owned(), vec![0, 2])]);
        assert_eq!(users.shared_memories(2), [], "it is the bound one");
        assert_eq!(users.shared_memories(3), []);
    }

    #[test]
    fn the_root_keeps_a_shared_book() {
        let timelines =
            [("b", "main", "Lore"), ("main", "", "lore"), ("c", "b", "LORE"), ("d", "b", "Own")]
                .map(timeline);
        let nodes = families(&timelines);
        let users = BookUsers::of(&timelines, &nodes);
        let split = |at, all| {
            let BookSplit { keeper, split } = users.split(at, all);
            (keeper, split)
        };
        assert_eq!(split(2, true), (Some(1), vec![0, 2]));
        assert_eq!(split(2, false), (Some(1), vec![2]));
        assert_eq!(split(1, false), (None, vec![1]), "the keeper itself can be split off");
        assert_eq!(split(3, true), (None, vec![3]), "it does not share its book");
    }
}
