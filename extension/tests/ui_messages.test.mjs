/** Messages in words. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { payloads } from '../../e2e/harness/payloads.mjs';
import { forkMessage, forksOf, linkedForks, listedMessages, loreChanges, spokenIn } from '../features/messages.js';
import { firstWords, sayMessage, sayMessagesOf } from '../ui/messages.js';
import { sayError, sayPart, sayWord, useTranslations } from '../ui/words.js';

const said = (text, name = 'Mara') => sayMessage(12, { name, text });

test('a message is its number, who spoke and its first words', () => {
    assert.equal(said('The lamp turns.'), '12, Mara: “The lamp turns.”');
    assert.equal(said('The lamp turns, and nobody in the whole harbour sees that it does.'), '12, Mara: “The lamp turns, and nobody in the whole…”');
});

test('quotation marks of the words do not stand in those around them', () => {
    assert.equal(said('"Mara? Is she alive?"'), '12, Mara: “Mara? Is she alive?”');
    assert.equal(said('*She nods.* “You are late,” she says. "The tide is not."'), '12, Mara: “She nods. You are late, she says. The…”');
    assert.equal(said('「灯塔」在转动'), '12, Mara: “灯塔在转动”');
    assert.equal(firstWords('"..."'), '...');
    assert.equal(firstWords('""'), '');
});

test('what is not known is left out', () => {
    assert.equal(said(''), '12, Mara');
    assert.equal(said('The lamp turns.', ''), '12: “The lamp turns.”');
    assert.equal(said('', ''), '12');
    assert.equal(sayMessage(12, null), '12');
    assert.deepEqual(spokenIn({ name: 7, mes: { deep: true } }), { name: '', text: '' });
    assert.equal(spokenIn(undefined), null);
});

test('markup is dropped, words are not', () => {
    const words = {
        '*The lamp* **turns**,\n\n_slowly_.': 'The lamp turns, slowly.',
        '# The quay\n> "Who is there?"\n- Iven': 'The quay Who is there? Iven',
        '<b>The lamp</b><br>turns': 'The lamp turns',
        '<style>.lamp { color: red }</style>The lamp': 'The lamp',
        '<!-- a note -->The lamp': 'The lamp',
        '[the lamp](https://example.com/) and ![a quay](x.png)': 'the lamp and a quay',
        '```js\nlamp()\n```': 'lamp()',
        'a snake_case name, 2 < 3, <3 and x <y': 'a snake_case name, 2 < 3, <3 and x <y',
        '{{user}} and {{char}} meet': '{{user}} and {{char}} meet',
        '{message} {name} {count|one|many} $& $1': '{message} {name} {count one many} $& $1',
    };
    for (const [text, expected] of Object.entries(words)) {
        assert.equal(firstWords(text), expected);
    }
    assert.equal(firstWords('<div><br></div>\n***\n'), '');
});

test('a text without spaces is cut between signs, and Chinese after about twenty', () => {
    assert.equal(firstWords('x'.repeat(100)), `${'x'.repeat(40)}…`);
    assert.equal(firstWords('灯塔的灯转动着，港口里没有人看见它在转动，除了玛拉和她的船。'), '灯塔的灯转动着，港口里没有人看见它在转动…');
    assert.equal(firstWords('灯塔的灯转动着。'), '灯塔的灯转动着。');
    const family = '👩‍👩‍👧‍👦';
    assert.match(firstWords(family.repeat(30)), new RegExp(`^(${family})+…$`));
    assert.match(firstWords(`${'a'.repeat(38)}e\u0301e\u0301e\u0301e\u0301`), /^a{38}(e\u0301){2}…$/);
});

test('hostile texts are one short line of text', () => {
    for (const { number, text } of payloads('http://trap')) {
        const words = firstWords(text);
        assert.ok(words.length <= 161, `${number}: ${words.length}`);
        assert.doesNotMatch(words, /[\n\r\t\0]|<(img|script|svg|iframe)\b[^<>]*>/i, String(number));
        assert.doesNotThrow(() => encodeURIComponent(words), `${number}: half a character`);
        const whole = said(text, text);
        assert.ok(whole.startsWith('12') && whole.length < 240, `${number}: ${whole}`);
    }
});

test('a long message takes no time', () => {
    const began = performance.now();
    for (const text of ['<'.repeat(200_000), '<script>'.repeat(20_000), '['.repeat(200_000), '*'.repeat(200_000), '\u0301'.repeat(200_000), '<!--'.repeat(50_000)]) {
        firstWords(text);
    }
    assert.ok(performance.now() - began < 1000);
});

test('sentences of the core say the messages of a chat that is known', () => {
    const told = sayMessagesOf((message) => (message === 8 ? { name: 'Mara', text: 'The lamp turns.' } : null));
    assert.equal(sayPart({ exactness: 'snapshot', as_of: 8 }, told), 'as it was at message 8, Mara: “The lamp turns.”, the nearest known state');
    assert.equal(sayPart({ exactness: 'snapshot', as_of: 9 }, told), 'as it was at message 9, the nearest known state');
    assert.equal(sayWord({ code: 'book-not-known', values: { as_of: 8 } }, told), 'The lorebook is only known as it was at message 8, Mara: “The lamp turns.”.');
    assert.match(sayWord({ code: 'book-not-known', values: { as_of: null } }, told), /only known as it is today/);
    const failed = (code) => sayError(Object.assign(new Error(), { word: { code, values: { message: 8 } } }), told);
    assert.match(failed('being-edited'), /^Message 8, Mara: “The lamp turns.” is being edited/);
    assert.match(failed('lore-unknown'), /at message 8\.$/, 'it may be about another chat');
});

test('in Chinese', () => {
    const chinese = JSON.parse(readFileSync(new URL('../i18n/zh-cn.json', import.meta.url)));
    useTranslations((english, key) => chinese[key] ?? english, 'zh-cn');
    try {
        assert.equal(sayMessage(12, { name: '玛拉', text: '灯转动着。' }), '12（玛拉：“灯转动着。”）');
    } finally {
        useTranslations((english) => english);
    }
});

test('a fork is found where SillyTavern has noted it', () => {
    const messages = [{ mes: 'a' }, { mes: 'b', extra: { branches: ['Branch', 5, null], bookmark_link: 'Checkpoint' } }, { mes: 'c', extra: { branches: 'odd' } }, null];
    assert.deepEqual([...linkedForks(messages)], [['Branch', 1], ['Checkpoint', 1]]);
    const at = (timeline) => forkMessage({ name: 'Main', messages }, { parent: 'Main', ...timeline })?.text;
    assert.equal(at({ name: 'Branch', message: 1 }), 'b');
    assert.equal(at({ name: 'Branch', message: 2 }), undefined, 'messages before it were deleted since');
    assert.equal(at({ name: 'Elsewhere', message: 2 }), 'c');
    assert.equal(at({ name: 'Elsewhere', message: 2, parent: 'Another' }), undefined);
    assert.equal(at({ name: 'Main', message: 0, parent: 'Another' }), 'a');
    assert.equal(at({ name: 'Elsewhere', message: null }), undefined);
});

const fork = (name, parent, message, kind = 'branch') => ({ id: name, name, parent, message, kind });

test('forks of a chat, and of its ancestors in the part that it has from them', () => {
    const family = [
        fork('Main', null, null, 'main'), fork('Main 10', 'Main', 3), fork('Main 9', 'Main', 3), fork('Deep', 'Main 9', 5), fork('Early', 'Main', 1),
        fork('Late', 'Main', 4), fork('Older', 'Main', null, 'fork'), fork('Gone', 'Main', 2, 'gone'), fork('Elsewhere', null, null, 'main'),
    ];
    const at = (name, count, messages = Array.from({ length: count }, () => ({}))) => Object.fromEntries(forksOf({ name, messages }, family));
    assert.deepEqual(at('Main', 8), { 1: ['Early'], 3: ['Main 9', 'Main 10'], 4: ['Late'] });
    assert.deepEqual(at('Main 9', 8), { 1: ['Early'], 3: ['Main 10'], 5: ['Deep'] });
    assert.deepEqual(at('Deep', 8), { 1: ['Early'], 3: ['Main 10'] });
    assert.deepEqual(at('Main', 2), { 1: ['Early'] }, 'the chat was cut short since');
    assert.deepEqual(at('Elsewhere', 8), {});
    const moved = [{}, { extra: { bookmark_link: 'Early', branches: ['Late', 'Older'] } }, {}];
    assert.deepEqual(at('Main', 3, [{}, ...moved]), { 2: ['Early', 'Late', 'Older'], 3: ['Main 9', 'Main 10'] }, 'what SillyTavern has noted wins');
    const chat = { name: 'Main', messages: Array.from({ length: 8 }, (_, mes) => ({ mes })) };
    const found = new Map();
    forksOf(chat, family, found);
    chat.messages.splice(2, 1);
    assert.deepEqual(Object.fromEntries(forksOf(chat, family, found)), { 1: ['Early'], 2: ['Main 9', 'Main 10'], 3: ['Late'] }, 'they follow their messages');
    const circle = [fork('A', 'B', 1), fork('B', 'A', 1)];
    assert.deepEqual(Object.fromEntries(forksOf({ name: 'A', messages: [{}, {}] }, circle)), { 1: ['B'] });
});

test('where the lore changed, by the journal', () => {
    const record = (book, metadata, more) => ({ forklore: { v: 2, id: `${book}.${metadata}`, ...more } });
    const messages = [
        record('a', 'm', { whole: {} }), {}, record('a', 'n'), record('b', 'n', { delta: { entries: { set: {} } } }), null,
        record('b', 'o', { delta: { metadata: {} } }), record('c', 'o', { delta: { name: 'of the branch' } }), record('d', 'o', { 'delta.deflated': 'x' }),
        { forklore: { v: 1, id: 'e'.repeat(16) } }, { forklore: 'odd' }, { forklore: { id: 5 } }, record('d', 'p'), record('none', 'p', { whole: {} }),
    ];
    assert.deepEqual([...loreChanges(messages)], [3, 7, 12]);
    assert.deepEqual(listedMessages({ name: 'Main', messages }, []).map(({ hasNewLore }) => Number(hasNewLore)).join(''), '0001000100001');
});
