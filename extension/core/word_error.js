/** An error with a code and values, so that it can be shown in the user's language. */
export function wordError(code, values = {}) {
    return Object.assign(new Error(code), { word: { code, values } });
}
