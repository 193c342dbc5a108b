// Keeps the journal of the open chat: decides when to record and what. The core decides which record goes on which message.

import { sameJson } from '../../core/json.js';
import { watchArrivals } from '../../sillytavern/message_arrivals.js';
import { BookFiles } from './book_files.js';
import { Journal } from './journal.js';
/** @import { Core, Host, OpenChat, Settings } from '../../types.js' */

/** Events after which a message may have been added, deleted or finished. @type {(keyof ST.EventTypes)[]} */
export const MESSAGE_EVENTS = ['MESSAGE_SENT', 'MESSAGE_RECEIVED', 'MESSAGE_DELETED', 'MESSAGE_SWIPED', 'GENERATION_ENDED'];

/** Whether the chat is small enough to be saved just for a record. */
const isSmall = (/** @type {ST.Message[]} */ messages) => messages.reduce((sum, message) => sum + String(message?.mes ?? '').length, 0) <= 1024 * 1024;

/** Whether this is what SillyTavern returns for a book that does not exist. */
const isEmpty = (/** @type {string} */ text) => text.length < 100 && sameJson(text, '{"entries":{}}');

/** @type {(run: () => void) => void} */
const idle = globalThis.requestIdleCallback?.bind(globalThis) ?? ((run) => setTimeout(run, 50));

/**
 * The journal of a chat since it was opened, and what is known of its book.
 * @typedef {object} Current
 * @property {Journal} journal
 * @property {string} name @property {string | null} integrity
 * @property {string | null} [book] the bound book at the last check
 * @property {boolean} isBookStale whether the book may have changed since
 * @property {string | null} [text] see `bookChanged`
 * @property {string} [own] the text of the page's copy at the last check
 */
/** @typedef {OpenChat & {current: Current}} RecordedChat */

export class Recorder {
    /**
     * @param {object} parts
     * @param {Pick<Host, 'openChat' | 'saveChatSoon' | 'knownBooks' | 'cachedBookText' | 'bookOnServer' | 'listBooks' | 'beforeWritingOut'>} parts.host
     * @param {Pick<Core, 'wasm' | 'bookKey'>} parts.core @param {Pick<Settings, 'journal' | 'journalLimit'>} parts.settings
     * @param {(error: unknown) => void} parts.onError
     * @param {(run: () => void) => void} [parts.soon] runs something when the page is idle
     */
    constructor({ host, core, settings, onError, soon = idle }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.onError = onError;
        this.soon = soon;
        /** @type {Current | null} */
        this.current = null;
        this.files = new BookFiles();
        /** How many messages there were at the last check; 0 if nothing is known of them. */
        this.length = 0;
        /** The last of them. @type {ST.Message | undefined} */
        this.last = undefined;
        this.isScheduled = false;
        this.isFileCheckScheduled = false;
        /** How often records have changed. */
        this.changes = 0;
        /** How many of these changes are in the chat's file. */
        this.saved = 0;
    }

    get isUnsaved() {
        return this.saved < this.changes;
    }

    /** A chat was opened, or the chat was closed. */
    chatOpened() {
        const open = this.host.openChat();
        this.current = open && {
            name: open.name,
            integrity: open.integrity,
            isBookStale: true,
            journal: new Journal({
                core: this.core.wasm,
                isOn: () => this.settings.journal,
                largestBook: () => this.settings.journalLimit * 1024 * 1024,
            }),
        };
        this.length = 0;
        this.saved = this.changes;
        this.files.markStale();
        this.installHooks();
        this.schedule();
        this.scheduleFileCheck();
    }

    /** The chat that is being recorded, if it is still the one on the screen. @returns {RecordedChat | null} */
    chat() {
        const open = this.host.openChat();
        const { current } = this;
        if (!open || !current || open.name !== current.name) {
            return null;
        }
        // A new group chat gets its slug a little later.
        current.integrity ??= open.integrity;
        return open.integrity === current.integrity ? { ...open, current } : null;
    }

