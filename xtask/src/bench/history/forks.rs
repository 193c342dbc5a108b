//! Times finding the moment of a message, or a version by number, among very many versions.

use std::time::{Duration, Instant, SystemTime};

use fastrand::Rng;
use forklore_core::sillytavern::chat::{Chat, ChatKind};
use forklore_history::query::catalog::catalog;
use forklore_history::query::past::past;
use forklore_history::record::recorder::Observed;
use forklore_history::version::commit::StoredVersion;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;

use super::Table;
use super::append::{Place, book, chat, milliseconds};
use super::stories::{Lore, Shape, Story};
use crate::bench::measure::{Measured, median_of};

/// The number of versions of the chat for each message.
const SAVES: usize = 50;
const TRIES: usize = 15;
const MOST: Duration = Duration::from_millis(50);

pub(crate) fn figures(versions: usize) -> anyhow::Result<(Table, Vec<Measured>)> {
    let place = Place::new()?;
    let mut history = place.open()?;
    let story = record_story(&mut history, versions)?;
    drop(history);

    let parsed = Chat::read(&story.bytes, ChatKind::Solo);
    let mut random = Rng::with_seed(43);
    let mut moment = |history: &History<'_>| -> anyhow::Result<()> {
        let message = random.usize(..story.messages - 1);
        let found = past(history, &chat(), &parsed, message)?;
        let is_there = found.and_then(|past| past.book).is_some_and(|past| past.message == message);
        anyhow::ensure!(is_there, "the moment of message {message} is not known");
        Ok(())
    };
    let opened = || {
        Ok::<_, anyhow::Error>(History::open_existing(&RealDisk, &SystemClock, place.repository())?)
    };

    let mut first = Vec::new();
    let began = Instant::now();
    moment(&opened()?)?;
    first.push(began.elapsed());

    let mut cold = Vec::new();
    for _ in 0..TRIES {
        let began = Instant::now();
        moment(&opened()?)?;
        cold.push(began.elapsed());
    }
    let history = opened()?;
    let mut warm = Vec::new();
    for _ in 0..TRIES {
        let began = Instant::now();
        moment(&history)?;
        warm.push(began.elapsed());
    }
    let mut random = Rng::with_seed(44);
    let (mut by_number, mut by_walking) = (Vec::new(), Vec::new());
    for round in 0..TRIES {
        let number = 1 + random.usize(..versions) as u64;
        let began = Instant::now();
        let history = opened()?;
        let lineage = history.lineages().live(&chat());
        let lineage = lineage.ok_or_else(|| anyhow::anyhow!("it was recorded"))?;
        let lines = catalog(&history, lineage)?;
        let line = lines.iter().find(|line| line.number == number);
        let line = line.ok_or_else(|| anyhow::anyhow!("there is a version {number}"))?;
        std::hint::black_box(history.content(&StoredVersion::read(history.store(), line.id)?)?);
        by_number.push(began.elapsed());
        if round < 3 {
            let began = Instant::now();
            std::hint::black_box(history.version(lineage, number)?);
            by_walking.push(began.elapsed());
        }
    }

    let mut table = Table::new(&[
        "among 100,000 versions".replace("100,000", &versions.to_string()).as_str(),
        "median",
        "slowest",
    ]);
    let mut row = |what: &str, times: &Vec<Duration>| {
        let slowest = times.iter().max().copied().unwrap_or_default();
        table.add(vec![
            what.to_owned(),
            milliseconds(median_of(times.clone())),
            milliseconds(slowest),
        ]);
    };
    row("the moment of a message, the first time ever", &first);
    row("the moment of a message, history just opened", &cold);
    row("the moment of a message, history open", &warm);
    row("a version by its number, history just opened, and its content", &by_number);
    row("a version by its number, by walking", &by_walking);
    let bounds = [("history just opened", cold), ("history open", warm), ("by number", by_number)];
    let bounds = bounds.map(|(what, times)| {
        let what = format!("a moment among {versions} versions, {what}");
        Measured::slower(what, median_of(times), "50 ms", MOST, 1.0)
    });
    Ok((table, bounds.into()))
}

/// Records short messages that are each saved very often, because only the number of versions
/// matters here.
fn record_story(history: &mut History<'_>, versions: usize) -> anyhow::Result<Story> {
    let mut story = Story::new(41, "Lore");
    let mut lore = Lore::new(42, 40);
    let mut recorder = history.record()?;
    recorder.file(&book(), &lore.bytes(), SystemTime::now(), Observed::AsItHappened, &|_| true)?;
    for version in 0..versions {
        if version % SAVES == 0 {
            story.add_shaped(false, Shape { prose: 60, reasoning: 0, swipes: 1 });
        } else {
            story.touch("Lore", version);
        }
        recorder
            .file(&chat(), &story.bytes, SystemTime::now(), Observed::AsItHappened, &|_| true)?;
        if version % (SAVES * 10) == 0 {
            lore.extend(version);
            recorder.file(
                &book(),
                &lore.bytes(),
                SystemTime::now(),
                Observed::AsItHappened,
                &|_| true,
            )?;
            recorder.persist()?;
        }
    }
    recorder.persist()?;
    Ok(story)
}
