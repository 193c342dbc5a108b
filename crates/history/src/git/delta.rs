//! Delta encoding: an object expressed as differences from a base.

use std::ops::Range;

/// The shortest run of shared bytes that is searched for. A copy instruction for a shorter run
/// takes about as much space as the run itself once deflated.
const BLOCK: usize = 16;

/// No piece of a file comes near this size. A delta of a few bytes can claim any size it likes.
pub(super) const LARGEST: usize = 512 << 20;

/// How many positions of a base are indexed at most.
const PLACES: usize = 1 << 14;

/// Encodes `target` as a delta against `base`: the common prefix and suffix, and in between every
/// longer run that occurs anywhere in `base`.
pub fn between(base: &[u8], target: &[u8]) -> Vec<u8> {
    let most = base.len().min(target.len());
    let prefix = common_prefix(base, target);
    let suffix = common_suffix(&base[prefix..], &target[prefix..]).min(most - prefix);
    let end = target.len() - suffix;
    let mut delta = Vec::with_capacity((end - prefix) / 2 + 32);
    add_size(&mut delta, base.len());
    add_size(&mut delta, target.len());
    add_copy(&mut delta, 0, prefix);
    add_middle(&mut delta, base, &target[..end], prefix);
    add_copy(&mut delta, base.len() - suffix, suffix);
    delta
}

/// Encodes `target` from `at` on.
fn add_middle(delta: &mut Vec<u8>, base: &[u8], target: &[u8], mut at: usize) {
    // Where the bytes begin that are not encoded yet.
    let mut new = at;
    if target.len() - at > BLOCK && base.len() >= BLOCK {
        let places = BlockIndex::of(base);
        while at + BLOCK <= target.len() {
            let Some(found) = places.find(base, &target[at..at + BLOCK]) else {
                at += 1;
                continue;
            };
            let before = common_suffix(&base[..found], &target[new..at]);
            let after = common_prefix(&base[found + BLOCK..], &target[at + BLOCK..]);
            add_new(delta, &target[new..at - before]);
            add_copy(delta, found - before, before + BLOCK + after);
            at += BLOCK + after;
            new = at;
        }
    }
    add_new(delta, &target[new..]);
}

fn add_new(delta: &mut Vec<u8>, new: &[u8]) {
    for piece in new.chunks(127) {
        delta.push(piece.len() as u8);
        delta.extend_from_slice(piece);
    }
}

/// Where each block occurs in a base. If two blocks have the same hash, the first wins.
struct BlockIndex {
    table: Vec<u32>,
    shift: u32,
}

const NOWHERE: u32 = u32::MAX;

impl BlockIndex {
    fn of(base: &[u8]) -> Self {
        let step = base.len().div_ceil(PLACES).max(4);
        let count = base.len().div_ceil(step);
        let bits = (count * 2).next_power_of_two().trailing_zeros().max(1);
        let mut places = Self { table: vec![NOWHERE; 1 << bits], shift: 64 - bits };
        // Offsets are 32 bits: positions beyond four gigabytes are left out, and no piece is that
        // long.
        for (at, block) in base.windows(BLOCK).enumerate().step_by(step).take(NOWHERE as usize) {
            let slot = places.slot(block);
            if places.table[slot] == NOWHERE {
                places.table[slot] = at as u32;
            }
        }
        places
    }

    fn slot(&self, block: &[u8]) -> usize {
        let word = |at: usize| block[at..].first_chunk::<8>().map_or(0, |w| u64::from_le_bytes(*w));
        let mixed = word(0) ^ word(8).rotate_left(29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed.wrapping_mul(0xff51_afd7_ed55_8ccd) >> self.shift) as usize
    }

