// Differences of SillyTavern 1.16 to 1.18. The rest of Forklore is written for 1.19.

import { eventSource, event_types, getCurrentChatId } from '/script.js';

/** Starts once SillyTavern is ready: 1.16 does not support the manifest's hooks, through which later versions start us. */
export function startWithoutHooks(start) {
    eventSource.once(event_types.APP_READY, start);
}

/** The chat whose prompts were saved last: SillyTavern does that just before it saves a checkpoint. */
let announced = null;

/** Since 1.18, an event tells which chat is about to become a checkpoint. */
export function watchCheckpoints() {
    if (!event_types.ITEMIZED_PROMPTS_SAVED) {
        return;
    }
    eventSource.on(event_types.ITEMIZED_PROMPTS_SAVED, ({ chatId } = {}) => {
        // The open chat's prompts can be saved at any time.
        if (chatId !== getCurrentChatId()) {
            announced = chatId ?? null;
        }
    });
}

/** The kind of fork that is saved under this name. @returns {'checkpoint' | 'branch'} */
export function kindOfFork(name) {
    const isBranch = event_types.ITEMIZED_PROMPTS_SAVED ? announced !== name : / - Branch #\d+$/.test(name);
    return isBranch ? 'branch' : 'checkpoint';
}
