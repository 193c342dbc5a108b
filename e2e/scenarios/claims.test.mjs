// Claims about messages that need a real page, because timing matters: replies that arrive word by word, listeners,
// reloads, another device, swipes and regenerations.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { withSettings } from '../harness/forklore.mjs';
import { book, entry } from '../harness/lore.mjs';
import { FakeModel } from '../harness/model.mjs';
import { stage } from '../harness/scenario.mjs';
import { until } from '../harness/until.mjs';

const model = await FakeModel.start();
const usual = withSettings(stage({ settings: (settings) => model.connect(settings) }));
const scenario = (name, options, act) => usual(name, { settings: { whenInexact: 'nearest' }, ...options }, act);

const lore = (content) => book([entry(0, { content })]);

scenario('while a reply streams, the message before it keeps the lore of its arrival', {}, async (given) => {
    const { page } = given;
    const tale = await begun(given);
    const reply = await asked(page, 'What does the tide do?');
    await page.saveBook(tale.book, lore('b'));
    await ended(page, reply);
    await page.send('And then?');

    await assertKnown(given, tale, { 2: { lore: 'a' }, 3: { lore: 'b' } });
});

scenario('what a listener changes after a reply was put in is the reply’s', {}, async (given) => {
    const { page } = given;
    const tale = await begun(given);
    await page.run('/setvar key=hp one');
    await page.raw.evaluate(() => {
        const { eventSource, eventTypes, chatMetadata } = SillyTavern.getContext();
        const listener = () => {
            eventSource.removeListener(eventTypes.MESSAGE_RECEIVED, listener);
            chatMetadata.variables.hp = 'three';
        };
        eventSource.makeFirst(eventTypes.MESSAGE_RECEIVED, listener);
    });
    await ended(page, await asked(page, 'What does the tide do?'));
    await page.send('And then?');

    await assertKnown(given, tale, { 2: { lore: 'a', hp: 'one' }, 3: { lore: 'a', hp: 'three' } });
});

scenario('what is changed and not saved yet when the next message comes belongs to the one before', {}, async (given) => {
    const { page } = given;
    const tale = await begun(given);
    await page.raw.evaluate(async ({ name, book }) => {
        const { saveWorldInfo, saveMetadataDebounced, chatMetadata, executeSlashCommandsWithOptions } = SillyTavern.getContext();
        chatMetadata.variables = { hp: 'two' };
        saveMetadataDebounced();
        saveWorldInfo(name, book);
        await executeSlashCommandsWithOptions('/send within the second');
    }, { name: tale.book, book: lore('b') });
    await page.saveBook(tale.book, lore('c'));
    await page.send('And then?');

    await assertKnown(given, tale, { 1: { lore: 'b', hp: 'two' }, 2: { lore: 'c', hp: 'two' } });
});

scenario('a reload between an edit and the next message costs nothing', {}, async (given) => {
    const { page } = given;
    const tale = await begun(given);
    await page.send('What does the tide do?');
    await page.saveBook(tale.book, lore('b'));
    await page.settle();
    await page.reload();
    await page.open(tale);
    await page.send('And then?');

    await assertKnown(given, tale, { 1: { lore: 'a' }, 2: { lore: 'b' } });
});

scenario('where another device has changed the lore and the page did not know, nothing is called exact', {}, async (given) => {
    const { page, st } = given;
    const tale = await begun(given);
    // The page has its own copy, and does not read the file again before it has to.
    await page.raw.evaluate((name) => SillyTavern.getContext().loadWorldInfo(name), tale.book);
    await st.post('/api/worldinfo/edit', { name: tale.book, data: lore('b') });
    await page.send('What does the tide do?');
    await page.settle();

    const found = await known(given, tale, 1);
    assert.equal(found.exactness, 'snapshot');
    assert.equal(found.asOf, 1);
    assert.equal(found.lore, 'a');
});

