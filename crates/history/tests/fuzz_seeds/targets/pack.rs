use forklore_history::git::raw::{RawIndex, RawPack};

use super::shared::{unpack, with_checksum};

/// A pack that a stranger made, or that a failing disk left, and the same bytes as an index.
pub(crate) fn pack(bytes: &[u8]) {
    unpack(bytes);
    let whole = with_checksum(bytes);
    unpack(&whole);
    let index = RawIndex::read(bytes);
    for (pack, index) in [(bytes, &RawIndex::default()), (bytes, &index), (&whole, &index)] {
        let pack = RawPack::new(pack, index);
        for offset in pack.walk() {
            assert!(offset < bytes.len() as u64);
            assert!(pack.base_of(offset).is_none_or(
                |base| base < offset || index.places.iter().any(|place| place.offset == base)
            ));
            let object = pack.named(offset, &|_| None);
            assert_eq!(object, pack.named(offset, &|_| None));
        }
        for place in index.places.iter().take(16) {
            drop(pack.object(place.offset, &|_| None));
        }
    }
}
