// Takes the pictures for the README and the guide: `node e2e/pictures.mjs`, or with the names of pictures to take only
// those. The moving one needs ffmpeg, the Chinese one a Chinese font. A real SillyTavern with the real extension; everything shown has really happened.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { launchBrowser, openPage } from './harness/browser.mjs';
import { chance } from './harness/chance.mjs';
import { growFamily } from './harness/families.mjs';
import { compare, preview, row, settle, tick, unfold } from './harness/combining.mjs';
import { Files } from './harness/files.mjs';
import { choose, dialog, notice, pressNotice } from './harness/forklore.mjs';
import { book, entry } from './harness/lore.mjs';
import { FakeModel } from './harness/model.mjs';
import { checkout } from './harness/places.mjs';
import { operation, QUEUE_UID, queueEntry } from './harness/recap.mjs';
import { SillyTavern } from './harness/sillytavern.mjs';
import { Story, question, reply } from './harness/story.mjs';
import { PAPER, writeTheme } from './harness/themes.mjs';
import { card, caughtUp, chooseTimeline, openTimelines } from './harness/timelines.mjs';
import { until } from './harness/until.mjs';

const FOLDER = path.join(checkout, 'docs/images');
const WINDOW = { width: 1200, height: 850 };
const MARGIN = 4;

// ---- The story ----

const TOLD = [
    ['Mara', '*The Gull creaks against the quay. Lamps are lit along the harbour of Vell, one after the other.* "You are late," *says Mara.* "The tide is not."'],
    ['Tom', '*I hand her the letter, its seal unbroken.* "From Iven. He said you would know what to do with it."'],
    ['Mara', '*She turns it over, once, and does not open it.* "Iven is at the lighthouse, then. Nobody has kept a light there for nine years."'],
    ['Tom', '"There was a light last night. I saw it from the road."'],
    ['Mara', '*For a while there is only the water. Then she puts the letter away and nods at the ropes.* "Cast off. We will see who lit it."'],
    ['Tom', '*The lighthouse door stands open. Inside, on the table, there is his coat, and his knife.* "Mara. He is not here."'],
    ['Mara', '"No," *she says quietly.* "He is down there, on the rocks. And somebody else keeps the light now."'],
];

/** The message after which the lore changes. */
const TURN = 4;

const EARLIER = [
    { comment: 'Mara', key: ['Mara', 'captain'], content: 'Captain of the Gull. Owes Iven her ship and has never said so.' },
    { comment: 'The Gull', key: ['Gull', 'ship'], content: 'A two-masted cutter, older than her captain.' },
    { comment: 'Iven', key: ['Iven'], content: 'A smuggler who has become honest, or says so. Waits at the lighthouse.' },
    { comment: 'Lighthouse of Vell', key: ['lighthouse', 'light'], content: 'Dark for nine years. Nobody goes there.' },
    { comment: 'Sealed letter', key: ['letter', 'seal'], content: 'From Iven to Mara. Unopened.' },
];

const LATER = [
    EARLIER[0],
    EARLIER[1],
    { ...EARLIER[2], content: 'Found dead on the rocks below the lighthouse.' },
    { ...EARLIER[3], content: 'Somebody lights it again.' },
    null,
    { comment: 'The keeper', key: ['keeper'], content: 'Keeps the light. Has not been seen.' },
];

const CHINESE = {
    told: [
        ['玛拉', '*海鸥号轻轻撞着码头。维尔港的灯一盏接一盏地亮了起来。*“你来晚了，”*玛拉说，*“潮水可不等人。”'],
        ['汤姆', '*我把信递给她，封蜡还没有拆。*“伊文给的。他说你知道该怎么办。”'],
        ['玛拉', '*她把信翻过来看了看，没有拆。*“这么说，伊文在灯塔。那里已经九年没有点过灯了。”'],
        ['汤姆', '“昨晚有灯光。我在路上看见了。”'],
        ['玛拉', '*她收起信，朝缆绳点了点头。*“解缆。我们去看看是谁点的灯。”'],
        ['汤姆', '*灯塔的门开着，桌上放着他的外套和刀。*“玛拉，他不在这里。”'],
    ],
    earlier: [
        { comment: '玛拉', key: ['玛拉', '船长'], content: '海鸥号的船长。' },
        { comment: '海鸥号', key: ['海鸥号'], content: '一艘双桅快船。' },
        { comment: '伊文', key: ['伊文'], content: '在灯塔等候。' },
        { comment: '维尔灯塔', key: ['灯塔'], content: '九年没有亮过。' },
    ],
};

