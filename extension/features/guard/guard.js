// Two tabs or devices editing the same book. SillyTavern saves whole books, so the last save wins. Here, a save first
// checks what the server has; if that is not what the saved copy is based on, the two are merged. The core decides, and
// this carries it out.

import { bytesText } from '../../core/json.js';
import { bookSave, readBookSave } from '../../sillytavern/requests.js';
/** @import { AppEvents, Conflict, Core, Host, Settings, Settled } from '../../types.js' */
/** @import { GuardAction, GuardEvent, Overwritten } from '../../core/guard_calls.js' */
/** @import { HeldRequest } from '../../sillytavern/tap.js' */
/** @import { Trash } from '../trash/trash.js' */
/** @import { Lineage } from './lineage.js' */

/** In milliseconds: how long to wait for another page's lock before saving without it. */
const LOCK_WAIT = 10_000;
/**
 * In milliseconds: another device, which shares no lock with this one, may have read the book before our save and
 * written it afterwards.
 */
const RECHECK_AFTER = 700;
/** In milliseconds: the news of several saves is reported together. */
const NEWS_AFTER = 1500;

/** The check whether a save is still on the server. @typedef {{id: number, name: string}} Recheck `id`: the core's number for it */
/**
 * @typedef {object} Save
 * @property {number} id the core's number for it
 * @property {string} name the book
 * @property {HeldRequest} held
 * @property {string} text the book as the page saves it
 * @property {{response: Response, text: string}} [sent] the answer, and the book as it was sent
 * @property {string | null} [draft] the file with the page's version while the user is asked
 */
/** @typedef {Save | Recheck} Job */

export class Guard {
    /**
     * @param {object} parts
     * @param {Pick<Host, 'cachedBookWithText' | 'replaceCachedBook' | 'refreshEditor' | 'bookOnServer' | 'listBooks' | 'writeBook' | 'deleteFile'>} parts.host
     * @param {Pick<Core, 'bookKey'>} parts.core @param {Pick<Settings, 'guard'>} parts.settings
     * @param {Lineage} parts.lineage @param {Pick<Trash, 'keepText'>} parts.trash
     * @param {(question: {book: string, conflicts: Conflict[]}) => Promise<{settle: Settled} | null>} parts.ask resolves to `null` for "later"
     * @param {(news: AppEvents['merged']) => void} parts.onMerged called with other pages' changes to a book
     * @param {(kept: AppEvents['kept']) => void} parts.onKept called with versions that went to the trash because the other one was chosen
     * @param {(name: string, text: string) => void} parts.onWritten called after Forklore wrote a book
     * @param {(name: string, text: string) => void} [parts.onRead] called with a book as it was just read from the server
     * @param {(error: unknown) => void} parts.onError
     * @param {LockManager} [parts.locks] shared by all tabs of this browser; missing if the page is not served securely
     * @param {(run: () => void, wait: number) => unknown} [parts.later]
     */
    constructor({
        host, core, settings, lineage, trash, ask, onMerged, onKept, onWritten, onRead = () => {}, onError,
        locks = globalThis.navigator?.locks, later = setTimeout,
    }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.lineage = lineage;
        this.trash = trash;
        this.ask = ask;
        this.onMerged = onMerged;
        this.onKept = onKept;
        this.onWritten = onWritten;
        this.onRead = onRead;
        this.onError = onError;
        this.locks = locks;
        this.later = (/** @type {() => void} */ run, /** @type {number} */ wait) => later(run, wait);
        /** @type {Map<string, Promise<unknown>>} for each book, the save that the next one waits for */
        this.turns = new Map();
    }

