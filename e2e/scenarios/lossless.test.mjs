// Nothing written in the meantime is lost, and nothing is left half done: edits that are not saved yet, saves and
// replies in progress, a tab that closes at any step, a second tab, a core that fails.

import assert from 'node:assert/strict';

import { dialog, lookingAt, pressInDialog, withSettings } from '../harness/forklore.mjs';
import { assertForked, assertOwnLore, assertSameBook, lookAround, withoutJournal } from '../harness/forks.mjs';
import { loreWithGaps } from '../harness/lore.mjs';
import { FakeModel } from '../harness/model.mjs';
import { isNight } from '../harness/places.mjs';
import { assertNothingUnexpected, SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { closeTab, cutOff, isCutOff, openTab } from '../harness/tabs.mjs';
import { until } from '../harness/until.mjs';
import { bookWrites, endpointOf, holdRequest } from '../harness/wire.mjs';

/** What SillyTavern adds after it has built a prompt, which can be at any time. */
const afterPrompt = { timedWorldInfo: { sticky: {}, cooldown: {} } };

const model = await FakeModel.start();
const scenario = withSettings(stage({ settings: (settings) => model.connect(settings) }));

// ---- Unsaved edits of other books ----

/** SillyTavern waits a second before it saves a book, with a single timer for all books. Each case forks while the edit is waiting. */
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
            return flagOf(page, message);
        },
    },
];

/** Repeats until an edit was still waiting when the child's book was written: on a busy machine a second is over quickly. */
async function whileWaiting(attempt) {
    for (let tries = 0; tries < 5; tries += 1) {
        if (await attempt(tries)) {
            return;
        }
    }
    assert.fail('the edit was never still waiting when the child’s book was written');
}

const ROUNDS = isNight ? 25 : 5;

