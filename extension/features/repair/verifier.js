// Verifies timelines. Only headers are read, never whole chats.

import { bytesText, textBytes } from '../../core/json.js';

/** If a character or group has more chats than this, they are only verified on request. */
const MAX_CHATS_OF_OWNER = 60;

/** SillyTavern reads whole chats to list their headers; this many bytes take it a moment. */
const MAX_BYTES_OF_ALL = 32 * 1024 * 1024;

/**
 * Which chats were taken into account: the open one, all of its character or group, or all there are.
 * @typedef {'open' | 'owner' | 'all'} Reach
 */

export class Verifier {
    /** @param {{host: object, core: object, index: import('../timelines/timeline_index.js').TimelineIndex}} parts */
    constructor(parts) {
        Object.assign(this, parts);
    }

    /** The chats of the open chat's character or group, the open one first and as it is in the page. */
    async heads(open, listed = null) {
        const isOther = (name) => name !== open.name && name !== this.core.chatStem(open.name);
        // Listing chats reads all of them, and the open one alone can be a hundred megabytes.
        const heads = listed ?? ((await this.host.chatNames(open)).some(isOther) ? await this.host.chatHeads(open) : []);
        return [liveHead(open), ...heads.filter((head) => isOther(head.name))];
    }

    /** The core's findings about these timelines. @param {Set<string> | null} wanted books to read; all if null */
    async verify(heads, { wanted = null, progress = () => {} } = {}) {
        const listed = await this.host.listBooks();
        const used = new Set(heads.map((head) => head.metadata?.world_info).filter(Boolean).map((name) => this.core.bookKey(name)));
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
        return this.core.verify({ timelines: heads.map(timelineOf) }, textBytes(`{${texts.join(',')}}`));
    }

    /** How many chats may be taken into account without the user asking for it. @returns {Promise<Reach>} */
    async reach(open) {
        if (open.book && this.host.bytesOfChats() <= MAX_BYTES_OF_ALL) {
            return 'all';
        }
        const names = await this.host.chatNames(open);
        return names.length <= MAX_CHATS_OF_OWNER ? 'owner' : 'open';
    }

    /**
     * The open chat, its findings, and the chats that use its book.
     * @param {{reach?: Reach, listed?: object[] | null}} [options] `listed`: all chats, if they have just been listed
     * @returns {Promise<{chat: string, findings: object[], entries: number, heads: object[], verified: object[], reach: Reach}>}
     *          `reach` is smaller than requested if a chat could not be read
     */
    async verifyOpen(open, { reach = 'owner', listed = null } = {}) {
        const all = reach === 'all' ? listed ?? await this.host.allChatHeads() : [];
        const owned = reach === 'open' ? await this.rememberedHeads(open) : await this.heads(open, reach === 'all' ? all.filter((head) => isOf(head, open)) : null);
        const others = all.filter((head) => !isOf(head, open));
        const heads = [...owned, ...others.filter((head) => this.uses(head, open.book))];
        const key = open.book ? this.core.bookKey(open.book) : null;
        const verified = await this.verify(heads, { wanted: new Set(key ? [key] : []) });
        const [mine] = verified;
        const findings = reach === 'open' ? mine.findings.filter((found) => found.code !== 'parent-missing') : mine.findings;
        const isRead = (head) => Boolean(head.metadata);
        const reached = !owned.every(isRead) ? 'open' : reach === 'all' && !others.every(isRead) ? 'owner' : reach;
        return { chat: open.name, findings, entries: mine.entries ?? 0, heads, verified, reach: reached };
    }

    /** The open chat, and the chats that used its book when last seen and still do. */
    async rememberedHeads(open) {
        const records = [...(await this.index.of(open)).values()];
        const names = records.filter((record) => record.name !== open.name && this.uses(record, open.book)).map((record) => record.name);
        const heads = names.length ? await this.host.chatHeadsOf(open, names) : [];
        return [liveHead(open), ...heads.filter((head) => this.uses(head, open.book))];
    }

    uses({ metadata }, book) {
        return this.core.sameBook(metadata?.world_info, book);
    }

    async verifyAll(progress = () => {}) {
        const heads = await this.host.allChatHeads();
        const verified = await this.verify(heads, { progress });
        const labels = new Map(this.host.owners().map((owner) => [owner.group ?? owner.avatar, owner.label]));
        const results = verified.map((found, at) => {
            const id = heads[at].group ?? heads[at].avatar;
            return { chat: found.name, owner: id, ownerName: labels.get(id) ?? '', findings: found.findings };
        });
        return { results, heads };
    }

    /** The chats that share the open chat's book: the one that keeps it, and the ones to split off. */
    async sharing(open, { family }) {
        const heads = await this.heads(open);
        const { keeper, split } = this.core.splitOff({ timelines: heads.map(timelineOf), family });
        return { keeper, heads: split.map((at) => heads[at]) };
    }
}

function timelineOf({ name, group, avatar, messages, metadata }) {
    return { name, group, character: avatar, messages, metadata: metadata ?? {} };
}

/** The open chat as it is in the page now. The metadata is copied, because the chat may be rebound in the meantime. */
function liveHead({ group, avatar, name, messages, metadata }) {
    return { group, avatar, name, messages: messages.length, metadata: { ...metadata } };
}

/** Whether a chat belongs to the same character or group. */
function isOf(head, { group, avatar }) {
    return (head.group ?? null) === (group ?? null) && (head.avatar ?? null) === (avatar ?? null);
}
