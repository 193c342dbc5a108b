// Families on the map: several timelines at once, the archive, and timelines that are gone.

import assert from 'node:assert/strict';

import { agree, decline, dialog, notice, pressNotice, trashed, withSettings } from '../harness/forklore.mjs';
import { overflowing, tooSmall } from '../harness/looks.mjs';
import { book, entry, loreWithGaps } from '../harness/lore.mjs';
import { SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { conversation } from '../harness/story.mjs';
import { act, card, caughtUp, chooseTimeline, details, leaveTimelines, openTimelines, timelines } from '../harness/timelines.mjs';
import { until } from '../harness/until.mjs';

const scenario = withSettings(stage());

const loreOf = (tale, name) => `${name}, ${tale.chat} - Lore`;

/** Writes forks, by name and parent, each with its own lorebook as Forklore makes it. */
async function grow(story, tale, parents) {
    for (const [name, parent] of Object.entries(parents)) {
        const lore = loreOf(tale, name);
        story.writeBook(lore, { ...book([entry(0)]), extensions: { forklore: { format: 1, chat: name } } });
        story.writeChat(tale, name, {
            messages: conversation(3, { name: tale.speaker, group: Boolean(tale.group) }),
            metadata: { main_chat: parent === 'main' ? tale.chat : parent, world_info: lore },
        });
        if (tale.group) {
            await story.list(tale, name);
        }
    }
}

const onMap = (view) => view.locator('.forklore_card').evaluateAll((cards) => cards.map((card) => card.dataset.id).sort());
const ticked = (view) => view.locator('.forklore_card[aria-checked="true"]').evaluateAll((cards) => cards.map((card) => card.dataset.id).sort());
const bar = (view) => view.locator('.forklore_several');
const press = (view, name) => bar(view).getByRole('button', { name, exact: true }).click();

// ---- Several at once ----

for (const group of [false, true]) {
    const kind = group ? 'group' : 'solo';

    scenario(`${kind}: several timelines are ticked and deleted with one question, and put back with one press`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        await grow(story, tale, { 'A way': 'main', 'A way on': 'A way', 'A way back': 'A way', 'Another way': 'main' });
        await page.open(tale);
        const view = await openTimelines(page);
        await caughtUp(view);
        const before = files.chats(tale).toSorted();

        await card(view, 'A way').click({ modifiers: ['ControlOrMeta'] });
        await bar(view).getByText('1 selected').waitFor();
        await press(view, 'With their forks');
        assert.deepEqual(await ticked(view), ['A way', 'A way back', 'A way on']);
        await card(view, 'A way on').click();
        assert.deepEqual(await ticked(view), ['A way', 'A way back'], 'a click takes the tick away');
        await card(view, tale.chat).click();
        await press(view, 'Delete…');
        const question = await dialog(page, 'Delete 2 timelines?');
        await question.getByText(`“${tale.chat}” is open and stays`).waitFor();
        await question.getByText('2 lorebooks go with them').waitFor();
        await question.getByText('1 timeline that was forked from them stays: “A way on”.').waitFor();
        await decline(page);
        assert.deepEqual(files.chats(tale).toSorted(), before, 'no is no');

        await press(view, 'Delete…');
        await dialog(page, 'Delete 2 timelines?');
        await agree(page);
        await notice(page, /2 timelines are in the trash with 2 lorebooks\./, 'info');
        assert.deepEqual(files.chats(tale).toSorted(), ['A way on', 'Another way', tale.chat].toSorted());
        for (const lore of ['A way', 'A way back'].map((name) => loreOf(tale, name))) {
            assert.ok(lore in trashed(files) && !files.books().includes(lore), lore);
        }
        assert.deepEqual(await ticked(view), [tale.chat]);
        await pressNotice(page, /2 timelines are in the trash/, 'Undo');
        await notice(page, /are back with 2 lorebooks/, 'success');
        assert.deepEqual(files.chats(tale).toSorted(), before);
        await until('them on the map again', async () => (await view.locator('.forklore_card').count()) === 5);
        await leaveTimelines(page);
    });
}

