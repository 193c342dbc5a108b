//! Stores the same pieces as rows of a SQLite database, keyed by their hash.

use std::io::Write as _;
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use forklore_history::git::object::{Id, Kind, id_of};
use rusqlite::{Connection, params};

use super::rivals::{AddedPart, Levels, Rival};
use super::stories::Story;

/// A database that syncs every transaction to disk.
pub(crate) struct Sqlite {
    database: Connection,
    levels: Levels,
    added_part: AddedPart,
}

impl Sqlite {
    pub(crate) fn new(folder: &Path, story: &Story) -> anyhow::Result<Self> {
        let mut database = Connection::open(folder.join("history.sqlite"))?;
        database.pragma_update(None, "journal_mode", "WAL")?;
        database.pragma_update(None, "synchronous", "FULL")?;
        database.execute_batch(
            "CREATE TABLE pieces (id BLOB PRIMARY KEY, kind INTEGER, data BLOB) WITHOUT ROWID;
             CREATE TABLE versions (number INTEGER PRIMARY KEY, tree BLOB, words TEXT);",
        )?;
        let transaction = database.transaction()?;
        let (levels, root) = Levels::new(story, &mut |kind, data| put(&transaction, kind, &data))?;
        add_version(&transaction, &root)?;
        transaction.commit()?;
        Ok(Self { database, levels, added_part: AddedPart::new(story) })
    }
}

fn put(database: &Connection, kind: Kind, data: &[u8]) -> anyhow::Result<Id> {
    let id = id_of(kind, data)?;
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data)?;
    database
        .prepare_cached("INSERT OR IGNORE INTO pieces VALUES (?1, ?2, ?3)")?
        .execute(params![id.as_slice(), kind as u8, encoder.finish()?])?;
    Ok(id)
}

fn add_version(database: &Connection, tree: &Id) -> anyhow::Result<()> {
    database
        .prepare_cached("INSERT INTO versions (tree, words) VALUES (?1, 'one message more')")?
        .execute(params![tree.as_slice()])?;
    Ok(())
}

impl Rival for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite, the same pieces as rows"
    }

    fn store(&mut self, saved: &Path, story: &Story) -> anyhow::Result<()> {
        let added = self.added_part.added(saved)?;
        let transaction = self.database.transaction()?;
        let blob = put(&transaction, Kind::Blob, added)?;
        let root = self.levels.add(story.messages as u32 - 1, blob, &mut |kind, data| {
            put(&transaction, kind, &data)
        })?;
        add_version(&transaction, &root)?;
        transaction.commit()?;
        Ok(())
    }
}