    /**
     * Sends a save, merged with what other pages have changed since.
     * @param {HeldRequest} held @param {string} name @param {string} text
     * @returns {Promise<{response: Response, text: string}>} the answer, and the book as it was written
     */
    async save(held, name, text) {
        const id = this.lineage.begin(name, this.host.cachedBookWithText(name, text), text);
        /** @type {Save} */
        const job = { id, held, name, text };
        if (this.settings.guard) {
            await this.inTurn(name, () => this.carryOut(job));
        } else {
            await this.attempt(job, async () => this.next(job, await this.send(job)));
        }
        if (!job.sent) {
            throw new Error(`the save of "${name}" was not sent`);
        }
        if (job.draft && job.sent.response.ok) {
            await this.host.deleteFile(job.draft).catch(() => {});
        }
        return job.sent;
    }

    /** Runs the steps for one book one after the other. @template T @param {string} name @param {() => Promise<T>} step */
    inTurn(name, step) {
        const key = this.core.bookKey(name);
        const before = this.turns.get(key) ?? Promise.resolve();
        const mine = before.catch(() => {}).then(step);
        this.turns.set(key, mine);
        mine.catch(() => {}).then(() => this.turns.get(key) === mine && this.turns.delete(key));
        return mine;
    }

    /** Runs a step while no other tab of this browser works on the book. @template T @param {string} name @param {() => Promise<T>} step */
    async withLock(name, step) {
        if (!this.locks) {
            return step();
        }
        let hasBegun = false;
        const begin = () => {
            hasBegun = true;
            return step();
        };
        try {
            return await this.locks.request(`forklore book ${this.core.bookKey(name)}`, { signal: AbortSignal.timeout(LOCK_WAIT) }, begin);
        } catch (error) {
            if (hasBegun) {
                throw error;
            }
            // Another tab holds the lock for too long. A save that keeps waiting is not safe either.
            return step();
        }
    }

    /** Does what the core decides about a job, until it has ended. @param {Job} job @param {'turn' | 'off'} first */
    async carryOut(job, first = 'turn') {
        // The lock is released while the user is asked, so that other tabs do not have to wait.
        const turn = () => this.withLock(job.name, () => this.untilAsked(job, { is: first }));
        await this.attempt(job, async () => {
            for (let conflicts = await turn(); conflicts; conflicts = await turn()) {
                // Nothing is lost if the tab is closed while the question is open.
                const save = saveOf(job);
                save.draft ??= await this.trash.keepText(sideName(save.name), save.text, { code: 'undecided', book: save.name }).catch(() => null);
                const answer = await this.askOwner(save.name, conflicts);
                this.next(save, { is: 'answered', settle: answer ? answer.settle : null });
            }
        });
    }

    /** Runs a step of a job. If it fails, so has the job. @param {Job} job @param {() => Promise<unknown>} step */
    async attempt(job, step) {
        try {
            await step();
        } catch (error) {
            this.next(job, { is: 'failed' });
            throw error;
        }
    }

    next(/** @type {Job} */ { id }, /** @type {GuardEvent} */ event) {
        return this.lineage.guard.next(id, event);
    }

    /** @param {Job} job @param {GuardEvent} first @returns {Promise<Conflict[] | undefined>} the conflicts to ask about */
    async untilAsked(job, first) {
        /** @type {GuardEvent | void} */
        let event = first;
        while (event) {
            const actions = this.next(job, event);
            event = undefined;
            for (const action of actions) {
                if (action.do === 'ask') {
                    return action.about;
                }
                event = await this.perform(job, action);
            }
        }
        return undefined;
    }

    /** Asks the user about conflicts; `null` for "later". @param {string} name @param {Conflict[]} conflicts */
    async askOwner(name, conflicts) {
        try {
            return await this.ask({ book: name, conflicts });
        } catch (error) {
            this.onError(error);
            return null;
        }
    }

    // The core's actions. Each returns the event that follows from it, if there is one.

    /** @param {Job} job @param {Exclude<GuardAction, {do: 'ask'}>} action @returns {Promise<GuardEvent> | void} */
    perform(job, action) {
        switch (action.do) {
            case 'read': return this.read(job);
            case 'list': return this.list(job);
            case 'keep': return this.keep(job, action.about);
            case 'send': return this.send(saveOf(job), action.about);
            case 'write': return this.write(job, action.about);
            case 'report': return this.report();
            case 'recheck': return this.recheck(job, action.about);
            case 'update': return this.update(saveOf(job), action.about);
        }
    }

