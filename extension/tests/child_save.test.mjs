// Saves of new children, with the real core and a tavern in memory.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ChildSaveHandler } from '../features/fork/child_save.js';
import { ForkBooks } from '../features/fork/fork_books.js';
import { Journal } from '../features/journal/journal.js';
import { DEFAULTS } from '../features/settings.js';
import { Tavern, realCore } from './tavern.mjs';

async function handler(tavern, changes = {}, parts = {}) {
    const calls = { forked: [], errors: [], asked: [] };
    const [host, core] = [tavern.host(), await realCore()];
    const saves = new ChildSaveHandler({
        host,
        core,
        books: new ForkBooks({ host, core }),
        settings: { ...DEFAULTS, ...changes },
        untilReady: async () => true,
        ask: async (refusal) => { calls.asked.push(refusal.obstacles.map((obstacle) => obstacle.code)); return 'live'; },
        onForked: (report) => calls.forked.push(report),
        onError: (error) => calls.errors.push(error.message),
        ...parts,
    });
    return { saves, calls };
}

const handle = async (saves, held) => saves.handle(held, await saves.read(held));
const metadataOf = (held) => held.sent.chat[0].chat_metadata;
const QUEUE = { uid: 9, comment: '__operation_queue', content: '{"queue":[{"id":"a","status":"pending"}],"current_operation_id":null}' };
const busyBook = () => ({ entries: { 0: { uid: 0, content: 'old' }, 9: { ...QUEUE } } });

test('a child at the last message is born with a copy of the book, written before it', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern);
    const held = tavern.childSave();
    await handle(saves, held);
    assert.deepEqual(calls.errors, []);
    const own = metadataOf(held).world_info;
    assert.equal(own, 'Child - Lore');
    assert.deepEqual(tavern.books.get(own).entries, tavern.books.get('Lore').entries);
    assert.deepEqual(tavern.log.map(([what]) => what), ['writeBook', 'save']);
    assert.equal(metadataOf(held).forklore.parent.integrity, 'slug of the parent');
    assert.deepEqual([calls.forked[0].part.exactness, calls.forked[0].book.entries], ['exact', 1]);
    assert.equal(tavern.open.metadata.world_info, 'Lore');
});

test('where nothing recorded the past, its owner is asked', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern);
    const held = tavern.childSave({ last: 1 });
    await handle(saves, held);
    assert.deepEqual(calls.asked, [['book-not-known']]);
    assert.equal(calls.forked[0].part.exactness, 'live');
});

test('who refuses what is not exact gets a child without a book', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern, { whenInexact: 'refuse' });
    const held = tavern.childSave({ last: 1 });
    await handle(saves, held);
    assert.equal(metadataOf(held).world_info, undefined);
    assert.deepEqual(calls.forked[0].remarks.map((remark) => remark.code).slice(0, 1), ['without-book']);
});

test('a busy queue is waited for', async () => {
    const tavern = new Tavern({ book: busyBook() });
    const untilReady = async () => { tavern.books.get('Lore').entries[9].content = '{"queue":[]}'; return true; };
    const { saves, calls } = await handler(tavern, {}, { untilReady });
    const held = tavern.childSave();
    await handle(saves, held);
    assert.equal(metadataOf(held).world_info, 'Child - Lore');
    assert.equal(calls.forked[0].book.entries, 2);
});

for (const [how, hasBook] of [['wait', false], ['drain', true], ['without', false]]) {
    test(`a queue that stays busy, with "${how}"`, async () => {
        const tavern = new Tavern({ book: busyBook() });
        const { saves } = await handler(tavern, { whenBusy: how }, { untilReady: async () => false });
        const held = tavern.childSave();
        await handle(saves, held);
        assert.equal(metadataOf(held).world_info, hasBook ? 'Child - Lore' : undefined);
        if (hasBook) {
            assert.match(tavern.books.get('Child - Lore').entries[9].content, /"queue": \[\]/);
        }
        assert.match(tavern.books.get('Lore').entries[9].content, /pending/, 'the parent\'s queue stays');
    });
}

for (const broken of ['writeBook', 'disk']) {
    test(`when the book cannot be written (${broken}), the child has none rather than its parent's`, async () => {
        const tavern = new Tavern();
        tavern.broken.add(broken);
        const { saves, calls } = await handler(tavern);
        const held = tavern.childSave();
        await handle(saves, held);
        assert.equal('world_info' in metadataOf(held), false);
        assert.equal(metadataOf(held).main_chat, 'Main');
        assert.equal(calls.errors.length, 1);
        assert.equal(calls.forked.length, 0);
    });
}

test('when SillyTavern refuses the child, its book goes again', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern);
    await handle(saves, tavern.childSave({ accepted: false }));
    assert.deepEqual([...tavern.books.keys()], ['Lore']);
    assert.deepEqual(calls.forked, []);
});

test('a child that has been there before is only saved', async () => {
    const tavern = new Tavern();
    const { saves } = await handler(tavern);
    await handle(saves, tavern.childSave());
    tavern.log = [];
    const again = tavern.childSave({ metadata: { world_info: 'Child - Lore' } });
    await handle(saves, again);
    assert.deepEqual(tavern.log, [['save', 'Child']]);
    assert.equal(metadataOf(again).world_info, 'Child - Lore');
});

