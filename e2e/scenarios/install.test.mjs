// Forklore as its users get it: only its URL is given to SillyTavern's own installer.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { assertForked, assertOwnLore, lookAround } from '../harness/forks.mjs';
import { serveCheckout } from '../harness/git_server.mjs';
import { loreWithGaps } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';

const scenario = stage({ extension: false });

scenario('installed by its address, it gives a checkpoint its own book', {}, async ({ page, files, story, st }) => {
    const installed = path.join(st.user, 'extensions/forklore');
    assert.ok(!fs.existsSync(installed));
    const repository = await serveCheckout('forklore');
    try {
        await install(page, repository.url);
    } finally {
        repository.close();
    }
    assert.ok(fs.existsSync(path.join(installed, '.git')), 'a clone, which SillyTavern can update');
    assert.deepEqual(repository.files.filter((file) => !fs.existsSync(path.join(installed, file))), [], 'all of it');

    // SillyTavern starts it at once; it works without reloading the page.
    await assertWorks(page, files, story);

    await page.reload();
    await isStarted(page);
    await assertWorks(page, files, story);
});

/** As a user does: the button in the extension settings, the URL, and yes to SillyTavern's warning. */
async function install(page, url) {
    await page.raw.locator('#extensions-settings-button .drawer-toggle').click();
    await page.raw.locator('#third_party_extension_button').click();
    await page.answer(url);
    await page.dialog().filter({ hasText: 'third-party' }).waitFor();
    await page.confirm();
    await isStarted(page);
    await page.settle();
    await page.raw.locator('#extensions-settings-button .drawer-toggle').click();
}

function isStarted(page) {
    return page.raw.waitForFunction(() => performance.getEntriesByName('forklore:ready').length > 0);
}

async function assertWorks(page, files, story) {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    await page.save();
    const before = lookAround(files, tale);

    const child = await page.checkpointByButton(5);

    const fork = { child, kind: 'checkpoint', message: 5 };
    assertForked(files, tale, before, fork);
    assertOwnLore(files, tale, before, { ...fork, book: loreWithGaps() });
}
