// Two pages that edit the same book, with the real core and a server in memory.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chance } from '../../e2e/harness/chance.mjs';
import { Page, Server, inTrash, turns } from './pages.mjs';
import { realCore } from './tavern.mjs';

const core = await realCore();

const entry = (uid, fields = {}) => ({ uid, key: [`k${uid}`], comment: `Entry ${uid}`, content: `Content ${uid}`, order: 100, ...fields });
const lore = (count = 4) => ({ entries: Object.fromEntries(Array.from({ length: count }, (_, uid) => [uid, entry(uid)])) });

async function twoPages({ count = 4, answer, ...more } = {}) {
    const server = new Server({ books: { Lore: lore(count) }, ...more });
    const pages = [0, 1].map(() => new Page({ server, core, answer, isGuarded: more.isGuarded }));
    await Promise.all(pages.map((page) => page.open('Lore')));
    return { server, pages };
}

test('edits of different entries are all there in the end', async () => {
    const { server, pages: [one, other] } = await twoPages();
    one.editor.entries[0].content = 'by one';
    await one.save('Lore', one.editor);
    other.editor.entries[1].content = 'by the other';
    await other.save('Lore', other.editor);
    one.editor.entries[0].content = 'by one, again';
    await one.save('Lore', one.editor);
    await server.quiet();
    assert.equal(server.book('Lore').entries[0].content, 'by one, again');
    assert.equal(server.book('Lore').entries[1].content, 'by the other');
    assert.deepEqual([...one.asked, ...other.asked], []);
    assert.deepEqual(other.news, [{ book: 'Lore', isGone: false, entries: [{ title: 'Entry 0', what: 'change' }] }]);
    assert.equal(server.files.size, 0, 'nothing had to be kept');
});

test('without the guard one of them is lost, as in SillyTavern', async () => {
    const { server, pages: [one, other] } = await twoPages({ isGuarded: false });
    one.editor.entries[0].content = 'by one';
    await one.save('Lore', one.editor);
    other.editor.entries[1].content = 'by the other';
    await other.save('Lore', other.editor);
    assert.equal(server.book('Lore').entries[0].content, 'Content 0');
});

test('entries that go and come elsewhere go and come here', async () => {
    const { server, pages: [one, other] } = await twoPages();
    delete one.editor.entries[2];
    one.editor.entries[7] = entry(7, { content: 'new' });
    await one.save('Lore', one.editor);
    other.editor.entries[0].content = 'by the other';
    await other.save('Lore', other.editor);
    // Its editor still shows the old content; that must not bring anything back, or remove anything.
    other.editor.entries[0].content = 'by the other, again';
    await other.save('Lore', other.editor);
    await server.quiet();
    const { entries } = server.book('Lore');
    assert.deepEqual(Object.keys(entries), ['0', '1', '3', '7']);
    assert.equal(entries[0].content, 'by the other, again');
    assert.deepEqual((await other.load('Lore')).entries, entries, 'the page goes on with what came in');
});

test('two new entries with one number are two entries, and each page goes on with its own', async () => {
    const { server, pages: [one, other] } = await twoPages();
    one.editor.entries[4] = entry(4, { content: 'of one' });
    other.editor.entries[4] = entry(4, { content: 'of the other' });
    await Promise.all([one.save('Lore', one.editor), other.save('Lore', other.editor)]);
    one.editor.entries[4].content = 'of one, again';
    await one.save('Lore', one.editor);
    other.editor.entries[4].content = 'of the other, again';
    await other.save('Lore', other.editor);
    await server.quiet();
    const { entries } = server.book('Lore');
    assert.deepEqual(Object.values(entries).slice(4).map(({ content }) => content).sort(), ['of one, again', 'of the other, again']);
    assert.ok(Object.entries(entries).every(([key, { uid }]) => Number(key) === uid));
    assert.deepEqual([...one.asked, ...other.asked], []);
});

for (const [what, choice, inBook, kept] of [
    ['mine', { 1: { content: 'ours' } }, 'by the other', 'by one'],
    ['theirs', { 1: { content: 'theirs' } }, 'by one', 'by the other'],
    ['later', null, 'by the other', 'by one'],
]) {
    test(`the same field: ${what} is taken and the other one is in the trash`, async () => {
        const answer = () => choice && { settle: choice };
        const { server, pages: [one, other] } = await twoPages({ answer });
        one.editor.entries[1].content = 'by one';
        await one.save('Lore', one.editor);
        await server.quiet();
        other.editor.entries[1].content = 'by the other';
        other.editor.entries[2].content = 'beside it';
        await other.save('Lore', other.editor);
        await server.quiet();
        assert.equal(other.asked.length, 1);
        const [conflict] = other.asked[0].conflicts;
        assert.deepEqual([conflict.title, conflict.field, conflict.ours, conflict.theirs], ['Entry 1', 'content', 'by the other', 'by one']);
        assert.equal(server.book('Lore').entries[1].content, inBook);
        assert.equal(server.book('Lore').entries[2].content, 'beside it');
        assert.deepEqual(inTrash(server).map((text) => JSON.parse(text).entries[1].content), [kept]);
        assert.equal(other.kept.length, 1);
    });
}

