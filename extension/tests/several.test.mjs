// Several timelines at once: ticked on the map, and deleted, archived or compared together.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

import { App } from '../app.js';
import { RequestRouter } from '../request_router.js';
import { below, withoutArchived } from '../ui/timelines/family.js';
import { severalActions } from '../ui/timelines/several.js';
import { Ticks } from '../ui/timelines/ticks.js';
import { createToasts } from '../ui/toasts.js';
import { attempting } from '../ui/widgets/attempt.js';
import { fakeApp } from './fake_app.mjs';
import { fakeScreen, useFakeDocument } from './fake_screen.mjs';
import { Tavern, realCore } from './tavern.mjs';

beforeEach(useFakeDocument);

const NONE = { title: '', note: '', colour: null, pin: false, archived: false };

/** A timeline as the map is given it. */
function shown(name, parent = null, more = {}) {
    return { id: name, name, parent, kind: parent ? 'branch' : 'main', isOpen: false, label: { ...NONE, archived: Boolean(more.archived) }, ...more };
}

const FAMILY = [
    shown('Main', null, { isOpen: true }),
    shown('A', 'Main'), shown('A1', 'A'), shown('A2', 'A'), shown('A21', 'A2'),
    shown('/gone', 'Main', { kind: 'gone' }), shown('B', '/gone'),
];

// ---- The family ----

test('everything below is found once, even in a circle', () => {
    assert.deepEqual([...below(FAMILY, ['A'])].sort(), ['A1', 'A2', 'A21']);
    assert.deepEqual([...below(FAMILY, ['A', 'A2'])].sort(), ['A1', 'A21'], 'not those that were asked about');
    assert.deepEqual([...below([{ id: 'x', parent: 'y' }, { id: 'y', parent: 'x' }], ['x'])], ['y']);
});

test('archived timelines are left out, unless something hangs from them', () => {
    const names = (archived) => withoutArchived(FAMILY.map((one) => ({ ...one, label: { ...one.label, archived: archived.includes(one.id) } }))).map(({ id }) => id);
    assert.deepEqual(names([]), FAMILY.map(({ id }) => id));
    assert.deepEqual(names(['A1', 'A21']), ['Main', 'A', 'A2', '/gone', 'B']);
    assert.deepEqual(names(['A', 'A2']), ['Main', 'A', 'A1', 'A2', 'A21', '/gone', 'B'], 'what is forked from them stays reachable');
    assert.deepEqual(names(['A', 'A1', 'A2', 'A21', 'B']), ['Main'], 'a ghost stands there only for its forks');
    assert.deepEqual(names(['Main', 'B']), ['Main', 'A', 'A1', 'A2', 'A21'], 'the open one is always there');
    const all = [shown('x', null, { archived: true }), shown('y', 'x', { archived: true })];
    assert.deepEqual(withoutArchived(all), all, 'an empty map would say nothing');
});

// ---- Ticks ----

function ticks(actions = {}) {
    const drawn = [];
    const made = new Ticks({ actions, canCompare: true, onChange: () => drawn.push([...made.ids]) });
    made.element.hidden = true;
    made.update(FAMILY, FAMILY);
    const offered = () => made.buttons.children.map(({ textContent }) => textContent);
    return { ticks: made, drawn, offered, press: (text) => made.buttons.children.find(({ textContent }) => textContent === text).click() };
}

test('timelines are ticked, with everything forked from them, and only what fits is offered', () => {
    const { ticks: made, drawn, offered, press } = ticks();
    assert.equal(made.element.hidden, true);
    made.toggle('A2');
    assert.equal(made.element.hidden, false);
    assert.equal(made.status.textContent, '1 selected');
    assert.deepEqual(offered(), ['With their forks', 'Archive', 'Delete…', 'Done']);
    press('With their forks');
    assert.deepEqual([...made.ids], ['A2', 'A21']);
    assert.deepEqual(offered(), ['Compare', 'Archive', 'Delete…', 'Done']);
    made.toggle('A');
    assert.deepEqual(made.ticked.map(({ id }) => id), ['A21', 'A2', 'A'], 'forks come before what they were forked from');
    made.toggle('A');
    made.toggle('/gone');
    assert.deepEqual([...made.ids], ['A2', 'A21'], 'what is gone cannot be ticked');
    assert.deepEqual(drawn.at(-1), ['A2', 'A21']);
    press('Done');
    assert.deepEqual([made.isOn, made.element.hidden, made.ids.size], [false, true, 0]);
});

