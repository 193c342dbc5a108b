// Random stories in a real page, one after the other or in several pages side by side.

import { Tally } from '../tally.mjs';
import { browserVerdict } from '../verdict.mjs';
import { openEyes } from './eyes.mjs';
import { Teller } from './teller.mjs';

/** @typedef {import('../../harness/page.mjs').TavernPage} TavernPage */

/** In milliseconds: a story that takes longer hangs, and the last of its words says where. */
const LIMIT = 900_000;

/**
 * @param {object} given
 * @param {TavernPage} given.page one with eyes
 * @param {() => Promise<TavernPage>} given.openPage another one
 * @param {import('../../harness/story.mjs').Story} given.story
 * @param {import('../../harness/model.mjs').FakeModel} given.model
 * @param {number} given.first the first seed
 * @param {number} given.count how many stories
 * @param {number} given.pages how many at once
 * @param {number} given.steps
 */
export async function tellStories({ page: given, openPage, story, model, first, count, pages, steps }) {
    const tally = new Tally();
    const seeds = Array.from({ length: count }, (_, nth) => first + nth);
    const tell = async (/** @type {TavernPage | null} */ page) => {
        if (page) {
            await openEyes(page);
        }
        for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
            if (!page) {
                page = await openPage();
                await openEyes(page);
            }
            const teller = new Teller({ seed, page, story, model, tally });
            const [began, known] = [Date.now(), tally.false.length];
            try {
                await inTime(teller.tell(steps));
            } catch (error) {
                error.stack += `\n${teller}\n${page.watch.told()}`;
                tally.crashed(seed, error);
                // The next story must not inherit this one's mess.
                await page.close();
                page = null;
            }
            tally.stories++;
            // A long run shows early what it has found.
            tally.false.slice(known).forEach((reason) => console.log(reason));
            console.log(`seed ${seed}: ${Math.round((Date.now() - began) / 1000)} s, ${tally.asked('all')} forks so far, ${tally.false.length} false`);
        }
        if (page !== given) {
            await page?.close();
        }
    };
    await Promise.all(Array.from({ length: Math.min(pages, count) }, (_, nth) => tell(nth === 0 ? given : null)));
    return { tally, reasons: browserVerdict(tally) };
}

/** @param {Promise<void>} told */
async function inTime(told) {
    let timer;
    const late = new Promise((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`not told within ${LIMIT / 1000} s`)), LIMIT);
    });
    await Promise.race([told, late]).finally(() => clearTimeout(timer));
}
