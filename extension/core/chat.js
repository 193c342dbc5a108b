// A SillyTavern chat as the core reads it: the header and the messages, without the parts that the core ignores.

import { core } from './core.js';

/**
 * @import { OpenChat } from '../types.js'
 * @import { Shape, Shapes } from './fork_calls.js'
 */

/** @type {Shapes | undefined} */
let known;
const shapes = () => (known ??= core.shapes());

/** The parts of a value that a shape names, or `undefined` if it has none of them. @param {unknown} value @param {Shape} shape @returns {unknown} */
function partOf(value, shape) {
    if (shape === true) {
        return value;
    }
    if (Array.isArray(shape)) {
        const parts = Array.isArray(value) ? value.map((item) => partOf(item, shape[0])) : [];
        return parts.some((part) => part !== undefined) ? parts.map((part) => part ?? {}) : undefined;
    }
    const members = /** @type {Record<string, unknown> | null | undefined} */ (value);
    const parts = Object.entries(shape).map(([key, inner]) => [key, partOf(members?.[key], inner)]).filter(([, part]) => part !== undefined);
    return parts.length ? Object.fromEntries(parts) : undefined;
}

/** Only what the core reads: the journal, and the data of a memory extension. @param {ST.Message | null} message @returns {ST.Message} */
export function slimMessage(message) {
    const part = /** @type {ST.Message | undefined} */ (partOf(message, shapes().message));
    return { ...part, mes: '' };
}

/** Only what the core needs to find scenes. @param {ST.Message} message */
export const sceneMessage = (message) => /** @type {ST.Message | undefined} */ (partOf(message, shapes().scene)) ?? {};

/** The title of the entry in which ST-Auto-Recap keeps its queue. */
export const queueTitle = () => shapes().queueTitle;

/** @typedef {Pick<OpenChat, 'metadata' | 'messages'>} Content */

/** The chat that is open in the page. @param {Content} open @returns {ST.Line[]} */
export function chatForCore(open) {
    return [{ chat_metadata: open.metadata }, ...open.messages.map(slimMessage)];
}

/** A chat with everything it takes to compare messages, so that the core can find where two chats diverge. @param {Content} chat @returns {ST.Line[]} */
export function comparableMessages({ metadata, messages }) {
    const comparable = messages.map((message) => ({ ...slimMessage(message), name: message.name, send_date: message.send_date, mes: message.mes }));
    return [{ chat_metadata: metadata }, ...comparable];
}

/** A chat with everything in it that can name other chats. @param {Content} chat @returns {ST.Line[]} */
export function namingChat({ metadata, messages }) {
    const links = messages.map((message) => {
        const link = message?.extra?.bookmark_link;
        return link ? { mes: '', extra: { bookmark_link: link } } : { mes: '' };
    });
    return [{ chat_metadata: metadata }, ...links];
}
