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

/** Tells the records of this page from those of any other. */
const RANDOM_LETTERS = 5;
const randomText = () => Array.from(crypto.getRandomValues(new Uint8Array(RANDOM_LETTERS)), (byte) => (byte % 36).toString(36)).join('');

/**
 * What the chat is bound to now.
 * @typedef {object} CurrentState
 * @property {?string} bookName the book the chat is bound to, if any
 * @property {?string} [bookText] the book's JSON text. `undefined`: as at the last call. `null`: it cannot be had;
 *     until it is back nothing new is recorded, since what is known of it may be needed to make it again
 * @property {boolean} [isOwn] whether that is the page's own copy, and not the file's text because it has none
 * @property {boolean} [isUnsaved] the book's file does not hold that yet
 * @property {boolean} [isAssumed] the book is there, and nobody has looked at it since the last message arrived
 * @property {boolean} [isTouched] somebody told of a change of the book since the last call
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
    /** @type {Map<string, boolean>} */
    #keys = new Map();
    /** What the writer was shown last. */
    #shown = {};
    /** The messages at the last call, or `null` where we know nothing of the chat; and the record of each. */
    #messages = null;
    #records = [];
    /** The book behind each digest that a message of this page testifies. @type {Map<string, ?string>} */
    #books = new Map();
    /** Makes the uids of messages that are put in between. */
    #inserted = 0;
    #random = randomText();

    /**
     * @param {object} parts
     * @param {object} parts.core the core's `Journal`, `join_records`, `insert_record` and `is_recorded`
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
     * Messages are about to be put at the end of the chat: looks at what holds now, lets it happen, and lets the new
     * ones testify to it. Where the last message is not one that we know, they testify to nothing.
     * @template T
     * @param {object[]} chat @param {() => CurrentState} look @param {() => T} put
     * @returns {T}
     */
    arrive(chat, observe, put) {
        const isWatched = this.#isWatching(chat, observe);
        const result = put();
        if (isWatched) {
            this.#guarded(() => {
                const { isOwn, text, isAssumed } = this.#shown;
                if (!isOwn && (text !== null || isAssumed)) {
                    // The page has not read the book yet: what its file holds now, the next look tells.
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
     * Records whose message's arrival was seen with a book, since the chat was opened, and of which it is not known what
     * the file was then. What an earlier page has seen of the file, and could not save any more, nobody knows.
     * @param {?string} book only those that arrived while this one was bound
     */
    uncheckedRecords(book) {
        const isMeant = ({ came }) => came?.book && came.book !== 'none' && came.file === undefined && this.#books.get(came.book) === book;
        return this.#records.filter((record) => record && isMeant(record) && this.#isOwnRecord(record));
    }

    #isOwnRecord({ uid }) {
        return String(uid).replace(/^\d+-/, '').split('.')[0] === this.#random;
    }

    /**
     * The book's file was read after messages had arrived.
     * @param {object[]} chat @param {string} book
     * @param {(record: object) => boolean | undefined} isOurs whether it was what the page that saw the message had read
     *     or written; `undefined` where it does not tell
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
            // Nobody saw them arrive. Whatever differs from what was seen before belongs to the last of them.
            this.#updateLast(records);
            if (isUnsure && records.at(-1)) {
                // What held while it was the last, nobody has seen.
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

    /** Shows the writer what is new, which is nothing most of the time. */
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

    /** Which keys of a chat's metadata belong to a moment: there are few, and the same ones are asked for all the time. */
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

    /** A digest does not tell the name of its book, which is the one that is shown when it is first testified. */
    #rememberBook(record) {
        const digest = record.came?.book;
        if (digest && !this.#books.has(digest) && this.#isOwnRecord(record)) {
            this.#books.set(digest, this.#shown.name);
        }
    }

    /** Puts the records on the messages, where they are not yet. */
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

/** The gap of a record that is not where it was made. */
const MOVED = -1;

/**
 * Records that have been followed all along: each says how many messages without a record stand directly before it.
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

/** What a record says after a look at the book's file. */
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
 * Deals the records of `before` out to the places of `chat`, up to the messages that came at the end.
 *
 * A deleted message's record goes to the one before it, or from the beginning to the next that has one. A message
 * that came in between changed nothing, and arrived together with the next. Order among the messages does not matter.
 * @param {object[]} before @param {?object[]} records what each of them carried
 * @param {object} core
 * @param {(earlier: object, later: object) => ?object} core.join two records as one, or `null` if they do not fit
 * @param {(earlier: object, later: object) => ?object[]} core.insert the record of a message between two, and the later one's
 * @returns {?{records: object[], retreats: object[], inherited: ?object, isAmended: boolean, isUnsure?: boolean}} `null` if this is another
 *     chat altogether. What the writer has to be told of the last message: `retreats`, one for each that was deleted
 *     from the end, what the one before it carried; `inherited`, what is left of those deleted from the beginning;
 *     `isAmended`, whether its record says something else about its arrival
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
    // What deleted messages at the very beginning said.
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
        // The record of the last one is the writer's business, here and below.
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
     * Some went where others came, and nobody knows in which order: what the last of those that went said, the last of
     * those that came says now. Which state the one before them had when they came, it does not.
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
                // A copy may have been put there, and its original deleted. Of a message that had no record, and took the
                // place of one that has, the record says nothing: it was made before that one came.
                reassigned[reassigned.length - 1] = { ...record, came: undefined, ...(was >= 0 && { gap: MOVED }) };
                isAmended ||= from === before.length - 1;
            }
        }
        [from, to] = [from + 1, place + 1];
    });
    // At the end, only a copy takes its original's place; anything else is a new message.
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
 * Which places of `chat` hold messages of `before`, and where those were, in order. A message is the same if it is the
 * same object, or a copy of one that is gone, with its record.
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
 * Whether messages went, came or changed places, and more than one of these since somebody looked: in which order that was
 * does not show. One that was pushed and then moved looks like one that was put in between.
 */
function isAmbiguous(before, records, chat, { kept, places }) {
    const hasGone = kept.length < before.length;
    const hasCome = kept.length < chat.length;
    const isElsewhere = (place, which) => {
        const was = places[which];
        return chat[place] !== before[was] && chat[place]?.[FIELD]?.uid !== records[was]?.uid;
    };
    // Written anew where it was.
    const isReplaced = chat.length === before.length && chat.at(-1) === before.at(-1) && kept.every((place, which) => place === places[which]);
    return (hasGone && hasCome && !isReplaced) || ((hasGone || hasCome) && kept.some(isElsewhere));
}

/** From the first message on that is not where it was, the records say what they lead to, and claim nothing. */
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
