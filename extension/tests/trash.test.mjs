// Cleanup, the trash and renames, with the real core and a tavern in memory.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cleanup } from '../features/cleanup.js';
import { Renames } from '../features/rename.js';
import { Repairs } from '../features/repair/repairs.js';
import { DEFAULTS } from '../features/settings.js';
import { PutBack } from '../features/trash/put_back.js';
import { Trash } from '../features/trash/trash.js';
import { Tavern, realCore } from './tavern.mjs';

const markedBook = (chat) => ({ entries: { 0: { uid: 0 } }, extensions: { forklore: { format: 1, chat } } });

async function setUp(tavern) {
    const core = await realCore();
    const host = tavern.host();
    const trash = new Trash({ host, settings: { ...DEFAULTS } });
    const repairs = new Repairs({ host, core, trash, onChange: () => {} });
    const cleanup = new Cleanup({ host, core, trash });
    const renames = new Renames({ host, core, repairs });
    const putBack = new PutBack({ host, core, trash, repairs, renames, cleanup });
    const restore = async (token) => {
        const { restored, replaced } = await putBack.putBack(token);
        await trash.list();
        return { restored, replaced };
    };
    return { trash, repairs, cleanup, renames, restore };
}

const LIST = 'forklore-trashed.json';
const inTrash = (tavern) => [...tavern.files.keys()].filter((path) => path.includes('/forklore-trash-'));

const child = (metadata) => [{ chat_metadata: { main_chat: 'Main', ...metadata } }, { mes: 'm0', extra: {} }];

test('only what is ours and unused goes, and it can be had back', async () => {
    const tavern = new Tavern();
    tavern.books.set('Used', markedBook('A'));
    tavern.books.set('Idle', markedBook('B'));
    tavern.books.set('Theirs', { entries: {} });
    tavern.chats.set('A', child({ world_info: 'used' }));
    const before = structuredClone(tavern.books.get('Idle'));
    const { cleanup, restore } = await setUp(tavern);
    const { removed, undo } = await cleanup.clean();
    assert.deepEqual(removed, ['Idle']);
    assert.deepEqual([...tavern.books.keys()], ['Lore', 'Used', 'Theirs']);
    assert.deepEqual(tavern.log.filter(([, name]) => name !== LIST).map(([what]) => what), ['writeFile', 'deleteBook'], 'the copy comes first');
    assert.deepEqual(await restore(undo), { restored: ['Idle'], replaced: [] });
    assert.deepEqual(tavern.books.get('Idle'), before);
    assert.equal(inTrash(tavern).length, 0);
});

test('a book that is there again is not written over', async () => {
    const tavern = new Tavern();
    tavern.books.set('Idle', markedBook('B'));
    const { cleanup, restore } = await setUp(tavern);
    const { undo } = await cleanup.clean();
    tavern.books.set('Idle', { entries: { 5: {} } });
    assert.deepEqual(await restore(undo), { restored: [], replaced: [] });
    assert.deepEqual(tavern.books.get('Idle'), { entries: { 5: {} } });
    assert.equal(inTrash(tavern).length, 1, 'the copy stays');
});

for (const [what, arrange] of Object.entries({
    'the settings': (tavern) => tavern.references.push({ book: 'idle', place: 'global', name: '' }),
    'a card': (tavern) => tavern.references.push({ book: 'Idle', place: 'card', name: 'Ada' }),
    'another chat': (tavern) => tavern.chats.set('C', child({ world_info: 'Idle' })),
    'what a recap kept': (tavern) => tavern.chats.set('C', child({ auto_lorebooks: { lorebookName: 'Idle' } })),
    'a message of a recap': (tavern) => tavern.chats.set('C', [
        ...child({ auto_lorebooks: {} }),
        { mes: 'm1', extra: { auto_recap_memory: { scene_recap_metadata: { 1: { chatLorebookName: 'Idle', allEntries: [] } } } } },
    ]),
    'a chat that cannot be read': (tavern) => tavern.chats.set('C', [{ mes: 'no header' }, { mes: 'x' }]),
})) {
    test(`a book stays that ${what} may need`, async () => {
        const tavern = new Tavern();
        tavern.books.set('Idle', markedBook('B'));
        arrange(tavern);
        const { cleanup } = await setUp(tavern);
        assert.deepEqual((await cleanup.clean()).removed, []);
    });
}

test('when the trash cannot be written, nothing goes', async () => {
    const tavern = new Tavern();
    tavern.books.set('Idle', markedBook('B'));
    tavern.broken.add('writeFile');
    const { cleanup } = await setUp(tavern);
    await assert.rejects(cleanup.clean());
    assert.ok(tavern.books.has('Idle'));
});

