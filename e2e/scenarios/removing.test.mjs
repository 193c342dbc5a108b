// When a chat is deleted, the book that Forklore made for it goes to the trash, and can be restored from there. A book
// that anything else uses stays.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { agree, decline, dialog, inPanel, notice, pressInDrawer, pressNotice, said, trash, trashed, withSettings } from '../harness/forklore.mjs';
import { loreWithGaps } from '../harness/lore.mjs';
import { BOTH_ARE_DAILY, SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { conversation } from '../harness/story.mjs';
import { act, caughtUp, chooseTimeline, leaveTimelines, openTimelines, renameTo } from '../harness/timelines.mjs';
import { until } from '../harness/until.mjs';

const scenario = withSettings(stage());

const IS_GONE = /was deleted\. Its lorebooks? (is|are) in the trash/;

for (const group of [false, true]) {
    for (const open of ['parent', 'child']) {
        const name = `a deleted child takes its book along, and Undo brings it back, ${group ? 'in a group' : 'solo'}, from the ${open}`;
        scenario(name, { group, nightly: group === (open === 'parent') && BOTH_ARE_DAILY }, async ({ page, files, story }) => {
            const { tale, child, own } = await withChild({ page, files, story });
            if (open === 'child') {
                await page.switchTo(child);
            }
            const books = files.books();
            const { text, value } = files.book(own);

            await page.deleteChat(child);

            assert.match(await notice(page, IS_GONE, 'info'), /“.+” was deleted\. Its lorebook is in the trash: “….* - Lore”/);
            assert.deepEqual(files.chats(tale), [tale.chat]);
            assert.deepEqual(files.books(), books.filter((book) => book !== own), 'this book and no other');
            assert.deepEqual(trashed(files)[own], value);
            const parts = trash(files).length;

            await pressNotice(page, IS_GONE, 'Put the lorebook back');

            await notice(page, /1 lorebook was restored/, 'success');
            assert.deepEqual(files.books(), books);
            assert.equal(files.book(own).text, text, 'byte for byte');
            assert.equal(trash(files).length, parts - 1, 'what came back is not in the trash any more');
        });
    }
}

scenario('SillyTavern’s Clean-Up does not list the trash, and deletes everything else of its kind', {}, async ({ page, files, story }) => {
    const { child } = await withChild({ page, files, story });
    await page.deleteChat(child);
    await notice(page, IS_GONE, 'info');
    const kept = trash(files).length;
    const folder = path.join(files.user, 'user/files');
    fs.writeFileSync(path.join(folder, 'loose.txt'), 'mine');

    await page.raw.locator('#data_maid_button').dispatchEvent('click');
    const shown = page.dialog();
    await shown.locator('.dataMaidStartButton').click();
    const listed = shown.locator('.dataMaidCategory', { hasText: 'Files' }).first();
    await listed.waitFor();
    assert.match(await shown.locator('.forklore_clean_up').innerText(), /^Not listed: \d+ files \(.+\) with what Forklore keeps in its trash\./);
    assert.doesNotMatch(await shown.locator('.dataMaidResultsList').textContent(), /forklore-/);
    await listed.locator('.dataMaidDeleteAll').click();
    await page.dialog().filter({ hasText: 'Are you sure?' }).locator('.popup-button-ok').click();
    await until('the loose file to be gone', () => !fs.existsSync(path.join(folder, 'loose.txt')));
    await shown.locator('.popup-button-ok').click();
    await page.settle();

    assert.equal(trash(files).length, kept);
    assert.ok(fs.existsSync(path.join(folder, 'forklore-trashed.json')));
});

// ---- The journal of all chats ----

for (const group of [false, true]) {
    scenario(`the journal is removed from all chats, but not from one that may be open elsewhere, ${group ? 'in a group' : 'solo'}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        await page.open(tale);
        await page.save();
        const recent = await page.branchByCommand(5);
        await page.send('The lamp turns.');
        await page.settle();
        await page.switchTo(tale.chat);
        const open = await page.branchByCommand(5);
        await page.settle();
        const records = (chat) => files.chat(tale, chat).messages.filter(({ forklore }) => forklore).length;
        const withoutJournal = (chat) => files.chat(tale, chat).text.split('\n').filter(Boolean).map((line) => {
            const { forklore, ...rest } = JSON.parse(line);
            return 'chat_metadata' in rest ? { ...rest, forklore } : rest;
        });
        for (const chat of [tale.chat, recent, open]) {
            assert.ok(records(chat) > 0, `${chat} has a journal`);
        }
        const before = { closed: withoutJournal(tale.chat), open: withoutJournal(open), recent: files.chat(tale, recent).text, books: files.books() };

        await inPanel(page, 'Remove the journal from all chats…').dispatchEvent('click');
                const asked = await dialog(page, 'Remove the journal from all chats?');
        await asked.getByText(/^\d+ chats of all your characters and groups are read/).waitFor();
        await agree(page);
        const shown = await dialog(page, 'Journal of all chats');
        await shown.getByText(/^The journal was removed from \d+ chats\.$/).waitFor();
        await shown.getByText(`“${recent}” was continued less than two minutes ago`).waitFor();
        await shown.getByRole('button', { name: 'Close', exact: true }).click();
        await page.settle();

        assert.deepEqual([records(tale.chat), records(open)], [0, 0]);
        assert.deepEqual(withoutJournal(tale.chat), before.closed, 'nothing else was changed');
        assert.deepEqual(withoutJournal(open), before.open);
        assert.equal(files.chat(tale, recent).text, before.recent, 'byte for byte');
        assert.deepEqual(files.books(), before.books);
    });
}

// ---- On the map, with the list of the trash ----

for (const group of [false, true]) {
    const kind = group ? 'in a group' : 'solo';
    scenario(`a timeline deleted on the map is put back from the trash, byte for byte, ${kind}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const { tale, child, own } = await withChild({ page, files, story });
        const before = { chats: files.chats(tale), books: files.books(), chat: files.chat(tale, child).text, book: files.book(own).text, group: group && files.group(tale).chats };
        await page.clearToasts();

        await deleteOnMap(page, child);

        assert.match(await notice(page, /in the trash/, 'info'), /“.+” and its lorebook “….* - Lore” are in the trash/);
        assert.deepEqual(files.chats(tale), [tale.chat]);
        assert.ok(!files.books().includes(own));

        await pressNotice(page, /in the trash/, 'Trash…');
        const item = (await dialog(page, 'Trash')).locator('.forklore_trashed').filter({ hasText: child });
        assert.match(await item.textContent(), new RegExp(`and its lorebook “${own}”.*Deleted timeline.*KB`));
        await item.getByRole('button', { name: 'Put back' }).click();

        await notice(page, /is back with 1 lorebook/, 'success');
        await until('it to leave the list', async () => (await item.count()) === 0);
        await agree(page);
        assert.deepEqual(files.chats(tale), before.chats);
        assert.deepEqual(files.books(), before.books);
        assert.equal(files.chat(tale, child).text, before.chat);
        assert.equal(files.book(own).text, before.book);
        if (group) {
            assert.deepEqual(files.group(tale).chats, before.group);
        }
        await page.switchTo(child);
        assert.equal((await page.current()).chat, child);
    });
}

