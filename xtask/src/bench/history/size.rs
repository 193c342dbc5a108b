//! The size of a story on disk: 300 messages, three saves for each turn, a book saved 61 times.

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use forklore_history::file::FileKind;
use forklore_history::upkeep::pack::pack;
use forklore_history::version::split::split;

use super::Table;
use super::append::{Place, book, chat, record};
use super::rivals::{Committing, Rival as _, git, run};
use super::stories::{Lore, Shape, Story, save};
use crate::bench::measure::Measured;

const TURNS: usize = 150;
const ENTRIES: usize = 120;
const BOOK_SAVES: usize = 61;
/// The maximum size of the packed story.
const MAX_BYTES: u64 = 1_000_000;

/// Plays a story save by save, and calls `see` for each.
fn play(see: &mut dyn FnMut(&Story, &Lore, FileKind) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut story = Story::new(21, "Lore");
    let mut lore = Lore::new(22, ENTRIES);
    see(&story, &lore, FileKind::Book)?;
    let mut book_saves = 1;
    for turn in 0..TURNS {
        story.add_shaped(true, Shape { prose: 700, reasoning: 0, swipes: 0 });
        see(&story, &lore, FileKind::Chat)?;
        story.add_shaped(false, Shape { prose: 3_000, reasoning: 1_100, swipes: 1 });
        see(&story, &lore, FileKind::Chat)?;
        // Every second reply is swiped once. In the other turns the header changes.
        if turn % 2 == 0 {
            story.swipe(3_000, 1_100);
        } else {
            story.touch("Lore", turn);
        }
        see(&story, &lore, FileKind::Chat)?;
        if book_saves < BOOK_SAVES && (turn * (BOOK_SAVES - 1)) / TURNS + 1 >= book_saves {
            // An entry is extended or rewritten.
            if book_saves % 4 == 0 {
                lore.edit(turn * 7)
            } else {
                lore.extend(turn * 7)
            }
            see(&story, &lore, FileKind::Book)?;
            book_saves += 1;
        }
    }
    Ok(())
}

pub(crate) fn figures() -> anyhow::Result<(Table, Vec<Measured>)> {
    let place = Place::new()?;
    let mut history = place.open()?;
    let mut buffer = Vec::new();
    let mut copies = Copies::default();
    play(&mut |story, lore, kind| {
        let (name, bytes) = match kind {
            FileKind::Chat => (chat(), story.bytes.clone()),
            _ => (book(), lore.bytes()),
        };
        copies.see(kind, &bytes);
        save(&place.path(&name), &bytes)?;
        record(&mut history, &place.path(&name), &name, &mut buffer)
    })?;
    let after_recording = on_disk(&place.repository())?;
    pack(&mut history)?;
    let packed = on_disk(&place.repository())?;

    let whole = WholeFiles::measure(place.folder())?;
    let mut table = Table::new(&["kept as", "bytes", "files", "of full copies"]);
    let mut row = |what: &str, (bytes, files): (u64, usize)| {
        let share = format!("1/{:.0}", copies.bytes as f64 / bytes as f64);
        table.add(vec![what.to_owned(), megabytes(bytes), files.to_string(), share]);
    };
    row("full copies", (copies.bytes, copies.versions));
    row("full copies, each deflated", (copies.deflated, copies.versions));
    row("every line and entry once, deflated, and 80 bytes for each version", copies.pieces());
    row("git commit of the whole files", whole.loose);
    row("the same after git gc", whole.packed);
    row("**forklore**, as recorded", after_recording);
    row("**forklore**, packed", packed);
    let what = format!(
        "a story of {} messages ({} and {}), packed",
        TURNS * 2,
        megabytes(copies.last_chat),
        megabytes(copies.last_book)
    );
    let bound = Measured::memory(what, packed.0, "one megabyte", MAX_BYTES, 1.0);
    Ok((table, vec![bound]))
}

/// The size of simpler ways to store every version.
#[derive(Default)]
struct Copies {
    versions: usize,
    bytes: u64,
    deflated: u64,
    seen: HashSet<Vec<u8>>,
    pieces: u64,
    last_chat: u64,
    last_book: u64,
}

impl Copies {
    fn see(&mut self, kind: FileKind, bytes: &[u8]) {
        self.versions += 1;
        self.bytes += bytes.len() as u64;
        self.deflated += deflated(bytes);
        match kind {
            FileKind::Chat => self.last_chat = bytes.len() as u64,
            _ => self.last_book = bytes.len() as u64,
        }
        let split = split(kind, bytes);
        let body = split.body.into_iter().map(|(_, range)| range);
        for range in [split.head, split.tail].into_iter().chain(body) {
            let piece = &bytes[range];
            if !self.seen.contains(piece) {
                self.pieces += deflated(piece);
                self.seen.insert(piece.to_vec());
            }
        }
    }

    fn pieces(&self) -> (u64, usize) {
        (self.pieces + 80 * self.versions as u64, 1)
    }
}

fn deflated(bytes: &[u8]) -> u64 {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    // Writing into memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default().len() as u64
}

/// The size of a Git repository of the whole files, with a commit for each save.
struct WholeFiles {
    loose: (u64, usize),
    packed: (u64, usize),
}

impl WholeFiles {
    fn measure(folder: &Path) -> anyhow::Result<Self> {
        let mut whole: Option<Committing> = None;
        play(&mut |story, lore, _| {
            let book = lore.bytes();
            match &mut whole {
                Some(whole) => {
                    whole.prepare(story, &book)?;
                    whole.commit()
                }
                None => {
                    whole = Some(Committing::new(folder, story, &book)?);
                    Ok(())
                }
            }
        })?;
        let repository = folder.join("whole");
        let objects = repository.join(".git/objects");
        let loose = on_disk(&objects)?;
        run(git(&repository).args(["gc", "--quiet"]), b"")?;
        Ok(Self { loose, packed: on_disk(&objects)? })
    }
}

/// The number of bytes and of files below a folder.
pub(crate) fn on_disk(folder: &Path) -> anyhow::Result<(u64, usize)> {
    let mut sum = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let meta = entry.metadata()?;
            if meta.is_dir() {
                folders.push(entry.path());
            } else {
                sum.0 += meta.len();
                sum.1 += 1;
            }
        }
    }
    Ok(sum)
}

pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.2} MB", bytes as f64 / 1e6)
}