test('written by hand, both are in the trash', async () => {
    const { server, pages: [one, other] } = await twoPages({ answer: () => ({ settle: { 1: { content: { value: 'by hand' } } } }) });
    one.editor.entries[1].content = 'by one';
    await one.save('Lore', one.editor);
    await server.quiet();
    other.editor.entries[1].content = 'by the other';
    await other.save('Lore', other.editor);
    await server.quiet();
    assert.equal(server.book('Lore').entries[1].content, 'by hand');
    assert.deepEqual(inTrash(server).map((text) => JSON.parse(text).entries[1].content).sort(), ['by one', 'by the other']);
    // Its editor continues from there without another question.
    other.editor.entries[2].content = 'more';
    await other.save('Lore', other.editor);
    assert.equal(server.book('Lore').entries[1].content, 'by hand');
    assert.equal(other.asked.length, 1);
});

test('an entry that was deleted there and changed here is asked about', async () => {
    const { server, pages: [one, other] } = await twoPages({ answer: () => ({ settle: { 3: 'ours' } }) });
    delete one.editor.entries[3];
    await one.save('Lore', one.editor);
    other.editor.entries[3].content = 'still needed';
    await other.save('Lore', other.editor);
    await server.quiet();
    assert.equal(other.asked[0].conflicts[0].kind, 'removed-by-theirs');
    assert.equal(server.book('Lore').entries[3].content, 'still needed');
});