function lore(entries) {
    return book(entries.flatMap((fields, uid) => (fields ? [entry(uid, fields)] : [])));
}

// ---- The pictures ----

const PICTURES = {
    fork: async (given) => {
        const { page } = given;
        await tell(given, { chat: 'The light of Vell', bookName: 'Vell' });
        const flagged = page.raw.locator(`.mes[mesid="${TURN}"]`);
        await page.checkpointByButton(TURN, { name: 'Before the lighthouse' });
        await notice(page, /Checkpoint created/);
        // What is under the mouse stays; SillyTavern's own notice about opening a checkpoint goes.
        await page.raw.addStyleTag({ content: '#toast-container .toast { pointer-events: auto !important }' });
        const ours = page.raw.locator('.toast:has(.forklore_toast)');
        await until('SillyTavern’s own notice to go', async () => {
            await ours.hover();
            return (await page.raw.locator('.toast').count()) === 1;
        });
        await settled(page);
        const chat = await page.raw.locator('#chat').boundingBox();
        const to = await flagged.boundingBox();
        await take(given, 'fork', { x: chat.x, y: 0, width: chat.width, height: to.y + to.height + 4 });
    },

    moving: async (given) => {
        const { page } = given;
        await tell(given, { chat: 'The light of Vell', bookName: 'Vell' });
        await film(page, 'fork.gif', async (say) => {
            await say('Iven is dead, and the lorebook knows it.', 2200);
            await say('Go back to before that, and branch.', 1500);
            await page.branchByButton(TURN);
            await notice(page, /Branch created/);
            await say('The branch has its own lorebook, as it was at that message.', 3000);
            await page.clearToasts();
            await showLore(page);
            await say('In this timeline, Iven is alive.', 3000);
            await page.raw.keyboard.press('Escape');
            const view = await openTimelines(page);
            await caughtUp(view);
            await say('Every timeline keeps its own.', 3000);
        });
    },

    lore: async (given) => {
        const { page } = given;
        await tell(given, { chat: 'The light of Vell', bookName: 'Vell' });
        await showLore(page);
        await takeDialog(given, 'lore');
    },

    panel: async (given) => {
        const { page } = given;
        await tell(given, { chat: 'The light of Vell', bookName: 'Vell' });
        await openPanel(page);
        await take(given, 'panel', await around(page.raw.locator('#forklore_settings > .inline-drawer'), MARGIN));
    },

    shared: async (given) => {
        const { page, story } = given;
        const tale = await begin(given, { chat: 'The light of Vell', bookName: 'Vell' });
        const older = (name, count) => story.writeChat(tale, name, {
            messages: messages(TOLD.slice(0, count)),
            metadata: { main_chat: tale.chat, world_info: tale.book },
        });
        older('The letter is opened', 4);
        older('Iven lives', 6);
        await page.open(tale, 'Iven lives');
        await pressNotice(page, /is shared with/, 'Split…');
        await dialog(page, 'This lorebook is shared');
        await choose(page, 'family');
        await page.dialog().locator('.forklore_item').nth(1).waitFor();
        await takeDialog(given, 'shared');
    },

    sharing: async (given) => {
        const { page, st } = given;
        const tale = await begin(given, { chat: 'The light of Vell', bookName: 'Vell', isOfCharacter: true, count: TOLD.length });
        await st.post('/api/characters/merge-attributes', { avatar: tale.avatar, data: { extensions: { world: tale.book } } });
        await page.refresh();
        await page.open(tale);
        await page.messageAction(TURN, '.mes_create_branch');
        await dialog(page, 'Should the new chat have its own copy of “Vell”?');
        await takeDialog(given, 'sharing');
    },

    recap: async (given) => {
        const { page } = given;
        const working = [operation(1, 'in_progress'), operation(2, 'pending'), operation(3, 'pending')];
        const tale = await begin(given, { chat: 'The light of Vell', bookName: 'Vell', count: TOLD.length, queue: working });
        await page.open(tale);
        await page.messageAction(TURN, '.mes_create_branch');
        await dialog(page, 'This fork cannot be created right now');
        await takeDialog(given, 'recap');
    },

    missing: async (given) => {
        const { page, files, story } = given;
        const tale = await tell(given, { chat: 'The light of Vell', bookName: 'Vell' });
        const other = await begin(given, { chat: 'Elsewhere', bookName: 'Elsewhere' });
        await page.open(other);
        fs.rmSync(files.bookPath(tale.book));
        await page.raw.evaluate(async (name) => (await import('/scripts/world-info.js')).worldInfoCache.delete(name), tale.book);
        story.writeBook('Eldoria', lore(EARLIER));
        await page.open(tale);
        await pressNotice(page, /is missing/, 'Repair…');
        await dialog(page, 'The lorebook of this chat is missing');
        await takeDialog(given, 'missing');
    },

    'guard-conflict': async (given) => {
        const { page, files, story } = given;
        const tale = await begin(given, { chat: 'The light of Vell', bookName: 'Vell' });
        await page.open(tale);
        // What this page's edit is based on.
        await page.raw.evaluate((name) => SillyTavern.getContext().loadWorldInfo(name), tale.book);
        // Another device's edit.
        const theirs = files.book(tale.book).value;
        theirs.entries[2].content = 'A smuggler who has become honest, or says so. Has not been seen for a week.';
        story.writeBook(tale.book, theirs);
        await page.raw.evaluate(async (name) => {
            const { loadWorldInfo, saveWorldInfo } = SillyTavern.getContext();
            const book = await loadWorldInfo(name);
            book.entries[2].content = 'A smuggler who has become honest, or says so. Mara’s brother. Waits at the lighthouse.';
            saveWorldInfo(name, book, true);
        }, tale.book);
        await dialog(page, 'Which version do you want?');
        await takeDialog(given, 'guard-conflict');
    },

    timelines: async (given) => {
        const { page, view } = await showFamily(given);
        await chooseTimeline(view, 'The letter is opened');
        await view.getByRole('button', { name: 'Show all' }).click();
        await takeDialog(given, 'timelines');
        await page.raw.keyboard.press('Escape');
    },

    'timelines-phone': async (given) => {
        const { view } = await showFamily(given);
        await card(view, 'The light of Vell - Branch #1').tap();
        await takeDialog(given, 'timelines-phone', 0);
    },

    'timelines-200': async (given) => {
        const { page, story } = given;
        const tale = await begin(given, { chat: 'The light of Vell', bookName: 'Vell' });
        await growFamily(story, tale, 200, { chance: chance(3) });
        await page.open(tale);
        const view = await openTimelines(page);
        await caughtUp(view);
        await view.getByRole('button', { name: 'Show all' }).click();
        await takeDialog(given, 'timelines-200');
    },

    compare: async (given) => {
        const { page } = given;
        const view = await compareEndings(given);
        await tick(view, 'The keeper', 'The wedding', 'The Tern');
        await unfold(view, 'Lighthouse of Vell');
        await takeDialog(given, 'compare');
        await page.raw.keyboard.press('Escape');
    },

    'combine-preview': async (given) => {
        const view = await compareEndings(given);
        await tick(view, 'The keeper', 'The wedding', 'The Tern', 'Lighthouse of Vell', 'Sealed letter');
        await preview(view);
        await unfold(view, 'Lighthouse of Vell');
        await given.page.raw.setViewportSize({ width: WINDOW.width, height: 620 });
        await takeDialog(given, 'combine-preview');
    },

    'combine-conflict': async (given) => {
        const view = await compareEndings(given);
        await tick(view, 'Iven', 'The wedding');
        await preview(view);
        await settle(view, 'Iven', 'value', 'A smuggler. They buried him on the cliff; who keeps the light now, and looks like him, nobody asks.');
        await given.page.raw.setViewportSize({ width: WINDOW.width, height: 620 });
        await takeDialog(given, 'combine-conflict');
    },

    'compare-phone': async (given) => {
        const view = await compareEndings(given);
        await row(view, 'Lighthouse of Vell').locator('summary').tap();
        await view.locator('.forklore_tick input:enabled').nth(1).tap();
        await row(view, 'Lighthouse of Vell').scrollIntoViewIfNeeded();
        await view.locator('.forklore_compare_main').evaluate((shown) => { shown.scrollTop = 260; });
        await takeDialog(given, 'compare-phone', 0);
    },

    phone: async (given) => {
        const { page } = given;
        await tell(given, { chat: 'The light of Vell', bookName: 'Vell' });
        await showLore(page);
        await takeDialog(given, 'phone', 2);
    },

    chinese: async (given) => {
        const { page } = given;
        await tell(given, { chat: '维尔之光', bookName: '维尔', name: '玛拉', ...CHINESE });
        await openPanel(page);
        await take(given, 'chinese', await around(page.raw.locator('#forklore_settings > .inline-drawer'), MARGIN));
    },

    light: async (given) => {
        const { page, st } = given;
        writeTheme(st.user, { ...PAPER, chat_width: 70 });
        await page.reload();
        await page.theme(PAPER.name);
        await tell(given, { chat: 'The light of Vell', bookName: 'Vell' });
        await showLore(page);
        await takeDialog(given, 'light');
    },
};

