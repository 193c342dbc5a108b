// What is known about timelines without reading their chats: a record for each, kept between visits.
//
// SillyTavern reads a whole file to return its header, so every header that was seen is remembered. Records come from
// every listing and every save that passes by; if the current state matters, SillyTavern is asked again.

const PREVIEW_LENGTH = 160;
const SAVED_AFTER = 1000;

/** @typedef {{group: string | null, avatar: string | null}} Owner */

/**
 * @typedef {object} TimelineRecord
 * @property {string} name
 * @property {number} messages
 * @property {string} preview the start of the last message
 * @property {number | null} date of the last message, in milliseconds
 * @property {object | null} metadata the part that describes the timeline; null if the header cannot be read
 * @property {object[]} own the findings about the rest of its metadata
 * @property {number} seenAt when this state was first seen
 */

export class TimelineIndex {
    /**
     * @param {object} parts
     * @param {{read: (key: string) => Promise<any>, write: (key: string, value: any) => Promise<void>, clear: () => Promise<void>}} parts.store
     * @param {object} parts.core
     * @param {() => number} [parts.now]
     */
    constructor({ store, core, now = Date.now }) {
        Object.assign(this, { store, core, now });
        /** @type {Map<string, {chats: Map<string, TimelineRecord>, gone: Set<string>, syncedAt: number, loading: Promise<void>}>} */
        this.caches = new Map();
        this.unsaved = new Set();
    }

    /** All records of a character or group. @param {Owner} owner @returns {Promise<Map<string, TimelineRecord>>} */
    async of(owner) {
        const cache = this.cacheOf(owner);
        await cache.loading;
        return cache.chats;
    }

    cacheOf(owner) {
        const key = keyOf(owner);
        if (!this.caches.has(key)) {
            const cache = { chats: new Map(), gone: new Set(), syncedAt: 0, loading: null };
            cache.loading = this.load(key, cache);
            this.caches.set(key, cache);
        }
        return this.caches.get(key);
    }

    async load(key, cache) {
        const stored = await this.store.read(key).catch(() => null);
        // Records that arrived in the meantime are newer.
        for (const record of Array.isArray(stored?.chats) ? stored.chats : []) {
            if (!cache.chats.has(record.name) && !cache.gone.has(record.name)) {
                cache.chats.set(record.name, record);
            }
        }
        cache.syncedAt = Math.max(cache.syncedAt, Number(stored?.syncedAt) || 0);
        cache.gone.clear();
    }

    /** Remembers the current state of chats. @param {Array<Owner & {name: string}>} heads with all of their metadata */
    learn(heads) {
        this.recordsOf(heads).forEach((record, at) => {
            const cache = this.cacheOf(heads[at]);
            const known = cache.chats.get(record.name);
            if (known && isSame(known, record)) {
                return;
            }
            cache.chats.set(record.name, record);
            cache.gone.delete(record.name);
            this.save(heads[at]);
        });
    }

    /** @returns {TimelineRecord[]} */
    recordsOf(heads) {
        const kept = this.core.indexRecords(heads.map(({ name, messages, metadata = null }) => ({ name, messages, metadata })));
        return heads.map(({ name, messages, preview = '', date = null }, at) =>
            ({ name, messages, preview: shortened(preview), date, ...kept[at], seenAt: this.now() }));
    }

    /** @param {Owner} owner */
    renamed(owner, from, to) {
        const cache = this.cacheOf(owner);
        const record = cache.chats.get(from);
        this.forget(owner, [from]);
        if (record) {
            cache.chats.set(to, { ...record, name: to, seenAt: this.now() });
            cache.gone.delete(to);
        }
    }

    forget(owner, names) {
        const cache = this.cacheOf(owner);
        for (const name of names) {
            cache.chats.delete(name);
            cache.gone.add(name);
        }
        this.save(owner);
    }

    /** Forgets chats that no longer exist. */
    async keepOnly(owner, names) {
        const there = new Set(names);
        const gone = [...(await this.of(owner)).keys()].filter((name) => !there.has(name));
        if (gone.length) {
            this.forget(owner, gone);
        }
    }

    /** Every record of this owner was up to date at that time. */
    synced(owner, when) {
        this.cacheOf(owner).syncedAt = when;
        this.save(owner);
    }

    /**
     * Whether a chat that was just read (and not learned yet) proves that all chats last written before it are up to
     * date: it has not changed, and all records of `owner` were up to date at a later time.
     * @param {Owner} owner @param {Owner & {name: string}} head
     */
    proves(owner, head) {
        const known = this.cacheOf(head).chats.get(head.name);
        const isUnchanged = Boolean(known) && isSame(known, this.recordsOf([head])[0]);
        return isUnchanged && known.seenAt <= this.cacheOf(owner).syncedAt;
    }

    /** A host that passes everything it reads and writes on to this index. */
    watching(host) {
        const watched = {
            chatHeads: async (owner) => {
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
            writeChat: async (owner, name, lines) => {
                await host.writeChat(owner, name, lines);
                const last = lines.length > 1 ? lines.at(-1) : null;
                this.learn([{
                    group: owner.group, avatar: owner.avatar, name, messages: lines.length - 1, metadata: lines[0]?.chat_metadata,
                    preview: String(last?.mes ?? ''), date: host.dateOf(last?.send_date),
                }]);
            },
        };
        return { ...host, ...watched };
    }

    save(owner) {
        const key = keyOf(owner);
        if (this.unsaved.has(key)) {
            return;
        }
        this.unsaved.add(key);
        const timer = setTimeout(() => this.write(key), SAVED_AFTER);
        timer.unref?.();
    }

    async write(key) {
        this.unsaved.delete(key);
        const cache = this.caches.get(key);
        await cache?.loading;
        if (cache) {
            await this.store.write(key, { syncedAt: cache.syncedAt, chats: [...cache.chats.values()] }).catch(() => {});
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

/** Shortens a text to one line without cutting a surrogate pair in half. */
export function shortened(text) {
    const line = String(text).replace(/\s+/g, ' ').trim();
    return line.length > PREVIEW_LENGTH ? `${line.slice(0, PREVIEW_LENGTH).replace(/[\ud800-\udbff]$/, '')}…` : line;
}

function isSame(one, other) {
    const facts = ({ messages, preview, date, metadata, own }) => JSON.stringify([messages, preview, date, metadata, own]);
    return facts(one) === facts(other);
}
