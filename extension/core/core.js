// The core, as WebAssembly. Values cross the boundary as JSON text in UTF-8, not as JavaScript strings: those can hold
// half of a surrogate pair, which `JSON.stringify` writes as an escape and which must not get lost on the way.

import { bytesText, fromBytes, textBytes, toBytes } from './json.js';
import load, * as wasm from './pkg/forklore.js';
/** @import { BookFate, CleanupPlan } from '../types.js' */
/** @import { BookFateAsk, BooksNamed, ChatsNamingAsk, CleanupAsk, CountedChat, IndexRecord, NamePath, SealedOrigin, TimelinesAnswer, TimelinesAsk } from './timeline_calls.js' */

/** @param {BufferSource | URL | Response | Promise<Response>} source */
export async function loadCore(source = new URL('./pkg/forklore_bg.wasm', import.meta.url)) {
    await load({ module_or_path: source });
    return core;
}

/** Unpacks an answer and frees its memory. @param {wasm.Answer} answer */
function opened(answer) {
    try {
        return { value: fromBytes(answer.value()), body: answer.take_body(), book: answer.take_book(), memories: answer.take_memories() };
    } finally {
        answer.free();
    }
}

/** For answers without files. @template Value @param {wasm.Answer} answer @returns {Value} */
function valueOf(answer) {
    return /** @type {Value} */ (opened(answer).value);
}

/** What the core knows about the copies of books in this page, and about the saves that it has begun. Books are texts here. */
function newGuard() {
    const guard = new wasm.PageGuard();
    const optional = (text) => (text === undefined ? undefined : textBytes(text));
    return {
        remember: (name, text) => guard.remember(name, textBytes(text)),
        forget: (name) => guard.forget(name),
        wasReadTwice: (name) => guard.was_read_twice(name),
        cached: (name, copy, text) => guard.cached(name, copy, optional(text)),
        mayBeEdited: (original) => guard.may_be_edited(original),
        copied: (original, copy, text) => guard.copied(original, copy, optional(text)),
        replaced: (name, copy, text) => guard.replaced(name, copy, textBytes(text)),
        release: (copy) => guard.release(copy),
        begin: (name, copy, text) => guard.begin(name, copy, textBytes(text)),
        wrote: (name, text) => guard.wrote(name, textBytes(text)),
        takeNews: () => opened(guard.take_news()).value,
        next: (job, event, text) => {
            const { value: actions, book } = opened(guard.next(job, toBytes(event), optional(text)));
            return { actions, text: book && bytesText(book) };
        },
    };
}

/** The functions of the core. Books and bodies are bytes, or `undefined` if there is none. */
export const core = {
    fork: (ask, body, later, book, memories) => opened(wasm.fork(toBytes(ask), body, toBytes(later), book, memories)),
    savesOpen: (ask, start) => wasm.saves_open(toBytes(ask), start),
    readSave: (ask, body) => opened(wasm.read_save(toBytes(ask), body)).value,
    saveWithoutBook: (ask, body) => wasm.save_without_book(toBytes(ask), body),
    forkChoice: (choice) => opened(wasm.fork_choice(choice)).value,
    unfinished: (ask) => opened(wasm.unfinished(toBytes(ask))).value,
    pendingWork: (ask, book) => opened(wasm.pending_work(toBytes(ask), book)).value,
    scenes: (messages) => opened(wasm.scenes(toBytes(messages))).value,
    shapes: () => opened(wasm.shapes()).value,
    check: (ask, chat, book) => opened(wasm.check(toBytes(ask), toBytes(chat), book)).value,
    lore: (ask, chat, book) => opened(wasm.lore(toBytes(ask), toBytes(chat), book)).value,
    planRepair: (ask, chat, book, other) => opened(wasm.plan_repair(toBytes(ask), toBytes(chat), book, other)),
    compare: (ask, base, left, right) => opened(wasm.compare(toBytes(ask), base, left, right)).value,
    merge: (ask, base, ours, theirs) => opened(wasm.merge(toBytes(ask), base, ours, theirs)),
    words: (before, after) => opened(wasm.words(before, after)).value,
    forkPoint: (ask) => opened(wasm.fork_point(toBytes(ask))).value,
    mergeBase: (ask, chats, books) => opened(wasm.merge_base(toBytes(ask), toBytes(chats), toBytes(books))),
    momentBook: (ask, chat, book) => opened(wasm.moment_book(toBytes(ask), toBytes(chat), book)),
    newGuard,
    verify: (ask, books) => opened(wasm.verify(toBytes(ask), books)).value,
    splitOff: (ask) => opened(wasm.split_off(toBytes(ask))).value,
    /** @type {(ask: TimelinesAsk, books: Uint8Array) => TimelinesAnswer} */
    timelines: (ask, books) => valueOf(wasm.timelines(toBytes(ask), books)),
    /** @type {(heads: CountedChat[]) => IndexRecord[]} */
    indexRecords: (heads) => valueOf(wasm.index_records(toBytes(heads))),
    /** @type {(ask: BookFateAsk) => BookFate} */
    bookFate: (ask) => valueOf(wasm.book_fate(toBytes(ask))),
    /** @type {(metadata: ST.Metadata) => SealedOrigin | null} */
    origin: (metadata) => valueOf(wasm.origin(toBytes(metadata))),
    /** @type {(ask: CleanupAsk) => CleanupPlan} */
    cleanup: (ask) => valueOf(wasm.cleanup(toBytes(ask))),
    /** @type {(metadata: ST.Metadata, messages?: ST.Message[], book?: Uint8Array) => BooksNamed} */
    booksNamed: (metadata, messages, book) => valueOf(wasm.books_named(toBytes(metadata), messages && toBytes(messages), book)),
    nameForBook: (ask) => wasm.name_for_book(toBytes(ask)),
    nameForChat: (ask) => wasm.name_for_chat(toBytes(ask)),
    /** @type {(name: string, chat: ST.Line[]) => NamePath[]} */
    placesNaming: (name, chat) => valueOf(wasm.places_naming(name, toBytes(chat))),
    /** @type {(ask: ChatsNamingAsk) => string[]} */
    chatsNaming: (ask) => valueOf(wasm.chats_naming(toBytes(ask))),
    /** @type {(one: string, other: string) => boolean} */
    isSameLore: (one, other) => wasm.is_same_lore(textBytes(one), textBytes(other)),
    bookKey: (name) => wasm.book_key(name),
    /**
     * Whether two names, if there are any, are spellings of the same book's name.
     * @type {(one: string | null | undefined, other: string | null | undefined) => boolean}
     */
    sameBook: (one, other) => Boolean(one && other) && (one === other || core.bookKey(one) === core.bookKey(other)),
    isInternal: (title) => wasm.is_internal(title),
    chatStem: (name) => wasm.chat_stem(name) ?? null,
    wasm,
};

/** The current time, as the core expects it. */
export function timeNow() {
    return { now: new Date().toISOString() };
}
