// Comparing and merging two timelines, as a user does.

import { until } from './until.mjs';

/** @typedef {import('./page.mjs').TavernPage} TavernPage */

/**
 * Two branches of a tale's chat, each with its own book, which was edited.
 *
 * @param {{ page: TavernPage, files: import('./files.mjs').Files }} given
 * @param {import('./story.mjs').Tale} tale
 * @param {{ one: (entries: any) => void, two: (entries: any) => void, message?: number }} edits change a book's entries
 * @returns {Promise<{ one: string, two: string, books: { one: string, two: string } }>} names; `one` is open
 */
export async function twoEndings({ page, files }, tale, { one, two, message = 5 }) {
    const branch = async (edit) => {
        const name = await page.branchByCommand(message);
        const { book } = await page.current();
        const lore = files.book(book).value;
        edit(lore.entries);
        await page.saveBook(book, lore);
        await page.settle();
        return { name, book };
    };
    const second = await branch(two);
    await page.switchTo(tale.chat);
    const first = await branch(one);
    await page.clearToasts();
    return { one: first.name, two: second.name, books: { one: first.book, two: second.book } };
}

/** How a branch is called beside another one of the same chat. @param {string} name */
export function shortName(name) {
    return `… ${name.split(' - ').at(-1)}`;
}

/** Opens the comparison of two timelines from the wand menu. @param {TavernPage} page */
export async function compare(page, left, right) {
    await page.raw.locator('#extensionsMenuButton').click();
    await page.raw.locator('#forklore_wand_compare').click();
    const asked = page.dialog();
    await asked.getByLabel('First', { exact: true }).selectOption(left.chat ?? left);
    await asked.getByLabel('Second', { exact: true }).selectOption(right.chat ?? right);
    await pickMessage(asked, 'first', left.message);
    await pickMessage(asked, 'second', right.message);
    await asked.locator('.popup-button-ok').click();
    return comparison(page);
}

/** The control that shows and changes which message is meant. @param {'first' | 'second'} which */
export const messageField = (asked, which) => asked.getByRole('button', { name: `When, of the ${which}: ` });

/** Picks a message by its number; now, if there is none. @param {'first' | 'second'} which */
async function pickMessage(asked, which, message = null) {
    await messageField(asked, which).click();
    const row = message === null ? /^Now/ : new RegExp(`^${message},`);
    if (message !== null) {
        await asked.getByRole('combobox', { name: 'Search messages…' }).fill(String(message));
    }
    await messageRows(asked, row).click();
}

/** The messages to pick from. */
export const messageRows = (asked, text = /./) => asked.locator('.forklore_message:visible', { hasText: text });

/** The open comparison. @param {TavernPage} page */
export async function comparison(page) {
    const view = page.raw.locator('.forklore_compare');
    await view.locator('.forklore_footer').waitFor();
    return view;
}

/** An entry in the list, by its title. */
export function row(view, title) {
    return view.locator('.forklore_row').filter({ has: view.page().locator('bdi', { hasText: new RegExp(`^${escaped(title)}$`) }) });
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

export async function tick(view, ...titles) {
    for (const title of titles) {
        await row(view, title).locator('.forklore_tick input').check();
    }
}

export async function unfold(view, title) {
    const found = row(view, title);
    await found.locator('summary').first().click();
    return found;
}

/** The button to continue: to the preview, or to apply it. */
export const go = (view) => view.locator('.forklore_go');

/** From the list to the preview. */
export async function preview(view) {
    await go(view).click();
    await view.getByRole('heading', { name: 'What will change' }).waitFor();
}

/** Applies the preview, and waits until the popup is closed. @param {TavernPage} page */
export async function apply(page, view) {
    await go(view).click();
    await until('the popup to be gone', async () => (await page.raw.locator('.forklore_compare').count()) === 0);
    await page.settle();
}

/** Settles a conflict. @param {'ours' | 'theirs' | 'value'} value */
export async function settle(view, title, value, text) {
    const section = view.locator('.forklore_conflict').filter({ hasText: title });
    await section.locator('.forklore_choice', { has: view.page().locator(`input[value="${value}"]`) }).locator('label').first().click();
    if (text !== undefined) {
        await section.locator('textarea').fill(text);
    }
}

/**
 * The titles of the entries that SillyTavern loads and activates for a text in the open chat.
 *
 * @param {TavernPage} page
 * @returns {Promise<{ loaded: string[], activated: string[], prompt: string }>}
 */
export function worldInfo(page, text) {
    return page.raw.evaluate(async (text) => {
        const { eventSource, eventTypes, getWorldInfoPrompt } = SillyTavern.getContext();
        const found = { loaded: [], activated: [], prompt: '' };
        const loaded = ({ chatLore }) => found.loaded.push(...chatLore.map(({ comment }) => comment));
        const activated = (entries) => found.activated.push(...entries.map(({ comment }) => comment));
        eventSource.on(eventTypes.WORLDINFO_ENTRIES_LOADED, loaded);
        eventSource.on(eventTypes.WORLD_INFO_ACTIVATED, activated);
        try {
            const { worldInfoString } = await getWorldInfoPrompt([text], 16_000, false);
            return { ...found, prompt: worldInfoString };
        } finally {
            eventSource.removeListener(eventTypes.WORLDINFO_ENTRIES_LOADED, loaded);
            eventSource.removeListener(eventTypes.WORLD_INFO_ACTIVATED, activated);
        }
    }, text);
}
