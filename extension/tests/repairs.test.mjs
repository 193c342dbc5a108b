// What happens to the open chat while a repair writes its book.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toBytes } from '../core/json.js';
import { Repairs } from '../features/repair/repairs.js';
import { DEFAULTS } from '../features/settings.js';
import { Trash } from '../features/trash/trash.js';
import { Tavern, realCore } from './tavern.mjs';

const CHANGE = { book: { name: 'New' }, bytes: toBytes({ entries: {} }), metadata: { world_info: 'New' }, messages: { 1: { extra: { recap: 'of m1' } }, 3: { extra: { recap: 'of m3' } } } };

/** Applies a change to the open chat, with something that happens while the book is written. */
async function applyWhile(tavern, happens) {
    const host = tavern.host();
    const writeBook = async (request) => {
        await host.writeBook(request);
        happens(tavern.open);
    };
    const repairs = new Repairs({ host: { ...host, writeBook }, core: await realCore(), trash: new Trash({ host, settings: DEFAULTS }), onChange: () => {} });
    await repairs.apply(structuredClone(CHANGE), host.openChat(), 'split');
}

const extras = ({ messages }) => Object.fromEntries(messages.map(({ mes, extra }) => [mes, extra]));

test('a message that is deleted while the book is written does not stop the others from being updated', async () => {
    const tavern = new Tavern();
    await applyWhile(tavern, ({ messages }) => messages.splice(1, 1));
    assert.deepEqual(extras(tavern.open), { m0: {}, m2: {}, m3: { recap: 'of m3' } });
    assert.equal(tavern.chats.get('Main')[0].chat_metadata.world_info, 'New');
});

test('a chat that is opened while the book is written is not changed', async () => {
    const tavern = new Tavern();
    const other = Array.from({ length: 4 }, (_, index) => ({ mes: `other ${index}`, extra: {} }));
    await assert.rejects(applyWhile(tavern, (open) => {
        // SillyTavern refills the same list.
        open.messages.splice(0, Infinity, ...other);
        tavern.open = { ...open, name: 'Other', metadata: { integrity: 'of the other' } };
    }), /"Main" was not saved/);
    assert.deepEqual(extras(tavern.open), { 'other 0': {}, 'other 1': {}, 'other 2': {}, 'other 3': {} });
    assert.deepEqual(tavern.open.metadata, { integrity: 'of the other' });
    assert.deepEqual(tavern.log.filter(([what]) => what === 'saveOpenChat'), []);
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
