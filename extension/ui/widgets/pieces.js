/** The pieces of a text diff, in a form that is easy to read. */

/** @import { Piece } from '../types.js' */

const isBlank = (/** @type {string} */ text) => text.trim() === '';

/**
 * Joins changed words with only blanks between them, so that a changed sentence is one mark and not ten.
 * @param {Piece[]} pieces
 */
export function smoothed(pieces) {
    const result = /** @type {Piece[]} */ ([]);
    /** Changed text by kind, in order of appearance. @type {Map<Piece['is'], string>} */
    let run = new Map();
    const end = () => {
        result.push(...[...run].map(([is, text]) => ({ is, text })).filter(({ text }) => text !== ''));
        run = new Map();
    };
    pieces.forEach(({ is, text }, at) => {
        if (is !== 'same') {
            run.set(is, (run.get(is) ?? '') + text);
        } else if (run.size && isBlank(text) && !text.includes('\n') && goesOn(run, pieces.slice(at + 1, at + 4))) {
            run.forEach((before, kind) => run.set(kind, before + text));
        } else {
            end();
            result.push({ is, text });
        }
    });
    end();
    return result;
}

/** Whether the same kinds of change continue: otherwise a word that only one side has would take a blank from the other. @param {Map<string, string>} run @param {Piece[]} next */
function goesOn(run, next) {
    const end = next.findIndex(({ is }) => is === 'same');
    const kinds = new Set(next.slice(0, end < 0 ? next.length : end).map(({ is }) => is));
    return kinds.size === run.size && [...kinds].every((kind) => run.has(kind));
}
