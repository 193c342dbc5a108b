/** What is done to several ticked timelines: one question for all of them, then one after the other. */
import { say } from '../words.js';
import { below } from './family.js';
import { askDeleteSeveral } from './questions.js';
/** @import { Actions, Attempt, Parts, SeveralActions, ShownTimeline, Toasts } from '../types.js' */

/** @param {Parts & {toasts: Toasts, attempt: Attempt, actions: Pick<Actions, 'compare' | 'undo' | 'showTrash'>, refresh: () => unknown}} parts @returns {SeveralActions} */
export function severalActions({ app, screen, toasts, attempt, actions, refresh }) {
    const archiving = (/** @type {boolean} */ isArchived) => attempt(async (/** @type {ShownTimeline[]} */ ticked, /** @type {ShownTimeline[]} */ _family, /** @type {(text: string) => void} */ note) => {
        const names = ticked.map(({ name }) => name);
        const { done, refused } = await app.several.archive(names, isArchived, (at) => note(say('several.archiving', { at: at + 1, total: names.length })));
        await refresh();
        toasts.archived({ done, refused, isArchived }, () => attempt(async () => {
            await app.several.archive(done, !isArchived, () => {});
            await refresh();
        })());
    });
    return {
        compare: ([one, other]) => one && other && actions.compare({ left: one.name, right: other.name }),
        archive: archiving(true),
        unarchive: archiving(false),
        delete: attempt(async (ticked, family, note) => {
            const names = ticked.filter(({ isOpen }) => !isOpen).map(({ name }) => name);
            if (!names.length) {
                toasts.notify('info', say('timelines.no.delete'));
                return;
            }
            const answer = await askDeleteSeveral(screen, {
                names,
                books: await app.several.booksOf(names),
                staying: staying(family, ticked),
                open: ticked.find(({ isOpen }) => isOpen)?.name ?? null,
                days: app.settings.trashDays,
            });
            if (answer) {
                const report = await app.several.delete(names, { isForGood: answer === 'for-good' }, (done) => note(say('several.deleting', { at: done + 1, total: names.length })));
                await refresh();
                toasts.deleted({ ...report, total: names.length }, actions);
            }
        }),
    };
}

/** The timelines forked from the ticked ones that are not ticked themselves. @param {ShownTimeline[]} family @param {ShownTimeline[]} ticked */
function staying(family, ticked) {
    const left = below(family, ticked.filter(({ isOpen }) => !isOpen).map(({ id }) => id));
    return family.filter(({ id, kind }) => left.has(id) && kind !== 'gone' && !ticked.some((one) => one.id === id)).map(({ name }) => name);
}
