/** The results and arguments of slash commands about comparisons. */
/** @import { ComparedModel, Difference, WantedEntries } from '../types.js' */

/** What differs, by name only: the texts are in the lorebooks. @param {ComparedModel} model */
export function compareAnswer({ left, right, beginning, entries, book, recap, variables, other }) {
    const names = (/** @type {Difference[]} */ list) => list.map(({ name, by }) => ({ name, by }));
    return {
        left: { chat: left.chat, message: left.message, book: left.book },
        right: { chat: right.chat, message: right.message, book: right.book },
        beginning,
        entries: entries.map((entry) => ({
            key: entry.key, uid: entry.uid, title: entry.title, left: entry.left.did, right: entry.right.did, fields: names(entry.fields),
        })),
        book: names(book),
        recap: names(recap),
        variables: names(variables),
        other: names(other),
    };
}

/**
 * Finds entries by titles or numbers, in the form that the core expects.
 * @param {ComparedModel} model whose right side is the source @param {string} typed separated by commas @returns {WantedEntries}
 */
export function wantedEntries(model, typed) {
    // Two moments of one chat are always in chronological order.
    const isTurned = model.isOneChat && model.left.message !== null;
    const from = isTurned ? 'left' : 'right';
    const known = model.entries.filter((entry) => model.isOneChat || entry[from].entry || entry[from].did !== 'nothing');
    const find = (/** @type {string} */ name) => {
        const low = name.toLowerCase();
        return known.find(({ title }) => title === name)
            ?? known.find(({ uid, key }) => String(uid) === name || key === name)
            ?? known.find(({ title }) => String(title).toLowerCase() === low);
    };
    // A title may contain a comma.
    const whole = find(typed.trim());
    const names = whole ? [typed.trim()] : typed.split(',').map((name) => name.trim()).filter(Boolean);
    const found = names.map((name) => {
        const entry = find(name);
        if (!entry) {
            throw Object.assign(new Error(name), { word: { code: 'no-such-entry', values: { name } } });
        }
        return entry;
    });
    return Object.fromEntries(found.map(({ key }) => [key, true]));
}
