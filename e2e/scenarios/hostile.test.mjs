// Names and texts that try to be markup: wherever Forklore shows one, it stays text.

import assert from 'node:assert/strict';
import fs from 'node:fs';

import { agree, choose, decline, dialog, notice, pressNotice, withSettings } from '../harness/forklore.mjs';
import { book, entry } from '../harness/lore.mjs';
import { asFileName, asSavedName, COUNT } from '../harness/payloads.mjs';
import { isNight } from '../harness/places.mjs';
import { sceneBreak } from '../harness/recap.mjs';
import { SOLO_IS_DAILY, stage } from '../harness/scenario.mjs';
import { conversation, reply } from '../harness/story.mjs';
import { leaveTimelines, openTimelines } from '../harness/timelines.mjs';
import { Trap } from '../harness/trap.mjs';
import { until } from '../harness/until.mjs';

const stageScenario = withSettings(stage());

/** A scenario with a trap in its page, which must be empty at the end. Books with such names are removed afterwards. */
function scenario(name, options, act) {
    stageScenario(name, options, async (given) => {
        const trap = await Trap.in(given.page.raw);
        const books = given.files.books();
        try {
            await act({ ...given, trap });
            await given.page.settle();
            await trap.assertEmpty();
        } finally {
            trap.close();
            // SillyTavern's own list of lorebooks treats names as markup when the page is loaded.
            given.files.books().filter((book) => !books.includes(book)).forEach((book) => fs.rmSync(given.files.bookPath(book)));
        }
    });
}

/** All three hundred at night, otherwise some of each kind. */
const some = (texts) => (isNight ? texts : texts.filter((_, number) => number % 7 === 0));

// ---- Metadata of another type ----

// The first one, because it reads all chats that there are.
scenario('metadata that is of another type than it should be', {}, async ({ page, files, story }) => {
    for (const odd of [5, true, ['Lore'], { name: 'Lore' }, '']) {
        const tale = await story.begin({ metadata: { world_info: odd, integrity: odd } });
        await page.open(tale);
        const child = await page.branchByCommand(3);
        assert.equal(files.chat(tale, child).messages.length, 4, JSON.stringify(odd));
        await page.switchTo(tale.chat);
        const view = await openTimelines(page);
        assert.equal(await view.locator('.forklore_card').count(), 2);
        await leaveTimelines(page);
        await page.run('/forklore-verify');
    }
});

// ---- The trap itself ----

stageScenario('three hundred payloads, and a trap that catches them', {}, async ({ page }) => {
    const blank = await page.raw.context().newPage();
    const trap = await Trap.in(blank);
    assert.equal(trap.payloads.length, COUNT);
    assert.equal(new Set(trap.texts).size, COUNT);
    const firing = trap.payloads.filter(({ fires }) => fires);
    assert.ok(firing.length >= 50, `${firing.length} of them fire by themselves`);

    await blank.evaluate((texts) => {
        for (const text of texts) {
            const place = document.createElement('div');
            place.className = 'forklore_dialog';
            place.innerHTML = text;
            document.body.append(place);
        }
    }, trap.texts.filter((text) => !/<meta|<base/.test(text)));
    await blank.evaluate((url) => void (new Image().src = url), `${trap.origin}/asked`);
    await blank.evaluate(() => alert('opened'));

    const numbers = firing.map(({ number }) => number);
    const caught = await until('every payload to be caught', async () => {
        const caught = await trap.caught();
        return numbers.every((number) => caught.called.includes(number)) && caught.called.length > 80 && caught.asked.length > 10 && caught;
    });
    assert.ok(caught.foreign.some((found) => found.startsWith('an element: <img')), 'an element');
    assert.ok(caught.foreign.some((found) => found.includes('onerror')), 'an attribute');
    assert.ok(caught.dialogs.includes('alert: opened'));
    trap.close();
    await blank.close();
});

// ---- Every notice, dialog and line, by itself ----

