// Two endings of one story: what differs, and bringing lore from one into the other.

import assert from 'node:assert/strict';

import { apply, compare, comparison, go, preview, row, settle, shortName, tick, twoEndings, unfold, worldInfo } from '../harness/combining.mjs';
import { dialog, notice, pressNotice, trashed, withSettings } from '../harness/forklore.mjs';
import { overflowing, poorlyVisible, tooSmall } from '../harness/looks.mjs';
import { book, entry } from '../harness/lore.mjs';
import { registryEntry } from '../harness/recap.mjs';
import { isNight } from '../harness/places.mjs';
import { OTHER_THEME_IS_DAILY, SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { PAPER } from '../harness/themes.mjs';
import { act, card, caughtUp, chooseTimeline, leaveTimelines, openTimelines } from '../harness/timelines.mjs';
import { Trap } from '../harness/trap.mjs';
import { until } from '../harness/until.mjs';

const scenario = withSettings(stage());

const LOOK_AT = process.env.FORKLORE_LOOK_AT;

const lore = () => book([
    entry(0, { comment: 'Mara', key: ['mara'], content: 'Captain of the Gull. Owes Iven her ship.' }),
    entry(1, { comment: 'Iven', key: ['iven'], content: 'A smuggler who waits at the lighthouse.' }),
    entry(2, { comment: 'The lighthouse', key: ['lighthouse'], content: 'Dark for nine years.' }),
    entry(3, { comment: 'The letter', key: ['letter'], content: 'Unopened.' }),
]);

const EDITS = {
    one(entries) {
        entries[1].content = 'A smuggler who died at the lighthouse.';
        entries[4] = entry(4, { comment: 'The grave', key: ['grave'], content: 'Below the cliff.' });
    },
    two(entries) {
        entries[1].content = 'A smuggler who lives, and keeps the light.';
        entries[0].content = 'Captain of the Gull. Owes nobody anything.';
        delete entries[3];
        entries[4] = entry(4, { comment: 'The wedding', key: ['wedding'], content: 'Iven and Mara, in spring.' });
        entries[5] = entry(5, { comment: 'The new ship', key: ['ship'], content: 'Called the Tern.' });
        entries[6] = entry(6, { comment: 'The keeper', key: ['keeper'], content: 'It was Iven all along.' });
    },
};

const BROUGHT = ['The wedding', 'The new ship', 'The keeper'];

// ---- The purpose ----

for (const group of [false, true]) {
    const kind = group ? 'group' : 'solo';

    scenario(`${kind}: three entries are ticked, looked at and brought over, and SillyTavern activates them there`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: lore() });
        await page.open(tale);
        const { one, two, books } = await twoEndings({ page, files }, tale, EDITS);
        const before = files.book(books.one).text;

        let view = await compare(page, one, two);
        await view.getByText(`They part in “${tale.chat}” at message 5, `).waitFor();
        assert.equal(await view.locator('.forklore_row').count(), 7);
        assert.equal(await view.locator('.forklore_tick input:checked').count(), 0, 'nothing is ticked by itself');
        await tick(view, ...BROUGHT);
        assert.match(await go(view).textContent(), new RegExp(`Merge 3 entries into “${shortName(one)}”`));
        await preview(view);
        assert.match(await row(view, 'The wedding').textContent(), /is added as number 7, because 4 is taken/);
        assert.equal(await view.locator('.forklore_row').count(), 3);
        assert.equal(files.book(books.one).text, before, 'looking changes nothing');
        await apply(page, view);
        await notice(page, /: 3 added\./);

        const now = files.book(books.one).value.entries;
        assert.deepEqual(Object.values(now).map(({ comment }) => comment).sort(), ['Iven', 'Mara', 'The grave', 'The keeper', 'The letter', 'The lighthouse', 'The new ship', 'The wedding']);
        assert.equal(now[7].uid, 7);
        assert.match(now[1].content, /died/, 'what was not ticked stays');
        assert.equal(trashed(files)[books.one].entries[5], undefined, 'what it was is in the trash');

        await page.switchTo(two);
        await page.switchTo(one);
        const { loaded, activated, prompt } = await worldInfo(page, 'The keeper of the ship comes to the wedding.');
        for (const title of BROUGHT) {
            assert.ok(loaded.includes(title), `${title} is loaded`);
            assert.ok(activated.includes(title), `${title} is activated`);
        }
        assert.match(prompt, /Iven and Mara, in spring\./);

        await page.clearToasts();
        view = await compare(page, one, two);
        assert.equal(await row(view, 'The wedding').count(), 0, 'what came over is no difference any more');
        await page.raw.keyboard.press('Escape');
    });

    scenario(`${kind}: into a timeline that is not open`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: lore() });
        await page.open(tale);
        const { one, two, books } = await twoEndings({ page, files }, tale, EDITS);
        const view = await compare(page, one, two);
        await view.getByLabel('Merge into').selectOption({ label: shortName(two) });
        await tick(view, 'The grave');
        await preview(view);
        await apply(page, view);
        await files.bookWhen(books.two, ({ entries }) => entries[7]?.comment === 'The grave');
        assert.equal((await page.current()).chat, one);
        await page.switchTo(two);
        const { activated } = await worldInfo(page, 'There is a grave.');
        assert.deepEqual(activated, ['The grave']);
        await page.save();
        const record = files.chat(tale, two).messages.at(-1).forklore;
        assert.ok(record, 'its journal knows of it');
    });
}