scenario('deleting several stops where SillyTavern refuses, and says what was done', { expects: { errors: [/status of 500/, /Failed to delete chat/] } }, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await grow(story, tale, { One: 'main', Two: 'main', Three: 'main' });
    await page.open(tale);
    const view = await openTimelines(page);
    await caughtUp(view);
    for (const name of ['One', 'Two', 'Three']) {
        await card(view, name).click({ modifiers: ['ControlOrMeta'] });
    }
    await page.raw.route('**/api/chats/delete', (route) => (route.request().postDataJSON().chatfile === 'Two.jsonl' ? route.fulfill({ status: 500 }) : route.fallback()));
    await press(view, 'Delete…');
    await dialog(page, 'Delete 3 timelines?');
    await agree(page);
    await notice(page, /Stopped at “Two”\. SillyTavern did not delete “Two”\. Of 3 timelines, \d (was|were) not deleted\./, 'warning');
    await page.raw.unroute('**/api/chats/delete');
    const left = files.chats(tale);
    assert.ok(left.includes('Two') && left.includes(tale.chat));
    assert.equal((await ticked(view)).length, left.length - 1, 'what was not deleted stays ticked');
    await leaveTimelines(page);
});

scenario('archived timelines leave the map and come back; two are compared; all by keyboard', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await grow(story, tale, { Left: 'main', 'Left on': 'Left', Right: 'main' });
    const before = files.chat(tale, 'Left on');
    await page.open(tale);
    await page.raw.locator('#forklore_wand_timelines').evaluate((item) => item.click());
    const view = await timelines(page);
    await caughtUp(view);
    const { keyboard } = page.raw;
    const walkTo = async (name, key) => {
        await keyboard.press(key);
        await until(`the focus on ${name}`, async () => (await page.raw.evaluate(() => document.activeElement.dataset.id)) === name);
    };

    await walkTo('Left', 'ArrowRight');
    await walkTo('Left on', 'ArrowRight');
    await keyboard.press('Space');
    assert.deepEqual(await ticked(view), ['Left on']);
    await press(view, 'Archive');
    await notice(page, /1 timeline archived/, 'success');
    assert.deepEqual(await onMap(view), ['Left', 'Right', tale.chat].toSorted());
    const archived = files.chat(tale, 'Left on');
    assert.deepEqual([archived.metadata, archived.messages], [{ ...before.metadata, forklore_label: { archived: true } }, before.messages]);
    await until('the count', async () => /^4 timelines · 1 archived/.test(await view.locator('.forklore_map_status').textContent()));

    await keyboard.press('Escape');
    assert.ok(await bar(view).isHidden(), 'the first Escape takes back the ticks only');
    await chooseTimeline(view, 'Left on');
    assert.equal(await view.getByRole('button', { name: 'Show archived' }).getAttribute('aria-pressed'), 'true', 'what is searched for is shown');
    assert.equal(await card(view, 'Left on').getAttribute('data-archived'), '');
    await act(view, 'Unarchive');
    await until('it to be like the others', async () => (await card(view, 'Left on').getAttribute('data-archived')) === null);
    assert.equal(files.chat(tale, 'Left on').metadata.forklore_label, undefined);
    await view.getByRole('button', { name: 'Show archived' }).waitFor({ state: 'hidden' });

    await chooseTimeline(view, 'Left');
    await act(view, 'Archive');
    await until('its sign', async () => (await card(view, 'Left').getAttribute('data-archived')) === '');
    assert.deepEqual(await onMap(view), ['Left', 'Left on', 'Right', tale.chat].toSorted(), 'what is forked from it stays reachable');

    await card(view, 'Left on').hover();
    await card(view, 'Left on').locator('.forklore_card_tick').click();
    await card(view, 'Right').click();
    await press(view, 'Compare');
    await until('what is different', async () => (await page.raw.locator('dialog.forklore_popup[open]').count()) === 2);
    await page.settle();
    await keyboard.press('Escape');
    await until('it to be closed', async () => (await page.raw.locator('dialog.forklore_popup[open]').count()) === 1);
    await leaveTimelines(page);
});

/** Opens the view on a phone. */
async function tapToOpen(page) {
    await page.raw.locator('#extensionsMenuButton').tap();
    await page.raw.locator('#forklore_wand_timelines').tap();
    const view = await timelines(page);
    await caughtUp(view);
    return view;
}