scenario('every notice shows every payload as text', {
    expects: { errors: [/Forklore:/], toasts: [/Something went wrong/] },
}, async ({ page, trap }) => {
    await withUi(page, trap.texts);

    const wrong = await page.raw.evaluate(async (texts) => {
        const { toasts, actions, bare } = globalThis.hostile;
        const part = { exactness: 'snapshot', as_of: 3, source: 'journal' };
        const nothingBack = { restored: [], replaced: [], chats: [], undone: [], blocked: [], unreadable: 0 };
        const words = (text) => [
            { code: 'unknown-code', values: {}, text },
            { code: 'metadata-live', values: { keys: [text] }, text },
        ];
        const notices = [
            (text) => toasts.opened({ findings: [{ code: 'book-missing', problem: true, values: { name: text }, text }] }, actions),
            (text) => toasts.opened({ findings: [{ code: 'book-shared', problem: true, values: { name: text, with: ['x'] }, text }] }, actions),
            (text) => toasts.opened({ findings: [{ code: 'book-shared', problem: true, values: { name: 'x', with: [text] }, text }] }, actions),
            (text) => toasts.removed({ chat: text, books: ['Book'], undo: 'token' }, actions),
            (text) => toasts.removed({ chat: 'Chat', books: [text, 'Book'], undo: 'token' }, actions),
            (text) => toasts.removed({ chat: text, books: [], undo: 'token', isKept: true }, actions),
            (text) => toasts.undone({ ...nothingBack, restored: [text] }, actions),
            (text) => toasts.undone({ ...nothingBack, restored: [text], replaced: [text] }, actions),
            (text) => toasts.undone({ ...nothingBack, chats: [text] }, actions),
            (text) => toasts.undone({ ...nothingBack, blocked: [text] }, actions),
            (text) => toasts.repaired('copy', { book: text, entries: 1, part: null, remarks: words(text) }, actions),
            (text) => toasts.repaired('journal', { book: text, entries: 1, part, remarks: [] }, actions),
            (text) => toasts.restored(3, { book: text, entries: 1, remarks: words(text) }, actions),
            (text) => toasts.strippedAll({ chats: 1, records: 1, done: 1, total: 2, left: [{ code: 'chat-failed', values: { chat: text, reason: text } }] }),
            (text) => toasts.failed(new Error(text)),
            (text) => toasts.failed(Object.assign(new Error('x'), { word: { code: 'unknown-code', values: {}, text } })),
            (text) => toasts.failed(Object.assign(new Error('x'), { word: { code: 'book-missing', values: { name: text }, text: 'x' } })),
            (text) => toasts.notify('info', text),
        ];
        const wrong = [];
        for (const text of texts) {
            for (const [number, show] of notices.entries()) {
                show(text);
                const shown = [...document.querySelectorAll('.toast .forklore_toast')];
                if (!shown.some((toast) => bare(toast.textContent).includes(bare(text)))) {
                    wrong.push(`notice ${number} does not show ${text.slice(0, 100)}`);
                }
            }
            globalThis.trapLaid.lookAround();
            toastr.remove();
        }
        return wrong;
    }, some(trap.texts));

    assert.deepEqual(wrong, []);
});

