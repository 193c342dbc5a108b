// Timelines that are gone, but whose forks are not: what they were forked from, so that a family stays together.
//
// A fork only names its parent. Once that is gone, nothing in the chats says what it was forked from. This is kept in the
// settings, which all devices share, and in the index of this browser, because a page with older settings overwrites
// the newer ones. A page that still knows the timeline notices by itself that it is gone.

/** @import { TimelineRecord } from '../../core/timeline_calls.js' */
/** @import { Ghost } from '../../types.js' */

/** What to remember of a timeline that is gone; null if it was not forked from anything. @param {TimelineRecord | undefined} record @returns {Ghost | null} */
export function ghostOf(record) {
    const { main_chat: parent, forklore: seal } = record?.metadata ?? {};
    const message = seal?.parent?.message;
    return record && typeof parent === 'string' && parent ? { name: record.name, parent, message: typeof message === 'number' ? message : null } : null;
}

/** Any of the settings' values may be damaged. @param {unknown} ghosts @returns {Ghost[]} */
export function readGhosts(ghosts) {
    return Array.isArray(ghosts) ? ghosts.filter(isGhost) : [];
}

/** @param {unknown} ghost @returns {ghost is Ghost} */
function isGhost(ghost) {
    return ghost instanceof Object && 'name' in ghost && typeof ghost.name === 'string' && 'parent' in ghost && typeof ghost.parent === 'string'
        && 'message' in ghost && (ghost.message === null || typeof ghost.message === 'number');
}

/** As if it were still there, for the core to place it. @param {Ghost} ghost @returns {TimelineRecord} */
export function recordOf({ name, parent }) {
    return { name, messages: 0, metadata: { main_chat: parent }, own: [], preview: '', date: null, seenAt: 0 };
}

/**
 * The ghosts that a timeline which exists was forked from, directly or not.
 * @param {Iterable<Ghost>} ghosts @param {string[]} names of the timelines that exist @param {Map<string, TimelineRecord>} records
 * @param {(name: string) => string} keyOf the same for all spellings of a name
 */
export function neededGhosts(ghosts, names, records, keyOf) {
    const byKey = new Map([...ghosts].map((ghost) => [keyOf(ghost.name), ghost]));
    if (!byKey.size) {
        return [];
    }
    names.forEach((name) => byKey.delete(keyOf(name)));
    const needed = /** @type {Set<Ghost>} */ (new Set());
    const add = (/** @type {unknown} */ parent) => {
        const ghost = typeof parent === 'string' ? byKey.get(keyOf(parent)) : undefined;
        if (ghost && !needed.has(ghost)) {
            needed.add(ghost);
            add(ghost.parent);
        }
    };
    names.forEach((name) => add(records.get(name)?.metadata?.main_chat));
    return [...needed];
}
