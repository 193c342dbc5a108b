// What the user has written on timelines: titles, notes, colours, pins and whether they are archived, in their metadata.

import { wordError } from '../../core/word_error.js';
import { changeChat } from '../chat_change.js';
/** @import { Host, Label } from '../../types.js' */
/** @import { Timelines } from './timelines.js' */

const KEY = 'forklore_label';
/** @type {Label['colour'][]} */
const COLOURS = ['red', 'yellow', 'green', 'blue', 'grey'];
/** In characters. */
const MOST = { title: 80, note: 1000 };

/** The label of a timeline; without one, everything in it is empty. @param {ST.Metadata | null | undefined} metadata @returns {Label} */
export function labelOf(metadata) {
    const label = metadata?.[KEY];
    return cleaned(label instanceof Object ? /** @type {Record<string, unknown>} */ (label) : {});
}

/** @param {{[Key in keyof Label]?: unknown}} label @returns {Label} */
function cleaned({ title, note, colour, pin, archived }) {
    const text = (/** @type {unknown} */ value, /** @type {number} */ most) => [...(typeof value === 'string' ? value : '')].slice(0, most).join('').trim();
    return {
        title: text(title, MOST.title).replace(/\s+/g, ' '),
        note: text(note, MOST.note),
        colour: COLOURS.find((known) => known === colour) ?? null,
        pin: pin === true,
        archived: archived === true,
    };
}

/** Without what is empty; `undefined` if everything is. @param {Label} label */
function stored(label) {
    const parts = /** @type {Array<[string, unknown]>} */ (Object.entries(label)).filter(([, value]) => value);
    return parts.length ? Object.fromEntries(parts) : undefined;
}

export class Labels {
    /** @param {{host: Host, timelines: Timelines, now?: () => number}} parts */
    constructor({ host, timelines, now = Date.now }) {
        this.host = host;
        this.timelines = timelines;
        this.now = now;
    }

    /** The labels of the selected character's or group's timelines, by name. @returns {Promise<Map<string, Label>>} */
    async all() {
        const owner = this.host.currentOwner();
        if (!owner) {
            return new Map();
        }
        const { index } = this.timelines;
        await index.of(owner);
        if (!index.cacheOf(owner).syncedAt) {
            await this.host.chatHeads(owner);
        }
        const labels = [...await index.of(owner)].map(([name, { metadata }]) => /** @type {const} */ ([name, labelOf(metadata)]));
        return new Map(labels.filter(([, label]) => stored(label)));
    }

    /** @param {string} name a timeline of the open chat's character or group @param {Label} label */
    set(name, label) {
        return this.#change(name, () => label);
    }

    /** Changes nothing else of the label. @param {string} name @param {boolean} archived */
    archive(name, archived) {
        return this.#change(name, (label) => ({ ...label, archived }));
    }

    /** @param {string} name @param {(label: Label) => Label} change */
    async #change(name, change) {
        const { group, avatar, name: openName } = this.timelines.requireOpenChat();
        const known = openName === name ? null : (await this.timelines.index.of({ group, avatar })).get(name);
        const isIt = (/** @type {ST.Metadata} */ { integrity }) => !known || known.metadata?.integrity === integrity;
        if (known === undefined) {
            throw wordError('chat-changed', { chat: name });
        }
        await changeChat(this.host, { group, avatar, name }, ({ metadata }) => {
            if (!isIt(metadata)) {
                throw wordError('chat-changed', { chat: name });
            }
            put(metadata, change);
            return true;
        }, { notSince: this.now() });
        if (openName === name) {
            this.timelines.openSaved();
        }
    }
}

/** @param {ST.Metadata} metadata @param {(label: Label) => Label} change */
function put(metadata, change) {
    const value = stored(cleaned(change(labelOf(metadata))));
    if (value) {
        metadata[KEY] = value;
    } else {
        delete metadata[KEY];
    }
}
