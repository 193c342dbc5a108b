// The oracle's eyes in a real page. They see SillyTavern's own objects before any extension does, and keep on every message, in
// the field `oracle`, what held when it arrived and what was seen while it was the last. They know nothing of Forklore.

/**
 * What is kept on a message; contents are named by their hash.
 *
 * @typedef {object} Place
 * @property {string} id
 * @property {{ book: string | null, metadata: string, isBehind: boolean } | null} came what held when it arrived; null if no page saw that
 * @property {string[]} books every lorebook that was seen while it was the last message
 * @property {string[]} metadata
 *
 * @typedef {object} Sight what a page holds now
 * @property {string} chat
 * @property {Place[]} places
 * @property {{ book: string, metadata: string, isBehind: boolean }} now
 * @property {string | null} file the bound lorebook's file
 * @property {string | null} book the name of the bound lorebook
 * @property {{ isUser: boolean, isSystem: boolean, swipes: number, swipe: number, hasCheckpoint: boolean, said: string, name: string }[]} messages
 * @property {string[]} errors of the eyes themselves
 */

/** A text that was seen, by its hash; the same in all pages. @type {Map<string, string>} */
export const contents = new Map();

/** Before a page is loaded. @param {import('playwright-core').Page} raw */
export async function giveEyes(raw) {
    await raw.exposeBinding('oracleSaw', (_source, hash, text) => void contents.set(hash, text));
    await raw.addInitScript(eyes);
}

/** After a page has been loaded. @param {import('../../harness/page.mjs').TavernPage} page */
export async function openEyes(page) {
    await page.raw.evaluate(() => globalThis.oracle.open());
}

/** @param {import('../../harness/page.mjs').TavernPage} page @returns {Promise<Sight>} */
export function look(page) {
    return page.raw.evaluate(() => globalThis.oracle.look());
}

/** Notes what the bound lorebook's file holds, because something else has written it. @param {import('../../harness/page.mjs').TavernPage} page */
export async function lookAtFile(page) {
    await page.raw.evaluate(() => globalThis.oracle.lookAtFile());
}

