//! `forklore history verify`

use forklore_history::file::FileName;
use forklore_history::record::scan::{home, read_stable};
use forklore_history::upkeep::fsck::{Verified, verify};
use forklore_tavern::work::tavern::Tavern;

use super::{Histories, Outcome};
use crate::commands::shared::damage;
use crate::exit::Exit;
use crate::json::{self, Json};
use crate::text::{Line, Style, bytes, count};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui<'_>, tavern: &Tavern<'_>, histories: &Histories) -> Outcome {
    let mut history = histories.open_existing(tavern)?;
    let verified = {
        let progress = ui.progress(0, "Reading");
        verify(&mut history, &live_reader(tavern), &|_, of| progress.tick_of(of))?
    };
    say(ui, &verified);
    let is_only_lost = verified.faults.is_empty() && verified.lost_refs.is_empty();
    if !verified.is_sound() && is_only_lost && !verified.damage.is_empty() {
        ui.hint(
            "`forklore history repair` takes from SillyTavern's files what they still have; `forklore history dismiss --damage` accepts that the rest is lost.",
        );
    } else if !verified.is_sound() {
        ui.hint(damage::HINT);
    }
    ui.answer(&json::answer("history verify", [("history", answer(&verified))]));
    Ok(Exit::found_if(!verified.is_sound()))
}

/// Reads the current files.
pub(super) fn live_reader(tavern: &Tavern<'_>) -> impl Fn(&FileName) -> Option<Vec<u8>> {
    let home = home(&tavern.folders);
    move |name| {
        let path = home.join(name.to_path());
        let path = tavern.folders.data_root.resolve(tavern.disk, &path).ok()?;
        read_stable(tavern.disk, &path).ok().map(|(bytes, _)| bytes)
    }
}

pub(super) fn say(ui: &mut Ui<'_>, verified: &Verified) {
    ui.say(format!(
        "Read {} in {} ({}): {} of {}.",
        count(verified.objects, "object", "objects"),
        count(verified.packs, "pack", "packs"),
        bytes(verified.bytes),
        count(verified.versions, "version", "versions"),
        count(verified.files, "file", "files"),
    ));
    for fault in &verified.faults {
        let path = fault.path.display().to_string();
        ui.say(
            Line::new()
                .add(Style::Bad, "  ! ")
                .plain(path)
                .plain(": ")
                .plain(fault.what.to_string()),
        );
    }
    for lost in &verified.lost_refs {
        let line = Line::new().add(Style::Bad, "  ! ").plain("the ref to ").bold(lost.file.label());
        ui.say(line.plain(format!(" is lost: {}", lost.reference)));
    }
    for name in &verified.misspelt {
        ui.say(Line::new().add(Style::Bad, "  ! ").plain(format!("{name}: no file has this name")));
    }
    say_damage(ui, verified);
    let damaged = verified.versions - verified.sound_versions;
    if verified.versions == 0 && verified.is_sound() {
        ui.say("Nothing has been recorded.");
    } else if verified.is_sound() && verified.accepted > 0 {
        let lost = versions(verified.accepted);
        let are = if verified.accepted == 1 { "is" } else { "are" };
        let words = format!("Everything is sound but for what you know: {lost} {are} lost.");
        ui.say(Line::new().add(Style::Good, words));
    } else if verified.is_sound() {
        ui.say(Line::new().add(Style::Good, "Everything is sound.").plain(
            " Every version can be rebuilt, and the newest of each file was, byte for byte.",
        ));
    } else if verified.versions == 0 {
        ui.say("No version can be reached in this state.");
    } else if damaged == 0 {
        ui.say(format!("All {} that can be reached are intact.", versions(verified.versions)));
    } else {
        ui.say(format!(
            "{} damaged; the other {} intact.",
            match damaged {
                1 => "1 version is".to_owned(),
                _ => format!("{damaged} versions are"),
            },
            verified.sound_versions,
        ));
    }
    if !verified.unrecorded.is_empty() {
        let files = count(verified.unrecorded.len(), "file", "files");
        ui.say(format!("{files} changed since the last recording. That is not damage."));
    }
    if !verified.set_aside.is_empty() {
        let files = count(verified.set_aside.len(), "damaged file", "damaged files");
        ui.say(format!("Set aside by repairs: {files}."));
    }
}

/// Shows which parts of which files are missing. While files of the history are damaged, some of
/// these may still be recovered.
fn say_damage(ui: &mut Ui<'_>, verified: &Verified) {
    let word = if verified.faults.is_empty() { "lost: " } else { "cannot be read now: " };
    let mark = || Line::new().add(Style::Bad, "  ! ").plain(word);
    // For these only the ref is known, not even the file's name.
    let (unreached, partly): (Vec<_>, Vec<_>) =
        verified.damage.iter().partition(|damage| damage.is_all_unreached());
    for damage in &partly {
        ui.say(mark().plain(damage.to_string()));
    }
    if unreached.len() > MAX_LISTED {
        ui.say(mark().plain(format!("all of {} files", unreached.len())));
    } else {
        unreached.iter().for_each(|damage| ui.say(mark().plain(damage.to_string())));
    }
}

/// At most this many entirely lost files are listed one by one.
const MAX_LISTED: usize = 5;

fn versions(number: usize) -> String {
    count(number, "version", "versions")
}

pub(super) fn answer(verified: &Verified) -> Json {
    let damage = verified.damage.iter().map(|damage| {
        let ranges = damage.versions.iter().map(|range| {
            let ends = [*range.start(), *range.end()];
            Json::Array(ends.map(|end| Json::from(end as usize)).to_vec())
        });
        Json::object([
            ("file", Json::from(damage.file.as_str())),
            ("piece", Json::from(damage.piece.to_string().as_str())),
            ("versions", Json::Array(ranges.collect())),
        ])
    });
    let faults = verified.faults.iter().map(|fault| {
        Json::object([
            ("path", Json::from(fault.path.display().to_string().as_str())),
            ("what", Json::from(fault.what.to_string().as_str())),
        ])
    });
    Json::object([
        ("sound", Json::from(verified.is_sound())),
        ("packs", Json::from(verified.packs)),
        ("bytes", Json::from(verified.bytes as usize)),
        ("objects", Json::from(verified.objects)),
        ("files", Json::from(verified.files)),
        ("versions", Json::from(verified.versions)),
        ("sound_versions", Json::from(verified.sound_versions)),
        ("faults", Json::Array(faults.collect())),
        ("lost", Json::Array(damage.collect())),
        ("accepted", Json::from(verified.accepted)),
        ("lost_refs", json::texts(verified.lost_refs.iter().map(|lost| &lost.reference))),
        ("unrecorded", json::texts(verified.unrecorded.iter().map(FileName::as_str))),
        ("set_aside", json::texts(verified.set_aside.iter().map(|path| path.display()))),
    ])
}