test('a renamed chat is found by its children and by the message that links to it', async () => {
    const tavern = new Tavern();
    tavern.open.messages[2].extra.bookmark_link = 'Old';
    tavern.chats.set('New', child({ integrity: 'n', auto_recap_running_scene_recaps: { chat_id: 'Old', versions: [] } }));
    tavern.chats.set('Grandchild', [{ chat_metadata: { main_chat: 'Old', forklore: { parent: { chat: 'Old' } } } }, { mes: 'm0', extra: {} }]);
    const { renames } = await setUp(tavern);
    await renames.chatRenamed({ group: null, avatar: 'Ada.png' }, 'Old', 'New');
    const metadata = (name) => tavern.chats.get(name)[0].chat_metadata;
    assert.equal(metadata('Grandchild').main_chat, 'New');
    assert.equal(metadata('Grandchild').forklore.parent.chat, 'New');
    assert.equal(metadata('New').auto_recap_running_scene_recaps.chat_id, 'New');
    assert.equal(tavern.open.messages[2].extra.bookmark_link, 'New');
});

test('a book saved under a new name and deleted at once was renamed, and only then', async () => {
    const tavern = new Tavern();
    const { renames } = await setUp(tavern);
    const text = '{"entries":{"0":{}}}';
    assert.deepEqual(await Promise.all(['New', 'Lore', 'LORE'].map((name) => renames.isNewBook(name))), [true, false, false]);
    renames.newBookSaved('New', text);
    assert.equal(await renames.renamedTo('Old', async () => text), 'New');
    assert.equal(await renames.renamedTo('Old', async () => '{"entries":{}}'), null);
    assert.equal(await renames.renamedTo('New', async () => text), null);
    tavern.chats.set('Waiting', child({ world_info: 'New' }));
    assert.equal(await renames.renamedTo('Old', async () => text), null, 'a chat waits for a book of that name');
    tavern.chats.delete('Waiting');
    tavern.books.set('New', JSON.parse(text));
    assert.equal(await renames.renamedTo('Old', async () => text), null, 'SillyTavern lists it by now, as after a duplication');
});

test('chats follow a renamed book, seal and all', async () => {
    const tavern = new Tavern();
    tavern.books.set('New', tavern.books.get('Lore'));
    const { renames } = await setUp(tavern);
    await renames.bookRenamed('Lore', 'New');
    assert.equal(tavern.open.metadata.world_info, 'New');
    assert.equal(tavern.chats.get('Main')[0].chat_metadata.world_info, 'New');
});

test('what a swipe kept of the book follows, too', async () => {
    const tavern = new Tavern();
    const memory = () => ({ auto_recap_memory: { scene_recap_metadata: { 1: { chatLorebookName: 'Lore', allEntries: [] } } }, model: 'm' });
    tavern.open.messages[1] = { mes: 'm1', extra: memory(), swipe_info: [{ extra: {} }, { extra: memory() }] };
    tavern.books.set('New', tavern.books.get('Lore'));
    const { renames } = await setUp(tavern);
    await renames.bookRenamed('Lore', 'New');
    const [, , { extra, swipe_info }] = tavern.chats.get('Main');
    const named = (holder) => holder.auto_recap_memory.scene_recap_metadata[1].chatLorebookName;
    assert.deepEqual([named(extra), named(swipe_info[1].extra), extra.model, swipe_info[0].extra], ['New', 'New', 'm', {}]);
});

test('a book that was written over can be had back while nobody has changed it since', async () => {
    const tavern = new Tavern();
    const { trash, restore } = await setUp(tavern);
    const [old, later] = [structuredClone(tavern.books.get('Lore')), { entries: { 7: { uid: 7 } } }];
    const token = await trash.keepBooks(['Lore'], { code: 'restore' }, { replacedBy: JSON.stringify(later) });
    tavern.books.set('Lore', { entries: { 8: { uid: 8 } } });
    assert.deepEqual(await restore(token), { restored: [], replaced: [] });
    tavern.books.set('Lore', later);
    assert.deepEqual(await restore(token), { restored: ['Lore'], replaced: ['Lore'] });
    assert.deepEqual(tavern.books.get('Lore'), old);
});

test('a list that cannot be read for a moment is not replaced by a shorter one', async () => {
    const tavern = new Tavern();
    const { trash } = await setUp(tavern);
    await trash.keepText('First', '{}', { code: 'clean' });
    await trash.turn;
    const { readFile } = trash.host;
    trash.host.readFile = async () => { throw new Error('the server is restarting'); };
    await trash.keepText('Second', '{}', { code: 'clean' });
    await trash.turn;
    trash.host.readFile = readFile;
    assert.deepEqual((await trash.list()).flatMap(({ books }) => books), ['First']);
    assert.equal(inTrash(tavern).length, 2, 'the file of the other is there to be found');
});

test('the trash knows the names of the books in it, also after the page was loaded anew', async () => {
    const tavern = new Tavern();
    const host = tavern.host();
    const trash = new Trash({ host, settings: { ...DEFAULTS } });
    const token = await trash.remove(['Lore'], { code: 'deleted', name: 'Main' });
    await trash.turn;
    const later = new Trash({ host, settings: { ...DEFAULTS } });
    await later.prune();
    assert.deepEqual([trash.books, later.books], [['Lore'], ['Lore']]);
    await trash.drop(token);
    await trash.turn;
    assert.deepEqual(trash.books, []);
});
