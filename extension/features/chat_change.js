// Changing a chat, open or closed. What was read earlier may be out of date by then: the user, other extensions and other
// devices write, too. So a change consists of edits to single keys, and is made in what the chat contains at that moment.

import { wordError } from '../core/word_error.js';
import { linesIn } from '../sillytavern/chat_file.js';
import { boundBook, integrityOf } from '../sillytavern/metadata.js';
/** @import { ChatEdits, ChatId, Edit, Host, LoadedChat } from '../types.js' */
/** @typedef {Record<string, unknown>} Members */
/** @typedef {Pick<Host, 'chatTextIfAny' | 'dateOf' | 'openChat' | 'saveOpenChat' | 'showWhetherBound' | 'writeChat'>} ChangeHost */

/** In milliseconds: a chat whose last message is newer than this may be open in another tab or on another device. */
const MAY_BE_OPEN = 120_000;

/**
 * Changes a chat as it is now: the open one in the page, another one in its file, which is read directly before it is
 * written. A message that another device saves between those two requests cannot be kept.
 * @param {ChangeHost} host @param {ChatId} id
 * @param {(chat: LoadedChat) => boolean} change makes the change at once; returns whether there is anything to save
 * @param {{notSince?: number}} [options] refuses a closed chat that may be open elsewhere at this time: a page that has it open
 *     would undo the change with its next save
 * @returns {Promise<boolean>} whether anything was saved
 */
export async function changeChat(host, id, change, { notSince } = {}) {
    if (openAs(host, id)) {
        return changeOpen(host, id, change);
    }
    const { chat, isWhole } = await readClosed(host, id);
    if (openAs(host, id)) {
        return changeOpen(host, id, change);
    }
    if (!change(chat)) {
        return false;
    }
    if (!isWhole) {
        throw wordError('chat-unreadable', { chat: id.name });
    }
    const last = host.dateOf(chat.messages.at(-1)?.send_date);
    if (notSince !== undefined && last !== null && notSince - last < MAY_BE_OPEN) {
        throw wordError('chat-recent', { chat: id.name });
    }
    await host.writeChat({ group: id.group, avatar: id.avatar }, id.name, linesOf(chat));
    const opened = openAs(host, id);
    if (opened && integrityOf(opened.metadata) === integrityOf(chat.metadata)) {
        // It may have been read before it was written.
        await changeOpen(host, id, change);
    }
    return true;
}

/** @param {ChangeHost} host @param {ChatId} id @param {(chat: LoadedChat) => boolean} change */
async function changeOpen(host, id, change) {
    const open = openAs(host, id);
    if (!open || !change(open)) {
        return false;
    }
    host.showWhetherBound();
    await host.saveOpenChat();
    return true;
}

/** The open chat, if it is this one. @param {Pick<Host, 'openChat'>} host @param {ChatId} id */
function openAs(host, id) {
    const open = host.openChat();
    return open && isSameChat(open, id) ? open : null;
}

/** @param {ChatId} one @param {ChatId} other */
export function isSameChat(one, other) {
    return one.name === other.name && one.group === other.group && one.avatar === other.avatar;
}

/** A chat as its file is now. @param {ChangeHost} host @param {ChatId} id */
async function readClosed(host, id) {
    const { chat, unreadable } = readLines(id, await host.chatTextIfAny({ group: id.group, avatar: id.avatar }, id.name));
    if (!(chat.header?.chat_metadata instanceof Object)) {
        throw wordError(unreadable ? 'chat-unreadable' : 'chat-changed', { chat: id.name });
    }
    return { chat, isWhole: unreadable === 0 };
}

/**
 * A chat from the text of its file. SillyTavern leaves out lines that it cannot read.
 * @param {ChatId} id @param {string} text @returns {{chat: LoadedChat, unreadable: number}} and how many these are
 */
export function readLines({ group, avatar, name }, text) {
    const { lines: [header, ...messages], unreadable } = linesIn(text);
    const metadata = header?.chat_metadata ?? {};
    return { chat: { group, avatar, name, ...(header && { header }), messages, metadata, book: boundBook(metadata) }, unreadable };
}

/** The lines of a chat's file. @param {LoadedChat} chat @returns {ST.Line[]} */
export function linesOf({ header, metadata, messages }) {
    return [...(header ? [header.chat_metadata ? { ...header, chat_metadata: metadata } : header] : []), ...messages];
}

