// Keeps the journal of the open chat: when to look, and at what. What goes on which message is journal.js's business.

import { sameJson, textBytes } from '../../core/json.js';
import { watchArrivals } from '../../sillytavern/message_arrivals.js';
import { BookFiles } from './book_files.js';
import { Journal } from './journal.js';

/** Events after which a message may have come, gone or settled. */
export const MESSAGE_EVENTS = ['MESSAGE_SENT', 'MESSAGE_RECEIVED', 'MESSAGE_DELETED', 'MESSAGE_SWIPED', 'GENERATION_ENDED'];

/** Whether saving this chat for a record alone is not noticed. */
const isSmall = (messages) => messages.reduce((sum, message) => sum + String(message?.mes ?? '').length, 0) <= 1024 * 1024;

/** Whether this is also what SillyTavern answers for a book that is not there. */
const isEmpty = (text) => text.length < 100 && sameJson(text, '{"entries":{}}');

const idle = globalThis.requestIdleCallback?.bind(globalThis) ?? ((run) => setTimeout(run, 50));

export class Recorder {
    /**
     * @param {object} parts
     * @param {object} parts.host @param {object} parts.core @param {object} parts.settings
     * @param {(error: Error) => void} parts.onError
     * @param {(run: () => void) => void} [parts.soon] runs something when the page is at rest
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
        /** Whether a record says something that no save has carried yet. */
        this.isUnsaved = false;
    }

    /** A chat was opened, or none is open. */
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

    /** The chat the journal is for, if that is still the one on the screen. */
    chat() {
        const open = this.host.openChat();
        if (!open || !this.journal || open.name !== this.current.name) {
            return null;
        }
        // A new chat of a group gets its slug a little later than the others.
        this.current.integrity ??= open.integrity;
        return open.integrity === this.current.integrity ? open : null;
    }

    /**
     * The text of a book is another one.
     * @param {string | null | undefined} text what is being saved; `null` when it was deleted, `undefined` when the
     *     page's memory has it
     */
    bookChanged(name, text) {
        const open = this.chat();
        if (!open?.book || !this.isSameBook(open.book, name)) {
            if (typeof text === 'string' && this.files.isKnown(name)) {
                this.files.pageWrote(name, text);
            }
            if (open && this.current.book && this.isSameBook(this.current.book, name)) {
                // Bound when we looked last; when it is bound again, nothing may seem to have happened.
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

    /** Records of messages that have arrived by now: a reading of the file that begins now is one after them. */
    arrivedSoFar() {
        return this.chat() ? this.uncheckedUids() : new Set();
    }

    /**
     * The page has read a book from the server: that is what its copy is from now on.
     * @param {Set<string>} [arrived] `arrivedSoFar` when it began
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

    /** A book was saved. What the last message says of it is to be in the chat's file, too, if the page is closed now. */
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

    /** Somebody has read the file of a book, for a reason of their own. */
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

    /** A message may have come that nobody saw: what changes from now on belongs to it. */
    messageMayHaveArrived() {
        const open = this.chat();
        if (open && !this.hasSameEnd(open.messages)) {
            this.sync();
        }
    }

    hasSameEnd(messages) {
        return messages.length === this.length && messages.at(-1) === this.last;
    }

    /** Remembers how the chat ended when it was looked at. */
    rememberEnd(messages) {
        this.length = messages.length;
        this.last = messages.at(-1);
    }

    /** A message is about to be put at the end of the chat. */
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
                // Opened a moment ago, and not looked at yet.
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
            // What happens meanwhile is not known afterwards, of the messages or of the book.
            this.journal.forget();
            this.length = 0;
            Object.assign(this.current, { isBookStale: true, text: undefined });
            return false;
        }
        return this.guarded(() => {
            this.installHooks();
            const isFresh = !this.hasSameEnd(open.messages);
            if (isFresh && this.length && open.messages.length >= this.length) {
                // A message came, and nobody saw it: what we have read of files may be older.
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
     * The book as the journal wants it: its text only where that is new, `null` where it is lost.
     * @param {{isFresh: boolean}} how `isFresh`: whatever we were told, the page's copy itself has to be looked at
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

    /** The text of the page's copy, unsaved edits included; `undefined` as long as the page has not needed the book. */
    pageText(name) {
        return this.isThere(name) ? this.host.cachedBookText(name) : undefined;
    }

    /** Reads the book's file when the page is at rest, to see whether it is what this page has read or written. */
    scheduleFileCheck() {
        if (!this.isFileCheckScheduled) {
            this.isFileCheckScheduled = true;
            this.soon(() => this.checkFile().catch(() => {}));
        }
    }

    /** For whoever is about to say something about the past: the messages that have arrived were followed by a look. */
    async untilFileChecked() {
        if (this.chat() && this.uncheckedUids().size) {
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
        const uids = this.uncheckedUids();
        const last = open.messages.at(-1);
        const text = await this.host.bookOnServer(name);
        const isSameOpening = () => this.journal === journal && this.current === current;
        if (!isSameOpening() && this.chat()) {
            // Asked before a chat was opened again, and perhaps answered after a message came: it can only refute.
            this.checkRecords({ messages: this.chat().messages, book: name }, text, new Set());
        }
        const chatNow = () => (isSameOpening() ? this.chat() : null);
        let now = chatNow();
        if (now && isEmpty(text)) {
            // Another one than the page's, whether it is there or not; a later look may be answered before that is known.
            this.checkRecords({ messages: now.messages, book: name }, text, uids, { mayConfirm: false });
            now = (await this.isOnServer(name)) ? chatNow() : null;
        }
        if (!now) {
            return;
        }
        // Also where another book is bound by now: messages came while this one was.
        this.checkRecords({ messages: now.messages, book: name }, text, uids);
        if (now.book !== name || this.pageText(name) !== undefined) {
            return;
        }
        // The page has no copy of its own, so the file is what holds, if no message has arrived meanwhile.
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

    uncheckedUids() {
        return new Set(this.journal.uncheckedRecords(this.host.openChat()?.book).map((record) => record.uid));
    }

    /**
     * The book's file was read, and held `text`.
     * @param {Set<string>} uids of the records whose messages had arrived before
     * @param {{mayConfirm?: boolean}} [how] without it, only what is not so counts
     */
    checkRecords(open, text, uids = this.uncheckedUids(), { mayConfirm = true } = {}) {
        this.guarded(() => {
            const isPages = this.files.matchesPage(open.book, text);
            let digest;
            const isSame = (record) => {
                digest ??= this.core.wasm.book_digest(open.book, textBytes(text)) ?? null;
                return record.came.book === digest;
            };
            const { changed } = this.journal.fileChecked(open.messages, open.book, (record) => {
                const isGood = record.came.assumed ? isSame(record) : isPages;
                // What somebody else wrote was there, or came meanwhile, for every message that this page has seen since.
                return isGood && !(mayConfirm && uids.has(record.uid)) ? undefined : isGood;
            });
            // Where saving takes long, it goes along with the next save.
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
     * The text of a save of the open chat, with the records that the messages carry now.
     * @returns {string | undefined} `undefined` where it is right as it is
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
     * Takes the journal out of the open chat, which then rests until the chat is opened again: else the next save
     * would write the whole book into the last message.
     * @returns {number} how many records that were
     */
    strip() {
        const open = this.chat();
        const count = open ? this.journal.strip(open.messages) : 0;
        this.journal = null;
        return count;
    }

    /** The chat must not suffer from us: after an error its journal rests until it is opened again. */
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
