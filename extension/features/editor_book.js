// Whose book SillyTavern's editor shows. The editor does not follow the chat: after a fork it still shows the parent's
// book, and that is where new edits would go.

import { boundBook } from '../sillytavern/metadata.js';
/** @import { Core, Host, OpenChat, Owner } from '../types.js' */
/** @typedef {{name: string, book: string}} Bound a chat and its bound book */

export class EditorBook {
    /**
     * @param {object} parts
     * @param {Pick<Host, 'openChat' | 'bookInEditor' | 'showInEditor' | 'switchEditor'>} parts.host
     * @param {Pick<Core, 'sameBook'>} parts.core
     * @param {(shown: {chat: string, own: string | null} | null) => void} parts.onChange
     */
    constructor({ host, core, onChange }) {
        this.host = host;
        this.core = core;
        this.onChange = onChange;
        /** @type {(Owner & {name: string, book: string | null}) | null} the chat that was opened last */
        this.lastOpened = null;
        /** @type {Bound[]} chats that are not open, as far as they are known */
        this.others = [];
        /** Set while the editor is about to switch to this chat's book. @type {EditorBook['lastOpened']} */
        this.following = null;
    }

    /** Another chat was opened, or the chat was closed. If the editor shows a relative's book, it switches to the chat's own. @param {OpenChat | null} open */
    async chatOpened(open) {
        const before = this.lastOpened;
        if (!open) {
            this.update();
            return;
        }
        const now = { name: open.name, book: open.book, group: open.group, avatar: open.avatar };
        this.lastOpened = now;
        this.following = null;
        const { parent, book } = open.metadata.forklore ?? {};
        const isRelative = before && before.group === now.group && before.avatar === now.avatar;
        const relatives = [...(isRelative ? [before] : []), { name: parent?.chat, book: book?.from }].filter(isBound);
        this.others = before && isBound(before) ? [...relatives, before] : relatives;
        const shown = this.host.bookInEditor();
        const isRelatives = relatives.some((other) => this.core.sameBook(other.book, shown));
        if (isRelatives && shown && open.book && !this.core.sameBook(open.book, shown)) {
            this.following = now;
            await this.host.switchEditor(shown, open.book, () => this.lastOpened === now);
            this.following = this.following === now ? null : this.following;
        }
        this.update();
    }

    /** The chats of the open chat's character or group have been read. @param {Array<{name: string, metadata?: ST.Metadata}>} heads */
    learned(heads) {
        const others = heads.map(({ name, metadata }) => ({ name, book: boundBook(metadata) })).filter(isBound);
        this.others = [...others, ...this.others].filter(({ name }) => name !== this.lastOpened?.name);
        this.update();
    }

    /** Reports whose book the editor shows, if it is another chat's and not the open one's. */
    update() {
        const open = this.host.openChat();
        const shown = this.host.bookInEditor();
        const isOther = open && shown && !this.following && !this.core.sameBook(shown, open.book);
        const whose = isOther ? this.others.find(({ book }) => this.core.sameBook(book, shown)) : undefined;
        this.onChange(open && whose ? { chat: whose.name, own: open.book } : null);
    }

    showOwn() {
        const { book } = this.host.openChat() ?? {};
        if (book) {
            this.host.showInEditor(book);
        }
    }
}

/** @param {{name?: string | undefined, book?: string | null}} chat @returns {chat is Bound} */
function isBound(chat) {
    return Boolean(chat.name && chat.book);
}
