// Searches the messages and the lorebooks of timelines. What was read is kept, so that the next search is fast.

import { entriesOf } from '../../core/core.js';
import { boundBook } from '../../sillytavern/metadata.js';
import { spokenIn } from '../messages.js';
/** @import { Core, Host, Owner, SearchForUi, SearchHit, Spoken } from '../../types.js' */

/** A message, or an entry with its title as its name. @typedef {Spoken & {isEntry: boolean}} Said */
/** @typedef {{said: Said, place: number}} Placed by the number of the message, or by the uid of the entry */
/** @typedef {{messages: Placed[], book: string | null}} ReadChat */
/** @typedef {{owner: string, chats: Map<string, Promise<ReadChat | null>>, books: Map<string, Promise<Placed[]>>, said: Map<string, Said>, size: number}} Kept */
/**
 * A search that goes on. `tested`: whether a text was found; many timelines have the same ones.
 * @typedef {object} Running
 * @property {Owner} owner
 * @property {Parameters<SearchForUi['run']>[0]['holds']} holds
 * @property {AbortSignal} signal
 * @property {Map<Said, boolean>} tested
 * @property {Map<string, Map<string, SearchHit>>} hits by text, then by everything else that tells them apart
 * @property {SearchHit[]} found
 */

/** How many chats are asked for at a time. */
const AT_ONCE = 4;
/** How long the page may be held up, in milliseconds. */
const SLICE = 25;
/** How often what was found so far is told, in milliseconds. */
const NEWS_EVERY = 300;
/** How much text is kept, in characters: at most 64 MB. */
const KEPT = 32 * 1024 * 1024;

export class Search {
    /**
     * @param {object} parts
     * @param {Pick<Host, 'openChat' | 'readChat' | 'readBook' | 'knownBooks'>} parts.host
     * @param {Pick<Core, 'bookKey' | 'isInternal'>} parts.core
     * @param {number} [parts.limit]
     */
    constructor({ host, core, limit = KEPT }) {
        this.host = host;
        this.core = core;
        this.limit = limit;
        this.kept = nothing('');
    }

    /** Everything is read again the next time. */
    forget() {
        this.kept = nothing('');
    }

