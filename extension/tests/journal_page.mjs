// As much of a page as the journal sees: a chat, the books, the metadata.

import { readFileSync } from 'node:fs';

import * as core from '../core/pkg/forklore.js';
import { Journal } from '../features/journal/journal.js';

core.initSync({ module: readFileSync(new URL('../core/pkg/forklore_bg.wasm', import.meta.url)) });

const encode = (value) => new TextEncoder().encode(JSON.stringify(value));
const decode = (bytes) => (bytes ? JSON.parse(new TextDecoder().decode(bytes)) : null);
export const clone = (value) => JSON.parse(JSON.stringify(value));

/** What the core knows about a message: `{message, state}` or `null`. */
export const recorded = (chat, message) => decode(core.recorded_state(encode([{ chat_metadata: {} }, ...chat]), message));

/** A chat with a book, and a journal over it. */
export class Page {
    isOn = true;
    largestBook = 1 << 20;
    chat = [];
    bound = 'Lore';
    isMissing = false;
    books = {
        Lore: { entries: { 0: entry(0, 'a harbour'), 5: entry(5, 'a ship') }, name: 'n' },
        Other: { entries: {} },
    };
    metadata = { variables: { gold: 0, mood: 'calm' }, integrity: 'i', world_info: 'Lore' };

    constructor() {
        this.journal = new Journal({ core, isOn: () => this.isOn, largestBook: () => this.largestBook });
    }

    get book() {
        return this.books[this.bound];
    }

    now() {
        const text = this.bound && !this.isMissing ? JSON.stringify(this.book) : null;
        return { bookName: this.bound, bookText: text, metadata: this.metadata };
    }

    state() {
        const { variables, note_prompt, quests } = this.metadata;
        const book = this.bound && { name: this.bound, content: this.book };
        return JSON.stringify({ book, metadata: { variables, note_prompt, quests, forklore_others: {} } });
    }

    sync() {
        return this.journal.sync(this.chat, this.now());
    }

    reload() {
        this.chat = clone(this.chat);
        this.journal.forget();
        return this.sync();
    }

    /** Messages arrive one by one, and the book's file is checked afterwards. */
    says(...messages) {
        messages.forEach((mes) => this.arrives({ mes }));
        return this.sync();
    }

    arrives(message) {
        this.journal.arrive(this.chat, () => this.now(), () => this.chat.push(message));
        this.fileIsRead(this.bound);
    }

    /** A book's file was read, and is what the page knew. */
    fileIsRead(book) {
        const arrived = this.journal.unchecked(book);
        this.journal.fileChecked(book, JSON.stringify(this.books[book]), { isPages: true, arrived });
    }

    /** The variable `gold` at each message, `null` if unknown. */
    gold() {
        return this.chat.map((_, message) => {
            const found = recorded(this.chat, message);
            return found?.message === message ? found.state.metadata.variables.gold : null;
        });
    }
}

export function entry(uid, content) {
    return { uid, key: [`k${uid}`], comment: `c${uid}`, content, constant: false, position: 0, extensions: { a: 1, b: 2 } };
}

export { core };
