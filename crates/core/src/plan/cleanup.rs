//! Finds books made by Forklore that nothing refers to.

use crate::sillytavern::names::book_key;
use crate::timeline::family::Timeline;
use crate::timeline::references::{Reference, ReferencePlace, References};

/// A book with Forklore's mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OurBook {
    pub name: String,
    pub bytes: u64,
    /// The chat it was made for.
    pub made_for: String,
}

/// The plan of a cleanup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanupPlan {
    pub remove: Vec<OurBook>,
    pub keep: Vec<(OurBook, KeepReason)>,
    /// Files that could not be read. Any of them may refer to any book, so nothing is removed while
    /// there are some.
    pub unread: Vec<String>,
}

/// Why a book is kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeepReason {
    #[error("in use: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    ReferredToBy(Vec<ReferencePlace>),
    /// Only backups of chats name it.
    #[error("named by {}", if *.0 == 1 { "1 backup".to_owned() } else { format!("{} backups", .0) })]
    OnlyBackups(usize),
    #[error("kept, because something could not be read")]
    Unread,
}

crate::diagnostics!(KeepReason {
    Self::ReferredToBy(places) => (
        "referred",
        places: places.iter().map(|place| place.coded().to_json()).collect::<Vec<_>>(),
    ),
    Self::OnlyBackups(count) => ("only-backups", count: *count),
    Self::Unread => ("unread"),
});

/// Plans a cleanup. Books without Forklore's mark are never removed.
pub fn cleanup(ours: Vec<OurBook>, references: &References, despite_backups: bool) -> CleanupPlan {
    let mut plan = CleanupPlan { unread: references.unread.clone(), ..CleanupPlan::default() };
    for book in ours {
        let (weak, strong): (Vec<&ReferencePlace>, Vec<&ReferencePlace>) =
            references.to(&book.name).partition(|place| place.is_weak());
        if !strong.is_empty() {
            let places = strong.into_iter().cloned().collect();
            plan.keep.push((book, KeepReason::ReferredToBy(places)));
        } else if !plan.unread.is_empty() {
            plan.keep.push((book, KeepReason::Unread));
        } else if !weak.is_empty() && !despite_backups {
            plan.keep.push((book, KeepReason::OnlyBackups(weak.len())));
        } else {
            plan.remove.push(book);
        }
    }
    plan
}

/// What becomes of a chat's book when the chat is deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookFate {
    /// There is no such book.
    None,
    Trash,
    /// These other chats are bound to it.
    Used(Vec<String>),
    /// It is selected elsewhere.
    Selected,
    /// It does not carry Forklore's mark.
    NotOurs,
    /// The user does not want books to be removed.
    Off,
}

/// Predicts what becomes of the book of `deleted`, as far as it is known: `timelines` are those of
/// the same character or group, `listed` are all books and whether they carry Forklore's mark, and
/// `selected` is where books are selected outside chats.
pub fn fate(
    deleted: &Timeline,
    timelines: &[Timeline],
    listed: &[(String, bool)],
    selected: &[Reference],
    cleans_up: bool,
) -> BookFate {
    let Some(key) = deleted.book.as_deref().map(book_key) else { return BookFate::None };
    let Some((_, is_ours)) = listed.iter().find(|(name, _)| book_key(name) == key) else {
        return BookFate::None;
    };
    let uses = |other: &&Timeline| other.book.as_deref().map(book_key).as_ref() == Some(&key);
    let others = timelines.iter().filter(|other| other.name != deleted.name);
    let users: Vec<String> = others.filter(uses).map(|user| user.name.clone()).collect();
    if !users.is_empty() {
        BookFate::Used(users)
    } else if selected.iter().any(|reference| reference.book == key) {
        BookFate::Selected
    } else if !is_ours {
        BookFate::NotOurs
    } else if !cleans_up {
        BookFate::Off
    } else {
        BookFate::Trash
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::family::Home;
    use forklore_json::Json;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    fn ours(name: &str) -> OurBook {
        OurBook { name: name.into(), bytes: 1, made_for: "c".into() }
    }

    #[test]
    fn only_what_nothing_refers_to_goes() {
        let references = References {
            found: vec![
                Reference::new("Used:", ReferencePlace::Global),
                Reference::new("saved", ReferencePlace::Backup("b".into())),
            ],
            unread: Vec::new(),
        };
        let books = || vec![ours("used"), ours("Saved"), ours("idle")];
        let plan = cleanup(books(), &references, false);
        assert_eq!(plan.remove, [ours("idle")]);
        assert_eq!(plan.keep[1].1, KeepReason::OnlyBackups(1));
        assert_eq!(cleanup(books(), &references, true).remove, [ours("Saved"), ours("idle")]);
    }

    #[test]
    fn what_cannot_be_read_may_refer_to_anything() {
        let references = References { found: Vec::new(), unread: vec!["x.jsonl".into()] };
        let plan = cleanup(vec![ours("idle")], &references, true);
        assert_eq!((plan.remove.len(), plan.keep.len()), (0, 1));
    }

    /// A few spellings of three books, and no book.
    const SPELLINGS: [&str; 7] = ["", "Lore", "lore:", "L\u{f6}re", "Own", "OWN", "gone"];

    fn timelines(books: &[usize]) -> Vec<Timeline> {
        let timeline = |(at, book): (usize, &usize)| {
            let metadata = Json::object([("world_info", Json::from(SPELLINGS[*book]))]);
            Timeline::of(Home::Loose, format!("chat {at}"), &metadata, None)
        };
        books.iter().enumerate().map(timeline).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, rng_seed: RngSeed::Fixed(0x0f0e_4b21), ..ProptestConfig::default() })]

        #[test]
        fn a_book_that_anything_refers_to_is_not_fated_for_the_trash(
            books in proptest::collection::vec(0..SPELLINGS.len(), 1..6),
            selected in proptest::collection::vec(0..SPELLINGS.len(), 0..3),
            is_ours: bool,
            cleans_up: bool,
        ) {
            let timelines = timelines(&books);
            let listed = [("Lore".to_owned(), is_ours), ("Own".to_owned(), is_ours)];
            let selected: Vec<Reference> = selected
                .iter()
                .map(|&at| Reference::new(SPELLINGS[at], ReferencePlace::Global))
                .collect();
            let fate = fate(&timelines[0], &timelines, &listed, &selected, cleans_up);
            let key = timelines[0].book.as_deref().map(book_key);
            let uses = |other: &&Timeline| other.book.as_deref().map(book_key) == key;
            let users: Vec<String> =
                timelines[1..].iter().filter(uses).map(|user| user.name.clone()).collect();
            let is_selected = selected.iter().any(|found| Some(&found.book) == key.as_ref());
            let is_there = ["lore", "own"].map(String::from).iter().any(|it| Some(it) == key.as_ref());
            let expected = match (users.is_empty(), is_selected, is_ours, cleans_up) {
                _ if !is_there => BookFate::None,
                (false, ..) => BookFate::Used(users),
                (_, true, ..) => BookFate::Selected,
                (_, _, false, _) => BookFate::NotOurs,
                (.., false) => BookFate::Off,
                _ => BookFate::Trash,
            };
            prop_assert_eq!(fate, expected);
        }
    }
}
