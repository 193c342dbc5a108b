// What Forklore finds when a chat is opened, what it says about it, and what each answer does.

import assert from 'node:assert/strict';

import { agree, choose, decline, dialog, lookingAt, notice, pressNotice, said, verifyAll, withSettings } from '../harness/forklore.mjs';
import { assertSameBook, withoutJournal } from '../harness/forks.mjs';
import { book, entry, loreWithGaps } from '../harness/lore.mjs';
import { sceneBreak } from '../harness/recap.mjs';
import { SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { conversation, reply } from '../harness/story.mjs';

const scenario = withSettings(stage());

const IS_MISSING = /The lorebook “.*” of this chat is missing/;
const IS_SHARED = /The lorebook “.*” is shared with/;

// ---- No findings ----

for (const group of [false, true]) {
    const place = group ? 'in a group' : 'solo';

    scenario(`a sealed child that is well is opened without a word, ${place}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        await page.open(tale);
        const child = await page.checkpointByButton(5);
        const text = files.chat(tale, child).text;
        page.watch.clear();

        const findings = await lookingAt(page, () => page.openCheckpoint(5));

        assert.deepEqual(findings, []);
        assert.deepEqual(said(page), []);
        assert.equal(files.chat(tale, child).text, text, 'looking changes nothing');
    });

    scenario(`an older timeline that shares nothing is no error, ${place}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        const own = `Old lore of ${tale.chat}`;
        story.writeBook(own, loreWithGaps());
        await olderChild(story, tale, 'Branch #1', { world_info: own });

        const findings = await lookingAt(page, () => page.open(tale, `${tale.chat} - Branch #1`));

        assert.deepEqual(findings.map(({ code, problem }) => [code, problem]), [['no-seal', false]]);
        assert.deepEqual(said(page), []);
        assertSameBook(files.book(own).value, loreWithGaps());
    });
}

// ---- A missing book ----

const ways = [
    {
        name: 'restored from the journal',
        way: 'journal',
        says: /The lorebook “.*” was restored: 4 entries, as of message/,
        holds: ({ truth }) => truth,
    },
    {
        name: 'copied from another lorebook',
        way: 'copy',
        prepare: ({ story, tale }) => {
            const other = book([entry(3, { comment: 'of another story' })], { name: 'Kept' });
            story.writeBook(`Other of ${tale.chat}`, other);
            return { other };
        },
        pick: async ({ page, tale }) => {
            await page.dialog().getByRole('searchbox').fill(`other ${tale.chat}`);
            await page.dialog().getByRole('option', { name: `Other of ${tale.chat}` }).click();
        },
        says: /This chat now has the lorebook “.*”, 1 entry/,
        holds: ({ other }) => other,
    },
    {
        name: 'begun anew, empty',
        way: 'empty',
        says: /This chat now has the lorebook “.*”, 0 entries/,
        holds: () => book([]),
    },
];

for (const { name, way, prepare, pick, says, holds } of ways) {
    for (const group of way === 'journal' ? [false, true] : [false]) {
        scenario(`a missing book is ${name}, ${group ? 'in a group' : 'solo'}`, { group }, async (given) => {
            const { page, files } = given;
            const lost = await withLostBook(given, prepare);
            const { tale } = lost;
            const before = files.chat(tale).metadata;

            await lookingAt(page, () => page.open(tale));
            await repair(page, way, () => pick?.({ page, tale }));

            await notice(page, says, 'success');
            assertSameBook(files.book(tale.book).value, holds(lost));
            assert.equal(files.book(tale.book).value.extensions?.forklore, undefined, 'the book of a main chat is its owner’s');
            assert.deepEqual(files.chat(tale).metadata, before, 'the chat is bound as it was');
            assert.equal((await page.current()).book, tale.book);
            await assertWell(page, tale);
        });
    }
}

scenario('a missing book is rebuilt from ST-Auto-Recap’s snapshot', { settings: { journal: false } }, async ({ page, files, story }) => {
    const truth = loreWithGaps();
    const extra = sceneBreak({ name: 'Harbour', start: 0, end: 4, book: truth, bookName: 'Lore' });
    const messages = (cast) => conversation(6, cast).with(4, reply(4, { ...cast, extra }));
    const tale = await story.begin({ book: truth, messages });
    await loseBook(page, files, story, tale);

    await lookingAt(page, () => page.open(tale));
    await pressNotice(page, IS_MISSING, 'Repair…');
    const shown = await dialog(page, 'The lorebook of this chat is missing');
    assert.ok(await shown.locator('input[value="journal"]').isDisabled(), 'nothing was recorded');
    assert.ok(await shown.locator('input[value="recap"]').isChecked(), 'the best of what is left');
    await agree(page);

    await notice(page, /was restored: 4 entries, as of message 4/, 'success');
    const kept = (entries) => Object.values(entries).map(({ uid, comment, key, content, order, sticky, disable }) =>
        ({ uid, comment: comment || '(unnamed)', key, content, order, sticky, disable }));
    const rebuilt = await files.bookWhen(tale.book);
    assert.deepEqual(Object.keys(rebuilt.value.entries), Object.keys(truth.entries));
    assert.deepEqual(kept(rebuilt.value.entries), kept(truth.entries));
    await assertWell(page, tale);
});

