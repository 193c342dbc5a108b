//! Deltas: an object told by what it shares with another one.

/// Tells `target` by `base`: what both begin and end with, and what `target` has in between.
///
/// No search: the base is the version before or after, where one place changed.
pub fn between(base: &[u8], target: &[u8]) -> Vec<u8> {
    let most = base.len().min(target.len());
    let prefix = common_prefix(base, target);
    let suffix = common_suffix(&base[prefix..], &target[prefix..]).min(most - prefix);
    let mut delta = Vec::with_capacity(target.len() - prefix - suffix + 32);
    add_size(&mut delta, base.len());
    add_size(&mut delta, target.len());
    add_copy(&mut delta, 0, prefix);
    for piece in target[prefix..target.len() - suffix].chunks(127) {
        delta.push(piece.len() as u8);
        delta.extend_from_slice(piece);
    }
    add_copy(&mut delta, base.len() - suffix, suffix);
    delta
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    // In steps that the compiler makes wide, then byte by byte.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn size(delta: &mut &[u8]) -> usize {
        let mut size = 0;
        for shift in (0..).step_by(7) {
            let byte = delta[0];
            *delta = &delta[1..];
            size |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        size
    }

    /// As git's documentation tells it.
    fn applied(base: &[u8], mut delta: &[u8]) -> Vec<u8> {
        assert_eq!(size(&mut delta), base.len());
        let length = size(&mut delta);
        let mut target = Vec::new();
        while let Some((&code, rest)) = delta.split_first() {
            delta = rest;
            if code < 0x80 {
                let (new, rest) = delta.split_at(code.into());
                target.extend_from_slice(new);
                delta = rest;
                continue;
            }
            let mut numbers = [0_usize; 2];
            for bit in 0..7 {
                if code & 1 << bit != 0 {
                    let (number, byte) = if bit < 4 { (0, bit) } else { (1, bit - 4) };
                    numbers[number] |= usize::from(delta[0]) << (8 * byte);
                    delta = &delta[1..];
                }
            }
            let [offset, length] = numbers;
            target.extend_from_slice(&base[offset..offset + length]);
        }
        assert_eq!(target.len(), length);
        target
    }

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
            assert_eq!(applied(base, &between(base, target)), target);
        }
        assert!(between(&long, &changed).len() < 340);
    }

    #[test]
    fn a_run_longer_than_one_instruction_can_copy() {
        let base = vec![1; LONGEST + 70_000];
        let mut target = base.clone();
        target.push(2);
        let delta = between(&base, &target);
        assert_eq!(applied(&base, &delta), target);
        assert!(delta.len() < 40);
    }
}
