/** The differences as list items: which side did what, what can be brought where, what matches a search. */
import { holdsWords } from '../widgets/search.js';
import { say, sayFields } from '../words.js';

export const SIDES = ['left', 'right'];
export const KINDS = ['added', 'changed', 'removed'];

/** Fields that are listed first. */
const FIRST = ['content', 'comment', 'key', 'keysecondary'];

/**
 * @typedef {object} Item
 * @property {number} id
 * @property {string} key its key in the book
 * @property {string} title
 * @property {Array<{side: 'left'|'right', what: string}>} changes
 * @property {boolean} isConflict whether both sides changed it in different ways
 * @property {object} left `did`, `entry`
 * @property {object} right
 * @property {object[]} fields
 * @property {string} summary
 * @property {string} searched
 */

/** @param {object} model the result of `app.compare()` @returns {Item[]} */
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

function rank({ name }) {
    return (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1);
}

function textOf(entry) {
    const keys = Array.isArray(entry?.key) ? entry.key : [];
    return [entry?.comment, entry?.content, ...keys].filter((text) => typeof text === 'string').join('\n');
}

/** If it is unknown what both started from, an entry that only one side has counts as added there. */
function changesOf({ left, right }) {
    const isUnknown = left.did === 'unknown' || right.did === 'unknown';
    if (!isUnknown) {
        return SIDES.map((side) => ({ side, what: { left, right }[side].did })).filter(({ what }) => what !== 'nothing');
    }
    const isInBoth = left.entry && right.entry;
    return SIDES.filter((side) => ({ left, right })[side].entry).map((side) => ({ side, what: isInBoth ? 'changed' : 'added' }));
}

function isConflict({ left, right, fields }) {
    const dids = [left.did, right.did];
    return fields.some(({ by }) => by === 'both') || (dids.includes('removed') && dids.includes('changed'));
}

function summaryOf({ changes, left, fields }, model) {
    const names = fields.map(({ name }) => name);
    if (model.isOneChat) {
        return sentence(`compare.since.${changes[0]?.what ?? 'changed'}`, names, {});
    }
    if (left.did === 'unknown') {
        return changes.length > 1
            ? sentence('compare.differs', names, {})
            : say('compare.only', { chat: model[changes[0].side].chat });
    }
    if (fields.length) {
        return [
            { key: 'compare.both.changed', by: 'both' },
            ...SIDES.map((side) => ({ key: 'compare.did.changed', by: side, chat: model[side].chat })),
        ].map(({ key, by, chat }) => ({ key, chat, names: fields.filter((field) => field.by === by).map(({ name }) => name) }))
            .filter(({ names: changed }) => changed.length)
            .map(({ key, chat, names: changed }) => sentence(key, changed, { chat }))
            .join(say('compare.and'));
    }
    return changes.map(({ side, what }) => say(`compare.did.${what}`, { chat: model[side].chat })).join(say('compare.and'));
}

function sentence(key, fields, values) {
    const said = say(key, values);
    return fields.length && key.endsWith('.changed') || key === 'compare.differs' ? say('compare.with-fields', { said, fields: sayFields(fields) }) : said;
}

/**
 * The items that match the filters.
 * @param {Item[]} items
 * @param {{kinds: Set<string>, sides: Set<string>, typed: string}} wanted
 */
export function matching(items, { kinds, sides, typed }) {
    return items.filter(({ changes, searched, title }) =>
        changes.some(({ side, what }) => kinds.has(what) && sides.has(side)) && holdsWords(`${title}\n${searched}`, typed));
}

/** The number of items of each kind and side. @param {Item[]} items */
export function counts(items) {
    const count = (fits) => items.filter(({ changes }) => changes.some(fits)).length;
    return Object.fromEntries([
        ...KINDS.map((kind) => [kind, count(({ what }) => what === kind)]),
        ...SIDES.map((side) => [side, count((doing) => doing.side === side)]),
    ]);
}

export const other = (side) => side === 'left' ? 'right' : 'left';

/** The directions in which lore can be brought, the more likely one first. */
export function targets(model) {
    if (model.isOneChat) {
        return [{ from: 'left', into: 'right' }];
    }
    const ways = [{ from: 'right', into: 'left' }, { from: 'left', into: 'right' }];
    return model.right.isOpen ? ways.reverse() : ways;
}

/** Whether one side has a change that can be brought to the other. */
export function canBring(item, from, { isOneChat }) {
    if (isOneChat) {
        return true;
    }
    const { did, entry } = item[from];
    return did === 'unknown' ? Boolean(entry) : did !== 'nothing';
}

/** Fields that can be brought individually. */
export function fieldsToBring(item, from, { isOneChat }) {
    return item.fields.filter(({ by }) => isOneChat || by === from || by === 'both' || by === 'unknown').map(({ name }) => name);
}

/** Whether there is anything to bring, even if that side has not changed it. */
export function hasSomething(item, from, model) {
    return Boolean(item[from].entry) || canBring(item, from, model);
}

/** Whether bringing it would remove an entry. */
export function isRemoval(item, from) {
    return !item[from].entry && Boolean(item[other(from)].entry);
}

/** Whether the difference is more than a missing value on one side and an empty one on the other. */
export function isWorthReading({ left, right }) {
    return !isEmpty(left) || !isEmpty(right);
}

function isEmpty(value) {
    return value === undefined || value === null || value === '' || (typeof value === 'object' && Object.values(value).every(isEmpty));
}
