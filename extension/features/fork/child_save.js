// Holds back the request that saves a new child until the child has a book of its own.

import { slimMessage } from '../../core/chat.js';
import { timeNow } from '../../core/core.js';
import { bytesText, sameJson, textBytes } from '../../core/json.js';
import { bookSave } from '../../sillytavern/requests.js';
import { forkSettings, nameFrom } from '../settings.js';
import { PendingForks } from './pending_forks.js';
/**
 * @import { Decision, ForkAsk, ForkMade, SaveAsk, SaveOfChild } from '../../core/fork_calls.js'
 * @import { HeldRequest } from '../../sillytavern/tap.js'
 * @import { Core, ForkChoice, ForkQuestion, ForkReport, Host, OpenChat, Owner, Settings } from '../../types.js'
 * @import { DecidedFork } from './pending_forks.js'
 */

/** In characters: how much of a request the core needs to see whether it saves the open chat. */
const START = 4096;

/**
 * @typedef {SaveOfChild & {owner: Owner, open: OpenChat, ask: SaveAsk, body: Uint8Array}} HeldChild
 * @typedef {{kind: 'other', name?: string, owner: Owner}} HeldOther
 * @typedef {{report: ForkMade, body: Uint8Array, book?: Uint8Array, memories?: Uint8Array}} PlannedFork
 */

