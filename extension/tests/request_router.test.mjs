// A fork through the tap, as SillyTavern's page makes one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { App } from '../app.js';
import { RequestRouter } from '../request_router.js';
import { installTap } from '../sillytavern/tap.js';
import { Tavern, realCore } from './tavern.mjs';

/** A page with the tap in place, whose server keeps what it is sent. */
async function page(tavern) {
    const settings = {};
    const host = { ...tavern.host(), settings: () => settings, saveSettings: () => {}, emit: () => {}, beforeWritingOut: () => {}, hasAutoRecap: () => false };
    const app = new App({ host, core: await realCore() });
    const errors = [];
    app.on('failed', (error) => errors.push(error));
    app.recorder.chatOpened();
    const sent = [];
    const scope = {
        location: { href: 'http://127.0.0.1:8000/' },
        fetch: async (path, init) => {
            sent.push(init.body);
            return new Response('{}');
        },
    };
    const router = new RequestRouter(app);
    installTap(scope, (held) => router.handle(held), (error) => errors.push(error));
    const save = (held, { isZipped = false } = {}) => scope.fetch(held.path, {
        method: 'POST',
        headers: isZipped ? { 'Content-Encoding': 'gzip' } : {},
        body: isZipped ? new Uint8Array(gzipSync(held.body)) : held.body,
    });
    return { app, errors, sent, save };
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
    const withoutFork = fork('Without', 1, ['without'], later);
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
