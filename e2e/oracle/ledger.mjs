// The truth: which message arrived when, and what the state was, by definition alone. Nothing here depends on what the
// product records, or reads the files that it wrote.
//
// Each message has a token, a unique number. The simulator knows which token is at which place of a page's array or a
// file.

/**
 * The state of a page when a message was appended to its array.
 * @typedef {object} Held
 * @property {string} metadata the recorded metadata as text
 * @property {?string} bookName the bound book, if any
 * @property {string | undefined} bookText the page's copy, or the file's content if it had none; `undefined` if there was neither
 * @property {boolean} hadCopy whether the page had its own copy
 *
 * @typedef {object} Arrival
 * @property {number} token the message that arrived
 * @property {number} time
 * @property {?Held} held `null` if it did not arrive in a page
 * @property {boolean} fileWasForeign whether the file's content at that instant was neither read nor written by the page
 * @property {?{isForeign: boolean, text: string}} look the page's first read of the file afterwards
 * @property {Set<string>} tags
 */

/** A book as one text, so that name and content are compared together. */
export function bookKey(name, text) {
    return name ? `${name}\n${text ?? '(no such book)'}` : '(no book)';
}

export class Ledger {
    constructor() {
        this.time = 0;
        this.tokens = 0;
        /** @type {Map<number, Arrival>} */
        this.arrivals = new Map();
        /** The same, if a swap leaves the arrivals in their places. @type {Map<number, Arrival>} */
        this.atPlaces = new Map();
        /** When a message was last moved. @type {Map<number, number>} */
        this.swaps = new Map();
        /** The message that one was inserted before. @type {Map<number, number>} */
        this.anchors = new Map();
        this.sightings = [];
        this.open = new Map();
    }

    /** @returns {number} the token of a new message */
    newToken() {
        return ++this.tokens;
    }

    /** A message is appended to a page's array. Called just before that. @returns {Arrival} */
    arrives(token, held, { fileWasForeign = false, tags = [] } = {}) {
        const arrival = { token, time: ++this.time, held, fileWasForeign, look: null, tags: new Set(tags) };
        this.#set(token, arrival, arrival);
        return arrival;
    }

    /** A message is inserted: it arrives together with the one after it. */
    putBetween(token, next) {
        this.anchors.set(token, next);
        this.#set(token, this.arrivals.get(next), this.atPlaces.get(next));
    }

    /** A message that arrived in no page. */
    madeByHand(token, tags = []) {
        const arrival = { token, time: ++this.time, held: null, fileWasForeign: false, look: null, tags: new Set(tags) };
        this.#set(token, arrival, arrival);
    }

    /**
     * Two messages are swapped in a page, which changes no state. If one of them is deleted afterwards, there are two
     * ways to see it: the other one arrived when it did, or it has taken over the deleted one's place.
     */
    swapped(one, other) {
        const [first, second] = [this.atPlaces.get(one), this.atPlaces.get(other)];
        this.atPlaces.set(one, second);
        this.atPlaces.set(other, first);
        this.swaps.set(one, ++this.time).set(other, this.time);
    }

