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
const whyWithout = (calls) => calls.forked[0].remarks.find(({ code }) => code === 'without-book')?.values.why;
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

test('a lorebook that SillyTavern cannot read leaves the child without one, and that is the reason', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern, { whenInexact: 'nearest' });
    saves.forkBooks.host = { ...saves.host, readBook: async () => { throw Object.assign(new Error('SillyTavern answered 500'), { status: 500 }); } };
    const held = tavern.childSave();
    await handle(saves, held);
    assert.deepEqual(calls.errors, []);
    assert.equal(metadataOf(held).world_info, undefined);
    assert.equal(whyWithout(calls), 'unreadable');
});

test('an edit that is not saved yet, made in a copy that another device has overtaken, is only as last seen', async () => {
    const exactness = async (isBasedOn) => {
        const tavern = new Tavern();
        const { saves, calls } = await handler(tavern, {}, { isBasedOn: () => isBasedOn });
        Object.assign(saves.host, { newestEdit: () => ({}), bookOnServer: async () => '{"entries":{"0":{"uid":0,"content":"theirs"}}}' });
        await handle(saves, tavern.childSave());
        return calls.forked[0].part.exactness;
    };
    assert.equal(await exactness(true), 'exact');
    assert.equal(await exactness(false), 'snapshot');
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
    assert.equal(whyWithout(calls), 'not-known');
});

for (const [how, decision, answer, why] of [['the user chose so', ['without-chosen'], null, 'chosen'], ['the question was not answered', [], 'cancel', 'not-answered']]) {
    test(`a child without a book says that ${how}`, async () => {
        const tavern = new Tavern();
        const { saves, calls } = await handler(tavern, {}, { ask: async () => answer });
        const open = { group: null, avatar: 'Ada.png', name: 'Main' };
        saves.pending.begin(open, 1, decision);
        await handle(saves, tavern.childSave({ last: 1 }));
        assert.equal(whyWithout(calls), why);
    });
}

for (const [why, change] of [['missing', (tavern) => tavern.books.delete('Lore')], ['unreadable', (tavern) => tavern.books.set('Lore', 'no book')]]) {
    test(`a child whose parent's book is ${why} says so`, async () => {
        const tavern = new Tavern();
        change(tavern);
        const { saves, calls } = await handler(tavern);
        await handle(saves, tavern.childSave());
        assert.equal(whyWithout(calls), why);
    });
}

test('a child that is not of a scene break says so', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern, { requireScene: true });
    await handle(saves, tavern.childSave());
    assert.equal(whyWithout(calls), 'not-scene-break');
});

test('a busy queue is waited for', async () => {
    const tavern = new Tavern({ book: busyBook() });
    const untilReady = async () => { tavern.books.get('Lore').entries[9].content = '{"queue":[]}'; return true; };
    const { saves, calls } = await handler(tavern, {}, { untilReady });
    const held = tavern.childSave();
    await handle(saves, held);
    assert.equal(metadataOf(held).world_info, 'Child - Lore');
    assert.equal(calls.forked[0].book.entries, 1, 'the queue is no lore');
});

for (const [how, hasBook] of [['wait', false], ['drain', true], ['without', false]]) {
    test(`a queue that stays busy, with "${how}"`, async () => {
        const tavern = new Tavern({ book: busyBook() });
        const { saves, calls } = await handler(tavern, { whenBusy: how }, { untilReady: async () => false });
        const held = tavern.childSave();
        await handle(saves, held);
        assert.equal(metadataOf(held).world_info, hasBook ? 'Child - Lore' : undefined);
        const { values } = calls.forked[0].remarks.find(({ code }) => code === 'without-book') ?? {};
        assert.deepEqual(values, hasBook ? undefined : { name: 'Lore', why: 'busy', count: 1 });
        if (hasBook) {
            assert.match(tavern.books.get('Child - Lore').entries[9].content, /"queue": \[\]/);
        }
        assert.match(tavern.books.get('Lore').entries[9].content, /pending/, 'the parent\'s queue stays');
    });
}

test('an operation that is only in the memory of ST-Auto-Recap is waited for', async () => {
    const tavern = new Tavern();
    tavern.recapOperations = 1;
    let waits = 0;
    const untilReady = async () => { waits += 1; tavern.recapOperations = 0; return true; };
    const { saves } = await handler(tavern, {}, { untilReady });
    const held = tavern.childSave();
    await handle(saves, held);
    assert.deepEqual([waits, metadataOf(held).world_info], [1, 'Child - Lore']);
});

