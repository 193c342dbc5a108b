// Messages in words, picked from a list, and marked in the chat.

import assert from 'node:assert/strict';

import { comparison, messageField, messageRows } from '../harness/combining.mjs';
import { withSettings } from '../harness/forklore.mjs';
import { overflowing, poorlyVisible, tooSmall } from '../harness/looks.mjs';
import { book, entry } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';
import { conversation, question } from '../harness/story.mjs';
import { until } from '../harness/until.mjs';

const scenario = withSettings(stage());

const lore = () => book([entry(0, { comment: 'Mara', key: ['mara'], content: 'Captain of the Gull.' })]);

// ---- The picker ----

const LONG = 5000;
const HOSTILE = '<img src=x onerror=alert(1)> *The lamp* of the **quay** turns,\n\nand nobody in the whole harbour sees that it does.';

/** A story beside which there is one of 5,000 messages. */
async function beginLong(story) {
    const tale = await story.begin({ book: lore() });
    const long = `${tale.chat} - Long`;
    const messages = conversation(LONG, { name: tale.speaker });
    messages[17] = question(17, { mes: HOSTILE });
    story.writeChat(tale, long, { messages, metadata: { main_chat: tale.chat } });
    return { tale, long };
}

async function askToCompare(page) {
    await page.raw.locator('#extensionsMenuButton').click();
    await page.raw.locator('#forklore_wand_compare').click();
    await page.dialog().locator('.forklore_choose').first().waitFor();
    return page.dialog();
}

scenario('a message is picked by its words, with the mouse or the keyboard, out of 5,000', {}, async ({ page, story }) => {
    const { tale, long } = await beginLong(story);
    await page.open(tale);
    await page.run('/send The lamp turns.');
    await page.settle();
    const asked = await askToCompare(page);
    const search = asked.getByRole('combobox', { name: 'Search messages…' });
    const options = messageRows(asked);

    await asked.getByLabel('First', { exact: true }).selectOption(long);
    const first = messageField(asked, 'first');
    assert.equal(await first.textContent(), 'Now');
    await first.click();
    await options.first().waitFor();
    assert.deepEqual((await options.allTextContents()).slice(0, 3), ['Now', `4999, User: “question 4999”`, `4998, ${tale.speaker}: “reply 4998”`]);
    assert.ok(await options.count() < 200, 'only what is seen is drawn');
    await search.fill('QUAY lamp');
    await until('the message to be found', async () => (await options.count()) === 1);
    const words = '17, User: “The lamp of the quay turns, and nobody…”';
    assert.equal(await options.textContent(), words);
    await search.press('Enter');
    assert.equal(await first.textContent(), `Message ${words}`);
    assert.ok(await asked.isVisible(), 'the dialog is still open');
    assert.equal(await asked.locator('.forklore_pick:visible').count(), 0);
    await first.click();
    await asked.locator('.forklore_message[aria-selected="true"]', { hasText: words }).waitFor();
    assert.ok(await asked.locator('.forklore_message[aria-selected="true"]').evaluate((row) => {
        const [inside, around] = [row.getBoundingClientRect(), row.parentElement.getBoundingClientRect()];
        return inside.top >= around.top - 1 && inside.bottom <= around.bottom + 1;
    }), 'the chosen one is in view');
    await page.raw.keyboard.press('Escape');
    assert.equal(await asked.locator('.forklore_pick:visible').count(), 0, 'Escape closes the list first');
    assert.ok(await asked.isVisible());
    await search.first().waitFor({ state: 'hidden' });

    // Another timeline has other messages.
    await asked.getByLabel('First', { exact: true }).selectOption(tale.chat);
    assert.equal(await first.textContent(), 'Now');
    await first.focus();
    await page.raw.keyboard.press('ArrowDown');
    await options.first().waitFor();
    await page.raw.keyboard.press('ArrowDown');
    await page.raw.keyboard.press('ArrowDown');
    await page.raw.keyboard.press('Enter');
    assert.equal(await first.textContent(), 'Message 5, User: “question 5”');
    await asked.getByLabel('Second', { exact: true }).selectOption(tale.chat);
    await asked.locator('.popup-button-ok').click();
    const view = await comparison(page);
    await view.getByRole('heading', { name: 'Changes in between' }).waitFor();
    await view.getByText('at message 5, User: “question 5”').waitFor();
    await page.raw.keyboard.press('Escape');
});

scenario('the list of messages fits on a phone', { viewport: 'phone' }, async ({ page, story }) => {
    const { tale, long } = await beginLong(story);
    await page.open(tale);
    await page.raw.evaluate(() => document.getElementById('forklore_wand_compare').click());
    const asked = page.dialog();
    await asked.getByLabel('Second', { exact: true }).selectOption(long);
    await messageField(asked, 'second').tap();
    await messageRows(asked).first().waitFor();
    await messageRows(asked, /^4998/).scrollIntoViewIfNeeded();
    assert.deepEqual(await overflowing(asked), []);
    assert.deepEqual(await tooSmall(asked), []);
    assert.deepEqual((await poorlyVisible(asked)).poor, []);
    assert.ok((await messageRows(asked).first().boundingBox()).height >= 40);
    assert.ok(!await asked.getByRole('combobox', { name: 'Search messages…' }).evaluate((search) => search === document.activeElement), 'no keyboard covers the list');
    await messageRows(asked, /^4998/).tap();
    assert.match(await messageField(asked, 'second').textContent(), /^Message 4998, /);
    await asked.locator('.popup-button-cancel').tap();
});
