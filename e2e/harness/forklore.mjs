// What Forklore adds to the page: notices, dialogs, its drawer, its settings, and its trash on disk.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { DEFAULTS } from '../../extension/features/settings.js';
import { until } from './until.mjs';

/** @typedef {import('./page.mjs').TavernPage} TavernPage */

/** Sets Forklore's settings: the given ones, and defaults for the rest. @param {TavernPage} page */
export function decide(page, settings = {}) {
    return page.raw.evaluate((settings) => {
        Object.assign(SillyTavern.getContext().extensionSettings.forklore, settings);
    }, { ...DEFAULTS, ...settings });
}

/** A `scenario` with an option for Forklore's `settings`; the page is shared, so each scenario sets all of them. */
export function withSettings(scenario) {
    return (name, { settings, ...options }, act) =>
        scenario(name, options, async (given) => {
            await decide(given.page, settings);
            await act(given);
        });
}

/** Before a page is loaded: makes the extension's parts reachable in it, as `forkloreApp`. @param {import('playwright-core').Page} raw */
export function exposeApp(raw) {
    const isEntry = (url) => url.pathname.endsWith('/forklore/extension/index.js');
    return raw.route(isEntry, async (route) => {
        const response = await route.fetch();
        const [found, exposed] = ['running = new App(', 'globalThis.forkloreApp = running = new App('];
        const text = await response.text();
        assert.ok(text.includes(found), 'the entry point looks different now');
        await route.fulfill({ response, body: text.replace(found, exposed) });
    });
}

// ---- Notices ----

/** Waits for a notice and returns its text. @param {TavernPage} page @param {RegExp} text */
export function notice(page, text, type) {
    return until(`a notice like ${text}`, () => {
        const found = page.watch.toasts.find((toast) => text.test(toast.text) && (!type || toast.type === type));
        return found?.text;
    });
}

/** Forklore's notices so far, but for those that tell of a fork. @param {TavernPage} page */
export function said(page) {
    return page.watch.toasts.filter(({ text }) => text.startsWith('Forklore: ') && !/^Forklore: (Checkpoint|Branch|Group chat) created/.test(text));
}

/** Waits for a notice and presses its button. @param {TavernPage} page */
export async function pressNotice(page, text, label) {
    await notice(page, text);
    const toast = page.raw.locator('#toast-container .toast').filter({ hasText: text });
    // Toasts let clicks through here, so the mouse is not used.
    await toast.getByRole('button', { name: label, exact: true }).dispatchEvent('click');
}

/** Opens a chat, waits until Forklore has verified it, and returns the findings. */
export async function lookingAt(page, open) {
    const before = await listening(page);
    await open();
    const { chat } = await page.current();
    const told = await until(`Forklore to have looked at "${chat}"`, async () => {
        const all = await page.raw.evaluate(() => globalThis.forkloreVerified);
        return all.slice(before).findLast((found) => found.chat === chat);
    });
    await page.settle();
    return told.findings;
}

function listening(page) {
    return page.raw.evaluate(() => {
        if (!globalThis.forkloreVerified) {
            globalThis.forkloreVerified = [];
            SillyTavern.getContext().eventSource.on('forklore:verified', (found) => void globalThis.forkloreVerified.push(found));
        }
        return globalThis.forkloreVerified.length;
    });
}

/** The findings of all chats, from `/forklore-verify`. @returns {Promise<{ chat: string, code: string }[]>} */
export async function verifyAll(page) {
    return JSON.parse(await page.run('/forklore-verify all=true'));
}

// ---- Dialogs ----

/** Forklore's topmost dialog. @param {TavernPage} page @param {string} title */
export async function dialog(page, title) {
    const shown = page.dialog();
    await shown.locator('.forklore_heading', { hasText: title }).waitFor();
    return shown;
}

/** Selects one of a dialog's choices. @param {TavernPage} page @param {string} value of the radio button */
export async function choose(page, value) {
    // A plan that arrives makes the dialog taller, and the mouse would miss.
    await page.dialog().locator('.fa-spin').waitFor({ state: 'detached' });
    await page.dialog().locator('.forklore_choice', { has: page.raw.locator(`input[value="${value}"]`) }).locator('label').click();
}

export const agree = (page) => page.press('.popup-button-ok');
export const decline = (page) => page.press('.popup-button-cancel');

/** Presses a button inside a dialog, which closes it. */
export async function pressInDialog(page, text) {
    const open = await page.dialog().elementHandle();
    await page.dialog().locator('button', { hasText: text }).click();
    await page.raw.waitForFunction((dialog) => !dialog.isConnected || !dialog.open, open);
}

/** Forklore's drawer in the extension settings, which can be read while it is closed. @param {TavernPage} page */
export const panel = (page) => page.raw.locator('#forklore_settings .forklore_panel');

/** Waits until the panel shows this text about the open chat. @param {TavernPage} page @param {RegExp} text */
export const panelSays = (page, text) => until(`the panel to say ${text}`, async () => {
    const shown = (await panel(page).locator('.forklore_status').textContent()).replace(/\s+/g, ' ');
    if (!text.test(shown)) {
        throw new Error(`it says: ${shown}`);
    }
    return shown;
});

/** A button of the panel, which does not have to be open. @param {TavernPage} page */
export const inPanel = (page, text) => panel(page).locator('.forklore_buttons button', { hasText: text });

/** Presses a button in Forklore's drawer. @param {TavernPage} page */
export async function pressInDrawer(page, text) {
    await drawer(page, true);
    if (!(await panel(page).isVisible())) {
        await page.raw.locator('#forklore_settings .inline-drawer-toggle').first().click();
    }
    await panel(page).getByRole('button', { name: text, exact: true }).click();
    await drawer(page, false);
}

/** Opens or closes SillyTavern's extension drawer. While it moves, SillyTavern ignores clicks on it. */
async function drawer(page, isWanted) {
    const isOpen = () => page.raw.locator('#rm_extensions_block').evaluate((block) => block.classList.contains('openDrawer'));
    await until(`the drawer to be ${isWanted ? 'open' : 'closed'}`, async () => {
        if ((await isOpen()) !== isWanted) {
            // A dialog may be in front of it already.
            await page.raw.locator('#extensions-settings-button .drawer-toggle').dispatchEvent('click');
        }
        return (await isOpen()) === isWanted;
    });
}

// ---- The trash ----

/** The parts of the trash, oldest first. @param {import('./files.mjs').Files} files */
export function trash(files) {
    const folder = path.join(files.user, 'user/files');
    const names = fs.existsSync(folder) ? fs.readdirSync(folder) : [];
    return names
        .filter((name) => name.startsWith('forklore-trash-'))
        .sort()
        .map((name) => JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')));
}

/** Puts something into the trash that its list does not know, as if the list had been lost. @param {import('./files.mjs').Files} files */
export function loseInTrash(files, content) {
    const folder = path.join(files.user, 'user/files');
    fs.mkdirSync(folder, { recursive: true });
    const number = String(fs.readdirSync(folder).length);
    fs.writeFileSync(path.join(folder, `forklore-trash-0-${number}.json`), JSON.stringify({ format: content.chat || content.renamed ? 2 : 1, when: '2026-11-15T03:10:55.123Z', ...content }));
}

/** The books in the trash by name; the newest version of each. */
export function trashed(files) {
    return Object.fromEntries(trash(files).flatMap(({ books }) => books.map(({ name, text }) => [name, JSON.parse(text)])));
}
