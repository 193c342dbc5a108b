// The journal of the open chat: reports to the core what happened to the messages, the book and the metadata, and writes
// the records that the core returns into the messages. Nothing here knows SillyTavern: a chat is an array of messages, and
// a message is an object that can carry a record.

import { recordChanges } from '../../core/core.js';
import { textBytes, toBytes } from '../../core/json.js';
/** @import * as wasm from '../../core/pkg/forklore.js' */
/** @import { JournalRecord } from '../../types.js' */

/** The field of a message that holds its record. */
export const FIELD = 'forklore';

/** Distinguishes this page's records from those of other pages. */
const RANDOM_LETTERS = 5;
const randomText = () => Array.from(crypto.getRandomValues(new Uint8Array(RANDOM_LETTERS)), (byte) => (byte % 36).toString(36)).join('');

const carriedBy = (/** @type {ST.Message | undefined} */ message) => message?.[FIELD] || null;

/**
 * The current state of the chat.
 * @typedef {object} CurrentState
 * @property {string | null} bookName the bound book, if any
 * @property {string | null} [bookText] the book's JSON text. `undefined`: unchanged since the last call. `null`: not
 *     available; nothing new is recorded until it is back, because the journal may be needed to restore it
 * @property {boolean} [isOwn] whether the text is the page's own copy; otherwise the page has none, and it is the file's
 * @property {boolean} [isUnsaved] whether the text is not in the book's file yet
 * @property {boolean} [isAssumed] whether the book exists, but was not read since the last message arrived
 * @property {boolean} [isTouched] whether a change of the book was reported since the last call
 * @property {ST.Metadata} metadata the chat's metadata
 *
 * @typedef {{changed: boolean, last: JournalRecord | null}} Outcome whether any message got a different record, and the last message's record
 */

export class Journal {
    #core;
    #isOn;
    #largestBook;
    /** The core's journal. @type {wasm.Journal | null} */
    #inner = null;
    /** Identifies the messages for the core. @type {WeakMap<ST.Message, number>} */
    #numbers = new WeakMap();
    #count = 0;
    /** The messages at the last call, or `null` if nothing is known of the chat. @type {ST.Message[] | null} */
    #messages = null;
    /** What each carried after it, and their numbers. @type {(JournalRecord | null)[]} */
    #records = [];
    #messageNumbers = new Uint32Array();
    /**
     * What the core was told last, so that it is told only what is new. `ask` is `null` if it must be told in any case.
     * @type {{ask: string | null, name?: string | null, text?: string | null, metadata?: string}}
     */
    #told = { ask: null };
    /** @type {Map<string, boolean>} */
    #keys = new Map();

    /**
     * @param {object} parts
     * @param {Pick<typeof wasm, 'Journal' | 'is_recorded'>} parts.core
     * @param {() => boolean} parts.isOn whether the journal is turned on
     * @param {() => number} parts.largestBook in bytes; only digests are kept of a larger book
     */
    constructor({ core, isOn, largestBook }) {
        this.#core = core;
        this.#isOn = isOn;
        this.#largestBook = largestBook;
    }

