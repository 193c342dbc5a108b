// A page of SillyTavern with the chat open: its array of messages, its metadata, its copies of books, its timers and
// its requests. Each change is one step of the world, so that the ledger misses none.

import { bookKey } from './ledger.mjs';
import { metadataText } from './values.mjs';

export const CHAT_NAME = 'Main';

export class Page {
    /**
     * @param {import('./world.mjs').World} world
     * @param {string} label
     * @param {{extension?: boolean, limit?: number}} [options] `limit` in megabytes: of larger books only digests are kept
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
        /** The one timer for all books. @type {?{name: string, data: object}} */
        this.bookTimer = null;
        this.isChatTimerSet = false;
        this.isFrozen = false;
        this.isOpen = false;
        /** Saves that the server has not done yet, in order. @type {{words: string, land: () => void}[]} */
        this.inFlight = [];
        /** Readings that the server has not answered yet. */
        this.requests = [];
        /** Idle work. @type {(() => void)[]} */
        this.idle = [];
        /** What this page read last and wrote, of each book. @type {Map<string, {read?: string, copied?: string, written: Set<string>}>} */
        this.known = new Map();
        this.tokenOf = new WeakMap();
        /** Arrivals whose book has not been read since. */
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
            // Who has not read it yet goes by what the chat's records say, which is what the page before knew.
            this.known.set(name, { read: this.world.known.get(name)?.text, copied: undefined, written: new Set() });
        }
        return this.known.get(name);
    }

    /** The page's copy of a book as text. */
    copy(name) {
        return this.cache.has(name) ? JSON.stringify(this.cache.get(name)) : undefined;
    }

    /** What the page holds now, as the definition reads it. @returns {import('./ledger.mjs').Held} */
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
        // SillyTavern keeps its one array. An extension that was on before still sees what happens to it.
        this.chat.length = 0;
        this.isChatTimerSet = false;
        this.metadata = metadata;
        this.names = [...this.world.server.books.keys()];
        this.chat.splice(0, this.chat.length, ...messages.map(({ value }) => value));
        messages.forEach(({ value, token }) => this.tokenOf.set(value, token));
        // A swap that was not saved has never been.
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

    /** The tab is closed, or left alone for ever: what it had not sent is lost. */
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

    /** The ledger's part of an arrival: what holds at this instant. */
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

    /** Puts a message at the end behind the back of `push`. */
    pushBypassed(message, tags = []) {
        this.#arrive(message, ['push bypassed', ...tags]);
        this.chat[this.chat.length] = message;
        this.world.tick();
    }

    /** Puts a message at a place, as `/send at=` and the copy button do. */
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

    /** Takes messages away. @param {'splice' | 'length' | 'pop'} how */
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

    /** An event of SillyTavern's that the extension hears. */
    event() {
        this.recorder?.sync();
    }

    // Books

    /** SillyTavern reads a book that it has no copy of, and the answer is there at once. */
    readBookNow(name) {
        if (!this.cache.has(name)) {
            const text = this.world.server.serve(name);
            this.noteReading(name, text, this.world.ledger.time);
            this.#bookArrived(name, text, this.recorder?.bookReading());
        }
    }

    /** The same, and the answer takes its time. If there is a copy by then, it is replaced. */
    readBookSlowly(name) {
        if (!this.cache.has(name)) {
            const began = this.recorder?.bookReading();
            this.requests.push({ name, resolve: (text) => this.#bookArrived(name, text, began), reject: () => {}, text: null, takenAt: 0 });
        }
    }

    /** @param {unknown} began what the extension said when the page asked for it */
    #bookArrived(name, text, began) {
        this.recorder?.bookRead(name, text, began);
        this.knownOf(name).copied = text;
        this.recorder?.bookChanges?.();
        this.cache.set(name, JSON.parse(text));
        this.world.tick();
        this.recorder?.bookChanged(name, undefined);
    }

    /**
     * Somebody in this page has read the book's file: a look for what arrived before, here or in another page. Not behind
     * is who finds there what it read last, what its copy was read from, or what it wrote. `takenAt`: when the server
     * looked at the file.
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
            // Undone before this page looked, or before anybody did.
            const look = lookOf(page);
            arrival.look = arrival.firstLook && !arrival.firstLook.isForeign ? arrival.firstLook : look;
        });
        this.unlooked = this.unlooked.filter((one) => !isMeant(one));
        this.world.orphans = this.world.orphans.filter((one) => !isMeant(one));
        this.knownOf(name).read = text;
        this.#nowKnown(name, text, takenAt);
    }

    /** The extension reads a book. The server looks at it at one time, and the answer comes at another. */
    requestBook(name) {
        return new Promise((resolve, reject) => {
            this.requests.push({ name, resolve, reject, text: null, takenAt: 0 });
        });
    }

    /** The server reads what the oldest request wants. */
    serverReads() {
        const request = this.requests.find(({ text }) => text === null);
        if (request) {
            request.text = this.world.server.serve(request.name);
            request.takenAt = this.world.ledger.time;
        }
    }

    /** The answer to the oldest request is there. */
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
     * An edit, as SillyTavern's editor and other extensions make it: the copy is replaced, and saved in a second.
     * @param {(book: object) => void} change
     * @param {{immediately?: boolean}} [options] saves at once, which cancels the timer, whichever book that was for
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

    /** The editor changes the copy itself and tells nobody. */
    editBookInPlace(name, change) {
        this.readBookNow(name);
        change(this.cache.get(name));
        this.world.tick();
    }

    /** An answer that was taken before the last write says nothing new. */
    #nowKnown(name, text, at) {
        if (at >= (this.world.known.get(name)?.at ?? 0)) {
            this.world.known.set(name, { text, at });
        }
    }

    /** The timer has run out. @param {'at once' | 'later' | 'lost'} [outcome] */
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

    /** Saves all that the page holds, as if it had been left alone for a while. */
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
        // That there is none now is what this page wrote.
        this.knownOf(name).written.add(this.world.server.serve(name));
        this.cache.delete(name);
        this.names = this.names.filter((known) => known !== name);
        this.world.tick();
        this.recorder?.bookChanged(name, null);
    }

    /** As the editor does it: saved under the new name, the old one deleted, the open chat follows. */
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

    /** The whole chat is written out and sent. @param {'at once' | 'later' | 'lost'} [outcome] */
    saveChat(outcome = 'at once') {
        this.isChatTimerSet = false;
        const header = { chat_metadata: this.metadata, user_name: 'unused', character_name: 'unused' };
        // The same order in which `JSON.stringify` would go through the body.
        let texts = [header, ...this.chat].map((line) => JSON.stringify(line));
        const carried = this.recorder?.carriedBy(`{"ch_name":"Ada","file_name":"${CHAT_NAME}","chat":[${texts.join(',')}],"avatar_url":"Ada.png"}`);
        if (carried !== undefined) {
            texts = JSON.parse(carried).chat.map((line) => JSON.stringify(line));
        }
        const tokens = this.tokens();
        const [first, ...messages] = texts;
        const { ledger } = this.world;
        const lines = messages.map((text, place) => ({ text, token: tokens[place], isSound: true, atPlace: ledger.atPlaces.get(tokens[place]) }));
        this.#send('chat', outcome, () => this.world.server.writeChat(first, lines));
    }
}
