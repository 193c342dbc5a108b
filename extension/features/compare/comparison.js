// Compares two moments: two timelines, as they are now or were at a message, or two messages of one chat.

import { chatForCore, comparableMessages } from '../../core/chat.js';
import { bytesText } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';

/**
 * A timeline of the open chat's character or group: as it is now, or as it was at a message.
 * @typedef {{chat: string, message?: number | null}} Moment
 */

/**
 * A moment, with everything known about it.
 * @typedef {object} Side
 * @property {string} name
 * @property {number | null} message `null`: now
 * @property {boolean} isOpen whether it is the open chat
 * @property {object} chat as expected by `repairs.apply`
 * @property {string | null} bookName
 * @property {Uint8Array | undefined} book
 * @property {object} metadata
 * @property {object | null} part how the book is known; `null`: it is the book itself
 */

export class Comparison {
    /** @param {{host: object, core: object, repairs: object, timelines: import('../timelines/timelines.js').Timelines}} parts */
    constructor(parts) {
        Object.assign(this, parts);
    }

    /**
     * Compares two moments for the comparison view.
     * @param {{left: Moment, right: Moment}} what of two moments of one chat, the earlier one is always on the left in the answer
     */
    async compare(what) {
        const moments = inOrder(what);
        const open = this.repairs.requireOpenChat();
        const left = await this.side(open, moments.left);
        const right = await this.side(open, moments.right);
        const beginning = await this.mergeBase(open, left, right);
        const ask = {
            baseKnown: beginning.known,
            baseMetadata: beginning.metadata,
            leftMetadata: left.metadata,
            rightMetadata: right.metadata,
        };
        return {
            ...this.core.compare(ask, beginning.book, left.book, right.book),
            left: shown(left),
            right: shown(right),
            isOneChat: left.name === right.name,
            beginning: shownBeginning(beginning),
            words: (before, after) => this.core.words(before, after),
        };
    }

    /** The timelines that can be compared, the open chat's family first. */
    async choices() {
        const open = this.repairs.requireOpenChat();
        const { names, records } = await this.heads(open);
        const { timelines } = this.timelines.model(open, names, records, new Map());
        const mine = timelines.find(({ isOpen }) => isOpen)?.family;
        return timelines
            .filter(({ kind }) => kind !== 'gone')
            .map(({ name, messages, family, isOpen, book }) => ({ name, messages, isOpen, book, isRelated: family === mine }))
            .sort((one, other) => Number(other.isRelated) - Number(one.isRelated));
    }

    /** @param {Moment} moment @returns {Promise<Side>} */
    async side(open, { chat: name, message = null }) {
        const isOpen = name === open.name;
        const chat = isOpen ? open : await this.repairs.closedChat({ group: open.group, avatar: open.avatar, name });
        if (!isOpen && !chat.header) {
            throw wordError('no-such-chat', { name });
        }
        const last = chat.messages.length - 1;
        if (message !== null && !(Number.isInteger(message) && message >= 0 && message <= last)) {
            throw wordError('no-such-message', { asked: message, last });
        }
        const book = await this.repairs.bookBytes(chat.book);
        const now = { name, message: null, isOpen, chat, bookName: chat.book, book, metadata: chat.metadata, part: null };
        return message === null ? now : this.sideAt(open, now, message);
    }

    sideAt(open, side, message) {
        const ask = { group: Boolean(open.group), isOpen: side.isOpen, bookName: side.bookName, message };
        const { value, book } = this.core.momentBook(ask, chatForCore(side.chat), side.book);
        if (!value.known) {
            throw wordError('lore-unknown', { message });
        }
        return { ...side, message, bookName: value.book, book, metadata: value.metadata, part: value.part };
    }

    /** The state that both sides started from. */
    async mergeBase(open, left, right) {
        if (left.name === right.name) {
            return baseAt(left);
        }
        const { names, records } = await this.heads(open);
        const metadataOf = new Map([left, right].map(({ name, chat }) => [name, chat.metadata]));
        const timelines = names.map((name) => ({
            group: open.group, character: open.avatar, name, metadata: metadataOf.get(name) ?? records.get(name)?.metadata ?? {},
        }));
        const parting = this.core.forkPoint({ timelines, left: left.name, right: right.name });
        const { value, book } = await this.findBase(open, left, right, parting);
        const point = value.parting ?? null;
        // A side from before the fork point is itself what both started from. At the fork point this does not hold:
        // each side has recorded by itself what happened after that message arrived.
        const early = [left, right].filter(({ message }) => message !== null && point !== null && message < point);
        const first = early.sort((one, other) => one.message - other.message)[0];
        return first ? baseAt(first) : { ...value, book, chat: parting?.chat ?? null };
    }

    /** Asks the journals of both timelines, and of the one they were forked from, what both started with. */
    async findBase(open, left, right, parting) {
        const isThird = parting?.chat && ![left.name, right.name].includes(parting.chat);
        const witnesses = [left, right].map(({ chat, name }) => ({ chat, name }));
        if (isThird) {
            witnesses.push({ name: parting.chat, chat: (await this.side(open, { chat: parting.chat })).chat });
        }
        const books = [];
        for (const { chat } of witnesses) {
            const bytes = await this.repairs.bookBytes(chat.book);
            books.push(bytes ? JSON.parse(bytesText(bytes)) : null);
        }
        const ask = {
            group: Boolean(open.group),
            message: parting?.message ?? null,
            digest: parting?.digest ?? null,
            isSealed: Boolean(parting?.isSealed),
            witnesses: witnesses.map(({ name, chat }) => ({ name, bookName: chat.book })),
        };
        return this.core.mergeBase(ask, witnesses.map(({ chat }) => comparableMessages(chat)), books);
    }

    /** The names of all timelines, and what is known of their headers. */
    async heads(open) {
        const { index } = this.timelines;
        index.learn([this.timelines.headOfOpen(open)]);
        const names = await this.timelines.names(open);
        const known = await index.of(open);
        if (names.some((name) => !known.has(name))) {
            await this.host.chatHeads(open);
        }
        return { names, records: await index.of(open) };
    }
}

/** Puts the earlier of two moments of one chat first. @param {{left: Moment, right: Moment}} moments */
function inOrder({ left, right }) {
    const at = ({ message }) => message ?? Infinity;
    return left.chat === right.chat && at(left) > at(right) ? { left: right, right: left } : { left, right };
}

function baseAt({ name, message, book, metadata }) {
    return { known: true, how: 'then', message, parting: message, chat: name, book, metadata };
}

/** @param {Side} side */
export function shown({ name, message, isOpen, bookName, book, part, chat }) {
    return { chat: name, message, isOpen, book: bookName, hasBook: Boolean(book), part, last: chat.messages.length - 1 };
}

export function shownBeginning({ known, how, message = null, parting = null, chat = null }) {
    return { known: Boolean(known), how: known ? how : null, message, parting, chat };
}