scenario('conflicts are settled in the dialog: mine, theirs, in words of one’s own; and it can be undone', {}, async ({ page, files, story }) => {
    const texts = (which) => (entries) => [0, 1, 2].forEach((uid) => { entries[uid].content = `${which} ${uid}`; });
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, { one: texts('one'), two: texts('two') });
    const before = files.book(books.one);

    const view = await compare(page, one, two);
    await tick(view, 'Mara', 'Iven', 'The lighthouse');
    await preview(view);
    assert.ok(await go(view).isDisabled());
    await settle(view, 'Mara', 'ours');
    await settle(view, 'Iven', 'theirs');
    assert.ok(await go(view).isDisabled(), 'one is left');
    await page.raw.keyboard.press('Enter');
    await settle(view, 'The lighthouse', 'value', 'Both, and neither.');
    await apply(page, view);
    await notice(page, /: 2 changed\./);
    const contents = () => [0, 1, 2].map((uid) => files.book(books.one).value.entries[uid].content);
    assert.deepEqual(contents(), ['one 0', 'two 1', 'Both, and neither.']);
    await pressNotice(page, /2 changed/, 'Undo');
    await files.bookWhen(books.one, ({ entries }) => entries[1].content === 'one 1');
    assert.deepEqual(files.book(books.one).value, before.value);
    assert.equal(files.book(books.one).text, before.text, 'byte for byte');
});

scenario('Undo refuses after later work', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, EDITS);
    const view = await compare(page, one, two);
    await tick(view, 'The keeper');
    await preview(view);
    await apply(page, view);
    await page.editEntry(books.one, 2, 'Written afterwards.');
    await pressNotice(page, /1 added/, 'Undo');
    await notice(page, /exists again or was changed since, and stays as it is/, 'warning');
    const { entries } = files.book(books.one).value;
    assert.deepEqual([entries[2].content, entries[6].comment], ['Written afterwards.', 'The keeper']);
});

scenario('a book that changes between the preview and the deed is shown anew', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, EDITS);
    const view = await compare(page, one, two);
    await tick(view, 'Mara');
    await preview(view);
    const changed = files.book(books.one).value;
    changed.entries[0].content = 'Changed meanwhile.';
    await page.saveBook(books.one, changed);
    await go(view).click();
    await view.getByText('was changed in the meantime').waitFor();
    assert.equal(files.book(books.one).value.entries[0].content, 'Changed meanwhile.');
    await settle(view, 'Mara', 'theirs');
    await apply(page, view);
    assert.match(files.book(books.one).value.entries[0].content, /Owes nobody/);
});

