// A character's families as they are displayed, from a tavern in memory and the real core.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DEFAULTS } from '../features/settings.js';
import { Trash } from '../features/trash/trash.js';
import { Verifier } from '../features/repair/verifier.js';
import { TimelineIndex } from '../features/timelines/timeline_index.js';
import { Timelines } from '../features/timelines/timelines.js';
import { Tavern, realCore } from './tavern.mjs';

function child(tavern, name, parent, { messages = 3, metadata = {}, message = 1, seal = true, book = `${name} - Lore` } = {}) {
    const forklore = seal && {
        format: 1, integrity: `slug of ${name}`, kind: 'branch', parent: { chat: parent, integrity: null, message }, made: '2026-01-02T03:04:05.000Z',
        book: { name: book, from: 'Lore', entries: 1, digest: `sha256:${'0'.repeat(64)}`, exactness: 'snapshot', as_of: 0, source: 'journal' },
        metadata: { exactness: 'live', source: 'files' }, warnings: [],
    };
    tavern.chats.set(name, [
        { chat_metadata: { main_chat: parent, integrity: `slug of ${name}`, world_info: book, ...(forklore && { forklore }), ...metadata } },
        ...Array.from({ length: messages }, (_, number) => ({ mes: `${name} says ${number}` })),
    ]);
    if (!tavern.books.has(book) && book !== 'missing') {
        tavern.books.set(book, { entries: { 0: { uid: 0 } }, extensions: { forklore: { format: 1, chat: name } } });
    }
}

async function begin(tavern, { now } = {}) {
    const core = await realCore();
    const index = new TimelineIndex({ store: tavern.host().timelineStore, core, ...(now && { now }) });
    const settings = { ...DEFAULTS };
    return new Timelines({ host: index.watching(tavern.host()), core, index, settings, trash: new Trash({ host: tavern.host(), settings }) });
}

/** Everything that is displayed, in order. */
async function watched(timelines, options) {
    const shown = [];
    const notes = [];
    const watch = timelines.watch({ show: (model) => shown.push(model), note: (note) => notes.push(note) });
    await watch.start(options);
    const first = shown.length;
    await watch.caughtUp;
    watch.stop();
    return { shown, notes, first, last: shown.at(-1), watch };
}

const by = (model, name) => model.timelines.find((timeline) => timeline.name === name);

test('what is shown first needs no header: names tell most of it, and what is not read says so', async () => {
    const tavern = new Tavern();
    child(tavern, 'Main - Branch #1', 'Main');
    child(tavern, 'At the ferry', 'Main');
    const { shown, first, last } = await watched(await begin(tavern));

    assert.equal(first, 1);
    const [early] = shown;
    assert.deepEqual([by(early, 'Main - Branch #1').parent, by(early, 'Main - Branch #1').kind, by(early, 'Main - Branch #1').isRead], ['Main', 'branch', false]);
    assert.deepEqual([by(early, 'At the ferry').parent, by(early, 'At the ferry').isRead], [null, false]);
    assert.deepEqual(by(early, 'At the ferry').findings, []);
    assert.ok(by(early, 'Main').isOpen && by(early, 'Main').isRead, 'the open chat is known from the page');

    const ferry = by(last, 'At the ferry');
    assert.deepEqual([ferry.parent, ferry.message, ferry.messages, ferry.preview], ['Main', 1, 3, 'At the ferry says 2']);
    assert.deepEqual([ferry.book, ferry.entries, ferry.part.exactness, ferry.part.as_of], ['At the ferry - Lore', 1, 'snapshot', 0]);
    assert.equal(ferry.made, '2026-01-02T03:04:05.000Z');
});

test('the next time everything is shown at once, and only what is new is read', async () => {
    let now = 1000;
    const tavern = new Tavern();
    for (let number = 0; number < 40; number += 1) {
        child(tavern, `Story ${number}`, 'Main', { book: 'Lore', seal: false });
    }
    const timelines = await begin(tavern, { now: () => now });
    await watched(timelines);
    tavern.log.length = 0;
    now = 2000;

    const { shown } = await watched(timelines);

    assert.ok(shown[0].timelines.every(({ isRead }) => isRead));
    assert.deepEqual(tavern.log, [['newestHeads', 4]], 'four chats are read, not forty');

    // Another device writes three chats, and this page has just saved one that is even newer.
    now = 3000;
    for (const number of [3, 4, 5]) {
        const lines = tavern.chats.get(`Story ${number}`);
        tavern.chats.delete(`Story ${number}`);
        tavern.chats.set(`Story ${number}`, [...lines, { mes: 'from elsewhere' }]);
    }
    await timelines.host.writeChat({ group: null, avatar: 'Ada.png' }, 'Story 7', tavern.chats.get('Story 7').concat({ mes: 'from here' }));
    const again = await watched(timelines);
    assert.equal(by(again.shown[0], 'Story 7').preview, 'from here');
    assert.equal(by(again.shown[0], 'Story 3').preview, 'Story 3 says 2');
    assert.deepEqual([3, 4, 5].map((number) => by(again.last, `Story ${number}`).preview), Array(3).fill('from elsewhere'));
});

