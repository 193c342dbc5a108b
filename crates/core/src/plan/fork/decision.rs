//! Whether a fork in the page goes on, waits or asks: by the user's settings and answers.

use super::{Policy, QueuePolicy};
use crate::finding::{Obstacle, Unfinished};
use crate::timeline::exactness::{Allow, Exactness};

/// What to do if the lore of the message was not recorded exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenInexact {
    Ask,
    Nearest,
    Refuse,
}

/// What to do while ST-Auto-Recap has work in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenBusy {
    Wait,
    Drain,
    Without,
}

/// The user's settings for forks.
#[derive(Clone, Copy, Debug)]
pub struct ForkSettings {
    pub when_inexact: WhenInexact,
    pub when_busy: WhenBusy,
    pub require_scene: bool,
}

#[cfg(test)]
impl ForkSettings {
    pub(super) const ASK_AND_WAIT: Self =
        Self { when_inexact: WhenInexact::Ask, when_busy: WhenBusy::Wait, require_scene: false };
}

/// What was decided about a fork, and what has been tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The nearest lore that is known is good enough.
    nearest: bool,
    /// Nobody can answer a question, so the nearest lore is used where the user would be asked.
    unattended: bool,
    /// Operations that have not run yet are left out of the child's book.
    drain: bool,
    /// The child gets no book. Then there is nothing to wait for and nothing to look up.
    without_book: bool,
    has_waited: bool,
    has_asked: bool,
}

/// What to do next. After everything but [`Step::GiveUp`], the fork goes on with the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Go(Decision),
    Wait(Decision),
    Ask(Decision),
    /// Not even a child without a book can be planned.
    GiveUp,
}

/// The user's answer to the question how to fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Wait,
    Nearest,
    WithoutBook,
    Cancel,
}

impl Choice {
    pub fn of(word: &str) -> Self {
        match word {
            "wait" => Self::Wait,
            "nearest" | "live" => Self::Nearest,
            "without" => Self::WithoutBook,
            _ => Self::Cancel,
        }
    }

    /// What follows from an answer given before the fork; `None` if there will be no fork.
    pub fn before_fork(self) -> Option<Step> {
        let decision = Decision::default();
        match self {
            Self::Wait => Some(Step::Wait(decision)),
            Self::Nearest => Some(Step::Go(Decision { nearest: true, ..decision })),
            Self::WithoutBook => Some(Step::Go(Decision { without_book: true, ..decision })),
            Self::Cancel => None,
        }
    }
}

impl Decision {
    /// What a fork is allowed to do.
    pub fn policy(self, settings: ForkSettings, under_way: usize) -> Policy {
        let takes_nearest = match settings.when_inexact {
            WhenInexact::Ask => self.nearest || self.unattended || self.without_book,
            WhenInexact::Nearest => true,
            WhenInexact::Refuse => self.nearest || self.without_book,
        };
        let drains = self.drain || self.without_book;
        Policy {
            allow: if takes_nearest { Allow::Live } else { Allow::Message },
            queue: if drains { QueuePolicy::Drain } else { QueuePolicy::Refuse },
            require_scene: settings.require_scene && !self.without_book,
            leave_book: self.without_book,
            under_way,
            ..Policy::default()
        }
    }

    /// How to react when a save, which cannot be postponed, was refused.
    pub fn at_save(self, obstacles: &[Obstacle], settings: ForkSettings) -> Step {
        if self.without_book {
            return Step::GiveUp;
        }
        let is_busy = obstacles.iter().any(|obstacle| matches!(obstacle, Obstacle::QueueBusy(_)));
        let may_ask = settings.when_inexact == WhenInexact::Ask && !self.has_asked;
        match settings.when_busy {
            WhenBusy::Wait if is_busy && !self.has_waited => {
                Step::Wait(Self { has_waited: true, ..self })
            }
            WhenBusy::Drain if is_busy && !self.drain => Step::Go(Self { drain: true, ..self }),
            _ if !is_busy && may_ask && obstacles.iter().all(is_inexact) => {
                Step::Ask(Self { has_asked: true, ..self })
            }
            _ => Step::Go(Self { without_book: true, ..self }),
        }
    }

    /// The decision after an answer at a save: there is a child in any case.
    pub fn answered(self, choice: Choice) -> Self {
        match choice {
            Choice::Nearest => Self { nearest: true, ..self },
            Choice::Wait | Choice::WithoutBook | Choice::Cancel => {
                Self { without_book: true, ..self }
            }
        }
    }

