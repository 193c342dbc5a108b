// The journal of the open chat: which record is on which message. Nothing here knows SillyTavern: a chat is an array of
// messages, and a message is an object that can carry a record.
//
// Records belong to places in the chat, not to messages: each says what changed while its place was the last one. When
// messages are deleted, inserted or swapped, the records are reassigned so that each still follows the one before it.

/** The field of a message that holds its record. */
export const FIELD = 'forklore';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const toBytes = (value) => encoder.encode(JSON.stringify(value));
const fromBytes = (bytes) => (bytes ? JSON.parse(decoder.decode(bytes)) : null);

/** Distinguishes this page's records from those of other pages. */
const RANDOM_LETTERS = 5;
const randomText = () => Array.from(crypto.getRandomValues(new Uint8Array(RANDOM_LETTERS)), (byte) => (byte % 36).toString(36)).join('');

/**
 * The current state of the chat.
 * @typedef {object} CurrentState
 * @property {?string} bookName the bound book, if any
 * @property {?string} [bookText] the book's JSON text. `undefined`: unchanged since the last call. `null`: not
 *     available; nothing new is recorded until it is back, because the journal may be needed to restore it
 * @property {boolean} [isOwn] whether the text is the page's own copy; otherwise the page has none, and it is the file's
 * @property {boolean} [isUnsaved] whether the text is not in the book's file yet
 * @property {boolean} [isAssumed] whether the book exists, but was not read since the last message arrived
 * @property {boolean} [isTouched] whether a change of the book was reported since the last call
 * @property {object} metadata the chat's metadata
 *
 * @typedef {{changed: boolean, last: ?object}} Outcome whether any message got a different record, and the last message's record
 */

export class Journal {
    #core;
    #isOn;
    #largestBook;
    /** The core's journal, which holds the last message's record, and the book size limit it was created with. */
    #writer = null;
    #limit = NaN;
    /** @type {Map<string, boolean>} */
    #keys = new Map();
    /** What the writer last observed. */
    #shown = {};
    /** The messages at the last call, or `null` if nothing is known of the chat; and the record of each. */
    #messages = null;
    #records = [];
    /** The book that each digest in this page's records belongs to. @type {Map<string, ?string>} */
    #books = new Map();
    /** Numbers the uids of inserted messages. */
    #inserted = 0;
    #random = randomText();

    /**
     * @param {object} parts
     * @param {object} parts.core `Journal`, `join_records`, `insert_record` and `is_recorded` of the core
     * @param {() => boolean} parts.isOn whether the journal is turned on
     * @param {() => number} parts.largestBook in bytes; only digests are kept of a larger book
     */
    constructor({ core, isOn, largestBook }) {
        this.#core = core;
        this.#isOn = isOn;
        this.#largestBook = largestBook;
    }

    /**
     * Starts with a chat that was just opened. Only the last message gets a new record; others without one stay
     * without.
     * @param {object[]} chat @param {CurrentState} now @returns {Outcome}
     */
    opened(chat, now) {
        return this.#guarded(() => this.#begin(chat, now));
    }

