// What happens to the open chat while a repair writes its book.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toBytes } from '../core/json.js';
import { editsOf } from '../features/chat_change.js';
import { Journal } from '../features/journal/journal.js';
import { Repairs } from '../features/repair/repairs.js';
import { DEFAULTS } from '../features/settings.js';
import { Trash } from '../features/trash/trash.js';
import { Tavern, realCore } from './tavern.mjs';

const BOOK = { book: { name: 'New' }, bytes: toBytes({ entries: {} }) };
const PLANNED = { messages: { 1: { extra: { recap: 'of m1' } }, 3: { extra: { recap: 'of m3' } } } };

/** Binds the open chat to a new book, with something that happens while the book is written. */
async function applyWhile(tavern, happens) {
    const host = tavern.host();
    const writeBook = async (request) => {
        await host.writeBook(request);
        happens(tavern.open);
    };
    const repairs = new Repairs({ host: { ...host, writeBook }, core: await realCore(), trash: new Trash({ host, settings: DEFAULTS }), onChange: () => {} });
    const open = host.openChat();
    const edits = editsOf(open, { ...PLANNED, metadata: { ...open.metadata, world_info: 'New' } });
    return repairs.apply({ ...BOOK, edits }, open, { code: 'split' });
}

const extras = ({ messages }) => Object.fromEntries(messages.map(({ mes, extra }) => [mes, extra]));

test('a message that is deleted while the book is written does not stop the others from being updated', async () => {
    const tavern = new Tavern();
    await applyWhile(tavern, ({ messages }) => messages.splice(1, 1));
    assert.deepEqual(extras(tavern.open), { m0: {}, m2: {}, m3: { recap: 'of m3' } });
    assert.equal(tavern.chats.get('Main')[0].chat_metadata.world_info, 'New');
});

test('what is set in the metadata while the book is written stays, and is no part of what can be undone', async () => {
    const tavern = new Tavern({ metadata: { variables: { hp: 1, gone: 1 } } });
    const change = await applyWhile(tavern, ({ metadata }) => {
        metadata.variables.hp = 99;
        delete metadata.variables.gone;
        metadata.other = [1];
    });
    const { world_info, variables, other } = tavern.chats.get('Main')[0].chat_metadata;
    assert.deepEqual([world_info, variables, other], ['New', { hp: 99 }, [1]]);
    assert.deepEqual([change.before, change.after], [{ world_info: 'Lore' }, { world_info: 'New' }]);
});

test('what was bound by hand while the book is written stays bound', async () => {
    const tavern = new Tavern();
    await assert.rejects(applyWhile(tavern, ({ metadata }) => { metadata.world_info = 'By hand'; }), { word: { code: 'chat-changed', values: { chat: 'Main' } } });
    assert.equal(tavern.open.metadata.world_info, 'By hand');
});

test('if another chat is opened while the book is written, only the file of the right one is changed', async () => {
    const tavern = new Tavern();
    tavern.chats.get('Main').push({ mes: 'from the phone', extra: {} });
    const other = Array.from({ length: 4 }, (_, index) => ({ mes: `other ${index}`, extra: {} }));
    await applyWhile(tavern, (open) => {
        // SillyTavern refills the same list.
        open.messages.splice(0, Infinity, ...other);
        tavern.open = { ...open, name: 'Other', metadata: { integrity: 'of the other' } };
    });
    assert.deepEqual(extras(tavern.open), { 'other 0': {}, 'other 1': {}, 'other 2': {}, 'other 3': {} });
    assert.deepEqual(tavern.open.metadata, { integrity: 'of the other' });
    assert.deepEqual(tavern.log.filter(([what]) => what === 'saveOpenChat'), []);
    const [header, ...messages] = tavern.chats.get('Main');
    assert.equal(header.chat_metadata.world_info, 'New');
    assert.deepEqual(messages.map(({ mes, extra }) => [mes, extra.recap]), [['m0'], ['m1', 'of m1'], ['m2'], ['m3', 'of m3'], ['from the phone']].map(([mes, recap]) => [mes, recap]));
});

test('a closed chat that has lines which nobody can read is not written', async () => {
    const tavern = new Tavern();
    tavern.torn = '{"mes":';
    const before = JSON.stringify([...tavern.chats]);
    await assert.rejects(applyWhile(tavern, (open) => { tavern.open = { ...open, name: 'Other', metadata: {} }; }), { word: { code: 'chat-unreadable', values: { chat: 'Main' } } });
    assert.equal(JSON.stringify([...tavern.chats]), before);
});