test('while a question stands, the other page can save, and what waits comes after it', { timeout: 20_000 }, async () => {
    let decide;
    const { server, pages: [one, other] } = await twoPages({ answer: () => new Promise((resolve) => { decide = resolve; }) });
    one.editor.entries[1].content = 'by one';
    await one.save('Lore', one.editor);
    other.editor.entries[1].content = 'by the other';
    const held = other.save('Lore', other.editor);
    while (!decide) {
        await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(inTrash(server).some((text) => text.includes('by the other')), 'a tab that is closed now loses nothing');
    other.editor.entries[2].content = 'typed meanwhile';
    const waiting = other.save('Lore', other.editor);
    one.editor.entries[0].content = 'not kept waiting';
    await one.save('Lore', one.editor);
    assert.equal(server.book('Lore').entries[0].content, 'not kept waiting');
    decide({ settle: { 1: { content: 'ours' } } });
    await Promise.all([held, waiting]);
    await server.quiet();
    const { entries } = server.book('Lore');
    assert.deepEqual([0, 1, 2].map((key) => entries[key].content), ['not kept waiting', 'by the other', 'typed meanwhile']);
});

test('a copy that somebody else holds in this page loses nothing either', async () => {
    const { server, pages: [page] } = await twoPages();
    const held = await page.load('Lore');
    held.entries[1].content = 'by an extension';
    await page.save('Lore', held);
    page.editor.entries[0].content = 'by the editor, which was not shown anew';
    await page.save('Lore', page.editor);
    assert.equal(server.book('Lore').entries[1].content, 'by an extension');
    assert.equal(server.book('Lore').entries[0].content, 'by the editor, which was not shown anew');
});

test('a save of a text that nobody has a copy of is based on what was read last', async () => {
    const { server, pages: [one, other] } = await twoPages();
    const own = structuredClone(other.memory.get('Lore'));
    one.editor.entries[0].content = 'by one';
    await one.save('Lore', one.editor);
    own.entries[1].content = 'by a request of its own';
    await other.send('Lore', JSON.stringify(own));
    assert.deepEqual([0, 1].map((key) => server.book('Lore').entries[key].content), ['by one', 'by a request of its own']);
});

test('a book that was imported from a card keeps the card’s form of both sides’ edits, and nobody is asked', async () => {
    const { server, pages: [one, other] } = await twoPages();
    const form = (text) => ({ ...JSON.parse(text), originalData: { name: 'A card', entries: [0, 1, 2, 3].map((uid) => ({ uid, content: `Content ${uid}`, keys: [`k${uid}`] })) } });
    server.books.set('Lore', JSON.stringify(form(server.books.get('Lore'))));
    for (const page of [one, other]) {
        page.memory.clear();
        await page.open('Lore');
    }
    const type = (page, uid, content) => {
        page.editor.entries[uid].content = content;
        page.editor.originalData.entries[uid].content = content;
        return page.save('Lore', page.editor);
    };
    await type(one, 0, 'by one');
    await type(other, 1, 'by the other');
    await type(one, 2, 'by one too');
    await server.quiet();
    const { entries, originalData } = server.book('Lore');
    const expected = ['by one', 'by the other', 'by one too', 'Content 3'];
    assert.deepEqual(Object.values(entries).map(({ content }) => content), expected);
    assert.deepEqual(originalData.entries.map(({ content }) => content), expected);
    assert.deepEqual([...one.asked, ...other.asked], []);
});

test('a field of the book itself that both changed is asked about', async () => {
    const { server, pages: [one, other] } = await twoPages({ answer: () => ({ settle: { '': { name: 'theirs' } } }) });
    one.editor.name = 'of one';
    await one.save('Lore', one.editor);
    await server.quiet();
    other.editor.name = 'of the other';
    await other.save('Lore', other.editor);
    await server.quiet();
    assert.equal(server.book('Lore').name, 'of one');
    assert.ok(inTrash(server).some((text) => text.includes('of the other')));
});

test('a new book, and a book under a new name, go out as they are', async () => {
    const { server, pages: [page] } = await twoPages();
    await page.save('Fresh', { entries: {} });
    await page.save('Renamed', page.editor);
    assert.deepEqual(server.book('Fresh'), { entries: {} });
    assert.deepEqual(server.book('Renamed'), lore());
});

test('a book that was deleted elsewhere is written whole, and that is said', async () => {
    const { server, pages: [page] } = await twoPages();
    server.books.delete('Lore');
    page.editor.entries[0].content = 'typed';
    await page.save('Lore', page.editor);
    await server.quiet();
    assert.equal(Object.keys(server.book('Lore').entries).length, 4);
    assert.deepEqual(page.news.map(({ isGone }) => isGone), [true]);
});

test('a book that was emptied elsewhere is not taken for a deleted one', async () => {
    const { server, pages: [page] } = await twoPages({ answer: () => ({ settle: { 0: 'ours' } }) });
    server.books.set('Lore', '{"entries":{}}');
    page.editor.entries[0].content = 'typed';
    await page.save('Lore', page.editor);
    assert.deepEqual(Object.keys(server.book('Lore').entries), ['0']);
});

test('when the server cannot be read, the save fails as our part and not as SillyTavern’s', async () => {
    const { server, pages: [page] } = await twoPages();
    page.guard.host.bookOnServer = async () => { throw new Error('no answer'); };
    page.editor.entries[0].content = 'typed';
    await assert.rejects(page.save('Lore', page.editor), /no answer/);
    assert.equal(server.book('Lore').entries[0].content, 'Content 0', 'the tap sends it as it was');
});

test('what was typed and taken back at once stays taken back', async () => {
    const { server, pages: [page] } = await twoPages();
    page.editor.entries[0].content = 'typed';
    await page.save('Lore', page.editor);
    page.editor.entries[0].content = 'Content 0';
    await page.save('Lore', page.editor);
    await server.quiet();
    assert.equal(server.book('Lore').entries[0].content, 'Content 0');
});

test('what Forklore itself writes right after a save holds, and is nobody’s news', async () => {
    const { server, pages: [page] } = await twoPages();
    page.editor.entries[0].content = 'typed';
    await page.save('Lore', page.editor);
    server.books.set('Lore', JSON.stringify(lore()));
    page.guard.wroteByForklore('Lore', JSON.stringify(lore()));
    await server.quiet();
    assert.equal(server.book('Lore').entries[0].content, 'Content 0', 'a restore is not undone');
    page.editor.entries[1].content = 'typed on';
    await page.save('Lore', page.editor);
    await server.quiet();
    assert.deepEqual([0, 1].map((key) => server.book('Lore').entries[key].content), ['Content 0', 'typed on']);
    assert.deepEqual(page.news, []);
});

test('a device that wrote over a save in the same moment does not win', async () => {
    const { server, pages: [page] } = await twoPages({ hasLocks: false });
    const stale = server.book('Lore');
    page.editor.entries[0].content = 'typed';
    await page.save('Lore', page.editor);
    stale.entries[1].content = 'from a phone that had read it before';
    server.books.set('Lore', JSON.stringify(stale));
    await server.quiet();
    assert.deepEqual([0, 1].map((key) => server.book('Lore').entries[key].content), ['typed', 'from a phone that had read it before']);
});

test('what such a device wrote over for good is in the trash', async () => {
    const { server, pages: [page] } = await twoPages({ hasLocks: false });
    page.editor.entries[0].content = 'typed';
    await page.save('Lore', page.editor);
    const stale = lore();
    stale.entries[0].content = 'from a phone';
    server.books.set('Lore', JSON.stringify(stale));
    await server.quiet();
    assert.equal(server.book('Lore').entries[0].content, 'from a phone');
    assert.ok(inTrash(server).some((text) => text.includes('typed')));
    assert.deepEqual(page.kept.map(({ isLate }) => isLate), [true]);
});

/** One of two pages. It edits its own entries at random times, through its editor and through copies. */
async function work(page, { mine, edits, dice, expected, pause = 0 }) {
    for (let edit = 0; edit < edits; edit += 1) {
        const key = dice.of(mine);
        const text = `${key}: edit ${edit}`;
        if (page.mayShowAnew && dice.below(3) === 0) {
            await page.open('Lore');
        }
        const copy = dice.below(3) === 0 ? await page.load('Lore') : page.editor;
        if (dice.below(8) === 0 && copy.entries[key]) {
            delete copy.entries[key];
            expected.set(key, undefined);
        } else {
            copy.entries[key] = { ...(copy.entries[key] ?? entry(Number(key))), content: text };
            expected.set(key, text);
        }
        const saved = page.save('Lore', copy);
        if (copy !== page.editor) {
            // Like SillyTavern's own commands after a save.
            await page.open('Lore');
        }
        if (pause || dice.below(2) === 0) {
            await saved;
        }
        await turns(pause && pause + dice.below(pause));
    }
}

for (const hasLocks of [true, false]) {
    // Without locks, a device is protected from another one that saves at the same moment, but not from one that never
    // stops.
    const pause = hasLocks ? 0 : 45;
    test(`whatever the order, no edit is lost of entries that only one page edits${hasLocks ? '' : ', without locks'}`, async () => {
        for (let seed = 1; seed <= (hasLocks ? 80 : 30); seed += 1) {
            const { server, pages } = await twoPages({ count: 8, seed, hasLocks });
            const dice = chance(seed * 7919);
            const expected = new Map();
            const own = [['0', '1', '2', '3', '20'], ['4', '5', '6', '7', '30']];
            await Promise.all(pages.map((page, which) => work(page, { mine: own[which], edits: 12, dice, expected, pause })));
            await server.quiet();
            const { entries } = server.book('Lore');
            for (const [key, text] of expected) {
                assert.equal(entries[key]?.content, text, `seed ${seed}, entry ${key}`);
            }
            assert.deepEqual(pages.flatMap(({ asked, errors }) => [...asked, ...errors]), [], `seed ${seed}`);
        }
    });
}

test('whatever the order, an edit of an entry that both edit is in the book or in the trash', async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
        const dice = chance(seed * 104729);
        const answer = ({ conflicts: [{ key, field }] }) => dice.of([null, { settle: { [key]: { [field]: dice.of(['ours', 'theirs']) } } }]);
        const { server, pages } = await twoPages({ seed, answer });
        const last = await Promise.all(pages.map(async (page, which) => {
            for (let edit = 0; edit < 4; edit += 1) {
                page.editor.entries[1].content = `page ${which}, edit ${edit}`;
                await page.save('Lore', page.editor);
            }
            return page.editor.entries[1].content;
        }));
        await server.quiet();
        const places = [server.books.get('Lore'), ...inTrash(server)];
        last.forEach((text) => assert.ok(places.some((place) => place.includes(text)), `seed ${seed}: ${text}`));
        assert.deepEqual(pages.flatMap(({ errors }) => errors), []);
    }
});

