// What is marked at the messages of the open chat: where timelines fork off and, if wanted, where the lore changed. Only what
// the page knows already is used; no file is read.

import { forksOf, loreChanges } from '../messages.js';
/** @import { ChatId, Host, Marks, OpenChat, Settings, ShownTimeline } from '../../types.js' */
/** @import { Timelines } from './timelines.js' */

/** In milliseconds: changes come in groups. */
const UPDATED_AFTER = 150;
/** @type {Marks} */
const NONE = { forks: new Map(), lore: new Set() };

export class MessageMarks {
    /** The last ones, and the messages where forks were found. @type {{chat: string, marks: Marks, found: Map<string, ST.Message>} | null} */
    #shown = null;
    /** The family of the open chat, and what it was made from. @type {{from: string, timelines: ShownTimeline[]}} */
    #family = { from: '', timelines: [] };
    #isScheduled = false;

    /** @param {{host: Host, timelines: Timelines, settings: Pick<Settings, 'markLore'>, onChange: () => void}} parts */
    constructor({ host, timelines, settings, onChange }) {
        this.host = host;
        this.timelines = timelines;
        this.settings = settings;
        this.onChange = onChange;
    }

    /** None while another chat is being opened: those of the last one must not be shown in it. */
    get current() {
        const open = this.host.openChat();
        return open && this.#shown?.chat === keyOf(open) ? this.#shown.marks : NONE;
    }

    /** Something may have changed. */
    schedule() {
        if (this.#isScheduled) {
            return;
        }
        this.#isScheduled = true;
        const timer = /** @type {number | {unref(): void}} */ (setTimeout(() => {
            this.#isScheduled = false;
            this.update().catch((error) => console.warn('Forklore:', error));
        }, UPDATED_AFTER));
        if (typeof timer === 'object') {
            timer.unref();
        }
    }

    async update() {
        const open = this.host.openChat();
        if (open) {
            const chat = keyOf(open);
            const timelines = await this.#familyOf(open);
            // SillyTavern does not save where branches were made, so after messages were deleted their numbers are wrong.
            const found = this.#shown?.chat === chat ? this.#shown.found : new Map();
            this.#shown = { chat, found, marks: { forks: forksOf(open, timelines, found), lore: this.settings.markLore ? loreChanges(open.messages) : new Set() } };
        }
        this.onChange();
    }

    /** @param {OpenChat} open */
    async #familyOf(open) {
        const records = await this.timelines.index.of(open);
        const names = [...new Set([open.name, ...records.keys()])];
        const from = JSON.stringify([keyOf(open), names.map((name) => [name, records.get(name)?.metadata])]);
        if (from !== this.#family.from) {
            this.#family = { from, timelines: this.timelines.model(open, names, records, new Map()).timelines };
        }
        return this.#family.timelines;
    }

    /** The timelines that fork off at a message, as the server lists them now: another tab may have deleted some. @param {number} message */
    async forksAt(message) {
        const open = this.timelines.requireOpenChat();
        await this.timelines.index.keepOnly(open, await this.timelines.names(open));
        await this.update();
        return this.current.forks.get(message) ?? [];
    }
}

function keyOf(/** @type {ChatId} */ { group, avatar, name }) {
    return JSON.stringify([group, avatar, name]);
}
