// Forks beside the real ST-Auto-Recap, which keeps working through SillyTavern's real backend with a fake model behind
// it.
//
//   FORKLORE_AUTO_RECAP=/its/folder node --test e2e/neighbours/auto_recap.test.mjs

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { decline, dialog, lookingAt, pressInDialog, withSettings } from '../harness/forklore.mjs';
import { lookAround, withoutJournal } from '../harness/forks.mjs';
import { operation, queueEntry, recapMetadata, registryEntry, sceneBreak } from '../harness/recap.mjs';
import { stage } from '../harness/scenario.mjs';
import { until } from '../harness/until.mjs';
import { holdRequest } from '../harness/wire.mjs';
import {
    combine, editRunningRecap, idle, listedIn, loreOf, memoryOf, missing, prepare, queueOf, scene, sceneBreaks, serverWith, turn, turnWithoutWaiting,
} from './auto_recap.mjs';
import { PARTING, RecapModel, fact } from './recap_model.mjs';

const KINDS = ['branch', 'checkpoint'];
const FIRST_SCENE = { 'character-Mara': 'Mara: trunk-1', 'location-Quay': 'Quay: trunk-1' };
const RECAP = 'auto_recap_running_scene_recaps';
/** In milliseconds, for all its work while two tests run on one machine. */
const WORK = { within: 120_000 };

