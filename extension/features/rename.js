// Updates references when a chat or book is renamed. SillyTavern itself only moves the file.

/** In milliseconds: SillyTavern deletes the old book right after it has written the new one. */
const RENAME_MILLISECONDS = 3000;

export class Renames {
    /** @param {{host: object, core: object, repairs: object}} parts */
    constructor(parts) {
        Object.assign(this, parts);
        /** The last book saved, to tell a rename (saved under a new name, then deleted) from a deletion. */
        this.lastBookSave = null;
    }

    /**
     * A chat was renamed on the server, but SillyTavern has not reloaded it yet.
     * @param {{group: string | null, avatar: string | null}} owner
     */
    async chatRenamed(owner, from, to) {
        this.host.copyRecapSettings(from, to);
        const renamed = await this.updateOwnName(owner, from, to);
        const open = this.host.openChat();
        const heads = await this.host.chatHeads(owner);
        for (const head of heads.filter((head) => head.metadata?.main_chat === from)) {
            const isOpen = open?.name === head.name;
            await this.change(owner, head.name, isOpen ? open : null, ({ metadata }) => {
                metadata.main_chat = to;
                if (metadata.forklore?.parent?.chat === from) {
                    metadata.forklore.parent.chat = to;
                }
                return true;
            });
        }
        const parent = renamed?.main_chat;
        if (parent && heads.some((head) => head.name === parent)) {
            await this.change(owner, parent, open?.name === parent ? open : null, ({ messages }) => {
                const linking = messages.filter((message) => message?.extra?.bookmark_link === from);
                linking.forEach((message) => { message.extra.bookmark_link = to; });
                return linking.length > 0;
            });
        }
    }

    /**
     * ST-Auto-Recap clears the running recap of a main chat whose name has changed.
     * @returns {Promise<object | undefined>} the chat's metadata; a group lists the new name only later
     */
    async updateOwnName(owner, from, to) {
        return this.change(owner, to, null, ({ metadata }) => {
            const recap = metadata.auto_recap_running_scene_recaps;
            if (recap?.chat_id !== from) {
                return false;
            }
            recap.chat_id = to;
            return true;
        });
    }

    /**
     * Changes a chat: in the page if it is open, otherwise in its file. `edit` returns whether it changed anything.
     * @returns {Promise<object | undefined>} the chat's metadata
     */
    async change(owner, name, open, edit) {
        if (open) {
            if (edit(open)) {
                await this.host.saveOpenChat();
            }
            return open.metadata;
        }
        const [header, ...messages] = await this.host.readChat(owner, name);
        if (header?.chat_metadata && edit({ metadata: header.chat_metadata, messages })) {
            await this.host.writeChat(owner, name, [header, ...messages]);
        }
        return header?.chat_metadata;
    }

    bookSaved(name, text) {
        this.lastBookSave = { name, text, when: Date.now() };
    }

    /**
     * The new name of a book that is being deleted, if SillyTavern has just written the same book under another name.
     * @param {(name: string) => Promise<string>} textOf
     */
    async renamedTo(name, textOf) {
        const last = this.lastBookSave;
        if (!last || last.name === name || Date.now() - last.when > RENAME_MILLISECONDS) {
            return null;
        }
        return isSameLore(last.text, await textOf(name)) ? last.name : null;
    }

    /** A book was renamed: updates every chat bound to it, including the open one. */
    async bookRenamed(from, to) {
        const key = this.core.bookKey(from);
        const open = this.host.openChat();
        for (const head of await this.host.allChatHeads()) {
            const book = head.metadata?.world_info;
            if (!book || this.core.bookKey(book) !== key || (open && isSame(head, open))) {
                continue;
            }
            await this.repairs.updateBookName(await this.repairs.closedChat(head), to, { isOpen: false });
        }
        if (open && open.book && [key, this.core.bookKey(to)].includes(this.core.bookKey(open.book))) {
            // SillyTavern may have rebound the open chat already; other references still have the old name.
            await this.repairs.updateBookName({ ...open, book: from, metadata: open.metadata }, to, { isOpen: true });
        }
    }
}

function isSame(head, open) {
    return head.name === open.name && (head.group ?? null) === (open.group ?? null) && (head.avatar ?? null) === (open.avatar ?? null);
}

/** Whether two texts are the same book. SillyTavern's editor normalizes other fields as soon as it shows an entry. */
function isSameLore(one, other) {
    const lore = (text) => JSON.stringify(Object.entries(JSON.parse(text).entries).map(([place, { uid, key, comment, content }]) =>
        [place, uid, key, comment, content]));
    try {
        return one === other || lore(one) === lore(other);
    } catch {
        return false;
    }
}
