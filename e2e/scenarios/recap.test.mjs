// Forks of chats with ST-Auto-Recap's data, beside an extension that behaves like it.

import assert from 'node:assert/strict';
import path from 'node:path';
import { describe } from 'node:test';

import { agree, choose, decline, dialog, lookingAt, notice, pressInDialog, pressNotice, said, withSettings } from '../harness/forklore.mjs';
import { assertForked, assertOwnLore, assertSameBook, lookAround, withoutJournal } from '../harness/forks.mjs';
import { book, entry, loreWithGaps } from '../harness/lore.mjs';
import { checkout } from '../harness/places.mjs';
import { operation, queueEntry, recapMetadata, registryEntry, sceneBreak } from '../harness/recap.mjs';
import { stage } from '../harness/scenario.mjs';
import { until } from '../harness/until.mjs';

const double = path.join(checkout, 'e2e/doubles/recap');

const CANNOT_NOW = 'This fork cannot be created right now';
const LIST = '/api/settings/get';

describe('beside ST-Auto-Recap', () => {
    const scenario = withSettings(stage({ extensions: { 'ST-Auto-Recap': double } }));

    // ---- The queue ----

    scenario('an operation that is not in the lorebook yet stands in the way, too', {}, async ({ page, files, story }) => {
        const tale = await story.begin({ book: idle() });
        await page.open(tale);
        await page.save();
        await page.raw.evaluate(() => globalThis.recapOperations.push({ id: 'op_1', type: 'combine_scene', status: 'pending' }));
        await page.messageAction(5, '.mes_create_branch');
        const shown = await dialog(page, CANNOT_NOW);
        assert.match(await shown.textContent(), /ST-Auto-Recap is still working: 1 operation left/);
        await pressInDialog(page, 'Create when ready');
        await page.settle();
        assert.deepEqual(files.chats(tale), [tale.chat], 'it still runs');
        await page.raw.evaluate(() => { globalThis.recapOperations.length = 0; });
        await files.chatWhen(tale, `${tale.chat} - Branch #1`);
    });

    scenario('what it keeps by the name of a chat in its settings follows to a child, and to another name', {}, async ({ page, files, story }) => {
        const tale = await story.begin({ book: idle() });
        await page.open(tale);
        await page.raw.evaluate(async (chat) => {
            const { extension_settings } = await import('/scripts/extensions.js');
            Object.assign(extension_settings.auto_recap_memory, {
                chats_enabled: { [chat]: true, other: false },
                chat_profiles: { [chat]: 'Long stories' },
                chat_sticky_presets: { [chat]: 'Mine' },
            });
        }, tale.chat);
        const kept = (chat) => page.raw.evaluate(async (chat) => {
            const { extension_settings: { auto_recap_memory: memory } } = await import('/scripts/extensions.js');
            return [memory.chats_enabled[chat], memory.chat_profiles[chat], memory.chat_sticky_presets[chat], memory.chat_strip_patterns?.[chat]];
        }, chat);
        const child = await page.branchByButton(5);
        assert.deepEqual(await kept(child), [true, 'Long stories', 'Mine', undefined]);
        const name = `${tale.chat} renamed`;
        await page.renameChat(child, name);
        await files.chatWhen(tale, name);
        await page.settle();
        assert.deepEqual(await kept(name), [true, 'Long stories', 'Mine', undefined]);
        assert.deepEqual(await kept(tale.chat), [true, 'Long stories', 'Mine', undefined]);
    });

    for (const kind of ['checkpoint', 'branch']) {
        scenario(`a busy queue stands in the way of the ${kind} button, which is carried out when it is empty`, {}, async (given) => {
            const { page, files, story } = given;
            const tale = await story.begin({ book: busy() });
            await page.open(tale);
            await page.save();
            const before = lookAround(files, tale);

            await page.messageAction(5, kind === 'branch' ? '.mes_create_branch' : '.mes_create_bookmark');
            const shown = await dialog(page, CANNOT_NOW);
            assert.match(await shown.textContent(), /ST-Auto-Recap is still working: 1 operation left/);
            await decline(page);
            assert.deepEqual(files.chats(tale), [tale.chat], 'no fork, when that is the answer');

            await page.messageAction(5, kind === 'branch' ? '.mes_create_branch' : '.mes_create_bookmark');
            await dialog(page, CANNOT_NOW);
            await pressInDialog(page, 'Create when ready');
            await page.saveBook(tale.book, busy('retrying'));
            await page.settle();
            assert.deepEqual([files.chats(tale), files.books()], [[tale.chat], before.books], 'it is not empty yet');

            await page.saveBook(tale.book, idle());
            if (kind === 'checkpoint') {
                await page.answer('When ready');
            }
            const child = kind === 'checkpoint' ? 'When ready' : `${tale.chat} - Branch #1`;
            await files.chatWhen(tale, child);
            await notice(page, kind === 'branch' ? /Branch created/ : /Checkpoint created/, 'success');
            await page.settle();

            const fork = { child, kind, message: 5 };
            assertForked(files, tale, { ...before, bookText: files.book(tale.book).text }, fork);
            assertOwnLore(files, tale, before, { ...fork, book: idle() });
        });
    }

    const policies = [
        {
            whenBusy: 'wait',
            name: 'waits until it is empty',
            meanwhile: async ({ page, files, tale }) => {
                await until('Forklore to have looked at the queue', () => page.watch.posts.some(({ endpoint }) => endpoint === LIST));
                await page.settle();
                assert.deepEqual(files.chats(tale), [tale.chat]);
                await page.saveBook(tale.book, idle());
            },
            own: idle,
            parents: idle,
        },
        { whenBusy: 'wait', waitSeconds: 1, name: 'waits no longer than it may', own: null, parents: () => busy() },
        { whenBusy: 'drain', name: 'skips pending work', own: () => idle(), parents: () => busy() },
        { whenBusy: 'without', name: 'makes the fork without a book', own: null, parents: () => busy() },
    ];

    for (const { whenBusy, waitSeconds = 120, name, meanwhile, own, parents } of policies) {
        scenario(`/checkpoint-create with a busy queue ${name}`, { settings: { whenBusy, waitSeconds } }, async ({ page, files, story }) => {
            const tale = await story.begin({ book: busy() });
            await page.open(tale);
            await page.save();
            const before = lookAround(files, tale);
            page.watch.clear();

            const made = page.checkpointByCommand(5, { name: `Made of ${tale.chat}` });
            await meanwhile?.({ page, files, tale });
            const child = await made;

            assertSameBook(files.book(tale.book).value, parents());
            const fork = { child, kind: 'checkpoint', message: 5 };
            assertForked(files, tale, { ...before, bookText: files.book(tale.book).text }, fork);
            if (own) {
                assertOwnLore(files, tale, before, { ...fork, book: own() });
            } else {
                const { metadata } = files.chat(tale, child);
                assert.equal(metadata.world_info, undefined);
                assert.equal(metadata.forklore.book, null);
                assert.deepEqual(files.books(), before.books);
                await notice(page, /Checkpoint created without a lorebook/, 'warning');
            }
        });
    }

    // ---- Scenes ----

    for (const kind of ['checkpoint', 'branch']) {
        scenario(`a ${kind} at a scene break is the memory of that scene`, {}, async (given) => {
            const { page, files } = given;
            const { tale, scenes } = await withTwoScenes(given);
            const before = lookAround(files, tale);
            const { end, lore } = scenes[0];

            const child = kind === 'branch' ? await page.branchByButton(end) : await page.checkpointByButton(end);

            assert.deepEqual(await doubleDid(page), [], 'the fork is ours');
            const { metadata, messages } = files.chat(tale, child);
            const own = metadata.world_info;
            assertOwnLore(files, tale, before, { child, kind, message: end, book: lore, part: { exactness: 'settled', source: 'journal' } });

            // Its data refers to its own book, and ends with that scene.
            assert.equal(metadata.auto_lorebooks.lorebookName, own);
            assert.deepEqual(Object.keys(metadata.auto_lorebooks.registry.index), ['1', '2']);
            const { versions } = before.parent.metadata.auto_recap_running_scene_recaps;
            assert.deepEqual(metadata.auto_recap_running_scene_recaps, { chat_id: child, current_version: 0, versions: [versions[0]] });
            const snapshot = messages[end].extra.auto_recap_memory.scene_recap_metadata[1];
            assert.equal(snapshot.chatLorebookName, own);
            assert.deepEqual([...new Set([...snapshot.allEntries, ...snapshot.entries].map(({ world }) => world))], [own]);
            const renamed = JSON.parse(JSON.stringify(before.parent.messages.slice(0, end + 1)).replaceAll(`"${tale.book}"`, JSON.stringify(own)));
            assert.deepEqual(messages.map(withoutJournal), renamed.map(withoutJournal), 'and nothing else in the messages');

            // The parent's is unchanged.
            const parent = files.chat(tale);
            assert.deepEqual(parent.metadata, before.parent.metadata);
            const linked = before.parent.messages.map(withoutJournal);
            if (kind === 'checkpoint') {
                linked[end].extra.bookmark_link = child;
            }
            assert.deepEqual(parent.messages.map(withoutJournal), linked);
            assert.equal(files.book(tale.book).text, before.bookText);

            await (kind === 'checkpoint' ? lookingAt(page, () => page.switchTo(child)) : null);
            assert.equal((await page.current()).book, own);
            assert.deepEqual(said(page), [], 'nothing to complain of');
        });
    }

    scenario('forks only at scene breaks, if that is wanted', { settings: { requireScene: true } }, async (given) => {
        const { page, files } = given;
        const { tale, scenes } = await withTwoScenes(given);
        const before = lookAround(files, tale);

        await page.messageAction(scenes[0].end + 1, '.mes_create_bookmark');
        const shown = await dialog(page, 'This message cannot be forked');
        assert.match(await shown.textContent(), /is not a scene break/);
        await decline(page);
        assert.deepEqual([files.chats(tale), files.books()], [before.chats, before.books]);

        const child = await page.checkpointByButton(scenes[0].end);
        assertOwnLore(files, tale, before, { child, kind: 'checkpoint', message: scenes[0].end, book: scenes[0].lore, part: { exactness: 'settled', source: 'journal' } });
    });

    scenario('a checkpoint is put at every scene break that has its recap', { settings: { checkpointAtScenes: true } }, async (given) => {
        const { page, files, story } = given;
        const tale = await story.begin({ book: idle(), messages: 4 });
        await page.open(tale);
        await page.sendAs(tale.speaker, 'the scene ends');
        await page.settle();
        const extra = sceneBreak({ name: 'Harbour', start: 0, end: 4, book: idle(), bookName: tale.book });
        const { scene_break, scene_break_visible, scene_break_name } = extra.auto_recap_memory;

        await remember(page, 4, { auto_recap_memory: { scene_break, scene_break_visible, scene_break_name } });
        await page.settle();
        assert.deepEqual(files.chats(tale), [tale.chat], 'there is no recap yet');

        await page.saveBook(tale.book, busy());
        await remember(page, 4, extra);
        await page.settle();
        assert.deepEqual(files.chats(tale), [tale.chat], 'the queue is not empty');

        await page.saveBook(tale.book, idle());
        const child = 'Scene 1 - Harbour 0-4';
        const { messages } = await files.chatWhen(tale, tale.chat, (chat) => chat.messages[4].extra.bookmark_link);
        assert.equal(messages[4].extra.bookmark_link, child);
        await notice(page, /Checkpoint created/, 'success');
        await page.settle();
        assertSameBook(files.book(files.chat(tale, child).metadata.world_info).value, idle());

        await page.send('the story goes on');
        await page.settle();
        assert.deepEqual(files.chats(tale).sort(), [child, tale.chat].sort(), 'once is enough');
        assert.equal((await page.current()).chat, tale.chat);
    });

    // ---- What it does on its own ----

    for (const kind of ['checkpoint', 'branch']) {
        scenario(`it makes and rebinds the ${kind} itself where Forklore is off`, { settings: { isolate: false } }, async (given) => {
            const { page, files } = given;
            const { tale, scenes } = await withTwoScenes(given);
            await page.messageAction(scenes[0].end, kind === 'branch' ? '.mes_create_branch' : '.mes_create_bookmark');
            if (kind === 'checkpoint') {
                await page.answer();
            }
            const [child] = await until('the double to have made it', async () => (await doubleDid(page)).length && doubleDid(page));
            await page.settle();
            assert.match(files.chat(tale, child).metadata.world_info, /^z-AutoLB-/, 'or the other scenarios prove nothing');
        });
    }

    scenario('the book that it deletes with a parent is never a child’s', {}, async ({ page, files, story }) => {
        const { tale, child, own } = await withItsOwnBook({ page, files, story });
        const { text } = files.book(own);
        await page.switchTo(child);

        await page.deleteChat(tale.chat);

        assert.deepEqual(await page.raw.evaluate(() => globalThis.recapDouble.deleted), [tale.book]);
        assert.deepEqual(files.chats(tale), [child]);
        assert.equal(files.book(own).text, text);
        assert.equal((await page.current()).book, own);
    });

    scenario('a deleted child’s book is in the trash whatever it deletes', {}, async ({ page, files, story }) => {
        const { tale, child, own } = await withItsOwnBook({ page, files, story });
        const { text } = files.book(own);

        await page.deleteChat(child);

        await notice(page, /was deleted\. Its lorebook is in the trash/);
        assert.deepEqual([files.books().includes(own), files.books().includes(tale.book)], [false, true]);
        await pressNotice(page, /was deleted\. Its lorebook/, 'Put the lorebook back');
        await notice(page, /1 lorebook was restored/);
        assert.equal(files.book(own).text, text);
    });

    for (const when of ['at once', 'later']) {
        for (const whose of ['a main chat', 'a sealed child']) {
            const nightly = (when === 'later') === (whose === 'a main chat') && 'both chats and both times run for every change';
            scenario(`a missing book of ${whose} that it replaced ${when} can still be had back`, { nightly }, async (given) => {
                const { page, files } = given;
                const { tale, truth } = await withLostBook(given, whose);
                await page.raw.evaluate((when) => {
                    globalThis.recapDouble.replaced.length = 0;
                    globalThis.recapDouble.replacesAtOnce = when === 'at once';
                }, when);

                await lookingAt(page, () => page.open(tale));
                if (when === 'later') {
                    await notice(page, /The lorebook “.*” of this chat is missing/);
                    await page.raw.evaluate(() => globalThis.recapDouble.replaceMissingBook());
                }
                assert.deepEqual(await page.raw.evaluate(() => globalThis.recapDouble.replaced), [tale.book]);
                const instead = (await page.current()).book;
                assert.notEqual(instead, tale.book);
                await page.save();

                await pressNotice(page, /The lorebook “.*” of this chat is missing/, 'Repair…');
                await dialog(page, 'The lorebook of this chat is missing');
                await choose(page, 'journal');
                await agree(page);

                await notice(page, /was restored: 4 entries/, 'success');
                await page.settle();
                assertSameBook(files.book(tale.book).value, truth);
                const { metadata } = files.chat(tale);
                assert.deepEqual([metadata.world_info, metadata.auto_lorebooks.lorebookName], [tale.book, tale.book]);
                assert.equal((await page.current()).book, tale.book);
                assert.ok(files.books().includes(instead), 'what it made is its own affair');
                const findings = await lookingAt(page, () => page.switchTo(tale.chat));
                assert.deepEqual(findings.filter(({ problem }) => problem), []);
            });
        }
    }

    /** A chat bound to the book named by its template, with a checkpoint. */
    async function withItsOwnBook({ page, files, story }) {
        const begun = await story.begin({ book: null });
        const tale = { ...begun, book: `z-AutoLB-${begun.chat}-${begun.chat}` };
        const { messages } = files.chat(tale);
        story.writeBook(tale.book, idle());
        story.writeChat(tale, tale.chat, { messages, metadata: { world_info: tale.book } });
        await page.open(tale);
        await page.raw.evaluate(() => { globalThis.recapDouble.deleted.length = 0; });
        const child = await page.checkpointByButton(5);
        const own = files.chat(tale, child).metadata.world_info;
        assert.ok(!own.startsWith('z-AutoLB-'));
        page.watch.clear();
        return { tale, child, own };
    }

    /** A chat that was written in the page and whose book was deleted; another chat is open. */
    async function withLostBook({ page, files, story }, whose) {
        let tale = await story.begin({ book: loreWithGaps() });
        await page.open(tale);
        if (whose === 'a sealed child') {
            const chat = await page.branchByButton(5);
            tale = { ...tale, chat, book: files.chat(tale, chat).metadata.world_info };
        }
        await page.send('we wait at the quay');
        // Only the record of the last message has this.
        const truth = files.book(tale.book).value;
        truth.entries[0].content = 'Captain without a ship.';
        await page.saveBook(tale.book, truth);
        await page.save();
        await page.open(await story.begin({ book: null }));
        await page.raw.evaluate(async (book) => {
            const { deleteWorldInfo } = await import('/scripts/world-info.js');
            await deleteWorldInfo(book);
        }, tale.book);
        await page.settle();
        page.watch.clear();
        return { tale, truth };
    }
});

