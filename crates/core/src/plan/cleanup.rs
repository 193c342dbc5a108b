//! Finds books made by Forklore that nothing refers to.

use crate::timeline::references::{ReferencePlace, References};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::references::Reference;

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
}
