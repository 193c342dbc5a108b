/** A word as an error, so that it is said in the user's language. */
export function wordError(code, values = {}) {
    return Object.assign(new Error(code), { word: { code, values } });
}
