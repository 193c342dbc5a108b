// The product as the oracle meets it: the real `Recording` and the real core behind a host of the oracle's own. This is
// the only file that knows their interfaces.

import { readFileSync } from 'node:fs';

import { bookKey } from './ledger.mjs';
import { CHAT_NAME } from './page.mjs';
import { metadataText, sameText } from './values.mjs';

const EXTENSION = process.env.FORKLORE_EXTENSION ? new URL(`file://${process.env.FORKLORE_EXTENSION}/`) : new URL('../../extension/', import.meta.url);
const KINDS = { exact: 'exact', snapshot: 'as of', live: 'live', settled: 'settled' };

export class Product {
    static async load() {
        const { loadCore } = await import(new URL('core/core.js', EXTENSION).href);
        const { Recording } = await import(new URL('features/journal/recorder.js', EXTENSION).href);
        return new Product(await loadCore(readFileSync(new URL('core/pkg/forklore_bg.wasm', EXTENSION))), Recording);
    }

    constructor(core, Recording) {
        this.core = core;
        this.Recording = Recording;
        /** Errors that the product reported. A story must not make any. */
        this.errors = [];
    }

    /** The extension of a page. */
    recorderFor(page) {
        const recording = new this.Recording({
            host: hostOf(page),
            core: this.core,
            settings: page.settings,
            failed: (error) => this.errors.push(error),
            soon: (run) => page.idle.push(run),
        });
        return {
            opened: () => void recording.opened(),
            sync: () => void recording.sync(),
            streamed: () => void (recording.messageMayHaveCome ? recording.messageMayHaveCome() : recording.sync()),
            bookChanges: () => void recording.messageMayHaveCome(),
            bookChanged: (name, text) => void recording.bookChanged(name, text),
            bookSaved: (name, text) => void recording.bookSaved(name, text),
            bookReading: () => recording.arrivedSoFar(),
            bookRead: (name, text, began) => void recording.bookRead(name, text, began),
            carriedBy: (body) => recording.carriedBy(body),
        };
    }

    /** Asks of a chat, given as a page gives it. @param {{isOpen?: boolean}} question whether it is the one that is open in the page */
    ask({ metadata, messages, bookName, bookText, m, isOpen = false }) {
        const lines = [{ chat_metadata: metadata, user_name: 'unused', character_name: 'unused' }, ...messages];
        const bytes = bookText === undefined ? undefined : new TextEncoder().encode(bookText);
        const { value, book } = this.core.momentBook({ group: false, bookName: bookName ?? undefined, message: m, isOpen }, lines, bytes);
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
        bookInMemory: (name) => page.copy(name),
        bookOnServer: (name) => page.requestBook(name),
        listBooks: async () => [...page.world.server.books.keys()].map((name) => ({ name })),
        saveChatSoon: () => {
            page.isChatTimerSet = true;
        },
        // `JSON.stringify` asks each message for `toJSON`, the first one first.
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
