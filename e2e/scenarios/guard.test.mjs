// Two tabs on one lorebook. SillyTavern saves whole books, so the tab that saves last would win.

import assert from 'node:assert/strict';

import { chance } from '../harness/chance.mjs';
import { agree, choose, decide, decline, dialog, notice, pressNotice, said, trashed, withSettings } from '../harness/forklore.mjs';
import { overflowing, poorlyVisible, tooSmall } from '../harness/looks.mjs';
import { book, entry } from '../harness/lore.mjs';
import { assertNothingUnexpected, LIMIT, OTHER_THEME_IS_DAILY, stage } from '../harness/scenario.mjs';
import { closeTab, openTab } from '../harness/tabs.mjs';
import { PAPER } from '../harness/themes.mjs';
import { until } from '../harness/until.mjs';

/** In milliseconds: how long the two tabs edit, with the guard and without. */
const SECONDS = Number(process.env.FORKLORE_GUARD_SECONDS ?? 10);
const SEED = Number(process.env.FORKLORE_SEED ?? 20_261_115);
const ENTRIES = 12;

const scenario = withSettings(stage());

const lore = () => book(Array.from({ length: ENTRIES }, (_, uid) => entry(uid, { content: 'begin' })));
const contents = (files, name) => Object.values(files.book(name).value.entries).map(({ content }) => content);

// ---- Two tabs at work ----

for (const guard of [true, false]) {
    const limit = LIMIT + SECONDS * 2000;
    scenario(`two tabs edit different entries of one book at random, ${guard ? 'guarded' : 'SillyTavern alone'}`, {
        settings: { guard },
        nightly: guard ? undefined : 'it shows what SillyTavern loses',
        limit,
    }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: lore() });
        const tabs = await twoTabs(page, tale, { guard });
        const dice = chance(SEED);
        const ends = Date.now() + SECONDS * 1000;
        const counts = await Promise.all(tabs.map((tab, which) => atWork(tab, { tale, which, dice, ends })));
        await Promise.all(tabs.map(untilSaved));
        for (const tab of tabs) {
            // No two of them edit the same entry, and a save waits for its question.
            assert.deepEqual(await tab.raw.locator('dialog[open]').allInnerTexts(), [], 'nobody is asked anything');
        }

        const onDisk = contents(files, tale.book).flatMap((content) => content.split(' ').slice(1));
        const made = counts.flat();
        const lost = made.filter((edit) => !onDisk.includes(edit));
        console.log(`${guard ? 'with the guard' : 'SillyTavern alone'}: ${made.length} edits in ${SECONDS} s, ${made.length - lost.length} of them on disk`);
        assert.equal(new Set(onDisk).size, onDisk.length, 'no edit is there twice');
        if (guard) {
            assert.deepEqual(lost, []);
        } else {
            assert.ok(lost.length > 0, 'SillyTavern alone loses some');
        }
        for (const tab of tabs) {
            await assertNothingUnexpected(tab, {});
        }
    });
}

/** Every edit adds a unique word, through the editor or one of SillyTavern's commands. @returns {Promise<string[]>} the words */
async function atWork(tab, { tale, which, dice, ends }) {
    const mine = Array.from({ length: ENTRIES }, (_, uid) => uid).filter((uid) => uid % 2 === which);
    const made = [];
    const last = new Map();
    await tab.showInEditor(tale.book);
    await tab.raw.locator('.world_entry').first().waitFor();
    while (Date.now() < ends) {
        const uid = dice.of(mine);
        const word = `${'ab'[which]}${made.length}`;
        if (dice.below(3) === 0) {
            await byCommand(tab, tale.book, uid, word);
        } else {
            await byEditor(tab, uid, word, last.get(uid));
        }
        made.push(word);
        last.set(uid, word);
        if (dice.below(4) === 0) {
            // Leaves the field, so that the editor may be refreshed.
            await tab.raw.evaluate(() => document.activeElement.blur());
        }
        await tab.raw.waitForTimeout(dice.below(1500));
    }
    return made;
}

