// Messages as they are shown: who speaks, what is said, and which timelines were forked there.

/** @import { ListedMessage, ShownTimeline, Spoken } from '../types.js' */
/** @typedef {{name: string, messages: ST.Message[]}} Chat */
/** @typedef {Pick<ShownTimeline, 'id' | 'name' | 'parent' | 'kind' | 'message'>} Forked */

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
 * @param {Chat} chat @param {Pick<Forked, 'name' | 'parent' | 'message'>} timeline
 */
export function forkMessage({ name, messages }, timeline) {
    const { message, parent } = timeline;
    const isHere = message !== null && (timeline.name === name || (parent === name && (linkedForks(messages).get(timeline.name) ?? message) === message));
    return isHere ? spokenIn(messages[message]) : null;
}

/**
 * The timelines that fork off at each message of a chat: its own forks, and those of its ancestors in the part that it has from them.
 * @param {Chat} chat @param {Forked[]} timelines
 * @param {Map<string, ST.Message>} [found] the messages that were found for them before, which may have another number now
 * @returns {Map<number, string[]>} names by message
 */
export function forksOf({ name, messages }, timelines, found = new Map()) {
    const linked = linkedForks(messages);
    const numbers = new Map(messages.map((message, number) => [message, number]));
    /** @type {Map<number, string[]>} */
    const forks = new Map();
    const seen = /** @type {Set<Forked>} */ (new Set());
    let last = messages.length - 1;
    for (let from = timelines.find((timeline) => timeline.name === name); from && !seen.has(from); from = parentOf(from, timelines)) {
        seen.add(from);
        const { id } = from;
        for (const fork of timelines.filter((timeline) => timeline.parent === id && !seen.has(timeline) && timeline.kind !== 'gone')) {
            const before = found.get(fork.name);
            const place = linked.get(fork.name) ?? (before && numbers.get(before)) ?? fork.message ?? Infinity;
            const message = messages[place];
            if (message && place <= last) {
                forks.set(place, [...(forks.get(place) ?? []), fork.name]);
                found.set(fork.name, message);
            }
        }
        last = Math.min(last, from.message ?? -1);
    }
    forks.forEach((names) => names.sort((one, other) => one.localeCompare(other, undefined, { numeric: true })));
    return forks;
}

/** @param {Forked} timeline @param {Forked[]} timelines */
function parentOf({ parent }, timelines) {
    return timelines.find(({ id }) => id === parent);
}

/**
 * The messages at which the lorebook changed, according to the journal.
 * @param {ST.Message[]} messages @returns {Set<number>}
 */
export function loreChanges(messages) {
    /** @type {Set<number>} */
    const found = new Set();
    let before = /** @type {string | null} */ (null);
    messages.forEach((message, place) => {
        const { id, delta } = message?.forklore ?? {};
        // The digest of the book comes first. Before format 2, there was one digest for everything.
        const [book = '', rest] = typeof id === 'string' ? id.split('.') : [];
        if (rest === undefined) {
            return;
        }
        const isOnlyRenamed = delta instanceof Object && !delta.entries && !delta.fields;
        if (before !== null && before !== book && !isOnlyRenamed) {
            found.add(place);
        }
        before = book;
    });
    return found;
}

/** The messages of a chat, to choose from. @param {Chat} chat @param {Forked[]} timelines @returns {ListedMessage[]} */
export function listedMessages(chat, timelines) {
    const forks = forksOf(chat, timelines);
    const changed = loreChanges(chat.messages);
    return chat.messages.map((message, place) => ({
        ...(spokenIn(message) ?? { name: '', text: '' }), forks: forks.get(place)?.length ?? 0, hasNewLore: changed.has(place),
    }));
}
