//! Times storing one more message, in Forklore and in all alternatives.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use forklore_history::file::FileName;
use forklore_history::record::recorder::Observed;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;
use memchr::memchr_iter;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::Table;
use super::rivals::{
    AddedPart, Committing, Comparing, Copying, FastImport, Plumbing, Reading, Rival, read,
};
use super::stories::{Lore, Story, save};
use crate::bench::measure::{Measured, median_of, settle, timed};
use crate::bench::megabytes;

/// The size of a story, and how many messages are added to it.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) messages: usize,
    pub(crate) entries: usize,
    pub(crate) rounds: usize,
}

/// A folder with a story, its book, and the history of both.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> anyhow::Result<Self> {
        // Under `target`, so that it is on disk even if the temporary folder is in memory.
        let target = std::env::current_exe()?.with_file_name("bench");
        fs::create_dir_all(&target)?;
        let place = Self { folder: TempDir::new_in(target)? };
        fs::create_dir_all(place.home().join("chats/Mara"))?;
        fs::create_dir_all(place.home().join("worlds"))?;
        Ok(place)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder().join("data/default-user")
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.folder().join("data-history/default-user.git")
    }

    pub(crate) fn open(&self) -> anyhow::Result<History<'static>> {
        Ok(History::open(&RealDisk, &SystemClock, self.repository(), "bench")?)
    }

    pub(crate) fn path(&self, name: &FileName) -> PathBuf {
        self.home().join(name.to_path())
    }
}

pub(crate) fn chat() -> FileName {
    FileName::of_text("chats/Mara/Story.jsonl")
}

pub(crate) fn book() -> FileName {
    FileName::of_text("worlds/Lore.json")
}

/// Records a file that was just saved, as `forklore watch` does: opens it, reads it into a reused
/// buffer, records it, and syncs.
pub(crate) fn record(
    history: &mut History<'_>,
    path: &Path,
    name: &FileName,
    buffer: &mut Vec<u8>,
) -> anyhow::Result<()> {
    let written = File::open(path)?.metadata()?.modified()?;
    let mut recorder = history.record()?;
    read(path, buffer)?;
    let exists = |_: &FileName| true;
    recorder.file(name, buffer, written, Observed::AsItHappened, &exists)?;
    Ok(recorder.persist()?)
}

struct Ours {
    history: History<'static>,
    buffer: Vec<u8>,
}

impl Rival for Ours {
    fn name(&self) -> &'static str {
        OURS
    }

    fn store(&mut self, saved: &Path, _: &Story) -> anyhow::Result<()> {
        record(&mut self.history, saved, &chat(), &mut self.buffer)
    }
}

const OURS: &str = "**forklore**";

/// The minimum for added_part the change: reading the file and hashing each line once.
#[derive(Default)]
struct Pass {
    buffer: Vec<u8>,
}

impl Rival for Pass {
    fn name(&self) -> &'static str {
        "reading it, and one pass over its lines"
    }

    fn store(&mut self, saved: &Path, _: &Story) -> anyhow::Result<()> {
        read(saved, &mut self.buffer)?;
        let mut start = 0;
        for end in memchr_iter(b'\n', &self.buffer).chain([self.buffer.len()]) {
            std::hint::black_box(xxh3_128_with_seed(&self.buffer[start..end], 7));
            start = end;
        }
        Ok(())
    }
}

/// The results for one size.
pub(crate) struct Appended {
    pub(crate) size: Size,
    pub(crate) table: Table,
    pub(crate) bounds: Vec<Measured>,
    bytes: u64,
    ours: Duration,
    reading: Duration,
    pass: Duration,
}

