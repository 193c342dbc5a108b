// Two tabs or devices editing the same book. SillyTavern saves whole books, so the last save wins. Here, a save first
// checks what the server has; if that is not what the saved copy is based on, the two are merged. The core decides, and
// this carries it out.

import { bytesText } from '../../core/json.js';
import { bookSave, readBookSave } from '../../sillytavern/requests.js';

/** In milliseconds: how long to wait for another page's lock before saving without it. */
const LOCK_WAIT = 10_000;
/**
 * In milliseconds: another device, which shares no lock with this one, may have read the book before our save and
 * written it afterwards.
 */
const RECHECK_AFTER = 700;
/** In milliseconds: the news of several saves is reported together. */
const NEWS_AFTER = 1500;

/**
 * A save, or the check whether one is still on the server.
 * @typedef {object} Job
 * @property {number} id the core's number for it
 * @property {string} name the book
 * @property {import('../../sillytavern/tap.js').HeldRequest} [held]
 * @property {string} [text] the book as the page saves it
 * @property {string} [written] the book as it was sent
 * @property {Response} [response]
 * @property {string | null} [draft] the file with the page's version while the user is asked
 */

export class Guard {
    /**
     * @param {object} parts
     * @param {object} parts.host @param {object} parts.core @param {{guard: boolean}} parts.settings
     * @param {import('./lineage.js').Lineage} parts.lineage @param {import('../trash.js').Trash} parts.trash
     * @param {(question: {book: string, conflicts: object[]}) => Promise<{settle: object} | null>} parts.ask resolves to `null` for "later"
     * @param {(news: object) => void} parts.onMerged called with other pages' changes to a book
     * @param {(kept: object) => void} parts.onKept called with versions that went to the trash because the other one was chosen
     * @param {(name: string, text: string) => void} parts.onWritten called after Forklore wrote a book
     * @param {(name: string, text: string) => void} [parts.onRead] called with a book as it was just read from the server
     * @param {(error: Error) => void} parts.onError
     * @param {LockManager} [parts.locks] shared by all tabs of this browser; missing if the page is not served securely
     * @param {(run: () => void, wait: number) => unknown} [parts.later]
     */
    constructor({ locks = globalThis.navigator?.locks, later = setTimeout, ...parts }) {
        Object.assign(this, { onRead: () => {} }, parts, { locks });
        this.later = (run, wait) => later(run, wait);
        /** @type {Map<string, Promise<unknown>>} for each book, the save that the next one waits for */
        this.turns = new Map();
    }

    /**
     * Sends a save, merged with what other pages have changed since.
     * @param {import('../../sillytavern/tap.js').HeldRequest} held
     * @returns {Promise<{response: Response, text: string}>} the answer, and the book as it was written
     */
    async save(held, name, text) {
        const id = this.lineage.begin(name, this.host.cachedBookWithText(name, text), text);
        const job = { id, held, name, text };
        if (this.settings.guard) {
            await this.inTurn(name, () => this.carryOut(job));
        } else {
            await this.attempt(job, async () => this.next(job, await this.send(job)));
        }
        if (job.draft && job.response.ok) {
            await this.host.deleteFile(job.draft).catch(() => {});
        }
        return { response: job.response, text: job.written };
    }

    /** Runs the steps for one book one after the other. */
    inTurn(name, step) {
        const key = this.core.bookKey(name);
        const before = this.turns.get(key) ?? Promise.resolve();
        const mine = before.catch(() => {}).then(step);
        this.turns.set(key, mine);
        mine.catch(() => {}).then(() => this.turns.get(key) === mine && this.turns.delete(key));
        return mine;
    }

    /** Runs a step while no other tab of this browser works on the book. */
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

    /** Does what the core decides about a job, until it has ended. @param {Job} job */
    async carryOut(job, first = 'turn') {
        // The lock is released while the user is asked, so that other tabs do not have to wait.
        const turn = () => this.withLock(job.name, () => this.untilAsked(job, { is: first }));
        await this.attempt(job, async () => {
            for (let conflicts = await turn(); conflicts; conflicts = await turn()) {
                // Nothing is lost if the tab is closed while the question is open.
                job.draft ??= await this.trash.keepText(sideName(job.name), job.text, `two pages changed "${job.name}"; not decided yet`).catch(() => null);
                const answer = await this.askOwner(job.name, conflicts);
                this.next(job, { is: 'answered', settle: answer ? answer.settle ?? {} : null });
            }
        });
    }

