// Repeatable randomness: the same seed gives the same story.

/** @param {number} seed */
export function chance(seed) {
    let state = seed >>> 0;
    const next = () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), state | 1);
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    const below = (limit) => Math.floor(next() * limit);
    return {
        below,
        of: (list) => list[below(list.length)],
        /** Distinct numbers below `limit`, in random order. */
        several: (count, limit) => {
            const all = Array.from({ length: limit }, (_, index) => index);
            return Array.from({ length: Math.min(count, limit) }, () => all.splice(below(all.length), 1)[0]);
        },
    };
}
