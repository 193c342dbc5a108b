// Several forks asked for at once.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Forks } from '../features/fork/forks.js';
import { deferred } from './deferred.mjs';

/** Forks of a chat; each is made when the test lets it. */
function begin() {
    const host = { open: null };
    host.open = { name: 'Main', group: null, avatar: 'Ada.png', messages: [{}, {}, {}], metadata: {} };
    const made = [];
    const errors = [];
    const parts = { host: { openChat: () => host.open, hasAutoRecap: () => false }, repairs: { requireOpenChat: () => host.open } };
    const forks = new Forks({ ...parts, events: { reportErrors: async (step) => step().catch((error) => errors.push(error.message)) } });
    forks.decide = async () => [];
    const press = (kind, message) => {
        const done = deferred();
        const pressed = forks.forkByButton(kind, message, { again: () => { made.push(`${kind} ${message}`); return done.promise; }, direct: null });
        return { pressed, finish: done.resolve };
    };
    return { host, made, errors, press };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

for (const kind of ['branch', 'checkpoint']) {
    test(`further presses of the same button join the first: ${kind}`, async () => {
        const { made, errors, press } = begin();
        const presses = [press(kind, 1), press(kind, 1), press(kind, 1)];
        await settled();
        assert.deepEqual(made, [`${kind} 1`]);
        presses[0].finish();
        await Promise.all(presses.map(({ pressed }) => pressed));
        const again = press(kind, 1);
        await settled();
        assert.deepEqual([made, errors], [[`${kind} 1`, `${kind} 1`], []], 'later it is another fork');
        again.finish();
    });
}

test('checkpoints of other messages wait and are made', async () => {
    const { made, errors, press } = begin();
    const presses = [0, 1, 2].map((message) => press('checkpoint', message));
    await settled();
    assert.deepEqual(made, ['checkpoint 0']);
    for (const [count, { finish, pressed }] of presses.entries()) {
        finish();
        await pressed;
        await settled();
        assert.equal(made.length, Math.min(count + 2, 3));
    }
    assert.deepEqual([made, errors], [['checkpoint 0', 'checkpoint 1', 'checkpoint 2'], []]);
});

test('while a branch is made, which opens next, no other fork is', async () => {
    const { made, errors, press } = begin();
    const first = press('branch', 1);
    await Promise.all([press('branch', 2).pressed, press('checkpoint', 1).pressed]);
    assert.deepEqual([made, errors], [['branch 1'], ['branch-under-way', 'branch-under-way']]);
    first.finish();
    await first.pressed;
});

test('what waits for a chat that is left is not made in another one', async () => {
    for (const other of [{ name: 'Other' }, { avatar: 'Bo.png' }]) {
        const { host, made, press } = begin();
        const [first, second] = [press('checkpoint', 1), press('checkpoint', 2)];
        await settled();
        host.open = { ...host.open, ...other };
        first.finish();
        await second.pressed;
        assert.deepEqual(made, ['checkpoint 1']);
    }
});
