// Third-party extensions, unpacked, and what they keep in a chat.

import fs from 'node:fs';
import path from 'node:path';

import { until } from '../harness/until.mjs';

/** The folder with the unpacked extensions, or undefined if none was given. */
const folder = process.env.FORKLORE_NEIGHBOURS && path.resolve(process.env.FORKLORE_NEIGHBOURS);

/** The reason to skip everything, or false. */
export const missing = folder ? false : 'FORKLORE_NEIGHBOURS does not name a folder of unpacked extensions';

/** By folder name. @type {Record<string, string>} */
export const neighbours = folder ? Object.fromEntries(unpacked(folder)) : {};

function unpacked(folder) {
    const found = fs.readdirSync(folder).sort().filter((name) => fs.existsSync(path.join(folder, name, 'manifest.json')));
    if (found.length === 0) {
        throw new Error(`no extension in ${folder}, which FORKLORE_NEIGHBOURS names`);
    }
    return found.map((name) => [name, path.join(folder, name)]);
}

export const manifestOf = (name) => JSON.parse(fs.readFileSync(path.join(neighbours[name], 'manifest.json'), 'utf8'));

/** Sets that can be loaded together: if two extensions define the same global, they are in different sets. */
export function sets() {
    const hooks = new Map();
    for (const name of Object.keys(neighbours)) {
        const hook = manifestOf(name).generate_interceptor;
        if (hook) {
            hooks.set(hook, [...(hooks.get(hook) ?? []), name]);
        }
    }
    const rivals = [...hooks.values()].filter((names) => names.length > 1);
    const without = (left) => Object.keys(neighbours).filter((name) => !left.has(name));
    return rivals.length
        ? [0, 1].map((kept) => without(new Set(rivals.flatMap((names) => names.filter((_, at) => at !== kept)))))
        : [Object.keys(neighbours)];
}

/**
 * Waits until Memory Books has started, seconds after the page, and closes its dialog about another missing extension,
 * whenever it appears.
 * @param {import('../harness/page.mjs').TavernPage} page
 */
export async function memoryBooksBegun(page) {
    const question = page.raw.locator('dialog[open]', { hasText: 'Chat Top Bar is either disabled or not installed' });
    await page.raw.removeLocatorHandler(question);
    await page.raw.addLocatorHandler(question, (shown) => shown.locator('.popup-button-ok').click());
    const isThere = () => page.raw.evaluate(() => 'scenememory' in SillyTavern.getContext().SlashCommandParser.commands);
    await until('Memory Books to begin', isThere);
}

/** What one of them might keep in a chat, early in the story and late. */
export const EARLY = { count: 2, list: ['a lamp'], progress: { upTo: 1 } };
export const LATE = { count: 7, list: ['a lamp', 'a letter', 'a debt'], progress: { upTo: 5 }, isNew: true };

/** The keys they use; a made-up one stands for all unknown extensions. */
export const KEYS = ['qvink_memory', 'someQuestLog'];

/** Writes something into the open chat's metadata, as an extension does. @param {import('../harness/page.mjs').TavernPage} page */
export function keep(page, values) {
    return page.raw.evaluate(async (values) => {
        const context = SillyTavern.getContext();
        Object.assign(context.chatMetadata, structuredClone(values));
        await context.saveMetadata();
    }, values);
}

/** A tiny extension of our own, which keeps counters, lists and ids in a chat's metadata and changes them all the time. */
export function counting(folder) {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, 'manifest.json'), JSON.stringify({
        display_name: 'Counting', loading_order: 5, requires: [], optional: [], js: 'index.js', author: 'Forklore', version: '1.0.0',
    }));
    fs.writeFileSync(path.join(folder, 'index.js'), `
        const { eventSource, eventTypes } = SillyTavern.getContext();
        const keep = () => {
            const { chatMetadata, chat } = SillyTavern.getContext();
            if (!chat.length) {
                return;
            }
            const seen = (chatMetadata.countingSeen ?? 0) + 1;
            chatMetadata.countingSeen = seen;
            chatMetadata.counting = { seen, ids: [...(chatMetadata.counting?.ids ?? []), 'id-' + seen].slice(-8) };
            if (seen % 5 === 0) {
                delete chatMetadata.countingNow;
            } else {
                chatMetadata.countingNow = { upTo: chat.length - 1, words: 'so far '.repeat(seen % 7) };
            }
            if (seen % 9 === 0) {
                chatMetadata.countingLarge = 'large ' + seen + ' '.repeat(40 * 1024);
            }
        };
        for (const event of ['MESSAGE_SENT', 'MESSAGE_RECEIVED']) {
            eventSource.on(eventTypes[event], keep);
        }
    `);
    return folder;
}