    /** @type {SearchForUi['run']} */
    async run({ owner, names, holds, signal, onNews }) {
        const whose = JSON.stringify([owner.group, owner.avatar]);
        if (this.kept.owner !== whose) {
            this.kept = nothing(whose);
        }
        /** @type {Running} */
        const running = { owner, holds, signal, tested: new Map(), hits: new Map(), found: [] };
        const open = this.host.openChat()?.name;
        const queue = sorted(names, (name) => (name === open ? 0 : this.kept.chats.has(name) ? 1 : 2));
        const news = { done: 0, total: names.length, unread: 0 };
        let toldAt = -Infinity;
        const tell = () => {
            toldAt = performance.now();
            onNews({ ...news, hits: running.found });
        };
        const work = async () => {
            for (let name = queue.shift(); name !== undefined && !signal.aborted; name = queue.shift()) {
                const isRead = await this.searchOne(running, name);
                news.done += 1;
                news.unread += isRead ? 0 : 1;
                if (!signal.aborted && performance.now() - toldAt > NEWS_EVERY) {
                    tell();
                }
            }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, work));
        if (!signal.aborted) {
            tell();
        }
    }

    /** Searches a timeline. @param {Running} running @param {string} name @returns {Promise<boolean>} whether it could be read */
    async searchOne(running, name) {
        const chat = await this.chatOf(running.owner, name);
        if (!chat) {
            return false;
        }
        await inSlices(chat.messages, running.signal, (placed) => this.test(running, placed, name, ''));
        const book = chat.book === null ? undefined : this.nameOfBook(chat.book);
        if (book === undefined || running.signal.aborted) {
            return true;
        }
        const entries = await this.entriesIn(book).catch(() => null);
        await inSlices(entries ?? [], running.signal, (placed) => this.test(running, placed, name, book));
        return entries !== null;
    }

    /** @param {Running} running @param {Placed} placed @param {string} timeline @param {string} book */
    test({ tested, hits, found, holds }, { said, place }, timeline, book) {
        let isFound = tested.get(said);
        if (isFound === undefined) {
            isFound = holds(said.isEntry ? `${said.name}\n${said.text}` : said.text);
            tested.set(said, isFound);
        }
        if (!isFound) {
            return;
        }
        const { name, text, isEntry } = said;
        const alike = hits.get(text) ?? /** @type {Map<string, SearchHit>} */ (new Map());
        hits.set(text, alike);
        const key = `${isEntry} ${place} ${name}`;
        const known = alike.get(key);
        if (known) {
            known.books.set(timeline, book);
            return;
        }
        /** @type {SearchHit} */
        const hit = { kind: isEntry ? 'entry' : 'message', place, name, text, books: new Map([[timeline, book]]) };
        alike.set(key, hit);
        found.push(hit);
    }

    // Reading

    /** The open chat is taken from the page. @param {Owner} owner @param {string} name @returns {Promise<ReadChat | null>} null if it cannot be read */
    async chatOf(owner, name) {
        const open = this.host.openChat();
        if (open?.name === name && open.group === owner.group && open.avatar === owner.avatar) {
            return { messages: await this.placed(open.messages, null), book: open.book };
        }
        const { kept } = this;
        const known = kept.chats.get(name);
        if (known) {
            return known;
        }
        const reading = this.readChat(owner, name, kept).catch(() => null);
        kept.chats.set(name, reading);
        const chat = await reading;
        if (!chat || kept.size > this.limit) {
            kept.chats.delete(name);
        }
        return chat;
    }

    /** @param {Owner} owner @param {string} name @param {Kept} kept @returns {Promise<ReadChat | null>} */
    async readChat(owner, name, kept) {
        const [header, ...messages] = await this.host.readChat(owner, name);
        return header ? { messages: await this.placed(messages, kept), book: boundBook(header.chat_metadata) } : null;
    }

    /** @param {ST.Message[]} messages @param {Kept | null} kept */
    async placed(messages, kept) {
        /** @type {Placed[]} */
        const placed = [];
        await inSlices([...messages], null, (message, place) => {
            const { name, text } = spokenIn(message) ?? { name: '', text: '' };
            if (text) {
                placed.push({ said: this.keep({ name, text, isEntry: false }, kept), place });
            }
        });
        return placed;
    }

    /** A book may be written in other letters where it is bound. @param {string} bound */
    nameOfBook(bound) {
        const known = this.host.knownBooks();
        const key = known.includes(bound) ? null : this.core.bookKey(bound);
        return key === null ? bound : known.find((name) => this.core.bookKey(name) === key);
    }

    /** @param {string} book @returns {Promise<Placed[]>} */
    async entriesIn(book) {
        const { kept } = this;
        const known = kept.books.get(book);
        if (known) {
            return known;
        }
        const reading = this.readEntries(book, kept);
        kept.books.set(book, reading);
        const entries = await reading.catch(() => null);
        if (!entries || kept.size > this.limit) {
            kept.books.delete(book);
        }
        return reading;
    }

    /** @param {string} book @param {Kept} kept */
    async readEntries(book, kept) {
        const entries = entriesOf(await this.host.readBook(book));
        /** @type {Placed[]} */
        const placed = [];
        await inSlices(Object.values(entries), null, (entry, place) => {
            const { uid, comment, content, key } = entry ?? {};
            const name = textOf(comment);
            if (entry && !this.core.isInternal(name)) {
                const keys = Array.isArray(key) ? key.map(textOf).filter(Boolean).join(', ') : '';
                const said = { name, text: [keys, textOf(content)].filter(Boolean).join(' · '), isEntry: true };
                placed.push({ said: this.keep(said, kept), place: typeof uid === 'number' ? uid : place });
            }
        });
        return placed;
    }

    /** One copy of texts that many timelines share, as long as there is room. @param {Said} said @param {Kept | null} kept */
    keep(said, kept) {
        const known = (kept ?? this.kept).said.get(said.text);
        if (known?.name === said.name && known.isEntry === said.isEntry) {
            return known;
        }
        if (kept) {
            kept.size += said.text.length;
            if (!known && kept.size <= this.limit) {
                kept.said.set(said.text, said);
            }
        }
        return said;
    }
}

/** @param {string} owner @returns {Kept} */
function nothing(owner) {
    return { owner, chats: new Map(), books: new Map(), said: new Map(), size: 0 };
}

/** @param {unknown} value */
const textOf = (value) => (typeof value === 'string' ? value : '');

/** @template Item @param {Item[]} items @param {(item: Item) => number} rank */
const sorted = (items, rank) => [...items].sort((one, other) => rank(one) - rank(other));

/**
 * Runs a step for every item, and lets the page do something else in between.
 * @template Item @param {Item[]} items @param {AbortSignal | null} signal @param {(item: Item, place: number) => void} step
 */
async function inSlices(items, signal, step) {
    let until = performance.now() + SLICE;
    for (const [place, item] of items.entries()) {
        if (performance.now() > until) {
            await new Promise((resolve) => setTimeout(resolve));
            until = performance.now() + SLICE;
        }
        if (signal?.aborted) {
            return;
        }
        step(item, place);
    }
}
