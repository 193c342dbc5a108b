import { folded } from '../folding.js';


export class Answer {
    static __wrap(ptr) {
        const obj = Object.create(Answer.prototype);
        obj.__wbg_ptr = ptr;
        AnswerFinalization.register(obj, obj.__wbg_ptr, obj);
        return obj;
    }
    __destroy_into_raw() {
        const ptr = this.__wbg_ptr;
        this.__wbg_ptr = 0;
        AnswerFinalization.unregister(this);
        return ptr;
    }
    free() {
        const ptr = this.__destroy_into_raw();
        wasm.__wbg_answer_free(ptr, 0);
    }
    /**
     * The request body to send instead of the original one. Can be taken once.
     * @returns {Uint8Array | undefined}
     */
    take_body() {
        const ret = wasm.answer_take_body(this.__wbg_ptr);
        let v1;
        if (ret[0] !== 0) {
            v1 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
            wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
        }
        return v1;
    }
    /**
     * The book to write. Can be taken once.
     * @returns {Uint8Array | undefined}
     */
    take_book() {
        const ret = wasm.answer_take_book(this.__wbg_ptr);
        let v1;
        if (ret[0] !== 0) {
            v1 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
            wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
        }
        return v1;
    }
    /**
     * The next copy of a book of Memory Books to write.
     * @returns {Uint8Array | undefined}
     */
    take_memories() {
        const ret = wasm.answer_take_memories(this.__wbg_ptr);
        let v1;
        if (ret[0] !== 0) {
            v1 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
            wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
        }
        return v1;
    }
    /**
     * The value as JSON text.
     * @returns {Uint8Array}
     */
    value() {
        const ret = wasm.answer_value(this.__wbg_ptr);
        var v1 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
        wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
        return v1;
    }
}
if (Symbol.dispose) Answer.prototype[Symbol.dispose] = Answer.prototype.free;

/**
 * The journal of one open chat.
 *
 * The chat is passed as the numbers that identify its messages, or nothing if they are the same as
 * at the last call. `carried` is a JSON array of `[place, field]` for the messages that carry
 * something else than the journal gave them. The answers have the same form: what the messages at
 * these places must carry now; nothing if everything stays.
 */
