// Nothing untrue on the screen: the panel, the notices and the editor agree with the files.

import assert from 'node:assert/strict';

import { agree, dialog, inPanel, lookingAt, notice, panelSays, pressNotice, said, withSettings } from '../harness/forklore.mjs';
import { assertSameBook } from '../harness/forks.mjs';
import { book, entry, loreWithGaps } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';
import { conversation } from '../harness/story.mjs';
import { until } from '../harness/until.mjs';

const scenario = withSettings(stage());

const lore = () => book([entry(0, { content: 'of the parent' }), entry(1)]);

// ---- Whose lorebook it is ----

scenario('a lorebook that an imported copy of the chat uses too is not called this chat’s alone', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await lookingAt(page, () => page.open(tale));
    await panelSays(page, /“Lore \d+” \(2 entries\) belongs to this chat alone/);
    await page.save();

    // What SillyTavern's import does: the same lines, the same slug, another name.
    const { metadata, messages } = files.chat(tale);
    const imported = `${tale.chat} imported`;
    story.writeChat(tale, imported, { messages, metadata });
    const before = { book: files.book(tale.book).text, other: files.chat(tale).text };
    await lookingAt(page, () => page.switchTo(imported));
    await panelSays(page, /“Lore \d+” \(2 entries\) is also used by 1 other chat\./);

    await inPanel(page, 'Split…').dispatchEvent('click');
    const shown = await dialog(page, 'This lorebook is shared');
    assert.match(await shown.textContent(), new RegExp(`also used by:\\s*${tale.chat}`));
    assert.equal(await shown.locator('input[value="family"]').count(), 0, 'there is no family to split');
    await shown.locator('.forklore_preview', { hasText: `${imported} - Lore` }).waitFor();
    await agree(page);
    await notice(page, /1 chat has its own lorebook now/, 'success');

    const split = await files.chatWhen(tale, imported, (chat) => chat.metadata.world_info !== tale.book);
    assertSameBook(files.book(split.metadata.world_info).value, lore());
    assert.deepEqual({ book: files.book(tale.book).text, other: files.chat(tale).text }, before);
    await panelSays(page, /belongs to this chat alone.*all is well/);
});

scenario('a lorebook that a chat of another character uses too is not called this chat’s alone', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    const other = await story.begin({ book: null });
    story.writeChat(other, other.chat, { messages: conversation(3, { name: other.speaker }), metadata: { world_info: tale.book } });

    await lookingAt(page, () => page.open(tale));
    await panelSays(page, /is also used by 1 other chat\./);

    await page.run('/forklore-split');
    const { metadata } = await files.chatWhen(tale, tale.chat, (chat) => chat.metadata.world_info !== tale.book);
    assertSameBook(files.book(metadata.world_info).value, lore());
    assert.equal(files.chat(other).metadata.world_info, tale.book);
    await panelSays(page, /belongs to this chat alone/);
});

