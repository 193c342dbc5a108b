// How Forklore looks and how it is used: in Chinese, on a phone, in a light theme, with the keyboard, in two tabs; and
// that nothing has to wait for it.

import assert from 'node:assert/strict';

import { choose, decline, dialog, loseInTrash, notice, panelSays, pressNotice, withSettings } from '../harness/forklore.mjs';
import { assertSameBook } from '../harness/forks.mjs';
import { overflowing, poorlyVisible, readable, tooSmall } from '../harness/looks.mjs';
import { book, entry, loreWithGaps } from '../harness/lore.mjs';
import { TavernPage } from '../harness/page.mjs';
import { OTHER_THEME_IS_DAILY, stage, TEXTS_ARE_DAILY } from '../harness/scenario.mjs';
import { conversation } from '../harness/story.mjs';
import { PAPER } from '../harness/themes.mjs';
import { chooseTimeline, openTimelines } from '../harness/timelines.mjs';
import { until } from '../harness/until.mjs';
import { Watch } from '../harness/watch.mjs';

const scenario = withSettings(stage());

const LONG = 'The_very_long_chronicle_of_the_harbour_and_of_all_who_ever_sailed_from_it';

// ---- Chinese ----

scenario('in Chinese there is no English left', { freshPage: true, locale: 'zh-CN', nightly: TEXTS_ARE_DAILY }, async ({ page, files, story }) => {
    const tale = await written(page, files, story, loreOf(2));
    const panel = await openPanel(page);
    await panel.getByText('更多设置').click();
    assertChinese(await readable(panel), 'panel', tale);
    assert.match(await panel.locator('.forklore_line').textContent(), /就绪|世界书/);

    loseInTrash(files, { why: { code: 'conflict', book: '书' }, books: [{ name: '书', text: '{}' }] });
    for (const title of ['从此聊天中移除', '从所有聊天中移除', '检查所有聊天', '清理', '回收站']) {
        await panel.getByRole('button', { name: new RegExp(title) }).click();
        await page.dialog().locator('.forklore_heading').waitFor();
        await page.settle();
        assertChinese(await readable(page.dialog().locator('.forklore_dialog, .popup-controls').first()), title, tale);
        assertChinese(await readable(page.dialog().locator('.popup-controls')), `${title}, buttons`, tale);
        await page.raw.keyboard.press('Escape');
        await until('the dialog to be closed', async () => (await page.dialog().count()) === 0);
    }
    await page.raw.locator('#extensions-settings-button .drawer-toggle').click();

    await page.messageAction(2, '.forklore_lore');
    await page.dialog().locator('.forklore_heading').waitFor();
    assertChinese(await readable(page.dialog().locator('.forklore_dialog')), 'lore', tale);
    assertChinese(await readable(page.dialog().locator('.popup-controls')), 'lore, buttons', tale);
    await page.press('.popup-button-ok');

    const child = await page.checkpointByButton(3);
    const said = await notice(page, /世界书/, 'success');
    assert.match(said, /\p{Script=Han}/u);
    const own = files.chat(tale, child).metadata.world_info;
    assertChinese([said.replaceAll(own, '').replaceAll(child, '').replaceAll(`… ${child.slice(tale.chat.length + 3)}`, '')], 'the notice of a checkpoint', tale);

    const missing = await story.begin({ metadata: { world_info: '丢失的书' } });
    await page.open(missing);
    const told = await notice(page, /丢失的书/, 'warning');
    assertChinese([told], 'the notice of a missing book', missing);
});

