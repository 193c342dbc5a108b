// Repair, split and restore: the core makes a plan, and this applies it. The book is written first, then the chat; what is
// replaced goes to the trash before that.

import { chatForCore, comparableMessages } from '../../core/chat.js';
import { entriesOf, timeNow } from '../../core/core.js';
import { bytesText, toBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { boundBook, integrityOf } from '../../sillytavern/metadata.js';
import { bookSave } from '../../sillytavern/requests.js';
import { changeChat, editsOf, makeEdits } from '../chat_change.js';
import { sealOf } from '../readiness.js';
import { changeSince, snapshotOf } from '../trash/changes.js';
import { refuseBusy } from './busy.js';
/** @import { Repair, RepairAsk, RepairPlan } from '../../core/repair_calls.js' */
/** @import { BookChange, ChatId, Core, Host, KeptChange, LoadedChat, OpenChat, RepairChoice, SplitChat, Why } from '../../types.js' */
/** @import { Trash } from '../trash/trash.js' */
/** @template {Repair} How @typedef {RepairPlan<How> & Pick<BookChange, 'bytes' | 'undo' | 'edits'>} Plan */

/** What only some repairs need. */
const NOTHING_MORE = { message: null, copied: null };

export class Repairs {
    /** @param {{host: Host, core: Core, trash: Trash, onChange: () => void}} parts */
    constructor({ host, core, trash, onChange }) {
        this.host = host;
        this.core = core;
        this.trash = trash;
        this.onChange = onChange;
    }

    /** The bytes of a book, or `undefined` if there is none. @param {string | null | undefined} name */
    async bookBytes(name) {
        if (!name) {
            return undefined;
        }
        const [books, bytes] = await Promise.all([this.host.bookNames(), this.host.readBook(name)]);
        return books.some((book) => this.core.sameBook(book, name)) ? bytes : undefined;
    }

    /** The entries of a book as the page knows it. Asks the server only if the page has not loaded it. @param {string | null} name */
    async currentEntries(name) {
        if (!name || !this.host.knownBooks().includes(name)) {
            return undefined;
        }
        const cached = this.host.cachedBook(name);
        return cached ? cached.entries ?? {} : entriesOf(await this.host.readBook(name));
    }

    requireOpenChat() {
        const open = this.host.openChat();
        if (!open) {
            throw wordError('no-chat');
        }
        return open;
    }

    /**
     * The lore at a message of the open chat.
     * @param {number} message @param {{untilFileChecked: () => Promise<void>}} recorder makes claims about the past as exact as possible
     */
    async lore(message, recorder) {
        await recorder.untilFileChecked();
        const open = this.requireOpenChat();
        const ask = { group: Boolean(open.group), isOpen: true, bookName: open.book, message };
        const found = this.core.lore(ask, chatForCore(open), await this.bookBytes(open.book));
        if (!found.known) {
            throw wordError('lore-unknown', { message });
        }
        const isInherited = message <= (sealOf(this.core, open)?.message ?? -1) && !this.core.sameBook(found.book, open.book);
        return { ...found, isInherited, hasBook: Boolean(open.book) };
    }

    isKnown(/** @type {string} */ name) {
        const known = this.host.knownBooks();
        return known.includes(name) || known.some((other) => this.core.sameBook(other, name));
    }

    /** Whether a book has any lore in it. One that the page has not loaded yet might. @param {string | null} name */
    hasLore(name) {
        if (!name || !this.isKnown(name)) {
            return false;
        }
        const book = this.host.cachedBook(name);
        return !book || Object.values(book.entries ?? {}).some((entry) => !this.core.isInternal(String(entry?.comment ?? '')));
    }

    /**
     * The book that a chat has lost: the bound one if it is missing, or the journal's if that is missing and an empty
     * one is bound instead.
     * @param {OpenChat} open
     */
    findLostBook(open) {
        if (!open.book || !this.isKnown(open.book)) {
            return open.book;
        }
        if (this.hasLore(open.book) || !open.messages.some((message) => message?.forklore)) {
            return null;
        }
        // Without a book to read, the core answers from the journal.
        const ask = { group: Boolean(open.group), isOpen: false, bookName: open.book, message: open.messages.length - 1 };
        const then = this.core.lore(ask, chatForCore(open), undefined);
        const book = then.known && then.part.source === 'journal' && then.entries.some((entry) => !entry.internal) ? then.book : null;
        return book && !this.isKnown(book) ? book : null;
    }

    /**
     * @template {Repair} How
     * @param {How} how @param {LoadedChat} open @param {Partial<RepairAsk<How>>} [more] @param {Uint8Array} [other] a book or, for a split, a chat
     * @returns {Promise<Plan<How>>}
     */
    async plan(how, open, more = {}, other = undefined) {
        const books = await this.host.bookNames();
        const ask = {
            how,
            chat: open.name,
            group: Boolean(open.group),
            bookName: open.book,
            freeName: this.core.nameForBook({ chat: open.name, books }),
            ...timeNow(),
            ...NOTHING_MORE,
            ...more,
        };
        const book = await this.bookBytes(open.book);
        const chat = how === 'split' ? comparableMessages(open) : chatForCore(open);
        const { value, book: bytes } = this.core.planRepair(ask, chat, book, other);
        if (!value.possible) {
            throw wordError(value.reason.code, value.reason.values);
        }
        return { ...value, bytes, edits: editsOf(open, value) };
    }

    async restore(/** @type {number} */ message, { dryRun = false } = {}) {
        const open = this.requireOpenChat();
        if (!dryRun && open.book) {
            await this.host.untilSaved(open.book);
        }
        const plan = await this.plan('restore', open, { message });
        await refuseBusy(this, { isOpen: true, metadata: open.metadata, book: await this.bookBytes(open.book) });
        if (!dryRun) {
            await this.applyKept(plan, open, { code: 'restore', message });
        }
        return report(plan);
    }

    /** @param {string | null} lost the missing book, if another is bound in its place */
    async repairOptions(lost = null) {
        const open = { ...this.requireOpenChat(), ...(lost && { book: lost }) };
        const last = open.messages.length - 1;
        const known = async (/** @type {'journal' | 'recap'} */ how) => {
            try {
                const { part } = await this.plan(how, open);
                return { message: part.as_of ?? last };
            } catch (error) {
                if (error instanceof Error && 'word' in error) {
                    return null;
                }
                throw error;
            }
        };
        const instead = open.metadata.forklore_instead;
        const wanted = open.book ? [] : [sealOf(this.core, open)?.leftOut ?? null, ...(Array.isArray(instead) ? instead.map(String) : [])];
        const isWanted = (/** @type {string} */ name) => wanted.some((other) => this.core.sameBook(name, other));
        const books = (await this.host.bookNames()).sort((one, other) => Number(isWanted(other)) - Number(isWanted(one)));
        return { book: open.book, journal: await known('journal'), recap: await known('recap'), books };
    }

    /** @param {RepairChoice} choice @param {string | null} [lost] */
    async repair({ source, book }, lost = null) {
        const open = this.requireOpenChat();
        const other = source === 'copy' ? await this.bookBytes(book) : undefined;
        if (source === 'copy' && !other) {
            throw wordError('no-such-book', { name: book });
        }
        if (open.book) {
            await this.host.untilSaved(open.book);
        }
        const plan = await this.plan(source, { ...open, ...(lost && { book: lost }) }, { copied: book ?? null }, other);
        await this.applyKept(plan, open, { code: 'repair', source }, {
            then: async () => {
                if (plan.book && lost && open.book !== lost) {
                    await this.rebind(open, plan.book.name);
                }
            },
        });
        return report(plan);
    }

    /** Gives the open chat its own copy of a book, which replaces it in the prompt of this chat and of its forks. @param {string} book */
    async giveCopy(book) {
        const open = this.requireOpenChat();
        if (open.book) {
            throw wordError('has-book', { name: open.book });
        }
        await this.host.untilSaved(book);
        const original = await this.bookBytes(book);
        if (!original) {
            throw wordError('no-such-book', { name: book });
        }
        const plan = await this.plan('copy', open, { copied: book }, original);
        plan.edits = editsOf(open, { ...plan, metadata: { ...plan.metadata, forklore_instead: [book], forklore_copy: plan.book.name } });
        await this.applyKept(plan, open, { code: 'split' });
        return report(plan);
    }

    /** Nothing is left out of the open chat's prompt any more. @param {{unlink: boolean}} options whether to unbind the chat from its book */
    async useOriginal({ unlink }) {
        const open = this.requireOpenChat();
        const { forklore_instead: _, forklore_copy: __, ...metadata } = unlink && open.book ? (await this.plan('detach', open)).metadata ?? {} : open.metadata;
        await this.applyKept({ edits: editsOf(open, { metadata }) }, open, { code: 'repair', source: 'detach' });
    }

    /** Plans which chats would get which books. @param {ChatId[]} sharing the chats to be split */
    async splitPlan(sharing) {
        const chats = /** @type {SplitChat[]} */ ([]);
        for (const head of sharing) {
            const { shown } = await this.splitOne(head, chats.map(({ book }) => book));
            chats.push(shown);
        }
        return chats;
    }

    async split(/** @type {ChatId[]} */ sharing) {
        const chats = [];
        for (const head of sharing) {
            const { plan, chat, shown } = await this.splitOne(head, []);
            await this.applyKept(plan, chat, { code: 'split' });
            chats.push({ ...shown, undo: plan.undo ?? null });
        }
        return chats;
    }

    async splitOne(/** @type {ChatId} */ head, /** @type {string[]} */ taken) {
        const open = this.requireOpenChat();
        const isOpen = head.name === open.name;
        const chat = isOpen ? open : await this.closedChat(head);
        const parentName = chat.metadata.main_chat;
        const parent = parentName
            ? parentName === open.name ? comparableMessages(open) : await this.host.readChat(head, parentName)
            : undefined;
        const books = await this.host.bookNames();
        const freeName = this.core.nameForBook({ chat: head.name, books: [...books, ...taken] });
        const plan = await this.plan('split', chat, { freeName }, parent?.length ? toBytes(parent) : undefined);
        return { plan, chat, shown: { name: head.name, book: plan.book.name, entries: plan.book.entries, part: plan.part, open: isOpen } };
    }

    /** @param {ChatId} head @returns {Promise<LoadedChat>} */
    async closedChat(head) {
        const [header, ...messages] = await this.host.readChat(head, head.name);
        const metadata = header?.chat_metadata ?? {};
        return { group: head.group, avatar: head.avatar, name: head.name, header, messages, metadata, book: boundBook(metadata) };
    }

    /** Rebinds a chat to its lost book, and updates everything that refers to the replacement. @param {OpenChat} open @param {string} name */
    async rebind(open, name) {
        if (open.book) {
            await this.updateBookName(open, open.book, name);
        } else {
            await changeChat(this.host, open, ({ metadata }) => {
                metadata.world_info = name;
                return true;
            });
        }
    }

    /** A book was renamed: updates everything that refers to it in a chat that may be bound to it. @param {ChatId} id @param {string} from @param {string} to */
    async updateBookName(id, from, to) {
        const book = await this.bookBytes(to);
        if (await changeChat(this.host, id, (chat) => this.followBook(chat, from, to, book))) {
            this.onChange();
        }
    }

    /** @param {LoadedChat} chat @param {string} from @param {string} to @param {Uint8Array | undefined} book @returns {boolean} whether anything changed */
    followBook(chat, from, to, book) {
        // SillyTavern may have rebound the chat already; other references still have the old name.
        if (![from, to].some((name) => this.core.sameBook(chat.book, name))) {
            return false;
        }
        const { value } = this.core.planRepair(
            { how: 'follow', chat: chat.name, group: Boolean(chat.group), bookName: from, freeName: to, ...timeNow(), ...NOTHING_MORE },
            chatForCore(chat),
            book,
            undefined,
        );
        return value.possible && makeEdits(chat, editsOf(chat, value));
    }

    /**
     * Applies a plan, and keeps in the trash what it changed, so that it can be undone.
     * @param {BookChange} plan @param {LoadedChat} chat @param {Why} why
     * @param {{then?: () => Promise<void>}} [options] `then`: what else belongs to it
     */
    async applyKept(plan, chat, why, { then = async () => {} } = {}) {
        const change = await this.apply(plan, chat, why);
        await then();
        const made = plan.book && plan.bytes && !plan.replaces ? [{ name: plan.book.name, text: bytesText(plan.bytes) }] : null;
        if (change || made) {
            const { group, avatar, name } = chat;
            const done = { of: { group, avatar, name }, ...(change && { changes: [change] }), ...(made && { made }) };
            // It is done already, and must not fail because it cannot be undone.
            plan.undo = await this.trash.keepDone(done, why, plan.undo).catch((error) => {
                console.warn('Forklore:', error);
                return plan.undo;
            });
        }
    }

    /** @param {BookChange} plan @param {LoadedChat} chat @param {Why} why @returns {Promise<KeptChange | null>} what changed in the chat */
    async apply(plan, chat, why) {
        const { group, avatar, name } = chat;
        if (plan.book && plan.bytes) {
            if (plan.replaces) {
                plan.undo = await this.trash.keepBooks([plan.book.name], why, { replacedBy: bytesText(plan.bytes), of: { group, avatar, name } });
            }
            await this.host.writeBook(bookSave(plan.book.name, bytesText(plan.bytes)));
            await this.host.refreshBooks(plan.book.name);
        }
        const { edits } = plan;
        /** @type {KeptChange | null} */
        let change = null;
        if (edits) {
            await changeChat(this.host, chat, (live) => {
                if (integrityOf(live.metadata) !== integrityOf(chat.metadata)) {
                    throw wordError('another-chat', { name });
                }
                const before = snapshotOf(live);
                const isChanged = makeEdits(live, edits);
                change ??= changeSince(live, before);
                return isChanged;
            });
        }
        this.onChange();
        return change;
    }
}

/** @template {Repair} How @param {Plan<How>} plan */
function report({ book, part, remarks, undo }) {
    return { book: book?.name ?? null, entries: book?.entries ?? 0, part, remarks, undo: undo ?? null };
}
