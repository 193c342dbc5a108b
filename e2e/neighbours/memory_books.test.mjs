// The real Memory Books at work, through SillyTavern's real backend with a fake model behind it: a child's next memory
// goes into the child's own book, and counts from the right message.
//
//   FORKLORE_NEIGHBOURS=/folder/of/unpacked/extensions node --test e2e/neighbours/memory_books.test.mjs

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { said, verifyAll } from '../harness/forklore.mjs';
import { FakeModel } from '../harness/model.mjs';
import { stage } from '../harness/scenario.mjs';
import { until } from '../harness/until.mjs';
import { memoryBooksBegun, missing, neighbours } from './neighbours.mjs';

const NAME = 'SillyTavern-MemoryBooks';

const why = missing || (neighbours[NAME] ? false : `there is no ${NAME} in FORKLORE_NEIGHBOURS`);

if (why) {
    test('beside Memory Books at work', { skip: why }, () => {});
} else {
    let count = 0;
    const model = await FakeModel.start(() => {
        count += 1;
        return JSON.stringify({ title: `Memory ${count}`, content: `What happened, number ${count}.`, keywords: ['harbour'] });
    });

    describe('beside Memory Books at work', () => {
        const scenario = stage({
            extensions: { [NAME]: neighbours[NAME] },
            builtIns: ['connection-manager'],
            preset: { openai_max_context: 32_000, stream_openai: false },
            settings: (settings) => model.connect(settings),
        });
        for (const isManual of [false, true]) {
            for (const kind of ['branch', 'checkpoint']) {
                const mode = isManual ? 'manual' : 'automatic';
                scenario(`a ${kind} in ${mode} mode goes on with its own memories`, { besides: true }, (given) =>
                    goesOn(given, { kind, isManual }));
            }
        }
        for (const kind of ['branch', 'checkpoint']) {
            for (const group of [false, true]) {
                const mode = group ? 'a group with books of its characters' : 'narrator mode';
                scenario(`a ${kind} in ${mode} has each book as its own`, { besides: true, group }, (given) =>
                    hasEach(given, { kind, group }));
            }
        }
    });
}

/** The memories in a book: which messages each is about, and in which chat. */
function memoriesIn(files, name) {
    return Object.values(files.book(name).value.entries)
        .filter((entry) => entry.stmemorybooks)
        .map(({ STMB_start: start, STMB_end: end, STMB_chatId: chat }) => ({ start, end, chat }));
}

const highest = (page) => page.run('/stmb-highest');

async function remember(page, files, book, range) {
    const before = memoriesIn(files, book).length;
    void page.run(`/scenememory ${range}`);
    await until(`a memory of ${range}`, () => memoriesIn(files, book).length === before + 1);
    await page.settle();
}

async function goesOn({ page, files, story }, { kind, isManual }) {
    await memoryBooksBegun(page);
    await page.raw.evaluate((isManual) => {
        Object.assign(SillyTavern.getContext().extensionSettings.STMemoryBooks.moduleSettings, { manualModeEnabled: isManual, autoHideMode: 'none' });
    }, isManual);
    const tale = await story.begin({ book: { entries: {} }, messages: 2 });
    const memoryBook = isManual ? `${tale.book} of memories` : tale.book;
    if (isManual) {
        story.writeBook(memoryBook, { entries: {} });
    }
    await page.open(tale);
    if (isManual) {
        await page.raw.evaluate(async (name) => {
            const { chatMetadata, saveMetadata, updateWorldInfoList } = SillyTavern.getContext();
            await updateWorldInfoList?.();
            chatMetadata.STMemoryBooks = { ...chatMetadata.STMemoryBooks, manualLorebook: name };
            await saveMetadata();
        }, memoryBook);
    }
    await page.send('we wait');
    await page.sendAs(tale.speaker, 'the Gull is sighted');
    await remember(page, files, memoryBook, '0-1');
    await page.send('she lands');
    await page.sendAs(tale.speaker, 'Mara comes ashore');
    await remember(page, files, memoryBook, '2-5');
    assert.equal(await highest(page), '5');
    await page.save();
    const [bookText, memoryText] = [files.book(tale.book).text, files.book(memoryBook).text];
    const books = files.books();
    page.watch.clear();

    const child = kind === 'branch' ? await page.branchByButton(4) : await page.checkpointByButton(4);
    if (kind === 'checkpoint') {
        await page.switchTo(child);
    }
    await page.settle();

    const { metadata } = files.chat(tale, child);
    const own = isManual ? metadata.STMemoryBooks.manualLorebook : metadata.world_info;
    assert.deepEqual(files.books(), [...new Set([...books, metadata.world_info, own])].sort(), 'its own books and no others');
    assert.ok(!books.includes(own), 'the book of its memories is its own');
    assert.deepEqual(memoriesIn(files, own), [{ start: 0, end: 1, chat: child }]);
    assert.equal(await highest(page), '1', 'how far it has come');

    await page.sendAs(tale.speaker, 'and then?');
    await remember(page, files, own, '2-4');
    assert.deepEqual(memoriesIn(files, own), [{ start: 0, end: 1, chat: child }, { start: 2, end: 4, chat: child }]);
    assert.equal(await highest(page), '4');
    assert.equal(files.book(tale.book).text, bookText, "the parent's book");
    assert.equal(files.book(memoryBook).text, memoryText, "the parent's memories");
    assert.deepEqual((await verifyAll(page)).filter((found) => [tale.chat, child].includes(found.chat)), []);
    assert.deepEqual(said(page).filter(({ type }) => type === 'warning' || type === 'error'), []);

    await page.switchTo(tale.chat);
    await page.settle();
    await page.deleteChat(child);
    await until('no book to be left behind', () => assert.deepEqual(files.books(), books) ?? true);
}