    /**
     * Brings the records up to date. What changed since the last call belongs to the last message.
     * @param {ST.Message[]} chat @param {CurrentState} now @returns {Outcome}
     */
    sync(chat, now) {
        return this.#guarded((inner) => {
            const found = this.#look(chat);
            const { isNothing, ask, text, metadata } = this.#news(now);
            const answer = isNothing && !found.numbers && !found.carried.length
                ? undefined
                : inner.sync(found.numbers, toBytes(found.carried), ask, text, metadata, this.#largestBook());
            return this.#write([...chat], found.records, answer);
        });
    }

    /**
     * Messages are about to be appended: observes the current state, appends them, and notes that state in their
     * records. If the last message is unknown, nothing is noted.
     * @template T
     * @param {ST.Message[]} chat @param {() => CurrentState} observe @param {() => T} put
     * @returns {T}
     */
    arrive(chat, observe, put) {
        const isWatched = this.#isWatching(chat, observe);
        const result = put();
        if (isWatched) {
            this.#guarded((inner) => {
                const { numbers, carried, records } = this.#look(chat);
                this.#told.ask = null;
                return this.#write([...chat], records, inner.arrived(numbers, toBytes(carried)));
            });
        }
        return result;
    }

    #isWatching(/** @type {ST.Message[]} */ chat, /** @type {() => CurrentState} */ observe) {
        if (!chat.length || !this.#messages || !this.#inner?.knows(this.#numberOf(chat.at(-1)))) {
            return false;
        }
        this.sync(chat, observe());
        return this.#messages !== null;
    }

    /**
     * The messages that arrived in this page while this book was bound, and whose book file was not checked since.
     * @param {string | null} book @returns {Uint8Array | null} for `fileChecked`; `null` if there are none
     */
    unchecked(book) {
        return (book && this.#messages && this.#inner?.unchecked(book)) || null;
    }

    /**
     * The book's file was read after messages arrived.
     * @param {string} book @param {string} text the file's content
     * @param {object} read
     * @param {boolean} read.isPages whether this page had read or written that
     * @param {Uint8Array | null} read.arrived `unchecked` from before the read began: these records can be confirmed
     * @returns {Outcome}
     */
    fileChecked(book, text, { isPages, arrived }) {
        const messages = this.#messages;
        if (!messages || !this.unchecked(book)) {
            return { changed: false, last: null };
        }
        return this.#guarded((inner) => {
            this.#told.ask = null;
            return this.#write(messages, this.#records, inner.file_checked(book, textBytes(text), isPages, arrived));
        });
    }

    /** Removes all records from a chat. @param {ST.Message[]} chat @returns {number} how many there were */
    strip(chat) {
        this.forget();
        const carriers = chat.filter((message) => message && Object.hasOwn(message, FIELD));
        carriers.forEach((message) => delete message[FIELD]);
        return carriers.length;
    }

    /** Forgets the chat. The next call starts from the records that its messages carry then. */
    forget() {
        this.#inner?.forget();
        this.#told.ask = null;
        this.#messages = null;
        this.#records = [];
    }

    /** No message is changed before everything is worked out, so an error does no harm. @param {(inner: wasm.Journal) => Outcome} work @returns {Outcome} */
    #guarded(work) {
        if (!this.#isOn()) {
            this.forget();
            return { changed: false, last: null };
        }
        try {
            this.#inner ??= new this.#core.Journal(randomText());
            return work(this.#inner);
        } catch (error) {
            this.#inner = null;
            this.#told = { ask: null };
            this.forget();
            throw error;
        }
    }

    #numberOf(/** @type {ST.Message | undefined} */ message) {
        if (typeof message !== 'object' || message === null) {
            return 0;
        }
        let number = this.#numbers.get(message);
        if (number === undefined) {
            number = this.#count += 1;
            this.#numbers.set(message, number);
        }
        return number;
    }

    /**
     * Compares the chat to what the core knows of it: `numbers`, its messages, if they are others; `carried`, what
     * messages carry that the core did not give them; `records`, what each carries.
     * @param {ST.Message[]} chat
     */
    #look(chat) {
        const before = this.#messages ?? [];
        const length = Math.min(before.length, chat.length);
        let same = 0;
        while (same < length && chat[same] === before[same]) {
            same += 1;
        }
        const isSame = this.#messages && same === before.length && same === chat.length;
        const elsewhere = new Map(before.slice(same).map((message, index) => [message, this.#records[same + index]]));
        const records = chat.map(carriedBy);
        /** @type {[place: number, record: JournalRecord | null][]} */
        const carried = [];
        chat.forEach((message, place) => {
            const record = records[place] ?? null;
            const expected = place < same ? this.#records[place] : elsewhere.get(message) ?? null;
            if (record !== expected) {
                carried.push([place, record]);
            }
        });
        if (isSame) {
            return { numbers: undefined, carried, records };
        }
        const numbers = new Uint32Array(chat.length);
        numbers.set(this.#messageNumbers.subarray(0, same));
        for (let place = same; place < chat.length; place++) {
            numbers[place] = this.#numberOf(chat[place]);
        }
        this.#messageNumbers = numbers;
        return { numbers, carried, records };
    }

    /** What the core has to be told of the state, as bytes; usually nothing. @param {CurrentState} now */
    #news({ bookName, bookText, isOwn = true, isAssumed = false, isUnsaved = false, isTouched = false, metadata }) {
        const told = this.#told;
        const name = bookName || null;
        const isTold = bookText === undefined || (name === told.name && bookText === told.text && isOwn);
        const book = isAssumed ? 'assumed' : isTold ? 'unchanged' : bookText === null ? 'missing' : 'read';
        const ask = JSON.stringify({ bookName: name, book, isOwn, isUnsaved, isTouched });
        const recorded = JSON.stringify(Object.fromEntries(Object.entries(metadata ?? {}).filter(([key]) => this.#isRecorded(key))));
        const news = {
            isNothing: book === 'unchanged' && ask === told.ask && recorded === told.metadata,
            ask: textBytes(ask),
            text: book === 'read' && typeof bookText === 'string' ? textBytes(bookText) : undefined,
            metadata: recorded === told.metadata ? undefined : textBytes(recorded),
        };
        if (book !== 'unchanged' || name !== told.name || !isOwn) {
            // The core forgets the text of a book that the page has no copy of.
            told.name = name;
            told.text = isOwn && !isAssumed ? bookText : undefined;
        }
        told.ask = ask;
        told.metadata = recorded;
        return news;
    }

    /** Whether a metadata key is recorded. There are few keys, and they are asked for all the time. @param {string} key */
    #isRecorded(key) {
        const isRecorded = this.#keys.get(key) ?? this.#core.is_recorded(key);
        this.#keys.set(key, isRecorded);
        return isRecorded;
    }

    /** Writes the records into the messages. @param {ST.Message[]} messages @param {(JournalRecord | null)[]} records @param {Uint8Array | undefined} answer */
    #write(messages, records, answer) {
        const changes = recordChanges(answer);
        for (const [place, record] of changes) {
            const message = messages[place];
            if (message && record) {
                message[FIELD] = record;
            } else {
                delete message?.[FIELD];
            }
            records[place] = record;
        }
        this.#messages = messages;
        this.#records = records;
        return { changed: changes.length > 0, last: records.at(-1) ?? null };
    }
}
