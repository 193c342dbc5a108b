// Puts back what is in the trash, but not over what the user has written since.

import { bytesText, sameJson } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { integrityOf } from '../../sillytavern/metadata.js';
import { bookSave } from '../../sillytavern/requests.js';
import { changeBack } from './changes.js';
/** @import { ChatId, Core, Host, KeptBook, KeptChange, KeptChat, PutBackReport, TrashContent } from '../../types.js' */
/** @import { Cleanup } from '../cleanup.js' */
/** @import { Renames } from '../rename.js' */
/** @import { Repairs } from '../repair/repairs.js' */
/** @import { Trash } from './trash.js' */

export class PutBack {
    /** @param {{host: Host, core: Core, trash: Trash, repairs: Repairs, renames: Renames, cleanup: Pick<Cleanup, 'gatherReferences'>}} parts */
    constructor({ host, core, trash, repairs, renames, cleanup }) {
        this.host = host;
        this.core = core;
        this.trash = trash;
        this.repairs = repairs;
        this.renames = renames;
        this.cleanup = cleanup;
    }

    /** Puts something back, and takes it out of the trash if nothing of it is left. @param {string} token @returns {Promise<PutBackReport>} */
    async putBack(token) {
        const kept = await this.trash.read(token);
        const report = /** @type {PutBackReport} */ ({ restored: [], replaced: [], chats: [], undone: [], blocked: [], unreadable: 0 });
        if (kept.renamed) {
            await this.#renameBack(kept.renamed);
            report.undone.push(kept.renamed.from);
        }
        const areBooksBack = await this.#books(kept.books, report);
        // A chat is worth having without its lorebook; what was changed along with a lorebook goes back only with it.
        const isChatBack = await this.#chat(kept.chat, report);
        const isUndone = areBooksBack && await this.#changes(kept, report);
        if (isChatBack && isUndone) {
            await this.trash.drop(token);
        }
        return report;
    }