scenario('every dialog shows every payload as text', {}, async ({ page, trap }) => {
    await withUi(page, trap.texts);
    const { texts } = trap;
    const part = { exactness: 'exact', source: 'journal' };
    const words = texts.map((text) => ({ code: 'unknown-code', values: {}, text, problem: true }));
    const named = (code) => texts.map((name) => ({ code, values: { name }, text: name, problem: true }));
    const keys = [{ code: 'metadata-live', values: { keys: texts }, text: '' }];
    const entries = texts.map((text, uid) => ({ key: String(uid), uid, title: text, content: `${text}|`, keys: [text], disabled: uid % 2 > 0, internal: uid > 250 }));
    const changes = texts.map((text, uid) => ({ key: String(uid), uid, title: text, what: 'changed', fields: [text] }));

    const dialogs = [
        ['askFork', { obstacles: [...words, ...named('book-missing')], remarks: [...words, ...keys], part: null, topic: 'book', choices: ['wait', 'without'] }],
        ['askRepair', { book: texts[7], journal: null, recap: null, books: texts }, () => choose(page, 'copy')],
        ['askSplit', { book: texts[7], sharedWith: texts }],
        ['askCleanup', {
            remove: texts.map((name) => ({ name, bytes: 5000, madeFor: name })),
            keep: texts.map((name) => ({ name, reason: { code: 'referred', values: { places: [name] }, text: name } })),
            unread: texts,
        }],
        ['showTrash', {}],
        ['showVerification', undefined],
        ['showFindings', [...words, ...named('parent-missing')]],
        ['showFork', { kind: 'branch', parent: 'Parent', child: texts[3], message: 3, book: { name: texts[5], entries: 1 }, part, remarks: [...words, ...keys] }],
        ['lore', { message: 3, part, book: texts[7], entries, changes }],
        ['restore', { message: 3, preview: { book: texts[7], entries: 3, part, remarks: [...words, ...keys] } }],
        ...texts.filter((_, number) => number % 10 === 0).map((text) => ['askStrip', text, undefined, [text]]),
    ];
    for (const [name, given, prepare, expected = texts] of dialogs) {
        await page.raw.evaluate(({ name, given }) => void globalThis.hostile.show(name, given), { name, given });
        await page.dialog().locator('.forklore_heading').waitFor();
        await prepare?.();
        await assertShows(page, expected, name);
        await page.raw.keyboard.press('Escape');
        await until(`${name} to be closed`, async () => (await page.dialog().count()) === 0);
    }
    const answers = await page.raw.evaluate(() => globalThis.hostile.answers);
    assert.deepEqual(answers.filter((answer) => ![null, 'cancel', false].includes(answer)), [], 'Escape agrees to nothing');

    for (const text of texts.filter((_, number) => number % 10 === 5)) {
        await page.raw.evaluate((text) => void globalThis.hostile.show('askName', text), text);
        await page.dialog().locator('.popup-input').waitFor();
        const normal = (text) => text.replace(/\r\n?/g, '\n');
        assert.equal(normal(await page.dialog().locator('.popup-input').inputValue()), normal(text));
        await page.raw.keyboard.press('Escape');
        await until('the question to be closed', async () => (await page.dialog().count()) === 0);
    }
});

scenario('every line of the panel shows every payload as text', {}, async ({ page, trap }) => {
    await withUi(page, trap.texts);

    const wrong = await page.raw.evaluate(async (texts) => {
        const { panelOf, failureOf, bare } = globalThis.hostile;
        const { app, panel, element } = panelOf();
        const says = (shown, text) => bare(shown.querySelector('.forklore_line').textContent).includes(bare(text));
        const wrong = [];
        const ready = ['all', 'owner', 'open', null].map((reach) => ({ state: 'ready', reach, selected: [] }));
        const states = [...ready, ...['missing', 'shared', 'elsewhere'].map((state) => ({ state }))];
        for (const text of texts) {
            for (const state of states) {
                app.readiness = async () => ({ ...state, book: text, entries: 3, operations: 0, sharedWith: [text] });
                await panel.refresh();
                if (!says(element, text)) {
                    wrong.push(`${state.state} ${state.reach}: ${text.slice(0, 100)}`);
                }
            }
        }
        element.remove();
        for (const text of texts) {
            const failed = failureOf(new Error(text));
            if (!says(failed, text)) {
                wrong.push(`failure: ${text.slice(0, 100)}`);
            }
            failed.remove();
        }
        return wrong;
    }, trap.texts);

    assert.deepEqual(wrong, []);
});

// ---- The same from real chats and books ----