scenario('a swipe is no new message', {}, async (given) => {
    const { page } = given;
    const tale = await begun(given);
    await ended(page, await asked(page, 'What does the tide do?'));
    await page.saveBook(tale.book, lore('b'));
    await page.raw.locator('.last_mes .swipe_right').click();
    const reply = await begins(page);
    await page.saveBook(tale.book, lore('c'));
    await ended(page, reply);
    await page.send('And then?');

    await assertKnown(given, tale, { 2: { lore: 'a' }, 3: { lore: 'c' } });
});

scenario('a reply that is made anew arrives anew', {}, async (given) => {
    const { page } = given;
    const tale = await begun(given);
    await ended(page, await asked(page, 'What does the tide do?'));
    await page.saveBook(tale.book, lore('b'));
    await page.menu('#option_regenerate');
    const reply = await begins(page);
    await page.saveBook(tale.book, lore('c'));
    await ended(page, reply);
    await page.send('And then?');

    await assertKnown(given, tale, { 2: { lore: 'b' }, 3: { lore: 'c' } });
});

scenario('a child that was never opened knows its last message, and goes on from there', {}, async (given) => {
    const { page, files } = given;
    const tale = await begun(given);
    await page.send('What does the tide do?');
    const child = await page.branchByImport(2);
    await page.saveBook(tale.book, lore('b'));
    await page.switchTo(child);
    const own = files.chat(tale, child).metadata.world_info;
    await page.saveBook(own, { ...files.book(own).value, entries: lore('c').entries });
    await page.send('And then?');

    await assertKnown(given, tale, { 1: { lore: 'a' }, 2: { lore: 'c' } });
});

// Last: the page that the others share is connected to a model.
scenario('the first message after a reload, with a text completion that reads no lore before', {}, async (given) => {
    const { page, files } = given;
    const tale = await begun(given);
    await page.saveBook(tale.book, lore('b'));
    await page.settle();
    const settings = path.join(files.user, 'settings.json');
    fs.writeFileSync(settings, JSON.stringify({ ...files.settings(), main_api: 'textgenerationwebui' }));
    await page.reload();
    assert.equal(await page.raw.evaluate(() => SillyTavern.getContext().mainApi), 'textgenerationwebui');
    await page.open(tale);
    await page.send('What does the tide do?');
    await page.send('And then?');

    await assertKnown(given, tale, { 1: { lore: 'b' }, 2: { lore: 'b' } });
});

/** A chat of two messages with the lore `a`, open and connected. */
async function begun({ page, story }) {
    const tale = await story.begin({ book: lore('a'), messages: 2 });
    await page.open(tale);
    await page.raw.waitForFunction(() => SillyTavern.getContext().onlineStatus !== 'no_connection');
    await page.save();
    return tale;
}

/** Sends a message and waits until the reply has started. */
async function asked(page, text) {
    await page.type(text);
    return begins(page);
}

async function begins(page) {
    const reply = await model.asked();
    reply.begin();
    reply.say('The tide ');
    const shown = page.raw.locator('.last_mes .mes_text');
    await until('the reply to be shown', async () => {
        reply.nudge();
        return (await shown.innerText()).trim() === 'The tide';
    });
    return reply;
}

async function ended(page, reply) {
    reply.say('comes in.');
    reply.end();
    await page.raw.waitForFunction(async () => !(await import('/script.js')).isGenerating());
    await page.settle();
}

/** The lore of a message and how well it is known, from a fork there. */
async function known({ page, files }, tale, message) {
    const child = await page.branchByImport(message);
    const { metadata } = files.chat(tale, child);
    const { book, metadata: rest } = metadata.forklore;
    return {
        exactness: book.exactness,
        asOf: book.as_of ?? null,
        lore: files.book(metadata.world_info).value.entries[0].content,
        metadata: rest.exactness,
        hp: metadata.variables?.hp ?? null,
    };
}

async function assertKnown(given, tale, moments) {
    for (const [message, { lore: content, hp = null }] of Object.entries(moments)) {
        const expected = { exactness: 'exact', asOf: null, lore: content, metadata: 'exact', hp };
        assert.deepEqual(await known(given, tale, Number(message)), expected, `message ${message}`);
    }
}
