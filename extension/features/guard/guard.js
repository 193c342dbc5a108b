// Two tabs or devices editing the same book. SillyTavern saves whole books, so the last save wins. Here, a save first
// checks what the server has; if that is not what the saved copy is based on, the two are merged.

import { bytesText, sameJson, textBytes } from '../../core/json.js';
import { bookSave } from '../../sillytavern/requests.js';
import { withoutOriginals } from './original_data.js';
import { uidCollisions, withMoved, refreshOwnAdditions } from './uids.js';

/** What the server returns for a book that does not exist. */
const MISSING_BOOK = '{"entries":{}}';
/** In milliseconds: how long to wait for another page's lock before saving without it. */
const LOCK_WAIT = 10_000;
/**
 * In milliseconds: another device, which shares no lock with this one, may have read the book before our save and
 * written it afterwards.
 */
const RECHECK_AFTER = 700;
const MAX_RECHECKS = 3;
/** How many times to ask about one save; the book may change while the user decides. */
const MAX_QUESTIONS = 4;
/** In milliseconds: the news of several saves is reported together. */
const NEWS_AFTER = 1500;

/**
 * A save that another device may still undo.
 * @typedef {object} RecentSave
 * @property {string} before the book as it was on the server
 * @property {string} written
 * @property {number} rechecks how many times it was restored
 * @property {boolean} [isKept] whether the overwritten version is in the trash
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
        /** @type {Map<string, string>} the last known content of each book on the server */
        this.lastOnServer = new Map();
        /** @type {Map<string, RecentSave[]>} */
        this.recentSaves = new Map();
        this.news = new Map();
    }

    /**
     * Sends a save, merged with what other pages have changed since.
     * @param {import('../../sillytavern/tap.js').HeldRequest} held
     * @returns {Promise<{response: Response, text: string}>} the answer, and the book as it was written
     */
    async save(held, name, text) {
        const version = this.lineage.begin(name, this.host.cachedBookWithText(name, text), text);
        if (!this.settings.guard) {
            const response = await held.send();
            if (response.ok) {
                this.lineage.saved(version);
            }
            return { response, text };
        }
        return this.inTurn(name, () => this.saveMerged(held, name, version));
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

    /** @param {import('./lineage.js').Version} version the version to save */
    async saveMerged(held, name, version) {
        /** Decisions made so far, by entry and field. */
        let settle = {};
        let otherwise = null;
        let draft = null;
        for (let questions = 0; ; questions += 1) {
            // The lock is released while the user is asked, so that other tabs do not have to wait.
            const result = await this.withLock(name, () => this.trySave({ held, name, version, settle, otherwise, isDecided: questions > 0 }));
            if (!result.conflicts) {
                if (draft && result.response.ok) {
                    await this.host.deleteFile(draft).catch(() => {});
                }
                return result;
            }
            // Nothing is lost if the tab is closed while the question is open.
            draft ??= await this.trash.keepText(sideName(name), version.text, `two pages changed "${name}"; not decided yet`).catch(() => null);
            const answer = questions < MAX_QUESTIONS ? await this.askOwner(name, result.conflicts) : null;
            settle = withAnswer(settle, answer?.settle ?? {});
            otherwise = answer ? null : 'ours';
        }
    }

    /** Asks the user about conflicts; `null` for "later". */
    async askOwner(name, conflicts) {
        try {
            const shown = conflicts.map((conflict) => ({ ...conflict, words: this.wordsOf(conflict) }));
            return await this.ask({ book: name, conflicts: shown });
        } catch (error) {
            this.onError(error);
            return null;
        }
    }

    /** The word diff of a conflict's two texts, from theirs to ours; `null` if they are not texts. */
    wordsOf({ ours, theirs }) {
        return typeof ours === 'string' && typeof theirs === 'string' ? this.core.words(theirs, ours) : null;
    }

    /** Saves, unless the user has to be asked first. @returns {Promise<{response?: Response, text?: string, conflicts?: object[]}>} */
    async trySave({ held, name, version, settle, otherwise, isDecided = false }) {
        const base = this.lineage.baseOf(version);
        if (!base) {
            return this.send(held, { name, version, before: null });
        }
        let ours = withMoved(version.text, base.moved);
        const before = withMoved(base.text, base.moved);
        const found = await this.host.bookOnServer(name);
        this.onRead(name, found);
        const theirs = await this.withLostSaves(name, found);
        const whole = { name, version, before: found, moved: base.moved, isDecided };
        if (isSame(theirs, before) || isSame(theirs, ours)) {
            return this.send(held, { ...whole, written: ours });
        }
        if (found === MISSING_BOOK && !await this.exists(name)) {
            this.queueNews(name, { isGone: true });
            return this.send(held, { ...whole, written: ours, before: null });
        }
        // An entry added on the server keeps its number, because the page that added it knows it by that number.
        const moved = { ...base.moved, ...uidCollisions(before, ours, theirs, this.core.isInternal) };
        ours = withMoved(version.text, moved);
        const { value, text: written } = this.merge(name, { before, ours, theirs, settle, otherwise });
        const open = value.conflicts.filter((conflict) => conflict.settled === null);
        if (open.length > 0 && !otherwise) {
            return { conflicts: open };
        }
        await this.keepOverwritten(name, { conflicts: value.conflicts, ours: version.text, theirs });
        if (!isSame(theirs, this.lastOnServer.get(base.key))) {
            this.queueNews(name, { steps: value.steps });
        }
        return this.send(held, { ...whole, written, moved });
    }

    merge(name, { before, ours, theirs, settle = {}, otherwise = null }) {
        const ask = {
            baseKnown: true, queue: true, only: null, settle, otherwise,
            ourBook: name, theirBook: name, ourMetadata: null, theirMetadata: null,
        };
        const originals = withoutOriginals(before, ours, theirs);
        const { value, book } = this.core.merge(ask, textBytes(before), textBytes(ours), textBytes(originals?.theirs ?? theirs));
        const text = bytesText(book);
        return { value, text: originals?.putBack(text) ?? text };
    }

    async exists(name) {
        const key = this.core.bookKey(name);
        return (await this.host.listBooks()).some((book) => this.core.bookKey(book.name) === key);
    }

    /** @param {{before: string | null, written?: string}} what `before`: the book as it was on the server, `null` if there was none */
    async send(held, { name, version, before, written = version.text, moved = {}, isDecided = false }) {
        const { text } = version;
        const response = await held.send(written === text ? undefined : bookSave(name, written));
        if (!response.ok) {
            return { response, text: written };
        }
        this.lineage.saved(version, moved);
        this.rememberSave(name, before, written);
        if (written !== text) {
            this.updatePage(name, text, written, isDecided);
        }
        return { response, text: written };
    }

    rememberSave(name, before, written, rechecks = 0) {
        const key = this.core.bookKey(name);
        this.lastOnServer.set(key, written);
        if (before === null || before === written) {
            return;
        }
        const recent = { before, written, rechecks };
        this.recentSaves.set(key, [...(this.recentSaves.get(key) ?? []), recent]);
        this.later(() => this.recheck(name, recent).catch(this.onError), RECHECK_AFTER);
    }

    /** Forklore itself has written or deleted a book: not news to report, and not to be reverted. */
    wroteByForklore(name, text) {
        const key = this.core.bookKey(name);
        this.lastOnServer.set(key, text);
        this.recentSaves.delete(key);
    }

    /**
     * Gives the page the merged book, unless it was edited in the meantime; then the next save merges again.
     * @param {boolean} isDecided whether the user was just asked: then no field is being edited, and the choice can be shown at once
     */
    updatePage(name, text, written, isDecided) {
        const copy = this.host.replaceCachedBook(name, text, written);
        if (copy) {
            this.lineage.replaced(name, copy, written);
        }
        this.host.refreshEditor(name, { atOnce: isDecided && Boolean(copy) });
    }

    /** The book from the server, with our recent saves put back if another device has just overwritten them. */
    async withLostSaves(name, found) {
        const recent = this.recentSaves.get(this.core.bookKey(name)) ?? [];
        if (recent.length === 0 || isSame(found, recent.at(-1).written) || found === MISSING_BOOK) {
            return found;
        }
        let whole = found;
        for (const [index, each] of recent.entries()) {
            // From the server's point of view, our save is the incoming side. In a conflict, the server's version
            // stays.
            const written = refreshOwnAdditions(each, recent.slice(index + 1), whole);
            const { value, text } = this.merge(name, { before: each.before, ours: whole, theirs: written, otherwise: 'ours' });
            if (value.conflicts.length && !each.isKept) {
                each.isKept = true;
                await this.keepOverwritten(name, { conflicts: value.conflicts, ours: whole, theirs: each.written, isReversed: true });
            }
            whole = value.changes ? text : whole;
        }
        return isSame(whole, found) ? found : whole;
    }

    /** Restores a save that another device has overwritten at the same moment. @param {RecentSave} recent */
    async recheck(name, recent) {
        const key = this.core.bookKey(name);
        await this.inTurn(name, () => this.withLock(name, async () => {
            if (!this.settings.guard || !this.recentSaves.get(key)?.includes(recent)) {
                return;
            }
            const found = await this.host.bookOnServer(name);
            const whole = await this.withLostSaves(name, found);
            if (!this.recentSaves.get(key)?.includes(recent)) {
                // Forklore itself has written the book in the meantime.
                return;
            }
            this.recentSaves.set(key, this.recentSaves.get(key).filter((each) => each !== recent));
            if (whole !== found && recent.rechecks < MAX_RECHECKS) {
                await this.host.writeBook(bookSave(name, whole));
                this.onWritten(name, whole);
                this.rememberSave(name, found, whole, recent.rechecks + 1);
            }
        }));
    }

    /** Puts a version into the trash before a decision overwrites it. */
    async keepOverwritten(name, { conflicts, ours, theirs, isReversed = false }) {
        const isGoing = (side) => conflicts.some(({ settled }) => settled && settled !== side);
        const kept = [];
        for (const [side, text] of [['theirs', theirs], ['ours', ours]]) {
            if (isGoing(side)) {
                const isMine = (side === 'ours') !== isReversed;
                const as = sideName(name, isMine ? 'from this page' : 'from another page');
                kept.push({ isMine, as, token: await this.trash.keepText(as, text, `two pages changed "${name}"`) });
            }
        }
        if (kept.length) {
            this.onKept({ book: name, kept, isLate: isReversed });
        }
    }

    /** Collects other pages' changes, to report them once. */
    queueNews(name, { steps = [], isGone = false }) {
        const shown = steps.filter((step) => !step.internal);
        if (shown.length === 0 && !isGone) {
            return;
        }
        const isFirst = this.news.size === 0;
        const news = this.news.get(name) ?? { book: name, isGone: false, entries: new Map() };
        this.news.set(name, news);
        news.isGone ||= isGone;
        shown.forEach(({ to, title, what }) => news.entries.set(to, { title, what }));
        if (isFirst) {
            this.later(() => this.reportNews(), NEWS_AFTER);
        }
    }

    reportNews() {
        const all = [...this.news.values()];
        this.news.clear();
        all.forEach(({ entries, ...news }) => this.onMerged({ ...news, entries: [...entries.values()] }));
    }
}

/** Two texts of one book. Most of the time they are identical. */
function isSame(one, other) {
    return one === other || (one !== undefined && other !== undefined && sameJson(one, other));
}

function withAnswer(settle, answer) {
    const result = { ...settle };
    for (const [key, choice] of Object.entries(answer)) {
        const both = typeof choice === 'object' && typeof result[key] === 'object';
        result[key] = both ? { ...result[key], ...choice } : choice;
    }
    return result;
}

/** The name under which a version can be restored from the trash, beside the book that has the other one. */
function sideName(name, what = 'not decided') {
    return `${name} - ${what} ${new Date().toISOString().slice(0, 19).replace(/:/g, '-').replace('T', ' ')}`;
}
