// Random stories on disk, queried with the real command: `show`, `branch`, `checkpoint`, `restore`, and `undo` of each.
//
// FORKLORE: the command; ORACLE_SEED: the first seed; ORACLE_STORIES: how many.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { commandPath } from './command.mjs';
import { tellAndRun } from './command_stories.mjs';
import { Product } from './product.mjs';
import { Tally } from './tally.mjs';
import { commandVerdict } from './verdict.mjs';

const FIRST = Number(process.env.ORACLE_SEED ?? 1);
const STORIES = Number(process.env.ORACLE_STORIES ?? 200);
const SHOWN = Number(process.env.ORACLE_SHOWN ?? 5);

test(`the command claims nothing false in ${STORIES} stories`, { skip: commandPath() ? false : 'there is no forklore' }, async () => {
    const product = await Product.load();
    const tally = new Tally();
    const seeds = Array.from({ length: STORIES }, (_, more) => FIRST + more);
    const worker = async () => {
        for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
            await tellAndRun(seed, product, tally).catch((error) => tally.crashed(seed, error));
        }
    };
    await Promise.all([worker(), worker()]);
    console.log(tally.table());
    console.log(`undone byte for byte: ${tally.undone ?? 0}; refused:\n${[...(tally.refusals ?? [])].map(([words, count]) => `  ${count} × ${words}`).join('\n')}`);
    const reasons = commandVerdict(tally);
    assert.equal(reasons.length, 0, `${reasons.length} reasons\n${reasons.slice(0, SHOWN).join('\n\n')}\n${reasons.slice(SHOWN).map((reason) => reason.split('\n')[0]).slice(0, 60).join('\n')}`);
});
