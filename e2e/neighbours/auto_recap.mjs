// The real ST-Auto-Recap in the page, and what it keeps in files.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { until } from '../harness/until.mjs';
import { PARTING } from './recap_model.mjs';

/** @typedef {import('../harness/page.mjs').TavernPage} TavernPage */

const NAME = 'ST-Auto-Recap';
const at = (module) => `/scripts/extensions/third-party/${NAME}/${module}.js`;

/** Its folder, or undefined if none was given. */
export const folder = process.env.FORKLORE_AUTO_RECAP && path.resolve(process.env.FORKLORE_AUTO_RECAP);

if (folder && !fs.existsSync(path.join(folder, 'operationQueue.js'))) {
    throw new Error(`no ST-Auto-Recap in ${folder}, which FORKLORE_AUTO_RECAP names`);
}

/** The reason to skip everything, or false. */
export const missing = folder ? false : 'FORKLORE_AUTO_RECAP does not name the folder of ST-Auto-Recap';

/**
 * ST-Auto-Recap 2.0 was written for a SillyTavern whose `substituteParams` took its macros as the seventh argument.
 * Since then the second one, which is undefined here, is an object of options, and the rest is ignored: every prompt
 * would be sent with `{{messages}}` in place of the messages. This is the only thing that is changed in it.
 */
const OLD_CALL = /return substituteParams\(\s*text,\s*undefined,[\s\S]*?\bparams\b[^\n]*\s*\);/;
const NEW_CALL = 'return substituteParams(text, { dynamicMacros: params });';

/** A copy whose prompts are filled in. Removed when the process ends. */
function copyForThisSillyTavern() {
    const copy = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'forklore-auto-recap-'));
    process.on('exit', () => fs.rmSync(copy, { recursive: true, force: true }));
    fs.cpSync(folder, copy, { recursive: true });
    const file = path.join(copy, 'promptUtils.js');
    fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace(OLD_CALL, NEW_CALL));
    return copy;
}

/** A server with it installed. @param {import('./recap_model.mjs').RecapModel} model */
export const serverWith = (model, options = {}) => ({
    extensions: { [NAME]: copyForThisSillyTavern() },
    builtIns: ['connection-manager'],
    preset: { openai_max_context: 32_000, stream_openai: false },
    settings: (settings) => {
        model.connect(settings);
        // If they are folded, a redraw by ST-Auto-Recap may fold them again before they are pressed.
        settings.power_user.expand_message_actions = true;
    },
    ...options,
});

/** Its own settings, mainly for short scenes: by default a scene has ten messages and is processed eight messages later. */
const SETTINGS = {
    debug_mode: false,
    default_chat_enabled: true,
    auto_scene_break_on_new_message: true,
    auto_scene_break_message_offset: 1,
    auto_scene_break_minimum_scene_length: 1,
    auto_scene_break_generate_recap: true,
    running_scene_recap_auto_generate: true,
};

/** Waits until it has loaded, and sets and saves its settings with its own code. @param {TavernPage} page */
export async function prepare(page, settings = {}) {
    await page.raw.locator('.running-recap-controls').waitFor({ state: 'attached' });
    await page.settle();
    await page.raw.evaluate(async ({ index, settings }) => {
        const { set_settings, save_profile } = await import(index);
        Object.entries(settings).forEach(([key, value]) => set_settings(key, value));
        save_profile();
    }, { index: at('index'), settings: { ...SETTINGS, ...settings } });
}

/** The state of its queue. @param {TavernPage} page */
export const queue = (page) => page.raw.evaluate(async (module) => {
    const { getQueueStats, isQueueProcessorActive, getAllOperations } = await import(module);
    return { ...getQueueStats(), active: isQueueProcessorActive(), types: getAllOperations().map(({ type }) => type) };
}, at('operationQueue'));

/** Waits until its queue is empty, messages have their buttons again, and everything is on disk. @param {TavernPage} page */
export async function idle(page) {
    await until('the queue of ST-Auto-Recap to be empty', async () => {
        const { total, active, paused } = await queue(page);
        if (paused) {
            throw new Error('it is paused');
        }
        return total === 0 && !active;
    });
    await until('an end of generating', () => page.raw.evaluate(() => document.body.dataset.generating !== 'true'));
    await page.settle();
    await page.save();
}