// Edits

/**
 * What a plan changes in a chat.
 * @param {Pick<LoadedChat, 'metadata' | 'messages'>} chat as it was planned for
 * @param {{metadata?: ST.Metadata | null, messages?: Record<string, ST.Message>}} planned of the messages, only what is new in `extra`, by number
 * @returns {ChatEdits}
 */
export function editsOf(chat, { metadata, messages = {} }) {
    const changed = Object.entries(messages).flatMap(([at, wanted]) => {
        const message = chat.messages[Number(at)];
        const edits = message ? [...extraEdits(message, wanted, []), ...(wanted.swipe_info ?? []).flatMap((swipe, index) =>
            extraEdits(message.swipe_info?.[index], swipe, ['swipe_info', String(index)]))] : [];
        return message && edits.length ? [{ at: Number(at), message, edits }] : [];
    });
    return { metadata: metadata ? editsBetween(chat.metadata, metadata) : [], messages: changed };
}

/** @param {Pick<ST.Message, 'extra'> | null | undefined} holder @param {Pick<ST.Message, 'extra'> | null} wanted @param {string[]} path @returns {Edit[]} */
function extraEdits(holder, wanted, path) {
    return holder?.extra && wanted?.extra ? editsBetween(holder.extra, { ...holder.extra, ...wanted.extra }, [...path, 'extra']) : [];
}

/** The members that differ between two objects, at any depth. @param {unknown} before @param {unknown} after @param {string[]} [path] @returns {Edit[]} */
function editsBetween(before, after, path = []) {
    if (isObject(before) && isObject(after)) {
        const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
        return [...keys].flatMap((key) => editsBetween(member(before, key), member(after, key), [...path, key]));
    }
    const text = JSON.stringify(before);
    return text === JSON.stringify(after) ? [] : [{ path, before: text, after }];
}

/**
 * Makes the edits in a chat as it is now. What has the wanted value already stays as it is, and a message that is gone is
 * passed over.
 * @param {LoadedChat} chat @param {ChatEdits} edits @returns {boolean} whether anything changed
 */
export function makeEdits(chat, { metadata, messages }) {
    /** @type {Array<{holder: object, edits: Edit[]}>} */
    const all = [{ holder: chat.metadata, edits: metadata }];
    for (const { at, message, edits } of messages) {
        const holder = chat.messages.includes(message) ? message : [chat.messages[at], ...chat.messages].find((other) => isSameMessage(other, message));
        if (holder) {
            all.push({ holder, edits });
        }
    }
    const found = all.flatMap(({ holder, edits }) => edits.map((edit) => placeOf(holder, edit))).filter((place) => !place.isDone);
    if (found.some(({ isTaken }) => isTaken)) {
        throw wordError('chat-changed', { chat: chat.name });
    }
    found.forEach(({ make }) => make());
    return found.length > 0;
}

/**
 * Where an edit goes. `isTaken`: there is neither what was planned for nor what is wanted, because something else has changed it.
 * @param {object} holder @param {Edit} edit
 */
function placeOf(holder, { path, before, after }) {
    const key = String(path.at(-1));
    const inner = path.slice(0, -1).reduce((/** @type {unknown} */ value, step) => member(value, step), holder);
    const now = JSON.stringify(member(inner, key));
    const isDone = now === JSON.stringify(after);
    const make = () => {
        if (inner instanceof Object && after === undefined) {
            Reflect.deleteProperty(inner, key);
        } else if (inner instanceof Object) {
            Object.defineProperty(inner, key, { value: structuredClone(after), configurable: true, enumerable: true, writable: true });
        }
    };
    return { isDone, isTaken: !(inner instanceof Object) || now !== before, make };
}

/** @param {unknown} value @returns {value is Members} */
function isObject(value) {
    return value instanceof Object && !Array.isArray(value);
}

/** @param {unknown} value @param {string} key @returns {unknown} */
function member(value, key) {
    return value instanceof Object && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** Whether two copies are of one message. @param {ST.Line | undefined} one @param {ST.Line} other */
export function isSameMessage(one, other) {
    return one?.send_date === other.send_date && one?.name === other.name && one?.mes === other.mes;
}
