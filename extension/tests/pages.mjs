// SillyTavern pages on one server, as far as books are concerned: a cache that hands out copies, an editor with its own
// copy, saves that write whole books, and answers that take a while.

import { chance } from '../../e2e/harness/chance.mjs';
import { Guard } from '../features/guard/guard.js';
import { Lineage } from '../features/guard/lineage.js';
import { DEFAULTS } from '../features/settings.js';
import { Trash } from '../features/trash/trash.js';
import { readBookSave, bookSave } from '../sillytavern/requests.js';

/** In turns of the event loop. */
const LONGEST_ANSWER = 4;
const LOOK_AGAIN = 30;

export async function turns(count) {
    for (let turn = 0; turn < count; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
    }
}

/** Books and files, and how long an answer takes. */
export class Server {
    constructor({ books = {}, seed = 1, hasLocks = true } = {}) {
        this.books = new Map(Object.entries(books).map(([name, book]) => [name, JSON.stringify(book)]));
        this.files = new Map();
        this.slugs = 0;
        this.chance = chance(seed);
        this.locks = hasLocks ? new Locks() : undefined;
        /** Everything that was started and has not finished. */
        this.begun = new Set();
    }

    /** The request takes a while to arrive, and so does the answer. */
    async answer(step) {
        await turns(this.chance.below(LONGEST_ANSWER));
        const result = step();
        await turns(this.chance.below(LONGEST_ANSWER));
        return result;
    }

    book(name) {
        return JSON.parse(this.books.get(name));
    }

    begin(promise) {
        const settled = promise.catch(() => {}).then(() => this.begun.delete(settled));
        this.begun.add(settled);
        return promise;
    }

    async quiet() {
        while (this.begun.size) {
            await Promise.all(this.begun);
        }
    }
}

/** The part of the browser's locks that the guard uses. */
class Locks {
    constructor() {
        this.last = new Map();
    }

    request(name, options, step) {
        const mine = (this.last.get(name) ?? Promise.resolve()).catch(() => {}).then(step);
        this.last.set(name, mine);
        return mine;
    }
}

export class Page {
    /** @param {{server: Server, core: object, isGuarded?: boolean, answer?: Function}} parts `answer`: the user's answer to a question */
    constructor({ server, core, isGuarded = true, answer = () => null }) {
        this.server = server;
        this.settings = { guard: isGuarded };
        this.memory = new Map();
        this.editor = null;
        this.asked = [];
        this.news = [];
        this.kept = [];
        this.errors = [];
        const host = this.host();
        this.lineage = new Lineage(core);
        this.trash = new Trash({ host, settings: DEFAULTS, locks: undefined });
        this.guard = new Guard({
            host,
            core,
            settings: this.settings,
            lineage: this.lineage,
            trash: this.trash,
            ask: async (question) => {
                this.asked.push(question);
                return answer(question);
            },
            onMerged: (news) => this.news.push(news),
            onKept: (kept) => this.kept.push(kept),
            onWritten: () => {},
            onError: (error) => this.errors.push(error),
            locks: server.locks,
            later: (run, wait) => server.begin(turns(wait > 1000 ? 2 : LOOK_AGAIN).then(run).then(() => turns(LOOK_AGAIN))),
        });
    }

    host() {
        const { server } = this;
        return {
            cachedBookWithText: (name, text) => (JSON.stringify(this.memory.get(name)) === text ? this.memory.get(name) : undefined),
            replaceCachedBook: (name, before, after) => {
                if (JSON.stringify(this.memory.get(name)) !== before) {
                    return undefined;
                }
                this.memory.set(name, JSON.parse(after));
                return this.memory.get(name);
            },
            refreshEditor: () => {
                this.mayShowAnew = true;
            },
            bookOnServer: (name) => server.answer(() => server.books.get(name) ?? '{"entries":{}}'),
            listBooks: () => server.answer(() => [...server.books.keys()].map((name) => ({ name, extensions: {} }))),
            writeBook: (request) => server.answer(() => {
                const { name, bookText } = readBookSave(request);
                server.books.set(name, bookText);
            }),
            refreshBooks: async (...names) => names.forEach((name) => this.memory.delete(name)),
            newSlug: () => String(server.slugs += 1).padStart(8, '0'),
            kindOfFork: () => 'branch',
            hasMemoryBooks: () => false,
            writeFile: (name, text) => server.answer(() => {
                server.files.set(name, text);
                return name;
            }),
            existingFiles: async (paths) => paths.filter((path) => server.files.has(path)),
            readFile: (name) => server.answer(() => server.files.get(name)),
            deleteFile: (name) => server.answer(() => server.files.delete(name)),
        };
    }

    /** Like SillyTavern's `loadWorldInfo`: the first caller gets the cache's own copy. */
    async load(name) {
        if (this.memory.has(name)) {
            const copy = structuredClone(this.memory.get(name));
            this.lineage.copied(this.memory.get(name), copy);
            return copy;
        }
        const text = await this.server.answer(() => this.server.books.get(name) ?? '{"entries":{}}');
        this.lineage.remember(name, text);
        const book = JSON.parse(text);
        this.lineage.cached(name, book);
        this.memory.set(name, book);
        return book;
    }

    /** Opens a book in the editor, or refreshes it. */
    async open(name) {
        this.editor = await this.load(name);
        this.mayShowAnew = false;
        return this.editor;
    }

    /** Like SillyTavern's `saveWorldInfo`. @returns {Promise<{ok: boolean}>} */
    save(name, copy) {
        this.lineage.cached(name, copy);
        this.memory.set(name, copy);
        return this.send(name, JSON.stringify(copy));
    }

    send(name, text) {
        let sent;
        const held = {
            send: (request = bookSave(name, text)) => {
                sent ??= this.server.answer(() => {
                    const save = readBookSave(request);
                    this.server.books.set(save.name, save.bookText);
                    return { ok: true };
                });
                return sent;
            },
        };
        return this.server.begin(this.guard.save(held, name, text));
    }
}

/** The texts of all versions in the trash. */
export function inTrash(server) {
    return [...server.files].filter(([name]) => name.startsWith('forklore-trash-')).flatMap(([, file]) => JSON.parse(file).books.map((book) => book.text));
}
