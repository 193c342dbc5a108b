// What we remove is kept in a file of the user's own, with all that it takes to put it back.

import { bytesText, sameJson } from '../core/json.js';
import { bookSave } from '../sillytavern/requests.js';

const FORMAT = 1;

export class Trash {
    /** @param {{host: object}} parts */
    constructor({ host }) {
        this.host = host;
    }

    /**
     * Keeps copies of books.
     * @param {string[]} names @param {string} why
     * @param {{replacedBy?: string}} [options] the text that is written in a book's place
     * @returns {Promise<string>} a token that gives them back
     */
    async keepBooks(names, why, { replacedBy } = {}) {
        const books = [];
        for (const name of names) {
            books.push({ name, text: bytesText(await this.host.readBook(name)), ...(replacedBy && { replacedBy }) });
        }
        return this.write(books, why);
    }

    /** Keeps a text that may come back as a book of this name. @returns {Promise<string>} a token that gives it back */
    keepText(name, text, why) {
        return this.write([{ name, text }], why);
    }

    /** @param {Array<{name: string, text: string, replacedBy?: string}>} books */
    write(books, why) {
        const now = new Date();
        // SillyTavern takes letters, digits, dots, dashes and underscores.
        const file = `forklore-trash-${now.toISOString().replace(/[^0-9A-Za-z]/g, '-')}-${this.host.newSlug().slice(0, 8)}.json`;
        return this.host.writeFile(file, JSON.stringify({ format: FORMAT, when: now.toISOString(), why, books }));
    }

    /** Removes books, copies first. @returns {Promise<string>} a token that gives them back */
    async remove(names, why) {
        const token = await this.keepBooks(names, why);
        for (const name of names) {
            await this.host.deleteBook(name);
        }
        await this.host.refreshBooks(...names);
        return token;
    }

    /**
     * Puts books back, each unless there is another one of that name by now.
     * @returns {Promise<{restored: string[], replaced: string[]}>} names of those that are back, and of those of them
     *          that were there with something else in them
     */
    async restore(token) {
        const { format, books } = JSON.parse(await this.host.readFile(token));
        if (format !== FORMAT || !Array.isArray(books)) {
            throw new Error('this part of the trash was written by a later version');
        }
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

    /** Whether what was written in a book's place is unchanged. */
    async isUnchanged({ name, replacedBy }) {
        return replacedBy !== undefined && sameJson(replacedBy, bytesText(await this.host.readBook(name)));
    }
}
