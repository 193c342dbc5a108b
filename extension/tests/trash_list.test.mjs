// The list of the trash: whatever any part of the page puts there can be put back from it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chance } from '../../e2e/harness/chance.mjs';
import { RequestRouter } from '../request_router.js';
import { trashView } from '../ui/dialogs/trash_list.js';
import { MARKUP, TRASH } from './fake_app.mjs';
import { entry, goOn, twoEndings } from './fixtures_compare.mjs';

const ADA = { group: null, avatar: 'Ada.png' };
const TIMES = 100;

/** A page whose requests to delete and to rename pass through the tap. */
async function begin(draw) {
    let router;
    const held = (kind, path, body, send) => ({ kind, path, text: async () => JSON.stringify(body), send: async () => send() ?? Response.json({ ok: true }) });
    const story = await twoEndings({
        lore: { entries: Object.fromEntries(Array.from({ length: 1 + draw.below(6) }, (_, uid) => [uid, entry(uid, { content: draw.text() })])) },
        metadata: { [draw.text()]: draw.text(), note_prompt: draw.text() },
        change: (below) => ({
            deleteChat: (owner, name) => router.handle(held('chat-delete', '/api/chats/delete', { avatar_url: owner.avatar, chatfile: `${name}.jsonl` }, () => void below.deleteChat(owner, name))),
            renameChat: (owner, from, to) => router.handle(held('chat-rename', '/api/chats/rename', { avatar_url: owner.avatar, original_file: `${from}.jsonl`, renamed_file: `${to}.jsonl` }, () => void below.renameChat(owner, from, to))),
        }),
    });
    router = new RequestRouter(story.app);
    const errors = [];
    story.app.on('failed', (error) => errors.push(error));
    const removed = () => new Promise((resolve) => { story.app.on('removed', resolve); });
    return { ...story, draw, errors, removed };
}

const LETTERS = [...'abcdefgh 0123456789{}"\\/<>&é漢😀\n\u2028'];

/** Random texts and numbers. */
function drawing(seed) {
    const { below, of } = chance(seed);
    return { below, of, text: () => Array.from({ length: 1 + below(12) }, () => of(LETTERS)).join('') };
}

/** Everything that SillyTavern stores, as text. The journal of the open chat goes on, because an undo is a change, too. */
function stateOf({ tavern }) {
    const line = ({ forklore: _, ...rest }) => JSON.stringify(rest);
    const inOrder = (map) => [...map].sort(([one], [other]) => (one < other ? -1 : 1));
    return {
        chats: inOrder(tavern.chats).map(([name, [header, ...messages]]) => [name, JSON.stringify(header), ...messages.map(line)]),
        books: inOrder(tavern.books).map(([name, book]) => [name, JSON.stringify(book)]),
    };
}