/** Those that other extensions appear in. */
const EXTENSIONS = { recap: { 'ST-Auto-Recap': path.join(checkout, 'e2e/doubles/recap') } };

const DEVICES = { 'compare-phone': { viewport: 'phone' }, 'timelines-phone': { viewport: 'phone' }, phone: { viewport: 'phone' }, chinese: { locale: 'zh-CN' } };

// ---- How they are taken ----

async function main(wanted) {
    fs.mkdirSync(FOLDER, { recursive: true });
    const browser = await launchBrowser();
    const model = await FakeModel.start();
    try {
        const portraits = await drawPortraits(browser);
        for (const name of Object.keys(PICTURES).filter((name) => !wanted.length || wanted.includes(name))) {
            // Each with its own data root, so that a list of lorebooks shows no others.
            const st = await SillyTavern.start({ extensions: EXTENSIONS[name], settings: (settings) => asForPictures(settings, model) });
            try {
                fs.writeFileSync(path.join(st.user, 'User Avatars/user-default.png'), portraits.user);
                const page = await openPage(browser, st, DEVICES[name]);
                if (!DEVICES[name]?.viewport) {
                    await page.raw.setViewportSize(WINDOW);
                }
                await PICTURES[name]({ page, st, portraits, story: new Story(st), files: new Files(st.user) });
                await page.close();
            } finally {
                await st.stop();
            }
        }
    } finally {
        await browser.close();
    }
}

