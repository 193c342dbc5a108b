// Nothing that is written meanwhile is lost, and nothing is half done: edits that wait to be saved, saves and replies
// under way, a tab that closes at any step, a second tab, a core that fails.

import assert from 'node:assert/strict';

import { withSettings } from '../harness/forklore.mjs';
import { assertForked, assertOwnLore, assertSameBook, lookAround, withoutJournal } from '../harness/forks.mjs';
import { book, entry, loreWithGaps } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';
import { until } from '../harness/until.mjs';
import { bookWrites, holdRequest } from '../harness/wire.mjs';

const scenario = withSettings(stage());

// ---- Edits of other books that wait to be saved ----

/** SillyTavern waits a second before it saves a book, in one timer for all books. Each forks with the edit waiting. */
const forksWhileWaiting = [
    {
        name: 'createBranch',
        fork: (page, edit, message) => page.raw.evaluate(async ({ edit, message }) => {
            const { createBranch } = await import('/scripts/bookmarks.js');
            SillyTavern.getContext().saveWorldInfo(edit.name, edit.book);
            return createBranch(message);
        }, { edit, message }),
    },
    {
        name: '/checkpoint-create',
        fork: (page, edit, message) => page.raw.evaluate(async ({ edit, message }) => {
            const { saveWorldInfo, executeSlashCommandsWithOptions } = SillyTavern.getContext();
            saveWorldInfo(edit.name, edit.book);
            return (await executeSlashCommandsWithOptions(`/checkpoint-create mesId=${message}`)).pipe;
        }, { edit, message }),
    },
    {
        name: 'the checkpoint button',
        fork: async (page, edit, message) => {
            await page.messageAction(message, '.mes_create_bookmark');
            await page.dialog().locator('.popup-input').waitFor();
            await editUnsaved(page, edit);
            await page.answer();
            return until('the flag of the checkpoint', () =>
                page.raw.locator(`.mes[mesid="${message}"]`).getAttribute('bookmark_link'));
        },
    },
];

const ROUNDS = 25;

for (const part of [1, 2, 3, 4]) {
    scenario(`pending edits of other books survive a fork, ${ROUNDS} rounds, ${part} of 4`, {
        group: part === 4,
        gzip: part === 3,
        settings: { whenInexact: 'nearest' },
    }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps(), messages: 40 });
        const others = [1, 2].map((number) => `Other ${number} of ${tale.chat}`);
        others.forEach((name) => story.writeBook(name, loreWithGaps()));
        await page.open(tale);
        const bookText = files.book(tale.book).text;
        const writes = bookWrites(page);
        let [rounds, message] = [0, 39];

        for (let tries = 0; rounds < ROUNDS; tries += 1) {
            assert.ok(tries < 39, `only in ${rounds} rounds the edit was still waiting when the child's book was written`);
            const edit = { name: others[tries % 2], book: edited(loreWithGaps(), `${part}.${tries}`) };
            const way = forksWhileWaiting[tries % forksWhileWaiting.length];
            writes.length = 0;

            const child = await way.fork(page, edit, message);

            await files.bookWhen(edit.name, (book) => book.entries[0].content === edit.book.entries[0].content);
            assert.deepEqual(files.book(edit.name).value, edit.book, `the edit made before ${way.name}`);
            const own = files.chat(tale, child).metadata.world_info;
            assert.notEqual(own, tale.book);
            assertSameBook(files.book(own).value, loreWithGaps());
            await until('the save of the edit on the wire', () => writes.includes(edit.name));
            rounds += writes.indexOf(own) < writes.indexOf(edit.name) ? 1 : 0;
            message -= 1;
            await page.clearToasts();
        }
        assert.equal(files.book(tale.book).text, bookText, "the bytes of the parent's book");
    });
}

scenario('pending edits of other books survive a fork, typed in the real editor', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    const other = `Other of ${tale.chat}`;
    story.writeBook(other, loreWithGaps());
    await page.open(tale);
    const writes = bookWrites(page);
    const textarea = await openInEditor(page, other, 0);

    for (const [round, fork] of [
        () => page.branchByImport(5),
        () => page.run('/checkpoint-create mesId=5'),
        () => page.branchByImport(5),
    ].entries()) {
        writes.length = 0;
        await textarea.fill(`typed ${round}`);
        const child = await fork();

        await files.bookWhen(other, (book) => book.entries[0].content === `typed ${round}`);
        const own = files.chat(tale, child).metadata.world_info;
        assertSameBook(files.book(own).value, loreWithGaps());
        assert.deepEqual(writes, [own, other], 'the edit was still waiting when the child’s book was written');
    }
    assertSameBook(files.book(tale.book).value, loreWithGaps());
    await page.raw.locator('#WIDrawerIcon').click();
});

// ---- Edits of the bound book that wait to be saved ----

for (const way of forksWhileWaiting) {
    for (const group of [false, true]) {
        scenario(`a pending edit of the bound book is in the child, by ${way.name}, ${group ? 'in a group' : 'solo'}`, { group }, async ({ page, files, story }) => {
            const tale = await story.begin({ book: loreWithGaps() });
            await page.open(tale);
            await page.send('the story goes on');
            await page.settle();
            const first = edited(loreWithGaps(), 'edited before the fork');
            const writes = bookWrites(page);

            const child = await way.fork(page, { name: tale.book, book: first }, 6);

            const { metadata } = await files.chatWhen(tale, child);
            assertSameBook(files.book(metadata.world_info).value, first);
            assert.equal(metadata.forklore.book.exactness, 'exact');
            await files.bookWhen(tale.book, (book) => book.entries[0].content === 'edited before the fork');
            assert.equal(writes[0], metadata.world_info, 'the edit was still waiting when the child’s book was written');

            // What comes after the fork is the parent's alone, and what came before it is not in an earlier message.
            await page.saveBook(tale.book, edited(loreWithGaps(), 'edited after the fork'));
            const earlier = await page.branchByImport(5);
            assertSameBook(files.book(metadata.world_info).value, first);
            const before = files.chat(tale, earlier).metadata;
            assertSameBook(files.book(before.world_info).value, loreWithGaps());
            assert.equal(before.forklore.book.exactness, 'exact');
        });
    }
}

