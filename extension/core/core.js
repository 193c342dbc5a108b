// The core, as WebAssembly. Values cross the boundary as JSON text in UTF-8, not as JavaScript strings: those can hold
// half of a surrogate pair, which `JSON.stringify` writes as an escape and which must not get lost on the way.
//
// Names are the exception. What SillyTavern has for a name may be a number or worse, which the generated code does not
// expect: the page would crash.

import { bytesText, fromBytes, textBytes, toBytes } from './json.js';
import load, * as wasm from './pkg/forklore.js';
/**
 * @import { BookFate, CleanupPlan, ForkChoice, JournalRecord, LoreChoice, Word, Words } from '../types.js'
 * @import { ChatNameAsk, CheckAnswer, CheckAsk, ForkAnswer, ForkAsk, NamedBook, NextStep, PendingWork, SaveAnswer, SaveAsk, Scene, Shapes, UnfinishedAsk, WithoutBookAsk } from './fork_calls.js'
 * @import { BookNews, GuardAction, PageGuard } from './guard_calls.js'
 * @import { Compare, FindForkPoint, FindMergeBase, Merge, MomentBook, PlanRepair, ReadLore, SplitOff, Verify } from './repair_calls.js'
 * @import { BookFateAsk, BooksNamed, ChatsNamingAsk, CleanupAsk, CountedChat, IndexRecord, NamePath, SealedOrigin, TimelinesAnswer, TimelinesAsk } from './timeline_calls.js'
 */

/** A value and files. @typedef {{value: unknown, body?: Uint8Array, book?: Uint8Array, memories?: Uint8Array[]}} Opened */

/** @param {BufferSource | URL | Response | Promise<Response>} source */
export async function loadCore(source = new URL('./pkg/forklore_bg.wasm', import.meta.url)) {
    await load({ module_or_path: source });
    return core;
}

/** Unpacks an answer and frees its memory. @template {Opened} Whole @param {wasm.Answer} answer @returns {Whole} */
function opened(answer) {
    try {
        /** @type {Uint8Array[]} */
        const memories = [];
        for (let bytes = answer.take_memories(); bytes; bytes = answer.take_memories()) {
            memories.push(bytes);
        }
        const files = { body: answer.take_body(), book: answer.take_book(), ...(memories.length && { memories }) };
        return /** @type {Whole} */ ({ value: fromBytes(answer.value()), ...files });
    } finally {
        answer.free();
    }
}

/** For answers without files. @template Value @param {wasm.Answer} answer @returns {Value} */
function valueOf(answer) {
    return /** @type {Value} */ (opened(answer).value);
}

/** @param {NamedBook[]} books */
function namedBooks(books) {
    const named = new wasm.NamedBooks();
    for (const { name, bytes } of books) {
        named.add(textBytes(name), bytes);
    }
    return named;
}

/** What the core knows about the copies of books in this page, and about the saves that it has begun. @returns {PageGuard} */
function newGuard() {
    const guard = new wasm.PageGuard();
    const optional = (/** @type {string | undefined} */ text) => (text === undefined ? undefined : textBytes(text));
    return {
        remember: (name, text) => guard.remember(String(name), textBytes(text)),
        forget: (name) => guard.forget(String(name)),
        wasReadTwice: (name) => guard.was_read_twice(String(name)),
        cached: (name, copy, text) => guard.cached(String(name), copy, optional(text)),
        mayBeEdited: (original) => guard.may_be_edited(original),
        isBasedOn: (name, copy, text) => guard.is_based_on(String(name), copy, textBytes(text)),
        copied: (original, copy, text) => guard.copied(original, copy, optional(text)),
        replaced: (name, copy, text) => guard.replaced(String(name), copy, textBytes(text)),
        release: (copy) => guard.release(copy),
        begin: (name, copy, text) => guard.begin(String(name), copy, textBytes(text)),
        wrote: (name, text) => guard.wrote(String(name), textBytes(text)),
        takeNews: () => /** @type {BookNews[]} */ (opened(guard.take_news()).value),
        next: (job, event) => {
            const read = event.is === 'read' ? event.text : undefined;
            const { value, book } = opened(guard.next(job, toBytes({ ...event, text: undefined }), optional(read)));
            const actions = /** @type {{do: string, about: unknown}[]} */ (value);
            const written = book && bytesText(book);
            return /** @type {GuardAction[]} */ (actions.map((action) => (['send', 'write'].includes(action.do) ? { ...action, about: written } : action)));
        },
    };
}

