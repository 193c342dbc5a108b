// Keeps the journal of the open chat: when to look, and at what. What goes on which message is journal.js's business.

import { Journal } from './journal.js';

/** Events after which a message may have come, gone or settled. */
export const EVENTS = ['MESSAGE_SENT', 'MESSAGE_RECEIVED', 'MESSAGE_DELETED', 'MESSAGE_SWIPED', 'GENERATION_ENDED'];

const soon = globalThis.requestIdleCallback?.bind(globalThis) ?? ((run) => setTimeout(run, 50));

export class Recording {
    /** @param {{host: object, core: object, settings: object, failed: (error: Error) => void}} parts */
    constructor({ host, core, settings, failed }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.failed = failed;
        this.journal = null;
        this.current = null;
        this.isScheduled = false;
    }

    /** A chat was opened, or none is open. */
    opened() {
        const open = this.host.openChat();
        this.current = open && { name: open.name, integrity: open.integrity, book: undefined, isBookStale: true, text: undefined };
        this.journal = open && new Journal({
            core: this.core.wasm,
            isOn: () => this.settings.journal,
            largestBook: () => this.settings.journalLimit * 1024 * 1024,
        });
        this.length = 0;
        this.hook();
        this.schedule();
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
     * @param {string | null | undefined} text `null` when it was deleted, `undefined` when the page's memory has it
     */
    bookChanged(name, text) {
        const open = this.chat();
        if (!open?.book || this.core.bookKey(open.book) !== this.core.bookKey(name)) {
            return;
        }
        this.messageMayHaveCome();
        this.current.isBookStale = true;
        this.current.text = text;
        this.schedule();
    }

    schedule() {
        if (this.isScheduled) {
            return;
        }
        this.isScheduled = true;
        soon(() => {
            this.isScheduled = false;
            this.sync();
        });
    }

    /** A message may have come: what changed until now belongs to the one before. */
    messageMayHaveCome() {
        const open = this.chat();
        if (open && open.messages.length !== this.length) {
            this.sync();
        }
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
            Object.assign(this.current, { isBookStale: true, text: undefined });
            return false;
        }
        return this.guarded(() => {
            this.hook();
            this.length = open.messages.length;
            return this.journal.sync(open.messages, { ...this.bookNow(open), metadata: open.metadata }).changed;
        }) ?? false;
    }

    /** The book as the journal wants it: its text only where that is new, `null` where it is lost. */
    bookNow(open) {
        const { current } = this;
        if (!open.book) {
            current.book = null;
            return { bookName: null, bookText: null };
        }
        if (current.book === open.book && !current.isBookStale) {
            return { bookName: open.book, bookText: undefined };
        }
        const isThere = current.text !== null && this.host.knownBooks().includes(open.book);
        const text = typeof current.text === 'string' ? current.text : isThere ? this.host.bookInMemory(open.book) : null;
        Object.assign(current, { book: open.book, isBookStale: typeof text !== 'string', text: undefined });
        return { bookName: open.book, bookText: text ?? null };
    }

    hook() {
        this.host.beforeWritingOut((message) => {
            if (this.chat()?.messages[0] === message) {
                this.sync();
                this.isWrittenOut = true;
            }
        });
    }

    /**
     * The text of a save of the open chat, with the records that the messages carry now.
     * @returns {string | undefined} `undefined` where it is right as it is
     */
    carriedBy(text) {
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
            this.failed(error);
            return null;
        }
    }
}