test('without ST-Auto-Recap, a queue that it left behind is neither waited for nor taken along', async () => {
    const tavern = new Tavern({ book: busyBook(), metadata: { auto_recap_running_scene_recaps: { versions: [] } } });
    tavern.recapOperations = null;
    const { saves, calls } = await handler(tavern, { requireScene: true }, { untilReady: async () => assert.fail('nothing to wait for') });
    await handle(saves, tavern.childSave());
    assert.match(tavern.books.get('Child - Lore').entries[9].content, /"queue": \[\]/);
    assert.deepEqual(calls.forked[0].remarks, []);
});

test('a queue that ST-Auto-Recap itself cannot read is empty', async () => {
    const book = busyBook();
    book.entries[9].content = 'I wrote this by accident';
    const tavern = new Tavern({ book });
    const { saves, calls } = await handler(tavern, {}, { untilReady: async () => assert.fail('nothing to wait for') });
    await handle(saves, tavern.childSave());
    assert.equal(calls.forked[0].book.entries, 1);
});

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

test('a second checkpoint of one name does not take the first one\'s book', async () => {
    const tavern = new Tavern();
    const { saves } = await handler(tavern);
    Object.assign(saves.host, { kindOfFork: () => 'checkpoint' });
    await handle(saves, tavern.childSave());
    const other = tavern.childSave({ metadata: { integrity: 'another slug' } });
    await handle(saves, other);
    assert.equal(metadataOf(other).world_info, 'Child - Lore (2)');
});

test('a child does not take the name of a book that can still be put back', async () => {
    const tavern = new Tavern();
    const { saves } = await handler(tavern, {}, { trashed: () => ['Child - Lore'] });
    const held = tavern.childSave();
    await handle(saves, held);
    assert.equal(metadataOf(held).world_info, 'Child - Lore (2)');
});

test('a child that SillyTavern gives its parent\'s slug gets its own, also in place of an older one', async () => {
    const tavern = new Tavern();
    const { saves } = await handler(tavern);
    Object.assign(saves.host, { kindOfFork: () => 'checkpoint' });
    const withParentsSlug = () => tavern.childSave({ metadata: { integrity: 'slug of the parent' } });
    const first = withParentsSlug();
    await handle(saves, first);
    assert.match(metadataOf(first).integrity, /^\d{8}$/, 'a fresh one');
    const second = withParentsSlug();
    await handle(saves, second);
    assert.equal(metadataOf(second).world_info, 'Child - Lore (2)', 'not its parent\'s');
});

/** A memory of the open chat that ends at this message. */
const memory = (uid, end) => ({ uid, content: `up to ${end}`, STMB_start: 0, STMB_end: end, STMB_chatId: 'Main' });

/** A chat whose memories Memory Books keeps in five books beside the bound one; one of them is missing. */
function withMemoryBooks() {
    const tavern = new Tavern();
    for (const name of ['Memories', 'Ada', 'Bo', 'Maps']) {
        tavern.books.set(name, { entries: { 0: memory(0, 1), 1: memory(1, 99) } });
    }
    const notes = {
        highestMemoryProcessed: 99,
        manualLorebook: 'Memories',
        manualCharacterLorebooks: { ada: 'Ada', again: 'Ada', gone: 'Gone' },
        sidePromptLorebookOverrides: { map: 'Maps' },
        narratorMode: { version: 1, enabled: false, members: [{ id: 'b', name: 'Bo', lorebookName: 'Bo' }] },
    };
    return { tavern, metadata: { STMemoryBooks: notes } };
}

test('every book that Memory Books keeps beside the chat\'s own is forked without later memories', async () => {
    const { tavern, metadata } = withMemoryBooks();
    const before = structuredClone(tavern.books);
    const { saves, calls } = await handler(tavern);
    const held = tavern.childSave({ last: 2, metadata });
    await handle(saves, held);
    assert.deepEqual(calls.errors, []);
    const notes = metadataOf(held).STMemoryBooks;
    assert.equal(notes.manualLorebook, 'Child - Memories');
    assert.deepEqual(notes.manualCharacterLorebooks, { ada: 'Child - Ada', again: 'Child - Ada' });
    assert.deepEqual(notes.sidePromptLorebookOverrides, { map: 'Child - Maps' });
    assert.deepEqual(notes.narratorMode.members, [{ id: 'b', name: 'Bo', lorebookName: 'Child - Bo' }]);
    assert.equal(notes.highestMemoryProcessed, 1);
    const { branchChatId, status, mappings } = notes.branchLorebookCopies;
    assert.deepEqual([branchChatId, status, mappings.length], ['Child', 'failed', 5], 'one of its books is missing');
    for (const name of ['Memories', 'Ada', 'Bo', 'Maps']) {
        assert.deepEqual(tavern.books.get(`Child - ${name}`).entries, { 0: { ...memory(0, 1), STMB_chatId: 'Child' } });
        assert.deepEqual(tavern.books.get(name), before.get(name));
    }
    const said = (code) => calls.forked[0].remarks.filter((remark) => remark.code === code).map(({ values }) => values.name);
    assert.deepEqual(said('memories-live'), ['Memories', 'Ada', 'Maps', 'Bo']);
    assert.deepEqual(said('memories-left'), ['Gone']);
    const books = [...tavern.books.keys()];
    await handle(saves, tavern.childSave({ last: 2, accepted: false, metadata: { ...metadata, integrity: 'another slug' } }));
    assert.deepEqual([...tavern.books.keys()], books, 'where the child was not saved, all go again');
});

