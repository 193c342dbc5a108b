// Differences of SillyTavern 1.16 to 1.18. The rest of Forklore is written for 1.19.

import { eventSource, event_types, getCurrentChatId } from '/script.js';

/** Starts once SillyTavern is ready: 1.16 does not support the manifest's hooks, through which later versions start us. @param {() => void} start */
export function startWithoutHooks(start) {
    eventSource.once(event_types.APP_READY, start);
}

/** The chat whose prompts were saved last: SillyTavern does that just before it saves a checkpoint. @type {string | null} */
let announced = null;

/** Since 1.18, an event tells which chat is about to become a checkpoint. */
export function watchCheckpoints() {
    if (!event_types.ITEMIZED_PROMPTS_SAVED) {
        return;
    }
    eventSource.on(event_types.ITEMIZED_PROMPTS_SAVED, (saved) => {
        const { chatId } = /** @type {{chatId?: string} | undefined} */ (saved) ?? {};
        // The open chat's prompts can be saved at any time.
        if (chatId !== getCurrentChatId()) {
            announced = chatId ?? null;
        }
    });
}

/** The kind of fork that is saved under this name. @param {string} name @returns {'checkpoint' | 'branch'} */
export function kindOfFork(name) {
    const isBranch = event_types.ITEMIZED_PROMPTS_SAVED ? announced !== name : / - Branch #\d+$/.test(name);
    return isBranch ? 'branch' : 'checkpoint';
}
