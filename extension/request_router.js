// What Forklore does about each of the page's requests to its server.

import { bytesText } from './core/json.js';
import { isForklores } from './features/trash/trash.js';
import { readBookName, readBookSave, readChatSave, readDeletion, readRename, renamedFile, stemOf, withoutFiles } from './sillytavern/requests.js';

/**
 * @import { Core, Host, Owner, Settings } from './types.js'
 * @import { HeldRequest } from './sillytavern/tap.js'
 * @import { Events } from './events.js'
 */

/** In milliseconds: SillyTavern has opened a new branch by then. */
const OPENED_WITHIN = 1000;
/** In characters: a save of a chat without messages is smaller. */
const SMALL = 2000;

export class RequestRouter {
    /**
     * @param {object} parts
     * @param {Host} parts.host @param {Core} parts.core @param {Settings} parts.settings @param {Events} parts.events
     * @param {import('./features/changes.js').Changes} parts.changes
     * @param {import('./features/cleanup.js').Cleanup} parts.cleanup
     * @param {import('./features/fork/child_save.js').ChildSaveHandler} parts.childSaves
     * @param {import('./features/fork/queue_wait.js').QueueWait} parts.queueWait
     * @param {import('./features/fork/scene_checkpoints.js').SceneCheckpoints} parts.sceneCheckpoints
     * @param {import('./features/guard/guard.js').Guard} parts.guard
     * @param {import('./features/guard/lineage.js').Lineage} parts.lineage
     * @param {import('./features/journal/recorder.js').Recorder} parts.recorder
     * @param {import('./features/rename.js').Renames} parts.renames
     * @param {import('./features/repair/findings.js').Findings} parts.findings
     * @param {import('./features/timelines/timelines.js').Timelines} parts.timelines
     * @param {import('./features/timelines/message_marks.js').MessageMarks} parts.messageMarks
     * @param {import('./features/trash/trash.js').Trash} parts.trash
     */
    constructor({ host, core, settings, events, changes, cleanup, childSaves, queueWait, sceneCheckpoints, guard, lineage, recorder, renames, findings, timelines, messageMarks, trash }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.events = events;
        this.changes = changes;
        this.cleanup = cleanup;
        this.childSaves = childSaves;
        this.queueWait = queueWait;
        this.sceneCheckpoints = sceneCheckpoints;
        this.guard = guard;
        this.lineage = lineage;
        this.recorder = recorder;
        this.renames = renames;
        this.findings = findings;
        this.timelines = timelines;
        this.messageMarks = messageMarks;
        this.trash = trash;
    }

    /** @param {HeldRequest} held @returns {Promise<Response>} */
    async handle(held) {
        switch (held.kind) {
            case 'chat-save': return this.chatSave(held);
            case 'book-read': return this.bookRead(held);
            case 'book-save': return this.bookSave(held);
            case 'book-delete': return this.bookDelete(held);
            case 'chat-rename': return this.chatRename(held);
            case 'clean-up': return this.cleanUp(held);
            default: return this.noteDeleted(held, await this.deletion(held));
        }
    }

    async chatSave(/** @type {HeldRequest} */ held) {
        if (await this.empties(held)) {
            console.warn('Forklore: a save that would have emptied a chat was not sent');
            return new Response('{"ok":true}', { headers: { 'content-type': 'application/json' } });
        }
        const save = await this.childSaves.read(held);
        if (save.kind !== 'open') {
            const response = await this.childSaves.handle(held, save);
            if (response.ok && save.kind === 'child' && this.host.kindOfFork(save.name) === 'branch') {
                // It is opened next, and noted then; unless an extension made it, which may not open it.
                setTimeout(() => this.host.openChat()?.name === save.name || this.noteTimeline(save), OPENED_WITHIN);
            } else if (response.ok) {
                this.noteTimeline(save);
            }
            return response;
        }
        const { body, saved } = this.recorder.withRecords(await held.text());
        const response = await held.send(body);
        if (response.ok) {
            this.recorder.chatSaved(saved);
            void this.events.reportErrors(() => {
                this.timelines.openSaved();
                this.messageMarks.schedule();
                return this.findings.openSaved();
            });
        }
        this.queueWait.recheck();
        this.sceneCheckpoints.makeIfDue();
        return response;
    }

