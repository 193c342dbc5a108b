// When a chat or a lorebook is renamed, everything that refers to it is updated. SillyTavern only moves the file.

import assert from 'node:assert/strict';

import { lookingAt, notice, said, verifyAll, withSettings } from '../harness/forklore.mjs';
import { assertSameBook, withoutJournal } from '../harness/forks.mjs';
import { loreWithGaps } from '../harness/lore.mjs';
import { recapMetadata, sceneBreak } from '../harness/recap.mjs';
import { BOTH_ARE_DAILY, stage } from '../harness/scenario.mjs';
import { conversation, reply } from '../harness/story.mjs';

const scenario = withSettings(stage());

for (const group of [false, true]) {
    const place = group ? 'in a group' : 'solo';

    for (const open of ['parent', 'child']) {
        const nightly = group === (open === 'parent') && BOTH_ARE_DAILY;
        scenario(`a renamed child is still found by its flag, ${place}, from the ${open}`, { group, nightly }, async ({ page, files, story }) => {
            const { tale, child, own } = await withCheckpoint({ page, files, story }, open);
            const before = files.chat(tale);
            const sealed = files.chat(tale, child);
            const name = `Another name of ${child}`;

            await page.renameChat(child, name);

            assert.deepEqual(files.chats(tale).sort(), [tale.chat, name].sort());
            const linked = before.messages.map(withoutJournal);
            linked[5].extra.bookmark_link = name;
            const parent = await files.chatWhen(tale, tale.chat, ({ messages }) => messages[5].extra.bookmark_link === name);
            assert.deepEqual(parent.messages.map(withoutJournal), linked);
            assert.deepEqual(parent.metadata, before.metadata);
            assert.deepEqual(files.chat(tale, name).metadata, sealed.metadata, 'the child is what it was');
            assert.deepEqual(files.chat(tale, name).messages.map(withoutJournal), sealed.messages.map(withoutJournal));

            await page.switchTo(tale.chat);
            const findings = await lookingAt(page, () => page.openCheckpoint(5));
            assert.deepEqual([(await page.current()).chat, (await page.current()).book], [name, own]);
            assert.deepEqual(findings, []);
            assert.equal(await page.backToParent(), tale.chat);
        });

        scenario(`a renamed parent is still the parent of its children, ${place}, from the ${open}`, { group, nightly }, async ({ page, files, story }) => {
            const { tale, child, own } = await withCheckpoint({ page, files, story }, open);
            const second = await page.checkpointByCommand(5, { name: `Second of ${tale.chat}` });
            if (open === 'child') {
                // A checkpoint of the child: it must keep its own parent.
                assert.equal(files.chat(tale, second).metadata.main_chat, child);
            }
            const children = open === 'child' ? [child] : [child, second];
            const before = new Map([child, second].map((name) => [name, files.chat(tale, name)]));
            const name = `Another name of ${tale.chat}`;

            await page.renameChat(tale.chat, name);

            for (const [kept, { metadata, messages }] of before) {
                const expected = structuredClone(metadata);
                if (children.includes(kept)) {
                    expected.main_chat = name;
                    expected.forklore.parent.chat = name;
                }
                const now = await files.chatWhen(tale, kept, (chat) => chat.metadata.main_chat === expected.main_chat);
                assert.deepEqual(now.metadata, expected);
                assert.deepEqual(now.messages.map(withoutJournal), messages.map(withoutJournal));
            }
            const findings = await lookingAt(page, () => page.switchTo(child));
            assert.deepEqual(findings, []);
            assert.equal((await page.current()).book, own);
            assert.equal(await page.backToParent(), name);
            assert.deepEqual(said(page), []);
        });
    }
}

scenario('a renamed main chat keeps its running recap', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    const extra = sceneBreak({ name: 'Harbour', start: 0, end: 4, book: loreWithGaps(), bookName: tale.book });
    const recap = recapMetadata({ chat: tale.chat, bookName: tale.book, scenes: [{ start: 0, end: 4 }] });
    story.writeChat(tale, tale.chat, {
        messages: conversation(6, { name: tale.speaker }).with(4, reply(4, { name: tale.speaker, extra })),
        metadata: { world_info: tale.book, ...recap },
    });
    await page.open(tale);
    await page.save();
    const before = files.chat(tale);
    await noteRunningRecap(page);
    const name = `Another name of ${tale.chat}`;

    await page.renameChat(tale.chat, name);

    const renamed = files.chat(tale, name);
    const running = { ...recap.auto_recap_running_scene_recaps, chat_id: name };
    assert.deepEqual(renamed.metadata, { ...before.metadata, auto_recap_running_scene_recaps: running });
    assert.deepEqual(renamed.messages.map(withoutJournal), before.messages.map(withoutJournal));
    const noted = await page.raw.evaluate(() => globalThis.runningRecaps);
    assert.ok(noted.length > 0);
    assert.deepEqual(noted.filter(({ chat, recapOf }) => chat !== recapOf), [], 'ST-Auto-Recap never sees another name');
});

// ---- Books ----

