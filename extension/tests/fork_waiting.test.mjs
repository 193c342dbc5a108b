// Saves of children that are held until ST-Auto-Recap is done.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { twoEndings } from './fixtures_compare.mjs';

/** A child whose save is held, from the moment when that is shown. */
async function heldChild() {
    const { app, tavern } = await twoEndings();
    const reports = [];
    app.on('forked', (report) => reports.push(report));
    const shown = new Promise((resolve) => app.on('waiting', resolve));
    tavern.recapOperations = 2;
    const held = tavern.childSave({ name: 'Three' });
    const saved = app.childSaves.read(held).then((save) => app.childSaves.handle(held, save));
    await Promise.race([shown, saved]);
    return { app, tavern, saved, reports };
}

test('a save that is held is shown like any fork that waits, and goes on when the queue is empty', async () => {
    const { app, tavern, saved, reports } = await heldChild();
    assert.deepEqual(app.pendingFork, { kind: 'branch', message: 3, operations: 2, paused: false });
    tavern.recapOperations = 0;
    app.queueWait.recheck();
    await saved;
    assert.equal(app.pendingFork, null);
    assert.ok(reports[0].book);
});

test('*Stop waiting* ends it, and the child says why it has no lorebook', async () => {
    const { app, saved, reports } = await heldChild();
    app.stopWaiting();
    await saved;
    assert.equal(app.pendingFork, null);
    const { values } = reports[0].remarks.find(({ code }) => code === 'without-book');
    assert.deepEqual([values.why, values.count], ['busy', 2]);
});
