// Keeps a view of timelines up to date: shows what is remembered first, then asks SillyTavern for a few files at a
// time, so that nothing else has to wait.

import { bytesText } from '../../core/json.js';
import { LoreDifferences } from './lore_differences.js';
/** @import { Head, Owner, TimelinesModel, TimelinesView } from '../../types.js' */
/** @import { Timelines } from './timelines.js' */

/** Files to read at once: more while SillyTavern answers quickly, fewer while it does not. */
const FIRST_BATCH = 4;
const LARGEST_BATCH = 64;
const QUICK = 200;
const SLOW = 1500;

/** How many chats in a row must be unchanged before all chats written earlier are taken to be unchanged, too. */
const PROOFS = 2;
const NEWEST_ASKED_FOR = 64;
const REDRAWN_AFTER = 300;
const REDRAWN_WITH_BOOKS_AFTER = 1500;

/** Waits until the first drawing is on the screen. */
function afterDrawing() {
    return new Promise((resolve) => setTimeout(resolve, 50));
}

export class TimelineWatch {
    /** @param {Timelines} timelines @param {TimelinesView} view */
    constructor(timelines, view) {
        this.timelines = timelines;
        this.view = view;
        this.round = 0;
        this.isStopped = false;
        this.open = /** @type {Owner} */ ({ group: null, avatar: null });
        this.names = /** @type {string[]} */ ([]);
        /** @type {TimelinesModel | null} what was shown last */
        this.model = null;
        this.drawnAt = 0;
        /** @type {string | null} the family on display; by default, the open chat's */
        this.family = null;
        /** Texts of books by key, as long as the view is open. @type {Map<string, string>} */
        this.books = new Map();
        this.differences = new LoreDifferences(timelines);
        this.caughtUp = Promise.resolve();
    }

    /** Resolves when the remembered timelines have been shown. */
    async start({ all = false } = {}) {
        this.round += 1;
        const round = this.round;
        const { host, index } = this.timelines;
        const open = host.openChat();
        if (!open) {
            this.view.show(null);
            this.view.note(null);
            return;
        }
        this.open = { group: open.group, avatar: open.avatar };
        index.learn([this.timelines.headOfOpen(open)]);
        [this.names] = await Promise.all([this.timelines.names(open), index.of(open)]);
        if (this.isOver(round)) {
            return;
        }
        await index.keepOnly(open, this.names);
        this.draw();
        this.caughtUp = afterDrawing().then(() => this.catchUp(round, all)).catch((error) => console.warn('Forklore: timelines could not be read', error));
    }

    stop() {
        this.isStopped = true;
    }

    isOver(/** @type {number} */ round) {
        return this.isStopped || round !== this.round;
    }

    /** Names, headers or the open chat's book have changed. */
    async refresh() {
        const { host, core } = this.timelines;
        const book = host.openChat()?.book;
        if (book) {
            this.books.delete(core.bookKey(book));
        }
        await this.start();
    }

    draw() {
        const open = this.timelines.host.openChat();
        if (!open || this.isStopped) {
            return;
        }
        this.drawnAt = Date.now();
        const model = this.timelines.model(open, this.names, this.timelines.index.cacheOf(this.open).chats, this.books);
        this.model = { ...model, timelines: model.timelines.map((timeline) => ({ ...timeline, differs: this.differences.of(timeline.id) })) };
        this.view.show(this.model);
    }

    async catchUp(/** @type {number} */ round, /** @type {boolean} */ all) {
        const { index } = this.timelines;
        const began = index.now();
        const chats = await index.of(this.open);
        if (this.isOver(round) || !this.model) {
            return;
        }
        const mustReadAll = all || index.cacheOf(this.open).syncedAt === 0;
        const unread = this.others().filter((name) => mustReadAll || !chats.has(name));
        const isComplete = await this.read(round, this.nearestFirst(unread))
            && (mustReadAll || await this.readNewest(round));
        if (!isComplete) {
            return;
        }
        index.synced(this.open, began);
        await index.keepGhosts(this.open, this.timelines.ghostsOf(this.open, this.names, chats));
        this.draw();
        await this.readBooks(round);
    }