/** Each part of the page that puts something into the trash: prepares it, and returns how to run it and why it is in the trash then. */
const PARTS = {
    'a cleanup': async ({ app, tavern, draw }) => {
        for (let number = 0; number <= draw.below(3); number += 1) {
            tavern.books.set(`Idle ${number} ${draw.text()}`, { entries: { 0: entry(0, { content: draw.text() }) }, extensions: { forklore: { format: 1, chat: draw.text() } } });
        }
        return { run: () => app.clean(), codes: ['clean'] };
    },
    'a restore': async (story) => {
        const { app, draw, entriesOf, bookOf, tavern } = story;
        const messages = 1 + draw.below(3);
        for (let number = 0; number < messages; number += 1) {
            await goOn(story, draw.text());
            entriesOf('One')[7 + number] = entry(7 + number, { content: draw.text() });
            app.recorder.bookChanged(bookOf('One'), JSON.stringify(tavern.books.get(bookOf('One'))));
        }
        return { run: () => app.restore(3 + draw.below(messages), { dryRun: false }), codes: ['restore'] };
    },
    'a repair': async (story) => {
        const { app, draw, tavern, bookOf } = story;
        const isLost = draw.below(2) === 1;
        const source = draw.of(['copy', 'empty', 'detach', ...(isLost ? ['journal'] : [])]);
        if (isLost) {
            await goOn(story, draw.text());
            tavern.books.delete(bookOf('One'));
        }
        return { run: () => app.repair({ source, ...(source === 'copy' && { book: bookOf('Two') }) }), codes: ['repair'] };
    },
    'a split': async ({ app, draw, tavern, bookOf, opened, host }) => {
        const [, ...messages] = structuredClone(tavern.chats.get('One'));
        const memory = () => ({ auto_recap_memory: { scene_recap_metadata: { 1: { chatLorebookName: bookOf('One'), allEntries: [] } } }, [draw.text()]: draw.text() });
        Object.assign(messages[draw.below(messages.length)], { extra: memory(), swipe_info: [{ extra: {} }, { extra: memory() }] });
        const name = `Sharing ${draw.below(1000)}`;
        tavern.chats.set(name, [{ chat_metadata: { [`key ${draw.below(9)}`]: draw.text(), main_chat: 'One', integrity: draw.text(), world_info: bookOf('One') } }, ...messages]);
        if (draw.below(2)) {
            await opened(name);
            await host.saveOpenChat();
        }
        return { run: () => app.split({ family: true }), codes: ['split'] };
    },
    'a merge': async ({ app, draw, entriesOf }) => {
        entriesOf('Two')[0] = entry(0, { content: draw.text() });
        entriesOf('Two')[9] = entry(9, { comment: draw.text() });
        const [from, into] = draw.of([['Two', 'One'], ['One', 'Two']]);
        entriesOf('One')[8] = entry(8, { comment: draw.text() });
        return { run: () => app.bring({ from: { chat: from }, into, otherwise: 'theirs' }), codes: ['merge'] };
    },
    'a rename': async ({ app, draw }) => ({ run: () => app.timelines.rename(draw.of(['Main', 'Two', 'One']), `Renamed ${draw.below(1000)}`), codes: ['rename'] }),
    'a deleted timeline': async ({ app, draw, removed }) => ({
        run: async () => {
            const done = removed();
            await app.timelines.delete(draw.of(['Main', 'Two']));
            await done;
        },
        codes: ['timeline'],
    }),
    'a chat deleted by SillyTavern': async ({ app, host, tavern, removed, bookOf }) => {
        const kept = structuredClone(tavern.chats.get('Two'));
        return {
            run: async () => {
                const done = removed();
                assert.ok(bookOf('Two'));
                await app.host.deleteChat(ADA, 'Two');
                await done;
                // Only its lorebook is ours to keep.
                await host.writeChat(ADA, 'Two', kept);
            },
            codes: ['deleted'],
        };
    },
    'the version of a lorebook that was not chosen': async ({ app, tavern, draw }) => {
        const text = JSON.stringify({ entries: { 0: entry(0, { content: draw.text() }) } });
        return {
            run: () => app.guard.keep({ name: 'Lore' }, { versions: [{ isMine: true, text }], isLate: false }),
            codes: ['conflict'],
            check: () => {
                const [name] = [...tavern.books.keys()].filter((name) => name.startsWith('Lore - from this page'));
                assert.equal(JSON.stringify(tavern.books.get(name)), text);
                tavern.books.delete(name);
            },
        };
    },
};

for (const [what, part] of Object.entries(PARTS)) {
    test(`${TIMES} times: ${what} is put back from the list, byte for byte`, async () => {
        for (let seed = 0; seed < TIMES; seed += 1) {
            const story = await begin(drawing(seed));
            const { run, codes, check = () => assert.notDeepEqual(between, before, `seed ${seed}: something was done`) } = await part(story);
            const before = stateOf(story);
            await run();
            const between = stateOf(story);
            const items = await story.app.trashList();
            assert.deepEqual([...new Set(items.map(({ why }) => why.code))], codes, `seed ${seed}`);
            for (const { token } of items) {
                await story.app.undo(token);
            }
            check();
            assert.deepEqual(stateOf(story), before, `seed ${seed}`);
            const left = await story.app.trashList();
            assert.deepEqual(left.filter(({ why }) => why.code !== 'undone'), [], `seed ${seed}: what is back has left the trash`);
            assert.deepEqual(story.errors, []);
        }
    });
}

