// How many entries of a timeline's lorebook differ from its parent's.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DEFAULTS } from '../features/settings.js';
import { LoreDifferences } from '../features/timelines/lore_differences.js';
import { TimelineIndex } from '../features/timelines/timeline_index.js';
import { Timelines } from '../features/timelines/timelines.js';
import { card } from '../ui/timelines/card.js';
import { useFakeDocument } from './fake_screen.mjs';
import { Tavern, realCore } from './tavern.mjs';

const entry = (uid, content = `text ${uid}`, more = {}) => ({ uid, key: [`key ${uid}`], comment: `Entry ${uid}`, content, ...more });
const book = (entries, more = {}) => ({ entries: Object.fromEntries(entries.map((one) => [one.uid, one])), ...more });
const timeline = (id, parent, lore = id) => ({ id, parent, book: lore });

/** Of `Child`, below `Parent`. */
async function counted(parent, child) {
    const differences = new LoreDifferences({ core: await realCore() });
    const books = new Map([['parent', JSON.stringify(parent)], ['child', JSON.stringify(child)]]);
    await differences.update([timeline('Parent', null), timeline('Child', 'Parent')], books, () => false);
    return differences.of('Child');
}

test('what was added, changed and removed counts, and nothing else', async () => {
    const before = book([entry(0), entry(1), entry(2)]);
    assert.equal(await counted(before, book([entry(0), entry(1, 'other'), entry(3)])), 3);
    assert.equal(await counted(before, before), 0);
    assert.equal(await counted(before, book([entry(0), entry(1), entry(2)], { extensions: { forklore: { format: 1, chat: 'Child' } } })), 0, 'the mark of a copy is no lore');
    assert.equal(await counted(before, book([entry(0), entry(1), entry(2, 'text 2', { characterFilter: { isExclude: false, names: [], tags: [] } })])), 0, 'nor is what the editor fills in');
    assert.equal(await counted(before, book([entry(0), entry(1), entry(2), entry(4, '{}', { comment: '__operation_queue' })])), 0, 'nor what memory extensions keep for themselves');
    assert.equal(await counted(before, 'damaged'), 0);
});

test('nothing is said where a lorebook is shared, missing or not read', async () => {
    const differences = new LoreDifferences({ core: await realCore() });
    const family = [timeline('Main', null), timeline('Shares', 'Main', 'MAIN'), timeline('Without', 'Main', null), timeline('Unread', 'Main'), timeline('Orphan', '/gone'), timeline('Below', 'Without')];
    const text = JSON.stringify(book([entry(0)]));
    const other = JSON.stringify(book([entry(1)]));
    assert.equal(await differences.update(family, new Map([['main', text], ['orphan', other], ['below', other]]), () => false), false);
    assert.deepEqual(family.map(({ id }) => differences.of(id)), [0, 0, 0, 0, 0, 0]);
});

test('a count is made once for the same two texts, and in slices', async () => {
    const core = await realCore();
    let compared = 0;
    let now = 0;
    const differences = new LoreDifferences({
        core: { bookKey: core.bookKey, compare: (...asked) => {
            compared += 1;
            now += 5;
            return core.compare(...asked);
        } },
        now: () => now,
    });
    const names = Array.from({ length: 20 }, (_, number) => `Fork ${number}`);
    const family = [timeline('Main', null), ...names.map((name) => timeline(name, 'Main'))];
    const books = new Map([['main', JSON.stringify(book([entry(0)]))], ...names.map((name) => [core.bookKey(name), JSON.stringify(book([entry(0, name)]))])]);
    let turns = 0;
    const isOver = () => {
        turns += 1;
        return false;
    };
    assert.equal(await differences.update(family, books, isOver), true);
    assert.deepEqual([compared, turns], [20, 6], 'three of five milliseconds each, then a pause');
    assert.equal(await differences.update(family, new Map(books), isOver), false);
    assert.equal(compared, 20);
    books.set(core.bookKey('Fork 7'), JSON.stringify(book([entry(0), entry(1)])));
    assert.equal(await differences.update(family, books, isOver), false, 'it is still one');
    assert.equal(compared, 21);

    const stopped = new LoreDifferences({ core: differences.core, now: () => now });
    await stopped.update(family, books, () => true);
    assert.equal(compared, 24, 'a view that is closed counts no further');
});

test('the map is told, and the card says it in words', async () => {
    useFakeDocument();
    const tavern = new Tavern({ book: book([entry(0), entry(1)]) });
    tavern.chats.set('Fork', [{ chat_metadata: { main_chat: 'Main', integrity: 'x', world_info: 'Fork lore' } }, { mes: 'One' }]);
    tavern.books.set('Fork lore', book([entry(0, 'other'), entry(1), entry(2)]));
    const core = await realCore();
    const index = new TimelineIndex({ store: tavern.host().timelineStore, core });
    const { timelines } = await new Timelines({ host: index.watching(tavern.host()), core, index, settings: DEFAULTS }).readAll();
    const fork = timelines.find(({ name }) => name === 'Fork');
    assert.deepEqual(timelines.map(({ differs }) => differs), [0, 2]);

    const place = { x: 0, y: 0, width: 1, height: 1, depth: 1, hidden: 0 };
    document.createElement = ((make) => (tag) => Object.assign(make(tag), { style: {} }))(document.createElement);
    const drawn = (density, shown = fork) => card(shown, place, { density, name: 'Fork', isTicked: null });
    assert.match(drawn('cards').attributes['aria-label'], /2 entries differ from its parent/);
    const sign = (root) => root.all(({ className }) => className === 'forklore_differs').map(({ textContent, attributes }) => [textContent, attributes.title]);
    assert.deepEqual(sign(drawn('cards')), [['2', '2 entries differ from its parent']]);
    assert.deepEqual(sign(drawn('names')), [], 'a name needs the room');
    assert.deepEqual(sign(drawn('cards', { ...fork, differs: 0 })), []);
});