test('a second child of one name does not take the first one\'s book', async () => {
    const tavern = new Tavern();
    const { saves } = await handler(tavern);
    await handle(saves, tavern.childSave());
    const other = tavern.childSave({ metadata: { integrity: 'another slug' } });
    await handle(saves, other);
    assert.equal(metadataOf(other).world_info, 'Child - Lore (2)');
});

test('a child that SillyTavern gives its parent\'s slug gets its own, also in place of an older one', async () => {
    const tavern = new Tavern();
    const { saves } = await handler(tavern);
    const withParentsSlug = () => tavern.childSave({ metadata: { integrity: 'slug of the parent' } });
    const first = withParentsSlug();
    await handle(saves, first);
    assert.match(metadataOf(first).integrity, /^\d{8}$/, 'a fresh one');
    const second = withParentsSlug();
    await handle(saves, second);
    assert.equal(metadataOf(second).world_info, 'Child - Lore (2)', 'not its parent\'s');
});

test('the book that Memory Books keeps beside the chat\'s own is forked without later memories', async () => {
    const tavern = new Tavern();
    const memory = (uid, end) => ({ uid, content: `up to ${end}`, STMB_start: 0, STMB_end: end, STMB_chatId: tavern.open.name });
    tavern.books.set('Memories', { entries: { 0: memory(0, 1), 1: memory(1, 99) } });
    const notes = { STMemoryBooks: { manualLorebook: 'Memories', highestMemoryProcessed: 99 } };
    const { saves, calls } = await handler(tavern);
    Object.assign(saves.host, { hasMemoryBooks: () => true, choosesMemoryBook: () => true });
    const held = tavern.childSave({ metadata: notes });
    await handle(saves, held);
    assert.deepEqual(calls.errors, []);
    const { manualLorebook, highestMemoryProcessed, branchLorebookCopies } = metadataOf(held).STMemoryBooks;
    assert.equal(manualLorebook, 'Child - Memories');
    assert.equal(highestMemoryProcessed, 1);
    assert.equal(branchLorebookCopies.branchChatId, 'Child');
    assert.deepEqual(tavern.books.get(manualLorebook).entries, { 0: { ...memory(0, 1), STMB_chatId: 'Child' } });
    assert.ok(calls.forked[0].remarks.some(({ code }) => code === 'memories-live'));
    assert.equal(Object.keys(tavern.books.get('Memories').entries).length, 2);
    const books = [...tavern.books.keys()];
    await handle(saves, tavern.childSave({ accepted: false, metadata: { ...notes, integrity: 'another slug' } }));
    assert.deepEqual([...tavern.books.keys()], books, 'where the child was not saved, both go again');
});

test('whoever turned it off gets what SillyTavern does', async () => {
    const tavern = new Tavern();
    const { saves } = await handler(tavern, { isolate: false });
    const held = tavern.childSave();
    await handle(saves, held);
    assert.equal(metadataOf(held).world_info, 'Lore');
    assert.equal(metadataOf(held).forklore, undefined);
});

test('what a message holds beside text comes through whole', async () => {
    const tavern = new Tavern();
    tavern.open.messages[1] = { mes: '\ud800 \u2028', odd: [1e21, -0, null], extra: { x: { y: '😀' } } };
    const { saves } = await handler(tavern);
    const held = tavern.childSave();
    await handle(saves, held);
    assert.deepEqual(held.sent.chat[2], JSON.parse(JSON.stringify(tavern.open.messages[1])));
});

test('the child of a chat whose book is lost takes the journal\'s, not what was put in its place', async () => {
    const tavern = new Tavern();
    const journal = new Journal({ core: (await realCore()).wasm, isOn: () => true, largestBook: () => 1e6 });
    journal.sync(tavern.open.messages, { bookName: 'Lost', bookText: JSON.stringify({ entries: { 3: { uid: 3, content: 'lore' } } }), metadata: {} });
    const { saves } = await handler(tavern, {}, { lost: () => 'Lost' });
    const held = tavern.childSave();
    await handle(saves, held);
    assert.deepEqual(tavern.books.get(metadataOf(held).world_info).entries, { 3: { uid: 3, content: 'lore' } });
});

test('a child that somebody gave a book of its own is left alone', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern);
    const held = tavern.childSave({ metadata: { world_info: 'Theirs' } });
    await handle(saves, held);
    assert.deepEqual([metadataOf(held).world_info, calls.forked, [...tavern.books.keys()]], ['Theirs', [], ['Lore']]);
});

test('a refused child does not take the book away from the one that was faster', async () => {
    const tavern = new Tavern();
    const { saves } = await handler(tavern);
    const held = tavern.childSave({ accepted: false });
    const send = held.send;
    held.send = async (body) => {
        tavern.chats.set('Child', [{ chat_metadata: { integrity: 'of another page', world_info: 'Child - Lore' } }]);
        return send(body);
    };
    await handle(saves, held);
    assert.ok(tavern.books.has('Child - Lore'));
});
