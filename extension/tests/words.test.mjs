import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ENGLISH } from '../ui/english.js';
import { placeholders, say, sayError, sayNames, sayPart, sayPartShort, saySize, sayWord, useTranslations } from '../ui/words.js';

const CHINESE = JSON.parse(readFileSync(new URL('../i18n/zh-cn.json', import.meta.url)));

/** All codes of the core, with values like the core's. */
const CODES = {
    'no-messages': {},
    'no-such-message': { asked: 9, last: 4 },
    'chat-bom': {},
    'unreadable-line': { line: 3 },
    'torn-line': { line: 3 },
    'no-header': {},
    'empty-chat': {},
    'metadata-too-deep': { keys: ['variables'] },
    'queue-busy': { count: 1 },
    'queue-paused': { count: 1 },
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
    'own-copy': { name: 'B' },
    'shares-book': { name: 'B' },
    'without-book': { name: 'B', why: 'busy', count: 2 },
    'bom-dropped': {},
    'running-dropped': { count: 1 },
    'combined-dropped': {},
    'queue-drained': {},
    'past-queue-drained': {},
    'failed-operations': { count: 3 },
    'stale-entries': { count: 1 },
    'damaged-lines': { lines: [3, 4] },
    'also-used': { chats: ['C'] },
    'also-selected': { place: { code: 'card', values: { name: 'Ada' } } },
    'book-bom': { name: 'B' },
    'book-shared': { name: 'B', with: ['C', 'D'] },
    'book-elsewhere': { name: 'B', by: ['C'] },
    'leaves-out': { name: 'B' },
    'leaves-out-nothing': { name: 'B' },
    'another-book': { sealed: 'B', bound: null },
    'cut-short': { sealed: 7, messages: 3 },
    'book-edited': { sealed: 1, entries: 2 },
    'running-missing': { version: 0 },
    'running-changed': { version: 0 },
    'combined-changed': { sealed: 5, found: null },
    'registry-without-entry': { kind: 'character', name: null, uid: '4' },
    'registry-of-another': { kind: 'character', name: 'Ada', uid: '4', comment: 'Tom' },
    'queue-past-end': { operation: 'o', message: 3 },
    'parent-missing': { name: 'C' },
    'cycle': { name: 'C' },
    'no-seal': {},
    'unlisted': {},
    'referred': { places: ['chat', 'backup', 'global', 'character', 'persona', 'card', 'recap', 'queue'].map(code => ({ code, values: { name: 'N' } })) },
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

/** Names, formats, and keywords that are not translated. */
const SAME_EVERYWHERE = /Forklore|Memory Books|TauriTavern|SillyTavern|ST-Auto-Recap|JSON|BOM|CFG|pick|checkpoint|branch|ready|blocked|false|left|right|beginning|entries|ours|theirs|into|book|added|changed|removed|ST|ID|[KM]B/g;

test('no English is left in a translation', () => {
    const texts = Object.entries(CHINESE).flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : Object.values(text).map((form) => [key, form])));
    const left = texts.filter(([, text]) => /[A-Za-z]{2,}/.test(text.replaceAll(/\{[^}]*\}/g, '').replaceAll(SAME_EVERYWHERE, '')));
    assert.deepEqual(left, []);
});

test('every code of the core is said in our words, in every language', () => {
    for (const translator of [english => english, (english, key) => CHINESE[key]]) {
        useTranslations(translator);
        for (const [code, values] of Object.entries(CODES)) {
            const said = sayWord({ code, values });
            assert.doesNotMatch(said, /[{}]|undefined|null|\[object/, `${code}: ${said}`);
            assert.notEqual(said, code);
        }
    }
    useTranslations(english => english);
});

test('a child without a lorebook says why, in a sentence for each reason', () => {
    const reasons = { 'busy': /still working, with 2 operations left/, 'paused': /paused, with 2 operations left/, 'not-scene-break': /not a scene break/, 'missing': /does not exist/,
        'unreadable': /cannot be read/, 'not-known': /not recorded at this message/, 'metadata-not-known': /variables.*not recorded/, 'not-answered': /not answered/, 'chosen': /as you chose/ };
    for (const [why, said] of Object.entries(reasons)) {
        const sentence = sayWord({ code: 'without-book', values: { name: 'Lore', why, count: ['busy', 'paused'].includes(why) ? 2 : null } });
        assert.match(sentence, /^The lorebook “Lore” was not copied/);
        assert.match(sentence, said);
    }
    assert.equal(Object.keys(ENGLISH).filter(key => key.startsWith('word.without-book')).length, Object.keys(reasons).length);
});

test('what we do not know is said by its code', () => {
    assert.equal(sayWord({ code: 'from-the-future', values: {} }), 'from-the-future');
    assert.equal(sayWord({ code: 'queue-busy', values: {} }), 'queue-busy');
});

test('a language has as many forms as it needs', () => {
    const russian = { 'forklore.word.failed-operations': '{count} {count|операция|операции|операций|операции} с ошибкой' };
    useTranslations((english, key) => russian[key] ?? english, 'ru-ru');
    const said = count => sayWord({ code: 'failed-operations', values: { count } }).split(' ')[1];
    assert.deepEqual([1, 2, 5, 21, 22, 111].map(said), ['операция', 'операции', 'операций', 'операция', 'операции', 'операций']);
    // A text without a translation keeps the plural forms of English.
    assert.equal(say('verify.well', { count: 21 }), 'All is well. 21 chats were checked.');
    useTranslations(english => english);
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
    assert.equal(sayPart({ exactness: 'snapshot', as_of: 42, source: 'journal' }), 'as it was at message 42, the nearest known state');
    assert.match(sayPart({ exactness: 'snapshot', as_of: 42, source: 'recap' }), /message 42, rebuilt from the scene recap/);
    assert.equal(sayPart({ exactness: 'live', source: 'files' }), 'as it is today; it was not recorded at that message');
    assert.equal(sayPart({ exactness: 'live', source: 'chosen' }), 'a copy of the lorebook you chose');
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

test('every code that the page itself says has its words', () => {
    const folder = new URL('..', import.meta.url);
    const sources = readdirSync(folder, { recursive: true }).filter(name => name.endsWith('.js') && !/^(core\/pkg|vendor|tests|bench)\//.test(name));
    const codes = sources.flatMap((name) => {
        const source = readFileSync(new URL(name, folder), 'utf8');
        return [...source.matchAll(/wordError\('([\w-]+)'|word: \{ code: '([\w-]+)'|\{ code: '([\w-]+)', values/g)].map(found => found.slice(1).find(Boolean));
    });
    assert.ok(codes.length > 12, `${codes.length} in ${sources.length} files`);
    assert.deepEqual(codes.filter(code => !(`word.${code}` in ENGLISH)), []);
});