    /// The words for the page, which passes them back.
    pub fn words(self) -> Vec<&'static str> {
        let flags = Self::WORDS.into_iter().zip(self.flags());
        flags.filter_map(|(word, is_set)| is_set.then_some(word)).collect()
    }

    /// `None` if there is no such word.
    pub fn of(words: &[String]) -> Option<Self> {
        let is_known = words.iter().all(|word| Self::WORDS.contains(&word.as_str()));
        let [nearest, unattended, drain, without_book, has_waited, has_asked] =
            Self::WORDS.map(|flag| words.iter().any(|word| word == flag));
        is_known.then_some(Self { nearest, unattended, drain, without_book, has_waited, has_asked })
    }

    const WORDS: [&str; 6] = ["nearest", "unattended", "drain", "without", "waited", "asked"];

    fn flags(self) -> [bool; 6] {
        let Self { nearest, unattended, drain, without_book, has_waited, has_asked } = self;
        [nearest, unattended, drain, without_book, has_waited, has_asked]
    }
}

/// How a fork begins, before anything is saved.
pub fn before_fork(
    obstacles: &[Obstacle],
    unfinished: &[Unfinished],
    settings: ForkSettings,
    when_ready: bool,
) -> Step {
    let decision = Decision::default();
    let takes_nearest = settings.when_inexact == WhenInexact::Nearest;
    if unfinished.is_empty() && obstacles.iter().all(|it| takes_nearest && is_inexact(it)) {
        return Step::Go(decision);
    }
    if when_ready && can_wait(obstacles, unfinished) {
        return Step::Wait(decision);
    }
    Step::Ask(decision)
}

/// Whether an obstacle goes away by itself.
pub fn can_wait(obstacles: &[Obstacle], unfinished: &[Unfinished]) -> bool {
    let is_busy = |it: &Obstacle| matches!(it, Obstacle::QueueBusy(work) if !work.unreadable);
    obstacles.iter().any(is_busy) || unfinished.contains(&Unfinished::Writing)
}

/// How exactly the book is known that a refused save would get.
pub fn exactness_in_question(obstacles: &[Obstacle]) -> Exactness {
    let as_of = obstacles.iter().find_map(|obstacle| match obstacle {
        Obstacle::NotKnownWellEnough { found, .. } => Some(found.as_of()),
        _ => None,
    });
    as_of.flatten().map_or(Exactness::Live, Exactness::Snapshot)
}

/// Whether only the metadata is in question, and not the book.
pub fn is_about_metadata(obstacles: &[Obstacle]) -> bool {
    let metadata = |it: &Obstacle| matches!(it, Obstacle::MetadataNotExact(_));
    let book = |it: &Obstacle| matches!(it, Obstacle::NotKnownWellEnough { .. });
    obstacles.iter().any(metadata) && !obstacles.iter().any(book)
}

