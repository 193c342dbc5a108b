//! `forklore history bundle`

use std::path::{Path, PathBuf};

use forklore_history::exchange::bundle::{self, BundleHeader};
use forklore_history::exchange::encryption::{self, Key, SealFor};
use forklore_tavern::disk::Disk;
use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome};
use crate::args::BundleArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::file;
use crate::json::{self, Json};
use crate::objection::Objection;
use crate::text::{Line, Style, bytes, count};
use crate::ui::Ui;

pub(super) fn run(
    ui: &mut Ui<'_>,
    tavern: &Tavern<'_>,
    histories: &Histories,
    args: &BundleArgs,
) -> Outcome {
    let disk = tavern.disk;
    let mut history = histories.open_existing(tavern)?;
    let passphrase = args.passphrase_file.as_deref();
    let seal = match (passphrase, args.recipient.is_empty()) {
        (Some(file), _) => Some(SealFor::Passphrase(encryption::passphrase(&text(disk, file)?)?)),
        (None, false) => Some(SealFor::Recipients(args.recipient.clone())),
        (None, true) => None,
    };
    let file = if seal.is_some() { sealed_name(&args.file) } else { args.file.clone() };
    let since = match &args.since {
        Some(last) => {
            // Without an identity, the passphrase opens the earlier bundle too.
            let key = key(
                disk,
                passphrase.filter(|_| args.identity.is_none()),
                args.identity.as_deref(),
            )?;
            Some(BundleHeader::read(&read_bundle(disk, last, key.as_ref())?)?.0)
        }
        None => None,
    };
    let Some(made) = bundle::make(&mut history, since.as_ref())? else {
        ui.say("There is nothing new to bundle.");
        ui.answer(&json::answer("history bundle", [("file", Json::from(None::<String>))]));
        return Ok(Exit::Fine);
    };
    let whole = match &seal {
        Some(seal) => encryption::seal(&made.bytes, seal)?,
        None => made.bytes,
    };
    file::write(disk, &file, &whole)?;
    let sealed = if seal.is_some() { ", encrypted" } else { "" };
    ui.say(Line::new().plain("Wrote ").bold(file.display().to_string()).plain(format!(
        ": {}, {}{sealed}.",
        count(made.files, "file", "files"),
        bytes(whole.len() as u64)
    )));
    if seal.is_none() {
        ui.note(Line::new().add(Style::Note, "  ! ").plain(
            "Anyone with this file can read it. Encrypt it with --passphrase-file or --recipient.",
        ));
    }
    ui.answer(&json::answer(
        "history bundle",
        [
            ("file", Json::from(file.display().to_string())),
            ("files", Json::from(made.files)),
            ("objects", Json::from(made.objects)),
            ("bytes", Json::from(whole.len())),
            ("sealed", Json::from(seal.is_some())),
        ],
    ));
    Ok(Exit::Fine)
}

/// Appends `.age` unless the name already has it: `stories.bundle.age`.
fn sealed_name(file: &Path) -> PathBuf {
    if file.extension().is_some_and(|extension| extension == "age") {
        return file.to_owned();
    }
    let mut name = file.as_os_str().to_owned();
    name.push(".age");
    name.into()
}

fn read(disk: &dyn Disk, file: &Path) -> Result<Vec<u8>, CommandError> {
    let cannot = |error| CommandError::new(Objection::NotRead { path: file.to_owned(), error });
    disk.read(file).map_err(cannot)
}

fn text(disk: &dyn Disk, file: &Path) -> Result<String, CommandError> {
    let cannot = |_| CommandError::new(Objection::NotText(file.to_owned()));
    String::from_utf8(read(disk, file)?).map_err(cannot)
}

pub(super) fn key(
    disk: &dyn Disk,
    passphrase: Option<&Path>,
    identity: Option<&Path>,
) -> Result<Option<Key>, CommandError> {
    Ok(match (passphrase, identity) {
        (Some(file), _) => Some(Key::Passphrase(encryption::passphrase(&text(disk, file)?)?)),
        (None, Some(file)) => Some(Key::Identities(text(disk, file)?.into())),
        (None, None) => None,
    })
}

/// Reads a bundle, decrypting it if necessary.
pub(super) fn read_bundle(
    disk: &dyn Disk,
    file: &Path,
    key: Option<&Key>,
) -> Result<Vec<u8>, CommandError> {
    let whole = read(disk, file)?;
    Ok(if encryption::is_sealed(&whole) { encryption::open(&whole, key)? } else { whole })
}
