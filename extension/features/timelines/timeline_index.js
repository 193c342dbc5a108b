// What is known about timelines without reading their chats: a record for each, kept between visits.
//
// SillyTavern reads a whole file to return its header, so every header that was seen is remembered. Records come from
// every listing and every save that passes by; if the current state matters, SillyTavern is asked again.

import { ghostOf, readGhosts } from './ghosts.js';
/** @import { TimelineRecord } from '../../core/timeline_calls.js' */
/** @import { Core, Ghost, Head, Host, Owner } from '../../types.js' */
/** @typedef {{chats: Map<string, TimelineRecord>, gone: Set<string>, ghosts: Map<string, Ghost>, syncedAt: number, loading: Promise<void>}} Cache */

const PREVIEW_LENGTH = 160;
const SAVED_AFTER = 1000;

export class TimelineIndex {
    /**
     * @param {object} parts
     * @param {Host['timelineStore']} parts.store
     * @param {Pick<Core, 'indexRecords' | 'chatStem'>} parts.core
     * @param {{read: (key: string) => unknown, write: (key: string, ghosts: Ghost[]) => void}} [parts.shared] the ghosts that other devices know, too
     * @param {() => number} [parts.now]
     */
    constructor({ store, core, shared = { read: () => [], write: () => {} }, now = Date.now }) {
        this.store = store;
        this.core = core;
        this.shared = shared;
        this.now = now;
        this.caches = /** @type {Map<string, Cache>} */ (new Map());
        this.unsaved = /** @type {Set<string>} */ (new Set());
    }

    /** All records of a character or group. @param {Owner} owner */
    async of(owner) {
        const cache = this.cacheOf(owner);
        await cache.loading;
        return cache.chats;
    }

    cacheOf(/** @type {Owner} */ owner) {
        const key = keyOf(owner);
        const known = this.caches.get(key);
        if (known) {
            return known;
        }
        const cache = /** @type {Cache} */ ({ chats: new Map(), gone: new Set(), ghosts: new Map(), syncedAt: 0, loading: Promise.resolve() });
        cache.loading = this.load(key, cache);
        this.caches.set(key, cache);
        return cache;
    }

    /** @param {string} key @param {Cache} cache */
    async load(key, cache) {
        const stored = await this.store.read(key).catch(() => null);
        if (isStored(stored)) {
            // Records that arrived in the meantime are newer.
            for (const record of stored.chats.filter(({ name }) => !cache.chats.has(name) && !cache.gone.has(name))) {
                cache.chats.set(record.name, record);
            }
            cache.syncedAt = Math.max(cache.syncedAt, Number(stored.syncedAt) || 0);
        }
        cache.gone.clear();
        const ghosts = [...readGhosts(this.shared.read(key)), ...readGhosts(stored instanceof Object && 'ghosts' in stored ? stored.ghosts : [])];
        for (const ghost of ghosts.filter(({ name }) => !cache.ghosts.has(name))) {
            cache.ghosts.set(ghost.name, ghost);
        }
    }

    /** Remembers the current state of chats. @param {Head[]} heads with all of their metadata */
    learn(heads) {
        for (const { head, record } of this.recordsOf(heads)) {
            const cache = this.cacheOf(head);
            const known = cache.chats.get(head.name);
            if (!known || !isSame(known, record)) {
                cache.chats.set(head.name, record);
                cache.gone.delete(head.name);
                this.save(head);
            }
            if (cache.ghosts.delete(head.name)) {
                this.saveGhosts(head);
            }
        }
    }

    /** @param {Head[]} heads @returns {{head: Head, record: TimelineRecord}[]} */
    recordsOf(heads) {
        const kept = this.core.indexRecords(heads.map(({ name, messages, metadata = null }) => ({ name, messages, metadata })));
        return heads.map((head, at) => {
            const { name, messages, preview, date } = head;
            return { head, record: { name, messages, preview: shortened(preview), date, metadata: null, own: [], ...kept[at], seenAt: this.now() } };
        });
    }

    /** @param {Owner} owner @param {string} from @param {string} to */
    renamed(owner, from, to) {
        const cache = this.cacheOf(owner);
        const record = cache.chats.get(from);
        this.forget(owner, [from]);
        if (record) {
            cache.chats.set(to, { ...record, name: to, seenAt: this.now() });
            cache.gone.delete(to);
        }
        const ghosts = [...cache.ghosts.values()].filter(({ parent }) => this.nameKey(parent) === this.nameKey(from));
        ghosts.forEach((ghost) => cache.ghosts.set(ghost.name, { ...ghost, parent: to }));
        if (ghosts.length) {
            this.saveGhosts(owner);
        }
    }

    /** The same for all spellings of a chat's name. @param {string} name */
    nameKey(name) {
        return (this.core.chatStem(name) ?? name).toLowerCase();
    }

    /** Chats were deleted: remembers what they were forked from, because their forks may still be there. @param {Owner} owner @param {string[]} names */
    async deleted(owner, names) {
        const chats = await this.of(owner);
        const ghosts = names.flatMap((name) => ghostOf(chats.get(name)) ?? []);
        ghosts.forEach((ghost) => this.cacheOf(owner).ghosts.set(ghost.name, ghost));
        this.forget(owner, names);
        if (ghosts.length) {
            this.saveGhosts(owner);
        }
    }

