/** The differences as list items: which side did what, what can be brought where, what matches a search. */
import { shortNames } from '../names.js';
import { holdsWords } from '../widgets/search.js';
import { say, sayFields } from '../words.js';
/** @import { ChangeKind, ComparedModel, Difference, EntryDifference, Item, Side } from '../types.js' */

/** How the chat of a side is called beside the other one. @param {Record<Side, {chat: string}>} model @param {Side} side */
export function labelOf({ left, right }, side) {
    return shortNames([left.chat, right.chat])((side === 'left' ? left : right).chat);
}

/** @type {Side[]} */
export const SIDES = ['left', 'right'];
/** @type {ChangeKind[]} */
export const KINDS = ['added', 'changed', 'removed'];

/** @typedef {{from: Side, into: Side}} Direction */
/** @type {Direction} */
const TO_RIGHT = { from: 'left', into: 'right' };
/** @type {Direction} */
const TO_LEFT = { from: 'right', into: 'left' };

/** Fields that are listed first. */
const FIRST = ['content', 'comment', 'key', 'keysecondary'];

/** @param {ComparedModel} model @returns {Item[]} */
export function itemsOf(model) {
    return model.entries.map((entry, id) => {
        const fields = [...entry.fields].sort((one, other) => rank(one) - rank(other));
        const changes = changesOf(entry);
        const item = {
            id,
            key: entry.key,
            title: entry.title || say('lore.untitled', { uid: entry.uid ?? entry.key }),
            changes,
            isConflict: isConflict(entry),
            left: entry.left,
            right: entry.right,
            fields,
            searched: SIDES.map((side) => textOf(entry[side].entry)).join('\n'),
        };
        return { ...item, summary: summaryOf(item, model) };
    });
}

function rank(/** @type {Difference} */ { name }) {
    return (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1);
}

function textOf(/** @type {ST.Entry | null | undefined} */ entry) {
    const keys = Array.isArray(entry?.key) ? entry.key : [];
    return [entry?.comment, entry?.content, ...keys].filter((text) => typeof text === 'string').join('\n');
}

/** If it is unknown what both started from, an entry that only one side has counts as added there. @param {EntryDifference} entry @returns {Item['changes']} */
function changesOf({ left, right }) {
    const isUnknown = left.did === 'unknown' || right.did === 'unknown';
    const isInBoth = left.entry && right.entry;
    return SIDES.flatMap((side) => {
        const { did, entry } = { left, right }[side];
        const what = isUnknown ? entry ? isInBoth ? 'changed' : 'added' : 'nothing' : did;
        return what === 'nothing' || what === 'unknown' ? [] : [{ side, what }];
    });
}

function isConflict(/** @type {EntryDifference} */ { left, right, fields }) {
    const dids = [left.did, right.did];
    return fields.some(({ by }) => by === 'both') || (dids.includes('removed') && dids.includes('changed'));
}

function summaryOf(/** @type {Pick<Item, 'changes' | 'left' | 'fields'>} */ { changes, left, fields }, /** @type {ComparedModel} */ model) {
    const [first] = changes;
    const names = fields.map(({ name }) => name);
    if (model.isOneChat) {
        return sentence(`compare.since.${first?.what ?? 'changed'}`, names, {});
    }
    if (left.did === 'unknown') {
        return changes.length > 1 || !first ? sentence('compare.differs', names, {}) : say('compare.only', { chat: labelOf(model, first.side) });
    }
    if (fields.length) {
        return [
            { key: 'compare.both.changed', by: 'both', chat: undefined },
            ...SIDES.map((side) => ({ key: 'compare.did.changed', by: side, chat: labelOf(model, side) })),
        ].map(({ key, by, chat }) => ({ key, chat, names: fields.filter((field) => field.by === by).map(({ name }) => name) }))
            .filter(({ names: changed }) => changed.length)
            .map(({ key, chat, names: changed }) => sentence(key, changed, { chat }))
            .join(say('compare.and'));
    }
    return changes.map(({ side, what }) => say(`compare.did.${what}`, { chat: labelOf(model, side) })).join(say('compare.and'));
}

function sentence(/** @type {string} */ key, /** @type {string[]} */ fields, /** @type {{chat?: string}} */ values) {
    const said = say(key, values);
    return fields.length && key.endsWith('.changed') || key === 'compare.differs' ? say('compare.with-fields', { said, fields: sayFields(fields) }) : said;
}