scenario('on a phone a tool turns taps into ticks', { viewport: 'phone' }, async ({ page, story, files }) => {
    await page.raw.setViewportSize({ width: 390, height: 844 });
    const tale = await story.begin({ book: loreWithGaps() });
    await grow(story, tale, { One: 'main', 'One more': 'One', Two: 'main' });
    await page.open(tale);
    await page.clearToasts();
    const view = await tapToOpen(page);
    await view.getByRole('button', { name: 'Select several' }).tap();
    await card(view, 'Two').tap();
    await card(view, 'One').tap();
    await bar(view).getByText('2 selected').waitFor();
    assert.ok(await details(view).isHidden(), 'the details do not come up');
    for (const part of [view.locator('.forklore_bar'), bar(view)]) {
        assert.deepEqual(await overflowing(part), []);
        assert.deepEqual(await tooSmall(part), []);
    }
    const [map, below] = await Promise.all([view.locator('.forklore_map').boundingBox(), bar(view).boundingBox()]);
    assert.ok(below.y >= map.y + map.height, 'the bar is in front of nothing');
    await bar(view).getByRole('button', { name: 'Archive' }).tap();
    await notice(page, /2 timelines archived/, 'success');
    assert.deepEqual(['One', 'Two'].map((name) => files.chat(tale, name).metadata.forklore_label), [{ archived: true }, { archived: true }]);
    assert.deepEqual(await onMap(view), ['One', 'One more', tale.chat].toSorted());
    await bar(view).getByRole('button', { name: 'Done' }).tap();
    await view.getByRole('button', { name: 'Close', exact: true }).tap();
});

// ---- Ghosts ----

for (const group of [false, true]) {
    const kind = group ? 'group' : 'solo';

    scenario(`${kind}: a family stays together when a timeline in its middle is deleted, on the map or in SillyTavern's list`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        await grow(story, tale, { Upper: 'main', Middle: 'Upper', Lower: 'Middle', Lowest: 'Lower' });
        await page.open(tale);
        let view = await openTimelines(page);
        await caughtUp(view);
        const isGhost = async (name) => (await card(view, name).getAttribute('data-kind')) === 'gone';

        await chooseTimeline(view, 'Middle');
        await act(view, 'Delete…');
        await dialog(page, 'Delete this timeline?');
        await agree(page);
        await until('its ghost', () => isGhost('Middle'));
        assert.deepEqual(await onMap(view), ['Lower', 'Lowest', 'Middle', 'Upper', tale.chat].toSorted());
        await until('the count', async () => /^4 timelines/.test(await view.locator('.forklore_map_status').textContent()));
        const level = (name) => card(view, name).getAttribute('aria-level');
        assert.deepEqual(await Promise.all([tale.chat, 'Upper', 'Middle', 'Lower', 'Lowest'].map(level)), ['1', '2', '3', '4', '5'], 'at its place');
        await leaveTimelines(page);

        await page.deleteChat('Lower');
        await page.settle();
        await page.reload();
        await page.open(tale);
        view = await openTimelines(page);
        await caughtUp(view);
        assert.deepEqual(await onMap(view), ['Lower', 'Lowest', 'Middle', 'Upper', tale.chat].toSorted(), 'after a reload, too');
        assert.deepEqual([await isGhost('Middle'), await isGhost('Lower'), await isGhost('Lowest')], [true, true, false]);

        await page.raw.locator('#forklore_wand_trash').evaluate((item) => item.click());
        const trash = await dialog(page, 'Trash');
        await trash.locator('.forklore_trashed').filter({ hasText: loreOf(tale, 'Middle') }).getByRole('button', { name: 'Put back' }).click();
        await notice(page, /“Middle” is back/, 'success');
        await agree(page);
        await until('the ghost to be the timeline again', async () => !(await isGhost('Middle')));
        assert.ok(await isGhost('Lower'));
        await leaveTimelines(page);
    });
}

// ---- How much of the lore differs ----

