/** Whose lorebook it is: what may be claimed about it, how many chats were checked, and what the editor shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EditorBook } from '../features/editor_book.js';
import { goOn, twoEndings } from './fixtures_compare.mjs';

const LARGE = 1024 ** 3;

/** The open chat `One`, verified in a tavern whose chats have this total size. */
async function verified({ bytes = 0, prepare = () => {} } = {}) {
    const listed = { owner: 0, all: 0 };
    // Heads come through the index, which asks the host below it.
    const change = (below) => ({
        bytesOfChats: () => bytes,
        bookInEditor: () => null,
        chatHeads: counting(below.chatHeads, () => { listed.owner += 1; }),
        allChatHeads: counting(below.allChatHeads, () => { listed.all += 1; }),
    });
    const story = await twoEndings({ change });
    await prepare(story);
    await story.app.findings.checkAgain();
    const { state, reach, sharedWith, hasFamily } = await story.app.readiness();
    return { ...story, listed, state, reach, sharedWith, hasFamily };
}

const counting = (call, count) => (...given) => {
    count();
    return call(...given);
};

const bind = (tavern, name, metadata) => tavern.chats.set(name, [{ chat_metadata: { integrity: `slug of ${name}`, ...metadata } }, { mes: 'm', extra: {} }]);

test('where all chats can be listed, they are, and only then a lorebook is one chat’s alone', async () => {
    const { state, reach, listed } = await verified();
    assert.deepEqual([state, reach, listed.all], ['ready', 'all', 1]);
});

test('where there is too much to read, the character’s chats are looked at, and no more is claimed', async () => {
    const { state, reach, listed } = await verified({ bytes: LARGE });
    assert.deepEqual([state, reach, listed], ['ready', 'owner', { owner: 1, all: 0 }]);
});

test('a chat that is alone with its character is not read to find that out', async () => {
    const only = ({ tavern }) => [...tavern.chats.keys()].filter((name) => name !== 'One').forEach((name) => tavern.chats.delete(name));
    const { reach, listed } = await verified({ bytes: LARGE, prepare: only });
    assert.deepEqual([reach, listed], ['owner', { owner: 0, all: 0 }]);
});

test('of a character with very many chats, only those that are remembered to use the lorebook are read', async () => {
    const many = ({ tavern }) => Array.from({ length: 70 }, (_, at) => bind(tavern, `Chat ${at}`, {}));
    const plain = await verified({ bytes: LARGE, prepare: many });
    assert.deepEqual([plain.state, plain.reach, plain.listed], ['ready', 'open', { owner: 0, all: 0 }]);

    const { state, sharedWith, tavern } = await verified({
        bytes: LARGE,
        prepare: (story) => {
            many(story);
            const { app, bookOf } = story;
            const owner = { group: null, avatar: 'Ada.png' };
            const metadata = { world_info: bookOf('One') };
            ['Chat 3', 'Chat 4'].forEach((name) => app.timelines.index.learn([{ ...owner, name, messages: 1, metadata, preview: '', date: null }]));
            bind(story.tavern, 'Chat 3', metadata);
        },
    });
    assert.deepEqual([state, sharedWith], ['elsewhere', ['Chat 3']], 'Chat 4 does not use it any more');
    assert.deepEqual(tavern.log.filter(([call]) => call === 'chatHeadsOf').map(([, names]) => names), [['Chat 3', 'Chat 4']]);
});

test('a chat whose header cannot be read may use any lorebook', async () => {
    const damaged = ({ tavern }) => tavern.chats.set('Damaged', [{}, { mes: 'm', extra: {} }]);
    assert.equal((await verified({ prepare: damaged })).reach, 'open');
});

test('chats that are no relatives are named, and are no family to split', async () => {
    const copy = ({ tavern, bookOf }) => bind(tavern, 'One imported', { world_info: bookOf('One') });
    const { state, sharedWith, hasFamily, app, bookOf } = await verified({ prepare: copy });
    assert.deepEqual([state, sharedWith, hasFamily], ['elsewhere', ['One imported'], false]);

    const old = bookOf('One');
    const { chats } = await app.split();
    assert.deepEqual(chats.map(({ name, open }) => [name, open]), [['One', true]]);
    assert.notEqual(app.host.openChat().book, old);
    assert.equal((await app.readiness()).state, 'ready', 'it was looked at again');
    assert.equal(bookOf('One imported'), old);
});