scenario('a lorebook that is selected for all chats is not called this chat’s alone', {}, async ({ page, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    await page.run(`/world state=on silent=true ${tale.book}`);
    await lookingAt(page, () => page.switchTo(tale.chat));
    await panelSays(page, /“Lore \d+” \(2 entries\).*It is also selected for all chats\./);
    await page.run(`/world state=off silent=true ${tale.book}`);
});

// ---- A lorebook that is deleted ----

scenario('the lorebook of the open chat is deleted in the editor: said while the chat is open, and brought back', {}, async ({ page, files, story }) => {
    const tale = await withJournal({ page, story });
    const truth = files.book(tale.book).value;
    await page.showInEditor(tale.book);
    page.watch.clear();
    await page.raw.locator('#world_popup_delete').click();
    await page.confirm();
    await until('the lorebook to be gone', () => !files.books().includes(tale.book));
    await page.raw.locator('#WIDrawerIcon').click();

    await notice(page, /The lorebook “.*” of this chat was deleted\./, 'warning');
    await panelSays(page, /is missing\..*Checked again: 1 problem\./);
    assert.equal(await inPanel(page, 'Details').count(), 1);
    await pressNotice(page, /The lorebook “.*” of this chat was deleted\./, 'Restore it');
    await notice(page, /“.*” was restored: 2 entries, as of message/, 'success');
    assertSameBook((await files.bookWhen(tale.book)).value, truth);
    await panelSays(page, /belongs to this chat alone.*all is well/);
    assert.equal(await inPanel(page, 'Details').count(), 0, 'nothing is left to tell');
    assert.equal(await page.raw.locator('#toast-container .toast', { hasText: 'was deleted' }).count(), 0);
});

scenario('a lorebook that is renamed is not called deleted', {}, async ({ page, files, story }) => {
    const tale = await withJournal({ page, story });
    await page.showInEditor(tale.book);
    page.watch.clear();
    await page.raw.locator('#world_popup_name_button').click();
    await page.answer(`${tale.book} renamed`);
    await files.chatWhen(tale, tale.chat, ({ metadata }) => metadata.world_info === `${tale.book} renamed`);
    await page.settle();
    await page.raw.locator('#WIDrawerIcon').click();
    assert.deepEqual(said(page), []);
});

// ---- Restored, undone: checked again ----

scenario('after a restore, and after its undo, the panel and its details agree', {}, async ({ page, files, story }) => {
    const tale = await withJournal({ page, story });
    await page.saveBook(tale.book, { ...lore(), entries: { ...lore().entries, 2: entry(2) } });
    await page.send('and then');
    await page.save();

    await page.messageAction(6, '.forklore_lore');
    await dialog(page, 'Lore at message 6');
    await page.dialog().getByText('Restore this lore').click();
    await dialog(page, 'Restore the lore of message 6, ');
    await agree(page);
    await notice(page, /was restored to message 6/, 'success');
    await panelSays(page, /\(2 entries\) belongs to this chat alone.*Checked again: all is well/);
    assert.equal(Object.keys(files.book(tale.book).value.entries).length, 2);

    await pressNotice(page, /was restored to message 6/, 'Undo');
    await notice(page, /Undone\. “.*” is as it was before\./, 'success');
    await panelSays(page, /\(3 entries\) belongs to this chat alone.*Checked again: all is well/);
    assert.equal(Object.keys(files.book(tale.book).value.entries).length, 3);
});

// ---- The lorebook editor ----

scenario('the editor that showed the parent’s lorebook shows the child’s after a branch: what is typed goes there', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    await page.showInEditor(tale.book);
    await page.raw.locator('.world_entry').first().waitFor();
    await page.raw.locator('#WIDrawerIcon').click();
    const before = files.book(tale.book).text;

    const child = await page.branchByButton(5);
    const own = files.chat(tale, child).metadata.world_info;
    await page.raw.locator('#WIDrawerIcon').click();
    await until('the editor to show the child’s', async () => await shownInEditor(page) === own);
    const first = page.raw.locator('.world_entry[uid="0"]');
    await first.locator('.inline-drawer-toggle').first().click();
    await first.locator('textarea[name="content"]').fill('of the branch');
    await files.bookWhen(own, ({ entries }) => entries[0].content === 'of the branch');
    await page.raw.locator('#WIDrawerIcon').click();
    assert.equal(files.book(tale.book).text, before, 'the parent’s lorebook');

    await page.backToParent();
    await until('the editor to show the parent’s again', async () => await shownInEditor(page) === tale.book);
});

scenario('whoever is typing in the editor is told that it is another chat’s lorebook', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const field = await page.openInEditor(tale.book, 0);
    await field.focus();
    const child = await page.branchByCommand(5);
    const own = files.chat(tale, child).metadata.world_info;

    const line = page.raw.locator('#forklore_editor_line');
    await until('the line to be there', async () => /This is the lorebook of “.*”, not of the open chat\./.test(await line.textContent()));
    assert.ok((await line.textContent()).includes(`“${tale.chat}”`));
    assert.equal(await shownInEditor(page), tale.book, 'nobody’s field is taken away');
    await line.getByRole('button', { name: 'Show the lorebook of this chat' }).click();
    await until('the editor to show the child’s', async () => await shownInEditor(page) === own);
    await line.waitFor({ state: 'hidden' });

    // It is reported for a book selected by hand, too, but not for a book that belongs to no chat.
    story.writeBook(`Free ${tale.chat}`, lore());
    await page.refresh();
    await chooseInEditor(page, tale.book);
    await line.waitFor({ state: 'visible' });
    await chooseInEditor(page, `Free ${tale.chat}`);
    await line.waitFor({ state: 'hidden' });
    await page.raw.locator('#WIDrawerIcon').click();
});

// ---- A message that is being edited ----

