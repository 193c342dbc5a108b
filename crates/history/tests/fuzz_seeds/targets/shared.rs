//! What a pack must be once it was taken apart, and a history to take bundles into.

use std::cell::RefCell;
use std::time::{Duration, UNIX_EPOCH};

use forklore_history::exchange::bundle;
use forklore_history::file::FileName;
use forklore_history::git::object::{HASH, id_of};
use forklore_history::git::raw::RawIndex;
use forklore_history::git::unpack::Unpacked;
use forklore_history::record::recorder::Observed;
use forklore_history::upkeep::fsck::verify;
use forklore_history::version::history::History;
use forklore_tavern::disk::RealDisk;
use forklore_tavern::disk::clock::SystemClock;
use tempfile::TempDir;

/// The same bytes with the checksum that a pack ends with.
pub(crate) fn with_checksum(body: &[u8]) -> Vec<u8> {
    let mut hasher = gix_hash::hasher(HASH);
    hasher.update(body);
    let sum = hasher.try_finalize().expect("no collision by chance");
    [body, sum.as_slice()].concat()
}

/// Takes a pack apart. What is found in it is what its name says, and is found again in the pack that we
/// make of it.
pub(crate) fn unpack(bytes: &[u8]) {
    let Ok(unpacked) = Unpacked::read(bytes, &|_| None) else { return };
    for id in unpacked.ids() {
        let (kind, data) = unpacked.object(id).expect("an object that was named can be read");
        assert_eq!(unpacked.header(id), Some((kind, data.len() as u64)));
        assert_eq!(id_of(kind, &data).ok().as_ref(), Some(id));
    }
    let packed = unpacked.packed().expect("no collision by chance");
    let index = RawIndex::read(&packed.index);
    assert!(index.is_sound && index.pack == Some(packed.name));
    let again = Unpacked::read(&packed.pack, &|_| None).expect("what we pack, we unpack");
    let ids = |unpacked: &Unpacked<'_>| {
        let mut ids: Vec<_> = unpacked.ids().copied().collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&unpacked), ids(&again));
}

struct Machine {
    history: History<'static>,
    folder: TempDir,
}

fn machine(host: &str) -> Machine {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let repository = folder.path().join("history.git");
    let history = History::open(&RealDisk, &SystemClock, repository, host).expect("a new history");
    Machine { history, folder }
}

/// A machine that has recorded something of its own.
fn with_a_chat() -> Machine {
    let mut machine = machine("PC");
    let mut recorder = machine.history.record().expect("a recorder");
    let name = FileName::of_text("chats/Anna/Story.jsonl");
    let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let text = b"{\"chat_metadata\":{}}\n{\"name\":\"Anna\",\"mes\":\"By the fire.\"}";
    recorder.file(&name, text, now, Observed::AsItHappened, &|_| true).expect("it is recorded");
    recorder.persist().expect("it is kept");
    machine
}

thread_local! {
    /// Made again only after something was taken into it: making one takes a thousand times as long as
    /// refusing a bundle.
    static READY: RefCell<Option<Machine>> = const { RefCell::new(None) };
}

/// Takes a bundle in: all of it, after which the history is sound and everything in it can be read, or
/// nothing.
pub(crate) fn take_in(bytes: &[u8]) {
    let mut machine = READY.take().unwrap_or_else(with_a_chat);
    let before = machine.history.store().refs().clone();
    let taken = bundle::import(&mut machine.history, bytes);
    let after = machine.history.store().refs();
    match taken {
        Ok(_) if *after != before => {
            assert!(before.iter().all(|(name, id)| after.get(name) == Some(id)), "ours changed");
            sound(machine);
        }
        Ok(_) | Err(_) => {
            assert_eq!(*after, before, "of what was refused something was taken in");
            READY.set(Some(machine));
        }
    }
}

fn sound(mut machine: Machine) {
    let verified = verify(&mut machine.history, &|_| None, &|_, _| {}).expect("it can be verified");
    // A bundle may bring a version that comes after one of another file, without the ref of that file: git makes
    // such bundles of single branches. Then `verify` misses that ref, and a repair puts it back.
    let is_whole = verified.faults.is_empty() && verified.damage.is_empty();
    assert!(is_whole && verified.misspelt.is_empty(), "{verified:?}");
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '/');
    for lost in &verified.lost_refs {
        let parts = lost.reference.split('/');
        let is_ours = parts.clone().count() == 5 && parts.into_iter().all(|part| !part.is_empty());
        assert!(is_ours && lost.reference.chars().all(is_plain), "{lost:?}");
    }
    assert!(machine.history.lineages().unreadable.is_empty());
    for lineage in machine.history.lineages().iter() {
        for version in machine.history.versions(&lineage.tip) {
            let content = machine.history.content(&version).expect("so can its content");
            assert_eq!(content.len() as u64, version.version.bytes);
        }
    }
    assert!(!machine.history.store().met_damage(), "every version can be read");
    drop(machine.folder);
}
