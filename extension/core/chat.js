// A SillyTavern chat as the core reads it: the header and the messages, without the parts that the core ignores.

import { core } from './core.js';

let shapes = null;

/** The shapes of what the core reads: `true` stands for a whole value, `[shape]` for every element of a list. */
function shapeOf(what) {
    shapes ??= core.shapes();
    return shapes[what];
}

/** The parts of a value that a shape names, or `undefined` if it has none of them. */
function partOf(value, shape) {
    if (shape === true) {
        return value;
    }
    if (Array.isArray(shape)) {
        const parts = Array.isArray(value) ? value.map((item) => partOf(item, shape[0])) : [];
        return parts.some((part) => part !== undefined) ? parts.map((part) => part ?? {}) : undefined;
    }
    const parts = Object.entries(shape).map(([key, inner]) => [key, partOf(value?.[key], inner)]).filter(([, part]) => part !== undefined);
    return parts.length ? Object.fromEntries(parts) : undefined;
}

/** Only what the core reads: the journal, and the data of a memory extension. */
export function slimMessage(message) {
    return { ...partOf(message, shapeOf('message')), mes: '' };
}

/** Only what the core needs to find scenes. */
export const sceneMessage = (message) => partOf(message, shapeOf('scene')) ?? {};

/** The title of the entry in which ST-Auto-Recap keeps its queue. */
export const queueTitle = () => shapeOf('queueTitle');

/** The chat that is open in the page. */
export function chatForCore(open) {
    return [{ chat_metadata: open.metadata }, ...open.messages.map(slimMessage)];
}

/** A chat with everything it takes to compare messages, so that the core can find where two chats diverge. */
export function comparableMessages({ metadata, messages }) {
    const comparable = messages.map((message) => ({ ...slimMessage(message), name: message.name, send_date: message.send_date, mes: message.mes }));
    return [{ chat_metadata: metadata }, ...comparable];
}

/** A chat with everything in it that can name other chats. */
export function namingChat({ metadata, messages }) {
    const links = messages.map((message) => {
        const link = message?.extra?.bookmark_link;
        return { mes: '', ...(link && { extra: { bookmark_link: link } }) };
    });
    return [{ chat_metadata: metadata }, ...links];
}
