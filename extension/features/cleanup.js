// Finds books made by Forklore that nothing refers to any more. Everything that can refer to a book is read first;
// whatever cannot be read counts as a reference to all of them.

import { slimMessage } from '../core/chat.js';
import { toBytes } from '../core/json.js';
import { boundBook } from '../sillytavern/metadata.js';
/** @import { CleanupAsk } from '../core/timeline_calls.js' */
/** @import { ChatId, CleanupPlan, Core, Host, OurBook, Owner, ShortHead, Why } from '../types.js' */
/** @import { Deletion, Trash } from './trash/trash.js' */
/** @typedef {ChatId & Pick<ShortHead, 'metadata'>} ChatHead */
/** @typedef {Pick<CleanupAsk, 'references' | 'unread'>} Found */
/** @typedef {(chat: ChatHead) => boolean} IsGone true for chats that the page still shows although they were deleted */

export class Cleanup {
    /** @param {{host: Host, core: Core, trash: Pick<Trash, 'remove'>, leftBehind?: () => string[]}} parts */
    constructor({ host, core, trash, leftBehind = () => [] }) {
        this.host = host;
        this.core = core;
        this.trash = trash;
        this.leftBehind = leftBehind;
    }

    /** Books with Forklore's mark: all of them, or those with these names. @param {string[] | null} names @returns {Promise<OurBook[]>} */
    async ownBooks(names) {
        const listed = (await this.host.listBooks()).filter(({ name }) => !names || names.some((wanted) => this.core.sameBook(name, wanted)));
        return listed.flatMap(({ name, extensions: { forklore: mark } }) => (isMark(mark) ? [{ name, madeFor: String(mark.chat ?? ''), bytes: 0 }] : []));
    }

    /** @param {string[] | null} [names] @param {IsGone} [isGone] @returns {Promise<CleanupPlan>} */
    async plan(names = null, isGone = () => false) {
        const ours = await this.ownBooks(names);
        if (ours.length === 0) {
            return { remove: [], keep: [], unread: [] };
        }
        for (const book of ours) {
            book.bytes = (await this.host.readBook(book.name)).length;
        }
        const { references, unread } = await this.gatherReferences(isGone);
        return this.core.cleanup({ ours, references, unread });
    }

    async gatherReferences(/** @type {IsGone} */ isGone) {
        const found = /** @type {Found} */ ({ references: this.host.bookReferences(), unread: [] });
        const heads = /** @type {ChatHead[]} */ (await this.host.allChatHeads());
        const open = this.host.openChat();
        if (open && !isGone(open)) {
            heads.push(open);
        }
        // A character can be deleted without its chats: they still exist, but nothing lists them any more.
        const leftBehind = this.leftBehind().map((avatar) => ({ group: null, avatar, label: avatar }));
        for (const owner of [...this.host.owners(), ...leftBehind]) {
            const seen = new Set(heads.filter((head) => head.group === owner.group && head.avatar === owner.avatar).map((head) => head.name));
            const names = await this.host.chatNames(owner).catch(() => null);
            if (!names) {
                found.unread.push(owner.label);
            }
            for (const name of names ?? []) {
                if (!seen.has(name) && !seen.has(this.core.chatStem(name) ?? name)) {
                    heads.push({ ...owner, name });
                }
            }
        }
        for (const head of heads) {
            await this.addReferences(head, found);
        }
        return found;
    }

    /** @param {ChatHead} head @param {Found} found */
    async addReferences(head, { references, unread }) {
        let { metadata } = head;
        let lines = /** @type {ST.Line[] | null} */ (null);
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
            const inMetadata = this.core.booksNamed(metadata);
            const named = inMetadata.isComplete
                ? inMetadata
                : this.core.booksNamed(metadata, (await readLines()).slice(1).map(slimMessage), await this.bookBytes(boundBook(metadata)));
            references.push(...named.references.map((reference) => ({ ...reference, name: head.name, owner: head.group ?? head.avatar ?? '' })));
        } catch (error) {
            console.warn('Forklore: could not read', head.name, error);
            unread.push(head.name);
        }
    }

    async bookBytes(/** @type {string | null} */ name) {
        if (!name || !this.host.knownBooks().includes(name)) {
            return undefined;
        }
        const cached = this.host.cachedBook(name);
        return cached ? toBytes(cached) : this.host.readBook(name);
    }

    /** @param {string[] | null} [names] @param {Why} [why] @param {IsGone} [isGone] @param {Deletion} [deletion] of the chat that the books were made for */
    async clean(names, why = { code: 'clean' }, isGone, deletion) {
        const { remove } = await this.plan(names, isGone);
        const removed = remove.map((book) => book.name);
        const undo = removed.length ? await this.trash.remove(removed, why, deletion) : deletion?.token ?? null;
        return { removed, undo };
    }

    /** The books of chats that are about to be deleted. @param {Owner} owner @param {string[]} names */
    async booksOf(owner, names) {
        const books = [];
        for (const name of names) {
            const [header] = await this.host.readChat(owner, name);
            books.push(...this.core.booksNamed(header?.chat_metadata ?? {}).own);
        }
        return books;
    }
}

/** @param {unknown} mark @returns {mark is {format: unknown, chat?: unknown}} */
function isMark(mark) {
    return mark instanceof Object && 'format' in mark && Boolean(mark.format);
}
