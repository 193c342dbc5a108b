//! The journal: everything recorded since the last pack was written, in one file to which each
//! recording is appended with a single sync. Packs are for long-term storage, the journal makes
//! recording fast and durable.
//!
//! A recording is valid if it is complete and its checksum is correct. An incomplete one at the
//! end, left by a power cut, is ignored and overwritten.

use std::io::Write as _;

use flate2::write::ZlibEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};
use memchr::memmem;

use crate::git::object::{Id, Kind, Object};

const TITLE: &[u8] = b"forklore journal 1\n";
pub(crate) const MARK: &[u8] = b"FkLr";
/// Mark, generation, length, inflated length, checksum.
const HEADER: usize = 4 + 8 + 4 + 4 + 4;
const ID: usize = 20;

/// Objects that belong together, and the refs that point to them from then on.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub objects: Vec<Object>,
    pub refs: Vec<(String, Id)>,
}

/// The content of a journal.
#[derive(Debug, Default)]
pub struct Journal {
    /// Distinguishes this journal from the one that it replaced.
    pub generation: u64,
    pub recordings: Vec<Recording>,
    /// Where to append the next recording.
    pub end: u64,
    /// A recording in the middle cannot be read, which a power cut does not explain.
    pub is_damaged: bool,
}

/// A journal without recordings.
pub fn empty(generation: u64) -> Vec<u8> {
    [TITLE, &generation.to_le_bytes()].concat()
}

/// Whether a file that starts like this can be a journal of this generation. `start` may end within
/// the generation number.
pub(crate) fn could_be_generation(start: &[u8], generation: u64) -> bool {
    let begins = empty(generation);
    let length = start.len().min(begins.len());
    length > TITLE.len() && start[..length] == begins[..length]
}

/// Serialises a recording as it is appended.
pub fn entry(generation: u64, recording: &Recording) -> Vec<u8> {
    let raw = write(recording);
    let mut encoder = ZlibEncoder::new(vec![0; HEADER], Compression::fast());
    // Writing into memory cannot fail.
    let _ = encoder.write_all(&raw);
    let mut entry = encoder.finish().unwrap_or_default();
    let length = (entry.len() - HEADER) as u32;
    entry[..4].copy_from_slice(MARK);
    entry[4..12].copy_from_slice(&generation.to_le_bytes());
    entry[12..16].copy_from_slice(&length.to_le_bytes());
    entry[16..20].copy_from_slice(&(raw.len() as u32).to_le_bytes());
    let checksum = checksum(&entry);
    entry[20..24].copy_from_slice(&checksum.to_le_bytes());
    entry
}

/// Parses a journal; `None` if the file is not one.
pub fn read(bytes: &[u8]) -> Option<Journal> {
    let rest = bytes.strip_prefix(TITLE)?;
    let generation = u64::from_le_bytes(*rest.first_chunk::<8>()?);
    let mut at = TITLE.len() + 8;
    let mut journal = Journal { generation, end: at as u64, ..Journal::default() };
    let mut reader = Reader::new();
    while at < bytes.len() {
        if let Some((recording, length)) = reader.entry(&bytes[at..], Some(generation)) {
            journal.recordings.push(recording);
            at += length;
            journal.end = at as u64;
            continue;
        }
        // Unreadable. If a recording follows, this is more than an unfinished end.
        let next = memmem::find_iter(&bytes[at + 1..], MARK).map(|next| at + 1 + next);
        // Valid recordings of another generation mean that the start of this file was damaged.
        journal.is_damaged |= reader.entry(&bytes[at..], None).is_some();
        let mut next = next.into_iter();
        match next.find(|next| reader.entry(&bytes[*next..], Some(generation)).is_some()) {
            Some(next) => {
                journal.is_damaged = true;
                at = next;
            }
            None => break,
        }
    }
    Some(journal)
}

/// Every readable recording of a damaged journal.
pub fn salvage(bytes: &[u8]) -> Vec<Recording> {
    let mut reader = Reader::new();
    let mut recordings = Vec::new();
    let mut end = 0;
    for at in memmem::find_iter(bytes, MARK) {
        if at >= end
            && let Some((recording, length)) = reader.entry(&bytes[at..], None)
        {
            recordings.push(recording);
            end = at + length;
        }
    }
    recordings
}

/// Reads recordings one after another. Reuses one decompressor: creating one takes longer than
/// inflating a small recording.
struct Reader {
    inflate: Decompress,
    raw: Vec<u8>,
}

impl Reader {
    fn new() -> Self {
        Self { inflate: Decompress::new(true), raw: Vec::new() }
    }

    /// Reads the recording at the start of `bytes`. Also returns its length.
    fn entry(&mut self, bytes: &[u8], generation: Option<u64>) -> Option<(Recording, usize)> {
        let header = bytes.first_chunk::<HEADER>()?;
        let number = |at: usize| Some(u32::from_le_bytes(*header.get(at..)?.first_chunk::<4>()?));
        let is_ours = header.starts_with(MARK)
            && generation.is_none_or(|generation| header[4..12] == generation.to_le_bytes());
        let length = HEADER + number(12)? as usize;
        let entry = bytes.get(..length)?;
        if !is_ours || checksum(entry) != number(20)? {
            return None;
        }
        self.inflate.reset(true);
        self.raw.clear();
        self.raw.reserve(number(16)? as usize);
        let packed = &entry[HEADER..];
        let status =
            self.inflate.decompress_vec(packed, &mut self.raw, FlushDecompress::Finish).ok()?;
        let recording = (status == Status::StreamEnd).then(|| parse(&self.raw))??;
        Some((recording, length))
    }
}