scenario('entries, their keywords, contents and changes: lore at a message, and a restore', {}, async ({ page, files, story, trap }) => {
    const { texts } = trap;
    const first = book(texts.map((text, uid) => entry(uid, { comment: text, key: [text], content: `${text}|` })));
    const second = structuredClone(first);
    for (const [uid, text] of texts.entries()) {
        if (uid < 200) {
            Object.assign(second.entries[uid], { content: 'another', [text]: text });
        } else {
            delete second.entries[uid];
            second.entries[uid + 1000] = entry(uid + 1000, { comment: text });
        }
    }
    const own = asSavedName(texts[12]);
    story.writeBook(own, first);
    const tale = await story.begin({ messages: 2, metadata: { world_info: own } });
    await page.open(tale);
    await page.send('the first');
    await page.send('the second');
    await page.saveBook(own, second);
    await page.send('the third');
    await files.chatWhen(tale, tale.chat, ({ messages }) => messages.length === 5 && messages.slice(2).every(({ forklore }) => forklore));

    await page.messageAction(2, '.forklore_lore');
    await dialog(page, 'Lore at message 2');
    const shown = await assertShows(page, texts, 'lore');
    assert.match(shown, /Since then: 100 added, 200 changed, 100 removed/);
    assert.ok(shown.includes(own));
    await page.dialog().getByRole('searchbox').fill('__trap(188)');
    await until('the entry that was searched', async () => (await page.dialog().locator('.forklore_entries .forklore_folded').count()) === 1);

    await page.press('.popup-controls :text("Restore this lore")');
    await dialog(page, 'Restore the lore of message 2');
    await assertShows(page, texts, 'restore');
    await agree(page);
    assert.ok((await notice(page, /\(300 entries\) was restored to message 2/, 'success')).includes(own));
    await files.bookWhen(own, ({ entries }) => entries[299] && !entries[1299]);
});

scenario('names of lorebooks: a missing one, and those to choose from', {}, async ({ page, story, trap }) => {
    const { texts } = trap;
    const names = texts.map((text) => asFileName(text));
    names.forEach((name) => story.writeBook(name, book([entry(0)])));
    for (const missing of [texts[12], texts[188], texts[250], texts[276]]) {
        const tale = await story.begin({ metadata: { world_info: missing } });
        await page.open(tale);

        const said = await notice(page, /of this chat is missing/);
        assert.ok(bare(said).includes(bare(oneLine(missing))), said);
        await page.run('/forklore-check');
        await assertPanelShows(page, missing);
        await pressNotice(page, /of this chat is missing/, 'Repair…');
        const shown = await dialog(page, 'The lorebook of this chat is missing');
        await choose(page, 'copy');
        await assertShows(page, [...names, missing], 'missing');
        await shown.getByRole('searchbox').fill('__trap(12)');
        assert.equal(await shown.getByRole('option').count(), 1);
        await decline(page);
        await page.clearToasts();
        page.watch.clear();
    }
});

for (const group of [false, true]) {
    scenario(`names of chats that share a lorebook: the split and its plan, ${group ? 'in a group' : 'solo'}`, { group, nightly: group && SOLO_IS_DAILY }, async ({ page, story, trap }) => {
        const names = trap.texts.filter((_, number) => number % 7 === 0).map((text) => asSavedName(text));
        const tale = await story.begin({ book: book([entry(0), entry(1)]) });
        for (const name of names) {
            story.writeChat(tale, name, { messages: conversation(3, { name: tale.speaker, group }), metadata: { main_chat: tale.chat, world_info: tale.book } });
        }
        if (group) {
            const known = story.files.group(tale);
            await story.st.post('/api/groups/edit', { ...known, chats: [...known.chats, ...names] });
        }
        await page.open(tale, names[3]);

        await notice(page, /is shared with/);
        await pressNotice(page, /is shared with/, 'Split…');
        await dialog(page, 'This lorebook is shared');
        await choose(page, 'family');
        await page.dialog().locator('.forklore_item').nth(names.length - 1).waitFor();
        await assertShows(page, [tale.chat, ...names], 'shared');
        await decline(page);
    });
}

