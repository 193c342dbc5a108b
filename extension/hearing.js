// What the page asks of its server, and what Forklore does about each.

import { bytesText } from './core.js';
import { isGroupPath, readBookSave, saveTarget } from './requests.js';

export class Hearing {
    /** @param {import('./app.js').App} app */
    constructor(app) {
        this.app = app;
    }

    /** @param {import('./tap.js').Held} held */
    async request(held) {
        switch (held.kind) {
            case 'chat-save': return this.chatSave(held);
            case 'book-save': return this.bookSave(held);
            case 'book-delete': return this.bookDelete(held);
            case 'chat-rename': return this.chatRename(held);
            default: return this.deletion(held);
        }
    }

    async chatSave(held) {
        const text = await held.text();
        const target = saveTarget(held.path, text);
        const open = this.app.host.openChat();
        if (!open || target.name !== open.name || target.group !== Boolean(open.group)) {
            return this.app.forking.save(held);
        }
        const response = await held.send(this.app.recording.carriedBy(text));
        this.app.waitingFor.lookAgain();
        this.app.lookForScenes();
        return response;
    }

    async bookSave(held) {
        const { name, bookText } = readBookSave(await held.text());
        this.app.recording.bookChanged(name, bookText);
        const edit = this.app.host.newestEdit(name);
        const response = await held.send();
        if (response.ok) {
            this.app.host.bookWasSaved(name, edit);
            this.app.renaming.bookSaved(name, bookText);
            this.app.waitingFor.lookAgain();
            this.app.tell('changed');
        }
        return response;
    }

    async bookDelete(held) {
        const { name } = JSON.parse(await held.text());
        const textOf = async (name) => bytesText(await this.app.host.readBook(name));
        const newName = await this.app.renaming.renamedTo(name, textOf).catch(() => null);
        const response = await held.send();
        if (response.ok && newName) {
            await this.app.quietly(() => this.app.renaming.bookRenamed(name, newName));
        }
        if (response.ok) {
            const { book } = this.app.host.openChat() ?? {};
            this.app.lost = book && this.app.core.bookKey(book) === this.app.core.bookKey(name) ? book : this.app.lost;
            this.app.recording.bookChanged(name, null);
            this.app.tell('changed');
        }
        return response;
    }

    async chatRename(held) {
        const body = JSON.parse(await held.text());
        const open = this.app.host.openChat();
        const whose = body.is_group ? { group: open?.group ?? null, avatar: null } : { group: null, avatar: body.avatar_url };
        const response = await held.send();
        if (response.ok) {
            const { sanitizedFileName } = await response.clone().json();
            const stem = (name) => String(name ?? '').replace(/\.jsonl$/, '');
            await this.app.quietly(() => this.app.renaming.chatRenamed(whose, stem(body.original_file), stem(sanitizedFileName ?? body.renamed_file)));
        }
        return response;
    }

    /** A chat, or all chats of a group or character, go; so do their own books. */
    async deletion(held) {
        if (held.kind === 'character-delete') {
            await this.app.quietly(() => this.noteLeftBehind(held));
        }
        if (!this.app.settings.cleanUp) {
            return held.send();
        }
        const { whose, names, label } = await this.deleted(held).catch(() => ({ names: [] }));
        const books = names.length ? await this.app.cleaning.booksOf(whose, names).catch(() => []) : [];
        const response = await held.send();
        if (response.ok && books.length) {
            const isGone = (chat) => names.includes(chat.name) && (whose.group ? Boolean(chat.group) : chat.avatar === whose.avatar);
            // SillyTavern goes on at once; what refers to the books is only settled after it has.
            setTimeout(() => this.app.quietly(async () => {
                const { removed, undo } = await this.app.cleaning.clean(books, `${label} was deleted`, isGone);
                if (removed.length) {
                    this.app.announce('removed', { chat: label, books: removed, undo });
                }
            }), 0);
        }
        return response;
    }

    /** Characters that are deleted without their chats, which nothing lists from then on. */
    async noteLeftBehind(held) {
        const { avatar_url: avatar, delete_chats: withChats } = JSON.parse(await held.text());
        if (!withChats) {
            this.app.settings.leftBehind = [...new Set([...(this.app.settings.leftBehind ?? []), avatar])];
            this.app.host.saveSettings();
        }
    }

    async deleted(held) {
        const body = JSON.parse(await held.text());
        if (held.kind === 'group-delete') {
            const whose = { group: String(body.id), avatar: null };
            return { whose, names: await this.app.host.chatNames(whose), label: this.labelOf(whose) };
        }
        if (held.kind === 'character-delete') {
            const whose = { group: null, avatar: body.avatar_url };
            return { whose, names: body.delete_chats ? await this.app.host.chatNames(whose) : [], label: this.labelOf(whose) };
        }
        const isGroup = isGroupPath(held.path);
        const name = String((isGroup ? body.id : body.chatfile) ?? '').replace(/\.jsonl$/, '');
        return { whose: isGroup ? { group: 'any', avatar: null } : { group: null, avatar: body.avatar_url }, names: [name], label: name };
    }

    labelOf(whose) {
        const owner = this.app.host.owners().find((owner) => owner.group === whose.group && owner.avatar === whose.avatar);
        return owner?.label ?? '';
    }
}
