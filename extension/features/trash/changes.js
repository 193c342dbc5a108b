// What a repair, a split or a merge has changed in a chat, so that it can be changed back.

import { integrityOf } from '../../sillytavern/metadata.js';
/** @import { KeptChange, KeptExtras, LoadedChat } from '../../types.js' */
/** @typedef {{metadata: ST.Metadata, messages: {message: ST.Message, extras: KeptExtras}[]}} Snapshot */

/** @param {unknown} one @param {unknown} other */
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** @param {LoadedChat} chat @returns {Snapshot} */
export function snapshotOf({ metadata, messages }) {
    return { metadata: structuredClone(metadata), messages: messages.map((message) => ({ message, extras: structuredClone(extrasOf(message)) })) };
}

/** What has changed since; `null` if nothing has. @param {LoadedChat} chat @param {Snapshot} before @returns {KeptChange | null} */
export function changeSince(chat, before) {
    const after = snapshotOf(chat);
    // Messages may have been deleted meanwhile.
    const former = new Map(before.messages.map(({ message, extras }) => [message, extras]));
    const changed = new Set([...Object.keys(before.metadata), ...Object.keys(after.metadata)].filter((key) => !isSame(before.metadata[key], after.metadata[key])));
    const messages = after.messages.flatMap(({ message, extras }, at) => {
        const old = former.get(message);
        return !old || isSame(extras, old) ? [] : [{ at, before: old, after: extras }];
    });
    if (!changed.size && !messages.length) {
        return null;
    }
    const those = (/** @type {ST.Metadata} */ metadata) => Object.fromEntries(Object.entries(metadata).filter(([key]) => changed.has(key)));
    const { group, avatar, name } = chat;
    return {
        group, avatar, name,
        integrity: integrityOf(chat.metadata),
        keys: Object.keys(before.metadata),
        before: those(before.metadata),
        after: those(after.metadata),
        messages,
    };
}

/**
 * Changes a chat back, except for what was changed again since.
 * @param {LoadedChat} chat @param {KeptChange} change @returns {{isChanged: boolean, isWhole: boolean}}
 */
export function changeBack({ metadata, messages }, change) {
    const changed = [...new Set([...Object.keys(change.before), ...Object.keys(change.after)])];
    const back = changed.filter((key) => isSame(metadata[key], change.after[key]));
    for (const key of back) {
        delete metadata[key];
        if (key in change.before) {
            metadata[key] = change.before[key];
        }
    }
    inOrder(metadata, change.keys);
    let count = 0;
    for (const { at, before, after } of change.messages) {
        const message = messages[at];
        if (message && isSame(extrasOf(message), after)) {
            setExtras(message, before);
            count += 1;
        }
    }
    return { isChanged: back.length + count > 0, isWhole: back.length === changed.length && count === change.messages.length };
}

/** What other extensions keep in a message and in its swipes. @param {ST.Message} message @returns {KeptExtras} */
function extrasOf(message) {
    return { extra: message?.extra ?? null, swipes: message?.swipe_info?.map((swipe) => swipe?.extra ?? null) ?? [] };
}

function setExtras(/** @type {ST.Message} */ message, /** @type {KeptExtras} */ { extra, swipes }) {
    if (extra) {
        message.extra = extra;
    }
    for (const [at, swiped] of swipes.entries()) {
        const swipe = message.swipe_info?.[at];
        if (swipe && swiped) {
            swipe.extra = swiped;
        }
    }
}

/** Puts the members of an object in order, in place, because the page keeps a reference to it. @param {Record<string, unknown>} object @param {string[]} keys */
function inOrder(object, keys) {
    const members = new Map(Object.entries(object));
    const order = [...new Set([...keys.filter((key) => members.has(key)), ...members.keys()])];
    for (const key of order) {
        delete object[key];
        object[key] = members.get(key);
    }
}
