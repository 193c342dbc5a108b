// A fork through the tap, as SillyTavern's page makes one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { App } from '../app.js';
import { RequestRouter } from '../request_router.js';
import { installTap } from '../sillytavern/tap.js';
import { Tavern, realCore } from './tavern.mjs';

/** A page with the tap in place, whose server keeps what it is sent. */
async function page(tavern, answers = {}) {
    const settings = {};
    const [first] = tavern.open.messages;
    const beforeWritingOut = (before) => {
        // Like the host's: only a real save knows of the request.
        Object.defineProperty(first, 'toJSON', { configurable: true, value() { before(this); return this; } });
    };
    const host = { ...tavern.host(), settings: () => settings, saveSettings: () => {}, emit: () => {}, beforeWritingOut, hasAutoRecap: () => false };
    const app = new App({ host, core: await realCore() });
    const errors = [];
    app.on('failed', (error) => errors.push(error));
    app.recorder.chatOpened();
    const sent = [];
    const server = { status: 200, meanwhile: () => {} };
    const scope = {
        location: { href: 'http://127.0.0.1:8000/' },
        fetch: async (path, init) => {
            sent.push(init.body);
            server.meanwhile();
            return answers[path]?.() ?? new Response('{}', { status: server.status });
        },
    };
    const router = new RequestRouter(app);
    installTap(scope, (held) => router.handle(held), (error) => errors.push(error));
    const save = (held, { isZipped = false } = {}) => scope.fetch(held.path, {
        method: 'POST',
        headers: isZipped ? { 'Content-Encoding': 'gzip' } : {},
        body: isZipped ? new Uint8Array(gzipSync(held.body)) : held.body,
    });
    return { app, errors, sent, server, save, scope };
}

/** Runs a step and counts how often something is read or parsed meanwhile. */
async function counting(body, step) {
    const counts = { reads: 0, parses: 0 };
    const { DecompressionStream } = globalThis;
    const { parse } = JSON;
    globalThis.DecompressionStream = class extends DecompressionStream {
        constructor(...parts) {
            super(...parts);
            counts.reads += 1;
        }
    };
    JSON.parse = (text, ...rest) => {
        counts.parses += text.length >= body.length ? 1 : 0;
        return parse(text, ...rest);
    };
    try {
        await step();
    } finally {
        Object.assign(globalThis, { DecompressionStream });
        JSON.parse = parse;
    }
    return counts;
}

test('the save of a child is read once, and never parsed whole in the page', async () => {
    const tavern = new Tavern({ messages: 50 });
    const { errors, sent, save } = await page(tavern);
    const held = tavern.childSave();
    const counts = await counting(held.body, () => save(held, { isZipped: true }));
    assert.deepEqual([errors, counts], [[], { reads: 1, parses: 0 }]);
    assert.equal(JSON.parse(sent[0]).chat[0].chat_metadata.world_info, 'Child - Lore');
});

test('of a save of the open chat, the core sees only the start', async () => {
    const tavern = new Tavern({ messages: 5000 });
    const { app, errors, save } = await page(tavern);
    const { savesOpen, readSave } = app.core;
    const seen = [];
    app.childSaves.core = {
        ...app.core,
        savesOpen: (ask, start) => { seen.push(start.length); return savesOpen(ask, start); },
        readSave: (ask, body) => { seen.push(body.length); return readSave(ask, body); },
    };
    const held = tavern.childSave({ name: tavern.open.name });
    await save(held);
    assert.deepEqual([errors, seen], [[], [4096]]);
});

test('if even the last resort fails, the child is not saved rather than bound to its parent\'s book', async () => {
    const tavern = new Tavern();
    const { app, errors, sent, save } = await page(tavern);
    const breaks = () => { throw new Error('the core broke'); };
    app.childSaves.core = { ...app.core, fork: breaks, saveWithoutBook: breaks };
    const response = await save(tavern.childSave());
    assert.deepEqual([response.ok, sent, errors.length], [false, [], 2]);
});

test('of two forks in flight, each goes by its own decision and has its own report', async () => {
    const tavern = new Tavern();
    const { app, errors, sent, save } = await page(tavern);
    app.settings.whenInexact = 'refuse';
    // Both have been decided on before either is saved, and the first is saved last.
    const fork = (name, message, decision, after) => app.forks.make(message, decision, async () => {
        await after;
        await save(tavern.childSave({ name, last: message, metadata: { integrity: `slug of ${name}` } }));
    });
    let begin;
    const begun = new Promise((resolve) => { begin = resolve; });
    const later = new Promise((resolve) => { begun.then(() => nearestFork).then(resolve); });
    const withoutFork = fork('Without', 1, ['without-chosen'], later);
    const nearestFork = fork('Nearest', 2, ['nearest'], begun);
    begin();
    const [without, nearest] = await Promise.all([withoutFork, nearestFork]);
    await save(tavern.childSave({ name: 'Undecided', last: 2, metadata: { integrity: 'a third slug' } }));
    const bookOf = (name) => sent.map((body) => JSON.parse(body)).find((body) => body.file_name === name).chat[0].chat_metadata.world_info;
    assert.deepEqual(errors, []);
    assert.deepEqual(['Without', 'Nearest', 'Undecided'].map(bookOf), [undefined, 'Nearest - Lore', undefined]);
    assert.deepEqual([without, nearest].map(({ report }) => [report.child, report.message, report.book?.name]), [
        ['Without', 1, undefined],
        ['Nearest', 2, 'Nearest - Lore'],
    ]);
    assert.deepEqual(app.childSaves.pending.forks, []);
});

