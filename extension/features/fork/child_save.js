// Holds back the request that saves a new child until the child has a book of its own.

import { slimMessage } from '../../core/chat.js';
import { timeNow } from '../../core/core.js';
import { bytesText, sameJson, textBytes } from '../../core/json.js';
import { bookSave, kindOfSave, readSave, withoutBook } from '../../sillytavern/requests.js';
import { WITHOUT_BOOK, answerTo, policyFor } from './policy.js';

export class ChildSaveHandler {
    /**
     * @param {object} parts
     * @param {object} parts.host SillyTavern's chats and books
     * @param {object} parts.core
     * @param {object} parts.settings
     * @param {(refusal: object) => Promise<'nearest' | 'live' | 'without'>} parts.ask
     * @param {() => Promise<boolean>} parts.untilReady resolves to `true` when the queue is empty, or to `false` on timeout
     * @param {() => Promise<void>} [parts.untilFileChecked] resolves when the open chat's journal is as complete as it can be
     * @param {() => string | null} [parts.lost] the open chat's lost book, if another one is bound in its place
     * @param {(report: object) => void} parts.onForked
     * @param {(error: Error) => void} parts.onError
     */
    constructor(parts) {
        Object.assign(this, { lost: () => null, untilFileChecked: async () => {} }, parts);
        /** What the user decided when the fork began, for the save that follows. */
        this.decision = null;
    }

    /**
     * Handles a request that saves a chat other than the open one.
     * @param {import('../../sillytavern/tap.js').HeldRequest} held
     */
    async handle(held) {
        const text = await held.text();
        const save = readSave(held.path, text);
        const open = this.host.openChat();
        const kind = open && this.settings.isolate ? kindOfSave(save, { ...open, group: Boolean(open.group) }) : 'other';
        if (kind === 'other') {
            return held.send();
        }
        let fork;
        try {
            if (this.isBoundElsewhere(kind, save, open) || await this.existsAlready(save, open)) {
                return held.send();
            }
            fork = await this.plan(kind, save, text, open);
            if (fork.book) {
                await this.writeBook(fork.report.book.name, fork.book);
            }
            if (fork.memories) {
                await this.writeBook(fork.report.memories, fork.memories);
            }
        } catch (error) {
            // Better no book than the parent's.
            this.onError(Object.assign(error instanceof Error ? error : new Error(String(error)), { leftWithout: save.name }));
            return held.send(withoutBook(text, this.childsSlug(save, open)));
        }
        const response = await held.send(bytesText(fork.body));
        await this.finish(fork, save, open, response.ok);
        return response;
    }

    /** Whether the child already has a book of its own. */
    isBoundElsewhere(kind, save, open) {
        const book = save.metadata.world_info;
        const isSame = (other) => Boolean(other) && this.core.bookKey(book) === this.core.bookKey(other);
        return Boolean(book) && this.isChildOfOpen(kind, save, open) && !isSame(open.book);
    }

    /** Whether this is an existing child that is saved again. */
    async existsAlready(save, open) {
        if (this.host.isParentsSlug(save.metadata.integrity, open.integrity)) {
            return false;
        }
        const owner = ownerOf(save, open);
        const names = await this.host.chatNames(owner);
        const key = this.core.chatStem(save.name);
        // A group lists a new chat before it is saved.
        if (!save.group && !names.some((name) => name === save.name || name === key)) {
            return false;
        }
        const [header] = await this.host.readChat(owner, save.name);
        return Boolean(header?.chat_metadata?.integrity) && header.chat_metadata.integrity === save.metadata.integrity;
    }

