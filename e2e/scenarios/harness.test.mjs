// The harness itself, on a SillyTavern without Forklore. Here, forks share their parent's book: the problem that
// Forklore solves.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { assertForked, lookAround, withoutJournal } from '../harness/forks.mjs';
import { book, entry, loreWithGaps } from '../harness/lore.mjs';
import { checkout } from '../harness/places.mjs';
import { operation, queueEntry, recapMetadata, registryEntry, sceneBreak } from '../harness/recap.mjs';
import { assertNothingUnexpected, stage } from '../harness/scenario.mjs';
import { conversation, reply } from '../harness/story.mjs';
import { until } from '../harness/until.mjs';

const standIn = path.join(checkout, 'e2e/doubles/stand-in');
const plain = stage();
const alone = stage({
    extension: standIn,
    extensions: { 'second-stand-in': standIn },
    requestCompression: true,
    backups: true,
    theme: 'Azure',
});

/** A scenario without Forklore: nothing that we change can change it. */
const scenario = (name, options, act) => alone(name, { nightly: 'it tests SillyTavern and the harness', ...options }, act);

const ways = [
    {
        name: 'the checkpoint button',
        kind: 'checkpoint',
        message: 2,
        make: (page, chat) => page.checkpointByButton(2, { name: `Named in ${chat}` }),
    },
    { name: 'Shift and the flag', kind: 'checkpoint', message: 2, make: (page) => page.checkpointByFlag(2) },
    { name: 'the menu', kind: 'checkpoint', message: 5, make: (page) => page.checkpointByMenu() },
    { name: '/checkpoint-create', kind: 'checkpoint', message: 3, make: (page) => page.checkpointByCommand(3) },
    { name: 'createBranch', kind: 'branch', message: 1, make: (page) => page.branchByImport(1) },
    { name: 'the branch button', kind: 'branch', message: 4, make: (page) => page.branchByButton(4) },
    { name: '/branch-create', kind: 'branch', message: 1, make: (page) => page.branchByCommand(1) },
    { name: 'the swipe picker', kind: 'branch', message: 4, swipe: 1, make: (page) => page.branchBySwipe(4, 1) },
];

for (const group of [false, true]) {
    const place = group ? 'in a group' : 'solo';

    // This server wants gzip; for plain bodies the page has to be told.
    scenario(`every fork is left on its parent's book, ${place}${group ? ', gzipped' : ''}`, {
        group,
        gzip: group,
        nightly: 'it shows what SillyTavern loses',
    }, async ({ page, files, story }) => {
        const messages = (cast) => conversation(6, cast).with(4, reply(4, { ...cast, swipes: 2 }));
        const tale = await story.begin({ book: loreWithGaps(), messages });
        await page.open(tale);
        for (const { name, kind, message, swipe, make } of ways) {
            if ((await page.current()).chat !== tale.chat) {
                await page.switchTo(tale.chat);
            }
            await page.save();
            const before = lookAround(files, tale);
            const child = await make(page, tale.chat);
            const isOpened = kind === 'branch' && name !== 'createBranch';
            assert.equal((await page.current()).chat, isOpened ? child : tale.chat, name);
            assertForked(files, tale, before, { child, kind, message, swipe });
            assert.equal(files.chat(tale, child).metadata.world_info, tale.book, name);
            assert.deepEqual(files.books(), before.books, name);
        }
        const saves = page.watch.posts.filter(({ endpoint }) => /^\/api\/chats\/(group\/)?save$/.test(endpoint));
        assert.ok(saves.length > ways.length);
        assert.ok(saves.every(({ gzip }) => gzip === group));
    });

    scenario(`chats are picked, opened, renamed and deleted, ${place}`, { group }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        assert.equal(await page.pick(tale), tale.chat);
        assert.deepEqual(
            [(await page.current()).book, (await page.current()).messages, (await page.current()).group],
            [tale.book, 6, tale.group],
        );
        const child = await page.checkpointByButton(3);
        assert.equal(child, `${tale.chat} - Checkpoint #1`);
        assert.equal(await page.openCheckpoint(3), child);
        assert.equal(await page.backToParent(), tale.chat);
        assert.equal(await page.openFromList(child), child);
        await page.renameChat(child, `${tale.chat}, renamed`);
        assert.equal((await page.current()).chat, `${tale.chat}, renamed`);
        assert.equal(await page.switchTo(tale.chat), tale.chat);
        assert.deepEqual(files.chats(tale), [tale.chat, `${tale.chat}, renamed`]);
        await page.deleteChat(`${tale.chat}, renamed`);
        assert.deepEqual(files.chats(tale), [tale.chat]);
    });

    scenario(`the name of another chat is refused, ${place}`, {
        group,
        expects: {
            refusedSave: true,
            errors: group ? [/status of 400/, /Group chat could not be saved/] : [/status of 400/],
            toasts: group ? [/Group chat could not be saved/] : [],
        },
    }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        story.writeChat(tale, `Taken by ${tale.name}`, { messages: conversation(2) });
        const taken = files.chat(tale, `Taken by ${tale.name}`).text;
        await page.open(tale);
        if (group) {
            await page.checkpointByCommand(3, { name: `Taken by ${tale.name}` });
        } else {
            await page.checkpointRefused(3, `Taken by ${tale.name}`);
            assert.equal((await page.current()).chat, undefined, 'the page was loaded anew');
        }
        assert.equal(files.chat(tale, `Taken by ${tale.name}`).text, taken);
    });
}