    fn find(&self, base: &[u8], block: &[u8]) -> Option<usize> {
        let at = self.table[self.slot(block)];
        let at = (at != NOWHERE).then_some(at as usize)?;
        (base.get(at..at + BLOCK)? == block).then_some(at)
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    // In steps that the compiler vectorises, then byte by byte.
    let step = 64;
    let mut at = 0;
    while at + step <= a.len().min(b.len()) && a[at..at + step] == b[at..at + step] {
        at += step;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(a, b)| a == b).count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

fn add_size(delta: &mut Vec<u8>, mut size: usize) {
    while size >= 0x80 {
        delta.push((size & 0x7f) as u8 | 0x80);
        size >>= 7;
    }
    delta.push(size as u8);
}

/// The longest run that one instruction can copy.
const LONGEST: usize = 0xff_ffff;

fn add_copy(delta: &mut Vec<u8>, mut offset: usize, mut length: usize) {
    while length > 0 {
        let now = length.min(LONGEST);
        let at = delta.len();
        delta.push(0x80);
        for byte in 0..4 {
            let value = (offset >> (8 * byte)) as u8;
            if value != 0 {
                delta[at] |= 1 << byte;
                delta.push(value);
            }
        }
        for byte in 0..3 {
            let value = (now >> (8 * byte)) as u8;
            if value != 0 {
                delta[at] |= 0x10 << byte;
                delta.push(value);
            }
        }
        offset += now;
        length -= now;
    }
}

/// Applies a delta to its base; `None` if it is not a valid delta.
pub(super) fn apply_delta(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta;
    if size(&mut rest)? != base.len() {
        return None;
    }
    let size = size(&mut rest).filter(|size| *size <= LARGEST)?;
    // The claimed size may be wrong.
    let mut target = Vec::with_capacity(size.min(base.len() + delta.len()));
    while let Some((&code, after)) = rest.split_first() {
        rest = after;
        let piece = if code & 0x80 == 0 {
            let (new, after) = rest.split_at_checked(code.into())?;
            rest = after;
            Some(new).filter(|new| !new.is_empty())?
        } else {
            let mut number = |bits: Range<u8>| {
                let mut number = 0;
                for (place, bit) in bits.enumerate() {
                    if code & 1 << bit != 0 {
                        let (&byte, after) = rest.split_first()?;
                        rest = after;
                        number |= usize::from(byte) << (8 * place);
                    }
                }
                Some(number)
            };
            let start = number(0..4)?;
            let length = match number(4..7)? {
                0 => 0x10000,
                length => length,
            };
            base.get(start..start.checked_add(length)?)?
        };
        if target.len() + piece.len() > size {
            return None;
        }
        target.extend_from_slice(piece);
    }
    (target.len() == size).then_some(target)
}

fn size(rest: &mut &[u8]) -> Option<usize> {
    let mut size = 0_u64;
    for shift in (0..63).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        size |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return usize::try_from(size).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_what_was_meant() {
        let long: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(n) >> 3) as u8).collect();
        let mut changed = long.clone();
        changed[100_000..100_300].fill(7);
        let cases: [(&[u8], &[u8]); 9] = [
            (b"", b""),
            (b"", b"new"),
            (b"gone", b""),
            (b"same", b"same"),
            (b"aaaa", b"aaaaaaaa"),
            (b"aaaaaaaa", b"aaaa"),
            (b"begin middle end", b"begin other end"),
            (&long, &changed),
            (&changed, &long[..150_000]),
        ];
        for (base, target) in cases {
            assert_eq!(apply_delta(base, &between(base, target)).as_deref(), Some(target));
        }
        assert!(between(&long, &changed).len() < 340);
    }

    #[test]
    fn what_moved_is_found_where_it_was() {
        let mut random = fastrand::Rng::with_seed(9);
        let text: Vec<u8> = (0..6_000).map(|_| random.u8(..)).collect();
        let moved =
            [&text[4_000..], b"something new", &text[..1_000], &text[1_500..4_000]].concat();
        let delta = between(&text, &moved);
        assert_eq!(apply_delta(&text, &delta), Some(moved));
        assert!(delta.len() < 60, "{}", delta.len());
        for _ in 0..500 {
            let mut target = Vec::new();
            while target.len() < 3_000 {
                let start = random.usize(..text.len());
                let end = (start + random.usize(..200)).min(text.len());
                target.extend_from_slice(&text[start..end]);
                target.extend((0..random.usize(..20)).map(|_| random.u8(..)));
            }
            assert_eq!(apply_delta(&text, &between(&text, &target)), Some(target));
        }
    }

    #[test]
    fn what_is_no_delta_makes_nothing() {
        let base = b"one two three";
        let delta = between(base, b"one 2 three");
        for length in 0..delta.len() {
            assert_eq!(apply_delta(base, &delta[..length]), None);
        }
        assert_eq!(apply_delta(b"another", &delta), None);
        // A small run copied over and over.
        let mut bomb = Vec::new();
        add_size(&mut bomb, base.len());
        add_size(&mut bomb, LARGEST + 1);
        (0..100).for_each(|_| add_copy(&mut bomb, 0, base.len()));
        assert_eq!(apply_delta(base, &bomb), None);
    }

    #[test]
    fn a_run_longer_than_one_instruction_can_copy() {
        let base = vec![1; LONGEST + 70_000];
        let mut target = base.clone();
        target.push(2);
        let delta = between(&base, &target);
        assert_eq!(apply_delta(&base, &delta), Some(target));
        assert!(delta.len() < 40);
    }
}