test('a book that Forklore writes during the second look stays as Forklore wrote it', async () => {
    const { server, pages: [page] } = await twoPages();
    const restored = JSON.stringify({ entries: { 0: entry(0, { content: 'restored' }) } });
    const { bookOnServer } = page.guard.host;
    page.editor.entries[0].content = 'edited';
    await page.save('Lore', page.editor);
    page.guard.host.bookOnServer = async (name) => {
        const found = await bookOnServer(name);
        server.books.set('Lore', restored);
        page.guard.wroteByForklore('Lore', restored);
        return found;
    };
    await server.quiet();
    assert.deepEqual(page.errors, []);
    assert.equal(server.books.get('Lore'), restored);
});

test('what Forklore wrote itself is not told as another page’s, however the server spells it', async () => {
    const { server, pages: [page] } = await twoPages();
    const restored = { entries: { ...lore().entries, 1: entry(1, { content: 'restored' }) } };
    server.books.set('Lore', JSON.stringify(restored));
    page.guard.wroteByForklore('Lore', JSON.stringify(restored, null, 4));
    page.editor.entries[0].content = 'edited';
    await page.save('Lore', page.editor);
    await server.quiet();
    assert.deepEqual(page.news, []);
    assert.deepEqual([server.book('Lore').entries[0].content, server.book('Lore').entries[1].content], ['edited', 'restored']);
});
