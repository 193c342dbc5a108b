// A chat of SillyTavern's as the core reads it: the header and the messages, without what the core does not look at.

/** Only what the core looks at: the journal, and what a memory extension keeps. */
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

/** A chat in the page as the core wants to see it. */
export function chatForCore(open) {
    return [{ chat_metadata: open.metadata }, ...open.messages.map(slimMessage)];
}

/** A chat as the core wants to see it, with what tells where two chats part. */
export function comparableMessages({ metadata, messages }) {
    const comparable = messages.map((message) => ({ ...slimMessage(message), name: message.name, send_date: message.send_date, mes: message.mes }));
    return [{ chat_metadata: metadata }, ...comparable];
}
