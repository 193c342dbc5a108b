// Finds books made by Forklore that nothing refers to any more. Everything that can refer to a book is read first;
// whatever cannot be read counts as a reference to all of them.

import { slimMessage } from '../core/chat.js';
import { bytesText } from '../core/json.js';

/** The entry in which ST-Auto-Recap keeps its queue. */
export const QUEUE = '__operation_queue';

export class Cleanup {
    /** @param {{host: object, core: object, trash: object, leftBehind?: () => string[]}} parts */
    constructor(parts) {
        Object.assign(this, parts);
    }

    /** Books with Forklore's mark: all of them, or those with these names. */
    async ownBooks(names = null) {
        const wanted = names && new Set([...names].map((name) => this.core.bookKey(name)));
        const listed = await this.host.listBooks();
        return listed
            .filter((book) => book.extensions?.forklore?.format && (!wanted || wanted.has(this.core.bookKey(book.name))))
            .map((book) => ({ name: book.name, madeFor: String(book.extensions.forklore.chat ?? ''), bytes: 0 }));
    }

    /** @param {(chat: object) => boolean} [isGone] true for chats that the page still shows although they were deleted */
    async plan(names = null, isGone = () => false) {
        const ours = await this.ownBooks(names);
        if (ours.length === 0) {
            return { remove: [], keep: [], unread: [] };
        }
        for (const book of ours) {
            book.bytes = (await this.host.readBook(book.name)).length;
        }
        const { references, unread } = await this.gatherReferences(isGone);
        // Removed books go to the trash, so a chat that the user restores from a backup can still get its book back.
        return this.core.cleanup({ ours, references, unread, despiteBackups: true });
    }

    async gatherReferences(isGone) {
        const references = this.host.bookReferences();
        const unread = [];
        const heads = await this.host.allChatHeads();
        const open = this.host.openChat();
        if (open && !isGone(open)) {
            heads.push({ ...open, messages: open.messages.length });
        }
        // A character can be deleted without its chats: they still exist, but nothing lists them any more.
        const leftBehind = (this.leftBehind?.() ?? []).map((avatar) => ({ group: null, avatar, label: avatar }));
        for (const owner of [...this.host.owners(), ...leftBehind]) {
            const seen = new Set(heads.filter((head) => head.group === owner.group && head.avatar === owner.avatar).map((head) => head.name));
            const names = await this.host.chatNames(owner).catch(() => null);
            if (!names) {
                unread.push(owner.label);
            }
            for (const name of names ?? []) {
                if (!seen.has(name) && !seen.has(this.core.chatStem(name))) {
                    heads.push({ ...owner, name, metadata: undefined });
                }
            }
        }
        for (const head of heads) {
            await this.addReferences(head, references, unread);
        }
        return { references, unread };
    }

    async addReferences(head, references, unread) {
        let { metadata } = head;
        let lines = null;
        const readLines = async () => (lines ??= await this.host.readChat(head, head.name));
        try {
            metadata ??= (await readLines())[0]?.chat_metadata;
            if (!metadata) {
                // A listed chat that has no content was deleted since, or cannot be read.
                if ((await readLines()).length > 0) {
                    unread.push(head.name);
                }
                return;
            }
            const add = (book, place) => book && references.push({ book: String(book), place, name: head.name, owner: head.group ?? head.avatar ?? '' });
            add(metadata.world_info, 'chat');
            const recap = metadata.auto_lorebooks?.lorebookName;
            add(recap, 'recap');
            this.core.memoryBooksNamed({ STMemoryBooks: metadata.STMemoryBooks }).forEach((name) => add(name, 'memories'));
            if (metadata.auto_lorebooks || metadata.auto_recap_running_scene_recaps) {
                const names = this.core.booksNamed((await readLines()).slice(1).map(slimMessage), await this.queueOf(metadata.world_info));
                names.forEach((name) => add(name, 'recap'));
            }
        } catch (error) {
            console.warn('Forklore: could not read', head.name, error);
            unread.push(head.name);
        }
    }

    async queueOf(name) {
        if (!name || !this.host.knownBooks().includes(name)) {
            return '';
        }
        const book = this.host.cachedBook(name) ?? JSON.parse(bytesText(await this.host.readBook(name)));
        const entry = Object.values(book.entries ?? {}).find((entry) => entry?.comment === QUEUE);
        return String(entry?.content ?? '');
    }

    /** @returns {Promise<{removed: string[], undo: string | null}>} */
    async clean(names = null, why = 'clean', isGone = () => false) {
        const { remove } = await this.plan(names, isGone);
        const removed = remove.map((book) => book.name);
        const undo = removed.length ? await this.trash.remove(removed, why) : null;
        return { removed, undo };
    }

    /** The books of chats that are about to be deleted. */
    async booksOf(owner, names) {
        const books = [];
        for (const name of names) {
            const [header] = await this.host.readChat(owner, name);
            const { world_info: book, STMemoryBooks } = header?.chat_metadata ?? {};
            books.push(...[book, ...this.core.memoryBooksNamed({ STMemoryBooks })].filter(Boolean));
        }
        return books;
    }
}
