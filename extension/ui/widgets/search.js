/** Search as in other programs: all words must be found, in any order. @param {string} text @param {string} typed */
export function holdsWords(text, typed) {
    const searched = text.toLowerCase();
    return typed.toLowerCase().split(/\s+/).every((word) => searched.includes(word));
}