scenario('no command forks a message while it or one before it is being edited', {}, async ({ page, files, story }) => {
    const tale = await withJournal({ page, story });
    const before = { chats: files.chats(tale), books: files.books() };
    for (const message of [5, 6, 7]) {
        assert.equal(await page.run(`/forklore-check ${message}`), 'ready', `message ${message}`);
    }
    await page.messageAction(6, '.mes_edit');
    const typed = page.raw.locator('.mes[mesid="6"] .edit_textarea');
    await typed.fill('half a thou');
    for (const message of [6, 7]) {
        assert.equal(await page.run(`/forklore-check ${message}`), 'blocked', `message ${message}`);
        for (const command of [
            `/forklore-fork message=${message} Never`,
            `/forklore-fork kind=branch message=${message}`,
            `/checkpoint-create mesId=${message} Never`,
            `/branch-create ${message}`,
        ]) {
            page.watch.clear();
            assert.equal(await page.run(command), '', command);
            await notice(page, message === 6 ? /This message is being edited\. Finish the edit first\./ : /Message 6, User: “we wait at the quay” is being edited\. Finish the edit first\./, 'warning');
        }
    }
    assert.equal(await typed.inputValue(), 'half a thou');
    assert.deepEqual({ chats: files.chats(tale), books: files.books() }, before);
    assert.equal(await page.run('/forklore-check 5'), 'ready', 'what is edited comes after it');

    await page.raw.locator('.mes[mesid="6"] .mes_edit_cancel').click();
    assert.equal(await page.run('/forklore-check 7'), 'ready');
    assert.equal(await page.checkpointByCommand(7, { name: `${tale.chat} flag` }), `${tale.chat} flag`);
});

scenario('SillyTavern’s own commands are refused, too, if another extension is ready later than Forklore', { beforeLoading: addLateExtension }, async ({ page, story }) => {
    await withJournal({ page, story });
    await page.messageAction(6, '.mes_edit');
    for (const command of ['/checkpoint-create mesId=6 Never', '/branch-create 6']) {
        page.watch.clear();
        assert.equal(await page.run(command), '', command);
        await notice(page, /This message is being edited\. Finish the edit first\./, 'warning');
    }
    await page.raw.locator('.mes[mesid="6"] .mes_edit_cancel').click();
});

/** SillyTavern adds its commands for forks only when it has loaded all extensions. This one is loaded when Forklore is ready. */
async function addLateExtension(raw) {
    const at = (pathname, act) => raw.route((url) => url.pathname === pathname, act);
    await at('/api/extensions/discover', async (route) => {
        const known = await (await route.fetch()).json();
        await route.fulfill({ json: [...known, { type: 'local', name: 'third-party/late' }] });
    });
    const folder = '/scripts/extensions/third-party/late';
    await at(`${folder}/manifest.json`, (route) => route.fulfill({ json: { display_name: 'Late', loading_order: 100, js: 'index.js' } }));
    await at(`${folder}/index.js`, async (route) => {
        await raw.waitForFunction(() => performance.getEntriesByName('forklore:ready').length > 0);
        await route.fulfill({ contentType: 'text/javascript', body: '' });
    });
}

// ---- The lore of a message ----

scenario('a message that a branch has inherited does not name the parent’s lorebook as its own', {}, async ({ page, story }) => {
    const tale = await withJournal({ page, story });
    await page.branchByButton(7);
    await page.send('on its own');
    await page.save();

    const shown = await loreAt(page, 6);
    assert.match(shown, /Inherited from the parent: 2 entries/);
    assert.ok(!shown.includes(tale.book), shown);
    assert.match(await loreAt(page, 8), /Lorebook “.* - Lore”, 2 entries/);
});

scenario('of a message that nothing recorded, nothing is claimed', { settings: { journal: false } }, async ({ page, story }) => {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    const shown = await loreAt(page, 2);
    assert.match(shown, /Shown as it is today; it was not recorded at that message\./);
    assert.match(shown, /What has changed since then is not known\./);
    assert.doesNotMatch(shown, /Nothing has changed/);
});

// ---- Helpers ----

/** A chat whose last messages were written in the page. */
async function withJournal({ page, story }) {
    const tale = await story.begin({ book: lore() });
    await page.open(tale);
    await page.send('we wait at the quay');
    await page.sendAs(tale.speaker, 'so do I');
    await page.save();
    return tale;
}

async function loreAt(page, message) {
    await page.messageAction(message, '.forklore_lore');
    const shown = await (await dialog(page, `Lore at message ${message}`)).textContent();
    await agree(page);
    return shown;
}

const shownInEditor = (page) => page.raw.evaluate(() => document.querySelector('#world_editor_select option:checked')?.textContent);

function chooseInEditor(page, name) {
    return page.raw.evaluate((name) => {
        const editor = $('#world_editor_select');
        editor.val(editor.find('option').filter((_, option) => option.textContent === name).val()).trigger('change');
    }, name);
}
