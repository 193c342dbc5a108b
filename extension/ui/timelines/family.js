/** Who descends from whom, and what the map leaves out. */
/** @import { ShownTimeline } from '../types.js' */
/** @typedef {Pick<ShownTimeline, 'id' | 'parent'>} Member */

/** The ids of everything that was forked from these, from what was forked from that, and so on. @param {Member[]} timelines @param {Iterable<string>} ids */
export function below(timelines, ids) {
    const given = new Set(ids);
    /** @type {Map<string, string[]>} */
    const children = new Map();
    timelines.forEach(({ id, parent }) => parent !== null && children.set(parent, [...(children.get(parent) ?? []), id]));
    const found = /** @type {Set<string>} */ (new Set());
    const left = [...given];
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
        for (const child of children.get(at) ?? []) {
            if (!given.has(child) && !found.has(child)) {
                found.add(child);
                left.push(child);
            }
        }
    }
    return found;
}

/**
 * The timelines that are not archived, with everything that they descend from: nothing may seem to be forked from
 * what it was not. If all are archived, all are shown.
 * @param {ShownTimeline[]} timelines of one family
 */
export function withoutArchived(timelines) {
    const byId = new Map(timelines.map((timeline) => [timeline.id, timeline]));
    const kept = /** @type {Set<string>} */ (new Set());
    for (const timeline of timelines.filter(({ kind, isOpen, label }) => kind !== 'gone' && (isOpen || !label.archived))) {
        for (let at = /** @type {ShownTimeline | undefined} */ (timeline); at && !kept.has(at.id); at = byId.get(at.parent ?? '')) {
            kept.add(at.id);
        }
    }
    return kept.size ? timelines.filter(({ id }) => kept.has(id)) : timelines;
}
