// The search of the view of timelines: messages and lorebooks of all timelines, as they are read.

import assert from 'node:assert/strict';

import { dialog, withSettings } from '../harness/forklore.mjs';
import { overflowing, tooSmall } from '../harness/looks.mjs';
import { book, entry } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';
import { conversation, reply } from '../harness/story.mjs';
import { card, caughtUp, leaveTimelines, openTimelines } from '../harness/timelines.mjs';
import { Trap } from '../harness/trap.mjs';
import { until } from '../harness/until.mjs';

const scenario = withSettings(stage());

const status = (view) => view.locator('.forklore_map_status');
const hits = (view) => view.locator('.forklore_hit');
const heads = (view) => view.locator('.forklore_hit_timeline');

/** Waits until a search is over. */
async function searched(view, words, wanted) {
    await view.getByRole('searchbox').fill(words);
    await until(`${wanted} for “${words}”`, async () => {
        const text = await status(view).textContent();
        return wanted.test(text) && !/Searching/.test(text);
    });
}

/** A main chat of 120 messages, two forks and a chat of another family. */
async function tell(story) {
    const lore = (content) => book([entry(0, { comment: 'The lamp', key: ['lighthouse'], content: 'It turns all night.' }), entry(3, { comment: 'The cellar', content })]);
    const tale = await story.begin({ book: lore('Empty.'), messages: 120 });
    const told = (count, texts) => conversation(count, { name: tale.speaker, group: Boolean(tale.group) }).map((message, number) => ({ ...message, mes: texts[number] ?? message.mes }));
    const shared = { 4: '*Mara lights* the **old lantern**.' };
    story.writeChat(tale, tale.chat, { messages: told(120, { ...shared, 90: 'The main story has a comet.' }), metadata: { world_info: tale.book } });
    const forks = { 'Branch one': { ...shared, 7: 'A lantern <img src=x onerror="__trap(1)"> falls.' }, 'Branch two': { ...shared, 9: 'Nothing to see.' } };
    for (const [name, texts] of Object.entries(forks)) {
        story.writeBook(`${name} - Lore`, lore(name === 'Branch one' ? 'A smuggler sleeps here.' : 'Empty.'));
        story.writeChat(tale, name, { messages: told(10, texts), metadata: { main_chat: tale.chat, world_info: `${name} - Lore` } });
    }
    story.writeChat(tale, 'Elsewhere', { messages: [reply(0, { name: tale.speaker, mes: 'Another harbour, another LANTERN.' })] });
    if (tale.group) {
        for (const name of [...Object.keys(forks), 'Elsewhere']) {
            await story.list(tale, name);
        }
    }
    return tale;
}

for (const group of [false, true]) {
    scenario(`${group ? 'group' : 'solo'}: messages and lore of all timelines are found, shown and opened`, { group, freshPage: true }, async ({ page, story }) => {
        const tale = await tell(story);
        await page.open(tale);
        await page.clearToasts();
        const trap = await Trap.set(page);
        let view = await openTimelines(page);
        await caughtUp(view);

        await searched(view, 'LANTERN', /3 hits in 3 timelines/);
        assert.deepEqual((await heads(view).allInnerTexts()).map((text) => text.trim()), [tale.chat, 'Branch one', 'Elsewhere']);
        assert.deepEqual((await hits(view).allInnerTexts()).map((text) => text.split('\n').map((line) => line.trim()).filter(Boolean)), [
            [`4, ${tale.speaker}`, 'Mara lights the old lantern.', 'in 3 timelines'],
            ['7, User', 'A lantern falls.'],
            [`0, ${tale.speaker}`, 'Another harbour, another LANTERN.'],
        ]);
        assert.deepEqual(await view.locator('.forklore_hit mark').allInnerTexts(), ['lantern', 'lantern', 'LANTERN']);
        assert.equal(await card(view, 'Branch one').getAttribute('data-found'), '');
        assert.equal(await card(view, 'Branch two').getAttribute('data-found'), null, 'what it has is from its parent');

        // Another family is shown if a hit is there.
        await hits(view).last().click();
        await until('the other family', async () => (await card(view, 'Elsewhere').getAttribute('aria-selected')) === 'true');
        await hits(view).first().click();
        await until('the first family', async () => (await card(view, tale.chat).getAttribute('aria-selected')) === 'true');

        // The keyboard.
        const search = view.getByRole('searchbox');
        await search.focus();
        await page.raw.keyboard.press('ArrowDown');
        await page.raw.keyboard.press('ArrowDown');
        assert.match(await page.raw.evaluate(() => document.activeElement.innerText), /old lantern/);
        await page.raw.keyboard.press('ArrowUp');
        await page.raw.keyboard.press('ArrowUp');
        assert.ok(await search.evaluate((element) => element === document.activeElement));
        await page.raw.keyboard.press('Enter');
        await until('the next one', async () => (await card(view, 'Branch one').getAttribute('aria-selected')) === 'true');
        assert.equal(await heads(view).nth(1).getAttribute('aria-current'), '');

        // Details, and back.
        await card(view, 'Branch one').click();
        await view.locator('.forklore_details_name').waitFor();
        await view.getByRole('button', { name: 'Back to the results' }).click();
        assert.equal(await hits(view).count(), 3);
        await page.raw.keyboard.press('Escape');
        assert.equal(await search.inputValue(), '');
        await view.locator('.forklore_details_name').waitFor();

        // One letter is only searched in what is known; nothing, and all words.
        await searched(view, 'x', /nothing found/);
        await searched(view, 'lantern comet', /nothing found/);
        await view.getByText('No message, no lorebook entry and no name has these words.').waitFor();

        // An entry that both lorebooks have, and one that differs.
        await searched(view, 'lighthouse', /1 hit in 1 timeline/);
        assert.match(await hits(view).innerText(), new RegExp(`The lamp\\s+${tale.book}\\s+lighthouse It turns all night\\.\\s+in 3 timelines`));
        await searched(view, 'smuggler', /1 hit in 1 timeline/);
        await page.opening(() => view.getByRole('button', { name: 'Open “Branch one” and show “The cellar” in its lore' }).click());
        assert.equal((await page.current()).chat, 'Branch one');
        const lore = await dialog(page, /^Lore at message 9/);
        await lore.getByText('A smuggler sleeps here.').waitFor();
        await page.raw.keyboard.press('Escape');
        await until('the lore to be closed', async () => (await page.raw.locator('dialog[open]').count()) === 0);

        // A message far above what SillyTavern draws at first.
        view = await openTimelines(page);
        await searched(view, 'old lantern', /1 hit in 1 timeline/);
        await page.opening(() => view.getByRole('button', { name: `Open “${tale.chat}” at message 4` }).click());
        await until('the message to be seen', () => page.raw.evaluate(() => {
            const message = document.querySelector('#chat .mes[mesid="4"]')?.getBoundingClientRect();
            const chat = document.getElementById('chat').getBoundingClientRect();
            return message && message.top >= chat.top - 5 && message.top < chat.bottom - 20;
        }));
        assert.equal((await page.current()).chat, tale.chat);
        await trap.assertNothingRan?.();
    });
}
