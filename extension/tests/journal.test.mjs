import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { FIELD, Journal } from '../features/journal/journal.js';
import { Page, clone, core, entry, recorded } from './journal_page.mjs';

/** A chat in which the variable `gold` was 0, 1, 2, … at its messages. */
function story(length) {
    const page = new Page();
    for (let message = 0; message < length; message++) {
        page.says(`message ${message}`);
        page.metadata.variables.gold = message;
        page.sync();
    }
    return page;
}

describe('what changes belongs to the message that was the last', () => {
    test('until the next one comes', () => {
        const page = story(3);
        page.metadata.variables.gold = 7;
        page.says('one', 'two');
        assert.deepEqual(page.gold(), [0, 1, 7, 7, 7]);
        page.metadata.variables.gold = 8;
        page.sync();
        assert.deepEqual(page.gold(), [0, 1, 7, 7, 8]);
    });

    test('and a message in which nothing changed says just that', () => {
        const page = story(2);
        page.says('next');
        assert.deepEqual(Object.keys(page.chat[2][FIELD]), ['v', 'id', 'uid', 'came']);
        assert.equal(page.chat[2][FIELD].id, page.chat[1][FIELD].id);
    });

    test('and where nothing changed nothing is written', () => {
        const page = story(3);
        assert.deepEqual(page.sync(), { changed: false, last: page.chat[2][FIELD] });
        assert.deepEqual(page.reload(), { changed: false, last: page.chat[2][FIELD] });
        page.metadata.integrity = 'another';
        assert.equal(page.sync().changed, false);
    });

    test('also where the book is another, or none', () => {
        const page = story(2);
        page.bound = 'Other';
        page.says('next');
        page.bound = null;
        page.says('next');
        page.books.Lore.entries[9] = entry(9, 'new');
        page.bound = 'Lore';
        page.sync();
        const names = page.chat.map((_, message) => recorded(page.chat, message).state.book?.name ?? null);
        assert.deepEqual(names, ['Lore', 'Other', null, 'Lore']);
    });
});

describe('records belong to places', () => {
    test('a deleted one goes to the message before', () => {
        const page = story(5);
        page.chat.splice(2, 1);
        page.sync();
        assert.deepEqual(page.gold(), [0, 2, 3, 4]);
        page.chat.splice(1, 2);
        page.sync();
        assert.deepEqual(page.gold(), [3, 4]);
    });

    test('the first one goes to the message after', () => {
        const page = story(4);
        page.chat.shift();
        page.sync();
        assert.deepEqual(page.gold(), [1, 2, 3]);
        page.chat.splice(0, 2);
        page.sync();
        assert.deepEqual(page.gold(), [3]);
        page.metadata.variables.gold = 9;
        page.says('next');
        assert.deepEqual(page.gold(), [9, 9]);
    });

    test('the first one goes past those that have none, to the next that has', () => {
        const page = story(1);
        page.isOn = false;
        page.says('unseen');
        page.isOn = true;
        page.metadata.variables.gold = 2;
        page.says('seen');
        page.says('another');
        page.chat.shift();
        page.sync();
        assert.deepEqual(page.gold(), [null, 2, 2]);
        page.metadata.variables.gold = 3;
        page.says('more');
        page.isOn = false;
        page.chat.unshift({ mes: 'unseen' });
        page.isOn = true;
        page.reload();
        // It cannot be told whether it was inserted, or a message with a record was moved.
        assert.deepEqual(page.gold(), [null, null, null, 3, 3]);
        page.chat.splice(0, 3);
        page.sync();
        assert.deepEqual(page.gold(), [3, 3]);
    });

    test('the last ones go, and the one before is the last again', () => {
        const page = story(5);
        page.chat.splice(3);
        page.sync();
        assert.deepEqual(page.gold(), [0, 1, 4]);
        page.metadata.variables.gold = 9;
        page.sync();
        assert.deepEqual(page.gold(), [0, 1, 9]);
        page.chat.splice(2);
        page.says('instead');
        assert.deepEqual(page.gold(), [0, 9, 9]);
        page.chat.splice(1);
        page.reload();
        assert.deepEqual(page.gold(), [9]);
    });

    test('swapped messages leave them where they are', () => {
        const page = story(4);
        const swap = (one, other) => ([page.chat[one], page.chat[other]] = [page.chat[other], page.chat[one]]);
        swap(1, 2);
        page.sync();
        swap(2, 3);
        page.sync();
        swap(0, 1);
        page.sync();
        assert.deepEqual(page.gold(), [0, 1, 2, 3]);
        page.metadata.variables.gold = 5;
        page.says('next');
        assert.deepEqual(page.gold(), [0, 1, 2, 5, 5]);
    });

    test('a message that comes in between changed nothing', () => {
        const page = story(4);
        page.chat.splice(2, 0, { mes: 'new' }, clone(page.chat[3]));
        page.sync();
        assert.deepEqual(page.gold(), [0, 1, 1, 1, 2, 3]);
        page.chat.unshift({ mes: 'new' });
        page.sync();
        assert.deepEqual(page.gold(), [null, 0, 1, 1, 1, 2, 3]);
    });

    test('a copy takes the place of its original', () => {
        const page = story(3);
        page.chat[1] = { mes: 'written anew' };
        page.sync();
        page.chat[2] = clone(page.chat[2]);
        page.sync();
        assert.deepEqual(page.gold(), [0, 1, 2]);
    });

    test('another chat brings its own', () => {
        const page = story(3);
        const other = story(2);
        page.chat = other.chat;
        page.metadata = clone(other.metadata);
        page.sync();
        assert.deepEqual(page.gold(), [0, 1]);
        page.chat = [];
        page.sync();
        page.says('first', 'second');
        assert.deepEqual(page.gold(), [null, 1]);
    });
});

