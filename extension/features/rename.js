// Updates references when a chat or book is renamed. SillyTavern itself only moves the file.

import { namingChat } from '../core/chat.js';
import { boundBook, replacedBooks, replacingBook } from '../sillytavern/metadata.js';
import { changeChat, isSameChat } from './chat_change.js';
/** @import { Core, Host, LoadedChat, Owner } from '../types.js' */
/** @import { Repairs } from './repair/repairs.js' */

/** In milliseconds: SillyTavern deletes the old book right after it has written the new one, which can take seconds on a busy machine. */
const RENAME_MILLISECONDS = 10_000;

export class Renames {
    /** @param {{host: Host, core: Core, repairs: Pick<Repairs, 'followBook' | 'bookBytes'>}} parts */
    constructor({ host, core, repairs }) {
        this.host = host;
        this.core = core;
        this.repairs = repairs;
        /**
         * The last book saved under a new name, to tell a rename (saved, then deleted) from a deletion.
         * @type {{name: string, text: string, when: number} | null}
         */
        this.lastNewBook = null;
    }

    /** A chat was renamed on the server, but SillyTavern has not reloaded it yet. @param {Owner} owner @param {string} from @param {string} to */
    async chatRenamed(owner, from, to) {
        this.host.copyRecapSettings(from, to);
        // A group lists the new name only later.
        const metadata = await this.updateChatName(owner, to, from, to);
        const others = (await this.host.chatHeads(owner)).map(({ name, metadata = null }) => ({ name, metadata }));
        const naming = this.core.chatsNaming({ from, metadata, others });
        await eachOf(naming, (name) => this.updateChatName(owner, name, from, to));
    }

    /**
     * Updates everything in the chat `name` that refers to the renamed one.
     * @param {Owner} owner @param {string} name @param {string} from @param {string} to
     * @returns {Promise<ST.Metadata | null>} the chat's metadata
     */
    async updateChatName(owner, name, from, to) {
        let metadata = /** @type {ST.Metadata | null} */ (null);
        await changeChat(this.host, { ...owner, name }, (chat) => {
            metadata = chat.metadata;
            const paths = this.core.placesNaming(from, namingChat(chat));
            for (const path of paths) {
                const key = String(path.pop());
                Object.assign(path.reduce((/** @type {object} */ holder, step) => Reflect.get(holder, step), chat), { [key]: to });
            }
            return paths.length > 0;
        });
        return metadata;
    }

    /** Whether no book has this name yet, neither for the page nor on the server. @param {string} name */
    async isNewBook(name) {
        const has = (/** @type {string[]} */ names) => names.some((known) => this.core.sameBook(known, name));
        return !has(this.host.knownBooks()) && !has(await this.host.bookNames());
    }

    /** A book was saved under a name that was new. @param {string} name @param {string} text */
    newBookSaved(name, text) {
        this.lastNewBook = { name, text, when: Date.now() };
    }

    /**
     * The new name of a book that is being deleted, if SillyTavern is renaming it: it has just written the same book under a
     * name that was new, and does not list it before it has deleted the old one.
     * @param {string} name @param {(name: string) => Promise<string>} textOf
     */
    async renamedTo(name, textOf) {
        const last = this.lastNewBook;
        if (!last || last.name === name || Date.now() - last.when > RENAME_MILLISECONDS || this.host.knownBooks().includes(last.name)) {
            return null;
        }
        if (!this.core.isSameLore(last.text, await textOf(name))) {
            return null;
        }
        const heads = await this.host.allChatHeads();
        return heads.some(({ metadata }) => this.core.sameBook(boundBook(metadata), last.name)) ? null : last.name;
    }

    /** A book was renamed: updates every chat bound to it or to a copy of it, including the open one. @param {string} from @param {string} to */
    async bookRenamed(from, to) {
        const book = await this.repairs.bookBytes(to);
        const names = (/** @type {ST.Metadata | undefined} */ metadata) => [boundBook(metadata), replacingBook(metadata), ...replacedBooks(metadata)];
        const open = this.host.openChat();
        const closed = (await this.host.allChatHeads()).filter((head) =>
            !(open && isSameChat(head, open)) && names(head.metadata).some((name) => this.core.sameBook(name, from)));
        await eachOf(open ? [...closed, open] : closed, (chat) => changeChat(this.host, chat, (live) => {
            const isFollowing = this.repairs.followBook(live, from, to, book);
            return this.updateReplaced(live, from, to) || isFollowing;
        }));
    }

    /** The book that a chat leaves out was renamed, or the copy that it has instead. @param {LoadedChat} chat @param {string} from @param {string} to */
    updateReplaced({ metadata }, from, to) {
        const isIt = (/** @type {string | null} */ name) => this.core.sameBook(name, from);
        const names = replacedBooks(metadata);
        const [isReplaced, isCopy] = [names.some(isIt), isIt(replacingBook(metadata))];
        if (isReplaced) {
            metadata.forklore_instead = names.map((name) => (isIt(name) ? to : name));
        }
        if (isCopy) {
            metadata.forklore_copy = to;
        }
        return isReplaced || isCopy;
    }
}

/** Takes a step for each, also after one that fails; the first error is thrown at the end. @template T @param {T[]} all @param {(one: T) => Promise<unknown>} step */
async function eachOf(all, step) {
    /** @type {unknown[]} */
    const errors = [];
    for (const one of all) {
        await step(one).catch((error) => errors.push(error));
    }
    if (errors.length) {
        throw errors[0];
    }
}