/** Runs in the page, before everything else. */
function eyes() {
    const { push, splice } = Array.prototype;
    const { get, set } = Map.prototype;
    const { fetch } = window;
    const page = Math.random().toString(36).slice(2, 8);
    let script, lore, chat, cache;
    /** The truth by position, the ids that the positions had, and the chat that both are about. */
    let places = null, ids = [], about = null;
    let isLoading = false, isLooking = false, made = 0;
    /** By lorebook: what this page read last, and what it wrote since. */
    const known = new Map();
    const told = new Set();
    const errors = [];

    // ---- What is there ----

    // What SillyTavern or Forklore writes for every chat anew, or renames for a child.
    const OWN = new Set(['integrity', 'main_chat', 'world_info', 'tainted', 'chat_id_hash', 'lastInContextMessageId', 'timedWorldInfo']);

    function metadataText() {
        const metadata = script.chat_metadata ?? {};
        const keys = Object.keys(metadata).filter((key) => !OWN.has(key) && !key.startsWith('forklore')).sort();
        return JSON.stringify(Object.fromEntries(keys.map((key) => [key, metadata[key]])));
    }

    /** The bound lorebook as the page holds it; of one that it has not read yet, the file. */
    function bookText({ evenFile }) {
        const name = script.chat_metadata?.world_info;
        if (!name) {
            return 'none';
        }
        if (!lore.world_names?.includes(name)) {
            return 'missing';
        }
        const own = get.call(cache, name);
        return own ? JSON.stringify(own) : evenFile ? fileText(name) : null;
    }

    function fileText(name) {
        const request = new XMLHttpRequest();
        // Nothing may happen meanwhile. The query tells this request from the page's.
        request.open('POST', '/api/worldinfo/get?oracle', false);
        Object.entries(script.getRequestHeaders()).forEach(([key, value]) => request.setRequestHeader(key, value));
        request.send(JSON.stringify({ name }));
        return JSON.stringify(JSON.parse(request.responseText));
    }

    function hashed(text) {
        let [one, other] = [0xdeadbeef, 0x41c6ce57];
        for (let at = 0; at < text.length; at++) {
            const code = text.charCodeAt(at);
            one = Math.imul(one ^ code, 2654435761);
            other = Math.imul(other ^ code, 1597334677);
        }
        const hash = (one >>> 0).toString(36) + (other >>> 0).toString(36) + text.length.toString(36);
        if (!told.has(hash)) {
            told.add(hash);
            window.oracleSaw(hash, text);
        }
        return hash;
    }

    function state({ evenFile }) {
        const book = bookText({ evenFile });
        return { book: book === null ? null : hashed(book), metadata: hashed(metadataText()) };
    }

    /** Whether the file of the bound lorebook is neither what this page read last nor what it wrote. */
    function isBehind() {
        const name = script.chat_metadata?.world_info;
        const own = name && lore.world_names?.includes(name) && get.call(cache, name);
        if (!own) {
            return false;
        }
        const file = plain(fileText(name));
        const mine = get.call(known, name);
        return file !== plain(JSON.stringify(own)) && Boolean(mine) && !mine.some((text) => plain(text) === file);
    }

    /** Without Forklore's mark and the order of keys. */
    function plain(text) {
        const sorted = (value) => {
            if (value === null || typeof value !== 'object') {
                return value;
            }
            return Array.isArray(value) ? value.map(sorted) : Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
        };
        const book = JSON.parse(text);
        if (book?.extensions) {
            delete book.extensions.forklore;
            if (Object.keys(book.extensions).length === 0) {
                delete book.extensions;
            }
        }
        return JSON.stringify(sorted(book));
    }

    // ---- Where it belongs ----

    const chatNow = () => `${script.getCurrentChatId()}|${script.chat_metadata?.integrity}`;
    const isReadable = () => chat && !isLoading && !isLooking && places && about === chatNow();
    const add = (list, hash) => hash && !list.includes(hash) && push.call(list, hash);

    /** Follows what has happened to the array since the last time: states stay where they are when messages move. */
    function follow(came = null) {
        const now = [];
        for (const message of chat) {
            if (!message.oracle?.id || now.includes(message.oracle.id)) {
                made += 1;
                message.oracle = { id: `${page}-${made}`, came: null, books: [], metadata: [] };
            }
            push.call(now, message.oracle.id);
        }
        if (!places) {
            places = chat.map(({ oracle }) => ({ ...oracle }));
            ids = now;
        }
        for (let at = ids.length - 1; at >= 0; at--) {
            if (!now.includes(ids[at])) {
                const [gone] = splice.call(places, at, 1);
                splice.call(ids, at, 1);
                if (at > 0) {
                    gone.books.forEach((hash) => add(places[at - 1].books, hash));
                    gone.metadata.forEach((hash) => add(places[at - 1].metadata, hash));
                }
            }
        }
        const before = new Set(ids);
        now.forEach((id, at) => {
            if (before.has(id)) {
                return;
            }
            // What is put in between arrives together with the one after it.
            const next = places[at]?.came;
            const place = at < places.length
                ? { came: next && { ...next }, books: next?.book ? [next.book] : [], metadata: next ? [next.metadata] : [] }
                : { came: came && { ...came }, books: [], metadata: [] };
            splice.call(places, at, 0, { id, ...place });
        });
        now.forEach((id, at) => {
            places[at].id = id;
            chat[at].oracle = places[at];
        });
        ids = now;
    }

    function note({ book, metadata }) {
        const last = places.at(-1);
        if (last) {
            add(last.books, book);
            add(last.metadata, metadata);
        }
    }

    function quietly(step) {
        isLooking = true;
        try {
            return step();
        } catch (error) {
            push.call(errors, String(error.stack));
            return undefined;
        } finally {
            isLooking = false;
        }
    }

    function glance() {
        if (isReadable() && chat.length) {
            quietly(() => {
                follow();
                note(state({ evenFile: false }));
            });
        }
    }

    // ---- What happens ----

    function around(isArrival, change) {
        if (!isReadable()) {
            return change();
        }
        const came = quietly(() => {
            follow();
            const held = state({ evenFile: true });
            note(held);
            return { ...held, isBehind: isArrival && isBehind() };
        });
        const result = change();
        quietly(() => follow(isArrival ? came : null));
        return result;
    }

    Array.prototype.push = function () {
        const change = () => push.apply(this, arguments);
        return chat && this === chat ? around(true, change) : change();
    };
    Array.prototype.splice = function () {
        const how = arguments;
        if (!chat || this !== chat) {
            return splice.apply(this, how);
        }
        if (how[0] === 0 && how[1] >= this.length) {
            isLoading = true;
            places = null;
            return splice.apply(this, how);
        }
        return around(how[0] >= this.length, () => splice.apply(this, how));
    };
    Map.prototype.set = function (key, value) {
        if (this !== cache || !cache) {
            return set.call(this, key, value);
        }
        glance();
        const result = set.call(this, key, value);
        glance();
        return result;
    };
    window.fetch = async function (resource, init) {
        const { pathname } = new URL(resource?.url ?? resource, location.href);
        const body = typeof init?.body === 'string' ? init.body : null;
        if (pathname === '/api/worldinfo/edit' && body) {
            const { name, data } = JSON.parse(body);
            set.call(known, name, [...get.call(known, name) ?? [], JSON.stringify(data)]);
        }
        if (pathname !== '/api/worldinfo/get' || !body) {
            return fetch.call(this, resource, init);
        }
        const { name } = JSON.parse(body);
        const seen = (text) => name === script?.chat_metadata?.world_info && isReadable() && quietly(() => note({ book: hashed(text) }));
        const last = isReadable() ? places.at(-1) : null;
        const response = await fetch.call(this, resource, init);
        if (response.ok) {
            const text = JSON.stringify(await response.clone().json());
            // What is still on its way to the file may be what is there next.
            set.call(known, name, [text, ...(get.call(known, name) ?? []).slice(-2)]);
            if (last && name === script.chat_metadata?.world_info) {
                add(last.books, hashed(text));
            }
            seen(text);
        }
        return response;
    };

    globalThis.oracle = {
        /** Puts a message at the end without any call that could be wrapped. @param {() => void} change */
        assigning: (change) => around(true, change),
        async open() {
            script = await import('/script.js');
            lore = await import('/scripts/world-info.js');
            ({ chat } = script);
            cache = lore.worldInfoCache;
            const opened = () => {
                isLoading = false;
                places = null;
                about = chatNow();
                quietly(() => {
                    follow();
                    note(state({ evenFile: true }));
                });
            };
            script.eventSource.makeFirst(script.event_types.CHAT_CHANGED, opened);
            opened();
            // Metadata changes without any call that could be wrapped.
            setInterval(glance, 30);
        },
        look() {
            glance();
            this.lookAtFile();
            const book = script.chat_metadata?.world_info ?? null;
            const hasFile = book && lore.world_names?.includes(book);
            const now = quietly(() => ({ ...state({ evenFile: true }), isBehind: isBehind() }));
            return {
                chat: script.getCurrentChatId(),
                places: structuredClone(places),
                now,
                book,
                file: hasFile ? hashed(fileText(book)) : null,
                messages: chat.map((message) => ({
                    isUser: message.is_user,
                    isSystem: message.is_system,
                    swipes: message.swipes?.length ?? 0,
                    swipe: message.swipe_id ?? 0,
                    hasCheckpoint: Boolean(message.extra?.bookmark_link),
                    said: message.mes,
                    name: message.name,
                })),
                errors,
            };
        },
        lookAtFile() {
            const book = script.chat_metadata?.world_info;
            if (isReadable() && book && lore.world_names?.includes(book)) {
                quietly(() => note({ book: hashed(fileText(book)) }));
            }
        },
    };
}
