// A product that follows the rule and does nothing more: whole states instead of differences, no files, no speed. It
// shows that an honest product passes the judge, so that a failure means something.

import { bookKey } from './ledger.mjs';
import { metadataText } from './values.mjs';

const FIELD = 'forklore';
const METHODS = ['push', 'splice'];

/** The same interface as `Product`. */
export class HonestProduct {
    errors = [];

    recorderFor(page) {
        return new HonestRecorder(page);
    }

    ask({ metadata, messages, bookName, bookText, m }) {
        const records = recordsOf(messages);
        const live = { book: bookKey(bookName, bookText), metadata: metadataText(metadata) };
        const isKnown = { book: !bookName || bookText !== undefined, metadata: true };
        return { book: answer('book', records, m, live, isKnown), metadata: answer('metadata', records, m, live, isKnown) };
    }
}

function answer(part, records, m, live, isKnown) {
    const said = (kind, k, content, source) => ({ kind, k, source, content });
    const inOrder = (place) => isInOrder(records, place);
    if (m === records.length - 1) {
        const record = records[m];
        if (isKnown[part] && (!record || record[part] === live[part])) {
            return said('exact', null, live[part], 'files');
        }
    } else if (inOrder(m) && inOrder(m + 1)) {
        const { came } = records[m + 1];
        if (came && came.after === records[m].uid && came[part] !== undefined && (part === 'metadata' || came.file)) {
            const content = [records[m][part], live[part]].find((text) => text !== undefined && text === came[part]);
            if (content !== undefined) {
                return said('exact', null, content, 'journal');
            }
        }
    }
    for (let k = m; k >= 0; k--) {
        if (inOrder(k) && records[k][part] !== undefined) {
            return said('as of', k, records[k][part], 'journal');
        }
    }
    return isKnown[part] ? said('live', null, live[part], 'files') : said('none', null, '', null);
}

class HonestRecorder {
    constructor(page) {
        this.page = page;
        this.known = new Map();
        this.own = new Map();
        this.pending = [];
        this.messages = null;
        this.numbers = 0;
    }

    opened() {
        this.messages = null;
        this.pending = [];
        this.#begin();
    }

    streamed() {
        this.sync();
    }

    carriedBy() {
        this.sync();
        const { page } = this;
        this.#sum();
        const header = { chat_metadata: page.metadata, user_name: 'unused', character_name: 'unused' };
        return JSON.stringify({ chat: [header, ...page.chat] });
    }

    bookReading() {}

    bookRead(name, text) {
        const known = this.#knownOf(name);
        if (text !== known.read && !known.written.has(text)) {
            // The first read since then: the page was behind.
            this.pending = this.pending.filter((one) => one.name !== name);
        }
        known.read = text;
        this.sync();
    }

    bookChanged(name, text) {
        if (typeof text === 'string') {
            this.#knownOf(name).written.add(text);
        } else if (text === null) {
            this.own.delete(name);
        }
        this.sync();
    }

    sync() {
        if (!this.page.settings.journal) {
            this.messages = null;
            this.pending = [];
            return;
        }
        if (this.messages) {
            this.#goOn();
        } else {
            this.#begin();
        }
        this.#sum();
    }

