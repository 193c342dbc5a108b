// ST-Auto-Recap's scenes: names for checkpoints at scene breaks, and automatic checkpoints.

import { nameFrom } from '../settings.js';

/** A break that was hidden again does not count. */
const isSceneBreak = (memory) => Boolean(memory?.scene_break) && memory.scene_break_visible !== false;

export class SceneCheckpoints {
    /**
     * @param {object} parts
     * @param {object} parts.host @param {object} parts.core @param {object} parts.settings
     * @param {() => Promise<boolean>} parts.untilReady waits for the queue; resolves to whether it is empty
     * @param {(wanted: {message: number, name: string}) => Promise<unknown>} parts.checkpoint creates a checkpoint without asking
     * @param {(step: () => Promise<void>) => Promise<void>} parts.reportErrors
     */
    constructor({ host, core, settings, untilReady, checkpoint, reportErrors }) {
        Object.assign(this, { host, core, settings, untilReady, checkpoint, reportErrors });
        this.seen = new Set();
        this.isMaking = false;
    }

    /** Another chat is open. Scene breaks that it already has get no automatic checkpoint. */
    chatOpened() {
        this.seen = new Set(this.sceneBreaks());
    }

    /** Indexes of the messages that end a scene. */
    sceneBreaks() {
        const messages = this.host.openChat()?.messages ?? [];
        return messages.flatMap((message, index) => (isSceneBreak(message?.extra?.auto_recap_memory) ? [index] : []));
    }

    /** A name for a checkpoint from the user's template, or an empty string if the message ends no scene. */
    async nameAt(open, message) {
        const number = this.sceneBreaks().indexOf(message) + 1;
        if (number === 0) {
            return '';
        }
        const sceneName = open.messages[message].extra.auto_recap_memory.scene_break_name || `Message ${message}`;
        const wanted = nameFrom(this.settings.nameTemplate, { scene_number: number, scene_name: sceneName, chat: open.name, message });
        const taken = await this.host.chatNames(open);
        return wanted ? this.core.nameForChat({ wanted, taken, parent: open.name, kind: 'checkpoint' }) : '';
    }

    /** Creates a checkpoint at a new scene break once its recap is there. */
    makeIfDue() {
        const open = this.host.openChat();
        if (!this.settings.checkpointAtScenes || !open || this.isMaking) {
            return;
        }
        const found = this.sceneBreaks().find((index) => {
            const { extra } = open.messages[index];
            return !this.seen.has(index) && extra.auto_recap_memory.scene_recap_memory && !extra.bookmark_link;
        });
        if (found === undefined) {
            return;
        }
        this.seen.add(found);
        this.isMaking = true;
        this.reportErrors(async () => {
            if (await this.untilReady()) {
                const name = this.settings.autoName ? await this.nameAt(this.host.openChat(), found) : '';
                await this.checkpoint({ message: found, name });
            }
        }).finally(() => { this.isMaking = false; });
    }
}
