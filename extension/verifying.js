// Are timelines what they should be? Headers are read, never whole chats.

import { bytesText, textBytes } from './core.js';

export class Verifying {
    /** @param {{host: object, core: object}} parts */
    constructor(parts) {
        Object.assign(this, parts);
    }

    /** The chats of the open chat's character or group, with the open one as it is in the page. */
    async heads(open) {
        const heads = await this.host.chatHeads(open);
        const live = { group: open.group, avatar: open.avatar, name: open.name, messages: open.messages.length, metadata: open.metadata };
        const rest = heads.filter((head) => head.name !== open.name && head.name !== this.core.chatStem(open.name));
        return [live, ...rest];
    }

    /** What the core finds about these timelines. @param {Set<string> | null} wanted books to look into; all when null */
    async look(heads, { wanted = null, progress = () => {} } = {}) {
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
        const timelines = heads.map((head) => ({
            name: head.name,
            group: head.group,
            character: head.avatar,
            messages: head.messages,
            metadata: head.metadata ?? {},
        }));
        return this.core.verify({ timelines }, textBytes(`{${texts.join(',')}}`));
    }

    /** The open chat, its findings and who shares its book. */
    async open(open, { withFamily = true } = {}) {
        const heads = withFamily ? await this.heads(open) : [(await this.liveOnly(open))];
        const key = open.book ? this.core.bookKey(open.book) : null;
        const looked = await this.look(heads, { wanted: new Set(key ? [key] : []) });
        const [mine] = looked;
        const findings = withFamily ? mine.findings : mine.findings.filter((found) => found.code !== 'parent-missing');
        return { chat: open.name, findings, entries: mine.entries ?? 0, heads, looked };
    }

    async liveOnly(open) {
        return { group: open.group, avatar: open.avatar, name: open.name, messages: open.messages.length, metadata: open.metadata };
    }

    async all(progress = () => {}) {
        const heads = await this.host.allChatHeads();
        const looked = await this.look(heads, { progress });
        const labels = new Map(this.host.owners().map((owner) => [owner.group ?? owner.avatar, owner.label]));
        return looked.map((found, at) => {
            const id = heads[at].group ?? heads[at].avatar;
            return { chat: found.name, owner: id, ownerName: labels.get(id) ?? '', findings: found.findings };
        });
    }

    /** Chats that share the open chat's book, the one that keeps it, and those to be split. */
    async sharing(open, { family }) {
        const { heads, looked } = await this.open(open);
        const mine = looked[0];
        const key = open.book ? this.core.bookKey(open.book) : null;
        const users = heads.map((head, at) => ({ head, found: looked[at] })).filter(({ head, found }) =>
            found.family === mine.family && key && head.metadata?.world_info && this.core.bookKey(head.metadata.world_info) === key);
        const keeper = users.find(({ found }) => found.keeps)?.head.name ?? null;
        const toSplit = family ? users.filter(({ found }) => !found.keeps) : users.filter(({ head }) => head.name === open.name);
        return { keeper: family ? keeper : keeper === open.name ? null : keeper, heads: toSplit.map(({ head }) => head) };
    }
}
