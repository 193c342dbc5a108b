// Holds back the request that saves a new child until the child has a book of its own.

import { slimMessage } from '../../core/chat.js';
import { timeNow } from '../../core/core.js';
import { bytesText, sameJson, textBytes } from '../../core/json.js';
import { bookSave } from '../../sillytavern/requests.js';
import { PendingForks } from './pending_forks.js';

/** In characters: how much of a request the core needs to see whether it saves the open chat. */
const START = 4096;

export class ChildSaveHandler {
    /**
     * @param {object} parts
     * @param {object} parts.host SillyTavern's chats and books
     * @param {object} parts.core
     * @param {object} parts.settings
     * @param {(question: object) => Promise<string>} parts.ask
     * @param {() => Promise<boolean>} parts.untilReady resolves to `true` when the queue is empty, or to `false` on timeout
     * @param {() => Promise<void>} [parts.untilFileChecked] resolves when the open chat's journal is as complete as it can be
     * @param {() => string | null} [parts.lost] the open chat's lost book, if another one is bound in its place
     * @param {(report: object) => void} parts.onForked
     * @param {(error: Error) => void} parts.onError
     */
    constructor(parts) {
        Object.assign(this, { lost: () => null, untilFileChecked: async () => {} }, parts);
        this.pending = new PendingForks();
    }

    /**
     * What a request saves, according to the core.
     * @param {import('../../sillytavern/tap.js').HeldRequest} held
     */
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
        const owner = save.group ? { group: open?.group ?? null, avatar: null } : { group: null, avatar: save.avatar };
        return { ...save, owner, open, ask, body };
    }

    /**
     * Handles a request that saves a chat other than the open one.
     * @param {import('../../sillytavern/tap.js').HeldRequest} held
     */
    async handle(held, save) {
        if (save.kind === 'other' || !this.settings.isolate) {
            return held.send();
        }
        let fork;
        let pending;
        try {
            if (await this.existsAlready(save)) {
                return held.send();
            }
            pending = this.pending.take(save);
            fork = await this.plan(save, pending.decision);
            if (fork.book) {
                await this.writeBook(fork.report.book.name, fork.book);
            }
            if (fork.memories) {
                await this.writeBook(fork.report.memories, fork.memories);
            }
        } catch (error) {
            this.onError(Object.assign(error instanceof Error ? error : new Error(String(error)), { leftWithout: save.name }));
            return this.sendWithoutBook(held, save);
        }
        const response = await held.send(bytesText(fork.body));
        pending.report = response.ok ? fork.report : null;
        await this.finish(fork, save, response.ok);
        return response;
    }

    /** Better no book than the parent's, and better no child than one with the parent's book. */
    async sendWithoutBook(held, save) {
        let body;
        try {
            body = bytesText(this.core.saveWithoutBook({ ...save.ask, newIntegrity: this.host.newSlug() }, save.body));
        } catch (error) {
            this.onError(error);
            return new Response('{}', { status: 500, statusText: 'Forklore held this chat back' });
        }
        return held.send(body);
    }

    /** Whether this is an existing child that is saved again. */
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

    /** Asks the core for a plan, and does what it wants first, until there is one. */
    async plan(save, decision) {
        const later = await this.laterMessages(save);
        let choice = null;
        for (;;) {
            const books = (await this.host.listBooks()).map((book) => book.name);
            const ask = {
                ...save.ask,
                kind: this.host.kindOfFork(save.name),
                books,
                newIntegrity: this.host.newSlug(),
                selected: this.alsoSelected(save.book),
                underWay: await this.host.recapOperations(),
                hasMemoryBooks: this.host.hasMemoryBooks(),
                ...timeNow(),
                settings: this.settings,
                decision,
                choice,
            };
            const book = await this.bookBytes(save.book, books);
            const memories = this.host.choosesMemoryBook() ? await this.bookBytes(save.memoryBook, books) : undefined;
            const answer = this.core.fork(ask, save.body, later, book, memories);
            if (answer.value.made) {
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
            choice = step === 'ask' ? await this.ask({ ...question, canWait: false }) : null;
            decision = next;
        }
    }

    /** @returns {Promise<Uint8Array | undefined>} `undefined` if there is no such book */
    async bookBytes(name, books) {
        const isThere = name && books.some((book) => this.core.bookKey(book) === this.core.bookKey(name));
        return isThere ? this.host.readBook(name) : undefined;
    }

    /** The parent's messages after the child's last one. */
    async laterMessages({ isOfOpen, open, owner, parent, messages }) {
        if (isOfOpen) {
            await this.untilFileChecked();
            return open.messages.slice(messages).map(slimMessage);
        }
        const lines = await this.host.readChat(owner, parent);
        return lines.slice(messages + 1).map(slimMessage);
    }

    alsoSelected(bookName) {
        if (!bookName) {
            return [];
        }
        const key = this.core.bookKey(bookName);
        const places = this.host.bookReferences().filter((found) => this.core.bookKey(found.book) === key);
        return [...new Map(places.map((found) => [found.place, found])).values()];
    }

    /** Writes a book and reads it back: SillyTavern reports success even if the disk is full. */
    async writeBook(name, bytes) {
        const text = bytesText(bytes);
        await this.host.writeBook(bookSave(name, text));
        const written = bytesText(await this.host.readBook(name));
        if (!sameJson(written, text)) {
            throw new Error(`the lorebook ${JSON.stringify(name)} was not written as it should be`);
        }
    }

    async finish(fork, save, isSaved) {
        const books = [fork.report.book?.name, fork.report.memories].filter(Boolean);
        try {
            for (const book of isSaved ? [] : books) {
                if (!(await this.isBoundTo(book, save))) {
                    await this.host.deleteBook(book);
                }
            }
            if (books.length) {
                await this.host.refreshBooks(...books);
            }
        } catch (error) {
            this.onError(error);
        }
        if (isSaved) {
            this.onForked(fork.report);
        }
    }

    /** Whether the existing chat of this name uses the book: another page may have made the same fork first. */
    async isBoundTo(book, save) {
        const [header] = await this.host.readChat(save.owner, save.name);
        const names = this.core.booksNamed(header?.chat_metadata ?? {}).own;
        return names.some((name) => this.core.bookKey(name) === this.core.bookKey(book));
    }
}
