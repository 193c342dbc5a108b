//! Random histories, rebuilt byte for byte: by Forklore, and by plain git from the same repository.
//!
//! `FORKLORE_HISTORIES=1000` runs that many.

#![expect(clippy::unwrap_used, reason = "the life of files is a test too")]

mod life;
mod plain_git;

use std::time::SystemTime;

use forklore_history::file::FileName;
use forklore_history::record::recorder::Observed;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;

use life::Life;

fn how_many() -> u64 {
    std::env::var("FORKLORE_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(25)
}

#[test]
fn every_version_is_rebuilt_by_us_and_by_git() {
    let mut versions = 0;
    for seed in 0..how_many() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("user.git");
        let mut life = Life::new(seed);
        let saves = if seed % 50 == 0 { 1500 } else { 60 };
        let mut history = History::open(&RealDisk, &SystemClock, &repository, "Test PC").unwrap();
        for _ in 0..saves {
            life.go_on();
            life.record(&mut history);
            if life.random.u8(..40) == 0 {
                history.record().unwrap().flush().unwrap();
            }
            if life.random.u8(..60) == 0 {
                // As after a restart.
                history = History::open(&RealDisk, &SystemClock, &repository, "Test PC").unwrap();
            }
            if life.random.u8(..100) == 0 {
                forklore_history::upkeep::pack::pack(&mut history).unwrap();
            }
        }
        history.record().unwrap().flush().unwrap();
        drop(history);

        let history = History::open(&RealDisk, &SystemClock, &repository, "Test PC").unwrap();
        let ours = life::by_us(&history);
        life.compare(&ours, seed);
        let theirs = plain_git::rebuilt(&repository);
        life.compare(&theirs, seed);
        plain_git::fsck(&repository);
        versions += ours.len();
    }
    assert!(versions as u64 > how_many() * 20);
}

#[test]
fn the_first_entries_of_an_empty_book_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut history =
        History::open(&RealDisk, &SystemClock, folder.path().join("user.git"), "Test PC").unwrap();
    let versions = [
        (r#"{"entries":{}}"#, "first seen, no entries yet"),
        (r#"{"entries":{"0":{"uid":0,"comment":"Harbour"}}}"#, "entry 'Harbour' added"),
        (r#"{"entries":{}}"#, "entry 'Harbour' removed"),
        (r#"{"entries":{"0":{"uid":0},"1":{"uid":1}}}"#, "2 entries added"),
        (r#"{"entries":"#, "no longer readable, 2 entries before"),
        (r#"{"entries":{}}"#, "readable again, 0 entries"),
    ];
    let name = FileName::of_text("worlds/Lore.json");
    for (text, words) in versions {
        let mut recorder = history.record().unwrap();
        let seen = Observed::AsItHappened;
        let recorded =
            recorder.file(&name, text.as_bytes(), SystemTime::now(), seen, &|_| true).unwrap();
        recorder.persist().unwrap();
        assert_eq!(recorded.unwrap().stored.version.words, words);
    }
}