describe('what is not known is not claimed', () => {
    test('while it was off', () => {
        const page = story(2);
        page.isOn = false;
        page.metadata.variables.gold = 7;
        assert.deepEqual(page.says('unseen'), { changed: false, last: null });
        page.says('unseen');
        page.isOn = true;
        page.sync();
        assert.deepEqual(page.gold(), [0, 1, null, 7]);
    });

    test('while the book is missing, nor is the book forgotten', () => {
        const page = story(2);
        page.isMissing = true;
        page.says('next');
        page.chat.splice(0, 1);
        page.sync();
        assert.deepEqual(page.gold(), [1, null]);
        assert.equal(recorded(page.chat, 1).state.book.name, 'Lore');
        page.isMissing = false;
        page.book.entries[5].content = 'mended';
        page.sync();
        assert.deepEqual(page.gold(), [1, 1]);
        assert.equal(recorded(page.chat, 1).state.book.content.entries[5].content, 'mended');
    });

    test('of a message that came after the last was replaced, while the book is missing', () => {
        const page = story(3);
        page.isMissing = true;
        page.sync();
        page.chat[2] = { mes: 'another' };
        page.metadata.variables.gold = 7;
        page.says('next');
        assert.deepEqual(page.gold(), [0, 1, null, null]);
        page.isMissing = false;
        page.sync();
        assert.deepEqual(page.gold(), [0, 1, null, 7]);
    });

    test('of messages that changed places unseen, even when what showed it is gone', () => {
        const page = story(1);
        page.says('nothing changes');
        page.says('richer');
        page.metadata.variables.gold = 7;
        page.says('and on');
        [page.chat[1], page.chat[2]] = [page.chat[2], page.chat[1]];
        page.reload();
        assert.deepEqual(page.gold(), [0, null, null, 7]);
        page.chat.length = 3;
        page.sync();
        assert.deepEqual(page.gold(), [0, null, 7]);
    });

    test('where the book is too large', () => {
        const page = story(2);
        page.largestBook = 200;
        page.reload();
        page.metadata.variables.gold = 5;
        page.says('next');
        assert.deepEqual(page.gold(), [0, null, null]);
        page.largestBook = 1 << 20;
        page.reload();
        assert.deepEqual(page.gold(), [0, null, 5]);
    });

    test('where records were lost', () => {
        const page = story(5);
        delete page.chat[2][FIELD];
        page.reload();
        assert.deepEqual(page.gold(), [0, 1, null, null, 4]);
        page.says('next');
        assert.deepEqual(page.gold(), [0, 1, null, null, 4, 4]);
    });
});