    /** Forgets the other ghosts. @param {Owner} owner @param {Ghost[]} ghosts */
    async keepGhosts(owner, ghosts) {
        await this.of(owner);
        const cache = this.cacheOf(owner);
        if (ghosts.length !== cache.ghosts.size) {
            cache.ghosts = new Map(ghosts.map((ghost) => [ghost.name, ghost]));
            this.saveGhosts(owner);
        }
    }

    saveGhosts(/** @type {Owner} */ owner) {
        this.shared.write(keyOf(owner), [...this.cacheOf(owner).ghosts.values()]);
        this.save(owner);
    }

    forget(/** @type {Owner} */ owner, /** @type {string[]} */ names) {
        const cache = this.cacheOf(owner);
        for (const name of names) {
            cache.chats.delete(name);
            cache.gone.add(name);
        }
        this.save(owner);
    }

    /** Forgets chats that no longer exist. @param {Owner} owner @param {string[]} names */
    async keepOnly(owner, names) {
        const there = new Set(names);
        const gone = [...(await this.of(owner)).keys()].filter((name) => !there.has(name));
        if (gone.length) {
            await this.deleted(owner, gone);
        }
    }

    /** Every record of this owner was up to date at that time. @param {Owner} owner @param {number} when */
    synced(owner, when) {
        this.cacheOf(owner).syncedAt = when;
        this.save(owner);
    }

    /**
     * Whether a chat that was just read (and not learned yet) proves that all chats last written before it are up to
     * date: it has not changed, and all records of `owner` were up to date at a later time.
     * @param {Owner} owner @param {Head} head
     */
    proves(owner, head) {
        const known = this.cacheOf(head).chats.get(head.name);
        return known !== undefined && this.recordsOf([head]).every(({ record }) => isSame(known, record)) && known.seenAt <= this.cacheOf(owner).syncedAt;
    }

    /**
     * A host that passes everything it reads and writes on to this index.
     * @template {Pick<Host, 'chatHeads' | 'allChatHeads' | 'writeChat' | 'dateOf'>} T @param {T} host @returns {T}
     */
    watching(host) {
        const watched = {
            chatHeads: async (/** @type {Owner} */ owner) => {
                const began = this.now();
                const heads = await host.chatHeads(owner);
                this.learn(heads);
                this.synced(owner, began);
                return heads;
            },
            allChatHeads: async () => {
                const heads = await host.allChatHeads();
                // Only of owners whose timelines were viewed: there may be thousands of others.
                this.learn(heads.filter((head) => this.caches.has(keyOf(head))));
                return heads;
            },
            writeChat: async (/** @type {Owner} */ owner, /** @type {string} */ name, /** @type {ST.Line[]} */ lines) => {
                await host.writeChat(owner, name, lines);
                const last = lines.length > 1 ? lines.at(-1) : null;
                this.learn([{
                    group: owner.group, avatar: owner.avatar, name, messages: Math.max(0, lines.length - 1), metadata: lines[0]?.chat_metadata,
                    preview: String(last?.mes ?? ''), date: host.dateOf(last?.send_date),
                }]);
            },
        };
        return { ...host, ...watched };
    }

    save(/** @type {Owner} */ owner) {
        const key = keyOf(owner);
        if (this.unsaved.has(key)) {
            return;
        }
        this.unsaved.add(key);
        const timer = /** @type {number | {unref(): void}} */ (setTimeout(() => this.write(key), SAVED_AFTER));
        if (typeof timer === 'object') {
            timer.unref();
        }
    }

    async write(/** @type {string} */ key) {
        this.unsaved.delete(key);
        const cache = this.caches.get(key);
        await cache?.loading;
        if (cache) {
            await this.store.write(key, { syncedAt: cache.syncedAt, chats: [...cache.chats.values()], ghosts: [...cache.ghosts.values()] }).catch(() => {});
        }
    }

    async clear() {
        this.caches.clear();
        await this.store.clear();
    }
}

/** @param {Owner} owner */
function keyOf({ group, avatar }) {
    return group ? `group ${group}` : `character ${avatar}`;
}

/** Shortens a text to one line without cutting a surrogate pair in half. @param {string} text */
export function shortened(text) {
    const line = text.replace(/\s+/g, ' ').trim();
    return line.length > PREVIEW_LENGTH ? `${line.slice(0, PREVIEW_LENGTH).replace(/[\ud800-\udbff]$/, '')}…` : line;
}

/** @param {TimelineRecord} one @param {TimelineRecord} other */
function isSame(one, other) {
    const facts = (/** @type {TimelineRecord} */ { messages, preview, date, metadata, own }) => JSON.stringify([messages, preview, date, metadata, own]);
    return facts(one) === facts(other);
}

/** @param {unknown} stored @returns {stored is {chats: TimelineRecord[], syncedAt?: unknown}} */
function isStored(stored) {
    return stored instanceof Object && 'chats' in stored && Array.isArray(stored.chats);
}
