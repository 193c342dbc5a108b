// The files of one story, and who may have written them: all others have to stay as they are, byte for byte.

import fs from 'node:fs';

/** In milliseconds: how long after an action its file may still be written. SillyTavern saves up to a second later, and answers may be slow. */
const LATE = 8000;

export class Shelf {
    /** @param {{ files: import('../../harness/files.mjs').Files, seed: number }} given the story's chats and lorebooks begin with its seed */
    constructor({ files, seed }) {
        this.files = files;
        this.isOurs = (name) => name.startsWith(`${seed} `);
        /** Until when a file may change. @type {Map<string, number>} */
        this.until = new Map();
    }

    /** @param {import('../../harness/story.mjs').Tale} tale */
    begin(tale) {
        this.tale = tale;
        this.before = this.#all();
        this.comparedAt = Date.now();
    }

    chats() {
        const names = this.tale.group ? this.files.groupChats() : this.files.chats(this.tale);
        return names.filter(this.isOurs);
    }

    /** The text of a lorebook, if it exists. */
    book(name) {
        return this.#all().get(`lorebook “${name}”`);
    }

    /** @returns {string[]} the chats that a lorebook is bound to */
    boundTo(book) {
        return this.chats().filter((name) => this.files.chat(this.tale, name).metadata.world_info === book);
    }

    /** @returns {string[]} the chats that were forked from this one */
    forkedFrom(parent) {
        return this.chats().filter((name) => this.files.chat(this.tale, name).metadata.main_chat === parent);
    }

    /** @param {{ chats?: string[], books?: (string | undefined)[] }} which */
    mayChange({ chats = [], books = [] }) {
        [...chats.map((name) => `chat “${name}”`), ...books.map((name) => `lorebook “${name}”`)].forEach((name) => this.until.set(name, Date.now() + LATE));
    }

    /** Another device has just written this chat: nothing else may write it from now on. */
    isNow({ chat }) {
        const name = `chat “${chat}”`;
        this.before.set(name, this.#all().get(name));
        this.until.delete(name);
    }

    /** @returns {string[]} files that have changed since the last time, and should not have */
    compare() {
        const now = this.#all();
        const changed = [...new Set([...this.before.keys(), ...now.keys()])].filter((name) => this.before.get(name) !== now.get(name));
        const unexpected = changed.filter((name) => (this.until.get(name) ?? 0) < this.comparedAt);
        const problems = unexpected.map((name) => `CHANGED: ${name} was ${now.has(name) ? this.before.has(name) ? 'changed' : 'made' : 'removed'}\n  was: ${this.before.get(name)?.slice(0, 2000)}\n  is:  ${now.get(name)?.slice(0, 2000)}`);
        this.before = now;
        this.comparedAt = Date.now();
        return problems;
    }

    #all() {
        const read = (kind, names, pathOf) => names.map((name) => [`${kind} “${name}”`, fs.readFileSync(pathOf(name), 'utf8')]);
        return new Map([
            ...read('chat', this.chats(), (name) => this.files.chatPath(this.tale, name)),
            ...read('lorebook', this.files.books().filter(this.isOurs), (name) => this.files.bookPath(name)),
        ]);
    }
}
