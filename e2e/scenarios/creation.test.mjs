// Every way to create a checkpoint or a branch in SillyTavern, and the files afterwards: the child has its own
// lorebook, with the content of the parent's at that message, and the parent has not changed.

import assert from 'node:assert/strict';

import { decline, notice } from '../harness/forklore.mjs';
import { assertForked, assertOwnLore, assertSameBook, lookAround } from '../harness/forks.mjs';
import { entry, loreWithGaps } from '../harness/lore.mjs';
import { SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { conversation } from '../harness/story.mjs';
import { until } from '../harness/until.mjs';
import { holdRequest } from '../harness/wire.mjs';

const scenario = stage();

const ways = [
    {
        name: 'the checkpoint button, named',
        kind: 'checkpoint',
        make: (page, message, chat) => page.checkpointByButton(message, { name: `Harbour ${message} of ${chat}` }),
    },
    {
        name: 'the checkpoint button, as suggested',
        kind: 'checkpoint',
        make: (page, message) => page.checkpointByButton(message),
    },
    {
        name: 'Shift and the flag, in place of an older checkpoint',
        kind: 'checkpoint',
        prepare: (page, message) => page.checkpointByButton(message),
        make: (page, message) => page.checkpointByFlag(message),
    },
    { name: 'the menu', kind: 'checkpoint', onlyLast: true, make: (page) => page.checkpointByMenu() },
    {
        name: '/checkpoint-create, named',
        kind: 'checkpoint',
        make: (page, message, chat) => page.checkpointByCommand(message, { name: `Quay ${message} of ${chat}` }),
    },
    {
        name: '/checkpoint-create, nameless',
        kind: 'checkpoint',
        make: (page, message) => page.checkpointByCommand(message),
    },
    { name: 'the branch button', kind: 'branch', opens: true, make: (page, message) => page.branchByButton(message) },
    { name: '/branch-create', kind: 'branch', opens: true, make: (page, message) => page.branchByCommand(message) },
    {
        name: 'a swipe of the picker',
        kind: 'branch',
        opens: true,
        swipe: 1,
        since: '1.17',
        make: (page, message) => page.branchBySwipe(message, 1),
    },
    {
        name: 'createBranch, called by another extension',
        kind: 'branch',
        // It leaves the name of each branch in the parent's memory, unsaved, for the next one to inherit.
        prepare: (page) => page.save(),
        make: (page, message) => page.branchByImport(message),
    },
];

for (const [number, way] of ways.entries()) {
    for (const group of [false, true]) {
        // So that each way is tested once gzipped and once plain.
        const gzip = group === (number % 2 === 0);
        const name = `${way.name}, ${group ? 'in a group' : 'solo'}${gzip ? ', gzipped' : ''}`;
        const nightly = group !== (number % 4 < 2) && 'every way runs for every change, solo or in a group';
        scenario(name, { group, gzip, nightly, since: way.since }, async (given) => {
            const { page, files } = given;
            const { tale, moments } = await writtenInThePage(given);
            for (const { message, book } of way.onlyLast ? moments.slice(-1) : moments) {
                await backTo(page, tale);
                await way.prepare?.(page, message);
                const before = lookAround(files, tale);

                const child = await way.make(page, message, tale.chat);

                const fork = { child, kind: way.kind, message, swipe: way.swipe };
                assertForked(files, tale, before, fork);
                assertOwnLore(files, tale, before, { ...fork, book });
                assert.deepEqual(files.chat(tale, child).metadata.forklore.warnings, []);
                const shown = await page.current();
                const own = files.chat(tale, child).metadata.world_info;
                const open = way.opens ? [child, own] : [tale.chat, tale.book];
                assert.deepEqual([shown.chat, shown.book], open, 'what is open');
            }
        });
    }
}

for (const group of [false, true]) {
    const place = group ? 'in a group' : 'solo';
    /** What SillyTavern says if a chat may not be overwritten. */
    const refusal = {
        refusedSave: true,
        errors: group ? [/status of 400/, /Group chat could not be saved/] : [/status of 400/],
        toasts: group ? [/Group chat could not be saved/] : [],
    };

    scenario(`a branch of a branch has its own book and seal, ${place}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        await page.open(tale);
        const child = await page.branchByButton(5);
        const childTale = { ...tale, chat: child, book: files.chat(tale, child).metadata.world_info };
        await page.save();
        const before = lookAround(files, childTale);

        const grandchild = await page.branchByButton(5);

        const fork = { child: grandchild, kind: 'branch', message: 5 };
        assertForked(files, childTale, before, fork);
        assertOwnLore(files, childTale, before, { ...fork, book: loreWithGaps() });
    });

    scenario(`without a book there is none to copy, ${place}`, { group, nightly: !group && 'in a group it runs for every change' }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: null });
        await page.open(tale);
        await page.save();
        const books = files.books();

        const child = await page.checkpointByButton(5);

        assert.deepEqual(files.books(), books);
        const { metadata } = files.chat(tale, child);
        assert.equal(metadata.world_info, undefined);
        assert.equal(metadata.main_chat, tale.chat);
        assert.equal(metadata.forklore?.book, null);
    });

    scenario(`the name of another chat is refused and leaves no book behind, ${place}`, {
        group,
        expects: refusal,
    }, async ({ page, files, story }) => {
        const { tale, taken } = await withTakenName(story);
        const untouched = files.chat(tale, taken).text;
        await page.open(tale);
        await page.save();
        const books = files.books();

        await (group ? page.checkpointByCommand(5, { name: taken }) : page.checkpointRefused(5, taken));

        assert.equal(files.chat(tale, taken).text, untouched);
        assert.deepEqual(files.books(), books);
        assert.equal(files.chat(tale).metadata.world_info, tale.book);
        assertSameBook(files.book(tale.book).value, loreWithGaps());
    });

    // Before 1.19 a child had its parent's slug, by which SillyTavern checks whether a file is the chat being saved.
    scenario(`a second checkpoint of a name is refused and leaves the first one its book, ${place}`, {
        group,
        expects: refusal,
    }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        await page.open(tale);
        const child = await page.checkpointByCommand(5, { name: `Twice of ${tale.chat}` });
        const [books, { text, metadata }] = [files.books(), files.chat(tale, child)];

        await (group ? page.checkpointByCommand(5, { name: child }) : page.checkpointRefused(5, child));

        assert.equal(files.chat(tale, child).text, text);
        assert.deepEqual(files.books(), books);
        assertSameBook(files.book(metadata.world_info).value, loreWithGaps());
    });

    scenario(`a name that SillyTavern shortens for the file, ${place}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        await page.open(tale);
        await page.save();
        const books = files.books();

        const link = await page.checkpointByCommand(5, { name: `What: a/b? of ${tale.chat}` });

        assert.equal(link, `What: a/b? of ${tale.chat}`);
        const { metadata } = files.chat(tale, `What ab of ${tale.chat}`);
        assert.deepEqual(files.books(), [...books, metadata.world_info].sort());
        assertSameBook(files.book(metadata.world_info).value, loreWithGaps());
        assert.equal(files.chat(tale).messages[5].extra.bookmark_link, link);
    });
}