scenario('deleted for good, neither the chat nor its lorebook is anywhere', {}, async ({ page, files, story }) => {
    const { tale, child, own } = await withChild({ page, files, story });
    const parts = trash(files).length;

    await deleteOnMap(page, child, () => page.dialog().getByText('Delete for good', { exact: true }).click());

    await until('its lorebook to be gone', () => !files.books().includes(own));
    assert.deepEqual(files.chats(tale), [tale.chat]);
    assert.equal(trash(files).length, parts);
});

for (const group of [false, true]) {
    const kind = group ? 'in a group' : 'solo';
    scenario(`a rename and a split are undone from the trash, ${kind}`, { group, nightly: group && SOLO_IS_DAILY, settings: { whenInexact: 'nearest' } }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        const sharing = `Shares, ${tale.chat}`;
        const write = (metadata) => story.writeChat(tale, sharing, { messages: conversation(3, { name: tale.speaker, group }), metadata: { integrity: 'of the one that shares', ...metadata } });
        write({});
        if (group) {
            // Before the page has the group: it would write its own list over this one.
            await story.list(tale, sharing);
        }
        await page.open(tale);
        const child = await page.checkpointByCommand(5);
        const own = files.chat(tale, child).metadata.world_info;
        write({ main_chat: child, world_info: own });
        const renamed = `Renamed, ${tale.chat}`;
        const before = [files.chats(tale), files.chat(tale, child).text, files.chat(tale, sharing).text, files.books()];

        const view = await openTimelines(page);
        await caughtUp(view);
        await chooseTimeline(view, child);
        await renameTo(view, renamed);
        await files.chatWhen(tale, sharing, ({ metadata }) => metadata.main_chat === renamed);
        // SillyTavern loads the open chat again first.
        await until('the rename to be in the trash', () => trash(files).some(({ why }) => why.code === 'rename' && why.to === renamed));
        await leaveTimelines(page);
        await page.settle();
        await putBack(page, renamed);
        await files.chatWhen(tale, sharing, ({ metadata }) => metadata.main_chat === child);
        await page.settle();
        assert.deepEqual([[...files.chats(tale)].sort(), files.chat(tale, child).text, files.chat(tale, sharing).text], [[...before[0]].sort(), before[1], before[2]]);

        await page.switchTo(child);
        const opened = files.chat(tale, sharing).text;
        await page.run('/forklore-split family=true');
        await files.chatWhen(tale, sharing, ({ metadata }) => metadata.world_info !== own);
        const made = files.chat(tale, sharing).metadata.world_info;
        await page.settle();
        await page.clearToasts();
        await putBack(page, sharing);
        await until('the lorebook that was made then to be gone', () => !files.books().includes(made));
        assert.equal(files.chat(tale, sharing).text, opened, 'byte for byte');
        assert.deepEqual(files.books(), before[3]);
        assert.ok(made in trashed(files), 'the lorebook that was made then is kept');
    });
}