// ---- Helpers ----

/** A book with a registry and a queue. */
function lore(operations, more = []) {
    const people = [{ uid: 1, name: 'character-Mara', aliases: ['cap'] }];
    const places = more.map(({ uid, comment }) => ({ uid, name: comment }));
    return book([
        registryEntry(0, 'character', people),
        entry(1, { comment: 'character-Mara', content: 'Captain of the Gull.' }),
        ...more,
        registryEntry(10, 'location', places),
        queueEntry(operations),
    ]);
}

function busy(status = 'pending') {
    return lore([operation(1, status, { index: 4 })]);
}

function idle() {
    return lore([]);
}

/**
 * A chat of two scenes, written in the page. As with ST-Auto-Recap, the lore of a scene is only complete when the next
 * message is already there.
 */
async function withTwoScenes({ page, files, story }) {
    const start = idle();
    const tale = await story.begin({ book: start, messages: 2 });
    const scenes = [
        { name: 'Harbour', start: 0, end: 2, lore: lore([], [entry(2, { comment: 'location-Quay' })]) },
        { name: 'At sea', start: 3, end: 5, lore: lore([], [entry(2, { comment: 'location-Quay' }), entry(3, { comment: 'location-Reef' })]) },
    ];
    await page.open(tale);
    await page.raw.evaluate(() => { globalThis.recapDouble.forked.length = 0; });
    for (const [at, { name, start, end, lore }] of scenes.entries()) {
        if (at > 0) {
            await page.send('on they go');
        }
        await page.sendAs(tale.speaker, `${name} ends`);
        await page.send('and then');
        await page.saveBook(tale.book, lore);
        const extra = sceneBreak({ name, start, end, book: lore, bookName: tale.book });
        const registry = Object.values(lore.entries)
            .filter(({ comment }) => /^(character|location)-/.test(comment))
            .map(({ uid, comment }) => ({ uid, type: comment.split('-')[0], name: comment, aliases: uid === 1 ? ['cap'] : [] }));
        const metadata = recapMetadata({ chat: tale.chat, bookName: tale.book, scenes: scenes.slice(0, at + 1), registry });
        await remember(page, end, extra, metadata);
    }
    await page.save();
    await files.chatWhen(tale, tale.chat, ({ messages }) => messages.every(({ forklore }, at) => at < 1 || forklore));
    page.watch.clear();
    return { tale, scenes };
}

/** Writes ST-Auto-Recap's data to a message and the metadata, and saves the chat. */
async function remember(page, message, extra, metadata = {}) {
    await page.raw.evaluate(async ({ message, extra, metadata }) => {
        const { chat, chatMetadata, saveChat } = SillyTavern.getContext();
        chat[message].extra = { ...chat[message].extra, ...extra };
        Object.assign(chatMetadata, metadata);
        await saveChat();
    }, { message, extra, metadata });
}

function doubleDid(page) {
    return page.raw.evaluate(() => globalThis.recapDouble.forked);
}