export class Journal {
    __destroy_into_raw() {
        const ptr = this.__wbg_ptr;
        this.__wbg_ptr = 0;
        JournalFinalization.unregister(this);
        return ptr;
    }
    free() {
        const ptr = this.__destroy_into_raw();
        wasm.__wbg_journal_free(ptr, 0);
    }
    /**
     * Messages were appended right after the last call.
     * @param {Uint32Array | number[] | null | undefined} chat
     * @param {Uint8Array | number[]} carried
     * @returns {Uint8Array | undefined}
     */
    arrived(chat, carried) {
        let ptr0, len0, ptr1, len1;
        try {
            ptr0 = isLikeNone(chat) ? 0 : passArray32ToWasm0(chat, wasm.__wbindgen_malloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = passArray8ToWasm0(carried, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 4, 4); }
            throw e;
        }
        const ret = wasm.journal_arrived(this.__wbg_ptr, ptr0, len0, ptr1, len1);
        if (ret[3]) {
            throw takeFromExternrefTable0(ret[2]);
        }
        let v3;
        if (ret[0] !== 0) {
            v3 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
            wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
        }
        return v3;
    }
    /**
     * The book's file was read. `arrived` is the answer of `unchecked` from before the read began.
     * @param {string} book_name
     * @param {Uint8Array | number[]} text
     * @param {boolean} is_pages
     * @param {Uint8Array | number[] | null} [arrived]
     * @returns {Uint8Array | undefined}
     */
    file_checked(book_name, text, is_pages, arrived) {
        const val4 = +is_pages;
        let ptr0, len0, ptr1, len1, ptr2, len2;
        try {
            ptr0 = passStringToWasm0(book_name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
            ptr2 = isLikeNone(arrived) ? 0 : passArray8ToWasm0(arrived, wasm.__wbindgen_malloc);
            len2 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
            throw e;
        }
        const ret = wasm.journal_file_checked(this.__wbg_ptr, ptr0, len0, ptr1, len1, val4, ptr2, len2);
        if (ret[3]) {
            throw takeFromExternrefTable0(ret[2]);
        }
        let v5;
        if (ret[0] !== 0) {
            v5 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
            wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
        }
        return v5;
    }
    /**
     * Forgets the chat. The next call starts from the records that its messages carry then.
     */
    forget() {
        wasm.journal_forget(this.__wbg_ptr);
    }
    /**
     * Whether this message was in the chat at the last call.
     * @param {number} message
     * @returns {boolean}
     */
    knows(message) {
        const ret = wasm.journal_knows(this.__wbg_ptr, message);
        return ret !== 0;
    }
    /**
     * `random` makes the records of this page distinguishable from those of other pages.
     * @param {string} random
     */
    constructor(random) {
        const ptr0 = passStringToWasm0(random, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
        const len0 = WASM_VECTOR_LEN;
        const ret = wasm.journal_new(ptr0, len0);
        this.__wbg_ptr = ret;
        JournalFinalization.register(this, this.__wbg_ptr, this);
        return this;
    }
    /**
     * Brings the records up to date. `book` is the text of the bound book if it was read;
     * `metadata` is JSON text with the keys for which `is_recorded` is true, if it has changed.
     * `largest_book` is in bytes: of a larger book only a digest is recorded.
     * @param {Uint32Array | number[] | null | undefined} chat
     * @param {Uint8Array | number[]} carried
     * @param {Uint8Array | number[]} ask
     * @param {Uint8Array | number[] | null | undefined} book
     * @param {Uint8Array | number[] | null | undefined} metadata
     * @param {number} largest_book
     * @returns {Uint8Array | undefined}
     */
    sync(chat, carried, ask, book, metadata, largest_book) {
        const val6 = +largest_book;
        let ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3, ptr4, len4;
        try {
            ptr0 = isLikeNone(chat) ? 0 : passArray32ToWasm0(chat, wasm.__wbindgen_malloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = passArray8ToWasm0(carried, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
            ptr2 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
            len2 = WASM_VECTOR_LEN;
            ptr3 = isLikeNone(book) ? 0 : passArray8ToWasm0(book, wasm.__wbindgen_malloc);
            len3 = WASM_VECTOR_LEN;
            ptr4 = isLikeNone(metadata) ? 0 : passArray8ToWasm0(metadata, wasm.__wbindgen_malloc);
            len4 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr4) { wasm.__wbindgen_free(ptr4, len4 * 1, 1); }
            if (ptr3) { wasm.__wbindgen_free(ptr3, len3 * 1, 1); }
            if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 4, 4); }
            throw e;
        }
        const ret = wasm.journal_sync(this.__wbg_ptr, ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3, ptr4, len4, val6);
        if (ret[3]) {
            throw takeFromExternrefTable0(ret[2]);
        }
        let v7;
        if (ret[0] !== 0) {
            v7 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
            wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
        }
        return v7;
    }
    /**
     * A JSON array of the uids of records whose book file was not checked yet; nothing if there
     * are none.
     * @param {string} book_name
     * @returns {Uint8Array | undefined}
     */
    unchecked(book_name) {
        const ptr0 = passStringToWasm0(book_name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
        const len0 = WASM_VECTOR_LEN;
        const ret = wasm.journal_unchecked(this.__wbg_ptr, ptr0, len0);
        let v2;
        if (ret[0] !== 0) {
            v2 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
            wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
        }
        return v2;
    }
}
if (Symbol.dispose) Journal.prototype[Symbol.dispose] = Journal.prototype.free;

/**
 * Books that the page has looked for by name.
 */
export class NamedBooks {
    __destroy_into_raw() {
        const ptr = this.__wbg_ptr;
        this.__wbg_ptr = 0;
        NamedBooksFinalization.unregister(this);
        return ptr;
    }
    free() {
        const ptr = this.__destroy_into_raw();
        wasm.__wbg_namedbooks_free(ptr, 0);
    }
    /**
     * @param {Uint8Array | number[]} name
     * @param {Uint8Array | number[] | null} [bytes]
     */
    add(name, bytes) {
        let ptr0, len0, ptr1, len1;
        try {
            ptr0 = passArray8ToWasm0(name, wasm.__wbindgen_malloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = isLikeNone(bytes) ? 0 : passArray8ToWasm0(bytes, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
            throw e;
        }
        wasm.namedbooks_add(this.__wbg_ptr, ptr0, len0, ptr1, len1);
    }
    constructor() {
        const ret = wasm.namedbooks_new();
        this.__wbg_ptr = ret;
        NamedBooksFinalization.register(this, this.__wbg_ptr, this);
        return this;
    }
}
if (Symbol.dispose) NamedBooks.prototype[Symbol.dispose] = NamedBooks.prototype.free;

export class PageGuard {
    __destroy_into_raw() {
        const ptr = this.__wbg_ptr;
        this.__wbg_ptr = 0;
        PageGuardFinalization.unregister(this);
        return ptr;
    }
    free() {
        const ptr = this.__destroy_into_raw();
        wasm.__wbg_pageguard_free(ptr, 0);
    }
    /**
     * Begins a save. Returns the number of the job.
     * @param {string} name
     * @param {number | null | undefined} copy
     * @param {Uint8Array | number[]} text
     * @returns {number}
     */
    begin(name, copy, text) {
        const val3 = +(isLikeNone(copy) ? Number.MAX_SAFE_INTEGER : (copy) >>> 0);
        let ptr0, len0, ptr1, len1;
        try {
            ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
            throw e;
        }
        const ret = wasm.pageguard_begin(this.__wbg_ptr, ptr0, len0, val3, ptr1, len1);
        return ret >>> 0;
    }
    /**
     * @param {string} name
     * @param {number} copy
     * @param {Uint8Array | number[] | null} [text]
     */
    cached(name, copy, text) {
        const val3 = +copy;
        let ptr0, len0, ptr1, len1;
        try {
            ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = isLikeNone(text) ? 0 : passArray8ToWasm0(text, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
            throw e;
        }
        wasm.pageguard_cached(this.__wbg_ptr, ptr0, len0, val3, ptr1, len1);
    }
    /**
     * @param {number} original
     * @param {number} copy
     * @param {Uint8Array | number[] | null} [text]
     */
    copied(original, copy, text) {
        const val2 = +original;
        const val3 = +copy;
        var ptr0 = isLikeNone(text) ? 0 : passArray8ToWasm0(text, wasm.__wbindgen_malloc);
        var len0 = WASM_VECTOR_LEN;
        wasm.pageguard_copied(this.__wbg_ptr, val2, val3, ptr0, len0);
    }
    /**
     * @param {string} name
     */
    forget(name) {
        const ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
        const len0 = WASM_VECTOR_LEN;
        wasm.pageguard_forget(this.__wbg_ptr, ptr0, len0);
    }
    /**
     * @param {string} name
     * @param {number} copy
     * @param {Uint8Array | number[]} text
     * @returns {boolean}
     */
    is_based_on(name, copy, text) {
        const val3 = +copy;
        let ptr0, len0, ptr1, len1;
        try {
            ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
            throw e;
        }
        const ret = wasm.pageguard_is_based_on(this.__wbg_ptr, ptr0, len0, val3, ptr1, len1);
        return ret !== 0;
    }
    /**
     * @param {number} original
     * @returns {boolean}
     */
    may_be_edited(original) {
        const ret = wasm.pageguard_may_be_edited(this.__wbg_ptr, original);
        return ret !== 0;
    }
    constructor() {
        const ret = wasm.pageguard_new();
        this.__wbg_ptr = ret;
        PageGuardFinalization.register(this, this.__wbg_ptr, this);
        return this;
    }
    /**
     * What to do after this event. The answer's book is the text to send or write, if any.
     * @param {number} job
     * @param {Uint8Array | number[]} event
     * @param {Uint8Array | number[] | null} [text]
     * @returns {Answer}
     */
    next(job, event, text) {
        const val3 = +job;
        let ptr0, len0, ptr1, len1;
        try {
            ptr0 = passArray8ToWasm0(event, wasm.__wbindgen_malloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = isLikeNone(text) ? 0 : passArray8ToWasm0(text, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
            throw e;
        }
        const ret = wasm.pageguard_next(this.__wbg_ptr, val3, ptr0, len0, ptr1, len1);
        if (ret[2]) {
            throw takeFromExternrefTable0(ret[1]);
        }
        return Answer.__wrap(ret[0]);
    }
    /**
     * @param {number} copy
     */
    release(copy) {
        wasm.pageguard_release(this.__wbg_ptr, copy);
    }
    /**
     * @param {string} name
     * @param {Uint8Array | number[]} text
     */
    remember(name, text) {
        let ptr0, len0, ptr1, len1;
        try {
            ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
            throw e;
        }
        wasm.pageguard_remember(this.__wbg_ptr, ptr0, len0, ptr1, len1);
    }
    /**
     * @param {string} name
     * @param {number} copy
     * @param {Uint8Array | number[]} text
     */
    replaced(name, copy, text) {
        const val3 = +copy;
        let ptr0, len0, ptr1, len1;
        try {
            ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
            throw e;
        }
        wasm.pageguard_replaced(this.__wbg_ptr, ptr0, len0, val3, ptr1, len1);
    }
    /**
     * @returns {Answer}
     */
    take_news() {
        const ret = wasm.pageguard_take_news(this.__wbg_ptr);
        return Answer.__wrap(ret);
    }
    /**
     * @param {string} name
     * @returns {boolean}
     */
    was_read_twice(name) {
        const ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
        const len0 = WASM_VECTOR_LEN;
        const ret = wasm.pageguard_was_read_twice(this.__wbg_ptr, ptr0, len0);
        return ret !== 0;
    }
    /**
     * @param {string} name
     * @param {Uint8Array | number[]} text
     */
    wrote(name, text) {
        let ptr0, len0, ptr1, len1;
        try {
            ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
            len0 = WASM_VECTOR_LEN;
            ptr1 = passArray8ToWasm0(text, wasm.__wbindgen_malloc);
            len1 = WASM_VECTOR_LEN;
        } catch (e) {
            if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
            if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
            throw e;
        }
        wasm.pageguard_wrote(this.__wbg_ptr, ptr0, len0, ptr1, len1);
    }
}
if (Symbol.dispose) PageGuard.prototype[Symbol.dispose] = PageGuard.prototype.free;

/**
 * What becomes of the book of the timeline called `name` when it is deleted.
 * @param {Uint8Array | number[]} ask
 * @returns {Answer}
 */
export function book_fate(ask) {
    const ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.book_fate(ptr0, len0);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * A key that is equal for all spellings of a book's name.
 * @param {string} name
 * @returns {string}
 */
export function book_key(name) {
    let deferred2_0;
    let deferred2_1;
    try {
        const ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
        const len0 = WASM_VECTOR_LEN;
        const ret = wasm.book_key(ptr0, len0);
        deferred2_0 = ret[0];
        deferred2_1 = ret[1];
        return getStringFromWasm0(ret[0], ret[1]);
    } finally {
        wasm.__wbindgen_free(deferred2_0, deferred2_1, 1);
    }
}

/**
 * The books that a chat names in its metadata, in its messages, passed as an array, and in the
 * queue of its book. `isComplete` is false if the messages may name more and were not passed;
 * `own` are the books that belong to the chat.
 * @param {Uint8Array | number[]} metadata
 * @param {Uint8Array | number[] | null} [messages]
 * @param {Uint8Array | number[] | null} [book]
 * @returns {Answer}
 */
export function books_named(metadata, messages, book) {
    let ptr0, len0, ptr1, len1, ptr2, len2;
    try {
        ptr0 = passArray8ToWasm0(metadata, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = isLikeNone(messages) ? 0 : passArray8ToWasm0(messages, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
        ptr2 = isLikeNone(book) ? 0 : passArray8ToWasm0(book, wasm.__wbindgen_malloc);
        len2 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.books_named(ptr0, len0, ptr1, len1, ptr2, len2);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * The stem of the file in which SillyTavern stores a chat of this name.
 * @param {string} name
 * @returns {string | undefined}
 */
export function chat_stem(name) {
    const ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.chat_stem(ptr0, len0);
    let v2;
    if (ret[0] !== 0) {
        v2 = getStringFromWasm0(ret[0], ret[1]);
        wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
    }
    return v2;
}

/**
 * The names of those of the chats `others` that may name a renamed chat.
 * @param {Uint8Array | number[]} ask
 * @returns {Answer}
 */
export function chats_naming(ask) {
    const ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.chats_naming(ptr0, len0);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * Checks whether the chat can be forked at this message, and how exact the fork would be.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} chat
 * @param {Uint8Array | number[] | null} [book]
 * @returns {Answer}
 */
export function check(ask, chat, book) {
    let ptr0, len0, ptr1, len1, ptr2, len2;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(chat, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
        ptr2 = isLikeNone(book) ? 0 : passArray8ToWasm0(book, wasm.__wbindgen_malloc);
        len2 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.check(ptr0, len0, ptr1, len1, ptr2, len2);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * @param {Uint8Array | number[]} ask
 * @returns {Answer}
 */
export function cleanup(ask) {
    const ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.cleanup(ptr0, len0);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * Compares two books and the metadata of their chats against their merge base.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[] | null} [base]
 * @param {Uint8Array | number[] | null} [left]
 * @param {Uint8Array | number[] | null} [right]
 * @returns {Answer}
 */
export function compare(ask, base, left, right) {
    let ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = isLikeNone(base) ? 0 : passArray8ToWasm0(base, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
        ptr2 = isLikeNone(left) ? 0 : passArray8ToWasm0(left, wasm.__wbindgen_malloc);
        len2 = WASM_VECTOR_LEN;
        ptr3 = isLikeNone(right) ? 0 : passArray8ToWasm0(right, wasm.__wbindgen_malloc);
        len3 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr3) { wasm.__wbindgen_free(ptr3, len3 * 1, 1); }
        if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.compare(ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * Rewrites the request with which the page saves a child, so that the child gets its own book.
 *
 * `later` is an array of the parent's messages after the child's last one. `memories` are the
 * other books that Memory Books names, `shared` the character's book that the child may get a
 * copy of.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} body
 * @param {Uint8Array | number[]} later
 * @param {Uint8Array | number[] | null | undefined} book
 * @param {NamedBooks} memories
 * @param {Uint8Array | number[] | null} [shared]
 * @returns {Answer}
 */
export function fork(ask, body, later, book, memories, shared) {
    let ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3, ptr4, ptr5, len5;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(body, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
        ptr2 = passArray8ToWasm0(later, wasm.__wbindgen_malloc);
        len2 = WASM_VECTOR_LEN;
        ptr3 = isLikeNone(book) ? 0 : passArray8ToWasm0(book, wasm.__wbindgen_malloc);
        len3 = WASM_VECTOR_LEN;
        _assertClass(memories, NamedBooks);
        ptr4 = memories.__destroy_into_raw();
        ptr5 = isLikeNone(shared) ? 0 : passArray8ToWasm0(shared, wasm.__wbindgen_malloc);
        len5 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr5) { wasm.__wbindgen_free(ptr5, len5 * 1, 1); }
        if (ptr4) wasm.__wbg_namedbooks_free(ptr4, 1);
        if (ptr3) { wasm.__wbindgen_free(ptr3, len3 * 1, 1); }
        if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.fork(ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3, ptr4, ptr5, len5);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * What follows from the user's answer to a question before a fork.
 * @param {string} choice
 * @returns {Answer}
 */
export function fork_choice(choice) {
    const ptr0 = passStringToWasm0(choice, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.fork_choice(ptr0, len0);
    return Answer.__wrap(ret);
}

/**
 * Finds the fork point of two timelines.
 * @param {Uint8Array | number[]} ask
 * @returns {Answer}
 */
export function fork_point(ask) {
    const ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.fork_point(ptr0, len0);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * What an index keeps of each of `heads`: the part of its metadata that describes the timeline,
 * and the findings about the rest.
 * @param {Uint8Array | number[]} heads
 * @returns {Answer}
 */
export function index_records(heads) {
    const ptr0 = passArray8ToWasm0(heads, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.index_records(ptr0, len0);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * Whether an entry with this title is ST-Auto-Recap's bookkeeping rather than lore.
 * @param {string} title
 * @returns {boolean}
 */
export function is_internal(title) {
    const ptr0 = passStringToWasm0(title, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.is_internal(ptr0, len0);
    return ret !== 0;
}

/**
 * Whether the journal records this key of a chat's metadata.
 * @param {string} key
 * @returns {boolean}
 */
export function is_recorded(key) {
    const ptr0 = passStringToWasm0(key, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.is_recorded(ptr0, len0);
    return ret !== 0;
}

/**
 * Whether two texts are the same book under two names.
 * @param {Uint8Array | number[]} one
 * @param {Uint8Array | number[]} other
 * @returns {boolean}
 */
export function is_same_lore(one, other) {
    let ptr0, len0, ptr1, len1;
    try {
        ptr0 = passArray8ToWasm0(one, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(other, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.is_same_lore(ptr0, len0, ptr1, len1);
    return ret !== 0;
}

/**
 * The entries at a message, and how they changed since.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} chat
 * @param {Uint8Array | number[] | null} [book]
 * @returns {Answer}
 */
export function lore(ask, chat, book) {
    let ptr0, len0, ptr1, len1, ptr2, len2;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(chat, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
        ptr2 = isLikeNone(book) ? 0 : passArray8ToWasm0(book, wasm.__wbindgen_malloc);
        len2 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.lore(ptr0, len0, ptr1, len1, ptr2, len2);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * Plans how to merge their changes into our book. The answer's book is ours with the plan applied.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[] | null | undefined} base
 * @param {Uint8Array | number[]} ours
 * @param {Uint8Array | number[]} theirs
 * @returns {Answer}
 */
export function merge(ask, base, ours, theirs) {
    let ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = isLikeNone(base) ? 0 : passArray8ToWasm0(base, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
        ptr2 = passArray8ToWasm0(ours, wasm.__wbindgen_malloc);
        len2 = WASM_VECTOR_LEN;
        ptr3 = passArray8ToWasm0(theirs, wasm.__wbindgen_malloc);
        len3 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr3) { wasm.__wbindgen_free(ptr3, len3 * 1, 1); }
        if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.merge(ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * Finds the merge base at a message from the records of the timelines that had it in common.
 * `chats` and `books` are arrays in the order of `witnesses`; the first two are the timelines to
 * compare.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} chats
 * @param {Uint8Array | number[]} books
 * @returns {Answer}
 */
export function merge_base(ask, chats, books) {
    let ptr0, len0, ptr1, len1, ptr2, len2;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(chats, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
        ptr2 = passArray8ToWasm0(books, wasm.__wbindgen_malloc);
        len2 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.merge_base(ptr0, len0, ptr1, len1, ptr2, len2);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * The whole book and the chat's metadata at a message.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} chat
 * @param {Uint8Array | number[] | null} [book]
 * @returns {Answer}
 */
export function moment_book(ask, chat, book) {
    let ptr0, len0, ptr1, len1, ptr2, len2;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(chat, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
        ptr2 = isLikeNone(book) ? 0 : passArray8ToWasm0(book, wasm.__wbindgen_malloc);
        len2 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.moment_book(ptr0, len0, ptr1, len1, ptr2, len2);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * A free name for the book that belongs to a chat.
 * @param {Uint8Array | number[]} ask
 * @returns {string}
 */
export function name_for_book(ask) {
    let deferred3_0;
    let deferred3_1;
    try {
        const ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        const len0 = WASM_VECTOR_LEN;
        const ret = wasm.name_for_book(ptr0, len0);
        var ptr2 = ret[0];
        var len2 = ret[1];
        if (ret[3]) {
            ptr2 = 0; len2 = 0;
            throw takeFromExternrefTable0(ret[2]);
        }
        deferred3_0 = ptr2;
        deferred3_1 = len2;
        return getStringFromWasm0(ptr2, len2);
    } finally {
        wasm.__wbindgen_free(deferred3_0, deferred3_1, 1);
    }
}

/**
 * A name for a new chat: `wanted`, made valid for a file and numbered if it is taken.
 * @param {Uint8Array | number[]} ask
 * @returns {string}
 */
export function name_for_chat(ask) {
    let deferred3_0;
    let deferred3_1;
    try {
        const ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        const len0 = WASM_VECTOR_LEN;
        const ret = wasm.name_for_chat(ptr0, len0);
        var ptr2 = ret[0];
        var len2 = ret[1];
        if (ret[3]) {
            ptr2 = 0; len2 = 0;
            throw takeFromExternrefTable0(ret[2]);
        }
        deferred3_0 = ptr2;
        deferred3_1 = len2;
        return getStringFromWasm0(ptr2, len2);
    } finally {
        wasm.__wbindgen_free(deferred3_0, deferred3_1, 1);
    }
}

/**
 * Where a chat with this many messages was forked from, according to its seal; `null` if it was not
 * forked by Forklore.
 * @param {Uint8Array | number[]} metadata
 * @param {number} messages
 * @returns {Answer}
 */
export function origin(metadata, messages) {
    const val2 = +messages;
    const ptr0 = passArray8ToWasm0(metadata, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.origin(ptr0, len0, val2);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * The work that ST-Auto-Recap has not finished, according to a chat's metadata, its book's queue
 * and the extension itself.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} book
 * @returns {Answer}
 */
export function pending_work(ask, book) {
    let ptr0, len0, ptr1, len1;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(book, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.pending_work(ptr0, len0, ptr1, len1);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * The places in a chat that name the chat `name`, as paths from `{metadata, messages}` on.
 * @param {string} name
 * @param {Uint8Array | number[]} chat
 * @returns {Answer}
 */
export function places_naming(name, chat) {
    let ptr0, len0, ptr1, len1;
    try {
        ptr0 = passStringToWasm0(name, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(chat, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.places_naming(ptr0, len0, ptr1, len1);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * Plans a repair, a split or a restore. `other` is the book to copy or, for a split, the parent's
 * chat if there is one.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} chat
 * @param {Uint8Array | number[] | null} [book]
 * @param {Uint8Array | number[] | null} [other]
 * @returns {Answer}
 */
export function plan_repair(ask, chat, book, other) {
    let ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(chat, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
        ptr2 = isLikeNone(book) ? 0 : passArray8ToWasm0(book, wasm.__wbindgen_malloc);
        len2 = WASM_VECTOR_LEN;
        ptr3 = isLikeNone(other) ? 0 : passArray8ToWasm0(other, wasm.__wbindgen_malloc);
        len3 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr3) { wasm.__wbindgen_free(ptr3, len3 * 1, 1); }
        if (ptr2) { wasm.__wbindgen_free(ptr2, len2 * 1, 1); }
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.plan_repair(ptr0, len0, ptr1, len1, ptr2, len2, ptr3, len3);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * What a request saves: the open chat, a child of it that needs a book, or another chat.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} body
 * @returns {Answer}
 */
export function read_save(ask, body) {
    let ptr0, len0, ptr1, len1;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(body, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.read_save(ptr0, len0, ptr1, len1);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * The newest state in the journal at or before a message, the message that it belongs to, and for
 * each part whether it is exact. `chat` is an array of the chat's header and messages.
 * @param {Uint8Array | number[]} chat
 * @param {number} message
 * @returns {Uint8Array | undefined}
 */
export function recorded_state(chat, message) {
    const val2 = +message;
    const ptr0 = passArray8ToWasm0(chat, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.recorded_state(ptr0, len0, val2);
    if (ret[3]) {
        throw takeFromExternrefTable0(ret[2]);
    }
    let v3;
    if (ret[0] !== 0) {
        v3 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
        wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
    }
    return v3;
}

/**
 * The request that saves a child bound to no book, for the case that its fork fails.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} body
 * @returns {Uint8Array}
 */
export function save_without_book(ask, body) {
    let ptr0, len0, ptr1, len1;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(body, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.save_without_book(ptr0, len0, ptr1, len1);
    if (ret[3]) {
        throw takeFromExternrefTable0(ret[2]);
    }
    var v3 = getArrayU8FromWasm0(ret[0], ret[1]).slice();
    wasm.__wbindgen_free(ret[0], ret[1] * 1, 1);
    return v3;
}

/**
 * Whether a request saves the open chat, as far as its start tells.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} start
 * @returns {boolean}
 */
export function saves_open(ask, start) {
    let ptr0, len0, ptr1, len1;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(start, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.saves_open(ptr0, len0, ptr1, len1);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return ret[0] !== 0;
}

/**
 * The scenes in an array of messages.
 * @param {Uint8Array | number[]} messages
 * @returns {Answer}
 */
export function scenes(messages) {
    const ptr0 = passArray8ToWasm0(messages, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.scenes(ptr0, len0);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * The parts of a message that the core reads, and those that [`scenes`] reads; and the title of
 * the entry that holds the queue.
 * @returns {Answer}
 */
export function shapes() {
    const ret = wasm.shapes();
    return Answer.__wrap(ret);
}

/**
 * Who keeps the book of the first of `timelines`, and who is split off, as numbers: everyone else
 * in its family who shares it, or only the first.
 * @param {Uint8Array | number[]} ask
 * @returns {Answer}
 */
export function split_off(ask) {
    const ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.split_off(ptr0, len0);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

export function start() {
    wasm.start();
}

/**
 * The timelines called `names`, from their `records` in an index (`null` if there is none), as they
 * are displayed. `known` lists the books that exist; `books` are those of them that were read, as
 * for `verify`.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} books
 * @returns {Answer}
 */
export function timelines(ask, books) {
    let ptr0, len0, ptr1, len1;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(books, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.timelines(ptr0, len0, ptr1, len1);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * What is not final yet about a message.
 * @param {Uint8Array | number[]} ask
 * @returns {Answer}
 */
export function unfinished(ask) {
    const ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
    const len0 = WASM_VECTOR_LEN;
    const ret = wasm.unfinished(ptr0, len0);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * Verifies all given timelines. `books` is an object of the books they name, by name; a book that
 * could not be read is `null`.
 * @param {Uint8Array | number[]} ask
 * @param {Uint8Array | number[]} books
 * @returns {Answer}
 */
export function verify(ask, books) {
    let ptr0, len0, ptr1, len1;
    try {
        ptr0 = passArray8ToWasm0(ask, wasm.__wbindgen_malloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passArray8ToWasm0(books, wasm.__wbindgen_malloc);
        len1 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.verify(ptr0, len0, ptr1, len1);
    if (ret[2]) {
        throw takeFromExternrefTable0(ret[1]);
    }
    return Answer.__wrap(ret[0]);
}

/**
 * Compares two texts word by word.
 * @param {string} before
 * @param {string} after
 * @returns {Answer}
 */
export function words(before, after) {
    let ptr0, len0, ptr1, len1;
    try {
        ptr0 = passStringToWasm0(before, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
        len0 = WASM_VECTOR_LEN;
        ptr1 = passStringToWasm0(after, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
        len1 = WASM_VECTOR_LEN;
    } catch (e) {
        if (ptr1) { wasm.__wbindgen_free(ptr1, len1 * 1, 1); }
        if (ptr0) { wasm.__wbindgen_free(ptr0, len0 * 1, 1); }
        throw e;
    }
    const ret = wasm.words(ptr0, len0, ptr1, len1);
    return Answer.__wrap(ret);
}
function __wbg_get_imports() {
    const import0 = {
        __proto__: null,
        __wbg_Error_208446807d0d1e30: function(arg0, arg1) {
            const ret = Error(getStringFromWasm0(arg0, arg1));
            return ret;
        },
        __wbg___wbindgen_throw_4c88d8bf264fd984: function(arg0, arg1) {
            throw new Error(getStringFromWasm0(arg0, arg1));
        },
        __wbg_folded_92e3262db2c96c11: function(arg0, arg1, arg2) {
            const ret = folded(getStringFromWasm0(arg1, arg2));
            const ptr1 = passStringToWasm0(ret, wasm.__wbindgen_malloc, wasm.__wbindgen_realloc);
            const len1 = WASM_VECTOR_LEN;
            getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 1, len1, true);
            getDataViewMemory0().setInt32((arg0 >>> 0) + 4 * 0, ptr1, true);
        },
        __wbindgen_init_externref_table: function() {
            const table = wasm.__wbindgen_externrefs;
            table.set(0, undefined);
            table.set(1024, undefined);
            table.set(1025, null);
            table.set(1026, true);
            table.set(1027, false);
        },
    };
    return {
        __proto__: null,
        "./forklore_bg.js": import0,
    };
}

const AnswerFinalization = (typeof FinalizationRegistry === 'undefined')
    ? { register: () => {}, unregister: () => {} }
    : new FinalizationRegistry(ptr => wasm.__wbg_answer_free(ptr, 1));
const JournalFinalization = (typeof FinalizationRegistry === 'undefined')
    ? { register: () => {}, unregister: () => {} }
    : new FinalizationRegistry(ptr => wasm.__wbg_journal_free(ptr, 1));
const NamedBooksFinalization = (typeof FinalizationRegistry === 'undefined')
    ? { register: () => {}, unregister: () => {} }
    : new FinalizationRegistry(ptr => wasm.__wbg_namedbooks_free(ptr, 1));
const PageGuardFinalization = (typeof FinalizationRegistry === 'undefined')
    ? { register: () => {}, unregister: () => {} }
    : new FinalizationRegistry(ptr => wasm.__wbg_pageguard_free(ptr, 1));

function _assertClass(instance, klass) {
    if (!(instance instanceof klass)) {
        throw new Error(`expected instance of ${klass.name}`);
    }
}

function getArrayU8FromWasm0(ptr, len) {
    ptr = ptr >>> 0;
    return getUint8ArrayMemory0().subarray(ptr / 1, ptr / 1 + len);
}

let cachedDataViewMemory0 = null;
function getDataViewMemory0() {
    if (cachedDataViewMemory0 === null || cachedDataViewMemory0.buffer.detached === true || (cachedDataViewMemory0.buffer.detached === undefined && cachedDataViewMemory0.buffer !== wasm.memory.buffer)) {
        cachedDataViewMemory0 = new DataView(wasm.memory.buffer);
    }
    return cachedDataViewMemory0;
}

function getStringFromWasm0(ptr, len) {
    ptr = ptr >>> 0;
    return decodeText(getUint8ArrayMemory0().subarray(ptr, ptr + len));
}

let cachedUint32ArrayMemory0 = null;
function getUint32ArrayMemory0() {
    if (cachedUint32ArrayMemory0 === null || cachedUint32ArrayMemory0.byteLength === 0) {
        cachedUint32ArrayMemory0 = new Uint32Array(wasm.memory.buffer);
    }
    return cachedUint32ArrayMemory0;
}

let cachedUint8ArrayMemory0 = null;
function getUint8ArrayMemory0() {
    if (cachedUint8ArrayMemory0 === null || cachedUint8ArrayMemory0.byteLength === 0) {
        cachedUint8ArrayMemory0 = new Uint8Array(wasm.memory.buffer);
    }
    return cachedUint8ArrayMemory0;
}

function isLikeNone(x) {
    return x === undefined || x === null;
}

function passArray32ToWasm0(arg, malloc) {
    const ptr = malloc(arg.length * 4, 4) >>> 0;
    getUint32ArrayMemory0().set(arg, ptr / 4);
    WASM_VECTOR_LEN = arg.length;
    return ptr;
}

function passArray8ToWasm0(arg, malloc) {
    const ptr = malloc(arg.length * 1, 1) >>> 0;
    getUint8ArrayMemory0().set(arg, ptr / 1);
    WASM_VECTOR_LEN = arg.length;
    return ptr;
}

function passStringToWasm0(arg, malloc, realloc) {
    if (realloc === undefined) {
        const buf = cachedTextEncoder.encode(arg);
        const ptr = malloc(buf.length, 1) >>> 0;
        getUint8ArrayMemory0().subarray(ptr, ptr + buf.length).set(buf);
        WASM_VECTOR_LEN = buf.length;
        return ptr;
    }

    let len = arg.length;
    let ptr = malloc(len, 1) >>> 0;

    const mem = getUint8ArrayMemory0();

    let offset = 0;

    for (; offset < len; offset++) {
        const code = arg.charCodeAt(offset);
        if (code > 0x7F) break;
        mem[ptr + offset] = code;
    }
    if (offset !== len) {
        if (offset !== 0) {
            arg = arg.slice(offset);
        }
        ptr = realloc(ptr, len, len = offset + arg.length * 3, 1) >>> 0;
        const view = getUint8ArrayMemory0().subarray(ptr + offset, ptr + len);
        const ret = cachedTextEncoder.encodeInto(arg, view);

        offset += ret.written;
        ptr = realloc(ptr, len, offset, 1) >>> 0;
    }

    WASM_VECTOR_LEN = offset;
    return ptr;
}

function takeFromExternrefTable0(idx) {
    const value = wasm.__wbindgen_externrefs.get(idx);
    wasm.__externref_table_dealloc(idx);
    return value;
}

let cachedTextDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
cachedTextDecoder.decode();
const MAX_SAFARI_DECODE_BYTES = 2146435072;
let numBytesDecoded = 0;
function decodeText(bytes) {
    numBytesDecoded += bytes.length;
    if (numBytesDecoded >= MAX_SAFARI_DECODE_BYTES) {
        cachedTextDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
        cachedTextDecoder.decode();
        numBytesDecoded = bytes.length;
    }
    return cachedTextDecoder.decode(bytes);
}

const cachedTextEncoder = new TextEncoder();

if (!('encodeInto' in cachedTextEncoder)) {
    cachedTextEncoder.encodeInto = function (arg, view) {
        const buf = cachedTextEncoder.encode(arg);
        view.set(buf);
        return {
            read: arg.length,
            written: buf.length
        };
    };
}

let WASM_VECTOR_LEN = 0;

let wasmModule, wasmInstance, wasm;
function __wbg_finalize_init(instance, module) {
    wasmInstance = instance;
    wasm = instance.exports;
    wasmModule = module;
    cachedDataViewMemory0 = null;
    cachedUint32ArrayMemory0 = null;
    cachedUint8ArrayMemory0 = null;
    wasm.__wbindgen_start();
    return wasm;
}

async function __wbg_load(module, imports) {
    if (typeof Response === 'function' && module instanceof Response) {
        if (!module.ok) {
            throw new Error(`failed to fetch Wasm: ${module.status} ${module.statusText} fetching '${module.url}'`);
        }

        if (typeof WebAssembly.instantiateStreaming === 'function') {
            try {
                return await WebAssembly.instantiateStreaming(module, imports);
            } catch (e) {
                const validResponse = expectedResponseType(module.type);

                if (validResponse && module.headers.get('Content-Type') !== 'application/wasm') {
                    console.warn("`WebAssembly.instantiateStreaming` failed because your server does not serve Wasm with `application/wasm` MIME type. Falling back to `WebAssembly.instantiate` which is slower. Original error:\n", e);

                } else { throw e; }
            }
        }

        const bytes = await module.arrayBuffer();
        return await WebAssembly.instantiate(bytes, imports);
    } else {
        const instance = await WebAssembly.instantiate(module, imports);

        if (instance instanceof WebAssembly.Instance) {
            return { instance, module };
        } else {
            return instance;
        }
    }

    function expectedResponseType(type) {
        switch (type) {
            case 'basic': case 'cors': case 'default': return true;
        }
        return false;
    }
}

function initSync(module) {
    if (wasm !== undefined) return wasm;


    if (module !== undefined) {
        if (Object.getPrototypeOf(module) === Object.prototype) {
            ({module} = module)
        } else {
            console.warn('using deprecated parameters for `initSync()`; pass a single object instead')
        }
    }

    const imports = __wbg_get_imports();
    if (!(module instanceof WebAssembly.Module)) {
        module = new WebAssembly.Module(module);
    }
    const instance = new WebAssembly.Instance(module, imports);
    return __wbg_finalize_init(instance, module);
}

let __wbg_init_promise;
async function __wbg_init(module_or_path) {
    if (wasm !== undefined) return wasm;
    if (__wbg_init_promise === undefined) {
        __wbg_init_promise = __wbg_init_once(module_or_path);
        __wbg_init_promise.catch(() => { __wbg_init_promise = undefined; });
    }
    return __wbg_init_promise;
}

async function __wbg_init_once(module_or_path) {

    if (module_or_path !== undefined) {
        if (Object.getPrototypeOf(module_or_path) === Object.prototype) {
            ({module_or_path} = module_or_path)
        } else {
            console.warn('using deprecated parameters for the initialization function; pass a single object instead')
        }
    }

    if (module_or_path === undefined) {
        module_or_path = new URL('forklore_bg.wasm', import.meta.url);
    }
    const imports = __wbg_get_imports();

    if (typeof module_or_path === 'string' || (typeof Request === 'function' && module_or_path instanceof Request) || (typeof URL === 'function' && module_or_path instanceof URL)) {
        module_or_path = fetch(module_or_path);
    }

    const { instance, module } = await __wbg_load(await module_or_path, imports);

    return __wbg_finalize_init(instance, module);
}

export { initSync, __wbg_init as default };
