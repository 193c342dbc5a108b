/**
 * An error that can be shown in the user's language.
 * @param {string} code @param {Record<string, unknown>} [values] @returns {import('../types.js').WordError}
 */
export function wordError(code, values = {}) {
    return Object.assign(new Error(code), { word: { code, values } });
}
