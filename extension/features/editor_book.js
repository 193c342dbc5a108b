// Whose book SillyTavern's editor shows. It does not change with the chat, so after a fork it shows the parent's, and
// whatever is typed goes there.

/** @typedef {{name: string, book: string}} Bound a chat and the book that is bound to it */

export class EditorBook {
    /** @param {{host: object, core: object, onChange: (shown: {chat: string, own: string | null} | null) => void}} parts */
    constructor({ host, core, onChange }) {
        Object.assign(this, { host, core, onChange });
        /** @type {(Bound & {group: string | null, avatar: string | null}) | null} the chat that was opened last */
        this.lastOpened = null;
        /** @type {Bound[]} chats that are not open, as far as anybody knows */
        this.others = [];
        /** The chat whose book the editor is about to show. */
        this.following = null;
    }

    /** Another chat was opened, or none. An editor that shows the book of a relative goes along. */
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
        const relatives = [isRelative && before, { name: parent?.chat, book: book?.from }].filter((other) => other?.name && other.book);
        this.others = before ? [...relatives, before] : relatives;
        const shown = this.host.bookInEditor();
        const isRelatives = relatives.some((other) => this.isSame(other.book, shown));
        if (isRelatives && open.book && !this.isSame(open.book, shown)) {
            this.following = now;
            await this.host.switchEditor(shown, open.book, () => this.lastOpened === now);
            this.following = this.following === now ? null : this.following;
        }
        this.update();
    }

    /** The chats of the open one's character or group are known by now. @param {Array<{name: string, metadata?: object}>} heads */
    learned(heads) {
        const others = heads.map(({ name, metadata }) => ({ name, book: metadata?.world_info })).filter(({ book }) => book);
        this.others = [...others, ...this.others].filter(({ name }) => name !== this.lastOpened?.name);
        this.update();
    }

    /** Tells whose book is shown, where it is another chat's and not the open one's. */
    update() {
        const open = this.host.openChat();
        const shown = this.host.bookInEditor();
        const isOther = open && shown && !this.following && !this.isSame(shown, open.book);
        const whose = isOther ? this.others.find(({ book }) => this.isSame(book, shown)) : undefined;
        this.onChange(whose ? { chat: whose.name, own: open.book } : null);
    }

    showOwn() {
        const { book } = this.host.openChat() ?? {};
        if (book) {
            this.host.showInEditor(book);
        }
    }

    isSame(one, other) {
        return Boolean(one && other) && this.core.bookKey(one) === this.core.bookKey(other);
    }
}
