/** Lore brought from one timeline into another: planned, reviewed, applied, undone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry, goOn, twoEndings } from './fixtures_compare.mjs';

const steps = ({ steps: list }) => list.map(({ title, what, key, to }) => [title, what, key, to]);
const code = (promise) => promise.then(() => null, (error) => error.word?.code);

async function edited() {
    const story = await twoEndings();
    const { entriesOf } = story;
    entriesOf('One')[1].content = 'one';
    entriesOf('One')[4] = entry(4, { comment: 'Mine' });
    entriesOf('Two')[1].content = 'two';
    entriesOf('Two')[2].content = 'second';
    delete entriesOf('Two')[3];
    entriesOf('Two')[4] = entry(4, { comment: 'Theirs' });
    return story;
}

test('what was wanted comes over, under a free number where its own is taken; the rest stays', async () => {
    const { app, entriesOf, events } = await edited();
    const request = { from: { chat: 'Two' }, into: 'One', only: { 4: true } };
    const plan = await app.bringPlan(request);
    assert.deepEqual(steps(plan), [['Theirs', 'add', '4', '5']]);
    const done = await app.bring(request, plan);
    assert.deepEqual([done.added, done.changed, done.removed], [['Theirs'], [], []]);
    const now = entriesOf('One');
    assert.deepEqual([now[5].comment, now[5].uid, now[4].comment, now[1].content, Boolean(now[3])], ['Theirs', 5, 'Mine', 'one', true]);
    assert.ok(events.some(([name, value]) => name === 'forklore:combined' && value.into === 'One' && value.undo));
    assert.deepEqual(steps(await app.bringPlan(request)), [], 'a second time there is nothing to do');
});

test('conflicts stand in the way until each is settled', async () => {
    const { app, tavern, entriesOf } = await edited();
    const request = { from: { chat: 'Two' }, into: 'One', only: { 1: true } };
    const plan = await app.bringPlan(request);
    assert.deepEqual([plan.conflicts.length, plan.steps.length], [1, 0]);
    tavern.log.length = 0;
    assert.equal(await code(app.bring(request, plan)), 'conflicts-left');
    assert.deepEqual(tavern.log.filter(([name]) => name.startsWith('write')), [], 'nothing was written');
    for (const [choice, content] of [['ours', 'one'], [{ value: 'by hand' }, 'by hand'], ['theirs', 'two']]) {
        const seen = await app.bringPlan(request);
        await app.bring({ ...request, settle: { 1: { content: choice } } }, seen);
        assert.equal(entriesOf('One')[1].content, content);
    }
});

test('nothing is merged into a lorebook that ST-Auto-Recap has operations for', async () => {
    const { app, tavern, entriesOf } = await edited();
    const request = { from: { chat: 'Two' }, into: 'One', only: { 2: true } };
    entriesOf('One')[9] = entry(9, { comment: '__operation_queue', content: '{"queue":[{"status":"pending"}],"paused":true}' });
    tavern.log.length = 0;
    await assert.rejects(app.bring(request), { word: { code: 'queue-paused', values: { count: 1 } } });
    assert.deepEqual(tavern.log.filter(([name]) => name.startsWith('write')), [], 'nothing was written');
    entriesOf('One')[9].content = '{"queue":[]}';
    assert.deepEqual((await app.bring(request)).changed.length, 1);
});

test('the trash has the book first, then it is written, then the chat', async () => {
    const { app, tavern } = await edited();
    tavern.log.length = 0;
    await app.bring({ from: { chat: 'Two' }, into: 'One', only: { 2: true } });
    assert.deepEqual(tavern.log.filter(([name, file]) => name.startsWith('write') && file !== 'forklore-trashed.json').map(([name]) => name), ['writeFile', 'writeBook']);
    tavern.broken.add('writeFile');
    const before = JSON.stringify([...tavern.books]);
    await assert.rejects(app.bring({ from: { chat: 'Two' }, into: 'One', only: { 4: true } }));
    assert.equal(JSON.stringify([...tavern.books]), before, 'without a copy in the trash nothing is written');
});

test('it can be undone, but not over later work', async () => {
    const { app, tavern, bookOf, entriesOf } = await edited();
    const before = JSON.stringify(tavern.books.get(bookOf('One')));
    const request = { from: { chat: 'Two' }, into: 'One', otherwise: 'theirs' };
    const done = await app.bring(request);
    assert.notEqual(JSON.stringify(tavern.books.get(bookOf('One'))), before);
    const undone = await app.undo(done.undo);
    assert.deepEqual([undone.restored, undone.replaced], [[bookOf('One')], [bookOf('One')]]);
    assert.equal(JSON.stringify(tavern.books.get(bookOf('One'))), before);
    const again = await app.bring(request);
    entriesOf('One')[0].content = 'later work';
    const kept = await app.undo(again.undo);
    assert.deepEqual([kept.restored, kept.blocked], [[], [bookOf('One')]]);
    assert.equal(entriesOf('One')[0].content, 'later work');
});

test('a plan that has become another one is not carried out', async () => {
    const { app, entriesOf } = await edited();
    const request = { from: { chat: 'Two' }, into: 'One', only: { 2: true } };
    const seen = await app.bringPlan(request);
    entriesOf('One')[2].content = 'meanwhile';
    const answer = await app.bring(request, seen);
    assert.ok(answer.isStale);
    assert.equal(answer.plan.conflicts.length, 1);
    assert.equal(entriesOf('One')[2].content, 'meanwhile');
    entriesOf('One')[2].content = 'content of 2';
    entriesOf('One')[0].content = 'something that the plan is not about';
    assert.equal((await app.bring(request, seen)).isStale, undefined);
    assert.equal(entriesOf('One')[2].content, 'second');
});

test('a timeline that is not open gets it too, and its messages stay', async () => {
    const { app, tavern, entriesOf } = await edited();
    const before = JSON.stringify(tavern.chats.get('Two'));
    await app.bring({ from: { chat: 'One' }, into: 'Two', only: { 4: true } });
    assert.equal(entriesOf('Two')[5].comment, 'Mine');
    assert.equal(JSON.stringify(tavern.chats.get('Two')), before);
});

test('an entry that was not touched there comes when it is asked for by name', async () => {
    const { app, entriesOf } = await edited();
    entriesOf('One')[0].content = 'changed here';
    const request = { from: { chat: 'Two' }, into: 'One', only: { 0: true } };
    const plan = await app.bringPlan(request);
    assert.ok(plan.isByHand);
    assert.deepEqual(steps(plan), [['e0', 'change', '0', '0']]);
    assert.equal(await code(app.bring(request)), 'conflicts-left', 'unseen, nothing that was changed here is written over');
    assert.equal(entriesOf('One')[0].content, 'changed here');
    await app.bring(request, plan);
    assert.equal(entriesOf('One')[0].content, 'content of 0');
});

test('an entry is found by its number, whatever it stands under', async () => {
    const { app, entriesOf } = await twoEndings();
    entriesOf('Two').odd = entry(77, { comment: 'Odd' });
    assert.deepEqual(steps(await app.bringPlan({ from: { chat: 'Two' }, into: 'One', uids: [77] })), [['Odd', 'add', 'odd', 'odd']]);
    assert.deepEqual(steps(await app.bringPlan({ from: { chat: 'Two' }, into: 'One', uids: [78] })), []);
});

test('what a chat was at a message comes back as it was', async () => {
    const story = await twoEndings();
    const { app, tavern, entriesOf, bookOf } = story;
    await goOn(story, 'm4');
    Object.assign(entriesOf('One')[0], { content: 'later', order: 5 });
    entriesOf('One')[7] = entry(7);
    delete entriesOf('One')[2];
    app.recorder.bookChanged(bookOf('One'), JSON.stringify(tavern.books.get(bookOf('One'))));
    app.recorder.sync();
    const from = { chat: 'One', message: 3 };
    const plan = await app.bringPlan({ from, into: 'One' });
    assert.deepEqual(steps(plan).map(([title, what]) => [title, what]).sort(), [['e0', 'change'], ['e2', 'add'], ['e7', 'remove']]);
    assert.deepEqual(plan.conflicts, []);
    await app.bring({ from, into: 'One', only: { 0: ['content'] } });
    assert.deepEqual([entriesOf('One')[0].content, entriesOf('One')[0].order, Boolean(entriesOf('One')[7])], ['content of 0', 5, true]);
});

test('a registry line and its index follow an entry to its new number, and go back with it', async () => {
    const registry = (...names) => entry(9, { comment: '_registry_character', content: ['[Registry: character]',
        ...names.map((name, uid) => `- UID=${uid} | name: ${name} | aliases: — | synopsis: —`)].join('\n') });
    const index = { 0: { type: 'character', name: 'e0' }, 1: { type: 'character', name: 'Iven' } };
    const { app, tavern, entriesOf, opened } = await twoEndings({
        lore: { entries: { 0: entry(0), 9: registry('e0') } },
        metadata: { auto_lorebooks: { registry: { index } } },
    });
    await opened('One');
    for (const [chat, name] of [['One', 'Iven'], ['Two', 'Tom']]) {
        entriesOf(chat)[1] = entry(1, { comment: name });
        entriesOf(chat)[9] = registry('e0', name);
    }
    const before = JSON.stringify(tavern.open.metadata);
    const done = await app.bring({ from: { chat: 'Two' }, into: 'One', only: { 1: true } });
    const tom = Object.values(entriesOf('One')).find(({ comment }) => comment === 'Tom');
    assert.ok(tom.uid > 1);
    assert.match(entriesOf('One')[9].content, new RegExp(`UID=${tom.uid} \\| name: Tom`));
    assert.equal(tavern.open.metadata.auto_lorebooks.registry.index[tom.uid]?.name, 'Tom');
    assert.ok(tavern.chats.get('One')[0].chat_metadata.auto_lorebooks.registry.index[tom.uid], 'and it is saved');
    await app.undo(done.undo);
    assert.equal(JSON.stringify(tavern.open.metadata), before);
});

test('a timeline without a book can neither give nor take', async () => {
    const { app, tavern } = await edited();
    delete tavern.chats.get('Two')[0].chat_metadata.world_info;
    assert.equal(await code(app.bringPlan({ from: { chat: 'One' }, into: 'Two' })), 'no-book-into');
    assert.equal(await code(app.bringPlan({ from: { chat: 'Two' }, into: 'One' })), 'no-book-from');
    tavern.chats.get('Two')[0].chat_metadata.world_info = 'Lost';
    assert.equal(await code(app.bringPlan({ from: { chat: 'Two' }, into: 'One' })), 'book-missing');
});

test('the journal of the open chat hears of what was brought', async () => {
    const story = await edited();
    const { app, tavern } = story;
    await app.bring({ from: { chat: 'Two' }, into: 'One', only: { 2: true } });
    app.recorder.sync();
    await goOn(story, 'm4');
    const lore = await app.lore(3);
    assert.equal(lore.entries.find(({ uid }) => uid === 2).content, 'second');
    assert.equal(lore.part.exactness, 'exact');
    assert.ok(tavern.open.messages[3].forklore);
});

test('two wishes at once do not write over each other', async () => {
    const { app, entriesOf } = await edited();
    await Promise.all([
        app.bring({ from: { chat: 'Two' }, into: 'One', only: { 2: true } }),
        app.bring({ from: { chat: 'Two' }, into: 'One', only: { 4: true } }),
    ]);
    assert.deepEqual([entriesOf('One')[2].content, entriesOf('One')[5]?.comment], ['second', 'Theirs']);
});