    /**
     * Brings the records up to date. What changed since the last call belongs to the last message.
     * @param {object[]} chat @param {CurrentState} now @returns {Outcome}
     */
    sync(chat, now) {
        return this.#guarded(() => {
            const reassigned = this.#messages && this.#reassign(chat);
            return reassigned ? this.#continue(chat, now, reassigned) : this.#begin(chat, now);
        });
    }

    /**
     * Messages are about to be appended: observes the current state, appends them, and notes that state in their
     * records. If the last message is unknown, nothing is noted.
     * @template T
     * @param {object[]} chat CurrentState} look => CurrentState} look @param {() => T} put
     * @returns {T}
     */
    arrive(chat, observe, put) {
        const isWatched = this.#isWatching(chat, observe);
        const result = put();
        if (isWatched) {
            this.#guarded(() => {
                const { isOwn, text, isAssumed } = this.#shown;
                if (!isOwn && (text !== null || isAssumed)) {
                    // The page has not read the book yet. The next file check tells what the file holds.
                    this.#assume(this.#shown.name);
                }
                const records = [...this.#records];
                while (records.length < chat.length) {
                    records.push(fromBytes(this.#writer.arrive()));
                }
                return this.#write(chat, records);
            });
        }
        return result;
    }

    #isWatching(chat, observe) {
        if (!chat.length || !this.#messages || this.#messages.lastIndexOf(chat.at(-1)) < 0) {
            return false;
        }
        this.sync(chat, observe());
        return this.#messages !== null;
    }

    /**
     * Records of messages that arrived in this page while a book was bound, and whose book file was not checked since.
     * What an earlier page saw but could not save is lost.
     * @param {?string} book only records of messages that arrived while this book was bound
     */
    uncheckedRecords(book) {
        const isMeant = ({ came }) => came?.book && came.book !== 'none' && came.file === undefined && this.#books.get(came.book) === book;
        return this.#records.filter((record) => record && isMeant(record) && this.#isOwnRecord(record));
    }

    #isOwnRecord({ uid }) {
        return String(uid).replace(/^\d+-/, '').split('.')[0] === this.#random;
    }

    /**
     * The book's file was read after messages arrived.
     * @param {object[]} chat @param {string} book
     * @param {(record: object) => boolean | undefined} isPages whether the file's content was what this page
     *     had read or written; `undefined` if that cannot be told
     * @returns {Outcome}
     */
    fileChecked(chat, book, isPages) {
        const unchecked = new Set(this.uncheckedRecords(book));
        if (!this.#messages || !unchecked.size) {
            return { changed: false, last: null };
        }
        return this.#guarded(() => {
            const records = this.#records.map((record) => (unchecked.has(record) ? withFileCheck(record, isPages(record)) : record));
            const last = records.at(-1);
            if (last !== this.#records.at(-1)) {
                this.#writer.amend(toBytes(last));
            }
            const isSame = this.#messages.length === chat.length && this.#messages.every((message, place) => message === chat[place]);
            const messages = isSame ? chat : this.#messages;
            return this.#write(messages, records);
        });
    }

    /** Removes all records from a chat. @param {object[]} chat @returns {number} how many there were */
    strip(chat) {
        this.forget();
        const carriers = chat.filter((message) => message && Object.hasOwn(message, FIELD));
        carriers.forEach((message) => delete message[FIELD]);
        return carriers.length;
    }

    /** Forgets the chat. The next call starts from the records that its messages carry then. */
    forget() {
        this.#messages = null;
        this.#records = [];
    }

    /** No message is changed before everything is worked out, so an error does no harm. */
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
        this.#writer.open(toBytes(records)).forEach((place) => {
            records[place] = { ...records[place], gap: MOVED };
        });
        this.#observe(now);
        this.#updateLast(records);
        return this.#write(chat, records);
    }

    #continue(chat, now, { records, retreats, inherited, isAmended, isUnsure = false }) {
        retreats.forEach((record) => this.#writer.retreat(toBytes(record)));
        if (inherited) {
            this.#writer.inherit(toBytes(inherited));
        }
        if (isAmended) {
            this.#writer.amend(toBytes(records.at(-1)));
        }
        const found = chat.length - records.length;
        if (isUnsure) {
            this.#writer.doubt();
        }
        if (found > 0) {
            // Their arrival was not observed. Any change since the last observation belongs to the last of them.
            this.#updateLast(records);
            if (isUnsure && records.at(-1)) {
                // The state while this message was the last one was not observed.
                records[records.length - 1] = { ...records.at(-1), gap: MOVED };
            }
            this.#writer.grow(found, Boolean(now.isTouched || isUnsure));
            records.push(...Array(found).fill(null));
        }
        this.#observe(now);
        this.#updateLast(records);
        return this.#write(chat, records);
    }

    #reassign(chat) {
        const join = (earlier, later) => fromBytes(this.#core.join_records(toBytes(earlier), toBytes(later)));
        const insert = (earlier, later) => {
            this.#inserted += 1;
            return fromBytes(this.#core.insert_record(toBytes(earlier), toBytes(later), `${this.#random}.${this.#inserted}`));
        };
        return reassignRecords(this.#messages, this.#records, chat, { join, insert });
    }

    #prepareWriter() {
        const limit = this.#largestBook();
        if (this.#writer && this.#limit === limit) {
            return;
        }
        this.#writer?.free();
        this.#writer = new this.#core.Journal(limit, this.#random);
        this.#limit = limit;
        this.#shown = {};
    }

    /** Passes on to the writer what has changed, which is usually nothing. */
    #observe({ bookName, bookText, isOwn = true, isAssumed = false, isUnsaved = false, metadata }) {
        const shown = this.#shown;
        const name = bookName || null;
        const text = bookText !== undefined ? bookText : name === shown.name ? shown.text : null;
        shown.isOwn = isOwn || name === null;
        if (isAssumed) {
            this.#assume(name);
        } else if (name !== shown.name || text !== shown.text || shown.isAssumed) {
            this.#writer.observe_book(name ?? undefined, text === null ? undefined : encoder.encode(text));
            Object.assign(shown, { name, text, isAssumed: false });
        }
        this.#writer.observe_unsaved(isUnsaved);
        const recorded = JSON.stringify(Object.fromEntries(Object.entries(metadata ?? {}).filter(([key]) => this.#isRecorded(key))));
        if (recorded !== shown.metadata) {
            this.#writer.observe_metadata(encoder.encode(recorded));
            shown.metadata = recorded;
        }
    }

    /** Whether a metadata key is recorded. There are few keys, and they are asked for all the time. */
    #isRecorded(key) {
        if (!this.#keys.has(key)) {
            this.#keys.set(key, this.#core.is_recorded(key));
        }
        return this.#keys.get(key);
    }

    #assume(name) {
        this.#writer.assume_book(name);
        Object.assign(this.#shown, { name, text: null, isAssumed: true });
    }

    #updateLast(records) {
        const record = records.length ? fromBytes(this.#writer.record()) : null;
        if (record) {
            records[records.length - 1] = record;
        }
    }

    /** A digest does not contain the name of its book: it is the one bound when the digest first appears. */
    #rememberBook(record) {
        const digest = record.came?.book;
        if (digest && !this.#books.has(digest) && this.#isOwnRecord(record)) {
            this.#books.set(digest, this.#shown.name);
        }
    }

    /** Writes the records to the messages, where they differ. */
    #write(chat, reassigned) {
        const records = withGaps(reassigned);
        let changed = false;
        chat.forEach((message, place) => {
            const record = records[place];
            if (!message || (message[FIELD] ?? null) === record) {
                return;
            }
            changed = true;
            if (record) {
                message[FIELD] = record;
                this.#rememberBook(record);
            } else {
                delete message[FIELD];
            }
        });
        this.#messages = [...chat];
        this.#records = records;
        return { changed, last: records.at(-1) ?? null };
    }
}

