// Keeps the journal of the open chat: decides when to record and what. The core decides which record goes on which message.

import { sameJson } from '../../core/json.js';
import { watchArrivals } from '../../sillytavern/message_arrivals.js';
import { BookFiles } from './book_files.js';
import { Journal } from './journal.js';

/** Events after which a message may have been added, deleted or finished. */
export const MESSAGE_EVENTS = ['MESSAGE_SENT', 'MESSAGE_RECEIVED', 'MESSAGE_DELETED', 'MESSAGE_SWIPED', 'GENERATION_ENDED'];

/** Whether the chat is small enough to be saved just for a record. */
const isSmall = (messages) => messages.reduce((sum, message) => sum + String(message?.mes ?? '').length, 0) <= 1024 * 1024;

/** Whether this is what SillyTavern returns for a book that does not exist. */
const isEmpty = (text) => text.length < 100 && sameJson(text, '{"entries":{}}');

const idle = globalThis.requestIdleCallback?.bind(globalThis) ?? ((run) => setTimeout(run, 50));

export class Recorder {
    /**
     * @param {object} parts
     * @param {object} parts.host @param {object} parts.core @param {object} parts.settings
     * @param {(error: Error) => void} parts.onError
     * @param {(run: () => void) => void} [parts.soon] runs something when the page is idle
     */
    constructor({ host, core, settings, onError, soon = idle }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.onError = onError;
        this.soon = soon;
        this.journal = null;
        this.current = null;
        this.files = new BookFiles();
        this.isScheduled = false;
        this.isFileCheckScheduled = false;
        /** Whether a record has changed since the last save. */
        this.isUnsaved = false;
    }

    /** A chat was opened, or the chat was closed. */
    chatOpened() {
        const open = this.host.openChat();
        this.current = open && {
            name: open.name,
            integrity: open.integrity,
            book: undefined,
            isBookStale: true,
            text: undefined,
        };
        this.journal = open && new Journal({
            core: this.core.wasm,
            isOn: () => this.settings.journal,
            largestBook: () => this.settings.journalLimit * 1024 * 1024,
        });
        this.length = 0;
        this.isUnsaved = false;
        this.files.markStale();
        this.installHooks();
        this.schedule();
        this.scheduleFileCheck();
    }

    /** The chat that is being recorded, if it is still the one on the screen. */
    chat() {
        const open = this.host.openChat();
        if (!open || !this.journal || open.name !== this.current.name) {
            return null;
        }
        // A new group chat gets its slug a little later.
        this.current.integrity ??= open.integrity;
        return open.integrity === this.current.integrity ? open : null;
    }

    /**
     * The text of a book has changed.
     * @param {string | null | undefined} text the text being saved; `null` if the book was deleted, `undefined` if
     *     the text is in the page's cache
     */
    bookChanged(name, text) {
        const open = this.chat();
        if (!open?.book || !this.isSameBook(open.book, name)) {
            if (typeof text === 'string' && this.files.isKnown(name)) {
                this.files.pageWrote(name, text);
            }
            if (open && this.current.book && this.isSameBook(this.current.book, name)) {
                // It was bound at the last check. When it is bound again, this change must not be missed.
                this.current.isBookStale = true;
            }
            return;
        }
        this.messageMayHaveArrived();
        Object.assign(this.current, { isBookStale: true, text });
        if (typeof text === 'string') {
            this.files.pageWrote(open.book, text);
        }
        this.schedule();
    }

    /** The messages that have arrived so far: a file read that starts now comes after them. */
    arrivedSoFar() {
        return this.chat() ? this.unchecked() : null;
    }

    /**
     * The page has read a book from the server, and this is its new copy.
     * @param {?Uint8Array} [arrived] `arrivedSoFar` from when the read started
     */
    bookRead(name, text, arrived) {
        const open = this.chat();
        if (open?.book && this.isSameBook(open.book, name)) {
            this.checkRecords(open, text, arrived);
            this.files.pageRead(open.book, text);
            Object.assign(this.current, { isBookStale: true, text: undefined });
            this.schedule();
        } else if (this.files.isKnown(name)) {
            this.files.pageRead(name, text);
        }
    }

    /** A book was saved. The last message's record should be saved with the chat as well, in case the page is closed now. */
    bookSaved(name, text) {
        const open = this.chat();
        if (open?.book && this.isSameBook(open.book, name)) {
            this.files.fileSaved(open.book, text);
            this.sync();
            if (this.isUnsaved) {
                this.saveSoon();
            }
        }
    }