scenario('in Chinese, a walk through the views and questions', { freshPage: true, locale: 'zh-CN', nightly: TEXTS_ARE_DAILY }, async ({ page, files, story }) => {
    const tale = await written(page, files, story, loreOf(3));
    // Texts by the user, and SillyTavern's names of branches, stay as they are.
    const theirs = ['Changed since.', /(Branch|Checkpoint) #\d+( - Lore)?/g, ...files.chat(tale).messages.map(({ mes }) => mes)];
    const walk = async (root, where) => {
        await page.settle();
        const texts = (await readable(root)).map((text) => theirs.reduce((rest, known) => rest.replaceAll(known, ''), text));
        assertChinese(texts, where, tale);
    };
    const question = () => page.dialog().locator('.forklore_dialog, .popup-controls').first();
    const close = async () => {
        await page.raw.keyboard.press('Escape');
        await until('the dialog to be closed', async () => (await page.dialog().count()) === 0);
    };
    const branch = await page.branchByCommand(3);
    const { book } = await page.current();
    const lore = files.book(book).value;
    Object.values(lore.entries)[0].content = '改过的。';
    await page.saveBook(book, lore);
    await page.settle();
    await page.clearToasts();

    const view = await openTimelines(page);
    await until('everything to be read', async () => (await view.locator('[data-state="unread"]').count()) === 0);
    await walk(view, 'timelines');
    await chooseTimeline(view, branch);
    await walk(view, 'timelines, a chosen one');
    await view.getByRole('searchbox').fill('改过的');
    await view.locator('.forklore_hit').first().waitFor();
    await walk(view, 'what a search has found');
    await view.getByRole('searchbox').fill('');
    await close();

    await page.raw.locator('#extensionsMenuButton').click();
    await page.raw.locator('#forklore_wand_compare').click();
    await page.dialog().locator('select').first().waitFor();
    await walk(question(), 'what to compare');
    await page.dialog().locator('.forklore_picked').first().click();
    await page.dialog().locator('.forklore_message').first().waitFor();
    await walk(question(), 'the list of messages');
    await page.dialog().locator('select').nth(0).selectOption(tale.chat);
    await page.dialog().locator('select').nth(1).selectOption(branch);
    await page.dialog().locator('.popup-button-ok').click();
    const compared = page.raw.locator('.forklore_compare');
    await compared.locator('.forklore_footer').waitFor();
    await walk(compared, 'comparison');
    await compared.locator('.forklore_row').first().locator('summary, .forklore_unfold, button').first().click();
    await walk(compared, 'comparison, an entry');
    await close();

    await page.messageAction(2, '.forklore_lore');
    await page.dialog().locator('.forklore_heading').waitFor();
    await walk(question(), 'lore');
    await close();

    const shared = await story.begin({ metadata: { world_info: tale.book } });
    await page.open(shared);
    await page.clearToasts();
    const panel = await openPanel(page);
    await walk(panel, 'the panel of a chat that shares');
    await page.raw.locator('#extensions-settings-button .drawer-toggle').click();

    const old = await story.begin({ book: loreOf(2) });
    await page.open(old);
    const asked = page.raw.evaluate(async () => (await import('/scripts/bookmarks.js')).createBranch(1));
    await page.dialog().locator('.forklore_heading').waitFor();
    await walk(question(), 'a message that was not recorded');
    await close();
    await asked;

    const missing = await story.begin({ metadata: { world_info: '丢失的书' } });
    await page.open(missing);
    await pressNotice(page, /丢失的书/, '修复…');
    await page.dialog().locator('.forklore_heading').waitFor();
    await walk(question(), 'repair');
    await close();
});

// ---- A phone ----

scenario('on a phone nothing is cut off, and everything can be tapped', { viewport: 'phone' }, async ({ page, files, story }) => {
    await makeToastsTouchable(page);
    const tale = await written(page, files, story, loreOf(12));
    loseInTrash(files, { chat: { group: null, avatar: 'a.png', name: LONG, text: '' }, why: { code: 'timeline' }, books: [{ name: `${LONG} - Lore`, text: '{}' }] });
    loseInTrash(files, { why: { code: 'rename', from: `${LONG} - Branch #1`, to: LONG }, books: [], renamed: { group: null, avatar: 'a.png', from: `${LONG} - Branch #1`, to: LONG } });
    const panel = await openPanel(page, (control) => control.tap());
    await assertFits(panel, 'panel');
    await panel.getByText('More settings').tap();
    await panel.getByText('Keep deleted timelines for (days)').waitFor();
    const sign = panel.locator('.forklore_sign').first();
    await sign.tap();
    await panel.locator('.forklore_hint:not(.forklore_unseen)').waitFor();
    await assertFits(panel, 'panel, with hints');
    await sign.tap();

    const journal = panel.getByText('Record lore in the messages');
    await journal.tap();
    assert.equal(await setting(page, 'journal'), false, 'a tap on the words is enough');
    await journal.tap();
    assert.equal(await setting(page, 'journal'), true);

    for (const [button, title] of [
        ['Remove the journal from this chat…', 'Remove the journal from this chat?'],
        ['Remove the journal from all chats…', 'Remove the journal from all chats?'],
        ['Check all chats', 'Results for all chats'],
        ['Clean up…', 'Clean up'],
        ['Trash…', 'Trash'],
    ]) {
        await panel.getByRole('button', { name: button, exact: true }).tap();
        await dialog(page, title);
        await page.settle();
        await assertFits(page.dialog(), title);
        await tapAway(page, page.dialog().locator('.popup-button-cancel, .popup-button-ok').filter({ visible: true }).last());
    }

    await panel.getByRole('button', { name: 'Create checkpoint' }).tap();
    await notice(page, /Checkpoint created/, 'success');
    await assertFits(page.raw.locator('.toast').filter({ hasText: 'Checkpoint created' }), 'the notice of a checkpoint');
    await page.settle();
    const child = files.chats(tale).find((chat) => chat !== tale.chat);
    assert.notEqual(files.chat(tale, child).metadata.world_info, tale.book);
    await page.clearToasts();
    await page.raw.locator('#extensions-settings-button .drawer-toggle').tap();

    await tapMessageAction(page, 2, '.forklore_lore');
    const lore = await dialog(page, 'Lore at message 2');
    await lore.locator('.forklore_entries summary').first().tap();
    await lore.locator('.forklore_content').waitFor();
    await assertFits(lore, 'lore');
    await tapAway(page, lore.getByText('Restore this lore'));
    await assertFits(await dialog(page, 'Restore the lore of message 2'), 'restore');
    await tapAway(page, page.dialog().locator('.popup-button-cancel'));
});

scenario('on a phone, questions about lorebooks fit and can be answered', { viewport: 'phone' }, async ({ page, files, story }) => {
    await makeToastsTouchable(page);
    const lost = await story.begin({ metadata: { world_info: `Lost ${LONG}` } });
    story.writeBook(`Other ${LONG}`, loreWithGaps());
    await page.open(lost);
    await tapNotice(page, /is missing/, 'Repair…');
    const missing = await dialog(page, 'The lorebook of this chat is missing');
    await missing.getByText('Copy another lorebook').tap();
    await missing.getByRole('searchbox').waitFor();
    await assertFits(missing, 'missing');
    await missing.getByRole('searchbox').fill('other long chronicle');
    await tapAway(page, missing.locator('.popup-button-ok'));
    await notice(page, /This chat now has the lorebook/, 'success');
    await page.settle();
    assertSameBook(files.book(files.chat(lost).metadata.world_info).value, loreWithGaps());
    await page.clearToasts();

    const shared = await withSharer(story, LONG);
    await page.open(shared.tale, shared.child);
    await assertNoticeFits(page, /is shared with/);
    await tapNotice(page, /is shared with/, 'Split…');
    const split = await dialog(page, 'This lorebook is shared');
    await split.getByText('Split the whole family').tap();
    await split.locator('.forklore_item').first().waitFor();
    await assertFits(split, 'shared');
    await tapAway(page, split.locator('.popup-button-cancel'));
    await page.clearToasts();

    const unknown = await story.begin({ book: loreWithGaps() });
    await page.open(unknown);
    await tapMessageAction(page, 1, '.mes_create_bookmark');
    const ask = await dialog(page, 'The exact lore of this message was not recorded');
    await assertFits(ask, 'a fork that is not exact');
    await tapAway(page, ask.getByText('Use the lorebook as it is today'));
    await tapAway(page, page.dialog().locator('.popup-button-ok'));
    await notice(page, /Checkpoint created/);
    await assertNoticeFits(page, /Checkpoint created/);
});

// ---- A light theme ----

scenario('in a light theme everything of ours can be read', {}, async ({ page, files, story }) => {
    await page.theme(PAPER.name);
    try {
        await assertReadableEverywhere({ page, files, story });
    } finally {
        await page.theme('Dark Lite');
        await page.settle();
    }
});

scenario('in the dark theme everything of ours can be read', { freshPage: true, nightly: OTHER_THEME_IS_DAILY }, async (given) => {
    await given.page.theme('Dark Lite');
    await assertReadableEverywhere(given);
});

async function assertReadableEverywhere({ page, files, story }) {
    const tale = await written(page, files, story, loreOf(9));
    const panel = await openPanel(page);
    await panel.getByText('More settings').click();
    await panel.locator('.forklore_sign').first().click();
    await assertReadable(panel, 'panel');
    await panel.locator('.forklore_sign').first().click();
    await panel.getByRole('button', { name: 'Remove the journal from this chat…' }).click();
    await assertReadable(await dialog(page, 'Remove the journal'), 'strip');
    await decline(page);
    await page.raw.locator('#extensions-settings-button .drawer-toggle').click();

    await page.messageAction(2, '.forklore_lore');
    const lore = await dialog(page, 'Lore at message 2');
    await lore.locator('.forklore_entries summary').first().click();
    await assertReadable(lore, 'lore');
    await page.press('.popup-button-ok');

    await page.checkpointByButton(4);
    await notice(page, /Checkpoint created/);
    await assertReadable(page.raw.locator('.toast:has(.forklore_toast)').first(), 'the notice of a checkpoint');
    await page.clearToasts();

    const { tale: sharing, child } = await withSharer(story, 'Shared');
    await page.open(sharing, child);
    await notice(page, /is shared with/);
    await assertReadable(page.raw.locator('.toast:has(.forklore_toast)').first(), 'the notice of a shared book');
    await pressNotice(page, /is shared with/, 'Split…');
    const split = await dialog(page, 'This lorebook is shared');
    await split.locator('.forklore_item').first().waitFor();
    await assertReadable(split, 'shared');
    await decline(page);

    const lost = await story.begin({ metadata: { world_info: `Lost by ${tale.chat}` } });
    await page.open(lost);
    await pressNotice(page, /is missing/, 'Repair…');
    const missing = await dialog(page, 'The lorebook of this chat is missing');
    await choose(page, 'copy');
    await assertReadable(missing, 'missing');
    await decline(page);

    const drawer = page.raw.locator('#extensions-settings-button .drawer-toggle');
    await drawer.click();
    await panel.getByRole('button', { name: 'Check all chats' }).click();
    await dialog(page, 'Results for all chats');
    await page.dialog().locator('.forklore_item').first().waitFor();
    await assertReadable(page.dialog(), 'verify');
    await page.press('.popup-button-ok');
    await drawer.click();

    await page.raw.evaluate(async () => {
        const screen = await import('/scripts/extensions/third-party/forklore/extension/sillytavern/screen.js');
        ['success', 'info', 'warning', 'error'].forEach((kind) => screen.toast(kind, 'A text', { title: 'Forklore', buttons: [{ text: 'Press', run: () => {} }] }));
    });
    for (const kind of ['success', 'info', 'warning', 'error']) {
        await assertReadable(page.raw.locator(`.toast-${kind}:has(.forklore_toast)`).last(), kind);
    }
    await page.clearToasts();
    page.watch.clear();
}

// ---- The keyboard ----

scenario('the keyboard is enough, and Escape never agrees', { freshPage: true }, async ({ page, files, story }) => {
    const tale = await written(page, files, story, loreOf(3));
    const { keyboard } = page.raw;
    await page.raw.locator('#extensions-settings-button .drawer-toggle [tabindex], #extensions-settings-button .drawer-toggle').first().focus();
    await openPanel(page, async (control) => {
        await control.evaluate((node) => (node.matches('[tabindex]') ? node : node.querySelector('[tabindex]')).focus());
        await keyboard.press('Enter');
    });

    // Each control in turn, with a visible focus.
    const panel = page.raw.locator('#forklore_settings .forklore_panel');
    const controls = await panel.locator('button:enabled, input:enabled, select:enabled').filter({ visible: true }).count();
    const reached = new Set();
    await panel.locator('button:enabled').first().focus();
    for (let step = 0; step < controls + 5; step += 1) {
        const at = await page.raw.evaluate(() => {
            const focused = document.activeElement;
            const isOurs = Boolean(focused.closest('#forklore_settings .forklore_panel'));
            const { outlineStyle, outlineWidth } = getComputedStyle(focused);
            const all = [...document.querySelectorAll('#forklore_settings .forklore_panel *')];
            return { isOurs, at: all.indexOf(focused), name: focused.textContent, isSeen: outlineStyle !== 'none' && outlineWidth !== '0px' };
        });
        if (at.isOurs) {
            assert.ok(at.isSeen, `it cannot be seen that “${at.name}” has the focus`);
            reached.add(at.at);
        }
        await keyboard.press('Tab');
    }
    assert.ok(reached.size >= controls, `${reached.size} of ${controls} controls were reached`);

    await panel.getByRole('button', { name: 'Create checkpoint' }).focus();
    await keyboard.press('Enter');
    await notice(page, /Checkpoint created/);
    await page.settle();
    assert.equal(files.chats(tale).length, 2, 'Enter presses once');
    await panel.getByRole('button', { name: 'Create checkpoint' }).focus();
    await keyboard.press('Space');
    await until('another checkpoint', () => files.chats(tale).length > 2);
    await page.settle();
    assert.equal(files.chats(tale).length, 3, 'Space presses once');

    const isRecorded = () => files.chat(tale).messages.slice(2).every(({ forklore }) => forklore);
    for (const key of ['Escape', 'Enter']) {
        await panel.getByRole('button', { name: 'Remove the journal from this chat…' }).focus();
        await keyboard.press('Enter');
        await dialog(page, 'Remove the journal');
        assert.equal(await page.raw.locator('dialog.forklore_popup[open]').count(), 1);
        await keyboard.press(key);
        // While it fades out, nothing behind it can be pressed.
        await until('the dialog to be gone', async () => (await page.raw.locator('dialog.popup[open]').count()) === 0);
        await page.settle();
        assert.ok(isRecorded(), `${key} does not agree to take the journal out`);
    }
    const hint = panel.locator('label', { hasText: 'Clean up after deleted chats' });
    await panel.getByRole('checkbox', { name: 'Clean up after deleted chats' }).focus();
    await keyboard.press('Space');
    assert.equal(await setting(page, 'cleanUp'), false);
    await keyboard.press('Space');
    assert.equal(await setting(page, 'cleanUp'), true);
    assert.ok(await hint.getAttribute('title'));
    await page.raw.locator('#extensions-settings-button .drawer-toggle').click();

    const bookText = files.book(tale.book).text;
    await page.messageAction(2, '.forklore_lore');
    const lore = await dialog(page, 'Lore at message 2');
    await lore.locator('.forklore_entries summary').first().focus();
    await keyboard.press('Enter');
    await lore.locator('.forklore_content').waitFor();
    await lore.locator('.menu_button', { hasText: 'Restore this lore' }).focus();
    await keyboard.press('Enter');
    await dialog(page, 'Restore the lore of message 2');
    await keyboard.press('Escape');
    await until('the dialogs to be closed', async () => (await page.dialog().count()) === 0);
    assert.equal(files.book(tale.book).text, bookText, 'Escape does not restore');

    const { tale: sharing, child } = await withSharer(story, 'Shared by keys');
    await page.open(sharing, child);
    const before = files.chat(sharing, child).metadata;
    await pressNotice(page, /is shared with/, 'Split…');
    const split = await dialog(page, 'This lorebook is shared');
    await split.locator('.forklore_item').first().waitFor();
    await split.getByRole('radio').first().focus();
    await keyboard.press('ArrowDown');
    assert.ok(await split.getByRole('radio').nth(1).isChecked());
    await keyboard.press('Escape');
    await until('the dialog to be closed', async () => (await page.dialog().count()) === 0);
    await page.settle();
    assert.deepEqual(files.chat(sharing, child).metadata, before, 'Escape does not split');
});

// ---- Two tabs ----

scenario('in two tabs at once each fork has its own book, and both panels are right', {}, async ({ page, files, story, st }) => {
    const tale = await story.begin({ book: loreOf(3) });
    await page.open(tale);
    const other = await openTab(page, st);
    await other.open(tale);
    await panelSays(other, /Ready\. The lorebook “.*” \(3 entries\) belongs to this chat alone/);

    const first = await page.checkpointByButton(5);

    await panelSays(page, /Ready\..*\(3 entries\)/);
    await panelSays(other, /Ready\..*\(3 entries\)/);
    const later = loreOf(4);
    await page.saveBook(tale.book, later);
    const second = await other.checkpointByCommand(5, { name: `Of the other tab, ${tale.chat}` });
    const books = [first, second].map((child) => files.chat(tale, child).metadata.world_info);
    assert.equal(new Set([tale.book, ...books]).size, 3, 'three chats, three books');
    assertSameBook(files.book(books[0]).value, loreOf(3));
    assertSameBook(files.book(books[1]).value, later);

    await other.switchTo(first);
    await panelSays(other, /Ready\..*\(3 entries\) belongs to this chat alone/);
    await panelSays(page, /Ready\..*\(4 entries\) belongs to this chat alone/);
    assert.deepEqual(other.watch.errors, []);
    assert.deepEqual(other.watch.toastsOf('error'), []);
    await other.raw.close();
});

// ---- Startup time ----

scenario('it is ready soon', { freshPage: true, nightly: 'it measures how long something takes' }, async ({ page }) => {
    const took = await page.raw.evaluate(() => {
        const [start] = performance.getEntriesByName('forklore:start');
        const [ready] = performance.getEntriesByName('forklore:ready');
        return ready.startTime - start.startTime;
    });
    console.log(`Forklore was ready in ${Math.round(took)} ms`);
    assert.ok(took < 1500, `it took ${took} ms`);
});

scenario('SillyTavern does not wait for it', {}, async ({ page, st }) => {
    const raw = await page.raw.context().newPage();
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await raw.route('**/forklore_bg.wasm', async (route) => {
        await held;
        await route.continue();
    });
    await raw.goto(st.url);

    await raw.waitForFunction(() => !document.getElementById('preloader') && globalThis.SillyTavern?.getContext);

    const marks = () => raw.evaluate(() => ['forklore:start', 'forklore:ready'].map((name) => performance.getEntriesByName(name).length));
    assert.deepEqual(await marks(), [1, 0]);
    release();
    await until('Forklore to be ready', async () => (await marks())[1] === 1);
    await raw.locator('#forklore_settings').waitFor({ state: 'attached' });
    await raw.close();
});

// ---- Helpers ----

function loreOf(count) {
    return book(Array.from({ length: count }, (_, uid) => entry(uid, { comment: `Person ${uid} of the harbour`, content: `What is known of person ${uid}. `.repeat(5) })));
}

/** A chat written in the page, whose book changed on the way. */
async function written(page, files, story, lore) {
    const tale = await story.begin({ book: lore, messages: 2 });
    await page.open(tale);
    await page.send('we wait at the quay');
    await page.send('nobody comes');
    const later = structuredClone(lore);
    later.entries[0].content = 'Changed since.';
    delete later.entries[1];
    later.entries[99] = entry(99, { comment: 'New since' });
    await page.saveBook(tale.book, later);
    await page.send('she lands');
    const isRecorded = ({ forklore }) => forklore !== undefined;
    await files.chatWhen(tale, tale.chat, ({ messages }) => messages.length === 5 && messages.slice(2).every(isRecorded));
    return tale;
}

/** An older fork that still uses its parent's book. */
async function withSharer(story, name) {
    const tale = await story.begin({ book: loreOf(3) });
    const child = `${name} of ${tale.chat}`;
    story.writeChat(tale, child, { messages: conversation(4, { name: tale.speaker }), metadata: { main_chat: tale.chat, world_info: tale.book } });
    return { tale, child };
}

/** Opens Forklore's drawer, if it is not open. @param {(control: import('playwright-core').Locator) => Promise<void>} press */
async function openPanel(page, press = (control) => control.click()) {
    const panel = page.raw.locator('#forklore_settings .forklore_panel');
    if (!(await page.raw.locator('#forklore_settings').isVisible())) {
        await press(page.raw.locator('#extensions-settings-button .drawer-toggle'));
        await page.raw.locator('#forklore_settings').waitFor();
    }
    if (!(await panel.isVisible())) {
        await press(page.raw.locator('#forklore_settings .inline-drawer-toggle').first());
        await panel.waitFor();
    }
    await until('the drawer to be open', () => panel.evaluate((node) => !node.closest('.inline-drawer-content').style.height));
    return panel;
}

function setting(page, name) {
    return page.raw.evaluate((name) => SillyTavern.getContext().extensionSettings.forklore[name], name);
}

async function assertFits(root, where) {
    assert.deepEqual(await overflowing(root), [], `what does not fit: ${where}`);
    assert.deepEqual(await tooSmall(root), [], `what is too small to be touched: ${where}`);
}

async function assertNoticeFits(page, text) {
    await notice(page, text);
    await assertFits(page.raw.locator('.toast').filter({ hasText: text }), String(text));
}

async function assertReadable(root, where) {
    await root.waitFor();
    await until(`${where} to stand still`, () => root.evaluate((node) => node.getAnimations({ subtree: true }).every(({ playState }) => playState !== 'running') && Number(getComputedStyle(node).opacity) === 1));
    const { checked, poor } = await poorlyVisible(root);
    assert.ok(checked > 0, where);
    assert.deepEqual(poor, [], `what can hardly be read: ${where}`);
}

/** Names of Forklore's and SillyTavern's, and template values in names, are the same in every language. */
function assertChinese(texts, where, tale) {
    const known = [/Forklore|SillyTavern|ST-Auto-Recap/g, /\{\w+\}|Scene /g, /\b[KM]B\b|\bBOM\b/g, ...[tale.chat, tale.book, tale.name, tale.speaker].filter(Boolean)];
    const names = /Person \d+ of the harbour|What is known of person \d+\.|New since|key\d+|Story \d+|Ada \d+|Lore \d+|content of \d+|User|we wait at the quay|nobody comes|she lands|reply \d+|question \d+/g;
    const left = texts.map((text) => known.reduce((rest, name) => rest.replaceAll(name, ''), text.replaceAll(names, '')))
        .filter((text) => /[A-Za-z]{2,}/.test(text));
    assert.deepEqual(left, [], `what is not in Chinese: ${where}`);
}

/** Elsewhere toasts let clicks through; here they are what is clicked. */
function makeToastsTouchable(page) {
    return page.raw.addStyleTag({ content: '#toast-container .toast, #toast-container .toast * { pointer-events: auto !important }' });
}

async function tapNotice(page, text, label) {
    await notice(page, text);
    await page.raw.locator('#toast-container .toast').filter({ hasText: text }).getByRole('button', { name: label, exact: true }).tap();
}

async function tapMessageAction(page, message, selector) {
    const shown = page.raw.locator(`.mes[mesid="${message}"]`);
    if (!(await shown.locator(selector).isVisible())) {
        await shown.locator('.extraMesButtonsHint').tap();
    }
    await shown.locator(selector).tap();
}

/** Taps something in the topmost dialog, and waits until that dialog is closed. */
async function tapAway(page, control) {
    const open = await page.dialog().elementHandle();
    await control.tap();
    await page.raw.waitForFunction((dialog) => !dialog.isConnected || !dialog.open, open);
}

async function openTab(page, st) {
    const raw = await page.raw.context().newPage();
    const tab = new TavernPage(raw, await Watch.on(raw), st);
    await raw.goto(st.url);
    await tab.ready();
    return tab;
}
