// The index of timelines.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TimelineIndex, shortened } from '../features/timelines/timeline_index.js';
import { realCore } from './tavern.mjs';

const ADA = { group: null, avatar: 'Ada.png' };
const COMPANY = { group: '17', avatar: null };

function storeOf(kept = new Map()) {
    return {
        kept,
        read: async (key) => structuredClone(kept.get(key)),
        write: async (key, value) => { kept.set(key, structuredClone(value)); },
        clear: async () => kept.clear(),
    };
}

async function indexOf({ store = storeOf(), now = () => 1 } = {}) {
    return new TimelineIndex({ store, core: await realCore(), now });
}

function head(name, more = {}) {
    return { ...ADA, name, messages: 3, metadata: { integrity: `slug of ${name}` }, preview: 'the last words', date: 5, ...more };
}

test('a header that was seen once is known the next time, without what nobody needs', async () => {
    const store = storeOf();
    const index = await indexOf({ store });
    const metadata = { main_chat: 'Main', world_info: 'Lore', integrity: 'x', forklore: { format: 1 }, variables: { huge: 'y'.repeat(100) }, script_injects: {} };
    index.learn([head('One', { metadata }), head('Two', COMPANY)]);
    await index.write('character Ada.png');
    await index.write('group 17');

    const later = await indexOf({ store });
    const known = (await later.of(ADA)).get('One');

    assert.deepEqual(known.metadata, { main_chat: 'Main', world_info: 'Lore', integrity: 'x', forklore: { format: 1 } });
    assert.deepEqual([known.messages, known.preview, known.date], [3, 'the last words', 5]);
    assert.deepEqual([...(await later.of(COMPANY)).keys()], ['Two'], 'characters and groups are kept apart');
});

test('what is found in the part that is not kept is found before it is dropped', async () => {
    const index = await indexOf();
    const metadata = { auto_recap_running_scene_recaps: { chat_id: 'One', current_version: 7, versions: [{ version: 1, content: 'x' }] } };
    index.learn([head('One', { metadata })]);
    const known = (await index.of(ADA)).get('One');
    assert.deepEqual(known.own.map(({ code }) => code), ['running-missing']);
    assert.deepEqual(known.metadata, {});
});

test('what comes in while the store is being read is not overwritten by it', async () => {
    const store = storeOf(new Map([['character Ada.png', { syncedAt: 3, chats: [{ ...head('One'), messages: 1, own: [], seenAt: 0 }, { ...head('Gone'), own: [], seenAt: 0 }] }]]));
    const index = await indexOf({ store });
    index.learn([head('One', { messages: 9 })]);
    index.forget(ADA, ['Gone']);
    const chats = await index.of(ADA);
    assert.equal(chats.get('One').messages, 9);
    assert.ok(!chats.has('Gone'));
});

test('a browser that keeps nothing is no reason to fail', async () => {
    const refuse = async () => { throw new Error('no storage in a private window'); };
    const index = await indexOf({ store: { read: refuse, write: refuse, clear: refuse } });
    index.learn([head('One')]);
    await index.write('character Ada.png');
    assert.equal((await index.of(ADA)).size, 1);
});

test('a renamed timeline is known by its new name, and one that is not there any more is forgotten', async () => {
    const index = await indexOf();
    index.learn([head('One'), head('Two')]);
    index.renamed(ADA, 'One', 'First');
    assert.deepEqual([...(await index.of(ADA)).keys()].sort(), ['First', 'Two']);
    await index.keepOnly(ADA, ['First', 'Three']);
    assert.deepEqual([...(await index.of(ADA)).keys()], ['First']);
});

test('a chat proves that older ones are known only if it is unchanged and all were right later than it was seen', async () => {
    let now = 10;
    const index = await indexOf({ now: () => now });
    index.learn([head('Old'), head('Changing')]);
    assert.equal(index.proves(ADA, head('Old')), false, 'nothing is proved before all were right once');
    index.synced(ADA, 20);
    assert.equal(index.proves(ADA, head('Old')), true);
    assert.equal(index.proves(ADA, head('Changing', { messages: 4 })), false, 'it has changed');
    assert.equal(index.proves(ADA, head('New')), false, 'it was not known');
    now = 30;
    index.learn([head('Changing', { messages: 4 })]);
    assert.equal(index.proves(ADA, head('Changing', { messages: 4 })), false, 'this page has just saved it');
    index.learn([head('Old')]);
    assert.equal(index.proves(ADA, head('Old')), true, 'seen again as it was, it still proves as much');
});

test('a host that is watched tells of its listings and of chats that it writes', async () => {
    const index = await indexOf({ now: () => 40 });
    const host = index.watching({
        chatHeads: async () => [head('One')],
        allChatHeads: async () => [head('Two'), head('Elsewhere', COMPANY)],
        writeChat: async () => {},
        dateOf: () => 99,
        other: 'as it is',
    });
    await host.chatHeads(ADA);
    await host.allChatHeads();
    assert.ok(!index.caches.has('group 17'), 'whose chats nobody has looked at is not kept');
    await host.writeChat(ADA, 'Three', [{ chat_metadata: { world_info: 'Lore' } }, { mes: 'first' }, { mes: 'second' }]);
    const chats = await index.of(ADA);
    assert.deepEqual([...chats.keys()].sort(), ['One', 'Three', 'Two']);
    assert.deepEqual([chats.get('Three').messages, chats.get('Three').preview, chats.get('Three').date], [2, 'second', 99]);
    assert.equal(index.cacheOf(ADA).syncedAt, 40);
    assert.equal(host.other, 'as it is');
});

test('a preview is one line, and no character is cut in two', () => {
    assert.equal(shortened('  a\n\nb\tc '), 'a b c');
    const long = shortened(`${'x'.repeat(159)}😀 and more`);
    assert.equal(long, `${'x'.repeat(159)}…`);
});
