// Waiting times, measured in the page and compared to what the browser itself takes in the same run.

import assert from 'node:assert/strict';

import { stage } from '../harness/scenario.mjs';

const scenario = stage();

/** Shared cores slow down some parts of a run; a limit only counts as exceeded if it is exceeded every time. */
const TRIES = 3;

scenario('two books of ten thousand entries are compared and combined within three times their parsing', { nightly: 'it measures how long something takes', limit: 240_000 }, async ({ page, story }) => {
    await page.open(await story.begin());
    const tries = [];
    do {
        tries.push(await page.raw.evaluate(async () => {
            const from = (name) => import(`/scripts/extensions/third-party/forklore/extension/${name}`);
            const { core } = await from('core/core.js');
            const { measureLargeBooks } = await from('bench/large_books.mjs');
            return measureLargeBooks(core);
        }));
        const { megabytes, parsingTwo, parsing, comparing, merging, ratio } = tries.at(-1);
        console.log(`two books of ${megabytes.toFixed(1)} MB: parsing ${parsingTwo.toFixed(0)} ms, with their base ${parsing.toFixed(0)} ms, `
            + `comparing ${comparing.toFixed(0)} ms, merging ${merging.toFixed(0)} ms, ratio ${ratio.toFixed(2)}`);
    } while (tries.length < TRIES && tries.at(-1).ratio > 3);
    assert.ok(tries.some(({ ratio }) => ratio <= 3), `ratios ${tries.map(({ ratio }) => ratio.toFixed(2))}`);
    assert.ok(tries.every(({ differences, steps }) => differences === 299 && steps === 149));
});
