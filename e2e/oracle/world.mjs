// The world of one story: a server, the pages that have its chat open, and a log of everything in words.

import { bookKey, Ledger } from './ledger.mjs';
import { Page } from './page.mjs';
import { Server } from './server.mjs';
import { metadataText } from './values.mjs';

export class World {
    /**
     * @param {object} [parts]
     * @param {(page: Page) => object} [parts.recorderFor] creates a page's extension
     * @param {boolean} [parts.isRealTime] dates are those of the clock, as the times of files are
     */
    constructor({ recorderFor = () => null, isRealTime = false } = {}) {
        this.isRealTime = isRealTime;
        this.ledger = new Ledger();
        this.server = new Server();
        this.recorderFor = recorderFor;
        /** @type {Page[]} */
        this.pages = [];
        /** Arrivals in pages that were closed before they read the book's file. */
        this.orphans = [];
        this.words = [];
        /** Situations since the last arrival. */
        this.tags = new Set();
        /** Situations of the story as a whole. */
        this.storyTags = new Set();
        /** Copies of the chat's file. */
        this.backups = [];
        /** The lore in each recap's snapshot, by the message that carries it. @type {Map<number, {bookName: string, entries: string[]}>} */
        this.recaps = new Map();
        /** Messages that are copies, and of which. @type {Map<number, {original: number, isUnseen: boolean}>} */
        this.copies = new Map();
        /** What a page has last read or written of a book. @type {Map<string, {text: string, at: number}>} */
        this.known = new Map();
        this.dates = 0;
        /** Whether messages were swapped in a page without a journal. */
        this.hasUnseenSwap = false;
        /** Whether one was inserted in such a page. */
        this.hasUnseenInsert = false;
    }

    /**
     * The messages as far as they can be distinguished: a copy that was made without a journal, and whose original was
     * deleted, is identical to its original.
     */
    toldApart(tokens) {
        return tokens.map((token) => {
            const copy = this.copies.get(token);
            return copy?.isUnseen && !tokens.includes(copy.original) ? copy.original : token;
        });
    }

    say(words) {
        this.words.push(words);
    }

    /** Notes a situation for the message whose time it is. */
    tag(name) {
        this.tags.add(name);
    }

    takeTags() {
        const tags = [...this.tags];
        this.tags.clear();
        return tags;
    }

    /** Notes a situation for existing messages. */
    touch(messages, page, tags) {
        messages.filter(Boolean).forEach((message) => {
            const arrival = this.ledger.arrivals.get(page.tokenOf.get(message));
            tags.forEach((tag) => arrival?.tags.add(tag));
        });
    }

    /** Shows the current state of everything to the ledger. */
    tick() {
        this.pages.filter((page) => page.isOpen).forEach((page) => this.ledger.see(page.label, page.seen()));
        if (this.server.chat) {
            const { metadata } = this.server.readHeader();
            const name = metadata.world_info || null;
            this.ledger.see('file', {
                tokens: this.server.tokens(),
                metadata: metadataText(metadata),
                books: [bookKey(name, name ? this.server.books.get(name) : undefined)],
                isWatched: false,
            });
        }
    }

    /** @returns {Page} */
    addPage(label, options) {
        const page = new Page(this, label, options);
        this.pages.push(page);
        return page;
    }

    removePage(page) {
        this.pages = this.pages.filter((other) => other !== page);
        this.ledger.unsee(page.label);
    }

    /** A date that no other message has. */
    nextDate() {
        if (this.isRealTime) {
            let now = Date.now();
            while (now <= this.dates) {
                now = Date.now();
            }
            this.dates = now;
            return new Date(now).toISOString();
        }
        return new Date(Date.UTC(2026, 0, 1) + ++this.dates * 1000).toISOString();
    }
}
