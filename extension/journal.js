// The journal of the open chat: which record sits on which message. Nothing here knows SillyTavern: a chat is an array
// of messages, and a message is an object that can carry a record.
//
// Records belong to places in the chat, not to messages: each says what changed while its place was the last one. So
// when messages are deleted, inserted or swapped, the records are dealt out again such that each still follows on the
// one before it.

/** The field of a message that holds its record. */
export const FIELD = 'forklore';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const toBytes = (value) => encoder.encode(JSON.stringify(value));
const fromBytes = (bytes) => (bytes ? JSON.parse(decoder.decode(bytes)) : null);

/**
 * What the chat is bound to now.
 * @typedef {object} Now
 * @property {?string} bookName the book the chat is bound to, if any
 * @property {?string} [bookText] the book's JSON text. `undefined`: as at the last call. `null`: it cannot be had;
 *     until it is back nothing new is recorded, since what is known of it may be needed to make it again
 * @property {object} metadata the chat's metadata
 *
 * @typedef {{changed: boolean, last: ?object}} Outcome whether any message was given another record, and the last one's
 */

export class Journal {
    #core;
    #isOn;
    #largestBook;
    /** The core's journal, which keeps the last message's record, and the size of book it was made for. */
    #writer = null;
    #limit = NaN;
    #keys = [];
    /** What the writer was shown last. */
    #shown = {};
    /** The messages at the last call, or `null` where we know nothing of the chat; and the record of each. */
    #messages = null;
    #records = [];

    /**
     * @param {object} parts
     * @param {object} parts.core the core's `Journal`, `join_records` and `recorded_metadata_keys`
     * @param {() => boolean} parts.isOn whether anything is to be recorded
     * @param {() => number} parts.largestBook in bytes: of a larger book only digests are kept
     */
    constructor({ core, isOn, largestBook }) {
        this.#core = core;
        this.#isOn = isOn;
        this.#largestBook = largestBook;
    }

    /**
     * Begins with a chat that was just opened. Messages without a record stay without; only the last one gets one.
     * @param {object[]} chat @param {Now} now @returns {Outcome}
     */
    opened(chat, now) {
        return this.#guarded(() => this.#begin(chat, now));
    }

