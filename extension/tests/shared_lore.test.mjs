// Lore that many chats share: a chat's own copy of it, and what is left out of the prompt.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Renames } from '../features/rename.js';
import { Repairs } from '../features/repair/repairs.js';
import { DEFAULTS } from '../features/settings.js';
import { removeBooks, SharedLore } from '../features/shared_lore.js';
import { Trash } from '../features/trash/trash.js';
import { Tavern, realCore } from './tavern.mjs';

const ELDORIA = { entries: { 0: { uid: 0, key: ['forest'], comment: 'forest', content: 'Dark.' }, 4: { uid: 4, comment: 'glade', content: 'Light.' } } };
const REFERENCE = { book: 'Eldoria', place: 'card', name: 'Ada' };

/** A chat without a book, and a character with one. */
async function stage({ metadata = {}, settings = { isolate: true } } = {}) {
    const tavern = new Tavern({ book: null, metadata });
    tavern.books.set('Eldoria', structuredClone(ELDORIA));
    tavern.beside = [REFERENCE];
    const [host, core, told] = [tavern.host(), await realCore(), []];
    const repairs = new Repairs({ host, core, trash: new Trash({ host, settings: { ...DEFAULTS } }), onChange: () => {} });
    const sharedLore = new SharedLore({ host, core, settings, events: { emit: (_, shared) => told.push(shared.book) } });
    return { tavern, host, core, repairs, sharedLore, settings, told };
}

const entry = (world, uid = 0) => ({ world, uid });
const lore = () => ({
    globalLore: [entry('World'), entry('Eldoria')],
    characterLore: [entry('Eldoria'), entry('Eldoria', 4), entry('Other')],
    chatLore: [entry('Eldoria'), entry('Main - Lore')],
    personaLore: [entry('Eldoria')],
});
const worlds = (loaded) => Object.values(loaded).map((list) => list.map(({ world }) => world));

test('a chat gets its own copy, with a mark, and remembers what it replaces', async () => {
    const { tavern, repairs } = await stage();
    const report = await repairs.giveCopy('Eldoria');
    assert.deepEqual([report.book, report.entries], ['Main - Lore', 2]);
    const { metadata } = tavern.open;
    assert.deepEqual([metadata.world_info, metadata.forklore_instead, metadata.integrity], ['Main - Lore', ['Eldoria'], 'slug of the parent']);
    assert.deepEqual(tavern.chats.get('Main')[0].chat_metadata, metadata);
    const copy = tavern.books.get('Main - Lore');
    assert.deepEqual(copy.entries, ELDORIA.entries);
    assert.deepEqual([copy.extensions.forklore.chat, copy.extensions.forklore.from.book], ['Main', 'Eldoria']);
    assert.deepEqual(tavern.books.get('Eldoria'), ELDORIA);
});

test('a chat that has a book keeps it, and a book that does not exist is not copied', async () => {
    const { tavern, repairs } = await stage();
    await assert.rejects(repairs.giveCopy('Nothing'), { word: { code: 'no-such-book', values: { name: 'Nothing' } } });
    await repairs.giveCopy('Eldoria');
    await assert.rejects(repairs.giveCopy('Eldoria'), { word: { code: 'has-book', values: { name: 'Main - Lore' } } });
    assert.deepEqual([...tavern.books.keys()], ['Eldoria', 'Main - Lore']);
});

test('the original is used again, with or without the copy', async () => {
    for (const unlink of [true, false]) {
        const { tavern, repairs } = await stage();
        await repairs.giveCopy('Eldoria');
        await repairs.useOriginal({ unlink });
        const [{ chat_metadata: saved }] = tavern.chats.get('Main');
        assert.deepEqual(saved, { integrity: 'slug of the parent', ...(unlink ? {} : { world_info: 'Main - Lore' }) });
        assert.ok(tavern.books.has('Main - Lore'), 'the copy is still there');
    }
});

