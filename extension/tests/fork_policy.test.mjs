import assert from 'node:assert/strict';
import { test } from 'node:test';

import { slimMessage } from '../core/chat.js';
import { fillDefaults, nameFrom } from '../features/settings.js';
import { realCore } from './tavern.mjs';

await realCore();

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
