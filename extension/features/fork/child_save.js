// Holds back the request that saves a new child until the child has a book of its own.

import { slimMessage } from '../../core/chat.js';
import { entriesOf, timeNow } from '../../core/core.js';
import { bytesText, sameJson, textBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { bookSave, linesOfSave } from '../../sillytavern/requests.js';
import { isSameMessage } from '../chat_change.js';
import { forkSettings, nameFrom } from '../settings.js';
import { unreadable } from './fork_books.js';
import { PendingForks } from './pending_forks.js';
/**
 * @import { CharacterLore, Decision, ForkAsk, ForkMade, SaveAsk, SaveOfChild } from '../../core/fork_calls.js'
 * @import { HeldRequest } from '../../sillytavern/tap.js'
 * @import { Core, ForkChoice, ForkKind, ForkQuestion, ForkReport, Host, OpenChat, Owner, Settings } from '../../types.js'
 * @import { DecidedFork } from './pending_forks.js'
 */

/** In characters: how much of a request the core needs to see whether it saves the open chat. */
const START = 4096;

/**
 * @typedef {SaveOfChild & {owner: Owner, open: OpenChat, ask: SaveAsk, body: Uint8Array}} HeldChild
 * @typedef {{kind: 'other', name?: string, owner: Owner}} HeldOther
 * @typedef {{report: ForkMade, body: Uint8Array, book?: Uint8Array, memories?: Uint8Array[]}} PlannedFork
 */

/** The books that a fork makes. @param {PlannedFork} fork */
function booksOf({ report, book, memories = [] }) {
    const made = [{ name: report.book?.name, bytes: book }, ...report.memories.map((name, at) => ({ name, bytes: memories[at] }))];
    return made.flatMap(({ name, bytes }) => (name !== undefined && bytes ? [{ name, bytes }] : []));
}

export class ChildSaveHandler {
    /**
     * @param {object} parts
     * @param {Host} parts.host @param {Core} parts.core @param {Settings} parts.settings
     * @param {import('./fork_books.js').ForkBooks} parts.books
     * @param {(question: ForkQuestion) => Promise<ForkChoice | 'cancel'>} parts.ask
     * @param {(open: OpenChat) => CharacterLore | null} [parts.loreOf] a lorebook of the character that a fork may share
     * @param {(kind: ForkKind, message: number) => Promise<boolean>} parts.untilReady resolves to `true` when the queue is empty, or to `false` on timeout
     * @param {() => Promise<void>} [parts.untilFileChecked] resolves when the open chat's journal is as complete as it can be
     * @param {(book: string, text: string) => boolean} [parts.isBasedOn] whether the page's copy of a book was made from this text
     * @param {() => string[]} [parts.trashed] the names of lorebooks that may be put back
     * @param {() => string | null} [parts.lost] the open chat's lost book, if another one is bound in its place
     * @param {(report: ForkReport) => void} parts.onForked
     * @param {(error: unknown) => void} parts.onError
     */
    constructor({ host, core, settings, books, ask, loreOf = () => null, untilReady, untilFileChecked = async () => {}, isBasedOn = () => true, trashed = () => [], lost = () => null, onForked, onError }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.forkBooks = books;
        this.ask = ask;
        this.loreOf = loreOf;
        this.untilReady = untilReady;
        this.untilFileChecked = untilFileChecked;
        this.isBasedOn = isBasedOn;
        this.trashed = trashed;
        this.lost = lost;
        this.onForked = onForked;
        this.onError = onError;
        this.pending = new PendingForks();
        /** The last child whose save is handled: the next one waits for it. @type {Promise<unknown>} */
        this.turn = Promise.resolve();
        /** The names of the children whose saves have not been answered. @type {string[]} */
        this.unanswered = [];
        /** The first words of a message. Set by the user interface. */
        this.firstWords = (/** @type {string} */ text) => text;
    }

    /** What a request saves, according to the core. @param {HeldRequest} held @returns {Promise<{kind: 'open'} | HeldOther | HeldChild>} */
    async read(held) {
        const text = await held.text();
        const open = this.host.openChat();
        const facts = open && { name: open.name, group: Boolean(open.group), integrity: open.integrity, book: open.book };
        const ask = { path: held.path, open: facts, lost: this.lost() };
        if (this.core.savesOpen(ask, textBytes(text.slice(0, START)))) {
            return { kind: 'open' };
        }
        const body = textBytes(text);
        const save = this.core.readSave(ask, body);
        if (save.kind === 'open') {
            return save;
        }
        const owner = save.group ? { group: open?.group ?? null, avatar: null } : { group: null, avatar: save.avatar ?? null };
        return save.kind === 'other' || !open ? { kind: 'other', name: save.name, owner } : { ...save, owner, open, ask, body };
    }

    /** Handles a request that saves a chat other than the open one; one child after the other. @param {HeldRequest} held @param {HeldOther | HeldChild} save */
    async handle(held, save) {
        if (save.kind === 'other' || !this.settings.isolate) {
            return held.send();
        }
        const name = JSON.stringify([save.owner, (save.stem ?? save.name).toLowerCase()]);
        const isSecond = this.unanswered.includes(name);
        this.unanswered.push(name);
        const mine = this.turn.catch(() => {}).then(() => this.handleChild(held, save, isSecond));
        this.turn = mine;
        try {
            return await mine;
        } finally {
            this.unanswered.splice(this.unanswered.indexOf(name), 1);
        }
    }

    /** @param {HeldRequest} held @param {HeldChild} save @param {boolean} isSecond whether another save of this name came before it was answered */
    async handleChild(held, save, isSecond) {
        /** @type {PlannedFork} */
        let fork;
        /** @type {DecidedFork} */
        let pending;
        try {
            const books = this.books(save);
            // An error is handled where the promise is awaited.
            books.catch(() => {});
            const there = await this.existing(save);
            if (there && save.integrity && there[0]?.chat_metadata?.integrity === save.integrity) {
                // It is saved again.
                return held.send();
            }
            // SillyTavern numbers branches itself, so that nobody wants two of one name.
            if (there && (isSecond || this.host.kindOfFork(save.name) === 'branch')) {
                return this.answerTwin(held, save, there);
            }
            pending = this.pending.take(save);
            fork = await this.plan(save, pending.decision, books);
            this.forkBooks.forget();
            for (const { name, bytes } of booksOf(fork)) {
                await this.writeBook(name, bytes, { isOpenedNext: fork.report.kind === 'branch' && name === fork.report.book?.name });
            }
        } catch (error) {
            this.onError(Object.assign(error instanceof Error ? error : new Error(String(error)), { leftWithout: save.name }));
            return this.sendWithoutBook(held, save);
        }
        const refreshed = booksOf(fork).length ? this.refreshBooks() : null;
        const response = await held.send(bytesText(fork.body));
        if (fork.report.kind !== 'branch' || !response.ok) {
            // SillyTavern lists the book of a branch while it opens the branch.
            await refreshed;
        }
        pending.report = response.ok ? fork.report : null;
        if (response.ok) {
            this.onForked(fork.report);
        } else {
            await this.takeBack(fork, save);
        }
        return response;
    }

    /**
     * Answers a save whose child was made by another one a moment ago. If that is the same fork, it is done; otherwise the name is taken, and
     * nothing is written.
     * @param {HeldRequest} held @param {HeldChild} save @param {ST.Line[]} there the other child
     */
    async answerTwin(held, save, there) {
        const [, ...messages] = linesOfSave(await held.text());
        if (messages.length === there.length - 1 && messages.every((message, at) => isSameMessage(there[at + 1], message))) {
            return new Response('{"ok":true}', { headers: { 'content-type': 'application/json' } });
        }
        this.onError(wordError('name-taken', { name: save.name }));
        return new Response('{}', { status: 409, statusText: 'A chat of this name exists' });
    }

    /** Better no book than the parent's, and better no child than one with the parent's book. @param {HeldRequest} held @param {HeldChild} save */
    async sendWithoutBook(held, save) {
        try {
            return held.send(bytesText(this.core.saveWithoutBook({ ...save.ask, newIntegrity: this.host.newSlug(), kind: this.host.kindOfFork(save.name), ...timeNow() }, save.body)));
        } catch (error) {
            this.onError(error);
            return new Response('{}', { status: 500, statusText: 'Forklore held this chat back' });
        }
    }

    /** The lines of the chat that has the child's name already. @param {HeldChild} save @returns {Promise<ST.Line[] | null>} */
    async existing(save) {
        // A group lists a new chat before it is saved.
        const isListed = save.group || (await this.host.chatNames(save.owner)).some((name) => name === save.name || name === save.stem);
        const lines = isListed ? await this.host.readChat(save.owner, save.name) : [];
        return lines.length ? lines : null;
    }

    /**
     * Asks the core for a plan, and does what it wants first, until there is one.
     * @param {HeldChild} save @param {Decision} decision @param {ReturnType<ChildSaveHandler['books']>} current @returns {Promise<PlannedFork>}
     */
    async plan(save, decision, current) {
        const later = await this.laterMessages(save);
        /** @type {ForkAsk['choice']} */
        let choice = null;
        const lore = save.isOfOpen ? this.loreOf(save.open) : null;
        const wantsOwn = lore && (decision.includes('own') || lore.always === 'own');
        const shared = wantsOwn ? await this.host.readBook(lore.book).catch(unreadable) : undefined;
        for (;;) {
            const { names, book, memories } = await current;
            const ask = {
                ...save.ask,
                kind: this.host.kindOfFork(save.name),
                title: this.titleFor(save),
                books: [...names, ...this.trashed()],
                newIntegrity: this.host.newSlug(),
                selected: this.alsoSelected(save.book),
                underWay: await this.host.recapOperations(),
                hasMemoryBooks: this.host.hasMemoryBooks(),
                pageBook: await this.otherCopy(save, book),
                lore,
                ...timeNow(),
                settings: forkSettings(this.settings),
                decision,
                choice,
            };
            const answer = this.core.fork(ask, save.body, later, book, memories, shared);
            if (answer.body && answer.value.unread.length > 0) {
                // At that message, Memory Books named other books than today.
                current = this.books(save, [...memories.map(({ name }) => name), ...answer.value.unread]);
                continue;
            }
            if (answer.body) {
                const { value, ...files } = answer;
                return { report: { ...value, book: this.shown(value.book, files.book), isConversion: save.kind === 'conversion', wasChosen: decision.includes('nearest') }, ...files };
            }
            const { step, decision: next, ...question } = answer.value;
            if (step === 'stop') {
                throw new Error(`${save.name} could not be given a lorebook of its own`);
            }
            if (step === 'wait') {
                await this.untilReady(ask.kind, save.messages - 1);
            }
            choice = step === 'ask' ? await this.ask(question) : null;
            decision = next;
            this.forkBooks.forget();
            current = this.books(save);
        }
    }

    /** Without the entries that a memory extension keeps for itself. @param {ForkMade['book']} made @param {Uint8Array | undefined} bytes */
    shown(made, bytes) {
        const shown = made && bytes ? Object.values(entriesOf(bytes)).filter((entry) => !this.core.isInternal(String(entry?.comment ?? ''))) : [];
        return made && { ...made, entries: shown.length };
    }

    /** The names of all books, and the contents of the parent's. @param {HeldChild} save @param {string[]} [named] by Memory Books */
    async books({ book: bound, memoryBooks }, named = memoryBooks) {
        const { names, book } = await this.forkBooks.read(bound);
        const read = async (/** @type {string} */ name) =>
            ({ name, bytes: this.forkBooks.isAmong(names, name) ? await this.host.readBook(name).catch(unreadable) : undefined });
        return { names, book, memories: await Promise.all(named.map(read)) };
    }

    /**
     * Another text of the parent's book than the one that the child gets: the page's copy or, if that one has an edit that is not saved
     * yet, the file, if another device has written it since the page has read it.
     * @param {HeldChild} save @param {Uint8Array} [used]
     */
    async otherCopy({ isOfOpen, book }, used) {
        const own = isOfOpen && book && used?.length ? this.host.cachedBookText(book) : undefined;
        if (!book || !used || own === undefined) {
            return null;
        }
        if (!sameJson(own, bytesText(used))) {
            return own;
        }
        const file = this.host.newestEdit(book) ? await this.host.bookOnServer(book) : null;
        return file === null || this.isBasedOn(book, file) ? null : file;
    }

    /** The parent's messages after the child's last one. @param {HeldChild} save */
    async laterMessages({ isOfOpen, open, owner, parent, messages }) {
        if (isOfOpen) {
            await this.untilFileChecked();
            return open.messages.slice(messages).map(slimMessage);
        }
        const lines = await this.host.readChat(owner, parent);
        return lines.slice(messages + 1).map(slimMessage);
    }

    /** The title of a branch, from the user's template. @param {HeldChild} save */
    titleFor({ name, isOfOpen, open, messages }) {
        const { branchTitle } = this.settings;
        if (!branchTitle || !isOfOpen || this.host.kindOfFork(name) !== 'branch') {
            return null;
        }
        const message = messages - 1;
        const { name: speaker = '', mes = '' } = open.messages[message] ?? {};
        return nameFrom(branchTitle, { message, speaker, words: this.firstWords(String(mes)), chat: open.name });
    }

    alsoSelected(/** @type {string | null} */ bookName) {
        const places = this.host.bookReferences().filter(({ book }) => this.core.sameBook(book, bookName));
        return [...new Map(places.map((found) => [found.place, found])).values()];
    }

    /**
     * Writes a book and reads it back: SillyTavern reports success even if the disk is full.
     * @param {string} name @param {Uint8Array} bytes @param {{isOpenedNext?: boolean}} [how] `isOpenedNext`: SillyTavern will read it, too
     */
    async writeBook(name, bytes, { isOpenedNext = false } = {}) {
        const text = bytesText(bytes);
        await this.host.writeBook(bookSave(name, text));
        const written = isOpenedNext ? await this.host.loadBook(name) : bytesText(await this.host.readBook(name));
        if (written === undefined || !sameJson(written, text)) {
            throw new Error(`the lorebook ${JSON.stringify(name)} could not be saved`);
        }
    }

    /** Lets SillyTavern know of new books; it opens the child next. @param {...string} changed those that it may have read before */
    async refreshBooks(...changed) {
        try {
            await this.host.refreshBooks(...changed);
        } catch (error) {
            this.onError(error);
        }
    }

    /** Deletes the books of a child that was not saved, unless something uses or has changed them meanwhile. @param {PlannedFork} fork @param {HeldChild} save */
    async takeBack(fork, save) {
        const made = booksOf(fork);
        const names = made.map(({ name }) => name);
        if (!names.length) {
            return;
        }
        try {
            const heads = await this.host.allChatHeads();
            // A group's new chat is not listed yet.
            const [header] = await this.host.readChat(save.owner, save.name);
            const used = [...heads.map(({ metadata }) => metadata), header?.chat_metadata].flatMap((metadata) => this.core.booksNamed(metadata ?? {}).own);
            for (const { name, bytes } of made) {
                const isFree = !used.some((other) => this.core.sameBook(other, name));
                if (isFree && sameJson(bytesText(await this.host.readBook(name)), bytesText(bytes))) {
                    await this.host.deleteBook(name);
                }
            }
        } catch (error) {
            this.onError(error);
        }
        await this.refreshBooks(...names);
    }
}
