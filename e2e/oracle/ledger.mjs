// The truth. Knows who arrived when and what held then, by definition alone: nothing here knows what the product
// writes down, and nothing is read from the files it wrote.
//
// A message is a token, a number of its own. Where a message is in a page's array or a file's line, the simulator says
// which token that is.

/**
 * What a page held when a message was put at the end of its array.
 * @typedef {object} Held
 * @property {string} metadata text of the recorded metadata
 * @property {?string} bookName the bound book, if any
 * @property {string | undefined} bookText the page's copy, or the file if it had none; `undefined`: there was neither
 * @property {boolean} hadCopy whether the page had a copy of its own
 *
 * @typedef {object} Arrival
 * @property {number} token the message that came then
 * @property {number} time
 * @property {?Held} held `null` where no page told it
 * @property {boolean} fileWasForeign at that instant the file held what the page had neither read nor written
 * @property {?{isForeign: boolean, text: string}} look the first reading of the file by that page afterwards
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
        /** The same, where a swap leaves the arrivals at their places. @type {Map<number, Arrival>} */
        this.atPlaces = new Map();
        /** When a message last changed places. @type {Map<number, number>} */
        this.swaps = new Map();
        /** The message before which one was put in. @type {Map<number, number>} */
        this.anchors = new Map();
        this.sightings = [];
        this.open = new Map();
    }

    /** @returns {number} the token of a message that nobody has seen yet */
    newToken() {
        return ++this.tokens;
    }

    /** A message is put at the end of a page's array. Called before it is there. @returns {Arrival} */
    arrives(token, held, { fileWasForeign = false, tags = [] } = {}) {
        const arrival = { token, time: ++this.time, held, fileWasForeign, look: null, tags: new Set(tags) };
        this.#set(token, arrival, arrival);
        return arrival;
    }

    /** A message is put in between: it arrives together with the one after it. */
    putBetween(token, next) {
        this.anchors.set(token, next);
        this.#set(token, this.arrivals.get(next), this.atPlaces.get(next));
    }

    /** A message that no page told. */
    madeByHand(token, tags = []) {
        const arrival = { token, time: ++this.time, held: null, fileWasForeign: false, look: null, tags: new Set(tags) };
        this.#set(token, arrival, arrival);
    }

    /**
     * Two messages change places in a page. That moves no state. What holds if one of them goes afterwards can be read
     * in two ways: the message that is left came when it came, or it has taken over the place of the other.
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

    /** Both readings, which are one where nothing was swapped. */
    readings(tokens) {
        const isSame = tokens.every((token) => this.arrivals.get(token) === this.atPlaces.get(token));
        return isSame ? [this.arrivals] : [this.arrivals, this.atPlaces];
    }

    /**
     * What a page with the chat open, or the file, holds from now on.
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

    /** When the messages of a chat arrived, earliest first. @param {number[]} tokens */
    #inOrder(tokens, reading = this.arrivals) {
        return tokens.map((token) => reading.get(token)).sort((one, other) => one.time - other.time);
    }

    /**
     * The arrival that ended the time in which place `m` of this chat was the last: the state of m is what held then.
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
     * All that was in the file or in a page with the chat open while place `k` was the last, and was made before the
     * next one arrived.
     * @param {number[]} tokens @param {number} k
     * @param {{watchedOnly?: boolean}} [options] only what a page saw in which the extension was on
     */
    asOf(tokens, k, { watchedOnly = false } = {}) {
        const books = new Set();
        const metadata = new Set();
        this.readings(tokens).forEach((reading) => this.#addAsOf(reading, tokens, k, watchedOnly, { books, metadata }));
        this.#addLiterally(tokens, k, watchedOnly, { books, metadata });
        return { books, metadata };
    }

    /** What was seen while this very message was the last, before any that comes after it today was anywhere. */
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
        // After a swap, a message may stand for the one whose place it has: before, it was there when that one was.
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
 * The book texts that may be called exact where this arrival ended a message's time.
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
        // A foreign write that was undone before anybody looked was never this story's.
        if (look && !look.isForeign) {
            allowed.add(bookKey(held.bookName, look.text));
        }
        return allowed;
    }
    // What somebody else wrote may be the same, letter by letter: then only one state held.
    const isBehind = look ? look.isForeign && bookKey(held.bookName, look.text) !== key : fileWasForeign;
    return isBehind ? allowed : allowed.add(key);
}

function isSameList(one, other) {
    return one.length === other.length && one.every((value, place) => value === other[place]);
}