scenario('a checkpoint that overwrites another chat has its own book', {
    expects: { refusedSave: true, errors: [/status of 400/] },
}, async ({ page, files, story }) => {
    const { tale, taken } = await withTakenName(story);
    await page.open(tale);
    await page.save();
    const before = lookAround(files, tale);

    const child = await page.checkpointOverwriting(5, taken);

    const fork = { child, kind: 'checkpoint', message: 5 };
    assertForked(files, tale, before, fork);
    assertOwnLore(files, tale, before, { ...fork, book: loreWithGaps() });
});

scenario('a solo chat that becomes a group chat takes a copy of the book along', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    await page.save();
    const before = lookAround(files, tale);

    page.watch.clear();
    const chat = await page.convertToGroup();

    const { group, book } = await page.current();
    const converted = files.chat({ ...tale, group }, chat);
    assert.equal(converted.metadata.world_info, book);
    assert.deepEqual(files.books(), [...before.books, book].sort());
    assertSameBook(files.book(book).value, loreWithGaps());
    assert.equal(converted.metadata.main_chat, undefined, 'SillyTavern does not link it to the solo chat');
    assert.notEqual(converted.metadata.integrity, before.parent.metadata.integrity);
    assert.equal(converted.messages.length, 6);
    assert.equal(files.chat(tale).metadata.world_info, tale.book);
    assert.equal(files.book(tale.book).text, before.bookText);
    await notice(page, /Group chat created with its own lore: 4 entries, .*\./, 'success');
});