/** @param {string} [had] what this tab wrote there before */
async function byEditor(tab, uid, word, had) {
    // A refresh folds the editor's entries for a moment, so this is done in one go.
    await until(`entry ${uid} to be edited`, () => tab.raw.evaluate(({ uid, word, had }) => {
        const field = document.querySelector(`.world_entry[uid="${uid}"] textarea[name="content"]`);
        if (!field) {
            document.querySelector(`.world_entry[uid="${uid}"] .inline-drawer-icon.down`)?.click();
            return false;
        }
        if (had && !field.value.split(' ').includes(had)) {
            // If SillyTavern is told twice to show the editor, it may end up with the older book. Typing there would
            // change an entry in two places, which raises a question.
            $('#world_editor_select').trigger('change');
            return false;
        }
        field.focus();
        $(field).val(`${field.value} ${word}`).trigger('input');
        return true;
    }, { uid, word, had }), { every: 250 });
}

async function byCommand(tab, name, uid, word) {
    const content = await tab.run(`/getentryfield file="${name}" field=content ${uid}`);
    const old = await tab.raw.locator('.world_entry').first().elementHandle();
    await tab.run(`/setentryfield file="${name}" uid=${uid} field=content ${content} ${word}`);
    // It refreshes the editor; until then the old one can still be clicked.
    await until('the editor to be shown anew', () => old.evaluate((entry) => !entry.isConnected));
    await tab.raw.locator('.world_entry').first().waitFor();
}

/** The second tab, as long as its page is there. @type {import('../harness/page.mjs').TavernPage | undefined} */
let second;

async function twoTabs(page, tale, settings = {}) {
    if (second?.raw.context() !== page.raw.context() || second.raw.isClosed()) {
        second = await openTab(page);
    }
    await decide(second, settings);
    for (const tab of [page, second]) {
        await closeEditors(tab);
        await tab.clearToasts();
        tab.watch.clear();
        await tab.open(tale);
    }
    return [page, second];
}

async function closeEditors(page) {
    if (await page.raw.locator('#WorldInfo').isVisible()) {
        await page.raw.locator('#WIDrawerIcon').click();
    }
}

/** In milliseconds: SillyTavern saves after a second, and the guard rechecks after that. */
async function untilSaved(tab) {
    await tab.raw.waitForTimeout(2500);
    await tab.settle();
}

async function typing(tab, name, uid, content) {
    await closeEditors(tab);
    const field = await tab.openInEditor(name, uid);
    await field.fill(content);
}

async function saving(tab, name, uid, content) {
    await tab.savingBook(name, () => typing(tab, name, uid, content));
    await untilSaved(tab);
}

/** Versions of a tale's book in the trash. */
function inTrashOf(files, tale) {
    return Object.entries(trashed(files)).filter(([name]) => name.startsWith(`${tale.book} - `)).map(([, found]) => found);
}

// ---- The same entry ----

const OTHER_ANSWERS = 'other answers are given for every change';

for (const { what, answer, inBook, inTrash, nightly } of [
    { what: 'mine is taken', nightly: OTHER_ANSWERS, answer: agree, inBook: 'by the other tab', inTrash: 'by this tab' },
    { what: 'the other one is taken', answer: async (tab) => { await choose(tab, 'theirs'); await agree(tab); }, inBook: 'by this tab', inTrash: 'by the other tab' },
    { what: 'it is left for later', nightly: OTHER_ANSWERS, answer: decline, inBook: 'by the other tab', inTrash: 'by this tab' },
    { what: 'Escape is pressed', answer: (tab) => tab.raw.keyboard.press('Escape'), inBook: 'by the other tab', inTrash: 'by this tab' },
]) {
    scenario(`two tabs edit the same entry: asked, and neither text is lost when ${what}`, { nightly }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: lore() });
        const [, other] = await twoTabs(page, tale);
        await saving(page, tale.book, 3, 'by this tab');
        await typing(other, tale.book, 3, 'by the other tab');
        const shown = await dialog(other, 'Which version do you want?');
        assert.match(await shown.textContent(), /entry 3/);
        await answer(other);
        await files.bookWhen(tale.book, ({ entries }) => entries[3].content === inBook);
        await notice(other, /Both versions/);
        const kept = () => inTrashOf(files, tale).map((found) => found.entries[3].content);
        await until('only the other one to be in the trash', () => kept().filter((content) => content === inTrash).length === 1 && !kept().includes(inBook));

        await pressNotice(other, /Both versions/, 'Recover it as a lorebook');
        await until('it to be a lorebook', () => files.books().some((name) => name.startsWith(`${tale.book} - from`)));
        const back = files.books().find((name) => name.startsWith(`${tale.book} - from`));
        assert.equal(files.book(back).value.entries[3].content, inTrash);
        assert.equal(files.book(tale.book).value.entries[3].content, inBook);
        await untilSaved(other);
        await assertNothingUnexpected(other, {});
    });
}