/**
 * Films what is done in the page, with a line of text below it, as an animated picture.
 * @param {(say: (text: string, milliseconds: number) => Promise<void>) => Promise<void>} act
 */
async function film(page, name, act) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'forklore-film-'));
    const frames = [];
    const session = await page.raw.context().newCDPSession(page.raw);
    session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
        const file = `${frames.length}.png`;
        fs.writeFileSync(path.join(folder, file), Buffer.from(data, 'base64'));
        frames.push({ file, time: metadata.timestamp });
        session.send('Page.screencastFrameAck', { sessionId }).catch(() => {});
    });
    await session.send('Page.startScreencast', { format: 'png' });
    await act(async (text, milliseconds) => {
        await page.raw.evaluate(showCaption, text);
        // So long a person reads.
        await page.raw.waitForTimeout(milliseconds);
    });
    await session.send('Page.stopScreencast');
    const ends = [...frames.slice(1).map(({ time }) => time), Date.now() / 1000];
    const list = frames.map(({ file, time }, at) => `file ${file}\nduration ${Math.max(0.04, ends[at] - time).toFixed(3)}`);
    fs.writeFileSync(path.join(folder, 'frames.txt'), `${list.join('\n')}\nfile ${frames.at(-1).file}\n`);
    const filter = 'fps=6,scale=840:-1:flags=lanczos,split[shown][looked];[looked]palettegen=max_colors=64:stats_mode=diff[colours];'
        + '[shown][colours]paletteuse=dither=none:diff_mode=rectangle';
    execFileSync('ffmpeg', ['-y', '-loglevel', 'error', '-f', 'concat', '-i', path.join(folder, 'frames.txt'), '-filter_complex', filter, path.join(FOLDER, name)]);
    fs.rmSync(folder, { recursive: true });
}

