// ST-Auto-Recap's scenes: names for checkpoints at them, and checkpoints that make themselves.

import { nameFrom } from '../settings.js';

/** One that was hidden again is none. */
const isSceneBreak = (memory) => Boolean(memory?.scene_break) && memory.scene_break_visible !== false;

export class SceneCheckpoints {
    /**
     * @param {object} parts
     * @param {object} parts.host @param {object} parts.core @param {object} parts.settings
     * @param {() => Promise<boolean>} parts.untilReady waits for the queue; whether it is empty then
     * @param {(wanted: {message: number, name: string}) => Promise<unknown>} parts.checkpoint makes one, without asking
     * @param {(step: () => Promise<void>) => Promise<void>} parts.reportErrors
     */
    constructor({ host, core, settings, untilReady, checkpoint, reportErrors }) {
        Object.assign(this, { host, core, settings, untilReady, checkpoint, reportErrors });
        this.seen = new Set();
        this.isMaking = false;
    }

    /** Another chat is open: the scenes that it has already are nobody's news. */
    chatOpened() {
        this.seen = new Set(this.sceneBreaks());
    }

    /** Numbers of the messages that end a scene. */
    sceneBreaks() {
        const messages = this.host.openChat()?.messages ?? [];
        return messages.flatMap((message, index) => (isSceneBreak(message?.extra?.auto_recap_memory) ? [index] : []));
    }

    /** A name for a checkpoint by the owner's template, or nothing where no scene ends. */
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

    /** A checkpoint at every scene break, once its recap is there. */
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