scenario('an edit of the bound book during the save of the one before is in the child', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    const second = edited(loreWithGaps(), 'second');
    const save = await holdRequest(page, '/api/worldinfo/edit');
    const saved = page.saveBook(tale.book, edited(loreWithGaps(), 'first'));
    await save.reached();
    await editUnsaved(page, { name: tale.book, book: second });
    await save.letGo();
    await saved;

    const child = await page.raw.evaluate(async () => (await import('/scripts/bookmarks.js')).createBranch(5));

    assertSameBook(files.book(files.chat(tale, child).metadata.world_info).value, second);
    await files.bookWhen(tale.book, (book) => book.entries[0].content === 'second');
});

scenario('a pending edit of a bound book that the page never read is in the child', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    const edit = { name: tale.book, book: edited(loreWithGaps(), 'by an extension') };
    await page.raw.evaluate(async (name) => {
        const { worldInfoCache } = await import('/scripts/world-info.js');
        worldInfoCache.delete(name);
    }, tale.book);

    const child = await forksWhileWaiting[0].fork(page, edit, 5);

    assertSameBook(files.book(files.chat(tale, child).metadata.world_info).value, edit.book);
    await files.bookWhen(tale.book, (book) => book.entries[0].content === 'by an extension');
});

// ---- A fork while the chat is being saved ----

const forksWhileSaving = [
    {
        name: 'createBranch',
        message: 6,
        fork: (page, message) => page.raw.evaluate(async (message) => (await import('/scripts/bookmarks.js')).createBranch(message), message),
    },
    { name: '/checkpoint-create', message: 6, isLinked: true, fork: (page, message) => page.run(`/checkpoint-create mesId=${message}`) },
    {
        name: 'the checkpoint button',
        message: 5,
        isLinked: true,
        fork: async (page, message) => {
            await page.messageAction(message, '.mes_create_bookmark');
            await page.answer();
        },
    },
    { name: 'the branch button', message: 5, fork: (page, message) => page.messageAction(message, '.mes_create_branch') },
];

for (const { name, message, isLinked, fork } of forksWhileSaving) {
    for (const group of [false, true]) {
        scenario(`a fork while the chat is being saved, by ${name}, ${group ? 'in a group' : 'solo'}`, { group }, async ({ page, files, story }) => {
            const tale = await story.begin({ book: loreWithGaps() });
            await page.open(tale);
            await page.send('the story goes on');
            await page.save();
            const before = lookAround(files, tale);
            const isParents = (body) => (body?.file_name ?? body?.id) === tale.chat;
            const save = await holdRequest(page, group ? '/api/chats/group/save' : '/api/chats/save', isParents);
            const sent = page.send('written while the disk is slow');
            await save.reached();

            const forked = fork(page, message);

            // Nothing of the child waits for the parent's save.
            const child = await until('the child', () => files.chats(tale).find((chat) => !before.chats.includes(chat)));
            const { metadata, messages } = await files.chatWhen(tale, child);
            assert.equal(files.chat(tale).text, before.parent.text, "the parent's save is still held");
            await save.letGo();
            await Promise.all([sent, forked]);
            const said = [...before.parent.messages.map(({ mes }) => mes), 'written while the disk is slow'];
            const isDone = (chat) => chat.messages.length === said.length && (!isLinked || chat.messages[message].extra.bookmark_link === child);
            const parent = await files.chatWhen(tale, tale.chat, isDone);
            await page.settle();
            assert.deepEqual(messages.map(({ mes }) => mes), said.slice(0, message + 1));
            assert.equal(metadata.main_chat, tale.chat);
            assert.deepEqual(files.books(), [...before.books, metadata.world_info].sort());
            assertSameBook(files.book(metadata.world_info).value, loreWithGaps());
            assert.deepEqual(parent.messages.map(({ mes }) => mes), said);
            assert.deepEqual(parent.metadata, before.parent.metadata);
            assert.equal(files.chat(tale).text, parent.text, 'nobody writes over it later');
        });
    }
}

/** Opens an entry in SillyTavern's own editor. @returns {Promise<import('playwright-core').Locator>} its text */
async function openInEditor(page, book, uid) {
    await page.raw.locator('#WIDrawerIcon').click();
    await page.raw.evaluate((book) => {
        const editor = $('#world_editor_select');
        const option = editor.find('option').filter((_, option) => option.textContent === book);
        editor.val(option.val()).trigger('change');
    }, book);
    const shown = page.raw.locator(`.world_entry[uid="${uid}"]`);
    await shown.locator('.inline-drawer-toggle').first().click();
    return shown.locator('textarea[name="content"]');
}

function edited(book, text) {
    book.entries[0].content = text;
    return book;
}

/** As SillyTavern's own editor and other extensions do it: saved a second later, unless something comes between. */
function editUnsaved(page, edit) {
    return page.raw.evaluate(({ name, book }) => void SillyTavern.getContext().saveWorldInfo(name, book), edit);
}
