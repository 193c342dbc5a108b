// A small stage for named cases: one letter of lore, one variable, messages by number.

import assert from 'node:assert/strict';

import { judge } from './judge.mjs';
import { microtasks } from './story.mjs';
import { metadataText } from './values.mjs';
import { World } from './world.mjs';

const FIELD = 'forklore';
const BOOK = 'Lore';

/** A book with one statement. */
export const bookSaying = (lore) => ({ entries: { 0: { uid: 0, key: ['king'], comment: 'The king', content: lore } } });

export class Stage {
    /**
     * @param {import('./product.mjs').Product} product
     * @param {{lore?: string, extension?: boolean, limit?: number, preload?: boolean}} [options]
     */
    constructor(product, { lore = 'a', extension = true, limit = 8, preload = true } = {}) {
        this.product = product;
        this.world = new World({ recorderFor: (page) => product.recorderFor(page), isRealTime: true });
        this.limit = limit;
        this.pages = 0;
        const { server, ledger } = this.world;
        server.writeBook(BOOK, JSON.stringify(bookSaying(lore)));
        const token = ledger.newToken();
        ledger.madeByHand(token);
        server.writeChat(
            JSON.stringify({ chat_metadata: { integrity: 'slug', world_info: BOOK, variables: { hp: 10 } }, user_name: 'unused', character_name: 'unused' }),
            [{ text: JSON.stringify(this.fields('0')), token }],
        );
        this.page = this.open({ extension, preload });
    }

    fields(text) {
        return { name: 'Ada', is_user: false, is_system: false, send_date: this.world.nextDate(), mes: text, extra: {}, swipes: [text], swipe_id: 0 };
    }

    /** Opens the chat in a new page. */
    open({ extension = true, preload = true } = {}) {
        const page = this.world.addPage(`page ${++this.pages}`, { extension, limit: this.limit });
        page.open({ preload });
        this.page = page;
        return page;
    }

    async settle() {
        for (let round = 0; round < 6; round++) {
            for (const page of this.world.pages) {
                page.landAll();
                page.idle.splice(0).forEach((run) => run());
                await microtasks();
                while (page.requests.length) {
                    page.serverAnswers();
                    await microtasks();
                }
                if (page.isChatTimerSet) {
                    page.saveChat();
                }
            }
        }
    }

    message(text = String(this.page.chat.length)) {
        return this.page.makeMessage(this.fields(text));
    }

    /** A message arrives as usual: pushed, reported, saved; then all requests are completed. */
    async arrives({ save = true } = {}) {
        this.page.push(this.message());
        this.page.event();
        if (save) {
            this.page.saveChat();
        }
        await this.settle();
    }

    /** Edits the lore in the page, and saves it by default. */
    async lore(lore, { save = true } = {}) {
        this.page.editBook(BOOK, (book) => {
            book.entries[0].content = lore;
        });
        if (save) {
            this.page.saveBook();
            await this.settle();
        }
    }

    /** Another device writes the book. */
    foreign(lore) {
        this.world.server.writeBook(BOOK, JSON.stringify(bookSaying(lore)));
        this.world.tick();
    }

    hp(value) {
        this.page.changeMetadata((metadata) => {
            metadata.variables = { hp: value };
        });
    }

    async reload({ extension = true, preload = true } = {}) {
        this.page.landAll();
        this.page.close();
        this.open({ extension, preload });
        await this.settle();
    }

    /** Deletes a message, or does something else in a page, with the extension enabled or not. */
    async does(work) {
        work(this.page);
        this.page.event();
        this.page.saveChat();
        await this.settle();
    }

    closeAll() {
        [...this.world.pages].forEach((page) => {
            page.landAll();
            page.close();
        });
    }

    /** Queries the page. Whatever is claimed must be true. */
    ask(m) {
        const { page } = this;
        page.recorder?.sync();
        const { bookName, bookText } = page.held();
        const answer = this.product.ask({ metadata: page.metadata, messages: page.chat, bookName, bookText, m, isOpen: true });
        this.judged(answer, { tokens: page.tokens(), m, isFiles: false, lastHasRecord: false, live: { bookName, bookText, metadata: metadataText(page.metadata) } });
        return readable(answer);
    }

    /** Queries the files, as a page with another chat open does. */
    askFiles(m) {
        const { server } = this.world;
        const { metadata, messages } = server.readChat();
        const bookName = metadata.world_info || null;
        const bookText = bookName ? server.books.get(bookName) : undefined;
        const values = messages.map(({ value }) => value);
        const at = m < 0 ? values.length + m : m;
        const answer = this.product.ask({ metadata, messages: values, bookName, bookText, m: at });
        this.judged(answer, { tokens: messages.map(({ token }) => token), m: at, isFiles: true, lastHasRecord: values.at(-1)[FIELD] !== undefined, live: { bookName, bookText, metadata: metadataText(metadata) } });
        return readable(answer);
    }

    judged(answer, question) {
        const found = judge({ ledger: this.world.ledger, place: (k) => k, asked: question.m, ...question }, answer);
        assert.deepEqual(found, [], `false: ${JSON.stringify(found, null, 1)}`);
    }
}

/** An answer in a few words: `exact b`, `as of 1 a`. */
export function readable({ book, metadata }) {
    const words = (claim, value) => [claim.kind, ...(claim.k === null || claim.k === undefined ? [] : [String(claim.k)]), value].join(' ');
    return { book: words(book, loreIn(book.content)), metadata: words(metadata, String(hpIn(metadata.content))), source: book.source };
}

function loreIn(content) {
    const [, text] = content.split('\n');
    try {
        return JSON.parse(text).entries[0].content;
    } catch {
        return content;
    }
}

function hpIn(content) {
    return JSON.parse(content || '{}').variables?.hp;
}