for (const open of ['bound to it', 'bound to another']) {
    scenario(`a renamed book is followed by every chat, while a chat is open that is ${open}`, {}, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        const extra = sceneBreak({ name: 'Harbour', start: 0, end: 4, book: loreWithGaps(), bookName: tale.book });
        const recap = (chat) => recapMetadata({ chat, bookName: tale.book, scenes: [{ start: 0, end: 4 }] });
        story.writeChat(tale, tale.chat, {
            messages: conversation(6, { name: tale.speaker }).with(4, reply(4, { name: tale.speaker, extra })),
            metadata: { world_info: tale.book, ...recap(tale.chat) },
        });
        const closed = await story.begin({ book: null, metadata: { world_info: tale.book } });
        const company = await story.begin({ group: true, book: null, metadata: { world_info: tale.book } });
        const bystander = await story.begin({ book: loreWithGaps() });
        const opened = open === 'bound to it' ? tale : bystander;
        await page.open(opened);
        await page.save();
        const before = [closed, company, bystander, tale].map((one) => files.chat(one));
        const name = `Another name of ${tale.book}`;

        await page.renameBook(tale.book, name);

        assert.ok(!files.books().includes(tale.book));
        for (const [at, one] of [closed, company].entries()) {
            assert.deepEqual(files.chat(one).metadata, { ...before[at].metadata, world_info: name });
            assert.deepEqual(files.chat(one).messages.map(withoutJournal), before[at].messages.map(withoutJournal));
        }
        assert.equal(files.chat(bystander).text, before[2].text);
        const { metadata, messages } = files.chat(tale);
        assert.deepEqual([metadata.world_info, metadata.auto_lorebooks.lorebookName], [name, name]);
        assert.deepEqual(metadata.auto_recap_running_scene_recaps, before[3].metadata.auto_recap_running_scene_recaps);
        const scene = messages[4].extra.auto_recap_memory.scene_recap_metadata[1];
        assert.equal(scene.chatLorebookName, name);
        assert.ok(scene.allEntries.every(({ world }) => world === name));
        assert.equal((await page.current()).book, open === 'bound to it' ? name : bystander.book);
        assert.deepEqual(await findingsAbout(page, tale, closed, company), [['book-elsewhere', 3]]);
        assert.deepEqual(said(page), []);
    });
}

for (const open of ['parent', 'child']) {
    scenario(`the renamed book of a sealed child is still the one of its seal, from the ${open}`, {}, async ({ page, files, story }) => {
        const { tale, child, own } = await withCheckpoint({ page, files, story }, open, asTheEditorHasIt(loreWithGaps()));
        const before = files.chat(tale, child).metadata;
        const truth = files.book(own).value;
        const name = `Another name of ${own}`;

        await page.renameBook(own, name);

        const { metadata } = await files.chatWhen(tale, child, (chat) => chat.metadata.world_info === name);
        const expected = structuredClone(before);
        expected.world_info = name;
        expected.forklore.book.name = name;
        assert.deepEqual(metadata, expected);
        assertSameBook(files.book(name).value, truth);
        assert.equal(files.chat(tale).metadata.world_info, tale.book);
        assert.deepEqual(await lookingAt(page, () => page.switchTo(child)), []);
        assert.deepEqual(await findingsAbout(page, tale), []);
    });
}

scenario('a book that is deleted right after another was saved is not taken for renamed', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    const bystander = await story.begin({ book: null });
    await page.open(bystander);
    const { text } = files.chat(tale);
    const other = loreWithGaps();
    other.entries[0].content = 'another one';
    await page.saveBook(`Not ${tale.book}`, other);

    await page.raw.evaluate(async (book) => {
        const { deleteWorldInfo } = await import('/scripts/world-info.js');
        await deleteWorldInfo(book);
    }, tale.book);
    await page.settle();

    assert.ok(!files.books().includes(tale.book));
    assert.equal(files.chat(tale).text, text);
});

// ---- Helpers ----

scenario('a lorebook that is deleted right after another with the same lore was saved is not taken for renamed', {}, async ({ page, files, story }) => {
    const { tale, child, own } = await withCheckpoint({ page, files, story }, 'child');
    await page.raw.evaluate(async (book) => {
        const { loadWorldInfo, saveWorldInfo } = SillyTavern.getContext();
        await saveWorldInfo(book, await loadWorldInfo(book), true);
    }, tale.book);
    await page.showInEditor(own);
    await page.raw.locator('.world_entry').first().waitFor();
    await page.raw.locator('#world_popup_delete').click();
    await page.confirm();
    await notice(page, /lorebook/);
    await page.settle();
    await page.raw.locator('#WIDrawerIcon').click();
    const { metadata } = files.chat(tale, child);
    assert.deepEqual([metadata.world_info, metadata.forklore.book.name], [own, own]);
    assert.equal((await page.current()).book, own);
});

/** A chat with a checkpoint at its last message; one of the two is open. */
async function withCheckpoint({ page, files, story }, open, lore = loreWithGaps()) {
    const tale = await story.begin({ book: lore });
    await page.open(tale);
    const child = await page.checkpointByButton(5);
    const own = files.chat(tale, child).metadata.world_info;
    if (open === 'child') {
        await page.openCheckpoint(5);
    }
    await page.save();
    page.watch.clear();
    return { tale, child, own };
}

/** When the editor shows an entry, it removes a role that has no effect. */
function asTheEditorHasIt(lore) {
    Object.values(lore.entries).forEach((entry) => { entry.role = null; });
    return lore;
}

/** Records, at every opening and before any other listener, whose running recap the chat carries. */
function noteRunningRecap(page) {
    return page.raw.evaluate(() => {
        const { eventSource, eventTypes } = SillyTavern.getContext();
        globalThis.runningRecaps = [];
        eventSource.makeFirst(eventTypes.CHAT_CHANGED, (chat) => {
            const recap = SillyTavern.getContext().chatMetadata.auto_recap_running_scene_recaps;
            if (recap) {
                globalThis.runningRecaps.push({ chat, recapOf: recap.chat_id });
            }
        });
    });
}

/** The findings about these tales: codes and counts. */
async function findingsAbout(page, ...tales) {
    const found = await verifyAll(page);
    const codes = found.filter(({ chat }) => tales.some((tale) => chat.startsWith(tale.chat))).map(({ code }) => code);
    return [...new Set(codes)].map((code) => [code, codes.filter((other) => other === code).length]);
}