scenario('a deleted parent leaves the books that its children use', {}, async ({ page, files, story }) => {
    const { tale, child, own } = await withChild({ page, files, story });
    await page.switchTo(child);
    const grandchild = await page.branchByButton(5);
    const grandchilds = files.chat(tale, grandchild).metadata.world_info;
    const sharing = `${child} - shares`;
    story.writeChat(tale, sharing, { messages: conversation(2), metadata: { main_chat: child, world_info: own } });
    await page.switchTo(tale.chat);

    await page.deleteChat(child);

    assert.deepEqual(files.chats(tale), [tale.chat, grandchild, sharing].sort());
    assert.ok(files.books().includes(own), 'one of its children is bound to it');
    assert.ok(files.books().includes(grandchilds));
    assert.deepEqual(said(page), []);

    await page.deleteChat(sharing);

    await notice(page, IS_GONE);
    assert.deepEqual([files.books().includes(own), files.books().includes(grandchilds)], [false, true]);
});

scenario('the book of a main chat is its owner’s, and stays', {}, async ({ page, files, story }) => {
    const { tale, child, own } = await withChild({ page, files, story });
    await page.switchTo(child);

    await page.deleteChat(tale.chat);

    assert.deepEqual(files.chats(tale), [child]);
    assert.ok(files.books().includes(tale.book));
    assert.ok(files.books().includes(own));
});

const OTHERS_ARE_DAILY = 'other uses are tried for every change';

// Each returns a function that restores the page.
const users = [
    {
        name: 'a chat of another character is bound to it',
        nightly: OTHERS_ARE_DAILY,
        use: async ({ story, own }) => {
            await story.begin({ group: false, book: null, metadata: { world_info: own } });
        },
    },
    {
        name: 'a chat of a group is bound to it',
        use: async ({ story, page, own }) => {
            await story.begin({ group: true, book: null, metadata: { world_info: own } });
            await page.refresh();
        },
    },
    {
        name: 'ST-Auto-Recap names it in another chat',
        use: async ({ story, own }) => {
            await story.begin({ group: false, book: null, metadata: { auto_lorebooks: { lorebookName: own } } });
        },
    },
    {
        name: 'it is selected for all chats',
        nightly: OTHERS_ARE_DAILY,
        use: async ({ page, own }) => {
            await page.run(`/world state=on silent=true "${own}"`);
            return () => page.run(`/world state=off silent=true "${own}"`);
        },
    },
    {
        name: 'it is the book of a character',
        use: async ({ story, st, page, own }) => {
            const avatar = await story.character(`Owner of ${own}`);
            await st.post('/api/characters/merge-attributes', { avatar, data: { extensions: { world: own } } });
            await page.refresh();
        },
    },
    {
        name: 'it is an additional book of a character',
        nightly: OTHERS_ARE_DAILY,
        use: async ({ page, own }) => {
            await page.raw.evaluate(async (own) => {
                const { world_info } = await import('/scripts/world-info.js');
                world_info.charLore = [...(world_info.charLore ?? []), { name: 'Somebody', extraBooks: [own] }];
            }, own);
            return () => page.raw.evaluate(async () => {
                const { world_info } = await import('/scripts/world-info.js');
                world_info.charLore.pop();
            });
        },
    },
    {
        name: 'it is the book of a persona',
        use: async ({ page, own }) => {
            await page.raw.evaluate((own) => {
                SillyTavern.getContext().powerUserSettings.persona_descriptions['somebody.png'] = { description: '', position: 0, lorebook: own };
            }, own);
            return () => page.raw.evaluate(() => {
                delete SillyTavern.getContext().powerUserSettings.persona_descriptions['somebody.png'];
            });
        },
    },
];

