// Messages as they are shown: who speaks, what is said, and which timelines were forked there.

/** @import { Spoken } from '../types.js' */

/** Files may hold anything. @param {ST.Message | null | undefined} message @returns {Spoken | null} */
export function spokenIn(message) {
    const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : '');
    return message ? { name: text(message.name), text: text(message.mes) } : null;
}

/**
 * Where SillyTavern itself has noted forks: in the message, which is found even if others before it were deleted since.
 * @param {ST.Message[]} messages @returns {Map<string, number>} messages by the names of the forks
 */
export function linkedForks(messages) {
    /** @type {Map<string, number>} */
    const found = new Map();
    messages.forEach((message, place) => {
        const { branches, bookmark_link: checkpoint } = message?.extra ?? {};
        const names = [...(Array.isArray(branches) ? branches : []), checkpoint];
        names.forEach((name) => typeof name === 'string' && name && found.set(name, place));
    });
    return found;
}

/**
 * The message that a timeline was forked at, if it is in this chat and still where it was.
 * @param {{name: string, messages: ST.Message[]}} chat
 * @param {{name: string, parent: string | null, message: number | null}} timeline
 */
export function forkMessage({ name, messages }, timeline) {
    const { message, parent } = timeline;
    const isHere = message !== null && (timeline.name === name || (parent === name && (linkedForks(messages).get(timeline.name) ?? message) === message));
    return isHere ? spokenIn(messages[message]) : null;
}
