use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use forklore_history::git::object::{Id, Kind, id_of};

use super::shared::{take_in, unpack, with_checksum};

/// Objects in a pack and refs to them, built from a description, so that deflated parts, names and checksums
/// are right and what they hold is read.
///
/// The description is a list of: a kind, for a delta how many entries back its base is, a length of two
/// bytes, and that many bytes. Kind 0 is a line of the bundle's header. In what is not a delta, the byte 0x1A
/// and a number stand for the name of that entry in hexadecimal, 0x1B and a number for its twenty bytes.
pub(crate) fn objects(bytes: &[u8]) {
    let built = build(bytes);
    unpack(&built.pack);
    let mut bundle = b"# v2 git bundle\n".to_vec();
    bundle.extend(&built.header);
    bundle.push(b'\n');
    bundle.extend(&built.pack);
    take_in(&bundle);
}

struct Built {
    header: Vec<u8>,
    pack: Vec<u8>,
}

const WHOLE: [Kind; 4] = [Kind::Commit, Kind::Tree, Kind::Blob, Kind::Tag];
const OFFSET_DELTA: u8 = 6;
const NAME_DELTA: u8 = 7;

fn build(mut rest: &[u8]) -> Built {
    let mut entries: Vec<(Id, usize)> = Vec::new();
    let mut header = Vec::new();
    let mut body = Vec::new();
    while let Some((&kind, after)) = rest.split_first() {
        rest = after;
        let kind = kind & 7;
        let back = if kind >= OFFSET_DELTA { usize::from(take(&mut rest, 1)[0]) } else { 0 };
        let length = take(&mut rest, 2);
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        let data;
        (data, rest) = rest.split_at(length.min(rest.len()));
        let at = 12 + body.len();
        let base = entries.len().checked_sub(back).and_then(|base| entries.get(base)).copied();
        let mut id = Id::null(forklore_history::git::object::HASH);
        match (kind, base) {
            (1..=4, _) => {
                let data = named(data, &entries);
                id = id_of(WHOLE[usize::from(kind - 1)], &data).expect("no collision by chance");
                push_entry(&mut body, kind, &[], &data);
            }
            (OFFSET_DELTA, Some((_, base))) => {
                push_entry(&mut body, kind, &distance(at - base), data);
            }
            (NAME_DELTA, Some((base, _))) => push_entry(&mut body, kind, base.as_slice(), data),
            _ => {
                header.extend(named(data, &entries));
                header.push(b'\n');
                continue;
            }
        }
        entries.push((id, at));
    }
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    let pack = [b"PACK\0\0\0\x02".as_slice(), &count.to_be_bytes(), &body].concat();
    Built { header, pack: with_checksum(&pack) }
}

/// So many bytes, zeros where there are no more.
fn take(rest: &mut &[u8], count: usize) -> Vec<u8> {
    let (taken, after) = rest.split_at(count.min(rest.len()));
    *rest = after;
    let mut taken = taken.to_vec();
    taken.resize(count, 0);
    taken
}

/// The data with the names of entries where it asks for them.
fn named(data: &[u8], entries: &[(Id, usize)]) -> Vec<u8> {
    let mut named = Vec::with_capacity(data.len());
    let mut bytes = data.iter().copied();
    while let Some(byte) = bytes.next() {
        if !matches!(byte, 0x1A | 0x1B) {
            named.push(byte);
            continue;
        }
        let number = usize::from(bytes.next().unwrap_or_default());
        let Some((id, _)) = entries.get(number) else { continue };
        match byte {
            0x1A => named.extend_from_slice(id.to_string().as_bytes()),
            _ => named.extend_from_slice(id.as_slice()),
        }
    }
    named
}

fn push_entry(body: &mut Vec<u8>, kind: u8, base: &[u8], data: &[u8]) {
    let mut size = data.len();
    let mut byte = kind << 4 | (size & 15) as u8;
    size >>= 4;
    while size > 0 {
        body.push(byte | 0x80);
        byte = (size & 0x7f) as u8;
        size >>= 7;
    }
    body.push(byte);
    body.extend_from_slice(base);
    let mut deflate = ZlibEncoder::new(body, Compression::fast());
    deflate.write_all(data).and_then(|()| deflate.finish()).expect("writing to memory");
}

/// How far back a base is, as git writes it.
fn distance(mut distance: usize) -> Vec<u8> {
    let mut bytes = vec![(distance & 0x7f) as u8];
    distance >>= 7;
    while distance > 0 {
        distance -= 1;
        bytes.push(0x80 | (distance & 0x7f) as u8);
        distance >>= 7;
    }
    bytes.reverse();
    bytes
}
