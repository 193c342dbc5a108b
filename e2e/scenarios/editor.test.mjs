// SillyTavern's editor completes an entry when it shows it. Someone who only reads a lorebook has changed nothing.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { compare, row, shortName, twoEndings } from '../harness/combining.mjs';
import { fiftyEntries, lookThrough } from '../harness/editor.mjs';
import { decide, dialog, said, verifyAll, withSettings } from '../harness/forklore.mjs';
import { book, entry } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';
import { closeTab, openTab } from '../harness/tabs.mjs';

const scenario = withSettings(stage());

const LIMIT = 900_000;

/** How many entries and fields are written differently than before. */
function rewritten(before, after) {
    const fields = Object.entries(after.entries).map(([key, now]) => {
        const was = before.entries[key];
        const names = new Set([...Object.keys(was), ...Object.keys(now)]);
        return [...names].filter((name) => JSON.stringify(was[name]) !== JSON.stringify(now[name])).length;
    });
    return { entries: fields.filter((count) => count > 0).length, fields: fields.reduce((sum, count) => sum + count, 0) };
}

/** Opens the lore of a message. */
async function showLore(page, message) {
    await page.messageAction(message, '.forklore_lore');
    return dialog(page, `Lore at message ${message}`);
}

scenario('a lorebook of 50 entries is looked through twice, and nothing has changed', { limit: LIMIT, nightly: 'the core is tested with what the editor wrote here' }, async ({ page, files, story }) => {
    const tale = await story.begin({ book: fiftyEntries() });
    await page.open(tale);
    // So that the lore of message 5 is recorded as it was before the editor showed it.
    await page.run('/send The story goes on.');
    await page.settle();
    const { one, two, books } = await twoEndings({ page, files }, tale, { one: () => {}, two: () => {}, message: 6 });
    const before = files.book(books.one);
    // A tab that has the old lorebook.
    const other = await openTab(page);
    await decide(other);
    await other.open(tale);
    await other.switchTo(one);
    await other.raw.evaluate((name) => SillyTavern.getContext().loadWorldInfo(name), books.one);
    other.watch.clear();

    for (const round of ['first', 'second']) {
        assert.equal(await lookThrough(page, books.one), 50);
        const counted = rewritten(before.value, files.book(books.one).value);
        console.log(`the ${round} time: ${counted.fields} fields of ${counted.entries} entries are written otherwise than before`);
        assert.ok(counted.entries >= 45, 'SillyTavern has completed them');
        await page.clearToasts();

        const view = await compare(page, one, two);
        assert.deepEqual(await view.locator('.forklore_row').allTextContents(), []);
        assert.equal(await view.locator('.forklore_sections *').count(), 0, 'nothing else differs either');
        await page.raw.keyboard.press('Escape');

        const since = await compare(page, { chat: one, message: 5 }, one);
        assert.deepEqual(await since.locator('.forklore_row').allTextContents(), []);
        await page.raw.keyboard.press('Escape');

        const lore = await showLore(page, 5);
        await lore.getByText('Nothing has changed since then.').waitFor();
        await page.press('.popup-button-ok');

        const edited = (await verifyAll(page)).filter(({ code }) => code === 'book-edited');
        assert.deepEqual(edited, []);
        keepForTheCommand(files, books);
    }

    await other.editEntry(books.one, 4, 'typed in the other tab');
    await files.bookWhen(books.one, ({ entries }) => entries[4].content === 'typed in the other tab');
    await other.settle();
    assert.deepEqual(said(other).map(({ text }) => text), [], 'nothing was brought in, and nothing is asked');
    assert.equal(await other.dialog().count(), 0);
    await closeTab(other);

    const view = await compare(page, one, two);
    assert.equal(await view.locator('.forklore_row').count(), 1, 'what was typed is a change');
    await page.raw.keyboard.press('Escape');
});

/** Keeps the files for `forklore diff`, if a folder for them was given. */
function keepForTheCommand(files, books) {
    const folder = process.env.FORKLORE_KEEP_USER;
    if (folder) {
        fs.cpSync(path.dirname(files.user), folder, { recursive: true, dereference: false, filter: (name) => !name.includes('_webpack') });
        console.log(`the files are in ${folder}; the lorebooks are ${JSON.stringify(books)}`);
    }
}

scenario('what the editor really changes by opening an entry is said', { limit: LIMIT }, async ({ page, files, story }) => {
    const changed = {
        'secondary keys that were not used': [{ selective: false, keysecondary: ['harbour'] }, 'selective'],
        'a probability that was not used': [{ useProbability: false, probability: 50 }, 'use probability'],
        'a character who is not there': [{ characterFilter: { isExclude: false, names: ['Nobody'], tags: [] } }, 'character filter'],
    };
    const entries = Object.entries(changed).map(([comment, [fields]], uid) => entry(uid, { comment, ...fields }));
    const tale = await story.begin({ book: book([...entries, entry(9, { comment: 'untouched' })]) });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, { one: () => {}, two: () => {} });
    await lookThrough(page, books.one);
    await page.clearToasts();
    const view = await compare(page, one, two);
    for (const [title, [, field]] of Object.entries(changed)) {
        assert.match(await row(view, title).textContent(), new RegExp(`changed in “${shortName(one)}”: ${field}`), title);
    }
    assert.equal(await view.locator('.forklore_row').count(), Object.keys(changed).length);
    await page.raw.keyboard.press('Escape');
});

scenario('each side is said to have changed what it changed', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: book([{ uid: 0, key: ['iven'], comment: 'Iven', content: 'A smuggler.' }, { uid: 1, key: ['mara'], comment: 'Mara', content: 'A captain.' }]) });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, {
        one: (entries) => { entries[1].order = 5; },
        two: (entries) => { entries[0].content = 'A smuggler who died.'; entries[1].content = 'A pirate.'; },
    });
    await lookThrough(page, books.one);
    await page.clearToasts();
    const view = await compare(page, one, two);
    const about = (title) => row(view, title).locator('.forklore_keys').first().textContent();
    assert.equal(await about('Iven'), `changed in “${shortName(two)}”: content`);
    assert.equal(await about('Mara'), `changed in “${shortName(one)}”: order; changed in “${shortName(two)}”: content`);
    await page.raw.keyboard.press('Escape');
});
