// Forks beside third-party extensions: each alone, and all that can be loaded together.
//
//   FORKLORE_NEIGHBOURS=/folder/of/unpacked/extensions node --test e2e/neighbours/neighbours.test.mjs

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { note } from '../compatibility.mjs';
import { said, verifyAll } from '../harness/forklore.mjs';
import { lookAround, withoutJournal } from '../harness/forks.mjs';
import { loreWithGaps } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';
import { until } from '../harness/until.mjs';
import { EARLY, KEYS, LATE, keep, manifestOf, memoryBooksBegun, missing, neighbours, sets } from './neighbours.mjs';

if (missing) {
    test('beside other extensions', { skip: missing }, () => {});
} else {
    for (const name of Object.keys(neighbours)) {
        beside(name, [name]);
    }
    sets().forEach((names, at) => beside(`${names.length} at once, set ${at + 1}`, names));
}

function beside(title, names) {
    describe(`beside ${title}`, () => {
        const scenario = stage({
            extensions: Object.fromEntries(names.map((name) => [name, neighbours[name]])),
            builtIns: ['connection-manager'],
        });
        for (const group of [false, true]) {
            const place = group ? 'in a group' : 'solo';
            scenario(`every way to fork gives one book and the past, ${place}`, { group, besides: true, limit: 600_000 }, async (given) => {
                if (names.includes('SillyTavern-MemoryBooks')) {
                    await memoryBooksBegun(given.page);
                }
                await forks(given);
                const all = names.map(manifestOf).map(({ display_name: name, version }) => ({ name, version }));
                note(title, {
                    ...(names.length > 1 ? { kind: 'set', names: all.map(({ name }) => name) } : { kind: 'extension', ...all[0] }),
                    [group ? 'group' : 'solo']: true,
                });
            });
        }
    });
}

const ways = [
    { name: 'the branch button', opens: true, make: (page) => page.branchByButton(2) },
    { name: 'the checkpoint button', make: (page) => page.checkpointByButton(2) },
    { name: '/branch-create', opens: true, make: (page) => page.branchByCommand(2) },
    { name: 'createBranch, called by another extension', make: (page) => page.branchByImport(2) },
];

async function forks({ page, files, story }) {
    const early = loreWithGaps();
    const tale = await story.begin({ book: early, messages: 2 });
    await page.open(tale);
    await keep(page, Object.fromEntries(KEYS.map((key) => [key, EARLY])));
    await page.sendAs(tale.speaker, 'the Gull is sighted');
    await page.send('we wait at the quay');
    await keep(page, Object.fromEntries(KEYS.map((key) => [key, LATE])));
    const late = structuredClone(early);
    late.entries[0].content = 'Captain without a ship.';
    await page.saveBook(tale.book, late);
    await page.send('she lands');
    await page.sendAs(tale.speaker, 'Mara comes ashore');
    await page.save();
    page.watch.clear();

    for (const way of ways) {
        if ((await page.current()).chat !== tale.chat) {
            await page.switchTo(tale.chat);
        }
        await page.settle();
        await page.save();
        const before = lookAround(files, tale);
        const child = await way.make(page);
        if (!way.opens) {
            await page.switchTo(child);
        }
        await page.settle();
        const told = `${way.name}: `;

        const { metadata } = files.chat(tale, child);
        assert.deepEqual(files.books(), [...before.books, metadata.world_info].sort(), `${told}one book more`);
        const { entries } = files.book(metadata.world_info).value;
        // ST-Auto-Recap adds its own entries.
        const lore = Object.fromEntries(Object.keys(early.entries).map((uid) => [uid, entries[uid]]));
        assert.deepEqual(lore, early.entries, `${told}the lore`);
        for (const key of KEYS) {
            assert.deepEqual(metadata[key], EARLY, `${told}${key}`);
        }
        assert.equal((await page.current()).book, metadata.world_info, `${told}the book that is open`);
        const parent = files.chat(tale);
        assert.equal(files.book(tale.book).text, before.bookText, `${told}the parent's book`);
        for (const key of KEYS) {
            assert.deepEqual(parent.metadata[key], LATE, `${told}${key} of the parent`);
        }
        const text = ({ mes }) => mes;
        assert.deepEqual(parent.messages.map(withoutJournal).map(text), before.parent.messages.map(text), `${told}the parent's messages`);

        // It keeps working in the child, and its parent is not affected.
        await page.send('and then?');
        const own = files.book(metadata.world_info).value;
        own.entries[0].content = `Told in ${child}.`;
        await page.saveBook(metadata.world_info, own);
        await page.save();
        assert.equal(files.book(tale.book).text, before.bookText, `${told}the parent's book, after the child went on`);
        assert.equal(files.chat(tale, child).metadata.world_info, metadata.world_info, `${told}the child's book, after it went on`);

        const problems = (await verifyAll(page)).filter((found) => [tale.chat, child].includes(found.chat));
        assert.deepEqual(problems, [], `${told}verify`);
        const notices = said(page).filter(({ type }) => type === 'warning' || type === 'error');
        assert.deepEqual(notices, [], `${told}notices`);

        await page.switchTo(tale.chat);
        await page.settle();
        await page.deleteChat(child);
        await until(`${told}no book to be left behind`, () => assert.deepEqual(files.books(), before.books) ?? true);
        page.watch.clear();
    }
}
