/** The boundary between the page and its core: a key that is misspelt must not become a default. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { realCore } from './tavern.mjs';

const bytes = (value) => new TextEncoder().encode(JSON.stringify(value));
const BOOK = bytes({ entries: { 0: { uid: 0, comment: 'Harbour', content: 'Foggy.' } } });
const CHAT = [{ chat_metadata: { integrity: 'one', world_info: 'Lore' } }, { name: 'Ada', mes: 'Hello.' }];
const CHILD = bytes({ ch_name: 'Ada', file_name: 'Main - Branch #1', chat: [{ chat_metadata: { integrity: 'one', main_chat: 'Main', world_info: 'Lore' } }, CHAT[1]] });
const NOW = '2026-11-01T10:00:00.000Z';

const SAVE = { path: '/api/chats/save', open: { name: 'Main', group: false, integrity: 'one', book: 'Lore' }, lost: null };
const SETTINGS = { whenInexact: 'ask', whenBusy: 'wait', requireScene: false };
const UNFINISHED = { message: 0, last: 0, isWriting: false, edited: null, opens: true };
const LORE = { book: 'Eldoria', always: 'own' };
const MOMENT = { group: false, isOpen: true, bookName: 'Lore', message: 0 };
const TIMELINE = { name: 'Main', group: null, character: 'Ada.png', metadata: { world_info: 'Lore' } };
const REFERENCE = { book: 'Lore', place: 'persona', name: 'Me' };

/** Every call with named values: its function, what it is asked, and the rest of its arguments. */
const CALLS = [
    ['savesOpen', SAVE, [CHILD]],
    ['readSave', SAVE, [CHILD]],
    ['saveWithoutBook', { ...SAVE, newIntegrity: 'two', kind: 'branch', now: NOW }, [CHILD]],
    ['fork', {
        ...SAVE, newIntegrity: 'two', kind: 'branch', title: null, books: ['Lore'], selected: [REFERENCE], underWay: 0, hasMemoryBooks: false, pageBook: null, lore: LORE, now: NOW,
        settings: SETTINGS, decision: ['nearest'], choice: null,
    }, [CHILD, [], BOOK]],
    ['unfinished', UNFINISHED, []],
    ['check', { ...UNFINISHED, parent: 'Main', group: false, isOpen: true, bookName: 'Lore', underWay: 0, settings: SETTINGS, whenReady: false, lore: LORE }, [CHAT, BOOK]],
    ['pendingWork', { metadata: {}, underWay: 0 }, [BOOK]],
    ['lore', MOMENT, [CHAT, BOOK]],
    ['momentBook', MOMENT, [CHAT, BOOK]],
    ['planRepair', { how: 'empty', chat: 'Main', group: false, bookName: 'Lore', freeName: 'New', now: NOW, message: null, copied: null }, [CHAT, BOOK]],
    ['compare', { baseKnown: true, baseMetadata: null, leftMetadata: {}, rightMetadata: {} }, [BOOK, BOOK, BOOK]],
    ['merge', { baseKnown: true, only: null, settle: {}, otherwise: null, ourBook: null, theirBook: null, ourMetadata: null, theirMetadata: null }, [BOOK, BOOK, BOOK]],
    ['forkPoint', { timelines: [TIMELINE], left: 'Main', right: 'Main' }, []],
    ['mergeBase', { group: false, message: 0, digest: null, isSealed: false, witnesses: [{ name: 'Main', bookName: 'Lore' }] }, [[CHAT], [null]]],
    ['verify', { timelines: [{ ...TIMELINE, messages: 1 }] }, [bytes({})]],
    ['splitOff', { timelines: [TIMELINE], family: true }, []],
    ['timelines', { group: null, character: 'Ada.png', open: 'Main', names: ['Main'], records: [null], known: [{ name: 'Lore', entries: 1 }] }, [bytes({})]],
    ['indexRecords', [{ name: 'Main', messages: 1, metadata: {} }], []],
    ['bookFate', { name: 'Main', records: [{ name: 'Main', metadata: {} }], books: [{ name: 'Lore', extensions: {} }], references: [REFERENCE], cleanUp: true }, []],
    ['cleanup', { ours: [{ name: 'Lore', bytes: 3, madeFor: 'Main' }], references: [{ ...REFERENCE, place: 'chat', owner: 'Ada.png' }], unread: [] }, []],
    ['nameForBook', { chat: 'Main', books: [] }, []],
    ['nameForChat', { wanted: 'Scene', taken: [], parent: 'Main', kind: 'checkpoint' }, []],
    ['chatsNaming', { from: 'Main', metadata: {}, others: [{ name: 'Other', metadata: {} }] }, []],
    ['next', { is: 'listed', exists: true }, []],
    ['next', { is: 'answered', settle: null }, []],
    ['next', { is: 'sent', ok: true }, []],
];

