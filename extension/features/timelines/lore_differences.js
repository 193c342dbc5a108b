// How many lore entries of each timeline differ from its parent's lorebook.

import { textBytes } from '../../core/json.js';
/** @import { Core, ShownTimeline } from '../../types.js' */
/** @typedef {{id: string, own: string, parent: string}} Pair a timeline, its book's text and its parent's */

/** In milliseconds: then the page may do something else. */
const SLICE = 12;
const ASK = { baseKnown: false, baseMetadata: null, leftMetadata: null, rightMetadata: null };

const pause = () => new Promise((resolve) => setTimeout(resolve, 0));

export class LoreDifferences {
    /** What was counted for which two texts, by timeline. @type {Map<string, Pair & {count: number}>} */
    #counted = new Map();

    /** @param {{core: Pick<Core, 'compare' | 'bookKey'>, now?: () => number}} parts */
    constructor({ core, now = () => performance.now() }) {
        this.core = core;
        this.now = now;
    }

    /** Zero if none do, or if it is not known. @param {string} id */
    of(id) {
        return this.#counted.get(id)?.count ?? 0;
    }

    /**
     * Counts what has changed since the last time, a few milliseconds at a time.
     * @param {ShownTimeline[]} timelines @param {Map<string, string>} books texts by key @param {() => boolean} isOver
     * @returns {Promise<boolean>} whether a count is another one now
     */
    async update(timelines, books, isOver) {
        const pairs = this.#pairs(timelines, books);
        const before = this.#counted;
        const there = new Set(pairs.map(({ id }) => id));
        this.#counted = new Map([...before].filter(([id]) => there.has(id)));
        let isChanged = this.#counted.size < before.size;
        let began = this.now();
        for (const pair of pairs) {
            const known = this.#counted.get(pair.id);
            if (known?.own === pair.own && known.parent === pair.parent) {
                continue;
            }
            if (this.now() - began > SLICE) {
                await pause();
                if (isOver()) {
                    return isChanged;
                }
                began = this.now();
            }
            const count = this.#count(pair);
            isChanged ||= count !== (known?.count ?? 0);
            this.#counted.set(pair.id, { ...pair, count });
        }
        return isChanged;
    }

    /** @param {ShownTimeline[]} timelines @param {Map<string, string>} books @returns {Pair[]} */
    #pairs(timelines, books) {
        const byId = new Map(timelines.map((timeline) => [timeline.id, timeline]));
        return timelines.flatMap(({ id, book, parent }) => {
            const [own, above] = [book, byId.get(parent ?? '')?.book].map((name) => name && this.core.bookKey(name));
            const texts = own && above && own !== above ? [books.get(own), books.get(above)] : [];
            return texts[0] && texts[1] ? [{ id, own: texts[0], parent: texts[1] }] : [];
        });
    }

    /** @param {Pair} pair */
    #count({ own, parent }) {
        try {
            return own === parent ? 0 : this.core.compare(ASK, undefined, textBytes(parent), textBytes(own)).entries.filter(({ internal }) => !internal).length;
        } catch {
            // One of them is damaged, which is said elsewhere.
            return 0;
        }
    }
}