scenario('a card says how many entries differ from its parent', {}, async ({ page, story }) => {
    const tale = await story.begin({ book: book([entry(0), entry(1), entry(2)]) });
    const write = (name, parent, entries) => {
        story.writeBook(loreOf(tale, name), book(entries));
        story.writeChat(tale, name, { messages: conversation(3, { name: tale.speaker }), metadata: { main_chat: parent, world_info: loreOf(tale, name) } });
    };
    write('Another end', tale.chat, [entry(0), { ...entry(1), content: 'It was otherwise.' }, entry(2), entry(3)]);
    write('The same lore', 'Another end', [entry(0), { ...entry(1), content: 'It was otherwise.' }, entry(2), entry(3)]);
    await page.open(tale);
    const view = await openTimelines(page);
    const sign = (name) => card(view, name).locator('.forklore_differs');
    await sign('Another end').waitFor();
    assert.equal(await sign('Another end').innerText(), '2');
    assert.match(await card(view, 'Another end').getAttribute('aria-label'), /2 entries differ from its parent/);
    await chooseTimeline(view, 'Another end');
    await details(view).getByText('2 entries differ from its parent').waitFor();
    assert.equal(await sign('The same lore').count(), 0);
    assert.equal(await sign(tale.chat).count(), 0);
    await leaveTimelines(page);
});

// ---- A phone ----

const DEFAULT_NAME = 'Mara - 2026-11-15@22h48m06s207ms';

for (const [count, isWhole] of [[10, true], [40, false]]) {
    const nightly = isWhole && 'with more timelines it runs for every change';
    scenario(`on a phone, ${count} timelines with default names can be read at the start and with Show all`, { viewport: 'phone', nightly }, async ({ page, story }) => {
        await page.raw.setViewportSize({ width: 390, height: 844 });
        const tale = { ...await story.begin({ book: loreWithGaps() }), chat: DEFAULT_NAME };
        const names = [DEFAULT_NAME];
        story.writeChat(tale, DEFAULT_NAME, { messages: conversation(30, { name: tale.speaker }), metadata: { world_info: tale.book } });
        for (let number = 1; number < count; number += 1) {
            // Every third one is forked from the one before it.
            const parent = number % 3 ? DEFAULT_NAME : names.at(-1);
            const name = `${parent} - Branch #${number}`;
            story.writeChat(tale, name, { messages: conversation(2 + (number % 20), { name: tale.speaker }), metadata: { main_chat: parent, world_info: tale.book } });
            names.push(name);
        }
        await page.open(tale);
        await page.clearToasts();
        const view = await tapToOpen(page);

        for (const when of ['start', 'all']) {
            if (when === 'all') {
                await view.getByRole('button', { name: 'Zoom out' }).tap();
                await view.getByRole('button', { name: 'Show all' }).tap();
            }
            const { size, inSight, isOpenInSight, filled, texts } = await seen(view);
            assert.ok(size >= 10, `${when}: texts of ${size} px`);
            assert.equal(new Set(texts).size, texts.length, texts.join(' | '));
            assert.ok(isOpenInSight, `${when}: where one is`);
            assert.ok(filled > 0.6, `${when}: ${Math.round(filled * 100)} % of the height is used`);
            assert.ok(isWhole ? inSight === count : inSight >= 12, `${when}: ${inSight} in sight`);
            assert.equal(/drag to see the rest/.test(await view.locator('.forklore_map_status').textContent()), !isWhole);
        }
        await view.getByRole('button', { name: 'Close', exact: true }).tap();
    });
}

/** What can be read on the map: the size of the names in pixels, and how much of the map they fill. */
function seen(view) {
    return view.locator('.forklore_map').evaluate(async (map) => {
        await Promise.all(map.getAnimations({ subtree: true }).map((animation) => animation.finished));
        const { left, right, top, bottom, height } = map.getBoundingClientRect();
        const boxes = [...map.querySelectorAll('.forklore_card')].map((card) => ({ card, box: card.getBoundingClientRect() }))
            .filter(({ box }) => box.left >= left - 1 && box.right <= right + 1 && box.top >= top - 1 && box.bottom <= bottom + 1);
        const texts = boxes.flatMap(({ card }) => card.querySelector('bdi') ?? []);
        const scale = new DOMMatrix(getComputedStyle(map.querySelector('.forklore_world')).transform).a;
        return {
            inSight: boxes.length,
            isOpenInSight: boxes.some(({ card }) => 'open' in card.dataset),
            size: texts.length ? Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize))) * scale : 0,
            filled: (Math.max(...boxes.map(({ box }) => box.bottom)) - Math.min(...boxes.map(({ box }) => box.top))) / height,
            texts: texts.map(({ textContent }) => textContent),
        };
    });
}
