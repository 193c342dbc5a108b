// ST-Auto-Recap's scenes: names for checkpoints at scene breaks, and automatic checkpoints.

import { sceneMessage } from '../../core/chat.js';
import { nameFrom } from '../settings.js';
/** @import { Core, Host, OpenChat, Settings } from '../../types.js' */

export class SceneCheckpoints {
    /**
     * @param {object} parts
     * @param {Pick<Host, 'chatNames' | 'openChat'>} parts.host @param {Core} parts.core @param {Settings} parts.settings
     * @param {() => Promise<boolean>} parts.untilReady waits for the queue; resolves to whether it is empty
     * @param {(wanted: {message: number, name: string}) => Promise<unknown>} parts.checkpoint creates a checkpoint without asking
     * @param {(step: () => Promise<void>) => Promise<void>} parts.reportErrors
     */
    constructor({ host, core, settings, untilReady, checkpoint, reportErrors }) {
        this.host = host;
        this.core = core;
        this.settings = settings;
        this.untilReady = untilReady;
        this.checkpoint = checkpoint;
        this.reportErrors = reportErrors;
        /** @type {Set<number>} */
        this.seen = new Set();
        this.isMaking = false;
    }

    /** Another chat is open. Scene breaks that it already has get no automatic checkpoint. */
    chatOpened() {
        this.seen = new Set(this.scenes().map((scene) => scene.message));
    }

    /** The scenes that have ended. */
    scenes(open = this.host.openChat()) {
        return open ? this.core.scenes(open.messages.map(sceneMessage)) : [];
    }

    /** A name for a checkpoint from the user's template, or an empty string if the message ends no scene. @param {OpenChat} open @param {number} message */
    async nameAt(open, message) {
        const scenes = this.scenes(open);
        const scene = scenes.find((scene) => scene.message === message);
        if (!scene) {
            return '';
        }
        const values = { scene_number: scenes.indexOf(scene) + 1, scene_name: scene.name, chat: open.name, message };
        const wanted = nameFrom(this.settings.nameTemplate, values);
        const taken = await this.host.chatNames(open);
        return wanted ? this.core.nameForChat({ wanted, taken, parent: open.name, kind: 'checkpoint' }) : '';
    }

    /** Creates a checkpoint at a new scene break once its recap is there. */
    makeIfDue() {
        const open = this.host.openChat();
        if (!this.settings.checkpointAtScenes || !open || this.isMaking) {
            return;
        }
        const found = this.scenes(open).find((scene) => scene.isDue && !this.seen.has(scene.message))?.message;
        if (found === undefined) {
            return;
        }
        this.seen.add(found);
        this.isMaking = true;
        this.reportErrors(async () => {
            const isReady = await this.untilReady();
            const name = isReady && this.settings.autoName ? await this.nameAt(open, found) : '';
            const now = this.host.openChat();
            if (isReady && now?.name === open.name && now.integrity === open.integrity) {
                await this.checkpoint({ message: found, name });
            }
        }).finally(() => { this.isMaking = false; });
    }
}
