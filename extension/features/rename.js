// Updates references when a chat or book is renamed. SillyTavern itself only moves the file.

import { namingChat } from '../core/chat.js';
import { boundBook, replacedBooks } from '../sillytavern/metadata.js';
/** @import { ChatId, Core, Host, LoadedChat, Owner } from '../types.js' */
/** @import { Repairs } from './repair/repairs.js' */

/** In milliseconds: SillyTavern deletes the old book right after it has written the new one, which can take seconds on a busy machine. */
const RENAME_MILLISECONDS = 10_000;

export class Renames {
    /** @param {{host: Host, core: Core, repairs: Pick<Repairs, 'closedChat' | 'saveChat' | 'updateBookName'>}} parts */
    constructor({ host, core, repairs }) {
        this.host = host;
        this.core = core;
        this.repairs = repairs;
        /** @type {{name: string, text: string, when: number} | null} the last book saved, to tell a rename (saved, then deleted) from a deletion */
        this.lastBookSave = null;
    }

    /** A chat was renamed on the server, but SillyTavern has not reloaded it yet. @param {Owner} owner @param {string} from @param {string} to */
    async chatRenamed(owner, from, to) {
        this.host.copyRecapSettings(from, to);
        // A group lists the new name only later.
        const metadata = await this.updateChatName(owner, to, from, to);
        const others = (await this.host.chatHeads(owner)).map(({ name, metadata = null }) => ({ name, metadata }));
        for (const name of this.core.chatsNaming({ from, metadata, others })) {
            await this.updateChatName(owner, name, from, to);
        }
    }

    /**
     * Updates everything in the chat `name` that refers to the renamed one.
     * @param {Owner} owner @param {string} name @param {string} from @param {string} to
     * @returns {Promise<ST.Metadata | null>} the chat's metadata
     */
    async updateChatName(owner, name, from, to) {
        const open = this.host.openChat();
        const isOpen = open !== null && isSame({ ...owner, name }, open);
        /** @type {LoadedChat} */
        const chat = isOpen ? open : await this.repairs.closedChat({ ...owner, name });
        if (!isOpen && !chat.header?.chat_metadata) {
            return null;
        }
        const paths = this.core.placesNaming(from, namingChat(chat));
        for (const path of paths) {
            const key = String(path.pop());
            Object.assign(path.reduce((/** @type {object} */ holder, step) => Reflect.get(holder, step), chat), { [key]: to });
        }
        if (paths.length) {
            await this.repairs.saveChat(chat, isOpen);
        }
        return chat.metadata;
    }

    bookSaved(/** @type {string} */ name, /** @type {string} */ text) {
        this.lastBookSave = { name, text, when: Date.now() };
    }

    /**
     * The new name of a book that is being deleted, if SillyTavern has just written the same book under another name.
     * @param {string} name @param {(name: string) => Promise<string>} textOf
     */
    async renamedTo(name, textOf) {
        const last = this.lastBookSave;
        if (!last || last.name === name || Date.now() - last.when > RENAME_MILLISECONDS) {
            return null;
        }
        return this.core.isSameLore(last.text, await textOf(name)) ? last.name : null;
    }

    /** A book was renamed: updates every chat bound to it or to a copy of it, including the open one. @param {string} from @param {string} to */
    async bookRenamed(from, to) {
        const open = this.host.openChat();
        const replaces = (/** @type {ST.Metadata | undefined} */ metadata) => replacedBooks(metadata).some((name) => this.core.sameBook(name, from));
        for (const head of (await this.host.allChatHeads()).filter((head) => !(open && isSame(head, open)))) {
            if (this.core.sameBook(boundBook(head.metadata), from)) {
                await this.repairs.updateBookName(await this.repairs.closedChat(head), to, { isOpen: false });
            }
            if (replaces(head.metadata)) {
                await this.updateReplaced(await this.repairs.closedChat(head), from, to, { isOpen: false });
            }
        }
        if (open && replaces(open.metadata)) {
            await this.updateReplaced(open, from, to, { isOpen: true });
        }
        if (open && [from, to].some((name) => this.core.sameBook(open.book, name))) {
            // SillyTavern may have rebound the open chat already; other references still have the old name.
            await this.repairs.updateBookName({ ...open, book: from }, to, { isOpen: true });
        }
    }

    /** The book that a chat leaves out was renamed. @param {LoadedChat} chat @param {string} from @param {string} to @param {{isOpen: boolean}} options */
    async updateReplaced(chat, from, to, { isOpen }) {
        if (isOpen || chat.header?.chat_metadata) {
            chat.metadata.forklore_instead = replacedBooks(chat.metadata).map((name) => (this.core.sameBook(name, from) ? to : name));
            await this.repairs.saveChat(chat, isOpen);
        }
    }
}

/** @param {ChatId} head @param {ChatId} open */
function isSame(head, open) {
    return head.name === open.name && head.group === open.group && head.avatar === open.avatar;
}
