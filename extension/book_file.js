// What this page knows of the file behind its copy of the bound book.

import { sameJson } from './requests.js';

export class BookFile {
    #name = null;
    /** What the page has read or written, oldest first: what was read, and every save since. */
    #texts = [];
    /** Whether the file was read since the last message arrived. */
    #isFresh = false;

    isKnown(name) {
        return this.#name === name && this.#texts.length > 0;
    }

    /** The page's copy is what it has just read. */
    reads(name, text) {
        this.#name = name;
        this.#texts = [text];
        this.#isFresh = true;
    }

    /** A message has arrived: what was read before may be another by now. */
    ages() {
        this.#isFresh = false;
    }

    /** The page's copy was met for the first time: as far as we know, it is what it has read. */
    begins(name, text) {
        if (!this.isKnown(name)) {
            this.reads(name, text);
        }
    }

    writes(name, text) {
        this.begins(name, text);
        this.#texts.push(text);
    }

    /** What the file holds, for a page that has not read the book itself; `undefined` where nobody looked since the last message arrived. */
    textOf(name) {
        return this.isKnown(name) && this.#isFresh ? this.#texts.at(-1) : undefined;
    }

    /** Whether the file, as it was just read, is what the page has read or written. What is older is behind it then. */
    isOurs(name, text) {
        if (this.#name !== name) {
            return false;
        }
        const same = this.#texts.lastIndexOf(text);
        const at = same >= 0 ? same : this.#texts.findLastIndex((ours) => sameJson(ours, text));
        this.#texts = at < 0 ? this.#texts : this.#texts.slice(at);
        return at >= 0;
    }
}
