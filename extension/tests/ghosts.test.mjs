// Timelines that are gone, in the middle of a family that is not.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { App } from '../app.js';
import { RequestRouter } from '../request_router.js';
import { Tavern, realCore } from './tavern.mjs';

const ADA = { group: null, avatar: 'Ada.png' };
const KEY = 'character Ada.png';

function child(tavern, name, parent, message) {
    const forklore = { format: 1, kind: 'branch', parent: { chat: parent, integrity: null, message }, made: '', book: null, metadata: { exactness: 'live', source: 'files' }, warnings: [] };
    tavern.chats.set(name, [{ chat_metadata: { main_chat: parent, integrity: `slug of ${name}`, forklore } }, ...Array.from({ length: message + 2 }, (_, at) => ({ mes: `${name} ${at}` }))]);
}

/** Main, with Aside and Middle; Middle with Below; Below with Lowest. */
function family() {
    const tavern = new Tavern({ messages: 9 });
    child(tavern, 'Aside', 'Main', 2);
    child(tavern, 'Middle', 'Main', 5);
    child(tavern, 'Below', 'Middle', 6);
    child(tavern, 'Lowest', 'Below', 7);
    return tavern;
}

/** A page of SillyTavern, with the settings of the server and the storage of a browser. */
async function page(tavern, { settings = {}, store = new Map() } = {}) {
    tavern.stored = store;
    const host = {
        ...tavern.host(), settings: () => settings, emit: () => {}, beforeWritingOut: () => {}, hasAutoRecap: () => false,
        deleteChat: (owner, name) => deleteInList(name),
    };
    const app = new App({ host, core: await realCore() });
    app.on('failed', (error) => assert.fail(error));
    const router = new RequestRouter(app);
    /** As SillyTavern's own list does it. */
    const deleteInList = (name) => router.handle({
        kind: 'chat-delete',
        path: '/api/chats/delete',
        text: async () => JSON.stringify({ chatfile: `${name}.jsonl`, avatar_url: 'Ada.png' }),
        send: async () => {
            tavern.chats.delete(name);
            return new Response('{}');
        },
    });
    const { index } = app.timelines;
    return { app, router, settings, store, deleteInList, index, written: () => index.write(KEY) };
}

/** Each timeline with its parent, kind and message. */
async function seen(app) {
    const { timelines, families } = await app.timelines.readAll();
    return { tree: Object.fromEntries(timelines.map(({ name, parent, kind, message }) => [name, [parent, kind, message]])), timelines, families };
}

const GHOST = ['Main', 'gone', 5];

test('a middle timeline that is deleted leaves a ghost at its place, here and after a reload', async () => {
    const tavern = family();
    const first = await page(tavern);
    await seen(first.app);
    await first.app.timelines.delete('Middle');
    const { tree, timelines, families } = await seen(first.app);
    assert.deepEqual(tree, { Main: [null, 'main', null], Aside: ['Main', 'branch', 2], Middle: GHOST, Below: ['Middle', 'branch', 6], Lowest: ['Below', 'branch', 7] });
    assert.deepEqual(families.map(({ count, problems, hasOpen }) => [count, problems, hasOpen]), [[4, 0, true]], 'one family, in which four exist');
    assert.deepEqual(timelines.find(({ name }) => name === 'Middle').findings, []);
    const { findings } = timelines.find(({ name }) => name === 'Below');
    assert.deepEqual(findings.filter(({ code }) => code === 'parent-missing'), [{ code: 'parent-missing', problem: false, values: { name: 'Middle' } }]);
    const verified = (await first.app.verifyAll(() => {})).find(({ chat }) => chat === 'Below').findings;
    assert.deepEqual(findings.map(({ code }) => code).sort(), verified.map(({ code }) => code).sort(), 'as the check of all chats says');
    await first.written();
    const { settings, store } = first;

    for (const [kept, what] of [[{ settings, store }, 'a reload'], [{ settings }, 'another browser'], [{ store }, 'settings overwritten by an older page']]) {
        const later = await page(tavern, structuredClone(kept));
        assert.deepEqual((await seen(later.app)).tree.Middle, GHOST, what);
    }
});