scenario('names of chats, characters and groups: the check of all chats', {}, async ({ page, files, story, st, trap }) => {
    const { texts } = trap;
    const owners = [];
    const problems = (text) => ({ main_chat: text, world_info: `missing ${text}` });
    for (const [at, name] of texts.filter((_, number) => number % 12 === 0).entries()) {
        const avatar = await st.post('/api/characters/create', { ch_name: name, first_mes: 'Hello.', file_name: `hostile-${at}` });
        owners.push({ tale: { group: null, avatar, name, chat: '' }, name });
    }
    for (const name of texts.filter((_, number) => number % 30 === 7)) {
        const chats = texts.filter((_, number) => number % 30 === 7).map((text) => asFileName(`${name.slice(0, 20)}${text}`));
        const made = await st.post('/api/groups/create', { name, members: [owners[0].tale.avatar], chat_id: chats[0], chats });
        chats.forEach((chat) => story.writeChat({ group: made.id }, chat, { messages: conversation(1), metadata: problems(chat) }));
        owners.push({ name });
    }
    for (const [number, text] of texts.entries()) {
        const { tale } = owners[number % 25];
        story.writeChat(tale, asFileName(text), { messages: conversation(1), metadata: problems(text) });
    }
    const tale = await story.begin({ book: book([entry(0)]) });
    await page.open(tale);
    await page.refresh();

    await pressInPanel(page, 'Check all chats');
    await dialog(page, 'Results for all chats');
    await page.dialog().locator('.forklore_item').first().waitFor();
    await assertShows(page, [...texts.map((text) => asFileName(text)), ...texts.map((text) => `missing ${text}`), ...owners.map(({ name }) => name)], 'verify');

    await agree(page);

    const found = JSON.parse(await page.run('/forklore-verify all=true'));
    assert.ok(texts.every((text) => found.some(({ values }) => values.name === `missing ${text}`)));
    for (const { tale } of owners.filter(({ tale }) => tale)) {
        fs.rmSync(files.chatFolder(tale), { recursive: true, force: true });
    }
});

scenario('names of lorebooks and of what uses them: the clean-up', {}, async ({ page, files, story, trap }) => {
    const { texts } = trap;
    const mark = (text) => book([entry(0)], { extensions: { forklore: { format: 1, chat: text } } });
    const names = texts.map((text) => asFileName(text));
    texts.forEach((text, number) => story.writeBook(names[number], mark(text)));
    const tale = await story.begin({ book: book([entry(0)]) });
    const users = texts.filter((_, number) => number % 10 === 0).map((text) => asSavedName(text));
    users.forEach((user, number) => {
        story.writeChat(tale, user, { messages: conversation(1), metadata: { world_info: names[number] } });
    });
    await page.open(tale);

    await pressInPanel(page, 'Clean up…');
    await dialog(page, 'Clean up');
    await assertShows(page, [...names, ...users], 'clean');
    await assertShows(page, texts.slice(users.length), 'clean');
    await decline(page);

    assert.deepEqual(JSON.parse(await page.run('/forklore-clean preview=true')).sort(), names.slice(users.length).sort());

    // An unreadable chat may use any of them.
    fs.writeFileSync(files.chatPath(tale, asSavedName(texts[13])), 'not a chat\n{}');
    await pressInPanel(page, 'Clean up…');
    await dialog(page, 'Clean up');
    await assertShows(page, [asSavedName(texts[13])], 'clean, unread');
    await page.press('.popup-button-ok');
    fs.rmSync(files.chatPath(tale, asSavedName(texts[13])));
});

/** The details of the notice about a fork name the new chat. */
async function assertDetailsName(page, child) {
    const details = page.raw.locator('#toast-container .toast').filter({ hasText: 'Checkpoint created' }).getByRole('button', { name: /^Details/ });
    // Toasts let clicks through here, so the mouse is not used.
    await details.dispatchEvent('click');
    await dialog(page, /^Fork at message/);
    await assertShows(page, [child], 'the details of a fork');
    await page.press('.popup-button-ok');
}

