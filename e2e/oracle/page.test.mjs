// Random stories through the page's journal.
//
// ORACLE_SEED: the first seed; ORACLE_STORIES: how many. `ORACLE_SEED=17 ORACLE_STORIES=1` repeats one story.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { tellAndAsk } from './page_stories.mjs';
import { Product } from './product.mjs';
import { Tally } from './tally.mjs';
import { pageVerdict } from './verdict.mjs';

const FIRST = Number(process.env.ORACLE_SEED ?? 1);
const STORIES = Number(process.env.ORACLE_STORIES ?? 2000);
const SHOWN = Number(process.env.ORACLE_SHOWN ?? 5);

test(`the page's journal claims nothing false in ${STORIES} stories`, async () => {
    const product = await Product.load();
    const tally = new Tally();
    for (let seed = FIRST; seed < FIRST + STORIES; seed++) {
        await tellAndAsk(seed, product, tally).catch((error) => tally.crashed(seed, error));
    }
    console.log(tally.table());
    const reasons = pageVerdict(tally);
    assert.equal(reasons.length, 0, `${reasons.length} reasons\n${reasons.slice(0, SHOWN).join('\n\n')}\n${reasons.slice(SHOWN).map((reason) => reason.split('\n')[0]).slice(0, 60).join('\n')}`);
});
