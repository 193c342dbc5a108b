/** The question about two versions of a book, and notices about other pages' edits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askConflict, conflictView, settled, shownValue } from '../ui/dialogs/book_conflict.js';
import { createToasts } from '../ui/toasts.js';
import { fakeApp, MARKUP } from './fake_app.mjs';
import { fakeScreen, useFakeDocument } from './fake_screen.mjs';

useFakeDocument();

const WORDS = [{ is: 'same', text: 'the ' }, { is: 'removed', text: 'old' }, { is: 'added', text: 'new' }, { is: 'same', text: ' word' }];
const CONTENT = { key: '1', title: MARKUP, kind: 'field', field: 'content', base: 'a word', ours: 'the new word', theirs: 'the old word', words: WORDS };
const KEYS = { key: '2', title: '', kind: 'field', field: 'key', base: [], ours: ['a', 'b'], theirs: [], words: null };
const GONE = { key: '3', title: 'Iven', kind: 'removed-by-theirs', field: null, base: {}, ours: { content: 'still here' }, theirs: null, words: null };
const NAME = { key: null, title: '', kind: 'field', field: 'name', base: 'x', ours: 'y', theirs: 'z', words: null };
const QUESTION = { book: 'Lore', conflicts: [CONTENT, KEYS, GONE, NAME] };

const textOf = ({ pieces }) => pieces.map(({ text }) => text).join('');

test('each side is shown whole, with its own words marked', () => {
    const [content, keys, gone, name] = conflictView(QUESTION).sections;
    assert.equal(textOf(content.mine), 'the new word');
    assert.equal(textOf(content.theirs), 'the old word');
    assert.deepEqual(content.mine.pieces.filter(({ is }) => is !== 'same').map(({ text }) => text), ['new']);
    assert.ok(content.canWrite);
    assert.deepEqual([keys.title, textOf(keys.mine), textOf(keys.theirs), keys.canWrite], ['Entry 2', 'a, b', '(nothing)', false]);
    assert.deepEqual([textOf(gone.mine), gone.theirs.pieces, gone.theirs.hint], ['still here', [], 'The entry is deleted.']);
    assert.deepEqual([name.key, name.title], ['', 'The lorebook itself']);
});

test('values of any kind can be read', () => {
    assert.deepEqual([true, false, 0, '', null, [], ['a'], { a: 1 }].map(shownValue), ['on', 'off', '0', '(nothing)', '(nothing)', '(nothing)', 'a', '{"a":1}']);
});

test('what was chosen is told by entry and field', () => {
    assert.deepEqual(settled([
        { key: '1', field: 'content', choice: 'theirs' },
        { key: '1', field: 'comment', choice: { value: 'x' } },
        { key: '3', field: null, choice: 'ours' },
    ]), { 1: { content: 'theirs', comment: { value: 'x' } }, 3: 'ours' });
});

test('unless something else is chosen, mine holds; whoever leaves decides later', async () => {
    const screen = fakeScreen(['ok', null]);
    assert.deepEqual(await askConflict({ screen }, QUESTION), { settle: { 1: { content: 'ours' }, 2: { key: 'ours' }, 3: 'ours', '': { name: 'ours' } } });
    assert.equal(await askConflict({ screen }, QUESTION), null);
    assert.equal(screen.popups[0].options.focus, 'cancel', 'Enter agrees to nothing');
    assert.match(screen.popups[0].text, /onerror/, 'a name is text');
});

test('one side everywhere, and one by hand', async () => {
    const screen = fakeScreen([(body) => {
        body.all(({ tagName }) => tagName === 'button').find(({ textContent }) => textContent === 'Use the other one everywhere').click();
        const hand = body.all(({ tagName }) => tagName === 'textarea')[0];
        hand.value = 'by hand';
        body.all(({ attributes }) => attributes.type === 'radio').find(({ value }) => value === 'value').dispatch('change');
        return 'ok';
    }]);
    assert.deepEqual(await askConflict({ screen }, QUESTION),
        { settle: { 1: { content: { value: 'by hand' } }, 2: { key: 'theirs' }, 3: 'theirs', '': { name: 'theirs' } } });
});

test('what came in is told by name, and what is kept can be had', () => {
    const screen = fakeScreen();
    const toasts = createToasts({ app: fakeApp(), screen });
    const entries = ['Mara', '', 'Iven', 'The Gull'].map((title) => ({ title, what: 'change' }));
    toasts.merged({ book: 'Lore', entries, isGone: false });
    toasts.merged({ book: 'Lore', entries: [], isGone: true });
    const got = [];
    toasts.kept({ book: 'Lore', isLate: false, kept: [{ isMine: false, token: 't' }] }, { undo: (token) => got.push(token) });
    const [came, gone, kept] = screen.toasts;
    assert.match(came.lines[0], /4 entries were merged in: “Mara”, “untitled entry”, “Iven” and 1 more/);
    assert.equal(gone.kind, 'warning');
    kept.options.buttons[0].run();
    assert.deepEqual(got, ['t']);
});
