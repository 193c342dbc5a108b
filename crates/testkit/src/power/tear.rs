//! What is left of a file that was being written.

use std::collections::HashMap;

use super::content::Content;
use super::disk::File;
use super::op::Inode;

/// The smallest unit that a disk writes atomically.
const SECTOR: usize = 512;

/// A cache of torn files, which stay the same during operations on other files.
#[derive(Default)]
pub(super) struct Tears {
    known: HashMap<(Inode, Tear), Torn>,
}

struct Torn {
    synced: Content,
    now: Content,
    torn: Option<Content>,
}

impl Tears {
    /// `None` if the file cannot be torn in this way.
    pub(super) fn of(&mut self, inode: Inode, file: &File, tear: Tear) -> Option<Content> {
        let make_torn = || Torn {
            synced: file.synced.clone(),
            now: file.now.clone(),
            torn: tear.between(&file.synced, &file.now).map(Content::new),
        };
        let known = self.known.entry((inode, tear)).or_insert_with(make_torn);
        if !known.synced.is(&file.synced) || !known.now.is(&file.now) {
            *known = make_torn();
        }
        known.torn.clone()
    }
}

/// How much of the new content reached the disk. Old bytes are never lost: a place that was not
/// written keeps its old bytes, or is zero if the old file was shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tear {
    /// The length matches what was written.
    FirstSector,
    Half,
    AllButTheLastSector,
    /// The length is that of the whole new file.
    OnlyTheLength,
    LengthAndFirstHalf,
    LengthAndSecondHalf,
}

impl Tear {
    pub(super) const ALL: [Self; 6] = [
        Self::FirstSector,
        Self::Half,
        Self::AllButTheLastSector,
        Self::OnlyTheLength,
        Self::LengthAndFirstHalf,
        Self::LengthAndSecondHalf,
    ];

    /// `None` if the file cannot be torn in this way.
    fn between(self, old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
        let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let first = (same / SECTOR + 1) * SECTOR;
        let last = new.len().checked_sub(1)? / SECTOR * SECTOR;
        let middle = (first + last.max(first)) / 2 / SECTOR * SECTOR;
        let cut_at = |place: usize| {
            let rest = old.get(place..).unwrap_or_default();
            (place < new.len()).then(|| [&new[..place], rest].concat())
        };
        let mut only_length = old.to_vec();
        only_length.resize(new.len(), 0);
        match self {
            Self::FirstSector => cut_at(first),
            Self::Half => cut_at(middle),
            Self::AllButTheLastSector => cut_at(last.max(first)),
            Self::OnlyTheLength => Some(only_length),
            Self::LengthAndFirstHalf if middle < new.len() => {
                only_length[..middle].copy_from_slice(&new[..middle]);
                Some(only_length)
            }
            Self::LengthAndSecondHalf if middle < new.len() => {
                only_length[middle..].copy_from_slice(&new[middle..]);
                Some(only_length)
            }
            Self::LengthAndFirstHalf | Self::LengthAndSecondHalf => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tear: Tear, old: usize, new: usize, expected: Option<(usize, usize, usize)>) {
        // Counts of old bytes, new bytes and zeros.
        let torn = tear.between(&vec![b'o'; old], &vec![b'n'; new]);
        let count = |byte| move |torn: &Vec<u8>| torn.iter().filter(|&&b| b == byte).count();
        let counted =
            torn.as_ref().map(|torn| (count(b'o')(torn), count(b'n')(torn), count(0)(torn)));
        assert_eq!(counted, expected, "{tear:?} of {old} to {new}");
    }

    #[test]
    fn a_new_file_is_cut_between_sectors() {
        check(Tear::FirstSector, 0, 2000, Some((0, 512, 0)));
        check(Tear::Half, 0, 2000, Some((0, 1024, 0)));
        check(Tear::AllButTheLastSector, 0, 2000, Some((0, 1536, 0)));
        check(Tear::OnlyTheLength, 0, 2000, Some((0, 0, 2000)));
        check(Tear::LengthAndFirstHalf, 0, 2000, Some((0, 1024, 976)));
        check(Tear::LengthAndSecondHalf, 0, 2000, Some((0, 976, 1024)));
    }

    #[test]
    fn a_sector_is_all_there_or_not_at_all() {
        check(Tear::FirstSector, 0, 300, None);
        check(Tear::Half, 0, 300, None);
        check(Tear::OnlyTheLength, 0, 300, Some((0, 0, 300)));
        check(Tear::LengthAndSecondHalf, 0, 300, None);
    }

    #[test]
    fn what_the_disk_did_not_come_to_is_as_it_was() {
        check(Tear::FirstSector, 1024, 2000, Some((512, 512, 0)));
        check(Tear::OnlyTheLength, 1024, 2000, Some((1024, 0, 976)));
    }
}
