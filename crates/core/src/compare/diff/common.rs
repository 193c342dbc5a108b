//! Drops the entries that three books have in common before they are compared.

use super::table::has_same_bytes;
use crate::sillytavern::book::Entry;

/// Removes from each list the entries whose text is the same in all three under one key.
///
/// SillyTavern writes entries by ascending number. While the numbers ascend, no key occurs twice,
/// so a dropped entry cannot appear again later. From the first entry out of order, everything is
/// kept.
pub(super) fn drop_unchanged(lists: &mut [Vec<Entry<'_>>; 3]) {
    let mut kept: [Vec<Entry<'_>>; 3] = [Vec::new(), Vec::new(), Vec::new()];
    let mut at = [0_usize; 3];
    let mut last = [None; 3];
    'walk: while (0..3).all(|list| at[list] < lists[list].len()) {
        let heads = [0, 1, 2].map(|list| lists[list][at[list]]);
        for list in 0..3 {
            let number = heads[list].number();
            if number.is_none() || (number <= last[list]) {
                break 'walk;
            }
        }
        let numbers = heads.map(|head| head.number());
        if numbers[0] == numbers[1] && numbers[1] == numbers[2] {
            // Keep all bookkeeping entries: what a registry lists may change although its text did
            // not.
            let is_common = !heads[0].may_be_internal()
                && has_same_bytes(heads[0].value(), heads[1].value())
                && has_same_bytes(heads[1].value(), heads[2].value());
            for list in 0..3 {
                if !is_common {
                    kept[list].push(heads[list]);
                }
                last[list] = numbers[list];
                at[list] += 1;
            }
        } else {
            // Numbers ascend, so a list whose head is not the smallest does not contain it.
            let smallest = numbers.iter().min().copied().flatten();
            for list in (0..3).filter(|&list| numbers[list] == smallest) {
                kept[list].push(heads[list]);
                last[list] = numbers[list];
                at[list] += 1;
            }
        }
    }
    for list in 0..3 {
        kept[list].extend_from_slice(&lists[list][at[list]..]);
        lists[list] = std::mem::take(&mut kept[list]);
    }
}
