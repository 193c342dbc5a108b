/** Questions before timelines are renamed or deleted. */
import { heading, nameOf, paragraph } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say, sayChats, sayNames } from '../words.js';
/** @import { BookFate, TavernScreen } from '../types.js' */

/** The name, or null to keep the old one. @param {TavernScreen} screen @param {string} name */
export function askNewName(screen, name) {
    return screen.ask(element('div', { class: 'forklore_dialog' },
        heading(say('timelines.rename.title')),
        element('small', {}, say('timelines.rename.hint'))), { value: name, okText: say('timelines.rename.ok'), cancelText: say('button.cancel') });
}

/** What will happen to the lorebook, in words. @param {BookFate} what */
export function sayFate({ fate, book, why, by = [] }) {
    switch (fate) {
        case 'trash': return say('timelines.delete.trash', { book });
        case 'kept': return say(`timelines.delete.kept.${why}`, { book, by: sayChats(by, 3) });
        default: return say('timelines.delete.no-book');
    }
}

/**
 * @param {TavernScreen} screen @param {{name: string, fate: BookFate, children: string[], days: number}} what `days`: how long it is kept
 */
export function askDelete(screen, { name, fate, children, days }) {
    return mayDelete(screen, [
        heading(say('timelines.delete.title')),
        paragraph(nameOf(name)),
        paragraph(days ? say('timelines.delete.kept', { days }) : say('timelines.delete.what')),
        paragraph(sayFate(fate)),
        children.length ? paragraph(say('timelines.delete.children', { count: children.length, names: sayChats(children, 3) })) : null,
        element('small', {}, say('timelines.delete.for-good.hint')),
    ]);
}

/**
 * The same question for several timelines.
 * @param {TavernScreen} screen @param {{names: string[], books: string[], staying: string[], open: string | null, days: number}} what
 */
export function askDeleteSeveral(screen, { names, books, staying, open, days }) {
    return mayDelete(screen, [
        heading(say('several.delete.title', { count: names.length })),
        paragraph(sayChats(names)),
        open ? paragraph(say('several.delete.open', { name: open })) : null,
        paragraph(days ? say('several.delete.kept', { days }) : say('several.delete.what')),
        paragraph(books.length ? say('several.delete.books', { count: books.length, names: sayNames(books, 3) }) : say('several.delete.no-books')),
        staying.length ? paragraph(say('several.delete.staying', { count: staying.length, names: sayChats(staying, 3) })) : null,
        element('small', {}, say('several.delete.for-good.hint')),
    ]);
}

/** @param {TavernScreen} screen @param {Array<Node | null>} content @returns {Promise<'ok' | 'for-good' | null>} */
function mayDelete(screen, content) {
    return screen.popup(element('div', { class: 'forklore_dialog' }, ...content), {
        okText: say('timelines.delete.ok'),
        cancelText: say('button.cancel'),
        focus: 'cancel',
        buttons: [{ text: say('timelines.delete.for-good'), value: /** @type {const} */ ('for-good') }],
    });
}