/** The same value with each of its keys changed in turn, except in the metadata of others. */
function changed(value, change, path = '') {
    if (Array.isArray(value)) {
        return value.flatMap((part, at) => changed(part, change, path).map(([where, other]) => [where, value.with(at, other)]));
    }
    if (value === null || typeof value !== 'object') {
        return [];
    }
    const members = Object.entries(value);
    return members.flatMap(([key, part]) => {
        const here = `${path}.${key}`;
        const inside = /metadata|extensions/i.test(key) ? [] : changed(part, change, here);
        return [
            [here, Object.fromEntries(members.flatMap(([name, given]) => (name === key ? change(key, given) : [[name, given]])))],
            ...inside.map(([where, other]) => [where, { ...value, [key]: other }]),
        ];
    });
}

let core;

before(async () => {
    core = await realCore();
});

function call(name, ask, more) {
    if (name === 'next') {
        const guard = core.newGuard();
        return guard.next(guard.begin('Lore', undefined, '{"entries":{}}'), ask);
    }
    return core[name](ask, ...more);
}

test('every call is possible as it is asked here', () => {
    for (const [name, ask, more] of CALLS.filter(([name]) => name !== 'next')) {
        assert.doesNotThrow(() => call(name, ask, more), name);
    }
});

for (const [what, change, except = /^$/] of [
    ['is misspelt', (key, value) => [[`${key}s`, value]]],
    ['is left out', () => []],
    // What was stored may have more keys.
    ['is given beside one of no meaning', (key, value) => [[key, value], ['more', 1]], /\.(records|others)\./],
]) {
    test(`a key that ${what} is an error`, () => {
        let count = 0;
        for (const [name, ask, more] of CALLS) {
            for (const [where, other] of changed(ask, change).filter(([where]) => !except.test(where))) {
                count += 1;
                assert.throws(() => call(name, other, more), /^Error: the page (left out|named an unknown) /, `${name}${where}`);
            }
        }
        assert.ok(count > 120, `${count} keys`);
    });
}

test('what is no text where a name belongs is taken for its text', () => {
    for (const odd of [5, true, null, undefined, ['Lore'], { name: 'Lore' }]) {
        assert.equal(core.bookKey(odd), core.bookKey(String(odd)));
        assert.equal(core.isInternal(odd), false);
        assert.equal(core.sameBook(odd, 'Another'), false);
        assert.equal(typeof core.chatStem(odd), 'string');
    }
});

test('names are compared as SillyTavern compares them, whatever letters they have', async () => {
    const { bookKey } = await realCore();
    const keyOf = (name) => name.toWellFormed().normalize('NFD').replace(/[\u0300-\u036f]/g, '').toLowerCase();
    // 32 letters at once are short enough for the name of a file.
    for (let code = 0xa0; code <= 0x10ffff; code += 32) {
        const letters = String.fromCodePoint(...Array.from({ length: 32 }, (_, at) => code + at));
        assert.equal(bookKey(`ΑΣ${letters}ά`), keyOf(`ΑΣ${letters}ά`), `U+${code.toString(16)}`);
    }
    for (const [one, other] of [['ABC', 'abc'], ['Ångström', 'A\u030angstro\u0308m'], ['ΟΔΟΣ', 'οδος'], ['İ', 'i'], ['\ud800', '\ufffd'], ['가', '\u1100\u1161']]) {
        assert.equal(bookKey(one), bookKey(other), one);
    }
    for (const [one, other] of [['ß', 'ss'], ['ı', 'i'], ['Д', 'Л'], ['ﬁ', 'fi'], ['雨', '云']]) {
        assert.notEqual(bookKey(one), bookKey(other), one);
    }
});
