/** What became of a fork, in full. */
import { heading, nameOf, paragraph, wordList } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say, sayPart, sayTerms } from '../words.js';
/** @import { ForkReport, Parts, SayMessage } from '../types.js' */

/** @param {Parts & {sayMessage: SayMessage}} parts @param {ForkReport} report */
export function showFork({ app, screen, sayMessage }, report) {
    const { parent, child, message, book, remarks } = report;
    // Both have the message; another chat has another one there.
    const isThere = [parent, child].includes(app.open()?.name ?? '');
    return screen.popup(element('div', { class: 'forklore_dialog' },
        heading(say('notice.fork.title', { message: isThere ? sayMessage(message) : message })),
        paragraph(nameOf(child)),
        paragraph(book ? say('notice.book', { book: book.name, entries: book.entries, part: partAndRecaps(report) }) : say('notice.no-book')),
        wordList(remarks)), { okText: say('button.close') });
}

/** How well the lorebook is known, and the recaps that were copied with it. @param {ForkReport} report */
export function partAndRecaps({ part, recap, combined }) {
    return sayTerms([
        part ? sayPart(part) : '',
        typeof recap?.version === 'number' ? say('notice.recap', { version: recap.version, count: recap.scenes }) : '',
        combined ? say('notice.combined-recap', { count: combined }) : '',
    ]);
}
