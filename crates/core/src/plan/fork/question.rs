//! The question about a fork that the settings do not answer: what it is about, and the answers
//! that are offered.

use super::decision::{ForkSettings, WhenInexact, are_accepted, can_wait, is_inexact};
use crate::finding::{Obstacle, Unfinished};
use crate::timeline::exactness::Exactness;

/// What stands in the way of a fork, the most serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// There can be no fork unless the user chooses another message or repairs the chat.
    Impossible,
    /// Something is being written.
    Busy,
    BrokenBook,
    /// The child can be made, but costs the reply that is being written.
    Reply,
    Inexact,
}

/// An answer that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    Wait,
    /// Without the reply that is being written.
    Now,
    /// Now, without the operations that have not run yet.
    Drain,
    /// The lore of an earlier message.
    Nearest,
    /// Today's lore.
    Live,
    WithoutBook,
}

impl Topic {
    pub fn of(obstacles: &[Obstacle], unfinished: &[Unfinished]) -> Self {
        let topics = obstacles.iter().map(|obstacle| match obstacle {
            Obstacle::NoMessages
            | Obstacle::NoSuchMessage { .. }
            | Obstacle::Damaged(_)
            | Obstacle::MetadataTooDeep(_)
            | Obstacle::NotASceneBreak(_) => Self::Impossible,
            Obstacle::QueueBusy(_) => Self::Busy,
            Obstacle::BookMissing(_) | Obstacle::BookUnreadable { .. } => Self::BrokenBook,
            Obstacle::NotKnownWellEnough { .. } | Obstacle::MetadataNotExact(_) => Self::Inexact,
        });
        let unfinished = unfinished.iter().map(|unfinished| match unfinished {
            Unfinished::Writing => Self::Busy,
            Unfinished::ReplyAfter => Self::Reply,
            Unfinished::BeingEdited(_) => Self::Impossible,
        });
        topics.chain(unfinished).min().unwrap_or(Self::Inexact)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Impossible => "no",
            Self::Busy => "busy",
            Self::BrokenBook => "book",
            Self::Reply => "reply",
            Self::Inexact => "inexact",
        }
    }
}

impl Offer {
    /// The answers to offer, the best one first. `known` is how exactly the part is known that the
    /// question is about.
    pub fn all(
        obstacles: &[Obstacle],
        unfinished: &[Unfinished],
        known: Option<Exactness>,
        settings: ForkSettings,
    ) -> Vec<Self> {
        let has = |is: fn(&Obstacle) -> bool| obstacles.iter().any(is);
        let is_busy = has(|it| matches!(it, Obstacle::QueueBusy(_)));
        let is_broken =
            has(|it| matches!(it, Obstacle::BookMissing(_) | Obstacle::BookUnreadable { .. }));
        let is_unknown = has(|it| matches!(it, Obstacle::NotKnownWellEnough { .. }));
        let may_be_inexact = settings.when_inexact != WhenInexact::Refuse && has(is_inexact);
        let can_be = |offer: &Self| match offer {
            Self::Wait => can_wait(obstacles, unfinished),
            Self::Now => {
                unfinished == [Unfinished::ReplyAfter] && are_accepted(obstacles, settings)
            }
            Self::Drain => is_busy && !is_broken && !unfinished.contains(&Unfinished::Writing),
            // While the queue is busy, the book may be half written.
            Self::Nearest => {
                may_be_inexact && !is_busy && matches!(known, Some(Exactness::Snapshot(_)))
            }
            Self::Live => {
                may_be_inexact && !is_busy && !is_broken && known == Some(Exactness::Live)
            }
            Self::WithoutBook => is_busy || is_broken || is_unknown,
        };
        if Topic::of(obstacles, unfinished) == Topic::Impossible {
            return Vec::new();
        }
        let offers =
            [Self::Wait, Self::Now, Self::Drain, Self::Nearest, Self::Live, Self::WithoutBook];
        offers.into_iter().filter(can_be).collect()
    }

    /// As in the page, and for [`Choice::of`](super::decision::Choice::of).
    pub fn word(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Now => "now",
            Self::Drain => "drain",
            Self::Nearest => "nearest",
            Self::Live => "live",
            Self::WithoutBook => "without",
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::fork::decision::Choice;
    use crate::recap::queue::PendingWork;
    use crate::timeline::exactness::Allow;

    const SETTINGS: ForkSettings = ForkSettings::ASK_AND_WAIT;
    const SNAPSHOT: Exactness = Exactness::Snapshot(3);

    fn busy() -> Obstacle {
        Obstacle::QueueBusy(PendingWork::default())
    }

    fn unknown() -> Obstacle {
        Obstacle::NotKnownWellEnough { found: SNAPSHOT, allowed: Allow::Message }
    }

    fn offers(obstacle: Obstacle, known: Option<Exactness>) -> Vec<&'static str> {
        Offer::all(&[obstacle], &[], known, SETTINGS).into_iter().map(Offer::word).collect()
    }