fn checksum(entry: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&entry[..20]);
    hasher.update(&entry[HEADER..]);
    hasher.finalize()
}

fn write(recording: &Recording) -> Vec<u8> {
    let size: usize = recording.objects.iter().map(|object| object.data.len() + 64).sum();
    let mut raw = Vec::with_capacity(size + 128);
    raw.extend_from_slice(&(recording.objects.len() as u32).to_le_bytes());
    for object in &recording.objects {
        raw.push(match object.kind {
            Kind::Commit => 1,
            Kind::Tree => 2,
            Kind::Blob => 3,
            Kind::Tag => 4,
        });
        raw.extend_from_slice(object.id.as_slice());
        match &object.before {
            Some(before) => {
                raw.push(1);
                raw.extend_from_slice(before.as_slice());
            }
            None => raw.push(0),
        }
        raw.extend_from_slice(&(object.data.len() as u32).to_le_bytes());
        raw.extend_from_slice(&object.data);
    }
    for (name, id) in &recording.refs {
        raw.extend_from_slice(&(name.len() as u16).to_le_bytes());
        raw.extend_from_slice(name.as_bytes());
        raw.extend_from_slice(id.as_slice());
    }
    raw
}

fn parse(mut raw: &[u8]) -> Option<Recording> {
    let raw = &mut raw;
    let count = u32::from_le_bytes(*take(raw, 4)?.first_chunk()?);
    let mut recording = Recording::default();
    for _ in 0..count {
        let kind = match take(raw, 1)?[0] {
            1 => Kind::Commit,
            2 => Kind::Tree,
            3 => Kind::Blob,
            4 => Kind::Tag,
            _ => return None,
        };
        let id = take_id(raw)?;
        let before = match take(raw, 1)?[0] {
            0 => None,
            _ => Some(take_id(raw)?),
        };
        let length = u32::from_le_bytes(*take(raw, 4)?.first_chunk()?);
        let data = take(raw, length as usize)?.to_vec();
        recording.objects.push(Object { id, kind, data, before });
    }
    while !raw.is_empty() {
        let length = u16::from_le_bytes(*take(raw, 2)?.first_chunk()?);
        let name = std::str::from_utf8(take(raw, length.into())?).ok()?.to_owned();
        recording.refs.push((name, take_id(raw)?));
    }
    Some(recording)
}

fn take<'a>(raw: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = raw.split_at_checked(length)?;
    *raw = rest;
    Some(taken)
}

fn take_id(raw: &mut &[u8]) -> Option<Id> {
    Id::try_from(take(raw, ID)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::object::id_of;

    fn recording(number: usize) -> Recording {
        let data = format!("message {number}").repeat(number + 1).into_bytes();
        let id = id_of(Kind::Blob, &data).unwrap();
        let before = (number % 2 == 1).then_some(id);
        let objects = vec![Object { id, kind: Kind::Blob, data, before }];
        Recording { objects, refs: vec![(format!("refs/heads/{number}"), id)] }
    }

    fn journal() -> (Vec<u8>, Vec<usize>) {
        let mut bytes = empty(7);
        let mut ends = vec![bytes.len()];
        for number in 0..5 {
            bytes.extend(entry(7, &recording(number)));
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn names(journal: &Journal) -> Vec<&str> {
        journal.recordings.iter().map(|recording| recording.refs[0].0.as_str()).collect()
    }

    #[test]
    fn what_is_recorded_is_read_back() {
        let read = read(&journal().0).unwrap();
        for (number, got) in read.recordings.iter().enumerate() {
            let expected = recording(number);
            assert_eq!(got.refs, expected.refs);
            assert_eq!(got.objects[0].data, expected.objects[0].data);
            assert_eq!(got.objects[0].before, expected.objects[0].before);
        }
        assert_eq!((read.recordings.len(), read.is_damaged), (5, false));
    }

    #[test]
    fn cut_off_anywhere_it_says_what_was_finished() {
        let (bytes, ends) = journal();
        for length in ends[0]..bytes.len() {
            let read = read(&bytes[..length]).unwrap();
            let finished = ends.iter().filter(|end| **end <= length).count() - 1;
            assert_eq!(read.recordings.len(), finished);
            assert_eq!(read.end as usize, ends[finished]);
            assert!(!read.is_damaged);
            let mut zeros = bytes[..length].to_vec();
            zeros.resize(length + 600, 0);
            assert_eq!(super::read(&zeros).unwrap().recordings.len(), finished);
        }
    }

    #[test]
    fn one_that_is_damaged_in_the_middle_does_not_hide_the_others() {
        let (bytes, ends) = journal();
        for at in ends[1]..ends[2] {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            let read = read(&bytes).unwrap();
            assert_eq!(
                names(&read),
                ["refs/heads/0", "refs/heads/2", "refs/heads/3", "refs/heads/4"]
            );
            assert!(read.is_damaged);
            assert_eq!(read.end as usize, bytes.len());
        }
    }

    #[test]
    fn what_an_older_journal_left_behind_is_not_taken_for_its_own() {
        let mut bytes = empty(8);
        bytes.extend(entry(7, &recording(0)));
        assert!(read(&bytes).unwrap().recordings.is_empty());
        // A crash cannot cause this: something changed the generation number.
        assert!(read(&bytes).unwrap().is_damaged);
        assert_eq!(salvage(&bytes).len(), 1);
        assert!(read(b"something else").is_none());
        assert!(read(b"").is_none());
    }
}