test('SillyTavern’s own list may delete it, even if this page has never looked at it', async () => {
    const tavern = family();
    const { app, settings, deleteInList } = await page(tavern);
    await deleteInList('Middle');
    assert.deepEqual(settings.ghosts, { [KEY]: [{ name: 'Middle', parent: 'Main', message: 5 }] });
    assert.deepEqual((await seen(app)).tree.Middle, GHOST);
});

test('a deletion elsewhere is noticed by a page that knew the timeline', async () => {
    const tavern = family();
    const { app } = await page(tavern);
    await seen(app);
    tavern.chats.delete('Middle');
    assert.deepEqual((await seen(app)).tree.Middle, GHOST);
});

test('several in a row are gone, and what is above them is renamed', async () => {
    const tavern = family();
    const { app, index } = await page(tavern);
    await seen(app);
    await app.several.delete(['Below', 'Middle'], { isForGood: true }, () => {});
    assert.deepEqual((await seen(app)).tree, { Main: [null, 'main', null], Aside: ['Main', 'branch', 2], Middle: GHOST, Below: ['Middle', 'gone', 6], Lowest: ['Below', 'branch', 7] });

    tavern.open.name = 'Start';
    tavern.chats.set('Start', tavern.chats.get('Main'));
    tavern.chats.delete('Main');
    index.renamed(ADA, 'Main', 'Start');
    assert.deepEqual((await seen(app)).tree.Middle, ['Start', 'gone', 5]);
});

test('a ghost is gone with the last timeline below it', async () => {
    const tavern = family();
    const { app, settings, store, written } = await page(tavern);
    await seen(app);
    for (const name of ['Middle', 'Below', 'Lowest']) {
        assert.equal((await seen(app)).families.length, 1);
        await app.timelines.delete(name);
    }
    assert.deepEqual(Object.keys((await seen(app)).tree), ['Main', 'Aside']);
    assert.deepEqual(settings.ghosts, {});
    await written();
    assert.deepEqual(store.get(KEY).ghosts, []);
});

test('put back from the trash, the ghost is the timeline again', async () => {
    const tavern = family();
    const { app, settings } = await page(tavern);
    const before = (await seen(app)).tree;
    const { token } = await app.timelines.delete('Middle');
    assert.deepEqual((await seen(app)).tree.Middle, GHOST);
    await app.undo(token);
    assert.deepEqual((await seen(app)).tree, before);
    assert.deepEqual(settings.ghosts, {});
});

test('damaged settings, other spellings and circles do no harm', async () => {
    const tavern = family();
    tavern.chats.get('Below')[0].chat_metadata.main_chat = 'MIDDLE';
    const settings = { ghosts: { [KEY]: [null, 5, { name: 'x' }, { name: 'Middle', parent: 'Other', message: null }, { name: 'Other', parent: 'middle', message: null }] } };
    const { app } = await page(tavern, { settings });
    tavern.chats.delete('Middle');
    const { tree } = await seen(app);
    assert.equal(tree.Below[0], 'Middle');
    assert.equal(tree.Middle[1], 'gone');
    await page(tavern, { settings: { ghosts: 7 } }).then(({ app }) => seen(app));
});

test('with a character, its ghosts are forgotten', async () => {
    const tavern = family();
    const { router, settings, deleteInList } = await page(tavern);
    await deleteInList('Middle');
    await router.handle({
        kind: 'character-delete', path: '/api/characters/delete', text: async () => JSON.stringify({ avatar_url: 'Ada.png', delete_chats: true }), send: async () => new Response('{}'),
    });
    assert.deepEqual(settings.ghosts, {});
});
