// The text of a chat's file.

/** The field of a message that holds its record, and the key of the seal. */
const RECORD = 'forklore';

/** The lines that SillyTavern can read, and how many it cannot: it leaves those out. @param {string} text @returns {{lines: ST.Line[], unreadable: number}} */
export function linesIn(text) {
    const all = text.split('\n').filter((line) => line.trim()).map(parsed);
    const lines = all.flatMap((line) => line ?? []);
    return { lines, unreadable: all.length - lines.length };
}

/**
 * Whether everything in a chat's file is in the page, too, so that a save of the page loses nothing. Records of the journal do not
 * count, and the page may have more: SillyTavern completes older messages.
 * @param {ST.Line[]} file @param {ST.Metadata} metadata @param {ST.Message[]} messages of the page
 */
export function isAllInPage([header, ...written], metadata, messages) {
    return written.length === messages.length
        && hasAll(metadata, header?.chat_metadata ?? {})
        && written.every((line, at) => hasAll(messages[at], line));
}

/** @param {object | undefined} holder @param {object} members */
function hasAll(holder, members) {
    const text = (/** @type {object} */ object, /** @type {string} */ key) => (Object.hasOwn(object, key) ? JSON.stringify(Reflect.get(object, key)) : undefined);
    return Object.keys(members).every((key) => key === RECORD || text(holder ?? {}, key) === text(members, key));
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
