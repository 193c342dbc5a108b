// A book imported from a card keeps the card's own version of its entries, as SillyTavern's `originalData`, and every
// edit is written to both. It follows the entries; the user is never asked about it.

/** SillyTavern's names of the fields there. All other fields are equal on both sides or taken from the side that is kept. */
const FIELDS = {
    content: 'content',
    comment: 'comment',
    key: 'keys',
    keysecondary: 'secondary_keys',
    order: 'insertion_order',
    constant: 'constant',
    selective: 'selective',
};

/**
 * Takes `originalData` out of a merge if both sides have changed it.
 * @param {string} before @param {string} ours @param {string} theirs
 * @returns {{theirs: string, putBack: (merged: string) => string} | null} `null` if the merge can handle it by itself
 */
export function withoutOriginals(before, ours, theirs) {
    if (![before, ours, theirs].every((text) => text.includes('"originalData"'))) {
        return null;
    }
    const [base, mine, other] = [before, ours, theirs].map((text) => JSON.parse(text));
    const forms = [base, mine, other].map((book) => book.originalData);
    if (!forms.every((form) => Array.isArray(form?.entries)) || new Set(forms.map((form) => JSON.stringify(form))).size < 3) {
        return null;
    }
    return {
        theirs: JSON.stringify({ ...other, originalData: mine.originalData }),
        putBack: (merged) => {
            const book = JSON.parse(merged);
            const entries = reconciled(book, mine, other);
            return JSON.stringify({ ...book, originalData: { ...mine.originalData, entries } });
        },
    };
}

/** The card's version of each entry, taken from the side that the entry came from. */
function reconciled(book, mine, other) {
    const mineById = byId(mine);
    const otherById = byId(other);
    const isGone = (uid) => !book.entries?.[uid] && (mine.entries?.[uid] || other.entries?.[uid]);
    const ids = [...new Set([...mineById.keys(), ...otherById.keys()])].filter((uid) => !isGone(uid));
    // If only their side has it and it has no entry, it was removed here or never belonged to an entry.
    return ids.filter((uid) => mineById.has(uid) || book.entries?.[uid]).map((uid) => {
        const entry = book.entries?.[uid];
        const isTheirs = otherById.has(uid) && isSame(entry, other.entries?.[uid]) && !isSame(entry, mine.entries?.[uid]);
        const form = isTheirs ? otherById.get(uid) : mineById.get(uid) ?? otherById.get(uid);
        return entry && !isTheirs && !isSame(entry, mine.entries?.[uid]) ? { ...form, ...fieldsOf(entry) } : form;
    });
}

function byId({ originalData }) {
    return new Map(originalData.entries.map((entry, index) => [String(entry?.uid ?? entry?.id ?? index), entry]));
}

function fieldsOf(entry) {
    return Object.fromEntries(Object.entries(FIELDS).filter(([name]) => name in entry).map(([name, as]) => [as, entry[name]]));
}

function isSame(one, other) {
    return JSON.stringify(one) === JSON.stringify(other);
}
