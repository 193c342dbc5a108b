// What SillyTavern's World Info editor writes just by showing entries, without Forklore. The core's tests read the two
// files.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { fiftyEntries, lookThrough } from '../harness/editor.mjs';
import { checkout } from '../harness/places.mjs';
import { stage } from '../harness/scenario.mjs';

const scenario = stage({ extension: false });

const SHOWN = path.join(checkout, 'crates/core/tests/editor');

scenario('looking through 50 entries twice leaves the file that the core is tested with', { limit: 1_500_000, nightly: 'only another SillyTavern can change it' }, async ({ page, files, story }) => {
    const tale = await story.begin({ book: fiftyEntries() });
    await page.open(tale);
    const texts = { before: files.book(tale.book).text };
    for (const round of ['once', 'twice']) {
        assert.equal(await lookThrough(page, tale.book), 50);
        texts[round] = files.book(tale.book).text;
    }
    if (process.env.FORKLORE_WRITE_EDITOR) {
        fs.mkdirSync(SHOWN, { recursive: true });
        Object.entries(texts).forEach(([name, text]) => fs.writeFileSync(path.join(SHOWN, `${name}.json`), text));
    }
    for (const [name, text] of Object.entries(texts)) {
        assert.deepEqual(JSON.parse(text), JSON.parse(fs.readFileSync(path.join(SHOWN, `${name}.json`), 'utf8')), name);
    }
});