    saveSoon() {
        this.isUnsaved = true;
        this.host.saveChatSoon(() => this.isUnsaved);
    }

    /** A book's file was read for some other reason. */
    fileRead(name, text) {
        const open = this.chat();
        if (open?.book && this.isSameBook(open.book, name)) {
            this.checkRecords(open, text);
        }
    }

    isSameBook(one, other) {
        return this.core.bookKey(one) === this.core.bookKey(other);
    }

    schedule() {
        if (this.isScheduled) {
            return;
        }
        this.isScheduled = true;
        this.soon(() => {
            this.isScheduled = false;
            this.sync();
        });
    }

    /** A message may have arrived unnoticed: changes from now on belong to it. */
    messageMayHaveArrived() {
        const open = this.chat();
        if (open && !this.hasSameEnd(open.messages)) {
            this.sync();
        }
    }

    hasSameEnd(messages) {
        return messages.length === this.length && messages.at(-1) === this.last;
    }

    /** Remembers the last message, to notice new ones. */
    rememberEnd(messages) {
        this.length = messages.length;
        this.last = messages.at(-1);
    }

    /** A message is about to be appended to the chat. */
    arriving(put) {
        const open = this.settings.journal ? this.chat() : null;
        if (!open || !open.messages.length) {
            return put();
        }
        let isPut = false;
        let result;
        const putOnce = () => {
            isPut = true;
            result = put();
            return result;
        };
        this.guarded(() => {
            if (!this.length) {
                // Just opened, and not recorded yet.
                this.sync();
            }
            let isSeen = false;
            this.journal?.arrive(open.messages, () => {
                isSeen = true;
                return { ...this.bookNow(open, { isFresh: true }), metadata: open.metadata };
            }, putOnce);
            this.files.markStale();
            if (isSeen) {
                this.rememberEnd(open.messages);
            }
            this.scheduleFileCheck();
        });
        return isPut ? result : put();
    }

    /** Brings the records up to date. @returns {boolean} whether any changed */
    sync() {
        const open = this.chat();
        if (!open || open.messages.length === 0) {
            return false;
        }
        if (!this.settings.journal) {
            // Changes from now on, to messages or the book, are not recorded.
            this.journal.forget();
            this.length = 0;
            Object.assign(this.current, { isBookStale: true, text: undefined });
            return false;
        }
        return this.guarded(() => {
            this.installHooks();
            const isFresh = !this.hasSameEnd(open.messages);
            if (isFresh && this.length && open.messages.length >= this.length) {
                // A message arrived unnoticed: what was read of files may be older than the message.
                this.files.markStale();
                this.scheduleFileCheck();
            }
            this.rememberEnd(open.messages);
            const isTouched = Boolean(open.book) && this.current.isBookStale;
            const { changed } = this.journal.sync(open.messages, { ...this.bookNow(open, { isFresh }), isTouched, metadata: open.metadata });
            this.isUnsaved ||= changed;
            return changed;
        }) ?? false;
    }

    /**
     * The book as the journal expects it: its text only if it is new, `null` if the book is lost.
     * @param {{isFresh: boolean}} how `isFresh`: read the page's copy even if no change was reported
     */
    bookNow(open, { isFresh }) {
        const { current } = this;
        if (!open.book) {
            current.book = null;
            return { bookName: null, bookText: null };
        }
        if (!isFresh && current.book === open.book && !current.isBookStale) {
            return { bookName: open.book, bookText: undefined, isUnsaved: this.isCopyUnsaved(open.book) };
        }
        const own = this.pageText(open.book);
        const text = own ?? (this.isThere(open.book) ? this.files.textOf(open.book) : undefined);
        if (own !== undefined) {
            this.files.firstSeen(open.book, own);
        }
        Object.assign(current, { book: open.book, isBookStale: text === undefined, own });
        const isAssumed = text === undefined && this.isThere(open.book);
        return { bookName: open.book, bookText: text ?? null, isOwn: own !== undefined, isAssumed, isUnsaved: this.isCopyUnsaved(open.book) };
    }

    isCopyUnsaved(name) {
        const { own } = this.current;
        return own !== undefined && this.files.isUnsaved(name, own);
    }

    isThere(name) {
        return this.current.text !== null && this.host.knownBooks().includes(name);
    }

    /** The text of the page's copy, including unsaved edits; `undefined` until the page has loaded the book. */
    pageText(name) {
        return this.isThere(name) ? this.host.cachedBookText(name) : undefined;
    }