    /** @param {Job} job @returns {Promise<GuardEvent>} */
    async read(job) {
        const text = await this.host.bookOnServer(job.name);
        if ('held' in job) {
            this.onRead(job.name, text);
        }
        return { is: 'read', text };
    }

    /** @param {Job} job @returns {Promise<GuardEvent>} */
    async list({ name }) {
        const key = this.core.bookKey(name);
        const exists = (await this.host.listBooks()).some((book) => this.core.bookKey(book.name) === key);
        return { is: 'listed', exists };
    }

    /** Puts versions into the trash before they are overwritten. @param {Job} job @param {Overwritten} overwritten @returns {Promise<GuardEvent>} */
    async keep({ name }, { versions, isLate }) {
        const kept = [];
        for (const { isMine, text } of versions) {
            const as = sideName(name, isMine ? 'from this page' : 'from another page');
            kept.push({ isMine, as, token: await this.trash.keepText(as, text, { code: 'conflict', book: name }) });
        }
        this.onKept({ book: name, kept, isLate });
        return { is: 'kept' };
    }

    /** @param {Save} job @param {string} [text] @returns {Promise<GuardEvent>} */
    async send(job, text) {
        const response = await job.held.send(text === undefined ? undefined : bookSave(job.name, text));
        job.sent = { response, text: text ?? job.text };
        return { is: 'sent', ok: response.ok };
    }

    /** @param {Job} job @param {string} text @returns {Promise<GuardEvent>} */
    async write({ name }, text) {
        await this.host.writeBook(bookSave(name, text));
        this.onWritten(name, text);
        return { is: 'sent', ok: true };
    }

    report() {
        this.later(() => this.lineage.guard.takeNews().forEach((news) => this.onMerged(news)), NEWS_AFTER);
    }

    recheck(/** @type {Job} */ { name }, /** @type {number} */ id) {
        const check = () => this.carryOut({ id, name }, this.settings.guard ? 'turn' : 'off');
        this.later(() => this.inTurn(name, check).catch(this.onError), RECHECK_AFTER);
    }

    /**
     * Gives the page the merged book, unless it was edited in the meantime; then the next save merges again.
     * @param {Save} job
     * @param {boolean} isDecided whether the user was just asked: then no field is being edited, and the choice can be shown at once
     */
    update({ name, text, sent }, isDecided) {
        const copy = sent && this.host.replaceCachedBook(name, text, sent.text);
        if (copy) {
            this.lineage.replaced(name, copy, sent.text);
        }
        this.host.refreshEditor(name, { atOnce: isDecided && Boolean(copy) });
    }

    /** Forklore itself has written a book: not news to report, and not to be reverted. @param {string} name @param {string} text */
    wroteByForklore(name, text) {
        this.lineage.guard.wrote(name, text);
    }
}

/** Only a save is sent, asked about, or given back to the page. @param {Job} job */
function saveOf(job) {
    if (!('held' in job)) {
        throw new Error(`"${job.name}" is not being saved`);
    }
    return job;
}

/** The name under which a version can be restored from the trash, beside the book that has the other one. @param {string} name */
function sideName(name, what = 'not decided') {
    return `${name} - ${what} ${new Date().toISOString().slice(0, 19).replace(/:/g, '-').replace('T', ' ')}`;
}

/**
 * A host that reports the books that Forklore itself writes, so that they are not taken for another page's edits.
 * @param {Host} host @param {(name: string, text: string) => void} onWritten @returns {Host}
 */
export function reportingWrites(host, onWritten) {
    const writeBook = async (/** @type {Parameters<Host['writeBook']>[0]} */ request) => {
        await host.writeBook(request);
        const { name, bookText } = readBookSave(typeof request === 'string' ? request : bytesText(request));
        onWritten(name, bookText);
    };
    return { ...host, writeBook };
}