/** A memory as it is in the book of the narrator or a group, and in those of the characters. */
const memory = (uid, { end, chat, first }) => ({
    uid, key: ['harbour'], keysecondary: [], comment: `[00${uid + 1}] up to ${end}`, content: `What happened up to ${end}.`, stmemorybooks: true,
    STMB_start: 0, STMB_end: end, STMB_chatId: chat, STMB_canonicalLorebook: first, constant: false, disable: false, order: 100, position: 0,
});

/** Says of every message that the first of the cast was there. Otherwise Memory Books asks. */
function setCast(page) {
    return page.raw.evaluate(() => {
        for (const message of SillyTavern.getContext().chat) {
            message.extra = { ...message.extra, STMemoryBooks: { narratorCast: { version: 1, memberIds: ['id0'] } } };
        }
    });
}

async function hasEach({ page, files, story }, { kind, group }) {
    await memoryBooksBegun(page);
    await page.raw.evaluate(() => {
        Object.assign(SillyTavern.getContext().extensionSettings.STMemoryBooks.moduleSettings, { manualModeEnabled: true, autoHideMode: 'none' });
    });
    const tale = await story.begin({ book: { entries: {} }, messages: 2 });
    const main = `${tale.book} of all`;
    const cast = ['Ada', 'Bo', 'Cleo'].map((name) => `${tale.book} of ${name}`);
    const sources = [main, ...cast];
    for (const name of sources) {
        const told = [1, 5].map((end, uid) => memory(uid, { end, chat: tale.chat, first: main }));
        story.writeBook(name, { entries: Object.fromEntries(told.map((entry) => [entry.uid, entry])) });
    }
    await page.open(tale);
    await page.raw.evaluate(async ({ main, cast, group }) => {
        const { chatMetadata, saveChat, updateWorldInfoList } = SillyTavern.getContext();
        await updateWorldInfoList?.();
        const members = cast.map((lorebookName, at) => ({ id: `id${at}`, avatar: '', name: `Name ${at}`, lorebookName, retired: at === 2 }));
        chatMetadata.STMemoryBooks = {
            ...chatMetadata.STMemoryBooks,
            manualLorebook: main,
            highestMemoryProcessed: 5,
            ...(group
                ? { manualCharacterLorebooks: Object.fromEntries(cast.map((name, at) => [`key${at}`, name])) }
                : { narratorMode: { version: 1, enabled: true, members, activeCastIds: ['id0'] } }),
        };
        await saveChat();
    }, { main, cast, group });
    for (const text of ['we wait', 'she lands']) {
        await page.send(text);
        await page.sendAs(tale.speaker, `${text}, and the Gull is sighted`);
    }
    if (!group) {
        await setCast(page);
    }
    await page.save();
    const texts = [tale.book, ...sources].map((name) => files.book(name).text);
    const books = files.books();
    page.watch.clear();

    const child = kind === 'branch' ? await page.branchByButton(4) : await page.checkpointByButton(4);
    if (kind === 'checkpoint') {
        await page.switchTo(child);
    }
    await page.settle();

    const namedIn = () => {
        const { STMemoryBooks: notes } = files.chat(tale, child).metadata;
        const others = group ? Object.values(notes.manualCharacterLorebooks) : notes.narratorMode.members.map(({ lorebookName }) => lorebookName);
        return [notes.manualLorebook, ...others];
    };
    const own = namedIn();
    const { metadata } = files.chat(tale, child);
    assert.equal(new Set([...books, ...own]).size, books.length + 4, 'four books of its own');
    const all = [...books, metadata.world_info, ...own].sort();
    assert.deepEqual(files.books(), all, 'and no others');
    for (const name of own) {
        const entries = Object.values(files.book(name).value.entries);
        assert.deepEqual(entries, [memory(0, { end: 1, chat: child, first: own[0] })], name);
    }
    const { status, mappings } = metadata.STMemoryBooks.branchLorebookCopies;
    assert.equal(status, 'completed');
    assert.deepEqual(mappings.map(({ copyName }) => copyName), [metadata.world_info, ...own]);
    assert.equal(await highest(page), '1', 'how far it has come');

    await page.sendAs(tale.speaker, 'and then?');
    if (!group) {
        await setCast(page);
    }
    await remember(page, files, own[0], '2-4');
    assert.equal(memoriesIn(files, own[0]).length, 2);
    if (!group) {
        assert.equal(memoriesIn(files, own[1]).length, 2, 'the character who was there remembers, too');
    }
    await page.switchTo(tale.chat);
    await page.switchTo(child);
    await page.settle();
    assert.deepEqual([namedIn(), files.books()], [own, all], 'opened later, it has the same books');
    assert.deepEqual([tale.book, ...sources].map((name) => files.book(name).text), texts, "the parent's books");
    assert.deepEqual((await verifyAll(page)).filter((found) => [tale.chat, child].includes(found.chat)), []);
    assert.deepEqual(said(page).filter(({ type }) => type === 'warning' || type === 'error'), []);

    await page.switchTo(tale.chat);
    await page.settle();
    await page.deleteChat(child);
    await until('no book to be left behind', () => assert.deepEqual(files.books(), books) ?? true);
}
