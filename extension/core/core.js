// The core, as WebAssembly. Values cross the boundary as JSON text in UTF-8, not as JavaScript strings: those can hold
// half of a surrogate pair, which `JSON.stringify` writes as an escape and which must not get lost on the way.

import { bytesText, fromBytes, textBytes, toBytes } from './json.js';
import load, * as wasm from './pkg/forklore.js';
/** @import { Compare, FindForkPoint, FindMergeBase, Merge, MomentBook, PlanRepair, ReadLore, SplitOff, Verify } from './repair_calls.js' */
/** @import { Words } from '../types.js' */

/** A value and files. @typedef {{value: unknown, body?: Uint8Array, book?: Uint8Array, memories?: Uint8Array}} Opened */

/** @param {BufferSource | URL | Response | Promise<Response>} source */
export async function loadCore(source = new URL('./pkg/forklore_bg.wasm', import.meta.url)) {
    await load({ module_or_path: source });
    return core;
}

/** Unpacks an answer and frees its memory. @template {Opened} Whole @param {wasm.Answer} answer @returns {Whole} */
function opened(answer) {
    try {
        const files = { body: answer.take_body(), book: answer.take_book(), memories: answer.take_memories() };
        return /** @type {Whole} */ ({ value: fromBytes(answer.value()), ...files });
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
    /** @type {ReadLore} */
    lore: (ask, chat, book) => valueOf(wasm.lore(toBytes(ask), toBytes(chat), book)),
    /** @type {PlanRepair} */
    planRepair: (ask, chat, book, other) => opened(wasm.plan_repair(toBytes(ask), toBytes(chat), book, other)),
    /** @type {Compare} */
    compare: (ask, base, left, right) => valueOf(wasm.compare(toBytes(ask), base, left, right)),
    /** @type {Merge} */
    merge: (ask, base, ours, theirs) => opened(wasm.merge(toBytes(ask), base, ours, theirs)),
    /** @type {Words} */
    words: (before, after) => valueOf(wasm.words(before, after)),
    /** @type {FindForkPoint} */
    forkPoint: (ask) => valueOf(wasm.fork_point(toBytes(ask))),
    /** @type {FindMergeBase} */
    mergeBase: (ask, chats, books) => opened(wasm.merge_base(toBytes(ask), toBytes(chats), toBytes(books))),
    /** @type {MomentBook} */
    momentBook: (ask, chat, book) => opened(wasm.moment_book(toBytes(ask), toBytes(chat), book)),
    newGuard,
    /** @type {Verify} */
    verify: (ask, books) => valueOf(wasm.verify(toBytes(ask), books)),
    /** @type {SplitOff} */
    splitOff: (ask) => valueOf(wasm.split_off(toBytes(ask))),
    timelines: (ask, books) => opened(wasm.timelines(toBytes(ask), books)).value,
    indexRecords: (heads) => opened(wasm.index_records(toBytes(heads))).value,
    bookFate: (ask) => opened(wasm.book_fate(toBytes(ask))).value,
    origin: (metadata) => opened(wasm.origin(toBytes(metadata))).value,
    cleanup: (ask) => opened(wasm.cleanup(toBytes(ask))).value,
    booksNamed: (metadata, messages, book) => opened(wasm.books_named(toBytes(metadata), messages && toBytes(messages), book)).value,
    nameForBook: (ask) => wasm.name_for_book(toBytes(ask)),
    nameForChat: (ask) => wasm.name_for_chat(toBytes(ask)),
    placesNaming: (name, chat) => opened(wasm.places_naming(name, toBytes(chat))).value,
    chatsNaming: (ask) => opened(wasm.chats_naming(toBytes(ask))).value,
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

/** The entries of a book, by key. @param {Uint8Array} book @returns {Record<string, ST.Entry | null>} */
export function entriesOf(book) {
    return /** @type {Partial<ST.Book>} */ (fromBytes(book)).entries ?? {};
}

/** The current time, as the core expects it. */
export function timeNow() {
    return { now: new Date().toISOString() };
}
