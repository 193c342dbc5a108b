// Collisions of entry numbers: SillyTavern gives a new entry the lowest free one, so two pages use the same one.

/**
 * Entries that both pages added under the same key, mapped to a free key for ours.
 * @param {string} before @param {string} ours @param {string} theirs @param {(title: string) => boolean} isInternal
 * @returns {Record<string, string>}
 */
export function uidCollisions(before, ours, theirs, isInternal) {
    const [known, mine, other] = [before, ours, theirs].map((text) => JSON.parse(text).entries ?? {});
    const isTaken = (key) => !Object.hasOwn(known, key) && Object.hasOwn(other, key)
        && JSON.stringify(mine[key]) !== JSON.stringify(other[key])
        // ST-Auto-Recap finds its internal entries by their titles.
        && ![mine, other].some((entries) => isInternal(String(entries[key]?.comment ?? '')));
    const collisions = Object.keys(mine).filter(isTaken);
    const taken = new Set([known, mine, other].flatMap(Object.keys));
    const moved = {};
    for (const key of collisions) {
        let free = 0;
        while (taken.has(String(free))) {
            free += 1;
        }
        taken.add(String(free));
        moved[key] = String(free);
    }
    return moved;
}

/**
 * Updates the entries that one of our saves added to their current content. Entries that were on the server at a later
 * save are not missing, and an entry edited since must not look like a second one with the same number.
 */
export function refreshOwnAdditions({ before, written }, later, now) {
    const entriesOf = (text) => JSON.parse(text).entries ?? {};
    const [known, there] = [entriesOf(before), entriesOf(now)];
    const seen = later.map((save) => entriesOf(save.before));
    const book = JSON.parse(written);
    for (const key of Object.keys(book.entries ?? {})) {
        const isSeen = () => seen.some((entries) => Object.hasOwn(entries, key)) || isAlike(there[key], book.entries[key]);
        if (!Object.hasOwn(known, key) && Object.hasOwn(there, key) && isSeen()) {
            book.entries[key] = there[key];
        }
    }
    return JSON.stringify(book);
}

function isAlike(one, other) {
    return ['comment', 'content'].some((field) => one?.[field] && one[field] === other?.[field]);
}

/** A book with some of its entries moved to other keys. */
export function withMoved(text, moved) {
    if (Object.keys(moved).length === 0) {
        return text;
    }
    const book = JSON.parse(text);
    const entries = { ...book.entries };
    for (const [key, to] of Object.entries(moved)) {
        if (Object.hasOwn(book.entries, key)) {
            delete entries[key];
            entries[to] = { ...book.entries[key], uid: Number(to) };
        }
    }
    return JSON.stringify({ ...book, entries });
}