    #knownOf(name) {
        if (!this.known.has(name)) {
            this.known.set(name, { read: undefined, written: new Set() });
        }
        return this.known.get(name);
    }

    /** Both parts as they are in memory; the book is missing if it is unknown. */
    #state() {
        const { page } = this;
        const name = page.book;
        const text = name ? page.copy(name) ?? (page.names.includes(name) ? this.own.get(name) : undefined) : undefined;
        return { metadata: metadataText(page.metadata), book: name && text === undefined ? undefined : bookKey(name, text) };
    }

    #uid() {
        this.numbers = Math.max(this.numbers, ...this.page.chat.map((message) => Math.floor(message[FIELD]?.uid ?? 0))) + 1;
        return this.numbers + Math.random();
    }

    #begin() {
        const { page } = this;
        if (!page.settings.journal || page.chat.length === 0) {
            return;
        }
        this.#wrap();
        const records = recordsOf(page.chat);
        page.chat.filter((_, place) => !isInOrder(records, place)).forEach((message) => delete message[FIELD]);
        const last = page.chat.at(-1);
        last[FIELD] = { ...last[FIELD], ...this.#state() };
        last[FIELD].uid ??= this.#uid();
        this.#remember();
        this.#look();
    }

    #sum() {
        this.page.chat.forEach((message, place) => {
            if (message[FIELD] && this.messages?.[place] === message) {
                message[FIELD].place = place;
                message[FIELD].sum = sumOf(message[FIELD]);
            }
        });
    }

    #remember() {
        this.messages = [...this.page.chat];
        this.records = this.messages.map((message) => message[FIELD] ?? null);
        this.seen = this.#state();
    }

    #wrap() {
        const recorder = this;
        const { chat } = this.page;
        METHODS.filter((method) => chat[method].owner !== this).forEach((method) => {
            const plain = Array.prototype[method];
            const wrapper = function (...args) {
                const isAtEnd = method === 'push' ? args.length === 1 : args.length === 3 && args[0] >= chat.length && args[1] === 0;
                const isWatched = isAtEnd && recorder.page.settings.journal && recorder.messages && recorder.#isUnchanged();
                if (!isWatched) {
                    recorder.messages && recorder.page.settings.journal && recorder.#goOn();
                    return plain.apply(this, args);
                }
                recorder.#updateLast();
                const done = plain.apply(this, args);
                recorder.#arrived(recorder.seen);
                return done;
            };
            wrapper.owner = this;
            Object.defineProperty(chat, method, { value: wrapper, configurable: true, writable: true, enumerable: false });
        });
    }

    #isUnchanged() {
        const { chat } = this.page;
        return chat.length > 0 && chat.length === this.messages.length && chat.every((message, place) => message === this.messages[place]);
    }

    #updateLast() {
        const last = this.page.chat.at(-1);
        const state = this.#state();
        last[FIELD] = { ...last[FIELD], ...state, book: state.book ?? last[FIELD].book };
        if (state.book === undefined) {
            delete last[FIELD].book;
        }
        this.#remember();
    }

    /** The last message of the array has just arrived. */
    #arrived(came) {
        const { chat } = this.page;
        const record = { ...this.#state(), uid: this.#uid(), came: { after: this.records.at(-1).uid, ...came, file: !this.page.book } };
        if (record.came.book === undefined) {
            delete record.came.book;
        }
        chat.at(-1)[FIELD] = record;
        this.pending.push({ after: record.came.after, name: this.page.book });
        this.#remember();
        this.#look();
    }

    #goOn() {
        const { chat } = this.page;
        this.#wrap();
        if (this.#isUnchanged()) {
            this.#updateLast();
            return;
        }
        const isLonger = chat.length > this.messages.length && this.messages.every((message, place) => message === chat[place]);
        if (isLonger) {
            const now = this.#state();
            const isOne = chat.length === this.messages.length + 1;
            const { seen } = this;
            if (isOne) {
                delete chat.at(-1)[FIELD];
                this.#arrived(Object.fromEntries(['book', 'metadata'].filter((part) => seen[part] !== undefined && seen[part] === now[part]).map((part) => [part, seen[part]])));
            } else {
                chat.slice(this.messages.length).forEach((message) => delete message[FIELD]);
                chat.at(-1)[FIELD] = { ...now, uid: this.#uid() };
                this.#remember();
            }
            return;
        }
        this.#deal();
    }

    /** Messages were deleted or inserted: records belong to places. */
    #deal() {
        const { chat } = this.page;
        const before = this.messages;
        const isMoved = chat.length === before.length && chat.every((message) => before.includes(message));
        if (isMoved) {
            chat.forEach((message, place) => put(message, this.records[place]));
            this.#updateLast();
            return;
        }
        const kept = before.filter((message) => chat.includes(message));
        const isInOrder = chat.filter((message) => before.includes(message)).every((message, place) => message === kept[place]);
        if (!kept.length || !isInOrder || chat.indexOf(kept.at(-1)) !== chat.length - 1) {
            chat.filter((message) => !before.includes(message)).forEach((message) => delete message[FIELD]);
            this.#giveUp();
            return;
        }
        const places = [];
        before.forEach((message, place) => {
            const record = this.records[place];
            if (chat.includes(message)) {
                places.push({ message, record: record && { ...record } });
            } else if (places.length && record) {
                // The later one's content and number, and the earlier one's arrival.
                const earlier = places.at(-1);
                const { came, ...rest } = record;
                earlier.record = earlier.record?.came ? { ...rest, came: earlier.record.came } : rest;
            }
        });
        places.forEach(({ message, record }) => put(message, record));
        chat.forEach((message, place) => {
            if (before.includes(message)) {
                return;
            }
            const [earlier, next] = [chat[place - 1]?.[FIELD], chat[place + 1]?.[FIELD]];
            if (!earlier || !next?.came || next.came.after !== earlier.uid) {
                delete message[FIELD];
                return;
            }
            const uid = (earlier.uid + next.uid) / 2;
            const { book, metadata } = earlier;
            this.pending.filter(({ after }) => after === earlier.uid).forEach(({ name }) => this.pending.push({ after: uid, name }));
            put(message, { metadata, ...(book === undefined ? {} : { book }), uid, came: { ...next.came } });
            chat[place + 1][FIELD] = { ...next, came: { ...next.came, after: uid } };
        });
        this.#updateLast();
        this.#look();
    }

    #giveUp() {
        this.messages = null;
        this.pending = [];
        this.#begin();
    }

    /** Reads the book when idle, and notes whether the page was behind. */
    #look() {
        if (this.isLooking || !this.page.book) {
            return;
        }
        this.isLooking = true;
        this.page.idle.push(() => {
            const { page } = this;
            const name = page.book;
            const waiting = this.pending.filter((one) => one.name === name);
            if (!name) {
                this.isLooking = false;
                return;
            }
            page.requestBook(name).then((text) => {
                const known = this.#knownOf(name);
                const isKnown = text === known.read || known.written.has(text);
                known.read = text;
                this.own.set(name, text);
                waiting.filter((one) => this.pending.includes(one)).forEach(({ after }) => {
                    const message = page.chat.find((other) => other[FIELD]?.came?.after === after);
                    if (isKnown && message) {
                        message[FIELD] = { ...message[FIELD], came: { ...message[FIELD].came, file: true } };
                    }
                });
                // The page was behind for messages that arrived while the answer was on its way, too.
                this.pending = isKnown ? this.pending.filter((one) => !waiting.includes(one)) : [];
                this.isLooking = false;
                this.sync();
                page.isChatTimerSet ||= waiting.length > 0;
                if (this.pending.length) {
                    this.#look();
                }
            }, () => {
                this.isLooking = false;
                this.#look();
            });
        });
    }
}

/** Marks a record that was tampered with. */
function sumOf({ uid, place, book, metadata, came }) {
    const text = JSON.stringify([uid, place, book, metadata, came]);
    let sum = 0;
    for (let place = 0; place < text.length; place++) {
        sum = (Math.imul(sum, 31) + text.charCodeAt(place)) | 0;
    }
    return sum;
}

function put(message, record) {
    if (record) {
        message[FIELD] = record;
    } else {
        delete message[FIELD];
    }
}

/** The record of each message, `null` if there is none that can be trusted. */
function recordsOf(messages) {
    return messages.map(({ [FIELD]: record }) => (record && record.sum === sumOf(record) ? record : null));
}

function isInOrder(records, place) {
    const { uid, place: written } = records[place] ?? {};
    // A message that was moved past others without a record keeps its number in order.
    const isMoved = written < place && records.slice(0, place).includes(null);
    return uid !== undefined && !isMoved && records.every((other, at) => !other || at === place || (at < place ? other.uid < uid : other.uid > uid));
}