scenario('a chat is left without its missing book', {}, async (given) => {
    const { page, files } = given;
    const { tale } = await withLostBook(given);
    const { world_info: _gone, ...others } = files.chat(tale).metadata;

    await lookingAt(page, () => page.open(tale));
    await repair(page, 'detach');

    await notice(page, /This chat has no lorebook now/, 'success');
    const { metadata } = await files.chatWhen(tale, tale.chat, (chat) => !('world_info' in chat.metadata));
    assert.deepEqual(metadata, others);
    assert.equal((await page.current()).book, undefined);
    assert.ok(!files.books().includes(tale.book));
    await assertWell(page, tale);
});

scenario('"not now" leaves everything as it is, and is asked again next time', {}, async (given) => {
    const { page, files } = given;
    const { tale, elsewhere } = await withLostBook(given);
    const before = { books: files.books(), metadata: files.chat(tale).metadata };
    for (const time of ['first', 'second']) {
        page.watch.clear();
        await lookingAt(page, () => page.open(tale));
        await pressNotice(page, IS_MISSING, 'Repair…');
        await dialog(page, 'The lorebook of this chat is missing');
        await decline(page);

        assert.deepEqual({ books: files.books(), metadata: files.chat(tale).metadata }, before, time);
        await page.open(elsewhere);
    }
});

scenario('the lost book of a sealed child comes back as ours', {}, async ({ page, files, story }) => {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    const child = await page.branchByButton(5);
    const own = files.chat(tale, child).metadata.world_info;
    await page.send('the branch goes on');
    const truth = changed(loreWithGaps(), files.book(own).value.extensions.forklore);
    await page.saveBook(own, truth);
    await page.save();
    await loseBook(page, files, story, { ...tale, book: own });

    await lookingAt(page, () => page.open(tale, child));
    await repair(page, 'journal');

    await notice(page, /was restored: 4 entries, as of message/, 'success');
    assertSameBook(files.book(own).value, truth);
    assert.equal(files.book(own).value.extensions.forklore.chat, child, 'it has our mark again');
    await assertWell(page, { ...tale, chat: child, book: own });
});

scenario('the journal outlives a missing book, whatever is written meanwhile', {}, async (given) => {
    const { page, files } = given;
    const { tale, truth } = await withLostBook(given);
    const recorded = files.chat(tale).messages.map(({ forklore }) => forklore);
    await lookingAt(page, () => page.open(tale));
    await page.send('said without any lore');
    await page.sendAs(tale.speaker, 'answered without any lore');
    await page.save();
    assert.deepEqual(files.chat(tale).messages.slice(0, recorded.length).map(({ forklore }) => forklore), recorded);

    // A freshly loaded page knows the book as the empty one that the server returns for it.
    await page.reload();
    await lookingAt(page, () => page.open(tale));
    await page.send('and once more');
    await page.save();
    assert.deepEqual(files.chat(tale).messages.slice(0, recorded.length).map(({ forklore }) => forklore), recorded);
    await repair(page, 'journal');

    await notice(page, /was restored: 4 entries/, 'success');
    assertSameBook(files.book(tale.book).value, truth);
});

// ---- A shared book ----

