//! Whether a fork in the page goes on, waits or asks: by the user's settings and answers.

use super::{Policy, QueuePolicy};
use crate::finding::{Obstacle, Unfinished, WithoutBook};
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

/// Begins the word for a child without a book; the reason follows.
const WITHOUT: &str = "without-";

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
    without_book: Option<WithoutBook>,
    has_waited: bool,
    has_asked: bool,
    /// What becomes of the character's lorebook was decided for this fork.
    own_lore: bool,
    shared_lore: bool,
}

/// What becomes of a character's lorebook, which all her chats share, in a fork that has no other
/// lore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharacterLore {
    /// The child gets a copy, which replaces the book in its prompt.
    Own,
    Shared,
}

impl CharacterLore {
    /// `None` if there is no such word.
    pub fn of(word: &str) -> Option<Self> {
        match word {
            "own" => Some(Self::Own),
            "shared" => Some(Self::Shared),
            _ => None,
        }
    }
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
    /// Without the reply that is being written.
    Now,
    /// Leave out the operations that have not run yet.
    Drain,
    Nearest,
    WithoutBook,
    CharacterLore(CharacterLore),
    Cancel,
}

impl Choice {
    pub fn of(word: &str) -> Self {
        match word {
            "wait" => Self::Wait,
            "now" => Self::Now,
            "drain" => Self::Drain,
            "nearest" | "live" => Self::Nearest,
            "without" => Self::WithoutBook,
            _ => CharacterLore::of(word).map_or(Self::Cancel, Self::CharacterLore),
        }
    }

    /// What follows from an answer given before the fork; `None` if there will be no fork.
    pub fn before_fork(self) -> Option<Step> {
        let decision = Decision::default();
        match self {
            Self::Wait => Some(Step::Wait(decision)),
            Self::Now => Some(Step::Go(decision)),
            Self::Drain | Self::Nearest | Self::WithoutBook | Self::CharacterLore(_) => {
                Some(Step::Go(decision.answered(self)))
            }
            Self::Cancel => None,
        }
    }
}

impl Decision {
    /// What a fork is allowed to do.
    ///
    /// `under_way` are the operations that ST-Auto-Recap has not run yet; `None` if it is not
    /// installed.
    pub fn policy(self, settings: ForkSettings, under_way: Option<usize>) -> Policy {
        let is_without_book = self.without_book.is_some();
        let takes_nearest = match settings.when_inexact {
            WhenInexact::Ask => self.nearest || self.unattended || is_without_book,
            WhenInexact::Nearest => true,
            WhenInexact::Refuse => self.nearest || is_without_book,
        };
        let drains = self.drain || is_without_book;
        Policy {
            allow: if takes_nearest { Allow::Live } else { Allow::Message },
            queue: if drains { QueuePolicy::Drain } else { QueuePolicy::Refuse },
            require_scene: settings.require_scene && !is_without_book,
            leave_book: self.without_book,
            under_way: under_way.unwrap_or_default(),
            is_recap_gone: under_way.is_none(),
            ..Policy::default()
        }
    }

    /// How to react when a save, which cannot be postponed, was refused.
    pub fn at_save(self, obstacles: &[Obstacle], settings: ForkSettings) -> Step {
        if self.without_book.is_some() {
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
            _ => match obstacles.iter().filter_map(WithoutBook::of).min() {
                Some(why) => Step::Go(Self { without_book: Some(why), ..self }),
                None => Step::GiveUp,
            },
        }
    }

    /// The decision after an answer at a save: there is a child in any case.
    pub fn answered(self, choice: Choice) -> Self {
        match choice {
            Choice::Nearest => Self { nearest: true, ..self },
            Choice::CharacterLore(lore) => self.with_lore(lore),
            Choice::Drain => Self { drain: true, ..self },
            Choice::WithoutBook => Self { without_book: Some(WithoutBook::Chosen), ..self },
            Choice::Now | Choice::Wait | Choice::Cancel => {
                Self { without_book: Some(WithoutBook::NotAnswered), ..self }
            }
        }
    }

    fn with_lore(self, lore: CharacterLore) -> Self {
        let is_own = lore == CharacterLore::Own;
        Self { own_lore: is_own, shared_lore: !is_own, ..self }
    }

    /// What becomes of the character's lorebook. Where nobody was asked, it goes by what the user
    /// `always` wants for the character; otherwise it is shared, as SillyTavern does.
    pub fn character_lore(self, always: Option<CharacterLore>) -> CharacterLore {
        match always {
            _ if self.own_lore => CharacterLore::Own,
            Some(always) if !self.shared_lore => always,
            _ => CharacterLore::Shared,
        }
    }

    /// The words for the page, which passes them back.
    pub fn words(self) -> Vec<String> {
        let flags = Self::FLAGS.into_iter().zip(self.flags());
        let flags = flags.filter(|(_, is_set)| *is_set).map(|(word, _)| word.to_owned());
        let without = self.without_book.map(|why| match why.operations() {
            Some(operations) => format!("{WITHOUT}{}:{operations}", why.word()),
            None => format!("{WITHOUT}{}", why.word()),
        });
        flags.chain(without).collect()
    }