    async plan(kind, save, text, open) {
        const decision = this.decision ?? {};
        this.decision = null;
        // The book that replaced a lost one is not the story's lore. The journal has the right one.
        const bookName = this.lost() ?? (save.metadata.world_info || null);
        const body = textBytes(text);
        const later = await this.laterMessages(kind, save, open);
        let chosen = decision;
        let hasWaited = false;
        for (let tries = 0; tries < 6; tries++) {
            const books = await this.host.listBooks();
            const isThere = bookName && books.some((book) => this.core.bookKey(book.name) === this.core.bookKey(bookName));
            const book = isThere ? await this.host.readBook(bookName) : undefined;
            const memoryBook = this.memoryBookBeside(bookName, save, books);
            const ask = {
                kind: this.host.kindOfFork(save.name),
                parent: kind === 'conversion' ? open.name : String(save.metadata.main_chat),
                parentIntegrity: this.parentsSlug(kind, save, open),
                child: save.name,
                group: save.group,
                isOpen: this.isChildOfOpen(kind, save, open),
                unlinked: kind === 'conversion',
                bookName,
                books: books.map((book) => book.name),
                integrity: this.childsSlug(save, open),
                selected: this.alsoSelected(bookName),
                underWay: await this.host.recapOperations(),
                hasMemoryBooks: this.host.hasMemoryBooks(),
                memoryBook,
                ...timeNow(),
                ...policyFor(this.settings, chosen),
            };
            const memories = memoryBook ? await this.host.readBook(memoryBook) : undefined;
            const answer = this.core.fork(ask, body, later, book, memories);
            if (answer.value.made) {
                const { value, ...files } = answer;
                return { report: { ...value, isConversion: kind === 'conversion' }, ...files };
            }
            const reply = answerTo(answer.value, this.settings, { hasWaited });
            if (reply === 'wait') {
                hasWaited = true;
                await this.untilReady();
            } else if (reply === 'ask') {
                const choice = await this.ask(answer.value);
                chosen = { ...chosen, ...(choice === 'without' ? WITHOUT_BOOK : { allow: 'live' }) };
            } else {
                chosen = { ...chosen, ...reply };
            }
        }
        throw new Error(`${save.name} could not be given a lorebook of its own`);
    }

    /** The book in which Memory Books keeps this chat's memories, if it is not the chat's own book. */
    memoryBookBeside(bookName, save, books) {
        const name = this.host.memoryBookOf(save.metadata);
        const isSame = (other) => Boolean(other) && this.core.bookKey(other) === this.core.bookKey(name);
        return name && !isSame(bookName) && books.some((book) => isSame(book.name)) ? name : null;
    }

    isChildOfOpen(kind, save, open) {
        return kind === 'conversion' || save.metadata.main_chat === open.name;
    }

    /** The child's permanent slug, which no other chat may have. */
    childsSlug(save, open) {
        const { integrity } = save.metadata;
        return integrity && !this.host.isParentsSlug(integrity, open.integrity) ? String(integrity) : this.host.newSlug();
    }

    parentsSlug(kind, save, open) {
        return this.isChildOfOpen(kind, save, open) ? open.integrity : null;
    }

    /** The parent's messages after the child's last one. */
    async laterMessages(kind, save, open) {
        if (this.isChildOfOpen(kind, save, open)) {
            await this.untilFileChecked();
            return open.messages.slice(save.messages).map(slimMessage);
        }
        const lines = await this.host.readChat(ownerOf(save, open), String(save.metadata.main_chat));
        return lines.slice(save.messages + 1).map(slimMessage);
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

    async finish(fork, save, open, isSaved) {
        const books = [fork.report.book?.name, fork.report.memories].filter(Boolean);
        try {
            for (const book of isSaved ? [] : books) {
                if (!(await this.isBoundTo(book, save, open))) {
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
    async isBoundTo(book, save, open) {
        const [header] = await this.host.readChat(ownerOf(save, open), save.name);
        const { world_info: bound, STMemoryBooks } = header?.chat_metadata ?? {};
        const names = [bound, ...this.core.memoryBooksNamed({ STMemoryBooks })].filter(Boolean);
        return names.some((name) => this.core.bookKey(name) === this.core.bookKey(book));
    }
}

/** The character or group whose chat is being saved. */
function ownerOf(save, open) {
    return save.group ? { group: open.group ?? '', avatar: null } : { group: null, avatar: save.avatar };
}