test('records can be taken out', () => {
    const page = story(3);
    assert.equal(page.journal.strip(page.chat), 3);
    assert.ok(page.chat.every((message) => !(FIELD in message)));
    assert.equal(page.journal.strip(page.chat), 0);
});

test('a record that somebody takes away is put back', () => {
    const page = story(3);
    delete page.chat[1][FIELD];
    assert.equal(page.sync().changed, true);
    assert.deepEqual(page.gold(), [0, 1, 2]);
});

test('an error of the core leaves the chat as it was, and the next call begins anew', () => {
    let fails = false;
    const failing = {
        ...core,
        Journal: class {
            #inner = new core.Journal('r');
            constructor() {
                for (const name of ['knows', 'arrived', 'unchecked', 'file_checked', 'forget']) {
                    this[name] = (...given) => this.#inner[name](...given);
                }
            }
            sync(...given) {
                if (fails) {
                    throw new Error('of the core');
                }
                return this.#inner.sync(...given);
            }
        },
    };
    const page = new Page();
    page.journal = new Journal({ core: failing, isOn: () => true, largestBook: () => 1 << 20 });
    page.says('first');
    fails = true;
    page.metadata.variables.gold = 1;
    const before = JSON.stringify(page.chat);
    assert.throws(() => page.says('next'), /of the core/);
    assert.equal(JSON.stringify(page.chat), before);
    fails = false;
    page.says('next');
    assert.deepEqual(page.gold(), [0, 1]);
});

test('a look at the file of another book says nothing of messages that came before it was bound', () => {
    const page = story(1);
    page.journal.arrive(page.chat, () => page.now(), () => page.chat.push({ mes: 'next' }));
    page.bound = 'Other';
    page.sync();
    page.fileIsRead('Other');
    assert.equal(page.chat[1][FIELD].came.file, undefined);
    page.fileIsRead('Lore');
    assert.equal(page.chat[1][FIELD].came.file, true);
});

test('records of any shape do no harm', () => {
    const odd = [5, 'text', [], { came: { book: 'x' } }, { uid: 7, came: { book: 'x' } }, { v: 2, uid: {}, came: 3 }, { v: 2, id: '', uid: '1-a', came: { after: [], book: 1 } }];
    for (const record of odd) {
        const page = story(2);
        page.chat[0][FIELD] = record;
        page.chat[1][FIELD] = clone(record);
        page.reload();
        page.says('next');
        page.chat.splice(1, 1);
        page.sync();
        assert.deepEqual(page.gold(), [1, 1], JSON.stringify(record));
    }
});

test('half a character comes through', () => {
    const page = story(1);
    page.metadata.variables.mood = '\ud800 alone';
    page.book.entries[5].content = 'x\udfff';
    page.says('next');
    const { state } = recorded(page.chat, 1);
    assert.equal(state.metadata.variables.mood, '\ud800 alone');
    assert.equal(state.book.content.entries[5].content, 'x\udfff');
});

test('when nothing changed 5,000 messages are looked through in well under a millisecond', () => {
    const page = story(1);
    page.says(...Array.from({ length: 4999 }, () => 'x'));
    const now = { ...page.now(), bookText: undefined };
    const times = Array.from({ length: 200 }, () => {
        const start = performance.now();
        assert.equal(page.journal.sync(page.chat, now).changed, false);
        return performance.now() - start;
    });
    // The fastest run, because a busy machine says nothing about the code.
    assert.ok(Math.min(...times) < 0.5, `${Math.min(...times)} ms`);
});
