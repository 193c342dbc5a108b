// The text of a chat's file.

/** The lines that SillyTavern can read, and how many it cannot: it leaves those out. @param {string} text @returns {{lines: ST.Line[], unreadable: number}} */
export function linesIn(text) {
    const all = text.split('\n').filter((line) => line.trim()).map(parsed);
    const lines = all.flatMap((line) => line ?? []);
    return { lines, unreadable: all.length - lines.length };
}

/** @param {string} line @returns {ST.Line | null} */
function parsed(line) {
    try {
        const value = /** @type {unknown} */ (JSON.parse(line));
        return value instanceof Object ? /** @type {ST.Line} */ (value) : null;
    } catch {
        return null;
    }
}