for (const group of [false, true]) {
    const place = group ? 'in a group' : 'solo';

    scenario(`a child of old is split off its parent's book, ${place}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        const child = await olderChild(story, tale, 'Branch #1', { world_info: tale.book }, 4);
        const before = untouched(files, tale, [tale.chat]);
        const messages = files.chat(tale, child).messages;

        const findings = await lookingAt(page, () => page.open(tale, child));
        assert.deepEqual(findings.filter(({ problem }) => problem).map(({ code }) => code), ['book-shared']);
        await pressNotice(page, IS_SHARED, 'Split…');
        const shown = await dialog(page, 'This lorebook is shared');
        await shown.locator('.forklore_preview', { hasText: `${child} - Lore` }).waitFor();
        await agree(page);

        await notice(page, /1 chat has its own lorebook now/, 'success');
        const split = await files.chatWhen(tale, child, ({ metadata }) => metadata.world_info !== tale.book);
        assertSplit(files, tale, child, { from: tale.chat, message: 3 });
        assert.deepEqual(split.messages.map(withoutJournal), messages);
        assert.deepEqual(untouched(files, tale, [tale.chat]), before, 'the parent and its book');
        assert.equal((await page.current()).book, `${child} - Lore`);
        assert.deepEqual(await problems(page, tale), []);
    });

    scenario(`a whole family of old is split, and the main chat keeps the book, ${place}`, { group }, async ({ page, files, story }) => {
        const tale = await story.begin({ book: loreWithGaps() });
        const bound = { world_info: tale.book };
        const first = await olderChild(story, tale, 'Branch #1', bound, 4);
        const second = await olderChild(story, tale, 'Checkpoint #1', bound, 5);
        const grandchild = await olderChild(story, { ...tale, chat: first }, 'Checkpoint #1', bound, 3);
        const before = untouched(files, tale, [tale.chat]);
        const messages = Object.fromEntries([first, second, grandchild].map((name) => [name, files.chat(tale, name).messages]));

        await lookingAt(page, () => page.open(tale, first));
        await pressNotice(page, IS_SHARED, 'Split…');
        const shown = await dialog(page, 'This lorebook is shared');
        await choose(page, 'family');
        await shown.locator('.forklore_preview', { hasText: `“${tale.chat}” keeps “${tale.book}”.` }).waitFor();
        const items = shown.locator('.forklore_preview .forklore_item');
        // The plan for this chat alone also says which chat keeps the book.
        await items.nth(2).waitFor();
        const plan = await items.allTextContents();
        assert.equal(plan.length, 3);
        for (const name of [first, second, grandchild]) {
            assert.ok(plan.some((line) => line.includes(`${name} - Lore`)), `the plan names the book of ${name}`);
        }
        assert.ok(!plan.some((line) => line.includes(`“${tale.chat} - Lore”`)));
        await agree(page);

        await notice(page, /3 chats have their own lorebook now/, 'success');
        for (const [name, from, message] of [[first, tale.chat, 3], [second, tale.chat, 4], [grandchild, first, 2]]) {
            assertSplit(files, tale, name, { from, message });
            assert.deepEqual(files.chat(tale, name).messages.map(withoutJournal), messages[name], name);
        }
        assert.deepEqual(untouched(files, tale, [tale.chat]), before, 'the parent and its book');
        assert.deepEqual(await problems(page, tale), []);
    });
}

// ---- Helpers ----

/** A chat that was written in the page and whose book was deleted since; another chat is open. */
async function withLostBook({ page, files, story }, prepare) {
    const tale = await story.begin({ book: loreWithGaps() });
    await page.open(tale);
    await page.send('we wait at the quay');
    const truth = changed(loreWithGaps());
    await page.saveBook(tale.book, truth);
    await page.send('she lands');
    await page.save();
    const more = await prepare?.({ story, tale });
    const elsewhere = await loseBook(page, files, story, tale);
    return { tale, truth, elsewhere, ...more };
}

/** Deletes a book in the page, as a user does, while another chat is open. */
async function loseBook(page, files, story, { book }) {
    const elsewhere = await story.begin({ book: null, group: false });
    await page.open(elsewhere);
    await page.raw.evaluate(async (book) => {
        const { deleteWorldInfo } = await import('/scripts/world-info.js');
        await deleteWorldInfo(book);
    }, book);
    await page.settle();
    assert.ok(!files.books().includes(book));
    page.watch.clear();
    return elsewhere;
}

async function repair(page, way, pick) {
    await pressNotice(page, IS_MISSING, 'Repair…');
    await dialog(page, 'The lorebook of this chat is missing');
    await choose(page, way);
    await pick?.();
    await agree(page);
    await page.settle();
}

/** Opened again, the chat has no problems. */
async function assertWell(page, tale) {
    const findings = await lookingAt(page, () => page.switchTo(tale.chat));
    assert.deepEqual(findings.filter(({ problem }) => problem), []);
}

/** A child as SillyTavern creates it without Forklore. @returns {Promise<string>} its name */
async function olderChild(story, tale, suffix, metadata, messages = 4) {
    const name = `${tale.chat} - ${suffix}`;
    const parent = story.files.chat(tale).messages;
    const copied = parent.slice(0, Math.min(messages, parent.length));
    const own = conversation(8, { name: tale.speaker, group: Boolean(tale.group) }).slice(copied.length, copied.length + 1);
    own.forEach((message) => { message.mes += `, as ${name} tells it`; });
    story.writeChat(tale, name, { messages: [...copied, ...own], metadata: { main_chat: tale.chat, ...metadata } });
    if (tale.group) {
        await story.list(tale, name);
    }
    return name;
}

/** The bytes that must not change. */
function untouched(files, tale, chats) {
    return { chats: chats.map((name) => files.chat(tale, name).text), book: files.book(tale.book).text };
}

/** An old child that now has its own book and seal. */
function assertSplit(files, tale, child, { from, message }) {
    const { metadata } = files.chat(tale, child);
    const own = `${child} - Lore`;
    assert.equal(metadata.world_info, own);
    assert.equal(metadata.main_chat, from);
    assertSameBook(files.book(own).value, loreWithGaps());
    assert.equal(files.book(own).value.extensions.forklore.chat, child);
    const { parent, book } = metadata.forklore;
    assert.deepEqual([parent.chat, parent.message, book.name, book.from], [from, message, own, tale.book]);
}

async function problems(page, tale) {
    const found = await verifyAll(page);
    return found.filter(({ chat, problem }) => problem && chat.startsWith(tale.chat));
}

/** One entry edited, one removed, one added, and a new key beside the entries. */
function changed(lore, mark) {
    const later = structuredClone(lore);
    later.entries[0].content = 'Captain without a ship.';
    delete later.entries[6];
    later.entries[7] = entry(7, { comment: 'item-Bell' });
    later.description = 'after the storm';
    if (mark) {
        later.extensions = { ...later.extensions, forklore: mark };
    }
    return later;
}