test('it is told that its books were copied if all of them were', async () => {
    const { tavern, metadata } = withMemoryBooks();
    delete metadata.STMemoryBooks.manualCharacterLorebooks.gone;
    const { saves, calls } = await handler(tavern);
    const held = tavern.childSave({ last: 2, metadata });
    await handle(saves, held);
    assert.deepEqual(calls.errors, []);
    assert.equal(metadataOf(held).STMemoryBooks.branchLorebookCopies.status, 'completed');
});

test('books that Memory Books named at that message, but not today, are read as well', async () => {
    const { tavern, metadata } = withMemoryBooks();
    const { saves } = await handler(tavern);
    const asked = [];
    const { fork } = saves.core;
    saves.core = { ...saves.core, fork: (...all) => {
        const answer = fork(...all);
        if (answer.body) {
            asked.push(all[4].map(({ name }) => name));
        }
        return asked.length === 1 ? { ...answer, value: { ...answer.value, unread: ['Then'] } } : answer;
    } };
    await handle(saves, tavern.childSave({ last: 2, metadata }));
    assert.deepEqual(asked[1], [...asked[0], 'Then']);
    assert.equal(asked.length, 2);
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

test('two saves of the same branch at once make one child, and both are answered', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern);
    const [first, second] = [tavern.childSave(), tavern.childSave({ metadata: { integrity: 'slug of the second' } })];
    const answers = await Promise.all([handle(saves, first), handle(saves, second)]);
    assert.deepEqual(answers.map(({ ok }) => ok), [true, true]);
    assert.equal(second.sent, null);
    assert.deepEqual([calls.errors, calls.forked.length, [...tavern.books.keys()]], [[], 1, ['Lore', 'Child - Lore']]);
});

test('a save under the name of another child is refused before anything is written', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern);
    const [first, second] = [tavern.childSave(), tavern.childSave({ last: 1, metadata: { integrity: 'slug of the second' } })];
    const [, refused] = await Promise.all([handle(saves, first), handle(saves, second)]);
    const answer = await refused.json();
    assert.deepEqual([refused.status, answer.error, second.sent], [409, undefined, null], 'not as if SillyTavern’s own check had failed');
    assert.deepEqual([calls.errors, [...tavern.books.keys()]], [['name-taken'], ['Lore', 'Child - Lore']]);
    assert.equal(tavern.chats.get('Child').length, 5);
});

test('children of different names are made one after the other, each with its own book', async () => {
    const tavern = new Tavern();
    const { saves, calls } = await handler(tavern);
    const names = ['One', 'Two', 'Three'];
    await Promise.all(names.map((name, last) => handle(saves, tavern.childSave({ name, last: 3 - last }))));
    assert.deepEqual(names.map((name) => tavern.chats.get(name)[0].chat_metadata.world_info), names.map((name) => `${name} - Lore`));
    assert.deepEqual([calls.errors, tavern.log.filter(([what]) => what === 'writeBook' || what === 'save').map(([, name]) => name)],
        [[], names.flatMap((name) => [`${name} - Lore`, name])]);
});

test('the book of a refused child stays if another chat uses it or somebody has changed it', async () => {
    for (const meanwhile of [
        (tavern) => tavern.chats.set('Another', [{ chat_metadata: { integrity: 'a', world_info: 'child - lore' } }]),
        (tavern) => tavern.books.set('Child - Lore', { entries: { 5: { uid: 5 } } }),
    ]) {
        const tavern = new Tavern();
        const { saves } = await handler(tavern);
        const held = tavern.childSave({ accepted: false });
        const { send } = held;
        held.send = async (body) => {
            meanwhile(tavern);
            return send(body);
        };
        await handle(saves, held);
        assert.ok(tavern.books.has('Child - Lore'));
    }
});
