/** Comparisons of two timelines, or of two messages of one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entry, goOn, twoEndings } from './fixtures_compare.mjs';

const outline = ({ entries }) => Object.fromEntries(entries.map(({ title, left, right, fields }) => [title, [left.did, right.did, fields.map(({ name, by }) => `${name} by ${by}`)]]));

test('two endings are seen from where they part, which the seal proves', async () => {
    const { app, entriesOf } = await twoEndings();
    entriesOf('One')[1].content = 'one';
    Object.assign(entriesOf('Two')[1], { content: 'two', key: ['new'] });
    delete entriesOf('Two')[3];
    entriesOf('Two')[4] = entry(4);
    const model = await app.compare({ left: { chat: 'One' }, right: { chat: 'Two' } });
    assert.deepEqual(model.beginning, { known: true, how: 'sealed', message: 3, parting: 3, chat: 'Main' });
    assert.deepEqual(outline(model), {
        e1: ['changed', 'changed', ['key by right', 'content by both']],
        e3: ['nothing', 'removed', []],
        e4: ['nothing', 'added', []],
    });
    assert.deepEqual([model.left.isOpen, model.right.isOpen, model.left.part], [true, false, null]);
    assert.deepEqual(model.words('a b', 'a c').map(({ is }) => is), ['same', 'removed', 'added']);
});

test('a parent and its child: the parent is one of the two', async () => {
    const { app, entriesOf } = await twoEndings();
    entriesOf('Main')[0].content = 'later, in the parent';
    const model = await app.compare({ left: { chat: 'Main' }, right: { chat: 'One' } });
    assert.deepEqual(outline(model), { e0: ['changed', 'nothing', ['content by left']] });
    assert.equal(model.beginning.how, 'sealed');
});

test('two messages of one chat: the earlier one comes first, and everything was done since', async () => {
    const story = await twoEndings();
    const { app, tavern, entriesOf } = story;
    await goOn(story, 'm4');
    entriesOf('One')[0].content = 'changed at 4';
    app.recorder.bookChanged(story.bookOf('One'), JSON.stringify(tavern.books.get(story.bookOf('One'))));
    app.recorder.sync();
    const now = { chat: 'One', message: null };
    for (const asked of [{ left: { chat: 'One', message: 3 }, right: now }, { left: now, right: { chat: 'One', message: 3 } }]) {
        const model = await app.compare(asked);
        assert.ok(model.isOneChat);
        assert.deepEqual([model.left.message, model.right.message, model.left.part.exactness], [3, null, 'exact']);
        assert.deepEqual(outline(model), { e0: ['nothing', 'changed', ['content by right']] });
    }
});

test('a message before they part is what both began as; the one where they part is not', async () => {
    const { app, entriesOf, tavern, bookOf } = await twoEndings();
    entriesOf('One')[0].content = 'edited after the fork, while message 3 was the last';
    app.recorder.bookChanged(bookOf('One'), JSON.stringify(tavern.books.get(bookOf('One'))));
    app.recorder.sync();
    const at = (message) => app.compare({ left: { chat: 'One', message }, right: { chat: 'Two' } });
    const parting = await at(3);
    assert.deepEqual(parting.beginning, { known: true, how: 'sealed', message: 3, parting: 3, chat: 'Main' });
    assert.deepEqual(outline(parting), { e0: ['changed', 'nothing', ['content by left']] });
    assert.deepEqual((await at(2)).beginning, { known: true, how: 'then', message: 2, parting: 2, chat: 'One' });
});

test('without a past in common, nobody is said to have changed anything', async () => {
    const { app, tavern } = await twoEndings();
    tavern.books.set('Stranger', { entries: { 0: entry(0, { content: 'another' }), 9: entry(9) } });
    tavern.chats.set('Elsewhere', [{ chat_metadata: { world_info: 'Stranger' } }, { mes: 'hello', name: 'X', extra: {} }]);
    const model = await app.compare({ left: { chat: 'One' }, right: { chat: 'Elsewhere' } });
    assert.equal(model.beginning.known, false);
    assert.deepEqual(outline(model).e0, ['unknown', 'unknown', ['content by unknown']]);
    assert.deepEqual((await app.timelineChoices()).map(({ name, isRelated }) => [name, isRelated]),
        [['One', true], ['Main', true], ['Two', true], ['Elsewhere', false]]);
});

test('what is not there is said so', async () => {
    const { app } = await twoEndings();
    const code = (what) => app.compare(what).then(() => null, (error) => error.word?.code);
    assert.equal(await code({ left: { chat: 'One' }, right: { chat: 'Nowhere' } }), 'no-such-chat');
    assert.equal(await code({ left: { chat: 'One', message: 99 }, right: { chat: 'Two' } }), 'no-such-message');
    assert.equal(await code({ left: { chat: 'One', message: -1 }, right: { chat: 'Two' } }), 'no-such-message');
});

test('a timeline without a book has nothing, and can be compared all the same', async () => {
    const { app, tavern } = await twoEndings();
    delete tavern.chats.get('Two')[0].chat_metadata.world_info;
    const model = await app.compare({ left: { chat: 'One' }, right: { chat: 'Two' } });
    assert.equal(model.right.hasBook, false);
    assert.deepEqual(Object.values(outline(model)).map(([, right]) => right), ['removed', 'removed', 'removed', 'removed']);
});

test('comparing writes nothing', async () => {
    const { app, tavern } = await twoEndings();
    tavern.log.length = 0;
    await app.compare({ left: { chat: 'One' }, right: { chat: 'Two' } });
    await app.bringPlan({ from: { chat: 'Two' }, into: 'One' });
    assert.deepEqual(tavern.log.filter(([name]) => !name.startsWith('chatHeads') && name !== 'newestHeads'), []);
});
