// Whether SillyTavern is as extension/sillytavern/sillytavern.d.ts declares it. The type checker believes that file, so it
// has to be true.

import assert from 'node:assert/strict';

import { compareWithPage, Declarations } from '../harness/declarations.mjs';
import { loreWithGaps } from '../harness/lore.mjs';
import { stage } from '../harness/scenario.mjs';
import { conversation, reply } from '../harness/story.mjs';

const scenario = stage();
const HOST = '/scripts/extensions/third-party/forklore/extension/sillytavern/host.js';

scenario('SillyTavern has everything that is declared, as it is declared', {}, async ({ page, story }) => {
    const { shapes, values, interfaces, members } = new Declarations();
    assert.ok(values.length > 30 && members.size > 100, 'the declarations were read');
    const paths = shapes[interfaces.Answers].members.map(({ name }) => name);
    const company = await story.begin({ group: true, book: loreWithGaps() });
    const messages = (cast) => conversation(6, cast).with(4, reply(4, { ...cast, swipes: 2 }));
    const tale = await story.begin({ book: loreWithGaps(), messages });
    await page.open(tale);
    await page.branchByButton(5);
    await useEverything(page, tale);
    const answers = await answersTo(page, paths, () => readEverything(page, tale, company));

    const { errors, seen } = await page.raw.evaluate(compareWithPage, { shapes, values, interfaces, answers });

    assert.deepEqual(errors, []);
    assert.deepEqual([...members].filter((member) => !seen.includes(member)), [], 'declared, but never found');
});

/** Makes SillyTavern fill in what is optional: a persona, a card and a character with lorebooks. */
async function useEverything(page, { avatar, book }) {
    await page.raw.evaluate(async ({ avatar, book }) => {
        const { initPersona } = await import('/scripts/personas.js');
        const { charSetAuxWorlds, charUpdatePrimaryWorld, loadWorldInfo } = await import('/scripts/world-info.js');
        await initPersona('declared.png', 'Declared', '', '', { lorebook: book });
        charSetAuxWorlds(avatar.replace('.png', ''), [book]);
        await charUpdatePrimaryWorld(book);
        await loadWorldInfo(book);
    }, { avatar, book });
    await page.settle();
    await page.refresh();
}

/** Asks the server everything that Forklore asks it, through Forklore's own functions. */
function readEverything(page, tale, company) {
    return page.raw.evaluate(async ({ HOST, tale, company }) => {
        const host = await import(HOST);
        await host.chatHeads(tale);
        await host.chatNames({ group: null, avatar: 'nobody.png' });
        await host.allChatHeads();
        await host.readChat(tale, tale.chat);
        await host.readChat(company, company.chat);
        await host.chatText(tale, tale.chat);
        await host.bookNames();
        await host.listBooks();
        await host.readBook(tale.book);
        const file = await host.writeFile('declared.json', '{}');
        await host.existingFiles([file]);
        await host.looseFiles();
        await host.deleteFile(file);
    }, { HOST, tale, company });
}

/** What the server answers to these paths meanwhile. */
async function answersTo(page, paths, act) {
    const answers = [];
    const listen = (response) => {
        const path = new URL(response.url()).pathname;
        if (paths.includes(path) && response.ok()) {
            answers.push(response.json().then((body) => ({ path, body })));
        }
    };
    page.raw.on('response', listen);
    await act();
    await page.settle();
    page.raw.off('response', listen);
    return Promise.all(answers);
}
