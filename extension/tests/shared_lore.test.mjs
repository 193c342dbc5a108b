// Lore that many chats share: a chat's own copy of it, and what is left out of the prompt.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ChildSaveHandler } from '../features/fork/child_save.js';
import { ForkBooks } from '../features/fork/fork_books.js';
import { Forks } from '../features/fork/forks.js';
import { Renames } from '../features/rename.js';
import { Repairs } from '../features/repair/repairs.js';
import { DEFAULTS } from '../features/settings.js';
import { removeBooks, SharedLore } from '../features/shared_lore.js';
import { Trash } from '../features/trash/trash.js';
import { Tavern, realCore } from './tavern.mjs';

const ELDORIA = { entries: { 0: { uid: 0, key: ['forest'], comment: 'forest', content: 'Dark.' }, 4: { uid: 4, comment: 'glade', content: 'Light.' } } };
const REFERENCE = { book: 'Eldoria', place: 'card', name: 'Ada', avatar: 'Ada.png' };

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
    assert.deepEqual(await leftOut({ world_info: 'Copy', forklore_instead: ['Eldoria'], forklore_copy: 'copy' }), ['Eldoria']);
    assert.deepEqual(await leftOut({ world_info: 'Copy', forklore_instead: ['Eldoria'], forklore_copy: 'Another' }), [], 'another book than the copy');
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

test('if the copy is renamed or gets a copy of its own, it still replaces the original', async () => {
    const { tavern, host, core, repairs, sharedLore } = await stage();
    await repairs.giveCopy('Eldoria');
    const copy = tavern.open.metadata.world_info;
    assert.equal(tavern.open.metadata.forklore_copy, copy);
    tavern.books.set('Renamed', tavern.books.get(copy));
    tavern.books.delete(copy);
    await new Renames({ host, core, repairs }).bookRenamed(copy, 'Renamed');
    assert.deepEqual([tavern.open.metadata.world_info, tavern.open.metadata.forklore_copy], ['Renamed', 'Renamed']);
    assert.deepEqual(sharedLore.leftOut(host.openChat()), ['Eldoria']);
    await repairs.split([{ group: null, avatar: 'Ada.png', name: 'Main' }]);
    const { world_info: own, forklore_copy: instead } = tavern.open.metadata;
    assert.notEqual(own, 'Renamed');
    assert.equal(instead, own);
});

// Forks of a chat without lore of its own.

/** Makes a branch as a button does, or as a script, and returns the metadata of what SillyTavern saved. */
async function branch({ stage: { tavern, host, core, sharedLore, settings }, answer, script = false, last = 3 }) {
    const [asked, reports] = [[], []];
    const books = new ForkBooks({ host, core });
    const saves = new ChildSaveHandler({
        host, core, books, settings, ask: async () => 'live', untilReady: async () => true,
        loreOf: (open) => sharedLore.always(sharedLore.ofCharacter(open)),
        onForked: (report) => reports.push(report), onError: (error) => { throw error; },
    });
    const repairs = { requireOpenChat: () => host.openChat() };
    const recorder = { untilFileChecked: async () => {} };
    const forks = new Forks({ host, core, settings, events: {}, repairs, lostBook: { asRecorded: () => null }, recorder, queueWait: {}, pending: saves.pending, books, sharedLore });
    forks.ask = async () => 'live';
    forks.askLore = async ({ book }) => { asked.push(book); return answer; };
    const held = tavern.childSave({ last });
    const decision = script ? ['unattended'] : await forks.decide('branch', last, { begin: async () => {} });
    if (decision) {
        await forks.make(last, decision, async () => saves.handle(held, await saves.read(held)));
    }
    return { asked, metadata: held.sent?.chat[0].chat_metadata, codes: reports[0]?.remarks.map(({ code }) => code), forks: forks };
}

const forkStage = () => stage({ settings: { ...DEFAULTS } });

test('the first fork asks about the character’s lorebook, and the branch gets its own copy', async () => {
    const given = await forkStage();
    const { asked, metadata, codes } = await branch({ stage: given, answer: { choice: 'own', isAlways: false } });
    assert.deepEqual([asked, metadata.world_info, metadata.forklore_instead, metadata.forklore_copy], [['Eldoria'], 'Child - Lore', ['Eldoria'], 'Child - Lore']);
    assert.deepEqual(given.tavern.books.get('Child - Lore').entries, ELDORIA.entries);
    assert.deepEqual(given.tavern.books.get('Eldoria'), ELDORIA);
    assert.equal(given.tavern.open.metadata.world_info, undefined, 'the parent stays as it is');
    assert.ok(codes.includes('own-copy'));
    assert.deepEqual(given.settings.lore, undefined);
});

test('who shares it has a branch without a lorebook, and who calls it off has none', async () => {
    const shared = await branch({ stage: await forkStage(), answer: { choice: 'shared' } });
    assert.deepEqual([shared.metadata.world_info, shared.metadata.forklore_instead, shared.codes.includes('shares-book')], [undefined, undefined, true]);
    const cancelled = await branch({ stage: await forkStage(), answer: { choice: 'cancel', isAlways: true } });
    assert.equal(cancelled.metadata, undefined);
});

test('what is always wanted is not asked again, and holds for scripts', async () => {
    for (const [choice, book] of [['own', 'Child - Lore'], ['shared', undefined]]) {
        const given = await forkStage();
        await branch({ stage: given, answer: { choice, isAlways: true } });
        assert.deepEqual(given.settings.lore, { 'Ada.png': { Eldoria: choice } });
        for (const script of [false, true]) {
            given.tavern.books.delete('Child - Lore');
            given.tavern.chats.delete('Child');
            const { asked, metadata } = await branch({ stage: given, answer: null, script });
            assert.deepEqual([asked, metadata.world_info], [[], book]);
        }
    }
});

test('a script shares what nobody decided about, and says so', async () => {
    const { asked, metadata, codes } = await branch({ stage: await forkStage(), script: true });
    assert.deepEqual([asked, metadata.world_info, codes.includes('shares-book')], [[], undefined, true]);
});

test('lore of persona and of all chats is shared without a question, and so is what is left out', async () => {
    const given = await forkStage();
    given.tavern.beside = [{ book: 'World', place: 'global', name: '' }, { book: 'Me', place: 'persona', name: '' }];
    const { asked, codes } = await branch({ stage: given });
    assert.deepEqual([asked, codes.includes('shares-book')], [[], false]);
    const { sharedLore, repairs, host } = await stage({ settings: { ...DEFAULTS } });
    assert.equal(sharedLore.ofCharacter(host.openChat()).book, 'Eldoria');
    await repairs.giveCopy('Eldoria');
    assert.equal(sharedLore.ofCharacter(host.openChat()), null);
});
