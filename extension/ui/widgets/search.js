/** Search as in other programs: all words must be found, in any order. */

export function holdsWords(text, typed) {
    const searched = text.toLowerCase();
    return typed.toLowerCase().split(/\s+/).every((word) => searched.includes(word));
}
