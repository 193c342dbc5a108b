// What must be true of the files after a fork.

import assert from 'node:assert/strict';

/**
 * @typedef {import('./files.mjs').Files} Files
 * @typedef {import('./story.mjs').Tale} Tale
 */

/**
 * @typedef {object} Fork
 * @property {string} child its name
 * @property {'checkpoint' | 'branch'} kind
 * @property {number} message the child's last one
 * @property {number} [swipe] of that message, if it is not the one on display
 */

/** The files before a fork. The chat in the page has to be saved. @param {Files} files @param {Tale} tale */
export function lookAround(files, tale) {
    return {
        chats: files.chats(tale),
        books: files.books(),
        parent: files.chat(tale),
        bookText: files.book(tale.book).text,
    };
}

/**
 * What SillyTavern itself does, and must still do: it writes the child and its parent, and nothing else.
 *
 * @param {Files} files
 * @param {Tale} tale
 * @param {ReturnType<typeof lookAround>} before
 * @param {Fork} fork
 */
export function assertForked(files, tale, before, { child, kind, message, swipe }) {
    assert.deepEqual(sorted(files.chats(tale)), sorted([...before.chats, child]), 'the chats that there are');

    const { metadata, messages } = files.chat(tale, child);
    assert.equal(metadata.main_chat, tale.chat, 'the parent that the child names');
    assert.match(metadata.integrity, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.notEqual(metadata.integrity, before.parent.metadata.integrity, 'the child has a slug of its own');
    assert.deepEqual(inherited(metadata), inherited(before.parent.metadata), "the rest of the child's metadata");

    const copied = before.parent.messages.slice(0, message + 1);
    if (swipe !== undefined) {
        copied.push(swipedTo(copied.pop(), swipe));
    }
    assert.deepEqual(messages.map(withoutJournal), copied.map(withoutJournal), "the child's messages");

    const parent = files.chat(tale);
    const linked = before.parent.messages.map(withoutJournal);
    if (kind === 'checkpoint') {
        linked[message].extra.bookmark_link = child;
    }
    assert.deepEqual(parent.messages.map(withoutJournal), linked, "the parent's messages");
    assert.deepEqual(parent.metadata, before.parent.metadata, "the parent's metadata");
    assert.equal(files.book(tale.book).text, before.bookText, "the bytes of the parent's book");
}

/**
 * What Forklore adds: the child has its own book, with the content of the parent's book at that message.
 *
 * @param {Files} files
 * @param {Tale} tale
 * @param {ReturnType<typeof lookAround>} before
 * @param {Fork & { book: any, part?: any }} fork `book`: the child's expected book; `part`: how well it is known
 */
export function assertOwnLore(files, tale, before, { child, kind, message, book, part = { exactness: 'exact' } }) {
    const { metadata } = files.chat(tale, child);
    const own = metadata.world_info;
    assert.deepEqual(sorted(files.books()), sorted([...before.books, own]), 'one book more, bound to the child');
    assert.ok(!before.books.includes(own), "the child's book is not one that was there");
    assertSameBook(files.book(own).value, book);

    const { forklore: seal } = metadata;
    assert.ok(seal, 'the child has a seal');
    assert.equal(seal.format, 2);
    assert.equal(seal.kind, kind);
    assert.deepEqual(seal.parent, { chat: tale.chat, integrity: before.parent.metadata.integrity, message });
    assert.equal(seal.book.name, own);
    assert.equal(seal.book.from, tale.book);
    assert.equal(seal.book.entries, Object.keys(book.entries).length);
    assert.match(seal.book.digest, /^blake3:[0-9a-f]{64}$/);
    assert.deepEqual({ ...seal.book, ...part }, seal.book, 'how the book is known');
    assert.ok(Array.isArray(seal.warnings));
    assertTime(seal.made);

    const mark = files.book(own).value.extensions.forklore;
    assert.equal(mark.format, 1);
    assert.equal(mark.chat, child);
    assert.equal(mark.integrity, metadata.integrity);
    assert.deepEqual(mark.from, { book: tale.book, chat: tale.chat, message });
    assertTime(mark.made);
}

/** Everything in the same order, except for Forklore's mark. */
export function assertSameBook(actual, expected) {
    const text = (book) => JSON.stringify(withoutMark(book), null, 4);
    assert.equal(text(actual), text(expected), 'the book');
}

function withoutMark(book) {
    const copy = structuredClone(book);
    delete copy.extensions?.forklore;
    if (copy.extensions && Object.keys(copy.extensions).length === 0) {
        delete copy.extensions;
    }
    return copy;
}

/** A message without Forklore's journal field. */
export function withoutJournal(message) {
    const { forklore: _record, ...rest } = structuredClone(message);
    return rest;
}

/** A message as SillyTavern shows it after a swipe: with the swipe's own text, dates and `extra`. */
function swipedTo(message, swipe) {
    return { ...message, swipe_id: swipe, mes: message.swipes[swipe], ...message.swipe_info[swipe] };
}

function assertTime(text) {
    assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
}

/** What a child inherits unchanged from its parent. */
function inherited({ main_chat, integrity, world_info, forklore, ...rest }) {
    return rest;
}

/** Without duplicates: a chat may have replaced another. */
function sorted(names) {
    return [...new Set(names)].sort();
}