for (const { name, nightly, use } of users) {
    scenario(`the book of a deleted child stays because ${name}`, { nightly }, async (given) => {
        const { page, files } = given;
        const { tale, child, own } = await withChild(given);
        const { text } = files.book(own);
        const putBack = await use({ ...given, own });
        const parts = trash(files).length;

        await page.deleteChat(child);

        assert.deepEqual(files.chats(tale), [tale.chat]);
        assert.equal(files.book(own).text, text);
        assert.equal(trash(files).length, parts);
        assert.deepEqual(said(page), []);
        await putBack?.();
    });
}

// ---- Many chats at once ----

scenario('a deleted group takes the books of all its children along', { group: true }, async ({ page, files, story }) => {
    const { tale, child, own } = await withChild({ page, files, story });
    const second = await page.branchByButton(5);
    const seconds = files.chat(tale, second).metadata.world_info;
    const texts = [files.book(own).text, files.book(seconds).text];
    const letGo = await slowListener(page, 'GROUP_CHAT_DELETED');

    await page.raw.locator('#rightNavDrawerIcon').click();
    await page.raw.locator('#rm_group_delete').click();
    await page.confirm();
    // SillyTavern still shows one of the group's chats at this point.
    await notice(page, IS_GONE, 'info');
    await letGo();
    await page.settle();
    await page.raw.locator('#rightNavDrawerIcon').click();

    assert.ok(!files.groupChats().includes(child) && !files.groupChats().includes(second));
    assert.deepEqual([own, seconds, tale.book].map((book) => files.books().includes(book)), [false, false, true]);
    await pressNotice(page, IS_GONE, 'Put the lorebooks back');
    await notice(page, /2 lorebooks were restored/, 'success');
    assert.deepEqual([files.book(own).text, files.book(seconds).text], texts);
});

for (const withChats of [true, false]) {
    const name = withChats ? 'a character deleted with all chats takes their books along' : 'a character deleted without its chats leaves their books';
    scenario(name, {}, async ({ page, files, story }) => {
        const { tale, child, own } = await withChild({ page, files, story });
        await page.switchTo(child);

        await page.raw.locator('#rightNavDrawerIcon').click();
        await page.raw.locator('#rm_button_selected_ch').click();
        await page.raw.locator('#delete_button').click();
        await page.dialog().waitFor();
        await page.dialog().locator('#del_char_checkbox').setChecked(withChats);
        await page.confirm();
        await until('the character to be gone', async () => !(await characters(page)).includes(tale.avatar));
        await page.settle();
        await page.raw.locator('#rightNavDrawerIcon').click();

        assert.deepEqual(files.chats(tale), withChats ? [] : [tale.chat, child]);
        if (withChats) {
            await notice(page, IS_GONE, 'info');
        }
        assert.equal(files.books().includes(own), !withChats);
        assert.equal(own in trashed(files), withChats);
        assert.ok(files.books().includes(tale.book));
        if (!withChats) {
            assert.ok(!(await wouldGo(page)).includes(own), 'no cleaning up takes it either');
        }
    });
}

// ---- If the user turned it off ----

scenario('nothing is removed when cleaning up is off', { settings: { cleanUp: false } }, async ({ page, files, story }) => {
    const { tale, child, own } = await withChild({ page, files, story });
    const { text } = files.book(own);
    const parts = trash(files).length;

    await page.deleteChat(child);

    assert.deepEqual(files.chats(tale), [tale.chat]);
    assert.equal(files.book(own).text, text);
    assert.equal(trash(files).length, parts);
});