/**
 * A chat that was written in the page, so that the journal knows it, and whose book changed on the way.
 *
 * The moments are in the middle of stretches with the same book: nothing changes just before or after their messages.
 */
async function writtenInThePage({ page, files, story }) {
    const first = loreWithGaps();
    const tale = await story.begin({ book: first, messages: 2 });
    await page.open(tale);
    await swiped(page, tale, 'the Gull is sighted');
    await page.send('we wait at the quay');

    const second = changed(first);
    await page.saveBook(tale.book, second);
    await page.send('she lands');
    await swiped(page, tale, 'Mara comes ashore');
    const isRecorded = ({ forklore }) => forklore !== undefined;
    const isWritten = ({ messages }) => messages.length === 6 && messages.slice(2).every(isRecorded);
    await files.chatWhen(tale, tale.chat, isWritten);
    return { tale, moments: [{ message: 2, book: first }, { message: 5, book: second }] };
}

async function swiped(page, tale, text) {
    await page.sendAs(tale.speaker, text);
    await page.run(`/addswipe ${text}, told otherwise`);
}

/** One entry edited, one removed, one added, and a new key beside the entries. */
function changed(book) {
    const later = structuredClone(book);
    later.entries[0].content = 'Captain without a ship.';
    delete later.entries[6];
    later.entries[7] = entry(7, { comment: 'item-Bell' });
    later.description = 'after the storm';
    return later;
}

async function backTo(page, tale) {
    if ((await page.current()).chat !== tale.chat) {
        await page.switchTo(tale.chat);
    }
}

async function withTakenName(story) {
    const tale = await story.begin({ book: loreWithGaps() });
    const taken = `Taken by ${tale.name}`;
    story.writeChat(tale, taken, { messages: conversation(2, { name: tale.speaker }) });
    return { tale, taken };
}

scenario('the pressed button shows at once that a fork is being made, until it is', {}, async ({ page, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    await page.save();
    const listing = await holdRequest(page, '/api/characters/chats');
    const saving = await holdRequest(page, '/api/chats/save', ({ file_name: name }) => name !== tale.chat);
    const isShown = () => page.raw.locator('#chat .mes[mesid="5"] .mes_create_branch').evaluate((button) => button.classList.contains('fa-fade'));
    const atOnce = await page.raw.evaluate(() => {
        const button = document.querySelector('#chat .mes[mesid="5"] .mes_create_branch');
        button.click();
        return button.classList.contains('fa-fade');
    });
    assert.equal(atOnce, true, 'in the same moment');
    await listing.reached();
    assert.equal(await isShown(), true, 'while SillyTavern looks for a name');
    await listing.letGo();
    await saving.reached();
    assert.equal(await isShown(), true, 'until the branch is saved');
    await page.opening(() => saving.letGo());
    assert.equal(await page.raw.locator('#chat .fa-fade').count(), 0);
});

scenario('a button whose fork was called off shows no work, not even of another fork', {}, async ({ page, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    await page.save();
    const shown = page.raw.locator('#chat .fa-fade');
    await page.messageAction(5, '.mes_create_bookmark');
    await decline(page);
    await until('the button to be as before', async () => (await shown.count()) === 0);
    const saving = await holdRequest(page, '/api/chats/save', ({ file_name: name }) => name !== tale.chat);
    const made = page.checkpointByCommand(5, { name: `${tale.chat} flag` });
    await saving.reached();
    assert.equal(await shown.count(), 0);
    await saving.letGo();
    await made;
});