    #[test]
    fn a_refused_fork_may_wait_use_less_or_go_without() {
        assert_eq!(offers(busy(), Some(SNAPSHOT)), ["wait", "drain", "without"]);
        assert_eq!(offers(unknown(), Some(Exactness::Live)), ["live", "without"]);
        assert_eq!(offers(unknown(), Some(SNAPSHOT)), ["nearest", "without"]);
        assert_eq!(offers(Obstacle::BookMissing("B".into()), None), ["without"]);
        assert_eq!(offers(Obstacle::MetadataNotExact(SNAPSHOT), Some(SNAPSHOT)), ["nearest"]);
        assert!(offers(Obstacle::NotASceneBreak(1), Some(Exactness::Live)).is_empty());
        let refuse = ForkSettings { when_inexact: WhenInexact::Refuse, ..SETTINGS };
        let offered = Offer::all(&[unknown()], &[], Some(Exactness::Live), refuse);
        assert_eq!(offered, [Offer::WithoutBook]);
    }

    #[test]
    fn todays_book_is_not_offered_while_it_is_being_written() {
        assert_eq!(offers(busy(), Some(Exactness::Live)), ["wait", "drain", "without"]);
        let writing = Offer::all(&[busy()], &[Unfinished::Writing], None, SETTINGS);
        assert_eq!(writing, [Offer::Wait, Offer::WithoutBook]);
    }

    #[test]
    fn a_reply_that_a_branch_would_cost_can_be_waited_for_or_given_up() {
        let offers = |obstacles: &[Obstacle], settings| {
            let offers = Offer::all(obstacles, &[Unfinished::ReplyAfter], Some(SNAPSHOT), settings);
            offers.into_iter().map(Offer::word).collect::<Vec<_>>()
        };
        assert_eq!(offers(&[], SETTINGS), ["wait", "now"]);
        assert_eq!(offers(&[unknown()], SETTINGS), ["wait", "nearest", "without"]);
        let nearest = ForkSettings { when_inexact: WhenInexact::Nearest, ..SETTINGS };
        assert_eq!(offers(&[unknown()], nearest), ["wait", "now", "nearest", "without"]);
        assert_eq!(offers(&[busy()], SETTINGS), ["wait", "drain", "without"]);
    }

    #[test]
    fn the_question_is_about_what_is_most_serious() {
        let of = |obstacles: &[Obstacle]| Topic::of(obstacles, &[]).word();
        assert_eq!(of(&[unknown()]), "inexact");
        assert_eq!(of(&[unknown(), Obstacle::BookMissing("B".into())]), "book");
        assert_eq!(of(&[Obstacle::BookMissing("B".into()), busy()]), "busy");
        assert_eq!(of(&[busy(), Obstacle::NoMessages]), "no");
        assert_eq!(Topic::of(&[unknown()], &[Unfinished::Writing]).word(), "busy");
        assert_eq!(Topic::of(&[], &[Unfinished::BeingEdited(None)]).word(), "no");
        assert_eq!(Topic::of(&[unknown()], &[Unfinished::ReplyAfter]).word(), "reply");
    }

    fn obstacle() -> impl Strategy<Value = Obstacle> {
        prop_oneof![
            Just(Obstacle::NoMessages),
            Just(Obstacle::NotASceneBreak(1)),
            Just(busy()),
            Just(Obstacle::BookMissing("B".into())),
            Just(unknown()),
            Just(Obstacle::MetadataNotExact(Exactness::Live)),
        ]
    }

    proptest! {
        #[test]
        fn every_offer_leads_on_and_what_is_impossible_has_none(
            obstacles in prop::collection::vec(obstacle(), 1..4),
            unfinished in prop::sample::subsequence(vec![Unfinished::Writing, Unfinished::ReplyAfter], 0..=1),
            known in prop_oneof![Just(None), Just(Some(SNAPSHOT)), Just(Some(Exactness::Live))],
        ) {
            let offers = Offer::all(&obstacles, &unfinished, known, SETTINGS);
            let topic = Topic::of(&obstacles, &unfinished);
            prop_assert!(offers.is_empty() || topic != Topic::Impossible);
            for offer in offers {
                prop_assert!(Choice::of(offer.word()).before_fork().is_some());
            }
        }
    }
}
