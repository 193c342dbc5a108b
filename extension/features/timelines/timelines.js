// The families of a character or group as they are displayed: what the index knows, verified by the core.

import { textBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { integrityOf } from '../../sillytavern/metadata.js';
import { neededGhosts, recordOf } from './ghosts.js';
import { labelOf } from './labels.js';
import { TimelineWatch } from './timeline_watch.js';
/** @import { TimelineRecord } from '../../core/timeline_calls.js' */
/** @import { BookFate, Core, DeletedTimeline, Head, Host, OpenChat, Owner, Settings, TimelinesModel, TimelinesView } from '../../types.js' */
/** @import { Deletion, Trash } from '../trash/trash.js' */
/** @import { TimelineIndex } from './timeline_index.js' */

export class Timelines {
    /** @param {{host: Host, core: Core, index: TimelineIndex, trash: Trash, settings: Pick<Settings, 'cleanUp' | 'trashDays'>}} parts */
    constructor({ host, core, index, trash, settings }) {
        this.host = host;
        this.core = core;
        this.index = index;
        this.trash = trash;
        this.settings = settings;
    }

    /** Displays the families of the open chat's character or group immediately, and again whenever more is known. @param {TimelinesView} view */
    watch(view) {
        return new TimelineWatch(this, view);
    }

    /** Reads everything before it returns. */
    async readAll() {
        const watch = this.watch({ show: () => {}, note: () => {} });
        await watch.start();
        await watch.caughtUp;
        watch.stop();
        if (!watch.model) {
            throw wordError('no-chat');
        }
        return watch.model;
    }

    /** The open chat's head as it is in the page. @param {OpenChat} open @returns {Head} */
    headOfOpen(open) {
        const last = open.messages.at(-1);
        return {
            group: open.group, avatar: open.avatar, name: open.name, messages: open.messages.length, metadata: open.metadata,
            preview: String(last?.mes ?? ''), date: this.host.dateOf(last?.send_date),
        };
    }

    /** The names of all timelines, with the open one under the name that the page uses. @param {OpenChat} open */
    async names(open) {
        const stem = this.core.chatStem(open.name);
        const names = (await this.host.chatNames(open)).filter((name) => name !== open.name && name !== stem);
        return [open.name, ...names];
    }

    /**
     * @param {OpenChat} open @param {string[]} names @param {Map<string, TimelineRecord>} records
     * @param {Map<string, string>} books texts of books that were read, by key
     * @returns {TimelinesModel}
     */
    model(open, names, records, books) {
        const { group, avatar } = open;
        const label = this.host.owners().find((owner) => owner.group === group && owner.avatar === avatar)?.label ?? '';
        const ghosts = new Map(this.ghostsOf(open, names, records).map((ghost) => [ghost.name, ghost]));
        const ask = {
            group,
            character: avatar,
            open: open.name,
            names: [...names, ...ghosts.keys()],
            records: [...names.map((name) => records.get(name) ?? null), ...[...ghosts.values()].map(recordOf)],
            known: this.host.knownBooks().map((name) => ({ name, entries: this.cachedEntries(name) })),
        };
        const texts = [...books].map(([key, text]) => `${JSON.stringify(key)}:${text}`);
        const { timelines, families } = this.core.timelines(ask, textBytes(`{${texts.join(',')}}`));
        return {
            owner: { label, group, avatar },
            open: open.name,
            families: families.map((family) => ({ ...family, count: family.count - timelines.filter((one) => one.family === family.id && ghosts.has(one.id)).length })),
            timelines: timelines.map((timeline) => {
                const ghost = ghosts.get(timeline.id);
                const lost = ghosts.get(timeline.parent ?? '');
                return {
                    ...timeline,
                    label: labelOf(records.get(timeline.name)?.metadata),
                    differs: 0,
                    ...(ghost ? { kind: 'gone', message: ghost.message, findings: [] }
                        : lost && { findings: [...timeline.findings, { code: 'parent-missing', problem: false, values: { name: lost.name } }] }),
                };
            }),
        };
    }

    /** Those that hold a family together. @param {Owner} owner @param {string[]} names @param {Map<string, TimelineRecord>} records */
    ghostsOf(owner, names, records) {
        return neededGhosts(this.index.cacheOf(owner).ghosts.values(), names, records, (name) => this.index.nameKey(name));
    }

    /** The number of entries of a book in the page; null if the page has not loaded it. @param {string} name */
    cachedEntries(name) {
        const book = this.host.cachedBook(name);
        return book ? Object.keys(book.entries ?? {}).length : null;
    }

    // Events

    openSaved() {
        const open = this.host.openChat();
        if (open) {
            this.index.learn([this.headOfOpen(open)]);
        }
    }

    /** Another chat was saved: reads it again. @param {Owner} owner @param {string} name */
    async saved(owner, name) {
        this.index.forget(owner, [name]);
        this.index.learn(await this.host.chatHeadsOf(owner, [name]));
    }

    /** A chat is about to be deleted: afterwards, nothing says any more what it was forked from. @param {Owner} owner @param {string} name */
    async beforeDeletion(owner, name) {
        if (!(await this.index.of(owner)).has(name)) {
            this.index.learn(await this.host.chatHeadsOf(owner, [name]));
        }
    }

    // What the user asks for

    async open(/** @type {string} */ name) {
        if (this.host.openChat()?.name !== name) {
            await this.host.openByName(name);
        }
    }

    /** @param {string} from @param {string} typed @returns {Promise<string | null>} its new name, or null if it keeps the old one */
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
        const owner = { group: open.group, avatar: open.avatar };
        await this.host.renameChat(owner, from, to);
        if (!(await this.host.chatNames(owner)).includes(to)) {
            return null;
        }
        const [header] = await this.host.readChat(owner, to);
        const integrity = header?.chat_metadata ? integrityOf(header.chat_metadata) : null;
        // It is done already, and must not fail because it cannot be undone.
        await this.trash.keep({ why: { code: 'rename', from, to }, books: [], renamed: { ...owner, from, to, integrity } }).catch((error) => console.warn('Forklore:', error));
        return to;
    }

    /** What will happen to a timeline's book if the timeline is deleted. @param {string} name */
    async fateOf(name) {
        const [fate] = await this.fatesOf([name]);
        return /** @type {BookFate} */ (fate);
    }

    /** The same if several are deleted, one after the other. @param {string[]} names */
    async fatesOf(names) {
        const records = await this.index.of(this.requireOpenChat());
        const books = await this.host.listBooks();
        const others = [...records.values()].map(({ name, metadata }) => ({ name, metadata }));
        return names.map((name, at) => this.core.bookFate({
            name,
            records: others.filter((other) => !names.slice(0, at).includes(other.name)),
            books,
            references: this.host.bookReferences(),
            cleanUp: this.settings.cleanUp,
        }));
    }

    /**
     * Deletes a timeline; it is kept in the trash, unless it has to be gone for good.
     * @param {string} name @param {{isForGood?: boolean, isOneOfSeveral?: boolean}} [options] one of several: nothing is said about it alone
     * @returns {Promise<DeletedTimeline>}
     */
    async delete(name, { isForGood = false, isOneOfSeveral = false } = {}) {
        const open = this.requireOpenChat();
        if (open.name === name) {
            throw wordError('delete-open');
        }
        const owner = { group: open.group, avatar: open.avatar };
        const isKept = !isForGood && this.settings.trashDays > 0;
        const token = isKept ? await this.trash.keepChat({ ...owner, name }) : null;
        /** @type {Deletion} */
        const deletion = { isForGood, token, isOneOfSeveral };
        this.trash.deletions.set(name, deletion);
        try {
            await this.host.deleteChat(owner, name);
        } finally {
            this.trash.deletions.delete(name);
        }
        if ((await this.host.readChat(owner, name)).length) {
            if (token) {
                await this.trash.drop(token);
            }
            throw wordError('not-deleted', { name });
        }
        if (isOneOfSeveral) {
            await deletion.cleaning;
        }
        return { token, books: deletion.removed ?? [] };
    }

    requireOpenChat() {
        const open = this.host.openChat();
        if (!open) {
            throw wordError('no-chat');
        }
        return open;
    }
}
