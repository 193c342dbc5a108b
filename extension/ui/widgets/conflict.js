/** One conflict: both versions with the differing words marked, and the choice between them. */
import { say, sayFields, sayList } from '../words.js';
import { choice, nameOf } from './controls.js';
import { element, freshId } from './dom.js';
import { smoothed } from './pieces.js';
/** @import { Child, Chosen, Conflict, ConflictSide, ConflictView, Piece, Settled, Taken } from '../types.js' */

/** Fields with free text; the others have a fixed set of values. */
const WRITTEN = ['content', 'comment'];

/**
 * A conflict as it is displayed.
 * @param {Conflict} conflict
 * @param {{mine: string, theirs: string, hand?: string, what?: (kind: string) => string}} names of the two sides, and the
 *        hint for writing a version by hand
 * @returns {ConflictView}
 */
export function sectionView(conflict, { mine, theirs, hand = say('conflict.write.hint'), what = (kind) => say(`conflict.${kind}`) }) {
    const { key, title, field = null, kind, words } = conflict;
    /** @param {'ours' | 'theirs'} value @param {string} name @param {boolean} isRemoved @param {Piece[] | undefined} pieces @returns {ConflictSide} */
    const side = (value, name, isRemoved, pieces) => ({
        value,
        title: name,
        hint: isRemoved ? say('conflict.without') : kind === 'field' ? '' : say('conflict.with'),
        pieces: isRemoved ? [] : pieces ? smoothed(pieces) : [{ is: 'same', text: shownValue(kind === 'field' ? conflict[value] : contentOf(conflict[value])) }],
    });
    return {
        key: key ?? '',
        field,
        title: key === null ? say('conflict.book') : title || say('lore.untitled', { uid: key }),
        what: kind === 'field' ? sayFields([field ?? '']) : what(kind),
        mine: side('ours', mine, kind === 'removed-by-ours', words?.filter(({ is }) => is !== 'removed')),
        theirs: side('theirs', theirs, kind === 'removed-by-theirs', words?.filter(({ is }) => is !== 'added')),
        canWrite: kind === 'field' && WRITTEN.includes(field ?? '') && typeof conflict.ours === 'string',
        written: typeof conflict.ours === 'string' ? conflict.ours : '',
        hand,
    };
}

/** The text of a whole entry. @param {unknown} entry */
function contentOf(entry) {
    return entry instanceof Object && 'content' in entry ? entry.content : undefined;
}

/** A value of any kind as text. @param {unknown} value @returns {string} */
export function shownValue(value) {
    if (value === undefined || value === null || value === '') {
        return say('conflict.nothing');
    }
    if (Array.isArray(value)) {
        return value.length ? sayList(value.map((item) => typeof item === 'object' ? JSON.stringify(item) : String(item))) : say('conflict.nothing');
    }
    if (typeof value === 'boolean') {
        return say(value ? 'conflict.yes' : 'conflict.no');
    }
    return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** The choices in the form that the core expects. @param {Chosen[]} choices */
export function settled(choices) {
    /** @type {Settled} */
    const settle = {};
    for (const { key, field, choice: chosen } of choices) {
        settle[key] = field === null ? chosen : Object.assign({}, settle[key], { [field]: chosen });
    }
    return settle;
}

/**
 * @param {ConflictView} view
 * @param {{taken?: Taken, changed?: () => void}} [options] the initial choice; null for none
 */
export function conflictSection({ key, field, title, what, mine, theirs, canWrite, written, hand: hint }, { taken = 'ours', changed = () => {} } = {}) {
    const group = freshId('version');
    const hand = element('textarea', { class: 'text_pole forklore_hand', rows: 5, 'aria-label': say('conflict.write'), value: written ?? '' });
    const handBox = element('div', { class: 'forklore_version', hidden: true }, hand);
    const choose = (/** @type {Taken} */ value) => {
        taken = value;
        handBox.hidden = value !== 'value';
        changed();
    };
    /** @param {{value: NonNullable<Taken>, title: string, hint: string}} way @param {Child} child */
    const radio = ({ value, title: name, hint }, child) => choice(
        { group, value, title: name, hint, checked: value === taken, run: () => choose(value) }, child);
    const rows = [
        radio(mine, version(mine)),
        radio(theirs, version(theirs)),
        ...(canWrite ? [radio({ value: 'value', title: say('conflict.write'), hint }, handBox)] : []),
    ];
    return {
        body: element('section', { class: 'forklore_conflict' },
            element('h4', {}, nameOf(title), element('small', { class: 'forklore_tag' }, what)),
            element('div', { class: 'forklore_choices', role: 'radiogroup', 'aria-label': `${title}: ${what}` }, rows)),
        choose: (/** @type {Taken} */ value) => {
            choose(value);
            rows.forEach(({ children: [first] }) => {
                const input = /** @type {HTMLInputElement} */ (first);
                input.checked = input.value === value;
            });
        },
        /** @returns {Chosen} */
        chosen: () => ({ key, field, choice: taken === 'value' ? { value: hand.value } : taken }),
        isSettled: () => taken !== null,
    };
}

function version(/** @type {ConflictSide} */ { pieces }) {
    return pieces.length === 0 ? null : element('div', { class: 'forklore_version forklore_content', tabindex: 0 },
        pieces.map(({ is, text }) => is === 'same' ? text : element('mark', { class: 'forklore_mark' }, text)));
}