/** The gap of a record that was moved from the place where it was made. */
const MOVED = -1;

/**
 * Sets the gap of records that were followed all along: the number of messages without a record directly before them.
 * @param {?object[]} records @returns {?object[]}
 */
function withGaps(records) {
    let seen = records;
    let gap = 0;
    for (let place = 0; place < records.length; place++) {
        const record = records[place];
        if (record && (record.gap ?? 0) !== gap && record.gap !== MOVED && record.uid) {
            seen = seen === records ? [...records] : seen;
            const { gap: _, ...rest } = record;
            seen[place] = gap ? { ...rest, gap } : rest;
        }
        gap = record ? 0 : gap + 1;
    }
    return seen;
}

/** The record after the book's file was checked. */
function withFileCheck(record, isPages) {
    if (isPages === undefined) {
        return record;
    }
    if (!isPages) {
        return { ...record, came: { ...record.came, file: false } };
    }
    const { assumed: _, ...rest } = record;
    const { assumed: __, ...came } = record.came;
    return { ...rest, came: { ...came, file: true } };
}

/**
 * Reassigns the records of `before` to the places of `chat`, except for messages appended at the end.
 *
 * The record of a deleted message is joined to the one before it or, at the start of the chat, to the next one. An
 * inserted message changed nothing and arrived together with the next one. The order of the messages does not matter.
 * @param {object[]} before @param {?object[]} records the record of each
 * @param {object} core
 * @param {(earlier: object, later: object) => ?object} core.join joins two records, or returns `null` if they do not fit
 * @param {(earlier: object, later: object) => ?object[]} core.insert the record of a message between two, and the later one's new one
 * @returns {?{records: object[], retreats: object[], inherited: ?object, isAmended: boolean, isUnsure?: boolean}} `null` if this is a
 *     different chat. For the writer, about the last message: `retreats`, for each message deleted from the end, the
 *     record of the one before it; `inherited`, the rest of records deleted from the start; `isAmended`, whether its
 *     record now says something different about its arrival
 */
export function reassignRecords(before, records, chat, core) {
    if (chat.length >= before.length && before.every((message, place) => message === chat[place])) {
        return before.length ? { records: [...records], retreats: [], inherited: null, isAmended: false } : null;
    }
    const stayed = remainingMessages(before, records, chat);
    const reassigned = reassignPlaces(before, records, chat, stayed, core);
    return reassigned && isAmbiguous(before, records, chat, stayed) ? withoutClaims(reassigned, before, chat) : reassigned;
}

