// Verifies timelines. Only headers are read, never whole chats.

import { bytesText, textBytes } from '../../core/json.js';
import { boundBook } from '../../sillytavern/metadata.js';
/** @import { Core, Head, Host, OpenChat, Owner, Reach, ShortHead } from '../../types.js' */

/** If a character or group has more chats than this, they are only verified on request. */
const MAX_CHATS_OF_OWNER = 60;

/** SillyTavern reads whole chats to list their headers; this many bytes take it a moment. */
const MAX_BYTES_OF_ALL = 32 * 1024 * 1024;

/** @typedef {{name: string, metadata?: ST.Metadata | null}} BoundChat */

export class Verifier {
    /** @param {{host: Host, core: Core, index: {of: (owner: Owner) => Promise<Map<string, BoundChat>>}}} parts */
    constructor({ host, core, index }) {
        this.host = host;
        this.core = core;
        this.index = index;
    }

    /**
     * The chats of the open chat's character or group, the open one first and as it is in the page.
     * @param {OpenChat} open @param {Head[] | null} [listed] @returns {Promise<ShortHead[]>}
     */
    async heads(open, listed = null) {
        const isOther = (/** @type {string} */ name) => name !== open.name && name !== this.core.chatStem(open.name);
        // Listing chats reads all of them, and the open one alone can be a hundred megabytes.
        const heads = listed ?? ((await this.host.chatNames(open)).some(isOther) ? await this.host.chatHeads(open) : []);
        return [liveHead(open), ...heads.filter((head) => isOther(head.name))];
    }

    /**
     * The core's findings about these timelines.
     * @param {ShortHead[]} heads
     * @param {{wanted?: Set<string> | null, progress?: (done: number, total: number) => void}} [options] `wanted`: books to read; all if null
     */
    async verify(heads, { wanted = null, progress = () => {} } = {}) {
        const listed = await this.host.listBooks();
        const used = new Set(heads.flatMap((head) => boundBook(head.metadata) ?? []).map((name) => this.core.bookKey(name)));
        const needed = listed.filter((book) => {
            const key = this.core.bookKey(book.name);
            return used.has(key) && (!wanted || wanted.has(key));
        });
        const texts = [];
        for (const [done, book] of needed.entries()) {
            progress(done, needed.length);
            const text = await this.host.readBook(book.name).then(bytesText, () => 'null');
            texts.push(`${JSON.stringify(book.name)}:${text}`);
        }
        progress(needed.length, needed.length);
        return this.core.verify({ timelines: heads.map((head) => ({ ...timelineOf(head), messages: head.messages })) }, textBytes(`{${texts.join(',')}}`));
    }

    /** How many chats may be taken into account without the user asking for it. @param {OpenChat} open @returns {Promise<Reach>} */
    async reach(open) {
        if (open.book && this.host.bytesOfChats() <= MAX_BYTES_OF_ALL) {
            return 'all';
        }
        const names = await this.host.chatNames(open);
        return names.length <= MAX_CHATS_OF_OWNER ? 'owner' : 'open';
    }

    /**
     * The open chat, its findings, and the chats that use its book.
     * @param {OpenChat} open
     * @param {{reach?: Reach, listed?: Head[] | null}} [options] `listed`: all chats, if they have just been listed
     * @returns `reach` is smaller than requested if a chat could not be read
     */
    async verifyOpen(open, { reach = 'owner', listed = null } = {}) {
        const all = reach === 'all' ? listed ?? await this.host.allChatHeads() : [];
        const owned = reach === 'open' ? await this.rememberedHeads(open) : await this.heads(open, reach === 'all' ? all.filter((head) => isOf(head, open)) : null);
        const others = all.filter((head) => !isOf(head, open));
        const heads = [...owned, ...others.filter((head) => this.uses(head, open.book))];
        const key = open.book ? this.core.bookKey(open.book) : null;
        const verified = await this.verify(heads, { wanted: new Set(key ? [key] : []) });
        const mine = verified[0]?.findings ?? [];
        const findings = reach === 'open' ? mine.filter((found) => found.code !== 'parent-missing') : mine;
        const isRead = (/** @type {ShortHead} */ head) => Boolean(head.metadata);
        /** @type {Reach} */
        const reached = !owned.every(isRead) ? 'open' : reach === 'all' && !others.every(isRead) ? 'owner' : reach;
        return { chat: open.name, findings, entries: verified[0]?.entries ?? 0, heads, verified, reach: reached };
    }

    /** The open chat, and the chats that used its book when last seen and still do. @param {OpenChat} open */
    async rememberedHeads(open) {
        const records = [...(await this.index.of(open)).values()];
        const names = records.filter((record) => record.name !== open.name && this.uses(record, open.book)).map((record) => record.name);
        const heads = names.length ? await this.host.chatHeadsOf(open, names) : [];
        return [liveHead(open), ...heads.filter((head) => this.uses(head, open.book))];
    }

    uses(/** @type {Pick<BoundChat, 'metadata'>} */ { metadata }, /** @type {string | null} */ book) {
        return this.core.sameBook(boundBook(metadata), book);
    }

    /** @param {(done: number, total: number) => void} [progress] */
    async verifyAll(progress) {
        const heads = await this.host.allChatHeads();
        const verified = await this.verify(heads, { progress });
        const labels = new Map(this.host.owners().map((owner) => [owner.group ?? owner.avatar, owner.label]));
        const results = heads.map(({ name, group, avatar }, at) => {
            const owner = group ?? avatar ?? '';
            return { chat: name, owner, ownerName: labels.get(owner) ?? '', findings: verified[at]?.findings ?? [] };
        });
        return { results, heads };
    }

    /** The chats that share the open chat's book: the one that keeps it, and the ones to split off. @param {OpenChat} open */
    async sharing(open, { family = false }) {
        const heads = await this.heads(open);
        const { keeper, split } = this.core.splitOff({ timelines: heads.map(timelineOf), family });
        return { keeper, heads: split.flatMap((at) => heads[at] ?? []) };
    }
}

function timelineOf(/** @type {ShortHead} */ { name, group, avatar, metadata }) {
    return { name, group, character: avatar, metadata: metadata ?? {} };
}

/** The open chat as it is in the page now. The metadata is copied, because the chat may be rebound in the meantime. @param {OpenChat} open @returns {ShortHead} */
function liveHead({ group, avatar, name, messages, metadata }) {
    return { group, avatar, name, messages: messages.length, metadata: { ...metadata } };
}

/** Whether a chat belongs to the same character or group. @param {Owner} head @param {Owner} open */
function isOf(head, { group, avatar }) {
    return head.group === group && head.avatar === avatar;
}
