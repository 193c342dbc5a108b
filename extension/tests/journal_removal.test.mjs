// Removing the journal from all chats.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { JournalRemoval } from '../features/journal/journal_removal.js';
import { realCore, Tavern } from './tavern.mjs';

const NOW = Date.parse('2026-11-18T12:00:00.000Z');
const header = (name) => ({ chat_metadata: { integrity: `slug of ${name}`, forklore: { kind: 'branch' } }, user_name: 'Me' });
const recorded = (mes) => ({ mes, extra: {}, forklore: { v: 2, id: mes } });

/** `dates`: when the last message of a chat was sent. */
async function begin({ dates = {}, change = () => ({}) } = {}) {
    const tavern = new Tavern();
    tavern.chats.set('One', [header('One'), recorded('a'), { mes: 'b' }, recorded('c')]);
    tavern.chats.set('Two', [header('Two'), recorded('a')]);
    tavern.chats.set('Plain', [header('Plain'), { mes: 'a' }]);
    Object.entries(dates).forEach(([name, date]) => Object.assign(tavern.chats.get(name).at(-1), { send_date: new Date(date).toISOString() }));
    const plain = tavern.host();
    const host = {
        ...plain,
        ...change(plain),
    };
    const core = await realCore();
    const stripOpen = async () => { tavern.call('stripOpen'); return 3; };
    const removal = new JournalRemoval({ host, core, stripOpen, now: () => NOW });
    const remove = async (how) => removal.removeFrom(await removal.allChats(), how);
    const written = () => tavern.log.filter(([name]) => name === 'writeChat').map(([, chat]) => chat);
    return { tavern, removal, remove, written };
}

test('every chat that has a journal loses it and nothing else; the open one by the page', async () => {
    const { tavern, remove, written } = await begin();
    const told = [];
    const report = await remove({ progress: (done, total) => told.push(`${done}/${total}`) });
    assert.deepEqual(report, { chats: 3, records: 6, done: 4, total: 4, left: [] });
    assert.deepEqual(told, ['0/4', '1/4', '2/4', '3/4', '4/4']);
    assert.deepEqual(written(), ['One', 'Two'], 'neither the open one nor one without a journal');
    assert.equal(tavern.log.filter(([name]) => name === 'stripOpen').length, 1);
    assert.deepEqual(tavern.chats.get('One'), [header('One'), { mes: 'a', extra: {} }, { mes: 'b' }, { mes: 'c', extra: {} }], 'the seal stays');
});

test('a chat that may be open elsewhere, cannot be read whole or cannot be saved is left alone and named', async () => {
    const { tavern, remove, written } = await begin({
        dates: { One: NOW - 119_000 },
        change: (plain) => ({
            chatTextIfAny: async (owner, name) => {
                if (name === 'Plain') {
                    throw new Error('SillyTavern answered 500');
                }
                return name === 'Two' ? `${await plain.chatText(owner, name)}\n{"mes":` : plain.chatTextIfAny(owner, name);
            },
        }),
    });
    const before = JSON.stringify([...tavern.chats]);
    const { left, chats, done } = await remove();
    assert.deepEqual(left.map(({ code, values }) => [code, values.chat]), [['chat-recent', 'One'], ['chat-unreadable', 'Two'], ['chat-failed', 'Plain']]);
    assert.deepEqual([chats, done], [1, 4]);
    assert.deepEqual(written(), []);
    assert.equal(JSON.stringify([...tavern.chats]), before);
});

test('a refused save is told, and the rest goes on', async () => {
    const { remove, written } = await begin({ change: (plain) => ({
        writeChat: async (owner, name, lines) => {
            if (name === 'One') {
                throw new Error('SillyTavern answered 400');
            }
            return plain.writeChat(owner, name, lines);
        },
    }) });
    const { left, chats } = await remove();
    assert.deepEqual(left.map(({ code, values }) => [code, values.chat, values.reason]), [['chat-failed', 'One', 'SillyTavern answered 400']]);
    assert.equal(chats, 2);
    assert.deepEqual(written(), ['Two']);
});

test('what another device writes until the chat is read for the last time is kept', async () => {
    let looks = 0;
    const { tavern, remove } = await begin({ change: (plain) => ({
        chatTextIfAny: async (owner, name) => {
            if (name === 'One' && (looks += 1) === 2) {
                tavern.chats.get('One').push({ mes: 'new' });
            }
            return plain.chatTextIfAny(owner, name);
        },
    }) });
    const { left } = await remove();
    assert.deepEqual([left, looks], [[], 2]);
    assert.deepEqual(tavern.chats.get('One').map(({ mes, forklore }) => [mes, forklore]).slice(1), [['a', undefined], ['b', undefined], ['c', undefined], ['new', undefined]]);
});

test('it stops when it is not wanted any more', async () => {
    const { remove, written } = await begin();
    let asked = 0;
    const report = await remove({ isWanted: () => (asked += 1) < 3 });
    assert.deepEqual([report.done, report.total, written()], [2, 4, ['One']]);
});

test('characters whose chats cannot be listed are named; chats of deleted characters count', async () => {
    const { removal, tavern } = await begin({ change: () => ({
        owners: () => [{ group: null, avatar: 'Ada.png', label: 'Ada' }, { group: '5', avatar: null, label: 'The crew' }],
        chatNames: async ({ group, avatar }) => {
            if (group) {
                throw new Error('no');
            }
            return avatar === 'Ada.png' ? [...tavern.chats.keys()] : ['Old'];
        },
    }) });
    removal.leftBehind = () => ['Gone.png'];
    const { chats, left } = await removal.allChats();
    assert.deepEqual(left, [{ code: 'chats-unlisted', values: { name: 'The crew', reason: 'no' } }]);
    assert.deepEqual(chats.at(-1), { group: null, avatar: 'Gone.png', name: 'Old' });
});
