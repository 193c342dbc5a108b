/** Names of timelines side by side. SillyTavern's own are long and start alike: `Mara - 2026-11-15@22h48m06s207ms - Branch #5`. */

/** Between the parts of a name. */
const BETWEEN = /\s+[-–—]\s+|:\s+/g;

/** Most characters of a name in a list, on a button and on a card. */
export const IN_A_LINE = 44;
export const IN_A_SMALL_CARD = 16;
const CUT = '…';

/**
 * How to show names that stand side by side: without what most of them start with, and cut in the middle if that is still
 * long. No two are shown alike.
 * @param {string[]} names @returns {(name: string) => string} also for names that are not among them
 */
export function shortNames(names, most = IN_A_LINE) {
    const all = [...new Set(names)];
    const start = sharedStart(all);
    const rest = (/** @type {string} */ name) => (start && name.startsWith(start) && name.length > start.length ? `${CUT} ${name.slice(start.length)}` : name);
    // From short to whole: what two of them would share is not short enough to be understood.
    const ways = [(/** @type {string} */ name) => cutInside(rest(name), most), rest];
    return (name) => ways.map((way) => ({ way, shown: way(name) }))
        .find(({ way, shown }) => all.every((other) => other === name || way(other) !== shown))?.shown ?? name;
}

/** A text with its middle left out, because the start and the end tell more. @param {string} text */
export function cutInside(text, most = IN_A_LINE) {
    const letters = [...text];
    if (letters.length <= most) {
        return text;
    }
    const end = Math.floor((most - 1) / 2);
    return `${letters.slice(0, most - 1 - end).join('').trimEnd()}${CUT}${letters.slice(-end).join('').trimStart()}`;
}

/** What most names start with, up to the end of a part, or have as their whole; the longest that is most common. @param {string[]} names */
function sharedStart(names) {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const name of names) {
        const starts = [...name.matchAll(BETWEEN)].map(({ index, 0: between }) => name.slice(0, index + between.length));
        starts.forEach((start) => counts.set(start, (counts.get(start) ?? 0) + 1));
    }
    let best = { start: '', covered: 1 };
    for (const [start, count] of counts) {
        const covered = count + (names.includes(start.replace(/[\s:–—-]+$/, '')) ? 1 : 0);
        const isBetter = covered > best.covered || (covered === best.covered && start.length > best.start.length);
        if (isBetter && covered > 1 && covered * 2 > names.length) {
            best = { start, covered };
        }
    }
    return best.start;
}