scenario('after an answer the field holds what was chosen, and typing on asks nothing', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    const [, other] = await twoTabs(page, tale);
    await saving(page, tale.book, 3, 'by this tab');
    await typing(other, tale.book, 3, 'by the other tab');
    await dialog(other, 'Which version do you want?');
    await choose(other, 'theirs');
    await agree(other);
    const field = other.raw.locator('.world_entry[uid="3"] textarea[name="content"]');
    await until('the field to hold what was chosen', async () => await field.inputValue() === 'by this tab');
    assert.ok(await field.evaluate((field) => field === document.activeElement), 'whoever was in the field still is');

    await field.press('End');
    await field.pressSequentially(' and on');
    await files.bookWhen(tale.book, ({ entries }) => entries[3].content === 'by this tab and on');
    await untilSaved(other);
    await assertNothingUnexpected(other, {});
});

scenario('a tab that is closed with the question on its screen loses nothing', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    const [, other] = await twoTabs(page, tale);
    await saving(page, tale.book, 3, 'by this tab');
    await typing(other, tale.book, 3, 'by a tab that goes');
    await dialog(other, 'Which version do you want?');
    await closeTab(other);
    await closeEditors(page);
    assert.equal(files.book(tale.book).value.entries[3].content, 'by this tab');
    assert.deepEqual(inTrashOf(files, tale).map((found) => found.entries[3].content), ['by a tab that goes']);
});

// ---- News from other tabs ----

scenario('what came in is told, and shown where nobody is typing', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    const [, other] = await twoTabs(page, tale);
    const field = await other.openInEditor(tale.book, 7);
    await saving(page, tale.book, 2, 'came in');
    await field.fill('typed here');
    await notice(other, /merged in: “entry 2”/);
    await other.raw.evaluate(() => document.activeElement.blur());
    await other.raw.locator('.world_entry[uid="2"] .inline-drawer-toggle').first().click();
    await until('the editor to show it', async () => await other.raw.locator('.world_entry[uid="2"] textarea[name="content"]').inputValue() === 'came in');
    assert.equal(await other.raw.locator('.world_entry[uid="7"] textarea[name="content"]').inputValue(), 'typed here', 'what was unfolded is unfolded');
    const { entries } = files.book(tale.book).value;
    assert.deepEqual([entries[2].content, entries[7].content], ['came in', 'typed here']);
    await assertNothingUnexpected(other, {});
});

scenario('two tabs add an entry each, under one number', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    const tabs = await twoTabs(page, tale);
    for (const tab of tabs) {
        await tab.showInEditor(tale.book);
        await tab.raw.locator('.world_entry').first().waitFor();
        await tab.raw.locator('#world_popup_new').click();
        await tab.raw.locator(`.world_entry[uid="${ENTRIES}"]`).waitFor();
    }
    for (const [which, tab] of tabs.entries()) {
        await tab.raw.locator(`.world_entry[uid="${ENTRIES}"] textarea[name="comment"]`).fill(`of tab ${which}`);
    }
    await Promise.all(tabs.map(untilSaved));
    for (const [which, tab] of tabs.entries()) {
        const title = tab.raw.locator('.world_entry textarea[name="comment"]');
        const all = await title.evaluateAll((fields) => fields.map((field) => field.value));
        await title.nth(all.indexOf(`of tab ${which}`)).fill(`of tab ${which}, again`);
    }
    await Promise.all(tabs.map(untilSaved));
    const titles = Object.values(files.book(tale.book).value.entries).map(({ comment }) => comment).filter((title) => title.startsWith('of tab'));
    assert.deepEqual(titles.sort(), ['of tab 0, again', 'of tab 1, again']);
    for (const tab of tabs) {
        await assertNothingUnexpected(tab, {});
    }
});

scenario('a book that was deleted in the other tab is written whole, and that is said', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    const [, other] = await twoTabs(page, tale);
    const field = await other.openInEditor(tale.book, 1);
    await page.raw.evaluate(async (name) => (await import('/scripts/world-info.js')).deleteWorldInfo(name), tale.book);
    await until('the book to be gone', () => !files.books().includes(tale.book));
    await field.fill('still here');
    await notice(other, /was deleted or renamed/);
    const { value } = await files.bookWhen(tale.book, ({ entries }) => entries[1].content === 'still here');
    assert.equal(Object.keys(value.entries).length, ENTRIES);
    await untilSaved(other);
    await assertNothingUnexpected(other, {});
});