export class ChildSaveHandler {
    /**
     * @param {object} parts
     * @param {Host} parts.host @param {Core} parts.core @param {Settings} parts.settings
     * @param {import('./fork_books.js').ForkBooks} parts.books
     * @param {(question: ForkQuestion) => Promise<ForkChoice | 'cancel'>} parts.ask
     * @param {() => Promise<boolean>} parts.untilReady resolves to `true` when the queue is empty, or to `false` on timeout
     * @param {() => Promise<void>} [parts.untilFileChecked] resolves when the open chat's journal is as complete as it can be
     * @param {() => string | null} [parts.lost] the open chat's lost book, if another one is bound in its place
     * @param {(report: ForkReport) => void} parts.onForked
     * @param {(error: unknown) => void} parts.onError
     */
    constructor({ host, core, settings, books, ask, untilReady, untilFileChecked = async () => {}, lost = () => null, onForked, onError }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.forkBooks = books;
        this.ask = ask;
        this.untilReady = untilReady;
        this.untilFileChecked = untilFileChecked;
        this.lost = lost;
        this.onForked = onForked;
        this.onError = onError;
        this.pending = new PendingForks();
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

    /** Handles a request that saves a chat other than the open one. @param {HeldRequest} held @param {HeldOther | HeldChild} save */
    async handle(held, save) {
        if (save.kind === 'other' || !this.settings.isolate) {
            return held.send();
        }
        /** @type {PlannedFork} */
        let fork;
        /** @type {DecidedFork} */
        let pending;
        try {
            const books = this.books(save);
            // An error is handled where the promise is awaited.
            books.catch(() => {});
            if (await this.existsAlready(save)) {
                return held.send();
            }
            pending = this.pending.take(save);
            fork = await this.plan(save, pending.decision, books);
            this.forkBooks.forget();
            if (fork.book && fork.report.book) {
                await this.writeBook(fork.report.book.name, fork.book, { isOpenedNext: fork.report.kind === 'branch' });
            }
            if (fork.memories && fork.report.memories) {
                await this.writeBook(fork.report.memories, fork.memories);
            }
        } catch (error) {
            this.onError(Object.assign(error instanceof Error ? error : new Error(String(error)), { leftWithout: save.name }));
            return this.sendWithoutBook(held, save);
        }
        const books = [fork.report.book?.name, fork.report.memories].filter((name) => name != null);
        const refreshed = books.length ? this.refreshBooks() : null;
        const response = await held.send(bytesText(fork.body));
        if (fork.report.kind !== 'branch' || !response.ok) {
            // SillyTavern lists the book of a branch while it opens the branch.
            await refreshed;
        }
        pending.report = response.ok ? fork.report : null;
        if (response.ok) {
            this.onForked(fork.report);
        } else {
            await this.takeBack(books, save);
        }
        return response;
    }

    /** Better no book than the parent's, and better no child than one with the parent's book. @param {HeldRequest} held @param {HeldChild} save */
    async sendWithoutBook(held, save) {
        try {
            return held.send(bytesText(this.core.saveWithoutBook({ ...save.ask, newIntegrity: this.host.newSlug() }, save.body)));
        } catch (error) {
            this.onError(error);
            return new Response('{}', { status: 500, statusText: 'Forklore held this chat back' });
        }
    }

    /** Whether this is an existing child that is saved again. @param {HeldChild} save */
    async existsAlready(save) {
        if (!save.integrity) {
            return false;
        }
        const names = await this.host.chatNames(save.owner);
        // A group lists a new chat before it is saved.
        if (!save.group && !names.some((name) => name === save.name || name === save.stem)) {
            return false;
        }
        const [header] = await this.host.readChat(save.owner, save.name);
        return header?.chat_metadata?.integrity === save.integrity;
    }

    /**
     * Asks the core for a plan, and does what it wants first, until there is one.
     * @param {HeldChild} save @param {Decision} decision @param {ReturnType<ChildSaveHandler['books']>} current @returns {Promise<PlannedFork>}
     */
    async plan(save, decision, current) {
        const later = await this.laterMessages(save);
        /** @type {ForkAsk['choice']} */
        let choice = null;
        for (;;) {
            const { names, book, memories } = await current;
            const ask = {
                ...save.ask,
                kind: this.host.kindOfFork(save.name),
                title: this.titleFor(save),
                books: names,
                newIntegrity: this.host.newSlug(),
                selected: this.alsoSelected(save.book),
                underWay: await this.host.recapOperations(),
                hasMemoryBooks: this.host.hasMemoryBooks(),
                ...timeNow(),
                settings: forkSettings(this.settings),
                decision,
                choice,
            };
            const answer = this.core.fork(ask, save.body, later, book, memories);
            if (answer.body) {
                const { value, ...files } = answer;
                return { report: { ...value, isConversion: save.kind === 'conversion' }, ...files };
            }
            const { step, decision: next, ...question } = answer.value;
            if (step === 'stop') {
                throw new Error(`${save.name} could not be given a lorebook of its own`);
            }
            if (step === 'wait') {
                await this.untilReady();
            }
            choice = step === 'ask' ? await this.ask(question) : null;
            decision = next;
            this.forkBooks.forget();
            current = this.books(save);
        }
    }

    /** The names of all books, and the contents of the parent's. @param {HeldChild} save */
    async books({ book: bound, memoryBook }) {
        const memoriesOf = this.host.choosesMemoryBook() ? memoryBook : null;
        const [{ names, book }, memories] = await Promise.all([this.forkBooks.read(bound), memoriesOf ? this.host.readBook(memoriesOf) : undefined]);
        return { names, book, memories: this.forkBooks.isAmong(names, memoriesOf) ? memories : undefined };
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
            throw new Error(`the lorebook ${JSON.stringify(name)} was not written as it should be`);
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

    /** Deletes the books of a child that was not saved. @param {string[]} books @param {HeldChild} save */
    async takeBack(books, save) {
        try {
            for (const book of books) {
                if (!(await this.isBoundTo(book, save))) {
                    await this.host.deleteBook(book);
                }
            }
        } catch (error) {
            this.onError(error);
        }
        await this.refreshBooks(...books);
    }

    /** Whether the existing chat of this name uses the book: another page may have made the same fork first. @param {string} book @param {HeldChild} save */
    async isBoundTo(book, save) {
        const [header] = await this.host.readChat(save.owner, save.name);
        const names = this.core.booksNamed(header?.chat_metadata ?? {}).own;
        return names.some((name) => this.core.sameBook(name, book));
    }
}
