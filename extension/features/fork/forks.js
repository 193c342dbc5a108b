// Forks of the open chat: what has to be decided before SillyTavern makes one, and waiting until it can be made.

import { chatForCore, queueTitle } from '../../core/chat.js';
import { textBytes, toBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { isSameChat } from '../chat_change.js';
import { forkSettings } from '../settings.js';

/**
 * @import { Decision } from '../../core/fork_calls.js'
 * @import { CharactersBook, Core, ForkChoice, ForkQuestion, ForkReport, ForkRequest, Host, LoreChoice, OpenChat, PendingFork, Settings } from '../../types.js'
 * @import { Events } from '../../events.js'
 * @typedef {ForkRequest['kind']} Kind
 * @typedef {{kind?: Kind, whenReady?: boolean}} CheckOptions
 * @typedef {{kind: Kind, message: number, name: string, parent: OpenChat, done: Promise<ForkReport | null>}} AskedFork
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
     * @param {import('../shared_lore.js').SharedLore} parts.sharedLore
     */
    constructor({ host, core, settings, events, repairs, lostBook, recorder, queueWait, pending, books, sharedLore }) {
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
        this.sharedLore = sharedLore;
        /** The fork that waits until it can be made. @type {PendingFork | null} */
        this.waiting = null;
        /** Those that were asked for and are not done. @type {AskedFork[]} */
        this.asked = [];
        /** Asks the user how to proceed. Set by the user interface. @type {(question: ForkQuestion) => Promise<ForkChoice | 'cancel'>} */
        this.ask = async () => 'cancel';
        /** Asks what becomes of a character's lorebook. Set by the user interface. @type {(lore: CharactersBook, kind: Kind) => Promise<{choice: LoreChoice | 'cancel', isAlways?: boolean}>} */
        this.askLore = async () => ({ choice: 'cancel' });
    }

    /** Whether a fork can be made now, and how well its lore is known. @param {number} message @param {CheckOptions} [options] */
    async check(message, options) {
        await this.recorder.untilFileChecked();
        const open = this.lostBook.asRecorded() ?? this.repairs.requireOpenChat();
        return this.checkWith((await this.books.read(open.book)).book, open, message, options);
    }

    /**
     * The same with the page's copy of the book, if it has one. The save that follows looks at the book itself.
     * @param {number} message @param {CheckOptions} options
     */
    async checkAtOnce(message, options) {
        await this.recorder.untilFileChecked();
        const open = this.lostBook.asRecorded() ?? this.repairs.requireOpenChat();
        const reading = this.books.read(open.book);
        const page = open.book && this.host.knownBooks().includes(open.book) ? this.host.cachedBookText(open.book) : undefined;
        if (page === undefined) {
            return this.checkWith((await reading).book, open, message, options);
        }
        // The save reads it again, and reports the error.
        reading.catch(() => {});
        return this.checkWith(textBytes(page), open, message, options);
    }

    /** @param {Uint8Array | undefined} book @param {OpenChat} open @param {number} message @param {CheckOptions} [options] */
    async checkWith(book, open, message, { kind = 'checkpoint', whenReady = false } = {}) {
        const ask = {
            ...this.stateOf(message, kind === 'branch'),
            parent: open.name,
            group: Boolean(open.group),
            isOpen: true,
            bookName: open.book,
            underWay: await this.host.recapOperations(),
            settings: forkSettings(this.settings),
            whenReady,
            lore: this.sharedLore.always(this.sharedLore.ofCharacter(open)),
        };
        return this.core.check(ask, chatForCore(open), book);
    }

    /** What the core has to know to tell whether a message is final. @param {number} message @param {boolean} [opens] whether the child is opened at once */
    stateOf(message, opens = false) {
        const last = this.repairs.requireOpenChat().messages.length - 1;
        return { message, last, isWriting: this.host.isWriting(), edited: this.host.editedUpTo(message), opens };
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
        const quick = await this.checkAtOnce(message, { kind, whenReady });
        const { step: first, decision: settled, ...question } = quick.step === 'go' ? quick : await this.check(message, { kind, whenReady });
        const { step, decision } = first === 'ask'
            ? this.core.forkChoice(await this.ask(question))
            : { step: first, decision: settled };
        if (step === 'wait') {
            this.beginWaiting(kind, message, begin);
        }
        if (step !== 'go') {
            return null;
        }
        return quick.asksForLore && !decision.some((word) => word.startsWith('without')) ? this.decideLore(kind, decision) : decision;
    }

    /** Asks the user about the character's lorebook. @param {Kind} kind @param {Decision} decision @returns {Promise<Decision | null>} */
    async decideLore(kind, decision) {
        const lore = this.sharedLore.ofCharacter(this.repairs.requireOpenChat());
        if (!lore) {
            return decision;
        }
        const { choice, isAlways } = await this.askLore(lore, kind);
        const { step, decision: more } = this.core.forkChoice(choice);
        if (step !== 'go' || choice === 'cancel') {
            return null;
        }
        if (isAlways) {
            this.sharedLore.decideFor(lore, choice);
        }
        return [...decision, ...more];
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
            const decision = await this.decide(kind, message, { begin });
            if (decision && (decision.length > 0 || this.host.hasAutoRecap())) {
                await this.make(message, decision, direct);
            } else if (decision) {
                await again();
            }
            return null;
        };
        const begin = () => this.inTurn({ kind, message }, go);
        await this.events.reportErrors(async () => void await begin());
    }

    /**
     * Makes one fork after the other. Asked for again before it is done, it is the same fork: two presses of a button make one. After a branch
     * another chat is open, so that nothing can wait for it.
     * @param {{kind: Kind, message: number, name?: string}} fork @param {() => Promise<ForkReport | null>} make
     */
    inTurn({ kind, message, name = '' }, make) {
        const parent = this.repairs.requireOpenChat();
        const isIt = (/** @type {OpenChat | null} */ open) => Boolean(open && isSameChat(open, parent));
        const twin = this.asked.find((asked) => asked.kind === kind && asked.message === message && asked.name === name && isIt(asked.parent));
        if (twin) {
            return twin.done;
        }
        if (this.asked.some((asked) => asked.kind === 'branch')) {
            throw wordError('branch-under-way');
        }
        const before = this.asked.at(-1)?.done;
        const done = before ? before.catch(() => null).then(() => (isIt(this.host.openChat()) ? make() : null)) : make();
        const mine = { kind, message, name, parent, done };
        this.asked.push(mine);
        const end = () => { this.asked = this.asked.filter((asked) => asked !== mine); };
        done.then(end, end);
        return done;
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
        return this.inTurn({ kind, message: at, name }, () => this.#fork(open, { kind, message: at, name, whenReady, ask }));
    }

    /** @param {OpenChat} open @param {ForkRequest & {message: number}} request @returns {Promise<ForkReport | null>} */
    async #fork(open, { kind, message: at, name, whenReady, ask }) {
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
            return { busy: false, paused: false, operations: 0 };
        }
        // Only the queue matters here, and this is called often.
        const entries = Object.entries(await this.repairs.currentEntries(open.book) ?? {});
        const queue = { entries: Object.fromEntries(entries.filter(([, entry]) => entry?.comment === queueTitle())) };
        return this.core.pendingWork({ metadata: open.metadata, underWay: await this.host.recapOperations() }, toBytes(queue));
    }

    /** Shows that a fork waits, and for how many operations. @param {Kind} kind @param {number} message */
    showWaiting(kind, message) {
        /** @type {PendingFork} */
        const mine = { kind, message, operations: 0, paused: false };
        this.waiting = mine;
        this.pendingWork().then(({ operations, paused }) => {
            if (this.waiting === mine) {
                Object.assign(mine, { operations, paused });
                this.events.emit('waiting', mine);
                this.events.changed();
            }
        }, () => {});
        this.events.changed();
        return mine;
    }

    /** Waits with a save that is held until the queue is empty. @param {Kind} kind @param {number} message the child's last one */
    async untilReady(kind, message) {
        // Only one is shown, and a press of *Stop waiting* ends every wait.
        const mine = this.waiting ? null : this.showWaiting(kind, message);
        const isReady = await this.queueWait.untilReady();
        if (mine && this.waiting === mine) {
            this.waiting = null;
            this.events.changed();
        }
        return isReady;
    }

    /** @param {Kind} kind @param {number} message @param {() => Promise<unknown>} begin */
    beginWaiting(kind, message, begin) {
        const mine = this.showWaiting(kind, message);
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
