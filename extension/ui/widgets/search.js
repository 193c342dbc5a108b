/** Search as in other programs: all words must be found, in any order. @param {string} text @param {string} typed */
export function holdsWords(text, typed) {
    const searched = text.toLowerCase();
    return wordsOf(typed.toLowerCase()).every((word) => searched.includes(word));
}

/** @param {string} typed */
const wordsOf = (typed) => typed.split(/\s+/).filter(Boolean);

/** Finds any of the words, the longest if several begin at the same place. @param {string[]} words */
function anyOf(words) {
    const escaped = byLength(words).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
    return new RegExp(escaped.join('|') || '$^', 'giu');
}

const byLength = (/** @type {string[]} */ words) => words.toSorted((one, other) => other.length - one.length);

/** A text in pieces, those that were searched for marked. @param {string} text @param {string} typed @returns {{text: string, isFound: boolean}[]} */
export function foundPieces(text, typed) {
    const pieces = [];
    let end = 0;
    for (const { index, 0: found } of text.matchAll(anyOf(wordsOf(typed)))) {
        pieces.push({ text: text.slice(end, index), isFound: false }, { text: found, isFound: true });
        end = index + found.length;
    }
    pieces.push({ text: text.slice(end), isFound: false });
    return pieces.filter((piece) => piece.text);
}

/** Where the longest of the words is, which says most; -1 if it is not there. @param {string} text @param {string} typed */
export function placeOfWords(text, typed) {
    return text.search(anyOf(byLength(wordsOf(typed)).slice(0, 1)));
}
