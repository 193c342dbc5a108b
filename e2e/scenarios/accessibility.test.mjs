// What a screen reader and the keyboard need, checked by axe-core in our own parts of the page.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

import { dialog, inPanel, panel, pressInDrawer, withSettings } from '../harness/forklore.mjs';
import { loreWithGaps } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';
import { conversation } from '../harness/story.mjs';
import { act, card, caughtUp, chooseTimeline, openTimelines } from '../harness/timelines.mjs';
import { until } from '../harness/until.mjs';

const scenario = withSettings(stage());
/** A card on the map is called by the whole name of its timeline; what is seen of it is shorter. */
const LEFT_OUT = { 'label-content-name-mismatch': { enabled: false } };
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

for (const viewport of ['desktop', 'phone']) {
    const nightly = viewport === 'phone' && 'on a desktop it runs for every change';
    scenario(`views have no serious faults on a ${viewport}`, { viewport, nightly }, async ({ page, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        story.writeChat(tale, 'The other end', { messages: conversation(4, { name: tale.speaker }), metadata: { main_chat: tale.chat, world_info: tale.book } });
        await page.open(tale);
        await page.send('The lamp turns.');
        await page.settle();
        await page.raw.addScriptTag({ path: AXE });
        const close = async () => {
            const before = await page.raw.locator('dialog[open]').count();
            await page.raw.keyboard.press('Escape');
            await until('a dialog to be closed', async () => (await page.raw.locator('dialog[open]').count()) < before);
        };

        const view = await openTimelines(page);
        await caughtUp(view);
        await assertSound(page, '.forklore_timelines', 'the map');
        await view.getByRole('searchbox').fill('lamp');
        await view.locator('.forklore_hit').first().waitFor();
        await assertSound(page, '.forklore_timelines', 'what a search has found');
        await chooseTimeline(view, 'The other end');
        await act(view, 'Name…');
        await dialog(page, 'Name this timeline');
        await assertSound(page, 'dialog[open]:last-of-type .forklore_dialog', 'labels');
        await close();
        await view.getByRole('button', { name: 'Select several' }).click();
        await card(view, 'The other end').click();
        await assertSound(page, '.forklore_timelines', 'several timelines');
        await view.locator('.forklore_several').getByRole('button', { name: 'Delete…' }).click();
        await dialog(page, 'Delete 1 timeline?');
        await assertSound(page, 'dialog[open]:last-of-type .forklore_dialog', 'the question about several');
        await close();
        await view.getByRole('button', { name: 'Select several' }).click();
        await close();

        await pressInDrawer(page, 'Compare…');
        await dialog(page, 'Compare');
        await assertSound(page, 'dialog[open] .forklore_dialog', 'what to compare');
        await close();

        await pressInDrawer(page, 'Trash…');
        await dialog(page, /Trash/);
        await assertSound(page, 'dialog[open] .forklore_dialog', 'the trash');
        await close();

        await inPanel(page, 'Remove the journal from all chats…').dispatchEvent('click');
        await dialog(page, 'Remove the journal from all chats?');
        await assertSound(page, 'dialog[open] .forklore_dialog', 'the journal of all chats');
        await close();

        await page.messageAction(3, '.forklore_lore');
        await dialog(page, /^Lore at message 3/);
        await assertSound(page, 'dialog[open] .forklore_dialog', 'the lore of a message');
        await close();

        await page.messageAction(3, '.mes_create_bookmark');
        await dialog(page, 'The exact lore of this message was not recorded');
        await assertSound(page, 'dialog[open] .forklore_dialog', 'the question');
        await close();
        await inPanel(page, 'Create checkpoint').waitFor({ state: 'attached' });
        assert.ok(await panel(page).count());
        await assertSound(page, '#forklore_settings', 'the panel');
    });
}

/** No serious or critical findings in a part of the page. */
async function assertSound(page, selector, what) {
    const found = await page.raw.evaluate(async ({ selector, rules }) => {
        const { violations } = await globalThis.axe.run(selector, { resultTypes: ['violations'], preload: false, rules });
        return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
            .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html }) => html.slice(0, 160)).join(' | ')}`);
    }, { selector, rules: LEFT_OUT });
    assert.deepEqual(found, [], what);
}
