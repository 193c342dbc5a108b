// Changes that the user asks for: each is carried out, announced to other extensions, and followed by a new check.

/**
 * @import { BookReport, Host, MergePlan, MergeRequest, RepairChoice } from '../types.js'
 * @import { Events } from '../events.js'
 */

export class Changes {
    /**
     * @param {object} parts
     * @param {Host} parts.host @param {Events} parts.events
     * @param {import('./repair/repairs.js').Repairs} parts.repairs
     * @param {import('./repair/verifier.js').Verifier} parts.verifier
     * @param {import('./repair/lost_book.js').LostBook} parts.lostBook
     * @param {import('./repair/findings.js').Findings} parts.findings
     * @param {import('./compare/timeline_merge.js').TimelineMerge} parts.timelineMerge
     * @param {import('./trash/put_back.js').PutBack} parts.putBack
     * @param {import('./journal/recorder.js').Recorder} parts.recorder
     */
    constructor({ host, events, repairs, verifier, lostBook, findings, timelineMerge, putBack, recorder }) {
        this.host = host;
        this.events = events;
        this.repairs = repairs;
        this.verifier = verifier;
        this.lostBook = lostBook;
        this.findings = findings;
        this.timelineMerge = timelineMerge;
        this.putBack = putBack;
        this.recorder = recorder;
    }

    /** @param {string} event @param {object} result */
    async #done(event, result) {
        this.events.announce(event, result);
        await this.findings.checkAgain();
    }

    /** @param {number} message @returns {Promise<BookReport>} */
    async restore(message, { dryRun = false } = {}) {
        const result = await this.repairs.restore(message, { dryRun });
        if (!dryRun) {
            await this.#done('restored', { ...result, message });
        }
        return result;
    }

    repairOptions() {
        return this.repairs.repairOptions(this.lostBook.name);
    }

    /** @param {RepairChoice} choice */
    async repair(choice) {
        const result = await this.repairs.repair(choice, this.lostBook.name);
        this.lostBook.name = null;
        await this.#done('repaired', { ...result, source: choice.source });
        return result;
    }

    async splitPlan({ family = false } = {}) {
        const { keeper, heads } = await this.verifier.sharing(this.repairs.requireOpenChat(), { family });
        return { keeper, chats: await this.repairs.splitPlan(heads) };
    }

    async split({ family = false } = {}) {
        const { keeper, heads } = await this.verifier.sharing(this.repairs.requireOpenChat(), { family });
        const result = { keeper, chats: await this.repairs.split(heads) };
        await this.#done('split', result);
        return result;
    }

    /** @param {string} book */
    async giveCopy(book) {
        const result = await this.repairs.giveCopy(book);
        await this.#done('repaired', { ...result, source: 'copy' });
        return result;
    }

    /** @param {{unlink: boolean}} options */
    async useOriginal(options) {
        await this.repairs.useOriginal(options);
        await this.findings.checkAgain();
    }

    /**
     * Merges lore from one timeline into another.
     * @param {MergeRequest} request @param {MergePlan | null} [seen]
     * @returns what was done, or `{isStale: true, plan}` if the plan is no longer the one that was `seen`
     */
    async bring(request, seen = null) {
        const outcome = await this.timelineMerge.apply(request, seen);
        if (outcome.isStale) {
            return outcome;
        }
        const { text, ...done } = outcome;
        if (text !== undefined && done.book) {
            this.recorder.bookChanged(done.book, text);
            this.host.refreshEditor(done.book);
            await this.#done('combined', done);
        }
        return done;
    }

    /** @param {string} token */
    async undo(token) {
        const report = await this.putBack.putBack(token);
        this.loreChanged();
        if (report.chats.length || report.undone.length) {
            this.events.emit('timelines', undefined);
        }
        await this.#done('undone', { restored: report.restored, chats: report.chats });
        return report;
    }

    /** Saves copies of what is in the trash under other names. @param {string} token @param {string[]} names */
    async saveFromTrash(token, names) {
        const saved = await this.putBack.saveAs(token, names);
        this.events.emit('timelines', undefined);
        this.events.changed();
        return saved;
    }

    /** Removes the journal from the open chat. @returns {Promise<number>} how many records there were */
    async strip() {
        const count = this.recorder.strip();
        if (count > 0) {
            await this.host.saveOpenChat();
        }
        return count;
    }

    /** Forklore has written the open chat's book: what the page and the journal know of it is out of date. */
    loreChanged() {
        const { book } = this.host.openChat() ?? {};
        if (book) {
            this.recorder.bookChanged(book, undefined);
        }
        this.findings.outdate();
    }

    /** The open chat's book was deleted in this page. @param {string} book */
    async bookLost(book) {
        this.lostBook.name = book;
        await this.findings.checkAgain();
        const { journal } = await this.repairOptions();
        if (this.host.openChat()?.book === book) {
            this.events.emit('lost', { book, canBringBack: Boolean(journal) });
        }
    }
}