    /**
     * Whether a request would write no message and no metadata over a chat that has some. SillyTavern can send it while it opens
     * a chat that it has not read yet.
     * @param {HeldRequest} held
     */
    async empties(held) {
        const text = await held.text();
        const saved = text.length < SMALL && text.includes('"chat_metadata":{}') ? readChatSave(held.path, text, this.host.openChat()?.group ?? null) : null;
        return saved !== null && saved.isEmpty && (await this.host.readChat(saved.owner, saved.name)).some((line, at) => at > 0 || Object.keys(line.chat_metadata ?? {}).length > 0);
    }

    /** Updates the index in the background with what another chat contains now. @param {{owner: Owner, name?: string}} save */
    noteTimeline({ owner, name }) {
        if (name !== undefined && (owner.group || owner.avatar)) {
            this.timelines.saved(owner, name).then(() => this.events.emit('timelines', undefined), (/** @type {unknown} */ error) => console.warn('Forklore:', error));
        }
    }

    /** The page will base its next edit on what it reads now. */
    async bookRead(/** @type {HeldRequest} */ held) {
        const arrived = this.recorder.arrivedSoFar();
        const response = await held.send();
        if (response.ok) {
            const name = readBookName(await held.text());
            const text = await response.clone().text();
            this.lineage.remember(name, text);
            this.host.bookWasRead(name, text);
            this.recorder.bookRead(name, text, arrived);
        }
        return response;
    }

    async bookSave(/** @type {HeldRequest} */ held) {
        const { name, bookText } = readBookSave(await held.text());
        this.recorder.bookChanged(name, bookText);
        this.childSaves.forkBooks.forget();
        const edit = this.host.newestEdit(name);
        const isNew = await this.renames.isNewBook(name).catch(() => false);
        const { response, text } = await this.guard.save(held, name, bookText);
        if (response.ok) {
            if (text !== bookText && edit === this.host.newestEdit(name)) {
                this.recorder.bookChanged(name, text);
            }
            this.host.bookWasSaved(name, edit);
            this.recorder.bookSaved(name, text);
            if (isNew) {
                this.renames.newBookSaved(name, text);
            }
            this.queueWait.recheck();
            this.events.changed();
        }
        return response;
    }

    async bookDelete(/** @type {HeldRequest} */ held) {
        const name = readBookName(await held.text());
        const textOf = async (/** @type {string} */ name) => bytesText(await this.host.readBook(name));
        const newName = await this.renames.renamedTo(name, textOf).catch(() => null);
        const response = await held.send();
        if (response.ok && newName) {
            await this.events.reportErrors(() => this.renames.bookRenamed(name, newName));
        }
        if (response.ok) {
            const { book } = this.host.openChat() ?? {};
            this.recorder.bookChanged(name, null);
            this.lineage.forget(name);
            if (book && this.core.sameBook(book, name)) {
                void this.events.reportErrors(() => this.changes.bookLost(book));
            }
            this.events.changed();
        }
        return response;
    }

    async chatRename(/** @type {HeldRequest} */ held) {
        const { isGroup, avatar, from, to: wanted } = readRename(await held.text());
        const owner = isGroup ? { group: this.host.openChat()?.group ?? null, avatar: null } : { group: null, avatar };
        const response = await held.send();
        if (response.ok) {
            const to = stemOf(await renamedFile(response) ?? wanted);
            this.timelines.index.renamed(owner, from, to);
            await this.events.reportErrors(() => this.renames.chatRenamed(owner, from, to));
            this.events.emit('timelines', undefined);
        }
        return response;
    }