const LIST = '/user/files/forklore-trashed.json';
const DAY = 24 * 60 * 60 * 1000;
const parts = (tavern) => [...tavern.files.keys()].filter((path) => path !== LIST);

/** Deletes a timeline and waits for its lorebook to be gone as well. */
async function deleteTimeline({ app, removed }, name, options) {
    const done = options?.isForGood ? null : removed();
    await app.timelines.delete(name, options);
    await (done ?? new Promise((resolve) => { setTimeout(resolve, 0); }));
    return app.trashList();
}

test('a deleted timeline is one thing in the trash, with its lorebook', async () => {
    const story = await begin(drawing(1));
    const { tavern, bookOf } = story;
    const book = bookOf('Two');
    const [item, ...more] = await deleteTimeline(story, 'Two');
    assert.deepEqual([item.chat, item.books, item.of.avatar, more], ['Two', [book], 'Ada.png', []]);
    assert.equal(item.bytes, new TextEncoder().encode(tavern.files.get(item.token)).length);
});

test('deleted for good, neither the chat nor its lorebook is kept', async () => {
    const story = await begin(drawing(1));
    const { tavern, bookOf } = story;
    const book = bookOf('Two');
    assert.deepEqual(await deleteTimeline(story, 'Two', { isForGood: true }), []);
    assert.deepEqual([tavern.books.has(book), tavern.chats.has('Two'), parts(tavern)], [false, false, []]);
});

test('with 0 days the lorebook is kept, and the chat is not', async () => {
    const story = await begin(drawing(1));
    story.app.settings.trashDays = 0;
    const [item] = await deleteTimeline(story, 'Two');
    assert.deepEqual([item.chat, item.books.length, item.why.code], [null, 1, 'deleted']);
});

test('a timeline that cannot be kept is not deleted, and one that SillyTavern does not delete is not kept', async () => {
    const { app, tavern, host } = await begin(drawing(1));
    tavern.broken.add('writeFile');
    await assert.rejects(app.timelines.delete('Two'));
    assert.ok(tavern.chats.has('Two'));
    tavern.broken.delete('writeFile');
    app.timelines.host = { ...host, deleteChat: async () => {} };
    await assert.rejects(app.timelines.delete('Two'), ({ word }) => word.code === 'not-deleted');
    assert.deepEqual([await app.trashList(), parts(tavern)], [[], []]);
});

test('what exists by now is not written over; it can be saved under another name', async () => {
    const story = await begin(drawing(2));
    const { app, tavern, bookOf } = story;
    const [book, lines] = [bookOf('Two'), structuredClone(tavern.chats.get('Two'))];
    const [{ token }] = await deleteTimeline(story, 'Two');
    tavern.chats.set('Two', [{ chat_metadata: { integrity: 'new' } }]);
    const report = await app.undo(token);
    assert.deepEqual([report.restored, report.chats, report.blocked], [[book], [], ['Two']]);
    assert.equal(tavern.chats.get('Two').length, 1);
    assert.deepEqual((await app.namesToSave(token)).map(({ free }) => free), ['Two (2)', `${book} (2)`]);
    await assert.rejects(app.saveFromTrash(token, ['two', '']), ({ word }) => word.code === 'name-taken');
    await assert.rejects(app.saveFromTrash(token, ['', book]), ({ word }) => word.code === 'book-name-taken');
    await assert.rejects(app.saveFromTrash(token, ['???', '']), ({ word }) => word.code === 'name-not-possible');
    assert.deepEqual(await app.saveFromTrash(token, ['Two (2)', '']), ['Two (2)']);
    assert.deepEqual(tavern.chats.get('Two (2)'), lines);
    assert.equal((await app.trashList()).length, 1, 'it stays until it is deleted');
    await app.dropFromTrash(token);
    assert.deepEqual([await app.trashList(), parts(tavern)], [[], []]);
});

