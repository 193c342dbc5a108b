// The trash: everything that Forklore removes is kept in one of the user's files, with all it takes to restore it.

import { bytesText, sameJson } from '../core/json.js';
import { bookSave } from '../sillytavern/requests.js';
/** @import { Host } from '../types.js' */
/** @typedef {{name: string, text: string, replacedBy?: string}} KeptBook */

const FORMAT = 1;

export class Trash {
    /** @param {{host: Pick<Host, 'readBook' | 'listBooks' | 'writeBook' | 'deleteBook' | 'refreshBooks' | 'newSlug' | 'readFile' | 'writeFile' | 'deleteFile'>}} parts */
    constructor({ host }) {
        this.host = host;
    }

    /**
     * Keeps copies of books.
     * @param {string[]} names @param {string} why
     * @param {{replacedBy?: string}} [options] the text that replaces a book
     * @returns {Promise<string>} a token to restore them with
     */
    async keepBooks(names, why, { replacedBy } = {}) {
        const books = [];
        for (const name of names) {
            books.push({ name, text: bytesText(await this.host.readBook(name)), ...(replacedBy && { replacedBy }) });
        }
        return this.write(books, why);
    }

    /**
     * Keeps a text that can be restored as a book of this name.
     * @param {string} name @param {string} text @param {string} why @returns {Promise<string>} a token to restore it with
     */
    keepText(name, text, why) {
        return this.write([{ name, text }], why);
    }

    write(/** @type {KeptBook[]} */ books, /** @type {string} */ why) {
        const now = new Date();
        // SillyTavern only allows letters, digits, dots, dashes and underscores.
        const file = `forklore-trash-${now.toISOString().replace(/[^0-9A-Za-z]/g, '-')}-${this.host.newSlug().slice(0, 8)}.json`;
        return this.host.writeFile(file, JSON.stringify({ format: FORMAT, when: now.toISOString(), why, books }));
    }

    /** Removes books after copying them. @param {string[]} names @param {string} why @returns {Promise<string>} a token to restore them with */
    async remove(names, why) {
        const token = await this.keepBooks(names, why);
        for (const name of names) {
            await this.host.deleteBook(name);
        }
        await this.host.refreshBooks(...names);
        return token;
    }

    /**
     * Restores books, except where a different book of that name exists by now.
     * @param {string} token @returns {Promise<{restored: string[], replaced: string[]}>} the restored ones, and those of
     *          them that replaced other content
     */
    async restore(token) {
        const kept = JSON.parse(await this.host.readFile(token));
        if (!isReadable(kept)) {
            throw new Error('this part of the trash was written by a later version');
        }
        const { books } = kept;
        const there = new Set((await this.host.listBooks()).map((book) => book.name));
        const back = [];
        for (const book of books) {
            if (!there.has(book.name) || await this.isUnchanged(book)) {
                back.push(book);
            }
        }
        for (const { name, text } of back) {
            await this.host.writeBook(bookSave(name, text));
        }
        await this.host.refreshBooks(...back.map((book) => book.name));
        if (back.length === books.length) {
            await this.host.deleteFile(token);
        }
        const restored = back.map((book) => book.name);
        return { restored, replaced: restored.filter((name) => there.has(name)) };
    }

    /** Whether the text that replaced a book is unchanged. @param {KeptBook} book */
    async isUnchanged({ name, replacedBy }) {
        return replacedBy !== undefined && sameJson(replacedBy, bytesText(await this.host.readBook(name)));
    }
}

/** @param {unknown} kept @returns {kept is {books: KeptBook[]}} */
function isReadable(kept) {
    return kept instanceof Object && 'format' in kept && kept.format === FORMAT && 'books' in kept && Array.isArray(kept.books);
}
