/** TauriTavern: where chats are windows of a story, Forklore does nothing. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';

import { cannotRecordBecause } from '../sillytavern/tauritavern.js';

afterEach(() => {
    delete globalThis.__TAURITAVERN__;
    delete globalThis.localStorage;
});

/** As TauriTavern keeps its setting; `null` where it was never changed. */
function inTauriTavern(mode) {
    globalThis.__TAURITAVERN__ = { abiVersion: 1 };
    globalThis.localStorage = { getItem: (key) => (key === 'tt:chatHistoryMode' ? mode : null) };
}

test('in SillyTavern chats can be recorded', () => {
    assert.equal(cannotRecordBecause(), null);
});

test('TauriTavern holds windows of chats unless its chat history is off', () => {
    for (const mode of [null, '', 'windowed', 'something new']) {
        inTauriTavern(mode);
        assert.equal(cannotRecordBecause(), 'windowed', String(mode));
    }
    inTauriTavern('off');
    assert.equal(cannotRecordBecause(), null);
});
