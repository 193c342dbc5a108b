//! What three books have in common need not be looked at again.

use super::table::is_written_alike;
use crate::sillytavern::book::Entry;

/// Takes out of each list what is written alike in all three under one key.
///
/// SillyTavern writes entries by ascending number. As long as they come so no key comes twice, and what
/// is left out here cannot come to light again further on; from there on everything is kept.
pub(super) fn leave_out(lists: &mut [Vec<Entry<'_>>; 3]) {
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
            // Registries are needed whole: what they list may change though they did not.
            let is_common = !heads[0].may_be_internal()
                && is_written_alike(heads[0].value(), heads[1].value())
                && is_written_alike(heads[1].value(), heads[2].value());
            for list in 0..3 {
                if !is_common {
                    kept[list].push(heads[list]);
                }
                last[list] = numbers[list];
                at[list] += 1;
            }
        } else {
            // Numbers ascend, so the smallest is missing where it is not.
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
