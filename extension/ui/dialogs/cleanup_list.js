/** The cleanup dialog: what would go to the trash, and what stays and why. */
import { box, folded, heading, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say, saySize, sayWord } from '../words.js';
/** @import { CleanupPlan, TavernScreen } from '../types.js' */

export function cleanupView(/** @type {CleanupPlan} */ { remove, keep, unread }) {
    const bytes = remove.reduce((sum, book) => sum + book.bytes, 0);
    return {
        remove: remove.map(({ name, bytes: size, madeFor }) => ({
            name,
            about: [saySize(size), madeFor ? say('clean.madeFor', { chat: madeFor }) : ''].filter(Boolean).join(' · '),
        })),
        removeTitle: remove.length ? say('clean.remove', { count: remove.length, size: saySize(bytes) }) : '',
        keep: keep.map(({ name, reason }) => ({ name, about: sayWord(reason) })),
        keepTitle: say('clean.keep', { count: keep.length }),
        unread,
        unreadTitle: say('clean.unread', { count: unread.length }),
        canClean: remove.length > 0,
    };
}

/** Whether to proceed. @param {{screen: TavernScreen}} parts @param {CleanupPlan} plan */
export async function askCleanup({ screen }, plan) {
    const view = cleanupView(plan);
    const content = element('div', { class: 'forklore_dialog' },
        heading(say('clean.title')),
        view.unread.length ? box('warning', view.unreadTitle, plainList(view.unread)) : null,
        view.canClean
            ? [paragraph(element('b', {}, view.removeTitle)), paragraph(say('clean.remove.hint')), bookList(view.remove, 'fa-trash-can')]
            : paragraph(say('clean.nothing')),
        view.keep.length ? folded(view.keepTitle, () => bookList(view.keep, 'fa-book')) : null);
    const answer = await screen.popup(content, view.canClean
        ? { okText: say('clean.ok'), cancelText: say('button.cancel') }
        : { okText: say('button.close') });
    return view.canClean && answer === 'ok';
}

function bookList(/** @type {Array<{name: string, about: string}>} */ books, /** @type {string} */ sign) {
    return element('ul', { class: 'forklore_list' }, books.map(({ name, about }) =>
        element('li', { class: 'forklore_item' }, icon(sign),
            element('div', { class: 'forklore_item_text' }, element('div', {}, nameOf(name)), element('small', {}, about)))));
}

function plainList(/** @type {string[]} */ names) {
    return element('ul', { class: 'forklore_words forklore_small forklore_short_list' }, names.map((name) => element('li', {}, nameOf(name))));
}