for (const part of [1, 2, 3, 4]) {
    scenario(`pending edits of other books survive a fork, ${ROUNDS} rounds, ${part} of 4`, {
        group: part === 4,
        gzip: part === 3,
        nightly: (part === 2 || part === 3) && 'it is the first part with other numbers, or gzipped',
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
    const textarea = await page.openInEditor(other, 0);

    for (const [round, fork] of [
        () => page.branchByImport(5),
        () => page.run('/checkpoint-create mesId=5'),
        () => page.branchByImport(5),
    ].entries()) {
        await whileWaiting(async (attempt) => {
            const typed = `typed ${round}.${attempt}`;
            writes.length = 0;
            await textarea.fill(typed);
            const child = await fork();

            await files.bookWhen(other, (book) => book.entries[0].content === typed);
            const own = files.chat(tale, child).metadata.world_info;
            assertSameBook(files.book(own).value, loreWithGaps());
            await page.settle();
            assert.deepEqual([...writes].sort(), [own, other].sort());
            return writes[0] === own;
        });
    }
    assertSameBook(files.book(tale.book).value, loreWithGaps());
    await page.raw.locator('#WIDrawerIcon').click();
});

// ---- Unsaved edits of the bound book ----

for (const way of forksWhileWaiting) {
    for (const group of [false, true]) {
        scenario(`a pending edit of the bound book is in the child, by ${way.name}, ${group ? 'in a group' : 'solo'}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
            const writes = bookWrites(page);
            await whileWaiting(async () => {
                const tale = await story.begin({ book: loreWithGaps() });
                await page.open(tale);
                await page.send('the story goes on');
                await page.settle();
                const first = edited(loreWithGaps(), 'edited before the fork');
                writes.length = 0;

                const child = await way.fork(page, { name: tale.book, book: first }, 6);

                const { metadata } = await files.chatWhen(tale, child);
                assertSameBook(files.book(metadata.world_info).value, first);
                assert.equal(metadata.forklore.book.exactness, 'exact');
                await files.bookWhen(tale.book, (book) => book.entries[0].content === 'edited before the fork');
                const wasWaiting = writes[0] === metadata.world_info;

                // Edits after the fork only belong to the parent, and edits before it do not belong to an earlier
                // message.
                await page.saveBook(tale.book, edited(loreWithGaps(), 'edited after the fork'));
                const earlier = await page.branchByImport(5);
                assertSameBook(files.book(metadata.world_info).value, first);
                const before = files.chat(tale, earlier).metadata;
                assertSameBook(files.book(before.world_info).value, loreWithGaps());
                assert.equal(before.forklore.book.exactness, 'exact');
                return wasWaiting;
            });
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

    const child = await createBranch(page, 5);

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

/** The first time SillyTavern evaluates a chat's lore, even in a dry run, it adds an empty list of running effects. */
const lookedThroughByWorldInfo = (page) => page.raw.evaluate(() => SillyTavern.getContext().getWorldInfoPrompt(['a look'], 4096, true));

const forksWhileSaving = [
    {
        name: 'createBranch',
        message: 6,
        fork: createBranch,
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
        scenario(`a fork while the chat is being saved, by ${name}, ${group ? 'in a group' : 'solo'}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
            const tale = await story.begin({ book: loreWithGaps() });
            await page.open(tale);
            await page.send('the story goes on');
            await lookedThroughByWorldInfo(page);
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

// ---- A fork while a reply is being written ----

const forksWhileWriting = [
    { name: 'createBranch', fork: createBranch },
    { name: '/checkpoint-create', isLinked: true, fork: (page, message) => page.run(`/checkpoint-create mesId=${message}`) },
    {
        name: 'the checkpoint button',
        isLinked: true,
        fork: async (page, message) => {
            await page.messageAction(message, '.mes_create_bookmark');
            await page.answer();
            return flagOf(page, message);
        },
    },
];

for (const { name, isLinked, fork } of forksWhileWriting) {
    for (const group of [false, true]) {
        scenario(`a fork at an earlier message while a reply is written, by ${name}, ${group ? 'in a group' : 'solo'}`, { group, nightly: group && SOLO_IS_DAILY }, async (given) => {
            const { page, files } = given;
            const { tale, reply } = await beingReplied(given);
            const before = lookAround(files, tale);
            const books = { asked: loreWithGaps(), replied: edited(loreWithGaps(), 'edited while the reply came') };

            const child = await fork(page, 4);

            const { metadata, messages } = await files.chatWhen(tale, child);
            assert.deepEqual(messages.map(({ mes }) => mes), before.parent.messages.slice(0, 5).map(({ mes }) => mes));
            assert.equal(metadata.main_chat, tale.chat);
            assert.equal(metadata.forklore.book.exactness, 'exact');
            assertSameBook(files.book(metadata.world_info).value, books.asked);
            assert.deepEqual(files.books(), [...before.books, metadata.world_info].sort());
            assert.ok(await isWriting(page), 'the reply is still under way');

            await page.saveBook(tale.book, books.replied);
            const parent = await finished({ ...given, tale, reply });
            assert.equal(parent.messages[4].extra.bookmark_link, isLinked ? child : undefined);
            assert.equal(parent.metadata.world_info, tale.book);
            assertSameBook(files.book(metadata.world_info).value, books.asked);
            await assertMoments({ ...given, tale }, { 4: books.asked, 5: books.replied });
        });
    }
}

// Opening another chat abandons the reply: SillyTavern's stream fails because its message no longer exists.
scenario('a branch that opens while a reply is written is right, and so is its parent', {
    expects: { errors: [/Cannot read properties of undefined \(reading 'mes'\)/] },
}, async (given) => {
    const { page, files } = given;
    const { tale, reply } = await beingReplied(given);
    const before = lookAround(files, tale);

    const child = await page.run('/branch-create 4');

    reply.say('and goes out.');
    reply.end();
    await page.settle();
    await page.save();
    const { metadata, messages } = files.chat(tale, child);
    assert.deepEqual(messages.map(({ mes }) => mes), before.parent.messages.slice(0, 5).map(({ mes }) => mes));
    assertSameBook(files.book(metadata.world_info).value, loreWithGaps());
    assert.deepEqual(files.chat(tale).messages.slice(0, 5).map(told), before.parent.messages.map(told));
    assert.equal(files.chat(tale).metadata.world_info, tale.book);
});

scenario('a branch at an earlier message, by its button, can wait for the reply that it would cost', {}, async (given) => {
    const { page, files } = given;
    const { tale, reply } = await beingReplied(given);
    const before = lookAround(files, tale);

    await page.messageAction(4, '.mes_create_branch');
    const shown = await dialog(page, 'A reply is being written');
    assert.match(await shown.innerText(), /Create when ready[^]*Branch now/);
    await pressInDialog(page, 'Create when ready');
    await said(page, reply, 'slowly ');
    assert.deepEqual(files.chats(tale), before.chats);
    await page.opening(async () => {
        reply.say('and turns.');
        reply.end();
    });

    const child = await until('the child', () => files.chats(tale).find((chat) => !before.chats.includes(chat)));
    assert.equal((await files.chatWhen(tale, child)).messages.length, 5);
    const parent = await files.chatWhen(tale, tale.chat, ({ messages }) => messages.length === 6);
    assert.equal(parent.messages[5].mes, 'The tide comes in slowly and turns.');
});

// SillyTavern hides the buttons of the message being generated; these stay.
const forksOfTheLast = [
    { name: 'a checkpoint by the menu', kind: 'checkpoint', asksForName: true, begin: (page) => page.menu('#option_new_bookmark') },
    {
        name: 'a branch from the lore of the chat',
        kind: 'branch',
        begin: async (page) => {
            await page.raw.locator('#extensionsMenuButton').click();
            await page.raw.locator('#forklore_wand').click();
            await page.dialog().getByText('Branch here').click();
        },
    },
];

for (const { name, kind, asksForName, begin } of forksOfTheLast) {
    for (const group of [false, true]) {
        scenario(`at the message being written, ${name} waits until it is complete, ${group ? 'in a group' : 'solo'}`, { group, nightly: group && SOLO_IS_DAILY }, async (given) => {
            const { page, files } = given;
            const { tale, reply } = await beingReplied(given);
            const before = lookAround(files, tale);

            await begin(page);
            const shown = await dialog(page, 'This fork cannot be created right now');
            assert.match(await shown.locator('.forklore_obstacles').innerText(), /This message is still being written\./);
            await pressInDialog(page, 'Create when ready');
            await said(page, reply, 'slowly ');
            assert.deepEqual(files.chats(tale), before.chats, 'nothing is made before its time');
            assert.deepEqual(files.books(), before.books);

            const text = 'The tide comes in slowly and turns.';
            const done = async () => {
                reply.say('and turns.');
                reply.end();
                if (asksForName) {
                    await page.answer();
                }
            };
            await (kind === 'branch' ? page.opening(done) : done());

            const child = await until('the child', () => files.chats(tale).find((chat) => !before.chats.includes(chat)));
            const { metadata, messages } = await files.chatWhen(tale, child);
            assert.equal(messages.length, 6);
            assert.deepEqual([messages[5].mes, messages[5].swipes], [text, [text]]);
            assert.equal(metadata.forklore.book.exactness, 'exact');
            assertSameBook(files.book(metadata.world_info).value, loreWithGaps());
            const parent = await files.chatWhen(tale, tale.chat, ({ messages }) => messages[5]?.mes === text);
            assert.equal(parent.metadata.world_info, tale.book);
            await page.settle();
            assert.equal((await page.current()).chat, kind === 'branch' ? child : tale.chat);
        });
    }
}

scenario('what is edited between question and reply belongs to the question, from then on to the reply', {}, async (given) => {
    const { page, files, story } = given;
    const book = (text) => edited(loreWithGaps(), text);
    const tale = await story.begin({ book: loreWithGaps(), messages: 4 });
    await page.open(tale);
    await connected(page);
    await page.saveBook(tale.book, book('before the question'));

    await page.type('What does the tide do?');
    const reply = await model.asked();
    await page.saveBook(tale.book, book('before the reply'));
    reply.begin();
    await said(page, reply, 'The tide ');
    await page.saveBook(tale.book, book('after the first word'));
    await said(page, reply, 'comes in ');
    await page.saveBook(tale.book, book('between two words'));

    await finished({ ...given, tale, reply });
    await assertMoments({ ...given, tale }, {
        3: book('before the question'),
        4: book('before the reply'),
        5: book('between two words'),
    });
});

scenario('what is edited while a new message waits for its save belongs to it', {}, async (given) => {
    const { page, files, story } = given;
    const tale = await story.begin({ book: loreWithGaps(), messages: 4 });
    await page.open(tale);
    await page.save();
    const save = await holdRequest(page, '/api/chats/save');
    const saved = page.raw.evaluate(() => SillyTavern.getContext().saveChat());
    await save.reached();
    const sent = page.send('is anything there?');
    await until('the message', async () => (await page.current()).messages === 5);

    const later = edited(loreWithGaps(), 'edited after the message came');
    await page.saveBook(tale.book, later);

    await save.letGo();
    await Promise.all([saved, sent]);
    await files.chatWhen(tale, tale.chat, ({ messages }) => messages.length === 5);
    await assertMoments({ ...given, tale }, { 3: loreWithGaps(), 4: later });
});

/** A chat of four messages with a fifth written in the page, and a sixth in progress. */
async function beingReplied({ page, files, story }) {
    const tale = await story.begin({ book: loreWithGaps(), messages: 4 });
    await page.open(tale);
    await connected(page);
    if (tale.group) {
        await page.send('What does the tide do?');
        // The end of the reply.
        page.run(`/trigger ${tale.speaker}`).catch(() => {});
    } else {
        await page.type('What does the tide do?');
    }
    const reply = await model.asked();
    reply.begin();
    await said(page, reply, 'The tide ');
    await said(page, reply, 'comes in ');
    await files.chatWhen(tale, tale.chat, ({ messages }) => messages.length === 5);
    return { tale, reply };
}

/** Lets a reply finish. @returns {Promise<import('../harness/files.mjs').Chat>} the parent with the whole reply */
async function finished({ page, files, tale, reply }) {
    reply.say('and goes out.');
    reply.end();
    const text = 'The tide comes in and goes out.';
    const parent = await files.chatWhen(tale, tale.chat, ({ messages }) => messages[5]?.mes === text);
    await page.settle();
    assert.deepEqual(parent.messages[5].swipes, [text]);
    assert.equal(parent.messages.length, 6);
    return files.chat(tale);
}

/** What the book was according to the journal, from a fork there. */
async function assertMoments({ page, files, tale }, books) {
    for (const [message, book] of Object.entries(books)) {
        const child = await page.branchByImport(Number(message));
        const { metadata } = files.chat(tale, child);
        assert.equal(metadata.forklore.book.exactness, 'exact', `how the lore of message ${message} is known`);
        assertSameBook(files.book(metadata.world_info).value, book);
    }
}

/** A branch that is not opened. Unlike the page helper, this does not wait for an idle network. */
function createBranch(page, message) {
    return page.raw.evaluate(async (message) => (await import('/scripts/bookmarks.js')).createBranch(message), message);
}

/** Waits for the checkpoint that a message links to. */
function flagOf(page, message) {
    return until('the flag of the checkpoint', () =>
        page.raw.locator(`.mes[mesid="${message}"]`).getAttribute('bookmark_link'));
}

async function connected(page) {
    await page.raw.waitForFunction(() => SillyTavern.getContext().onlineStatus !== 'no_connection');
}

function isWriting(page) {
    return page.raw.evaluate(async () => (await import('/script.js')).isGenerating());
}

/** Adds words to message 5 and waits until they are displayed. */
async function said(page, reply, text) {
    reply.say(text);
    const shown = page.raw.locator('.mes[mesid="5"] .mes_text');
    await until(`"${text}" to be shown`, async () => {
        reply.nudge();
        return (await shown.innerText()).includes(text.trim());
    });
}

// ---- A tab that closes at any step of a fork ----

/** The requests of a fork, and which of several to the same endpoint each is. */
const requests = {
    'the group lists the child': () => ({ endpoint: '/api/groups/edit' }),
    'the child’s book is written': () => ({ endpoint: '/api/worldinfo/edit' }),
    'the child’s book is read again': ({ book }) => ({ endpoint: '/api/worldinfo/get', notAbout: book }),
    'the child is saved': ({ group, chat }) => ({ endpoint: group ? '/api/chats/group/save' : '/api/chats/save', notAbout: chat }),
    'the list of books is read': () => ({ endpoint: '/api/settings/get' }),
    'the parent is saved': ({ group, chat }) => ({ endpoint: group ? '/api/chats/group/save' : '/api/chats/save', about: chat }),
    'the child is opened': ({ chat }) => ({ endpoint: '/api/chats/get', notAbout: chat }),
};

const CLOSINGS_ARE_MANY = 'each step is a page of its own; two of a branch are played for every change';

const closings = [
    {
        name: 'a checkpoint',
        begin: async (tab) => {
            await tab.messageAction(5, '.mes_create_bookmark');
            // The first request is sent before SillyTavern asks for a name.
            const asked = tab.dialog().locator('.popup-input');
            await until('a question or the end', async () => (await isCutOff(tab)) || asked.isVisible());
            if (!(await isCutOff(tab))) {
                await tab.answer();
            }
        },
        parts: [
            [
                { before: 'the list of books is read', leaves: [] },
                { before: 'the child’s book is written', leaves: [] },
                { after: 'the child’s book is written', leaves: ['book'] },
                { before: 'the child’s book is read again', leaves: ['book'] },
                { before: 'the child is saved', leaves: ['book'] },
            ],
            [
                { after: 'the child is saved', leaves: ['book', 'child'] },
                { before: 'the parent is saved', leaves: ['book', 'child'] },
                { after: 'the parent is saved', leaves: ['book', 'child', 'link'] },
            ],
        ],
    },
    {
        name: 'a branch',
        daily: 1,
        begin: (tab) => tab.messageAction(5, '.mes_create_branch'),
        parts: [
            [
                { after: 'the child’s book is written', leaves: ['book'] },
                { after: 'the child is saved', leaves: ['book', 'child'] },
            ],
            [
                { before: 'the list of books is read', leaves: [] },
                { before: 'the child’s book is written', leaves: [] },
                { before: 'the child is saved', leaves: ['book'] },
                { before: 'the child is opened', leaves: ['book', 'child'] },
            ],
        ],
    },
    {
        name: 'a checkpoint in a group',
        group: true,
        begin: (tab) => void tab.run('/checkpoint-create mesId=5').catch(() => {}),
        parts: [
            [
                { before: 'the group lists the child', leaves: [] },
                { after: 'the group lists the child', leaves: [] },
                { before: 'the child’s book is written', leaves: [] },
                { after: 'the child’s book is written', leaves: ['book'] },
            ],
            [
                { before: 'the child is saved', leaves: ['book'] },
                { after: 'the child is saved', leaves: ['book', 'child'] },
                { before: 'the parent is saved', leaves: ['book', 'child'] },
                { after: 'the parent is saved', leaves: ['book', 'child', 'link'] },
            ],
        ],
    },
];

for (const { name, group = false, daily = 0, begin, parts } of closings) {
    for (const [part, steps] of parts.entries()) {
        const nightly = part >= daily && CLOSINGS_ARE_MANY;
        scenario(`a tab that closes at any step of ${name}, ${part + 1} of ${parts.length}`, { group, nightly }, async ({ page, files, story }) => {
            const left = [];
            for (const step of steps) {
                const tale = await story.begin({ book: loreWithGaps() });
                const tab = await openTab(page);
                await tab.open(tale);
                await tab.save();
                const before = lookAround(files, tale);

                const last = { ...requests[step.before ?? step.after](tale), arrives: Boolean(step.after) };
                await cutOff(tab, last, () => begin(tab));
                await assertNothingUnexpected(tab, {});
                await closeTab(tab);
                left.push({ tale, before, step });
            }

            await page.reload();

            const orphans = [];
            for (const { tale, before, step } of left) {
                orphans.push(...(await assertWholeAfter({ page, files }, tale, before, step)));
            }
            const books = files.books();
            const cleaned = JSON.parse(await page.run('/forklore-clean'));
            assert.deepEqual(cleaned.sort(), orphans.sort(), 'what cleaning up finds');
            assert.deepEqual(files.books(), books.filter((book) => !orphans.includes(book)));
        });
    }
}

/** @returns {Promise<string[]>} the books that nothing refers to */
async function assertWholeAfter({ page, files }, tale, before, { before: sent, after, leaves }) {
    const step = `closed ${sent ? 'before' : 'after'} ${sent ?? after}`;
    const there = (tale.group ? files.groupChats() : files.chats(tale)).filter((chat) => chat.startsWith(tale.chat) && !before.chats.includes(chat));
    const made = files.books().filter((book) => book.startsWith(tale.chat));
    assert.equal(there.length, leaves.includes('child') ? 1 : 0, `children after it ${step}`);
    assert.equal(made.length, leaves.includes('book') ? 1 : 0, `books after it ${step}`);
    for (const book of made) {
        assert.equal(files.book(book).value.extensions.forklore.from.chat, tale.chat, 'the mark');
        assertSameBook(files.book(book).value, loreWithGaps());
    }

    assert.deepEqual(await problemsOf(page, () => page.open(tale)), [], `the parent after it ${step}`);
    const links = files.chat(tale).messages.map(({ extra }) => extra.bookmark_link).filter(Boolean);
    assert.deepEqual(links, leaves.includes('link') ? there : []);
    await page.send('the parent goes on');
    const parent = await files.chatWhen(tale, tale.chat, ({ messages }) => messages.length === 7);
    assert.deepEqual(parent.messages.slice(0, 6).map(told), before.parent.messages.map(told), "the parent's messages");
    assert.equal(parent.metadata.world_info, tale.book);
    assert.equal(files.book(tale.book).text, before.bookText, "the bytes of the parent's book");

    for (const child of there) {
        assert.deepEqual(await problemsOf(page, () => page.switchTo(child)), [], `the child after it ${step}`);
        await page.send('the child goes on');
        const { metadata, messages } = await files.chatWhen(tale, child, ({ messages }) => messages.length === 7);
        assert.equal(metadata.world_info, made[0], 'the child has its own book');
        assert.deepEqual(messages.slice(0, 6).map(told), before.parent.messages.map(told), "the child's messages");
    }
    return there.length ? [] : made;
}

/** What the user is told on opening a chat; nothing if all is well. */
async function problemsOf(page, open) {
    page.watch.clear();
    const findings = await lookingAt(page, open);
    return [
        ...findings.filter(({ problem }) => problem).map(({ code }) => code),
        ...page.watch.toasts.map(({ text }) => text),
        ...page.watch.refusedSaves,
    ];
}

/** A message without what a fork may change in it. */
function told(message) {
    const { extra, ...rest } = withoutJournal(message);
    delete extra?.bookmark_link;
    delete extra?.branches;
    return { ...rest, extra };
}

// ---- Moments in which the page is empty ----

/** Things that empty the page for a moment, just when Forklore saves an edit's record by itself, some seconds later. */
const emptyings = [
    { name: 'another chat opens', empty: (page, other) => page.switchTo(other) },
    {
        name: 'the chat is loaded again',
        empty: (page) => page.opening(() => page.raw.evaluate(() => SillyTavern.getContext().reloadCurrentChat())),
    },
];

for (const group of [false, true]) {
    for (const { name, empty } of emptyings) {
        scenario(`no chat is saved while it is empty in the page: ${name}, ${group ? 'in a group' : 'solo'}`, { group, nightly: group && SOLO_IS_DAILY }, async (given) => {
            const { page, files, story } = given;
            const tale = await story.begin({ book: loreWithGaps() });
            await page.open(tale);
            await page.send('And then?');
            const other = await page.branchByImport(6);
            const before = [tale.chat, other].map((chat) => files.chat(tale, chat).messages.length);
            // Before it saves, Forklore checks whether the server has the same chat.
            const reading = group ? '/api/chats/group/get' : '/api/chats/get';
            const looked = page.raw.waitForResponse((response) =>
                endpointOf(response.request()) === reading && response.request().postData().includes(JSON.stringify(tale.chat)));
            const lore = files.book(tale.book).value;
            Object.values(lore.entries)[0].content = 'Said a moment ago.';
            await page.saveBook(tale.book, lore);
            await looked;
            const loading = await holdRequest(page, reading);
            const emptied = empty(page, other);
            await loading.reached();
            // As long as SillyTavern itself waits before it saves a chat.
            await page.raw.evaluate(async () => (await import('/scripts/utils.js')).waitUntilCondition(() => true, 1000, 100));
            await loading.letGo();
            await emptied;
            assert.deepEqual([tale.chat, other].map((chat) => files.chat(tale, chat).messages.length), before);
        });
    }
}

for (const group of [false, true]) {
    scenario(`Forklore saves no chat that is not loaded yet, ${group ? 'in a group' : 'solo'}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        await page.open(tale);
        await page.save();
        const other = await page.branchByImport(5);
        const before = [tale.chat, other].map((chat) => files.chat(tale, chat).messages.length);
        const loading = await holdRequest(page, group ? '/api/chats/group/get' : '/api/chats/get');
        const emptied = page.switchTo(other);
        await loading.reached();
        const said = await page.raw.evaluate(async () => {
            const host = await import('/scripts/extensions/third-party/forklore/extension/sillytavern/host.js');
            return host.saveOpenChat().then(() => 'saved', (error) => error.message);
        });
        await loading.letGo();
        await emptied;
        assert.match(said, /not loaded yet/);
        assert.deepEqual([tale.chat, other].map((chat) => files.chat(tale, chat).messages.length), before);
    });
}

// ---- Two tabs ----

scenario('two tabs on one chat, one of which forks, solo', {}, async (given) => {
    const { page, files } = given;
    const { tale, other, child, born } = await forkedInAnotherTab(given);

    // This tab does not know the child yet, and opens it.
    assert.deepEqual(await problemsOf(page, () => page.switchTo(child)), []);
    await until('the panel to know the book', async () => (await panelLine(page)).includes(`“${born.metadata.world_info}” (4 entries)`));
    await page.send('the child goes on');
    await page.saveBook(born.metadata.world_info, edited(loreWithGaps(), 'edited in the child'));
    await page.send('and on');
    const { metadata } = await files.chatWhen(tale, child, ({ messages }) => messages.length === 8);
    assert.equal(metadata.world_info, born.metadata.world_info);
    assert.equal(files.book(tale.book).value.entries[0].content, 'edited in the other tab');
    await assertMoments({ page, files, tale }, { 5: loreWithGaps(), 6: edited(loreWithGaps(), 'edited in the child') });

    // The tab that forked opens everything without problems, too.
    assert.deepEqual(await problemsOf(other, () => other.switchTo(child)), []);
    assert.equal((await other.current()).messages, 8);
    assert.deepEqual(await problemsOf(other, () => other.switchTo(tale.chat)), []);
    assert.equal((await other.current()).messages, 7);
    await assertNothingUnexpected(other, {});
    await closeTab(other);
});

// In a group, the tab that continues writes its own list of chats, without the child: that is how SillyTavern works.
scenario('two tabs on one chat, one of which forks, in a group', { group: true, nightly: SOLO_IS_DAILY }, async (given) => {
    const { other } = await forkedInAnotherTab(given);
    await assertNothingUnexpected(other, {});
    await closeTab(other);
});

// Forklore saves the chat some seconds after its lore has changed, because of the record on its last message.
scenario('a tab whose lore changes does not undo what another tab has edited', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps(), metadata: afterPrompt });
    const other = await openTab(page);
    await other.open(tale);
    await page.open(tale);
    await page.save();
    await other.raw.evaluate(async () => {
        const { chat, saveChat } = SillyTavern.getContext();
        chat[2].mes = 'edited in the other tab';
        await saveChat();
    });
    const isKept = () => files.chat(tale).messages[2].mes === 'edited in the other tab';
    assert.ok(isKept());
    const looks = () => page.watch.posts.filter(({ endpoint }) => ['/api/chats/get', '/api/chats/save'].includes(endpoint)).length;
    const before = looks();
    await page.saveBook(tale.book, edited(loreWithGaps(), 'edited in this tab'));
    await until('this tab to have looked at the file, or to have written it', () => looks() > before);
    await page.settle();
    assert.ok(isKept(), 'the edit is still there');
    await closeTab(other);
});

/** A chat in two tabs; one has made a checkpoint, and the other has continued without knowing. */
async function forkedInAnotherTab({ page, files, story }) {
    const tale = await story.begin({ book: loreWithGaps(), metadata: afterPrompt });
    const other = await openTab(page);
    await other.open(tale);
    await page.open(tale);
    await page.save();
    const before = lookAround(files, tale);

    const child = await other.checkpointByButton(5);

    const born = files.chat(tale, child);
    assertOwnLore(files, tale, before, { child, kind: 'checkpoint', message: 5, book: loreWithGaps() });
    assert.deepEqual(born.messages.map(told), before.parent.messages.map(told));
    assert.equal(files.chat(tale).messages[5].extra.bookmark_link, child);

    await page.send('told in the other tab');
    await page.saveBook(tale.book, edited(loreWithGaps(), 'edited in the other tab'));
    const parent = await files.chatWhen(tale, tale.chat, ({ messages }) => messages.length === 7);
    assert.equal(parent.metadata.world_info, tale.book);
    assert.equal(files.chat(tale, child).text, born.text, 'the child is as it was born');
    assertSameBook(files.book(born.metadata.world_info).value, loreWithGaps());
    return { tale, other, child, born };
}

/** What Forklore's panel says about the open chat. */
async function panelLine(page) {
    await page.settle();
    return page.raw.locator('#forklore_settings .forklore_line').textContent();
}

// ---- A core that fails ----

const CORE = /\/forklore\/extension\/core\/pkg\/forklore(_bg\.wasm|\.js)$/;

function withoutCore(raw) {
    return raw.route(CORE, (route) => (route.request().url().endsWith('.wasm')
        ? route.fulfill({ contentType: 'application/wasm', body: 'this is no module' })
        : route.continue()));
}

function inTauriTavern(raw) {
    return raw.addInitScript(() => void (globalThis.__TAURITAVERN__ = { abiVersion: 1 }));
}

/** Its forks fail as long as `breaksCore` is set in the page. */
function withBreakableCore(raw) {
    return raw.route(CORE, async (route) => {
        if (!route.request().url().endsWith('.js')) {
            return route.continue();
        }
        const response = await route.fetch();
        const text = (await response.text()).replace('export function fork(', `export function fork(...parts) {
            if (globalThis.breaksCore) { throw new Error('the core broke'); }
            return soundFork(...parts);
        }
        function soundFork(`);
        return route.fulfill({ response, body: text });
    });
}

for (const group of [false, true]) {
    const place = group ? 'in a group' : 'solo';

    scenario(`without its core, Forklore says so and changes nothing, ${place}`, { group, nightly: group && SOLO_IS_DAILY, beforeLoading: withoutCore }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps(), metadata: afterPrompt });

        assert.match(await page.raw.locator('#forklore_settings .forklore_line').textContent(), /^Forklore could not start: /);
        assert.equal(page.watch.warnings.filter((line) => /forklore/i.test(line)).length, 1, page.watch.told());
        await assertNothingDone(page, files, tale);
        assert.equal(page.watch.warnings.filter((line) => /forklore/i.test(line)).length, 1, 'one warning, and no more');
    });

    scenario(`where TauriTavern holds windows of chats, Forklore says so and changes nothing, ${place}`, { group, nightly: group && SOLO_IS_DAILY, beforeLoading: inTauriTavern }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps(), metadata: afterPrompt });

        const says = /TauriTavern loads only the last part of a chat.* set “Chat History” to “Off/;
        assert.match(await page.raw.locator('#forklore_settings .forklore_line').textContent(), says);
        await assertNothingDone(page, files, tale);

        await page.raw.evaluate(() => localStorage.setItem('tt:chatHistoryMode', 'off'));
        await page.reload();
        await page.open(tale);
        await page.save();
        const before = lookAround(files, tale);
        const fork = { child: await page.branchByButton(6), kind: 'branch', message: 6 };
        assertForked(files, tale, before, fork);
        assertOwnLore(files, tale, before, { ...fork, book: loreWithGaps() });
    });

    scenario(`a core that fails during a fork leaves the child without a book, and says so, ${place}`, {
        group,
        nightly: group && SOLO_IS_DAILY,
        beforeLoading: withBreakableCore,
        expects: { errors: [/the core broke/], toasts: [/has no lorebook/] },
    }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps(), metadata: afterPrompt });
        await page.open(tale);
        await page.save();
        const before = lookAround(files, tale);
        await page.raw.evaluate(() => void (globalThis.breaksCore = true));

        const child = await page.checkpointByButton(5);

        const fork = { child, kind: 'checkpoint', message: 5 };
        assertForked(files, tale, before, fork);
        const { metadata } = files.chat(tale, child);
        assert.equal(metadata.world_info, undefined, 'no book at all, and never the parent’s');
        assert.deepEqual(files.books(), before.books);
        assert.match(page.watch.toastsOf('error')[0], new RegExp(`“${child}” has no lorebook.*the core broke`));

        // It works again for the next one; and where it fails, the child has a seal of its own, which says so.
        await page.raw.evaluate(() => void (globalThis.breaksCore = false));
        const next = await page.branchByButton(5);
        const own = files.chat(tale, next).metadata.world_info;
        assertSameBook(files.book(own).value, loreWithGaps());
        await page.raw.evaluate(() => void (globalThis.breaksCore = true));
        const grandchild = await page.checkpointByCommand(5);
        const { world_info: bound, forklore: seal } = files.chat(tale, grandchild).metadata;
        assert.deepEqual([bound, seal.book, seal.left_out, seal.failed, seal.parent.chat], [undefined, null, own, true, next]);
        const findings = await lookingAt(page, () => page.switchTo(grandchild));
        assert.deepEqual(findings.filter(({ problem }) => problem).map(({ code }) => code), ['book-failed']);
        assert.match(page.watch.toastsOf('warning').at(-1), /should have a lorebook, but has none/);
    });
}

/** The story goes on and is forked as without Forklore. */
async function assertNothingDone(page, files, tale) {
    await page.open(tale);
    await page.send('the story goes on');
    await page.save();
    const before = lookAround(files, tale);
    assert.deepEqual(before.parent.messages.filter(({ forklore }) => forklore), []);
    for (const [kind, make] of [['checkpoint', () => page.checkpointByButton(6)], ['branch', () => page.branchByButton(6)]]) {
        const child = await make();
        const { metadata, messages } = files.chat(tale, child);
        assert.equal(metadata.world_info, tale.book, `a ${kind} as SillyTavern makes it`);
        assert.equal(metadata.forklore, undefined);
        assert.deepEqual(messages.filter(({ forklore }) => forklore), []);
    }
    assert.deepEqual(files.books(), before.books);
    assert.equal(files.book(tale.book).text, before.bookText);
    assert.deepEqual(files.chat(tale).metadata, before.parent.metadata);
    assert.deepEqual(page.watch.toasts.filter(({ text }) => /forklore/i.test(text)), []);
}

function edited(book, text) {
    book.entries[0].content = text;
    return book;
}

/** Like SillyTavern's own editor and other extensions: saved a second later, unless something intervenes. */
function editUnsaved(page, edit) {
    return page.raw.evaluate(({ name, book }) => void SillyTavern.getContext().saveWorldInfo(name, book), edit);
}