scenario('the view of all timelines leads to it', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, EDITS);
    const map = await openTimelines(page);
    await caughtUp(map);
    await chooseTimeline(map, two);
    await act(map, 'Compare with…');
    await map.getByRole('button', { name: 'Show all' }).click();
    await card(map, one).click();
    const view = await comparison(page);
    await tick(view, 'The keeper');
    await preview(view);
    await apply(page, view);
    assert.equal(files.book(books.one).value.entries[6].comment, 'The keeper', 'the open chat is the one that changes');
    await leaveTimelines(page);
});

// ---- Single fields, single entries ----

scenario('some fields of an entry, or one entry by its own button', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, {
        one: () => {},
        two(entries) {
            Object.assign(entries[0], { content: 'Another content.', key: ['mara', 'captain'], order: 7 });
            entries[2].content = 'Lit again.';
        },
    });
    const view = await compare(page, one, two);
    const mara = await unfold(view, 'Mara');
    await mara.getByLabel('keywords', { exact: true }).check();
    await preview(view);
    assert.match(await row(view, 'Mara').textContent(), /changes: keywords/);
    await view.getByRole('button', { name: 'Back' }).click();
    assert.ok(await row(view, 'Mara').locator('.forklore_tick input').isChecked(), 'what was ticked still is');
    await preview(view);
    await apply(page, view);
    const [first] = Object.values(files.book(books.one).value.entries);
    assert.deepEqual([first.key, first.order, first.content], [['mara', 'captain'], 100, 'Captain of the Gull. Owes Iven her ship.']);

    const again = await compare(page, one, two);
    await (await unfold(again, 'The lighthouse')).getByRole('button', { name: `Merge this entry into “${shortName(one)}”…` }).click();
    await again.getByRole('heading', { name: 'What will change' }).waitFor();
    await apply(page, again);
    assert.equal(files.book(books.one).value.entries[2].content, 'Lit again.');
});

scenario('from the lore of a message, both versions of what changed since are one press away', {}, async ({ page, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    await page.send('The lamp is dark.');
    await page.settle();
    await page.send('The lamp turns.');
    await page.settle();
    await page.editEntry(tale.book, 2, 'Lit again.');
    await page.messageAction(6, '.forklore_lore');
    const shown = await dialog(page, 'Lore at message 6');
    await shown.getByRole('button', { name: 'Show both versions' }).click();
    const view = await comparison(page);
    assert.equal(await view.locator('.forklore_row').count(), 1);
    const both = await unfold(view, 'The lighthouse');
    await both.getByText('Dark for nine years.').waitFor();
    await both.getByText('Lit again.').waitFor();
    await page.raw.keyboard.press('Escape');
    await page.messageAction(1, '.mes_create_bookmark');
    await (await dialog(page, 'The exact lore of this message was not recorded')).getByText(/^Forklore has recorded this chat since message \d+, /).waitFor();
    await page.raw.keyboard.press('Escape');
});

scenario('an entry goes to another timeline from the lore of a message, and comes back as it was', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const child = await page.branchByCommand(5);
    const { book: childBook } = await page.current();
    await page.editEntry(childBook, 2, 'Lit again, in the branch.');
    await page.clearToasts();

    const entryOf = async () => {
        await page.messageAction(5, '.forklore_lore');
        const shown = await dialog(page, 'Lore at message 5');
        const found = shown.locator('.forklore_entries .forklore_folded').filter({ hasText: 'The lighthouse' });
        await found.locator('summary').click();
        await found.getByRole('button', { name: 'Merge “The lighthouse” into another timeline' }).click();
    };
    await entryOf();
    const asked = await dialog(page, 'Merge “The lighthouse” into…');
    await asked.getByLabel('Timeline', { exact: true }).selectOption(tale.chat);
    await asked.locator('.popup-button-ok').click();
    const view = await comparison(page);
    assert.match(await row(view, 'The lighthouse').textContent(), /changes: content/);
    await apply(page, view);
    await files.bookWhen(tale.book, ({ entries }) => entries[2].content === 'Lit again, in the branch.');

    // A later message, and the lore changes again.
    await page.run('/send The story goes on.');
    await page.settle();
    await page.editEntry(childBook, 2, 'Fallen into the sea.');
    await page.clearToasts();
    await page.messageAction(5, '.forklore_lore');
    await dialog(page, 'Lore at message 5');
    await page.dialog().locator('.popup-button-custom', { hasText: 'Compare…' }).click();
    await dialog(page, 'Compare');
    await page.dialog().locator('.popup-button-ok').click();
    const since = await comparison(page);
    await since.getByRole('heading', { name: 'Changes in between' }).waitFor();
    assert.match(await row(since, 'The lighthouse').textContent(), /changed since: content/);
    await (await unfold(since, 'The lighthouse')).getByRole('button', { name: 'Restore as it was…' }).click();
    await since.getByRole('heading', { name: 'What will change' }).waitFor();
    await apply(page, since);
    assert.equal(files.book(childBook).value.entries[2].content, 'Lit again, in the branch.');
    assert.equal((await page.current()).chat, child);
});

