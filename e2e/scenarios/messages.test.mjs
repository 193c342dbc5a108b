// Messages in words, picked from a list, and marked in the chat.

import assert from 'node:assert/strict';

import { comparison, messageField, messageRows } from '../harness/combining.mjs';
import { decide, dialog, withSettings } from '../harness/forklore.mjs';
import { overflowing, poorlyVisible, tooSmall } from '../harness/looks.mjs';
import { book, entry } from '../harness/lore.mjs';
import { SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { conversation, question, reply } from '../harness/story.mjs';
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

// ---- Marks in the chat ----

const mark = (page, message, kind = 'forks') => page.raw.locator(`#chat .mes[mesid="${message}"] .forklore_mark_${kind}`);
const marks = (page, kind = 'forks') => page.raw.locator(`#chat .forklore_mark_${kind}`);

/** Waits until exactly these messages are marked. @param {Record<number, string>} expected counts by message */
const marked = (page, expected, kind = 'forks') => until(`the marks ${JSON.stringify(expected)}`, async () => {
    const shown = await marks(page, kind).evaluateAll((all) => all.map((found) => [found.closest('.mes').getAttribute('mesid'), found.textContent]));
    if (JSON.stringify(Object.fromEntries(shown)) !== JSON.stringify(expected)) {
        throw new Error(`there are: ${JSON.stringify(shown)}`);
    }
    return true;
});

for (const group of [false, true]) {
    scenario(`${group ? 'group' : 'solo'}: messages where timelines fork off are marked, list them, and open them`, { group, nightly: group && SOLO_IS_DAILY, settings: { whenInexact: 'nearest' } }, async ({ page, story }) => {
        const tale = await story.begin({ book: lore(), messages: 8 });
        await page.open(tale);
        const top = () => page.raw.locator('#chat .mes[mesid="3"] .mes_text').evaluate((text) => text.getBoundingClientRect().top);
        await page.raw.locator('#chat').evaluate((chat) => chat.scrollTo(0, 0));
        const before = await top();
        await page.checkpointByCommand(2, { name: 'Before the storm' });
        await marked(page, { 2: '1' });
        await page.raw.locator('#chat').evaluate((chat) => chat.scrollTo(0, 0));
        assert.equal(await top(), before, 'nothing moves');
        const one = await page.branchByCommand(4);
        await marked(page, { 2: '1' });
        await page.switchTo(tale.chat);
        const two = await page.branchByCommand(4);
        await marked(page, { 2: '1', 4: '1' });
        await page.switchTo(tale.chat);
        await marked(page, { 2: '1', 4: '2' });
        await page.clearToasts();

        await mark(page, 4).focus();
        assert.equal(await mark(page, 4).getAttribute('aria-label'), '2 timelines fork off here');
        await page.raw.keyboard.press('Enter');
        const list = page.dialog();
        await list.getByRole('heading', { name: /^Timelines that fork off at message 4, .*: “reply 4”$/ }).waitFor();
        assert.deepEqual(await list.locator('.forklore_forks button').evaluateAll((all) => all.map(({ title }) => title)), [one, two].sort());
        assert.deepEqual(await list.locator('.forklore_forks button').allTextContents(), ['… Branch #1', '… Branch #2']);
        await page.opening(() => list.getByRole('button', { name: `Open “${two}”` }).click());
        assert.equal((await page.current()).chat, two);
        await marked(page, { 2: '1', 4: '1' });

        // They follow what happens to timelines and to messages.
        await page.switchTo(tale.chat);
        await marked(page, { 2: '1', 4: '2' });
        await page.renameChat(two, 'The long way home');
        await marked(page, { 2: '1', 4: '2' });
        await page.deleteChat(one);
        // A group opens another chat then.
        await page.switchTo(tale.chat);
        await marked(page, { 2: '1', 4: '1' });
        await page.clearToasts();
        await mark(page, 4).click();
        await page.dialog().getByRole('button', { name: 'Open “The long way home”' }).waitFor();
        assert.equal(await page.dialog().locator('.forklore_forks button').count(), 1);
        await page.dialog().locator('.popup-button-ok').click();
        await page.run('/cut 0');
        await marked(page, { 1: '1', 3: '1' });
        await page.settle();
    });
}

scenario('the marks are still there after Show more messages, an edit and a swipe, and nothing is read for them', { settings: { whenInexact: 'nearest' } }, async ({ page, story }) => {
    const tale = await story.begin({ book: lore(), messages: ({ name }) => [...conversation(130, { name }), reply(130, { name, swipes: 2 })] });
    await page.open(tale);
    await page.branchByImport(5);
    await page.branchByImport(130);
    await marked(page, { 130: '1' });
    await page.settle();
    const reads = [];
    const note = (request) => /\/api\/(chats|characters|groups|worldinfo)\/(?!save)/.test(request.url()) && reads.push(request.url());
    page.raw.on('request', note);
    await page.raw.locator('#show_more_messages').click();
    await marked(page, { 5: '1', 130: '1' });
    const edited = page.raw.locator('#chat .mes[mesid="5"]');
    await edited.locator('.mes_edit').click();
    await edited.locator('.edit_textarea').fill('Another question.');
    await edited.locator('.mes_edit_done').click();
    await edited.getByText('Another question.').waitFor();
    await marked(page, { 5: '1', 130: '1' });
    await page.raw.locator('#chat .last_mes .swipe_right').click();
    await page.raw.locator('#chat .last_mes').getByText('swipe 1').waitFor();
    await marked(page, { 5: '1', 130: '1' });
    page.raw.off('request', note);
    assert.deepEqual(reads, []);
    await page.settle();
    await mark(page, 5).click();
    await page.dialog().getByRole('heading', { name: 'Timelines that fork off at message 5, User: “Another question.”' }).waitFor();
    await page.dialog().locator('.popup-button-ok').click();
});

scenario('messages where the lore changed are marked if that is wanted, and lead to the lore', { settings: { markLore: true } }, async ({ page, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    await page.run('/send The Gull is gone.');
    await page.settle();
    await page.editEntry(tale.book, 0, 'Captain of nothing.');
    await page.run('/send Iven laughs.');
    await page.settle();
    await marked(page, { 6: '' }, 'lore');
    assert.equal(await mark(page, 6, 'lore').getAttribute('aria-label'), 'The lore changed here');
    await mark(page, 6, 'lore').click();
    await dialog(page, 'Lore at message 6, User: “The Gull is gone.”');
    await page.dialog().locator('.popup-button-ok').click();
    await decide(page, { markLore: false });
    await page.run('/send The end.');
    await marked(page, {}, 'lore');
    await page.settle();
});

scenario('the marks fit on a phone', { viewport: 'phone', settings: { whenInexact: 'nearest', markLore: true } }, async ({ page, story }) => {
    const tale = await story.begin({ book: lore(), messages: 3 });
    await page.open(tale);
    await page.run('/send The Gull is gone.');
    await page.settle();
    await page.editEntry(tale.book, 0, 'Captain of nothing.');
    await page.run('/send Iven laughs.');
    await page.branchByImport(3);
    await page.branchByImport(3);
    await marked(page, { 3: '2' });
    await page.clearToasts();
    assert.deepEqual(await overflowing(page.raw.locator('#chat .mes[mesid="3"] .mes_buttons')), []);
    assert.deepEqual((await poorlyVisible(mark(page, 3))).poor, []);
    await mark(page, 3).tap();
    const list = page.dialog();
    await list.locator('.forklore_forks').waitFor();
    assert.deepEqual(await overflowing(list), []);
    assert.deepEqual(await tooSmall(list.locator('.forklore_dialog')), []);
    await list.locator('.popup-button-ok').tap();
});
