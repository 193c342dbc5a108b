/** One entry that differs: a row with a checkbox that unfolds to both versions. */
import { shownValue } from '../widgets/conflict.js';
import { button, folded, icon, nameOf, paragraph } from '../widgets/controls.js';
import { element, freshId } from '../widgets/dom.js';
import { say, sayFields } from '../words.js';
import { canBring, fieldsToBring, hasSomething, isRemoval, labelOf, other, whyNot } from './items.js';
import { marked, pieces, sideBySide } from './marks.js';

const SIGNS = { added: 'fa-plus', changed: 'fa-pen', removed: 'fa-minus' };

/** @import { ComparedModel, Difference, Item, RowParts, Side } from '../types.js' */

export function entryRow(/** @type {Item} */ item, /** @type {RowParts} */ { model, from, selection, bring }) {
    const isTickable = canBring(item, from, model);
    const reason = isTickable ? '' : whyNot(item, from, model);
    const id = freshId('reason');
    const fieldBoxes = /** @type {Map<string, HTMLInputElement>} */ (new Map());
    const box = element('input', {
        type: 'checkbox',
        'aria-label': say('compare.tick', { title: item.title }),
        disabled: !isTickable,
        'aria-describedby': reason ? id : null,
        on: { change: ({ target }) => selection.tick(item, target.checked) },
    });
    const show = () => {
        const ticked = selection.of(item);
        box.checked = ticked === true || (Array.isArray(ticked) && ticked.length > 0);
        box.indeterminate = Array.isArray(ticked);
        fieldBoxes.forEach((field, name) => {
            field.checked = ticked === true || Boolean(ticked?.includes(name));
        });
    };
    selection.watch(item, show);
    const what = item.changes[0]?.what ?? 'changed';
    const summary = element('span', { class: 'forklore_entry_title' },
        icon(SIGNS[what], `forklore_${what}`), ' ', nameOf(item.title),
        item.isConflict ? element('small', { class: 'forklore_tag forklore_tag_both' }, say('compare.conflict')) : null,
        element('small', { class: 'forklore_keys' }, item.summary),
        reason ? element('small', { class: 'forklore_keys', id }, reason) : null);
    const body = () => {
        const inside = [
            item.left.entry && item.right.entry
                ? item.fields.map((field) => fieldPart(item, field, { model, from, selection, boxes: fieldBoxes }))
                : wholeEntry(item, model),
            bringButtons(item, { model, from, bring }),
        ];
        show();
        return inside;
    };
    show();
    return element('div', { class: 'forklore_row', role: 'listitem', data: { key: item.key } },
        element('label', { class: 'forklore_tick' }, box),
        folded(summary, body));
}

/** @param {Item} item @param {Difference} field @param {Omit<RowParts, 'bring'> & {boxes: Map<string, HTMLInputElement>}} parts */
function fieldPart(item, field, { model, from, selection, boxes }) {
    const isAlone = fieldsToBring(item, from, model).length < 2;
    const canTick = !isAlone && fieldsToBring(item, from, model).includes(field.name);
    const id = freshId('field');
    const box = canTick ? element('input', { type: 'checkbox', id, on: { change: ({ target }) => selection.tickField(item, field.name, target.checked) } }) : null;
    if (box) {
        boxes.set(field.name, box);
    }
    return element('section', { class: 'forklore_field' },
        element('div', { class: 'forklore_field_name' },
            box, element(box ? 'label' : 'span', box ? { for: id } : {}, sayFields([field.name])),
            model.isOneChat || field.by === 'unknown' ? null : element('small', { class: 'forklore_by' }, byWhom(field.by, model))),
        sideBySide(columns(field, model), model));
}

function byWhom(/** @type {Side | 'both'} */ by, /** @type {ComparedModel} */ model) {
    return by === 'both' ? say('compare.by.both') : say('compare.by', { chat: labelOf(model, by) });
}

export function columns(/** @type {Omit<Difference, 'name'>} */ field, /** @type {ComparedModel} */ model) {
    const { left, right } = pieces(field, model.words);
    return { left: marked(left), right: marked(right) };
}

/** An entry that only one side has. @param {Item} item @param {ComparedModel} model */
function wholeEntry(item, model) {
    const has = item.left.entry ? 'left' : 'right';
    const entry = item[has].entry ?? {};
    const isGone = item[other(has)].did === 'removed';
    const keys = Array.isArray(entry.key) && entry.key.length ? say('lore.keys', { keys: shownValue(entry.key) }) : say('lore.no-keys');
    const whole = [
        element('div', {}, typeof entry.content === 'string' && entry.content ? entry.content : say('lore.empty')),
        element('small', { class: 'forklore_keys' }, keys),
    ];
    const absent = element('em', {}, say(isGone ? 'compare.gone' : 'compare.absent'));
    return sideBySide(has === 'left' ? { left: whole, right: absent } : { left: absent, right: whole }, model);
}

/** Buttons that bring just this entry over: in the chosen direction, and back if the other side has changed it, too. @param {Item} item @param {Omit<RowParts, 'selection'>} parts */
function bringButtons(item, { model, from, bring }) {
    const ways = [
        ...(hasSomething(item, from, model) ? [from] : []),
        ...(!model.isOneChat && canBring(item, other(from), model) ? [other(from)] : []),
    ];
    const buttons = ways.map((way) => {
        const chat = labelOf(model, other(way));
        const key = model.isOneChat ? 'compare.bring.back' : isRemoval(item, way) ? 'compare.bring.removal' : 'compare.bring.one';
        return button(say(key, { chat }), { icon: model.isOneChat ? 'fa-clock-rotate-left' : 'fa-arrow-right-to-bracket', run: () => bring(item, way) });
    });
    return buttons.length ? element('div', { class: 'forklore_buttons' }, buttons) : paragraph(say('compare.bring.none'));
}
