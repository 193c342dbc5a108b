// Reading a chat that is not open here in order to change it.

import { wordError } from '../core/word_error.js';
/** @import { Host, Owner } from '../types.js' */

/** In milliseconds: a chat that was written later than this ago may be open in another tab or on another device. */
const MAY_BE_OPEN = 120_000;

/**
 * The lines of a chat that may be changed. Refuses one that may be open elsewhere, one with lines that SillyTavern leaves out
 * and would lose, and one that is gone. SillyTavern itself refuses the save if another chat has taken its place since.
 * @param {Pick<Host, 'chatHeadsOf' | 'readChat'>} host @param {Owner} owner @param {string} name
 * @returns {Promise<{header: ST.Line, metadata: ST.Metadata, messages: ST.Line[]}>}
 */
export async function readToChange(host, owner, name, now = Date.now()) {
    const [head] = await host.chatHeadsOf(owner, [name]);
    const [header, ...messages] = await host.readChat(owner, name);
    const metadata = header?.chat_metadata;
    if (!head || !header || !metadata) {
        throw wordError('chat-changed', { chat: name });
    }
    if (head.messages !== messages.length) {
        throw wordError('chat-unreadable', { chat: name });
    }
    if (head.date !== null && now - head.date < MAY_BE_OPEN) {
        throw wordError('chat-recent', { chat: name });
    }
    return { header, metadata, messages };
}
