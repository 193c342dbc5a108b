// Keeps a view of timelines up to date: shows what is remembered first, then asks SillyTavern for a few files at a
// time, so that nothing else has to wait.

import { bytesText } from '../../core/json.js';

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
    /**
     * @param {{host: object, core: object, index: object, headOfOpen: Function, names: Function, model: Function}} timelines
     * @param {{show: Function, note: Function}} view
     */
    constructor(timelines, view) {
        Object.assign(this, { timelines, view });
        this.round = 0;
        this.isStopped = false;
        /** Texts of books by key, as long as the view is open. */
        this.books = new Map();
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

    isOver(round) {
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
        const cache = this.timelines.index.cacheOf(this.open);
        if (!open || this.isStopped) {
            return;
        }
        this.drawnAt = Date.now();
        this.model = this.timelines.model(open, this.names, cache.chats, this.books);
        this.view.show(this.model);
    }

    async catchUp(round, all) {
        const { index } = this.timelines;
        const began = index.now();
        const chats = await index.of(this.open);
        if (this.isOver(round)) {
            return;
        }
        const mustReadAll = all || index.cacheOf(this.open).syncedAt === 0;
        const openName = this.model.open;
        const unread = this.names.filter((name) => name !== openName && (mustReadAll || !chats.has(name)));
        const isComplete = await this.read(round, this.nearestFirst(unread))
            && (mustReadAll || await this.readNewest(round));
        if (!isComplete) {
            return;
        }
        index.synced(this.open, began);
        this.draw();
        await this.readBooks(round);
    }

    /** The open chat's family first. */
    nearestFirst(names) {
        const familyOf = new Map(this.model.timelines.map(({ name, family }) => [name, family]));
        const mine = familyOf.get(this.model.open);
        return [...names].sort((one, other) => Number(familyOf.get(other) === mine) - Number(familyOf.get(one) === mine));
    }

    /** @returns {Promise<boolean>} whether all of them were read */
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
        return this.read(round, this.names.filter((name) => name !== this.model.open));
    }

    /** The page knows its own chat better than the file does. */
    isOpenChat(head) {
        return head.group === this.open.group && head.avatar === this.open.avatar && head.name === this.model.open;
    }

    /** Reads the books of a family: the one on display or, by default, the open chat's. */
    async readBooks(round, family = this.family ?? null) {
        const { host, core } = this.timelines;
        const shown = this.model.timelines.find(({ isOpen }) => isOpen)?.family;
        const wanted = this.model.timelines.filter((timeline) => timeline.book && timeline.family === (family ?? shown));
        const there = new Map(host.knownBooks().map((name) => [core.bookKey(name), name]));
        const keys = [...new Set(wanted.map(({ book }) => core.bookKey(book)))].filter((key) => !this.books.has(key) && there.has(key));
        for (const [done, key] of keys.entries()) {
            this.view.note({ what: 'books', done, total: keys.length });
            const text = await host.readBook(there.get(key)).then(bytesText, () => 'null');
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
    }

    /** Another family is displayed. */
    async showFamily(family) {
        this.family = family;
        await this.caughtUp;
        await this.readBooks(this.round);
    }
}