    /**
     * Brings the records up to date. What changed since the last call belongs to the message that was the last then.
     * @param {object[]} chat @param {Now} now @returns {Outcome}
     */
    sync(chat, now) {
        return this.#guarded(() => {
            const dealt = this.#messages && this.#deal(chat);
            return dealt ? this.#goOn(chat, now, dealt) : this.#begin(chat, now);
        });
    }

    /** Takes all records out of a chat. @param {object[]} chat @returns {number} how many there were */
    strip(chat) {
        this.forget();
        const carriers = chat.filter((message) => message && Object.hasOwn(message, FIELD));
        carriers.forEach((message) => delete message[FIELD]);
        return carriers.length;
    }

    /** Lets go of the chat. The next call begins with the records that the messages carry then. */
    forget() {
        this.#messages = null;
        this.#records = [];
    }

    /** No message is written to before everything is worked out, so an error harms none. */
    #guarded(work) {
        if (!this.#isOn()) {
            this.forget();
            return { changed: false, last: null };
        }
        try {
            return work();
        } catch (error) {
            this.forget();
            this.#writer = null;
            throw error;
        }
    }

    #begin(chat, now) {
        this.#prepareWriter();
        const records = chat.map((message) => message?.[FIELD] ?? null);
        this.#writer.open(toBytes(records));
        this.#show(now);
        this.#updateLast(records);
        return this.#write(chat, records);
    }

    #goOn(chat, now, { records, retreats, heritage }) {
        retreats.forEach((record) => this.#writer.retreat(toBytes(record)));
        if (heritage) {
            this.#writer.inherit(toBytes(heritage));
        }
        this.#show(now);
        this.#updateLast(records);
        while (records.length < chat.length) {
            records.push(fromBytes(this.#writer.advance()));
        }
        return this.#write(chat, records);
    }

    #deal(chat) {
        return dealOut(this.#messages, this.#records, chat, (earlier, later) =>
            fromBytes(this.#core.join_records(toBytes(earlier), toBytes(later))));
    }

    #prepareWriter() {
        const limit = this.#largestBook();
        if (this.#writer && this.#limit === limit) {
            return;
        }
        this.#writer?.free();
        this.#writer = new this.#core.Journal(limit);
        this.#limit = limit;
        this.#keys = fromBytes(this.#core.recorded_metadata_keys());
        this.#shown = {};
    }

    /** Shows the writer what is new, which is nothing most of the time. */
    #show({ bookName, bookText, metadata }) {
        const shown = this.#shown;
        const name = bookName || null;
        const text = bookText !== undefined ? bookText : name === shown.name ? shown.text : null;
        if (name !== shown.name || text !== shown.text) {
            this.#writer.observe_book(name ?? undefined, text === null ? undefined : encoder.encode(text));
            Object.assign(shown, { name, text });
        }
        const recorded = JSON.stringify(Object.fromEntries(this.#keys.map((key) => [key, metadata?.[key]])));
        if (recorded !== shown.metadata) {
            this.#writer.observe_metadata(encoder.encode(recorded));
            shown.metadata = recorded;
        }
    }

    #updateLast(records) {
        const record = records.length ? fromBytes(this.#writer.record()) : null;
        if (record) {
            records[records.length - 1] = record;
        }
    }

    /** Puts the records on the messages, where they are not yet. */
    #write(chat, records) {
        let changed = false;
        chat.forEach((message, place) => {
            const record = records[place];
            if (!message || (message[FIELD] ?? null) === record) {
                return;
            }
            changed = true;
            if (record) {
                message[FIELD] = record;
            } else {
                delete message[FIELD];
            }
        });
        this.#messages = [...chat];
        this.#records = records;
        return { changed, last: records.at(-1) ?? null };
    }
}

/**
 * Deals the records of `before` out to the places of `chat`, up to the messages that came at the end.
 *
 * A deleted message's record goes to the one before it, or from the beginning to the next that has one. A message
 * that came in between changed nothing. Order among the messages does not matter.
 * @param {object[]} before @param {?object[]} records what each of them carried
 * @param {(earlier: object, later: object) => ?object} join two records as one, or `null` if they do not fit
 * @returns {?{records: object[], retreats: object[], heritage: ?object}} `null` if this is another chat altogether.
 *     What the writer has to be told of the last message: `retreats`, one for each that was deleted from the end, what
 *     the one before it carried; `heritage`, what is left of those deleted from the beginning
 */
export function dealOut(before, records, chat, join) {
    if (chat.length >= before.length && before.every((message, place) => message === chat[place])) {
        return before.length ? { records, retreats: [], heritage: null } : null;
    }
    const wasThere = new Set(before);
    const kept = chat.flatMap((message, place) => (wasThere.delete(message) ? place : []));
    // Those that went are left; where the others were, in order, is where the kept ones are now.
    const places = before.flatMap((message, place) => (wasThere.has(message) ? [] : place));
    if (!kept.length) {
        return null;
    }
    const dealt = [];
    // What deleted messages at the very beginning said.
    let held = null;
    let [from, to] = [0, 0];

    const following = (record) => {
        if (!held || !record) {
            return record;
        }
        const joined = join(held, record) ?? record;
        held = null;
        return joined;
    };
    const keep = (place) => {
        // The record of the last one is the writer's business, here and below.
        const isLast = place === before.length - 1;
        dealt.push(isLast ? records[place] : following(records[place]));
    };
    const drop = (place) => {
        const record = following(records[place]);
        if (record && dealt.length) {
            const earlier = dealt.pop();
            dealt.push(earlier ? join(earlier, record) ?? earlier : record);
        } else if (record) {
            held = record;
        }
    };

    kept.forEach((place, which) => {
        // As many as came where others went took their places.
        for (; from < places[which] && to < place; from++, to++) {
            keep(from);
        }
        for (; from < places[which]; from++) {
            drop(from);
        }
        for (; to < place; to++) {
            dealt.push(unchanged(dealt.at(-1)));
        }
        keep(from);
        [from, to] = [from + 1, to + 1];
    });
    // At the end, only a copy takes its original's place; anything else is a new message.
    while (from < before.length && isCopy(chat[to], records[from])) {
        keep(from);
        [from, to] = [from + 1, to + 1];
    }
    const retreats = from < before.length ? [...records.slice(from, -1).reverse(), dealt.at(-1)] : [];
    return { records: dealt, retreats, heritage: held };
}

/** The record of a message that came in between. */
function unchanged(record) {
    if (!record) {
        return null;
    }
    const { v, id, digest } = record;
    return digest ? { v, id, digest } : { v, id };
}

function isCopy(message, record) {
    const copied = message?.[FIELD];
    return Boolean(record && copied) && (copied === record || JSON.stringify(copied) === JSON.stringify(record));
}