test('only what is on the map stays ticked, and archived ones can be taken back', () => {
    const { ticks: made, offered } = ticks();
    made.toggle('A1');
    made.toggle('A2');
    const family = FAMILY.map((one) => ({ ...one, label: { ...one.label, archived: one.id === 'A1' } }));
    made.update(family, family.filter(({ id }) => id !== 'A2'));
    assert.deepEqual([...made.ids], ['A1']);
    assert.deepEqual(offered(), ['Unarchive', 'Delete…', 'Done']);
});

test('while something is being done, the bar says how far it is and nothing else can be ticked', async () => {
    let end = () => {};
    const { ticks: made, offered, press } = ticks({
        delete: (ticked, family, note) => new Promise((resolve) => {
            note(`Deleting 1 of ${ticked.length} of ${family.length}`);
            end = resolve;
        }),
    });
    made.toggle('A1');
    press('Delete…');
    assert.equal(made.status.textContent, 'Deleting 1 of 1 of 7');
    assert.deepEqual(offered(), []);
    made.toggle('A2');
    assert.deepEqual([...made.ids], ['A1']);
    end();
    await new Promise(setImmediate);
    assert.equal(made.status.textContent, '1 selected');
});

// ---- The questions and notices ----

function actionsWith(several, answers = []) {
    const calls = [];
    const app = fakeApp({ several });
    const screen = fakeScreen(answers);
    const toasts = createToasts({ app, screen });
    const actions = { compare: (what) => calls.push(['compare', what]), undo: (...tokens) => calls.push(['undo', ...tokens]), showTrash: () => calls.push(['trash']) };
    return { calls, app, screen, do: severalActions({ app, screen, toasts, attempt: attempting(toasts), actions, refresh: () => calls.push(['refresh']) }) };
}

const named = (...names) => FAMILY.filter(({ id }) => names.includes(id));

test('one question for all: how many, which lorebooks go, what stays, and that the open one stays', async () => {
    const deleted = [];
    const several = {
        booksOf: async () => ['A - Lore', 'A1 - Lore'],
        delete: async (names, how, note) => {
            note(0);
            note(1);
            deleted.push([names, how]);
            return { done: names, tokens: ['one', 'two'], books: ['A - Lore'], refused: null };
        },
    };
    const notes = [];
    const { calls, screen, do: act } = actionsWith(several, [null, 'ok', 'for-good']);
    await act.delete(named('Main', 'A', 'A2'), FAMILY, (note) => notes.push(note));
    assert.deepEqual(deleted, [], 'no is no');
    const { text, options } = screen.popups[0];
    assert.match(text, /^Delete 2 timelines\?“A”, “A2”“Main” is open and stays\./);
    assert.match(text, /They go to the trash, and stay there for 30 days\./);
    assert.match(text, /2 lorebooks go with them if nothing else uses them: “A - Lore”, “A1 - Lore”\./);
    assert.match(text, /2 timelines that were forked from them stay: “A1”, “A21”\./);
    assert.equal(options.focus, 'cancel');
    await act.delete(named('A', 'A2'), FAMILY, (note) => notes.push(note));
    assert.deepEqual(deleted.at(-1), [['A', 'A2'], { isForGood: false }]);
    assert.deepEqual(notes, ['Deleting 1 of 2…', 'Deleting 2 of 2…']);
    assert.deepEqual(screen.toasts.at(-1).lines, ['2 timelines are in the trash with 1 lorebook.']);
    screen.toasts.at(-1).options.buttons[0].run();
    assert.deepEqual(calls, [['refresh'], ['undo', 'one', 'two']]);
    await act.delete(named('A', 'A2'), FAMILY, () => {});
    assert.deepEqual(deleted.at(-1)[1], { isForGood: true });
});

test('the open one alone is not deleted, in words', async () => {
    const { screen, do: act } = actionsWith({});
    await act.delete(named('Main'), FAMILY, () => {});
    assert.match(screen.toasts.at(-1).lines[0], /^This chat is open\. Open another one first/);
    assert.equal(screen.popups.length, 0);
});

test('a failure says where it stopped and what was done', async () => {
    const several = { booksOf: async () => [], delete: async () => ({ done: ['A1'], tokens: ['one'], books: [], refused: { name: 'A2', error: new Error('disk full') } }) };
    const { screen, do: act } = actionsWith(several, ['ok']);
    await act.delete(named('A1', 'A2', 'A'), FAMILY, () => {});
    const { kind, lines, options } = screen.toasts.at(-1);
    assert.equal(kind, 'warning');
    assert.deepEqual(lines, ['Stopped at “A2”. Something went wrong: disk full Of 3 timelines, 2 were not deleted.', '1 timeline is in the trash.']);
    assert.deepEqual(options.buttons.map(({ text }) => text), ['Undo', 'Trash…']);
});