    /**
     * The text of a book has changed.
     * @param {string} name
     * @param {string | null | undefined} text the text being saved; `null` if the book was deleted, `undefined` if
     *     the text is in the page's cache
     */
    bookChanged(name, text) {
        const open = this.chat();
        if (!open?.book || !this.isSameBook(open.book, name)) {
            if (typeof text === 'string' && this.files.isKnown(name)) {
                this.files.pageWrote(name, text);
            }
            if (open?.current.book && this.isSameBook(open.current.book, name)) {
                // It was bound at the last check. When it is bound again, this change must not be missed.
                open.current.isBookStale = true;
            }
            return;
        }
        this.messageMayHaveArrived();
        open.current.isBookStale = true;
        open.current.text = text;
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
     * @param {string} name @param {string} text @param {Uint8Array | null} [arrived] `arrivedSoFar` from when the read started
     */
    bookRead(name, text, arrived) {
        const open = this.chat();
        if (open?.book && this.isSameBook(open.book, name)) {
            this.checkRecords(open, open.book, text, arrived);
            this.files.pageRead(open.book, text);
            open.current.isBookStale = true;
            open.current.text = undefined;
            this.schedule();
        } else if (this.files.isKnown(name)) {
            this.files.pageRead(name, text);
        }
    }

    /**
     * A book was saved. The last message's record should be saved with the chat as well, in case the page is closed now.
     * @param {string} name @param {string} text
     */
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
        this.host.saveChatSoon(() => this.isUnsaved);
    }

    /** A book's file was read for some other reason. @param {string} name @param {string} text */
    fileRead(name, text) {
        const open = this.chat();
        if (open?.book && this.isSameBook(open.book, name)) {
            this.checkRecords(open, open.book, text);
        }
    }

    isSameBook(/** @type {string} */ one, /** @type {string} */ other) {
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

    hasSameEnd(/** @type {ST.Message[]} */ messages) {
        return messages.length === this.length && messages.at(-1) === this.last;
    }

    /** Remembers the last message, to notice new ones. @param {ST.Message[]} messages */
    rememberEnd(messages) {
        this.length = messages.length;
        this.last = messages.at(-1);
    }

    /** A message is about to be appended to the chat. @param {() => unknown} put */
    arriving(put) {
        const open = this.settings.journal ? this.chat() : null;
        if (!open || !open.messages.length) {
            return put();
        }
        let isPut = false;
        /** @type {unknown} */
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
            this.current?.journal.arrive(open.messages, () => {
                isSeen = true;
                return { ...this.bookNow(open, { isFresh: true }), metadata: open.metadata };
            }, putOnce);
            this.files.markStale();
            if (isSeen) {
                this.changes += 1;
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
            open.current.journal.forget();
            this.length = 0;
            open.current.isBookStale = true;
            open.current.text = undefined;
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
            const isTouched = Boolean(open.book) && open.current.isBookStale;
            const { changed } = open.current.journal.sync(open.messages, { ...this.bookNow(open, { isFresh }), isTouched, metadata: open.metadata });
            this.changes += Number(changed);
            return changed;
        }) ?? false;
    }

    /**
     * The book as the journal expects it: its text only if it is new, `null` if the book is lost.
     * @param {RecordedChat} open
     * @param {{isFresh: boolean}} how `isFresh`: read the page's copy even if no change was reported
     */
    bookNow({ book, current }, { isFresh }) {
        if (!book) {
            current.book = null;
            return { bookName: null, bookText: null };
        }
        if (!isFresh && current.book === book && !current.isBookStale) {
            return { bookName: book, bookText: undefined, isUnsaved: this.isCopyUnsaved(book) };
        }
        const own = this.pageText(book);
        const text = own ?? (this.isThere(book) ? this.files.textOf(book) : undefined);
        if (own !== undefined) {
            this.files.firstSeen(book, own);
        }
        current.book = book;
        current.isBookStale = text === undefined;
        current.own = own;
        const isAssumed = text === undefined && this.isThere(book);
        return { bookName: book, bookText: text ?? null, isOwn: own !== undefined, isAssumed, isUnsaved: this.isCopyUnsaved(book) };
    }

    isCopyUnsaved(/** @type {string} */ name) {
        const own = this.current?.own;
        return own !== undefined && this.files.isUnsaved(name, own);
    }

    isThere(/** @type {string} */ name) {
        return this.current?.text !== null && this.host.knownBooks().includes(name);
    }