scenario('a solo chat becomes a group chat', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    const chat = await page.convertToGroup();
    const { group } = await page.current();
    assert.deepEqual(files.group({ ...tale, group }).chats, [chat]);
    assert.equal(files.chat({ ...tale, group }, chat).metadata.world_info, tale.book);
});

scenario('messages are sent, and an entry is edited in the editor', {}, async ({ st, page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps(), messages: 2 });
    await page.open(tale);
    await page.send('from the user');
    await page.sendAs(tale.speaker, 'from a character');
    await page.type('/send typed by hand');
    const { messages } = await files.chatWhen(tale, tale.chat, (chat) => chat.messages.length === 5);
    assert.deepEqual(
        messages.slice(2).map(({ name, is_user, mes }) => [name, is_user, mes]),
        [['User', true, 'from the user'], [tale.speaker, false, 'from a character'], ['User', true, 'typed by hand']],
    );

    assert.ok(fs.readdirSync(path.join(st.user, 'backups')).some((name) => name.startsWith('chat_')), 'a backup');

    // The editor also corrects other fields.
    await page.editEntry(tale.book, 5, 'as edited');
    const edited = files.book(tale.book).value;
    const contents = (book) => Object.values(book.entries).map(({ uid, content }) => [uid, content]);
    assert.deepEqual(contents(edited), contents(loreWithGaps()).with(1, [5, 'as edited']));

    edited.entries[7] = entry(7);
    await page.saveBook(tale.book, edited);
    assert.deepEqual(files.book(tale.book).value, edited);

    await page.reload();
    await page.open(tale);
    assert.equal((await page.current()).messages, 5);
});

scenario('what a recap extension wrote survives being opened and saved', {}, async ({ page, files, story }) => {
    const lore = book([
        registryEntry(0, 'character', [{ uid: 1, name: 'character-Mara', aliases: ['cap'] }]),
        entry(1, { comment: 'character-Mara' }),
        queueEntry([operation(1, 'pending', { index: 4 })]),
    ]);
    const extra = sceneBreak({ name: 'Harbour', start: 0, end: 4, book: lore, bookName: 'Lore' });
    const messages = (cast) => conversation(6, cast).with(4, reply(4, { ...cast, extra }));
    const metadata = {
        ...recapMetadata({
            chat: 'Story',
            bookName: 'Lore',
            scenes: [{ start: 0, end: 4 }],
            registry: [{ uid: 1, type: 'character', name: 'character-Mara' }],
        }),
        variables: { gold: 3 },
        timedWorldInfo: { sticky: {}, cooldown: {} },
        note_prompt: 'a note',
    };
    const tale = await story.begin({ book: lore, messages, metadata });
    const before = files.chat(tale);
    await page.open(tale);
    await page.send('one more');
    const after = await files.chatWhen(tale, tale.chat, (chat) => chat.messages.length === 7);
    assert.deepEqual(after.messages.slice(0, 6).map(withoutJournal), before.messages);
    assert.deepEqual({ ...after.metadata, ...before.metadata }, after.metadata);
    assert.equal(after.messages[4].extra.auto_recap_memory.scene_recap_metadata[1].allEntries.length, 2);
});

scenario('the extension under test and others beside it are installed', {}, async ({ page }) => {
    assert.deepEqual((await page.raw.evaluate(() => globalThis.standIns)).sort(), [
        '/scripts/extensions/third-party/forklore/extension/index.js',
        '/scripts/extensions/third-party/second-stand-in/extension/index.js',
    ]);
    assert.equal(await page.raw.evaluate(() => SillyTavern.getContext().powerUserSettings.theme), 'Azure');
});

scenario('on a phone, in Chinese', { viewport: 'phone', locale: 'zh-CN' }, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    assert.equal(await page.raw.evaluate(() => innerWidth), 390);
    assert.equal(await page.raw.locator('#option_select_chat span').textContent(), '管理聊天文件');
    assert.equal(await page.branchByButton(3), `${tale.chat} - Branch #1`);
    assert.equal(files.chat(tale, `${tale.chat} - Branch #1`).messages.length, 4);
});

plain('an error in the console, an error toast and an open dialog fail a scenario', {
    expects: { errors: [/^red \(/, /Error: thrown/], toasts: [/^Title: burnt$/] },
}, async ({ page }) => {
    await page.raw.evaluate(() => {
        console.error('red');
        setTimeout(() => {
            throw new Error('thrown');
        });
        toastr.error('burnt', 'Title');
        toastr.info('fine', 'Click', { onclick: () => toastr.success('clicked') });
        SillyTavern.getContext().callGenericPopup('Well?', SillyTavern.getContext().POPUP_TYPE.CONFIRM);
    });
    await page.dialog().waitFor();
    await assert.rejects(() => assertNothingUnexpected(page, { toasts: [/burnt/] }), /red in the console/);
    await assert.rejects(() => assertNothingUnexpected(page, { errors: [/red/, /thrown/] }), /toasts of errors/);
    const both = { errors: [/red/, /thrown/], toasts: [/burnt/] };
    await assert.rejects(() => assertNothingUnexpected(page, { ...both, refusedSave: true }), /a save was refused/);
    await assert.rejects(() => assertNothingUnexpected(page, both), /a dialog is still open/);
    await page.confirm();
    assert.deepEqual(page.watch.toastsOf('info'), ['Click: fine']);
    await page.clickToast('fine');
    await until('what the toast does', () => page.watch.toastsOf('success').includes('clicked'));
});