function reassignPlaces(before, records, chat, { kept, places }, { join, insert }) {
    if (!kept.length) {
        return null;
    }
    const reassigned = [];
    // The joined records of messages deleted at the very start.
    let held = null;
    let isAmended = false;
    let [from, to] = [0, 0];

    const following = (record) => {
        if (!held || !record) {
            return record;
        }
        const joined = join(held, record) ?? record;
        held = null;
        return joined;
    };
    const keep = (place, inserted) => {
        // The writer takes care of the last message's record, here and below.
        const isLast = place === before.length - 1;
        let record = records[place];
        for (let count = 0; count < inserted; count++) {
            const [between, later] = (record && reassigned.at(-1) && insert(reassigned.at(-1), record)) || [null, record];
            isAmended ||= isLast && later !== record;
            reassigned.push(between);
            record = later;
        }
        reassigned.push(isLast ? record : following(record));
    };
    const drop = (place) => {
        const record = following(records[place]);
        if (record && reassigned.length) {
            const earlier = reassigned.pop();
            reassigned.push(earlier?.id ? join(earlier, record) ?? earlier : record);
        } else if (record) {
            held = record;
        }
    };

    /**
     * Some messages were deleted where others were inserted, in an unknown order: the last inserted one gets the last
     * deleted one's record, without a claim about the state at its arrival.
     */
    const replaceBy = (count, gone) => reassigned.push(...Array(count - 1).fill(null), gone && { ...gone, came: undefined });
    const replace = (end, count) => {
        replaceBy(count, records.slice(from, end).reduce((earlier, later) => (earlier && later ? join(earlier, later) ?? later : later ?? earlier), null));
        from = end;
    };

    kept.forEach((place, which) => {
        const isReplaced = from < places[which] && to < place;
        if (isReplaced) {
            replace(places[which], place - to);
        }
        for (; from < places[which]; from++) {
            drop(from);
        }
        keep(from, isReplaced ? 0 : place - to);
        const record = reassigned.at(-1);
        if (record?.uid && chat[place] !== before[from]) {
            const was = before.indexOf(chat[place]);
            if (was < 0 || !records[was]) {
                // It may be a copy whose original was deleted. If a message without a record took the place of one that
                // has a record, the record says nothing about it: it was made before that message arrived.
                reassigned[reassigned.length - 1] = { ...record, came: undefined, ...(was >= 0 && { gap: MOVED }) };
                isAmended ||= from === before.length - 1;
            }
        }
        [from, to] = [from + 1, place + 1];
    });
    // At the end, only a copy takes its original's place; any other message is new.
    while (from < before.length && isCopy(chat[to], records[from])) {
        keep(from, 0);
        [from, to] = [from + 1, to + 1];
    }
    const retreats = records.slice(from, -1).reverse();
    if (from < before.length && to < chat.length) {
        replaceBy(chat.length - to, records.at(-1));
        return { records: reassigned, retreats, inherited: held, isAmended: true };
    }
    if (from < before.length) {
        retreats.push(reassigned.at(-1));
    }
    return { records: reassigned, retreats, inherited: held, isAmended };
}

/**
 * Which places of `chat` hold messages of `before`, and where those were, in order. A message counts as the same if it
 * is the same object, or a copy of a deleted one that carries its record.
 */
function remainingMessages(before, records, chat) {
    const gone = new Set(before);
    const isThere = chat.map((message) => gone.delete(message));
    const copies = new Map(before.flatMap((message, place) => (gone.has(message) && records[place]?.uid ? [[records[place].uid, message]] : [])));
    chat.forEach((message, place) => {
        const original = isThere[place] ? undefined : copies.get(message?.[FIELD]?.uid);
        if (original) {
            copies.delete(message[FIELD].uid);
            isThere[place] = gone.delete(original);
        }
    });
    const kept = chat.flatMap((_, place) => (isThere[place] ? place : []));
    const places = before.flatMap((message, place) => (gone.has(message) ? [] : place));
    return { kept, places };
}

/**
 * Whether messages were deleted, inserted or moved, and more than one of these since the last call: the order cannot be
 * reconstructed. A message that was pushed and then moved looks like an inserted one.
 */
function isAmbiguous(before, records, chat, { kept, places }) {
    const hasGone = kept.length < before.length;
    const hasCome = kept.length < chat.length;
    const isElsewhere = (place, which) => {
        const was = places[which];
        return chat[place] !== before[was] && chat[place]?.[FIELD]?.uid !== records[was]?.uid;
    };
    // Replaced in place.
    const isReplaced = chat.length === before.length && chat.at(-1) === before.at(-1) && kept.every((place, which) => place === places[which]);
    return (hasGone && hasCome && !isReplaced) || ((hasGone || hasCome) && kept.some(isElsewhere));
}

/** From the first message on that has moved, the records keep their content but claim nothing about arrivals. */
function withoutClaims({ records, ...rest }, before, chat) {
    const first = chat.findIndex((message, place) => message !== before[place]);
    const marked = records.map((record, place) => {
        if (!record || place < first) {
            return record;
        }
        const { came: _, ...others } = record;
        return place === chat.length - 1 ? others : { ...others, gap: MOVED };
    });
    return { ...rest, records: marked, isUnsure: true };
}

function isCopy(message, record) {
    const copied = message?.[FIELD];
    return Boolean(record && copied) && (copied === record || JSON.stringify(copied) === JSON.stringify(record));
}
