// Random saves beside `forklore watch`.
//
// FORKLORE: the command; ORACLE_SEED: the seed; ORACLE_SAVES: the minimum number of saves in a run (500).
// ORACLE_COARSE: runs on a system that reports few changes; versions may be missed, but that must not be hidden.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { commandPath } from './command.mjs';
import { Product } from './product.mjs';
import { runBesideWatch } from './watch_run.mjs';

const SEED = Number(process.env.ORACLE_SEED ?? 1);
const SAVES = Number(process.env.ORACLE_SAVES ?? 500);
const COARSE = Boolean(process.env.ORACLE_COARSE);
const options = { skip: commandPath() ? false : 'there is no forklore' };

function report(run) {
    console.log(`${run.saves} saves, ${run.versions} versions recorded, ${run.missed} missed, ${run.torn} torn ones found\n${run.tally.table()}`);
    const reasons = [...run.faults, ...run.tally.false];
    assert.equal(reasons.length, 0, `${reasons.length} reasons\n${reasons.slice(0, 5).join('\n\n')}\n${reasons.slice(5, 40).map((reason) => reason.split('\n')[0]).join('\n')}`);
}

const PLANS = {
    'without any pause': { pause: 0, bursts: 0.5 },
    'up to 4 ms apart': { pause: 4, missedAtMost: 0.1 },
    'up to 0.2 s apart': { pause: 200, missedAtMost: 0.02 },
    'in place and by renaming, up to 20 ms apart': { pause: 20, inPlace: 0.4 },
    'in place without any pause': { pause: 0, inPlace: 0.7, bursts: 0.3 },
    'while the watch is stopped for two seconds now and then': { pause: 60, stalls: 3, bursts: 0.05 },
    'with chats renamed': { pause: 30, renames: true },
};

for (const [name, plan] of Object.entries(PLANS)) {
    test(`saves ${name}`, options, async () => {
        const run = await runBesideWatch({ seed: SEED, saves: SAVES, ...plan });
        report(run);
        assert.ok(run.saves >= SAVES, `${run.saves} saves`);
        if (COARSE) {
            return;
        }
        assert.ok(run.missed <= (plan.missedAtMost ?? 1) * run.saves, `${run.missed} of ${run.saves} versions were missed`);
        // If the watch keeps up, most messages are known as of some message.
        const [asOf, live] = ['as of', 'live'].map((kind) => run.tally.count('all', 'book', kind));
        assert.ok(plan.missedAtMost === undefined || asOf > 4 * live, `${asOf} as of, ${live} live`);
    });
}

test("saves 2.5 s apart, with the extension's records", options, async () => {
    const product = await Product.load();
    const run = await runBesideWatch({ seed: SEED, saves: 150, pause: 2500, shortest: 2500, stories: 8, product });
    report(run);
    const { asked, exact } = run.tally.plain.book;
    assert.ok(asked >= 30 && exact >= 0.95 * asked, `${exact} of ${asked} are exact\n${run.tally.notExact.join('\n')}`);
});
