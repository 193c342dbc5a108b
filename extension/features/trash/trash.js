// The trash: everything that Forklore removes or replaces is kept in one of the user's files, with all it takes to restore it.
// SillyTavern cannot list these files, so that a list of them is kept in another one. Each file can be read without the
// list; what the list has lost is found again by SillyTavern's own search for loose files.

import { bytesText, textBytes } from '../../core/json.js';
/** @import { ChatId, Host, KeptBook, KeptChat, Settings, TrashContent, TrashedItem, Why } from '../../types.js' */
/**
 * The deletion of a chat: what was asked for, and where the chat is kept.
 * @typedef {object} Deletion
 * @property {boolean} isForGood
 * @property {string | null} token
 * @property {boolean} [isOneOfSeveral] then whoever deletes them says so
 * @property {Promise<void>} [cleaning] until its lorebooks are gone
 * @property {string[]} [removed] these lorebooks
 */

/** The second one is for what an older version would put back only in part. */
const FORMATS = [1, 2];
const FOLDER = '/user/files/';
/** Everything that Forklore keeps in the user's files begins with this. */
const OURS = 'forklore-';
const PREFIX = `${OURS}trash-`;
const LIST = `${OURS}trashed.json`;
/** In bytes of all chats: SillyTavern's search for loose files reads each of them several times. */
const QUICKLY_SEARCHED = 64 * 1024 * 1024;
/** In days: how long what holds no lorebook is kept if chats are not kept at all. */
const DAYS_OF_RECORDS = 30;
const DAY = 24 * 60 * 60 * 1000;

export class Trash {
    /**
     * @param {object} parts
     * @param {Pick<Host, 'readBook' | 'deleteBook' | 'refreshBooks' | 'newSlug' | 'readFile' | 'writeFile' | 'deleteFile' | 'existingFiles' | 'looseFiles' | 'chatText' | 'chatNames' | 'bytesOfChats'>} parts.host
     * @param {Pick<Settings, 'trashDays' | 'trashLimit'>} parts.settings
     * @param {LockManager} [parts.locks] shared by all tabs of this browser
     */
    constructor({ host, settings, locks = globalThis.navigator?.locks }) {
        this.host = host;
        this.settings = settings;
        this.locks = locks;
        /** The last change of the list. @type {Promise<unknown>} */
        this.turn = Promise.resolve();
        /** The lorebooks in it, as far as this page knows. @type {string[]} */
        this.books = [];
        /** Chats that are being deleted from the map, by name. @type {Map<string, Deletion>} */
        this.deletions = new Map();
    }

    // What is put in. Each returns a token, with which it can be put back.

    /** @param {Omit<TrashContent, 'format' | 'when'>} content */
    async keep(content) {
        const when = new Date().toISOString();
        // SillyTavern only allows letters, digits, dots, dashes and underscores.
        const file = `${PREFIX}${when}-${this.host.newSlug().slice(0, 8)}.json`.replace(/[^0-9A-Za-z.-]/g, '-');
        return this.#write(file, { format: 1, when, ...content });
    }

    /** Adds to what is kept already. @param {string} token @param {Partial<TrashContent>} more */
    async add(token, more) {
        const kept = await this.read(token);
        return this.#write(token.slice(token.lastIndexOf('/') + 1), { ...kept, ...more, books: [...kept.books, ...(more.books ?? [])] });
    }