    /** @param {KeptBook[]} books @param {PutBackReport} report @returns {Promise<boolean>} whether all are back */
    async #books(books, report) {
        const there = new Set((await this.host.listBooks()).map((book) => book.name));
        const back = /** @type {KeptBook[]} */ ([]);
        for (const book of books) {
            if (!there.has(book.name) || await this.#isUnchanged(book)) {
                back.push(book);
            } else {
                report.blocked.push(book.name);
            }
        }
        for (const { name, text } of back) {
            await this.host.writeBook(bookSave(name, text));
        }
        if (back.length) {
            await this.host.refreshBooks(...back.map(({ name }) => name));
        }
        report.restored = back.map(({ name }) => name);
        report.replaced = report.restored.filter((name) => there.has(name));
        return back.length === books.length;
    }

    /** Whether there is still what a book was replaced by, or the book itself. @param {KeptBook} book */
    async #isUnchanged({ name, replacedBy, text }) {
        const now = bytesText(await this.host.readBook(name));
        return (replacedBy !== undefined && sameJson(replacedBy, now)) || sameJson(text, now);
    }

    /** @param {KeptChat | undefined} chat @param {PutBackReport} report @returns {Promise<boolean>} whether it is back */
    async #chat(chat, report) {
        if (!chat) {
            return true;
        }
        if (await this.#isTaken(chat, chat.name)) {
            report.blocked.push(chat.name);
            return false;
        }
        await this.#writeChat(chat, chat.name, report);
        return report.unreadable === 0;
    }

    /** @param {ChatId} chat @param {string} name */
    async #isTaken({ group, avatar }, name) {
        if (!this.host.owners().some((owner) => owner.group === group && owner.avatar === avatar)) {
            throw wordError(group ? 'group-gone' : 'character-gone', { name: group ?? avatar });
        }
        return (await this.host.chatNames({ group, avatar })).some((other) => other.toLowerCase() === name.toLowerCase());
    }

    /** @param {KeptChat} chat @param {string} name @param {PutBackReport} report */
    async #writeChat({ group, avatar, text, place }, name, report) {
        const lines = text.split('\n').filter(Boolean).map(parsed);
        const readable = lines.flatMap((line) => (line instanceof Object ? [line] : []));
        report.unreadable = lines.length - readable.length;
        await this.host.writeChat({ group, avatar }, name, readable);
        if (group) {
            await this.host.listGroupChat(group, name, place);
        }
        report.chats.push(name);
    }

    /** Undoes what was done to chats, and removes the lorebooks that were made then. @param {TrashContent} kept @param {PutBackReport} report */
    async #changes({ changes = [], made = [], of }, report) {
        let isWhole = true;
        for (const change of changes) {
            const { isChanged, isWhole: isAll } = await this.#changeBack(change);
            if (isChanged) {
                report.undone.push(change.name);
            }
            if (!isAll) {
                report.blocked.push(change.name);
            }
            isWhole &&= isAll;
        }
        if (isWhole) {
            await this.#unmake(made, of);
        }
        return isWhole;
    }

    async #changeBack(/** @type {KeptChange} */ change) {
        const { group, avatar, name } = change;
        const open = this.host.openChat();
        const isOpen = open?.name === name && open.group === group && open.avatar === avatar;
        const chat = isOpen ? open : await this.repairs.closedChat({ group, avatar, name });
        if (integrityOf(chat.metadata) !== change.integrity) {
            throw wordError('another-chat', { name });
        }
        const done = changeBack(chat, change);
        if (done.isChanged) {
            await this.repairs.saveChat(chat, isOpen);
        }
        return done;
    }

    /**
     * Moves lorebooks to the trash that were made by what is being undone, unless they were changed since or anything else uses them.
     * @param {KeptBook[]} made @param {ChatId} [of] a chat whose lorebook was missing is bound to it as before
     */
    async #unmake(made, of) {
        const there = new Set((await this.host.listBooks()).map((book) => book.name));
        const same = [];
        for (const { name, text } of made) {
            if (there.has(name) && sameJson(text, bytesText(await this.host.readBook(name)))) {
                same.push(name);
            }
        }
        if (same.length) {
            const { references, unread } = await this.cleanup.gatherReferences(() => false);
            const others = references.filter((reference) => !('owner' in reference && reference.name === of?.name && reference.owner === (of.group ?? of.avatar)));
            const isUsed = (/** @type {string} */ name) => unread.length > 0 || others.some(({ book }) => this.core.sameBook(book, name));
            const idle = same.filter((name) => !isUsed(name));
            if (idle.length) {
                await this.trash.remove(idle, { code: 'undone' });
            }
        }
    }

    /** @param {NonNullable<TrashContent['renamed']>} renamed */
    async #renameBack({ group, avatar, from, to, integrity }) {
        const owner = { group, avatar };
        const names = await this.host.chatNames(owner);
        const [header] = names.includes(to) ? await this.host.readChat(owner, to) : [];
        if (!header?.chat_metadata || integrityOf(header.chat_metadata) !== integrity) {
            throw wordError('another-chat', { name: to });
        }
        if (names.some((name) => name.toLowerCase() === from.toLowerCase())) {
            throw wordError('name-taken', { name: from });
        }
        if (group && this.host.openChat()?.group !== group) {
            throw wordError('open-group-first');
        }
        await this.host.renameChat(owner, to, from);
        if (!(await this.host.chatNames(owner)).includes(from)) {
            throw wordError('not-renamed', { name: to });
        }
    }

    // Under other names.

    /** What can be saved under another name, with a free one for each. @param {string} token */
    async namesToSave(token) {
        const { books, chat } = await this.trash.read(token);
        const bookNames = (await this.host.listBooks()).map(({ name }) => name);
        const chatNames = chat ? await this.host.chatNames(chat) : [];
        return [
            ...(chat ? [{ isChat: true, name: chat.name, free: freeName(chat.name, chatNames) }] : []),
            ...books.map(({ name }) => ({ isChat: false, name, free: freeName(name, bookNames) })),
        ];
    }

    /** Saves copies under other names; what has no name is left out. @param {string} token @param {string[]} typed in the order of `namesToSave` @returns {Promise<string[]>} the names */
    async saveAs(token, typed) {
        const { books, chat } = await this.trash.read(token);
        const names = typed.map((name) => this.#possible(name.trim()));
        const [chatName = ''] = chat ? names.splice(0, 1) : [];
        const taken = (await this.host.listBooks()).map(({ name }) => name);
        for (const name of names.filter((name, at) => name && (taken.some((other) => this.core.sameBook(other, name)) || names.indexOf(name) !== at))) {
            throw wordError('book-name-taken', { name });
        }
        if (chat && chatName && await this.#isTaken(chat, chatName)) {
            throw wordError('name-taken', { name: chatName });
        }
        for (const [at, { text }] of books.entries()) {
            if (names[at]) {
                await this.host.writeBook(bookSave(names[at], text));
            }
        }
        await this.host.refreshBooks(...names.filter(Boolean));
        if (chat && chatName) {
            await this.#writeChat(chat, chatName, { restored: [], replaced: [], chats: [], undone: [], blocked: [], unreadable: 0 });
            await this.renames.updateChatName(chat, chatName, chat.name, chatName);
        }
        return [chatName, ...names].filter(Boolean);
    }

    #possible(/** @type {string} */ name) {
        const stem = this.core.chatStem(name) ?? '';
        if (name && !stem) {
            throw wordError('name-not-possible', { name });
        }
        return stem;
    }
}

/** @param {string} line @returns {unknown} */
function parsed(line) {
    try {
        return JSON.parse(line);
    } catch {
        return null;
    }
}

/** @param {string} name @param {string[]} taken */
function freeName(name, taken) {
    const known = new Set(taken.map((other) => other.toLowerCase()));
    let free = name;
    for (let number = 2; known.has(free.toLowerCase()); number += 1) {
        free = `${name} (${number})`;
    }
    return free;
}
