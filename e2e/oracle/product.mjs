// The product as the oracle uses it: the real `Recorder` and the real core behind a host of the oracle's own. Only this
// file knows their interfaces.

import { readFileSync } from 'node:fs';

import { bookKey } from './ledger.mjs';
import { CHAT_NAME } from './page.mjs';
import { metadataText, sameText } from './values.mjs';

const EXTENSION = process.env.FORKLORE_EXTENSION ? new URL(`file://${process.env.FORKLORE_EXTENSION}/`) : new URL('../../extension/', import.meta.url);
const KINDS = { exact: 'exact', snapshot: 'as of', live: 'live', settled: 'settled' };

export class Product {
    static async load() {
        const { loadCore } = await import(new URL('core/core.js', EXTENSION).href);
        const { Recorder } = await import(new URL('features/journal/recorder.js', EXTENSION).href);
        return new Product(await loadCore(readFileSync(new URL('core/pkg/forklore_bg.wasm', EXTENSION))), Recorder);
    }

    constructor(core, Recorder) {
        this.core = core;
        this.Recorder = Recorder;
        /** Errors that the product reported. A story must not cause any. */
        this.errors = [];
    }

    /** A page's extension. */
    recorderFor(page) {
        const recorder = new this.Recorder({
            host: hostOf(page),
            core: this.core,
            settings: page.settings,
            onError: (error) => this.errors.push(error),
            soon: (run) => page.idle.push(run),
        });
        return {
            opened: () => void recorder.chatOpened(),
            sync: () => void recorder.sync(),
            streamed: () => void (recorder.messageMayHaveArrived ? recorder.messageMayHaveArrived() : recorder.sync()),
            bookChanges: () => void recorder.messageMayHaveArrived(),
            bookChanged: (name, text) => void recorder.bookChanged(name, text),
            bookSaved: (name, text) => void recorder.bookSaved(name, text),
            bookReading: () => recorder.arrivedSoFar(),
            bookRead: (name, text, began) => void recorder.bookRead(name, text, began),
            carriedBy: (body) => recorder.withRecords(body),
            chatSaved: (saved) => recorder.chatSaved(saved),
        };
    }

    /** Queries a chat, given as in a page. @param {{isOpen?: boolean}} question whether it is the open one */
    ask({ metadata, messages, bookName, bookText, m, isOpen = false }) {
        const lines = [{ chat_metadata: metadata, user_name: 'unused', character_name: 'unused' }, ...messages];
        const bytes = bookText === undefined ? undefined : new TextEncoder().encode(bookText);
        const { value, book } = this.core.momentBook({ group: false, bookName: bookName ?? null, message: m, isOpen }, lines, bytes);
        return {
            book: value.known ? claim(value.part, bookKey(value.book, book && sameText(new TextDecoder().decode(book)))) : { kind: 'none', k: null, source: null, content: '' },
            metadata: claim(value.metadataPart ?? (value.part?.source === 'recap' ? null : value.part) ?? { exactness: 'live' }, metadataText(value.metadata)),
        };
    }
}

/** @returns {import('./judge.mjs').Claim} */
export function claim(part, content) {
    return { kind: KINDS[part.exactness] ?? part.exactness, k: part.as_of ?? part.settled_at ?? null, source: part.source ?? null, content };
}

function hostOf(page) {
    return {
        openChat: () => (page.isOpen ? {
            group: null,
            avatar: 'Ada.png',
            name: CHAT_NAME,
            messages: page.chat,
            metadata: page.metadata,
            book: page.book,
            integrity: page.metadata.integrity ?? null,
        } : null),
        knownBooks: () => [...page.names],
        cachedBookText: (name) => page.copy(name),
        bookOnServer: (name) => page.requestBook(name),
        bookNames: async () => [...page.world.server.books.keys()],
        listBooks: async () => [...page.world.server.books.keys()].map((name) => ({ name })),
        saveChatSoon: () => {
            page.isChatTimerSet = true;
        },
        // `JSON.stringify` calls `toJSON` on each message, in order.
        beforeWritingOut: (before) => {
            const first = page.chat[0];
            if (first && !Object.hasOwn(first, 'toJSON')) {
                Object.defineProperty(first, 'toJSON', {
                    configurable: true,
                    value() {
                        before(this);
                        return this;
                    },
                });
            }
        },
    };
}