test('problems are those that verifying finds, and nothing is said of a book before it is read', async () => {
    const tavern = new Tavern();
    child(tavern, 'Sharer', 'Main', { book: 'Lore', seal: false });
    child(tavern, 'Lost', 'Main', { book: 'missing' });
    child(tavern, 'Short', 'Main', { message: 7 });
    const { last } = await watched(await begin(tavern));
    const problems = (name) => by(last, name).findings.filter(({ problem }) => problem).map(({ code }) => code);
    assert.deepEqual(problems('Sharer'), ['book-shared']);
    assert.deepEqual(problems('Main'), ['book-shared'], 'both of those that share are marked');
    assert.deepEqual(problems('Lost'), ['book-missing']);
    assert.deepEqual(problems('Short'), ['cut-short']);

    const full = await timelinesVerified(tavern);
    for (const { name, findings } of full) {
        assert.deepEqual(by(last, name).findings.map(({ code }) => code).sort(), findings.map(({ code }) => code).sort(), name);
    }
});

async function timelinesVerified(tavern) {
    const verifier = new Verifier({ host: tavern.host(), core: await realCore() });
    return verifier.verify(await verifier.heads(tavern.host().openChat()));
}

test('a parent that is gone is shown as one that is gone, with all of its forks', async () => {
    const tavern = new Tavern();
    child(tavern, 'Orphan 1', 'Deleted');
    child(tavern, 'Orphan 2', 'deleted');
    const { last } = await watched(await begin(tavern));
    const ghost = last.timelines.find(({ kind }) => kind === 'gone');
    assert.equal(ghost.name.toLowerCase(), 'deleted');
    assert.deepEqual([by(last, 'Orphan 1').parent, by(last, 'Orphan 2').parent], [ghost.id, ghost.id]);
    assert.deepEqual(last.families.map(({ count, hasOpen }) => [count, hasOpen]), [[1, true], [2, false]], 'the open chat’s family comes first');
});

test('a header that cannot be read is told of', async () => {
    const tavern = new Tavern();
    tavern.chats.set('Broken', [{ mes: 'no header' }]);
    const { last } = await watched(await begin(tavern));
    assert.deepEqual(by(last, 'Broken').findings.map(({ code }) => code), ['header-unreadable']);
});

test('without an open chat there is nothing to show', async () => {
    const tavern = new Tavern();
    tavern.open = null;
    const { shown } = await watched(await begin(tavern));
    assert.deepEqual(shown, [null]);
});

test('what becomes of a deleted timeline’s book is said beforehand', async () => {
    const tavern = new Tavern();
    child(tavern, 'Own', 'Main');
    child(tavern, 'Sharer', 'Main', { book: 'Lore', seal: false });
    child(tavern, 'Bare', 'Main', { seal: false, metadata: { world_info: undefined } });
    child(tavern, 'Selected', 'Main');
    child(tavern, 'By hand', 'Main');
    delete tavern.books.get('By hand - Lore').extensions;
    tavern.references.push({ book: 'Selected - Lore', place: 'global', name: '' });
    const timelines = await begin(tavern);
    await watched(timelines);
    const fate = async (name) => {
        const { fate, why, by } = await timelines.fateOf(name);
        return [fate, why, by?.[0]].filter(Boolean).join(' ');
    };
    assert.equal(await fate('Own'), 'trash');
    assert.equal(await fate('Sharer'), 'kept used Main');
    assert.equal(await fate('Bare'), 'none');
    assert.equal(await fate('Selected'), 'kept selected');
    assert.equal(await fate('By hand'), 'kept not-ours');
    timelines.settings.cleanUp = false;
    assert.equal(await fate('Own'), 'kept off');
});

test('a name that is taken or cannot be is refused, and the open chat is not deleted', async () => {
    const tavern = new Tavern();
    child(tavern, 'Other', 'Main');
    const timelines = await begin(tavern);
    await assert.rejects(timelines.rename('Other', 'MAIN'), ({ word }) => word.code === 'name-taken');
    await assert.rejects(timelines.rename('Other', ' ??? '), ({ word }) => word.code === 'name-not-possible');
    await assert.rejects(timelines.delete('Main'), ({ word }) => word.code === 'delete-open');
    assert.equal(await timelines.rename('Other', 'Other'), null);
    assert.equal(await timelines.rename('Other', 'A/nother '), 'Another');
    await timelines.delete('Another');
    assert.deepEqual(tavern.log.filter(([call]) => ['renameChat', 'deleteChat'].includes(call)), [['renameChat', 'Other', 'Another'], ['deleteChat', 'Another']]);
});

test('without an open chat, reading everything says so', async () => {
    const tavern = new Tavern();
    tavern.open = null;
    await assert.rejects((await begin(tavern)).readAll(), ({ word }) => word?.code === 'no-chat');
});
