// An unknown extension keeps counters, lists and ids with the chat. Whatever a child has of them is as it was at the
// message, or is reported as unknown. The test records what is true at the instant a message is added.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { stage } from '../harness/scenario.mjs';
import { Random } from '../oracle/random.mjs';
import { counting } from './neighbours.mjs';

const folder = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'forklore-counting-'));
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }));

const MESSAGES = Number(process.env.FORKLORE_OTHERS_MESSAGES ?? 300);
const FORKS = Number(process.env.FORKLORE_OTHERS_FORKS ?? 30);
const KEYS = ['counting', 'countingSeen', 'countingNow', 'countingLarge'];

const scenario = stage({ extensions: { Counting: counting(folder) } });

for (const group of [false, true]) {
    scenario(`what others keep is as it was, or named, ${group ? 'in a group' : 'solo'}`, { group, limit: 900_000 }, async ({ page, files, story }) => {
        const seed = Number(process.env.FORKLORE_SEED ?? Date.now() % 100_000);
        const random = new Random(seed);
        const tale = await story.begin({ messages: 2, book: { entries: {} } });
        await page.open(tale);
        await page.raw.evaluate(watchArrivals, KEYS);
        for (let number = 2; number < MESSAGES; number += 1) {
            await (number % 3 ? page.send(`line ${number}`) : page.sendAs(tale.speaker, `line ${number}`));
        }
        await page.save();
        const truth = await page.raw.evaluate(() => globalThis.harnessSeen);

        const tally = { exact: 0, named: 0 };
        const wrong = [];
        for (let fork = 0; fork < FORKS; fork += 1) {
            // What was there before the test started to record is not checked.
            const message = 2 + random.below(MESSAGES - 3);
            const child = await page.branchByImport(message);
            const { metadata } = files.chat(tale, child);
            const named = metadata.forklore.warnings.join(' ');
            for (const key of KEYS) {
                const then = truth[message + 1]?.[key];
                if (JSON.stringify(metadata[key]) === JSON.stringify(then)) {
                    tally.exact += 1;
                } else if (named.includes(key)) {
                    tally.named += 1;
                } else {
                    wrong.push({ message, key, then, found: metadata[key] });
                }
            }
        }
        console.log(`seed ${seed}, ${MESSAGES} messages, ${FORKS} forks: ${tally.exact} exact, ${tally.named} named, ${wrong.length} false`);
        assert.deepEqual(wrong, []);
        assert.ok(tally.exact > 3 * FORKS * 0.9, 'what is small is known');
    });
}

/** Runs in the page: records the state when each message is added, by number. */
function watchArrivals(keys) {
    const { chat } = SillyTavern.getContext();
    globalThis.harnessSeen = {};
    const push = chat.push;
    chat.push = function (...messages) {
        const { chatMetadata } = SillyTavern.getContext();
        globalThis.harnessSeen[this.length] = JSON.parse(JSON.stringify(Object.fromEntries(keys.map((key) => [key, chatMetadata[key]]))));
        return push.apply(this, messages);
    };
}