scenario('switched off, nothing is merged, asked or said', { settings: { guard: false } }, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    const [, other] = await twoTabs(page, tale, { guard: false });
    await saving(page, tale.book, 3, 'by this tab');
    await saving(other, tale.book, 3, 'by the other tab');
    await saving(page, tale.book, 4, 'by this tab');
    const { entries } = files.book(tale.book).value;
    assert.deepEqual([entries[3].content, entries[4].content], ['by this tab', 'by this tab'], 'as SillyTavern does it');
    assert.deepEqual([...said(page), ...said(other)].filter(({ text }) => !/missing|shared/.test(text)), []);
    assert.deepEqual(inTrashOf(files, tale), []);
});

// ---- How the question looks ----

const OLD = 'Captain of the Gull. Owes Iven her ship and has never said so. She keeps a letter in her coat that she will not open while the lighthouse is dark.';
const HERE = OLD.replace('has never said so', 'said so once, to nobody').replace('dark', 'lit');
const THERE = OLD.replace('Captain of the Gull', 'Captain and owner of the Gull');

for (const { where, viewport, theme, width, nightly } of [
    { where: 'in a dark theme', nightly: OTHER_THEME_IS_DAILY },
    { where: 'on a phone', viewport: 'phone', width: 360 },
    { where: 'in a light theme', theme: PAPER },
]) {
    scenario(`the question about two versions can be read and answered ${where}`, { viewport, nightly }, async ({ page, files, story }) => {
        if (theme) {
            await page.theme(theme.name);
        }
        if (width) {
            await page.raw.setViewportSize({ width, height: 740 });
        }
        const tale = await story.begin({ book: book([
            entry(0, { comment: 'Mara', content: OLD }),
            entry(1, { comment: 'The lighthouse of Vell, which nobody has kept for nine years and somebody has lit', key: ['light'] }),
            entry(2, { comment: 'Iven', content: 'A smuggler.' }),
        ]) });
        await page.open(tale);
        // What another device does, without this page knowing.
        const theirs = structuredClone(files.book(tale.book).value);
        theirs.entries[0].content = THERE;
        theirs.entries[1].key = ['light', 'lamp'];
        delete theirs.entries[2];
        story.writeBook(tale.book, theirs);
        await page.raw.evaluate(async ({ name, content }) => {
            const { loadWorldInfo, saveWorldInfo } = SillyTavern.getContext();
            const data = await loadWorldInfo(name);
            data.entries[0].content = content;
            data.entries[1].key = ['light', 'tower'];
            data.entries[2].content = 'A smuggler who has become honest.';
            saveWorldInfo(name, data, true);
        }, { name: tale.book, content: HERE });
        const shown = await dialog(page, 'Which version do you want?');
        assert.equal(await shown.locator('.forklore_conflict').count(), 3);
        await shown.locator('.forklore_conflict').first().locator('.forklore_choice', { has: page.raw.locator('input[value="value"]') }).locator('label').click();
        if (process.env.FORKLORE_LOOK_AT) {
            await page.raw.screenshot({ path: `${process.env.FORKLORE_LOOK_AT}/conflict ${where}.png` });
            await shown.evaluate((node) => { node.querySelector('.popup-content').scrollTop = 10_000; });
            await page.raw.screenshot({ path: `${process.env.FORKLORE_LOOK_AT}/conflict ${where}, below.png` });
        }
        assert.deepEqual(await overflowing(shown), []);
        assert.deepEqual((await poorlyVisible(shown)).poor, []);
        if (viewport) {
            assert.deepEqual(await tooSmall(shown), []);
        }
        await shown.locator('.forklore_hand').first().fill('Written by hand.');
        await shown.getByRole('radio', { name: 'The other one' }).nth(1).check();
        await agree(page);
        const { value } = await files.bookWhen(tale.book, ({ entries }) => entries[0].content === 'Written by hand.');
        assert.deepEqual(value.entries[1].key, ['light', 'lamp']);
        assert.equal(value.entries[2].content, 'A smuggler who has become honest.');
        await notice(page, /Both versions/);
        await page.settle();
        if (theme) {
            await page.theme('Dark Lite');
            await page.settle();
        }
    });
}