/** Runs in the page. */
function showCaption(text) {
    let caption = document.getElementById('film_caption');
    if (!caption) {
        caption = document.createElement('div');
        caption.id = 'film_caption';
        caption.popover = 'manual';
        caption.style.cssText = 'position:fixed;inset:auto 0 0 0;pointer-events:none;margin:0;width:100%;box-sizing:border-box;border:0;padding:14px;text-align:center;'
            + 'font:600 26px sans-serif;color:#fff;background:#14324a';
        document.body.append(caption);
    }
    // Above dialogs, which are in the top layer.
    caption.hidePopover();
    caption.textContent = text;
    caption.showPopover();
}

function asForPictures(settings, model) {
    // Otherwise the pictures show signs of a missing connection.
    model.connect(settings);
    settings.username = 'Tom';
    settings.power_user.chat_width = 70;
    settings.power_user.timestamps_enabled = false;
    settings.power_user.timer_enabled = false;
    settings.power_user.timestamp_model_icon = false;
}

/** A character with a chat on disk and a portrait. */
async function begin({ page, story, portraits }, { chat, bookName, isOfCharacter = false, name = 'Mara', told = TOLD, earlier = EARLIER, count = 2, queue = null }) {
    const avatar = await story.character(name, chat);
    const tale = { group: null, avatar, name, speaker: name, chat, book: bookName };
    const { entries } = lore(earlier);
    story.writeBook(bookName, { entries: queue ? { ...entries, [QUEUE_UID]: queueEntry(queue) } : entries });
    story.writeChat(tale, chat, { messages: messages(told.slice(0, count)), metadata: isOfCharacter ? {} : { world_info: bookName } });
    await page.raw.evaluate(async ({ avatar, picture }) => {
        const form = new FormData();
        const bytes = Uint8Array.from(atob(picture), (sign) => sign.charCodeAt(0));
        form.append('avatar', new File([bytes], 'portrait.png', { type: 'image/png' }));
        form.append('avatar_url', avatar);
        const headers = SillyTavern.getContext().getRequestHeaders({ omitContentType: true });
        const answer = await fetch('/api/characters/edit-avatar', { method: 'POST', headers, body: form });
        if (!answer.ok) {
            throw new Error(`no portrait: ${answer.status}`);
        }
    }, { avatar, picture: portraits.mara.toString('base64') });
    return tale;
}

/** Name, parent, kind, message, messages, how well it is known; older ones have no seal. */
const FORKS = [
    ['Before the lighthouse', 'The light of Vell', 'checkpoint', 4, 9, 'exact'],
    ['The light of Vell - Branch #1', 'The light of Vell', 'branch', 2, 31, 'exact'],
    ['The letter is opened', 'The light of Vell', 'checkpoint', 2, 24, 'snapshot'],
    ['Iven lives', 'The light of Vell', 'branch', 5, 58, null],
    ['What the keeper wants', 'Iven lives', 'branch', 40, 77, 'exact'],
    ['Back in Vell', 'What the keeper wants', 'checkpoint', 61, 64, 'exact'],
    ['Iven at sea', 'Iven lives', 'checkpoint', 22, 40, 'live'],
    ['Mara burns it', 'The letter is opened', 'branch', 20, 33, 'exact'],
    ['The light of Vell - Branch #2', 'The light of Vell - Branch #1', 'branch', 18, 22, 'exact'],
];

