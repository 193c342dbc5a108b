// The first minute, and lore that many chats share. SillyTavern comes with the character Seraphina, whose lorebook Eldoria is
// in all her chats.

import assert from 'node:assert/strict';

import { worldInfo } from '../harness/combining.mjs';
import { agree, choose, dialog, inPanel, notice, panelSays, pressInDialog, pressInDrawer, pressNotice, said, verifyAll } from '../harness/forklore.mjs';
import { assertSameBook } from '../harness/forks.mjs';
import { loreWithGaps } from '../harness/lore.mjs';
import { SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { conversation } from '../harness/story.mjs';

const scenario = stage({
    content: true,
    settings: (settings) => {
        // Forklore has never been here.
        delete settings.extension_settings.forklore;
    },
});

const SERAPHINA = { group: null, avatar: 'default_Seraphina.png' };
const KEYWORDS = 'eldoria shadowfang glade magic';
const ENTRIES = ['eldoria', 'glade', 'power', 'shadowfang'];
const ALL_SHARE = 'All chats with Seraphina share the lorebook “Eldoria”.';

scenario('from a fresh page to a branch with its own copy of Eldoria, in five presses and without typing', { freshPage: true }, async ({ page, files }) => {
    const eldoria = files.book('Eldoria').text;
    let presses = 0;
    const press = (/** @type {() => Promise<unknown>} */ step) => {
        presses += 1;
        return step();
    };
    assert.match(await notice(page, /Forklore is on/), /^Forklore: Forklore is on\. Branches now get their own lore\./);
    const welcome = page.raw.locator('#toast-container .toast', { hasText: 'Forklore is on' });
    await welcome.getByRole('button', { name: 'Show timelines' }).waitFor();
    await welcome.waitFor({ state: 'detached' });

    await press(() => page.raw.locator('#rightNavDrawerIcon').click());
    const main = await page.opening(() => press(() => page.raw.locator('.character_select', { hasText: 'Seraphina' }).click()));
    assert.ok((await notice(page, /Eldoria/)).includes(ALL_SHARE));
    await panelSays(page, new RegExp(ALL_SHARE));
    await press(() => pressNotice(page, /Eldoria/, 'Give this chat its own copy'));
    await panelSays(page, /“Eldoria” is left out of the prompt in this chat; the chat’s own lorebook is used instead\./);
    await page.settle();
    const message = page.raw.locator('.mes[mesid="0"]');
    const branch = await page.opening(async () => {
        await press(() => message.locator('.extraMesButtonsHint').click());
        await press(() => message.locator('.mes_create_branch').click());
    });

    assert.equal(presses, 5);
    const books = [main, branch].map((name) => files.chat(SERAPHINA, name).metadata.world_info);
    assert.equal(new Set([...books, 'Eldoria']).size, 3, 'three lorebooks');
    for (const [at, name] of [main, branch].entries()) {
        assert.deepEqual(files.chat(SERAPHINA, name).metadata.forklore_instead, ['Eldoria']);
        assert.deepEqual(files.book(books[at]).value.entries, JSON.parse(eldoria).entries);
    }
    assert.equal(files.book('Eldoria').text, eldoria);

    assert.deepEqual((await worldInfo(page, KEYWORDS)).activated.sort(), ENTRIES, 'each entry is in the prompt once');
    const twice = await withoutForklore(page, () => worldInfo(page, KEYWORDS));
    assert.deepEqual(twice.activated.sort(), [...ENTRIES, ...ENTRIES].sort(), 'and would be there twice');

    await page.opening(() => page.run('/newchat'));
    assert.equal((await page.current()).book, undefined);
    assert.deepEqual((await worldInfo(page, KEYWORDS)).activated.sort(), ENTRIES, 'another chat still has the original');
    await panelSays(page, new RegExp(ALL_SHARE));
    assert.equal(said(page).filter(({ text }) => text.includes(ALL_SHARE)).length, 1, 'told once');
});

scenario('who was here before is not welcomed again, nor told about the same lorebook', { freshPage: true }, async ({ page }) => {
    await page.open(SERAPHINA, await latest(page));
    await panelSays(page, /Eldoria/);
    assert.deepEqual(said(page), []);
});

scenario('from the open chat, a branch has its own Eldoria after three presses, and after two if that is always wanted', {}, async ({ page, files }) => {
    await page.open(SERAPHINA, await latest(page));
    const main = await page.opening(() => page.run('/newchat'));
    const before = { eldoria: files.book('Eldoria').text, main: files.chat(SERAPHINA, main).metadata };
    const branch = async (/** @type {() => Promise<number>} */ answer) => {
        let presses = 2;
        const child = await page.opening(async () => {
            await page.messageAction(0, '.mes_create_branch');
            presses += await answer();
        });
        const { metadata } = files.chat(SERAPHINA, child);
        return { presses, child, metadata };
    };
    const own = async ({ metadata, child }) => {
        assert.deepEqual([metadata.forklore_instead, metadata.main_chat], [['Eldoria'], main]);
        assert.deepEqual(files.book(metadata.world_info).value.entries, JSON.parse(before.eldoria).entries);
        assert.equal(files.book('Eldoria').text, before.eldoria);
        assert.deepEqual(files.chat(SERAPHINA, main).metadata, before.main, 'the parent stays as it is');
        assert.deepEqual((await worldInfo(page, KEYWORDS)).activated.sort(), ENTRIES, 'each entry is in the prompt once');
        await panelSays(page, /its own copy of “Eldoria”|“Eldoria” is left out/);
        assert.deepEqual((await findingsOf(page, child)).filter(({ problem }) => problem), []);
    };

    const first = await branch(async () => {
        await dialog(page, 'own copy of “Eldoria”');
        await pressInDialog(page, 'Give the branch its own copy of “Eldoria”');
        return 1;
    });
    await notice(page, /Branch created with its own copy of “Eldoria”: \d+ entries\./, 'success');
    assert.equal(first.presses, 3);
    await own(first);

    await page.switchTo(main);
    const second = await branch(async () => {
        await dialog(page, 'own copy of “Eldoria”');
        await page.dialog().getByText('Always for Seraphina').click();
        await pressInDialog(page, 'Give the branch its own copy of “Eldoria”');
        return 2;
    });
    assert.equal(second.presses, 4);
    await own(second);

    await page.switchTo(main);
    const third = await branch(async () => 0);
    assert.equal(third.presses, 2);
    await own(third);
    assert.equal(new Set([first, second, third].map(({ metadata }) => metadata.world_info)).size, 3);

    await page.switchTo(main);
    await page.raw.evaluate(() => {
        delete SillyTavern.getContext().extensionSettings.forklore.lore;
    });
    const shared = await branch(async () => {
        await dialog(page, 'own copy of “Eldoria”');
        await pressInDialog(page, 'Share it');
        return 1;
    });
    await notice(page, /Branch created\. It shares “Eldoria”\./, 'info');
    assert.deepEqual([shared.metadata.world_info, shared.metadata.forklore_instead], [undefined, undefined]);
    assert.deepEqual((await worldInfo(page, KEYWORDS)).activated.sort(), ENTRIES);
});

scenario('no notice stands over a dialog of Forklore’s, and what lasts is a dot at the wand menu’s item', {}, async ({ page, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    const child = `${tale.chat} - Branch #1`;
    await page.open(tale);
    await page.save();
    // As SillyTavern alone makes it.
    story.writeChat(tale, child, { messages: conversation(4), metadata: { integrity: 'made without Forklore', main_chat: tale.chat, world_info: tale.book } });
    await page.switchTo(child);
    const shared = page.raw.locator('#toast-container .toast', { hasText: 'is shared with' });
    await shared.waitFor();
    const item = page.raw.locator('#forklore_wand_timelines.forklore_alarm');
    await item.waitFor({ state: 'attached' });
    await page.raw.evaluate(() => document.getElementById('forklore_wand_trash').click());
    await dialog(page, 'Trash');
    await shared.waitFor({ state: 'detached' });
    await agree(page);
    await page.switchTo(tale.chat);
    await page.opening(() => page.run('/newchat'));
    await item.waitFor({ state: 'detached' });
});

scenario('the original is used again, and the copy is unlinked or stays', { freshPage: true }, async ({ page, files }) => {
    await page.open(SERAPHINA, await latest(page));
    const chat = await page.opening(() => page.run('/newchat'));
    await pressInDrawer(page, 'Give this chat its own copy');
    await panelSays(page, /“Eldoria” is left out/);
    const { book } = await page.current();
    assert.equal(await page.raw.locator('.chat_lorebook_button.world_set').count(), 2, 'SillyTavern shows that there is chat lore');

    await inPanel(page, 'Use the original again…').dispatchEvent('click');
    await dialog(page, 'Use the original again?');
    await choose(page, 'keep');
    await agree(page);
    await files.chatWhen(SERAPHINA, chat, ({ metadata }) => !metadata.forklore_instead && metadata.world_info === book);
    assert.equal((await worldInfo(page, KEYWORDS)).activated.length, 8);

    await page.opening(() => page.run('/newchat'));
    await pressInDrawer(page, 'Give this chat its own copy');
    await panelSays(page, /“Eldoria” is left out/);
    await inPanel(page, 'Use the original again…').dispatchEvent('click');
    await dialog(page, 'Use the original again?');
    await agree(page);
    await panelSays(page, new RegExp(ALL_SHARE));
    const { metadata } = files.chat(SERAPHINA, (await page.current()).chat);
    assert.deepEqual([metadata.forklore_instead, metadata.world_info], [undefined, undefined]);
    assert.equal(await page.raw.locator('.chat_lorebook_button.world_set').count(), 0);
    assert.deepEqual((await worldInfo(page, KEYWORDS)).activated.sort(), ENTRIES);
});

for (const group of [false, true]) {
    scenario(`a renamed original is still left out, ${group ? 'in a group' : 'solo'}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const { tale, original } = await sharedLore({ page, files, story });
        await pressInDrawer(page, 'Give this chat its own copy');
        await panelSays(page, /is left out/);
        const branch = await page.branchByButton(5);
        await page.switchTo(tale.chat);

        await page.renameBook(original, `Another name of ${original}`);

        for (const name of [tale.chat, branch]) {
            const { metadata } = await files.chatWhen(tale, name, (chat) => chat.metadata.forklore_instead[0] !== original);
            assert.deepEqual(metadata.forklore_instead, [`Another name of ${original}`]);
        }
        await panelSays(page, /“Another name of .+” is left out/);
    });
}

scenario('a fork at a message from before the copy has the copy as it is today, after a question', {}, async ({ page, files, story }) => {
    const { tale, original } = await sharedLore({ page, files, story });
    await page.send('one more');
    await page.save();
    await pressInDrawer(page, 'Give this chat its own copy');
    await panelSays(page, /is left out/);
    const { book } = await page.current();

    const branch = await page.opening(async () => {
        await page.messageAction(2, '.mes_create_branch');
        await dialog(page, 'The exact lore of this message was not recorded');
        await pressInDialog(page, 'Use the lorebook as it is today');
    });

    const { metadata } = files.chat(tale, branch);
    assert.deepEqual(metadata.forklore_instead, [original]);
    assert.equal(metadata.forklore.book.exactness, 'live');
    assertSameBook(files.book(metadata.world_info).value, files.book(book).value);
    assert.deepEqual((await findingsOf(page, branch)).map(({ code }) => code), ['leaves-out']);
});

scenario('what is left out is worth knowing, and a chat without a lorebook that leaves one out is a problem', {}, async ({ page, files, story }) => {
    const { tale, original } = await sharedLore({ page, files, story });
    await pressInDrawer(page, 'Give this chat its own copy');
    await panelSays(page, /all is well, 1 thing worth knowing/);
    assert.deepEqual(await findingsOf(page, tale.chat), [{ code: 'leaves-out', problem: false, values: { name: original } }]);

    // As SillyTavern's own Chat Lore does.
    await page.raw.evaluate(() => {
        delete SillyTavern.getContext().chatMetadata.world_info;
    });
    await page.save();

    await panelSays(page, /1 problem/);
    assert.deepEqual(await findingsOf(page, tale.chat), [{ code: 'leaves-out-nothing', problem: true, values: { name: original } }]);
    await pressInDrawer(page, 'Give this chat its own copy');
    await panelSays(page, /all is well, 1 thing worth knowing/);
});

// ---- Helpers ----

/** A chat without a lorebook is open, and its character has one. */
async function sharedLore({ page, files, story }) {
    const tale = await story.begin();
    const original = `Shared by ${tale.chat}`;
    story.writeBook(original, loreWithGaps());
    const member = tale.avatar ?? files.group(tale).members[0];
    await page.refresh();
    await page.raw.evaluate(async ([name, book]) => {
        const { charSetAuxWorlds } = await import('/scripts/world-info.js');
        charSetAuxWorlds(name, [book]);
    }, [member.replace('.png', ''), original]);
    await page.open(tale);
    await panelSays(page, /share the additional lorebook/);
    return { tale, original };
}

/** What `/forklore-verify` says about a chat. */
async function findingsOf(page, chat) {
    const found = (await verifyAll(page)).filter((finding) => finding.chat === chat);
    return found.map(({ code, problem, values }) => ({ code, problem, values }));
}

/** Runs a step while SillyTavern's lore is as if Forklore were not there. */
async function withoutForklore(page, step) {
    const event = 'worldinfo_entries_loaded';
    await page.raw.evaluate((event) => {
        const { events } = SillyTavern.getContext().eventSource;
        globalThis.setAside = events[event];
        events[event] = [];
    }, event);
    try {
        return await step();
    } finally {
        await page.raw.evaluate((event) => {
            SillyTavern.getContext().eventSource.events[event] = globalThis.setAside;
        }, event);
    }
}

/** The chat of Seraphina that opens first. */
function latest(page) {
    return page.raw.evaluate((avatar) => SillyTavern.getContext().characters.find((one) => one.avatar === avatar).chat, SERAPHINA.avatar);
}