/** The functions of the core. Books and bodies are bytes, or `undefined` if there is none. */
export const core = {
    /** @type {(ask: ForkAsk, body: Uint8Array, later: ST.Message[], book?: Uint8Array, memories?: NamedBook[], shared?: Uint8Array) => ForkAnswer} */
    fork: (ask, body, later, book, memories = [], shared = undefined) =>
        opened(wasm.fork(toBytes(ask), body, toBytes(later), book, namedBooks(memories), shared)),
    /** @type {(ask: SaveAsk, start: Uint8Array) => boolean} */
    savesOpen: (ask, start) => wasm.saves_open(toBytes(ask), start),
    /** @type {(ask: SaveAsk, body: Uint8Array) => SaveAnswer} */
    readSave: (ask, body) => valueOf(wasm.read_save(toBytes(ask), body)),
    /** @type {(ask: WithoutBookAsk, body: Uint8Array) => Uint8Array} */
    saveWithoutBook: (ask, body) => wasm.save_without_book(toBytes(ask), body),
    /** @type {(choice: ForkChoice | LoreChoice | 'cancel') => NextStep} */
    forkChoice: (choice) => valueOf(wasm.fork_choice(choice)),
    /** @type {(ask: UnfinishedAsk) => Word[]} */
    unfinished: (ask) => valueOf(wasm.unfinished(toBytes(ask))),
    /** @type {(ask: {metadata: ST.Metadata, underWay: number | null}, book: Uint8Array) => PendingWork} */
    pendingWork: (ask, book) => valueOf(wasm.pending_work(toBytes(ask), book)),
    /** @type {(messages: ST.Message[]) => Scene[]} */
    scenes: (messages) => valueOf(wasm.scenes(toBytes(messages))),
    /** @type {() => Shapes} */
    shapes: () => valueOf(wasm.shapes()),
    /** @type {(ask: CheckAsk, chat: ST.Line[], book?: Uint8Array) => CheckAnswer} */
    check: (ask, chat, book) => valueOf(wasm.check(toBytes(ask), toBytes(chat), book)),
    /** @type {ReadLore} */
    lore: (ask, chat, book) => valueOf(wasm.lore(toBytes(ask), toBytes(chat), book)),
    /** @type {PlanRepair} */
    planRepair: (ask, chat, book, other) => opened(wasm.plan_repair(toBytes(ask), toBytes(chat), book, other)),
    /** @type {Compare} */
    compare: (ask, base, left, right) => valueOf(wasm.compare(toBytes(ask), base, left, right)),
    /** @type {Merge} */
    merge: (ask, base, ours, theirs) => opened(wasm.merge(toBytes(ask), base, ours, theirs)),
    /** @type {Words} */
    words: (before, after) => valueOf(wasm.words(String(before), String(after))),
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
    /** @type {(ask: TimelinesAsk, books: Uint8Array) => TimelinesAnswer} */
    timelines: (ask, books) => valueOf(wasm.timelines(toBytes(ask), books)),
    /** @type {(heads: CountedChat[]) => IndexRecord[]} */
    indexRecords: (heads) => valueOf(wasm.index_records(toBytes(heads))),
    /** @type {(ask: BookFateAsk) => BookFate} */
    bookFate: (ask) => valueOf(wasm.book_fate(toBytes(ask))),
    /** @type {(metadata: ST.Metadata, messages: number) => SealedOrigin | null} */
    origin: (metadata, messages) => valueOf(wasm.origin(toBytes(metadata), messages)),
    /** @type {(ask: CleanupAsk) => CleanupPlan} */
    cleanup: (ask) => valueOf(wasm.cleanup(toBytes(ask))),
    /** @type {(metadata: ST.Metadata, messages?: ST.Message[], book?: Uint8Array) => BooksNamed} */
    booksNamed: (metadata, messages, book) => valueOf(wasm.books_named(toBytes(metadata), messages && toBytes(messages), book)),
    /** @type {(ask: {chat: string, books: string[]}) => string} */
    nameForBook: (ask) => wasm.name_for_book(toBytes(ask)),
    /** @type {(ask: ChatNameAsk) => string} */
    nameForChat: (ask) => wasm.name_for_chat(toBytes(ask)),
    /** @type {(name: string, chat: ST.Line[]) => NamePath[]} */
    placesNaming: (name, chat) => valueOf(wasm.places_naming(String(name), toBytes(chat))),
    /** @type {(ask: ChatsNamingAsk) => string[]} */
    chatsNaming: (ask) => valueOf(wasm.chats_naming(toBytes(ask))),
    /** @type {(one: string, other: string) => boolean} */
    isSameLore: (one, other) => wasm.is_same_lore(textBytes(one), textBytes(other)),
    bookKey: (/** @type {string} */ name) => wasm.book_key(String(name)),
    /**
     * Whether two names, if there are any, are spellings of the same book's name.
     * @type {(one: string | null | undefined, other: string | null | undefined) => boolean}
     */
    sameBook: (one, other) => Boolean(one && other && (one === other || core.bookKey(one) === core.bookKey(other))),
    isInternal: (/** @type {string} */ title) => wasm.is_internal(String(title)),
    /** @type {(name: string) => string | null} */
    chatStem: (name) => wasm.chat_stem(String(name)) ?? null,
    wasm,
};

/** What messages, by their places, must carry now: the answer of the core's `Journal`. @param {Uint8Array | undefined} answer */
export function recordChanges(answer) {
    return /** @type {[place: number, record: JournalRecord | null][]} */ (answer ? fromBytes(answer) : []);
}

/** The entries of a book, by key. @param {Uint8Array} book @returns {Record<string, ST.Entry | null>} */
export function entriesOf(book) {
    return /** @type {Partial<ST.Book>} */ (fromBytes(book)).entries ?? {};
}

/** The current time, as the core expects it. */
export function timeNow() {
    return { now: new Date().toISOString() };
}
