//! Times reconstructing any version of a file, against parsing the result.

use std::time::{Duration, SystemTime};

use fastrand::Rng;
use forklore_core::sillytavern::book::Book;
use forklore_history::file::FileName;
use forklore_history::query::catalog::catalog;
use forklore_history::upkeep::pack::pack;
use forklore_history::version::commit::StoredVersion;
use forklore_history::version::history::History;

use super::Table;
use super::append::{Place, book, chat, milliseconds};
use super::stories::{Lore, Story};
use crate::bench::measure::{Measured, median_of, timed};
use crate::bench::megabytes;

const TRIES: usize = 15;

/// The book has `most / 5` entries, the chat `most / 10` messages, and each has `most / 50`
/// versions: by default 10,000 entries, 5,000 messages and 1,000 versions.
pub(crate) fn figures(most: usize) -> anyhow::Result<(Table, Vec<Measured>)> {
    let place = Place::new()?;
    let mut history = place.open()?;
    let versions = most / 50;
    let mut lore = Lore::new(31, most / 5);
    let mut random = Rng::with_seed(32);
    add(&mut history, &book(), versions, || {
        lore.edit(random.usize(..));
        lore.bytes()
    })?;
    let mut story = Story::of(33, "Lore", most / 10);
    add(&mut history, &chat(), versions, || {
        story.add();
        story.bytes.clone()
    })?;
    let packing = timed(|| Ok(pack(&mut history).map(drop)?))?;
    drop(history);

    let history = place.open()?;
    let of_book = times(&history, &book(), &|bytes| {
        let book = Book::read(bytes)?;
        std::hint::black_box(book.entries().count());
        Ok(())
    })?;
    let of_chat = times(&history, &chat(), &|bytes| {
        for line in bytes.split(|byte| *byte == b'\n') {
            std::hint::black_box(forklore_json::Json::parse(line)?);
        }
        Ok(())
    })?;
    let mut table = Table::new(&["any version of", "out", "serde_json reads it", "we read it"]);
    let mut bounds = Vec::new();
    for (what, times) in [("book", of_book), ("chat", of_chat)] {
        let what = format!("a {what} of {} among {versions} versions", megabytes(times.bytes));
        table.add(vec![
            what.clone(),
            milliseconds(times.out),
            milliseconds(times.parsed),
            milliseconds(times.read),
        ]);
        bounds.push(Measured::slower(what, times.out, "parsing it", times.parsed, 2.0));
    }
    let none = String::new;
    table.add(vec!["(packing all of them)".to_owned(), milliseconds(packing), none(), none()]);
    Ok((table, bounds))
}

fn add(
    history: &mut History<'_>,
    name: &FileName,
    versions: usize,
    mut next: impl FnMut() -> Vec<u8>,
) -> anyhow::Result<()> {
    let mut recorder = history.record()?;
    for version in 0..versions {
        let seen = forklore_history::record::recorder::Observed::AsItHappened;
        recorder.file(name, &next(), SystemTime::now(), seen, &|_| true)?;
        if version % 50 == 0 {
            recorder.persist()?;
        }
    }
    Ok(recorder.persist()?)
}

struct Times {
    bytes: u64,
    out: Duration,
    parsed: Duration,
    read: Duration,
}

/// Measures versions drawn at random, so that cached data of one hardly helps the next.
fn times(
    history: &History<'_>,
    name: &FileName,
    read: &dyn Fn(&[u8]) -> anyhow::Result<()>,
) -> anyhow::Result<Times> {
    let mut random = Rng::with_seed(34);
    let lineage = history.lineages().live(name);
    let lineage = lineage.ok_or_else(|| anyhow::anyhow!("it was recorded"))?;
    let versions = catalog(history, lineage)?;
    let (mut out, mut parsed, mut own) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    for _ in 0..TRIES {
        let stored =
            StoredVersion::read(history.store(), versions[random.usize(..versions.len())].id)?;
        let mut content = Vec::new();
        out.push(timed(|| {
            content = history.content(&stored)?;
            Ok(())
        })?);
        anyhow::ensure!(content.len() as u64 == stored.version.bytes, "it came out otherwise");
        bytes = content.len() as u64;
        parsed.push(timed(|| {
            let lines = serde_json::Deserializer::from_slice(&content);
            for value in lines.into_iter::<serde_json::Value>() {
                std::hint::black_box(value?);
            }
            Ok(())
        })?);
        own.push(timed(|| read(&content))?);
    }
    Ok(Times { bytes, out: median_of(out), parsed: median_of(parsed), read: median_of(own) })
}
