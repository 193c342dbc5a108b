//! The command at work next to a running SillyTavern, which writes the parents, opens the children,
//! saves both, and never notices.
//!
//! The scenes in `creation`, `books` and `restoration` are named after the scenarios in the
//! original requirements.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "the scenes are tests too")]

mod books;
mod command;
mod creation;
mod forks;
mod lore;
mod merging;
mod restoration;
mod stage;
mod tale;
mod timed;

use forklore_testkit::sillytavern::{Scene, Server};
use tempfile::TempDir;

use command::forklore;

#[test]
fn sillytavern_takes_a_fork_for_its_own() {
    play(&[
        ("a branch at the last message", forks::a_branch_at_the_last_message),
        ("a checkpoint at an earlier message", forks::a_checkpoint_at_an_earlier_message),
        ("a group's branch at an earlier message", forks::a_groups_branch_at_an_earlier_message),
        ("a group's checkpoint at the last", forks::a_groups_checkpoint_at_the_last_message),
        ("a branch of a branch", forks::a_branch_of_a_branch),
        ("the link of a closed parent", forks::the_link_of_a_closed_parent),
        ("every field of every entry", forks::every_field_of_every_entry),
        ("timed effects run on", timed::timed_effects_run_on),
    ]);
}

#[test]
fn sillytavern_finds_every_timeline_as_it_was() {
    play(&[
        ("S1 T1 queue blocking", creation::s1_t1_queue_blocking),
        ("S1 T1 queue waiting", creation::s1_t1_queue_waiting),
        ("S1 T2 all entries cloned", creation::s1_t2_all_entries_cloned),
        ("S1 T3 running recap isolation", creation::s1_t3_running_recap_isolation),
        ("S1 T3 edited running recap", creation::s1_t3_edited_running_recap),
        ("S1 T4 combined recap", creation::s1_t4_combined_recap),
        ("S1 T5 complete state", creation::s1_t5_complete_state),
        ("S3 A creation", restoration::s3_a_creation),
        ("S3 B restoration", restoration::s3_b_restoration),
        ("S3 B restoration of older seals", restoration::s3_b_restoration_of_older_seals),
        ("S3 C divergence", restoration::s3_c_divergence),
    ]);
}

#[test]
fn sillytavern_keeps_every_book_to_its_chat() {
    play(&[
        ("S2 T1 switching", books::s2_t1_switching),
        ("S2 T2 rapid switching", books::s2_t2_rapid_switching),
        ("S2 T3 missing book", books::s2_t3_missing_book),
        ("S2 T4 cleanup", books::s2_t4_cleanup),
        ("S2 T5 reference count", books::s2_t5_reference_count),
        ("S2 T5 references of recaps", books::s2_t5_references_of_recaps),
        ("a merge of two timelines", merging::a_merge_of_two_timelines),
    ]);
}

/// Runs scenes on one server. Each leaves its chats without problems, which is checked for all at
/// the end.
#[track_caller]
fn play(scenes: &[Scene<'_>]) {
    let data_root = TempDir::new().unwrap();
    let server = Server::start(data_root.path());
    server.play(scenes);
    let verified = forklore(&server, &["verify", "--all"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}
