// What is marked at the messages of the open chat.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { twoEndings } from './fixtures_compare.mjs';

const forks = ({ marks }) => Object.fromEntries(marks.forks);

test('forks of the open chat are marked, as far as they are known, and no file is read for it', async () => {
    let reads = 0;
    const counted = (host) => Object.fromEntries(['chatHeads', 'allChatHeads', 'chatHeadsOf', 'readChat', 'chatNames', 'newestHeads', 'listBooks', 'readBook'].map((name) => [name, (...given) => {
        reads += 1;
        return host[name](...given);
    }]));
    const { app, tavern, opened } = await twoEndings({ change: counted });
    await opened('Main');
    await app.timelines.readAll();
    const last = tavern.open.messages.length - 1;
    reads = 0;
    let drawn = 0;
    app.on('marks', () => { drawn += 1; });
    assert.deepEqual(forks(app), {}, 'not worked out yet');
    await app.messageMarks.update();
    assert.deepEqual(forks(app), { [last]: ['One', 'Two'] });
    assert.equal(drawn, 1);

    // A message before is deleted, and one comes after.
    tavern.open.messages.shift();
    tavern.open.messages.push({ mes: 'later' });
    await app.messageMarks.update();
    assert.deepEqual(forks(app), { [last - 1]: ['One', 'Two'] });

    app.timelines.index.forget(tavern.open, ['One']);
    await app.messageMarks.update();
    assert.deepEqual(forks(app), { [last - 1]: ['Two'] });
    assert.equal(reads, 0);

    // Another chat is being opened: nothing of the last one is shown in it.
    Object.assign(tavern.open, { name: 'Two' });
    assert.deepEqual(forks(app), {});
});

test('a press shows what still exists', async () => {
    const { app, tavern, opened } = await twoEndings();
    await opened('Main');
    await app.timelines.readAll();
    const last = tavern.open.messages.length - 1;
    tavern.chats.delete('One');
    assert.deepEqual(await app.forksAt(last), ['Two']);
    assert.deepEqual(await app.forksAt(0), []);
});

test('where the lore changed is only marked if that is wanted', async () => {
    const { app, tavern } = await twoEndings();
    const record = (book) => ({ v: 2, id: `${book}.m` });
    tavern.open.messages = ['a', 'a', 'b'].map((book) => ({ mes: 'm', extra: {}, forklore: record(book) }));
    await app.messageMarks.update();
    assert.deepEqual([...app.marks.lore], []);
    app.settings.markLore = true;
    await app.messageMarks.update();
    assert.deepEqual([...app.marks.lore], [2]);
});