test('what the copy replaces is left out of everything but the chat’s own lore, in place', async () => {
    const { repairs, sharedLore } = await stage();
    const before = lore();
    sharedLore.loaded(before);
    assert.deepEqual(worlds(before), worlds(lore()), 'nothing is left out without a copy');
    await repairs.giveCopy('Eldoria');
    const loaded = lore();
    const lists = Object.values(loaded);
    sharedLore.loaded(loaded);
    assert.deepEqual(worlds(loaded), [['World'], ['Other'], ['Eldoria', 'Main - Lore'], []]);
    assert.ok(Object.values(loaded).every((list, at) => list === lists[at]));
});

test('nothing is left out if there is nothing instead', async () => {
    const leftOut = async (metadata) => {
        const { tavern, host, sharedLore } = await stage({ metadata });
        tavern.books.set('Copy', ELDORIA);
        return sharedLore.leftOut(host.openChat());
    };
    assert.deepEqual(await leftOut({ world_info: 'Copy', forklore_instead: ['Eldoria'] }), ['Eldoria']);
    assert.deepEqual(await leftOut({ forklore_instead: ['Eldoria'] }), [], 'no book');
    assert.deepEqual(await leftOut({ world_info: 'Gone', forklore_instead: ['Eldoria'] }), [], 'a book that is missing');
    assert.deepEqual(await leftOut({ world_info: 'Eldoria', forklore_instead: ['Eldoria'] }), [], 'the original itself');
    for (const odd of [null, 7, 'Eldoria', {}, [null, 7, '', ['Eldoria']]]) {
        assert.deepEqual(await leftOut({ world_info: 'Copy', forklore_instead: odd }), [], JSON.stringify(odd));
    }
});

test('an error in between leaves the lists whole', () => {
    const loaded = lore();
    assert.throws(() => removeBooks(loaded, (book) => {
        if (book === 'Other') {
            throw new Error('half-way');
        }
        return true;
    }), /half-way/);
    assert.deepEqual(worlds(loaded), worlds(lore()));
    loaded.globalLore = [null, 7, { uid: 0 }, entry('Eldoria')];
    removeBooks(loaded, (book) => book === 'Eldoria');
    assert.deepEqual(loaded.globalLore, [null, 7, { uid: 0 }], 'what has no book stays');
});

test('the user is told once about a book', async () => {
    const { tavern, host, sharedLore, settings, told } = await stage();
    sharedLore.tellOnce(host.openChat());
    sharedLore.tellOnce(host.openChat());
    tavern.beside = [{ ...REFERENCE, book: 'World', place: 'global' }, REFERENCE];
    sharedLore.tellOnce({ ...host.openChat(), name: 'Another chat' });
    sharedLore.tellOnce(host.openChat());
    assert.deepEqual([told, settings.toldBooks], [['Eldoria', 'World'], ['Eldoria', 'World']]);
});

test('nothing is told of a chat with its own book, nor if Forklore is off', async () => {
    const own = await stage({ metadata: { world_info: 'Eldoria' } });
    own.sharedLore.tellOnce(own.host.openChat());
    const off = await stage({ settings: { isolate: false } });
    off.sharedLore.tellOnce(off.host.openChat());
    assert.deepEqual([own.told, off.told], [[], []]);
});

test('if the original is renamed, every chat that replaces it knows the new name', async () => {
    const { tavern, host, core, repairs } = await stage();
    await repairs.giveCopy('Eldoria');
    const header = (metadata) => [{ chat_metadata: metadata }, { mes: 'm0' }];
    tavern.chats.set('Child', header({ world_info: 'Child - Lore', forklore_instead: ['Other', 'Eldoria'] }));
    tavern.chats.set('Stranger', header({ forklore_instead: ['Other'] }));
    await new Renames({ host, core, repairs }).bookRenamed('Eldoria', 'The realm');
    const instead = (name) => tavern.chats.get(name)[0].chat_metadata.forklore_instead;
    assert.deepEqual([instead('Main'), instead('Child'), instead('Stranger')], [['The realm'], ['Other', 'The realm'], ['Other']]);
    assert.deepEqual(tavern.log.filter(([call]) => call === 'writeChat'), [['writeChat', 'Child']]);
});
