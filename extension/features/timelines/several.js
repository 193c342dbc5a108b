// What is done to several timelines, one after the other.

/** @import { SeveralForUi } from '../../types.js' */
/** @import { Labels } from './labels.js' */
/** @import { Timelines } from './timelines.js' */

export class Several {
    /** @param {{timelines: Pick<Timelines, 'fatesOf' | 'delete'>, labels: Pick<Labels, 'archive'>}} parts */
    constructor({ timelines, labels }) {
        this.timelines = timelines;
        this.labels = labels;
    }

    /** @type {SeveralForUi['booksOf']} */
    async booksOf(names) {
        const fates = await this.timelines.fatesOf(names);
        return [...new Set(fates.flatMap(({ fate, book }) => (fate === 'trash' && book ? [book] : [])))];
    }

    /** @type {SeveralForUi['delete']} */
    async delete(names, { isForGood }, note) {
        const report = /** @type {Awaited<ReturnType<SeveralForUi['delete']>>} */ ({ done: [], tokens: [], books: [], refused: null });
        for (const name of names) {
            note(report.done.length);
            try {
                const { token, books } = await this.timelines.delete(name, { isForGood, isOneOfSeveral: true });
                report.done.push(name);
                report.tokens.push(...(token ? [token] : []));
                report.books.push(...books);
            } catch (error) {
                report.refused = { name, error };
                break;
            }
        }
        return report;
    }

    /** @type {SeveralForUi['archive']} */
    async archive(names, isArchived, note) {
        const report = /** @type {Awaited<ReturnType<SeveralForUi['archive']>>} */ ({ done: [], refused: [] });
        for (const [at, name] of names.entries()) {
            note(at);
            try {
                await this.labels.archive(name, isArchived);
                report.done.push(name);
            } catch (error) {
                report.refused.push({ name, error });
            }
        }
        return report;
    }
}
