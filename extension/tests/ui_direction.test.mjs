// Right-to-left names, and names that try to change the direction of the text after them.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { say, sayNames } from '../ui/words.js';

test('a name of another direction is set apart from the sentence around it', () => {
    assert.equal(say('list.quote', { text: 'שלום' }), '“\u2068שלום\u2069”');
    assert.equal(say('list.quote', { text: 'harmless\u202egpj' }), '“\u2068harmless\u202egpj\u2069”');
    assert.equal(say('list.quote', { text: 'Ada, 雨, 😀' }), '“Ada, 雨, 😀”');
});

test('a name cannot end what sets it apart', () => {
    assert.equal(say('list.quote', { text: 'a\u2069\u202eb' }), '“\u2068a\u202eb\u2069”');
    const [opened, closed] = ['\u2068', '\u2069'].map(sign => sayNames(['a\u2069b', 'c']).split(sign).length);
    assert.equal(opened, closed);
});
