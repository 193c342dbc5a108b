// Forks of the open chat: what has to be decided before SillyTavern makes one, and waiting until it can be made.

import { chatForCore, queueTitle } from '../../core/chat.js';
import { textBytes, toBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { forkSettings } from '../settings.js';

/**
 * @import { Decision } from '../../core/fork_calls.js'
 * @import { Core, ForkChoice, ForkQuestion, ForkReport, ForkRequest, Host, OpenChat, PendingFork, Settings } from '../../types.js'
 * @import { Events } from '../../events.js'
 * @typedef {ForkRequest['kind']} Kind
 */

export class Forks {
    /**
     * @param {object} parts
     * @param {Host} parts.host @param {Core} parts.core @param {Settings} parts.settings @param {Events} parts.events
     * @param {import('../repair/repairs.js').Repairs} parts.repairs
     * @param {import('../repair/lost_book.js').LostBook} parts.lostBook
     * @param {import('../journal/recorder.js').Recorder} parts.recorder
     * @param {import('./queue_wait.js').QueueWait} parts.queueWait
     * @param {import('./pending_forks.js').PendingForks} parts.pending
     * @param {import('./fork_books.js').ForkBooks} parts.books
     */
    constructor({ host, core, settings, events, repairs, lostBook, recorder, queueWait, pending, books }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.events = events;
        this.repairs = repairs;
        this.lostBook = lostBook;
        this.recorder = recorder;
        this.queueWait = queueWait;
        this.pending = pending;
        this.books = books;
        /** The fork that waits until it can be made. @type {PendingFork | null} */
        this.waiting = null;
        /** Asks the user how to proceed. Set by the user interface. @type {(question: ForkQuestion) => Promise<ForkChoice | 'cancel'>} */
        this.ask = async () => 'cancel';
    }

    /** Whether a fork can be made now, and how well its lore is known. @param {number} message */
    async check(message, { whenReady = false } = {}) {
        await this.recorder.untilFileChecked();
        const open = this.lostBook.asRecorded() ?? this.repairs.requireOpenChat();
        return this.checkWith((await this.books.read(open.book)).book, open, message, whenReady);
    }

    /**
     * The same with the page's copy of the book, if it has one. The save that follows looks at the book itself.
     * @param {number} message @param {boolean} whenReady
     */
    async checkAtOnce(message, whenReady) {
        await this.recorder.untilFileChecked();
        const open = this.lostBook.asRecorded() ?? this.repairs.requireOpenChat();
        const reading = this.books.read(open.book);
        const page = open.book && this.host.knownBooks().includes(open.book) ? this.host.cachedBookText(open.book) : undefined;
        if (page === undefined) {
            return this.checkWith((await reading).book, open, message, whenReady);
        }
        // The save reads it again, and reports the error.
        reading.catch(() => {});
        return this.checkWith(textBytes(page), open, message, whenReady);
    }

    /** @param {Uint8Array | undefined} book @param {OpenChat} open @param {number} message @param {boolean} whenReady */
    async checkWith(book, open, message, whenReady) {
        const ask = {
            ...this.stateOf(message),
            parent: open.name,
            group: Boolean(open.group),
            isOpen: true,
            bookName: open.book,
            underWay: await this.host.recapOperations(),
            settings: forkSettings(this.settings),
            whenReady,
        };
        return this.core.check(ask, chatForCore(open), book);
    }

    /** What the core has to know to tell whether a message is final. @param {number} message */
    stateOf(message) {
        const last = this.repairs.requireOpenChat().messages.length - 1;
        return { message, last, isWriting: this.host.isWriting(), edited: this.host.editedUpTo(message) };
    }

    /**
     * Asks the user whatever has to be decided before a fork.
     * @param {Kind} kind @param {number} message @param {{whenReady?: boolean, begin: () => Promise<unknown>}} how `begin` starts anew after a wait
     * @returns {Promise<Decision | null>} the core's decision for the save that follows, or `null` for no fork
     */
    async decide(kind, message, { whenReady = false, begin }) {
        if (!this.settings.isolate) {
            return [];
        }
        const quick = await this.checkAtOnce(message, whenReady);
        const { step: first, decision: settled, ...question } = quick.step === 'go' ? quick : await this.check(message, { whenReady });
        const { step, decision } = first === 'ask'
            ? this.core.forkChoice(await this.ask(question))
            : { step: first, decision: settled };
        if (step === 'wait') {
            this.beginWaiting(kind, message, begin);
        }
        return step === 'go' ? decision : null;
    }

    /** A fork that cannot ask the user is refused while its messages are being edited. @param {number} message */
    refuseEdited(message) {
        const [edited] = this.core.unfinished({ ...this.stateOf(message), isWriting: false });
        if (edited) {
            throw wordError(edited.code, edited.values);
        }
    }

    /**
     * The user pressed one of SillyTavern's own buttons.
     * @param {Kind} kind @param {number} message
     * @param {{again: () => Promise<void>, direct: () => Promise<unknown>}} how `again` presses it once more, `direct` does what it would do
     */
    async forkByButton(kind, message, { again, direct }) {
        const go = async () => {
            const decision = await this.decide(kind, message, { begin: go });
            if (!decision) {
                return;
            }
            if (decision.length > 0 || this.host.hasAutoRecap()) {
                await this.make(message, decision, direct);
            } else {
                await again();
            }
        };
        await this.events.reportErrors(go);
    }

    /**
     * Lets SillyTavern fork the open chat.
     * @template T
     * @param {number} message @param {Decision} decision @param {() => Promise<T>} make
     */
    async make(message, decision, make) {
        const fork = this.pending.begin(this.repairs.requireOpenChat(), message, decision);
        try {
            return { made: await make(), report: fork.report };
        } finally {
            this.pending.end(fork);
        }
    }

    /** @param {ForkRequest} request @returns {Promise<ForkReport | null>} `null` if there is no fork, or not yet */
    async fork({ kind, message, name, whenReady = false, ask = true }) {
        const open = this.repairs.requireOpenChat();
        const at = Number.isInteger(message) ? message : open.messages.length - 1;
        const begin = () => this.fork({ kind, message: at, name });
        /** @type {Decision | null} */
        const decision = ask ? await this.decide(kind, at, { whenReady, begin }) : ['unattended'];
        if (!decision) {
            return null;
        }
        const { made: child, report } = await this.make(at, decision, () =>
            (kind === 'branch' ? this.host.createBranch(at) : this.host.createCheckpoint(at, name)));
        if (!child) {
            return null;
        }
        return report ?? { kind, parent: open.name, child, message: at, book: null, part: null, metadata: null, remarks: [] };
    }

    /** SillyTavern has saved a child. @param {ForkReport} report */
    made(report) {
        this.host.copyRecapSettings(report.parent, report.child);
        this.events.emit('forked', report);
        this.events.announce('forked', report);
    }

    /** What ST-Auto-Recap still has to do for the open chat. */
    async pendingWork() {
        const open = this.host.openChat();
        if (!open) {
            return { busy: false, operations: 0 };
        }
        // Only the queue matters here, and this is called often.
        const entries = Object.entries(await this.repairs.currentEntries(open.book) ?? {});
        const queue = { entries: Object.fromEntries(entries.filter(([, entry]) => entry?.comment === queueTitle())) };
        return this.core.pendingWork({ metadata: open.metadata, underWay: await this.host.recapOperations() }, toBytes(queue));
    }

    /** @param {Kind} kind @param {number} message @param {() => Promise<unknown>} begin */
    beginWaiting(kind, message, begin) {
        /** @type {PendingFork} */
        const mine = { kind, message, operations: 0 };
        this.waiting = mine;
        this.pendingWork().then(({ operations }) => {
            if (this.waiting === mine) {
                mine.operations = operations;
                this.events.changed();
            }
        });
        this.events.changed();
        const isBusy = async () => this.host.isWriting() || (await this.pendingWork()).busy;
        this.queueWait.untilReady({ forEver: true, isBusy }).then((isReady) => {
            if (this.waiting !== mine) {
                return;
            }
            this.waiting = null;
            this.events.changed();
            if (isReady) {
                // The last changes may not be saved yet, and a branch is opened at once.
                void this.events.reportErrors(async () => {
                    await this.host.saveOpenChat();
                    await begin();
                });
            }
        });
    }

    stopWaiting() {
        this.waiting = null;
        this.queueWait.cancel();
        this.events.changed();
    }
}
