// The search of messages and lorebooks: what is found, what is read for it, and how it stops.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Search } from '../features/timelines/search.js';
import { wordsAround } from '../ui/messages.js';
import { foundIn, oldestFirst } from '../ui/timelines/hits.js';
import { foundPieces, holdsWords } from '../ui/widgets/search.js';
import { Tavern, realCore } from './tavern.mjs';

const ADA = { group: null, avatar: 'Ada.png' };

/** A tavern whose open chat has two forks; what they share is in all of them. */
async function begin({ limit } = {}) {
    const tavern = new Tavern({ messages: 0 });
    const shared = ['The lamp is lit.', 'Mara waits.'].map((mes, number) => ({ name: ['Mara', 'User'][number], mes }));
    tavern.open.messages.push(...shared, { name: 'Mara', mes: 'The Lamp goes out in the main story.' });
    tavern.chats.set('Branch', [{ chat_metadata: { main_chat: 'Main', world_info: 'Branch lore' } }, ...shared, { name: 'Lamp', mes: 'Nothing.' }, { name: 'Mara', mes: 'A storm, and no lamp.' }]);
    tavern.chats.set('Leaf', [{ chat_metadata: { main_chat: 'Branch', world_info: 'branch LORE' } }, ...shared, { name: 'Tom', mes: 'Only here: a lamp.' }]);
    tavern.books.set('Lore', { entries: { 0: { uid: 0, comment: 'Light', key: ['lamp', 7], content: 'It turns.' }, 1: { uid: 1, comment: '__operation_queue', content: 'lamp' }, 2: null } });
    tavern.books.set('Branch lore', { entries: { 0: { uid: 0, comment: 'Light', key: ['lamp'], content: 'It turns.' }, 4: { uid: 4, comment: 'A lamp', content: '' }, 5: { uid: 5, comment: 7, content: { lamp: 'lamp' } } } });
    const read = [];
    const host = tavern.host();
    const watched = {
        ...host,
        readChat: async (owner, name) => {
            read.push(name);
            return host.readChat(owner, name);
        },
        readBook: async (name) => {
            read.push(`book ${name}`);
            return host.readBook(name);
        },
    };
    return { tavern, read, host: watched, search: new Search({ host: watched, core: await realCore(), limit }) };
}

/** Everything that is told, in order; the last one with its hits as they are then. */
async function found(search, typed, { names = ['Main', 'Branch', 'Leaf'], signal = new AbortController().signal, onNews = () => {} } = {}) {
    const news = [];
    await search.run({
        owner: ADA, names, signal, holds: (text) => holdsWords(text, typed), onNews: (one) => {
            news.push({ ...one, hits: [...one.hits] });
            onNews(one);
        },
    });
    return { news, last: news.at(-1), hits: (news.at(-1)?.hits ?? []).map(({ kind, place, name, books }) => [kind, place, name, [...books.keys()].sort().join()]) };
}

test('messages and entries are found once, with all timelines that have them', async () => {
    const { search, read } = await begin();
    const { hits, last } = await found(search, 'LAMP');
    assert.deepEqual(hits.sort(), [
        ['entry', 0, 'Light', 'Branch,Leaf,Main'],
        ['entry', 4, 'A lamp', 'Branch,Leaf'],
        ['message', 0, 'Mara', 'Branch,Leaf,Main'],
        ['message', 2, 'Mara', 'Main'],
        ['message', 2, 'Tom', 'Leaf'],
        ['message', 3, 'Mara', 'Branch'],
    ], 'a speaker’s name is no hit, nor is what a memory extension keeps for itself');
    assert.deepEqual([last.done, last.total, last.unread], [3, 3, 0]);
    assert.deepEqual(read.sort(), ['Branch', 'Leaf', 'book Branch lore', 'book Lore'], 'the open chat is in the page, and a lorebook is read once');
    assert.deepEqual((await found(search, 'mara lamp')).hits, [], 'words of different messages');
    assert.deepEqual((await found(search, 'lamp storm')).hits, [['message', 3, 'Mara', 'Branch']], 'all words, in any order');
});

test('the next search reads nothing again, until it is told to', async () => {
    const { search, read, tavern } = await begin();
    await found(search, 'lamp');
    read.length = 0;
    assert.equal((await found(search, 'storm')).hits.length, 1);
    assert.deepEqual(read, []);
    tavern.open.messages.push({ name: 'Mara', mes: 'Now a storm here, too.' });
    assert.equal((await found(search, 'storm')).hits.length, 2, 'the open chat is as it is now');
    search.forget();
    await found(search, 'storm');
    assert.equal(read.length, 4);
});

test('what does not fit into memory is read again, and found all the same', async () => {
    const { search, read } = await begin({ limit: 10 });
    const first = await found(search, 'lamp');
    read.length = 0;
    assert.deepEqual((await found(search, 'lamp')).hits.sort(), first.hits.sort());
    assert.equal(first.hits.length, 6);
    assert.ok(read.includes('Leaf'));
    assert.ok(search.kept.said.size <= 1);
});

