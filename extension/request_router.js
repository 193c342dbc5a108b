// What Forklore does about each of the page's requests to its server.

import { bytesText } from './core/json.js';
import { isGroupPath, readBookSave } from './sillytavern/requests.js';

export class RequestRouter {
    /** @param {import('./app.js').App} app */
    constructor(app) {
        this.app = app;
    }

    /** @param {import('./sillytavern/tap.js').HeldRequest} held */
    async handle(held) {
        switch (held.kind) {
            case 'chat-save': return this.chatSave(held);
            case 'book-read': return this.bookRead(held);
            case 'book-save': return this.bookSave(held);
            case 'book-delete': return this.bookDelete(held);
            case 'chat-rename': return this.chatRename(held);
            default: return this.deletion(held);
        }
    }

    async chatSave(held) {
        const save = await this.app.childSaves.read(held);
        if (save.kind !== 'open') {
            const response = await this.app.childSaves.handle(held, save);
            if (response.ok) {
                this.noteTimeline(save);
            }
            return response;
        }
        const response = await held.send(this.app.recorder.withRecords(await held.text()));
        if (response.ok) {
            void this.app.reportErrors(() => this.app.openSaved());
        }
        this.app.queueWait.recheck();
        this.app.sceneCheckpoints.makeIfDue();
        return response;
    }

    /** Updates the index in the background with what another chat contains now. */
    noteTimeline({ owner, name }) {
        if (owner.group || owner.avatar) {
            this.app.timelines.saved(owner, name).then(() => this.app.emit('timelines'), (error) => console.warn('Forklore:', error));
        }
    }

    /** The page will base its next edit on what it reads now. */
    async bookRead(held) {
        const arrived = this.app.recorder.arrivedSoFar();
        const response = await held.send();
        if (response.ok) {
            const { name } = JSON.parse(await held.text());
            const text = await response.clone().text();
            this.app.lineage.remember(name, text);
            this.app.host.bookWasRead(name, text);
            this.app.recorder.bookRead(name, text, arrived);
        }
        return response;
    }

    async bookSave(held) {
        const { name, bookText } = readBookSave(await held.text());
        this.app.recorder.bookChanged(name, bookText);
        const edit = this.app.host.newestEdit(name);
        const { response, text } = await this.app.guard.save(held, name, bookText);
        if (response.ok) {
            if (text !== bookText && edit === this.app.host.newestEdit(name)) {
                this.app.recorder.bookChanged(name, text);
            }
            this.app.host.bookWasSaved(name, edit);
            this.app.recorder.bookSaved(name, text);
            this.app.renames.bookSaved(name, text);
            this.app.queueWait.recheck();
            this.app.emit('changed');
        }
        return response;
    }

    async bookDelete(held) {
        const { name } = JSON.parse(await held.text());
        const textOf = async (name) => bytesText(await this.app.host.readBook(name));
        const newName = await this.app.renames.renamedTo(name, textOf).catch(() => null);
        const response = await held.send();
        if (response.ok && newName) {
            await this.app.reportErrors(() => this.app.renames.bookRenamed(name, newName));
        }
        if (response.ok) {
            const { book } = this.app.host.openChat() ?? {};
            this.app.recorder.bookChanged(name, null);
            this.app.lineage.forget(name);
            if (this.app.core.sameBook(book, name)) {
                void this.app.reportErrors(() => this.app.bookLost(book));
            }
            this.app.emit('changed');
        }
        return response;
    }

    async chatRename(held) {
        const body = JSON.parse(await held.text());
        const open = this.app.host.openChat();
        const owner = body.is_group ? { group: open?.group ?? null, avatar: null } : { group: null, avatar: body.avatar_url };
        const response = await held.send();
        if (response.ok) {
            const { sanitizedFileName } = await response.clone().json();
            const stem = (name) => String(name ?? '').replace(/\.jsonl$/, '');
            const [from, to] = [stem(body.original_file), stem(sanitizedFileName ?? body.renamed_file)];
            this.app.timelines.index.renamed(owner, from, to);
            await this.app.reportErrors(() => this.app.renames.chatRenamed(owner, from, to));
        }
        return response;
    }

    /** A chat is deleted, or all chats of a group or character; so are the books that were made for them. */
    async deletion(held) {
        if (held.kind === 'character-delete') {
            await this.app.reportErrors(() => this.noteLeftBehind(held));
        }
        if (!this.app.settings.cleanUp) {
            return held.send();
        }
        const { owner, names, label } = await this.deleted(held).catch(() => ({ names: [] }));
        const books = names.length ? await this.app.cleanup.booksOf(owner, names).catch(() => []) : [];
        const response = await held.send();
        if (response.ok && books.length) {
            const isGone = (chat) => names.includes(chat.name) && (owner.group ? Boolean(chat.group) : chat.avatar === owner.avatar);
            // SillyTavern continues at once. Only after that are all references to the books up to date.
            setTimeout(() => this.app.reportErrors(async () => {
                const { removed, undo } = await this.app.cleanup.clean(books, `${label} was deleted`, isGone);
                if (removed.length) {
                    this.app.announce('removed', { chat: label, books: removed, undo });
                }
            }), 0);
        }
        return response;
    }

    /** Notes characters that are deleted without their chats, because nothing lists those chats any more. */
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
            const owner = { group: String(body.id), avatar: null };
            return { owner, names: await this.app.host.chatNames(owner), label: this.labelOf(owner) };
        }
        if (held.kind === 'character-delete') {
            const owner = { group: null, avatar: body.avatar_url };
            return { owner, names: body.delete_chats ? await this.app.host.chatNames(owner) : [], label: this.labelOf(owner) };
        }
        const isGroup = isGroupPath(held.path);
        const name = String((isGroup ? body.id : body.chatfile) ?? '').replace(/\.jsonl$/, '');
        return { owner: isGroup ? { group: 'any', avatar: null } : { group: null, avatar: body.avatar_url }, names: [name], label: name };
    }

    labelOf(owner) {
        const found = this.app.host.owners().find(({ group, avatar }) => group === owner.group && avatar === owner.avatar);
        return found?.label ?? '';
    }
}