test('a missing book is made anew, copied or given up', async () => {
    for (const [choice, book] of [[{ source: 'empty' }, 'Lore'], [{ source: 'copy', book: 'Other' }, 'Lore'], [{ source: 'detach' }, undefined]]) {
        const tavern = new Tavern();
        tavern.books.delete('Lore');
        tavern.books.set('Other', { entries: { 0: { uid: 0, comment: 'b', content: 'other' } } });
        const host = tavern.host();
        const repairs = new Repairs({ host, core: await realCore(), trash: new Trash({ host, settings: DEFAULTS }), onChange: () => {} });
        await repairs.repair(choice);
        assert.equal(tavern.open.metadata.world_info, book, choice.source);
        assert.equal(tavern.books.has('Lore'), book !== undefined, choice.source);
    }
});

test('what cannot be repaired from says why, and the ways that there are are listed', async () => {
    const tavern = new Tavern();
    tavern.books.delete('Lore');
    const host = tavern.host();
    const repairs = new Repairs({ host, core: await realCore(), trash: new Trash({ host, settings: DEFAULTS }), onChange: () => {} });
    await assert.rejects(repairs.repair({ source: 'journal' }), { word: { code: 'no-journal', values: { chat: 'Main' } } });
    assert.deepEqual(await repairs.repairOptions(), { book: 'Lore', journal: null, recap: null, books: [] });
});

/** Repairs of a chat whose book has a registry with two places, of which message 1 knew one. */
async function twoPlaces(operations = []) {
    const core = await realCore();
    const place = (uid, name) => ({ uid, comment: `location-${name}`, content: name });
    const registry = (lines) => ({ uid: 1, comment: '_registry_location', content: `[Registry: location]\n${lines}` });
    const line = (uid, name) => `- uid: ${uid} | name: ${name} | aliases: — | synopsis: —`;
    const queue = { uid: 9, comment: '__operation_queue', content: JSON.stringify({ queue: operations }) };
    const then = { entries: { 1: registry(line(2, 'Mill')), 2: place(2, 'Mill'), 9: queue } };
    const now = { entries: { 1: registry(`${line(2, 'Mill')}\n${line(3, 'Reef')}`), 2: place(2, 'Mill'), 3: place(3, 'Reef'), 9: queue } };
    const tavern = new Tavern({ book: now, metadata: { auto_lorebooks: { registry: { index: { 2: { uid: '2', type: 'location' }, 3: { uid: '3', type: 'location' } } } } } });
    const journal = new Journal({ core: core.wasm, isOn: () => true, largestBook: () => 1e6 });
    journal.sync(tavern.open.messages.slice(0, 2), { bookName: 'Lore', bookText: JSON.stringify(then), metadata: {} });
    journal.sync(tavern.open.messages, { bookName: 'Lore', bookText: JSON.stringify(now), metadata: {} });
    const host = tavern.host();
    return { tavern, repairs: new Repairs({ host, core, trash: new Trash({ host, settings: DEFAULTS }), onChange: () => {} }) };
}

test('with the lore, what ST-Auto-Recap lists of it in the chat goes back', async () => {
    const { tavern, repairs } = await twoPlaces();
    await repairs.restore(1);
    assert.deepEqual(Object.keys(tavern.books.get('Lore').entries), ['1', '2', '9']);
    assert.deepEqual(Object.keys(tavern.open.metadata.auto_lorebooks.registry.index), ['2']);
    assert.deepEqual(Object.keys(tavern.chats.get('Main')[0].chat_metadata.auto_lorebooks.registry.index), ['2']);
});

for (const [where, operations, inMemory, word] of [
    ['in the lorebook', [{ id: 'a', status: 'in_progress' }], 0, { code: 'queue-busy', values: { count: 1 } }],
    ['in its memory', [], 2, { code: 'queue-busy', values: { count: 2 } }],
]) {
    test(`while ST-Auto-Recap has operations ${where}, no lore is restored`, async () => {
        const { tavern, repairs } = await twoPlaces(operations);
        tavern.recapOperations = inMemory;
        tavern.log.length = 0;
        await assert.rejects(repairs.restore(1), { word });
        assert.deepEqual(tavern.log.filter(([what]) => what.startsWith('write')), []);
        // What was left behind by an extension that is not there stops nothing.
        tavern.recapOperations = null;
        await repairs.restore(1);
        assert.equal(tavern.books.get('Lore').entries[3], undefined);
    });
}
