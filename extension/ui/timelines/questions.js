/** Questions before timelines are deleted. */
import { button, heading, nameOf, paragraph } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say, sayChats, sayNames } from '../words.js';
/** @import { BookFate, TavernScreen } from '../types.js' */

/** What will happen to the lorebook, in words. @param {BookFate} what */
export function sayFate({ fate, book, why, by = [] }) {
    switch (fate) {
        case 'trash': return say('timelines.delete.trash', { book });
        case 'kept': return say(`timelines.delete.kept.${why}`, { book, by: sayChats(by, 3) });
        default: return say('timelines.delete.no-book');
    }
}

/**
 * @param {TavernScreen} screen @param {{name: string, title: string, fate: BookFate, children: string[], days: number}} what `days`: how long it is kept
 */
export function askDelete(screen, { name, title, fate, children, days }) {
    const isTogether = days > 0 && fate.fate === 'trash';
    return mayDelete(screen, say('timelines.delete.for-good.hint'), [
        heading(say('timelines.delete.title')),
        paragraph(nameOf(title || name), title ? element('small', {}, ' ', nameOf(name)) : null),
        paragraph(isTogether ? say('timelines.delete.together', { days, book: fate.book }) : days ? say('timelines.delete.kept', { days }) : say('timelines.delete.what')),
        isTogether || fate.fate === 'none' ? null : paragraph(sayFate(fate)),
        children.length ? paragraph(say('timelines.delete.children', { count: children.length, names: sayChats(children, 3, [name]) })) : null,
    ]);
}

/**
 * The same question for several timelines.
 * @param {TavernScreen} screen @param {{names: string[], books: string[], staying: string[], open: string | null, days: number}} what
 */
export function askDeleteSeveral(screen, { names, books, staying, open, days }) {
    return mayDelete(screen, say('several.delete.for-good.hint'), [
        heading(say('several.delete.title', { count: names.length })),
        paragraph(sayChats(names)),
        open ? paragraph(say('several.delete.open', { name: open })) : null,
        paragraph(days ? say('several.delete.kept', { days }) : say('several.delete.what')),
        paragraph(books.length ? say('several.delete.books', { count: books.length, names: sayNames(books, 3) }) : say('several.delete.no-books')),
        staying.length ? paragraph(say('several.delete.staying', { count: staying.length, names: sayChats(staying, 3) })) : null,
    ]);
}

/** @param {TavernScreen} screen @param {string} hint what is not kept then @param {Array<Node | null>} content @returns {Promise<'ok' | 'for-good' | null>} */
function mayDelete(screen, hint, content) {
    return screen.popup((/** @type {(answer: 'for-good') => void} */ close) => element('div', { class: 'forklore_dialog' }, ...content,
        element('small', {}, button(say('timelines.delete.for-good'), { class: 'forklore_link', title: hint, run: () => close('for-good') }))), {
        okText: say('timelines.delete.ok'),
        cancelText: say('button.cancel'),
        focus: 'cancel',
    });
}