scenario('the drawer shows what would go before it goes', { settings: { cleanUp: false } }, async ({ page, files, story }) => {
    const { tale, child, own } = await withChild({ page, files, story });
    const used = files.chat(tale, await page.checkpointByCommand(5)).metadata.world_info;
    const { text } = files.book(own);
    await page.deleteChat(child);
    const books = files.books();

    await pressInDrawer(page, 'Clean up…');
    const shown = await dialog(page, 'Clean up');
    const listed = await shown.locator('.forklore_list').first().locator('.forklore_name').allTextContents();
    assert.ok(listed.includes(own));
    assert.ok(!listed.includes(used) && !listed.includes(tale.book));
    assert.match(await shown.textContent(), new RegExp(`created for “${child}”`));
    await decline(page);
    assert.deepEqual(files.books(), books, 'seeing changes nothing');

    await pressInDrawer(page, 'Clean up…');
    await dialog(page, 'Clean up');
    await agree(page);

    await notice(page, /in the trash\./, 'success');
    assert.deepEqual(files.books(), books.filter((book) => !listed.includes(book)));
    await pressNotice(page, /in the trash\./, 'Undo');
    await notice(page, /(was|were) restored/, 'success');
    assert.deepEqual(files.books(), books);
    assert.equal(files.book(own).text, text);
});

scenario('a list of chats that cannot be had counts as a use of every book', {
    settings: { cleanUp: false },
    expects: { errors: [/status of 500/] },
}, async ({ page, files, story }) => {
    const { child } = await withChild({ page, files, story });
    await page.deleteChat(child);
    const books = files.books();
    await page.raw.route('**/api/characters/chats', (route) => route.fulfill({ status: 500 }));

    await pressInDrawer(page, 'Clean up…');
    const shown = await dialog(page, 'Clean up');
    assert.match(await shown.textContent(), /could not be read.*There is nothing to clean up/s);
    await agree(page);

    await page.raw.unroute('**/api/characters/chats');
    assert.deepEqual(files.books(), books);
});

// ---- Helpers ----

/** A chat with a child that has its own book; the parent is open. */
async function withChild({ page, files, story }) {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    const child = await page.checkpointByButton(5);
    const own = files.chat(tale, child).metadata.world_info;
    assert.equal(own, `${child} - Lore`);
    page.watch.clear();
    return { tale, child, own };
}

/** What a cleanup would remove now. @returns {Promise<string[]>} */
async function wouldGo(page) {
    return JSON.parse(await page.run('/forklore-clean preview=true'));
}

/** Promise<void>>} what ends that => Promise<void>>} what ends that */
async function slowListener(page, event) {
    await page.raw.evaluate((event) => {
        const { eventSource, eventTypes } = SillyTavern.getContext();
        const done = new Promise((resolve) => {
            globalThis.letGo = resolve;
        });
        eventSource.on(eventTypes[event], () => done);
    }, event);
    return () => page.raw.evaluate(() => globalThis.letGo());
}

function characters(page) {
    return page.raw.evaluate(() => SillyTavern.getContext().characters.map(({ avatar }) => avatar));
}

/** Puts back what the list of the trash calls `name`. */
async function putBack(page, name) {
    await page.raw.locator('#extensionsMenuButton').click();
    await page.raw.locator('#forklore_wand_trash').click();
    const item = (await dialog(page, 'Trash')).locator('.forklore_trashed').filter({ has: page.raw.getByText(name, { exact: true }) }).first();
    await item.getByRole('button', { name: 'Put back' }).click();
    await until('it to leave the list', async () => (await item.count()) === 0);
    await agree(page);
}

/** Deletes a timeline on the map; `answer` presses a button of the question. */
async function deleteOnMap(page, name, answer = agree) {
    const view = await openTimelines(page);
    await caughtUp(view);
    await chooseTimeline(view, name);
    await act(view, 'Delete…');
    await dialog(page, 'Delete this timeline?');
    await answer(page);
    await until('it to leave the map', async () => (await view.locator(`.forklore_card[data-id=${JSON.stringify(name)}]`).count()) === 0);
    await leaveTimelines(page);
}
