// A SillyTavern page with the open chat: its array of messages, its metadata, its copies of books, its timers and its
// requests. Each change is one step of the world, so that the ledger misses none.

import { bookKey } from './ledger.mjs';
import { metadataText } from './values.mjs';

export const CHAT_NAME = 'Main';

export class Page {
    /**
     * @param {import('./world.mjs').World} world
     * @param {string} label
     * @param {{extension?: boolean, limit?: number}} [options] `limit` in megabytes: only digests are kept of larger books
     */
    constructor(world, label, { extension = true, limit = 8 } = {}) {
        this.world = world;
        this.label = label;
        this.settings = { journal: true, journalLimit: limit };
        /** @type {object[]} */
        this.chat = [];
        this.metadata = {};
        /** SillyTavern's copies of books: read once, and never again. @type {Map<string, object>} */
        this.cache = new Map();
        this.names = [];
        /** The single timer for all books. @type {?{name: string, data: object}} */
        this.bookTimer = null;
        this.isChatTimerSet = false;
        this.isFrozen = false;
        this.isOpen = false;
        /** Saves that the server has not processed yet, in order. @type {{words: string, land: () => void}[]} */
        this.inFlight = [];
        /** Reads that the server has not answered yet. */
        this.requests = [];
        /** Idle work. @type {(() => void)[]} */
        this.idle = [];
        /**
         * What this page last read and has written, for each book.
         * @type {Map<string, {read?: string, copied?: string, written: Set<string>}>}
         */
        this.known = new Map();
        this.tokenOf = new WeakMap();
        /** Arrivals after which the book has not been read yet. */
        this.unlooked = [];
        this.recorder = extension ? world.recorderFor(this) : null;
    }

    get isWatched() {
        return Boolean(this.recorder) && this.settings.journal;
    }

    get book() {
        return this.metadata.world_info || null;
    }

    tokens() {
        return this.chat.map((message) => this.tokenOf.get(message));
    }

    knownOf(name) {
        if (!this.known.has(name)) {
            // A page that has not read it yet goes by the chat's records, which contain what the previous page knew.
            this.known.set(name, { read: this.world.known.get(name)?.text, copied: undefined, written: new Set() });
        }
        return this.known.get(name);
    }

    /** The page's copy of a book as text. */
    copy(name) {
        return this.cache.has(name) ? JSON.stringify(this.cache.get(name)) : undefined;
    }

    /** The page's current state, by the definition. @returns {import('./ledger.mjs').Held} */
    held() {
        const name = this.book;
        const copy = name ? this.copy(name) : undefined;
        const text = copy ?? (name ? this.world.server.books.get(name) : undefined);
        return { metadata: metadataText(this.metadata), bookName: name, bookText: text, hadCopy: copy !== undefined };
    }

    /** What the ledger sees of this page. */
    seen() {
        const { metadata, bookName, bookText } = this.held();
        const books = [bookKey(bookName, bookText)];
        const file = bookName ? this.world.server.books.get(bookName) : undefined;
        if (file !== undefined && file !== bookText) {
            books.push(bookKey(bookName, file));
        }
        return { tokens: this.tokens(), metadata, books, isWatched: this.isWatched };
    }

    // Opening and closing

    /** Opens the chat, in a new page or again in this one. `later` runs between the messages and the event. */
    open({ preload = true, later = () => {} } = {}) {
        const { metadata, messages } = this.world.server.readChat();
        // SillyTavern keeps the same array. An extension that was enabled before still sees what happens to it.
        this.chat.length = 0;
        this.isChatTimerSet = false;
        this.metadata = metadata;
        this.names = [...this.world.server.books.keys()];
        this.chat.splice(0, this.chat.length, ...messages.map(({ value }) => value));
        messages.forEach(({ value, token }) => this.tokenOf.set(value, token));
        // A swap that was not saved never happened.
        this.world.server.chat.lines.filter(({ atPlace }) => atPlace).forEach(({ token, atPlace }) => this.world.ledger.atPlaces.set(token, atPlace));
        this.isOpen = true;
        this.world.tick();
        if (preload && this.book) {
            this.readBookNow(this.book);
        }
        later();
        this.recorder?.opened();
        this.world.tick();
    }

    /** The tab is closed, or abandoned: what it had not sent is lost. */
    close() {
        this.isOpen = false;
        this.recorder = null;
        this.bookTimer = null;
        this.isChatTimerSet = false;
        this.requests = [];
        this.idle = [];
        this.world.orphans.push(...this.unlooked);
        this.unlooked = [];
        this.world.removePage(this);
    }

    // Messages

    makeMessage(fields) {
        const message = { ...fields };
        this.tokenOf.set(message, this.world.ledger.newToken());
        return message;
    }

