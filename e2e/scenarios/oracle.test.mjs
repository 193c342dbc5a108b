// Random stories in the real page, every fork held against the truth: see oracle/README.md.
//
// ORACLE_SEED: the first seed; ORACLE_STORIES: how many; ORACLE_PAGES: how many pages tell them side by side;
// ORACLE_SHOWN: how many false claims are shown in full.
// ORACLE_FAMILIES and ORACLE_OPERATIONS: how many families, and how much is done to each.
// `ORACLE_SEED=17 ORACLE_STORIES=1` tells one story again.

import assert from 'node:assert/strict';

import { openPage } from '../harness/browser.mjs';
import { exposeApp } from '../harness/forklore.mjs';
import { FakeModel } from '../harness/model.mjs';
import { isNight } from '../harness/places.mjs';
import { LIMIT, stage } from '../harness/scenario.mjs';
import { giveEyes } from '../oracle/browser/eyes.mjs';
import { Family } from '../oracle/browser/family.mjs';
import { tellStories } from '../oracle/browser/stories.mjs';

const FIRST = Number(process.env.ORACLE_SEED ?? 1);
const STORIES = Number(process.env.ORACLE_STORIES ?? (isNight ? 60 : 10));
const PAGES = Number(process.env.ORACLE_PAGES ?? (isNight ? 2 : 1));
const SHOWN = Number(process.env.ORACLE_SHOWN ?? 5);
const STEPS = Number(process.env.ORACLE_STEPS ?? (isNight ? 12 : 6));
const FAMILIES = Number(process.env.ORACLE_FAMILIES ?? 2);
const OPERATIONS = Number(process.env.ORACLE_OPERATIONS ?? 100);

const model = await FakeModel.start();
const scenario = stage({
    settings: (settings) => {
        model.connect(settings);
        settings.power_user.confirm_message_delete = false;
        settings.extension_settings.forklore = { isolate: true, whenInexact: 'nearest' };
    },
});

scenario(`no fork claims, shares or loses anything in ${STORIES} stories`, {
    beforeLoading: giveEyes,
    limit: LIMIT + STORIES * 300_000,
    since: '1.19',
}, async ({ st, page, story }) => {
    const browser = page.raw.context().browser();
    const { tally, reasons } = await tellStories({
        page,
        openPage: () => openPage(browser, st, { beforeLoading: giveEyes }),
        story, model, first: FIRST, count: STORIES, pages: PAGES, steps: STEPS,
    });
    console.log(tally.table());
    assert.equal(reasons.length, 0, `${reasons.length} reasons\n${reasons.slice(0, SHOWN).join('\n\n')}\n${reasons.slice(SHOWN).map((reason) => reason.split('\n')[0]).join('\n')}`);
});

scenario(`whatever is done to a family, every file is what it must be: ${FAMILIES} families, ${OPERATIONS} operations each`, {
    beforeLoading: exposeApp,
    limit: LIMIT + FAMILIES * OPERATIONS * 10_000,
    nightly: 'it takes minutes, and each operation has scenarios of its own',
}, async ({ page, story }) => {
    for (let seed = FIRST; seed < FIRST + FAMILIES; seed += 1) {
        const family = new Family({ seed, page, story });
        await family.live(OPERATIONS);
        console.log(`family ${seed}: ${[...family.counts].sort().map(([what, count]) => `${what} ${count}`).join(', ')}`);
        assert.equal(family.problems.length, 0, `seed ${seed}: ${family.problems.length} problems\n${family.problems.slice(0, SHOWN).join('\n\n')}`);
    }
});