scenario('a registry line follows an entry to its new number', {}, async ({ page, files, story }) => {
    const registered = (uid, name) => ({ uid, name });
    const tale = await story.begin({ book: book([
        entry(0, { comment: 'Mara', key: ['mara'] }),
        registryEntry(9, 'character', [registered(0, 'Mara')]),
    ]) });
    await page.open(tale);
    const add = (name) => (entries) => {
        entries[1] = entry(1, { comment: name, key: [name] });
        entries[9] = registryEntry(9, 'character', [registered(0, 'Mara'), registered(1, name)]);
    };
    const { one, two, books } = await twoEndings({ page, files }, tale, { one: add('Iven'), two: add('Tom') });
    const view = await compare(page, one, two);
    await tick(view, 'Tom');
    await preview(view);
    await view.getByText('1 list of ST-Auto-Recap is updated.').waitFor();
    await apply(page, view);
    const { entries } = files.book(books.one).value;
    const tom = Object.values(entries).find(({ comment }) => comment === 'Tom');
    assert.notEqual(tom.uid, 1);
    assert.match(entries[9].content, new RegExp(`- UID=${tom.uid} \\| name: Tom`));
    assert.match(entries[9].content, /- UID=1 \| name: Iven/);
});

// ---- By command ----

scenario('/forklore-compare and /forklore-bring', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, EDITS);
    const found = JSON.parse(await page.run(`/forklore-compare right="${two}" show=false`));
    assert.deepEqual([found.left.chat, found.beginning.how, found.entries.length], [one, 'sealed', 7]);
    const before = files.book(books.one).text;
    assert.equal(await page.run(`/forklore-bring from="${two}"`), '');
    await notice(page, /changed in both timelines\. Nothing was done/);
    assert.equal(files.book(books.one).text, before);
    const done = JSON.parse(await page.run(`/forklore-bring from="${two}" The Keeper, 5`));
    assert.deepEqual([done.into, done.added.sort()], [one, ['The keeper', 'The new ship']]);
    const rest = JSON.parse(await page.run(`/forklore-bring from="${two}" settle=theirs`));
    assert.deepEqual([rest.added, rest.changed.sort(), rest.removed], [['The wedding'], ['Iven', 'Mara'], ['The letter']]);
    assert.match(files.book(books.one).value.entries[1].content, /lives/);
    await page.settle();
});

// ---- Where nothing can be ticked ----

scenario('the direction in which something can be brought is chosen; in the other one the page says why there is nothing', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, { one: EDITS.one, two: () => {} });
    const view = await compare(page, one, two);
    const selectAll = view.getByRole('button', { name: 'Select all' });
    assert.equal(await view.getByLabel('Merge into').inputValue(), 'left', 'only the open chat has changes, so they go into the other one');
    await tick(view, 'The grave');
    assert.match(await go(view).textContent(), new RegExp(`Merge 1 entry into “${shortName(two)}”`));
    await view.getByLabel('Merge into').selectOption('right');
    await view.getByText('Nothing can be selected: ').waitFor();
    assert.equal(await go(view).isVisible(), false);
    assert.equal(await selectAll.isVisible(), false);
    await row(view, 'The grave').getByText(`“${shortName(two)}” does not have it`).waitFor();
    await row(view, 'Iven').getByText(`not changed in “${shortName(two)}”`).waitFor();
    await view.getByLabel('Merge into').selectOption('left');
    await selectAll.click();
    await preview(view);
    await apply(page, view);
    await notice(page, /1 added, 1 changed/);
    assert.equal(files.book(books.two).value.entries[4].comment, 'The grave');
});