test('a chat whose lorebook has lost its name to another timeline comes back with it under a free one', async () => {
    const story = await begin(drawing(2));
    const { app, tavern, bookOf } = story;
    const book = bookOf('Two');
    const own = structuredClone(tavern.books.get(book));
    const [{ token }] = await deleteTimeline(story, 'Two');
    tavern.books.set(book, { entries: {} });
    const { restored, chats, blocked } = await app.undo(token);
    assert.deepEqual([restored, chats, blocked], [[`${book} (2)`], ['Two'], []]);
    assert.deepEqual([bookOf('Two'), tavern.books.get(book), tavern.books.get(`${book} (2)`)], [`${book} (2)`, { entries: {} }, own]);
    assert.equal((await app.trashList()).length, 0);
});

test('what another device saves under the name while a timeline comes back is not written over', async () => {
    const story = await begin(drawing(2));
    const { app, tavern } = story;
    const [{ token }] = await deleteTimeline(story, 'Two');
    const { readChat } = app.putBack.host;
    const phone = [{ chat_metadata: { integrity: 'of the phone' } }, { mes: 'from the phone' }];
    app.putBack.host = { ...app.putBack.host, readChat: async (...asked) => {
        tavern.chats.set('Two', structuredClone(phone));
        return readChat(...asked);
    } };
    const { chats, blocked } = await app.undo(token);
    assert.deepEqual([chats, blocked, tavern.chats.get('Two')], [[], ['Two'], phone]);
});

test('a chat saved under another name follows its lorebook', async () => {
    const story = await begin(drawing(2));
    const { app, tavern, bookOf } = story;
    const book = bookOf('Two');
    const [{ token }] = await deleteTimeline(story, 'Two');
    tavern.books.set(book, { entries: {} });
    await app.saveFromTrash(token, ['Three', 'Lore of three']);
    assert.equal(bookOf('Three'), 'Lore of three');
});

test('lines that SillyTavern cannot read stay in the trash', async () => {
    const { app, tavern, host } = await begin(drawing(2));
    app.trash.host = { ...host, chatText: async () => '{"chat_metadata":{}}\n{"mes":"a"}\n{"mes":' };
    const token = await app.trash.keepChat({ ...ADA, name: 'Three' });
    const { chats, unreadable } = await app.undo(token);
    assert.deepEqual([chats, unreadable, tavern.chats.get('Three').length], [['Three'], 1, 2]);
    assert.equal((await app.trashList()).length, 1);
});

test('later work in a chat stays when a split is undone', async () => {
    const { app, tavern, bookOf } = await begin(drawing(3));
    const [, ...messages] = structuredClone(tavern.chats.get('One'));
    tavern.chats.set('Sharing', [{ chat_metadata: { main_chat: 'One', integrity: 's', world_info: bookOf('One') } }, ...messages]);
    await app.split({ family: true });
    const [{ token }] = await app.trashList();
    tavern.chats.get('Sharing')[0].chat_metadata.world_info = 'Chosen since';
    const { blocked } = await app.undo(token);
    assert.deepEqual([blocked, bookOf('Sharing')], [['Sharing'], 'Chosen since']);
    tavern.chats.get('Sharing')[0].chat_metadata.integrity = 'another chat';
    await assert.rejects(app.undo(token), ({ word }) => word.code === 'another-chat');
});

