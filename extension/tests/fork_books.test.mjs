// What a fork reads, for the question before it and for its save.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ForkBooks } from '../features/fork/fork_books.js';

function stage() {
    const reads = [];
    const host = {
        edit: undefined,
        fails: false,
        bookNames: async () => {
            if (host.fails) {
                throw new Error('the server is restarting');
            }
            return ['Lore', 'Other'];
        },
        readBook: async (name) => {
            reads.push(name);
            return new Uint8Array([reads.length]);
        },
        newestEdit: () => host.edit,
    };
    return { host, reads, books: new ForkBooks({ host, core: { sameBook: (one, other) => one === other } }) };
}

test('the save after the question uses the book that was read for it', async () => {
    const { reads, books } = stage();
    const [question, save] = [await books.read('Lore'), await books.read('Lore')];
    assert.deepEqual(question, save);
    assert.deepEqual(reads, ['Lore']);
});

test('it is read again if it was edited, written or is another one', async () => {
    const { host, reads, books } = stage();
    await books.read('Lore');
    host.edit = {};
    await books.read('Lore');
    books.forget();
    await books.read('Lore');
    await books.read('Other');
    assert.deepEqual(reads, ['Lore', 'Lore', 'Lore', 'Other']);
});

test('it is read again after a second', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] });
    const { reads, books } = stage();
    await books.read('Lore');
    t.mock.timers.tick(1000);
    await books.read('Lore');
    assert.equal(reads.length, 2);
});

test('a failure is not remembered', async () => {
    const { host, books } = stage();
    host.fails = true;
    await assert.rejects(books.read('Lore'), /restarting/);
    host.fails = false;
    assert.deepEqual((await books.read('Lore')).names, ['Lore', 'Other']);
});

test('a book that is not listed does not exist', async () => {
    const { books } = stage();
    assert.deepEqual(await books.read('Gone'), { names: ['Lore', 'Other'], book: undefined });
    assert.deepEqual((await books.read(null)).book, undefined);
});