    /** The text of the page's copy, including unsaved edits; `undefined` until the page has loaded the book. @param {string} name */
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
        const { current, book: name } = open;
        const arrived = this.unchecked();
        const last = open.messages.at(-1);
        const text = await this.host.bookOnServer(name);
        const reopened = this.current === current ? null : this.chat();
        if (reopened) {
            // The request was sent before the chat was reopened, and possibly answered after a message arrived: it can
            // refute, but not confirm.
            this.checkRecords(reopened, name, text, null);
        }
        const chatNow = () => (this.current === current ? this.chat() : null);
        let now = chatNow();
        if (now && isEmpty(text)) {
            // It differs from the page's copy, whether the book exists or not. A later check may be answered before
            // that is known.
            this.checkRecords(now, name, text, null);
            now = (await this.isOnServer(name)) ? chatNow() : null;
        }
        if (!now) {
            return;
        }
        // Even if another book is bound by now: messages arrived while this one was bound.
        this.checkRecords(now, name, text, arrived);
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
        this.checkRecords(now, name, text);
    }

    async isOnServer(/** @type {string} */ name) {
        return (await this.host.listBooks()).some((book) => this.isSameBook(book.name, name));
    }

    unchecked() {
        return this.current?.journal.unchecked(this.host.openChat()?.book ?? null) ?? null;
    }

    /**
     * Checks the records against the book's file, which contains `text`.
     * @param {RecordedChat} open @param {string} book @param {string} text
     * @param {Uint8Array | null} arrived the messages that had arrived before the read. Other records can only be refuted
     */
    checkRecords({ current, messages }, book, text, arrived = this.unchecked()) {
        this.guarded(() => {
            const isPages = this.files.matchesPage(book, text);
            const { changed } = current.journal.fileChecked(book, text, { isPages, arrived });
            this.changes += Number(changed);
            // If saving would take long, the next save includes it.
            if (changed && isSmall(messages)) {
                this.saveSoon();
            }
        });
    }

    installHooks() {
        const open = this.host.openChat();
        if (open) {
            watchArrivals(open.messages, (put) => this.arriving(put), () => this.messageMayHaveArrived());
        }
        // It may be any code that serializes the chat, not only SillyTavern's save.
        this.host.beforeWritingOut((message) => {
            if (this.chat()?.messages[0] === message) {
                this.sync();
            }
        });
    }

    /**
     * The body of a save of the open chat, with the current records.
     * @param {string} body
     * @returns {{body?: string, saved: number}} `body`: only if it has to be changed; `saved`: the changes that the save
     *     contains, for `chatSaved`
     */
    withRecords(body) {
        this.sync();
        const open = this.chat();
        const { changes } = this;
        if (!open || !this.isUnsaved || hasRecords(body, open.messages)) {
            return { saved: changes };
        }
        const { saved } = this;
        const save = JSON.parse(body);
        // A record describes the metadata of the same moment.
        const isCurrent = hasLines(save) && save.chat.length === open.messages.length + 1
            && sameJson(JSON.stringify(save.chat[0]?.chat_metadata ?? null), JSON.stringify(open.metadata));
        if (!isCurrent) {
            return { saved };
        }
        save.chat.slice(1).forEach((line, index) => {
            const record = open.messages[index]?.forklore;
            if (record !== undefined) {
                line.forklore = record;
            }
        });
        return { body: JSON.stringify(save), saved: changes };
    }

    /** A save of the open chat has succeeded. @param {number} saved the changes that it contained */
    chatSaved(saved) {
        this.saved = Math.max(this.saved, saved);
    }

    /**
     * Removes the journal from the open chat, and stops recording until the chat is opened again: otherwise the next
     * save would write the whole book into the last message.
     * @returns {number} how many records there were
     */
    strip() {
        const open = this.chat();
        const count = open ? open.current.journal.strip(open.messages) : 0;
        this.current = null;
        return count;
    }

    /** An error must not affect the chat: its journal stops until it is opened again. @template T @param {() => T} step */
    guarded(step) {
        try {
            return step();
        } catch (error) {
            this.current = null;
            this.onError(error);
            return null;
        }
    }
}

/** Whether the text of a chat contains the records that its messages carry now. @param {string} text @param {ST.Message[]} messages */
function hasRecords(text, messages) {
    let end = 0;
    return messages.every((message) => {
        if (!message?.forklore) {
            return true;
        }
        const record = `"forklore":${JSON.stringify(message.forklore)}`;
        const start = text.indexOf(record, end);
        end = start + record.length;
        return start >= 0;
    });
}

/** Whether this is the body of a save of a chat. @param {unknown} body @returns {body is {chat: ST.Line[]}} */
function hasLines(body) {
    return body instanceof Object && 'chat' in body && Array.isArray(body.chat);
}