test('the list tolerates files that have vanished, and finds those that it has lost', async () => {
    const { app, tavern } = await begin(drawing(4));
    const tokens = [];
    for (const name of ['One', 'Two', 'Three']) {
        tokens.push(await app.trash.keepText(name, '{}', { code: 'clean' }));
    }
    await app.trashList();
    tavern.files.delete(tokens[0]);
    assert.deepEqual((await app.trashList()).map(({ books }) => books[0]).sort(), ['Three', 'Two']);
    for (const lost of ['{}', '{', JSON.stringify({ items: [{ token: '/user/files/forklore-trash-x.json' }, 7, { token: '/etc/passwd', when: '', why: {}, books: [], bytes: 1 }] })]) {
        tavern.files.set(LIST, lost);
        assert.deepEqual(await app.trashList(), []);
        assert.equal(await app.findInTrash({ isAsked: false }), 2);
        assert.equal((await app.trashList()).length, 2);
    }
    tavern.files.set('/user/files/forklore-trash-9.json', '{"format":9}');
    tavern.files.set('/user/files/notes.txt', 'not ours');
    assert.equal(await app.findInTrash({ isAsked: true }), 1);
    assert.deepEqual((await app.trashList()).filter(({ why }) => why.code === 'unreadable').map(({ token }) => token), ['/user/files/forklore-trash-9.json']);
});

test('pages that put something in at the same time do not lose each other’s', async () => {
    const { app } = await begin(drawing(4));
    await Promise.all(Array.from({ length: 20 }, (_, number) => app.trash.keepText(`Book ${number}`, '{}', { code: 'clean' })));
    assert.equal((await app.trashList()).length, 20);
});

test('old chats go, and the oldest ones if there are too many; lorebooks stay', async () => {
    const { app, tavern } = await begin(drawing(5));
    const at = (days) => new Date(Date.now() - days * DAY).toISOString();
    const megabyte = 'x'.repeat(1024 * 1024);
    const chat = (name) => ({ ...ADA, name, text: JSON.stringify({ mes: megabyte }) });
    const why = { code: 'timeline' };
    for (const [days, content] of [[31, { why, books: [], chat: chat('old') }], [3, { why, books: [], chat: chat('third') }], [2, { why, books: [], chat: chat('second') }], [1, { why, books: [], chat: chat('first') }], [99, { why: { code: 'clean' }, books: [{ name: 'Lore', text: '{}' }] }]]) {
        await app.trash.keep({ ...content, when: at(days) });
    }
    app.settings.trashLimit = 100;
    await app.trash.prune();
    assert.deepEqual((await app.trashList()).map(({ chat, books }) => chat ?? books[0]), ['first', 'second', 'third', 'Lore']);
    app.settings.trashLimit = 3;
    await app.trash.prune();
    assert.deepEqual((await app.trashList()).map(({ chat, books }) => chat ?? books[0]), ['first', 'second', 'Lore']);
    app.settings.trashLimit = 1;
    await app.trash.prune();
    assert.deepEqual((await app.trashList()).map(({ chat, books }) => chat ?? books[0]), ['first', 'Lore'], 'the newest one stays, however large');
    assert.equal(parts(tavern).length, 2);
});

test('each thing says what it is, when and why it went, and from which chat', () => {
    const { rows, size } = trashView(TRASH, (date) => new Date(date).toISOString().slice(0, 10));
    assert.deepEqual(rows.map(({ title, books, why, about }) => [title, books, why, about]), [
        ['The harbour - Branch #2', `and its lorebook “${MARKUP}”`, 'Deleted timeline', '2026-11-15 · 2.1 MB'],
        ['Ashore', '', 'Renamed, was “… Branch #1”', '2026-11-14 · 1 KB'],
        ['Harbour lore', '', 'Replaced when the lorebook was restored to message 42 · chat “The harbour”', '2026-11-13 · 47 KB'],
        ['“One”, “Two”', '', 'clean', '2026-11-12 · 47 KB'],
    ]);
    assert.deepEqual([rows.map(({ canSave }) => canSave), size], [[true, false, true, true], '2.2 MB']);
});
