// Repeatable randomness: a story is its seed.

export class Random {
    /** @param {number} seed */
    constructor(seed) {
        this.state = (Math.imul(seed, 0x9e3779b1) ^ 0x85ebca6b) >>> 0;
        for (let turn = 0; turn < 4; turn++) {
            this.next();
        }
    }

    /** @returns {number} at least 0 and below 1 */
    next() {
        this.state = (this.state + 0x6d2b79f5) >>> 0;
        let mixed = this.state;
        mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    }

    /** @param {number} count @returns {number} a whole number from 0 to `count - 1` */
    below(count) {
        return Math.floor(this.next() * count);
    }

    /** @param {number} probability */
    chance(probability) {
        return this.next() < probability;
    }

    /** @template T @param {T[]} list @returns {T} */
    pick(list) {
        return list[this.below(list.length)];
    }

    /** @param {Record<string, number>} weights @returns {string} one of the names, by its weight */
    weighted(weights) {
        const entries = Object.entries(weights).filter(([, weight]) => weight > 0);
        let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
        for (const [name, weight] of entries) {
            left -= weight;
            if (left < 0) {
                return name;
            }
        }
        return entries.at(-1)[0];
    }
}