    #set(token, arrival, atPlace) {
        this.arrivals.set(token, arrival);
        this.atPlaces.set(token, atPlace);
    }

    /** Both readings, which are the same if nothing was swapped. */
    readings(tokens) {
        const isSame = tokens.every((token) => this.arrivals.get(token) === this.atPlaces.get(token));
        return isSame ? [this.arrivals] : [this.arrivals, this.atPlaces];
    }

    /**
     * The new state of a page with the open chat, or of the file.
     * @param {string} where
     * @param {{tokens: number[], metadata: string, books: string[], isWatched: boolean}} seen
     */
    see(where, seen) {
        const before = this.open.get(where);
        if (before && before.metadata === seen.metadata && before.isWatched === seen.isWatched && isSameList(before.books, seen.books) && isSameList(before.tokens, seen.tokens)) {
            return;
        }
        this.unsee(where);
        const sighting = { ...seen, tokens: [...seen.tokens], from: ++this.time, to: Infinity };
        this.open.set(where, sighting);
        this.sightings.push(sighting);
    }

    unsee(where) {
        const before = this.open.get(where);
        if (before) {
            before.to = ++this.time;
            this.open.delete(where);
        }
    }

    /** The arrivals of a chat's messages, earliest first. @param {number[]} tokens */
    #inOrder(tokens, reading = this.arrivals) {
        return tokens.map((token) => reading.get(token)).sort((one, other) => one.time - other.time);
    }

    /**
     * The arrival that ended the time in which place `m` of this chat was the last: the state of `m` is the state at
     * that moment.
     * @returns {Arrival | undefined} `undefined` for the last message
     */
    crossing(tokens, m, reading = this.arrivals) {
        return this.#inOrder(tokens, reading)[m + 1];
    }

    /** @returns {Arrival} the arrival that made place `m` the last */
    arrivalAt(tokens, m) {
        return this.#inOrder(tokens)[m];
    }

    /**
     * Every state of the file, or of a page with the open chat, while place `k` was the last, up to the next arrival.
     * @param {number[]} tokens @param {number} k
     * @param {{watchedOnly?: boolean}} [options] only states seen by a page with the extension enabled
     */
    asOf(tokens, k, { watchedOnly = false } = {}) {
        const books = new Set();
        const metadata = new Set();
        this.readings(tokens).forEach((reading) => this.#addAsOf(reading, tokens, k, watchedOnly, { books, metadata }));
        this.#addLiterally(tokens, k, watchedOnly, { books, metadata });
        return { books, metadata };
    }

    /** The states while this very message was the last, before any of today's later messages existed anywhere. */
    #addLiterally(tokens, k, watchedOnly, { books, metadata }) {
        const later = new Set(tokens.slice(k + 1));
        const until = this.sightings.find((sighting) => sighting.tokens.some((token) => later.has(token)))?.from ?? Infinity;
        const isMeant = (sighting) => sighting.tokens.at(-1) === tokens[k] && sighting.from < until;
        for (const sighting of this.sightings.filter((sighting) => (!watchedOnly || sighting.isWatched) && isMeant(sighting))) {
            sighting.books.forEach((book) => books.add(book));
            metadata.add(sighting.metadata);
        }
    }

    #addAsOf(reading, tokens, k, watchedOnly, { books, metadata }) {
        const order = this.#inOrder(tokens, reading);
        // After a swap, a message may stand for the one whose place it took: before that, it was there when that one
        // was.
        const hasCome = (token, sighting) => {
            const standsForItself = reading === this.arrivals || sighting.from >= (this.swaps.get(token) ?? 0);
            if (standsForItself && sighting.set.has(token)) {
                return true;
            }
            const anchor = this.anchors.get(token);
            const isSwapped = reading !== this.arrivals && this.swaps.has(token);
            return anchor !== undefined && !isSwapped ? hasCome(anchor, sighting) : sighting.set.has(reading.get(token).token);
        };
        const from = order[k].time;
        const until = order[k + 1]?.time ?? Infinity;
        for (const sighting of this.sightings) {
            if (sighting.from > until || sighting.to < from || (watchedOnly && !sighting.isWatched)) {
                continue;
            }
            sighting.set ??= new Set(sighting.tokens);
            if (tokens.filter((token) => hasCome(token, sighting)).length === k + 1) {
                sighting.books.forEach((book) => books.add(book));
                metadata.add(sighting.metadata);
            }
        }
        const held = order[k + 1]?.held;
        if (held && !watchedOnly) {
            books.add(bookKey(held.bookName, held.bookText));
            metadata.add(held.metadata);
        }
    }
}

/**
 * The book texts that may be claimed as exact if this arrival ended a message's time.
 * @param {Arrival} arrival @returns {Set<string>}
 */
export function exactBooks({ held, fileWasForeign, look }) {
    const allowed = new Set();
    if (!held) {
        return allowed;
    }
    const key = bookKey(held.bookName, held.bookText);
    if (!held.bookName) {
        return allowed.add(key);
    }
    if (!held.hadCopy) {
        if (held.bookText !== undefined) {
            allowed.add(key);
        }
        // A foreign write that was undone before anything read it was never part of this story.
        if (look && !look.isForeign) {
            allowed.add(bookKey(held.bookName, look.text));
        }
        return allowed;
    }
    // A foreign write may be identical, character by character: then there was only one state.
    const isBehind = look ? look.isForeign && bookKey(held.bookName, look.text) !== key : fileWasForeign;
    return isBehind ? allowed : allowed.add(key);
}

function isSameList(one, other) {
    return one.length === other.length && one.every((value, place) => value === other[place]);
}
