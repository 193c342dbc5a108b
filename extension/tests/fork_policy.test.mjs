import assert from 'node:assert/strict';
import { test } from 'node:test';

import { slimMessage } from '../core/chat.js';
import { answerTo, policyFor } from '../features/fork/policy.js';
import { DEFAULTS, fillDefaults, nameFrom } from '../features/settings.js';

const refusal = (...codes) => ({ obstacles: codes.map((code) => ({ code })), remarks: [] });
const settings = (changes = {}) => ({ ...DEFAULTS, ...changes });

test('a busy queue is waited for once, then the child goes without a book', () => {
    const busy = refusal('queue-busy');
    assert.equal(answerTo(busy, settings(), { hasWaited: false }), 'wait');
    assert.equal(answerTo(busy, settings(), { hasWaited: true }).leaveBook, true);
    assert.deepEqual(answerTo(busy, settings({ whenBusy: 'drain' }), { hasWaited: false }), { drain: true });
    assert.equal(answerTo(busy, settings({ whenBusy: 'without' }), { hasWaited: false }).leaveBook, true);
});

test('what is not exactly known is asked about, taken or left', () => {
    const inexact = refusal('book-not-known', 'metadata-not-exact');
    assert.equal(answerTo(inexact, settings(), { hasWaited: false }), 'ask');
    assert.equal(answerTo(inexact, settings({ whenInexact: 'refuse' }), { hasWaited: false }).leaveBook, true);
    assert.equal(policyFor(settings({ whenInexact: 'nearest' })).allow, 'live');
    assert.equal(policyFor(settings()).allow, 'message');
});

test('a book that is gone cannot be asked for', () => {
    assert.equal(answerTo(refusal('book-missing'), settings(), { hasWaited: false }).leaveBook, true);
    assert.equal(answerTo(refusal('not-a-scene-break'), settings(), { hasWaited: false }).requireScene, false);
});

test('a decision goes before the settings', () => {
    assert.equal(policyFor(settings(), { allow: 'live' }).allow, 'live');
});

test('the core sees the journal and the memory of a message, not its text', () => {
    const memory = { scene_break: true };
    const message = { mes: 'long', swipes: ['long'], forklore: { v: 1 }, extra: { auto_recap_memory: memory, model: 'm' } };
    assert.deepEqual(slimMessage(message), { forklore: { v: 1 }, extra: { auto_recap_memory: memory }, mes: '' });
    const swiped = { mes: 'x', swipe_info: [null, { extra: { auto_recap_memory: memory, model: 'm' } }, { extra: {} }] };
    assert.deepEqual(slimMessage(swiped), { swipe_info: [{}, { extra: { auto_recap_memory: memory } }, {}], mes: '' });
    assert.deepEqual(slimMessage({ mes: 'x', swipe_info: [{ extra: {} }] }), { mes: '' });
    assert.deepEqual(slimMessage(null), { mes: '' });
});

test('settings that make no sense are put right', () => {
    const odd = fillDefaults({ isolate: 'yes', whenBusy: 'never', waitSeconds: 5, mine: 1 });
    assert.deepEqual([odd.isolate, odd.whenBusy, odd.waitSeconds, odd.mine], [true, 'wait', 5, 1]);
});

test('a template is filled in, and what it does not know stays', () => {
    const values = { scene_number: 3, scene_name: 'Harbour {chat}' };
    assert.equal(nameFrom('Scene {scene_number} - {scene_name} {odd}', values), 'Scene 3 - Harbour {chat} {odd}');
});
