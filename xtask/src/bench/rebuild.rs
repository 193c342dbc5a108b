//! Compares a fork with ST-Auto-Recap's approach, which rebuilds a book through SillyTavern's API
//! one entry at a time, reading and writing the whole book for each.

use std::path::Path;
use std::time::Duration;

use forklore_json::Json;
use forklore_testkit::sillytavern::Server;

use super::data::{Folder, entry};
use super::measure::{Measured, median_of, timed};
use super::run_quietly;

const ENTRIES: usize = 500;

pub(crate) fn figure(forklore: &Path) -> anyhow::Result<Measured> {
    let folder = Folder::new()?;
    folder.chat("Ada", "Story", 200, 2_000, Some("Lore"))?;
    folder.book("Lore", ENTRIES)?;
    let server = Server::start(folder.root());
    let api = server.api();

    let rebuilt = timed(|| {
        api.edit_book("Rebuilt", "{\"entries\":{}}").ok();
        for uid in 0..ENTRIES {
            let text = api.get_book("Rebuilt").ok().body;
            let mut book = Json::parse(text.as_bytes())?;
            if let Some(entries) = book
                .as_object_mut()
                .and_then(|book| book.get_mut("entries"))
                .and_then(Json::as_object_mut)
            {
                entries.insert(uid.to_string(), entry(uid));
            }
            api.edit_book("Rebuilt", &String::from_utf8(book.stringify())?).ok();
        }
        Ok(())
    })?;
    let forks: Vec<Duration> = (0..5)
        .map(|_| timed(|| run_quietly(forklore, folder.root(), &["branch", "Ada/Story"])))
        .collect::<anyhow::Result<_>>()?;
    Ok(Measured::faster(
        format!("fork with a {ENTRIES}-entry book"),
        median_of(forks),
        "rebuilding the book entry by entry through SillyTavern's API",
        rebuilt,
        100.0,
    ))
}
