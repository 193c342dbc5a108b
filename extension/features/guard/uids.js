// SillyTavern gives a new entry the lowest free number, so two pages give the same one to two entries.

/**
 * Entries that two pages added under the same key, each with a free one for ours.
 * @param {string} before @param {string} ours @param {string} theirs @param {(title: string) => boolean} isInternal
 * @returns {Record<string, string>}
 */
export function uidCollisions(before, ours, theirs, isInternal) {
    const [known, mine, other] = [before, ours, theirs].map((text) => JSON.parse(text).entries ?? {});
    const isTaken = (key) => !Object.hasOwn(known, key) && Object.hasOwn(other, key)
        && JSON.stringify(mine[key]) !== JSON.stringify(other[key])
        // What ST-Auto-Recap keeps for itself is known by its title.
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
 * A save of ours, with the entries that it added as they are now. Those that the server had when we saved again are
 * not missing, and an entry that is another one by now must not be taken for a second one of the same number.
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

/** A book with some of its entries under other keys. */
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