test('a chat that gets another lorebook is looked at again, and nothing is claimed meanwhile', async () => {
    const { app, tavern } = await verified();
    tavern.open.metadata.world_info = 'Lore';
    assert.equal((await app.readiness()).reach, null);
    await app.findings.openSaved();
    assert.deepEqual(await app.readiness().then(({ state, sharedWith }) => [state, sharedWith]), ['shared', ['Main']]);
});

test('a restore and its undo are followed by a look', async () => {
    const story = await verified();
    const { app, entriesOf, bookOf } = story;
    const found = [];
    app.on('checked', ({ findings }) => found.push(findings));
    await goOn(story, 'and on');
    entriesOf('One')[1].content = 'later';
    const { undo } = await app.restore(3);
    assert.ok(app.openFindings, 'what was found is known');
    const { restored, replaced } = await app.undo(undo);
    assert.deepEqual([restored, replaced], [[bookOf('One')], [bookOf('One')]]);
    assert.ok(app.openFindings);
    assert.equal(found.length, 2);
});

// ---- The editor ----

function editor({ shown, open }) {
    const changes = [];
    const state = { shown, open };
    const host = {
        openChat: () => state.open,
        bookInEditor: () => state.shown,
        showInEditor: (name) => { state.shown = name; },
        switchEditor: async (from, to, isWanted) => {
            if (!state.isTyping && state.shown === from && isWanted()) {
                state.shown = to;
            }
        },
    };
    const editorBook = new EditorBook({ host, core: { sameBook: (one, other) => Boolean(one && other) && one.toLowerCase() === other.toLowerCase() }, onChange: (news) => changes.push(news) });
    const opening = async (chat) => {
        state.open = chat;
        await editorBook.chatOpened(chat);
    };
    return { editorBook, state, changes, opening };
}

const chat = (name, book, more = {}) => ({ name, book, group: null, avatar: 'Ada.png', metadata: {}, ...more });
const CHILD = chat('Child', 'Child lore', { metadata: { forklore: { parent: { chat: 'Main' }, book: { from: 'Lore' } } } });

test('the editor goes along from a chat to its fork and back', async () => {
    const { state, changes, opening } = editor({ shown: 'Lore' });
    await opening(chat('Main', 'Lore'));
    await opening(CHILD);
    assert.deepEqual([state.shown, changes.at(-1)], ['Child lore', null]);
    await opening(chat('Main', 'Lore'));
    assert.equal(state.shown, 'Lore');
});

test('a fork that is opened by itself is known by its seal', async () => {
    const { state, opening } = editor({ shown: 'lore' });
    await opening(CHILD);
    assert.equal(state.shown, 'Child lore');
});

test('where somebody types, it is said whose lorebook that is, and the right one is a click away', async () => {
    const { editorBook, state, changes, opening } = editor({ shown: 'Lore' });
    await opening(chat('Main', 'Lore'));
    state.isTyping = true;
    await opening(CHILD);
    assert.deepEqual([state.shown, changes.at(-1)], ['Lore', { chat: 'Main', own: 'Child lore' }]);
    editorBook.showOwn();
    editorBook.update();
    assert.deepEqual([state.shown, changes.at(-1)], ['Child lore', null]);
});

test('a chat that is left again before the editor could follow leaves nothing unsaid', async () => {
    const { editorBook, state, changes, opening } = editor({ shown: 'Lore' });
    await opening(chat('Main', 'Lore'));
    let goOn;
    editorBook.host.switchEditor = () => new Promise((resolve) => { goOn = resolve; });
    const waiting = opening(CHILD);
    await opening(chat('Elsewhere', 'World', { avatar: 'Bo.png' }));
    goOn();
    await waiting;
    editorBook.learned([{ name: 'Main', metadata: { world_info: 'Lore' } }]);
    assert.deepEqual([state.shown, changes.at(-1)], ['Lore', { chat: 'Main', own: 'World' }]);
});

test('a lorebook of nobody’s, and one of another character’s chat, stay in the editor', async () => {
    const { editorBook, state, changes, opening } = editor({ shown: 'World' });
    await opening(chat('Main', 'Lore'));
    await opening(CHILD);
    assert.deepEqual([state.shown, changes.at(-1)], ['World', null]);
    editorBook.learned([{ name: 'Child', metadata: { world_info: 'Child lore' } }, { name: 'Other', metadata: { world_info: 'World' } }]);
    assert.deepEqual(changes.at(-1), { chat: 'Other', own: 'Child lore' });
    state.shown = 'Child lore';
    await opening(chat('Elsewhere', null, { avatar: 'Bo.png' }));
    assert.deepEqual([state.shown, changes.at(-1)], ['Child lore', { chat: 'Child', own: null }]);
});
