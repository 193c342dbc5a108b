/** Searching as people type: every word must be there, in any order. */

export function holdsWords(text, typed) {
    const searched = text.toLowerCase();
    return typed.toLowerCase().split(/\s+/).every(word => searched.includes(word));
}
