// What this page knows about the files behind its copies of bound books.

import { sameJson } from '../../core/json.js';

export class BookFiles {
    /**
     * For each book: `texts`, what the page has read and every save since, oldest first; `held`, the file's content
     * when it was last read or saved; `isFresh`, whether it was read since the last message arrived.
     * @type {Map<string, {texts: string[], held: string, isFresh: boolean}>}
     */
    #known = new Map();

    isKnown(/** @type {string} */ name) {
        return this.#known.has(name);
    }

    /** The page has read the book; its copy is this text. @param {string} name @param {string} text */
    pageRead(name, text) {
        this.#known.set(name, { texts: [text], held: text, isFresh: true });
    }

    /** A message has arrived, or a chat was opened: the file may have changed since it was read. */
    markStale() {
        this.#known.forEach((file) => (file.isFresh = false));
    }

    /** The first time the page's copy is seen: presumably it is what the page has read. @param {string} name @param {string} text */
    firstSeen(name, text) {
        if (!this.isKnown(name)) {
            this.pageRead(name, text);
        }
    }

    pageWrote(/** @type {string} */ name, /** @type {string} */ text) {
        this.firstSeen(name, text);
        this.#known.get(name)?.texts.push(text);
    }

    /** A save has arrived at the server. @param {string} name @param {string} text */
    fileSaved(name, text) {
        const file = this.#known.get(name);
        if (file) {
            file.held = text;
        }
    }

    /** Whether the page's copy, which is `text`, is not saved yet, or was overwritten by another device. @param {string} name @param {string} text */
    isUnsaved(name, text) {
        const file = this.#known.get(name);
        return file !== undefined && file.held !== text;
    }

    /** The file's content, for a page without a copy of its own; `undefined` if it was not read since the last message arrived. @param {string} name */
    textOf(name) {
        const file = this.#known.get(name);
        return file?.isFresh ? file.texts.at(-1) : undefined;
    }

    /** Whether the file's content, as just read, is something the page has read or written. Older texts are dropped then. @param {string} name @param {string} text */
    matchesPage(name, text) {
        const file = this.#known.get(name);
        if (!file) {
            return false;
        }
        file.held = text;
        const same = file.texts.lastIndexOf(text);
        const at = same >= 0 ? same : file.texts.findLastIndex((known) => sameJson(known, text));
        file.texts = at < 0 ? file.texts : file.texts.slice(at);
        return at >= 0;
    }
}