/// Measures one size: the story grows by one message, and each rival stores it in turn.
pub(crate) fn figures(size: Size) -> anyhow::Result<Appended> {
    let place = Place::new()?;
    let mut story = Story::of(11, "Lore", size.messages);
    let mut lore = Lore::new(12, size.entries);
    let saved = place.path(&chat());
    save(&saved, &story.bytes)?;
    save(&place.path(&book()), &lore.bytes())?;
    let mut history = place.open()?;
    let mut buffer = Vec::new();
    record(&mut history, &saved, &chat(), &mut buffer)?;
    record(&mut history, &place.path(&book()), &book(), &mut buffer)?;

    let book_bytes = lore.bytes();
    let ours = Ours { history, buffer };
    let fast = FastImport::new(place.folder(), &story)?;
    let mut rivals: Vec<Box<dyn Rival>> = vec![
        Box::<Reading>::default(),
        Box::new(Comparing { added_part: AddedPart::new(&story) }),
        Box::<Pass>::default(),
        Box::new(ours),
        Box::new(Plumbing::new(place.folder(), &story)?),
        Box::new(fast),
        Box::new(Committing::new(place.folder(), &story, &book_bytes)?),
        Box::new(Copying { to: place.folder().join("copy.jsonl") }),
    ];
    #[cfg(feature = "sqlite")]
    rivals.push(Box::new(super::sqlite::Sqlite::new(place.folder(), &story)?));
    settle()?;

    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); rivals.len()];
    // The first round does not count, because buffers grow and files are created.
    for round in 0..=size.rounds {
        story.add();
        save(&saved, &story.bytes)?;
        for (rival, times) in rivals.iter_mut().zip(&mut times) {
            if round > rival.max_rounds() {
                continue;
            }
            rival.prepare(&story, &book_bytes)?;
            let time = timed(|| rival.store(&saved, &story))?;
            if round > 0 {
                times.push(time);
            }
        }
    }

    let medians: Vec<Duration> = times.iter().map(|times| median_of(times.clone())).collect();
    let of = |name: &str| {
        let found = rivals.iter().position(|rival| rival.name() == name);
        found.map_or(Duration::ZERO, |at| medians[at])
    };
    let ours = of(OURS);
    let mut table =
        Table::new(&["one more message", "median", "slowest tenth", "against forklore"]);
    for (at, rival) in rivals.iter().enumerate() {
        table.add(vec![
            rival.name().to_owned(),
            milliseconds(medians[at]),
            milliseconds(slowest_tenth(&times[at])),
            format!("{:.2}", medians[at].as_secs_f64() / ours.as_secs_f64()),
        ]);
    }
    let plumbing = of(rivals[4].name()).min(of(rivals[5].name()));
    let bytes = story.bytes.len() as u64;
    let what = format!("one message more after {}", size.messages);
    let mut bounds =
        vec![Measured::slower(what, ours, "git writing the same objects", plumbing, 1.3)];
    let what = format!("the same, {}", megabytes(bytes));
    bounds.push(Measured::faster(
        what,
        ours,
        "git commit of the whole files",
        of(rivals[6].name()),
        1.0,
    ));
    let (reading, pass) = (medians[0], medians[2]);

    // The rivals hold files and processes. From here on only the history is needed.
    drop(rivals);
    for row in other_changes(&place, &mut story, &mut lore, size)? {
        table.add(row);
    }
    Ok(Appended { size, table, bounds, bytes, ours, reading, pass })
}

/// Measures other changes: an entry of the book, and the first message after opening the history.
fn other_changes(
    place: &Place,
    story: &mut Story,
    lore: &mut Lore,
    size: Size,
) -> anyhow::Result<Vec<Vec<String>>> {
    let (chat_path, book_path) = (place.path(&chat()), place.path(&book()));
    let rounds = size.rounds.min(9);
    let mut history = place.open()?;
    let mut buffer = Vec::new();
    let (mut entries, mut reads, mut copies) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        lore.edit(round * 31 + 7);
        save(&book_path, &lore.bytes())?;
        let mut copying = Copying { to: place.folder().join("copy.json") };
        let read = timed(|| read(&book_path, &mut buffer))?;
        let entry = timed(|| record(&mut history, &book_path, &book(), &mut buffer))?;
        let copy = timed(|| copying.store(&book_path, story))?;
        if round > 0 {
            entries.push(entry);
            reads.push(read);
            copies.push(copy);
        }
    }
    drop(history);
    let (mut opens, mut firsts) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        story.add();
        save(&chat_path, &story.bytes)?;
        let began = Instant::now();
        let mut history = place.open()?;
        opens.push(began.elapsed());
        firsts.push(timed(|| record(&mut history, &chat_path, &chat(), &mut buffer))?);
    }
    let row = |what: &str, times: &Vec<Duration>| {
        let median = milliseconds(median_of(times.clone()));
        vec![what.to_owned(), median, milliseconds(slowest_tenth(times)), String::new()]
    };
    Ok(vec![
        row("opening the history", &opens),
        row("the first message after opening it", &firsts),
        row(&format!("one of {} entries of the book changed", size.entries), &entries),
        row("reading the book", &reads),
        row("a copy of the book", &copies),
    ])
}

/// The cost without the pass over the file.
pub(crate) fn cost_by_length(all: &[Appended]) -> Table {
    let mut table = Table::new(&[
        "messages",
        "file",
        "forklore",
        "reading alone",
        "reading and one pass",
        "forklore without it",
    ]);
    for one in all {
        table.add(vec![
            one.size.messages.to_string(),
            megabytes(one.bytes),
            milliseconds(one.ours),
            milliseconds(one.reading),
            milliseconds(one.pass),
            milliseconds(one.ours.saturating_sub(one.pass)),
        ]);
    }
    table
}

fn slowest_tenth(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() * 9 / 10).copied().unwrap_or_default()
}

pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}