scenario('a timeline without a lorebook can be compared, and the page says why nothing can be merged', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two } = await twoEndings({ page, files }, tale, EDITS);
    await page.raw.evaluate(() => { delete SillyTavern.getContext().chatMetadata.world_info; });
    await page.save();
    const view = await compare(page, one, two);
    await view.getByText(/^Nothing can be merged, because “.*” has no lorebook\.$/).waitFor();
    assert.equal(await go(view).count(), 0);
    await page.raw.keyboard.press('Escape');
});

// ---- By keyboard ----

scenario('with the keyboard alone; Escape never does anything but leave', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two, books } = await twoEndings({ page, files }, tale, EDITS);
    const before = files.book(books.one).text;
    const press = (key) => page.raw.keyboard.press(key);
    const tabTo = (selector) => until(`${selector} to be reached`, async () => {
        await press('Tab');
        return page.raw.evaluate((selector) => document.activeElement.matches(selector), selector);
    });
    const toPreview = async () => {
        await page.raw.evaluate(([left, right]) => {
            SillyTavern.getContext().executeSlashCommandsWithOptions(`/forklore-compare left="${left}" right="${right}"`);
        }, [one, two]);
        const view = await comparison(page);
        await tabTo('.forklore_row:nth-child(3) .forklore_tick input');
        await press('Space');
        await tabTo('.forklore_row:nth-child(3) summary');
        await press('Enter');
        await row(view, 'The wedding').getByText('in spring').waitFor();
        await tabTo('.forklore_go');
        await press('Enter');
        await view.getByRole('heading', { name: 'What will change' }).waitFor();
        assert.equal(await page.raw.evaluate(() => document.activeElement.textContent), 'What will change', 'a reader is told of it');
        return view;
    };
    await toPreview();
    await press('Enter');
    await press('Escape');
    await until('it to be closed', async () => (await page.raw.locator('.forklore_compare').count()) === 0);
    await page.settle();
    assert.equal(files.book(books.one).text, before);
    await toPreview();
    await tabTo('.forklore_go');
    await press('Enter');
    await notice(page, /1 added/);
    await until('it to be closed', async () => (await page.raw.locator('.forklore_compare').count()) === 0);
    await page.settle();
});

// ---- Hostile ----

scenario('titles and texts that want to be markup run nothing', {}, async ({ page, files, story }) => {
    const trap = await Trap.in(page.raw);
    try {
        const count = isNight ? 80 : 24;
        const hostile = trap.texts.slice(0, count);
        const tale = await story.begin({ book: lore() });
        await page.open(tale);
        const { one, two } = await twoEndings({ page, files }, tale, {
            one(entries) {
                entries[0].content = hostile.slice(0, count / 2).join('\n');
                hostile.forEach((text, at) => { entries[100 + at] = entry(100 + at, { comment: text, key: [text], content: text }); });
            },
            two(entries) {
                entries[0].content = hostile.slice(count / 2).join('\n');
                entries[1].comment = hostile[0];
                hostile.forEach((text, at) => { entries[300 + at] = entry(300 + at, { comment: `${text} 2`, key: [text], content: text }); });
            },
        });
        const view = await compare(page, one, two);
        await view.getByRole('button', { name: 'Select all' }).click();
        for (let at = 0; at < count / 2; at += 1) {
            await view.locator('.forklore_row summary').nth(at).click();
        }
        await preview(view);
        for (let at = 0; at < count / 4; at += 1) {
            await view.locator('.forklore_row summary').nth(at).click();
        }
        await settle(view, 'Mara', 'theirs');
        await apply(page, view);
        await notice(page, new RegExp(`${count} added`));
        await trap.assertEmpty();
    } finally {
        trap.close();
    }
});

