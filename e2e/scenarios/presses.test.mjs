// One fork at a time: buttons that are pressed again while SillyTavern is still at work, several forks at once, and saves
// under one name.
//
// FORKLORE_PRESSES: how often each way to press is tried. FORKLORE_SEED: chance of the times between presses.

import assert from 'node:assert/strict';

import { chance } from '../harness/chance.mjs';
import { notice } from '../harness/forklore.mjs';
import { book, entry } from '../harness/lore.mjs';
import { isNight } from '../harness/places.mjs';
import { LIMIT, stage } from '../harness/scenario.mjs';
import { until } from '../harness/until.mjs';
import { holdRequest, slowDown } from '../harness/wire.mjs';

const ROUNDS = Number(process.env.FORKLORE_PRESSES ?? (isNight ? 10 : 2));
const SEED = Number(process.env.FORKLORE_SEED ?? 20_261_119);
/** In milliseconds. */
const SLOW = 2000;
/** In milliseconds: what comes later than this does not come, because a dialog is in the way. */
const SOON = 30_000;
const MESSAGES = 12;

const UNDER_WAY = /A branch is being created and opens in a moment\./;

const scenario = stage({ settings: (settings) => (settings.extension_settings.forklore = { isolate: true, whenInexact: 'nearest' }) });

const lore = () => book([entry(0), entry(1)]);

/** Each presses a button several times. */
const WAYS = {
    'with the mouse': async (raw, button, times, pause) => {
        // Also waits until it no longer moves.
        await button.hover();
        for (let count = 1; count <= times; count += 1) {
            await raw.mouse.down({ clickCount: count });
            await raw.mouse.up({ clickCount: count });
            await raw.waitForTimeout(pause());
        }
    },
    'with Enter': (raw, button, times, pause) => keys(raw, button, Array(times).fill('Enter'), pause),
    // SillyTavern itself ignores the space bar.
    'with Enter and the space bar': (raw, button, times, pause) => keys(raw, button, ['Enter', ...Array(times - 1).fill('Space')], pause),
};

async function keys(raw, button, all, pause) {
    await button.focus();
    for (const key of all) {
        await raw.keyboard.press(key);
        await raw.waitForTimeout(pause());
    }
}

for (const kind of ['branch', 'checkpoint']) {
    for (const [how, press] of Object.entries(WAYS)) {
        const isSlow = how === 'with the mouse';
        scenario(`a ${kind} whose button is pressed two and three times ${how} is made once`, { limit: LIMIT + ROUNDS * 60_000 }, async ({ page, files, story }) => {
            const dice = chance(SEED);
            // A message has one checkpoint.
            const messages = kind === 'checkpoint' ? Math.max(MESSAGES, ROUNDS) : MESSAGES;
            const tale = await story.begin({ book: lore(), messages });
            await page.open(tale);
            await page.save();
            for (let round = 0; round < ROUNDS; round += 1) {
                const message = round % messages;
                const endSlowness = await slowDown(page, (endpoint) => (isSlow && round % 2 === 0 && endpoint.endsWith('/save') ? SLOW : 0));
                const before = { chats: files.chats(tale), books: files.books() };
                const selector = `.mes_create_${kind === 'branch' ? 'branch' : 'bookmark'}`;
                const button = await shown(page, message, selector);
                page.watch.toasts = [];
                await press(page.raw, button, 2 + (round % 2), () => dice.below(70));
                if (kind === 'checkpoint') {
                    await answered(page, `Flag ${round} of ${tale.chat}`);
                }
                const child = await until('the child', () => files.chats(tale).find((name) => !before.chats.includes(name)), { within: SOON });
                await page.settle();
                await endSlowness();
                await until('the child to be open', async () => kind === 'checkpoint' || (await page.current()).chat === child, { within: SOON });
                await page.settle();
                const words = `round ${round}, message ${message}`;
                assert.equal(await page.dialog().count(), 0, `${words}: no dialog is open`);
                assert.deepEqual(added(files.chats(tale), before.chats), [child], `${words}: one chat more`);
                assertOwn({ files, tale }, child, message, before.books, words);
                assert.equal(added(files.books(), before.books).length, 1, `${words}: one lorebook more`);
                if (kind === 'branch') {
                    await page.switchTo(tale.chat);
                }
            }
        });
    }
}