fn is_inexact(obstacle: &Obstacle) -> bool {
    matches!(obstacle, Obstacle::NotKnownWellEnough { .. } | Obstacle::MetadataNotExact(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recap::queue::PendingWork;

    const SETTINGS: ForkSettings = ForkSettings::ASK_AND_WAIT;
    const WITHOUT: Decision = Decision {
        nearest: false,
        unattended: false,
        drain: false,
        without_book: true,
        has_waited: false,
        has_asked: false,
    };

    fn busy() -> [Obstacle; 1] {
        [Obstacle::QueueBusy(PendingWork::default())]
    }

    fn inexact() -> [Obstacle; 2] {
        let allowed = Allow::Message;
        [
            Obstacle::NotKnownWellEnough { found: Exactness::Snapshot(3), allowed },
            Obstacle::MetadataNotExact(Exactness::Live),
        ]
    }

    #[test]
    fn a_busy_queue_is_waited_for_once_then_the_child_goes_without_a_book() {
        let start = Decision::default();
        let waited = Decision { has_waited: true, ..start };
        assert_eq!(start.at_save(&busy(), SETTINGS), Step::Wait(waited));
        let without = Decision { has_waited: true, ..WITHOUT };
        assert_eq!(waited.at_save(&busy(), SETTINGS), Step::Go(without));
        let with = |when_busy| ForkSettings { when_busy, ..SETTINGS };
        let drained = Decision { drain: true, ..start };
        assert_eq!(start.at_save(&busy(), with(WhenBusy::Drain)), Step::Go(drained));
        assert_eq!(start.at_save(&busy(), with(WhenBusy::Without)), Step::Go(WITHOUT));
    }

    #[test]
    fn lore_that_is_not_exactly_known_is_asked_about_taken_or_left() {
        let start = Decision::default();
        let with = |when_inexact| ForkSettings { when_inexact, ..SETTINGS };
        let asked = Decision { has_asked: true, ..start };
        assert_eq!(start.at_save(&inexact(), SETTINGS), Step::Ask(asked));
        assert_eq!(start.at_save(&inexact(), with(WhenInexact::Refuse)), Step::Go(WITHOUT));
        let allow = |decision: Decision, settings| decision.policy(settings, 0).allow;
        assert_eq!(allow(start, with(WhenInexact::Nearest)), Allow::Live);
        assert_eq!(allow(start, SETTINGS), Allow::Message);
        assert_eq!(allow(asked.answered(Choice::Nearest), SETTINGS), Allow::Live);
        assert!(asked.answered(Choice::Cancel).policy(SETTINGS, 0).leave_book);
    }

    #[test]
    fn a_script_gets_the_nearest_lore_unless_that_is_refused() {
        let script = Decision { unattended: true, ..Decision::default() };
        let refuse = ForkSettings { when_inexact: WhenInexact::Refuse, ..SETTINGS };
        assert_eq!(script.policy(SETTINGS, 0).allow, Allow::Live);
        assert_eq!(script.policy(refuse, 0).allow, Allow::Message);
    }

    #[test]
    fn a_book_that_is_gone_cannot_be_asked_for() {
        let start = Decision::default();
        let missing = [Obstacle::BookMissing("B".into())];
        assert_eq!(start.at_save(&missing, SETTINGS), Step::Go(WITHOUT));
        let strict = ForkSettings { require_scene: true, ..SETTINGS };
        assert!(start.policy(strict, 0).require_scene);
        assert_eq!(start.at_save(&[Obstacle::NotASceneBreak(1)], strict), Step::Go(WITHOUT));
        assert!(!WITHOUT.policy(strict, 0).require_scene);
    }

    #[test]
    fn before_a_fork_the_user_is_asked_about_every_obstacle_that_settings_do_not_answer() {
        let (go, ask) = (Step::Go(Decision::default()), Step::Ask(Decision::default()));
        let first = |obstacles: &[Obstacle], unfinished: &[Unfinished], when_ready| {
            before_fork(obstacles, unfinished, SETTINGS, when_ready)
        };
        assert_eq!(first(&[], &[], false), go);
        assert_eq!(first(&inexact(), &[], false), ask);
        let nearest = ForkSettings { when_inexact: WhenInexact::Nearest, ..SETTINGS };
        assert_eq!(before_fork(&inexact(), &[], nearest, false), go);
        assert_eq!(before_fork(&inexact(), &[Unfinished::Writing], nearest, false), ask);
        assert_eq!(before_fork(&busy(), &[], nearest, false), ask);
        assert_eq!(first(&busy(), &[], true), Step::Wait(Decision::default()));
        assert_eq!(first(&[], &[Unfinished::Writing], true), Step::Wait(Decision::default()));
        assert_eq!(first(&[], &[Unfinished::BeingEdited(None)], true), ask);
        let mut unreadable = PendingWork::default();
        unreadable.add_queue("no queue");
        assert_eq!(first(&[Obstacle::QueueBusy(unreadable)], &[], true), ask);
    }

    #[test]
    fn the_question_names_the_part_that_is_least_known() {
        assert_eq!(exactness_in_question(&inexact()), Exactness::Snapshot(3));
        assert_eq!(exactness_in_question(&inexact()[1..]), Exactness::Live);
        assert!(is_about_metadata(&inexact()[1..]) && !is_about_metadata(&inexact()));
        assert!(!is_about_metadata(&[]));
    }

    #[test]
    fn a_decision_goes_to_the_page_and_back() {
        for bits in 0..64_u8 {
            let words = Decision::WORDS.into_iter().enumerate();
            let words = words.filter(|(at, _)| bits >> at & 1 == 1);
            let words: Vec<String> = words.map(|(_, word)| word.to_owned()).collect();
            assert_eq!(Decision::of(&words).unwrap().words(), words);
        }
        assert_eq!(Decision::of(&["allow".to_owned()]), None);
    }
}
