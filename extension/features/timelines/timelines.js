// The families of a character or group as they are displayed: what the index knows, verified by the core.

import { textBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { OWN_CODES } from './timeline_index.js';
import { TimelineWatch } from './timeline_watch.js';

/** Findings that need the book to be read. */
const NEED_THE_BOOK = ['book-edited', 'book-unreadable', 'book-bom', 'registry', 'queue-past-end'];

const NOT_READ_YET = '{"entries":{}}';

/**
 * One timeline, as it is displayed.
 * @typedef {object} ShownTimeline
 * @property {string} id its name or, for a parent that is gone, something that cannot be a name
 * @property {string} name
 * @property {string | null} parent an id
 * @property {string} family the id of its root
 * @property {'main' | 'checkpoint' | 'branch' | 'fork' | 'gone'} kind
 * @property {number | null} message where it was forked
 * @property {number} messages
 * @property {string} preview
 * @property {number | null} date
 * @property {string | null} made
 * @property {string | null} book
 * @property {number | null} entries
 * @property {object | null} part how well its book is known
 * @property {object[]} findings
 * @property {boolean} isOpen
 * @property {boolean} isRead whether its header was read
 */

export class Timelines {
    /** @param {{host: object, core: object, index: import('./timeline_index.js').TimelineIndex, settings: object}} parts */
    constructor(parts) {
        Object.assign(this, parts);
    }

    /**
     * Displays the families of the open chat's character or group immediately, and again whenever more is known.
     * @param {{show: (model: object) => void, note: (progress: {what: 'headers' | 'books', done: number, total: number} | null) => void}} view
     */
    watch(view) {
        return new TimelineWatch(this, view);
    }

    /** Reads everything before it returns. */
    async readAll() {
        let model = null;
        const watch = this.watch({ show: (shown) => { model = shown; }, note: () => {} });
        await watch.start();
        await watch.caughtUp;
        watch.stop();
        return model;
    }

    /** The open chat's head as it is in the page. */
    headOfOpen(open) {
        const last = open.messages.at(-1);
        return {
            group: open.group, avatar: open.avatar, name: open.name, messages: open.messages.length, metadata: open.metadata,
            preview: String(last?.mes ?? ''), date: this.host.dateOf(last?.send_date),
        };
    }

    /** The names of all timelines, with the open one under the name that the page uses. */
    async names(open) {
        const stem = this.core.chatStem(open.name);
        const names = (await this.host.chatNames(open)).filter((name) => name !== open.name && name !== stem);
        return [open.name, ...names];
    }

    /**
     * @param {object} open
     * @param {string[]} names
     * @param {Map<string, object>} records
     * @param {Map<string, string>} books texts of books that were read, by key
     */
    model(open, names, records, books) {
        const heads = names.map((name) => records.get(name) ?? { name, messages: 0, preview: '', date: null, metadata: undefined, own: [] });
        const verified = this.verify(open, heads, books);
        const owner = this.host.owners().find(({ group, avatar }) => group === open.group && avatar === open.avatar);
        const timelines = withGhosts(heads.map((head, at) => this.shown(open, head, verified[at], books)));
        return {
            owner: { label: owner?.label ?? '', group: open.group, avatar: open.avatar },
            open: open.name,
            timelines,
            families: familiesOf(timelines),
        };
    }

    verify(open, heads, books) {
        const there = new Set(this.host.knownBooks().map((name) => this.core.bookKey(name)));
        const texts = [...there].map((key) => `${JSON.stringify(key)}:${books.get(key) ?? NOT_READ_YET}`);
        const timelines = heads.map(({ name, messages, metadata }) =>
            ({ name, group: open.group, character: open.avatar, messages, metadata: metadata ?? {} }));
        return this.core.verify({ timelines }, textBytes(`{${texts.join(',')}}`));
    }

    /** @returns {ShownTimeline} */
    shown(open, head, verified, books) {
        const { metadata } = head;
        const seal = metadata?.forklore;
        const book = metadata?.world_info || null;
        const isBookRead = !book || books.has(this.core.bookKey(book));
        const without = [...OWN_CODES, ...(isBookRead ? [] : NEED_THE_BOOK)];
        const findings = [...verified.findings.filter(({ code }) => !without.includes(code)), ...head.own];
        return {
            id: head.name,
            name: head.name,
            parent: verified.parent ?? null,
            family: '',
            kind: verified.kind,
            message: verified.forkPoint ?? null,
            messages: head.messages,
            preview: head.preview,
            date: head.date,
            made: typeof seal?.made === 'string' ? seal.made : null,
            book,
            entries: book ? this.entriesOf(book, isBookRead ? verified.entries : undefined, seal) : null,
            part: book && seal?.book?.exactness ? partOf(seal) : null,
            findings: metadata === undefined ? [] : metadata === null ? [UNREADABLE] : findings,
            isOpen: head.name === open.name,
            isRead: metadata !== undefined,
        };
    }

    /** The number of entries: as read, as in the page, or as recorded in the seal; null if unknown. */
    entriesOf(book, read, seal) {
        const seen = this.host.cachedBook(book);
        return read ?? (seen ? Object.keys(seen.entries ?? {}).length : seal?.book?.name === book ? seal.book.entries : null);
    }

    // Events

    openSaved() {
        const open = this.host.openChat();
        if (open) {
            this.index.learn([this.headOfOpen(open)]);
        }
    }

    /** Another chat was saved: reads it again. */
    async saved(owner, name) {
        this.index.forget(owner, [name]);
        this.index.learn(await this.host.chatHeadsOf(owner, [name]));
    }

    // What the user asks for

    async open(name) {
        if (this.host.openChat()?.name !== name) {
            await this.host.openByName(name);
        }
    }

    /** @returns {Promise<string | null>} its new name, or null if it keeps the old one */
    async rename(from, typed) {
        const open = this.requireOpenChat();
        const to = this.core.chatStem(typed.trim());
        if (!to) {
            throw wordError('name-not-possible', { name: typed });
        }
        if (to === from) {
            return null;
        }
        const names = await this.host.chatNames(open);
        if (names.some((name) => name !== from && name.toLowerCase() === to.toLowerCase())) {
            throw wordError('name-taken', { name: to });
        }
        await this.host.renameChat({ group: open.group, avatar: open.avatar }, from, to);
        return (await this.host.chatNames(open)).includes(to) ? to : null;
    }

    /**
     * What will happen to a timeline's book if the timeline is deleted.
     * @returns {Promise<{fate: 'none' | 'trash' | 'kept', book: string | null, why?: 'off' | 'not-ours' | 'used' | 'selected', by?: string[]}>}
     */
    async fateOf(name) {
        const open = this.requireOpenChat();
        const records = await this.index.of(open);
        const book = records.get(name)?.metadata?.world_info || null;
        const key = book && this.core.bookKey(book);
        const found = book && (await this.host.listBooks()).find((listed) => this.core.bookKey(listed.name) === key);
        if (!found) {
            return { fate: 'none', book };
        }
        const isUser = (record) => record.name !== name && record.metadata?.world_info && this.core.bookKey(record.metadata.world_info) === key;
        const by = [...records.values()].filter(isUser).map((record) => record.name);
        const isSelected = this.host.bookReferences().some((reference) => this.core.bookKey(reference.book) === key);
        const why = by.length ? 'used' : isSelected ? 'selected' : !found.extensions?.forklore?.format ? 'not-ours' : !this.settings.cleanUp ? 'off' : null;
        return why ? { fate: 'kept', book, why, by } : { fate: 'trash', book };
    }

    async delete(name) {
        const open = this.requireOpenChat();
        if (open.name === name) {
            throw wordError('delete-open');
        }
        await this.host.deleteChat({ group: open.group, avatar: open.avatar }, name);
    }

    requireOpenChat() {
        const open = this.host.openChat();
        if (!open) {
            throw wordError('no-chat');
        }
        return open;
    }
}

const UNREADABLE = { code: 'header-unreadable', values: {}, problem: true };

/** Adds parents that no longer exist, because they connect their children. */
function withGhosts(timelines) {
    const ghosts = new Map();
    for (const timeline of timelines) {
        const gone = timeline.parent === null && timeline.findings.find(({ code }) => code === 'parent-missing')?.values?.name;
        if (gone) {
            // No file name contains a slash.
            const id = `/${gone.toLowerCase()}`;
            ghosts.set(id, ghost(id, gone));
            timeline.parent = id;
        }
    }
    const all = [...timelines, ...ghosts.values()];
    const byId = new Map(all.map((timeline) => [timeline.id, timeline]));
    for (const timeline of all) {
        let root = timeline;
        while (root.parent !== null && byId.has(root.parent)) {
            root = byId.get(root.parent);
        }
        timeline.family = root.id;
    }
    return all;
}

function ghost(id, name) {
    return {
        id, name, parent: null, family: id, kind: 'gone', message: null, messages: 0, preview: '', date: null, made: null,
        book: null, entries: null, part: null, findings: [], isOpen: false, isRead: true,
    };
}

/** The open chat's family first, then the most recently continued ones. */
function familiesOf(timelines) {
    const families = new Map();
    for (const { id, name, family, kind, date, isOpen, findings } of timelines) {
        const known = families.get(family) ?? { id: family, name: '', count: 0, problems: 0, date: 0, hasOpen: false };
        known.name = id === family ? name : known.name;
        known.count += kind === 'gone' ? 0 : 1;
        known.problems += findings.some(({ problem }) => problem) ? 1 : 0;
        known.date = Math.max(known.date, date ?? 0);
        known.hasOpen ||= isOpen;
        families.set(family, known);
    }
    return [...families.values()].sort((one, other) => Number(other.hasOpen) - Number(one.hasOpen) || other.date - one.date);
}

/** How well a timeline's book was known when it was forked. */
function partOf({ book: { exactness, as_of, settled_at, source }, parent }) {
    return { exactness, as_of, settled_at, source, ...(exactness === 'snapshot' && as_of === parent?.message ? { here: true } : {}) };
}

/** Where a chat was forked from, according to its seal; `null` if it was not forked by Forklore. */
export function originOf(seal) {
    const { kind, parent, made, running_recap: recap, combined_recap: combined } = seal ?? {};
    if (!['checkpoint', 'branch'].includes(kind) || typeof parent?.chat !== 'string') {
        return null;
    }
    const number = (value) => (typeof value === 'number' ? value : null);
    return {
        kind,
        parent: parent.chat,
        message: number(parent.message),
        made: Date.parse(made),
        recap: number(recap?.version),
        scenes: number(recap?.scenes),
        combined: number(combined?.messages),
    };
}