test('chats and lorebooks that cannot be read are counted', async () => {
    const { search, host, tavern } = await begin();
    const { readChat, readBook } = host;
    host.readChat = async (owner, name) => {
        if (name === 'Branch') {
            throw new Error('broken');
        }
        return readChat(owner, name);
    };
    tavern.chats.set('Empty', []);
    tavern.chats.set('Odd', [{ chat_metadata: { world_info: 'Lost' } }, null, 7, { mes: 8 }, { mes: 'A lamp.', name: {} }]);
    host.readBook = async (name) => (name === 'Lore' ? new TextEncoder().encode('{') : readBook(name));
    const { hits, last } = await found(search, 'lamp', { names: ['Main', 'Branch', 'Leaf', 'Empty', 'Odd'] });
    assert.deepEqual([last.done, last.unread], [5, 3], 'Branch, Empty, and the lorebook of Main');
    assert.ok(hits.some(([, place, name, timelines]) => place === 3 && name === '' && timelines === 'Odd'));
});

test('a search that is stopped tells nothing more, and reads nothing more', async () => {
    const { search, read, tavern } = await begin();
    const names = ['Main'];
    for (let number = 0; number < 40; number += 1) {
        names.push(`Story ${number}`);
        tavern.chats.set(`Story ${number}`, [{ chat_metadata: {} }, { mes: 'A lamp.' }]);
    }
    const controller = new AbortController();
    const { news } = await found(search, 'lamp', { names, signal: controller.signal, onNews: () => controller.abort() });
    assert.equal(news.length, 1);
    assert.ok(read.length < 12, `${read.length} were read`);
    assert.equal((await found(search, 'lamp', { names })).last.done, 41);
});

test('the page gets its turn while much is searched', async () => {
    const { search, tavern } = await begin();
    const text = 'The tide goes out, and the tide comes in. '.repeat(100);
    tavern.open.messages.push(...Array.from({ length: 20_000 }, (_, number) => ({ name: 'Tom', mes: `${number} ${text}` })));
    const gaps = [];
    let before = performance.now();
    const ticking = setInterval(() => {
        gaps.push(performance.now() - before);
        before = performance.now();
    }, 1);
    await found(search, 'nowhere', { names: ['Main'] });
    clearInterval(ticking);
    assert.ok(gaps.length > 4, `${gaps.length} turns`);
});

test('a hit belongs to the oldest timeline that has it, and the open chat’s family comes first', () => {
    const timeline = (name, parent, family, fields) => ({ id: name, name, parent, family, kind: 'branch', preview: '', book: null, label: { title: '', note: '' }, ...fields });
    const ghost = timeline('\0gone', null, '\0gone', { kind: 'gone' });
    const model = {
        families: [{ id: 'Other', hasOpen: false }, { id: 'Main', hasOpen: true }],
        timelines: [timeline('Leaf', 'Branch', 'Main'), timeline('Other', null, 'Other', { book: 'Lamps' }), timeline('Branch', 'Main', 'Main'), ghost, timeline('Main', null, 'Main')],
    };
    const order = oldestFirst(model);
    assert.deepEqual(order.map(({ name }) => name), ['Main', 'Branch', 'Leaf', 'Other']);
    const hit = (place, kind, ...names) => ({ kind, place, name: 'Mara', text: 'A lamp.', books: new Map(names.map((name) => [name, ''])) });
    const found = foundIn(order, 'lamp', [hit(5, 'entry', 'Leaf'), hit(9, 'message', 'Leaf', 'Branch'), hit(2, 'message', 'Leaf', 'Other', 'Main'), hit(7, 'message', 'Leaf'), hit(1, 'message', 'Deleted')]);
    assert.deepEqual(found.map(({ timeline: { name }, isNamed, hits }) => [name, isNamed, hits.map(({ kind, place }) => `${kind} ${place}`).join()]), [
        ['Main', false, 'message 2'], ['Branch', false, 'message 9'], ['Leaf', false, 'message 7,entry 5'], ['Other', true, ''],
    ]);
});

test('the words around a hit are shown without markup, in one line, and marked', () => {
    const before = 'one two three four five six seven eight nine ten eleven twelve thirteen ';
    const text = `${before}<b>the</b> *old* **LAMP**\n\nturns ${'and turns '.repeat(40)}`;
    const words = wordsAround(text, 'lamp old');
    assert.match(words, /^…\S.* the old LAMP turns and .*(turns|and)…$/);
    assert.ok(words.length < 170, `${words.length}`);
    assert.deepEqual(foundPieces('The old LAMP', 'lamp old'), [
        { text: 'The ', isFound: false }, { text: 'old', isFound: true }, { text: ' ', isFound: false }, { text: 'LAMP', isFound: true },
    ]);
    assert.equal(wordsAround('short lamp', 'lamp'), 'short lamp');
    assert.equal(wordsAround('<img alt="lamp">', 'lamp'), '<img alt="lamp">', 'in the markup itself');
    assert.equal(wordsAround('nothing of it', 'lamp'), 'nothing of it');
    assert.match(wordsAround(`${'灯塔的光照在海面上。'.repeat(30)}风暴${'来了。'.repeat(80)}`, '风暴'), /^…[^…]*风暴[^…]*…$/);
    assert.ok(wordsAround('😀'.repeat(500) + 'lamp' + '😀'.repeat(500), 'lamp').isWellFormed());
    assert.deepEqual(foundPieces('a (b) [c', '(b) [c'), [{ text: 'a ', isFound: false }, { text: '(b)', isFound: true }, { text: ' ', isFound: false }, { text: '[c', isFound: true }], 'what is typed is no pattern');
    assert.deepEqual(foundPieces('all', ' '), [{ text: 'all', isFound: false }]);
    const began = performance.now();
    wordsAround('<script'.repeat(200_000), 'script');
    assert.ok(performance.now() - began < 1000);
});
