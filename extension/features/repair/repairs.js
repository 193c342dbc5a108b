// Repair, split and restore: the core makes a plan, and this applies it, to the open chat in the page and to others
// through SillyTavern's own requests. The book is written first, then the chat; what is replaced goes to the trash
// before that.

import { chatForCore, comparableMessages, slimMessage } from '../../core/chat.js';
import { timeNow } from '../../core/core.js';
import { bytesText, toBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { bookSave } from '../../sillytavern/requests.js';

export class Repairs {
    /** @param {{host: object, core: object, trash: object, onChange: () => void}} parts */
    constructor(parts) {
        Object.assign(this, parts);
    }

    /** The bytes of a book, or `undefined` if there is none. */
    async bookBytes(name) {
        const isThere = Boolean(name) && (await this.host.listBooks()).some((book) => this.core.sameBook(book.name, name));
        return isThere ? this.host.readBook(name) : undefined;
    }

    /** The open chat's book as the page knows it. Asks the server only if the page has not loaded it. @param {string | null} name */
    async currentBook(name) {
        if (!name || !this.host.knownBooks().includes(name)) {
            return undefined;
        }
        return this.host.cachedBook(name) ?? JSON.parse(bytesText(await this.host.readBook(name)));
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
        const isInherited = message <= (open.metadata.forklore?.parent?.message ?? -1) && !this.core.sameBook(found.book, open.book);
        return { ...found, isInherited };
    }

    isKnown(name) {
        const known = this.host.knownBooks();
        return known.includes(name) || known.some((other) => this.core.sameBook(other, name));
    }

    /** Whether a book has any lore in it. One that the page has not loaded yet might. */
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
     * @returns {string | null}
     */
    findLostBook(open) {
        if (!open.book || !this.isKnown(open.book)) {
            return open.book;
        }
        if (this.hasLore(open.book) || !open.messages.some((message) => message?.forklore)) {
            return null;
        }
        // Without a book to read, the core answers from the journal.
        const ask = { group: Boolean(open.group), bookName: open.book, message: open.messages.length - 1 };
        const { book, part, entries = [] } = this.core.lore(ask, chatForCore(open), undefined);
        const isLost = book && part.source === 'journal' && entries.some((entry) => !entry.internal) && !this.isKnown(book);
        return isLost ? book : null;
    }

    async plan(how, open, more = {}, other = undefined) {
        const books = (await this.host.listBooks()).map((book) => book.name);
        const ask = {
            how,
            chat: open.name,
            group: Boolean(open.group),
            bookName: open.book,
            freeName: this.core.nameForBook({ chat: open.name, books }),
            ...timeNow(),
            ...more,
        };
        const book = await this.bookBytes(open.book);
        const chat = how === 'split' ? comparableMessages(open) : chatForCore(open);
        const answer = this.core.planRepair(ask, chat, book, other);
        if (!answer.value.possible) {
            const { code, values } = answer.value.reason;
            throw wordError(code, values);
        }
        return { ...answer.value, bytes: answer.book };
    }

    async restore(message, { dryRun = false } = {}) {
        const open = this.requireOpenChat();
        if (!dryRun) {
            await this.host.untilSaved(open.book);
        }
        const plan = await this.plan('restore', open, { message });
        if (!dryRun) {
            await this.apply(plan, open, `restore to message ${message}`);
        }
        return report(plan);
    }

    /** @param {string | null} lost the missing book, if another is bound in its place */
    async repairOptions(lost = null) {
        const open = { ...this.requireOpenChat(), ...(lost && { book: lost }) };
        const last = open.messages.length - 1;
        const known = async (how) => {
            try {
                const { part } = await this.plan(how, open);
                return { message: part?.as_of ?? last };
            } catch {
                return null;
            }
        };
        const books = (await this.host.listBooks()).map((book) => book.name);
        return { book: open.book, journal: await known('journal'), recap: await known('recap'), books };
    }

    async repair({ source, book }, lost = null) {
        const open = this.requireOpenChat();
        const other = source === 'copy' ? await this.bookBytes(book) : undefined;
        if (source === 'copy' && !other) {
            throw wordError('no-such-book', { name: book });
        }
        await this.host.untilSaved(open.book);
        const plan = await this.plan(source, { ...open, ...(lost && { book: lost }) }, { copied: book }, other);
        await this.apply(plan, open, `repair from ${source}`);
        if (plan.book && lost && open.book !== lost) {
            await this.rebind(open, plan.book.name);
        }
        return report(plan);
    }

    /** Plans which chats would get which books. @param {Array<object>} sharing heads of the chats to be split */
    async splitPlan(sharing) {
        const taken = [];
        const chats = [];
        for (const head of sharing) {
            const { plan, isOpen } = await this.splitOne(head, taken);
            taken.push(plan.book.name);
            chats.push({ name: head.name, book: plan.book.name, entries: plan.book.entries, part: plan.part, open: isOpen });
        }
        return chats;
    }

    async split(sharing) {
        const chats = [];
        for (const head of sharing) {
            const { plan, chat, isOpen } = await this.splitOne(head, []);
            await this.apply(plan, chat, 'split', { isOpen });
            chats.push({ name: head.name, book: plan.book.name, entries: plan.book.entries, part: plan.part, open: isOpen });
        }
        return chats;
    }

    async splitOne(head, taken) {
        const open = this.requireOpenChat();
        const isOpen = head.name === open.name;
        const chat = isOpen ? open : await this.closedChat(head);
        const parentName = chat.metadata.main_chat;
        const parent = parentName
            ? parentName === open.name ? comparableMessages(open) : await this.host.readChat(head, parentName)
            : undefined;
        const books = (await this.host.listBooks()).map((book) => book.name);
        const freeName = this.core.nameForBook({ chat: head.name, books: [...books, ...taken] });
        const plan = await this.plan('split', chat, { freeName }, parent?.length ? toBytes(parent) : undefined);
        return { plan, chat, isOpen };
    }

    async closedChat(head) {
        const [header, ...messages] = await this.host.readChat(head, head.name);
        const metadata = header?.chat_metadata ?? {};
        return { group: head.group, avatar: head.avatar, name: head.name, header, messages, metadata, book: metadata.world_info || null };
    }

    /** Rebinds the open chat to its lost book, and updates everything that refers to the replacement. */
    async rebind(open, name) {
        if (open.book) {
            await this.updateBookName(open, name, { isOpen: true });
        } else {
            open.metadata.world_info = name;
            await this.host.saveOpenChat();
        }
    }

    /** A book was renamed: updates everything in the chat that refers to it. */
    async updateBookName(chat, newName, { isOpen }) {
        const answer = this.core.planRepair(
            { how: 'follow', chat: chat.name, group: Boolean(chat.group), bookName: chat.book, freeName: newName, ...timeNow() },
            [{ chat_metadata: chat.metadata }, ...chat.messages.map(slimMessage)],
            await this.bookBytes(newName),
            undefined,
        );
        if (answer.value.possible) {
            await this.apply({ ...answer.value, book: null }, chat, 'rename', { isOpen });
        }
    }

    async apply(plan, chat, why, { isOpen = true } = {}) {
        if (plan.book) {
            if (plan.replaces) {
                plan.undo = await this.trash.keepBooks([plan.book.name], why, { replacedBy: bytesText(plan.bytes) });
            }
            await this.host.writeBook(bookSave(plan.book.name, bytesText(plan.bytes)));
            await this.host.refreshBooks(plan.book.name);
        }
        if (plan.metadata) {
            overwrite(chat.metadata, plan.metadata);
            for (const [index, message] of Object.entries(plan.messages ?? {})) {
                restoreExtra(chat.messages[index], message);
                (message.swipe_info ?? []).forEach((swipe, at) => restoreExtra(chat.messages[index].swipe_info[at], swipe));
            }
            await this.saveChat(chat, isOpen);
        }
        this.onChange();
    }

    saveChat(chat, isOpen) {
        return isOpen
            ? this.host.saveOpenChat()
            : this.host.writeChat(chat, chat.name, [{ ...chat.header, chat_metadata: chat.metadata }, ...chat.messages]);
    }
}

/** Makes one object equal to another without replacing it, because the page keeps a reference to it. */
export function overwrite(live, wanted) {
    for (const key of Object.keys(live)) {
        if (!(key in wanted)) {
            delete live[key];
        }
    }
    for (const [key, value] of Object.entries(wanted)) {
        if (JSON.stringify(live[key]) !== JSON.stringify(value)) {
            live[key] = value;
        }
    }
}

/** Restores what a memory extension keeps in a message, or in one of its swipes. */
function restoreExtra(holder, changed) {
    if (changed?.extra) {
        Object.assign(holder.extra, changed.extra);
    }
}

function report({ book, part, remarks, undo = null }) {
    return { book: book?.name ?? null, entries: book?.entries ?? 0, part, remarks, undo };
}