    /** Runs a step of a job. If it fails, so has the job. */
    async attempt(job, step) {
        try {
            return await step();
        } catch (error) {
            this.next(job, { is: 'failed' });
            throw error;
        }
    }

    next({ id }, { text, ...event }) {
        return this.lineage.guard.next(id, event, text);
    }

    /** @returns {Promise<object[] | undefined>} the conflicts to ask about */
    async untilAsked(job, event) {
        while (event) {
            const { actions, text } = this.next(job, event);
            event = null;
            for (const { do: action, about } of actions) {
                if (action === 'ask') {
                    return about;
                }
                event = await this[action](job, about, text);
            }
        }
        return undefined;
    }

    /** Asks the user about conflicts; `null` for "later". */
    async askOwner(name, conflicts) {
        try {
            return await this.ask({ book: name, conflicts });
        } catch (error) {
            this.onError(error);
            return null;
        }
    }

    // The core's actions. Each returns the event that follows from it, if there is one.

    async read({ name, held }) {
        const text = await this.host.bookOnServer(name);
        if (held) {
            this.onRead(name, text);
        }
        return { is: 'read', text };
    }

    async list({ name }) {
        const key = this.core.bookKey(name);
        const exists = (await this.host.listBooks()).some((book) => this.core.bookKey(book.name) === key);
        return { is: 'listed', exists };
    }

    /** Puts versions into the trash before they are overwritten. */
    async keep({ name }, { versions, isLate }) {
        const kept = [];
        for (const { isMine, text } of versions) {
            const as = sideName(name, isMine ? 'from this page' : 'from another page');
            kept.push({ isMine, as, token: await this.trash.keepText(as, text, `two pages changed "${name}"`) });
        }
        this.onKept({ book: name, kept, isLate });
        return { is: 'kept' };
    }

    async send(job, about, text) {
        job.written = text ?? job.text;
        job.response = await job.held.send(text === undefined ? undefined : bookSave(job.name, text));
        return { is: 'sent', ok: job.response.ok };
    }

    async write({ name }, about, text) {
        await this.host.writeBook(bookSave(name, text));
        this.onWritten(name, text);
        return { is: 'sent', ok: true };
    }

    report() {
        this.later(() => this.lineage.guard.takeNews().forEach((news) => this.onMerged(news)), NEWS_AFTER);
    }

    recheck({ name }, id) {
        const check = () => this.carryOut({ id, name }, this.settings.guard ? 'turn' : 'off');
        this.later(() => this.inTurn(name, check).catch(this.onError), RECHECK_AFTER);
    }

    /**
     * Gives the page the merged book, unless it was edited in the meantime; then the next save merges again.
     * @param {boolean} isDecided whether the user was just asked: then no field is being edited, and the choice can be shown at once
     */
    update({ name, text, written }, isDecided) {
        const copy = this.host.replaceCachedBook(name, text, written);
        if (copy) {
            this.lineage.replaced(name, copy, written);
        }
        this.host.refreshEditor(name, { atOnce: isDecided && Boolean(copy) });
    }

    /** Forklore itself has written a book: not news to report, and not to be reverted. */
    wroteByForklore(name, text) {
        this.lineage.guard.wrote(name, text);
    }
}

/** The name under which a version can be restored from the trash, beside the book that has the other one. */
function sideName(name, what = 'not decided') {
    return `${name} - ${what} ${new Date().toISOString().slice(0, 19).replace(/:/g, '-').replace('T', ' ')}`;
}

/**
 * A host that reports the books that Forklore itself writes, so that they are not taken for another page's edits.
 * @param {Host} host @param {(name: string, text: string) => void} onWritten @returns {Host}
 */
export function reportingWrites(host, onWritten) {
    const writeBook = async (/** @type {string | Uint8Array} */ request) => {
        await host.writeBook(request);
        const { name, bookText } = readBookSave(typeof request === 'string' ? request : bytesText(request));
        onWritten(name, bookText);
    };
    return { ...host, writeBook };
}