/** A family in which one member still shares its parent's book, shown as a whole. */
async function showFamily(given) {
    const { page, story } = given;
    const tale = await begin(given, { chat: 'The light of Vell', bookName: 'Vell', count: TOLD.length });
    for (const [at, [name, parent, kind, message, count, exactness]] of FORKS.entries()) {
        const own = exactness ? `${name} - Lore` : 'Vell';
        if (exactness) {
            story.writeBook(own, lore(at % 2 ? EARLIER : LATER));
        }
        const told = Array.from({ length: count }, (_, number) => TOLD[(number + at) % TOLD.length]);
        const sealed = { format: 1, kind, parent: { chat: parent, integrity: null, message }, made: `2026-0${1 + (at % 6)}-1${at}T19:30:00.000Z`, book: { name: own, from: 'Vell', entries: 5, digest: `sha256:${'0'.repeat(64)}`, exactness, as_of: exactness === 'snapshot' ? message - 2 : undefined, source: 'journal' }, metadata: { exactness: 'exact', source: 'journal' }, warnings: [] };
        story.writeChat(tale, name, { messages: messages(told), metadata: { main_chat: parent, world_info: own, ...(exactness && { forklore: sealed }) } });
    }
    await page.open(tale);
    await page.clearToasts();
    const view = await openTimelines(page);
    await caughtUp(view);
    return { page, view };
}

const ENDINGS = {
    'Iven is dead': {
        2: { ...EARLIER[2], content: 'A smuggler who had become honest, or said so. Found dead on the rocks below the lighthouse.' },
        5: { comment: 'The grave', key: ['grave'], content: 'On the cliff, with no name on it.' },
    },
    'Iven lives': {
        2: { ...EARLIER[2], content: 'A smuggler who has become honest. Waited at the lighthouse, and keeps its light now.' },
        3: { ...EARLIER[3], content: 'Lit again, after nine years. Iven lives there.' },
        4: null,
        5: { comment: 'The wedding', key: ['wedding'], content: 'Mara and Iven, in spring, on the quay of Vell.' },
        6: { comment: 'The Tern', key: ['Tern', 'ship'], content: 'The new ship. Half of it is Iven’s.' },
        7: { comment: 'The keeper', key: ['keeper'], content: 'It was Iven all along.' },
    },
};

/** One story with two endings, side by side. */
async function compareEndings(given) {
    const { page, files } = given;
    const tale = await begin(given, { chat: 'The light of Vell', bookName: 'Vell', count: TURN + 1 });
    await page.open(tale);
    for (const [name, changes] of Object.entries(ENDINGS)) {
        await page.checkpointByCommand(TURN, { name });
        const own = files.chat(tale, name).metadata.world_info;
        const { entries } = files.book(own).value;
        for (const [uid, fields] of Object.entries(changes)) {
            entries[uid] = fields ? entry(Number(uid), fields) : undefined;
        }
        await page.saveBook(own, { ...files.book(own).value, entries });
    }
    const [dead, lives] = Object.keys(ENDINGS);
    await page.switchTo(dead);
    await page.clearToasts();
    if (!await page.raw.locator('#extensionsMenuButton').isVisible()) {
        throw new Error('there is no wand');
    }
    return compare(page, dead, lives);
}

/** The same, opened and continued to its end, with lore that changes on the way. */
async function tell(given, how) {
    const { page, files } = given;
    const { told = TOLD } = how;
    const tale = await begin(given, how);
    await page.open(tale);
    for (const [number, [who, text]] of told.entries()) {
        if (number < 2) {
            continue;
        }
        if (number === TURN + 1) {
            await page.send(told[number][1]);
            await page.saveBook(tale.book, how.earlier ? lore(how.earlier) : lore(LATER));
            continue;
        }
        await (who === tale.name ? page.sendAs(tale.name, text) : page.send(text));
    }
    const isRecorded = ({ forklore }) => forklore !== undefined;
    await files.chatWhen(tale, tale.chat, ({ messages }) => messages.length === told.length && messages.slice(2).every(isRecorded));
    await page.clearToasts();
    await settled(page);
    return tale;
}

function messages(told) {
    return told.map(([name, mes], number) => (number % 2 === 0
        ? reply(number, { name, mes, swipes: 1 })
        : question(number, { name, mes })));
}

async function showLore(page) {
    await page.messageAction(TURN, '.forklore_lore');
    await page.dialog().locator('.forklore_entries summary').nth(2).click();
    await page.dialog().locator('.forklore_content').waitFor();
    await page.dialog().evaluate((shown) => { shown.querySelector('.popup-content').scrollTop = 0; });
}