// ---- Looks ----

scenario('a thousand entries that differ are shown at once', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const { one, two } = await twoEndings({ page, files }, tale, {
        one: () => {},
        two(entries) {
            for (let uid = 10; uid < 1010; uid += 1) {
                entries[uid] = entry(uid, { comment: `Place ${uid}`, content: `What is told of place ${uid}. `.repeat(20) });
            }
        },
    });
    const took = await page.raw.evaluate(async ([left, right]) => {
        const began = performance.now();
        SillyTavern.getContext().executeSlashCommandsWithOptions(`/forklore-compare left="${left}" right="${right}"`);
        while (!document.querySelector('.forklore_compare .forklore_row')) {
            await new Promise(requestAnimationFrame);
        }
        return performance.now() - began;
    }, [one, two]);
    console.log(`1,000 entries that differ are shown after ${Math.round(took)} ms`);
    assert.ok(!isNight || took < 5000, `${took} ms`);
    const view = await comparison(page);
    assert.equal(await view.locator('.forklore_row').count(), 100);
    await view.getByRole('searchbox').fill('Place 999');
    await until('what was searched for', async () => (await view.locator('.forklore_row').count()) === 1);
    await view.getByRole('searchbox').fill('');
    await view.getByRole('button', { name: 'Select all' }).click();
    assert.match(await go(view).textContent(), /Merge 1000 entries/);
    await page.raw.keyboard.press('Escape');
});

for (const [where, { viewport, theme, nightly }] of Object.entries({
    dark: { theme: { name: 'Dark Lite' } },
    light: { theme: PAPER, nightly: OTHER_THEME_IS_DAILY },
    phone: { viewport: 'phone', theme: { name: 'Dark Lite' }, nightly: OTHER_THEME_IS_DAILY },
    'phone light': { viewport: 'phone', theme: PAPER },
})) {
    scenario(`it fits, can be read and touched: ${where}`, { viewport, nightly }, async ({ page, files, story }) => {
        await page.theme(theme.name);
        if (viewport) {
            await page.raw.setViewportSize({ width: 360, height: 740 });
        }
        const tale = await story.begin({ book: lore() });
        await page.open(tale);
        const { one, two } = await twoEndings({ page, files }, tale, EDITS);
        const judge = async (what, root) => {
            if (LOOK_AT) {
                await page.raw.screenshot({ path: `${LOOK_AT}/${what} ${where}.png` });
            }
            assert.deepEqual(await overflowing(root), [], `${what} fits`);
            const { checked, poor } = await poorlyVisible(root);
            assert.ok(checked > 5);
            assert.deepEqual(poor, [], `${what} can be read`);
            if (viewport) {
                assert.deepEqual(await tooSmall(root), [], `${what} can be touched`);
            }
        };
        await page.raw.evaluate(() => document.getElementById('forklore_wand_compare').click());
        await dialog(page, 'Compare');
        await judge('choosing', page.dialog().locator('.forklore_dialog'));
        await page.dialog().locator('.popup-button-cancel').click();
        await page.raw.evaluate(([left, right]) => {
            SillyTavern.getContext().executeSlashCommandsWithOptions(`/forklore-compare left="${left}" right="${right}"`);
        }, [one, two]);
        const view = await comparison(page);
        await judge('comparison', view);
        await unfold(view, 'Iven');
        await unfold(view, 'The wedding');
        await tick(view, 'The wedding', 'The new ship', 'Iven');
        await judge('unfolded', view);
        await preview(view);
        await unfold(view, 'The wedding');
        await judge('preview', view);
        await settle(view, 'Iven', 'value');
        await judge('conflict', view);
        await page.raw.keyboard.press('Escape');
        await until('it to be closed', async () => (await page.raw.locator('.forklore_compare').count()) === 0);
    });
}
