// What this page knows of the files behind its copies of bound books.

import { sameJson } from '../../core/json.js';

export class BookFiles {
    /**
     * Of each book: what the page has read or written, oldest first, which is what was read and every save since;
     * what the file held when it was read or saved last; and whether it was read since the last message arrived.
     * @type {Map<string, {texts: string[], held: string, isFresh: boolean}>}
     */
    #known = new Map();

    isKnown(name) {
        return this.#known.has(name);
    }

    /** The page's copy is what it has just read. */
    pageRead(name, text) {
        this.#known.set(name, { texts: [text], held: text, isFresh: true });
    }

    /** A message has arrived, or a chat was opened: what was read before may be another by now. */
    markStale() {
        this.#known.forEach((file) => Object.assign(file, { isFresh: false }));
    }

    /** The page's copy was met for the first time: as far as we know, it is what it has read. */
    firstSeen(name, text) {
        if (!this.isKnown(name)) {
            this.pageRead(name, text);
        }
    }

    pageWrote(name, text) {
        this.firstSeen(name, text);
        this.#known.get(name).texts.push(text);
    }

    /** A save has arrived. */
    fileSaved(name, text) {
        if (this.isKnown(name)) {
            this.#known.get(name).held = text;
        }
    }

    /** Whether the page's copy, which is `text`, has still to be saved, or was overtaken by another device. */
    isUnsaved(name, text) {
        return this.isKnown(name) && this.#known.get(name).held !== text;
    }

    /** What the file holds, for a page that has not read the book itself; `undefined` where nobody looked since the last message arrived. */
    textOf(name) {
        const file = this.#known.get(name);
        return file?.isFresh ? file.texts.at(-1) : undefined;
    }

    /** Whether the file, as it was just read, is what the page has read or written. What is older is behind it then. */
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
