/** A lorebook that two pages changed in the same place: asks which version to keep, entry by entry. */
import { conflictSection, sectionView, settled } from '../widgets/conflict.js';
import { button, heading, paragraph } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { say } from '../words.js';

export { settled, shownValue } from '../widgets/conflict.js';
/** @import { Conflict, Settled, Taken, TavernScreen } from '../types.js' */

/** The guard's question as sections. @param {{book: string, conflicts: Conflict[]}} question */
export function conflictView({ book, conflicts }) {
    const names = { mine: say('conflict.mine'), theirs: say('conflict.theirs') };
    return { text: say('conflict.text', { book }), sections: conflicts.map((conflict) => sectionView(conflict, names)) };
}

/** @param {{screen: TavernScreen}} parts @param {{book: string, conflicts: Conflict[]}} question @returns {Promise<{settle: Settled} | null>} null for "later" */
export async function askConflict({ screen }, question) {
    const { text, sections } = conflictView(question);
    const shown = sections.map((section) => conflictSection(section));
    const all = (/** @type {Taken} */ side) => () => shown.forEach(({ choose }) => choose(side));
    const content = element('div', { class: 'forklore_dialog' },
        heading(say('conflict.title')),
        paragraph(text),
        shown.length > 1 ? element('div', { class: 'forklore_buttons' },
            button(say('conflict.all.mine'), { run: all('ours') }),
            button(say('conflict.all.theirs'), { run: all('theirs') })) : null,
        shown.map(({ body }) => body),
        element('small', { class: 'forklore_text' }, say('conflict.later.hint')));
    const answer = await screen.popup(content, {
        wide: true, okText: say('conflict.ok'), cancelText: say('conflict.later'), focus: 'cancel',
    });
    return answer === 'ok' ? { settle: settled(shown.map(({ chosen }) => chosen())) } : null;
}