/** The request with which SillyTavern saves the open chat. */
const openSave = ({ open }, lines = open.messages) => ({
    path: '/api/chats/save',
    body: JSON.stringify({ ch_name: 'Ada', file_name: open.name, chat: [{ chat_metadata: open.metadata }, ...lines], avatar_url: open.avatar }),
});
const lastRecord = (body) => JSON.parse(body).chat.at(-1).forklore;

test('a record is unsaved until a save has written it: serializing the chat is no save', async () => {
    const tavern = new Tavern();
    const { app: { recorder }, errors, sent, server, save } = await page(tavern);
    recorder.sync();
    await save(openSave(tavern));
    const seen = [recorder.isUnsaved];
    const edit = (gold) => { tavern.open.metadata.variables = { gold }; recorder.sync(); };
    edit(1);
    JSON.stringify(tavern.open.messages);
    seen.push(recorder.isUnsaved);
    server.status = 500;
    await save(openSave(tavern));
    seen.push(recorder.isUnsaved);
    server.status = 200;
    server.meanwhile = () => edit(2);
    await save(openSave(tavern));
    seen.push(recorder.isUnsaved);
    server.meanwhile = () => {};
    await save(openSave(tavern));
    seen.push(recorder.isUnsaved);
    assert.deepEqual([errors, seen], [[], [false, true, true, true, false]]);
    assert.deepEqual(lastRecord(sent.at(-1)), tavern.open.messages.at(-1).forklore);
});

test('a save whose body was made of copies gets the current records, unless its metadata is older', async () => {
    const tavern = new Tavern();
    const { app: { recorder }, errors, sent, save } = await page(tavern);
    recorder.sync();
    const copies = structuredClone(tavern.open.messages.map((message) => ({ ...message })));
    const older = openSave(tavern, copies);
    JSON.stringify(tavern.open.messages);
    tavern.open.metadata.variables = { gold: 77 };
    await save(openSave(tavern, copies));
    assert.deepEqual(lastRecord(sent[0]), tavern.open.messages.at(-1).forklore);
    assert.notDeepEqual(lastRecord(sent[0]), copies.at(-1).forklore);
    tavern.open.metadata.variables = { gold: 78 };
    await save(older);
    assert.deepEqual([sent[1], recorder.isUnsaved, errors], [older.body, true, []]);
});

test('a save that would empty a chat is not sent, and one of a new chat is', async () => {
    const tavern = new Tavern();
    const { sent, save } = await page(tavern);
    const body = (name) => JSON.stringify({ ch_name: 'Ada', file_name: name, chat: [{ chat_metadata: {}, user_name: 'unused', character_name: 'unused' }], avatar_url: 'Ada.png' });
    const path = '/api/chats/save';
    assert.equal((await save({ path, body: body('Main') })).ok, true);
    assert.deepEqual(sent, []);
    await save({ path, body: body('New') });
    assert.deepEqual(sent, [body('New')]);
    tavern.chats.set('Main', [{ chat_metadata: {} }]);
    await save({ path, body: body('Main') });
    assert.equal(sent.length, 2, 'there is nothing to lose');
});

test('SillyTavern’s Clean-Up does not list what Forklore keeps, but is told that there is something', async () => {
    const files = [{ name: 'forklore-trash-1.json', hash: 'a', size: 3 }, { name: 'mine.txt', hash: 'b', size: 5 }, { name: 'forklore-trashed.json', hash: 'c', size: 4 }];
    const answer = (files) => () => new Response(JSON.stringify({ report: { files, chats: [] }, token: 't' }));
    const path = '/api/data-maid/report';
    const ask = async (answer) => {
        const { app, scope, errors } = await page(new Tavern(), { [path]: answer });
        const told = [];
        app.on('unlisted', (files) => told.push(files));
        const response = await scope.fetch(path, { method: 'POST' });
        assert.deepEqual(errors, []);
        return { told, response };
    };
    const { told, response } = await ask(answer(files));
    assert.deepEqual(await response.json(), { report: { files: [files[1]], chats: [] }, token: 't' });
    assert.deepEqual(told, [{ count: 2, bytes: 7 }]);
    const none = await ask(answer([files[1]]));
    assert.deepEqual([(await none.response.json()).report.files, none.told], [[files[1]], [{ count: 0, bytes: 0 }]]);
    for (const odd of ['{}', '{"report":{"files":7}}']) {
        assert.equal(await (await ask(() => new Response(odd))).response.text(), odd);
    }
    const refused = await ask(() => new Response('no', { status: 500 }));
    assert.deepEqual([refused.response.status, refused.told], [500, []]);
});
