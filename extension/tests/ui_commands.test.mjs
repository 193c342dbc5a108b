/** Slash commands: their calls to the app, and their results. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commandList } from '../ui/commands.js';
import { fakeApp, finding, word } from './fake_app.mjs';

function commands(given = {}) {
    const app = fakeApp(given);
    const told = [];
    const list = commandList({ app, toasts: { failed: error => told.push(error) } });
    const run = (name, named = {}, text = '') => list.find(command => command.name === `forklore-${name}`).run(named, text);
    return { app, told, list, run };
}

test('check answers with a word, or with everything', async () => {
    const blocked = { obstacles: [word('queue-busy', { count: 2 })], remarks: [], book: null, metadata: null };
    const { app, run } = commands();
    assert.equal(await run('check'), 'ready');
    assert.deepEqual(app.calls, [['check', 57]]);
    app.check = async () => blocked;
    assert.equal(await run('check', {}, '3'), 'blocked');
    const answer = JSON.parse(await run('check', { json: 'true' }, '3'));
    assert.equal(answer.state, 'blocked');
    assert.deepEqual(answer.obstacles, [{ code: 'queue-busy', text: 'ST-Auto-Recap is still working: 2 operations left.', values: { count: 2 } }]);
});

test('fork answers with the name of the new chat and never asks', async () => {
    const { app, run } = commands();
    assert.equal(await run('fork', { message: '42' }, ' Before the storm '), 'Before the storm');
    assert.deepEqual(app.calls, [['fork', { kind: 'checkpoint', message: 42, name: 'Before the storm', ask: false }]]);
    app.fork = async () => null;
    assert.equal(await run('fork', { kind: 'branch' }), '');
});

test('verify answers with an array that can be piped', async () => {
    const { run, app } = commands();
    assert.equal(await run('verify'), '[]');
    app.verifyOpen = async () => ({ chat: 'c', findings: [finding('no-seal', false)] });
    assert.deepEqual(JSON.parse(await run('verify')), [{
        chat: 'c', code: 'no-seal', problem: false, text: 'Nothing was recorded when it was created: before Forklore, without it, or by a fork that failed.', values: {},
    }]);
    assert.equal(JSON.parse(await run('verify', { all: 'on' })).length, 8);
});

test('restore, split and clean', async () => {
    const { app, run } = commands();
    assert.equal(await run('restore', { message: '7' }), '33');
    assert.deepEqual(app.calls.at(-1), ['restore', 7, { dryRun: false }]);
    assert.deepEqual(JSON.parse(await run('split', { family: 'true' })), ['Harbour lore (Branch #2)', 'Harbour lore (Branch #1)']);
    assert.deepEqual(app.calls.at(-1), ['split', { family: true }]);
    assert.equal(JSON.parse(await run('clean', { preview: 'true' })).length, 2);
    assert.deepEqual(app.calls.at(-1), ['cleanupPlan']);
    await run('clean', { preview: 'false' });
    assert.deepEqual(app.calls.at(-1), ['clean']);
});

test('what is typed wrongly is told and changes nothing', async () => {
    const { app, told, run } = commands();
    assert.equal(await run('check', {}, 'abc'), '');
    assert.equal(await run('fork', { kind: 'twig' }), '');
    assert.equal(await run('fork', { message: '-1' }), '');
    assert.equal(await run('restore'), '');
    app.open = () => null;
    assert.equal(await run('verify'), '');
    assert.equal(await run('check'), '');
    assert.equal(told.length, 6);
    assert.deepEqual(app.calls, []);
    assert.match(told[0].sentence, /“abc” is not a message number/);
});

test('a failure of the app ends a command without a word in the pipe', async () => {
    const { told, run } = commands({ clean: async () => { throw new Error('no'); } });
    assert.equal(await run('clean'), '');
    assert.equal(told[0].message, 'no');
});

test('every command explains itself', () => {
    for (const { name, help, returns, examples, named, unnamed } of commands().list) {
        assert.ok(help && returns && examples.length, name);
        assert.ok(examples.every(({ code, text }) => code.includes(`/${name}`) && text), name);
        assert.ok([...named, ...unnamed].every(({ description }) => description), name);
    }
});