async function openPanel(page) {
    await page.raw.locator('#extensions-settings-button .drawer-toggle').click();
    await page.raw.locator('#forklore_settings .inline-drawer-toggle').first().click();
    const panel = page.raw.locator('#forklore_settings .forklore_panel');
    await panel.waitFor();
    await until('the drawer to be open', () => panel.evaluate((node) => !node.closest('.inline-drawer-content').style.height));
    // At full height, so that all of it is in the picture.
    await page.raw.setViewportSize({ width: WINDOW.width, height: 1200 });
    await panel.scrollIntoViewIfNeeded();
}

async function takeDialog(given, name, margin = MARGIN) {
    const { page } = given;
    await page.clearToasts();
    await showNoCursor(page);
    await settled(page);
    await take(given, name, await around(page.dialog(), margin));
}

async function take({ page }, name, clip) {
    const file = path.join(FOLDER, `${name}.png`);
    const round = Object.fromEntries(Object.entries(clip).map(([side, pixels]) => [side, Math.max(0, Math.round(pixels))]));
    await page.raw.screenshot({ path: file, clip: round, animations: 'disabled', caret: 'hide' });
    console.log(`${name}.png: ${round.width} x ${round.height}, ${Math.round(fs.statSync(file).size / 1024)} KB`);
}

async function around(place, margin) {
    const { x, y, width, height } = await place.boundingBox();
    return { x: x - margin, y: y - margin, width: width + 2 * margin, height: height + 2 * margin };
}

/** Nothing under the mouse, no focus, nothing that moves. */
async function showNoCursor(page) {
    await page.raw.mouse.move(1, 1);
    await page.raw.evaluate(() => document.activeElement?.blur?.());
}

async function settled(page) {
    await page.settle();
    await page.raw.evaluate(async () => {
        await document.fonts.ready;
        const images = [...document.images].filter((image) => image.src && !image.complete);
        await Promise.all(images.map((image) => image.decode().catch(() => {})));
        const isMoving = () => document.getAnimations().some((animation) => animation.playState === 'running' && animation.effect.getComputedTiming().iterations !== Infinity);
        while (isMoving()) {
            await new Promise(requestAnimationFrame);
        }
    });
}

// ---- Portraits ----

async function drawPortraits(browser) {
    const page = await browser.newPage();
    const draw = async (width, height, svg) => {
        await page.setViewportSize({ width, height });
        await page.setContent(`<body style="margin:0"><svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 400 ${400 * height / width}">${svg}</svg>`);
        return page.screenshot();
    };
    const sky = (id, ...stops) => `<defs><linearGradient id="${id}" x1="0" x2="0" y1="0" y2="1">${stops.map(([at, colour]) => `<stop offset="${at}" stop-color="${colour}"/>`).join('')}</linearGradient></defs>`;
    const mara = await draw(400, 600, `${sky('dusk', [0, '#23395d'], [0.5, '#c8553d'], [0.7, '#f2a65a'])}
        <rect width="400" height="600" fill="url(#dusk)"/><circle cx="200" cy="385" r="62" fill="#ffe8b6"/>
        <rect y="395" width="400" height="205" fill="#16263f"/>
        <path d="M200 175v205h-105z" fill="#f4efe4"/><path d="M212 205v175h85z" fill="#dcd2bd"/><rect x="201" y="165" width="8" height="230" fill="#3a2a20"/>
        <path d="M75 392h255l-42 52H118z" fill="#3a2a20"/><path d="M0 448q50-16 100 0t100 0 100 0 100 0v152H0z" fill="#0f1b2e"/>`);
    const user = await draw(400, 400, `${sky('night', [0, '#0d1b2a'], [1, '#31587a'])}
        <rect width="400" height="400" fill="url(#night)"/><path d="M196 105 20 40v105z" fill="#ffe8b6" opacity=".35"/><path d="M204 105 380 40v105z" fill="#ffe8b6" opacity=".35"/>
        <path d="M172 130h56l16 200h-88z" fill="#f4efe4"/><path d="M167 190h66l4 50h-74zM159 280h82l4 50h-90z" fill="#b5382f"/>
        <rect x="168" y="84" width="64" height="46" rx="6" fill="#ffe8b6"/><path d="M160 84h80l-40-38z" fill="#b5382f"/><path d="M0 330q100-26 200 0t200 0v70H0z" fill="#0b1420"/>`);
    await page.close();
    return { mara, user };
}

await main(process.argv.slice(2));
