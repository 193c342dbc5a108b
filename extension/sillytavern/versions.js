// What SillyTavern 1.16 to 1.18 do differently. The rest of Forklore is written as if there were only 1.19.

import { eventSource, event_types, getCurrentChatId } from '/script.js';

/** Starts once SillyTavern is up: 1.16 does not know the hooks of a manifest, by which later versions start us. */
export function startWithoutHooks(start) {
    eventSource.once(event_types.APP_READY, start);
}

/** The chat whose prompts were saved last: SillyTavern does that for checkpoints, before it saves them. */
let announced = null;

/** 1.18 and later say which chat is about to become a checkpoint. */
export function watchCheckpoints() {
    if (!event_types.ITEMIZED_PROMPTS_SAVED) {
        return;
    }
    eventSource.on(event_types.ITEMIZED_PROMPTS_SAVED, ({ chatId } = {}) => {
        // Those of the open chat are saved with it, at any time.
        if (chatId !== getCurrentChatId()) {
            announced = chatId ?? null;
        }
    });
}

/** Which kind of fork is saved under this name. @returns {'checkpoint' | 'branch'} */
export function kindOfFork(name) {
    const isBranch = event_types.ITEMIZED_PROMPTS_SAVED ? announced !== name : / - Branch #\d+$/.test(name);
    return isBranch ? 'branch' : 'checkpoint';
}

/** Whether SillyTavern has given a child its parent's slug, as it did before 1.19: then it says nothing about the child. */
export function isParentsSlug(childs, parents) {
    return Boolean(childs) && childs === parents;
}