    /// `None` if there is no such word.
    pub fn of(words: &[String]) -> Option<Self> {
        let mut without_book = None;
        for word in words {
            if let Some(why) = word.strip_prefix(WITHOUT) {
                let (why, operations) = why.split_once(':').unwrap_or((why, "0"));
                without_book = Some(WithoutBook::from_words(why, operations.parse().ok()?)?);
            } else if !Self::FLAGS.contains(&word.as_str()) {
                return None;
            }
        }
        let [nearest, unattended, drain, has_waited, has_asked, own_lore, shared_lore] =
            Self::FLAGS.map(|flag| words.iter().any(|word| word == flag));
        Some(Self {
            nearest,
            unattended,
            drain,
            without_book,
            has_waited,
            has_asked,
            own_lore,
            shared_lore,
        })
    }

    const FLAGS: [&str; 7] = ["nearest", "unattended", "drain", "waited", "asked", "own", "shared"];

    fn flags(self) -> [bool; 7] {
        [
            self.nearest,
            self.unattended,
            self.drain,
            self.has_waited,
            self.has_asked,
            self.own_lore,
            self.shared_lore,
        ]
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
    if unfinished.is_empty() && are_accepted(obstacles, settings) {
        return Step::Go(decision);
    }
    if when_ready && can_wait(obstacles, unfinished) {
        return Step::Wait(decision);
    }
    Step::Ask(decision)
}

/// Whether an obstacle goes away by itself.
pub fn can_wait(obstacles: &[Obstacle], unfinished: &[Unfinished]) -> bool {
    let is_busy = |it: &Obstacle| matches!(it, Obstacle::QueueBusy(_));
    let is_written = |it: &Unfinished| matches!(it, Unfinished::Writing | Unfinished::ReplyAfter);
    obstacles.iter().any(is_busy) || unfinished.iter().any(is_written)
}

/// Whether the user's settings already answer the question about these obstacles.
pub fn are_accepted(obstacles: &[Obstacle], settings: ForkSettings) -> bool {
    let takes_nearest = settings.when_inexact == WhenInexact::Nearest;
    obstacles.iter().all(|obstacle| takes_nearest && is_inexact(obstacle))
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

pub(super) fn is_inexact(obstacle: &Obstacle) -> bool {
    matches!(obstacle, Obstacle::NotKnownWellEnough { .. } | Obstacle::MetadataNotExact(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recap::queue::PendingWork;

    const SETTINGS: ForkSettings = ForkSettings::ASK_AND_WAIT;
    fn without(why: WithoutBook) -> Decision {
        Decision { without_book: Some(why), ..Decision::default() }
    }

    fn busy() -> [Obstacle; 1] {
        let mut work = PendingWork::default();
        work.add_unwritten(2);
        [Obstacle::QueueBusy(work)]
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
        let busy_for_good = without(WithoutBook::Busy(2));
        let after = Decision { has_waited: true, ..busy_for_good };
        assert_eq!(waited.at_save(&busy(), SETTINGS), Step::Go(after));
        let with = |when_busy| ForkSettings { when_busy, ..SETTINGS };
        let drained = Decision { drain: true, ..start };
        assert_eq!(start.at_save(&busy(), with(WhenBusy::Drain)), Step::Go(drained));
        assert_eq!(start.at_save(&busy(), with(WhenBusy::Without)), Step::Go(busy_for_good));
    }

    #[test]
    fn a_child_without_a_book_is_so_for_the_first_of_its_reasons() {
        let settings = ForkSettings {
            when_inexact: WhenInexact::Refuse,
            when_busy: WhenBusy::Without,
            require_scene: true,
        };
        let why = |obstacles: &[Obstacle]| match Decision::default().at_save(obstacles, settings) {
            Step::Go(decision) => decision.without_book,
            _ => None,
        };
        let mut paused = PendingWork::default();
        paused.add_queue(r#"{"queue":[{"status":"pending"}],"paused":true}"#);
        let missing = Obstacle::BookMissing("B".into());
        assert_eq!(why(&inexact()), Some(WithoutBook::NotKnown));
        assert_eq!(why(&inexact()[1..]), Some(WithoutBook::MetadataNotKnown));
        assert_eq!(why(std::slice::from_ref(&missing)), Some(WithoutBook::Missing));
        let scene = Obstacle::NotASceneBreak(1);
        assert_eq!(why(&[missing, scene.clone()]), Some(WithoutBook::NotASceneBreak));
        assert_eq!(why(&[scene, Obstacle::QueueBusy(paused)]), Some(WithoutBook::Paused(1)));
        assert_eq!(why(&busy()), Some(WithoutBook::Busy(2)));
        assert_eq!(why(&[Obstacle::NoMessages]), None, "no child at all");
        let answered = |choice| Decision::default().answered(choice).without_book;
        assert_eq!(answered(Choice::WithoutBook), Some(WithoutBook::Chosen));
        assert_eq!(answered(Choice::Cancel), Some(WithoutBook::NotAnswered));
    }

    #[test]
    fn pending_work_is_skipped_where_the_user_says_so() {
        let skip = Choice::of("drain").before_fork();
        let Some(Step::Go(decision)) = skip else { panic!("{skip:?}") };
        assert_eq!(decision.policy(SETTINGS, Some(1)).queue, QueuePolicy::Drain);
        // What else is in question is still asked about.
        assert!(matches!(decision.at_save(&inexact(), SETTINGS), Step::Ask(_)));
    }

    #[test]
    fn without_st_auto_recap_nothing_of_it_counts() {
        let start = Decision::default();
        assert!(start.policy(SETTINGS, None).is_recap_gone);
        assert!(!start.policy(SETTINGS, Some(0)).is_recap_gone);
    }

    #[test]
    fn lore_that_is_not_exactly_known_is_asked_about_taken_or_left() {
        let start = Decision::default();
        let with = |when_inexact| ForkSettings { when_inexact, ..SETTINGS };
        let asked = Decision { has_asked: true, ..start };
        assert_eq!(start.at_save(&inexact(), SETTINGS), Step::Ask(asked));
        let refused = start.at_save(&inexact(), with(WhenInexact::Refuse));
        assert_eq!(refused, Step::Go(without(WithoutBook::NotKnown)));
        let allow = |decision: Decision, settings| decision.policy(settings, Some(0)).allow;
        assert_eq!(allow(start, with(WhenInexact::Nearest)), Allow::Live);
        assert_eq!(allow(start, SETTINGS), Allow::Message);
        assert_eq!(allow(asked.answered(Choice::Nearest), SETTINGS), Allow::Live);
        assert!(asked.answered(Choice::Cancel).policy(SETTINGS, Some(0)).leave_book.is_some());
    }

    #[test]
    fn a_script_gets_the_nearest_lore_unless_that_is_refused() {
        let script = Decision { unattended: true, ..Decision::default() };
        let refuse = ForkSettings { when_inexact: WhenInexact::Refuse, ..SETTINGS };
        assert_eq!(script.policy(SETTINGS, Some(0)).allow, Allow::Live);
        assert_eq!(script.policy(refuse, Some(0)).allow, Allow::Message);
    }

    #[test]
    fn a_book_that_is_gone_cannot_be_asked_for() {
        let start = Decision::default();
        let missing = [Obstacle::BookMissing("B".into())];
        assert_eq!(start.at_save(&missing, SETTINGS), Step::Go(without(WithoutBook::Missing)));
        let strict = ForkSettings { require_scene: true, ..SETTINGS };
        assert!(start.policy(strict, Some(0)).require_scene);
        let no_scene = without(WithoutBook::NotASceneBreak);
        assert_eq!(start.at_save(&[Obstacle::NotASceneBreak(1)], strict), Step::Go(no_scene));
        assert!(!no_scene.policy(strict, Some(0)).require_scene);
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
    }

    #[test]
    fn the_question_names_the_part_that_is_least_known() {
        assert_eq!(exactness_in_question(&inexact()), Exactness::Snapshot(3));
        assert_eq!(exactness_in_question(&inexact()[1..]), Exactness::Live);
        assert!(is_about_metadata(&inexact()[1..]) && !is_about_metadata(&inexact()));
        assert!(!is_about_metadata(&[]));
    }

    #[test]
    fn an_answer_about_the_characters_lorebook_comes_before_what_is_always_wanted() {
        use CharacterLore::{Own, Shared};
        let lore = |answer: Option<&str>, always| {
            let step = answer.and_then(|word| Choice::of(word).before_fork());
            let decision = match step {
                Some(Step::Go(decision)) => decision,
                _ => Decision { unattended: true, ..Decision::default() },
            };
            decision.character_lore(always)
        };
        assert_eq!(
            [lore(None, None), lore(None, Some(Shared)), lore(None, Some(Own))],
            [Shared, Shared, Own]
        );
        assert_eq!([lore(Some("own"), None), lore(Some("own"), Some(Shared))], [Own, Own]);
        assert_eq!([lore(Some("shared"), None), lore(Some("shared"), Some(Own))], [Shared, Shared]);
    }

    #[test]
    fn a_decision_goes_to_the_page_and_back() {
        let reasons = [
            None,
            Some(WithoutBook::Chosen),
            Some(WithoutBook::Busy(3)),
            Some(WithoutBook::Paused(1)),
            Some(WithoutBook::MetadataNotKnown),
        ];
        for bits in 0..128_u8 {
            let words = Decision::FLAGS.into_iter().enumerate();
            let words = words.filter(|(at, _)| bits >> at & 1 == 1);
            let words: Vec<String> = words.map(|(_, word)| word.to_owned()).collect();
            for without_book in reasons {
                let decision = Decision { without_book, ..Decision::of(&words).unwrap() };
                assert_eq!(Decision::of(&decision.words()), Some(decision));
            }
        }
        assert_eq!(without(WithoutBook::Busy(3)).words(), ["without-busy:3"]);
        for odd in ["without", "without-", "without-busy:", "without-busy:x", "without-else"] {
            assert_eq!(Decision::of(&[odd.to_owned()]), None, "{odd}");
        }
        assert_eq!(Decision::of(&["allow".to_owned()]), None);
    }
}
