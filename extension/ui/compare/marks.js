/** Two versions of a value side by side, with the differences marked up as <ins> and <del>, so that they do not depend on colours. */
import { shownValue } from '../widgets/conflict.js';
import { nameOf } from '../widgets/controls.js';
import { element } from '../widgets/dom.js';
import { smoothed } from '../widgets/pieces.js';
import { say } from '../words.js';
import { labelOf } from './items.js';
/** @import { Child, ComparedModel, Difference, Piece, Side, Words } from '../types.js' */

/** @param {unknown} value @returns {value is string | unknown[] | null | undefined} */
const isText = (value) => value === undefined || value === null || typeof value === 'string' || Array.isArray(value);
const textOf = (/** @type {string | unknown[] | null | undefined} */ value) => value === undefined || value === null ? '' : Array.isArray(value) ? shownValue(value) : value;

/** The pieces of text of both versions. @param {Omit<Difference, 'name'>} difference @param {Words} words @returns {Record<Side, Piece[]>} */
export function pieces({ by, base, left, right }, words) {
    if (!isText(left) || !isText(right)) {
        const whole = (/** @type {unknown} */ value, /** @type {Piece['is']} */ is) => [{ is, text: shownValue(value) }];
        return {
            left: whole(left, by === 'right' ? 'removed' : by === 'unknown' ? 'other' : 'added'),
            right: whole(right, by === 'left' ? 'removed' : by === 'unknown' ? 'other' : 'added'),
        };
    }
    const [one, two] = [textOf(left), textOf(right)];
    if (by === 'both') {
        const began = isText(base) ? textOf(base) : '';
        return { left: words(began, one), right: words(began, two) };
    }
    const found = by === 'left' ? words(two, one) : words(one, two);
    const without = (/** @type {Piece['is']} */ is) => found.filter((piece) => piece.is !== is);
    const [older, newer] = [without('added'), without('removed')];
    /** @returns {Piece[]} */
    const unsigned = (/** @type {Piece[]} */ list) => list.map(({ is, text }) => ({ is: is === 'same' ? is : 'other', text }));
    if (by === 'unknown') {
        return { left: unsigned(older), right: unsigned(newer) };
    }
    return by === 'left' ? { left: newer, right: older } : { left: older, right: newer };
}

/** How a value changes, as pieces in one line. @param {unknown} before @param {unknown} after @param {Words} words @returns {Piece[]} */
export function inline(before, after, words) {
    return isText(before) && isText(after)
        ? words(textOf(before), textOf(after))
        : [{ is: 'removed', text: shownValue(before) }, { is: 'same', text: ' → ' }, { is: 'added', text: shownValue(after) }];
}

/** @type {Record<Piece['is'], keyof HTMLElementTagNameMap | null>} */
const TAGS = { removed: 'del', added: 'ins', other: 'mark', same: null };

export function marked(/** @type {Piece[]} */ list) {
    const shown = smoothed(list).filter(({ text }) => text !== '');
    return shown.length
        ? shown.map(({ is, text }) => {
            const tag = TAGS[is];
            return tag ? element(tag, { class: `forklore_mark_${is}` }, text) : text;
        })
        : element('em', {}, say('conflict.nothing'));
}

/** Two columns, or one below the other if there is no room. @param {Record<Side, Child>} contents @param {ComparedModel} model */
export function sideBySide(contents, model) {
    const column = (/** @type {Side} */ side) => element('div', { class: 'forklore_column' },
        element('small', { class: 'forklore_column_name' }, sideName(model, side)),
        element('div', { class: 'forklore_content' }, contents[side]));
    return element('div', { class: 'forklore_columns' }, column('left'), column('right'));
}

/** The name of a side above its version. @param {ComparedModel} model @param {Side} side */
export function sideName(model, side) {
    const { message } = model[side];
    const chat = labelOf(model, side);
    if (model.isOneChat) {
        return message === null ? say('compare.now') : say('compare.at', { message });
    }
    return nameOf(message === null ? chat : say('compare.chat-at', { chat, message }));
}