    /** @param {string} file @param {TrashContent} content */
    async #write(file, content) {
        const isMore = Boolean(content.chat ?? content.changes ?? content.made ?? content.renamed);
        const text = JSON.stringify({ ...content, format: isMore ? 2 : 1 });
        const token = await this.host.writeFile(file, text);
        const item = summaryOf(token, content, textBytes(text).length);
        void this.#note((items) => [...items.filter((other) => other.token !== token), item]);
        return token;
    }

    /**
     * Keeps copies of books.
     * @param {string[]} names @param {Why} why @param {{replacedBy?: string, of?: ChatId}} [options] the text that replaces a book, and the chat that it belongs to
     */
    async keepBooks(names, why, { replacedBy, of } = {}) {
        return this.keep({ why, ...(of && { of }), books: await this.#copies(names, replacedBy) });
    }

    async #copies(/** @type {string[]} */ names, /** @type {string} */ replacedBy = '') {
        const books = /** @type {KeptBook[]} */ ([]);
        for (const name of names) {
            books.push({ name, text: bytesText(await this.host.readBook(name)), ...(replacedBy && { replacedBy }) });
        }
        return books;
    }

    /** Keeps a text that can be restored as a book of this name. @param {string} name @param {string} text @param {Why} why */
    keepText(name, text, why) {
        return this.keep({ why, books: [{ name, text }] });
    }

    /**
     * Removes books after copying them, together with what is kept under a token, or without a copy.
     * @param {string[]} names @param {Why} why @param {Partial<Deletion>} [how] @returns {Promise<string | null>} a token
     */
    async remove(names, why, { isForGood = false, token = null } = {}) {
        const kept = isForGood ? null
            : token ? await this.add(token, { books: await this.#copies(names) })
                : await this.keepBooks(names, why);
        for (const name of names) {
            await this.host.deleteBook(name);
        }
        await this.host.refreshBooks(...names);
        return kept;
    }

    /** Keeps a chat that is about to be deleted. @param {ChatId} chat */
    async keepChat({ group, avatar, name }) {
        const names = group ? await this.host.chatNames({ group, avatar }) : [];
        /** @type {KeptChat} */
        const chat = { group, avatar, name, text: await this.host.chatText({ group, avatar }, name), ...(group && { place: names.indexOf(name) }) };
        const token = await this.keep({ why: { code: 'timeline' }, books: [], chat });
        void this.prune().catch(warn);
        return token;
    }

    /** Keeps what was done to a chat, with the copy of its book if there is one. @param {Pick<TrashContent, 'changes' | 'made' | 'of'>} done @param {Why} why @param {string | null | undefined} token */
    keepDone(done, why, token) {
        return token ? this.add(token, done) : this.keep({ why, books: [], ...done });
    }

    // What is in it.

    /** @returns {Promise<TrashedItem[]>} newest first */
    async list() {
        await this.turn;
        const items = this.#noted(await this.#readList());
        const there = new Set(await this.host.existingFiles(items.map(({ token }) => token)));
        const left = items.filter(({ token }) => there.has(token));
        if (left.length < items.length) {
            void this.#note((now) => now.filter(({ token }) => there.has(token) || !items.some((item) => item.token === token)));
        }
        return left.sort((one, other) => (one.when < other.when ? 1 : -1));
    }

    /**
     * Finds what the list has lost, for example because two devices wrote it at once.
     * @param {{isAsked: boolean}} how @returns {Promise<number | null>} how many; `null` if it would take long and was not asked for
     */
    async findLost({ isAsked }) {
        if (!isAsked && this.host.bytesOfChats() > QUICKLY_SEARCHED) {
            return null;
        }
        const known = new Set((await this.list()).map(({ token }) => token));
        const found = /** @type {TrashedItem[]} */ ([]);
        for (const { name, size = 0 } of await this.host.looseFiles()) {
            const token = FOLDER + name;
            if (name.startsWith(PREFIX) && !known.has(token)) {
                const kept = await this.read(token).catch(() => null);
                found.push(summaryOf(token, kept ?? { when: '', why: { code: 'unreadable' }, books: [] }, size));
            }
        }
        if (found.length) {
            const tokens = new Set(found.map(({ token }) => token));
            await this.#note((items) => [...items.filter(({ token }) => !tokens.has(token)), ...found]);
        }
        return found.length;
    }

    /** @param {string} token @returns {Promise<TrashContent>} */
    async read(token) {
        const kept = JSON.parse(await this.host.readFile(token));
        if (!isReadable(kept)) {
            throw new Error('this part of the trash was written by a later version');
        }
        return kept;
    }

    /** Deletes something for good. @param {string} token */
    async drop(token) {
        await this.host.deleteFile(token).catch(async (error) => {
            if ((await this.host.existingFiles([token])).length) {
                throw error;
            }
        });
        void this.#note((items) => items.filter((item) => item.token !== token));
    }

    /**
     * Deletes chats that are too old, and the oldest ones if all of them are too large together. Copies of lorebooks are
     * not deleted: they are small.
     */
    async prune() {
        const items = (await this.list()).filter(({ books, chat, why }) => chat || (!books.length && why.code !== 'unreadable'));
        const oldest = Date.now() - (this.settings.trashDays || DAYS_OF_RECORDS) * DAY;
        let bytes = 0;
        for (const [at, item] of items.entries()) {
            bytes += item.bytes;
            const isTooMuch = at > 0 && bytes > this.settings.trashLimit * 1024 * 1024;
            if (Date.parse(item.when) < oldest || isTooMuch) {
                await this.drop(item.token);
            }
        }
    }

    // The list.

    #noted(/** @type {TrashedItem[]} */ items) {
        this.books = items.flatMap(({ books }) => books);
        return items;
    }

    async #readList() {
        const path = FOLDER + LIST;
        if (!(await this.host.existingFiles([path])).length) {
            return [];
        }
        // If this fails, the list is not written anew without what it has.
        const text = await this.host.readFile(path);
        try {
            const kept = JSON.parse(text);
            return kept instanceof Object && 'items' in kept && Array.isArray(kept.items) ? kept.items.filter(isItem) : [];
        } catch {
            return [];
        }
    }

    /**
     * Changes the list when all earlier changes are done.
     * @param {(items: TrashedItem[]) => TrashedItem[]} change
     */
    #note(change) {
        const step = async () => {
            const items = await this.#readList();
            await this.host.writeFile(LIST, JSON.stringify({ format: 1, items: this.#noted(change(items)) }));
        };
        // The files count, so that nothing fails because the list cannot be written.
        this.turn = this.turn.then(() => (this.locks ? this.locks.request('forklore trash', step) : step())).catch(warn);
        return this.turn;
    }
}

/** Whether Forklore keeps something in a file of the user's. @param {string} name */
export const isForklores = (name) => name.startsWith(OURS);

/** @param {string} token @param {Pick<TrashContent, 'when' | 'why' | 'books' | 'chat' | 'changes' | 'renamed' | 'of'>} content @param {number} bytes @returns {TrashedItem} */
function summaryOf(token, { when, why, books, chat, changes, renamed, of }, bytes) {
    const from = chat ?? changes?.[0] ?? of;
    return {
        token, when, bytes,
        why: typeof why === 'string' ? { code: 'text', text: why } : why,
        books: books.map(({ name }) => name),
        chat: chat?.name ?? null,
        of: from ? { group: from.group, avatar: from.avatar, name: from.name } : null,
        ...(renamed && { of: { group: renamed.group, avatar: renamed.avatar, name: renamed.to } }),
    };
}

/** @param {unknown} kept @returns {kept is TrashContent} */
function isReadable(kept) {
    return kept instanceof Object && 'format' in kept && typeof kept.format === 'number' && FORMATS.includes(kept.format) && 'books' in kept && Array.isArray(kept.books);
}

/** @param {unknown} item @returns {item is TrashedItem} */
function isItem(item) {
    return item instanceof Object && 'token' in item && typeof item.token === 'string' && item.token.startsWith(FOLDER + PREFIX)
        && 'when' in item && typeof item.when === 'string' && 'books' in item && Array.isArray(item.books) && 'bytes' in item && typeof item.bytes === 'number'
        && 'why' in item && item.why instanceof Object && 'code' in item.why;
}

function warn(/** @type {unknown} */ error) {
    console.warn('Forklore:', error);
}