/** The items that match the filters. @param {Item[]} items @param {{kinds: Set<string>, sides: Set<string>, typed: string}} wanted */
export function matching(items, { kinds, sides, typed }) {
    return items.filter(({ changes, searched, title }) =>
        changes.some(({ side, what }) => kinds.has(what) && sides.has(side)) && holdsWords(`${title}\n${searched}`, typed));
}

/** The number of items of each kind and side. @param {Item[]} items @returns {Record<ChangeKind | Side, number>} */
export function counts(items) {
    const kind = (/** @type {ChangeKind} */ wanted) => items.filter(({ changes }) => changes.some(({ what }) => what === wanted)).length;
    const side = (/** @type {Side} */ wanted) => items.filter(({ changes }) => changes.some((doing) => doing.side === wanted)).length;
    return { added: kind('added'), changed: kind('changed'), removed: kind('removed'), left: side('left'), right: side('right') };
}

/** @param {Side} side @returns {Side} */
export const other = (side) => side === 'left' ? 'right' : 'left';

/** @typedef {Pick<ComparedModel, 'isOneChat'> & Record<Side, Pick<ComparedModel['left'], 'hasBook'>>} Books */

/** Lore is merged from one book into another, so both must exist. @param {Books} model */
const hasBooks = ({ left, right }) => left.hasBook && right.hasBook;

/** The directions in which lore can be brought, the more likely one first. @param {ComparedModel} model @returns {[Direction, ...Direction[]]} */
export function targets(model) {
    if (model.isOneChat) {
        return [TO_RIGHT];
    }
    return model.right.isOpen ? [TO_RIGHT, TO_LEFT] : [TO_LEFT, TO_RIGHT];
}

/** The more likely direction, or the other one if nothing can be brought in that one. @param {ComparedModel} model @param {Item[]} items */
export function bestDirection(model, items) {
    const all = targets(model);
    return all.find(({ from }) => items.some((item) => canBring(item, from, model))) ?? all[0];
}

/** Whether one side has a change that can be brought to the other. @param {Item} item @param {Side} from @param {Books} model */
export function canBring(item, from, model) {
    if (model.isOneChat || !hasBooks(model)) {
        return hasBooks(model);
    }
    const { did, entry } = item[from];
    return did === 'unknown' ? Boolean(entry) : did !== 'nothing';
}

/** Why an item cannot be brought. @param {Item} item @param {Side} from @param {ComparedModel} model */
export function whyNot(item, from, model) {
    return hasBooks(model) ? say(item[from].entry ? 'compare.tick.no' : 'compare.tick.absent', { chat: labelOf(model, from) }) : '';
}

/** Why nothing can be brought in a direction. @param {ComparedModel} model @param {Direction} direction */
export function whyNothing(model, { from, into }) {
    const without = SIDES.find((side) => !model[side].hasBook);
    if (!without) {
        return say('compare.none', { from: labelOf(model, from), into: labelOf(model, into) });
    }
    return model.isOneChat ? say('compare.none.then') : say('compare.none.book', { chat: labelOf(model, without) });
}

/** Fields that can be brought individually. @param {Item} item @param {Side} from @param {Pick<ComparedModel, 'isOneChat'>} model */
export function fieldsToBring(item, from, { isOneChat }) {
    return item.fields.filter(({ by }) => isOneChat || by === from || by === 'both' || by === 'unknown').map(({ name }) => name);
}

/** Whether there is anything to bring, even if that side has not changed it. @param {Item} item @param {Side} from @param {ComparedModel} model */
export function hasSomething(item, from, model) {
    return hasBooks(model) && (Boolean(item[from].entry) || canBring(item, from, model));
}

/** Whether bringing it would remove an entry. @param {Item} item @param {Side} from */
export function isRemoval(item, from) {
    return !item[from].entry && Boolean(item[other(from)].entry);
}

/** Whether the difference is more than a missing value on one side and an empty one on the other. @param {Difference} difference */
export function isWorthReading({ left, right }) {
    return !isEmpty(left) || !isEmpty(right);
}

/** @param {unknown} value @returns {boolean} */
function isEmpty(value) {
    return value === undefined || value === null || value === '' || (typeof value === 'object' && Object.values(value).every(isEmpty));
}