scenario('names of checkpoints: the notice, a deleted chat, the journal taken out', {}, async ({ page, files, story, trap }) => {
    const tale = await story.begin({ book: book([entry(0)]) });
    await page.open(tale);
    const children = [];
    for (const text of trap.texts.filter((_, number) => number % 20 === 2)) {
        page.watch.clear();
        const child = await command(page, 'forklore-fork', { message: '5' }, text.slice(0, 150));
        assert.equal(child, text.slice(0, 150).trim());
        await notice(page, /Checkpoint created/, 'success');
        await assertDetailsName(page, child);
        await page.clearToasts();
        await page.settle();
        children.push(child);
    }
    const books = files.chats(tale).filter((chat) => chat !== tale.chat).map((chat) => files.chat(tale, chat).metadata.world_info);
    assert.equal(new Set(books).size, children.length, 'each has a book of its own');

    const [first, second] = files.chats(tale).filter((chat) => chat !== tale.chat);
    const own = files.chat(tale, first).metadata.world_info;
    await page.raw.evaluate(async ({ avatar_url, chatfile }) => {
        const { getRequestHeaders } = SillyTavern.getContext();
        await fetch('/api/chats/delete', { method: 'POST', headers: getRequestHeaders(), body: JSON.stringify({ avatar_url, chatfile }) });
    }, { avatar_url: tale.avatar, chatfile: `${first}.jsonl` });
    const gone = await notice(page, /was deleted\. Its lorebook is in the trash/);
    assert.ok(gone.includes(first.slice(-4)) && gone.includes(own.slice(-4)), gone);
    await pressNotice(page, /was deleted\. Its lorebook/, 'Put the lorebook back');
    assert.ok((await notice(page, /1 lorebook was restored/)).includes(own));

    await page.switchTo(second);
    await assertPanelShows(page, files.chat(tale, second).metadata.world_info);
    await pressInPanel(page, 'Remove the journal from this chat…');
    await dialog(page, 'Remove the journal from this chat?');
    await assertShows(page, [second], 'strip');
    await decline(page);
});

scenario('variables, metadata and scenes: what a fork says of them', {}, async ({ page, files, story, trap }) => {
    const { texts } = trap;
    const some = texts.filter((_, number) => number % 3 === 0);
    const metadata = Object.fromEntries(some.map((text) => [text, text]));
    const variables = Object.fromEntries(texts.map((text) => [text, text]));
    const lore = book([entry(0)]);
    const own = asSavedName(texts[13]);
    const scenes = texts.filter((_, number) => number % 60 === 12);
    const messages = (cast) => conversation(scenes.length, cast).map((message, number) => reply(number, {
        ...cast, extra: sceneBreak({ name: scenes[number], start: number, end: number, book: lore, bookName: own }),
    }));
    story.writeBook(own, lore);
    const tale = await story.begin({ metadata: { ...metadata, variables, world_info: own }, messages });
    await page.open(tale);

    const { obstacles, remarks } = JSON.parse(await command(page, 'forklore-check', { json: 'true' }, '1'));
    const told = [...obstacles, ...remarks].map(({ text }) => text);
    assert.ok(told.some((text) => text.includes('chat variables')), told.join('\n'));
    await page.messageAction(1, '.mes_create_bookmark');
    await dialog(page, 'The exact lore of this message was not recorded');
    await assertShows(page, told, 'ask');
    await page.raw.keyboard.press('Escape');
    await until('the question to be closed', async () => (await page.dialog().count()) === 0);
    assert.deepEqual(files.chats(tale), [tale.chat], 'Escape does not fork');

    // From the template, and from the question.
    await pressInPanel(page, 'Create checkpoint');
    await notice(page, /Checkpoint created/);
    await assertDetailsName(page, files.chats(tale).find((chat) => chat !== tale.chat));
    await page.raw.evaluate(() => { SillyTavern.getContext().extensionSettings.forklore.autoName = false; });
    await pressInPanel(page, 'Create checkpoint');
    await dialog(page, 'Checkpoint name');
    assert.match(await page.dialog().locator('.popup-input').inputValue(), /^Scene 5 - ./);
    await decline(page);
});

