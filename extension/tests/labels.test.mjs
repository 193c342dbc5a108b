// Titles, notes, colours, pins and the archive of timelines.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Labels, labelOf } from '../features/timelines/labels.js';
import { TimelineIndex } from '../features/timelines/timeline_index.js';
import { Timelines } from '../features/timelines/timelines.js';
import { Tavern, realCore } from './tavern.mjs';

const LABEL = { title: 'Bad end', note: 'Iven dies.', colour: 'red', pin: true, archived: true };
const NONE = { title: '', note: '', colour: null, pin: false, archived: false };
const NOW = Date.parse('2026-11-18T12:00:00.000Z');

async function begin() {
    const tavern = new Tavern();
    tavern.chats.set('Other', [{ chat_metadata: { integrity: 'slug of Other', variables: { a: 1 } }, user_name: 'Me' }, { mes: 'One' }, { mes: 'Two' }]);
    const core = await realCore();
    const plain = { ...tavern.host(), currentOwner: () => ({ group: null, avatar: 'Ada.png' }) };
    const index = new TimelineIndex({ store: plain.timelineStore, core });
    const host = index.watching(plain);
    const timelines = new Timelines({ host, core, index, settings: { cleanUp: true } });
    await host.chatHeads(timelines.requireOpenChat());
    return { tavern, plain, timelines, labels: new Labels({ host, timelines, now: () => NOW }) };
}

const inFile = (tavern, name) => tavern.chats.get(name)[0].chat_metadata.forklore_label;
const refused = (code) => (error) => error.word.code === code;

test('the open chat and others are labelled, and an empty label leaves nothing behind', async () => {
    const { tavern, timelines, labels } = await begin();
    const { name } = timelines.requireOpenChat();
    for (const chat of [name, 'Other']) {
        const before = JSON.stringify(tavern.chats.get(chat));
        await labels.set(chat, LABEL);
        assert.deepEqual(inFile(tavern, chat), LABEL);
        assert.deepEqual((await labels.all()).get(chat), LABEL);
        await labels.set(chat, { ...NONE, title: '   ' });
        assert.equal(inFile(tavern, chat), undefined);
        assert.equal((await labels.all()).has(chat), false);
        if (chat === 'Other') {
            assert.equal(JSON.stringify(tavern.chats.get(chat)), before, 'nothing else was changed');
        }
    }
});

test('a timeline is archived and taken back, and the rest of its label stays as it is in the file', async () => {
    const { tavern, timelines, labels } = await begin();
    const { archived: _, ...rest } = LABEL;
    tavern.chats.get('Other')[0].chat_metadata.forklore_label = rest;
    for (const name of [timelines.requireOpenChat().name, 'Other']) {
        await labels.archive(name, true);
        assert.equal(inFile(tavern, name).archived, true);
        assert.equal((await timelines.readAll()).timelines.find((timeline) => timeline.name === name).label.archived, true);
        await labels.archive(name, false);
    }
    assert.deepEqual(inFile(tavern, 'Other'), rest);
    assert.equal(inFile(tavern, timelines.requireOpenChat().name), undefined);
});

test('the map shows labels', async () => {
    const { timelines, labels } = await begin();
    await labels.set('Other', LABEL);
    const { timelines: shown } = await timelines.readAll();
    assert.deepEqual(shown.find(({ name }) => name === 'Other').label, LABEL);
    assert.deepEqual(shown.find(({ isOpen }) => isOpen).label, NONE);
});

test('a chat that may be open elsewhere, or is another one by now, is left alone', async () => {
    const { tavern, labels } = await begin();
    const seen = async ({ ago, torn = '' }) => {
        tavern.chats.get('Other').at(-1).send_date = new Date(NOW - ago).toISOString();
        tavern.torn = torn;
        const before = JSON.stringify([...tavern.chats]);
        const result = await labels.set('Other', LABEL).then(() => 'done', (error) => error.word.code);
        assert.equal(JSON.stringify([...tavern.chats]) === before, result !== 'done');
        return result;
    };
    assert.equal(await seen({ ago: 119_000 }), 'chat-recent');
    assert.equal(await seen({ ago: 121_000, torn: '{"mes":' }), 'chat-unreadable', 'SillyTavern leaves out lines that it cannot read');
    assert.equal(await seen({ ago: 121_000 }), 'done');
    tavern.chats.get('Other')[0].chat_metadata.integrity = 'another';
    await assert.rejects(labels.set('Other', NONE), refused('chat-changed'));
    await assert.rejects(labels.set('Gone', LABEL), refused('chat-changed'));
});

test('whatever is in the metadata, a label is what it must be', () => {
    for (const odd of [undefined, null, 5, 'red', [], {}, { title: 5, note: [], colour: 'url(x)', pin: 'yes', archived: 1 }]) {
        assert.deepEqual(labelOf({ forklore_label: odd }), NONE);
    }
    assert.deepEqual(labelOf(null), NONE);
    const long = labelOf({ forklore_label: { title: `  a\n${'😀'.repeat(200)}`, note: 'b'.repeat(5000), colour: 'blue' } });
    assert.equal([...long.title].length, 78);
    assert.match(long.title, /^a 😀+$/u);
    assert.equal(long.note.length, 1000);
    assert.equal(long.colour, 'blue');
});