test('archiving is told and taken back; two are compared', async () => {
    const asked = [];
    const several = { archive: async (names, isArchived) => {
        asked.push([names, isArchived]);
        return { done: names.slice(0, 1), refused: names.slice(1).map((name) => ({ name, error: new Error('busy') })) };
    } };
    const { calls, screen, do: act } = actionsWith(several);
    await act.archive(named('A1', 'A2'), FAMILY, () => {});
    assert.deepEqual(screen.toasts.at(-1).lines, ['1 timeline archived. “Show archived” shows it.', 'Not changed: “A2”. Something went wrong: busy']);
    screen.toasts.at(-1).options.buttons[0].run();
    await new Promise(setImmediate);
    assert.deepEqual(asked, [[['A1', 'A2'], true], [['A1'], false]]);
    await act.compare(named('A1', 'A2'), FAMILY, () => {});
    assert.deepEqual(calls.at(-1), ['compare', { left: 'A1', right: 'A2' }]);
});

// ---- On the real core ----

async function page(tavern) {
    const settings = {};
    const host = {
        ...tavern.host(), settings: () => settings, saveSettings: () => {}, emit: () => {}, beforeWritingOut: () => {}, hasAutoRecap: () => false,
        deleteChat: async (owner, name) => {
            const send = async () => {
                await tavern.host().deleteChat(owner, name);
                return new Response('{}');
            };
            await router.handle({ kind: 'chat-delete', path: '/api/chats/delete', text: async () => JSON.stringify({ chatfile: `${name}.jsonl`, avatar_url: 'Ada.png' }), send });
        },
    };
    const app = new App({ host, core: await realCore() });
    const router = new RequestRouter(app);
    app.on('failed', (error) => assert.fail(error));
    await app.timelines.readAll();
    return app;
}

function child(tavern, name, parent, book) {
    tavern.chats.set(name, [{ chat_metadata: { main_chat: parent, integrity: `slug of ${name}`, world_info: book } }, { mes: `${name} begins` }]);
    tavern.books.set(book, { entries: { 0: { uid: 0 } }, extensions: { forklore: { format: 1, chat: name } } });
}

test('a lorebook that only the deleted ones share goes with them, and all of it can be put back', async () => {
    const tavern = new Tavern();
    child(tavern, 'A', 'Main', 'Shared by two');
    child(tavern, 'B', 'A', 'Shared by two');
    child(tavern, 'C', 'Main', 'C - Lore');
    const app = await page(tavern);
    const removed = [];
    app.on('removed', (report) => removed.push(report));
    const before = JSON.stringify([...tavern.chats].sort());
    assert.deepEqual(await app.several.booksOf(['A']), [], 'another one uses it');
    assert.deepEqual(await app.several.booksOf(['B', 'A', 'C']), ['Shared by two', 'C - Lore']);

    const notes = [];
    const { done, tokens, books, refused } = await app.several.delete(['B', 'A', 'C'], { isForGood: false }, (note) => notes.push(note));
    assert.deepEqual([done, books, refused, notes], [['B', 'A', 'C'], ['Shared by two', 'C - Lore'], null, [0, 1, 2]]);
    assert.deepEqual([...tavern.chats.keys()], ['Main']);
    assert.deepEqual([...tavern.books.keys()], ['Lore']);
    assert.deepEqual(removed, [], 'one notice tells of all');

    for (const token of tokens) {
        await app.undo(token);
    }
    assert.equal(JSON.stringify([...tavern.chats].sort()), before);
    assert.deepEqual([...tavern.books.keys()].sort(), ['C - Lore', 'Lore', 'Shared by two']);
});

test('deleting stops at the first failure, archiving goes on', async () => {
    const tavern = new Tavern();
    for (const name of ['A', 'B', 'C']) {
        child(tavern, name, 'Main', `${name} - Lore`);
    }
    const app = await page(tavern);
    const archived = await app.several.archive(['A', 'Nowhere', 'B'], true, () => {});
    assert.deepEqual([archived.done, archived.refused.map(({ name, error }) => [name, error.word.code])], [['A', 'B'], [['Nowhere', 'chat-changed']]]);
    assert.equal(tavern.chats.get('B')[0].chat_metadata.forklore_label.archived, true);

    const deleteChat = app.timelines.host.deleteChat;
    app.timelines.host.deleteChat = async (owner, name) => {
        if (name !== 'B') {
            await deleteChat(owner, name);
        }
    };
    const { done, refused } = await app.several.delete(['A', 'B', 'C'], { isForGood: false }, () => {});
    assert.deepEqual([done, refused.name, refused.error.word.code], [['A'], 'B', 'not-deleted']);
    assert.ok(tavern.chats.has('C'), 'what comes after is not touched');
    assert.equal((await app.trashList()).filter(({ chat }) => chat).length, 1);
});