scenario('slash commands: what they answer, their help and what they offer', {}, async ({ page, story, trap }) => {
    const { texts } = trap;
    const tale = await story.begin({
        book: book([entry(0)]),
        // SillyTavern would request the pictures in them from our server.
        messages: (cast) => texts.filter((text) => !text.includes(trap.origin)).slice(0, 60)
            .map((mes, number) => reply(number, { ...cast, mes, swipes: [mes] })),
    });
    await page.open(tale);
    // It shows messages as sanitized markup, and requests their pictures.
    page.watch.clear();

    const wrong = await page.raw.evaluate(async (texts) => {
        const { commands } = SillyTavern.getContext().SlashCommandParser;
        const bare = (text) => text.replace(/[\u2066-\u2069]/g, '');
        const wrong = [];
        for (const text of texts) {
            const answers = [
                await commands['forklore-check'].callback({}, text),
                await commands['forklore-restore'].callback({ message: text }, ''),
                await commands['forklore-fork'].callback({ kind: text }, ''),
            ];
            const told = [...document.querySelectorAll('.toast .forklore_toast')].filter((toast) => bare(toast.textContent).includes(bare(text.trim())));
            if (answers.join('') !== '' || told.length !== answers.length) {
                wrong.push(`${told.length} notices say ${text.slice(0, 100)}, and the answers are ${answers}`);
            }
            globalThis.trapLaid.lookAround();
            toastr.remove();
        }
        return wrong;
    }, some(texts));
    assert.deepEqual(wrong, []);

    // Typing one shows its help, and the messages that it can be given.
    const typed = page.raw.locator('#send_textarea');
    await typed.fill('');
    await typed.pressSequentially('/forklore-restore message=');
    const offered = page.raw.locator('.autoComplete-wrap .autoComplete .item');
    await until('the messages to be offered', async () => (await offered.count()) > 20);
    const shown = await page.raw.locator('.autoComplete-wrap').first().innerText();
    assert.ok(shown.includes('__trap('), shown);
    await trap.assertEmpty();
    assert.equal(await page.raw.locator('.autoComplete-wrap :is(img, script, iframe, svg)').count(), 0);
    await typed.fill('');

    const help = await page.raw.evaluate(async () => {
        const { SlashCommandParser } = SillyTavern.getContext();
        const names = Object.keys(SlashCommandParser.commands).filter((name) => name.startsWith('forklore-'));
        return names.map((name) => {
            const place = document.createElement('div');
            place.append(SlashCommandParser.commands[name].renderHelpDetails());
            return { name, text: place.textContent, foreign: place.querySelectorAll('img, script, iframe, [onerror], [onload]').length };
        });
    });
    const names = ['bring', 'check', 'clean', 'compare', 'fork', 'restore', 'split', 'tree', 'verify'].map((name) => `forklore-${name}`);
    assert.deepEqual(help.map(({ name }) => name).sort(), names);
    assert.deepEqual(help.filter(({ foreign }) => foreign > 0), []);
    assert.match(help.find(({ name }) => name === 'forklore-check').text, /\/forklore-check 42 \| \/if left=\{\{pipe\}\}/);
});

// ---- Helpers ----

