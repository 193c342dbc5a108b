// Puts back what is in the trash, but not over what the user has written since.

import { bytesText, sameJson, textBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { integrityOf } from '../../sillytavern/metadata.js';
import { bookSave } from '../../sillytavern/requests.js';
import { changeChat, linesOf, readLines } from '../chat_change.js';
import { changeBack } from './changes.js';
/** @import { ChatId, Core, Host, KeptBook, KeptChange, KeptChat, PutBackReport, TrashContent } from '../../types.js' */
/** @import { Cleanup } from '../cleanup.js' */
/** @import { Renames } from '../rename.js' */
/** @import { Repairs } from '../repair/repairs.js' */
/** @import { Trash } from './trash.js' */
/** A book that is back under another name. @typedef {{from: string, to: string, text: string}} RenamedBook */

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
        const { chat } = kept;
        const isChatBlocked = chat && await this.#isTaken(chat, chat.name);
        // Another timeline may have a lorebook of that name now. What was changed along with a lorebook goes back only with it,
        // but a chat gets its own under another name.
        const { areBack: areBooksBack, renamed } = await this.#books(kept.books, report, Boolean(chat) && !isChatBlocked);
        const isChatBack = await this.#chat(chat, report, renamed);
        const isUndone = areBooksBack && await this.#changes(kept, report);
        if (isChatBack && isUndone) {
            await this.trash.drop(token);
        }
        return report;
    }

    /**
     * @param {KeptBook[]} books @param {PutBackReport} report @param {boolean} mayRename whether a book can come back under a free name
     * @returns {Promise<{areBack: boolean, renamed: RenamedBook[]}>} `areBack`: whether all are
     */
    async #books(books, report, mayRename) {
        const there = new Set((await this.host.listBooks()).map((book) => book.name));
        const back = /** @type {KeptBook[]} */ ([]);
        const renamed = /** @type {RenamedBook[]} */ ([]);
        for (const book of books) {
            if (!there.has(book.name) || await this.#isUnchanged(book)) {
                back.push(book);
            } else if (mayRename) {
                const to = freeName(book.name, [...there, ...back.map(({ name }) => name)]);
                back.push({ ...book, name: to });
                renamed.push({ from: book.name, to, text: book.text });
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
        return { areBack: back.length === books.length, renamed };
    }

    /** Whether there is still what a book was replaced by, or the book itself. @param {KeptBook} book */
    async #isUnchanged({ name, replacedBy, text }) {
        const now = bytesText(await this.host.readBook(name));
        return (replacedBy !== undefined && sameJson(replacedBy, now)) || sameJson(text, now);
    }

    /** @param {KeptChat | undefined} chat @param {PutBackReport} report @param {RenamedBook[]} renamed @returns {Promise<boolean>} whether it is back */
    async #chat(chat, report, renamed) {
        if (!chat) {
            return true;
        }
        if (await this.#isTaken(chat, chat.name)) {
            report.blocked.push(chat.name);
            return false;
        }
        if (!(await this.#writeChat(chat, chat.name, report, renamed))) {
            report.blocked.push(chat.name);
            return false;
        }
        return report.unreadable === 0;
    }

    /** @param {ChatId} chat @param {string} name */
    async #isTaken({ group, avatar }, name) {
        if (!this.host.owners().some((owner) => owner.group === group && owner.avatar === avatar)) {
            throw wordError(group ? 'group-gone' : 'character-gone', { name: group ?? avatar });
        }
        const isListed = (await this.host.chatNames({ group, avatar })).some((other) => other.toLowerCase() === name.toLowerCase());
        // Another device may have saved a group's chat without listing it.
        return isListed || Boolean(group && (await this.host.readChat({ group, avatar }, name)).length);
    }

    /**
     * @param {KeptChat} chat @param {string} name @param {PutBackReport} report @param {RenamedBook[]} [renamed]
     * @returns {Promise<boolean>} `false` if another device has saved a chat of this name meanwhile
     */
    async #writeChat({ group, avatar, text, place }, name, report, renamed = []) {
        const { chat, unreadable } = readLines({ group, avatar, name }, text);
        report.unreadable = unreadable;
        for (const { from, to, text: book } of renamed) {
            this.repairs.followBook(chat, from, to, textBytes(book));
        }
        if ((await this.host.readChat({ group, avatar }, name)).length) {
            return false;
        }
        await this.host.writeChat({ group, avatar }, name, linesOf(chat));
        if (group) {
            await this.host.listGroupChat(group, name, place);
        }
        report.chats.push(name);
        return true;
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
        let done = { isChanged: false, isWhole: false };
        await changeChat(this.host, { group, avatar, name }, (chat) => {
            if (integrityOf(chat.metadata) !== change.integrity) {
                throw wordError('another-chat', { name });
            }
            done = changeBack(chat, change);
            return done.isChanged;
        });
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
            const renamed = books.flatMap(({ name, text }, at) => (names[at] ? [{ from: name, to: names[at], text }] : []));
            const isWritten = await this.#writeChat(chat, chatName, { restored: [], replaced: [], chats: [], undone: [], blocked: [], unreadable: 0 }, renamed);
            if (!isWritten) {
                throw wordError('name-taken', { name: chatName });
            }
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

/** @param {string} name @param {string[]} taken */
function freeName(name, taken) {
    const known = new Set(taken.map((other) => other.toLowerCase()));
    let free = name;
    for (let number = 2; known.has(free.toLowerCase()); number += 1) {
        free = `${name} (${number})`;
    }
    return free;
}
