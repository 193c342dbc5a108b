// The search of the view of timelines: messages and lorebooks of all timelines, as they are read.

import assert from 'node:assert/strict';
import fs from 'node:fs';

import { dialog, withSettings } from '../harness/forklore.mjs';
import { overflowing, tooSmall } from '../harness/looks.mjs';
import { book, entry } from '../harness/lore.mjs';
import { SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { conversation, reply } from '../harness/story.mjs';
import { card, caughtUp, leaveTimelines, openTimelines, timeOfEmptyPopup } from '../harness/timelines.mjs';
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
    const forks = { 'Branch one': { ...shared, 7: 'A lantern <u>falls</u>.' }, 'Branch two': { ...shared, 9: 'Nothing to see.' } };
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
    scenario(`${group ? 'group' : 'solo'}: messages and lore of all timelines are found, shown and opened`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, story }) => {
        const tale = await tell(story);
        await page.open(tale);
        await page.clearToasts();
        const trap = await Trap.in(page.raw);
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
        assert.match(await hits(view).innerText(), new RegExp(`The lamp\\s+${tale.book}\\s+lighthouse · It turns all night\\.\\s+in 3 timelines`));
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
        await trap.assertEmpty();
        trap.close();
    });
}

scenario('on a phone the results are in the sheet', { viewport: 'phone' }, async ({ page, story }) => {
    const tale = await tell(story);
    await page.open(tale);
    await page.clearToasts();
    const view = await openTimelines(page);
    await caughtUp(view);
    await searched(view, 'lantern', /3 hits in 3 timelines/);
    await hits(view).first().waitFor();
    assert.deepEqual(await overflowing(view), []);
    assert.deepEqual(await tooSmall(view.locator('.forklore_found')), []);
    await leaveTimelines(page);
});

scenario('what chats and lorebooks say is only text, and what cannot be read is counted', {}, async ({ page, files, story }) => {
    const trap = await Trap.in(page.raw);
    const tale = await story.begin();
    const { texts } = trap;
    story.writeBook('Hostile', book(texts.map((text, uid) => entry(uid, { comment: text, key: [text], content: `trap ${text}` }))));
    story.writeChat(tale, 'Hostile', { messages: texts.map((text, number) => reply(number, { name: text, mes: `trap ${text}` })), metadata: { main_chat: tale.chat, world_info: 'Hostile' } });
    story.writeChat(tale, 'Damaged', { messages: [] });
    fs.writeFileSync(files.chatPath(tale, 'Damaged'), 'trap');
    await page.open(tale);
    const view = await openTimelines(page);
    await caughtUp(view);
    await searched(view, 'trap', new RegExp(`${texts.length * 2} hits in 1 timeline · 1 could not be read`));
    assert.equal(await hits(view).count(), 100);
    await view.getByText(`and ${texts.length * 2 - 100} more`).waitFor();
    await trap.assertEmpty();
    trap.close();
    await leaveTimelines(page);
});

const TIMELINES = 200;
const MEGABYTES = 20;
/** In milliseconds, on a machine that does nothing else. */
const FIRST_WITHIN = 1000;
const LONGEST_TASK = 200;

scenario(`${TIMELINES} timelines of ${MEGABYTES} MB: first hits within a second, and the page is never held up`, { freshPage: true, nightly: 'it measures how long something takes' }, async ({ page, story }) => {
    const tale = await story.begin({ book: book([entry(0)]) });
    const size = MEGABYTES * 1024 * 1024 / TIMELINES / 50;
    for (let number = 1; number < TIMELINES; number += 1) {
        const sentence = (at) => `The tide of ${number} and ${at} goes out, and comes in. `;
        const messages = Array.from({ length: 50 }, (_, at) => reply(at, { name: tale.speaker, mes: `${sentence(at).repeat(size / sentence(at).length)}${at === 30 ? 'A lantern.' : ''}` }));
        story.writeBook(`Lore of ${number}`, book(Array.from({ length: 5 }, (_, uid) => entry(uid, { content: uid === 4 ? `A lantern of ${number}.` : 'Nothing.' }))));
        story.writeChat(tale, `Fork ${number}`, { messages, metadata: { main_chat: number < 20 ? tale.chat : `Fork ${number % 19 + 1}`, world_info: `Lore of ${number}` } });
    }
    await page.open(tale);
    await page.clearToasts();
    const view = await openTimelines(page);
    await caughtUp(view, 120_000);
    const empty = await timeOfEmptyPopup(page);
    for (const [typed, what] of [['lantern', 'read'], ['tide', 'kept']]) {
        const { first, all, longest, progress } = await view.evaluate(timeToSearch, typed);
        console.log(`${TIMELINES} timelines of ${MEGABYTES} MB, ${what}: first hits after ${Math.round(first)} ms, all after ${Math.round(all)} ms, longest task ${Math.round(longest)} ms; an empty popup ${Math.round(empty)} ms`);
        // On a busy machine it may take as much longer as everything else does.
        assert.ok(first < Math.max(FIRST_WITHIN, empty * 10), `first hits after ${first} ms`);
        assert.ok(longest < Math.max(LONGEST_TASK, empty * 3), `a task of ${longest} ms`);
        assert.ok(what === 'kept' || progress.length > 1, progress.join());
        assert.match(await status(view).textContent(), typed === 'lantern' ? /398 hits in 199 timelines/ : /9950 hits in 199 timelines/);
        assert.equal(await hits(view).count(), 100);
        await view.getByText(/^and \d+ more$/).waitFor();
    }
    await leaveTimelines(page);
});

/** Runs in the page: types, and measures until the first hits and until the end. */
async function timeToSearch(view, typed) {
    const tasks = [];
    const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)));
    observer.observe({ entryTypes: ['longtask'] });
    const search = view.querySelector('input[type="search"]');
    search.focus();
    const text = () => view.querySelector('.forklore_map_status').textContent;
    const progress = new Set();
    const began = performance.now();
    search.value = typed;
    search.dispatchEvent(new Event('input'));
    let first = null;
    do {
        await new Promise(requestAnimationFrame);
        progress.add(/Searching: \d+/.exec(text())?.[0] ?? '');
        first ??= view.querySelector('.forklore_hit') ? performance.now() - began : null;
    } while (/Searching/.test(text()));
    const all = performance.now() - began;
    await new Promise((resolve) => setTimeout(resolve, 100));
    observer.disconnect();
    return { first, all, longest: Math.max(0, ...tasks), progress: [...progress].filter(Boolean) };
}