/** Mounts Forklore's own user interface in the page, so that it can be given anything. */
function withUi(page, texts) {
    return page.raw.evaluate(async (texts) => {
        const from = (name) => import(`/scripts/extensions/third-party/forklore/extension/${name}.js`);
        const [screen, { createToasts }, { createDialogs }, { createLore }, { mountFailure, mountPanel }, { DEFAULTS }] = await Promise.all(
            ['sillytavern/screen', 'ui/toasts', 'ui/dialogs/index', 'ui/dialogs/lore', 'ui/panel/panel', 'features/settings'].map(from));
        const nothing = async () => null;
        const actions = { fork: nothing, repair: nothing, split: nothing, undo: nothing, showTrash: nothing, showFork: nothing, showFindings: nothing, stopWaiting: nothing };
        const part = { exactness: 'exact', source: 'journal' };
        const app = {
            settings: { ...DEFAULTS },
            pendingFork: null,
            on: () => {},
            saveSettings: () => {},
            readiness: nothing,
            hasAutoRecap: () => true,
            open: () => ({ name: 'Parent', group: false, messages: texts.length }),
            messageAt: (message) => ({ name: texts[message], text: texts.at(-message) }),
        };
        const toasts = createToasts({ app, screen });
        const dialogs = createDialogs({ app, screen });
        let given = {};
        Object.assign(app, {
            splitPlan: async () => ({ keeper: given.sharedWith[3], chats: given.sharedWith.map((name) => ({ name, book: name, entries: 1, part, open: false })) }),
            verifyAll: async () => texts.map((text) => ({
                chat: text, owner: text, ownerName: text, findings: [{ code: 'book-missing', problem: true, values: { name: text }, text }],
            })),
            trashList: async () => texts.map((text, number) => ({ token: `/user/files/${number}`, when: text, why: { code: 'deleted', name: text }, books: [text], chat: text, of: null, bytes: 1 })),
            findInTrash: async () => 0,
            lore: async () => given,
            restore: async () => given.preview,
        });
        const lore = createLore({ app, screen, dialogs, toasts, actions });
        const real = document.getElementById('forklore_settings');
        const mounted = () => [...document.querySelectorAll('#forklore_settings')].find((found) => found !== real);
        globalThis.hostile = {
            toasts,
            actions,
            answers: [],
            bare: (text) => text.replace(/[\u2066-\u2069]/g, ''),
            async show(name, what) {
                given = what ?? {};
                const asked = name === 'lore' ? lore.show(given.message)
                    : name === 'restore' ? dialogs.askRestore(given.message, given.preview, null)
                        : dialogs[name](what);
                this.answers.push(await asked ?? null);
            },
            panelOf: () => {
                const panel = mountPanel({ app, screen, actions });
                return { app, panel, element: mounted() };
            },
            failureOf: (error) => {
                mountFailure(screen, error);
                return mounted();
            },
        };
    }, texts);
}

/** Presses a button of the panel, whose drawer does not have to be open: a dialog would cover the way back. */
async function pressInPanel(page, name) {
    await page.raw.locator('#forklore_settings .forklore_panel').locator('button', { hasText: name }).dispatchEvent('click');
}

/** Calls a command directly, whatever a parser would make of its arguments. */
function command(page, name, named, unnamed) {
    return page.raw.evaluate(({ name, named, unnamed }) =>
        SillyTavern.getContext().SlashCommandParser.commands[name].callback(named, unnamed), { name, named, unnamed });
}

/** Forklore isolates texts of the other direction with invisible characters. */
function bare(text) {
    return text.replace(/[\u2066-\u2069]/g, '');
}

/** As the harness reads a notice, trimmed. */
function oneLine(text) {
    return text.trim();
}

/** Unfolds everything in the topmost dialog, and asserts that it shows exactly these texts. */
async function assertShows(page, texts, where) {
    const open = page.dialog();
    await open.evaluate((dialog) => dialog.querySelectorAll('details').forEach((details) => { details.open = true; }));
    const find = () => open.evaluate((dialog) => {
        const lines = [];
        const walker = document.createTreeWalker(dialog, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            if (walker.currentNode.parentElement.checkVisibility()) {
                lines.push(walker.currentNode.data);
            }
        }
        return lines.join('\n');
    });
    const missing = async () => {
        const shown = bare(await find());
        return texts.filter((text) => !shown.includes(bare(text)));
    };
    await until(`${where} to show every text`, async () => (await missing()).length === 0).catch(async () => {
        assert.deepEqual((await missing()).map((text) => text.slice(0, 200)), [], `${where} does not show these`);
    });
    const isWide = await open.evaluate((dialog) => [dialog, ...dialog.querySelectorAll('.popup-content, .forklore_dialog')]
        .some((place) => place.scrollWidth > place.clientWidth + 1));
    assert.ok(!isWide, `${where} can be scrolled sideways`);
    return bare(await find());
}

async function assertPanelShows(page, text) {
    await until(`the panel to show ${text}`, async () => {
        const line = await page.raw.locator('#forklore_settings .forklore_line').textContent();
        return bare(line).includes(bare(text));
    });
}