    /** SillyTavern's Clean-Up would offer what Forklore keeps for deletion, since no chat refers to it. */
    async cleanUp(/** @type {HeldRequest} */ held) {
        const answer = await held.send();
        if (!answer.ok) {
            return answer;
        }
        const { response, hidden } = await withoutFiles(answer, isForklores);
        this.events.emit('unlisted', { count: hidden.length, bytes: hidden.reduce((sum, { size = 0 }) => sum + size, 0) });
        return response;
    }

    /** The index forgets a chat that was deleted, except for what its forks need. @param {HeldRequest} held @param {Response} response */
    async noteDeleted(held, response) {
        if (response.ok) {
            await this.events.reportErrors(async () => {
                const { owner, chat } = readDeletion(held.kind, held.path, await held.text());
                if (chat === undefined) {
                    await this.timelines.index.keepGhosts(owner, []);
                } else {
                    await this.timelines.index.deleted(this.ownerOf(owner), [chat]);
                    this.events.emit('timelines', undefined);
                }
            });
        }
        return response;
    }

    /** A request does not say of which group a chat is. @param {Owner} owner @returns {Owner} */
    ownerOf(owner) {
        return owner.group ? { group: this.host.openChat()?.group ?? null, avatar: null } : owner;
    }

    /** A chat is deleted, or all chats of a group or character; so are the books that were made for them. */
    async deletion(/** @type {HeldRequest} */ held) {
        if (held.kind === 'character-delete') {
            await this.events.reportErrors(() => this.noteLeftBehind(held));
        }
        const deleted = await this.deleted(held).catch(() => null);
        if (!deleted) {
            return held.send();
        }
        const { owner, names, label, deletion } = deleted;
        const books = this.settings.cleanUp && names.length ? await this.cleanup.booksOf(owner, names).catch(() => []) : [];
        const response = await held.send();
        if (response.ok && (books.length || deletion)) {
            const isGone = (/** @type {Owner & {name: string}} */ chat) => names.includes(chat.name) && (owner.group ? Boolean(chat.group) : chat.avatar === owner.avatar);
            const clean = () => this.events.reportErrors(async () => {
                const { removed, undo } = await this.cleanup.clean(books, { code: 'deleted', name: label }, isGone, deletion);
                if (deletion) {
                    deletion.removed = removed;
                }
                if (removed.length || deletion?.token) {
                    const report = { chat: label, books: removed, undo, isKept: Boolean(deletion?.token) };
                    if (!deletion?.isOneOfSeveral) {
                        this.events.emit('removed', report);
                    }
                    this.events.announce('removed', report);
                }
            });
            // SillyTavern continues at once. Only after that are all references to the books up to date.
            const cleaning = /** @type {Promise<void>} */ (new Promise((resolve) => setTimeout(() => resolve(clean()), 0)));
            if (deletion) {
                deletion.cleaning = cleaning;
            }
        }
        return response;
    }

    /** Notes characters that are deleted without their chats, because nothing lists those chats any more. */
    async noteLeftBehind(/** @type {HeldRequest} */ held) {
        const { owner: { avatar }, withChats } = readDeletion(held.kind, held.path, await held.text());
        if (!withChats && avatar) {
            this.settings.leftBehind = [...new Set([...(this.settings.leftBehind ?? []), avatar])];
            this.host.saveSettings();
        }
    }

    /** The chats that a request deletes. @param {HeldRequest} held */
    async deleted(held) {
        const { owner, chat, withChats } = readDeletion(held.kind, held.path, await held.text());
        if (chat !== undefined) {
            await this.timelines.beforeDeletion(this.ownerOf(owner), chat).catch((error) => console.warn('Forklore:', error));
            return { owner, names: [chat], label: chat, deletion: this.trash.deletions.get(chat) };
        }
        const found = this.host.owners().find(({ group, avatar }) => group === owner.group && avatar === owner.avatar);
        return { owner, names: withChats ? await this.host.chatNames(owner) : [], label: found?.label ?? '' };
    }
}