scenario('three checkpoints of different messages, made within 300 ms, each have their own lorebook', {}, async ({ page, files, story }) => {
    const dice = chance(SEED);
    for (let round = 0; round < ROUNDS; round += 1) {
        const tale = await story.begin({ book: lore(), messages: MESSAGES });
        await page.open(tale);
        await page.save();
        const before = { books: files.books() };
        const endSlowness = await slowDown(page, (endpoint) => (endpoint.endsWith('/save') ? dice.below(round % 2 ? SLOW : 200) : 0));
        const messages = dice.several(3, MESSAGES);
        const made = await Promise.all(messages.map(async (message, nth) => {
            await page.raw.waitForTimeout(nth * 100);
            return page.run(`/checkpoint-create mesId=${message} Flag ${message} of ${tale.chat}`);
        }));
        await page.settle();
        await endSlowness();
        assert.deepEqual(made, messages.map((message) => `Flag ${message} of ${tale.chat}`));
        messages.forEach((message, nth) => assertOwn({ files, tale }, made[nth], message, before.books, `round ${round}`));
        assert.equal(added(files.books(), before.books).length, 3);
    }
});

scenario('a branch of another message is refused with one sentence while a branch is being made', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore(), messages: MESSAGES });
    await page.open(tale);
    await page.save();
    const before = files.chats(tale);
    const saving = await holdRequest(page, '/api/chats/save', ({ file_name: name }) => name !== tale.chat);
    const first = page.branchByButton(3);
    await saving.reached();
    await page.messageAction(7, '.mes_create_branch');
    await notice(page, UNDER_WAY, 'warning');
    await saving.letGo();
    const child = await first;
    assert.deepEqual(added(files.chats(tale), before), [child]);
    assert.equal(files.chat(tale, child).messages.length, 4);
    assert.equal(page.watch.toasts.filter(({ text }) => UNDER_WAY.test(text)).length, 1);
});

// ---- Saves under one name, by the code of another extension ----

scenario('two saves of the same child under one name, made by code, make it once', {}, async ({ page, files, story }) => {
    const { tale, before, results } = await twoSaves({ page, files, story }, [5, 5]);
    assert.deepEqual(results, ['done', 'done']);
    assertOwn({ files, tale }, `Twin of ${tale.chat}`, 5, before.books, 'the twin');
    assert.equal(added(files.books(), before.books).length, 1);
});

scenario('of two saves of different children under one name, made by code, the second is refused before anything is written', { expects: { errors: [/A chat of this name exists/], toasts: [/Chat could not be saved/] } }, async ({ page, files, story }) => {
    const { tale, before, results } = await twoSaves({ page, files, story }, [5, 3]);
    assert.equal(results[0], 'done');
    assertOwn({ files, tale }, `Twin of ${tale.chat}`, 5, before.books, 'the twin');
    assert.equal(added(files.books(), before.books).length, 1);
});

/** @param {number[]} messages the last one of each @returns what came of each save */
async function twoSaves({ page, files, story }, messages) {
    const tale = await story.begin({ book: lore(), messages: MESSAGES });
    await page.open(tale);
    await page.save();
    const before = { books: files.books() };
    const endSlowness = await slowDown(page, (endpoint) => (endpoint.endsWith('/edit') ? 500 : 0));
    const results = await page.raw.evaluate(async ({ messages, name, parent }) => {
        const { saveChat } = await import('/script.js');
        return Promise.all(messages.map((mesId) =>
            saveChat({ chatName: name, withMetadata: { main_chat: parent, integrity: crypto.randomUUID() }, mesId }).then(() => 'done', () => 'failed')));
    }, { messages, name: `Twin of ${tale.chat}`, parent: tale.chat });
    await page.settle();
    await endSlowness();
    return { tale, before, results };
}

// ---- Helpers ----

const added = (now, before) => now.filter((name) => !before.includes(name));

/** The child has its messages and a lorebook that is new. */
function assertOwn({ files, tale }, child, message, booksBefore, words) {
    const { metadata, messages } = files.chat(tale, child);
    assert.equal(messages.length, message + 1, `${words}: its messages`);
    assert.ok(metadata.forklore, `${words}: it has a seal`);
    assert.ok(metadata.world_info && !booksBefore.includes(metadata.world_info), `${words}: its lorebook is new: ${metadata.world_info}`);
    assert.ok(files.books().includes(metadata.world_info), `${words}: its lorebook exists`);
}

/** A message's button, in sight. */
async function shown(page, message, selector) {
    const all = page.raw.locator(`.mes[mesid="${message}"]`);
    await all.scrollIntoViewIfNeeded();
    const button = all.locator(selector);
    await until(`the button ${selector} of message ${message}`, async () => {
        if (!(await button.isVisible())) {
            await all.locator('.extraMesButtonsHint').click({ timeout: 2000 });
        }
        return button.isVisible();
    });
    return button;
}

/** Names the checkpoint, unless a key that was pressed once too often has done it. */
async function answered(page, name) {
    await until('the question for a name, or its answer', async () => {
        const input = page.dialog().locator('.popup-input');
        if (await input.count()) {
            await input.fill(name, { timeout: 1000 });
            await page.confirm();
            return true;
        }
        return page.watch.toasts.some(({ text }) => /Checkpoint created/.test(text));
    });
    await page.clearToasts();
}
