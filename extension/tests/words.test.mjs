import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ENGLISH } from '../ui/english.js';
import { placeholders, say, sayError, sayNames, sayPart, sayPartShort, saySize, sayWord, speakThrough } from '../ui/words.js';

const CHINESE = JSON.parse(readFileSync(new URL('../i18n/zh-cn.json', import.meta.url)));

/** Every code of the core, with values as the core gives them. */
const CODES = {
    'no-messages': {},
    'no-such-message': { asked: 9, last: 4 },
    'damaged': {},
    'queue-busy': { count: 1 },
    'queue-unreadable': {},
    'not-a-scene-break': { message: 5 },
    'book-missing': { name: 'B' },
    'book-unreadable': { name: 'B' },
    'book-not-known': { as_of: null },
    'metadata-not-exact': { as_of: 3 },
    'no-scene-recap': {},
    'no-running-recap': {},
    'not-in-running-recap': {},
    'not-scene-break': {},
    'metadata-live': { keys: ['variables', 'note_prompt', 'note_depth', 'odd'] },
    'recap-lost-fields': { count: 1 },
    'fields-filled': { count: 2 },
    'snapshot-of-another': { name: 'B' },
    'book-live': {},
    'without-book': { name: 'B' },
    'bom-dropped': {},
    'running-dropped': { count: 1 },
    'combined-dropped': {},
    'queue-drained': {},
    'past-queue-drained': {},
    'failed-operations': { count: 3 },
    'stale-entries': { count: 1 },
    'damaged-lines': { lines: [3, 4] },
    'also-used': { chats: ['C'] },
    'also-selected': { place: 'globally' },
    'damage': {},
    'book-bom': { name: 'B' },
    'book-shared': { name: 'B', with: ['C', 'D'] },
    'book-elsewhere': { name: 'B', by: ['C'] },
    'another-book': { sealed: 'B', bound: null },
    'cut-short': { sealed: 7, messages: 3 },
    'book-edited': { sealed: 1, entries: 2 },
    'running-missing': { version: 0 },
    'running-changed': { version: 0 },
    'combined-changed': { sealed: 5, found: null },
    'registry': {},
    'queue-past-end': { operation: 'o', message: 3 },
    'parent-missing': { name: 'C' },
    'cycle': { name: 'C' },
    'no-seal': {},
    'unlisted': {},
    'referred': { places: ['p', 'q'] },
    'only-backups': { count: 1 },
    'unread': {},
};

test('every text has a translation, and every translation a text', () => {
    assert.deepEqual(Object.keys(CHINESE), Object.keys(ENGLISH).map(key => `forklore.${key}`));
});

test('a translation has the placeholders of its text', () => {
    for (const [key, text] of Object.entries(ENGLISH)) {
        assert.deepEqual(placeholders(CHINESE[`forklore.${key}`]).sort(), placeholders(text).sort(), key);
    }
});

test('no text is empty or has a brace left over', () => {
    for (const [key, text] of [...Object.entries(ENGLISH), ...Object.entries(CHINESE)]) {
        assert.ok(text.trim().length > 0, key);
        assert.equal(text.replace(/\{\w+(\|[^{}|]*)*\}/g, '').match(/[{}]/), null, key);
    }
});

test('every code of the core is said in our words, in every language', () => {
    for (const translator of [english => english, (english, key) => CHINESE[key]]) {
        speakThrough(translator);
        for (const [code, values] of Object.entries(CODES)) {
            const said = sayWord({ code, values, text: 'THE CORE' });
            assert.doesNotMatch(said, /[{}]|undefined|null|\[object/, `${code}: ${said}`);
            assert.notEqual(said, 'THE CORE', code);
        }
    }
    speakThrough(english => english);
});

test('what we do not know is said in the words of the core', () => {
    assert.equal(sayWord({ code: 'from-the-future', values: {}, text: 'something new' }), 'something new');
    assert.equal(sayWord({ code: 'queue-busy', values: {}, text: 'values are missing' }), 'values are missing');
});

test('one and many', () => {
    assert.equal(sayWord({ code: 'failed-operations', values: { count: 1 } }), '1 operation in the queue has failed.');
    assert.equal(sayWord({ code: 'failed-operations', values: { count: 2 } }), '2 operations in the queue have failed.');
    assert.equal(say('verify.well', { count: 0 }), 'All is well. 0 chats were checked.');
});

test('a sentence changes when a value is missing', () => {
    assert.match(sayWord({ code: 'book-not-known', values: { as_of: 4 } }), /message 4/);
    assert.match(sayWord({ code: 'book-not-known', values: { as_of: null } }), /today/);
    assert.match(sayWord({ code: 'book-not-known', values: { as_of: 0 } }), /message 0/);
    assert.match(sayWord({ code: 'another-book', values: { sealed: 'A', bound: 'B' } }), /“B” now/);
    assert.match(sayWord({ code: 'combined-changed', values: { sealed: 2, found: null } }), /gone/);
});

test('metadata is called by the names people know, each once', () => {
    const said = sayWord({ code: 'metadata-live', values: { keys: ['note_prompt', 'note_depth', 'variables', 'odd'] } });
    assert.match(said, /: the author’s note, chat variables, odd\.$/);
});

test('how well something is known', () => {
    assert.equal(sayPart({ exactness: 'exact', source: 'journal' }), 'exactly as it was at this message');
    assert.equal(sayPart({ exactness: 'snapshot', as_of: 42, source: 'journal' }), 'as it was at message 42, the nearest that is known');
    assert.match(sayPart({ exactness: 'snapshot', as_of: 42, source: 'recap' }), /message 42, rebuilt from the scene recap/);
    assert.equal(sayPart({ exactness: 'live', source: 'files' }), 'as it is today: nothing recorded it at that message');
    assert.equal(sayPart({ exactness: 'live', source: 'chosen' }), 'a copy of the lorebook that you chose');
    assert.equal(sayPartShort({ exactness: 'snapshot', as_of: 0, source: 'recap' }), 'as of message 0');
});

test('names that look like placeholders or markup stay what they are', () => {
    const name = '{count|a|b} <img src=x onerror=alert(1)> $& {name}';
    assert.equal(sayWord({ code: 'book-missing', values: { name } }), `The lorebook “${name}” does not exist.`);
    assert.equal(sayNames([name]), `“${name}”`);
});

test('long lists are cut', () => {
    assert.equal(sayNames(['a', 'b', 'c'], 2), '“a”, “b” and 1 more');
});

test('what a template may hold is shown as it is typed', () => {
    assert.match(say('setting.nameTemplate.hint'), /\{scene_number\}/);
});

test('errors and sizes', () => {
    assert.match(sayError(new Error('no network')), /no network/);
    assert.match(sayError(Object.assign(new Error('x'), { word: { code: 'no-messages', values: {} } })), /no messages/);
    assert.equal(saySize(10), '1 KB');
    assert.equal(saySize(2203412), '2.1 MB');
});