/**
 * A user message and the model's reply, as SillyTavern makes them; then ST-Auto-Recap's work.
 *
 * @param {TavernPage} page
 * @param {import('./recap_model.mjs').RecapModel} model
 */
export async function turn(page, model, user, reply) {
    await turnWithoutWaiting(page, model, user, reply);
    await idle(page);
}

export async function turnWithoutWaiting(page, model, user, reply) {
    const { messages } = await page.current();
    model.replies.push(reply);
    await page.run(`/send ${user} | /trigger await=true`);
    await until('the reply', async () => (await page.current()).messages === messages + 2);
}

/**
 * Continues by one scene: a turn that ends it and one more, after which ST-Auto-Recap notices the end.
 *
 * @returns {Promise<number>} the scene's last message
 */
export async function scene(page, model, facts, { wait = true } = {}) {
    await turn(page, model, `And then ${facts.join(' ')}`, `So it was. ${PARTING}`);
    const end = (await page.current()).messages - 1;
    await (wait ? turn : turnWithoutWaiting)(page, model, 'What now?', 'Another day begins.');
    return end;
}

/** The operations in the queue of a book on disk. */
export const queueOf = (book) => {
    const entry = Object.values(book.entries).find(({ comment }) => comment === '__operation_queue');
    return entry && JSON.parse(entry.content);
};

const isInternal = ({ comment }) => comment.startsWith('_registry_') || comment.startsWith('__');

/** The lore that it wrote: the content of each entry by title. */
export const loreOf = (book) =>
    Object.fromEntries(Object.values(book.entries).filter((entry) => !isInternal(entry)).map(({ comment, content }) => [comment, content]));

/** The items in a book's registries, as `[uid, name]`. */
export const listedIn = (book) =>
    Object.values(book.entries)
        .filter(({ comment }) => comment.startsWith('_registry_'))
        .flatMap(({ content }) => [...content.matchAll(/^- UID=(\d+) \| name: ([^|]+) \|/gm)].map(([, uid, name]) => [uid, name.trim()]));

/** What it keeps in a message. */
export const memoryOf = (message) => message.extra?.auto_recap_memory ?? {};

/** The scene breaks of a chat. */
export const sceneBreaks = (messages) => messages.flatMap((message, at) => (memoryOf(message).scene_break ? [at] : []));

/**
 * Edits the running recap, which makes a new version for the same scene.
 *
 * Its own editor loses the text here: it reads the text box after the dialog has closed, when SillyTavern has removed
 * it. The version is made, but without `content`. With its own function it is complete.
 *
 * @param {TavernPage} page
 * @param {'by its editor' | 'by its function'} how
 */
export async function editRunningRecap(page, how, added) {
    if (how === 'by its editor') {
        // The bar with the button is folded by default.
        await page.raw.locator('[data-testid="running-edit-btn"]').dispatchEvent('click');
        const text = page.dialog().locator('[data-testid="running-edit-textarea"]');
        await text.fill(`${await text.inputValue()}\n${added}`);
        await page.confirm();
    } else {
        await page.raw.evaluate(async ({ module, added }) => {
            const { add_running_recap_version, get_running_recap } = await import(module);
            const { content, ...scenes } = get_running_recap();
            add_running_recap_version({ ...scenes, content: `${content}\n${added}` });
        }, { module: at('runningSceneRecap'), added });
    }
    await idle(page);
}

/** Presses *Combine* at a scene break. @param {TavernPage} page */
export async function combine(page, message) {
    const scene = page.raw.locator(`.mes[mesid="${message}"] [data-testid="scene-break-div"]`);
    await scene.locator('[data-testid="scene-collapse-toggle"]').click();
    await scene.locator('[data-testid="scene-regenerate-running"]').click();
    await until('the combination to be queued', async () => (await queue(page)).total > 0);
    await idle(page);
}