    /** The ledger's part of an arrival: the state at this instant. */
    #arrive(message, tags) {
        this.world.tick();
        const { ledger, server } = this.world;
        const held = this.held();
        const { read, copied, written } = this.knownOf(held.bookName ?? '');
        const file = held.bookName ? server.serve(held.bookName) : undefined;
        const fileWasForeign = held.bookName !== null && file !== read && file !== copied && !written.has(file);
        const arrival = ledger.arrives(this.tokenOf.get(message), held, { fileWasForeign, tags: [...tags, ...this.world.takeTags()] });
        this.unlooked.push({ arrival, page: this });
    }

    push(message, tags = []) {
        this.#arrive(message, tags);
        this.chat.push(message);
        this.world.tick();
    }

    /** Appends a message without `push`. */
    pushBypassed(message, tags = []) {
        this.#arrive(message, ['push bypassed', ...tags]);
        this.chat[this.chat.length] = message;
        this.world.tick();
    }

    /** Inserts a message, like `/send at=` and the copy button. */
    insert(place, message, tags = []) {
        if (place >= this.chat.length) {
            this.#arrive(message, tags);
        } else {
            this.world.ledger.putBetween(this.tokenOf.get(message), this.tokenOf.get(this.chat[place]));
            this.world.touch([this.chat[place - 1], this.chat[place]], this, tags);
        }
        this.chat.splice(place, 0, message);
        this.world.tick();
    }

    /** Removes messages. @param {'splice' | 'length' | 'pop'} how */
    remove(place, count, how, tags = []) {
        this.world.touch([this.chat[place - 1], this.chat[place + count]], this, tags);
        if (how === 'length') {
            this.chat.length = place;
        } else if (how === 'pop') {
            this.chat.pop();
        } else {
            this.chat.splice(place, count);
        }
        this.world.tick();
    }

    swap(one, other, tags = []) {
        this.world.touch([this.chat[one], this.chat[other]], this, tags);
        this.world.ledger.swapped(this.tokenOf.get(this.chat[one]), this.tokenOf.get(this.chat[other]));
        [this.chat[one], this.chat[other]] = [this.chat[other], this.chat[one]];
        this.world.tick();
    }

    changeMetadata(change) {
        change(this.metadata);
        this.world.tick();
    }

    /** An event of SillyTavern's that the extension receives. */
    event() {
        this.recorder?.sync();
    }

    // Books

    /** SillyTavern reads a book that it has no copy of, and is answered at once. */
    readBookNow(name) {
        if (!this.cache.has(name)) {
            const text = this.world.server.serve(name);
            this.noteReading(name, text, this.world.ledger.time);
            this.#bookArrived(name, text, this.recorder?.bookReading());
        }
    }

    /** The same, but the answer takes a while. If there is a copy by then, it is replaced. */
    readBookSlowly(name) {
        if (!this.cache.has(name)) {
            const began = this.recorder?.bookReading();
            this.requests.push({ name, resolve: (text) => this.#bookArrived(name, text, began), reject: () => {}, text: null, takenAt: 0 });
        }
    }

    /** @param {unknown} began what the extension returned when the page sent the request */
    #bookArrived(name, text, began) {
        this.recorder?.bookRead(name, text, began);
        this.knownOf(name).copied = text;
        this.recorder?.bookChanges?.();
        this.cache.set(name, JSON.parse(text));
        this.world.tick();
        this.recorder?.bookChanged(name, undefined);
    }

    /**
     * This page has read the book's file, which checks all earlier arrivals, in this page or in others. A page is not
     * behind if it finds what it last read, what its copy was read from, or what it wrote. `takenAt`: when the server
     * read the file.
     */
    noteReading(name, text, takenAt) {
        const isMeant = ({ arrival }) => arrival.held.bookName === name && arrival.time <= takenAt;
        const lookOf = (page) => {
            const { read, copied, written } = page.knownOf(name);
            return { isForeign: text !== read && text !== copied && !written.has(text), text };
        };
        const others = this.world.pages.filter((page) => page !== this).flatMap((page) => page.unlooked);
        others.filter(isMeant).forEach(({ arrival, page }) => {
            arrival.firstLook ??= lookOf(page);
        });
        [...this.unlooked, ...this.world.orphans].filter(isMeant).forEach(({ arrival, page }) => {
            // Undone before this page checked, or before any page did.
            const look = lookOf(page);
            arrival.look = arrival.firstLook && !arrival.firstLook.isForeign ? arrival.firstLook : look;
        });
        this.unlooked = this.unlooked.filter((one) => !isMeant(one));
        this.world.orphans = this.world.orphans.filter((one) => !isMeant(one));
        this.knownOf(name).read = text;
        this.#nowKnown(name, text, takenAt);
    }

    /** The extension reads a book. The server reads the file at one time, and the answer arrives at another. */
    requestBook(name) {
        return new Promise((resolve, reject) => {
            this.requests.push({ name, resolve, reject, text: null, takenAt: 0 });
        });
    }

    /** The server reads the file for the oldest request. */
    serverReads() {
        const request = this.requests.find(({ text }) => text === null);
        if (request) {
            request.text = this.world.server.serve(request.name);
            request.takenAt = this.world.ledger.time;
        }
    }

    /** The answer to the oldest request arrives. */
    serverAnswers({ fails = false } = {}) {
        this.serverReads();
        const request = this.requests.shift();
        if (!request) {
            return;
        }
        if (fails) {
            request.reject(new Error('the server did not answer'));
            return;
        }
        this.noteReading(request.name, request.text, request.takenAt);
        request.resolve(request.text);
    }

    /**
     * An edit, as made by SillyTavern's editor and other extensions: the copy is replaced, and saved a second later.
     * @param {(book: object) => void} change
     * @param {{immediately?: boolean}} [options] saves at once, which cancels the timer, whichever book it was for
     */
    editBook(name, change, { immediately = false } = {}) {
        this.readBookNow(name);
        const data = structuredClone(this.cache.get(name));
        change(data);
        this.recorder?.bookChanges?.();
        this.cache.set(name, data);
        this.world.tick();
        this.recorder?.bookChanged(name, undefined);
        this.bookTimer = { name, data };
        if (immediately) {
            return this.saveBook();
        }
        return undefined;
    }

    /** The editor changes the copy itself without notifying anything. */
    editBookInPlace(name, change) {
        this.readBookNow(name);
        change(this.cache.get(name));
        this.world.tick();
    }

    /** An answer from before the last write says nothing new. */
    #nowKnown(name, text, at) {
        if (at >= (this.world.known.get(name)?.at ?? 0)) {
            this.world.known.set(name, { text, at });
        }
    }

    /** The timer has fired. @param {'at once' | 'later' | 'lost'} [outcome] */
    saveBook(outcome = 'at once') {
        const timer = this.bookTimer;
        this.bookTimer = null;
        if (!timer) {
            return;
        }
        const { name } = timer;
        const text = JSON.stringify(timer.data);
        this.knownOf(name).written.add(text);
        this.#nowKnown(name, text, this.world.ledger.time);
        this.recorder?.bookChanged(name, text);
        this.#send(`book "${name}"`, outcome, () => {
            this.world.server.writeBook(name, text);
            if (!this.names.includes(name)) {
                this.names.push(name);
            }
            this.recorder?.bookSaved?.(name, text);
        });
    }

    /** Saves everything in the page, as if it had been left alone for a while. */
    saveAll() {
        this.saveBook();
        if (this.book && this.copy(this.book) !== undefined && this.copy(this.book) !== this.world.server.books.get(this.book)) {
            this.bookTimer = { name: this.book, data: this.cache.get(this.book) };
            this.saveBook();
        }
        this.saveChat();
    }

    removeBook(name) {
        this.world.server.removeBook(name);
        // This page's own write is why there is none now.
        this.knownOf(name).written.add(this.world.server.serve(name));
        this.cache.delete(name);
        this.names = this.names.filter((known) => known !== name);
        this.world.tick();
        this.recorder?.bookChanged(name, null);
    }

    /** Like the editor: saved under the new name, the old one deleted, and the open chat is rebound. */
    renameBook(from, to) {
        this.readBookNow(from);
        this.bookTimer = { name: to, data: structuredClone(this.cache.get(from)) };
        this.cache.set(to, this.bookTimer.data);
        this.recorder?.bookChanged(to, undefined);
        this.saveBook();
        this.removeBook(from);
        this.changeMetadata((metadata) => {
            metadata.world_info = to;
        });
    }

    // Saving

    #send(words, outcome, land) {
        if (outcome === 'lost') {
            return;
        }
        this.inFlight.push({ words, land });
        if (outcome === 'at once') {
            this.landAll();
        }
    }

    landOne() {
        this.inFlight.shift()?.land();
        this.world.tick();
    }

    landAll() {
        while (this.inFlight.length) {
            this.landOne();
        }
    }

    /** The whole chat is serialized and sent. @param {'at once' | 'later' | 'lost'} [outcome] */
    saveChat(outcome = 'at once') {
        this.isChatTimerSet = false;
        const header = { chat_metadata: this.metadata, user_name: 'unused', character_name: 'unused' };
        // In the same order as `JSON.stringify` would go through the body.
        let texts = [header, ...this.chat].map((line) => JSON.stringify(line));
        const { recorder } = this;
        const carried = recorder?.carriedBy(`{"ch_name":"Ada","file_name":"${CHAT_NAME}","chat":[${texts.join(',')}],"avatar_url":"Ada.png"}`);
        if (carried?.body !== undefined) {
            texts = JSON.parse(carried.body).chat.map((line) => JSON.stringify(line));
        }
        const tokens = this.tokens();
        const [first, ...messages] = texts;
        const { ledger } = this.world;
        const lines = messages.map((text, place) => ({ text, token: tokens[place], isSound: true, atPlace: ledger.atPlaces.get(tokens[place]) }));
        this.#send('chat', outcome, () => {
            this.world.server.writeChat(first, lines);
            recorder?.chatSaved?.(carried.saved);
        });
    }
}
