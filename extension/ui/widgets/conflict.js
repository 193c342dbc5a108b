/** One conflict: both versions with the differing words marked, and the choice between them. */
import { say, sayFields, sayList } from '../words.js';
import { choice, nameOf } from './controls.js';
import { element, freshId } from './dom.js';
import { smoothed } from './pieces.js';

/** Fields with free text; the others have a fixed set of values. */
const WRITTEN = ['content', 'comment'];

/**
 * A conflict as it is displayed.
 * @param {object} conflict as given by the core, with `words`: the word diff from theirs to ours
 * @param {{mine: string, theirs: string, hand?: string, what?: (kind: string) => string}} names of the two sides, and the
 *        hint for writing a version by hand
 */
export function sectionView(conflict, { mine, theirs, hand = say('conflict.write.hint'), what = (kind) => say(`conflict.${kind}`) }) {
    const { key, title, field, kind, words } = conflict;
    const side = (value, name, isRemoved, pieces) => ({
        value,
        title: name,
        hint: isRemoved ? say('conflict.without') : kind === 'field' ? '' : say('conflict.with'),
        pieces: isRemoved ? [] : pieces ? smoothed(pieces) : [{ is: 'same', text: shownValue(kind === 'field' ? conflict[value] : conflict[value]?.content) }],
    });
    return {
        key: key ?? '',
        field,
        title: key === null ? say('conflict.book') : title || say('lore.untitled', { uid: key }),
        what: kind === 'field' ? sayFields([field]) : what(kind),
        mine: side('ours', mine, kind === 'removed-by-ours', words?.filter(({ is }) => is !== 'removed')),
        theirs: side('theirs', theirs, kind === 'removed-by-theirs', words?.filter(({ is }) => is !== 'added')),
        canWrite: kind === 'field' && WRITTEN.includes(field) && typeof conflict.ours === 'string',
        written: conflict.ours,
        hand,
    };
}

/** A value of any kind as text. */
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

/** The choices in the form that the core expects. @param {Array<{key: string, field: string|null, choice: any}>} choices */
export function settled(choices) {
    const settle = {};
    for (const { key, field, choice: chosen } of choices) {
        settle[key] = field === null || field === undefined ? chosen : { ...settle[key], [field]: chosen };
    }
    return settle;
}

/**
 * @param {object} view the result of `sectionView`
 * @param {{taken?: 'ours'|'theirs'|null, changed?: () => void}} [options] the initial choice; null for none
 * @returns {{body: HTMLElement, choose: (value: string) => void, chosen: () => {key: string, field: string|null, choice: any}, isSettled: () => boolean}}
 */
export function conflictSection({ key, field, title, what, mine, theirs, canWrite, written, hand: hint }, { taken = 'ours', changed = () => {} } = {}) {
    const group = freshId('version');
    const hand = element('textarea', { class: 'text_pole forklore_hand', rows: 5, 'aria-label': say('conflict.write'), value: written ?? '' });
    const handBox = element('div', { class: 'forklore_version', hidden: true }, hand);
    const choose = (value) => {
        taken = value;
        handBox.hidden = value !== 'value';
        changed();
    };
    const radio = ({ value, title: name, hint }, ...children) => choice(
        { group, value, title: name, hint, checked: value === taken, run: () => choose(value) }, ...children);
    const rows = [
        radio(mine, version(mine)),
        radio(theirs, version(theirs)),
        canWrite ? radio({ value: 'value', title: say('conflict.write'), hint }, handBox) : null,
    ].filter(Boolean);
    return {
        body: element('section', { class: 'forklore_conflict' },
            element('h4', {}, nameOf(title), element('small', { class: 'forklore_tag' }, what)),
            element('div', { class: 'forklore_choices', role: 'radiogroup', 'aria-label': `${title}: ${what}` }, rows)),
        choose: (value) => {
            choose(value);
            rows.forEach(({ children: [input] }) => input.checked = input.value === value);
        },
        chosen: () => ({ key, field, choice: taken === 'value' ? { value: hand.value } : taken }),
        isSettled: () => taken !== null,
    };
}

function version({ pieces }) {
    return pieces.length === 0 ? null : element('div', { class: 'forklore_version forklore_content', tabindex: 0 },
        pieces.map(({ is, text }) => is === 'same' ? text : element('mark', { class: 'forklore_mark' }, text)));
}
