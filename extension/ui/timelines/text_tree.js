/** A family as lines of text, for pipes. */
import { say } from '../words.js';
import { sayKind } from './card.js';
/** @import { ShownTimeline } from '../types.js' */

/** @param {ShownTimeline[]} timelines of one family */
export function textTree(timelines) {
    const ids = new Set(timelines.map(({ id }) => id));
    const lines = /** @type {string[]} */ ([]);
    const write = (/** @type {ShownTimeline} */ timeline, /** @type {number} */ depth) => {
        const problems = timeline.findings.filter(({ problem }) => problem).length;
        const about = [
            sayKind(timeline),
            timeline.book ? say('list.quote', { text: timeline.book }) : '',
            problems ? say('timelines.problems', { count: problems }) : '',
            timeline.isOpen ? say('timelines.here') : '',
        ].filter(Boolean).join(say('list.separator'));
        lines.push(`${'  '.repeat(depth)}${oneLine(timeline.name)} (${oneLine(about)})`);
        timelines.filter(({ parent }) => parent === timeline.id)
            .sort((one, other) => (one.message ?? Infinity) - (other.message ?? Infinity) || one.name.localeCompare(other.name, undefined, { numeric: true }))
            .forEach((child) => write(child, depth + 1));
    };
    timelines.filter(({ parent }) => parent === null || !ids.has(parent)).forEach((root) => write(root, 0));
    return lines.join('\n');
}

/** A name may contain anything, but each timeline is one line. @param {string} text */
function oneLine(text) {
    return text.replace(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ');
}
