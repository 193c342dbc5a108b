// The core, as WebAssembly. Values cross the boundary as JSON text in UTF-8, not as JavaScript strings: those can hold
// half of a surrogate pair, which `JSON.stringify` writes as an escape and which must not get lost on the way.

import { fromBytes, toBytes } from './json.js';
import load, * as wasm from './pkg/forklore.js';

/** @param {BufferSource | URL | Response | Promise<Response>} source */
export async function loadCore(source = new URL('./pkg/forklore_bg.wasm', import.meta.url)) {
    await load({ module_or_path: source });
    return core;
}

/** Unpacks an answer and frees its memory. */
function opened(answer) {
    try {
        return { value: fromBytes(answer.value()), body: answer.take_body(), book: answer.take_book(), memories: answer.take_memories() };
    } finally {
        answer.free();
    }
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
    verify: (ask, books) => opened(wasm.verify(toBytes(ask), books)).value,
    cleanup: (ask) => opened(wasm.cleanup(toBytes(ask))).value,
    booksNamed: (chat, queue) => opened(wasm.books_named(toBytes(chat), queue)).value,
    booksOfChat: (metadata) => opened(wasm.books_of_chat(toBytes(metadata))).value,
    memoryBooksNamed: (metadata) => opened(wasm.memory_books_named(toBytes(metadata))).value,
    nameForBook: (ask) => wasm.name_for_book(toBytes(ask)),
    nameForChat: (ask) => wasm.name_for_chat(toBytes(ask)),
    bookKey: (name) => wasm.book_key(name),
    isInternal: (title) => wasm.is_internal(title),
    chatStem: (name) => wasm.chat_stem(name) ?? null,
    wasm,
};

/** The current time, as the core expects it. */
export function timeNow() {
    return { now: new Date().toISOString() };
}
