// The findings of the open chat, kept as long as they are up to date.

/**
 * @import { Head, Host, OpenChat, Reach } from '../../types.js'
 * @import { Events } from '../../events.js'
 * @typedef {Awaited<ReturnType<import('./verifier.js').Verifier['verifyOpen']>>} Found
 */

export class Findings {
    /**
     * @param {object} parts
     * @param {Host} parts.host @param {Events} parts.events
     * @param {import('./verifier.js').Verifier} parts.verifier
     * @param {import('./repairs.js').Repairs} parts.repairs
     * @param {import('./lost_book.js').LostBook} parts.lostBook
     * @param {(found: Found) => void} parts.onFound
     */
    constructor({ host, events, verifier, repairs, lostBook, onFound }) {
        this.host = host;
        this.events = events;
        this.verifier = verifier;
        this.repairs = repairs;
        this.lostBook = lostBook;
        this.onFound = onFound;
        this.updates = 0;
        /** `null` once something has changed since they were made. @type {Found & {when: 'opened' | 'again', book: string | null} | null} */
        this.current = null;
    }

    /**
     * Verifies a chat. What was found is only kept if the chat is still open and no later run has started in the meantime.
     * @param {OpenChat} open @param {'opened' | 'again'} when
     * @param {{reach?: Reach, listed?: Head[]}} [options]
     */
    async update(open, when, options = {}) {
        this.updates += 1;
        const update = this.updates;
        const reach = options.reach ?? await this.verifier.reach(open);
        const found = await this.verifier.verifyOpen(open, { ...options, reach });
        found.findings = await this.lostBook.withFinding(found.findings);
        const now = this.host.openChat();
        if (update === this.updates && now?.name === open.name && now?.integrity === open.integrity) {
            this.current = { ...found, when, book: open.book };
            this.onFound(found);
            const report = { chat: found.chat, findings: found.findings };
            this.events.emit(when === 'opened' ? 'opened' : 'checked', report);
            this.events.announce('verified', report);
            this.events.changed();
        }
        return found;
    }

    outdate() {
        this.current = null;
        this.events.changed();
    }

    /** The findings may be out of date. @param {Parameters<Findings['update']>[2]} [options] */
    async checkAgain(options) {
        const open = this.host.openChat();
        if (open) {
            await this.events.reportErrors(() => this.update(open, 'again', options));
        }
    }

    /** The open chat was saved. It may now be bound to a different book than when it was verified. */
    async openSaved() {
        if (this.current && this.current.book !== this.host.openChat()?.book) {
            this.outdate();
            await this.checkAgain();
        }
    }

    async verifyOpen() {
        const open = this.repairs.requireOpenChat();
        const reach = await this.verifier.reach(open);
        const { chat, findings } = await this.update(open, 'again', { reach: reach === 'open' ? 'owner' : reach });
        return { chat, findings };
    }

    /** @param {(done: number, total: number) => void} progress */
    async verifyAll(progress) {
        const { results, heads } = await this.verifier.verifyAll(progress);
        await this.checkAgain({ reach: 'all', listed: heads });
        return results;
    }
}
