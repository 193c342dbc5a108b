//! Measures the cost of the same saves in SillyTavern itself, before there is anything to record.

use std::time::{Duration, Instant};

use forklore_testkit::sillytavern::{Force, Server};

use super::data::{Host, MESSAGES};
use super::process::Usage;
use crate::bench::data::Folder;

/// The number of pages that save at the same time.
const PAGES: usize = 4;
/// The number of saves by each page.
const SAVES: usize = 100;

/// The cost of saving chats of the same length through the server.
pub(crate) struct Served {
    pub(crate) saves: usize,
    pub(crate) took: Duration,
    pub(crate) processor: Duration,
    pub(crate) memory: u64,
}

pub(crate) fn served(host: &Host) -> anyhow::Result<Served> {
    let folder = Folder::new()?;
    let server = Server::start(folder.root());
    let avatar = server.api().create_character("Mara", "Good evening.");
    let save = |page: usize, saves: usize| -> anyhow::Result<()> {
        let bytes = host.saved(page, 0, saves);
        let lines: Vec<&str> = std::str::from_utf8(&bytes)?.lines().collect();
        anyhow::ensure!(lines.len() == MESSAGES + 2 + saves, "a chat of another length");
        server.api().save_chat(&avatar, &format!("Story {page}"), &lines, Force::Yes).ok();
        Ok(())
    };
    (0..PAGES).try_for_each(|page| save(page, 0))?;
    let before = Usage::of(server.process_id())?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let pages: Vec<_> = (0..PAGES)
            .map(|page| scope.spawn(move || (0..SAVES).try_for_each(|_| save(page, 1))))
            .collect();
        pages.into_iter().try_for_each(|page| match page.join() {
            Ok(done) => done,
            Err(_) => anyhow::bail!("a page could not save"),
        })
    })?;
    let took = began.elapsed();
    let after = Usage::of(server.process_id())?;
    let processor = after.processor.saturating_sub(before.processor);
    Ok(Served { saves: PAGES * SAVES, took, processor, memory: after.memory })
}
