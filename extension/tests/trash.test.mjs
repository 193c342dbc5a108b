// Cleaning up, the trash and renames, with the real core and a tavern in memory.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Cleaning } from '../features/cleanup.js';
import { Renaming } from '../features/rename.js';
import { Mending } from '../features/repair/repairs.js';
import { Trash } from '../features/trash.js';
import { Tavern, realCore } from './tavern.mjs';

const ours = (chat) => ({ entries: { 0: { uid: 0 } }, extensions: { forklore: { format: 1, chat } } });

async function keeping(tavern) {
    const core = await realCore();
    const host = tavern.host();
    const trash = new Trash({ host });
    const mending = new Mending({ host, core, trash, changed: () => {} });
    return { trash, mending, cleaning: new Cleaning({ host, core, trash }), renaming: new Renaming({ host, core, mending }) };
}

const child = (metadata) => [{ chat_metadata: { main_chat: 'Main', ...metadata } }, { mes: 'm0', extra: {} }];

test('only what is ours and unused goes, and it can be had back', async () => {
    const tavern = new Tavern();
    tavern.books.set('Used', ours('A'));
    tavern.books.set('Idle', ours('B'));
    tavern.books.set('Theirs', { entries: {} });
    tavern.chats.set('A', child({ world_info: 'used' }));
    const before = structuredClone(tavern.books.get('Idle'));
    const { cleaning, trash } = await keeping(tavern);
    const { removed, undo } = await cleaning.clean();
    assert.deepEqual(removed, ['Idle']);
    assert.deepEqual([...tavern.books.keys()], ['Lore', 'Used', 'Theirs']);
    assert.deepEqual(tavern.log.map(([what]) => what), ['writeFile', 'deleteBook'], 'the copy comes first');
    assert.deepEqual(await trash.giveBack(undo), { restored: ['Idle'], replaced: [] });
    assert.deepEqual(tavern.books.get('Idle'), before);
    assert.equal(tavern.files.size, 0);
});

test('a book that is there again is not written over', async () => {
    const tavern = new Tavern();
    tavern.books.set('Idle', ours('B'));
    const { cleaning, trash } = await keeping(tavern);
    const { undo } = await cleaning.clean();
    tavern.books.set('Idle', { entries: { 5: {} } });
    assert.deepEqual(await trash.giveBack(undo), { restored: [], replaced: [] });
    assert.deepEqual(tavern.books.get('Idle'), { entries: { 5: {} } });
    assert.equal(tavern.files.size, 1, 'the copy stays');
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
        tavern.books.set('Idle', ours('B'));
        arrange(tavern);
        const { cleaning } = await keeping(tavern);
        assert.deepEqual((await cleaning.clean()).removed, []);
    });
}

test('when the trash cannot be written, nothing goes', async () => {
    const tavern = new Tavern();
    tavern.books.set('Idle', ours('B'));
    tavern.broken.add('writeFile');
    const { cleaning } = await keeping(tavern);
    await assert.rejects(cleaning.clean());
    assert.ok(tavern.books.has('Idle'));
});

test('a renamed chat is found by its children and by the message that links to it', async () => {
    const tavern = new Tavern();
    tavern.open.messages[2].extra.bookmark_link = 'Old';
    tavern.chats.set('New', child({ integrity: 'n', auto_recap_running_scene_recaps: { chat_id: 'Old', versions: [] } }));
    tavern.chats.set('Grandchild', [{ chat_metadata: { main_chat: 'Old', forklore: { parent: { chat: 'Old' } } } }, { mes: 'm0', extra: {} }]);
    const { renaming } = await keeping(tavern);
    await renaming.chatRenamed({ group: null, avatar: 'Ada.png' }, 'Old', 'New');
    const metadata = (name) => tavern.chats.get(name)[0].chat_metadata;
    assert.equal(metadata('Grandchild').main_chat, 'New');
    assert.equal(metadata('Grandchild').forklore.parent.chat, 'New');
    assert.equal(metadata('New').auto_recap_running_scene_recaps.chat_id, 'New');
    assert.equal(tavern.open.messages[2].extra.bookmark_link, 'New');
});

test('a book saved anew and deleted at once was renamed, and only then', async () => {
    const { renaming } = await keeping(new Tavern());
    const text = '{"entries":{"0":{}}}';
    renaming.bookSaved('New', text);
    assert.equal(await renaming.renamedTo('Old', async () => text), 'New');
    assert.equal(await renaming.renamedTo('Old', async () => '{"entries":{}}'), null);
    assert.equal(await renaming.renamedTo('New', async () => text), null);
});

test('chats follow a renamed book, seal and all', async () => {
    const tavern = new Tavern();
    tavern.books.set('New', tavern.books.get('Lore'));
    const { renaming } = await keeping(tavern);
    await renaming.bookRenamed('Lore', 'New');
    assert.equal(tavern.open.metadata.world_info, 'New');
    assert.equal(tavern.chats.get('Main')[0].chat_metadata.world_info, 'New');
});

test('what a swipe kept of the book follows, too', async () => {
    const tavern = new Tavern();
    const memory = () => ({ auto_recap_memory: { scene_recap_metadata: { 1: { chatLorebookName: 'Lore', allEntries: [] } } }, model: 'm' });
    tavern.open.messages[1] = { mes: 'm1', extra: memory(), swipe_info: [{ extra: {} }, { extra: memory() }] };
    tavern.books.set('New', tavern.books.get('Lore'));
    const { renaming } = await keeping(tavern);
    await renaming.bookRenamed('Lore', 'New');
    const [, , { extra, swipe_info }] = tavern.chats.get('Main');
    const named = (holder) => holder.auto_recap_memory.scene_recap_metadata[1].chatLorebookName;
    assert.deepEqual([named(extra), named(swipe_info[1].extra), extra.model, swipe_info[0].extra], ['New', 'New', 'm', {}]);
});

test('a book that was written over can be had back while nobody has changed it since', async () => {
    const tavern = new Tavern();
    const { trash } = await keeping(tavern);
    const [old, later] = [structuredClone(tavern.books.get('Lore')), { entries: { 7: { uid: 7 } } }];
    const token = await trash.put(['Lore'], 'restore', { replacedBy: JSON.stringify(later) });
    tavern.books.set('Lore', { entries: { 8: { uid: 8 } } });
    assert.deepEqual(await trash.giveBack(token), { restored: [], replaced: [] });
    tavern.books.set('Lore', later);
    assert.deepEqual(await trash.giveBack(token), { restored: ['Lore'], replaced: ['Lore'] });
    assert.deepEqual(tavern.books.get('Lore'), old);
});