    /** The names of all timelines except for the open one. */
    others() {
        return this.names.filter((name) => name !== this.model?.open);
    }

    ownFamily() {
        return this.model?.timelines.find(({ isOpen }) => isOpen)?.family;
    }

    /** The open chat's family first. @param {string[]} names */
    nearestFirst(names) {
        const familyOf = new Map(this.model?.timelines.map(({ name, family }) => [name, family]));
        const mine = this.ownFamily();
        return [...names].sort((one, other) => Number(familyOf.get(other) === mine) - Number(familyOf.get(one) === mine));
    }

    /** @param {number} round @param {string[]} names @returns {Promise<boolean>} whether all of them were read */
    async read(round, names) {
        let batch = FIRST_BATCH;
        for (let done = 0; done < names.length;) {
            if (this.isOver(round)) {
                return false;
            }
            this.view.note({ what: 'headers', done, total: names.length });
            const began = Date.now();
            this.timelines.index.learn(await this.timelines.host.chatHeadsOf(this.open, names.slice(done, done + batch)));
            done += batch;
            const took = Date.now() - began;
            batch = took < QUICK ? Math.min(batch * 2, LARGEST_BATCH) : took > SLOW ? Math.max(1, Math.floor(batch / 2)) : batch;
            if (Date.now() - this.drawnAt > REDRAWN_AFTER && !this.isOver(round)) {
                this.draw();
            }
        }
        return !this.isOver(round);
    }

    /**
     * Reads the chats that were written since this owner's chats were last read: the newest ones, until some are found
     * that have not changed.
     * @param {number} round
     */
    async readNewest(round) {
        const { index, host } = this.timelines;
        for (let count = FIRST_BATCH; count <= NEWEST_ASKED_FOR; count *= 2) {
            const heads = await host.newestHeads(count);
            if (this.isOver(round)) {
                return false;
            }
            await Promise.all(heads.map((head) => index.of(head)));
            const proofs = heads.slice(-PROOFS).filter((head) => index.proves(this.open, head)).length;
            index.learn(heads.filter((head) => !this.isOpenChat(head)));
            if (proofs === PROOFS || heads.length < count) {
                return true;
            }
        }
        return this.read(round, this.others());
    }

    /** The page knows its own chat better than the file does. @param {Head} head */
    isOpenChat(head) {
        return head.group === this.open.group && head.avatar === this.open.avatar && head.name === this.model?.open;
    }

    /** Reads the books of a family: the one on display or, by default, the open chat's. @param {number} round */
    async readBooks(round) {
        const { host, core } = this.timelines;
        const timelines = this.model?.timelines ?? [];
        const family = this.family ?? this.ownFamily();
        const wanted = new Set(timelines.flatMap(({ book, family: its }) => (book && its === family ? [core.bookKey(book)] : [])));
        const there = new Map(host.knownBooks().map((name) => [core.bookKey(name), name]));
        const unread = [...wanted].filter((key) => !this.books.has(key)).flatMap((key) => {
            const name = there.get(key);
            return name === undefined ? [] : [{ key, name }];
        });
        for (const [done, { key, name }] of unread.entries()) {
            this.view.note({ what: 'books', done, total: unread.length });
            const text = await host.readBook(name).then(bytesText, () => 'null');
            if (this.isOver(round)) {
                return;
            }
            this.books.set(key, text);
            if (Date.now() - this.drawnAt > REDRAWN_WITH_BOOKS_AFTER) {
                this.draw();
            }
        }
        this.view.note(null);
        this.draw();
        const shown = this.model?.timelines.filter((timeline) => timeline.family === family) ?? [];
        if (await this.differences.update(shown, this.books, () => this.isOver(round))) {
            this.draw();
        }
    }

    /** Another family is displayed. @param {string} family */
    async showFamily(family) {
        this.family = family;
        await this.caughtUp;
        await this.readBooks(this.round);
    }
}
