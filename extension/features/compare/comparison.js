// Compares two moments: two timelines, as they are now or were at a message, or two messages of one chat.

import { chatForCore, comparableMessages } from '../../core/chat.js';
import { fromBytes } from '../../core/json.js';
import { wordError } from '../../core/word_error.js';
import { listedMessages, spokenIn } from '../messages.js';
/** @import { ForkPoint } from '../../core/repair_calls.js' */
/** @import { Beginning, ComparedModel, Core, Head, Host, ListedMessage, LoadedChat, Moment, OpenChat, Owner, Part, ShownMoment, TimelineChoice, TimelinesModel } from '../../types.js' */
/** @import { Repairs } from '../repair/repairs.js' */

/**
 * A moment, with everything known about it.
 * @typedef {object} Side
 * @property {string} name
 * @property {number | null} message `null`: now
 * @property {boolean} isOpen whether it is the open chat
 * @property {LoadedChat} chat
 * @property {string | null} bookName
 * @property {Uint8Array | undefined} book
 * @property {ST.Metadata} metadata
 * @property {Part | null} part how the book is known; `null`: it is the book itself
 */

/** @typedef {Partial<Beginning> & {known: boolean, book?: Uint8Array, metadata?: ST.Metadata | null}} Base what both sides started from */

/** @typedef {Map<string, {metadata: ST.Metadata | null}>} Records of timelines, by name */
/**
 * @typedef {{
 *     index: {of(owner: Owner): Promise<Records>, learn(heads: Head[]): void},
 *     headOfOpen(open: OpenChat): Head,
 *     names(open: OpenChat): Promise<string[]>,
 *     model(open: OpenChat, names: string[], records: Records, books: Map<string, string>): TimelinesModel,
 * }} TimelineSource
 */

export class Comparison {
    /** @param {{host: Pick<Host, 'chatHeads'>, core: Core, repairs: Repairs, timelines: TimelineSource}} parts */
    constructor({ host, core, repairs, timelines }) {
        this.host = host;
        this.core = core;
        this.repairs = repairs;
        this.timelines = timelines;
    }

    /**
     * Compares two moments for the comparison view.
     * @param {{left: Moment, right: Moment}} what of two moments of one chat, the earlier one is always on the left in the answer
     * @returns {Promise<ComparedModel>}
     */
    async compare(what) {
        const moments = inOrder(what);
        const open = this.repairs.requireOpenChat();
        const left = await this.side(open, moments.left);
        const right = await this.side(open, moments.right);
        const beginning = await this.mergeBase(open, left, right);
        const ask = {
            baseKnown: beginning.known,
            baseMetadata: beginning.metadata ?? null,
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
            spokenAt: (side, message) => spokenIn({ left, right }[side].chat.messages[message]),
        };
    }

    /** The timelines that can be compared, the open chat's family first. @returns {Promise<TimelineChoice[]>} */
    async choices() {
        const open = this.repairs.requireOpenChat();
        const { names, records } = await this.heads(open);
        const { timelines } = this.timelines.model(open, names, records, new Map());
        const mine = timelines.find(({ isOpen }) => isOpen)?.family;
        return timelines
            .filter(({ kind }) => kind !== 'gone')
            .map(({ name, family, isOpen }) => ({ name, isOpen, isRelated: family === mine }))
            .sort((one, other) => Number(other.isRelated) - Number(one.isRelated));
    }

    /** @param {string} name @returns {Promise<ListedMessage[]>} */
    async messagesOf(name) {
        const open = this.repairs.requireOpenChat();
        const { messages } = name === open.name ? open : await this.repairs.closedChat({ group: open.group, avatar: open.avatar, name });
        const { names, records } = await this.heads(open);
        return listedMessages({ name, messages }, this.timelines.model(open, names, records, new Map()).timelines);
    }

    /** @param {OpenChat} open @param {Moment} moment @returns {Promise<Side>} */
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

    /** @param {OpenChat} open @param {Side} side @param {number} message @returns {Side} */
    sideAt(open, side, message) {
        const ask = { group: Boolean(open.group), isOpen: side.isOpen, bookName: side.bookName, message };
        const { value, book } = this.core.momentBook(ask, chatForCore(side.chat), side.book);
        if (!value.known) {
            throw wordError('lore-unknown', { message });
        }
        return { ...side, message, bookName: value.book, book, metadata: value.metadata, part: value.part };
    }

    /** The state that both sides started from. @param {OpenChat} open @param {Side} left @param {Side} right @returns {Promise<Base>} */
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
        const first = timeOf(left) <= timeOf(right) ? left : right;
        return point !== null && timeOf(first) < point ? baseAt(first) : { ...value, book, chat: parting?.chat ?? null };
    }

    /**
     * Asks the journals of both timelines, and of the one they were forked from, what both started with.
     * @param {OpenChat} open @param {Side} left @param {Side} right @param {ForkPoint | null} parting
     */
    async findBase(open, left, right, parting) {
        const witnesses = [left, right].map(({ chat, name }) => ({ chat, name }));
        if (parting?.chat && ![left.name, right.name].includes(parting.chat)) {
            witnesses.push({ name: parting.chat, chat: (await this.side(open, { chat: parting.chat })).chat });
        }
        const books = [];
        for (const { chat } of witnesses) {
            const bytes = await this.repairs.bookBytes(chat.book);
            books.push(bytes ? fromBytes(bytes) : null);
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

    /** The names of all timelines, and what is known of their headers. @param {OpenChat} open */
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

/** @param {{message?: number | null}} moment */
const timeOf = ({ message }) => message ?? Infinity;

/** Puts the earlier of two moments of one chat first. @param {{left: Moment, right: Moment}} moments */
function inOrder({ left, right }) {
    return left.chat === right.chat && timeOf(left) > timeOf(right) ? { left: right, right: left } : { left, right };
}

/** @param {Side} side @returns {Base} */
function baseAt({ name, message, book, metadata }) {
    return { known: true, how: 'then', message, parting: message, chat: name, book, metadata };
}

/** @param {Side} side @returns {ShownMoment} */
export function shown({ name, message, isOpen, bookName, book, part, chat }) {
    return { chat: name, message, isOpen, book: bookName, hasBook: Boolean(book), part, last: chat.messages.length - 1 };
}

/** @param {Base} base @returns {Beginning} */
export function shownBeginning({ known, how = null, message = null, parting = null, chat = null }) {
    return { known, how: known ? how : null, message, parting, chat };
}
