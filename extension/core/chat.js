// A SillyTavern chat as the core reads it: the header and the messages, without the parts that the core ignores.

/** Only what the core reads: the journal, and the data of a memory extension. */
export function slimMessage(message) {
    const memoryOf = (holder) => {
        const memory = holder?.extra?.auto_recap_memory;
        return memory === undefined ? {} : { extra: { auto_recap_memory: memory } };
    };
    const swipes = Array.isArray(message?.swipe_info) ? message.swipe_info.map(memoryOf) : [];
    return {
        ...(message?.forklore === undefined ? {} : { forklore: message.forklore }),
        ...memoryOf(message),
        ...(swipes.some((swipe) => swipe.extra) ? { swipe_info: swipes } : {}),
        mes: '',
    };
}

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