if (missing) {
    test('beside the real ST-Auto-Recap', { skip: missing }, () => {});
} else {
    const model = await RecapModel.start();

    describe('beside the real ST-Auto-Recap', () => {
        const scenario = withSettings(stage(serverWith(model)));
        const inStory = taleOf(twoScenes);

        /**
         * Returns the function that adds scenarios of one story. The story continues in each of them, and starts over
         * after one that failed.
         */
        function taleOf(tell, settings = {}) {
            let told;
            return (name, options, act) => scenario(name, options, async (given) => {
                const { page } = given;
                await prepare(page, settings);
                const tale = told ?? await tell(given);
                told = undefined;
                await reopen(page, tale);
                page.watch.clear();
                await act({ ...given, tale });
                told = tale;
            });
        }

        // ---- Where a story is forked ----

        const places = [
            { where: 'the last message', at: ({ last }) => last, lore: ({ book }) => loreOf(book) },
            { where: 'a scene break', at: () => 2, lore: () => FIRST_SCENE },
            { where: 'a message between two scenes', at: () => 5, lore: () => FIRST_SCENE },
        ];

        for (const { where, at, lore } of places) {
            for (const kind of KINDS) {
                inStory(`a ${kind} at ${where} has its own memory, and both stories go on`, {}, async (given) => {
                    const { page, files, tale } = given;
                    const before = lookAround(files, tale);
                    const message = at({ last: before.parent.messages.length - 1 });
                    const expected = lore({ book: JSON.parse(before.bookText) });

                    const child = await fork(page, kind, message);

                    judge(files, tale, before, { child, kind, message, lore: expected });
                    await goOn(given, { child, tag: `${kind}-${message}` });
                });
            }
        }

        // ---- While it is busy ----

        for (const { kind, name, justDone } of [
            ...KINDS.map((kind) => ({ kind, name: `a ${kind} while its queue works is made when the queue is empty` })),
            { kind: 'checkpoint', name: 'a checkpoint made when its queue is empty costs the parent nothing', justDone: 'is judged' },
            { kind: 'branch', name: 'a branch made when its queue is empty costs the parent nothing', justDone: 'is judged' },
        ]) {
            inStory(name, { freshPage: Boolean(justDone) }, async (given) => {
                const { page, files, tale } = given;
                const tag = `busy-${kind}-${justDone ?? ''}`;
                await turn(page, model, `And then ${fact('character', 'Mara', tag)}`, `So it was. ${PARTING}`);
                const end = (await page.current()).messages - 1;
                model.hold('organize');
                await turnWithoutWaiting(page, model, 'What now?', 'Another day begins.');
                await model.holding();
                const before = lookAround(files, tale);
                const { queue: working, current_operation_id: current } = queueOf(JSON.parse(before.bookText));
                assert.deepEqual(working.map(({ id, type, status }) => [id, type, status]), [[current, 'organize_scene_recap', 'in_progress']]);

                // SillyTavern hides the buttons of the last message in the meantime.
                const message = end;
                const button = kind === 'branch' ? '.mes_create_branch' : '.mes_create_bookmark';
                for (const answer of ['no', 'Create when ready']) {
                    await page.messageAction(message, button);
                    const shown = await dialog(page, 'This fork cannot be created right now');
                    assert.match(await shown.textContent(), /ST-Auto-Recap is still working: 1 operation left/);
                    await (answer === 'no' ? decline(page) : pressInDialog(page, answer));
                    assert.deepEqual([files.chats(tale), files.books()], [before.chats, before.books]);
                }
                if (justDone === 'is judged') {
                    await slowToSave(page);
                }
                model.release();
                if (kind === 'checkpoint') {
                    await page.dialog().locator('.popup-input').waitFor({ timeout: WORK.within });
                    await page.confirm();
                }
                const child = await until('the fork', () => files.chats(tale).find((name) => !before.chats.includes(name)), WORK);
                if (kind === 'branch') {
                    await until('the branch to be open', async () => (await page.current()).chat === child);
                }
                await idle(page);

                const parent = files.chat(tale);
                if (justDone === 'is judged') {
                    const ofScene = (chat) => memoryOf(files.chat(tale, chat).messages[end]).scene_recap_metadata?.[1] ?? {};
                    const counted = ({ allEntries = [], combined_at: combined }) => ({ entries: allEntries.length, combined });
                    assert.deepEqual(counted(ofScene(tale.chat)), counted(ofScene(child)), 'the parent has what ST-Auto-Recap did just before, as the child has');
                    assert.ok(ofScene(tale.chat).combined_at);
                    return;
                }
                const bookText = files.book(tale.book).text;
                assert.ok(bookText.includes(tag));
                judge(files, tale, { ...before, parent, bookText }, { child, kind, message, lore: loreOf(JSON.parse(bookText)), linked: true });
                await goOn(given, { child, tag: `${kind}-busy` });
            });
        }

        inStory('a checkpoint is one although the parent is saved while it is made', {}, async ({ page, files, tale }) => {
            const list = await holdRequest(page, '/api/settings/get');
            const made = page.checkpointByCommand(2, { name: `Meanwhile of ${tale.chat}` });
            await list.reached();
            // As ST-Auto-Recap does, a second after its queue is empty.
            await page.raw.evaluate(async () => {
                const { eventSource, eventTypes, saveChat } = SillyTavern.getContext();
                const saved = new Promise((resolve) => eventSource.once(eventTypes.ITEMIZED_PROMPTS_SAVED, resolve));
                await Promise.all([saveChat(), saved]);
            });
            await list.letGo();
            assert.equal(files.chat(tale, await made).metadata.forklore.kind, 'checkpoint');
        });

        // ---- What was changed afterwards ----

        for (const how of ['by its function', 'by its editor']) {
            for (const kind of how === 'by its editor' ? ['branch'] : KINDS) {
                inStory(`a ${kind} at a scene before the one whose running recap was edited ${how}`, {}, async (given) => {
                    const { page, files, tale } = given;
                    const { versions } = files.chat(tale).metadata[RECAP];
                    await editRunningRecap(page, how, `[Edit] later-${kind}`);
                    const before = lookAround(files, tale);
                    const [edit, ...more] = before.parent.metadata[RECAP].versions.slice(versions.length);
                    assert.deepEqual([edit.new_scene_index, more], [versions.at(-1).new_scene_index, []], 'it is a version of the same scene');

                    const child = await fork(page, kind, 2);

                    judge(files, tale, before, { child, kind, message: 2, lore: FIRST_SCENE });
                    await goOn(given, { child, tag: `${kind}-edited-${how.split(' ').at(-1)}` });
                });
            }
        }

        for (const kind of KINDS) {
            inStory(`a ${kind} at a message before the running recap was edited has the recap of then`, {}, async (given) => {
                const { page, files, tale } = given;
                const { parent, bookText } = lookAround(files, tale);
                const message = parent.messages.length - 1;
                await turn(page, model, 'Shall we?', 'We shall.');
                await editRunningRecap(page, 'by its function', `[Edit] afterwards-${kind}`);
                const before = lookAround(files, tale);
                const edit = before.parent.metadata[RECAP].versions.at(-1);
                assert.ok(edit.content.endsWith(`[Edit] afterwards-${kind}`));
                assert.equal(edit.new_scene_index, parent.metadata[RECAP].versions.at(-1).new_scene_index, 'it is a version of the same scene');

                const child = await fork(page, kind, message);

                judge(files, tale, before, { child, kind, message, lore: loreOf(JSON.parse(bookText)), versions: ({ version }) => version !== edit.version });
                await goOn(given, { child, tag: `${kind}-before-edit` });
            });
        }

        const uncombined = taleOf(twoScenes, { running_scene_recap_auto_generate: false });

        for (const { where, message, lore } of [
            { where: 'after', message: 5, lore: FIRST_SCENE },
            // A later *Combine* overwrites the snapshot that marks the end of a scene.
            { where: 'at', message: 2, lore: {} },
        ]) {
            for (const kind of KINDS) {
                uncombined(`a ${kind} ${where} a scene that was combined later has the lore of its message`, {}, async (given) => {
                    const { page, files, tale } = given;
                    const snapshot = () => memoryOf(files.chat(tale).messages[2]).scene_recap_metadata[1];
                    const first = snapshot();
                    if (!first.combined_at) {
                        await combine(page, 2);
                        const names = ({ allEntries }) => allEntries.map(({ comment }) => comment);
                        assert.ok(!names(first).includes('location-Reef') && names(snapshot()).includes('location-Reef'), 'it is overwritten');
                        assert.equal(snapshot().timestamp, first.timestamp);
                    }
                    const before = lookAround(files, tale);

                    const child = await fork(page, kind, message);

                    judge(files, tale, before, { child, kind, message, lore });
                    await prepare(page);
                    await goOn(given, { child, tag: `${kind}-combined-${message}` });
                });
            }
        }

        // ---- What it does in between ----

        // Recaps only contain their own scene, even if they were made after the message. The lorebook is that of the
        // message.
        for (const kind of KINDS) {
            inStory(`a ${kind} after a scene whose lore was not written yet has its recap, and not its lore`, {}, async ({ page, files, tale }) => {
                const child = await fork(page, kind, 7);
                const { metadata, messages } = files.chat(tale, child);
                assert.ok(!files.book(metadata.world_info).text.includes('trunk-2'));
                assert.ok(JSON.stringify(metadata[RECAP]).includes('trunk-2'));
                assert.ok(memoryOf(messages[6]).scene_recap_memory.includes('trunk-2'));
            });
        }

        inStory('lore that stays active for a few messages stays so in a branch', {}, async ({ page, files, tale }) => {
            await turn(page, model, 'Hello Mara.', 'Hello.');
            assert.deepEqual(await sticking(page), ['character-Mara'], 'or this proves nothing');
            const child = await fork(page, 'branch', (await page.current()).messages - 1);
            const { timedWorldInfo, world_info: own } = files.chat(tale, child).metadata;
            assert.deepEqual(Object.keys(timedWorldInfo.sticky).map((key) => key.replace(/\.\d+$/, '')), [own]);
            assert.deepEqual(await sticking(page), ['character-Mara']);
        });

        // The model names Mara's entry, as the prompt asks, and finds that Quayside is Quay.
        const withLeftovers = taleOf(async (given) => {
            model.namesUids = true;
            return twoScenes(given, fact('location', 'Quayside', 'trunk-2')).finally(() => { model.namesUids = false; });
        });

        withLeftovers('entries that it leaves under way for ever do not stand in the way', {}, async (given) => {
            const { page, files, tale } = given;
            const { pendingOps } = files.chat(tale).metadata.autoLorebooks;
            assert.deepEqual(Object.values(pendingOps).map(({ entryData }) => entryData.comment), ['character-Mara'], 'or this proves nothing');
            assert.deepEqual(queueOf(files.book(tale.book).value).queue, []);
            await fork(page, 'branch', 8);
        });

        withLeftovers('a registry that knows an entry by the name of what was merged into it is no problem', {}, async ({ page, files, story, tale }) => {
            const { uid } = Object.values(files.book(tale.book).value.entries).find(({ comment }) => comment === 'location-Quay');
            assert.ok(listedIn(files.book(tale.book).value).some(([other, name]) => other === String(uid) && name === 'location-Quayside'), 'or this proves nothing');
            await page.open(await story.begin({ messages: 1 }));
            const findings = await lookingAt(page, () => page.open(tale));
            assert.deepEqual(findings.filter(({ problem }) => problem), []);
        });

        const shownMeanwhile = taleOf(async ({ page, files, story }) => {
            const begun = await story.begin({ messages: 1 });
            await page.open(begun);
            await turn(page, model, `And then ${fact('character', 'Mara', 'trunk-1')}`, `So it was. ${PARTING}`);
            const tale = { ...begun, book: files.chat(begun).metadata.world_info };
            model.hold('extract');
            await turnWithoutWaiting(page, model, 'What now?', 'Another day begins.');
            await model.holding();
            await loadInEditor(page, tale.book);
            model.release();
            await idle(page);
            return tale;
        });

        shownMeanwhile('a branch at a scene break has the lore of the scene, although SillyTavern’s editor has completed entries since', {}, async ({ page, files, tale }) => {
            const registries = Object.values(files.book(tale.book).value.entries).filter(({ comment }) => comment.startsWith('_registry_'));
            assert.ok(registries.every((entry) => 'displayIndex' in entry), 'or this proves nothing');
            const child = await fork(page, 'branch', 2);
            assert.deepEqual(loreOf(files.book(files.chat(tale, child).metadata.world_info).value), { 'character-Mara': 'Mara: trunk-1' });
        });

        // ---- Our stand-in ----

        // A story of its own: if SillyTavern's editor is the first to load a lorebook in a page, it adds the fields that an
        // entry lacks, and the next save writes them. A lorebook that was made in this page is not loaded by it.
        const justTold = taleOf(twoScenes);

        justTold('the stand-in for it writes its forms', {}, async ({ page, files, tale }) => {
            await turn(page, model, `And then ${fact('character', 'Mara', 'forms')}`, `So it was. ${PARTING}`);
            const index = (await page.current()).messages - 1;
            model.hold('extract');
            await turnWithoutWaiting(page, model, 'What now?', 'Another day begins.');
            await model.holding();
            const busy = queueOf(files.book(tale.book).value);
            model.release();
            await idle(page);
            const { metadata, messages } = files.chat(tale);
            const book = files.book(tale.book).value;
            const entries = Object.values(book.entries);
            const titled = (title) => entries.find(({ comment }) => comment === title);

            const working = operation(1, 'in_progress', { index });
            const standIn = queueEntry([working], { current: working.id });
            assert.deepEqual(differences(titled('__operation_queue'), standIn), []);
            assert.deepEqual(differences(busy, JSON.parse(standIn.content)), []);
            assert.equal(titled('__operation_queue').content, queueEntry().content);

            const { index: known } = metadata.auto_lorebooks.registry;
            const characters = Object.values(known).filter(({ type }) => type === 'character');
            const registry = titled('_registry_character');
            assert.deepEqual(differences(registry, registryEntry(registry.uid, 'character', characters)), []);
            assert.equal(registry.content, registryEntry(registry.uid, 'character', characters).content);

            const scenes = sceneBreaks(messages).map((end, at, all) => ({ start: at ? all[at - 1] + 1 : 0, end }));
            const ours = recapMetadata({ chat: tale.chat, bookName: tale.book, scenes, registry: Object.values(known) });
            assert.deepEqual(ours.auto_lorebooks.registry, metadata.auto_lorebooks.registry);
            for (const key of Object.keys(ours)) {
                assert.deepEqual(differences(metadata[key], ours[key], key), []);
            }

            const memory = memoryOf(messages[2]);
            const { auto_recap_memory: remembered } = sceneBreak({ name: 'Of trunk-1', start: 0, end: 2, book, bookName: tale.book });
            assert.deepEqual(differences(memory, remembered), []);
            assert.deepEqual(differences(JSON.parse(memory.scene_recap_memory), JSON.parse(remembered.scene_recap_memory)), []);
            assert.equal(remembered.scene_break_name, memory.scene_break_name);
        });

        inStory('a child’s index of the registries has its form', {}, async ({ page, files, tale }) => {
            const child = await fork(page, 'branch', 2);
            const { index } = files.chat(tale, child).metadata.auto_lorebooks.registry;
            const { index: parents } = files.chat(tale).metadata.auto_lorebooks.registry;
            for (const [uid, item] of Object.entries(index)) {
                assert.deepEqual(differences(item, parents[uid]), []);
                assert.deepEqual([item.id, item.comment], [uid, item.name]);
            }
        });

        inStory('only copies of active lore in a child’s messages name its parent’s lorebook', {}, async ({ page, files, tale }) => {
            const child = await fork(page, 'branch', 2);
            const { metadata, messages } = files.chat(tale, child);
            const isNaming = (value) => typeof value === 'string' && value.includes(tale.book);
            assert.deepEqual(pathsOf({ metadata, messages }, isNaming).filter((path) => !/\/scene_recap_metadata\/\d+\/entries\/\d+\/content$/.test(path)), []);
        });

        test('every prompt that it has for a story was asked', () => {
            const never = ['scene break', 'extract', 'organize', 'filter recap', 'filter entities', 'running recap', 'lookup', 'deduplicate', 'merge']
                .filter((kind) => !model.answered.includes(kind));
            assert.deepEqual(never, []);
        });
    });

    // ---- The story ----

    /** Messages 0 to 8: scenes end at 2 and 6, and are processed at 4 and 8. */
    async function twoScenes({ page, files, story }, ...more) {
        const begun = await story.begin({ messages: 1 });
        await page.open(begun);
        const ends = [
            await scene(page, model, [fact('character', 'Mara', 'trunk-1'), fact('location', 'Quay', 'trunk-1')]),
            // Mara is known, and the storm is over.
            await scene(page, model, [fact('character', 'Mara', 'trunk-2'), fact('location', 'Reef', 'trunk-2'), fact('resolved', 'Storm', 'trunk-2'), ...more]),
        ];
        const tale = { ...begun, book: files.chat(begun).metadata.world_info };
        assert.deepEqual(sceneBreaks(files.chat(tale).messages), ends);
        return tale;
    }

    async function fork(page, kind, message) {
        if (kind === 'branch') {
            return page.branchByButton(message);
        }
        // A message that has a checkpoint has no button for another one.
        const link = await page.raw.locator(`.mes[mesid="${message}"]`).getAttribute('bookmark_link');
        return link ? page.checkpointByFlag(message) : page.checkpointByButton(message);
    }

    /** One more scene in the child and then in its parent: neither gets anything of the other's. */
    async function goOn({ page, files, tale }, { child, tag }) {
        const own = files.chat(tale, child).metadata.world_info;
        const bookOfParent = files.book(tale.book).text;
        const [ofChild, ofParent] = [`child-${tag}`, `parent-${tag}`];
        if ((await page.current()).chat !== child) {
            await openWell(page, child);
        }
        await scene(page, model, [fact('character', 'Mara', ofChild), fact('item', 'Lantern', ofChild)]);
        assert.equal(files.book(tale.book).text, bookOfParent, 'the parent’s lorebook is as it was');

        await openWell(page, tale.chat);
        const bookOfChild = files.book(own).text;
        await scene(page, model, [fact('character', 'Mara', ofParent), fact('item', 'Rope', ofParent)]);
        assert.equal(files.book(own).text, bookOfChild, 'the child’s lorebook is as it was');

        for (const [chat, book, has, hasNot] of [[child, own, ofChild, ofParent], [tale.chat, tale.book, ofParent, ofChild]]) {
            const { metadata, text } = files.chat(tale, chat);
            assert.equal(metadata.world_info, book);
            const lore = loreOf(files.book(book).value);
            assert.ok(lore['character-Mara'].endsWith(`Mara: ${has}`), `Mara in "${chat}" is ${lore['character-Mara']}`);
            assert.equal(lore[chat === child ? 'item-Lantern' : 'item-Rope']?.includes(has), true);
            assert.ok(!files.book(book).text.includes(hasNot), `the lorebook of "${chat}" has lore of another story`);
            assert.ok(!text.includes(hasNot), `"${chat}" has lore of another story`);
            const { versions, current_version: current, chat_id: owner } = metadata[RECAP];
            assert.equal(owner, chat);
            assert.match(versions.find(({ version }) => version === current).content, new RegExp(`\\[Mara\\] ${has}`));
            assertSound(metadata, files.book(book).value);
        }
    }

    /** Shows a lorebook in SillyTavern's editor, which is the first to load it, as it may be after a reload. */
    async function loadInEditor(page, book) {
        await page.raw.evaluate(async (name) => {
            const { worldInfoCache, reloadEditor } = await import('/scripts/world-info.js');
            worldInfoCache.delete(name);
            reloadEditor(name, true);
        }, book);
        await page.raw.locator('#world_popup_entries_list .world_entry').first().waitFor({ state: 'attached' });
    }

    /** Makes the second that the page waits before it saves a chat much longer, relative to everything else, as on a fast machine. */
    const slowToSave = (page) => page.raw.evaluate(() => {
        const { setTimeout } = globalThis;
        globalThis.setTimeout = (act, delay, ...given) => setTimeout(act, delay === 1000 ? 6000 : delay, ...given);
    });

    /** Opens a tale unless it is open; its character may be open already. */
    async function reopen(page, tale) {
        const { chat, avatar } = await page.raw.evaluate(() => {
            const { chatId, characters, characterId } = SillyTavern.getContext();
            return { chat: chatId, avatar: characters[characterId]?.avatar };
        });
        if (chat !== tale.chat) {
            await (avatar === tale.avatar ? page.switchTo(tale.chat) : page.open(tale));
            await idle(page);
        }
    }

    /** Opens a chat in which Forklore finds no problems. */
    async function openWell(page, chat) {
        const findings = await lookingAt(page, () => page.switchTo(chat));
        assert.deepEqual(findings.filter(({ problem }) => problem), []);
        await idle(page);
    }

    /** The entries that stay active although the chat does not mention them. */
    const sticking = (page) => page.raw.evaluate(async () => {
        const { checkWorldInfo } = await import('/scripts/world-info.js');
        const silence = SillyTavern.getContext().chat.filter((message) => !message.is_system).map(() => '…');
        const { allActivatedEntries } = await checkWorldInfo(silence, 8192, false);
        return [...allActivatedEntries].map(({ comment }) => comment).sort();
    });

    // ---- Checks ----

    /** What must be true of the files after a fork. `linked`: `before` was read after the fork had been made. */
    function judge(files, tale, before, { child, kind, message, lore, versions = upTo(message), linked = false }) {
        const { metadata, messages } = files.chat(tale, child);
        const own = metadata.world_info;
        const book = files.book(own).value;

        // Its own book, with the lore of that time.
        assert.deepEqual(files.books(), [...before.books, own].sort());
        assert.ok(!before.books.includes(own));
        assert.deepEqual(loreOf(book), lore);
        assert.deepEqual([metadata.main_chat, metadata.forklore.parent.message], [tale.chat, message]);
        if (!linked) {
            assert.equal(metadata.forklore.kind, kind);
        }
        assert.equal(metadata.auto_lorebooks.lorebookName, own);
        assertSound(metadata, book);

        // The running recap up to that point.
        const all = before.parent.metadata[RECAP];
        const { chat_id: owner, current_version: current, versions: kept } = metadata[RECAP];
        assert.equal(owner, child);
        assert.deepEqual(kept, all.versions.filter(versions));
        assert.equal(current, Math.max(...kept.map(({ version }) => version)));

        // Each scene has its recap, and was combined.
        const scenes = sceneBreaks(messages);
        assert.deepEqual(scenes, sceneBreaks(before.parent.messages).filter((at) => at <= message));
        for (const at of scenes) {
            const { scene_recap_metadata: snapshots, scene_recap_current_index: index } = memoryOf(messages[at]);
            const { combined_at: combined } = memoryOf(before.parent.messages[at]).scene_recap_metadata[index];
            assert.ok(snapshots[index].combined_at ?? combined === undefined, `scene ${at} was combined`);
            assert.equal(snapshots[index].chatLorebookName, own);
            assert.ok(snapshots[index].allEntries.every(({ world }) => world === own));
        }

        // Its messages are its parent's, except for the name of the book. If it is already open, ST-Auto-Recap has
        // unhidden some messages.
        if (!linked) {
            const copied = JSON.stringify(before.parent.messages.slice(0, message + 1)).replaceAll(`"${tale.book}"`, JSON.stringify(own));
            const shown = (message) => ({ ...asItWas(message), is_system: false });
            assert.deepEqual(messages.map(shown), JSON.parse(copied).map(shown));
        }

        // Nothing in it refers to its parent's book.
        assert.deepEqual(pathsOf({ metadata, messages }, (value) => value === tale.book), []);

        // The parent is unchanged.
        const parent = files.chat(tale);
        assert.deepEqual(parent.metadata, before.parent.metadata);
        const expected = before.parent.messages.map(asItWas);
        if (kind === 'checkpoint' && !linked) {
            expected[message].extra.bookmark_link = child;
        }
        assert.deepEqual(parent.messages.map(asItWas), expected);
        assert.equal(files.book(tale.book).text, before.bookText);
    }

    /** A message without its journal and the names of its branches, which SillyTavern writes with the next save. */
    function asItWas(message) {
        const { extra: { branches, ...extra }, ...rest } = withoutJournal(message);
        return { ...rest, extra };
    }

    const upTo = (message) => ({ new_scene_index: end }) => end <= message;

    /** Its queue is empty, and its registries match its entries. */
    function assertSound(metadata, book) {
        const { queue, current_operation_id: current } = queueOf(book);
        assert.deepEqual([queue, current], [[], null], 'the queue');
        assert.deepEqual(metadata.autoLorebooks?.pendingOps ?? {}, {}, 'entries under way');
        const uids = Object.values(book.entries).filter(({ comment }) => comment in loreOf(book)).map(({ uid }) => String(uid));
        const listed = listedIn(book);
        assert.deepEqual(listed.map(([uid]) => uid).sort(), uids.sort(), 'the registries name all entries, and only those');
        const indexed = Object.entries(metadata.auto_lorebooks.registry.index).map(([uid, { name }]) => [uid, name]);
        assert.deepEqual(indexed.sort(), listed.sort(), 'the index is that of the registries');
    }

    /** The paths of all values that match, except in Forklore's own data about the fork. */
    function pathsOf(value, isIt, path = '') {
        if (isIt(value)) {
            return [path];
        }
        const members = value && typeof value === 'object' ? Object.entries(value) : [];
        return members.filter(([key]) => key !== 'forklore').flatMap(([key, member]) =>
            (isIt(key) ? [`${path}/${key}`] : pathsOf(member, isIt, `${path}/${key}`)));
    }

    /** The keys and types in which two values differ; an empty list may be a list of anything. */
    function differences(one, other, path = '') {
        const kindOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value);
        if (kindOf(one) !== kindOf(other)) {
            return [`${path}: ${kindOf(one)}, ours ${kindOf(other)}`];
        }
        if (kindOf(one) === 'list') {
            return one.length && other.length ? differences(one[0], other[0], `${path}/0`) : [];
        }
        if (kindOf(one) !== 'object') {
            return [];
        }
        return [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) => {
            const [has, haveWe] = [key in one, key in other];
            return has && haveWe ? differences(one[key], other[key], `${path}/${key}`) : [`${path}/${key}: ${has ? 'not ours' : 'only ours'}`];
        });
    }
}