    /** Checks the book's file when the page is idle: is it what this page has read or written? */
    scheduleFileCheck() {
        if (!this.isFileCheckScheduled) {
            this.isFileCheckScheduled = true;
            this.soon(() => this.checkFile().catch(() => {}));
        }
    }

    /** Waits until the file was checked after the last message, so that claims about the past are as exact as possible. */
    async untilFileChecked() {
        if (this.chat() && this.unchecked()) {
            await this.checkFile().catch(() => {});
        }
    }

    async checkFile() {
        this.isFileCheckScheduled = false;
        const open = this.chat();
        if (!open?.book || !this.settings.journal || !this.host.knownBooks().includes(open.book)) {
            return;
        }
        const { journal, current } = this;
        const name = open.book;
        const arrived = this.unchecked();
        const last = open.messages.at(-1);
        const text = await this.host.bookOnServer(name);
        const isSameOpening = () => this.journal === journal && this.current === current;
        if (!isSameOpening() && this.chat()) {
            // The request was sent before the chat was reopened, and possibly answered after a message arrived: it can
            // refute, but not confirm.
            this.checkRecords({ messages: this.chat().messages, book: name }, text, null);
        }
        const chatNow = () => (isSameOpening() ? this.chat() : null);
        let now = chatNow();
        if (now && isEmpty(text)) {
            // It differs from the page's copy, whether the book exists or not. A later check may be answered before
            // that is known.
            this.checkRecords({ messages: now.messages, book: name }, text, null);
            now = (await this.isOnServer(name)) ? chatNow() : null;
        }
        if (!now) {
            return;
        }
        // Even if another book is bound by now: messages arrived while this one was bound.
        this.checkRecords({ messages: now.messages, book: name }, text, arrived);
        if (now.book !== name || this.pageText(name) !== undefined) {
            return;
        }
        // The page has no copy of its own, so the file counts, unless a message has arrived in the meantime.
        if (now.messages.at(-1) !== last) {
            this.scheduleFileCheck();
            return;
        }
        this.files.pageRead(name, text);
        current.isBookStale = true;
        this.sync();
        this.checkRecords(now, text);
    }

    async isOnServer(name) {
        return (await this.host.listBooks()).some((book) => this.isSameBook(book.name, name));
    }

    unchecked() {
        return this.journal.unchecked(this.host.openChat()?.book);
    }

    /**
     * Checks the records against the book's file, which contains `text`.
     * @param {?Uint8Array} arrived the messages that had arrived before the read. Other records can only be refuted
     */
    checkRecords(open, text, arrived = this.unchecked()) {
        this.guarded(() => {
            const isPages = this.files.matchesPage(open.book, text);
            const { changed } = this.journal.fileChecked(open.book, text, { isPages, arrived });
            // If saving would take long, the next save includes it.
            if (changed && isSmall(open.messages)) {
                this.saveSoon();
            }
        });
    }

    installHooks() {
        const open = this.host.openChat();
        if (open) {
            watchArrivals(open.messages, (put) => this.arriving(put), () => this.messageMayHaveArrived());
        }
        this.host.beforeWritingOut((message) => {
            if (this.chat()?.messages[0] === message) {
                this.sync();
                this.isWrittenOut = true;
                this.isUnsaved = false;
            }
        });
    }

    /**
     * The body of a save of the open chat, with the current records.
     * @returns {string | undefined} `undefined` if nothing has to be changed
     */
    withRecords(text) {
        const wasHooked = this.isWrittenOut;
        this.isWrittenOut = false;
        if (wasHooked || !this.sync()) {
            return undefined;
        }
        const open = this.chat();
        const body = JSON.parse(text);
        if (!open || !Array.isArray(body.chat) || body.chat.length !== open.messages.length + 1) {
            return undefined;
        }
        open.messages.forEach((message, index) => {
            if (message?.forklore !== undefined) {
                body.chat[index + 1].forklore = message.forklore;
            }
        });
        return JSON.stringify(body);
    }

    /**
     * Removes the journal from the open chat, and stops recording until the chat is opened again: otherwise the next
     * save would write the whole book into the last message.
     * @returns {number} how many records there were
     */
    strip() {
        const open = this.chat();
        const count = open ? this.journal.strip(open.messages) : 0;
        this.journal = null;
        return count;
    }

    /** An error must not affect the chat: its journal stops until it is opened again. */
    guarded(step) {
        try {
            return step();
        } catch (error) {
            this.journal = null;
            this.onError(error);
            return null;
        }
    }
}
